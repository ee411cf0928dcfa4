#include "emit/cprint_old.h"
#include "family/contract/wgmma/contract_wgmma.h"

#include <string.h>

/* The loading thread of a wgmma contraction: which copies fill a slot, and what
 * it does ahead of the wait for the grid. */

/* Weights of the first steps are loaded before the wait for the grid; those
 * that stay in their slots, before the loop. */
static bool is_early(const Wgmma *w, const Load *l)
{
    return (w->x.kernel->waits || w->stays) &&
           kernel_reads_constants(l->op->e);
}

bool wgmma_has_early(const Wgmma *w)
{
    return is_early(w, &w->x.a) || is_early(w, &w->x.b);
}

const char *wgmma_place(const Wgmma *w, const char *k_tile)
{
    const char *how = w->leaps == 1        ? "%s"
                      : w->x.t.split == 1 ? "dcc_leap<K_TILES, LEAPS>(%s)"
                                          : "dcc_leap<K_TILES / SPLIT, LEAPS>"
                                            "(%s, k_begin)";

    return arena_printf(w->x.g->arena, how, k_tile);
}

/* The variables of k from k_tile. */
static void name_k(Wgmma *w, WgmmaDigits *d)
{
    const Axes *k = &w->tma->k;
    const Axis *inner = &k->axis[k->n - 1];
    int64_t radix = (inner->extent + w->tma->bk - 1) / w->tma->bk;
    CPrint *cp = &w->x.cp;

    bool steps = k->n == 1 || radix > 1;
    cprint_name(cp, inner->linear, steps ? "k0" : "0");
    if (steps)
        wgmma_digit(w, d, "k0", wgmma_place(w, "k_tile"), 1, k->n > 1 ? radix : 0, " * BK");
    for (int i = k->n - 2; i >= 0; i--) {
        wgmma_digit(w, d, cprint_var(cp, k->axis[i].linear), "k_tile", radix,
                    i > 0 ? k->axis[i].extent : 0, "");
        radix *= k->axis[i].extent;
    }
}

void wgmma_digit(Wgmma *w, WgmmaDigits *d, const char *name, const char *of,
                 int64_t below, int64_t extent, const char *unit)
{
    Buf b = {0};

    buf_puts(&b, of);
    cprint_digit(&b, below, extent);
    buf_puts(&b, unit);
    d->name[d->n] = name;
    d->of[d->n] = of;
    d->text[d->n++] = arena_strdup(w->x.g->arena, buf_text(&b));
    buf_free(&b);
}

/* Declares the digits that `text` mentions, those of a number together where a
 * line has room, and then has that. */
static void put_digits(const WgmmaDigits *d, Buf *b, const Buf *text)
{
    enum { ROOM = 58 };
    int width = 0;

    for (int i = 0, last = -1; i < d->n; i++) {
        int more = (int)(strlen(d->name[i]) + strlen(d->text[i])) + 5;
        if (!text_mentions(buf_text(text), d->name[i]))
            continue;
        bool joins = last >= 0 && !strcmp(d->of[i], d->of[last]) &&
                     width + more <= ROOM;
        if (last >= 0)
            buf_puts(b, joins ? ", " : ";\n");
        buf_printf(b, "%s%s = %s", joins ? "" : "const int ", d->name[i],
                   d->text[i]);
        width = joins ? width + more : more + 8;
        last = i;
    }
    buf_puts(b, width ? ";\n" : "");
    buf_puts(b, buf_text(text));
}

/* What leaves the L2 first, for what is read again sooner: weights that no
 * other block reads, too many for the L2 to have them when the next run does;
 * and b's columns where they pass by a band of rows of a, which stay (2% of the
 * time of 58.7 M results over 4096, as a fifth less comes from memory). */
static bool passes(const Wgmma *w, const TmaOperand *o)
{
    double elem = type_bytes(w->x.elem), l2 = w->x.o->device->l2_mb * 1e6;
    double b = (double)w->x.c.N * (double)w->x.c.K *
               (double)w->x.c.batches * elem;
    double band = wgmma_band(w) * (double)w->x.t.bm * (double)w->x.c.K * elem;

    if (o != &w->tma->b || o->rank != 2)
        return false;
    if (w->m_tiles == 1)
        return b > l2;
    return w->cluster == 1 && w->x.t.split == 1 && w->x.c.batches == 1 &&
           b > 0.5 * l2 && band < 0.3 * l2;
}

static void put_copy(Wgmma *w, Buf *b, const TmaOperand *o, const Load *l,
                     const Axis *side, const char *origin, const char *rows)
{
    CPrint *cp = &w->x.cp;
    Arena *a = w->x.g->arena;
    CScope scope = cprint_open(cp);
    bool shared = w->cluster > 1 && o == &w->tma->b;
    const char *piece = "";
    int rank = o->rank + (w->deal && o == &w->tma->b ? 2 : 0);

    if (shared)
        rows = arena_printf(a, "%s / CLUSTER", rows);
    if (!o->k_major) {
        buf_printf(b, "#pragma unroll\nfor (int i = 0; i < %s / 64; ++i)\n    ",
                   rows);
        cprint_name(cp, side->linear, arena_printf(a, "%s + i * 64", origin));
        piece = "[i]";
    }
    if (shared) {
        const char *part = arena_printf(a, "rank * (%s)", rows);
        if (!w->deal)
            cprint_name(cp, side->linear,
                        arena_printf(a, "%s + %s%s", origin, part,
                                     o->k_major ? "" : " + i * 64"));
        piece = o->k_major ? arena_printf(a, "[%s]", part)
                           : arena_printf(a, "[%s / 64 + i]", part);
        buf_printf(b, "dcc_tma_share_%dd(smem.%s[slot]%s, &%s_map, ", rank,
                   l->tile, piece, l->id);
    } else {
        buf_printf(b, "dcc_tma_%s_%dd(smem.%s[slot]%s, &%s_map, ",
                   passes(w, o) ? "stream" : "load", rank, l->tile, piece,
                   l->id);
    }
    for (int d = 0; d < o->rank; d++) {
        const Idx *at = o->dim[d].at;
        bool dealt = wgmma_dealt(w, o, d);
        if (dealt)
            at = idx_floor(w->x.g->pool, at, w->deal);
        buf_puts(b, dealt ? "0, " : "");
        cprint_idx(b, cp, at, 0);
        if (dealt && shared)
            buf_printf(b, ", rank * %d", w->deal / 2 / w->cluster);
        buf_puts(b, dealt && !shared ? ", 0, " : ", ");
    }
    buf_printf(b, "&smem.full[slot]%s);\n",
               shared ? ", (1 << CLUSTER) - 1" : "");
    cprint_close(cp, scope);
}

/* Names of what a copy's coordinates use. */
static void name_coordinates(Wgmma *w, WgmmaDigits *d)
{
    const Tma *t = w->tma;
    CPrint *cp = &w->x.cp;

    name_k(w, d);
    if (w->patch.im2col)
        wgmma_im2col_pixel(w, d);
    for (int i = 0; i < t->m.n && !w->patch.im2col; i++)
        cprint_name(cp, t->m.axis[i].linear, w->origin[i]);
    cprint_name(cp, t->n.axis[0].linear, w->n_origin);
}

/* The copies of the operands that are weights, or of the others, behind what
 * their coordinates are. */
static void put_copies(Wgmma *w, Buf *b, bool weights)
{
    const Tma *t = w->tma;
    CScope scope = cprint_open(&w->x.cp);
    WgmmaDigits d = {.n = 0};
    Buf copies = {0};

    name_coordinates(w, &d);
    if (is_early(w, &w->x.a) == weights && w->patch.im2col)
        wgmma_im2col_copy(w, &copies);
    else if (is_early(w, &w->x.a) == weights)
        put_copy(w, &copies, &t->a, &w->x.a, &t->m.axis[t->m.n - 1],
                 w->origin[t->m.n - 1], "BM");
    if (is_early(w, &w->x.b) == weights)
        put_copy(w, &copies, &t->b, &w->x.b, &t->n.axis[0], w->n_origin, "BN");
    if (text_mentions(buf_text(&copies), "rank") && w->cluster > 1)
        buf_puts(b, "const int rank = (int)dcc_cluster_rank();\n");
    put_digits(&d, b, &copies);
    cprint_close(&w->x.cp, scope);
    buf_free(&copies);
}

const char *wgmma_fill(Wgmma *w)
{
    Buf b = {0};

    if (w->stays)
        buf_printf(&b, "if (--early < 0) {\n"
                       "    dcc_mbar_wait(&smem.empty[slot], phase ^ 1);\n"
                       "    if (early < K_TILES - STAGES)  // they are there\n"
                       "        dcc_mbar_expect_tx(&smem.full[slot],\n"
                       "            STAGE_BYTES - (int)sizeof smem.%s[0]);\n"
                       "    else\n"
                       "        load_weights(k_tile, slot);\n}\n",
                   w->x.b.tile);
    else if (wgmma_has_early(w))
        buf_puts(&b, "if (--early < 0) {\n"
                     "    dcc_mbar_wait(&smem.empty[slot], phase ^ 1);\n"
                     "    load_weights(k_tile, slot);\n}\n");
    else
        buf_puts(&b, "dcc_mbar_wait(&smem.empty[slot], phase ^ 1);\n"
                     "dcc_mbar_expect_tx(&smem.full[slot], STAGE_BYTES);\n");
    put_copies(w, &b, false);
    return buf_take(&b, w->x.g->arena);
}

/* Narrow tiles took longer: their steps are over sooner than loads are issued,
 * and all the loads wait for the first one; but where they come from memory,
 * the memory is what all wait for (64 x 8192 x 8192: 1% less). */
bool wgmma_runs_ahead(const Wgmma *w)
{
    enum { WIDE = 96 };
    bool skips = wgmma_skips(w) && contract_live(&w->x) < 1;
    bool wide = w->consumers > 1 || w->x.t.bn >= WIDE;

    return !w->x.kernel->waits && w->x.terms == 1 && w->cluster == 1 &&
           w->x.t.split == 1 && (wide || wgmma_streams(w)) && !w->stays &&
           !skips;
}

/* More of them keep the consumers from their first step. */
int wgmma_early(const Wgmma *w)
{
    enum { FEW = 4 };
    int steps = w->x.t.stages < FEW ? w->x.t.stages : FEW;

    return w->k_tiles < steps ? (int)w->k_tiles : steps;
}

const char *wgmma_first_loads(Wgmma *w, const WgmmaPlaces *p,
                              const char *first)
{
    Buf b = {0}, in = {0};

    buf_puts(&in, "const int slot = k_tile;\n"
                  "dcc_mbar_expect_tx(&smem.full[slot], STAGE_BYTES);\n");
    put_copies(w, &in, false);
    buf_printf(&b, "int %s;\nfind_tile(%s%s);\n"
                   "for (int k_tile = 0; k_tile < EARLY; ++k_tile) {\n",
               wgmma_list(w, p, "", ""), first, wgmma_list(w, p, "", ", "));
    cprint_lines(&b, buf_text(&in), 4);
    buf_puts(&b, "}\n");
    buf_free(&in);
    return buf_take(&b, w->x.g->arena);
}

const char *wgmma_ahead(Wgmma *w, const WgmmaPlaces *p, const char *first,
                        const char *begin, const char *end)
{
    bool shared = w->x.terms == 3; /* its warp has other threads in the loop */
    bool zero = !strcmp(begin, "0");
    Buf b = {0}, in = {0}, copies = {0};

    if (wgmma_has_early(w)) {
        put_copies(w, &copies, true);
        buf_printf(&b, "int %s;\n"
                       "auto load_weights = [&](int k_tile, int slot) {\n"
                       "    dcc_mbar_expect_tx(&smem.full[slot], "
                       "STAGE_BYTES);\n", wgmma_list(w, p, "", ""));
        cprint_lines(&b, buf_text(&copies), 4);
        buf_puts(&b, "};\n"
                     "int early = 0;  // slots whose weights are under way\n");
        buf_puts(&in, "// Weights do not depend on the launches before.\n");
        const char *at = zero ? "early" : "k_begin + early";
        /* constant coordinates, one after the other, are had at once */
        buf_printf(&in, "find_tile(%s%s);\n%s"
                        "for (; early < STAGES && %s < %s; ++early)\n"
                        "    load_weights(%s, early);\n", first,
                   wgmma_list(w, p, "", ", "),
                   zero ? "" : "#pragma unroll 1\n", at, end, at);
    }
    buf_puts(&in, kernel_wait(w->x.kernel));
    if (shared && w->x.kernel->waits) {
        buf_puts(&b, "if (threadIdx.x % 128 == 0) {\n");
        cprint_lines(&b, buf_text(&in), 4);
        buf_puts(&b, "}\n");
    } else {
        buf_puts(&b, buf_text(&in));
    }
    buf_free(&in);
    buf_free(&copies);
    return buf_take(&b, w->x.g->arena);
}
