#include "rewrite/inline.h"

#include "rewrite/number.h"

enum { MAX_VARS = 24, MAX_DEPTH = 8 };

int invert_store(Graph *g, const Tensor *t, const Idx **store, const Idx **at,
                 Subst *s, int max)
{
    int n = 0;

    for (int d = 0; d < t->rank; d++) {
        const Var *v[MAX_VARS];
        int k = idx_radix(store[d], t->dim[d], v, MAX_VARS);
        if (k < 0 || n + k > max)
            return -1;
        int64_t below = 1;
        for (int j = k - 1; j >= 0; j--) { /* from the fastest */
            const Idx *e = idx_floor(g->pool, at[d], below);
            if (j > 0)
                e = idx_mod(g->pool, e, v[j]->extent);
            s[n++] = (Subst){v[j], e};
            below *= v[j]->extent;
        }
    }
    return n;
}

typedef struct Inline {
    const Tensor *t;
    const Expr *value;
    const Idx **store;
    bool failed;
    Guard in; /* added to every read inside */
} Inline;

static const Expr *add_guard(Graph *g, const Expr *e, void *ctx)
{
    const Inline *in = ctx;

    if (e->kind != E_READ)
        return NULL;
    const Expr *out = e->outside ? e->outside : expr_const(g, 0, e->type);
    return expr_read(g, e->tensor, e->at, guard_and(g->pool, e->in, in->in),
                     out);
}

static const Expr *inline_read(Graph *g, const Expr *e, void *ctx)
{
    Inline *in = ctx;
    Subst s[MAX_VARS];

    if (e->kind != E_READ || e->tensor != in->t)
        return NULL;
    int n = invert_store(g, in->t, in->store, e->at, s, MAX_VARS);
    if (n < 0) {
        in->failed = true;
        return NULL;
    }
    const Expr *v = expr_subst(g, in->value, s, n);
    if (!e->in.n)
        return v;
    bool plain = v->kind == E_READ &&
                 (!v->in.n || expr_equal(v->outside, e->outside));
    if (plain)
        return expr_read(g, v->tensor, v->at,
                         guard_and(g->pool, v->in, e->in), e->outside);
    Inline inner = {.in = e->in};
    return expr_select(g, expr_of_guard(g, e->in),
                       expr_rewrite(g, v, add_guard, &inner), e->outside,
                       e->type);
}

const Expr *inline_reads(Graph *g, const Expr *e, const Tensor *t,
                         const Expr *value, const Idx **store)
{
    Inline in = {.t = t, .value = value, .store = store};
    int unknowns = idx_unknowns(g->pool);
    const Expr *r = expr_rewrite(g, e, inline_read, &in);

    /* indices that would grow beyond what can be computed stay apart */
    return in.failed || (idx_unknowns(g->pool) > unknowns &&
                         !expr_is_computable(r))
               ? NULL
               : number_expr(g, r);
}

/* ---- behind reads ------------------------------------------------------- */

typedef struct Resolve {
    const Behind *behind;
    int depth;
    bool failed;
} Resolve;

const Stmt *behind_tensor(const Behind *b, const Tensor *t)
{
    const Stmt *s = t->id < b->n_by ? b->by[t->id] : NULL;

    return s && t->role == ROLE_TEMP && !t->prev && !s->where.n &&
                   s->when == WHEN_RUN
               ? s
               : NULL;
}

/* What e, a read, is a value of, if behind_reads goes on there. */
static const Stmt *behind_read(const Behind *b, const Expr *e)
{
    if (e->kind != E_READ || e->in.n || (b->test && !b->test(e, b->ctx)))
        return NULL;
    const Stmt *s = behind_tensor(b, e->tensor);
    return s && s->op == R_NONE ? s : NULL;
}

static const Expr *resolve_read(Graph *g, const Expr *e, void *ctx)
{
    Resolve *v = ctx;
    const Behind *b = v->behind;
    Subst sub[MAX_VARS];

    if (e->kind == E_CAST && type_is_float(e->type) &&
        type_is_float(e->arg[0]->type))
        return e->arg[0];
    const Stmt *s = v->failed ? NULL : behind_read(b, e);
    if (!s)
        return NULL;
    int n = invert_store(g, e->tensor, s->store, e->at, sub, MAX_VARS);
    v->failed |=
        n < 0 || v->depth >= MAX_DEPTH || expr_ops(s->value) > b->max_ops;
    if (v->failed)
        return NULL;
    v->depth++;
    const Expr *x =
        expr_rewrite(g, expr_subst(g, s->value, sub, n), resolve_read, v);
    v->depth--;
    v->failed |= expr_ops(x) > b->max_ops;
    return x;
}

const Expr *behind_reads(Graph *g, const Behind *b, const Expr *e)
{
    Resolve v = {.behind = b};
    const Expr *x = expr_rewrite(g, e, resolve_read, &v);

    return v.failed ? NULL : x;
}

typedef struct Twice {
    Graph *g;
    const Behind *behind;
} Twice;

static void note_twice(const Expr *e, void *ctx)
{
    Twice *t = ctx;
    const Stmt *s = behind_read(t->behind, e);

    if (!s || t->g->tensor[e->tensor->id]->twice)
        return;
    t->g->tensor[e->tensor->id]->twice = type_is_float(e->tensor->type) &&
                                         type_bytes(e->tensor->type) <
                                             type_bytes(T_F32);
    expr_visit(s->value, note_twice, t);
}

void behind_twice(Graph *g, const Behind *b, const Expr *e)
{
    Twice t = {g, b};

    expr_visit(e, note_twice, &t);
}
