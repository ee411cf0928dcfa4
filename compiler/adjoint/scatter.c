#include "adjoint/scatter.h"

/* Fewer products are quicker asked one by one; a matrix of more rows takes too
 * much memory. A chunk has as many points as are multiplied in about the time
 * in which a row looks into one more chunk, by tensor cores or by FMA. */
enum {
    PAYS = 1 << 22,
    MOST_ROWS = 8192,
    CHUNK = 2048,
    F32_CHUNK = 1024,
    LEAST_CHUNK = 256,
};

Stmt *scatter_stmt(Graph *g, Tensor *t, const Tensor *of, Span at, Span call)
{
    Stmt *s = graph_stmt(g);

    t->path = of->path;
    t->at = at;
    s->tensor = t;
    s->store = arena_array(g->arena, const Idx *, t->rank + 1);
    s->path =
        *t->path ? arena_printf(g->arena, "%s.%s", t->path, t->name) : t->name;
    s->at = at;
    s->call = call;
    s->behind = true;
    return s;
}

void scatter_out(Graph *g, Stmt *s, const Var *const *v, int n)
{
    s->out = arena_array(g->arena, const Var *, n + 1);
    s->n_out = n;
    for (int i = 0; i < n; i++) {
        s->out[i] = v[i];
        s->store[i] = idx_var(g->pool, v[i]);
    }
}

/* ---- what it is for */

/* `when` as data == u[d]: d, or -1. */
static int row_of(const Scatter *s, const Expr *when)
{
    const Var *v;

    if (when->kind != E_BINARY || when->fn != F_EQ || when->arg[2] ||
        when->arg[1]->kind != E_INDEX)
        return -1;
    v = idx_is_var(when->arg[1]->idx);
    for (int d = 0; d < s->of->rank; d++)
        if (v && s->v[d] == v)
            return d;
    return -1;
}

/* Data says which points are one row's, all of them; e says nothing of rows. */
static bool separates(const Scatter *s, const Expr *data, const Expr *e, int d)
{
    for (int i = 0; i < s->of->rank; i++)
        if (expr_uses(data, s->v[i]))
            return false;
    for (int i = 0; i < s->n_left; i++)
        if (!expr_uses(data, s->left[i]))
            return false;
    return s->n_left > 0 && !expr_uses(e, s->v[d]);
}

static int64_t points(const Scatter *s)
{
    int64_t n = 1;

    for (int i = 0; i < s->n_left; i++)
        n *= s->left[i]->extent;
    return n;
}

static Type factor_type(const Expr *e)
{
    return e->kind == E_READ && type_bytes(e->tensor->type) == 2
               ? e->tensor->type
               : T_F32;
}

/* How many points are a chunk: all, or a divisor of all. */
static int64_t chunk_of(const Scatter *s, Type type)
{
    const int64_t n = points(s), most = type == T_F32 ? F32_CHUNK : CHUNK;

    if (n <= most || s->of->rank == MAX_RANK)
        return n;
    for (int64_t c = most; c >= LEAST_CHUNK; c--)
        if (n % c == 0)
            return c;
    return n;
}

static bool pays(const Scatter *s, const Expr *e, int d)
{
    const int64_t n = points(s), rows = s->of->dim[d];
    const int64_t chunk = chunk_of(s, factor_type(e));
    int64_t row = 1;

    for (int i = 0; i < s->of->rank; i++)
        if (i != d)
            row *= s->of->dim[i];
    return chunk <= MOST_ROWS &&
           chunk <= rows * (factor_type(e) == T_F32 ? 1 : 8) &&
           (double)n * (double)rows * (double)row >= PAYS;
}

/* ---- the statements */

typedef struct Chunks {
    const Scatter *s;
    int64_t n, size;
    const Var *c; /* NULL: one chunk */
    int d;        /* the dimension of rows */
    Type type;
} Chunks;

/* The expression at point v of the chunk. */
static const Expr *at_place(const Chunks *k, const Expr *e, const Var *v)
{
    const Scatter *s = k->s;
    IdxPool *p = s->graph->pool;
    const Idx *rest = idx_var(p, v);
    Subst *by = arena_array(s->graph->arena, Subst, s->n_left);

    if (k->c)
        rest = idx_add(p, idx_scale(p, idx_var(p, k->c), k->size), rest);
    for (int i = s->n_left - 1; i >= 0; i--) {
        const int64_t n = s->left[i]->extent;
        by[i] = (Subst){s->left[i], i ? idx_mod(p, rest, n) : rest};
        rest = idx_floor(p, rest, n);
    }
    return expr_subst(s->graph, e, by, s->n_left);
}

/* A tensor of v[0..rank), for each chunk. */
static Stmt *begin(const Chunks *k, const char *what, Type type,
                   const Var *const *v, int rank)
{
    const Scatter *s = k->s;
    Graph *g = s->graph;
    const Var *out[MAX_RANK + 1];
    int64_t dim[MAX_RANK];
    int n = 0;

    if (k->c)
        out[n++] = k->c;
    for (int i = 0; i < rank; i++)
        out[n++] = v[i];
    for (int i = 0; i < n; i++)
        dim[i] = out[i]->extent;
    Tensor *t = graph_tensor(
        g, arena_printf(g->arena, "d_%s_%s", s->of->name, what), type, n, dim);
    Stmt *st = scatter_stmt(g, t, s->of, s->at, s->call);
    scatter_out(g, st, out, n);
    return st;
}

/* Where that tensor has at[0..rank). */
static const Expr *read_of(const Chunks *k, Tensor *t, const Idx *const *at,
                           Guard in, const Expr *outside)
{
    Graph *g = k->s->graph;
    const Idx **place = arena_array(g->arena, const Idx *, t->rank + 1);
    const int first = k->c != NULL;

    if (first)
        place[0] = idx_var(g->pool, k->c);
    for (int i = first; i < t->rank; i++)
        place[i] = at[i - first];
    return expr_read(g, t, place, in, outside);
}

static void set_red(Graph *g, Stmt *st, Reduce op, const Var *v)
{
    st->op = op;
    st->red = arena_array(g->arena, const Var *, 1);
    st->red[st->n_red++] = v;
}

static Tensor *same_rows(const Chunks *k, const Expr *data)
{
    Graph *g = k->s->graph;
    const Var *v[2] = {idx_new_var(g->pool, "n", k->size),
                       idx_new_var(g->pool, "m", k->size)};
    Stmt *st = begin(k, "same", k->type, v, 2);

    st->value = expr_select(g,
                            expr_binary(g, F_EQ, at_place(k, data, v[0]),
                                        at_place(k, data, v[1]), T_BOOL),
                            expr_const(g, 1, k->type),
                            expr_const(g, 0, k->type), k->type);
    return st->tensor;
}

/* rows[n, others]: what the points of n's row add up to. */
static Tensor *row_sums(const Chunks *k, const Expr *e, Tensor *same)
{
    const Scatter *s = k->s;
    Graph *g = s->graph;
    const Var *out[MAX_RANK], *m = idx_new_var(g->pool, "m", k->size);

    for (int i = 0; i < s->of->rank; i++)
        out[i] = i == k->d ? idx_new_var(g->pool, "n", k->size) : s->v[i];
    const Idx *at[2] = {idx_var(g->pool, out[k->d]), idx_var(g->pool, m)};
    Stmt *st = begin(k, "rows", T_F32, out, s->of->rank);
    set_red(g, st, R_SUM, m);
    st->value = expr_binary(g, F_MUL, read_of(k, same, at, (Guard){0}, NULL),
                            at_place(k, e, m), T_F32);
    return st->tensor;
}

static Tensor *first_points(const Chunks *k, const Expr *data)
{
    const Scatter *s = k->s;
    Graph *g = s->graph;
    const Var *m = idx_new_var(g->pool, "m", k->size);
    Stmt *st = begin(k, "first", T_I32, &s->v[k->d], 1);

    set_red(g, st, R_MIN, m);
    st->value = expr_select(g,
                            expr_binary(g, F_EQ, at_place(k, data, m),
                                        expr_index(g, s->u[k->d]), T_BOOL),
                            expr_index(g, idx_var(g->pool, m)),
                            expr_const(g, (double)k->size, T_I32), T_I32);
    return st->tensor;
}

/* What a chunk has of the row at u, or 0. */
static const Expr *row_read(const Chunks *k, Tensor *rows, Tensor *first)
{
    const Scatter *s = k->s;
    IdxPool *p = s->graph->pool;
    const Expr *place = read_of(k, first, &s->u[k->d], (Guard){0}, NULL);
    const Idx *at[MAX_RANK];

    for (int i = 0; i < s->of->rank; i++)
        at[i] = i == k->d ? idx_data(p, place, 0, k->size) : s->u[i];
    return read_of(k, rows, at,
                   guard_within(p, (Guard){0}, at[k->d], 0, k->size),
                   expr_const(s->graph, 0, T_F32));
}

/* The sum over all chunks is a statement of its own. */
static const Expr *chunks_sum(const Chunks *k, const Expr *e)
{
    const Scatter *s = k->s;
    Graph *g = s->graph;
    Tensor *t =
        graph_tensor(g, arena_printf(g->arena, "d_%s_chunks", s->of->name),
                     T_F32, s->of->rank, s->of->dim);
    Stmt *st = scatter_stmt(g, t, s->of, s->at, s->call);
    const Idx **at = arena_array(g->arena, const Idx *, MAX_RANK);

    scatter_out(g, st, s->v, s->of->rank);
    set_red(g, st, R_SUM, k->c);
    st->value = e;
    memcpy(at, s->u, sizeof *at * (size_t)s->of->rank);
    return expr_read(g, t, at, (Guard){0}, NULL);
}

const Expr *scatter_sum(const Scatter *s, const Expr *when, const Expr *e)
{
    Graph *g = s->graph;
    const int d = row_of(s, when);

    if (d < 0 || !separates(s, when->arg[0], e, d) || !pays(s, e, d))
        return NULL;
    Chunks k = {.s = s, .n = points(s), .d = d, .type = factor_type(e)};
    k.size = chunk_of(s, k.type);
    if (k.size < k.n)
        k.c = idx_new_var(g->pool, "c", k.n / k.size);
    const Expr *data = expr_confine(g, when->arg[0]);
    Tensor *rows = row_sums(&k, e, same_rows(&k, data));
    const Expr *row = row_read(&k, rows, first_points(&k, data));
    return k.c ? chunks_sum(&k, row) : row;
}
