#include "check.h"

/* ---- whom a name before '(' means */

static Item *find_item(const Program *p, const char *name, bool library)
{
    for (int i = 0; i < p->n_item; i++)
        if (p->item[i]->library == library &&
            !strcmp(p->item[i]->name.text, name))
            return p->item[i];
    return NULL;
}

/* A user's op hides the library's; the library sees only itself. */
Item *dsl_find_op(const Program *p, const char *name)
{
    Item *it = find_item(p, name, false);

    if (!it || it->kind == ITEM_MODEL)
        it = find_item(p, name, true);
    return it;
}

/* A user's op, else a function, else the library's op. In the body of an op
 * that has a function's name, the function. */
static void resolve(Check *c, AstExpr *e)
{
    const char *name = e->call.name.text;
    Item *user = c->item->library ? NULL : find_item(c->program, name, false);

    e->call.func = dsl_find_function(name);
    if (user && !(user == c->item && e->call.func)) {
        e->call.func = NULL;
        e->call.item = user;
    } else if (!e->call.func) {
        e->call.item = find_item(c->program, name, true);
    }
}

static bool is_reduction(const char *name)
{
    for (int op = RED_SUM; op <= RED_ARGMIN; op++)
        if (!strcmp(name, reduce_word((ReduceOp)op)))
            return true;
    return false;
}

static void unknown_callee(Check *c, Name n)
{
    static const char *const functions[] = {
        "abs", "max", "min", "exp", "log", "sqrt", "rsqrt", "pow", "floor",
        "ceil", "round", "sin", "cos", "tan", "erf", "fma", "fmod", "log1p",
        "expm1", "exp2", "log2",
    };
    const char **near = NULL;
    int count = 0, cap = 0;
    Sym *s = scope_find(c, SPACE_TENSOR, n.text);

    if (is_reduction(n.text)) {
        diag_error(c->diag, n.at, "the reduction '%s(..)' has no term after "
                   "it", n.text);
        return;
    }
    if (s || (s = scope_find(c, SPACE_VALUE, n.text))) {
        diag_error(c->diag, n.at, "'%s' is %s and cannot be called", n.text,
                   sym_words(s));
        diag_note(c->diag, s->at, "'%s' is declared here", n.text);
        return;
    }
    for (int i = 0; i < c->program->n_item && !diag_full(c->diag); i++)
        if (c->program->item[i]->kind != ITEM_MODEL)
            VEC_PUSH(c->arena, near, count, cap) =
                c->program->item[i]->name.text;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        VEC_PUSH(c->arena, near, count, cap) = functions[i];
    diag_error(c->diag, n.at, "undefined op or function '%s'%s", n.text,
               scope_hint(c, n.text, near, count));
}

/* ---- functions and casts */

static bool only_values(Check *c, AstExpr *e, const char *what)
{
    const Args *args = &e->call.args;

    for (int i = 0; i < args->n; i++)
        if (args->arg[i].kind == ARG_NAMED) {
            diag_error(c->diag, args->arg[i].at,
                       "%s '%s' has no named arguments", what,
                       e->call.name.text);
            return false;
        }
    if (e->call.index || e->call.has_as) {
        diag_error(c->diag, e->at, "%s '%s' has no path: no index and no 'as'",
                   what, e->call.name.text);
        return false;
    }
    return true;
}

static void check_function(Check *c, AstExpr *e, Mode mode)
{
    const Function *f = e->call.func;
    Args *args = &e->call.args;

    if (!only_values(c, e, "function"))
        return;
    if (args->n != f->n_args) {
        diag_error(c->diag, e->at, "function '%s' takes %d argument%s, %d %s "
                   "given", f->name, f->n_args, f->n_args == 1 ? "" : "s",
                   args->n, args->n == 1 ? "is" : "are");
        if (is_reduction(f->name))
            diag_note(c->diag, e->at, "as a reduction '%s(..)' is followed by "
                      "its term", f->name);
        return;
    }
    for (int i = 0; i < args->n; i++)
        check_expr(c, args->arg[i].value, mode);
}

/* T(x): the call turns into a cast. */
static void check_type_call(Check *c, AstExpr *e, Mode mode)
{
    Name n = e->call.name;

    if (!only_values(c, e, "cast"))
        return;
    if (e->call.args.n != 1) {
        diag_error(c->diag, e->at, "a cast takes one value, as in %s(x)",
                   n.text);
        return;
    }
    AstExpr *value = e->call.args.arg[0].value;
    e->kind = EXPR_CAST;
    memset(&e->call, 0, sizeof e->call);
    e->cast.elem = ELEM_NAMED;
    e->cast.name = n;
    e->cast.value = value;
    check_expr(c, value, mode);
}

/* ---- ops and blocks */

typedef struct Given {
    Span *param, *attr; /* where each was given */
    bool *has_param, *has_attr;
    Span call; /* the callee's name */
} Given;

static void note_callee(Check *c, const Item *it, Span call)
{
    Buf b = {0};

    if (!it->library) {
        diag_note(c->diag, it->name.at, "'%s' is defined here",
                  it->name.text);
        return;
    }
    ast_print_signature(&b, it);
    char *arrow = strstr(b.text, " -> ");
    if (arrow)
        *arrow = 0;
    diag_note(c->diag, call, "the library has %s", b.text);
    buf_free(&b);
}

static void unknown_argument(Check *c, const Item *it, Name n, Span call)
{
    const char **near = NULL;
    int count = 0, cap = 0;

    for (int i = 0; i < it->n_param; i++)
        VEC_PUSH(c->arena, near, count, cap) = it->param[i].name.text;
    for (int i = 0; i < it->n_attr; i++)
        VEC_PUSH(c->arena, near, count, cap) = it->attr[i].name.text;
    diag_error(c->diag, n.at, "%s '%s' has no parameter or attribute '%s'%s",
               item_kind_name(it->kind), it->name.text, n.text,
               scope_hint(c, n.text, near, count));
    note_callee(c, it, call);
}

static void give(Check *c, const char *name, Span at, bool *has, Span *first)
{
    if (*has) {
        diag_error(c->diag, at, "'%s' is given twice", name);
        diag_note(c->diag, *first, "here first");
    }
    *has = true;
    *first = at;
}

/* Argument number `at` without a name: parameters first, then attributes. */
static void check_positional(Check *c, const Item *it, int at, const Arg *x,
                             Given *g, Mode mode)
{
    int n = it->n_param;

    if (it->view == VIEW_CONCAT || at < n) {
        check_expr(c, x->value, mode);
        give(c, it->param[at < n ? at : n - 1].name.text, x->at,
             &g->has_param[at], &g->param[at]);
    } else if (at < n + it->n_attr) {
        give(c, it->attr[at - n].name.text, x->at, &g->has_attr[at - n],
             &g->attr[at - n]);
        check_attr_value(c, it, &it->attr[at - n], x->value);
    } else {
        if (at == n + it->n_attr) {
            diag_error(c->diag, x->at, "too many arguments for %s '%s'",
                       item_kind_name(it->kind), it->name.text);
            note_callee(c, it, g->call);
        }
        check_expr(c, x->value, mode);
    }
}

static void check_named(Check *c, const Item *it, const Arg *x, Given *g,
                        Mode mode)
{
    for (int i = 0; i < it->n_param; i++)
        if (!strcmp(it->param[i].name.text, x->name.text)) {
            give(c, x->name.text, x->name.at, &g->has_param[i],
                 &g->param[i]);
            check_expr(c, x->value, mode);
            return;
        }
    for (int i = 0; i < it->n_attr; i++)
        if (!strcmp(it->attr[i].name.text, x->name.text)) {
            give(c, x->name.text, x->name.at, &g->has_attr[i], &g->attr[i]);
            check_attr_value(c, it, &it->attr[i], x->value);
            return;
        }
    unknown_argument(c, it, x->name, g->call);
    if (x->value->kind != EXPR_LIST && x->value->kind != EXPR_STRING)
        check_expr(c, x->value, mode);
}

static void check_missing(Check *c, const AstExpr *e, const Item *it,
                          const Given *g)
{
    Buf b = {0};
    int n = 0;

    for (int i = 0; i < it->n_param; i++)
        if (!g->has_param[i] && !it->param[i].value)
            buf_printf(&b, "%s'%s'", n++ ? ", " : "", it->param[i].name.text);
    for (int i = 0; i < it->n_attr; i++)
        if (!g->has_attr[i] && !it->attr[i].value)
            buf_printf(&b, "%s'%s'", n++ ? ", " : "", it->attr[i].name.text);
    if (n) {
        diag_error(c->diag, e->at, "%s '%s' needs %s", item_kind_name(it->kind),
                   it->name.text, buf_text(&b));
        note_callee(c, it, g->call);
    }
    buf_free(&b);
}

static void check_arguments(Check *c, AstExpr *e, Mode mode)
{
    const Item *it = e->call.item;
    const Args *args = &e->call.args;
    int most = it->n_param + args->n + 1;
    Given g = {arena_array(c->arena, Span, most),
               arena_array(c->arena, Span, it->n_attr + 1),
               arena_array(c->arena, bool, most),
               arena_array(c->arena, bool, it->n_attr + 1),
               e->call.name.at};

    for (int i = 0; i < args->n; i++) {
        const Arg *x = &args->arg[i];
        if (x->kind == ARG_NAMED)
            check_named(c, it, x, &g, mode);
        else
            check_positional(c, it, i, x, &g, mode);
    }
    check_missing(c, e, it, &g);
}

/* May the item being checked call `it` here at all? */
static bool check_allowed(Check *c, AstExpr *e, const Item *it, Mode mode)
{
    const char *kind = item_kind_name(it->kind), *name = it->name.text;
    Span at = e->call.name.at;

    if (it->kind == ITEM_MODEL)
        diag_error(c->diag, at, "'%s' is a model and cannot be called", name);
    else if (mode == MODE_CONST)
        diag_error(c->diag, at, "%s '%s' gives a tensor, a compile-time value "
                   "is expected", kind, name);
    else if (it->kind == ITEM_BLOCK && c->item->kind == ITEM_OP)
        diag_error(c->diag, at, "an op cannot call block '%s': only blocks and "
                   "models have parameters", name);
    else
        return true;
    return false;
}

/* The first call from one item to another stands for all. */
static void add_edge(Check *c, Item *to, Span at)
{
    for (int i = 0; i < c->n_edge; i++)
        if (c->edge[i].from == c->item && c->edge[i].to == to)
            return;
    VEC_PUSH(c->arena, c->edge, c->n_edge, c->cap_edge) =
        (Edge){c->item, to, at, false};
}

/* rank(x), size(x): numbers at compile time, of a tensor's name. */
static bool check_rank(Check *c, AstExpr *e)
{
    const Args *a = &e->call.args;

    if (strcmp(e->call.name.text, "rank") && strcmp(e->call.name.text, "size"))
        return false;
    if (!only_values(c, e, "function"))
        return true;
    const AstExpr *x = a->n == 1 && a->arg[0].kind == ARG_VALUE
                           ? a->arg[0].value : NULL;
    Sym *s = x && x->kind == EXPR_NAME
                 ? scope_find(c, SPACE_TENSOR, x->name.text) : NULL;
    if (!sym_is_tensor(s))
        diag_error(c->diag, e->at, "'%s' takes the name of a tensor",
                   e->call.name.text);
    else
        scope_read(s);
    return true;
}

void check_call(Check *c, AstExpr *e, Mode mode)
{
    if (scope_find(c, SPACE_TYPE, e->call.name.text)) {
        check_type_call(c, e, mode);
        return;
    }
    if (e->call.index)
        check_expr(c, e->call.index, MODE_CONST);
    if (e->call.has_as)
        check_string(c, &e->call.as);
    resolve(c, e);
    if (e->call.func) {
        check_function(c, e, mode);
    } else if (!e->call.item) {
        if (!check_rank(c, e))
            unknown_callee(c, e->call.name);
    } else if (check_allowed(c, e, e->call.item, mode)) {
        add_edge(c, (Item *)e->call.item, e->call.name.at);
        check_arguments(c, e, mode);
    }
}

/* ---- calls in circles */

static bool reaches(Check *c, const Item *from, const Item *to)
{
    if (from == to)
        return true;
    for (int i = 0; i < c->n_edge; i++)
        if (c->edge[i].from == from && !c->edge[i].done) {
            c->edge[i].done = true;
            if (reaches(c, c->edge[i].to, to))
                return true;
        }
    return false;
}

void check_cycles(Check *c)
{
    for (int i = 0; i < c->n_edge; i++) {
        Edge *e = &c->edge[i];
        for (int j = 0; j < c->n_edge; j++)
            c->edge[j].done = false;
        if (!reaches(c, e->to, e->from))
            continue;
        if (e->to == e->from)
            diag_error(c->diag, e->at, "%s '%s' calls itself",
                       item_kind_name(e->from->kind), e->from->name.text);
        else
            diag_error(c->diag, e->at, "%s '%s' calls '%s', which calls '%s' "
                       "in turn", item_kind_name(e->from->kind),
                       e->from->name.text, e->to->name.text,
                       e->from->name.text);
    }
}
