#include "rewrite/steps_slices.h"

#include "rewrite/steps_form.h"

#include <string.h>

enum { FEWEST = 4 }; /* slices */

typedef struct Terms {
    const Stmt *s;
    const Expr *first; /* the one that the others are like */
    const Expr *rest;  /* what else is added */
    const Var *v;
    int dim, n;
    int64_t lo, hi, shift; /* where v is one of n values, shift behind */
} Terms;

/* t[.., c, ..] where v is c - shift, as the first is elsewhere. */
static bool is_term(Terms *t, const Expr *e)
{
    const Var *v;
    int64_t at;
    int dim = -1;

    if (e->kind != E_READ || !e->in.n || !step_zero_outside(e) ||
        !step_only(t->s, e->in, &v, &at))
        return false;
    for (int d = 0; d < e->tensor->rank; d++)
        if (idx_is_const(e->at[d]) && e->tensor->dim[d] > 1 && dim < 0)
            dim = d;
    if (dim < 0)
        return false;
    if (!t->first) {
        *t = (Terms){.s = t->s,
                     .first = e,
                     .v = v,
                     .dim = dim,
                     .lo = at,
                     .hi = at,
                     .shift = e->at[dim]->k - at};
    }
    if (e->tensor != t->first->tensor || v != t->v || dim != t->dim ||
        e->at[dim]->k - at != t->shift)
        return false;
    for (int d = 0; d < e->tensor->rank; d++)
        if (d != dim && e->at[d] != t->first->at[d])
            return false;
    t->lo = at < t->lo ? at : t->lo;
    t->hi = at > t->hi ? at : t->hi;
    t->n++;
    return true;
}

static void take_terms(Graph *g, Terms *t, const Expr *e)
{
    if (e->kind == E_BINARY && e->fn == F_ADD) {
        take_terms(g, t, e->arg[0]);
        take_terms(g, t, e->arg[1]);
    } else if (!is_term(t, e)) {
        t->rest = t->rest ? expr_binary(g, F_ADD, t->rest, e, T_F32) : e;
    }
}

void gather_slices(Graph *g)
{
    for (int i = 0; i < g->n_stmt; i++) {
        Stmt *s = g->stmt[i];
        Terms t = {.s = s};
        if (s->op != R_NONE || s->value->kind != E_BINARY ||
            s->value->fn != F_ADD)
            continue;
        take_terms(g, &t, s->value);
        if (t.n < FEWEST || t.n != t.hi - t.lo + 1)
            continue;
        const Tensor *from = t.first->tensor;
        const Idx **at = arena_array(g->arena, const Idx *, from->rank);
        const Idx *v = idx_var(g->pool, t.v);
        memcpy(at, t.first->at, sizeof *at * (size_t)from->rank);
        at[t.dim] = idx_addc(g->pool, v, t.shift);
        Guard in = guard_within(g->pool, (Guard){0}, v, t.lo, t.hi + 1);
        const Expr *e = expr_read(g, t.first->tensor, at, in,
                                  in.n ? t.first->outside : NULL);
        s->value = t.rest ? expr_binary(g, F_ADD, e, t.rest, T_F32) : e;
    }
}
