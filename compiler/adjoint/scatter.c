#include "adjoint/scatter.h"

/* Fewer products are quicker asked one by one; a matrix of more rows takes too
 * much memory. */
enum { PAYS = 1 << 22, MOST_ROWS = 8192 };

Stmt *scatter_stmt(Graph *g, Tensor *t, const Tensor *of, Span at, Span call)
{
    Stmt *s = graph_stmt(g);

    t->path = of->path;
    t->at = at;
    s->tensor = t;
    s->store = arena_array(g->arena, const Idx *, t->rank + 1);
    s->path = *t->path ? arena_printf(g->arena, "%s.%s", t->path, t->name)
                       : t->name;
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
               ? e->tensor->type : T_F32;
}

static bool pays(const Scatter *s, const Expr *e, int d)
{
    const int64_t n = points(s), rows = s->of->dim[d];
    int64_t row = 1;

    for (int i = 0; i < s->of->rank; i++)
        if (i != d)
            row *= s->of->dim[i];
    return n <= MOST_ROWS && n <= rows * (factor_type(e) == T_F32 ? 1 : 8) &&
           (double)n * (double)rows * (double)row >= PAYS;
}

/* ---- the four statements */

/* The expression at the point whose place among `left` is v. */
static const Expr *at_place(const Scatter *s, const Expr *e, const Var *v)
{
    IdxPool *p = s->graph->pool;
    const Idx *rest = idx_var(p, v);
    Subst *by = arena_array(s->graph->arena, Subst, s->n_left);

    for (int i = s->n_left - 1; i >= 0; i--) {
        const int64_t n = s->left[i]->extent;
        by[i] = (Subst){s->left[i], i ? idx_mod(p, rest, n) : rest};
        rest = idx_floor(p, rest, n);
    }
    return expr_subst(s->graph, e, by, s->n_left);
}

static Stmt *begin(const Scatter *s, const char *what, Type type, int rank,
                   const int64_t *dim)
{
    Graph *g = s->graph;
    Tensor *t = graph_tensor(g, arena_printf(g->arena, "d_%s_%s", s->of->name,
                                             what), type, rank, dim);

    return scatter_stmt(g, t, s->of, s->at, s->call);
}

static void set_red(Graph *g, Stmt *st, Reduce op, const Var *v)
{
    st->op = op;
    st->red = arena_array(g->arena, const Var *, 1);
    st->red[st->n_red++] = v;
}

static Tensor *same_rows(const Scatter *s, const Expr *data, Type type)
{
    Graph *g = s->graph;
    const int64_t dim[2] = {points(s), points(s)};
    const Var *v[2] = {idx_new_var(g->pool, "n", dim[0]),
                       idx_new_var(g->pool, "m", dim[0])};
    Stmt *st = begin(s, "same", type, 2, dim);

    scatter_out(g, st, v, 2);
    st->value = expr_select(
        g, expr_binary(g, F_EQ, at_place(s, data, v[0]),
                       at_place(s, data, v[1]), T_BOOL),
        expr_const(g, 1, type), expr_const(g, 0, type), type);
    return st->tensor;
}

/* rows[n, others]: what the points of n's row add up to. */
static Tensor *row_sums(const Scatter *s, const Expr *e, Tensor *same, int d)
{
    Graph *g = s->graph;
    const int64_t n = points(s);
    const Var *out[MAX_RANK], *m = idx_new_var(g->pool, "m", n);
    const Idx **at = arena_array(g->arena, const Idx *, 2);
    int64_t dim[MAX_RANK];

    for (int i = 0; i < s->of->rank; i++) {
        out[i] = i == d ? idx_new_var(g->pool, "n", n) : s->v[i];
        dim[i] = out[i]->extent;
    }
    at[0] = idx_var(g->pool, out[d]);
    at[1] = idx_var(g->pool, m);
    Stmt *st = begin(s, "rows", T_F32, s->of->rank, dim);
    scatter_out(g, st, out, s->of->rank);
    set_red(g, st, R_SUM, m);
    st->value = expr_binary(g, F_MUL,
                            expr_read(g, same, at, (Guard){0}, NULL),
                            at_place(s, e, m), T_F32);
    return st->tensor;
}

static Tensor *first_points(const Scatter *s, const Expr *data, int d)
{
    Graph *g = s->graph;
    const int64_t n = points(s);
    const Var *m = idx_new_var(g->pool, "m", n);
    Stmt *st = begin(s, "first", T_I32, 1, &s->of->dim[d]);

    scatter_out(g, st, &s->v[d], 1);
    set_red(g, st, R_MIN, m);
    st->value = expr_select(
        g, expr_binary(g, F_EQ, at_place(s, data, m), expr_index(g, s->u[d]),
                       T_BOOL),
        expr_index(g, idx_var(g->pool, m)), expr_const(g, (double)n, T_I32),
        T_I32);
    return st->tensor;
}

const Expr *scatter_sum(const Scatter *s, const Expr *when, const Expr *e)
{
    Graph *g = s->graph;
    const int d = row_of(s, when);

    if (d < 0 || !separates(s, when->arg[0], e, d) || !pays(s, e, d))
        return NULL;
    const int64_t n = points(s);
    const Expr *data = expr_confine(g, when->arg[0]);
    Tensor *rows = row_sums(s, e, same_rows(s, data, factor_type(e)), d);
    Tensor *first = first_points(s, data, d);
    const Idx **at = arena_array(g->arena, const Idx *, MAX_RANK);
    for (int i = 0; i < s->of->rank; i++)
        at[i] = s->u[i];
    const Expr *place = expr_read(g, first, &at[d], (Guard){0}, NULL);
    const Idx **read = arena_array(g->arena, const Idx *, MAX_RANK);
    memcpy(read, at, sizeof *at * MAX_RANK);
    read[d] = idx_data(g->pool, place, 0, n);
    return expr_read(g, rows, read,
                     guard_within(g->pool, (Guard){0}, read[d], 0, n),
                     expr_const(g, 0, T_F32));
}
