#include "family/contract/wgmma/contract_wgmma.h"

#include <math.h>
#include <string.h>

/* The kernel of a wgmma contraction, from its plan. */

/* ---- beginning --------------------------------------------------------- */

static const char *describe(Graph *g, const Var *const *v, int n)
{
    const char *text = "";

    for (int i = 0; i < n; i++)
        text = arena_printf(g->arena, "%s%s%s", text, i ? ", " : "",
                            v[i]->name);
    return n ? text : NULL;
}

static void constants(WgmmaBuild *w)
{
    ContractBuild *x = &w->x;
    Kernel *k = x->kernel;
    Graph *g = x->g;
    const Tile *t = &x->p->t;

    kernel_constant(g, k, "M", x->f->c.M, describe(g, x->f->c.m, x->f->c.n_m));
    kernel_constant(g, k, "N", x->f->c.N, describe(g, x->f->c.n, x->f->c.n_n));
    kernel_constant(g, k, "K", x->f->c.K, describe(g, x->f->c.k, x->f->c.n_k));
    kernel_constant(g, k, "BM", t->bm, "");
    kernel_constant(g, k, "BN", t->bn, "");
    kernel_constant(g, k, "BK", t->bk, "tile of a block");
    if (w->p->rows < t->bm)
        kernel_constant(g, k, "ROWS", w->p->rows,
                        "of a slot: sums of those beyond are not stored");
    kernel_constant(g, k, "WM", w->p->wm, "rows of a warpgroup");
    kernel_constant(g, k, "CONSUMERS", w->p->consumers, "warpgroups");
    kernel_constant(g, k, "STAGES", t->stages, NULL);
    kernel_constant(g, k, "K_TILES", w->p->k_tiles, NULL);
    if (w->p->leaps > 1)
        kernel_constant(g, k, "LEAPS", w->p->leaps, "in which they are taken");
    kernel_constant(g, k, "TILES_M", w->p->m_tiles, NULL);
    kernel_constant(g, k, "TILES_N", w->p->n_tiles, NULL);
    kernel_constant(g, k, "TILES", w->p->tiles, NULL);
    if (t->split > 1) {
        kernel_constant(g, k, "SPLIT", t->split, "blocks that share a tile");
        kernel_constant(g, k, "OWN", w->p->own,
                        "its columns that one finishes");
    }
    if (w->p->parts > 1)
        kernel_constant(g, k, "PARTS", w->p->parts, "of k, as many blocks");
    if (w->p->cluster > 1)
        kernel_constant(g, k, "CLUSTER", w->p->cluster,
                        wgmma_crosses(w->p) ? "blocks that share rows and columns"
                        : w->p->beside > 1
                            ? "blocks, side by side, that share rows"
                            : "blocks, one below the other, that "
                              "share columns");
    if (wgmma_crosses(w->p))
        kernel_constant(g, k, "BESIDE", w->p->beside,
                        "of them, side by side: those share rows");
    if (w->p->pack && !w->f->turned)
        kernel_constant(g, k, "COLS", w->p->pack,
                        "that a warp stores at a time");
    if (w->p->lead)
        kernel_constant(g, k, "LEAD", w->p->lead,
                        "steps by which a warpgroup ends first");
    if (w->p->inputs)
        kernel_constant(g, k, "INPUTS", w->p->inputs,
                        "slots of a warpgroup for what results read");
    kernel_constant(g, k, "STAGE_BYTES", (int64_t)w->p->stage_bytes, NULL);
    if (w->x.p->apart)
        kernel_constant(g, k, "APART", w->x.p->apart,
                        "rows of a tile, whose lines begin alike");
}

const char *wgmma_rows_name(const WgmmaBuild *w)
{
    return w->p->rows < w->x.p->t.bm ? "ROWS" : "BM";
}

const char *wgmma_boxes(const WgmmaBuild *w, const TmaOperand *o,
                        const char *rows)
{
    bool half = o == &w->f->tma.b && w->x.p->t.bn % w->f->tma.bk;

    return half ? arena_printf(w->x.g->arena, "(%s + %d) / %d", rows,
                               w->f->tma.bk - 1, w->f->tma.bk)
                : arena_printf(w->x.g->arena, "%s / %d", rows, w->f->tma.bk);
}

static void put_tile_field(WgmmaBuild *w, const Load *l, const TmaOperand *o,
                           const char *rows)
{
    Graph *g = w->x.g;
    const char *type = type_cname(w->x.f->elem);
    const char *slots = w->p->stays && l == &w->x.b ? "K_TILES" : "STAGES";

    if (o->k_major)
        kernel_smem(g, w->x.kernel, 1024,
                    arena_printf(g->arena, "%s %s[%s][%s][BK]", type,
                                 l->tile, slots, rows), NULL);
    else
        kernel_smem(g, w->x.kernel, 1024,
                    arena_printf(g->arena, "%s %s[%s][%s][BK][%d]", type,
                                 l->tile, slots, wgmma_boxes(w, o, rows),
                                 w->f->tma.bk),
                    NULL);
}

static void shared_memory(WgmmaBuild *w)
{
    Kernel *k = w->x.kernel;

    put_tile_field(w, &w->x.a, &w->f->tma.a, wgmma_rows_name(w));
    put_tile_field(w, &w->x.b, &w->f->tma.b, "BN");
    wgmma_factor_field(w);
    wgmma_input_fields(w);
    if (wgmma_turns_b(w->f))
        kernel_smem(w->x.g, k, 1024, "float big[2][BN][BK]", NULL);
    if (w->x.f->terms == 3)
        kernel_smem(w->x.g, k, 1024, "float small[2][BN][BK]", NULL);
    if (w->f->turned)
        kernel_smem(w->x.g, k, 1024,
                    arena_printf(w->x.g->arena,
                                 "%s out_rows[CONSUMERS][2][16][64]",
                                 contract_packed_type(&w->x)), NULL);
    else if (w->p->pack)
        kernel_smem(w->x.g, k, w->p->boxes.tensor ? 1024 : 128,
                    arena_printf(w->x.g->arena,
                                 "%s out_rows[CONSUMERS * 4]%s[16][COLS]",
                                 contract_packed_type(&w->x),
                                 w->p->boxes.tensor ? "[2]" : ""), NULL);
    wgmma_row_sum_field(w);
    if (w->x.p->t.split > 1)
        kernel_smem(w->x.g, k, 16, "float4 sums[BM * BN / 4]", NULL);
    kernel_smem(w->x.g, k, 8,
                wgmma_turns(w->p) ? "uint64_t full[STAGES], empty[STAGES]"
                                  : "uint64_t full[STAGES]", NULL);
    if (w->p->stays)
        kernel_smem(w->x.g, k, 8, "uint64_t kept", NULL);
    if (w->x.f->terms == 3)
        kernel_smem(w->x.g, k, 8, "uint64_t ready[2], spent[2]", NULL);
    if (w->x.p->t.split > 1)
        kernel_smem(w->x.g, k, 8, "uint64_t arrived", NULL);
    if (w->p->parts > 1)
        kernel_smem(w->x.g, k, 4, "int is_last", NULL);
}

/* ---- the place of a tile ----------------------------------------------- */

static void name_places(WgmmaBuild *w, WgmmaPlaces *p)
{
    ContractBuild *x = &w->x;
    Arena *a = x->g->arena;

    for (int i = 0; i < x->f->c.n_batch; i++)
        if (x->f->c.batch[i]->extent > 1)
            p->name[p->n++] = cprint_var(&x->cp, x->f->c.batch[i]);
    for (int i = 0; i < (w->x.p->patch ? w->f->tma.m.n : 1); i++) {
        const char *id = "m0";
        if (w->x.p->patch)
            id = cprint_fresh(&x->cp, arena_printf(a, "%s0",
                              cprint_ident(a, w->f->tma.m.axis[i].v[0]->name)));
        p->name[p->n++] = w->origin[i] = id;
    }
    p->name[p->n++] = w->n_origin = "n0";
}

/* The tile's row and column among one product's, of which it is number `of`. */
typedef struct Band {
    const char *m, *n;
} Band;

/* Tiles that are one band, in strips; the last one may be narrower. */
static Band put_strips(WgmmaBuild *w, Tree *b, const char *of)
{
    int columns = wgmma_strip(w->p);
    Arena *a = b->arena;

    if (columns == 1)
        return (Band){arena_printf(a, "%s %% TILES_M", of),
                      arena_printf(a, "%s / TILES_M", of)};
    if (columns == w->p->n_tiles)
        return (Band){arena_printf(a, "%s / TILES_N", of),
                      arena_printf(a, "%s %% TILES_N", of)};
    kernel_constant(w->x.g, w->x.kernel, "STRIP", columns,
                    "tile columns of neighbours");
    PUT(b, "// in strips: neighbours read few distinct tiles\n");
    if (w->p->n_tiles % columns == 0)
        return (Band){arena_printf(a, "%s / STRIP %% TILES_M", of),
                      arena_printf(a, "(%s / (STRIP * TILES_M) * STRIP + "
                                      "%s %% STRIP)", of, of)};
    PUT(b,
        "const dcc_tile at = dcc_tile_in_band(@of, TILES_M, TILES_M, TILES_N, "
        "STRIP);\n",
        FILL("of", of));
    return (Band){"at.m", "at.n"};
}

static Band put_band(WgmmaBuild *w, Tree *b, const char *of)
{
    if (w->p->m_tiles == 1 || w->p->n_tiles == 1)
        return (Band){w->p->m_tiles > 1 ? of : "0",
                      w->p->n_tiles > 1 ? of : "0"};
    if (wgmma_one_band(w->p))
        return put_strips(w, b, of);
    kernel_constant(w->x.g, w->x.kernel, "BAND", wgmma_band(w->p),
                    "tile rows that run together: few distinct tiles are read");
    kernel_constant(w->x.g, w->x.kernel, "STRIP", wgmma_strip(w->p),
                    "tile columns of neighbours");
    PUT(b,
        "const auto at = dcc_tile_in_band(@of, BAND, TILES_M, TILES_N, "
        "STRIP);\n",
        FILL("of", of));
    return (Band){"at.m", "at.n"};
}

/* Origins along m's axes: m_tile is a mixed-radix number of their tiles. */
static void put_origins(WgmmaBuild *w, Tree *b, const char *m_tile)
{
    const Tma *t = &w->f->tma;
    int64_t radix = 1;

    if (w->p->below > 1) {
        PUT(b,
            wgmma_crosses(w->p)
                ? "const int own_tile = @m_tile * (CLUSTER / BESIDE) + "
                  "(int)dcc_cluster_rank() / BESIDE;\n"
                : "const int own_tile = @m_tile * CLUSTER + "
                  "(int)dcc_cluster_rank();\n",
            FILL("m_tile", m_tile));
        m_tile = "own_tile";
    }
    if (w->x.p->apart) {
        PUT(b, "m0 = @m_tile / APART * (BM * APART) + @m_tile % APART;\n",
            FILL("m_tile", m_tile));
        return;
    }
    if (!w->x.p->patch) {
        PUT(b,
            !strcmp(m_tile, "0")  ? "m0 = 0;\n"
            : wgmma_overlaps(w->p) ? "m0 = dcc_min(@m_tile * BM, M - BM);\n"
                                   : "m0 = @m_tile * BM;\n",
            FILL("m_tile", m_tile));
        return;
    }
    if (w->p->cluster == 1 && w->p->patch.tiles > 1) {
        PUT(b, "const int m_tile = @m_tile;\n", FILL("m_tile", m_tile));
        m_tile = "m_tile";
    }
    for (int i = t->m.n - 1; i >= 0; i--) {
        bool above = radix * w->p->patch.count[i] < w->p->patch.tiles;
        const char *at = "0";
        if (w->p->patch.count[i] > 1) {
            at = cprint_digit(b->arena, m_tile, radix,
                              above ? w->p->patch.count[i] : 0);
            if (w->p->patch.tile[i] > 1)
                at = arena_printf(b->arena, "%s * %d", at, w->p->patch.tile[i]);
        }
        PUT(b, "@origin = @at;\n", FILL("origin", w->origin[i]),
            FILL("at", at));
        radix *= w->p->patch.count[i];
    }
}

static void put_batch(WgmmaBuild *w, Tree *b, const WgmmaPlaces *names)
{
    const Contraction *c = &w->x.f->c;
    int64_t radix = c->batches;

    for (int i = 0, p = 0; i < c->n_batch; i++) {
        if (c->batch[i]->extent == 1)
            continue;
        radix /= c->batch[i]->extent;
        PUT(b, "@name = @digit;\n", FILL("name", names->name[p]),
            FILL("digit", cprint_digit(b->arena, "batch", radix,
                                       p > 0 ? c->batch[i]->extent : 0)));
        p++;
    }
}

static Tree *find_tile(WgmmaBuild *w, const WgmmaPlaces *p)
{
    const Contraction *c = &w->x.f->c;
    bool many = c->batches > 1;
    Tree *b = tree_list(w->x.g->arena);

    if (many)
        PUT(b, "const int batch = tile / (TILES_M * TILES_N);\n");
    Band band = put_band(w, b, many ? "tile % (TILES_M * TILES_N)" : "tile");
    put_origins(w, b, band.m);
    PUT(b,
        w->x.p->apart && w->f->lines.offset % w->x.p->apart
            ? "n0 = @n * BN - (m0 % APART * @pitch + @offset) % APART;\n"
        : w->x.p->apart ? "n0 = @n * BN - m0 % APART * @pitch % APART;\n"
        : wgmma_crosses(w->p)
            ? "n0 = (@n * BESIDE + (int)dcc_cluster_rank() % BESIDE) * BN;\n"
        : w->p->beside > 1
            ? "n0 = (@n * CLUSTER + (int)dcc_cluster_rank()) * BN;\n"
        : wgmma_overlaps_columns(w->p) ? "n0 = dcc_min(@n * BN, N - BN);\n"
        : w->p->n_tiles > 1 ? "n0 = @n * BN;\n"
                            : "n0 = @n;\n",
        FILL("n", band.n), FILL_INT("pitch", (int)(w->f->lines.pitch & 15)),
        FILL_INT("offset", (int)(w->f->lines.offset & 15)));
    if (many)
        put_batch(w, b, p);
    return b;
}

/* ---- multiply ---------------------------------------------------------- */

/* Of the first slot; 3xtf32: of this one. */
static const char *descriptor(const WgmmaBuild *w, const TmaOperand *o,
                              const Load *l, bool is_a)
{
    Arena *a = w->x.g->arena;
    const char *at = "", *slot = w->x.f->terms == 3 ? "slot" : "0";

    if (!is_a && wgmma_turns_b(w->f))
        return "dcc_wgmma_k_major(smem.big[step % 2])";
    if (is_a && !w->p->pingpong && w->p->consumers > 1)
        at = o->k_major ? "[warpgroup * WM]" : "[warpgroup * WM / 64]";
    if (o->k_major)
        return arena_printf(a, "dcc_wgmma_k_major(smem.%s[%s]%s)", l->tile,
                            slot, at);
    return arena_printf(a, "dcc_wgmma_mn_major(smem.%s[%s]%s, BK * 128)",
                        l->tile, slot, at);
}

/* ---- the whole --------------------------------------------------------- */

static void finish(WgmmaBuild *w)
{
    ContractBuild *x = &w->x;
    Kernel *k = x->kernel;
    int64_t most = wgmma_at_once(w->p);
    bool split = x->p->t.split > 1;
    bool one = wgmma_sharers(w->p) > 1; /* a block has one tile */

    if (w->p->parts > 1) {
        k->coop_counters = true;
        k->n_counters = (int)w->p->tiles * x->p->t.split;
        k->workspace = (size_t)w->p->tiles * (size_t)w->p->parts *
                       (size_t)(x->p->t.bm * x->p->t.bn) * 4;
    }
    k->grid[0] = one ? (int)w->p->tiles * wgmma_sharers(w->p)
                       : (int)((w->p->tiles < most ? w->p->tiles : most) *
                               w->p->cluster);
    k->grid[1] = k->grid[2] = 1;
    k->block = x->p->t.threads;
    k->cluster = split ? x->p->t.split : w->p->cluster;
    k->smem_bytes = w->p->smem;
    k->shared = contract_shared(x->f->o->device, w->p->smem);
    k->min_blocks = w->p->consumers == 1 ? w->p->resident : 1;
    k->flops =
        contract_flops(x->f) * w->f->tma.mean / (double)w->p->k_tiles;
    k->bytes = x->f->hbm_bytes;
    k->family =
        w->f->turned ? "contract_wgmma_turned" : "contract_wgmma";
    k->min_arch = "sm_90a";
    k->where = arena_array(x->g->arena, const char *, x->f->gr->n_step);
}

static Tree *split_code(WgmmaBuild *w)
{
    bool split = w->x.p->t.split > 1;
    Tree *code = split
                     ? TEMPLATE(w->x.g->arena, "contract_wgmma_split.cu.in")
                     : tree_list(w->x.g->arena);

    if (w->p->parts > 1)
        tree_add(code, TEMPLATE(w->x.g->arena, "contract_wgmma_parts.cu.in",
                                FILL("SUMS", split ? "own" : "acc"),
                                FILL("WIDTH", w->x.width),
                                FILL("PLACE", split ? "tile * SPLIT + rank"
                                                    : "tile")));
    return code;
}

/* Registers move from the producer's warpgroup to the consumers': 3 x 168 or
 * 4 x 128 at the start, and as many after; 2 x 128 of a lone consumer's block
 * of 3xtf32 beside another one. */
static Tree *budget(const WgmmaBuild *w, bool consumer)
{
    int all = w->p->consumers == 3   ? 4 * 128
              : w->p->consumers == 1 ? 2 * 128
                                     : 3 * 168,
        most = wgmma_budget(w->p);
    Tree *b = tree_list(w->x.g->arena);

    if (w->p->consumers > 1 || (w->x.f->terms == 3 && w->p->resident == 2))
        PUT(b, "dcc_registers_@change<@n>();\n",
            FILL("change", consumer ? "grow" : "shrink"),
            FILL_INT("n", consumer ? most : all - w->p->consumers * most));
    return b;
}

/* The wrapper of one product. */
static const char *product(const WgmmaBuild *w)
{
    Arena *a = w->x.g->arena;

    if (w->x.f->elem == T_F32)
        return arena_printf(a, "dcc_wgmma_m64n%dk8_tf32", w->x.p->t.bn);
    if (w->f->pre)
        return arena_printf(a, "dcc_wgmma_m64n%dk16_%s_regs<%d>", w->x.p->t.bn,
                            type_name(w->x.f->elem), !w->f->tma.b.k_major);
    return arena_printf(a, "dcc_wgmma_m64n%dk16_%s<%d, %d>", w->x.p->t.bn,
                        type_name(w->x.f->elem), !w->f->tma.a.k_major,
                        !w->f->tma.b.k_major);
}

/* What says that nobody reads the tile at m0 and n0, or NULL. */
static const char *unread_tile(WgmmaBuild *w)
{
    return wgmma_skips(w->p) && !wgmma_has_early(w)
               ? contract_unread(&w->x, "m0", "n0") : NULL;
}

/* Whether a tile is not the first that the block multiplies, of which some may
 * have been left out. */
static const char *later_tile(WgmmaBuild *w)
{
    if (unread_tile(w))
        return "step > 0";
    return w->p->cluster > 1 ? "tile != first_tile" : "tile != (int)blockIdx.x";
}

/* Two warpgroups multiply in turns, so that one's products hide the other's
 * epilogue, and so that each waits for every phase of a slot in order: a wait
 * for a phase beyond the next would pass at once. */
static Tree *turn_code(WgmmaBuild *w)
{
    if (!w->p->pingpong)
        return tree_list(w->x.g->arena);
    return QUOTE(w->x.g->arena,
                 "// The warpgroups take turns: one multiplies while the other "
                 "stores.\n"
                 "if (@later)\n"
                 "    dcc_barrier_sync(1 + warpgroup, 256);\n",
                 FILL("later", later_tile(w)));
}

static Tree *pass_code(WgmmaBuild *w)
{
    return QUOTE(w->x.g->arena,
                 w->p->pingpong ? "dcc_barrier_arrive(2 - warpgroup, 256);\n"
                 : wgmma_tells(w->p) ? "dcc_end_first(warpgroup, @later);\n"
                 : w->p->lead        ? "dcc_end_first(warpgroup);\n"
                                     : "",
                 FILL("later", later_tile(w)));
}

static void put_prefetch(const WgmmaBuild *w, Tree *b)
{
    const char *maps = "";

    for (int i = 0; i < w->x.kernel->n_map; i++)
        maps = arena_printf(b->arena, "%s%s&%s", maps, i ? ", " : "",
                            w->x.kernel->map[i].name);
    PUT(b, "dcc_tma_prefetch_maps(@maps);\n", FILL("maps", maps));
}

static const char *read_by(const WgmmaBuild *w, const TmaOperand *o)
{
    const Kernel *k = w->x.kernel;
    int i = 0;

    while (k->arg[i].tensor != o->op->read->tensor)
        i++;
    return k->arg[i].name;
}

/* Asks the L2 for b, or for the first lines of a and b. */
static Tree *sweep(const WgmmaBuild *w)
{
    return QUOTE(w->x.g->arena,
                 w->sweeps ? "dcc_sweep_l2<CONSUMERS * 128>(@b, N * K);\n"
                 : w->heads
                     ? "dcc_sweep_heads_l2<CONSUMERS * 128@leaps>(@a, M, K);\n"
                       "dcc_sweep_heads_l2<CONSUMERS * 128@leaps>(@b, N, K);\n"
                     : "",
                 FILL("leaps", wgmma_streams(w->p) ? ", LEAPS" : ""),
                 FILL("a", read_by(w, &w->f->tma.a)),
                 FILL("b", read_by(w, &w->f->tma.b)));
}

/* One thread sets up the ring; where loads are ahead, it is the one that loads,
 * and sets up what it needs to begin. */
static Tree *set_up(WgmmaBuild *w, const WgmmaPlaces *p, const char *first)
{
    Arena *a = w->x.g->arena;
    const char *readers =
        !wgmma_turns(w->p)
            ? "smem.full, 1"
            : arena_printf(a, "smem.full, 1, smem.empty, %s%s",
                           wgmma_crosses(w->p)
                               ? "(CLUSTER / BESIDE + BESIDE - 1) * "
                           : w->p->cluster > 1 ? "CLUSTER * "
                                               : "",
                           w->p->pingpong ? "4" : "CONSUMERS * 4");
    Tree *in = tree_list(a), *inputs = tree_list(a);

    if (w->x.f->terms == 1)
        put_prefetch(w, in);
    if (w->p->inputs)
        PUT(inputs,
            "if (threadIdx.x == 0) {\n"
            "    @RING\n"
            "    dcc_fence_mbar_init();\n"
            "}\n",
            FILL("RING", wgmma_input_ring(w)));
    if (wgmma_runs_ahead(w))
        return QUOTE(a,
                     "// The loader begins before the others know the ring.\n"
                     "dcc_ring_init<CONSUMERS * 128>(@readers);\n"
                     "@INPUTS\n"
                     "if (threadIdx.x == CONSUMERS * 128) {\n"
                     "    @IN\n"
                     "    @FIRST\n"
                     "}\n",
                     FILL("readers", readers), FILL_TREE("INPUTS", inputs),
                     FILL_TREE("IN", in),
                     FILL_TREE("FIRST", wgmma_first_loads(w, p, first)));
    PUT(in, "dcc_ring_init(@readers);\n", FILL("readers", readers));
    PUT(in, wgmma_input_ring(w));
    if (w->x.f->terms == 3)
        PUT(in, "dcc_ring_init(smem.ready, 3, smem.spent, CONSUMERS * 4);\n");
    if (w->p->stays)
        PUT(in, "dcc_mbar_init(&smem.kept, 1);\n");
    PUT(in, w->x.p->t.split > 1
                ? "dcc_mbar_init(&smem.arrived, 1);\n"
                  "dcc_fence_mbar_init();\n"
                  "dcc_mbar_expect_tx(&smem.arrived, BM * (BN - OWN) * 4);\n"
                : "dcc_fence_mbar_init();\n");
    return QUOTE(a,
                 "if (threadIdx.x == 0) {\n"
                 "    @IN\n"
                 "}\n",
                 FILL_TREE("IN", in));
}

/* Loader and consumers leave out the same tiles. */
static Tree *unread_code(WgmmaBuild *w)
{
    const char *unread = unread_tile(w);
    Tree *b = tree_list(w->x.g->arena);

    if (unread)
        PUT(b,
            "if (@unread)  // nobody reads this tile\n"
            "    continue;\n",
            FILL("unread", unread));
    if (wgmma_reaches(w->p))
        contract_reached(&w->x, b, "const int k_begin");
    return b;
}

/* Trees one after the other. */
static Tree *both(Tree *first, Tree *then)
{
    tree_add(first, then);
    return first;
}

/* All threads know the ring; blocks that split K know their part. */
static Tree *sync_code(const WgmmaBuild *w)
{
    Tree *b = tree_list(w->x.g->arena);

    if (w->x.f->gr->factor_sum)
        PUT(b, "dcc_wgmma_ones(smem.ones);\n");
    if (w->p->cluster > 1)
        PUT(b, "dcc_cluster_meet();\n");
    else
        PUT(b, "__syncthreads();\n");
    if (w->x.p->t.split > 1)
        PUT(b, "dcc_cluster_arrive_relaxed();  // others may send\n"
               "const int rank = (int)dcc_cluster_rank();\n");
    if (wgmma_sharers(w->p) > 1)
        tree_add(b, wgmma_own_part(w));
    return b;
}

/* Which tiles are a cluster's. */
static const char *own_tiles(const WgmmaBuild *w)
{
    if (w->p->parts > 1 && w->x.p->t.split > 1)
        return "const int first_tile = (int)blockIdx.x / SPLIT % TILES;"
               "  // its only one\n"
               "const int part = (int)blockIdx.x / (SPLIT * TILES);\n";
    if (w->p->parts > 1)
        return "const int first_tile = (int)blockIdx.x % TILES;"
               "  // its only one\n"
               "const int part = (int)blockIdx.x / TILES;\n";
    return w->p->cluster > 1
               ? "const int first_tile = (int)blockIdx.x / CLUSTER;\n"
                 "const int tiles_apart = (int)gridDim.x / CLUSTER;\n"
           : w->x.p->t.split > 1
               ? "const int first_tile = (int)blockIdx.x / SPLIT;"
                 "  // its only one\n"
               : "";
}

/* Behind a wait for a cluster nothing is in the L1: it comes before what the
 * epilogue will read does. */
static const char *consumer_wait(const WgmmaBuild *w)
{
    return arena_printf(
        w->x.g->arena, "%s%s%s%s%s",
        wgmma_crosses(w->p) && wgmma_turns(w->p)
            ? "const bool frees = dcc_cluster_frees<CLUSTER, BESIDE>(lane);\n"
            : "",
        w->x.p->t.split > 1 ? "dcc_cluster_wait();  // others may be sent to\n"
                            : "",
        w->x.kernel->waits
            ? "dcc_grid_wait();  // the epilogue touches memory\n"
            : "",
        w->p->stays ? "dcc_mbar_wait(&smem.kept, 0);\n" : "",
        w->p->inputs ? "int inputs = 0;\n" : "");
}

/* Where the loader's ring begins. */
static const char *ring_at(const WgmmaBuild *w)
{
    return !wgmma_turns(w->p) ? ""
           : wgmma_runs_ahead(w)
               ? "int slot = EARLY % STAGES, phase = EARLY / STAGES;\n"
                 "int k_first = EARLY;  // the steps before are under way\n"
               : "int slot = 0, phase = 0;\n";
}

static void put_kernel(WgmmaBuild *w, const WgmmaPlaces *p)
{
    ContractBuild *x = &w->x;
    Arena *a = x->g->arena;
    bool split = x->p->t.split > 1, cluster = w->p->cluster > 1;
    bool one = wgmma_sharers(w->p) > 1; /* a block has one tile */
    const char *own = one || cluster ? "first_tile" : "blockIdx.x";
    const char *all = cluster ? "tiles_apart" : one ? "TILES" : "gridDim.x";
    Tree *epilogue = wgmma_epilogue(w);
    Tree *declare =
        QUOTE(a, "int @names;\n", FILL("names", wgmma_list(w, p, "", "")));
    Tree *found = QUOTE(a, "find_tile(tile@args);\n",
                        FILL("args", wgmma_list(w, p, "", ", ")));
    bool ahead = wgmma_runs_ahead(w), turns = wgmma_turns(w->p);
    const char *begin = one || wgmma_reaches(w->p) ? "k_begin" : "0";
    const char *end = *begin == 'k' ? "k_end" : wgmma_own_steps(w);
    Fill fill[] = {
        FILL_TREE("SET_UP", set_up(w, p, own)),
        FILL("RING", turns ? "// A ring: TMA fills slots (`full`), consumers' "
                             "warps free them (`empty`).\n"
                           : "// TMA fills each slot once (`full`).\n"),
        FILL("RING_AT", ring_at(w)),
        FILL("INPUTS", w->p->inputs ? "int inputs = 0;  // tiles\n" : ""),
        FILL("K_FIRST", !ahead ? begin : turns ? "k_first" : "EARLY"),
        FILL("NEXT_TILE", ahead && turns ? "k_first = 0;\n" : ""),
        FILL_TREE("MORE", wgmma_load_behind(w)),
        FILL("SLOT", wgmma_slot(w, begin)),
        FILL("NEXT_SLOT",
             turns ? "dcc_next_slot<STAGES>(slot, phase);\n" : ""),
        FILL_TREE("SYNC", sync_code(w)),
        FILL("TILES", own_tiles(w)),
        FILL("REFS", wgmma_list(w, p, "int &", ", ")),
        FILL("NAMES", wgmma_list(w, p, "", ", ")),
        FILL_TREE("UNREAD", unread_code(w)),
        FILL_TREE("FIND", find_tile(w, p)),
        FILL_TREE("DECLARE", declare),
        FILL_TREE("PLACE", both(!wgmma_has_early(w)
                                    ? both(tree_copy(a, declare), found)
                                : turns ? found
                                        : tree_list(a),
                                wgmma_name_steps(w))),
        FILL_TREE("SHRINK", budget(w, false)),
        FILL_TREE("GROW", both(budget(w, true), wgmma_touch_columns(w))),
        FILL_TREE("SWEEP", sweep(w)),
        FILL("BLOCK", own),
        FILL("BLOCKS", all),
        FILL("BEGIN", begin),
        FILL("END", end),
        FILL_TREE("AHEAD",
                  wgmma_ahead(w, p, own, begin,
                              one ? end : wgmma_tile_steps(w, own))),
        FILL_TREE("FILL", both(wgmma_load_between(w), wgmma_fill(w))),
        FILL("WAIT", consumer_wait(w)),
        FILL("SHARE",
             split ? "n0 += rank * OWN;  // what this block finishes\n" : ""),
        FILL("MET", split ? "__syncwarp();\ndcc_cluster_wait();\n" : ""),
        FILL_TREE("LAST_SLOTS", wgmma_last_slots(w)),
        FILL("LEAVE", cluster ? "// Nobody leaves while others may still write "
                                "to its shared memory.\n"
                                "__syncwarp();\ndcc_cluster_sync();\n"
                              : ""),
        FILL("FIRST", w->p->pingpong
                          ? arena_printf(a, "%s + warpgroup * %s", own, all)
                          : own),
        FILL("NEXT",
             w->p->pingpong ? arena_printf(a, "CONSUMERS * %s", all) : all),
        FILL_TREE("TURN", turn_code(w)),
        FILL_TREE("PASS", pass_code(w)),
        FILL("A_DESC", descriptor(w, &w->f->tma.a, &x->a, true)),
        FILL("B_DESC", descriptor(w, &w->f->tma.b, &x->b, false)),
        FILL("A_STEP", w->f->tma.a.k_major ? "2" : "128"),
        FILL("B_STEP", w->f->tma.b.k_major ? "2" : "128"),
        FILL("WGMMA", product(w)),
        FILL("K_STEP", x->f->elem == T_F32 ? "8" : "16"),
        FILL("B_SLOT", wgmma_b_slot(w)),
        FILL("ELECT", wgmma_elect(w)),
        FILL_TREE("FREE", wgmma_free_slot(w)),
        FILL_TREE("DONE", wgmma_done(w)),
        FILL_TREE("SPLIT", split_code(w)),
        FILL_TREE("COLUMNS", both(tree_copy(a, w->ahead), wgmma_rows(w))),
        FILL_TREE("EPILOGUE", epilogue),
        FILL("DRAIN", w->p->boxes.tensor ? "if (lane == 0)\n"
                                        "    dcc_tma_store_wait_read<0>();\n"
                                      : ""),
    };
    enum { N = sizeof fill / sizeof *fill, P = N + WGMMA_COUNT_FILLS,
           M = P + WGMMA_PART_FILLS };
    Fill more[M + WGMMA_STEP_FILLS];

    memcpy(more, fill, sizeof fill);
    wgmma_step_counts(w, own, all, more + N);
    wgmma_part_fills(w, more + P);
    more[M] = FILL_TREE("STEPS", wgmma_steps(w, begin, end, more, M));
    kernel_phase(x->g, x->kernel, "setup",
                 template_tree(a,
                               x->f->terms == 3 ? "contract_wgmma_3x.cu.in"
                                             : "contract_wgmma.cu.in",
                               more, M + 1));
}

static void build_plan(Wgmma *plan, Kernel *k)
{
    WgmmaBuild build = {.f = plan->f, .p = plan}, *w = &build;
    WgmmaPlaces p = {.n = 0};

    wgmma_used_slots(plan);

    contract_start(&w->x, &plan->x, k);
    w->x.width = plan->x.t.split > 1 ? "OWN" : "BN";
    /* Before a wait for the grid TMA has the time to ask for the first steps'
     * weights itself: no gain was measured. */
    w->sweeps = !k->waits && !w->f->tma.b.run && wgmma_sweeps(w->p);
    w->heads = (wgmma_runs_ahead(w) || (w->p->cluster > 1 && !k->waits)) &&
               !w->sweeps && wgmma_asks_heads(plan);
    constants(w);
    if (wgmma_runs_ahead(w))
        kernel_constant(w->x.g, k, "EARLY",
                        wgmma_early(w->p), "steps that are loaded first");
    wgmma_add_map(w, &w->f->tma.a, &w->x.a);
    wgmma_add_map(w, &w->f->tma.b, &w->x.b);
    wgmma_input_maps(w);
    shared_memory(w);
    if (w->p->patch.rows < w->x.p->t.bm && w->x.p->patch)
        kernel_constant(w->x.g, k, "PATCH", w->p->patch.rows,
                        "rows of a tile that are used");
    wgmma_boxes_map(w);
    name_places(w, &p);
    put_kernel(w, &p);
    finish(w);
}

void wgmma_build(const void *form, const Variant *v, Kernel *k)
{
    Wgmma w;

    if (wgmma_plan(&w, form, v))
        return;
    build_plan(&w, k);
    k->variant = wgmma_text(form, v);
}

const Family family_contract_wgmma = {
    .name = "contract_wgmma",
    .version = 1,
    .open = wgmma_open,
    .space = wgmma_space,
    .cost = wgmma_cost,
    .build = wgmma_build,
    .text = wgmma_text,
};
