#include "family/contract/contract_tma.h"

#include <stdlib.h>

/* Sums over pixels: dw[k, r, s, c] = sum(n, p, q) dy[n, p, q, k] *
 * x[n, 2 p + r - 1, q + s - 1, c]. The one operand walks all pixels as a
 * number; the other one's windows slide along them, and a box of its channels
 * has a tap of its own. */

bool tma_reaches(const TmaDim *d, int n, int64_t offset)
{
    static const int corner[] = {0, 32767, 127, 15};
    static const int most[] = {0, 65535, 255, 31};

    return offset <= most[n] && llabs((int64_t)tma_lower(d)) < corner[n] &&
           llabs((int64_t)tma_upper(d)) < corner[n];
}

/* The axis of k's variable that `at` uses, once, with a step; the rest is taps
 * among v, of which *offset is the farthest; or NULL. */
static const Axis *pixel_of(const Tma *t, const Idx *at, const Var *const *v,
                            int n, int *step, int64_t *offset)
{
    const Axis *found = NULL;

    *offset = 0;
    if (!idx_affine(at))
        return NULL;
    for (int i = 0; i < at->n; i++) {
        const Var *u = at->term[i].atom->var;
        int64_t c = at->term[i].c;
        const Axis *a = NULL;
        for (int k = 0; k < t->x->c.n_k; k++)
            if (t->pixel[k].linear == u)
                a = &t->pixel[k];
        if ((a && (found || c < 1 || c > 8)) ||
            (!a && (c < 0 || !vars_have(v, n, u))))
            return NULL;
        if (a) {
            found = a;
            *step = (int)c;
        } else {
            *offset += c * (u->extent - 1);
        }
    }
    return found;
}

/* Dimension 0 of o, its channels; those of pixels in the order of k from the
 * fastest on. */
static const char *find_dims(Tma *t, TmaOperand *o, const Axis *rows,
                             int64_t farthest[])
{
    const Contraction *c = &t->x->c;
    const Expr *read = o->op->read;
    const Tensor *x = read->tensor;
    const Var *channel = rows->v[rows->n - 1];
    int found = 0;

    o->rank = 1 + c->n_k;
    if (o->rank > TMA_RANK)
        return "more than five dimensions";
    for (int d = 0; d < x->rank; d++) {
        int64_t offset;
        int step;
        const Idx *at = read->at[d];
        if (x->dim[d] == 1 && idx_is_const(at) && !at->k)
            continue;
        if (idx_is_var(at) && at->term[0].atom->var == channel &&
            x->stride[d] == 1 && x->dim[d] == channel->extent) {
            o->dim[0] = (TmaDim){.at = at, .stride = 1, .extent = x->dim[d],
                                 .axis = rows, .step = 1};
            continue;
        }
        const Axis *a = pixel_of(t, at, rows->v, rows->n - 1, &step, &offset);
        if (!a)
            return "windows that do not slide along the sum";
        int i = c->n_k - (int)(a - t->pixel);
        o->dim[i] = (TmaDim){.at = at, .stride = x->stride[d],
                             .extent = x->dim[d], .axis = a, .step = step};
        farthest[i] = offset;
        found++;
    }
    if (!o->dim[0].at || found != c->n_k)
        return "a sum over other than pixels of channels";
    for (int i = 1; i < o->rank; i++)
        if (!o->dim[i].at || o->dim[i].stride * type_bytes(x->type) % 16 ||
            (i > 1 && o->dim[i].stride < o->dim[i - 1].stride))
            return "pixels in another order than the sum's";
    return NULL;
}

static const char *open_sliding(Tma *t, TmaOperand *o, const Operand *op,
                                const Axis *rows)
{
    int64_t farthest[MAX_RANK + 2] = {0};
    const char *why;
    int n = t->x->c.n_k;

    o->op = op;
    if (op->read->tensor->type != t->x->elem)
        return "a factor that is computed";
    if ((why = tma_check_guard(t, o)) ||
        (why = find_dims(t, o, rows, farthest)))
        return why;
    const TmaDim *last = &o->dim[n];
    if (idx_is_var(last->at) && last->extent == last->axis->extent)
        n--;
    if (n < 1 || n > 3)
        return "no pixels, or of more than three dimensions";
    for (int i = 1; i <= n; i++)
        if (!tma_reaches(&o->dim[i], n, farthest[i]))
            return "taps that are too far apart";
    o->slides = n;
    return NULL;
}

/* Whether o walks all of k as a number. */
static bool straight(const Contraction *c, const Operand *o)
{
    for (int i = 1; i < c->n_k; i++)
        if (!tma_one_number(o, c->k[i - 1], c->k[i]))
            return false;
    return true;
}

/* The other operand, and k as the number by which it goes. */
static const char *open_straight(Tma *t, TmaOperand *o, const Operand *op,
                                 Axes *side, const Var *const *v, int n)
{
    const Contraction *c = &t->x->c;
    const char *why;

    if (!straight(c, op))
        return "pixels that are no number";
    for (int i = 1; i < n; i++)
        if (!tma_one_number(op, v[i - 1], v[i]))
            return "rows that are no number";
    tma_axis(t->x->g, &side->axis[side->n++], v, n);
    why = tma_operand(t, o, op, side, NULL);
    return why ? why : o->k_major ? "pixels that are neighbours" : NULL;
}

const char *tma_slide(Tma *t)
{
    const Contract *x = t->x;
    const Contraction *c = &x->c;
    bool is_a = !straight(c, &c->a);
    const Var *const *v = is_a ? c->m : c->n;
    int n = is_a ? c->n_m : c->n_n;
    Axes *side = is_a ? &t->m : &t->n;
    const char *why;

    if ((type_bytes(x->elem) != 2 && x->terms != 3) || !n ||
        !(is_a ? c->n_n : c->n_m) || c->n_k > MAX_RANK || !c->n_k)
        return "no sum over pixels of 16-bit channels or 3xtf32's";
    if (v[n - 1]->extent % t->bk)
        return "channels that are no whole boxes";
    tma_axis(x->g, &t->k.axis[t->k.n++], c->k, c->n_k);
    tma_find_taps(t, &c->a, &c->b);
    for (int i = 0; i < c->n_k; i++)
        tma_axis(x->g, &t->pixel[i], &c->k[i], 1);
    tma_axis(x->g, &side->axis[side->n++], v, n);
    why = open_sliding(t, is_a ? &t->a : &t->b, is_a ? &c->a : &c->b,
                       &side->axis[0]);
    if (why)
        return why;
    return is_a ? open_straight(t, &t->b, &c->b, &t->n, c->n, c->n_n)
                : open_straight(t, &t->a, &c->a, &t->m, c->m, c->n_m);
}
