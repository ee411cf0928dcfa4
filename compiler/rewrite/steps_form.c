#include "rewrite/steps_form.h"

#include <string.h>

static bool same_vars(const Var **a, const Var **b, int n)
{
    for (int i = 0; i < n; i++)
        if (a[i]->extent != b[i]->extent)
            return false;
    return true;
}

static bool same_dims(const Tensor *a, const Tensor *b)
{
    return a->rank == b->rank && a->type == b->type &&
           !memcmp(a->dim, b->dim, sizeof *a->dim * (size_t)a->rank);
}

bool step_map(Graph *g, const Stmt *a, const Stmt *b, Subst *map)
{
    int n = 0;

    if (a->n_out != b->n_out || a->n_red != b->n_red ||
        !same_dims(a->tensor, b->tensor) ||
        !same_vars(a->out, b->out, a->n_out) ||
        !same_vars(a->red, b->red, a->n_red))
        return false;
    for (int i = 0; i < a->n_out; i++)
        map[n++] = (Subst){b->out[i], idx_var(g->pool, a->out[i])};
    for (int i = 0; i < a->n_red; i++)
        map[n++] = (Subst){b->red[i], idx_var(g->pool, a->red[i])};
    for (int d = 0; d < a->tensor->rank; d++)
        if (idx_subst(g->pool, b->store[d], map, n) != a->store[d])
            return false;
    return true;
}

bool step_only(const Stmt *s, Guard in, const Var **v, int64_t *at)
{
    int64_t lo = 0, hi = 0;

    *v = NULL;
    for (int i = 0; i < in.n; i++) {
        const Idx *e = in.cond[i].e;
        if (in.cond[i].mod || e->n != 1 || e->term[0].atom->kind != ATOM_VAR ||
            (*v && *v != e->term[0].atom->var))
            return false;
        if (!*v)
            hi = e->term[0].atom->var->extent - 1;
        *v = e->term[0].atom->var;
        if (e->term[0].c == 1)
            lo = lo > -e->k ? lo : -e->k;
        else if (e->term[0].c == -1)
            hi = hi < e->k ? hi : e->k;
        else
            return false;
    }
    *at = lo;
    return *v && lo == hi && vars_have(s->out, s->n_out, *v);
}

bool step_zero_outside(const Expr *e)
{
    return e->outside && e->outside->kind == E_CONST && e->outside->num == 0;
}

/* Where b's factor, read in a's variables, is and a's is: 0 elsewhere. */
static bool match_guards(Graph *g, const Stmt *s, const Expr *a, const Expr *b,
                         const Subst *map, int n, Varied *p)
{
    Guard in = guard_subst(g->pool, b->in, map, n);
    const Var *v;
    int64_t at;

    p->only = NULL;
    if (!a->in.n && !in.n)
        return true;
    if (!a->in.n || !in.n || !step_zero_outside(a) || !step_zero_outside(b))
        return false;
    if (step_only(s, a->in, &v, &at) && step_only(s, in, &p->only, &p->at))
        return v == p->only;
    p->only = NULL;
    return guard_same(a->in, in);
}

static bool match_factor(Graph *g, const Stmt *s, const Expr *a, const Expr *b,
                         const Subst *map, int n, Varied *p)
{
    int differs = 0;

    if (!same_dims(a->tensor, b->tensor) ||
        !match_guards(g, s, a, b, map, n, p))
        return false;
    p->how = SAME;
    p->t = b->tensor;
    for (int d = 0; d < a->tensor->rank; d++) {
        const Idx *e = idx_subst(g->pool, b->at[d], map, n);
        if (e == a->at[d])
            continue;
        if (a->tensor != b->tensor || !idx_is_const(e) ||
            !idx_is_const(a->at[d]))
            return false;
        differs++;
        p->dim = d;
        p->from = e->k;
    }
    if (a->tensor != b->tensor)
        p->how = PARTS;
    else if (differs)
        p->how = SLICES;
    return differs <= 1;
}

bool step_match(Graph *g, const Stmt *a, const Stmt *b, Varied *p)
{
    Subst map[STEPS_VARS];
    int n = b->n_out + b->n_red;

    if (!step_map(g, a, b, map))
        return false;
    for (int i = 0; i < 2; i++)
        if (!match_factor(g, a, a->value->arg[i], b->value->arg[i], map, n,
                          &p[i]))
            return false;
    return !p[0].only || !p[1].only;
}
