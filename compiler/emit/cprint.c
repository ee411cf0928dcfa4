#include "emit/cprint_text.h"
#include "emit/names.h"
#include "emit/tree_quote.h"

#include <limits.h>
#include <string.h>
#include <strings.h>

/* ---- names ------------------------------------------------------------- */

const char *cprint_ident(Arena *a, const char *s)
{
    return names_mark(a, s);
}

CPrint cprint_new(Graph *g, const Kernel *k)
{
    CPrint p = {.graph = g, .arg = k->arg, .n_arg = k->n_arg, .kernel = k};

    if (k->run)
        cprint_name(&p, g->run, k->run);
    return p;
}

static bool taken(const CPrint *p, const char *id)
{
    for (int i = 0; i < p->n_used; i++)
        if (!strcmp(p->used[i], id))
            return true;
    for (int i = 0; i < p->n_arg; i++)
        if (!strcmp(p->arg[i].name, id))
            return true;
    if (p->kernel && p->kernel->run && !strcmp(p->kernel->run, id))
        return true;
    for (int i = 0; p->kernel && i < p->kernel->n_constant; i++)
        if (!strcmp(p->kernel->constant[i].name, id))
            return true;
    return false;
}

const char *cprint_fresh(CPrint *p, const char *hint)
{
    Arena *a = p->graph->arena;
    const char *base = cprint_ident(a, hint), *id = base;

    for (int i = 1; taken(p, id); i++)
        id = arena_printf(a, "%s_%d", base, i);
    VEC_PUSH(a, p->used, p->n_used, p->cap_used) = id;
    return id;
}

void cprint_name(CPrint *p, const Var *v, const char *text)
{
    CName *n = &VEC_PUSH(p->graph->arena, p->name, p->n_name, p->cap_name);

    n->var = v;
    n->text = text;
}

const char *cprint_var(CPrint *p, const Var *v)
{
    const char *id = cprint_fresh(p, v->name && *v->name ? v->name : "i");

    cprint_name(p, v, id);
    return id;
}

static const char *var_text(CPrint *p, const Var *v)
{
    for (int i = p->n_name - 1; i >= 0; i--)
        if (p->name[i].var == v)
            return p->name[i].text;
    tree_defect(p->kernel ? p->kernel->name : "a kernel",
                "an index that nothing names", v->name);
}

const char *cprint_tensor(const CPrint *p, const Tensor *t)
{
    for (int i = 0; i < p->n_arg; i++)
        if (p->arg[i].tensor == t)
            return p->arg[i].name;
    return tensor_called(t);
}

const char *cprint_part(const CPrint *p, const Expr *read)
{
    const Tensor *t = read->tensor;
    const char *part = tensor_part_called(t, read->at);
    const char *id = cprint_ident(p->graph->arena, part);

    for (int i = 0; i < p->n_arg; i++)
        if (!strcmp(p->arg[i].name, id))
            return cprint_tensor(p, t);
    return t->part ? id : cprint_tensor(p, t);
}

CScope cprint_open(CPrint *p)
{
    CScope s = {p->n_name, p->n_used, p->n_node, p->n_seen, NULL};

    s.node = arena_array(p->graph->arena, CNode, p->n_node + 1);
    if (p->n_node)
        memcpy(s.node, p->node, sizeof(CNode) * (size_t)p->n_node);
    return s;
}

void cprint_close(CPrint *p, CScope s)
{
    p->n_name = s.n_name;
    p->n_used = s.n_used;
    p->n_node = s.n_node;
    cprint_forget(p, s.n_seen);
    if (s.n_node)
        memcpy(p->node, s.node, sizeof(CNode) * (size_t)s.n_node);
}

const char *cprint_ctype(Type t)
{
    return type_is_float(t) ? "float" : t == T_BOOL ? "bool" : "int";
}

const char *cprint_arg_ctype(Type t)
{
    return type_is_float(t) ? "float" : "int";
}

/* ---- text with precedence ---------------------------------------------- */

Text text_take(CPrint *p, Buf *b, int prec)
{
    Text t = {arena_strdup(p->graph->arena, buf_text(b)), prec};

    buf_free(b);
    return t;
}

void text_put(Buf *b, Text t, int need)
{
    if (t.prec < need)
        buf_printf(b, "(%s)", t.s);
    else
        buf_puts(b, t.s);
}

bool text_plain(const char *s)
{
    for (; *s; s++)
        if (!names_letter(*s) && *s != '.')
            return false;
    return true;
}

/* ---- indices and guards ------------------------------------------------ */

static void put_var(Buf *b, const Var *v, void *ctx)
{
    buf_puts(b, var_text(ctx, v));
}

static void put_data(Buf *b, const Expr *e, void *ctx)
{
    text_put(b, text_expr(NULL, ctx, e, NULL), P_ATOM);
}

/* Variables of extent 1 are called "0": e without them. A lane's name may
 * stand before a "0" that the vector's first element has. */
static int zero_vars(CPrint *p, Subst *s, int most)
{
    int n = 0;

    for (int i = 0; i < p->n_name && n < most; i++)
        if (!strcmp(p->name[i].text, "0") &&
            !strcmp(var_text(p, p->name[i].var), "0"))
            s[n++] = (Subst){p->name[i].var, idx_const(p->graph->pool, 0)};
    return n;
}

static void put_idx(Buf *b, CPrint *p, const Idx *e, int prec, bool wide)
{
    IdxPrinter how = {put_var, put_data, p, .ints = true, .wide = wide};
    Subst zero[MAX_RANK];
    int n = zero_vars(p, zero, MAX_RANK);

    idx_print(b, n ? idx_subst(p->graph->pool, e, zero, n) : e, &how, prec);
}

const char *cprint_idx(CPrint *p, const Idx *e, int prec)
{
    Buf b = {0};

    put_idx(&b, p, e, prec, false);
    return buf_take(&b, p->graph->arena);
}

const char *cprint_digit(Arena *a, const char *number, int64_t below,
                         int64_t extent)
{
    if (below > 1)
        number = arena_printf(a, "%s / %lld", number, (long long)below);
    if (extent > 0)
        number = arena_printf(a, "%s %% %lld", number, (long long)extent);
    return number;
}

bool cprint_wide(const Tensor *t, const Idx *offset)
{
    return t->span > INT_MAX || tensor_elems(t) > INT_MAX ||
           idx_is_wide(offset);
}

/* ---- elements of a tensor ---------------------------------------------- */

static void note_floor(const Atom *a, void *ctx)
{
    *(bool *)ctx |= a->kind == ATOM_FLOOR;
}

/* at[] without variables of extent 1. */
static const Idx *resolved(CPrint *p, const Idx *e)
{
    Subst zero[MAX_RANK];
    int n = zero_vars(p, zero, MAX_RANK);

    return n ? idx_subst(p->graph->pool, e, zero, n) : e;
}

/* The dimensions whose index is not 0, from the largest stride to the
 * smallest, if each stride divides the one before and no index has a division
 * that may cancel against another's; else -1. */
static int nested_dims(CPrint *p, const Tensor *t, const Idx **at, int *dim)
{
    int n = 0;
    bool floors = false;

    for (int d = 0; d < t->rank; d++) {
        const Idx *e = resolved(p, at[d]);
        idx_visit(e, note_floor, &floors);
        if (idx_is_const(e) && e->k == 0)
            continue;
        int j = n++;
        for (; j > 0 && t->stride[dim[j - 1]] < t->stride[d]; j--)
            dim[j] = dim[j - 1];
        dim[j] = d;
    }
    for (int i = 0; i < n; i++)
        if (t->stride[dim[i]] <= 0 ||
            (i && (t->stride[dim[i - 1]] % t->stride[dim[i]] ||
                   t->stride[dim[i - 1]] == t->stride[dim[i]])))
            return -1;
    return floors ? -1 : n;
}

/* The enumerator of that value that `name` is the beginning of, or NULL. */
static const char *enumerator(const CPrint *p, const char *name, int64_t value)
{
    size_t n = strlen(name);

    for (int i = 0; n && p->kernel && i < p->kernel->n_constant; i++) {
        const Constant *c = &p->kernel->constant[i];
        const char *plain = names_plain(p->graph->arena, c->name);
        if (c->value == value && !strncasecmp(plain, name, n) &&
            (!plain[n] || plain[n] == '_'))
            return c->name;
    }
    return NULL;
}

/* That of a size that v walks in full: by what it is called here, or its own
 * name. */
static const char *size_name(CPrint *p, const Var *v, int64_t size)
{
    if (!v || v->extent != size)
        return NULL;
    const char *id = enumerator(p, var_text(p, v), size);
    return id ? id : enumerator(p, v->name ? v->name : "", size);
}

/* The enumerator of a size that an index walks in full, or the number. */
static void put_size(Buf *b, CPrint *p, const Idx *at, int64_t size)
{
    const char *name = size_name(p, idx_is_var(at), size);

    if (name)
        buf_puts(b, name);
    else
        buf_printf(b, "%lld", (long long)size);
}

/* Whether s has an operator outside of parentheses. */
static bool is_compound(const char *s)
{
    int depth = 0;

    for (; *s; s++) {
        depth += (*s == '(' || *s == '[') - (*s == ')' || *s == ']');
        if (*s == ' ' && !depth)
            return true;
    }
    return false;
}

/* ((n * H + h) * W + w) * C + c, of indices by their strides. */
static void put_nested(Buf *b, CPrint *p, const Idx *const *at,
                       const int64_t *stride, int n, bool wide)
{
    Buf text = {0}, next = {0};
    int64_t last = n ? stride[n - 1] : 1;

    if (!n)
        buf_puts(&text, "0");
    for (int i = 0; i < n; i++) {
        bool first = i == 0, more = i + 1 < n || last > 1;
        if (!first) {
            int64_t size = stride[i - 1] / stride[i];
            if (strcmp(buf_text(&text), "1"))
                buf_printf(&next,
                           is_compound(buf_text(&text)) ? "(%s) * " : "%s * ",
                           buf_text(&text));
            put_size(&next, p, at[i], size);
            buf_puts(&next, " + ");
            buf_free(&text);
        }
        put_idx(&next, p, at[i], first && !more ? 0 : 1, wide);
        text = next;
        next = (Buf){0};
    }
    if (last > 1)
        buf_printf(b, is_compound(buf_text(&text)) ? "(%s) * %lld"
                                                   : "%s * %lld",
                   buf_text(&text), (long long)last);
    else
        buf_puts(b, buf_text(&text));
    buf_free(&text);
}

/* Fills the variables of an offset, from the largest stride to the smallest,
 * where each walks in full the stride before and some size has a name; how
 * many, or 0. */
static int named_walk(CPrint *p, const Idx *e, const Idx **at, int64_t *stride)
{
    bool named = false;

    if (!idx_affine(e) || e->k || e->n < 2 || e->n > MAX_RANK)
        return 0;
    for (int i = 0; i < e->n; i++) {
        int j = i;
        for (; j > 0 && stride[j - 1] < e->term[i].c; j--) {
            stride[j] = stride[j - 1];
            at[j] = at[j - 1];
        }
        stride[j] = e->term[i].c;
        at[j] = idx_var(p->graph->pool, e->term[i].atom->var);
    }
    for (int i = 1; i < e->n; i++) {
        const Var *v = idx_is_var(at[i]);
        if (stride[i] < 1 || stride[i - 1] != stride[i] * v->extent)
            return 0;
        named |= size_name(p, v, v->extent) != NULL;
    }
    return named ? e->n : 0;
}

const char *cprint_element(CPrint *p, const Tensor *t, const Idx *offset)
{
    const Idx *e = resolved(p, offset), *at[MAX_RANK];
    int64_t stride[MAX_RANK];
    bool wide = cprint_wide(t, offset);
    int n = named_walk(p, e, at, stride);
    Buf b = {0};

    if (n)
        put_nested(&b, p, at, stride, n, wide);
    else
        put_idx(&b, p, e, 0, wide);
    return buf_take(&b, p->graph->arena);
}

const char *cprint_at(CPrint *p, const Tensor *t, const Idx **at, Guard known)
{
    const Idx *narrow[MAX_RANK], *nest[MAX_RANK];
    int64_t stride[MAX_RANK];
    int dim[MAX_RANK], n;
    Buf b = {0};

    for (int d = 0; d < t->rank; d++)
        narrow[d] = guard_narrow(p->graph->pool, known, at[d]);
    n = nested_dims(p, t, narrow, dim);
    if (n < 0)
        return cprint_element(p, t, tensor_offset(p->graph, t, narrow));
    for (int i = 0; i < n; i++) {
        nest[i] = narrow[dim[i]];
        stride[i] = t->stride[dim[i]];
    }
    put_nested(&b, p, nest, stride, n,
               cprint_wide(t, tensor_offset(p->graph, t, narrow)));
    return buf_take(&b, p->graph->arena);
}

/* ---- guards and stores ------------------------------------------------- */

/* The condition of g whose e is that of condition i with the other sign, or
 * -1. */
static int contrary(CPrint *p, Guard g, int i)
{
    const Idx *e = g.cond[i].mod ? NULL
                                 : idx_scale(p->graph->pool, g.cond[i].e, -1);

    for (int j = 0; e && j < g.n; j++)
        if (!g.cond[j].mod && g.cond[j].e == e)
            return j;
    return -1;
}

Text text_guard(CPrint *p, Guard g)
{
    IdxPrinter how = {put_var, put_data, p, .ints = true};
    Buf b = {0};
    int n = 0;

    Subst zero[MAX_RANK];
    int zeros = zero_vars(p, zero, MAX_RANK);
    if (zeros)
        g = guard_subst(p->graph->pool, g, zero, zeros);
    for (int i = 0; i < g.n; i++) {
        int other = contrary(p, g, i);
        if (cond_truth(g.cond[i]) == ALWAYS || (other >= 0 && other < i))
            continue;
        if (n++)
            buf_puts(&b, " && ");
        if (other > i)
            cond_print_zero(&b, g.cond[i].e, &how);
        else
            cond_print(&b, g.cond[i], &how);
    }
    if (!n)
        buf_puts(&b, "true");
    return text_take(p, &b, n == 0 ? P_ATOM : n == 1 ? P_EQ : P_AND);
}

const char *cprint_guard(CPrint *p, Guard g)
{
    Buf b = {0};

    text_put(&b, text_guard(p, g), P_EQ);
    return buf_take(&b, p->graph->arena);
}

const char *cprint_condition(CPrint *p, Guard g)
{
    return text_guard(p, g).s;
}

/* ---- stores and reductions --------------------------------------------- */

/* The length of what is inside if text is a call of f as a whole, else 0. */
static int inside_call(const char *f, const char *text)
{
    size_t n = strlen(f);
    const char *c = text + n;
    int depth = 1;

    if (strncmp(text, f, n) || *c++ != '(')
        return 0;
    for (const char *inside = c; *c; c++) {
        depth += (*c == '(') - (*c == ')');
        if (!depth)
            return c[1] ? 0 : (int)(c - inside);
    }
    return 0;
}

const char *cprint_to_storage(Arena *a, Type storage, Type value,
                              const char *text)
{
    bool from_float = type_is_float(value);
    const char *load = storage == T_F16    ? "__half2float"
                       : storage == T_BF16 ? "__bfloat162float"
                                           : "";
    int n = *load ? inside_call(load, text) : 0;

    if (n) /* a copy: no way there and back */
        return arena_strndup(a, text + strlen(load) + 1, (size_t)n);
    switch (storage) {
    case T_F16:
        return arena_printf(a, "__float2half_rn(%s)", text);
    case T_BF16:
        return arena_printf(a, "__float2bfloat16_rn(%s)", text);
    case T_F32:
        return from_float || text_plain(text)
                   ? text
                   : arena_printf(a, "(float)(%s)", text);
    case T_I32:
        return from_float ? arena_printf(a, "dcc_to_i32(%s)", text) : text;
    case T_I8:
        return value == T_BOOL || value == T_I8
                   ? text
                   : arena_printf(a, "dcc_to_i8(%s)", text);
    case T_U8:
        return value == T_BOOL || value == T_U8
                   ? text
                   : arena_printf(a, "dcc_to_u8(%s)", text);
    case T_BOOL:
        break;
    }
    if (value == T_BOOL)
        return text;
    if (from_float)
        return arena_printf(a, "dcc_to_bool(%s)", text);
    return arena_printf(a, text_plain(text) ? "%s != 0" : "(%s) != 0", text);
}

void cprint_store(Tree *list, CPrint *p, const Tensor *t, const Idx **store,
                  Guard where, Type value, const char *text)
{
    Tree *one = QUOTE(
        list->arena, "@tensor[@at] = @value;\n",
        FILL("tensor", cprint_tensor(p, t)),
        FILL("at", cprint_at(p, t, store, where)),
        FILL("value", cprint_to_storage(list->arena, t->type, value, text)));

    if (guard_truth(where) == ALWAYS)
        tree_add(list, one);
    else
        PUT(list,
            "if (@where)\n"
            "    @STORE\n",
            FILL("where", cprint_condition(p, where)), FILL_TREE("STORE", one));
}

const char *cprint_identity(Reduce r, Type t)
{
    bool f = type_is_float(t);

    switch (r) {
    case R_PROD:
        return f ? "1.0f" : "1";
    case R_MAX:
    case R_ARGMAX:
        return f ? "-INFINITY" : "INT_MIN";
    case R_MIN:
        return f ? "INFINITY" : "INT_MAX";
    default:
        return f ? "0.0f" : "0";
    }
}

void cprint_combine(Tree *list, const CPrint *p, const Step *s, int i,
                    const char *acc, const char *x)
{
    bool f = type_is_float(s->type), prod = s->op == R_PROD;
    const char *call = NULL;

    if (s->op == R_MIN)
        call = f ? "fminf" : "min";
    else if (s->op == R_MAX || s->op == R_ARGMAX)
        call = f ? "fmaxf" : "max";
    else if (!f && (!p->wraps || p->wraps[i]))
        call = text_wrapping(prod ? F_MUL : F_ADD);
    if (call)
        PUT(list, "@acc = @call(@acc, @x);\n", FILL("acc", acc),
            FILL("call", call), FILL("x", x));
    else if (prod)
        PUT(list, "@acc *= @x;\n", FILL("acc", acc), FILL("x", x));
    else
        PUT(list, "@acc += @x;\n", FILL("acc", acc), FILL("x", x));
}
