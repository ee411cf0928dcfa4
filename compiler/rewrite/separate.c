#include "rewrite/separate.h"

#include "rewrite/simplify.h"

#include <string.h>

enum {
    WORTH = 48,    /* terms fewer that are worth a tensor between: a thread
                      has those of smaller windows in registers */
    MANY = 1 << 14 /* results that it is worth for */
};

/* One index's part of a window: `by` is added to q. */
typedef struct Part {
    const Var *red; /* by's only variable */
    const Idx *by;
    const Var *q, *p; /* p: q + by */
    const Expr *rest; /* the term of the other part, in p for q */
} Part;

static bool may_separate(const Stmt *s)
{
    int64_t n = 1;

    if ((s->op != R_SUM && s->op != R_MAX && s->op != R_MIN) || s->notes ||
        s->where.n || s->when != WHEN_RUN || s->tensor->prev ||
        s->n_out != s->tensor->rank)
        return false;
    for (int d = 0; d < s->n_out; d++) {
        n *= s->out[d]->extent;
        if (idx_is_var(s->store[d]) != s->out[d])
            return false;
    }
    return n >= MANY;
}

/* Whether one of the results' indices moves as `by` does, and by->red does
 * nothing else. */
static bool find_part(Graph *g, const Stmt *s, const Expr *value, Part *x)
{
    for (int i = s->n_out - 1; i >= 0; i--) {
        const Var *q = s->out[i];
        x->q = q;
        x->p = idx_new_var(g->pool, q->name, q->extent + x->by->hi);
        Subst at = {q, idx_sub(g->pool, idx_var(g->pool, x->p), x->by)};
        x->rest = expr_subst(g, value, &at, 1);
        if (q->extent > 1 && expr_uses(value, q) && !expr_uses(x->rest, x->red))
            return true;
    }
    return false;
}

static Type kept_type(const Stmt *s)
{
    const Expr *e = s->value;

    return s->op != R_SUM && e->kind == E_READ ? e->tensor->type
           : type_is_float(e->type)            ? T_F32
                                               : T_I32;
}

/* The sum over `inner` of what x leaves, before statement `at`, which becomes
 * the sum of these over x->red. */
static void separate(Graph *g, int at, const Part *x, const Var **inner, int n)
{
    Stmt *t = stmt_insert(g, at), *s = g->stmt[at + 1];
    const int id = t->id;
    int64_t dim[MAX_RANK];
    const Idx **from = arena_array(g->arena, const Idx *, s->n_out + 1);

    *t = *s;
    t->id = id;
    t->out = arena_array(g->arena, const Var *, s->n_out + 1);
    t->store = arena_array(g->arena, const Idx *, s->n_out + 1);
    for (int d = 0; d < s->n_out; d++) {
        bool moves = s->out[d] == x->q;
        t->out[d] = moves ? x->p : s->out[d];
        t->store[d] = idx_var(g->pool, t->out[d]);
        dim[d] = t->out[d]->extent;
        from[d] = moves ? idx_add(g->pool, s->store[d], x->by) : s->store[d];
    }
    t->value = x->rest;
    t->red = inner;
    t->n_red = n;
    t->tensor = graph_tensor_like(g, s->tensor, kept_type(s), s->n_out, dim);
    s->value = expr_read(g, t->tensor, from, (Guard){0}, NULL);
    s->red = arena_array(g->arena, const Var *, 1);
    s->red[0] = x->red;
    s->n_red = 1;
}

/* Of several indices the first from the others. */
static bool take_first(Graph *g, int at)
{
    Stmt *s = g->stmt[at];
    int64_t m = 1;
    Part x = {0};

    for (int i = s->n_red - 1; i >= 0; i--) {
        x.red = s->red[i];
        x.by = idx_var(g->pool, x.red);
        if (!find_part(g, s, s->value, &x))
            return false;
        m *= i ? x.red->extent : 1;
    }
    if (s->n_red < 2 || (x.red->extent - 1) * (m - 1) <= WORTH)
        return false;
    separate(g, at, &x, s->red + 1, s->n_red - 1);
    return true;
}

/* The divisor next to the root. */
static int64_t near_root(int64_t n)
{
    int64_t d = 1;

    for (int64_t i = 1; i * i <= n; i++)
        d = n % i ? d : i;
    return d;
}

/* Of one, in parts. */
static bool take_long(Graph *g, int at)
{
    Stmt *s = g->stmt[at];
    IdxPool *p = g->pool;

    if (s->n_red != 1)
        return false;
    const Var *k = s->red[0];
    int64_t few = near_root(k->extent), many = k->extent / few;
    if ((few - 1) * (many - 1) <= WORTH)
        return false;
    Part whole = {.red = k, .by = idx_var(p, k)};
    if (!find_part(g, s, s->value, &whole))
        return false;
    const Var *a = idx_new_var(p, k->name, few);
    const Var *b = idx_new_var(p, k->name, many);
    const Var **inner = arena_array(g->arena, const Var *, 1);
    Part x = {.red = a, .by = idx_scale(p, idx_var(p, a), many)};
    Subst in = {k, idx_add(p, x.by, idx_var(p, b))};
    if (!find_part(g, s, expr_subst(g, s->value, &in, 1), &x))
        return false;
    inner[0] = b;
    separate(g, at, &x, inner, 1);
    return true;
}

void separate_windows(Graph *g)
{
    for (int i = 0; i < g->n_stmt; i++)
        while (may_separate(g->stmt[i]) && take_first(g, i))
            ;
    for (int i = 0; i < g->n_stmt; i++)
        if (may_separate(g->stmt[i]) && take_long(g, i))
            i++;
}
