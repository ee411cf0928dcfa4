#include "rewrite/centre.h"

#include "rewrite/inline.h"
#include "rewrite/simplify.h"

enum { MAX_VARS = 24 };

/* d[r, i] = g[r, i] * (1 / z[r]) + back[r], back[r] = sum[r] * -1 / z[r]^2. */
typedef struct Quotient {
    Stmt *s;           /* d's */
    const Expr *term;  /* g */
    const Expr *inverse;
    const Expr *back;
    const Stmt *back_by, *sum;
    const Expr *total; /* z, at s's points */
} Quotient;

static const Stmt *maker(const Behind *b, const Expr *e)
{
    return e->kind == E_READ && !e->in.n ? behind_tensor(b, e->tensor) : NULL;
}

/* What its maker stores where e reads it; `term` of it, NULL: all. */
static const Expr *stored(Graph *g, const Stmt *s, const Expr *e,
                          const Expr *term, const Var *sum, const Var *as)
{
    Subst sub[MAX_VARS + 1];
    int n = invert_store(g, e->tensor, s->store, e->at, sub, MAX_VARS);

    if (n < 0)
        return NULL;
    if (sum)
        sub[n++] = (Subst){sum, idx_var(g->pool, as)};
    return expr_subst(g, term ? term : s->value, sub, n);
}

static bool is_binary(const Expr *e, Func fn)
{
    return e->kind == E_BINARY && e->fn == fn;
}

static const Expr *over(Graph *g, const Expr *a, const Expr *b)
{
    return expr_binary(g, F_DIV, a, b, T_F32);
}

static const Expr *times(Graph *g, const Expr *a, const Expr *b)
{
    return expr_binary(g, F_MUL, a, b, T_F32);
}

static const Expr *one(Graph *g)
{
    return expr_const(g, 1, T_F32);
}

/* g * (1 / z) + back */
static bool split(Quotient *q)
{
    const Expr *e = q->s->value, *a;

    if (q->s->op != R_NONE || q->s->where.n || !is_binary(e, F_ADD))
        return false;
    a = e->arg[0];
    q->back = e->arg[1];
    if (!is_binary(a, F_MUL) || q->back->kind != E_READ)
        return false;
    q->term = a->arg[0];
    q->inverse = a->arg[1];
    if (q->term->kind != E_READ || q->term->in.n ||
        !is_binary(q->inverse, F_DIV) ||
        q->inverse->arg[0]->kind != E_CONST || q->inverse->arg[0]->num != 1)
        return false;
    q->total = q->inverse->arg[1];
    return q->total->kind == E_READ;
}

static bool is_row_sum(const Stmt *s)
{
    return s && s->op == R_SUM && s->n_red == 1;
}

/* back = sum * (-1 * (1 / z / z)), each where the other is. */
static bool find_sum(Graph *g, const Behind *b, Quotient *q)
{
    const Stmt *s = q->back_by = maker(b, q->back);

    if (!s || s->op != R_NONE || !is_binary(s->value, F_MUL))
        return false;
    const Expr *sum = s->value->arg[0];
    q->sum = maker(b, sum);
    if (!is_row_sum(q->sum) || sum->tensor->rank != s->tensor->rank)
        return false;
    for (int d = 0; d < s->tensor->rank; d++)
        if (sum->at[d] != s->store[d])
            return false;
    const Expr *by = stored(g, s, q->back, s->value->arg[1], NULL, NULL);
    const Expr *z = q->total;
    return by && expr_equal(by, times(g, expr_const(g, -1, T_F32),
                                      over(g, over(g, one(g), z), z)));
}

/* The sum is of g times what z is a sum of. */
static bool is_mean(Graph *g, const Behind *b, const Quotient *q)
{
    const Stmt *z = maker(b, q->total);
    const Expr *terms = q->sum->value;

    if (!is_row_sum(z) || !is_binary(terms, F_MUL))
        return false;
    for (int i = 0; i < q->s->n_out; i++) {
        const Var *v = q->s->out[i];
        if (v->extent != q->sum->red[0]->extent ||
            v->extent != z->red[0]->extent)
            continue;
        const Expr *a = stored(g, q->sum, q->back, terms->arg[0],
                               q->sum->red[0], v);
        const Expr *e = stored(g, q->sum, q->back, terms->arg[1],
                               q->sum->red[0], v);
        const Expr *w = stored(g, z, q->total, NULL, z->red[0], v);
        if (a && e && w && expr_equal(a, q->term) && expr_equal(e, w))
            return true;
    }
    return false;
}

static void note_rounded(const Expr *e, void *ctx)
{
    *(bool *)ctx |= e->kind == E_READ && type_is_float(e->type) &&
                    e->type != T_F32;
}

/* The terms are f32 and made of such. */
static bool is_exact(const Behind *b, const Quotient *q)
{
    const Stmt *s = maker(b, q->term);
    bool rounded = q->term->tensor->type != T_F32;

    if (s)
        expr_visit(s->value, note_rounded, &rounded);
    return !rounded;
}

/* Like `s`, at position `at`, into a tensor of its own. */
static Stmt *another(Graph *g, int at, const Stmt *s, const char *ending)
{
    Stmt *n = stmt_insert(g, at);
    int id = n->id;
    const Tensor *t = s->tensor;

    *n = *s;
    n->id = id;
    n->tensor = graph_tensor(
        g, arena_printf(g->arena, "%s_%s", t->name, ending), T_F32, t->rank,
        t->dim);
    n->tensor->path = t->path;
    n->tensor->when = t->when;
    n->tensor->at = t->at;
    return n;
}

static const Expr *read_at(Graph *g, Tensor *t, const Idx **at)
{
    return expr_read(g, t, at, (Guard){0}, NULL);
}

static const Expr *minus(Graph *g, const Expr *e, Tensor *t, const Idx **at)
{
    return expr_binary(g, F_SUB, e, read_at(g, t, at), T_F32);
}

/* The mean, what is left of it, and d of both; d's position then. */
static int put(Graph *g, int at, const Quotient *q)
{
    const Expr *by = q->back_by->value, *terms = q->sum->value;
    const Expr *z = by->arg[1]->arg[1]->arg[1];
    Stmt *mean = another(g, at++, q->back_by, "mean");
    Stmt *left = another(g, at++, q->sum, "left");
    Stmt *back = another(g, at++, q->back_by, "back");

    mean->value = times(g, by->arg[0], over(g, one(g), z));
    left->value = times(g, minus(g, terms->arg[0], mean->tensor, left->store),
                        terms->arg[1]);
    back->value = times(g, read_at(g, left->tensor, by->arg[0]->at),
                        by->arg[1]);
    q->s->value = expr_binary(
        g, F_ADD,
        times(g, minus(g, q->term, mean->tensor, q->back->at), q->inverse),
        read_at(g, back->tensor, q->back->at), T_F32);
    return at;
}

int centre(Graph *g)
{
    Behind b = {.by = tensor_makers(g), .n_by = g->n_tensor};
    int n = 0;

    for (int i = 0; i < g->n_stmt; i++) {
        Quotient q = {.s = g->stmt[i]};
        if (!split(&q) || !is_exact(&b, &q) || !find_sum(g, &b, &q) ||
            !is_mean(g, &b, &q))
            continue;
        i = put(g, i, &q);
        n++;
    }
    if (n)
        simplify_dead(g);
    return n;
}
