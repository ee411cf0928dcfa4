#include "family/contract/contract_tma.h"

/* Neighbouring pixels of few channels as one pixel of as many as a row of TMA's
 * has, where output pixels are so far apart:
 *
 *     sum(s, c) x[2 q + s - 1, c] w[k, s, c]
 *         = sum(t, j) x[2 (q + t - 1) C + j] w[k, (2 t - 1) C + j], j < 2 C
 *
 * TMA takes as long over a row as over a whole one, and longer over one that
 * ends inside a box: a window of 3 has two rows for three. Weights beyond the
 * window are none (first pixels of the first t, last ones of the last): their
 * part of a step is not multiplied, as what stands there in x may be anything.
 */

/* The axis of k that moves dimension d alone, by one pixel; or NULL. */
static Axis *tap_of(Tma *t, const TmaDim *d)
{
    Axis *tap = NULL;

    if (!idx_affine(d->at) || d->at->n != 2)
        return NULL;
    for (int i = 0; i < d->at->n; i++) {
        const Var *v = d->at->term[i].atom->var;
        if (v == d->axis->linear)
            continue;
        for (int k = 0; k < t->k.n - 1; k++)
            if (t->k.axis[k].linear == v && d->at->term[i].c == 1)
                tap = &t->k.axis[k];
    }
    return tap;
}

/* The dimension of o that is v, of which no other knows; or -1. */
static int dim_of(const TmaOperand *o, const Var *v)
{
    int found = -1;

    for (int d = 0; d < o->rank; d++)
        if (idx_uses(o->dim[d].at, v)) {
            if (found >= 0)
                return -1;
            found = d;
        }
    return found;
}

static bool is_run(const TmaDim *d, const Axis *axis)
{
    return d->axis == axis && d->stride == 1 && d->step == 1 &&
           idx_is_var(d->at) == axis->linear && d->extent == axis->extent;
}

static int64_t floor_div(int64_t a, int64_t b)
{
    return a >= 0 ? a / b : -((b - 1 - a) / b);
}

/* Whether rows of x are channels, and pixels that are `apart`; and rows of w
 * taps and channels. */
static bool lies_so(const Tma *t, const Axis *tap, int at)
{
    const Axis *c = &t->k.axis[t->k.n - 1];
    const TmaDim *pixel = &t->a.dim[1];
    const int64_t apart = pixel->step;

    return at > 0 && is_run(&t->a.dim[0], c) && is_run(&t->b.dim[0], c) &&
           pixel->stride == c->extent && pixel->extent % apart == 0 &&
           dim_of(&t->a, tap->linear) == 1 && dim_of(&t->a, c->linear) == 0 &&
           dim_of(&t->b, c->linear) == 0 && !t->b.dim[at].axis &&
           idx_is_var(t->b.dim[at].at) == tap->linear &&
           t->b.dim[at].stride == c->extent &&
           t->b.dim[at].extent == tap->extent;
}

static void new_axis(Graph *g, Axis *a, int64_t extent)
{
    const Var *v = idx_new_var(g->pool, a->v[0]->name, extent);

    tma_axis(g, a, &v, 1);
}

void tma_pair(Tma *t)
{
    Graph *g = t->x->g;
    Axis *c = &t->k.axis[t->k.n - 1];
    TmaDim *pixel = &t->a.dim[1];
    const int apart = t->pixels ? pixel->step : 1;
    const int64_t channels = c->extent;
    Axis *tap = apart > 1 && !t->taps.n ? tap_of(t, pixel) : NULL;
    const int at = tap ? dim_of(&t->b, tap->linear) : -1;

    if (!tap || !lies_so(t, tap, at) || channels * apart > t->bk ||
        channels % (t->bk / TMA_PARTS))
        return;
    const int64_t first = floor_div(pixel->at->k, apart);
    const int64_t before = pixel->at->k - first * apart;
    const int64_t taps = (before + tap->extent + apart - 1) / apart;
    if (taps >= tap->extent)
        return;
    const int64_t window = tap->extent;
    new_axis(g, tap, taps);
    new_axis(g, c, channels * apart);
    const Idx *run = idx_var(g->pool, c->linear);
    const Idx *step = idx_var(g->pool, tap->linear);
    *pixel = (TmaDim){
        .at = idx_addc(g->pool,
                       idx_add(g->pool, idx_var(g->pool, pixel->axis->linear),
                               step),
                       first),
        .stride = pixel->stride * apart, .extent = pixel->extent / apart,
        .axis = pixel->axis, .step = 1};
    t->a.dim[0].at = run;
    t->a.dim[0].extent = c->extent;
    t->b.dim[0].at =
        idx_addc(g->pool,
                 idx_add(g->pool, idx_scale(g->pool, step, c->extent), run),
                 -before * channels);
    t->b.dim[0].extent = window * channels;
    for (int d = at; d + 1 < t->b.rank; d++)
        t->b.dim[d] = t->b.dim[d + 1];
    t->b.rank--;
    t->pair = (TmaPair){.axis = (int)(tap - t->k.axis),
                        .before = (int)(before * channels),
                        .last = (int)((before + window -
                                       (taps - 1) * apart) * channels),
                        .taken = (double)(window * channels) /
                                 (double)(taps * t->bk)};
    t->least = tma_k_tiles(t);
    t->mean = (double)t->least;
}
