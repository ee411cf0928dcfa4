#include "family/contract/wgmma/contract_wgmma.h"

/* Tiles of a convolution that are runs of output pixels, by im2col maps: where
 * a row of an image ends, the run goes on in the next one. */

void wgmma_im2col_map(const Wgmma *w, TileMap *m)
{
    const TmaOperand *a = &w->tma->a;
    int n = w->tma->pixels;

    m->pixels = w->x.t.bm;
    m->box[0] = w->tma->bk;
    for (int d = 1; d <= n; d++) {
        m->lower[d - 1] = tma_lower(&a->dim[d]);
        m->upper[d - 1] = tma_upper(&a->dim[d]);
    }
    if (a->rank == n + 1) { /* one image */
        m->rank = n + 2;
        m->dim[n + 1] = m->step[n + 1] = 1;
        m->stride[n + 1] = m->stride[n] * m->dim[n];
    }
}

void wgmma_im2col_pixel(Wgmma *w, WgmmaDigits *d)
{
    CPrint *cp = &w->x.cp;
    Arena *arena = w->x.g->arena;
    const Axes *m = &w->tma->m;
    int64_t radix = 1;

    for (int i = m->n - 1; i >= 0; i--) {
        const char *v = cprint_ident(arena, m->axis[i].v[0]->name);
        const char *id = cprint_fresh(cp, arena_printf(arena, "%s0", v));
        wgmma_digit(w, d, id, "m0", radix, i > 0 ? m->axis[i].extent : 0, "");
        radix *= m->axis[i].extent;
        cprint_name(cp, m->axis[i].linear, id);
    }
}

/* What moves a dimension's pixels: the tap. */
static const Idx *tap(const Wgmma *w, const TmaDim *d)
{
    IdxPool *p = w->x.g->pool;
    const Idx *pixel = idx_scale(p, idx_var(p, d->axis->linear), d->step);

    return idx_addc(p, idx_sub(p, d->at, pixel), -d->at->k);
}

void wgmma_im2col_copy(Wgmma *w, Tree *b)
{
    CPrint *cp = &w->x.cp;
    const TmaOperand *a = &w->tma->a;
    IdxPool *p = w->x.g->pool;
    int n = w->tma->pixels;

    Arena *arena = b->arena;
    const char *at = "";

    for (int d = 0; d < a->rank; d++) {
        const TmaDim *dim = &a->dim[d];
        at = arena_printf(
            arena, "%s%s, ", at,
            cprint_idx(cp,
                       d && d <= n ? idx_sub(p, dim->at, tap(w, dim)) : dim->at,
                       0));
    }
    if (a->rank == n + 1)
        at = arena_printf(arena, "%s0, ", at);
    for (int d = 1; d <= n; d++)
        at = arena_printf(arena, "%s%s, ", at,
                          cprint_idx(cp, tap(w, &a->dim[d]), 0));
    PUT(b,
        "dcc_tma_im2col_@n@d(smem.@tile[slot], &@id@_map, "
        "@at&smem.full[slot]);\n",
        FILL_INT("n", n + 2), FILL("tile", w->x.a.tile), FILL("id", w->x.a.id),
        FILL("at", at));
}
