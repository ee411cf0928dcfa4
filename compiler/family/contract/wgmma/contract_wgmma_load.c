#include "family/contract/wgmma/contract_wgmma.h"

#include <string.h>

/* The loading thread of a wgmma contraction: which copies fill a slot, and what
 * it does ahead of the wait for the grid. */

const char *wgmma_list(const WgmmaBuild *w, const WgmmaPlaces *p,
                       const char *before, const char *first)
{
    const char *s = "";

    for (int i = 0; i < p->n; i++)
        s = arena_printf(w->x.g->arena, "%s%s%s%s", s, i ? ", " : first,
                         before, p->name[i]);
    return s;
}

/* Weights of the first steps are loaded before the wait for the grid, if all
 * tiles have those; what stays, before the loop. */
static bool is_early(const WgmmaBuild *w, const Load *l)
{
    return w->p->stays ? l == &w->x.b
                       : w->x.kernel->waits && !wgmma_reaches(w->p) &&
                             kernel_reads_constants(l->op->e);
}

/* What stays may be another launch's result. */
static bool waits_first(const WgmmaBuild *w)
{
    return w->p->stays && !kernel_reads_constants(w->x.b.op->e);
}

bool wgmma_has_early(const WgmmaBuild *w)
{
    return is_early(w, &w->x.a) || is_early(w, &w->x.b);
}

const char *wgmma_place(const WgmmaBuild *w, const char *k_tile)
{
    const char *how = w->p->leaps == 1        ? "%s"
                      : w->x.p->t.split == 1 ? "dcc_leap<K_TILES, LEAPS>(%s)"
                                          : "dcc_leap<K_TILES / SPLIT, LEAPS>"
                                            "(%s, k_begin)";

    return arena_printf(w->x.g->arena, how, k_tile);
}

/* The variables of k from k_tile. */
static void name_k(WgmmaBuild *w, WgmmaDigits *d)
{
    const Axes *k = &w->f->tma.k;
    const Axis *inner = &k->axis[k->n - 1];
    int64_t radix = (inner->extent + w->f->tma.bk - 1) / w->f->tma.bk;
    CPrint *cp = &w->x.cp;

    bool steps = k->n == 1 || radix > 1;
    cprint_name(cp, inner->linear, steps ? "k0" : "0");
    if (steps)
        wgmma_digit(w, d, "k0", wgmma_place(w, "k_tile"), 1,
                    k->n > 1 ? radix : 0, " * BK");
    wgmma_name_taps(w, d, radix);
}

/* Declares the digits that `code` mentions, those of a number together where a
 * line has room, and then has that. */
static void put_digits(const WgmmaDigits *d, Tree *b, Tree *code)
{
    enum { ROOM = 58 };
    const char *line = NULL;
    int width = 0;

    for (int i = 0, last = -1; i < d->n; i++) {
        int more = (int)(strlen(d->name[i]) + strlen(d->text[i])) + 5;
        if (!tree_mentions(code, d->name[i]))
            continue;
        bool joins = last >= 0 && !strcmp(d->of[i], d->of[last]) &&
                     width + more <= ROOM;
        if (line && !joins)
            PUT(b, "const int @line;\n", FILL("line", line));
        line = joins
                   ? arena_printf(b->arena, "%s, %s = %s", line, d->name[i],
                                  d->text[i])
                   : arena_printf(b->arena, "%s = %s", d->name[i], d->text[i]);
        width = joins ? width + more : more + 8;
        last = i;
    }
    if (line)
        PUT(b, "const int @line;\n", FILL("line", line));
    tree_add(b, code);
}

/* What leaves the L2 first, for what is read again sooner: weights that no
 * other block reads, too many for the L2 to have them when the next run does;
 * and b's columns where they pass by a band of rows of a, which stay, so that
 * less comes from memory. */
static bool passes(const WgmmaBuild *w, const TmaOperand *o)
{
    double elem = type_bytes(w->x.f->elem), l2 = w->x.f->o->device->l2_mb * 1e6;
    double b = (double)w->x.f->c.N * (double)w->x.f->c.K *
               (double)w->x.f->c.batches * elem;
    double band =
        wgmma_band(w->p) * (double)w->x.p->t.bm * (double)w->x.f->c.K * elem;

    if (o != &w->f->tma.b || o->rank != 2)
        return false;
    if (w->p->m_tiles == 1)
        return b > l2;
    return w->p->cluster == 1 && wgmma_sharers(w->p) == 1 &&
           w->x.f->c.batches == 1 && b > 0.5 * l2 && band < 0.3 * l2 &&
           w->p->m_tiles > wgmma_band(w->p);
}

/* Which part of a shared operand's rows a block copies. */
static const char *part_of(const WgmmaBuild *w, const TmaOperand *o)
{
    return w->alone               ? "part"
           : !wgmma_crosses(w->p) ? "rank"
           : o == &w->f->tma.a    ? "(rank % BESIDE)"
                               : "(rank / BESIDE)";
}

/* Those that it copies it for. */
static const char *blocks_of(const WgmmaBuild *w, const TmaOperand *o)
{
    return !wgmma_crosses(w->p)        ? "(1 << CLUSTER) - 1"
           : o == &w->f->tma.a ? "dcc_cluster_row<BESIDE>(rank)"
                               : "dcc_cluster_column<CLUSTER, BESIDE>(rank)";
}

/* The coordinates of a box: "k0, n0 + i * 64, ". */
static const char *coordinates(WgmmaBuild *w, const TmaOperand *o, bool shared)
{
    Arena *a = w->x.g->arena;
    const char *s = "";

    for (int d = 0; d < o->rank; d++) {
        const Idx *at = o->dim[d].at;
        bool dealt = wgmma_dealt(w->p, o, d);
        if (wgmma_apart(w->p, o, d)) {
            s = arena_printf(a, "%s%s %% APART, %s / APART, ", s, w->origin[0],
                             w->origin[0]);
            continue;
        }
        if (dealt)
            at = idx_floor(w->x.g->pool, at, w->p->deal);
        s = arena_printf(a, "%s%s%s", s, dealt ? "0, " : "",
                         cprint_idx(&w->x.cp, at, 0));
        if (dealt && shared)
            s = arena_printf(a, "%s, %s * %d", s, part_of(w, o),
                             w->p->deal / 2 / w->p->below);
        s = arena_printf(a, "%s%s", s, dealt && !shared ? ", 0, " : ", ");
    }
    return s;
}

static void put_copy(WgmmaBuild *w, Tree *b, const TmaOperand *o, const Load *l,
                     const Axis *side, const char *origin, const char *rows)
{
    CPrint *cp = &w->x.cp;
    Arena *a = w->x.g->arena;
    CScope scope = cprint_open(cp);
    bool shared = wgmma_shares(w->p, o) > 1;
    const char *piece = "";
    bool stays = w->p->stays && l == &w->x.b;
    bool deals = w->p->deal && o == &w->f->tma.b && o->k_major;

    if (o->slides) {
        wgmma_slide_copy(w, b, o, l, origin, rows);
        return;
    }
    const char *sharers = !wgmma_crosses(w->p) ? "CLUSTER"
                          : o == &w->f->tma.a  ? "BESIDE"
                                               : "(CLUSTER / BESIDE)";
    if (shared)
        rows = arena_printf(a, "%s / %s", rows, sharers);
    if (!o->k_major) {
        cprint_name(cp, side->linear,
                    arena_printf(a, "%s + i * %d", origin, w->f->tma.bk));
        piece = "[i]";
    }
    if (shared) {
        const char *part = arena_printf(a, "%s * (%s)", part_of(w, o), rows);
        if (!deals)
            cprint_name(cp, side->linear,
                        o->k_major
                            ? arena_printf(a, "%s + %s", origin, part)
                            : arena_printf(a, "%s + %s + i * %d", origin, part,
                                           w->f->tma.bk));
        piece = o->k_major ? arena_printf(a, "[%s]", part)
                           : arena_printf(a, "[%s / %d + i]", part,
                                          w->f->tma.bk);
    }
    Tree *copy = QUOTE(
        a,
        "dcc_tma_@how@_@rank@d(smem.@tile[@slot]@piece, &@id@_map, "
        "@coordinates&smem.@full@@all);\n",
        FILL("how", shared && !w->alone ? "share"
                    : passes(w, o) ? "stream"
                                   : "load"),
        FILL_INT("rank", o->rank + (deals ? 2 : 0) +
                             (w->p->x.apart && o == &w->f->tma.a)),
        FILL("tile", l->tile), FILL("slot", stays ? "k_tile" : "slot"),
        FILL("full", stays ? "kept" : "full[slot]"),
        FILL("piece", piece), FILL("id", l->id),
        FILL("coordinates", coordinates(w, o, shared)),
        FILL("all", shared && !w->alone
                        ? arena_printf(a, ", %s", blocks_of(w, o))
                        : ""));
    if (!o->k_major)
        copy = QUOTE(a,
                     "#pragma unroll\n"
                     "for (int i = 0; i < @boxes; ++i)\n"
                     "    @COPY\n",
                     FILL("boxes", wgmma_boxes(w, o, rows)),
                     FILL_TREE("COPY", copy));
    if (shared && w->alone)
        copy = QUOTE(a,
                     "for (int part = 0; part < @sharers; ++part)\n"
                     "    @COPY\n",
                     FILL("sharers", sharers), FILL_TREE("COPY", copy));
    tree_add(b, copy);
    cprint_close(cp, scope);
}

/* Names of what a copy's coordinates use. */
static void name_coordinates(WgmmaBuild *w, WgmmaDigits *d)
{
    const Tma *t = &w->f->tma;
    CPrint *cp = &w->x.cp;

    name_k(w, d);
    if (w->p->patch.im2col)
        wgmma_im2col_pixel(w, d);
    if (t->a.slides || t->b.slides)
        wgmma_slide_pixel(w, d);
    for (int i = 0; i < t->m.n && !w->p->patch.im2col; i++)
        cprint_name(cp, t->m.axis[i].linear, w->origin[i]);
    cprint_name(cp, t->n.axis[0].linear, w->n_origin);
}

/* The copies of the operands that are weights, or of the others, behind what
 * their coordinates are. */
static void put_copies(WgmmaBuild *w, Tree *b, bool weights)
{
    const Tma *t = &w->f->tma;
    CScope scope = cprint_open(&w->x.cp);
    WgmmaDigits d = {.n = 0};
    Tree *copies = tree_list(w->x.g->arena);

    name_coordinates(w, &d);
    if (is_early(w, &w->x.a) == weights && w->p->patch.im2col)
        wgmma_im2col_copy(w, copies);
    else if (is_early(w, &w->x.a) == weights)
        put_copy(w, copies, &t->a, &w->x.a, &t->m.axis[t->m.n - 1],
                 w->origin[t->m.n - 1], wgmma_rows_name(w));
    if (is_early(w, &w->x.b) == weights)
        put_copy(w, copies, &t->b, &w->x.b, &t->n.axis[0], w->n_origin, "BN");
    if (tree_mentions(copies, "rank") && w->p->cluster > 1)
        PUT(b, "const int rank = (int)dcc_cluster_rank();\n");
    put_digits(&d, b, copies);
    cprint_close(&w->x.cp, scope);
}

Tree *wgmma_fill(WgmmaBuild *w)
{
    Tree *b = tree_list(w->x.g->arena);

    if (wgmma_has_early(w) && wgmma_turns(w->p) && !w->p->stays)
        PUT(b, "if (--early < 0) {\n"
               "    dcc_mbar_wait(&smem.empty[slot], phase ^ 1);\n"
               "    load_weights(k_tile, slot);\n"
               "}\n");
    else if (!wgmma_has_early(w) || w->p->stays)
        PUT(b, wgmma_turns(w->p)
                   ? "dcc_mbar_wait(&smem.empty[slot], phase ^ 1);\n"
                     "dcc_mbar_expect_tx(&smem.full[slot], STAGE_BYTES);\n"
                   : "dcc_mbar_expect_tx(&smem.full[slot], STAGE_BYTES);\n");
    put_copies(w, b, false);
    return b;
}

/* Narrow tiles take longer: their steps are over sooner than loads are issued,
 * and all the loads wait for the first one; but where they come from memory,
 * the memory is what all wait for. */
bool wgmma_runs_ahead(const WgmmaBuild *w)
{
    enum { WIDE = 96 };
    bool skips = wgmma_skips(w->p) && contract_live(&w->p->x) < 1;
    bool wide = w->p->consumers > 1 || w->x.p->t.bn >= WIDE;

    return !w->x.kernel->waits && w->x.f->terms == 1 &&
           wgmma_sharers(w->p) == 1 && (wide || wgmma_streams(w->p)) &&
           !w->p->stays && !skips && !wgmma_reaches(w->p);
}

Tree *wgmma_first_loads(WgmmaBuild *w, const WgmmaPlaces *p, const char *first)
{
    Tree *copies = tree_list(w->x.g->arena);

    w->alone = true;
    put_copies(w, copies, false);
    w->alone = false;
    return QUOTE(w->x.g->arena,
                 "int @names;\n"
                 "find_tile(@first@@args);\n"
                 "for (int k_tile = 0; k_tile < EARLY; ++k_tile) {\n"
                 "    const int slot = k_tile;\n"
                 "    dcc_mbar_expect_tx(&smem.full[slot], STAGE_BYTES);\n"
                 "    @COPIES\n"
                 "}\n",
                 FILL("names", wgmma_list(w, p, "", "")), FILL("first", first),
                 FILL("args", wgmma_list(w, p, "", ", ")),
                 FILL_TREE("COPIES", copies));
}

/* Weights of all steps, each in a slot of its own. */
static void put_weights(WgmmaBuild *w, Tree *b, const char *begin,
                        const char *end)
{
    Tree *copies = tree_list(b->arena);

    put_copies(w, copies, true);
    if (strcmp(begin, "0"))
        PUT(b, "#pragma unroll 1\n");
    PUT(b,
        "for (int k_tile = @begin; k_tile < @end; ++k_tile) {\n"
        "    @slot\n"
        "    dcc_mbar_expect_tx(&smem.full[slot], STAGE_BYTES);\n"
        "    @COPIES\n"
        "}\n",
        FILL("begin", begin), FILL("end", end),
        FILL("slot", wgmma_slot(w, begin)), FILL_TREE("COPIES", copies));
}

/* All of b, which stays. */
static void put_kept(WgmmaBuild *w, Tree *b)
{
    Tree *copies = tree_list(b->arena);

    put_copies(w, copies, true);
    PUT(b,
        "dcc_mbar_expect_tx(&smem.kept, (int)sizeof smem.@tile);\n"
        "for (int k_tile = 0; k_tile < K_TILES; ++k_tile) {\n"
        "    @COPIES\n"
        "}\n",
        FILL("tile", w->x.b.tile), FILL_TREE("COPIES", copies));
}

Tree *wgmma_ahead(WgmmaBuild *w, const WgmmaPlaces *p, const char *first,
                  const char *begin, const char *end)
{
    Arena *a = w->x.g->arena;
    bool shared =
        w->x.f->terms == 3; /* its warp has other threads in the loop */
    bool zero = !strcmp(begin, "0");
    Tree *code = tree_list(a), *in = tree_list(a), *copies = tree_list(a);

    if (w->p->stays) {
        PUT(code, "int @names;\n", FILL("names", wgmma_list(w, p, "", "")));
        if (waits_first(w))
            PUT(in, "@WAIT\n", FILL("WAIT", kernel_wait(w->x.kernel)));
        PUT(in, "// @what come once, and stay.\n"
                "find_tile(@first@@args);\n",
            FILL("what", waits_first(w)
                             ? "All tiles' columns"
                             : "Weights do not depend on the launches before: "
                               "they"),
            FILL("first", first), FILL("args", wgmma_list(w, p, "", ", ")));
        put_kept(w, in);
    } else if (wgmma_has_early(w) && !wgmma_turns(w->p)) {
        PUT(code, "int @names;\n", FILL("names", wgmma_list(w, p, "", "")));
        PUT(in, "// Weights do not depend on the launches before.\n"
                "find_tile(@first@@args);\n",
            FILL("first", first), FILL("args", wgmma_list(w, p, "", ", ")));
        put_weights(w, in, begin, end);
    } else if (wgmma_has_early(w)) {
        put_copies(w, copies, true);
        PUT(code,
            "int @names;\n"
            "auto load_weights = [&](int k_tile, int slot) {\n"
            "    dcc_mbar_expect_tx(&smem.full[slot], STAGE_BYTES);\n"
            "    @COPIES\n"
            "};\n"
            "int early = 0;  // slots whose weights are under way\n",
            FILL("names", wgmma_list(w, p, "", "")),
            FILL_TREE("COPIES", copies));
        PUT(in, "// Weights do not depend on the launches before.\n");
        /* constant coordinates, one after the other, are had at once */
        PUT(in,
            zero ? "find_tile(@first@@args);\n"
                   "for (; early < STAGES && early < @end; ++early)\n"
                   "    load_weights(early, early);\n"
                 : "find_tile(@first@@args);\n"
                   "#pragma unroll 1\n"
                   "for (; early < STAGES && k_begin + early < @end; ++early)\n"
                   "    load_weights(k_begin + early, early);\n",
            FILL("first", first), FILL("args", wgmma_list(w, p, "", ", ")),
            FILL("end", end));
    }
    if (!waits_first(w))
        PUT(in, "@WAIT\n", FILL("WAIT", kernel_wait(w->x.kernel)));
    if (shared && w->x.kernel->waits)
        PUT(code,
            "if (threadIdx.x % 128 == 0) {\n"
            "    @IN\n"
            "}\n",
            FILL_TREE("IN", in));
    else
        tree_add(code, in);
    return code;
}

/* ---- tensor maps ------------------------------------------------------- */

/* Elements of a box along dimension d. */
static int box_of(const WgmmaBuild *w, const TmaOperand *o, int d)
{
    const Tma *t = &w->f->tma;
    const Axis *a = o->dim[d].axis;

    if (!a || (d && o->slides))
        return 1;
    if (d == 0 || a == &t->k.axis[t->k.n - 1])
        return w->f->tma.bk;
    if (a == &t->n.axis[0])
        return w->x.p->t.bn / wgmma_shares(w->p, o);
    int rows = w->p->rows < w->x.p->t.bm ? w->p->rows
                                         : w->p->patch.tile[a - t->m.axis];
    return rows / wgmma_shares(w->p, o);
}

static void add_dim(TileMap *m, int64_t extent, int64_t stride, int box,
                    int step)
{
    m->dim[m->rank] = extent;
    m->stride[m->rank] = stride;
    m->box[m->rank] = box;
    m->step[m->rank++] = step;
}

void wgmma_add_map(WgmmaBuild *w, const TmaOperand *o, const Load *l)
{
    Kernel *k = w->x.kernel;
    const Tensor *t = o->op->read->tensor;
    TileMap *m = &k->map[k->n_map++];

    *m = (TileMap){.name = arena_printf(w->x.g->arena, "%s_map", l->id),
                   .offset = o->offset, .swizzle = true,
                   .tf32 = w->x.f->elem == T_F32 && w->x.f->terms == 1};
    for (int i = 0; i < k->n_arg; i++)
        if (k->arg[i].tensor == t) {
            m->arg = i;
            k->arg[i].mapped = !wgmma_touches(w->p, t) &&
                               !(w->sweeps && o == &w->f->tma.b) && !w->heads;
        }
    for (int d = 0; d < o->rank; d++) {
        const TmaDim *dim = &o->dim[d];
        int64_t stride = dim->stride * type_bytes(t->type);
        if (wgmma_dealt(w->p, o, d)) {
            /* pairs; the same pair of all lanes; their next one */
            add_dim(m, 2, stride, 2, 1);
            add_dim(m, dim->extent / w->p->deal, stride * w->p->deal,
                    w->x.p->t.bn / w->p->deal, 1);
            add_dim(m, w->p->deal / 2, stride * 2,
                    w->p->deal / 2 / wgmma_shares(w->p, o), 1);
        } else if (wgmma_apart(w->p, o, d)) {
            add_dim(m, w->x.p->apart, stride, 1, 1);
            add_dim(m, dim->extent / w->x.p->apart, stride * w->x.p->apart,
                    w->x.p->t.bm, 1);
        } else {
            if (o->run == d + 1)
                m->of_run[m->rank] = dim->extent / w->x.g->most;
            add_dim(m, dim->extent, stride, box_of(w, o, d) * dim->step,
                    dim->step);
        }
    }
    if (o->slides || (w->p->patch.im2col && o == &w->f->tma.a))
        wgmma_im2col_map(w, o, m);
}
