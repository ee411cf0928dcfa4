#include "family/contract/wgmma/contract_wgmma.h"

/* Tiles of a convolution that are runs of output pixels, by im2col maps: where
 * a row of an image ends, the run goes on in the next one. Or steps of a sum
 * over pixels, which are such runs. */

/* Dimensions of o that runs go through. */
static int pixels_of(const WgmmaBuild *w, const TmaOperand *o)
{
    return o->slides ? o->slides : w->f->tma.pixels;
}

void wgmma_digit(WgmmaBuild *w, WgmmaDigits *d, const char *name,
                 const char *of, int64_t below, int64_t extent,
                 const char *unit)
{
    Arena *a = w->x.g->arena;

    d->name[d->n] = name;
    d->of[d->n] = of;
    d->text[d->n++] =
        arena_printf(a, "%s%s", cprint_digit(a, of, below, extent), unit);
}

void wgmma_im2col_map(const WgmmaBuild *w, const TmaOperand *a, TileMap *m)
{
    int n = pixels_of(w, a);

    m->pixels = a->slides ? w->f->tma.bk : w->x.p->t.bm;
    m->box[0] = w->f->tma.bk;
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

void wgmma_im2col_pixel(WgmmaBuild *w, WgmmaDigits *d)
{
    CPrint *cp = &w->x.cp;
    Arena *arena = w->x.g->arena;
    const Axes *m = &w->f->tma.m;
    int64_t radix = 1;

    for (int i = m->n - 1; i >= 0; i--) {
        const char *v = cprint_ident(arena, m->axis[i].v[0]->name);
        const char *id = cprint_fresh(cp, arena_printf(arena, "%s0", v));
        wgmma_digit(w, d, id, "m0", radix, i > 0 ? m->axis[i].extent : 0, "");
        radix *= m->axis[i].extent;
        cprint_name(cp, m->axis[i].linear, id);
    }
}

/* What moves a dimension's pixels: the tap, from the first one on. */
static const Idx *tap(const WgmmaBuild *w, const TmaDim *d)
{
    IdxPool *p = w->x.g->pool;
    const Idx *pixel = idx_scale(p, idx_var(p, d->axis->linear), d->step);

    return idx_addc(p, idx_sub(p, d->at, pixel), -tma_lower(d));
}

/* The copy of the run whose pixels have names, to smem.@tile[slot]@piece. */
static void put_run(WgmmaBuild *w, Tree *b, const TmaOperand *a, const Load *l,
                    const char *piece)
{
    CPrint *cp = &w->x.cp;
    IdxPool *p = w->x.g->pool;
    int n = pixels_of(w, a);

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
        "dcc_tma_im2col_@n@d(smem.@tile[slot]@piece, &@id@_map, "
        "@at&smem.full[slot]);\n",
        FILL_INT("n", n + 2), FILL("tile", l->tile), FILL("piece", piece),
        FILL("id", l->id), FILL("at", at));
}

void wgmma_im2col_copy(WgmmaBuild *w, Tree *b)
{
    put_run(w, b, &w->f->tma.a, &w->x.a, "");
}

void wgmma_slide_pixel(WgmmaBuild *w, WgmmaDigits *d)
{
    CPrint *cp = &w->x.cp;
    const Axis *k = &w->f->tma.k.axis[0];
    int64_t radix = 1;

    for (int i = k->n - 1; i >= 0; i--) {
        const char *v = cprint_ident(w->x.g->arena, k->v[i]->name);
        const char *id =
            cprint_fresh(cp, arena_printf(w->x.g->arena, "%s0", v));
        wgmma_digit(w, d, id, "k_tile * BK", radix, i > 0 ? k->v[i]->extent : 0,
                    "");
        radix *= k->v[i]->extent;
        cprint_name(cp, k->v[i], id);
    }
}

void wgmma_slide_copy(WgmmaBuild *w, Tree *b, const TmaOperand *o,
                      const Load *l, const char *origin, const char *rows)
{
    CPrint *cp = &w->x.cp;
    CScope scope = cprint_open(cp);
    const Axis *side = o->dim[0].axis;
    Tree *in = tree_list(b->arena);
    int64_t radix = 1;

    PUT(in, "const int row = @origin + i * @box;\n", FILL("origin", origin),
        FILL_INT("box", w->f->tma.bk));
    for (int i = side->n - 1; i >= 0; i--) {
        PUT(in, "const int @v = @digit;\n",
            FILL("v", cprint_var(cp, side->v[i])),
            FILL("digit", cprint_digit(b->arena, "row", radix,
                                       i > 0 ? side->v[i]->extent : 0)));
        radix *= side->v[i]->extent;
    }
    put_run(w, in, o, l, "[i]");
    PUT(b,
        "#pragma unroll\n"
        "for (int i = 0; i < @rows / @box; ++i) {  // each has its tap\n"
        "    @IN\n"
        "}\n",
        FILL("rows", rows), FILL_INT("box", w->f->tma.bk),
        FILL_TREE("IN", in));
    cprint_close(cp, scope);
}
