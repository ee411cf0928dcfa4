#include "family/contract/contract_tma.h"

#include <stdlib.h>
#include <string.h>

/* Which maps copy the operands of a contraction: boxes, boxes whose rows an
 * im2col map walks, or a map that slides along the sum. */

/* Whether dimension d is pixels: its axis, and taps that move them by what the
 * instruction can say. */
static bool slides(const Tma *t, const TmaDim *d, int n)
{
    int64_t offset = 0;

    if (!idx_affine(d->at) || d->step > 8)
        return false;
    for (int i = 0; i < d->at->n; i++) {
        const Var *v = d->at->term[i].atom->var;
        int64_t c = d->at->term[i].c;
        bool tap = false;
        for (int k = 0; k < t->k.n; k++)
            tap |= t->k.axis[k].linear == v;
        if (v == d->axis->linear)
            continue;
        if (!tap)
            return false;
        offset += llabs(c) * (v->extent - 1);
    }
    return tma_reaches(d, n, offset);
}

/* Dimensions of pixels, if a is channels, pixels, and perhaps images. */
static int count_pixels(const Tma *t)
{
    const TmaOperand *a = &t->a;
    int n = t->m.n;

    if (n < 2 || a->rank != n + 1 || !a->k_major || a->offset)
        return 0;
    for (int i = 1; i <= n; i++)
        if (a->dim[i].axis != &t->m.axis[n - i])
            return 0;
    const TmaDim *last = &a->dim[n];
    if (idx_is_var(last->at) && last->extent == last->axis->extent)
        n--;
    if (n < 1 || n > 3)
        return 0;
    for (int i = 1; i <= n; i++)
        if (!slides(t, &a->dim[i], n))
            return 0;
    return n;
}

/* The operand without the condition on the run's size, which a map has as the
 * extent of a dimension. */
static const Operand *without_run(Graph *g, const Operand *o, const Var **run)
{
    Operand *out = arena_new_of(g->arena, Operand);

    *out = *o;
    *run = guard_run(g, o->in, &out->in);
    return out;
}

/* Without an im2col map along k. */
static const char *open_boxes(Tma *t)
{
    const Contract *x = t->x;
    const Contraction *c = &x->c;
    const Operand *a, *b;
    const Var *run[2];
    const char *why;

    a = without_run(x->g, &c->a, &run[0]);
    b = without_run(x->g, &c->b, &run[1]);
    tma_axes(x->g, &t->m, c->m, c->n_m, a, NULL);
    tma_axes(x->g, &t->n, c->n, c->n_n, b, NULL);
    tma_axes(x->g, &t->k, c->k, c->n_k, a, b);
    tma_find_taps(t, a, b);
    if (!t->m.n || t->n.n != 1)
        return t->m.n ? "columns that are not one number" : "no rows";
    if (!(why = tma_operand(t, &t->a, a, &t->m, run[0])))
        why = tma_operand(t, &t->b, b, &t->n, run[1]);
    if (!why && !t->a.k_major && t->m.n > 1)
        why = "a patch of rows that are neighbours in memory";
    t->pixels = why ? 0 : count_pixels(t);
    return why;
}

static void begin(Tma *t, const Contract *x)
{
    const Contraction *c = &x->c;

    memset(t, 0, sizeof *t);
    t->x = x;
    t->patch = arena_array(x->g->arena, Patch, TMA_PATCHES);
    t->bk = TMA_ROW / type_bytes(x->elem);
    for (int i = 0; i < c->n_batch; i++)
        tma_axis(x->g, &t->batch.axis[t->batch.n++], &c->batch[i], 1);
}

/* Whether steps along k have twice as many terms as there are: rows of few
 * pixels that are no one number in memory, as every other one's are. */
static bool is_padded(const Tma *t)
{
    return tma_k_tiles(t) * t->bk >= 2 * t->x->c.K;
}

const char *tma_open(Tma *t, const Contract *x)
{
    const Contraction *c = &x->c;
    const char *why;

    if (!c->a.read || !c->b.read)
        return "a factor that is computed";
    if (!idx_affine(c->a.offset) || !idx_affine(c->b.offset))
        return "an index that is not affine";
    begin(t, x);
    why = open_boxes(t);
    if (!why && !is_padded(t))
        return NULL;
    const Tma boxes = *t;
    begin(t, x);
    if (!tma_slide(t))
        return NULL;
    if (!why) /* its axes are where they were */
        *t = boxes;
    return why;
}
