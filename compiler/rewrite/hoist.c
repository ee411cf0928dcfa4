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

/* What was found out about an expression; other ones are made of it, and ask
 * again. */
typedef struct Known {
    const Expr *e; /* NULL: free */
    bool searched, split;
    Search search;
    Linear linear;
} Known;

typedef struct Hoist {
    Graph *g;
    Known **known; /* open addressing */
    size_t n, cap;
} Hoist;

static Known **slot_of(const Hoist *h, const Expr *e)
{
    size_t i = ((uintptr_t)e >> 4) * 0x9e3779b97f4a7c15u >> 20;

    for (i &= h->cap - 1; h->known[i] && h->known[i]->e != e;)
        i = (i + 1) & (h->cap - 1);
    return &h->known[i];
}

static void make_room(Hoist *h)
{
    const Hoist old = *h;

    if (2 * h->n < h->cap)
        return;
    h->cap = old.cap ? 2 * old.cap : 64;
    h->known = arena_array(h->g->arena, Known *, h->cap);
    for (size_t i = 0; i < old.cap; i++)
        if (old.known[i])
            *slot_of(h, old.known[i]->e) = old.known[i];
}

static Known *known_of(Hoist *h, const Expr *e)
{
    make_room(h);
    Known **k = slot_of(h, e);
    if (!*k) {
        *k = arena_new_of(h->g->arena, Known);
        (*k)->e = e;
        h->n++;
    }
    return *k;
}

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

/* Of its arguments, where it has some: they were asked before. */
static Search search(Hoist *h, const Expr *e)
{
    Known *k = known_of(h, e);

    if (k->searched)
        return k->search;
    Search s = {false, false};
    if (!e->arg[0])
        expr_visit(e, find_reads, &s);
    for (int i = 0; i < 3 && e->arg[i]; i++) {
        Search of = search(h, e->arg[i]);
        s.param |= of.param;
        s.other |= of.other;
    }
    k->searched = true;
    return k->search = s;
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

static Linear linear(Hoist *h, const Expr *e);

/* p + q or p - q, one of them of parameters alone. */
static void add_linear(Hoist *h, const Expr *e, Linear *l)
{
    Graph *g = h->g;
    Linear a = linear(h, e->arg[0]), b = linear(h, e->arg[1]);

    if (a.x && b.x)
        return;
    if (e->fn == F_SUB) {
        b.scale = b.x ? times(g, b.scale, expr_const(g, -1, T_F32)) : NULL;
        b.after = b.after ? expr_unary(g, F_NEG, b.after, T_F32) : NULL;
    }
    *l = a.x ? a : b;
    add_param(g, l, a.x ? b.after : a.after);
}

static void mul_linear(Hoist *h, const Expr *e, Linear *l)
{
    Graph *g = h->g;
    Linear a = linear(h, e->arg[0]), b = linear(h, e->arg[1]);

    if (a.x && b.x)
        return;
    const Expr *p = a.x ? b.after : a.after;
    *l = a.x ? a : b;
    l->scale = times(g, l->scale, p);
    l->after = l->after ? combine(g, F_MUL, l->after, p) : NULL;
}

static Linear find_linear(Hoist *h, const Expr *e)
{
    Linear l = {.x = e};

    if (!type_is_float(e->type))
        return l;
    if (!search(h, e).other)
        return (Linear){.after = e};
    if (e->kind != E_BINARY || e->arg[2])
        return l;
    if (e->fn == F_ADD || e->fn == F_SUB)
        add_linear(h, e, &l);
    else if (e->fn == F_MUL)
        mul_linear(h, e, &l);
    return l;
}

static Linear linear(Hoist *h, const Expr *e)
{
    Known *k = known_of(h, e);

    if (!k->split)
        k->linear = find_linear(h, e);
    k->split = true;
    return k->linear;
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
static bool saves(Hoist *h, const Stmt *s, const Expr *e, const Linear *l)
{
    enum { LEAST = 2 }; /* operations */
    const Expr *shift = shift_of(h->g, l, l->scale);

    return l->x && l->x != e && search(h, e).param &&
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

static const Expr *walk(Hoist *h, const Stmt *s, const Expr *e)
{
    Graph *g = h->g;

    if (e->kind == E_BINARY && !e->arg[2] && type_is_float(e->type)) {
        Linear l = linear(h, e);
        if (saves(h, s, e, &l))
            return rewritten(g, s, &l, walk(h, s, l.x), e->type);
        return expr_binary(g, e->fn, walk(h, s, e->arg[0]),
                           walk(h, s, e->arg[1]), e->type);
    }
    if (e->kind == E_UNARY)
        return expr_unary(g, e->fn, walk(h, s, e->arg[0]), e->type);
    if (e->kind == E_CAST)
        return expr_cast(g, walk(h, s, e->arg[0]), e->type);
    return e;
}

void hoist_params(Graph *g)
{
    Hoist h = {.g = g};

    for (int i = 0; i < g->n_stmt; i++) {
        Stmt *s = g->stmt[i];
        Search found = search(&h, s->value);
        if (s->when != WHEN_RUN || s->op != R_NONE || !found.param ||
            !found.other)
            continue;
        int before = g->n_stmt;
        s->value = walk(&h, s, s->value);
        i += g->n_stmt - before; /* they went before s */
    }
}
