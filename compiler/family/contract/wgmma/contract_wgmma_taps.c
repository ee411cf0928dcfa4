/* contract_wgmma_taps.c - products of one launch whose sums have steps of their
 * own: phases of a transposed convolution, or of the gradient of a strided one,
 * each with the taps that it has. No zero is multiplied. */
#include "family/contract/wgmma/contract_wgmma.h"

static bool differ(const WgmmaBuild *w)
{
    return w->f->tma.taps.n > 0;
}

const char *wgmma_tile_steps(const WgmmaBuild *w, const char *tile)
{
    return differ(w)
               ? arena_printf(w->x.g->arena, "find_steps(%s)", tile)
               : "K_TILES";
}

const char *wgmma_own_steps(const WgmmaBuild *w)
{
    return differ(w) ? "k_tiles" : "K_TILES";
}

Tree *wgmma_name_steps(const WgmmaBuild *w)
{
    return QUOTE(w->x.g->arena, differ(w) && wgmma_sharers(w->p) == 1
                                    ? "const int k_tiles = find_steps(tile);\n"
                                    : "");
}

/* As a factor or divisor. */
static const char *count_of(WgmmaBuild *w, int axis)
{
    Arena *a = w->x.g->arena;
    const Idx *count = w->f->tma.tap[axis].count;

    if (!count)
        return arena_printf(a, "%lld",
                            (long long)w->f->tma.k.axis[axis].extent);
    return arena_printf(a, idx_is_const(count) || idx_is_var(count) ? "%s"
                                                                    : "(%s)",
                        cprint_idx(&w->x.cp, count, 0));
}

static int64_t inner_steps(const WgmmaBuild *w)
{
    const Axes *k = &w->f->tma.k;

    return (k->axis[k->n - 1].extent + w->f->tma.bk - 1) / w->f->tma.bk;
}

/* The variables of the batch that `code` mentions. */
static void put_batch(WgmmaBuild *w, Tree *b, Tree *code)
{
    const Contraction *c = &w->x.f->c;
    int64_t radix = c->batches;
    bool first = true;

    for (int i = 0; i < c->n_batch; i++) {
        const char *name = cprint_idx(
            &w->x.cp, idx_var(w->x.g->pool, c->batch[i]), 0);
        radix /= c->batch[i]->extent;
        if (c->batch[i]->extent > 1 && tree_mentions(code, name))
            PUT(b, "const int @name = @digit;\n", FILL("name", name),
                FILL("digit", cprint_digit(b->arena, "batch", radix,
                                           first ? 0 : c->batch[i]->extent)));
        first &= c->batch[i]->extent == 1;
    }
}

/* The function that says how many steps a tile has. */
static Tree *find_steps(WgmmaBuild *w)
{
    Arena *a = w->x.g->arena;
    const Axes *k = &w->f->tma.k;
    const char *steps = "";
    Tree *digits = tree_list(a);

    if (!differ(w))
        return tree_list(a);
    for (int i = 0; i < k->n - 1; i++)
        steps = arena_printf(a, "%s%s%s", steps, i ? " * " : "",
                             count_of(w, i));
    if (inner_steps(w) > 1)
        steps = arena_printf(a, "%s * %lld", steps,
                             (long long)inner_steps(w));
    Tree *code = QUOTE(a, "return @steps;\n", FILL("steps", steps));
    put_batch(w, digits, code);
    return QUOTE(a,
                 "// A tile's steps: of the taps that its phase has.\n"
                 "auto find_steps = [](int tile) {\n"
                 "    const int batch = tile / (TILES_M * TILES_N);\n"
                 "    @DIGITS\n"
                 "    @CODE\n"
                 "};\n",
                 FILL_TREE("DIGITS", digits), FILL_TREE("CODE", code));
}

/* From a warpgroup's tile to its next, of tiles so far apart. */
static Tree *past_steps(const WgmmaBuild *w, const char *apart)
{
    return QUOTE(w->x.g->arena,
                 wgmma_sharers(w->p) > 1 ? ""
                 : wgmma_reaches(w->p)   ? "step += k_end - k_begin;\n"
                 : !w->p->pingpong       ? "step += @own;\n"
                 : differ(w) ? "step += k_tiles + find_steps(tile + @apart);\n"
                             : "step += CONSUMERS * K_TILES;\n",
                 FILL("own", wgmma_own_steps(w)), FILL("apart", apart));
}

Tree *wgmma_own_part(const WgmmaBuild *w)
{
    bool both = w->p->parts > 1 && w->x.p->t.split > 1;
    const char *part = both ? "piece" : w->p->parts > 1 ? "part" : "rank";
    const char *parts = both               ? "(PARTS * SPLIT)"
                        : w->p->parts > 1 ? "PARTS"
                                          : "SPLIT";
    const char *steps = wgmma_own_steps(w);
    Tree *b = tree_list(w->x.g->arena);

    if (both)
        PUT(b, "const int piece = part * SPLIT + rank;\n");
    if (differ(w))
        PUT(b, "const int k_tiles = find_steps(first_tile);\n");
    PUT(b,
        "const int k_begin = @part * @steps / @parts;\n"
        "const int k_end = (@part + 1) * @steps / @parts;\n",
        FILL("part", part), FILL("steps", steps), FILL("parts", parts));
    return b;
}

int wgmma_step_counts(WgmmaBuild *w, const char *own, const char *apart,
                      Fill *fill)
{
    const char *first =
        w->p->pingpong ? arena_printf(w->x.g->arena, "warpgroup * %s",
                                      wgmma_tile_steps(w, own))
                       : "0";

    fill[0] = FILL_TREE("FIND_STEPS", find_steps(w));
    fill[1] = FILL_TREE("OWN_STEPS", wgmma_name_steps(w));
    fill[2] = FILL("FIRST_STEP", first);
    fill[2 + 1] = FILL_TREE("SKIP", past_steps(w, apart));
    return 2 + 2;
}

/* The digit of an axis of which products have a part, which begins at `first`;
 * the number of the digits above it. */
static const char *part_digit(WgmmaBuild *w, WgmmaDigits *d, int axis,
                              const char *number)
{
    Arena *a = w->x.g->arena;
    const Idx *first = w->f->tma.tap[axis].first;
    const char *count = count_of(w, axis);

    d->name[d->n] =
        cprint_var(&w->x.cp, w->f->tma.k.axis[axis].linear);
    d->of[d->n] = "k_tile";
    d->text[d->n] =
        axis > 0 ? arena_printf(a, "%s %% %s", number, count) : number;
    if (!idx_is_const(first) || first->k)
        d->text[d->n] =
            arena_printf(a, "%s + %s", d->text[d->n],
                         cprint_idx(&w->x.cp, first, 1));
    d->n++;
    return arena_printf(a, "%s / %s", number, count);
}

void wgmma_name_taps(WgmmaBuild *w, WgmmaDigits *d, int64_t inner)
{
    const Axes *k = &w->f->tma.k;
    const char *number = "k_tile";
    int64_t radix = inner;

    for (int i = k->n - 2; i >= 0; i--) {
        int64_t extent = k->axis[i].extent;
        if (w->f->tma.tap[i].count) {
            number = part_digit(w, d, i,
                                cprint_digit(w->x.g->arena, number, radix, 0));
            radix = 1;
        } else {
            wgmma_digit(w, d, cprint_var(&w->x.cp, k->axis[i].linear), number,
                        radix, i > 0 ? extent : 0, "");
            radix *= extent;
        }
    }
}
