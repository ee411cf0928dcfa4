#include "rewrite/hoist.h"
#include "rewrite/simplify.h"

/* e = scale * (x + before) + after; x NULL: e is `after`, made of parameters
 * alone. A scale of NULL is 1, `before` and `after` of NULL are 0. */
typedef struct Linear {
    const Expr *x, *scale, *before, *after;
} Linear;

typedef struct Search {
    bool param, other;
} Search;

static void find_reads(const Expr *e, void *ctx)
{
    Search *s = ctx;

    if (e->kind == E_LOCAL || e->kind == E_INDEX)
        s->other = true;
    if (e->kind != E_READ)
        return;
    if (tensor_is_constant(e->tensor) && !e->in.n)
        s->param = true;
    else
        s->other = true;
}

static Search search(const Expr *e)
{
    Search s = {false, false};

    expr_visit(e, find_reads, &s);
    return s;
}

static const Expr *combine(Graph *g, Func f, const Expr *a, const Expr *b)
{
    return expr_binary(g, f, a, b, T_F32);
}

static const Expr *plus(Graph *g, const Expr *a, const Expr *b)
{
    return !a ? b : !b ? a : combine(g, F_ADD, a, b);
}

/* a * b, where an a of NULL is 1 */
static const Expr *times(Graph *g, const Expr *a, const Expr *b)
{
    return !a ? b : combine(g, F_MUL, a, b);
}

static void add_param(Graph *g, Linear *l, const Expr *p)
{
    const Expr **to = l->scale ? &l->after : &l->before;

    *to = plus(g, *to, p);
}

static Linear linear(Graph *g, const Expr *e);

/* p + q or p - q, one of them of parameters alone. */
static void add_linear(Graph *g, const Expr *e, Linear *l)
{
    Linear a = linear(g, e->arg[0]), b = linear(g, e->arg[1]);

    if (a.x && b.x)
        return;
    if (e->fn == F_SUB) {
        b.scale = b.x ? times(g, b.scale, expr_const(g, -1, T_F32)) : NULL;
        b.after = b.after ? expr_unary(g, F_NEG, b.after, T_F32) : NULL;
    }
    *l = a.x ? a : b;
    add_param(g, l, a.x ? b.after : a.after);
}

static void mul_linear(Graph *g, const Expr *e, Linear *l)
{
    Linear a = linear(g, e->arg[0]), b = linear(g, e->arg[1]);

    if (a.x && b.x)
        return;
    const Expr *p = a.x ? b.after : a.after;
    *l = a.x ? a : b;
    l->scale = times(g, l->scale, p);
    l->after = l->after ? combine(g, F_MUL, l->after, p) : NULL;
}

static Linear linear(Graph *g, const Expr *e)
{
    Linear l = {.x = e};

    if (!type_is_float(e->type))
        return l;
    if (!search(e).other)
        return (Linear){.after = e};
    if (e->kind != E_BINARY || e->arg[2])
        return l;
    if (e->fn == F_ADD || e->fn == F_SUB)
        add_linear(g, e, &l);
    else if (e->fn == F_MUL)
        mul_linear(g, e, &l);
    return l;
}

/* ---- at load time ------------------------------------------------------ */

typedef struct First {
    const Tensor *param;
} First;

static void find_param(const Expr *e, void *ctx)
{
    First *f = ctx;

    if (e->kind == E_READ && !f->param)
        f->param = e->tensor;
}

/* The variables of s that e uses; how many values it has. */
static int64_t used_vars(const Stmt *s, const Expr *e, const Var **v, int *n)
{
    int64_t values = 1;

    *n = 0;
    for (int i = 0; i < s->n_out; i++)
        if (expr_uses(e, s->out[i])) {
            if (*n < MAX_RANK)
                v[*n] = s->out[i];
            ++*n;
            values *= s->out[i]->extent;
        }
    return values;
}

static bool worth_storing(const Stmt *s, const Expr *e)
{
    enum { MOST = 1 << 16 };
    const Var *v[MAX_RANK];
    int n;

    return !e || e->kind == E_CONST || e->kind == E_READ ||
           (used_vars(s, e, v, &n) <= MOST && n > 0 && n <= 2);
}

/* A read of what e is, computed at load time. */
static const Expr *stored(Graph *g, const Stmt *s, const Expr *e,
                          const char *name)
{
    const Var *v[MAX_RANK];
    First first = {NULL};
    int n;

    if (!e || e->kind == E_CONST || e->kind == E_READ)
        return e;
    used_vars(s, e, v, &n);
    expr_visit(e, find_param, &first);
    Stmt *c = load_stmt(g, first.param);
    c->path = arena_printf(g->arena, "%s_%s", s->path, name);
    return store_values(g, c, s, e, v, n, T_F32, name);
}

/* ---- rewriting --------------------------------------------------------- */

/* What is added to scale * x. */
static const Expr *shift_of(Graph *g, const Linear *l, const Expr *scale)
{
    const Expr *before = l->before && scale
                             ? combine(g, F_MUL, l->before, scale)
                             : l->before;

    return plus(g, before, l->after);
}

/* Is e worth being written as l? */
static bool saves(Graph *g, const Stmt *s, const Expr *e, const Linear *l)
{
    enum { LEAST = 2 }; /* operations */
    const Expr *shift = shift_of(g, l, l->scale);

    return l->x && l->x != e && search(e).param &&
           worth_storing(s, l->scale) && worth_storing(s, shift) &&
           expr_ops(e) - expr_ops(l->x) - (l->scale != NULL) -
                   (shift != NULL) >= LEAST;
}

/* The shift is computed from the stored scale: one kernel makes both. */
static const Expr *rewritten(Graph *g, const Stmt *s, const Linear *l,
                             const Expr *x, Type type)
{
    const Expr *scale = stored(g, s, l->scale, "scale");
    const Expr *shift = stored(g, s, shift_of(g, l, scale), "shift");

    x = scale ? expr_binary(g, F_MUL, x, scale, type) : x;
    return shift ? expr_binary(g, F_ADD, x, shift, type) : x;
}

static const Expr *walk(Graph *g, const Stmt *s, const Expr *e)
{
    if (e->kind == E_BINARY && !e->arg[2] && type_is_float(e->type)) {
        Linear l = linear(g, e);
        if (saves(g, s, e, &l))
            return rewritten(g, s, &l, walk(g, s, l.x), e->type);
        return expr_binary(g, e->fn, walk(g, s, e->arg[0]),
                           walk(g, s, e->arg[1]), e->type);
    }
    if (e->kind == E_UNARY)
        return expr_unary(g, e->fn, walk(g, s, e->arg[0]), e->type);
    if (e->kind == E_CAST)
        return expr_cast(g, walk(g, s, e->arg[0]), e->type);
    return e;
}

void hoist_params(Graph *g)
{
    for (int i = 0; i < g->n_stmt; i++) {
        Stmt *s = g->stmt[i];
        Search found = search(s->value);
        if (s->when != WHEN_RUN || s->op != R_NONE || !found.param ||
            !found.other)
            continue;
        int before = g->n_stmt;
        s->value = walk(g, s, s->value);
        i += g->n_stmt - before; /* they went before s */
    }
}
