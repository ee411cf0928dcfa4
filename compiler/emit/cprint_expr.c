#include "emit/cprint_text.h"
#include "emit/tree_quote.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- distinct expressions ---------------------------------------------- */

static int bucket_of(const Expr *e)
{
    uint64_t h = ((uintptr_t)e >> 4) * 0x9e3779b97f4a7c15u >> 32;

    return (int)(h % CPRINT_BUCKETS);
}

static int find_seen(const CPrint *p, const Expr *e)
{
    for (int i = p->last[bucket_of(e)]; i; i = p->seen[i - 1].before)
        if (p->seen[i - 1].e == e)
            return p->seen[i - 1].node;
    return -1;
}

static void note_seen(CPrint *p, const Expr *e, int node)
{
    int *last = &p->last[bucket_of(e)];

    VEC_PUSH(p->graph->arena, p->seen, p->n_seen, p->cap_seen) =
        (CSeen){e, node, *last};
    *last = p->n_seen;
}

void cprint_forget(CPrint *p, int n)
{
    for (; p->n_seen > n; p->n_seen--) {
        const CSeen *s = &p->seen[p->n_seen - 1];
        p->last[bucket_of(s->e)] = s->before;
    }
}

/* Whether two expressions whose parts were already classed are one. */
static bool same_node(const CPrint *p, const Expr *a, const Expr *b)
{
    if (a->kind != b->kind || a->type != b->type)
        return false;
    switch (a->kind) {
    case E_CONST:
        return !memcmp(&a->num, &b->num, sizeof a->num);
    case E_INDEX:
        return a->idx == b->idx;
    case E_LOCAL:
        return a->local == b->local;
    case E_READ:
        if (a->tensor != b->tensor || !guard_same(a->in, b->in))
            return false;
        for (int i = 0; i < a->tensor->rank; i++)
            if (a->at[i] != b->at[i])
                return false;
        return !a->outside || !b->outside
               ? a->outside == b->outside
               : find_seen(p, a->outside) == find_seen(p, b->outside);
    default:
        if (a->kind != E_CAST && a->fn != b->fn)
            return false;
        for (int i = 0; i < 3; i++)
            if (!a->arg[i] != !b->arg[i] ||
                (a->arg[i] &&
                 find_seen(p, a->arg[i]) != find_seen(p, b->arg[i])))
                return false;
        return true;
    }
}

/* Calls f on the direct parts of e, those of its index arithmetic included. */
typedef int PartVisit(CPrint *p, const Expr *e);

static void visit_idx(CPrint *p, const Idx *e, PartVisit *f)
{
    if (!idx_has_data(e))
        return;
    for (int i = 0; i < e->n; i++) {
        const Atom *a = e->term[i].atom;
        if (a->kind == ATOM_DATA && a->data)
            f(p, a->data);
        if (a->a)
            visit_idx(p, a->a, f);
        if (a->b)
            visit_idx(p, a->b, f);
    }
}

static void visit_parts(CPrint *p, const Expr *e, PartVisit *f)
{
    for (int i = 0; i < 3; i++)
        if (e->arg[i])
            f(p, e->arg[i]);
    if (e->kind == E_INDEX)
        visit_idx(p, e->idx, f);
    if (e->kind != E_READ)
        return;
    if (e->outside)
        f(p, e->outside);
    for (int i = 0; i < e->tensor->rank; i++)
        visit_idx(p, e->at[i], f);
    for (int i = 0; i < e->in.n; i++)
        visit_idx(p, e->in.cond[i].e, f);
}

/* The node of e, made if there is none. */
static int classify(CPrint *p, const Expr *e)
{
    Arena *a = p->graph->arena;
    int n = find_seen(p, e);

    if (n >= 0)
        return n;
    visit_parts(p, e, classify);
    for (n = 0; n < p->n_node; n++)
        if (same_node(p, p->node[n].e, e))
            break;
    if (n == p->n_node)
        VEC_PUSH(a, p->node, p->n_node, p->cap_node) = (CNode){e, 0, NULL};
    note_seen(p, e, n);
    return n;
}

static int use(CPrint *p, const Expr *e)
{
    int n = find_seen(p, e);

    if (++p->node[n].uses == 1)
        visit_parts(p, p->node[n].e, use);
    return n;
}

static int count(CPrint *p, const Expr *e)
{
    classify(p, e);
    return use(p, e);
}

void cprint_count(CPrint *p, const Expr *e)
{
    count(p, e);
}

/* ---- expressions ------------------------------------------------------- */

const char *cprint_float(Arena *a, double v)
{
    char s[48];
    float f = (float)v;

    if (isnan(f))
        return "NAN";
    if (isinf(f))
        return f < 0 ? "-INFINITY" : "INFINITY";
    for (int digits = 1; digits <= 9; digits++) {
        snprintf(s, sizeof s, "%.*g", digits, f);
        if (strtof(s, NULL) == f)
            break;
    }
    return arena_printf(a, "%s%sf", s, strpbrk(s, ".e") ? "" : ".0");
}

static Text print_const(CPrint *p, const Expr *e)
{
    Buf b = {0};

    if (type_is_float(e->type))
        buf_puts(&b, cprint_float(p->graph->arena, e->num));
    else if (e->type == T_BOOL)
        buf_puts(&b, e->num != 0 ? "true" : "false");
    else if (e->num <= INT_MIN)
        buf_puts(&b, "INT_MIN");
    else
        buf_printf(&b, "%lld", (long long)e->num);
    return text_take(p, &b, *buf_text(&b) == '-' ? P_UNARY : P_ATOM);
}

/* One element, converted to float where it is a 16-bit float. */
static Text print_load(CPrint *p, const Expr *e)
{
    const Tensor *t = e->tensor;
    const char *how = t->type == T_F16    ? "__half2float"
                      : t->type == T_BF16 ? "__bfloat162float"
                                          : NULL;
    Buf b = {0};

    if (how)
        buf_printf(&b, "%s(", how);
    buf_printf(&b, "%s[", cprint_tensor(p, t));
    buf_puts(&b, cprint_at(p, t, e->at, e->in));
    buf_puts(&b, how ? "])" : "]");
    return text_take(p, &b, P_ATOM);
}

static Text print_read(Tree *body, CPrint *p, const Expr *e, const char *hint)
{
    const char *staged = p->staged ? p->staged(e, p->ctx) : NULL;

    if (staged)
        return (Text){staged, P_ATOM};
    Truth in = guard_truth(e->in);
    if (in == NEVER)
        return text_expr(body, p, e->outside, hint);
    Text load = print_load(p, e);
    if (in == ALWAYS)
        return load;
    Buf b = {0};
    text_put(&b, text_guard(p, e->in), P_AND);
    buf_printf(&b, " ? %s : ", load.s);
    text_put(&b, text_expr(body, p, e->outside, hint), P_OR);
    return text_take(p, &b, P_COND);
}

typedef struct Operator {
    Func fn;
    const char *s;
    int prec;
} Operator;

static const Operator operators[] = {
    {F_ADD, "+", P_ADD}, {F_SUB, "-", P_ADD}, {F_MUL, "*", P_MUL},
    {F_DIV, "/", P_MUL}, {F_LT, "<", P_REL},  {F_LE, "<=", P_REL},
    {F_GT, ">", P_REL},  {F_GE, ">=", P_REL}, {F_EQ, "==", P_EQ},
    {F_NE, "!=", P_EQ},  {F_AND, "&&", P_AND}, {F_OR, "||", P_OR},
};

static const Operator *find_operator(Func f)
{
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++)
        if (operators[i].fn == f)
            return &operators[i];
    return NULL;
}

/* The device function of f for float or int arguments. */
static const char *function(CPrint *p, Func f, bool is_float)
{
    switch (f) {
    case F_MIN:
        return is_float ? "fminf" : "dcc_min";
    case F_MAX:
        return is_float ? "fmaxf" : "dcc_max";
    case F_ABS:
        return is_float ? "fabsf" : "abs";
    case F_DIV:
        return "dcc_floor_div";
    case F_MOD:
        return "dcc_floor_mod";
    case F_EXP2:
        return p->ex2 ? "dcc_ex2" : "exp2f";
    case F_NORMCDF:
        return "dcc_normcdf";
    case F_GELU:
        return "dcc_gelu";
    case F_LOGISTIC:
        return "dcc_logistic";
    case F_SLOPE:
        return "dcc_logistic_slope";
    case F_GELU16:
        return "dcc_gelu16";
    case F_TF32:
        return "dcc_nearest_tf32";
    case F_RANDOM:
        return "dcc_random";
    case F_SIN:
        return "dcc_sin";
    case F_COS:
        return "dcc_cos";
    case F_TAN:
        return "dcc_tan";
    default:
        return arena_printf(p->graph->arena, "%sf", func_name(f));
    }
}

static bool float_args(const Expr *e)
{
    if (type_is_float(e->type))
        return true;
    for (int i = 0; i < 3; i++)
        if (e->arg[i] && type_is_float(e->arg[i]->type))
            return true;
    return false;
}

static Text compose_operator(CPrint *p, const Expr *e, const Operator *op,
                             const Text *arg)
{
    Buf b = {0};
    /* equality and relations do not mix without parentheses, nor && with || */
    int need = op->prec >= P_ADD ? op->prec : P_ADD;

    if (op->fn == F_AND || op->fn == F_OR)
        need = P_EQ;
    int left = op->fn == F_AND || op->fn == F_OR ? op->prec : need;
    if (e->arg[0]->kind == E_BINARY && e->arg[0]->fn != e->fn &&
        (op->fn == F_AND || op->fn == F_OR))
        left = need;
    bool ints = type_is_float(e->type) && !type_is_float(e->arg[0]->type) &&
                !type_is_float(e->arg[1]->type);
    if (ints)
        buf_puts(&b, "(float)");
    text_put(&b, arg[0], ints ? P_ATOM : left);
    buf_printf(&b, " %s ", op->s);
    text_put(&b, arg[1], need + 1 <= P_UNARY ? need + 1 : P_UNARY);
    return text_take(p, &b, op->prec);
}

static Text compose_call(CPrint *p, const char *f, int n, const Text *arg)
{
    Buf b = {0};

    buf_printf(&b, "%s(", f);
    for (int i = 0; i < n; i++)
        buf_printf(&b, "%s%s", i ? ", " : "", arg[i].s);
    buf_putc(&b, ')');
    return text_take(p, &b, P_ATOM);
}

/* Rounded to a 16-bit float and back. */
static Text compose_round(CPrint *p, const char *f, const Text *arg)
{
    Buf b = {0};

    buf_printf(&b, "dcc_to_float(%s(%s))", f, arg[0].s);
    return text_take(p, &b, P_ATOM);
}

static Text compose_cast(CPrint *p, const Expr *e, const Text *arg)
{
    Type from = e->arg[0]->type;
    Buf b = {0};

    switch (e->type) {
    case T_F16:
        return from == T_F16 || from == T_BOOL
                   ? arg[0] : compose_round(p, "dcc_to_f16", arg);
    case T_BF16:
        return from == T_BF16 || from == T_BOOL
                   ? arg[0] : compose_round(p, "dcc_to_bf16", arg);
    case T_F32:
        if (type_is_float(from))
            return arg[0];
        buf_puts(&b, "(float)");
        text_put(&b, arg[0], P_ATOM);
        return text_take(p, &b, P_UNARY);
    case T_I32:
        if (!type_is_float(from))
            return arg[0];
        return compose_call(p, "dcc_to_i32", 1, arg);
    case T_I8:
        if (from == T_BOOL || from == T_I8)
            return arg[0];
        return compose_call(p, "dcc_to_i8", 1, arg);
    case T_U8:
        if (from == T_BOOL || from == T_U8)
            return arg[0];
        return compose_call(p, "dcc_to_u8", 1, arg);
    case T_BOOL:
        break;
    }
    if (from == T_BOOL)
        return arg[0];
    if (type_is_float(from))
        return compose_call(p, "dcc_to_bool", 1, arg);
    text_put(&b, arg[0], P_REL);
    buf_puts(&b, " != 0");
    return text_take(p, &b, P_EQ);
}

static Text compose_unary(CPrint *p, const Expr *e, const Text *arg)
{
    Buf b = {0};

    if (e->fn == F_NEG || e->fn == F_NOT) {
        buf_putc(&b, e->fn == F_NEG ? '-' : '!');
        text_put(&b, arg[0], P_ATOM);
        return text_take(p, &b, P_UNARY);
    }
    return compose_call(p, function(p, e->fn, float_args(e)), 1, arg);
}

static Text compose_select(CPrint *p, const Text *arg)
{
    Buf b = {0};

    text_put(&b, arg[0], P_OR);
    buf_puts(&b, " ? ");
    text_put(&b, arg[1], P_OR);
    buf_puts(&b, " : ");
    text_put(&b, arg[2], P_OR);
    return text_take(p, &b, P_COND);
}

static bool is_by_divisor(const CPrint *p, const Expr *e)
{
    return e->fn == F_DIV && float_args(e) && e->arg[1]->kind == E_LOCAL &&
           p->divisor[e->arg[1]->local];
}

static Text compose(CPrint *p, const Expr *e, const Text *arg)
{
    const Operator *op;

    if (text_wraps(p, e))
        return compose_call(p, text_wrapping(e->fn), func_arity(e->fn), arg);
    switch (e->kind) {
    case E_SELECT:
        return compose_select(p, arg);
    case E_CAST:
        return compose_cast(p, e, arg);
    case E_UNARY:
        return compose_unary(p, e, arg);
    default:
        if (is_by_divisor(p, e))
            return compose_call(p, "dcc_divide", 2, (Text[]){
                arg[0], {p->divisor[e->arg[1]->local], P_ATOM}});
        op = find_operator(e->fn);
        if (op && !(e->fn == F_DIV && !float_args(e)))
            return compose_operator(p, e, op, arg);
        return compose_call(p, function(p, e->fn, float_args(e)),
                            func_arity(e->fn), arg);
    }
}

/* ---- binding ----------------------------------------------------------- */

enum { LONG_TEXT = 60 };

static const char *name_hint(const Expr *e, const char *hint, CPrint *p)
{
    if (e->kind == E_READ)
        return arena_printf(p->graph->arena, "%s_val",
                            cprint_part(p, e));
    return hint ? hint : "t";
}

/* An index of which an int has not all digits. */
static bool is_long(const Expr *e)
{
    return e->kind == E_INDEX && idx_is_long(e->idx);
}

static const char *bind_text(Tree *body, CPrint *p, const Expr *e, Text t,
                             const char *hint)
{
    const char *id = cprint_fresh(p, name_hint(e, hint, p));

    PUT(body, "const @type @id = @value;\n",
        FILL("type", is_long(e) ? "long long" : cprint_ctype(e->type)),
        FILL("id", id), FILL("value", t.s));
    return id;
}

/* Reads inside e's index arithmetic get names first: an address is computed
 * from plain identifiers. */
void cprint_bind_idx(Tree *body, CPrint *p, const Idx *e)
{
    if (!idx_has_data(e))
        return;
    for (int i = 0; i < e->n; i++) {
        const Atom *a = e->term[i].atom;
        if (a->kind == ATOM_DATA && a->data)
            cprint_bind_name(body, p, a->data, NULL);
        if (a->a)
            cprint_bind_idx(body, p, a->a);
        if (a->b)
            cprint_bind_idx(body, p, a->b);
    }
}

void cprint_bind_guard(Tree *body, CPrint *p, Guard g)
{
    for (int i = 0; i < g.n; i++)
        cprint_bind_idx(body, p, g.cond[i].e);
}

static void bind_indices(Tree *body, CPrint *p, const Expr *e)
{
    if (e->kind == E_INDEX)
        cprint_bind_idx(body, p, e->idx);
    if (e->kind != E_READ)
        return;
    for (int i = 0; i < e->tensor->rank; i++)
        cprint_bind_idx(body, p, e->at[i]);
    cprint_bind_guard(body, p, e->in);
}

/* e's operands are printed; the longest become temporaries until e fits. */
static Text compose_short(Tree *body, CPrint *p, const Expr *e, Text *arg,
                          const char *hint)
{
    Text t = compose(p, e, arg);

    while (body && strlen(t.s) > LONG_TEXT) {
        int longest = -1;
        for (int i = 0; i < 3; i++)
            if (e->arg[i] && strlen(arg[i].s) > 16 && !text_plain(arg[i].s) &&
                !is_long(e->arg[i]) &&
                (longest < 0 || strlen(arg[i].s) > strlen(arg[longest].s)))
                longest = i;
        if (longest < 0)
            break;
        const Expr *part = e->arg[longest];
        const char *id = bind_text(body, p, part, arg[longest], hint);
        int n = find_seen(p, part);
        if (n >= 0)
            p->node[n].text = id;
        arg[longest] = (Text){id, P_ATOM};
        t = compose(p, e, arg);
    }
    return t;
}

/* The text of an index as the int that its value is. */
static Text int_value(CPrint *p, const Expr *e, Text t)
{
    Buf b = {0};

    if (!is_long(e))
        return t;
    buf_puts(&b, "(int)");
    text_put(&b, t, P_ATOM);
    return text_take(p, &b, P_UNARY);
}

static bool is_index(const Expr *e)
{
    return e->kind == E_INDEX || e->kind == E_CONST;
}

/* Which are of all integers there. */
static bool compares_indices(const Expr *e)
{
    return e->kind == E_BINARY && e->fn >= F_LT && e->fn <= F_NE &&
           is_index(e->arg[0]) && is_index(e->arg[1]);
}

static Text print_new(Tree *body, CPrint *p, const Expr *e, const char *hint)
{
    Text arg[3] = {{0}};
    Buf b = {0};

    if (body)
        bind_indices(body, p, e);
    switch (e->kind) {
    case E_CONST:
        return print_const(p, e);
    case E_LOCAL:
        return (Text){p->local[e->local], P_ATOM};
    case E_INDEX:
        buf_puts(&b, cprint_idx(p, e->idx, 0));
        return text_take(p, &b, text_plain(buf_text(&b)) ? P_ATOM : P_ADD);
    case E_READ:
        return print_read(body, p, e, hint);
    default:
        break;
    }
    Guard g = {0};
    if (e->type == T_BOOL && e->kind == E_BINARY &&
        expr_as_guard(p->graph, e, &g))
        return text_guard(p, g);
    for (int i = 0; i < 3 && e->arg[i]; i++) {
        arg[i] = text_expr(body, p, e->arg[i], hint);
        if (e->kind != E_CAST && !compares_indices(e))
            arg[i] = int_value(p, e->arg[i], arg[i]);
    }
    return compose_short(body, p, e, arg, hint);
}

static bool worth_binding(const Expr *e, const char *text)
{
    if (e->kind == E_CONST || e->kind == E_LOCAL || text_plain(text))
        return false;
    return true;
}

Text text_expr(Tree *body, CPrint *p, const Expr *e, const char *hint)
{
    int n = find_seen(p, e);

    if (n >= 0 && p->node[n].text)
        return (Text){p->node[n].text, P_ATOM};
    Text t = print_new(body, p, e, hint);
    if (!body || n < 0 || p->node[n].uses < 2 || !worth_binding(e, t.s))
        return t;
    const char *id = bind_text(body, p, e, t, hint);
    p->node[n].text = id;
    return (Text){id, P_ATOM};
}

const char *cprint_expr(CPrint *p, const Expr *e)
{
    Buf b = {0};

    text_put(&b, text_expr(NULL, p, e, NULL), P_ATOM);
    return buf_take(&b, p->graph->arena);
}

const char *cprint_bind(Tree *body, CPrint *p, const Expr *e, const char *hint)
{
    if (find_seen(p, e) < 0)
        count(p, e);
    return text_expr(body, p, e, hint).s;
}

const char *cprint_bind_name(Tree *body, CPrint *p, const Expr *e,
                             const char *hint)
{
    if (find_seen(p, e) < 0)
        count(p, e);
    Text t = text_expr(body, p, e, hint);
    if (text_plain(t.s) || e->kind == E_CONST)
        return t.s;
    const char *id = bind_text(body, p, e, t, hint);
    p->node[find_seen(p, e)].text = id;
    return id;
}
