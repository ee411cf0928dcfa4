#include "rewrite/heads.h"

/* Dimensions p and q of t, which all that read it read as e / K and e % K,
 * where e is what they sum over, or, of those behind the first (a product's
 * gradient), their row. */
typedef struct Heads {
    Graph *g;
    Stmt *copy, *sum;   /* t = u, u = sum(..) .. * .. */
    Tensor *t, *u;
    int p, q, rank;
    int64_t heads, k;   /* their extents */
    const Stmt *reader; /* being looked at */
    int reads;
    bool otherwise;     /* some read of t is of another kind */
} Heads;

static bool by_variables(const Stmt *s)
{
    for (int d = 0; d < s->tensor->rank; d++)
        if (!idx_is_var(s->store[d]))
            return false;
    return true;
}

static const Expr *uncast(const Expr *e)
{
    return e->kind == E_CAST ? e->arg[0] : e;
}

static bool alone(const Tensor *t, const Stmt *const *writer)
{
    return t->role == ROLE_TEMP && !t->prev && t->when == WHEN_RUN &&
           writer[t->id];
}

/* t = u where u is a sum of products of two. */
static bool is_copy_of_sum(Heads *h, Stmt *s, Stmt *const *writer)
{
    const Expr *read = uncast(s->value);

    h->copy = s;
    h->t = s->tensor;
    if (s->op != R_NONE || s->where.n || s->notes || read->kind != E_READ ||
        read->in.n || !alone(h->t, (const Stmt *const *)writer) ||
        !by_variables(s))
        return false;
    h->u = read->tensor;
    if (!alone(h->u, (const Stmt *const *)writer) ||
        h->u->rank != h->t->rank || h->t->varies || h->u->varies)
        return false;
    for (int d = 0; d < h->t->rank; d++)
        if (read->at[d] != s->store[d])
            return false;
    h->sum = writer[h->u->id];
    const Expr *v = h->sum->value;
    return h->sum->op == R_SUM && !h->sum->where.n && !h->sum->notes &&
           by_variables(h->sum) && v->kind == E_BINARY && v->fn == F_MUL;
}

/* Both factors are the head's, one alone the column's. */
static bool is_head(const Heads *h, int p, int q)
{
    const Var *head = idx_is_var(h->sum->store[p]);
    const Var *col = idx_is_var(h->sum->store[q]);
    const Expr *a = h->sum->value->arg[0], *b = h->sum->value->arg[1];

    return expr_uses(a, head) && expr_uses(b, head) &&
           expr_uses(a, col) != expr_uses(b, col);
}

/* The e among v[0], .., v[n - 1] that a read's two indices are parts of, or
 * NULL. */
static const Idx *joined_by(const Heads *h, const Idx *const *at,
                            const Var *const *v, int n)
{
    IdxPool *pool = h->g->pool;

    for (int i = 0; i < n; i++) {
        const Idx *e = idx_var(pool, v[i]);
        if (v[i]->extent == h->heads * h->k &&
            at[h->p] == idx_floor(pool, e, h->k) &&
            at[h->q] == idx_mod(pool, e, h->k))
            return e;
    }
    return NULL;
}

/* A sum over e, or the gradient of what is multiplied by it. */
static const Idx *joined(const Heads *h, const Idx *const *at)
{
    const Stmt *s = h->reader;
    const Idx *e = joined_by(h, at, s->red, s->n_red);

    return e || !s->n_red ? e : joined_by(h, at, s->out, s->n_out);
}

static void look(const Expr *e, void *ctx)
{
    Heads *h = ctx;
    const Stmt *s = h->reader;

    if (e->kind != E_READ || (e->tensor != h->t && e->tensor != h->u))
        return;
    h->otherwise |= e->tensor == h->u ||
                    !(h->reads ? joined(h, e->at)
                               : joined_by(h, e->at, s->red, s->n_red));
    h->reads++;
}

static bool read_by_rows(Heads *h)
{
    h->reads = 0;
    h->otherwise = false;
    for (int i = 0; i < h->g->n_stmt && !h->otherwise; i++) {
        h->reader = h->g->stmt[i];
        if (h->reader != h->copy)
            expr_visit(h->reader->value, look, h);
    }
    return h->reads && !h->otherwise;
}

static bool find_dimensions(Heads *h)
{
    h->rank = h->t->rank;
    for (h->p = 0; h->p < h->rank; h->p++)
        for (h->q = h->p + 1; h->q < h->rank; h->q++) {
            h->heads = h->t->dim[h->p];
            h->k = h->t->dim[h->q];
            if (h->heads > 1 && h->k > 1 && is_head(h, h->p, h->q) &&
                read_by_rows(h))
                return true;
        }
    return false;
}

/* Without the pth, with e in the place of the qth. */
static const Idx **without(const Heads *h, const Idx *const *at, const Idx *e)
{
    const Idx **to = arena_array(h->g->arena, const Idx *, MAX_RANK);
    int n = 0;

    for (int d = 0; d < h->rank; d++)
        if (d != h->p)
            to[n++] = d == h->q ? e : at[d];
    return to;
}

static const Expr *read_joined(Graph *g, const Expr *e, void *ctx)
{
    const Heads *h = ctx;

    if (e->kind != E_READ || e->tensor != h->t)
        return NULL;
    const Idx **at = without(h, e->at, joined(h, e->at));
    return expr_read(g, h->copy->tensor, at, e->in, e->outside);
}

/* s writes n K + e where it wrote n and e. */
static void write_joined(const Heads *h, Stmt *s)
{
    IdxPool *pool = h->g->pool;
    const Var *head = idx_is_var(s->store[h->p]);
    const Var *col = idx_is_var(s->store[h->q]);
    const Var *row = idx_new_var(pool, col->name, head->extent * col->extent);
    const Idx *e = idx_var(pool, row);
    Subst by[] = {{head, idx_floor(pool, e, col->extent)},
                  {col, idx_mod(pool, e, col->extent)}};
    int n = 0;

    s->value = expr_subst(h->g, s->value, by, 2);
    s->store = without(h, s->store, e);
    for (int i = 0; i < s->n_out; i++)
        if (s->out[i] != head)
            s->out[n++] = s->out[i] == col ? row : s->out[i];
    s->n_out = n;
}

/* What t is with the two dimensions as one. */
static Tensor *joined_tensor(const Heads *h, const Tensor *t)
{
    int64_t dim[MAX_RANK];
    int n = 0;

    for (int d = 0; d < h->rank; d++)
        if (d != h->p)
            dim[n++] = d == h->q ? h->heads * h->k : t->dim[d];
    return graph_tensor_like(h->g, t, t->type, n, dim);
}

static void join(Heads *h)
{
    Graph *g = h->g;
    const Expr *value = h->copy->value;

    h->copy->value = expr_const(g, 0, value->type);
    write_joined(h, h->sum);
    write_joined(h, h->copy);
    h->sum->tensor = joined_tensor(h, h->u);
    h->copy->tensor = joined_tensor(h, h->t);
    for (int i = 0; i < g->n_stmt; i++) {
        h->reader = g->stmt[i];
        g->stmt[i]->value = expr_rewrite(g, g->stmt[i]->value, read_joined, h);
    }
    h->copy->value = expr_cast(g, expr_read(g, h->sum->tensor, h->copy->store,
                                            (Guard){0}, NULL), value->type);
}

void join_heads(Graph *g)
{
    Stmt **writer = arena_array(g->arena, Stmt *, g->n_tensor + 1);
    int *writes = arena_array(g->arena, int, g->n_tensor + 1);

    for (int i = 0; i < g->n_stmt; i++) {
        int id = g->stmt[i]->tensor->id;
        writer[id] = writes[id]++ ? NULL : g->stmt[i];
    }
    for (int i = 0; i < g->n_stmt; i++) {
        Heads h = {.g = g};
        if (is_copy_of_sum(&h, g->stmt[i], writer) && find_dimensions(&h))
            join(&h);
    }
}
