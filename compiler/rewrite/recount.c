#include "rewrite/recount.h"

typedef struct Recount {
    Graph *g;
    Stmt *s;
    Guard in;          /* under which there is a term */
    int cond;          /* the congruence among its conditions */
    const Expr *x, *y; /* the factors */
    int dim;           /* of x, which is at k + c floor(e / m) there */
    const Idx *e;
    int64_t m, rest; /* of e, by m */
    const Var *p;
} Recount;

static bool zero_outside(const Expr *read)
{
    return !read->in.n ||
           (read->outside->kind == E_CONST && read->outside->num == 0);
}

/* What is left of e by m, whatever its variables are; -1: that differs. */
static int64_t rest_of(const Idx *e, int64_t m)
{
    for (int i = 0; i < e->n; i++)
        if (e->term[i].c % m)
            return -1;
    return (e->k % m + m) % m;
}

/* Is x, in dimension d, at k + c floor(e / m), where the condition says what
 * e leaves by m? */
static bool is_quotient(Recount *r, int d)
{
    const Cond *c = &r->in.cond[r->cond];
    const Idx *at = r->x->at[d];

    if (at->n != 1 || (at->term[0].c != 1 && at->term[0].c != -1) ||
        at->term[0].atom->kind != ATOM_FLOOR || at->term[0].atom->d != c->mod)
        return false;
    r->e = at->term[0].atom->a;
    r->m = c->mod;
    r->dim = d;
    r->rest = rest_of(idx_sub(r->g->pool, r->e, c->e), r->m);
    if (r->rest < 0)
        r->rest = rest_of(idx_add(r->g->pool, r->e, c->e), r->m);
    return r->rest >= 0;
}

/* A variable of the sum that is a step of the quotient's numerator, and in
 * nothing else of x. */
static bool find_variable(Recount *r)
{
    for (int i = 0; i < r->s->n_red; i++) {
        const Var *p = r->p = r->s->red[i];
        int64_t c = idx_coef(r->e, p), all = r->x->tensor->dim[r->dim];
        bool other =
            !expr_uses(r->y, p) || (c != 1 && c != -1) ||
            all * r->m > p->extent + 2 * r->m ||
            idx_uses(idx_sub(r->g->pool, r->e,
                             idx_scale(r->g->pool, idx_var(r->g->pool, p), c)),
                     p);
        for (int d = 0; d < r->x->tensor->rank; d++)
            other |= d != r->dim && idx_uses(r->x->at[d], p);
        if (!other)
            return true;
    }
    return false;
}

/* Is x 0, or not there, where that is outside of the tensor? */
static bool all_of_x(const Recount *r)
{
    const Idx *at = r->x->at[r->dim];

    return r->x->in.n || (at->lo >= 0 && at->hi < r->x->tensor->dim[r->dim]);
}

static bool find(Recount *r)
{
    const Expr *e = r->s->value;

    if (r->s->op != R_SUM || e->kind != E_SELECT ||
        e->arg[2]->kind != E_CONST || e->arg[2]->num != 0 ||
        !expr_as_guard(r->g, e->arg[0], &r->in) ||
        e->arg[1]->kind != E_BINARY || e->arg[1]->fn != F_MUL)
        return false;
    for (int k = 0; k < 2 * r->in.n; k++) {
        r->cond = k / 2;
        r->x = e->arg[1]->arg[k % 2];
        r->y = e->arg[1]->arg[1 - k % 2];
        if (r->in.cond[r->cond].mod < 2 || r->x->kind != E_READ ||
            r->y->kind != E_READ || !zero_outside(r->x) || !zero_outside(r->y))
            continue;
        for (int d = 0; d < r->x->tensor->rank; d++)
            if (is_quotient(r, d) && all_of_x(r) && find_variable(r))
                return true;
    }
    return false;
}

/* e under a condition more, and 0 elsewhere. */
static const Expr *within(const Recount *r, const Expr *e, Guard in)
{
    in = guard_and(r->g->pool, e->in, in);
    return expr_read(r->g, e->tensor, e->at, in,
                     in.n ? expr_const(r->g, 0, e->type) : NULL);
}

/* The variable as u says: e is m times the quotient, and the rest. */
static const Idx *counted(const Recount *r, const Var *u)
{
    IdxPool *pool = r->g->pool;
    const Idx *at = r->x->at[r->dim];
    int64_t c = idx_coef(r->e, r->p);
    const Idx *e = idx_scale(pool, idx_addc(pool, idx_var(pool, u), -at->k),
                             at->term[0].c * r->m);
    const Idx *others =
        idx_sub(pool, r->e, idx_scale(pool, idx_var(pool, r->p), c));

    return idx_scale(pool, idx_sub(pool, idx_addc(pool, e, r->rest), others),
                     c);
}

static void recount(Recount *r)
{
    Graph *g = r->g;
    Stmt *s = r->s;
    const Expr *all = s->value, *product = all->arg[1];
    const Var *u = idx_new_var(g->pool, r->p->name, r->x->tensor->dim[r->dim]);
    Subst by = {r->p, counted(r, u)};
    Guard there = guard_within(g->pool, (Guard){0}, by.by, 0, r->p->extent);
    Guard left = {0};

    for (int i = 0; i < r->in.n; i++) {
        const Cond *c = &r->in.cond[i];
        if (i != r->cond)
            left = guard_add(g->pool, left, idx_subst(g->pool, c->e, &by, 1),
                             c->mod);
    }
    const Expr *x = expr_subst(g, r->x, &by, 1);
    const Expr *y = within(r, expr_subst(g, r->y, &by, 1), there);
    bool first = product->arg[0] == r->x;
    s->value =
        expr_binary(g, F_MUL, first ? x : y, first ? y : x, product->type);
    if (left.n)
        s->value = expr_select(g, expr_of_guard(g, left), s->value, all->arg[2],
                               all->type);
    const Var **red = arena_array(g->arena, const Var *, s->n_red);
    for (int i = 0; i < s->n_red; i++)
        red[i] = s->red[i] == r->p ? u : s->red[i];
    s->red = red;
}

void recount_sums(Graph *g)
{
    for (int i = 0; i < g->n_stmt; i++) {
        Recount r = {.g = g, .s = g->stmt[i]};
        while (r.s->behind && find(&r))
            recount(&r);
    }
}
