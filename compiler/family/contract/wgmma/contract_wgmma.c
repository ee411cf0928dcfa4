#include "family/contract/wgmma/contract_wgmma.h"

#include "group/norm.h"

#include <math.h>
#include <string.h>

/* Contractions by wgmma on sm_90a: which, in what variants, at what cost. The
 * text is contract_wgmma_build.c's. */

enum { THREADS_WG = 128, ROW_BYTES = TMA_ROW, MOST_STAGES = 10,
       MOST_SPLIT = 8 /* blocks of a cluster */ };

typedef struct Shape {
    int bm, bn, consumers;
    bool pingpong;
} Shape;

static const Shape shapes[] = {
    {256, 192, 2, false}, {256, 128, 2, false}, {128, 256, 2, false},
    {128, 192, 2, false}, {128, 160, 2, false}, {128, 128, 2, false},
    {128, 96, 2, false},  {256, 64, 2, false},  {128, 64, 2, false},
    {192, 192, 3, false}, {192, 128, 3, false}, {192, 96, 3, false},
    {192, 64, 3, false},
    {64, 256, 1, false},  {64, 192, 1, false},  {64, 128, 1, false},
    {64, 96, 1, false},   {64, 64, 1, false},   {64, 32, 1, false},
    {128, 128, 2, true},  {128, 96, 2, true},   {128, 64, 2, true},
    {64, 256, 2, true},   {64, 192, 2, true},   {64, 128, 2, true},
    {64, 96, 2, true},    {64, 64, 2, true},
};
enum { N_SHAPES = sizeof shapes / sizeof *shapes };

enum { KNOB_BM, KNOB_BN, KNOB_STAGES, KNOB_CONSUMERS, KNOB_PINGPONG,
       KNOB_CLUSTER, KNOB_SPLIT, KNOB_PARTS };

/* ---- which groups ------------------------------------------------------ */

static const char *check_types(Contract *x)
{
    Type a = x->c.a.type, b = x->c.b.type;

    if (x->acc != T_F32)
        return "integers are summed";
    if (a != b)
        return "factors of different element types";
    bool tf32 = a == T_F32 && x->o->math != MATH_EXACT;
    x->terms = tf32 && x->o->math == MATH_3XTF32 ? 3 : 1;
    if (a != T_F16 && a != T_BF16 && !tf32)
        return "factors that are not exact in f16 or bf16";
    if (x->c.M < 16 || x->c.N < 16 || x->c.K < 8)
        return "fewer than 16 rows or columns, or than 8 terms";
    x->elem = a;
    x->mma = true;
    return NULL;
}

static bool uses_side(const Side *s, const Expr *e)
{
    for (int i = 0; i < s->n; i++)
        if (expr_uses(e, s->v[i]))
            return true;
    return false;
}

/* A read of the epilogue: what belongs to columns stays while the rows go by,
 * what belongs to rows is asked for some rows ahead. */
static void count_read(const Expr *e, void *ctx)
{
    WgmmaForm *f = ctx;
    bool wide = e->kind == E_READ && type_bytes(e->type) == 4;

    if (e->kind != E_READ)
        return;
    f->rows_read |= uses_side(&f->x.m, e);
    if (uses_side(&f->x.m, e))
        f->reads_regs += wide ? 32 : 16;
    else if (wide && uses_side(&f->x.n, e))
        f->reads_regs += 8;
}

static void count_reads(WgmmaForm *f, const Group *gr)
{
    f->reads_regs = 0;
    f->rows_read = false;
    for (int i = 0; i < gr->n_step; i++)
        if (gr->step[i].op == R_NONE && !gr->step[i].over_cols)
            expr_visit(gr->step[i].value, count_read, f);
}

static const char *open_wgmma(WgmmaForm *f, Graph *g, const Group *gr,
                              const Options *o)
{
    const char *why = NULL;

    if (o->device->sm != 90)
        return "needs sm_90a";
    if (!contract_open(&f->x, g, gr, o, &why))
        return why;
    if ((why = check_types(&f->x)) || (why = wgmma_find_rows(f)) ||
        (why = tma_open(&f->tma, &f->x)) || (why = wgmma_check_rows(f)) ||
        (why = wgmma_check_pieces(f)))
        return why;
    if (gr->pieces) /* a sum, a difference and its square; lanes' sums */
        f->x.ops += 2.5 * gr->pieces->n_step;
    if (f->x.elem == T_F32 && !(f->tma.a.k_major && f->tma.b.k_major))
        return "tf32 factors that are not contiguous along the sum";
    f->packs = contract_packs(&f->x);
    int most = wgmma_columns(&f->x);
    f->deals = 0;
    if (f->tma.b.k_major && contract_columns(&f->x, most) == most &&
        tma_deals(&f->tma, &f->tma.b, &f->tma.n.axis[0], most))
        f->deals = most;
    wgmma_find_plane(f, &f->plane);
    count_reads(f, gr);
    return NULL;
}

static const void *open(Graph *g, const Group *gr, const Options *o,
                        const char **why)
{
    WgmmaForm *f = arena_new_of(g->arena, WgmmaForm);

    *why = open_wgmma(f, g, gr, o);
    return *why ? NULL : f;
}

/* ---- variants ---------------------------------------------------------- */

static int64_t ceil_div(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

size_t wgmma_ring_bytes(const Wgmma *w)
{
    const Tile *t = &w->x.t;

    return (size_t)((t->bm + t->bn) * ROW_BYTES + 16) * (size_t)t->stages;
}

/* Of the parts that 3xtf32 makes, and their barriers. */
static size_t small_bytes(const Contract *x, int bn)
{
    return x->terms == 3 ? (size_t)(bn * ROW_BYTES + 16) * 2 : 0;
}

int wgmma_sharers(const Wgmma *w)
{
    return w->x.t.split * w->parts;
}

/* Blocks that share a tile finish its columns as products have them. */
static int deal_columns(const WgmmaForm *f, int sharers)
{
    return sharers > 1 ? 0 : f->deals;
}

/* Columns that a warp's stores cover at a time: lines of 128 bytes, if they
 * divide what the block finishes. */
static int pack_columns(const WgmmaForm *f, int bn, int split, int parts)
{
    int own = bn / split;

    if (!f->packs || deal_columns(f, split * parts))
        return 0;
    return own % 32 ? 16 : own % 64 ? 32 : 64;
}

/* Of what the blocks of a cluster send each other, and its barrier. */
static size_t sent_bytes(const Tile *t)
{
    return t->split > 1 ? (size_t)(t->bm * t->bn) * 4 + 16 : 0;
}

/* Of 16 rows of them for each consumer warp. */
static size_t pack_bytes(int consumers, int columns)
{
    return (size_t)(consumers * 4 * 16 * columns * 2);
}

/* Registers that a thread may have with n blocks on an SM: its warps are dealt
 * to four quarters. */
static int regs_for(const Device *d, int threads, int n)
{
    int warps = (threads / 32 * n + 3) / 4;
    int regs = d->regs_sm / 4 / 32 / warps / 8 * 8;

    return regs > 255 ? 255 : regs;
}

/* Of a step's rows of a, as they came and as they are multiplied; or of what
 * corrects sums, and the pieces that it is made of. */
static int rows_regs(const Wgmma *w)
{
    const RowMerge *m = w->f->x.gr->merge;

    if (m && m->fold)
        return w->wm / 64 * 4 + 12 +
               (w->consumers == 1 ? (int)m->over->extent : 0);
    return w->f->pre ? w->wm / 64 * 32 + 16 : 0;
}

/* Registers that a consumer needs besides its sums: for the loop, the tile's
 * place, and one piece of the epilogue. Fitted to the fewest that nvcc 13 took
 * without spills for 70 variants of the examples' kernels; of three consumers
 * it gives none all of the 160 that they ask for at run time. */
static int other_regs(const Wgmma *w)
{
    int place = (w->f->tma.m.n > 1 ? 8 : 0) + (w->cluster > 1 ? 16 : 0) +
                (w->consumers == 3 ? 32 : 0);

    return 40 + place + w->f->reads_regs + (w->f->x.library ? 48 : 0) +
           rows_regs(w);
}

int wgmma_budget(const Wgmma *w)
{
    if (w->consumers == 3)
        return 160;
    if (w->f->x.terms == 3)
        return w->f->tma.m.n == 1 || w->x.t.bn > 128 ? 232 : 216;
    return w->cluster > 1 ? 232 : 240;
}

/* Whether one of two warpgroups ends first. Not where copies, not products,
 * take the time (64 bytes a clock): they want the slots for what comes next. 5%
 * more for tiles of 128 x 64. */
static bool leads(const Wgmma *w)
{
    const Tile *t = &w->x.t;

    return w->consumers == 2 && !w->pingpong && wgmma_sharers(w) == 1 &&
           w->f->x.terms != 3 && t->bm * t->bn >= 64 * (t->bm + t->bn);
}

static const char *plan_sizes(Wgmma *w)
{
    const WgmmaForm *f = w->f;
    Tile *t = &w->x.t;
    const Device *d = w->f->x.o->device;
    bool three = w->f->x.terms == 3;

    if (three && (w->pingpong || w->consumers == 3 ||
                  t->bm != 64 * w->consumers))
        return "not a tile of 64 rows a warpgroup, as 3xtf32 has";
    w->wm = w->pingpong ? t->bm : t->bm / w->consumers;
    t->threads = w->consumers * THREADS_WG +
                 (w->consumers > 1 || three ? THREADS_WG : 32);
    w->smem = (wgmma_ring_bytes(w) + small_bytes(&w->f->x, t->bn) +
               pack_bytes(w->consumers, w->pack) +
               sent_bytes(t) + (w->parts > 1 ? 16 : 0) + 1023) / 1024 * 1024;
    if ((double)w->smem > d->smem_block_kb * 1024.0)
        return "more shared memory than a block may have";
    /* Boxes leave during the next tile's products, or the other warpgroup's. A
     * lone consumer's block needs the room for its neighbour, whose products
     * hide its stores. */
    size_t more = pack_bytes(w->consumers, w->pack) + 1024;
    int64_t tiles = w->patch.tiles * ceil_div(w->f->x.c.N, t->bn);
    if (f->plane.tensor && w->pack && !w->x.patch && w->consumers > 1 &&
        wgmma_sharers(w) == 1 && (tiles > d->sms || leads(w)) &&
        (double)(w->smem + more) <= d->smem_block_kb * 1024.0) {
        w->boxes = f->plane;
        w->smem = (w->smem + more + 1023) / 1024 * 1024;
    }
    int sums = w->wm * t->bn / THREADS_WG;
    int wide = w->f->x.elem == T_F32 ? 40 : 0; /* what the epilogue reads */
    w->x.regs = w->consumers == 1   ? sums + wide + 72 + rows_regs(w)
                : w->consumers == 2 ? 168
                                    : 128;
    bool fits = w->consumers == 1 ||
                sums + other_regs(w) <= wgmma_budget(w);
    if (three) { /* two sets of sums, a's parts; the epilogue has one */
        sums = 2 * sums + 32;
        fits = sums <= 192;
        w->x.regs = w->consumers == 1 ? sums + 56 : 168;
    }
    if (!fits)
        return "more sums than registers";
    int fit = (int)(d->smem_sm_kb * 1024.0 / ((double)w->smem + 1024));
    w->resident = fit < 1 ? 1 : fit;
    while (w->resident > 1 && regs_for(d, t->threads, w->resident) < w->x.regs)
        w->resident--;
    int all = w->consumers > 1 ? wgmma_budget(w)
                               : regs_for(d, t->threads, w->resident);
    w->spare = three ? 0 : all - sums - wide - other_regs(w);
    w->spare_rows = three ? 0 : w->spare + f->reads_regs;
    return NULL;
}

static const char *plan_tiles(Wgmma *w)
{
    const Tile *t = &w->x.t;
    const Tma *tma = &w->f->tma;
    int rows = w->patch.rows;

    if (!tma->a.k_major && t->bm % tma->bk)
        return "a tile of half a box";
    if (!tma->b.k_major && t->bn % tma->bk)
        return "a tile of half a box";
    for (int i = 0; i < tma->a.rank; i++)
        if (tma->m.n == 1 && tma->a.dim[i].axis == &tma->m.axis[0] &&
            tma->a.k_major && t->bm * tma->a.dim[i].step > TMA_BOX)
            return "a box longer than 256";
    w->m_tiles = ceil_div(w->patch.tiles, w->cluster);
    w->n_tiles = ceil_div(w->f->x.c.N, t->bn);
    w->k_tiles = tma_k_tiles(tma);
    w->tiles = w->m_tiles * w->n_tiles * w->f->x.c.batches;
    w->stage_bytes = (size_t)(rows + t->bn) * ROW_BYTES;
    if (leads(w)) /* over slots that the other one has freed */
        w->lead = (int)(w->k_tiles < t->stages ? w->k_tiles : t->stages - 1);
    if (w->tiles * wgmma_sharers(w) > 1 << 30)
        return "more than 2^30 tiles";
    int part = tma->b.k_major ? 8 : tma->bk;
    if (w->cluster > 1 && (wgmma_sharers(w) > 1 || tma->b.slides ||
                           w->patch.tiles < w->cluster ||
                           t->bn % (part * w->cluster) ||
                           (w->deal && w->deal / 2 % w->cluster) ||
                           (tma->m.n > 1 && w->patch.tiles % w->cluster)))
        return "tiles that a cluster cannot share";
    if (wgmma_sharers(w) > 1 &&
        (w->pingpong || w->k_tiles < 2 * wgmma_sharers(w)))
        return "too few steps to split";
    if (t->split > MOST_SPLIT || t->bn % t->split || w->own % 16)
        return "columns that a cluster cannot share";
    if (w->f->x.gr->pieces && !wgmma_has_pieces(w))
        return "columns that are no whole pieces of rows";
    return NULL;
}

bool wgmma_skips(const Wgmma *w)
{
    return !w->pingpong && w->cluster == 1 && wgmma_sharers(w) == 1 &&
           w->f->tma.m.n == 1;
}

double wgmma_blocks(const Wgmma *w)
{
    return (double)w->tiles * w->cluster * wgmma_sharers(w) *
           (wgmma_skips(w) ? contract_live(&w->x) : 1);
}

int wgmma_strip(const Wgmma *w)
{
    enum { NEIGHBOURS = 16 };
    int tiles = NEIGHBOURS / w->cluster / wgmma_sharers(w), best = 1;
    double least = 0;

    for (int c = 1; c <= tiles && c <= w->n_tiles; c *= 2) {
        double rows = (double)tiles / c;
        if (rows > (double)w->m_tiles)
            rows = (double)w->m_tiles;
        double reads = (rows * w->x.t.bm * w->cluster +
                        (double)c * w->x.t.bn) / (rows * c);
        if (c == 1 || reads < least) {
            least = reads;
            best = c;
        }
    }
    return best;
}

/* The operand is all of its tensor, without gaps. */
static bool gapless(const TmaOperand *o, int64_t elements)
{
    int64_t step = 1;

    if (o->offset)
        return false;
    for (int i = 0; i < o->rank; i++) {
        if (o->dim[i].stride != step)
            return false;
        step *= o->dim[i].extent;
    }
    return step == elements;
}

bool wgmma_sweeps(const Wgmma *w)
{
    enum { FEW = 4, MOST_BYTES = 5 << 19 };
    const Contraction *c = &w->f->x.c;
    int64_t elements = c->N * c->K;
    bool at_once = (double)w->tiles <=
                   w->f->x.o->device->sms * (double)w->resident;

    return at_once && w->m_tiles >= FEW && c->batches == 1 &&
           w->cluster == 1 && wgmma_sharers(w) == 1 && w->f->x.terms == 1 &&
           elements * type_bytes(w->f->x.elem) <= MOST_BYTES &&
           gapless(&w->f->tma.b, elements);
}

bool wgmma_streams(const Wgmma *w)
{
    return w->m_tiles == 1 && w->leaps > 1;
}

/* Of operands whose rows lie one after the other, one row at most a thread. */
bool wgmma_asks_heads(const Wgmma *w)
{
    const Contraction *c = &w->f->x.c;
    double blocks = w->f->x.o->device->sms * (double)w->resident;

    if ((double)w->tiles < blocks)
        blocks = (double)w->tiles;
    return (w->consumers > 1 || wgmma_streams(w)) && c->batches == 1 &&
           (double)(c->M + c->N) <= blocks * w->consumers * 128 &&
           w->f->tma.a.k_major && w->f->tma.b.k_major && !w->f->tma.a.run &&
           !w->f->tma.b.run && w->f->tma.a.dim[0].extent == c->K &&
           w->f->tma.b.dim[0].extent == c->K &&
           gapless(&w->f->tma.a, c->M * c->K) &&
           gapless(&w->f->tma.b, c->N * c->K);
}

/* Whether b comes but once into a block's slots. Few lines that all SMs read
 * are served one after the other: 17 us became 9.5 for 100352 x 24 x 144. */
static bool stays(const Wgmma *w)
{
    const Contract *x = &w->f->x;
    const Tile *t = &w->x.t;

    return w->n_tiles == 1 && x->c.batches == 1 && wgmma_sharers(w) == 1 &&
           w->cluster == 1 && x->terms != 3 &&
           t->stages % w->k_tiles == 0 &&
           w->tiles > (double)w->resident * x->o->device->sms &&
           kernel_reads_constants(x->c.b.e) &&
           !kernel_reads_constants(x->c.a.e);
}

/* Whether what is under way comes from memory: weights that one tile reads, of
 * a deep ring; or factors that the L2 does not hold, where tiles run one after
 * the other (by turns two of them are at different k as it is: 3% more). */
static bool from_memory(const Wgmma *w, int places)
{
    const Contraction *c = &w->f->x.c;
    double bytes = (double)(c->M + c->N) * (double)c->K *
                   type_bytes(w->f->x.elem);

    if (w->m_tiles == 1)
        return w->x.t.stages >= 2 * places;
    return !w->pingpong && w->f->tma.a.rank == 2 && w->f->tma.a.k_major &&
           w->x.t.stages >= places && bytes > w->f->x.o->device->l2_mb * 1e6;
}

/* Where rows lie on the same channels of the memory, four places that lie apart
 * along k are under way at one time (see dcc_leap): 1% to 3.5% less for 64 x
 * 8192 x 8192 in four runs, 10% in tiles of 32 columns, 3% for 4096 x 14336 x
 * 4096, 1% for 8192^3; two places are no better than one for few rows. */
static int leaps(const Wgmma *w)
{
    enum { FAR = 4096, LEAPS = 4 };
    const Tma *tma = &w->f->tma;
    int64_t k_tiles = w->k_tiles / w->x.t.split;
    int64_t bytes = k_tiles * w->x.t.bk * type_bytes(w->f->x.elem);

    if (w->parts > 1 || !from_memory(w, LEAPS) || tma->k.n > 1 ||
        tma->b.rank != 2 || !tma->b.k_major ||
        w->f->x.c.K * type_bytes(w->f->x.elem) % FAR ||
        w->k_tiles % (w->x.t.split * LEAPS))
        return 1;
    return bytes < (w->m_tiles == 1 ? LEAPS : 2) * FAR ? 1 : LEAPS;
}

const char *wgmma_plan(Wgmma *w, const WgmmaForm *f, const Variant *v)
{
    const int *k = v->knob;
    const char *why;

    memset(w, 0, sizeof *w);
    w->f = f;
    w->x = (ContractPlan){.f = &f->x, .a = {.op = &f->x.c.a},
                          .b = {.op = &f->x.c.b}};
    w->x.t = (Tile){.bm = k[KNOB_BM], .bn = k[KNOB_BN], .bk = f->tma.bk,
                    .stages = k[KNOB_STAGES], .split = k[KNOB_SPLIT],
                    .wn = k[KNOB_BN]};
    w->consumers = k[KNOB_CONSUMERS];
    w->pingpong = k[KNOB_PINGPONG];
    w->cluster = k[KNOB_CLUSTER];
    w->parts = k[KNOB_PARTS];
    w->patch = tma_patch(&w->f->tma, w->x.t.bm);
    w->x.patch = w->f->tma.m.n > 1 && !w->patch.im2col;
    w->own = w->x.t.bn / w->x.t.split;
    w->deal = deal_columns(f, wgmma_sharers(w));
    w->pack = pack_columns(f, w->x.t.bn, w->x.t.split, w->parts);
    if ((why = plan_sizes(w)))
        return why;
    w->x.t.wm = w->wm;
    if ((why = plan_tiles(w)))
        return why;
    w->stays = stays(w);
    w->leaps = leaps(w);
    return NULL;
}

static const char *variant_text(Graph *g, const int *k)
{
    return arena_printf(g->arena,
                        "bm=%d bn=%d stages=%d consumers=%d schedule=%s "
                        "cluster=%d split=%d%s",
                        k[KNOB_BM], k[KNOB_BN], k[KNOB_STAGES],
                        k[KNOB_CONSUMERS],
                        k[KNOB_PINGPONG] ? "pingpong" : "cooperative",
                        k[KNOB_CLUSTER], k[KNOB_SPLIT],
                        k[KNOB_PARTS] == 1
                            ? ""
                            : arena_printf(g->arena, " parts=%d",
                                           k[KNOB_PARTS]));
}

/* Tiles of which half would do are left out. */
static bool sensible(const WgmmaForm *f, const Shape *s)
{
    if (s->bm > 64 && s->bm / 2 >= f->x.c.M)
        return false;
    return s->bn <= 32 || s->bn / 2 < f->x.c.N;
}

/* Whether no block has a second tile. */
static bool one_each(const WgmmaForm *f, int64_t tiles)
{
    return tiles <= f->x.o->device->sms;
}

/* Stages that fit `blocks` on an SM, no more than steps; of a single step, and
 * of tiles in turns, there are more where a block has more tiles. */
static int stages_for(const WgmmaForm *f, const Shape *s, int blocks,
                      int split, int parts, int64_t tiles)
{
    const Device *d = f->x.o->device;
    const Tile tile = {.bm = s->bm, .bn = s->bn, .split = split};
    int64_t k_tiles = ceil_div(tma_k_tiles(&f->tma), split * parts);
    int room = d->smem_sm_kb * 1024 / blocks - 1024 - 1040;
    room -= (int)(pack_bytes(s->consumers,
                             pack_columns(f, s->bn, split, parts)) +
                  sent_bytes(&tile) + 16);
    int n = (room - (int)small_bytes(&f->x, s->bn)) /
            ((s->bm + s->bn) * ROW_BYTES + 16);

    if (n > MOST_STAGES)
        n = MOST_STAGES;
    if (n > k_tiles && k_tiles >= 2 && !s->pingpong)
        n = (int)k_tiles;
    if (n > 2 && k_tiles < 2 && one_each(f, tiles * split))
        n = 2;
    /* wgmma_rounds() is worth a stage */
    if (s->pingpong && f->x.special > 0 && n > 2 && k_tiles % n &&
        k_tiles % (n - 1) == 0)
        n--;
    return n;
}

typedef struct Space {
    const WgmmaForm *form;
    Graph *g;
    Variant *v;
    int n, most;
} Space;

static void add_variant(Space *s, const Shape *sh, int stages, int cluster,
                        int split, int parts)
{
    Variant *v = &s->v[s->n];
    Wgmma w;

    if (s->n == s->most || stages < 2)
        return;
    *v = (Variant){.knob = {sh->bm, sh->bn, stages, sh->consumers, sh->pingpong,
                            cluster, split, parts}};
    if (wgmma_plan(&w, s->form, v))
        return;
    v->text = variant_text(s->g, v->knob);
    s->n++;
}

/* Parts of a long sum, of which a block has one and the last one of a tile adds
 * all up, for as many blocks as SMs hold or half as many. */
static void add_parts(Space *s, const Shape *sh, int blocks, int split,
                      int64_t tiles)
{
    enum { STEPS = 8 }; /* of a part, at least */
    const Device *d = s->form->x.o->device;
    int sms = split > 2 && d->cluster_sms ? d->cluster_sms : d->sms;
    int64_t most = tma_k_tiles(&s->form->tma) / (STEPS * split);
    int64_t parts = sms * blocks / (tiles * split);

    if (sh->pingpong || s->form->x.gr->merge || s->form->x.gr->pieces ||
        s->form->pre || s->form->x.terms == 3)
        return;
    if (parts > most)
        parts = most;
    for (int i = 0; i < 2 && parts >= 2; i++, parts /= 2)
        add_variant(s, sh,
                    stages_for(s->form, sh, blocks, split, (int)parts, tiles),
                    1, split, (int)parts);
}

static void add_shape(Space *s, const Shape *sh)
{
    int64_t tiles = tma_patch(&s->form->tma, sh->bm).tiles *
                    ceil_div(s->form->x.c.N, sh->bn) * s->form->x.c.batches;
    int sms = s->form->x.o->device->sms;
    /* copies take the time: more blocks share them */
    bool off = tma_off_sectors(&s->form->tma.a) ||
               tma_off_sectors(&s->form->tma.b);

    /* nothing to take turns at; and rows are computed beside the products of
       others better than one's own */
    if (sh->pingpong && (one_each(s->form, tiles) || s->form->pre))
        return;
    /* nvcc spills what corrects so many sums of a row */
    if (sh->pingpong && sh->bn > 128 && s->form->x.gr->merge)
        return;
    for (int split = 1; split <= MOST_SPLIT; split *= 2) {
        int last = 0;
        /* those of a norm would each merge the rows' pieces */
        if (split > 1 && (tiles * split > 2 * sms || s->form->x.gr->merge))
            break;
        for (int blocks = 1; blocks <= (sh->consumers == 1 ? 3 : 1); blocks++) {
            int stages = stages_for(s->form, sh, blocks, split, 1, tiles);
            add_parts(s, sh, blocks, split, tiles);
            if (stages == last)
                continue;
            last = stages;
            if (split == 1)
                add_variant(s, sh, stages, 2, 1, 1);
            if (split == 1 && off)
                add_variant(s, sh, stages, 4, 1, 1);
            add_variant(s, sh, stages, 1, split, 1);
        }
    }
}

static int space(const void *form, Variant **out)
{
    enum { MOST = 400 };
    Graph *g = ((const WgmmaForm *)form)->x.g;
    Space s = {.form = form, .g = g, .most = MOST};

    *out = s.v = arena_array(g->arena, Variant, MOST);
    for (int i = 0; i < N_SHAPES; i++)
        if (sensible(form, &shapes[i]))
            add_shape(&s, &shapes[i]);
    return s.n;
}

double wgmma_sms(const Wgmma *w)
{
    const Device *d = w->f->x.o->device;

    return (w->x.t.split > 2 || w->cluster > 2) && d->cluster_sms
               ? d->cluster_sms
               : d->sms;
}

static void build(const void *form, const Variant *v, Kernel *k)
{
    Wgmma w;

    if (wgmma_plan(&w, form, v))
        return;
    wgmma_build(&w, k);
    k->variant = v->text;
}

const Family family_contract_wgmma = {
    .name = "contract_wgmma",
    .version = 1,
    .open = open,
    .space = space,
    .cost = wgmma_cost,
    .build = build,
};
