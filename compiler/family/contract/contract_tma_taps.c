#include "family/contract/contract_tma.h"

#include <string.h>

/* Steps over k that have no terms: the taps of a window that a phase of a
 * transposed convolution lacks. A condition on variables of the batch and on
 * one axis of k, beside the last, says from where to where a product's steps
 * go along that axis. */

enum { MOST_PRODUCTS = 4096 }; /* with taps of their own */

/* The axis of k on which c is a condition, or -1. */
static int axis_of(const Tma *t, Cond c)
{
    const Contraction *x = &t->x->c;
    int found = -1;

    if (c.mod || !idx_affine(c.e))
        return -1;
    for (int i = 0; i < c.e->n; i++) {
        const Var *v = c.e->term[i].atom->var;
        int k = 0;
        while (k < t->k.n - 1 && (t->k.axis[k].n > 1 || t->k.axis[k].v[0] != v))
            k++;
        if (k < t->k.n - 1 && found < 0)
            found = k;
        else if (!vars_have(x->batch, x->n_batch, v))
            return -1;
    }
    return found;
}

/* From where to where e >= 0 lets v go. */
static void narrow(IdxPool *p, const Var *v, const Idx *e, const Idx **from,
                   const Idx **to)
{
    int64_t c = idx_coef(e, v);
    const Idx *rest = idx_sub(p, e, idx_scale(p, idx_var(p, v), c));

    if (c < 0)
        *to = idx_min(p, *to, idx_floor(p, idx_addc(p, rest, -c), -c));
    else
        *from = idx_max(p, *from,
                        idx_floor(p, idx_addc(p, idx_scale(p, rest, -1), c - 1),
                                  c));
}

static bool is_zero(const Expr *e)
{
    return e && e->kind == E_CONST && e->num == 0;
}

/* The steps along axis k, and the conditions that they meet. */
static void find_axis(Tma *t, int k, const Operand *const op[2])
{
    IdxPool *p = t->x->g->pool;
    const Axis *a = &t->k.axis[k];
    const Idx *from = idx_const(p, 0), *to = idx_const(p, a->extent);
    Guard met = {0};

    for (int o = 0; o < 2; o++)
        for (int i = 0; i < op[o]->in.n && is_zero(op[o]->read->outside); i++) {
            Cond c = op[o]->in.cond[i];
            if (axis_of(t, c) != k)
                continue;
            narrow(p, a->v[0], c.e, &from, &to);
            met = guard_add(p, met, c.e, 0);
        }
    const Idx *count = idx_sub(p, to, from);
    if (!met.n || count->lo < 1) /* each product has a step */
        return;
    t->tap[k] = (TapRange){from, count};
    t->taps = guard_and(p, t->taps, met);
}

/* The steps of the products whose variables from number `v` on are not yet
 * replaced, from *steps on. */
static void count_products(const Tma *t, int v, Subst *sub, int64_t **steps)
{
    const Contraction *c = &t->x->c;
    int64_t n = (t->k.axis[t->k.n - 1].extent + t->bk - 1) / t->bk;

    for (int64_t i = 0; v < c->n_batch && i < c->batch[v]->extent; i++) {
        sub[v] = (Subst){c->batch[v], idx_const(t->x->g->pool, i)};
        count_products(t, v + 1, sub, steps);
    }
    if (v < c->n_batch)
        return;
    for (int k = 0; k < t->k.n - 1; k++)
        n *= t->tap[k].count
                 ? idx_subst(t->x->g->pool, t->tap[k].count, sub, v)->k
                 : t->k.axis[k].extent;
    *(*steps)++ = n;
}

void tma_find_taps(Tma *t, const Operand *a, const Operand *b)
{
    const Operand *const op[] = {a, b};
    int64_t products = t->x->c.batches, sum = 0;
    Subst sub[MAX_RANK];

    memset(t->tap, 0, sizeof t->tap);
    t->taps = (Guard){0};
    t->least = tma_k_tiles(t);
    t->mean = (double)t->least;
    for (int k = 0; k < t->k.n - 1 && a->read && b->read &&
                    products <= MOST_PRODUCTS; k++)
        find_axis(t, k, op);
    if (!t->taps.n)
        return;
    int64_t *steps = t->steps =
        arena_array(t->x->g->arena, int64_t, products);
    count_products(t, 0, sub, &steps);
    for (int64_t i = 0; i < products; i++) {
        sum += t->steps[i];
        t->least = t->steps[i] < t->least ? t->steps[i] : t->least;
    }
    t->mean = (double)sum / (double)products;
}

bool tma_meets(const Tma *t, Cond c)
{
    for (int i = 0; i < t->taps.n; i++)
        if (t->taps.cond[i].e == c.e && t->taps.cond[i].mod == c.mod)
            return true;
    return false;
}

bool tma_inside(const Tma *t, const TmaDim *d)
{
    Guard in =
        guard_within(t->x->g->pool, (Guard){0}, d->at, 0, d->extent);

    for (int i = 0; i < in.n; i++)
        if (!tma_meets(t, in.cond[i]))
            return false;
    return true;
}
