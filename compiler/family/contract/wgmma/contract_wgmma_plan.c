#include "family/contract/wgmma/contract_wgmma.h"

#include "group/groups.h"

#include <math.h>
#include <string.h>

/* What a variant of wgmma decides: sizes, registers, and what follows from
 * them. The order of tiles is contract_wgmma_order.c's. */

enum { WORD = 8 /* elements */ };
enum { THREADS_WG = 128, ROW_BYTES = TMA_ROW, MOST_STAGES = 10,
       SPLIT_REGS = 72 /* of a thread that splits b of 3xtf32 */ };

static int64_t ceil_div(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

int wgmma_result_bytes(const Contract *x)
{
    int most = 0;

    for (int i = 0; i < x->gr->n_step; i++) {
        const Tensor *t = x->gr->step[i].tensor;
        if (t && type_bytes(t->type) > most)
            most = type_bytes(t->type);
    }
    return most;
}

int wgmma_columns(const Contract *x)
{
    return wgmma_result_bytes(x) == 4 ? 4 : 8;
}

bool wgmma_simple(const WgmmaForm *f)
{
    return !f->rows_read && !f->pre && !f->x.gr->merge && !f->x.gr->pieces &&
           f->deals && f->x.terms == 1;
}

/* Whether the last tile of rows may begin where it ends with the last row:
 * TMA goes along neighbours from multiples of 16 bytes. */
static bool last_aligned(const Wgmma *w)
{
    const Contract *x = &w->f->x;

    return w->f->tma.a.k_major || x->c.M * type_bytes(x->elem) % 16 == 0;
}

bool wgmma_overlaps(const Wgmma *w)
{
    const Contraction *c = &w->f->x.c;

    return wgmma_simple(w->f) && !w->f->x.gr->factor_sum && last_aligned(w) &&
           w->f->tma.m.n == 1 &&
           !w->patch.im2col && !w->f->tma.a.slides && !w->f->tma.a.run &&
           !w->boxes.tensor && contract_live(&w->x) >= 1 && w->m_tiles > 1 &&
           w->cluster == 1 && c->M > w->x.t.bm && c->M % w->x.t.bm;
}

int wgmma_slot_rows(const WgmmaForm *f, int bm, int bn)
{
    enum { STEP = 16 }; /* two blocks may share them */
    int64_t rows = ceil_div(f->x.c.M, STEP) * STEP;
    bool plain = f->tma.m.n == 1 && f->tma.a.k_major && !f->tma.a.slides &&
                 !f->tma.pixels && !f->pre && f->x.terms == 1;

    if (rows < bm - bn) /* what products read ends within b's first slot */
        rows = bm - bn;
    return plain && rows < bm ? (int)rows : bm;
}

int wgmma_slot_columns(const WgmmaForm *f, int bn)
{
    int box = f->tma.bk;

    return f->tma.b.k_major ? bn : (bn + box - 1) / box * box;
}

size_t wgmma_ring_bytes(const Wgmma *w)
{
    const Tile *t = &w->x.t;
    int rows = w->rows + (w->stays ? 0 : wgmma_slot_columns(w->f, t->bn));

    return (size_t)(rows * ROW_BYTES + 16) * (size_t)t->stages;
}

int wgmma_shares(const Wgmma *w, const TmaOperand *o)
{
    return o == &w->f->tma.a ? w->beside : w->below;
}

bool wgmma_crosses(const Wgmma *w)
{
    return w->beside > 1 && w->below > 1;
}

int wgmma_sharers(const Wgmma *w)
{
    return w->x.t.split * w->parts;
}

/* Blocks that share a tile finish its columns as products have them; where four
 * lanes would have too many, each has half of them. */
static int deal_columns(const WgmmaForm *f, int bn, int sharers)
{
    if (sharers > 1)
        return 0;
    return bn % (4 * f->deals + !f->deals) ? f->deals / 2 : f->deals;
}

/* Columns that a warp's stores cover at a time: lines of 128 bytes, if they
 * divide what the block finishes. */
static int pack_columns(const WgmmaForm *f, int bn, int split, int parts)
{
    enum { BOX = 64 };
    int own = bn / split;

    if (f->turned)
        return BOX;
    if (!f->packs || deal_columns(f, bn, split * parts) ||
        (f->x.gr->pieces && f->x.gr->pieces->down)) /* of 8 columns */
        return 0;
    return own % 32 ? 16 : own % 64 ? 32 : 64;
}

/* Of what the blocks of a cluster send each other, and its barrier. */
static size_t sent_bytes(const Tile *t)
{
    return t->split > 1 ? (size_t)(t->bm * t->bn) * 4 + 16 : 0;
}

/* Of 16 rows of them for each consumer warp; or two boxes of a warpgroup. */
static size_t pack_bytes(const WgmmaForm *f, int consumers, int columns)
{
    return (size_t)(consumers * (f->turned ? 2 : 4) * 16 * columns * 2);
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

int wgmma_reads_regs(const Wgmma *w)
{
    return w->inputs ? w->f->more_reads_regs : w->f->reads_regs;
}

bool wgmma_reads_rows(const Wgmma *w)
{
    return w->inputs ? w->f->more_rows_read : w->f->rows_read;
}

bool wgmma_quads(const Wgmma *w)
{
    const Contract *x = &w->f->x;

    return wgmma_result_bytes(x) == 4 && w->own % 32 == 0 && !w->deal &&
           !w->f->turned && x->terms == 1 && !x->gr->pieces && !x->gr->merge &&
           !wgmma_reads_rows(w) && contract_columns(x, 4) == 4;
}

/* Registers that a consumer needs besides its sums: for the loop, the tile's
 * place, and one piece of the epilogue. Fitted to the fewest that nvcc 13 took
 * without spills for 70 variants of the examples' kernels; of three consumers
 * it gives none all of the 160 that they ask for at run time. Those whose rows
 * are columns of the result finish them 16 at a time by two pointers. */
static int other_regs(const Wgmma *w)
{
    bool plain = wgmma_simple(w->f) && w->f->tma.m.n == 1;
    int place = (w->f->tma.m.n > 1 ? 8 : 0) +
                (w->cluster > 1 && !plain ? 16 : 0) +
                (w->consumers < 3 ? 0 : w->f->turned ? 20 : 32);

    return 40 + place + wgmma_reads_regs(w) + w->f->more_regs +
           (w->f->x.library ? 48 : 0) + rows_regs(w) + wgmma_factor_regs(w);
}

int wgmma_budget(const Wgmma *w)
{
    if (w->consumers == 3)
        return w->f->x.terms == 3 ? 152 : 160;
    if (w->consumers == 1)
        return 2 * 128 - SPLIT_REGS;
    if (w->f->x.terms == 3)
        return (w->f->tma.m.n == 1 || w->x.t.bn > 128) && !wgmma_turns_b(w->f)
                   ? 232
                   : 216;
    return w->cluster > 1 ? 232 : 240;
}

/* Whether one of two warpgroups ends first. Not where copies, not products,
 * take the time (64 bytes a clock): they want the slots for what comes next. */
static bool leads(const Wgmma *w)
{
    const Tile *t = &w->x.t;

    return w->consumers == 2 && !w->pingpong && wgmma_sharers(w) == 1 &&
           w->f->x.terms != 3 && t->bm * t->bn >= 64 * (t->bm + t->bn);
}

/* Whether a variant's columns are whole tiles, and those a block's own. */
static bool takes_inputs(const Wgmma *w)
{
    return w->f->x.c.N % w->x.t.bn == 0 && wgmma_sharers(w) == 1 &&
           !w->x.patch && !w->x.apart && !w->pack &&
           (!w->deal ||
            (w->deal == WORD && wgmma_result_bytes(&w->f->x) == 2));
}

static const char *plan_sizes(Wgmma *w)
{
    const WgmmaForm *f = w->f;
    Tile *t = &w->x.t;
    const Device *d = w->f->x.o->device;
    bool three = w->f->x.terms == 3;

    if (three && (w->pingpong || t->bm != 64 * w->consumers))
        return "not a tile of 64 rows a warpgroup, as 3xtf32 has";
    w->wm = w->pingpong ? t->bm : t->bm / w->consumers;
    const WgmmaShape s = {t->bm, t->bn, w->consumers, w->pingpong};
    size_t inputs = takes_inputs(w) ? wgmma_input_bytes(f, &s) : 0;
    w->inputs = inputs ? wgmma_input_slots(f, &s) : 0;
    t->threads = w->consumers * THREADS_WG +
                 (w->consumers > 1 || three ? THREADS_WG : 32);
    w->smem = (wgmma_ring_bytes(w) + w->kept_bytes +
               wgmma_part_bytes(w->f, t->bn) +
               wgmma_factor_bytes(f) + inputs +
               pack_bytes(f, w->consumers, w->pack) + sent_bytes(t) +
               wgmma_row_sum_bytes(f, w->consumers * w->wm, t->bn) +
               (w->parts > 1 ? 16 : 0) + 1023) / 1024 * 1024;
    if ((double)w->smem > d->smem_block_kb * 1024.0)
        return "more shared memory than a block may have";
    /* Boxes leave during the next tile's products, or the other warpgroup's. A
     * lone consumer's block needs the room for its neighbour, whose products
     * hide its stores. */
    size_t more = pack_bytes(f, w->consumers, w->pack) + 1024;
    int64_t tiles = w->patch.tiles * w->n_tiles;
    w->boxes = f->turned ? f->plane : (Plane){0};
    if (!f->turned && f->plane.tensor && w->pack && !w->x.patch &&
        w->consumers > 1 && wgmma_sharers(w) == 1 &&
        (tiles > d->sms || leads(w)) &&
        (double)(w->smem + more) <= d->smem_block_kb * 1024.0) {
        w->boxes = f->plane;
        w->smem = (w->smem + more + 1023) / 1024 * 1024;
    }
    int sums = w->wm * t->bn / THREADS_WG;
    int wide = w->f->x.elem == T_F32 ? 40 : 0; /* what the epilogue reads */
    w->x.regs = w->consumers == 1   ? sums + wide + 72 + rows_regs(w) +
                                        wgmma_row_sum_regs(f)
                : w->consumers == 2 ? 168
                                    : 128;
    bool fits = w->consumers == 1 ||
                sums + other_regs(w) <= wgmma_budget(w);
    if (three) { /* two sets of sums, a's parts; the epilogue has one */
        sums = 2 * sums + 32;
        int places = f->x.c.n_batch ? 8 : 0;
        fits = sums + places <= (w->consumers == 3 ? 112 : 192);
        w->x.regs = w->consumers == 1   ? (sums + 56 + SPLIT_REGS) / 2
                    : w->consumers == 2 ? 168
                                        : 128;
    }
    if (!fits)
        return "more sums than registers";
    int fit = (int)(d->smem_sm_kb * 1024.0 / ((double)w->smem + 1024));
    w->resident = fit < 1 ? 1 : fit;
    while (w->resident > 1 &&
           model_thread_regs(d, t->threads, w->resident) < w->x.regs)
        w->resident--;
    int all = w->consumers > 1 ? wgmma_budget(w)
                               : model_thread_regs(d, t->threads, w->resident);
    w->spare = three ? 0 : all - sums - wide - other_regs(w);
    w->spare_rows = three ? 0 : w->spare + wgmma_reads_regs(w);
    return NULL;
}

/* Whether a tile of b's columns may begin in the middle of what would be a
 * box: they are one dimension, and lie where they are. Every other tile's rows
 * are then asked of two lines each, which three warpgroups' products hide; one
 * or two, where all of the few steps are under way at once. */
static bool boxes_anywhere(const Wgmma *w)
{
    enum { HIDE = 3, FEW = 2 };
    const Tma *tma = &w->f->tma;
    int dims = 0;

    if ((w->consumers < HIDE && w->k_tiles > FEW) || wgmma_turns_b(w->f))
        return false;

    for (int i = 0; i < tma->b.rank; i++)
        dims += tma->b.dim[i].axis == &tma->n.axis[0];
    return dims == 1 && !tma->b.slides;
}

static const char *plan_tiles(Wgmma *w)
{
    const Tile *t = &w->x.t;
    const Tma *tma = &w->f->tma;
    int rows = w->rows < t->bm ? w->rows : w->patch.rows;

    if (!tma->a.k_major && t->bm % tma->bk)
        return "a tile of half a box";
    if (!tma->b.k_major && t->bn % tma->bk && !boxes_anywhere(w))
        return "a tile of half a box";
    for (int i = 0; i < tma->a.rank; i++)
        if (tma->m.n == 1 && tma->a.dim[i].axis == &tma->m.axis[0] &&
            tma->a.k_major && t->bm * tma->a.dim[i].step > TMA_BOX)
            return "a box longer than 256";
    if (!w->pingpong && (w->consumers - 1) * w->wm >= w->rows)
        return "a warpgroup without rows";
    int beside = w->beside, below = w->below;
    if (w->rows % (8 * beside) ||
        (beside > 1 && (!tma->a.k_major || tma->a.slides || tma->m.n > 1 ||
                       w->patch.im2col)))
        return "rows that a cluster cannot share";
    w->stage_bytes =
        (size_t)(rows + (w->stays ? 0 : wgmma_slot_columns(w->f, t->bn))) *
        ROW_BYTES;
    if (leads(w)) /* over slots that the other one has freed */
        w->lead = (int)(w->least_steps < t->stages ? w->least_steps
                                                   : t->stages - 1);
    if (w->tiles * wgmma_sharers(w) > 1 << 30)
        return "more than 2^30 tiles";
    int part = tma->b.k_major ? 8 : tma->bk;
    if (w->cluster > 1 && (wgmma_sharers(w) > 1 || tma->b.slides ||
                           w->patch.tiles < below ||
                           t->bn % (part * below) ||
                           (w->deal && w->deal / 2 % below) ||
                           (tma->m.n > 1 && w->patch.tiles % w->cluster)))
        return "tiles that a cluster cannot share";
    if (wgmma_sharers(w) > 1 &&
        (w->pingpong || w->least_steps < 2 * wgmma_sharers(w)))
        return "too few steps to split";
    if (t->split > 1 && (t->split > WGMMA_MOST_SPLIT || t->bn % t->split ||
                         w->own % 16 || w->f->turned))
        return "columns that a cluster cannot share";
    if (w->f->x.gr->pieces && !wgmma_has_pieces(w))
        return "columns that are no whole pieces of rows";
    if (w->f->x.gr->factor_sum && !wgmma_has_factor(w))
        return "a factor that is not a block's own";
    return NULL;
}

bool wgmma_skips(const Wgmma *w)
{
    return !w->pingpong && w->cluster == 1 && wgmma_sharers(w) == 1 &&
           w->f->tma.m.n == 1;
}

bool wgmma_reaches(const Wgmma *w)
{
    const Tma *t = &w->f->tma;

    return wgmma_skips(w) && contract_reaches(&w->x) && !w->stays &&
           !w->f->pre && t->k.n == 1 && !t->a.slides && !t->b.slides;
}

double wgmma_blocks(const Wgmma *w)
{
    return (double)w->tiles * w->cluster * wgmma_sharers(w) *
           (wgmma_skips(w) ? contract_live(&w->x) : 1);
}

int64_t wgmma_at_once(const Wgmma *w)
{
    return (int64_t)wgmma_sms(w) * w->resident / w->cluster;
}

/* Of a block, at most. */
static int64_t tile_steps(const Wgmma *w)
{
    return ceil_div(w->k_tiles, wgmma_sharers(w));
}

bool wgmma_turns(const Wgmma *w)
{
    bool one = wgmma_sharers(w) > 1 || w->tiles <= wgmma_at_once(w);

    return !one || tile_steps(w) > w->x.t.stages || w->pingpong ||
           w->f->x.terms == 3;
}

void wgmma_used_slots(Wgmma *w)
{
    size_t ring = wgmma_ring_bytes(w);

    if (wgmma_turns(w) || tile_steps(w) == w->x.t.stages)
        return;
    w->x.t.stages = (int)tile_steps(w);
    w->smem = (w->smem - ring + wgmma_ring_bytes(w) + 1023) / 1024 * 1024;
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

/* Whether b comes but once into a block, and takes no more room than in the
 * ring. TMA takes its time over rows that are no whole lines, and few lines
 * that all SMs read are served one after the other. Rows of whole lines come
 * with a's: all would wait for all of b. */
static bool may_stay(const Wgmma *w)
{
    const Contract *x = &w->f->x;

    return w->n_tiles == 1 && x->c.batches == 1 && wgmma_sharers(w) == 1 &&
           w->cluster == 1 && x->terms != 3 && w->k_tiles <= w->x.t.stages &&
           tma_off(&w->f->tma.b, L2_LINE) && !w->f->tma.b.slides &&
           !kernel_reads_constants(x->c.a.e);
}

/* Sizes, with a b that stays if it may and a block has several tiles. */
static const char *plan_room(Wgmma *w)
{
    const Tile *t = &w->x.t;
    const char *why = NULL;

    w->stays = may_stay(w);
    if (w->stays)
        w->kept_bytes = (size_t)(wgmma_slot_columns(w->f, t->bn) * ROW_BYTES) *
                            (size_t)w->k_tiles + 8;
    why = plan_sizes(w);
    if (why || !w->stays ||
        w->tiles > (double)w->resident * w->f->x.o->device->sms)
        return why;
    w->stays = false;
    w->kept_bytes = 0;
    return plan_sizes(w);
}

/* Whether what is under way comes from memory: weights that one tile reads, of
 * a deep ring; or factors that the L2 does not hold, where tiles run one after
 * the other (by turns two of them are at different k as it is). */
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
 * along k are under way at one time (see dcc_leap); two places are no better
 * than one for few rows. */
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

/* Results' lines may begin at any element, but every sixteenth one's as the
 * first does: a tile of such rows, whose columns begin up to 15 earlier, is
 * stored as whole sectors. Of every eighth one, as whole words, but two tiles
 * share a sector of each line, half of which may have left the L2 by then if
 * the result is a great one. Else words are made of what lies beside each
 * other, and parts of them stored alone. */
static int rows_apart(const Wgmma *w)
{
    const WgmmaForm *f = w->f;
    const TmaOperand *a = &f->tma.a;
    enum { SECTOR = L2_SECTOR / 2, MOST = 1 << 30 };
    int along = 0;

    for (int d = 0; d < a->rank; d++)
        if (a->dim[d].axis && a->dim[d].axis == &f->tma.m.axis[0])
            along += a->dim[d].step == 1 && idx_is_var(a->dim[d].at) ? 1 : 2;
    if (!f->lines.tensor || !w->pack || f->tma.m.n != 1 || along != 1 ||
        !a->k_major || a->run || a->slides || w->patch.im2col ||
        w->cluster > 1 || wgmma_sharers(w) > 1 || f->pre || f->x.terms != 1 ||
        contract_live(&w->x) != 1)
        return 0;
    if (f->x.c.M % (SECTOR * w->x.t.bm) == 0)
        return SECTOR;
    return f->x.c.M % (WORD * w->x.t.bm) == 0 &&
                   f->x.c.M * f->lines.pitch * 2 <= MOST
               ? WORD
               : 0;
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
    w->beside = k[KNOB_BESIDE];
    w->below = w->cluster / w->beside;
    w->parts = k[KNOB_PARTS];
    w->patch = tma_patch(&w->f->tma, w->x.t.bm);
    w->rows = wgmma_slot_rows(f, w->x.t.bm, w->x.t.bn);
    w->x.patch = w->f->tma.m.n > 1 && !w->patch.im2col;
    w->own = w->x.t.bn / w->x.t.split;
    w->deal = deal_columns(f, w->x.t.bn, wgmma_sharers(w));
    w->pack = pack_columns(f, w->x.t.bn, w->x.t.split, w->parts);
    w->m_tiles = ceil_div(w->patch.tiles, w->below);
    w->x.apart = rows_apart(w);
    int64_t columns = f->x.c.N + (w->x.apart ? w->x.apart - 1 : 0);
    w->n_tiles = ceil_div(ceil_div(columns, w->x.t.bn), w->beside);
    w->k_tiles = tma_k_tiles(&f->tma);
    w->least_steps = f->tma.least;
    w->mean_steps = f->tma.mean;
    w->tiles = w->m_tiles * w->n_tiles * f->x.c.batches;
    if ((why = plan_room(w)))
        return why;
    w->x.t.wm = w->wm;
    if ((why = plan_tiles(w)))
        return why;
    w->leaps = wgmma_reaches(w) ? 1 : leaps(w);
    if (wgmma_reaches(w))
        w->mean_steps *=
            contract_reach(&w->x, wgmma_blocks(w) / wgmma_sms(w));
    return NULL;
}

/* Stages that fit `blocks` on an SM. */
static int room_stages(const WgmmaForm *f, const WgmmaShape *s, int blocks,
                       int split, int parts)
{
    const Device *d = f->x.o->device;
    const Tile tile = {.bm = s->bm, .bn = s->bn, .split = split};
    int room = d->smem_sm_kb * 1024 / blocks - 1024 - 1040;
    int rows = wgmma_slot_rows(f, s->bm, s->bn);

    room -= (int)(pack_bytes(f, s->consumers,
                             pack_columns(f, s->bn, split, parts)) +
                  wgmma_row_sum_bytes(
                      f, s->pingpong ? s->consumers * s->bm : s->bm, s->bn) +
                  wgmma_factor_bytes(f) + sent_bytes(&tile) + 16);
    room -= split * parts == 1 ? (int)wgmma_input_bytes(f, s) : 0;
    int n = (room - (int)wgmma_part_bytes(f, s->bn)) /
            ((rows + wgmma_slot_columns(f, s->bn)) * ROW_BYTES + 16);
    int most = rows < s->bm ? 2 * MOST_STAGES : MOST_STAGES;
    return n > most ? most : n;
}

/* No more than steps; of a single step, and of tiles in turns, there are more
 * where a block has more tiles. */
int wgmma_stages(const WgmmaForm *f, const WgmmaShape *s, int blocks,
                 int split, int parts, int64_t tiles)
{
    int64_t k_tiles = ceil_div(tma_k_tiles(&f->tma), split * parts);
    int n = room_stages(f, s, blocks, split, parts);

    if (n > k_tiles && k_tiles >= 2 && !s->pingpong)
        n = (int)k_tiles;
    if (n > 2 && k_tiles < 2 && tiles * split <= f->x.o->device->sms)
        n = 2;
    /* wgmma_rounds() is worth a stage */
    if (s->pingpong && f->x.special > 0 && n > 2 && k_tiles % n &&
        k_tiles % (n - 1) == 0)
        n--;
    return n;
}

int wgmma_deeper(const WgmmaForm *f, const WgmmaShape *s, int64_t tiles)
{
    int64_t k_tiles = tma_k_tiles(&f->tma);
    int n = room_stages(f, s, 1, 1, 1);

    return k_tiles >= 2 && k_tiles <= n / 2 && !s->pingpong &&
                   tiles > f->x.o->device->sms
               ? (int)(n - n % k_tiles)
               : 0;
}

double wgmma_sms(const Wgmma *w)
{
    const Device *d = w->f->x.o->device;

    return (w->x.t.split > 2 || w->cluster > 2) && d->cluster_sms
               ? d->cluster_sms
               : d->sms;
}

bool wgmma_dealt(const Wgmma *w, const TmaOperand *o, int d)
{
    return w->deal && o == &w->f->tma.b && o->k_major &&
           o->dim[d].axis == &w->f->tma.n.axis[0];
}

bool wgmma_apart(const Wgmma *w, const TmaOperand *o, int d)
{
    return w->x.apart && o == &w->f->tma.a &&
           o->dim[d].axis == &w->f->tma.m.axis[0];
}

/* More of them keep the consumers from their first step: of tiles of several
 * warpgroups, whose slots are large, or of a cluster half as many do. */
int wgmma_early(const Wgmma *w)
{
    enum { FEW = 4 };
    int few = w->cluster > 1 || w->consumers > 1 ? FEW / 2 : FEW;
    int steps = w->x.t.stages < few ? w->x.t.stages : few;

    return w->least_steps < steps ? (int)w->least_steps : steps;
}

int wgmma_rows_ahead(const Wgmma *w)
{
    int all = w->own / 32;

    for (int n = all; n >= 1 && w->parts == 1; n--)
        if (all % n == 0 &&
            n * (w->wm / 32) * 4 + WGMMA_BESIDE <= w->spare_rows)
            return n;
    return 0;
}

/* Beside another warpgroup's functions, what stands between two steps' products
 * takes longer than the tensor cores have work for; where tiles are whole
 * rounds of the ring, its slots are constants there, and nothing is computed
 * from them. */
bool wgmma_rounds(const Wgmma *w)
{
    return w->pingpong && !w->f->pre && w->f->x.special > 0 &&
           !w->f->tma.taps.n && w->k_tiles % w->x.t.stages == 0;
}

bool wgmma_tells(const Wgmma *w)
{
    return w->lead && (w->lead + w->least_steps <= w->x.t.stages ||
                       wgmma_reaches(w));
}

const char *wgmma_top(const Wgmma *w)
{
    return !w->pingpong && w->consumers > 1 ? "warpgroup * WM + " : "";
}

typedef struct Uses {
    const Tensor *t;
    const Expr *mapped; /* what TMA reads, or NULL */
    bool found;
} Uses;

static void find_use(const Expr *e, void *ctx)
{
    Uses *u = ctx;

    u->found |= e->kind == E_READ && e->tensor == u->t &&
                !(u->mapped && expr_equal(e, u->mapped));
}

bool wgmma_touches(const Wgmma *w, const Tensor *t)
{
    const Group *gr = w->f->x.gr;
    Uses u = {t, NULL, false};
    bool mapped = w->inputs && wgmma_is_input(w->f, t);

    for (int i = 0; i < gr->n_step; i++) {
        const Step *s = &gr->step[i];
        if (s->op == R_NONE && !s->over_cols && !mapped)
            expr_visit(s->value, find_use, &u);
        u.found |= s->tensor == t && !w->boxes.tensor;
    }
    if (w->f->x.c.range)
        expr_visit(w->f->x.c.range, find_use, &u);
    u.mapped = w->f->x.c.a.read;
    if (w->f->pre)
        expr_visit(w->f->pre, find_use, &u);
    return u.found;
}
