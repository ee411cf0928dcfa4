#include "family/contract_wgmma.h"

#include <math.h>
#include <string.h>

/* The kernel of a wgmma contraction, from its plan. */

/* What the text calls its own things. */
static const char *const own_names[] = {
    "m", "n", "k", "i", "j", "e", "c", "m0", "n0", "k0", "a", "b", "kk",
    "k_tile", "slot", "step", "tile", "acc", "row", "col", "part", "lane",
    "warp", "warpgroup", "full", "empty", "find_tile", "at", "m_tile",
    "n_tile", "batch", "rank", "own_tile", "own", "sums", "arrived", "OWN",
    "a_ring", "b_ring", "phase", "before",
    "M", "N", "K", "BM", "BN", "BK", "WM",
    "STAGES",
    "CONSUMERS", "SPLIT", "TILES", "TILES_M", "TILES_N", "K_TILES", "BAND",
    "STRIP", "fresh", "first", "read_ahead", "big", "small", "ready", "spent",
    "from", "to", "piece", "a_row",
    "b_big", "b_small", "v", "packed", "q", "top", "line", "out", "COLS",
    "out_rows", "CLUSTER", "STAGE_BYTES", "PATCH", "smem", "smem_t",
    "sum",
};
enum { N_OWN = sizeof own_names / sizeof *own_names };

/* ---- beginning --------------------------------------------------------- */

static void reserve_names(Wgmma *w)
{
    Contract *x = &w->x;

    for (int i = 0; i < x->kernel->n_arg; i++)
        for (int j = 0; j < N_OWN; j++)
            if (!strcmp(x->kernel->arg[i].name, own_names[j]))
                x->kernel->arg[i].name =
                    arena_printf(x->g->arena, "%s_", own_names[j]);
    x->cp = cprint_new(x->g, x->kernel);
    contract_name_loads(x);
    for (int i = 0; i < N_OWN; i++)
        cprint_fresh(&x->cp, own_names[i]);
}

static const char *describe(Graph *g, const Var *const *v, int n)
{
    const char *text = "";

    for (int i = 0; i < n; i++)
        text = arena_printf(g->arena, "%s%s%s", text, i ? ", " : "",
                            v[i]->name);
    return n ? text : NULL;
}

static void constants(Wgmma *w)
{
    Contract *x = &w->x;
    Kernel *k = x->kernel;
    Graph *g = x->g;
    const Tile *t = &x->t;

    kernel_constant(g, k, "M", x->c.M, describe(g, x->c.m, x->c.n_m));
    kernel_constant(g, k, "N", x->c.N, describe(g, x->c.n, x->c.n_n));
    kernel_constant(g, k, "K", x->c.K, describe(g, x->c.k, x->c.n_k));
    kernel_constant(g, k, "BM", t->bm, "");
    kernel_constant(g, k, "BN", t->bn, "");
    kernel_constant(g, k, "BK", t->bk, "tile of a block");
    kernel_constant(g, k, "WM", w->wm, "rows of a warpgroup");
    kernel_constant(g, k, "STAGES", t->stages, NULL);
    kernel_constant(g, k, "CONSUMERS", w->consumers, "warpgroups");
    kernel_constant(g, k, "K_TILES", w->k_tiles, NULL);
    kernel_constant(g, k, "TILES_M", w->m_tiles, NULL);
    kernel_constant(g, k, "TILES_N", w->n_tiles, NULL);
    kernel_constant(g, k, "TILES", w->tiles, NULL);
    if (t->split > 1) {
        kernel_constant(g, k, "SPLIT", t->split, "blocks that share a tile");
        kernel_constant(g, k, "OWN", w->own, "its columns that one finishes");
    }
    if (w->cluster > 1)
        kernel_constant(g, k, "CLUSTER", w->cluster,
                        "blocks, one below the other, that share columns");
    if (w->pack)
        kernel_constant(g, k, "COLS", w->pack, "that a warp stores at a time");
    kernel_constant(g, k, "STAGE_BYTES", (int64_t)w->stage_bytes, NULL);
}

static void put_tile_field(Wgmma *w, const Load *l, const TmaOperand *o,
                           const char *rows)
{
    Graph *g = w->x.g;
    const char *type = type_cname(w->x.elem);

    if (o->k_major)
        kernel_smem(g, w->x.kernel, 1024,
                    arena_printf(g->arena, "%s %s[STAGES][%s][BK]", type,
                                 l->tile, rows), NULL);
    else
        kernel_smem(g, w->x.kernel, 1024,
                    arena_printf(g->arena, "%s %s[STAGES][%s / 64][BK][64]",
                                 type, l->tile, rows), NULL);
}

/* Of the tensor that is stored. */
static const char *pack_type(const Contract *x)
{
    const char *type = NULL;

    for (int i = 0; i < x->gr->n_step && !type; i++)
        if (x->gr->step[i].tensor)
            type = type_cname(x->gr->step[i].tensor->type);
    return type;
}

static void shared_memory(Wgmma *w)
{
    Kernel *k = w->x.kernel;

    put_tile_field(w, &w->x.a, &w->tma->a, "BM");
    put_tile_field(w, &w->x.b, &w->tma->b, "BN");
    if (w->x.terms == 3)
        kernel_smem(w->x.g, k, 1024, "float small[2][BN][BK]", NULL);
    if (w->pack)
        kernel_smem(w->x.g, k, w->boxes.tensor ? 1024 : 128,
                    arena_printf(w->x.g->arena,
                                 "%s out_rows[CONSUMERS * 4]%s[16][COLS]",
                                 pack_type(&w->x),
                                 w->boxes.tensor ? "[2]" : ""), NULL);
    if (w->x.t.split > 1)
        kernel_smem(w->x.g, k, 16, "float4 sums[BM * BN / 4]", NULL);
    kernel_smem(w->x.g, k, 8, "uint64_t full[STAGES], empty[STAGES]", NULL);
    if (w->x.terms == 3)
        kernel_smem(w->x.g, k, 8, "uint64_t ready[2], spent[2]", NULL);
    if (w->x.t.split > 1)
        kernel_smem(w->x.g, k, 8, "uint64_t arrived", NULL);
}

/* ---- tensor maps ------------------------------------------------------- */

typedef struct Uses {
    const Tensor *t;
    bool found;
} Uses;

static void find_use(const Expr *e, void *ctx)
{
    Uses *u = ctx;

    u->found |= e->kind == E_READ && e->tensor == u->t;
}

bool wgmma_touches(const Wgmma *w, const Tensor *t)
{
    const Group *gr = w->x.gr;
    Uses u = {t, false};

    for (int i = 0; i < gr->n_step; i++) {
        const Step *s = &gr->step[i];
        if (s->op == R_NONE && !s->over_cols)
            expr_visit(s->value, find_use, &u);
        u.found |= s->tensor == t && !w->boxes.tensor;
    }
    return u.found;
}

/* Elements of a box along dimension d. */
static int box_of(const Wgmma *w, const TmaOperand *o, int d)
{
    const Tma *t = w->tma;
    const Axis *a = o->dim[d].axis;

    if (!a)
        return 1;
    if (d == 0 || a == &t->k.axis[t->k.n - 1])
        return w->tma->bk;
    if (a == &t->n.axis[0])
        return w->x.t.bn / w->cluster;
    return w->patch.tile[a - t->m.axis];
}

static void add_map(Wgmma *w, const TmaOperand *o, const Load *l)
{
    Kernel *k = w->x.kernel;
    const Tensor *t = o->op->read->tensor;
    TileMap *m = &k->map[k->n_map++];

    *m = (TileMap){.name = arena_printf(w->x.g->arena, "%s_map", l->id),
                   .offset = o->offset, .rank = o->rank, .swizzle = true,
                   .tf32 = w->x.elem == T_F32 && w->x.terms == 1};
    for (int i = 0; i < k->n_arg; i++)
        if (k->arg[i].tensor == t) {
            m->arg = i;
            k->arg[i].mapped = !wgmma_touches(w, t);
        }
    for (int d = 0; d < o->rank; d++) {
        const TmaDim *dim = &o->dim[d];
        m->dim[d] = dim->extent;
        m->stride[d] = dim->stride * type_bytes(t->type);
        m->box[d] = box_of(w, o, d) * dim->step;
        m->step[d] = dim->step;
    }
    if (w->patch.im2col && o == &w->tma->a)
        wgmma_im2col_map(w, m);
}

/* ---- the place of a tile ----------------------------------------------- */

/* Names of what find_tile computes: batch variables, origins, split. */
typedef struct Places {
    const char *name[2 * MAX_RANK + 2];
    int n;
} Places;

static void name_places(Wgmma *w, Places *p)
{
    Contract *x = &w->x;
    Arena *a = x->g->arena;

    for (int i = 0; i < x->c.n_batch; i++)
        if (x->c.batch[i]->extent > 1)
            p->name[p->n++] = cprint_var(&x->cp, x->c.batch[i]);
    for (int i = 0; i < (w->x.patch ? w->tma->m.n : 1); i++) {
        const char *id = "m0";
        if (w->x.patch)
            id = cprint_fresh(&x->cp, arena_printf(a, "%s0",
                              cprint_ident(a, w->tma->m.axis[i].v[0]->name)));
        p->name[p->n++] = w->origin[i] = id;
    }
    p->name[p->n++] = w->n_origin = "n0";
}

static const char *list_places(const Wgmma *w, const Places *p,
                               const char *before, const char *first)
{
    const char *s = "";

    for (int i = 0; i < p->n; i++)
        s = arena_printf(w->x.g->arena, "%s%s%s%s", s, i ? ", " : first,
                         before, p->name[i]);
    return s;
}

/* Tile rows of a band: the tiles that run at one time then span about as many
 * rows as columns. */
static int band_rows(const Wgmma *w)
{
    const Tile *t = &w->x.t;
    double at_once = (double)w->x.o->device->sms * w->resident / w->cluster /
                     t->split;

    return (int)fmax(1, round(sqrt(at_once * t->bn / t->bm / w->cluster)));
}

/* m_tile and n_tile; `of` is the number among one product's tiles. */
static void put_band(Wgmma *w, Buf *b, const char *of)
{
    int rows = band_rows(w), columns = wgmma_strip(w);

    if (w->m_tiles == 1 || w->n_tiles == 1) {
        buf_printf(b, "const int m_tile = %s;\nconst int n_tile = %s;\n",
                   w->m_tiles > 1 ? of : "0", w->n_tiles > 1 ? of : "0");
        return;
    }
    if (w->m_tiles <= rows && columns == 1) {
        buf_printf(b, "const int m_tile = %s %% TILES_M;\n"
                      "const int n_tile = %s / TILES_M;\n", of, of);
        return;
    }
    if (w->m_tiles < rows ||
        wgmma_blocks(w) <= w->x.o->device->sms * (double)w->resident)
        rows = (int)w->m_tiles; /* all run at once */
    kernel_constant(w->x.g, w->x.kernel, "BAND", rows,
                    "tile rows that run together");
    kernel_constant(w->x.g, w->x.kernel, "STRIP", columns,
                    "tile columns of neighbours");
    buf_printf(b, "// Blocks that run at one time lie in a band of tile rows, "
                  "neighbours in a strip\n"
                  "// of its columns, so that they read few distinct tiles and "
                  "the L2 serves most\n// reads.\n"
                  "const dcc_tile at = dcc_tile_in_band(%s, BAND, TILES_M, "
                  "TILES_N, STRIP);\n"
                  "const int m_tile = at.m, n_tile = at.n;\n", of);
}

/* Origins along m's axes: m_tile is a mixed-radix number of their tiles. */
static void put_origins(Wgmma *w, Buf *b)
{
    const Tma *t = w->tma;
    const char *m_tile = "m_tile";
    int64_t radix = 1;

    if (w->cluster > 1) {
        buf_puts(b, "const int own_tile = m_tile * CLUSTER + "
                    "(int)dcc_cluster_rank();\n");
        m_tile = "own_tile";
    }
    if (!w->x.patch) {
        buf_printf(b, "m0 = %s * BM;\n", m_tile);
        return;
    }
    for (int i = t->m.n - 1; i >= 0; i--) {
        buf_printf(b, "%s = ", w->origin[i]);
        if (w->patch.count[i] == 1) {
            buf_puts(b, "0;\n");
            continue;
        }
        buf_puts(b, m_tile);
        bool above = radix * w->patch.count[i] < w->patch.tiles;
        cprint_digit(b, radix, above ? w->patch.count[i] : 0);
        radix *= w->patch.count[i];
        if (w->patch.tile[i] > 1)
            buf_printf(b, " * %d", w->patch.tile[i]);
        buf_puts(b, ";\n");
    }
}

static void put_batch(Wgmma *w, Buf *b, const Places *names)
{
    const Contraction *c = &w->x.c;
    int64_t radix = c->batches;

    for (int i = 0, p = 0; i < c->n_batch; i++) {
        if (c->batch[i]->extent == 1)
            continue;
        radix /= c->batch[i]->extent;
        buf_printf(b, "%s = batch", names->name[p]);
        cprint_digit(b, radix, p++ > 0 ? c->batch[i]->extent : 0);
        buf_puts(b, ";\n");
    }
}

static const char *find_tile(Wgmma *w, const Places *p)
{
    const Contraction *c = &w->x.c;
    bool many = c->batches > 1;
    Buf b = {0};

    if (many)
        buf_puts(&b, "const int batch = tile / (TILES_M * TILES_N);\n");
    put_band(w, &b, many ? "tile % (TILES_M * TILES_N)" : "tile");
    put_origins(w, &b);
    buf_puts(&b, w->n_tiles > 1 ? "n0 = n_tile * BN;\n" : "n0 = 0;\n");
    if (many)
        put_batch(w, &b, p);
    const char *s = arena_strdup(w->x.g->arena, buf_text(&b));
    buf_free(&b);
    return s;
}

/* ---- load -------------------------------------------------------------- */

/* Weights of the first steps are loaded before the wait for the grid. */
static bool is_early(const Wgmma *w, const Load *l)
{
    return w->x.kernel->waits && kernel_reads_constants(l->op->e);
}

static bool has_early(const Wgmma *w)
{
    return is_early(w, &w->x.a) || is_early(w, &w->x.b);
}

/* The variables of k from k_tile. */
static void put_k(Wgmma *w, Buf *b)
{
    const Axes *k = &w->tma->k;
    const Axis *inner = &k->axis[k->n - 1];
    int64_t radix = (inner->extent + w->tma->bk - 1) / w->tma->bk;
    CPrint *cp = &w->x.cp;

    bool steps = k->n == 1 || radix > 1;
    if (steps && k->n > 1)
        buf_printf(b, "const int k0 = k_tile %% %lld * BK;\n",
                   (long long)radix);
    else if (steps)
        buf_puts(b, "const int k0 = k_tile * BK;\n");
    cprint_name(cp, inner->linear, steps ? "k0" : "0");
    for (int i = k->n - 2; i >= 0; i--) {
        buf_printf(b, "const int %s = k_tile",
                   cprint_var(cp, k->axis[i].linear));
        cprint_digit(b, radix, i > 0 ? k->axis[i].extent : 0);
        radix *= k->axis[i].extent;
        buf_puts(b, ";\n");
    }
}

/* Weights that no other block reads, and too many for the L2 to have them when
 * the next run does: they leave it to what is read again. */
static bool once(const Wgmma *w, const TmaOperand *o)
{
    double bytes = (double)w->x.c.N * (double)w->x.c.K *
                   (double)w->x.c.batches * type_bytes(w->x.elem);

    return o == &w->tma->b && o->rank == 2 && w->m_tiles == 1 &&
           bytes > w->x.o->device->l2_mb * 1e6;
}

static void put_copy(Wgmma *w, Buf *b, const TmaOperand *o, const Load *l,
                     const Axis *side, const char *origin, const char *rows)
{
    CPrint *cp = &w->x.cp;
    Arena *a = w->x.g->arena;
    CScope scope = cprint_open(cp);
    bool shared = w->cluster > 1 && o == &w->tma->b;
    const char *piece = "";

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
        cprint_name(cp, side->linear,
                    arena_printf(a, "%s + %s%s", origin, part,
                                 o->k_major ? "" : " + i * 64"));
        piece = o->k_major ? arena_printf(a, "[%s]", part)
                           : arena_printf(a, "[%s / 64 + i]", part);
        buf_printf(b, "dcc_tma_share_%dd(smem.%s[slot]%s, &%s_map, ", o->rank,
                   l->tile, piece, l->id);
    } else {
        buf_printf(b, "dcc_tma_%s_%dd(smem.%s[slot]%s, &%s_map, ",
                   once(w, o) ? "stream" : "load", o->rank, l->tile, piece,
                   l->id);
    }
    for (int d = 0; d < o->rank; d++) {
        cprint_idx(b, cp, o->dim[d].at, 0);
        buf_puts(b, ", ");
    }
    buf_printf(b, "&smem.full[slot]%s);\n",
               shared ? ", (1 << CLUSTER) - 1" : "");
    cprint_close(cp, scope);
}

/* Names of what a copy's coordinates use, and their text. */
static void put_coordinates(Wgmma *w, Buf *b)
{
    const Tma *t = w->tma;
    CPrint *cp = &w->x.cp;

    if (w->cluster > 1)
        buf_puts(b, "const int rank = (int)dcc_cluster_rank();\n");
    put_k(w, b);
    if (w->patch.im2col)
        wgmma_im2col_pixel(w, b);
    for (int i = 0; i < t->m.n && !w->patch.im2col; i++)
        cprint_name(cp, t->m.axis[i].linear, w->origin[i]);
    cprint_name(cp, t->n.axis[0].linear, w->n_origin);
}

/* The copies of the operands that are weights, or of the others. */
static void put_copies(Wgmma *w, Buf *b, bool weights)
{
    const Tma *t = w->tma;

    if (is_early(w, &w->x.a) == weights && w->patch.im2col)
        wgmma_im2col_copy(w, b);
    else if (is_early(w, &w->x.a) == weights)
        put_copy(w, b, &t->a, &w->x.a, &t->m.axis[t->m.n - 1],
                 w->origin[t->m.n - 1], "BM");
    if (is_early(w, &w->x.b) == weights)
        put_copy(w, b, &t->b, &w->x.b, &t->n.axis[0], w->n_origin, "BN");
}

static const char *taken(Wgmma *w, Buf *b)
{
    const char *s = arena_strdup(w->x.g->arena, buf_text(b));

    buf_free(b);
    return s;
}

/* Fills a slot; of the first slots the weights are under way. */
static const char *fill_text(Wgmma *w)
{
    static const char claim[] =
        "dcc_mbar_wait(&smem.empty[slot], phase ^ 1);\n"
        "dcc_mbar_expect_tx(&smem.full[slot], STAGE_BYTES);\n";
    CScope scope = cprint_open(&w->x.cp);
    Buf b = {0}, in = {0};

    if (has_early(w)) {
        put_coordinates(w, &b);
        buf_puts(&in, claim);
        put_copies(w, &in, true);
        buf_puts(&b, "if (early > 0) {\n    --early;\n} else {\n");
        cprint_lines(&b, buf_text(&in), 4);
        buf_puts(&b, "}\n");
    } else {
        buf_puts(&b, claim);
        put_coordinates(w, &b);
    }
    put_copies(w, &b, false);
    cprint_close(&w->x.cp, scope);
    buf_free(&in);
    return taken(w, &b);
}

/* What the loading thread does before its tiles: weights of the first one,
 * into all slots that it fills, and the wait for the grid. */
static const char *ahead_text(Wgmma *w, const Places *p, const char *own,
                              const char *begin, const char *end)
{
    CScope scope = cprint_open(&w->x.cp);
    bool shared = w->x.terms == 3; /* its warp has other threads in the loop */
    Buf b = {0}, in = {0}, loop = {0};

    if (has_early(w)) {
        put_coordinates(w, &loop);
        buf_puts(&loop,
                 "dcc_mbar_expect_tx(&smem.full[slot], STAGE_BYTES);\n");
        put_copies(w, &loop, true);
        buf_printf(&in, "int %s;\nfind_tile(%s%s);\n",
                   list_places(w, p, "", ""), own,
                   list_places(w, p, "", ", "));
        buf_printf(&in, "for (int k_tile = %s; k_tile < %s && early < STAGES;\n"
                        "     ++k_tile) {\n"
                        "    const int slot = early++;\n", begin, end);
        cprint_lines(&in, buf_text(&loop), 4);
        buf_puts(&in, "}\n");
        buf_puts(&b, "int early = 0;  // slots whose weights are under way: "
                     "no launch writes those\n");
    }
    if (shared && w->x.kernel->waits) {
        buf_puts(&in, kernel_wait(w->x.kernel));
        buf_puts(&b, "if (threadIdx.x % 128 == 0) {\n");
        cprint_lines(&b, buf_text(&in), 4);
        buf_puts(&b, "}\n");
    } else {
        buf_puts(&b, in.len ? "{\n" : "");
        cprint_lines(&b, buf_text(&in), 4);
        buf_puts(&b, in.len ? "}\n" : "");
        buf_puts(&b, kernel_wait(w->x.kernel));
    }
    cprint_close(&w->x.cp, scope);
    buf_free(&in);
    buf_free(&loop);
    return taken(w, &b);
}

/* ---- multiply ---------------------------------------------------------- */

/* Of the first slot; 3xtf32: of this one. */
static const char *descriptor(const Wgmma *w, const TmaOperand *o,
                              const Load *l, bool is_a)
{
    Arena *a = w->x.g->arena;
    const char *at = "", *slot = w->x.terms == 3 ? "slot" : "0";

    if (is_a && !w->pingpong && w->consumers > 1)
        at = o->k_major ? "[warpgroup * WM]" : "[warpgroup * WM / 64]";
    if (o->k_major)
        return arena_printf(a, "dcc_wgmma_k_major(smem.%s[%s]%s)", l->tile,
                            slot, at);
    return arena_printf(a, "dcc_wgmma_mn_major(smem.%s[%s]%s, BK * 128)",
                        l->tile, slot, at);
}

/* From slot to slot, in the descriptors' units of 16 bytes. */
static const char *slot_step(const Wgmma *w, const Load *l)
{
    return arena_printf(w->x.g->arena, "(int)(sizeof smem.%s[0] / 16)",
                        l->tile);
}

/* ---- the whole --------------------------------------------------------- */

static void finish(Wgmma *w)
{
    Contract *x = &w->x;
    Kernel *k = x->kernel;
    int64_t most = (int64_t)x->o->device->sms * w->resident / w->cluster;
    bool split = x->t.split > 1; /* then a block has one tile */

    k->grid[0] = split ? (int)w->tiles * x->t.split
                       : (int)((w->tiles < most ? w->tiles : most) *
                               w->cluster);
    k->grid[1] = k->grid[2] = 1;
    k->block = x->t.threads;
    k->cluster = split ? x->t.split : w->cluster;
    k->smem_bytes = w->smem;
    k->min_blocks = w->consumers == 1 ? w->resident : 1;
    k->flops = 2.0 * (double)x->c.M * (double)x->c.N * (double)x->c.K *
               (double)x->c.batches;
    k->bytes = x->hbm_bytes;
    k->family = "contract_wgmma";
    k->min_arch = "sm_90a";
    k->where = arena_array(x->g->arena, const char *, x->gr->n_step);
}

static const char *split_text(Wgmma *w)
{
    Buf b = {0};

    if (w->x.t.split < 2)
        return "";
    template_fill(&b, "contract_wgmma_split.cu.in", NULL, 0);
    const char *s = arena_strdup(w->x.g->arena, buf_text(&b));
    buf_free(&b);
    return s;
}

/* Registers move from the producer's warpgroup to the consumers': 3 x 168 or
 * 4 x 128 at the start, and as many after. */
static const char *budget(const Wgmma *w, bool consumer)
{
    int all = w->consumers == 3 ? 4 * 128 : 3 * 168, most = wgmma_budget(w);

    if (w->consumers == 1)
        return "";
    return arena_printf(w->x.g->arena, "dcc_registers_%s<%d>();\n",
                        consumer ? "grow" : "shrink",
                        consumer ? most : all - w->consumers * most);
}

/* The wrapper of one product. */
static const char *product(const Wgmma *w)
{
    Arena *a = w->x.g->arena;

    if (w->x.elem == T_F32)
        return arena_printf(a, "dcc_wgmma_m64n%dk8_tf32", w->x.t.bn);
    return arena_printf(a, "dcc_wgmma_m64n%dk16_%s<%d, %d>", w->x.t.bn,
                        type_name(w->x.elem), !w->tma->a.k_major,
                        !w->tma->b.k_major);
}

/* Two warpgroups multiply in turns, so that one's products hide the other's
 * epilogue, and so that each waits for every phase of a slot in order: a wait
 * for a phase beyond the next would pass at once. */
static const char *turn_text(Arena *a, const char *first)
{
    return arena_printf(a, "// The warpgroups take turns: one multiplies while "
                           "the other stores.\n"
                           "if (tile != %s)\n"
                           "    dcc_barrier_sync(1 + warpgroup, 256);\n",
                        first);
}

static const char *prefetch(const Wgmma *w)
{
    const char *s = "";

    for (int i = 0; i < w->x.kernel->n_map; i++)
        s = arena_printf(w->x.g->arena, "%sdcc_tma_prefetch_map(&%s);\n", s,
                         w->x.kernel->map[i].name);
    return s;
}

/* Loader and consumers leave out the same tiles. */
static const char *unread_text(Wgmma *w)
{
    const char *unread = wgmma_skips(w) && !has_early(w)
                             ? contract_unread(&w->x, "m0", "n0") : NULL;

    return unread ? arena_printf(w->x.g->arena,
                                 "if (%s)  // nobody reads this tile\n"
                                 "    continue;\n", unread)
                  : "";
}

static void put_kernel(Wgmma *w, const Places *p)
{
    Contract *x = &w->x;
    Arena *a = x->g->arena;
    bool split = x->t.split > 1;
    bool cluster = w->cluster > 1;
    const char *own = cluster ? "(int)blockIdx.x / CLUSTER"
                      : split ? "(int)blockIdx.x / SPLIT"
                              : "(int)blockIdx.x";
    const char *all = cluster ? "(int)gridDim.x / CLUSTER"
                      : split ? "(int)gridDim.x / SPLIT"
                              : "(int)gridDim.x";
    const char *epilogue = wgmma_epilogue(w);
    const char *declare = arena_printf(a, "int %s;\n",
                                       list_places(w, p, "", ""));
    const char *begin = split ? "rank * K_TILES / SPLIT" : "0";
    const char *end = split ? "(rank + 1) * K_TILES / SPLIT" : "K_TILES";
    Slot slot[] = {
        {"ARRIVALS", arena_printf(a, "%s%s", cluster ? "CLUSTER * " : "",
                                  w->pingpong ? "4" : "CONSUMERS * 4")},
        {"SENT", split ? "dcc_mbar_init(&smem.arrived, 1);\n" : ""},
        {"EXPECT", split ? "dcc_mbar_expect_tx(&smem.arrived, "
                           "BM * (BN - OWN) * 4);\n"
                         : ""},
        {"SYNC", cluster ? "dcc_cluster_meet();\n"
                 : split ? "__syncthreads();\n"
                           "dcc_cluster_arrive_relaxed();  // others may send\n"
                           "const int rank = (int)dcc_cluster_rank();\n"
                         : "__syncthreads();\n"},
        {"REFS", list_places(w, p, "int &", ", ")},
        {"NAMES", list_places(w, p, "", ", ")},
        {"UNREAD", unread_text(w)},
        {"FIND", find_tile(w, p)},
        {"DECLARE", declare},
        {"SHRINK", budget(w, false)},
        {"GROW", budget(w, true)},
        {"PREFETCH", prefetch(w)},
        {"BLOCK", own},
        {"BLOCKS", all},
        {"BEGIN", begin},
        {"END", end},
        {"AHEAD", ahead_text(w, p, own, begin, end)},
        {"FILL", fill_text(w)},
        {"WAIT", x->kernel->waits
                     ? "dcc_grid_wait();  // the epilogue touches memory\n"
                     : ""},
        {"SHARE", split ? "n0 += rank * OWN;  // what this block finishes\n"
                        : ""},
        {"MET", split ? "__syncwarp();\ndcc_cluster_wait();\n" : ""},
        {"LEAVE", cluster ? "// Nobody leaves while others may still write to "
                            "its shared memory.\n"
                            "__syncwarp();\ndcc_cluster_sync();\n" : ""},
        {"FIRST_STEP", w->pingpong ? "warpgroup * K_TILES" : "0"},
        {"FIRST", w->pingpong
                      ? arena_printf(a, "%s + warpgroup * %s", own, all)
                      : own},
        {"NEXT", w->pingpong ? arena_printf(a, "CONSUMERS * %s", all) : all},
        {"SKIP", w->pingpong ? "step += CONSUMERS * K_TILES;\n"
                 : split     ? ""
                             : "step += K_TILES;\n"},
        {"TURN", w->pingpong ? turn_text(a, own) : ""},
        {"PASS", w->pingpong ? "dcc_barrier_arrive(2 - warpgroup, 256);\n"
                             : ""},
        {"A_DESC", descriptor(w, &w->tma->a, &x->a, true)},
        {"B_DESC", descriptor(w, &w->tma->b, &x->b, false)},
        {"A_SLOT", slot_step(w, &x->a)},
        {"B_SLOT", slot_step(w, &x->b)},
        {"A_STEP", w->tma->a.k_major ? "2" : "128"},
        {"B_STEP", w->tma->b.k_major ? "2" : "128"},
        {"WGMMA", product(w)},
        {"K_STEP", x->elem == T_F32 ? "8" : "16"},
        {"A_TILE", x->a.tile},
        {"B_TILE", x->b.tile},
        {"ELECT", cluster ? "lane < CLUSTER" : "lane == 0"},
        {"FREE", arena_printf(a, cluster
                                     ? "dcc_mbar_arrive_at(&smem.empty[%s], "
                                       "lane);\n"
                                     : "dcc_mbar_arrive(&smem.empty[%s]);\n",
                              x->terms == 3 ? "slot" : "before")},
        {"SPLIT", split_text(w)},
        {"COLUMNS", w->ahead},
        {"EPILOGUE", epilogue},
        {"DRAIN", w->boxes.tensor ? "if (lane == 0)\n"
                                    "    dcc_tma_store_wait_read<0>();\n"
                                  : ""},
    };
    Buf b = {0};

    template_fill(&b, x->terms == 3 ? "contract_wgmma_3x.cu.in"
                                    : "contract_wgmma.cu.in", slot,
                  (int)(sizeof slot / sizeof *slot));
    kernel_phase(x->g, x->kernel, "setup", &b);
    buf_free(&b);
}

void wgmma_build(Wgmma *w, Kernel *k)
{
    Places p = {.n = 0};

    w->x.kernel = k;
    w->x.width = w->x.t.split > 1 ? "OWN" : "BN";
    w->x.a = (Load){.op = &w->x.c.a};
    w->x.b = (Load){.op = &w->x.c.b};
    kernel_set_args(w->x.g, (Group *)w->x.gr, k);
    reserve_names(w);
    constants(w);
    shared_memory(w);
    if (w->patch.rows < w->x.t.bm && w->x.patch)
        kernel_constant(w->x.g, k, "PATCH", w->patch.rows,
                        "rows of a tile that are used");
    add_map(w, &w->tma->a, &w->x.a);
    add_map(w, &w->tma->b, &w->x.b);
    wgmma_boxes_map(w);
    name_places(w, &p);
    put_kernel(w, &p);
    kernel_tidy(w->x.g, k);
    finish(w);
}
