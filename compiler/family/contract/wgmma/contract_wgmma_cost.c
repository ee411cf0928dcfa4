#include "family/contract/wgmma/contract_wgmma.h"

#include "group/groups.h"

#include <math.h>
#include <string.h>

/* What a variant of wgmma costs: the timeline of a block in clocks. */

/* Clocks of the tensor cores under load in a microsecond. */
static double loaded_clk_us(const Device *d)
{
    return d->wgmma_tflops * MEGA / (d->sms * (double)WGMMA_OPS);
}

/* Blocks that share an SM, as far as there are any. */
static double crowd(const Wgmma *w)
{
    return fmax(1, fmin(w->resident, wgmma_blocks(w) / w->f->x.o->device->sms));
}

static bool is_crowded(const Wgmma *w)
{
    return floor(2 * crowd(w)) > 2;
}

/* Of one step of a block: products; shared memory read by them, and written by
 * TMA, a row a clock. 3xtf32: three products with a from registers; b's parts
 * are read once more and written. */
typedef struct Clocks {
    double math, reads, writes;
} Clocks;

static double taken(const Wgmma *w)
{
    return w->f->tma.pair.taken > 0 ? w->f->tma.pair.taken : 1;
}

static Clocks step_of(const Wgmma *w)
{
    double bm = w->x.t.bm, bn = w->x.t.bn, groups = bm / WGMMA_M;
    /* a row has twice as many elements of 16 bits as of 32, and the products
     * take half as long */
    double math =
        bm * bn * TMA_ROW / WGMMA_OPS * w->f->x.terms * taken(w);
    double whole = wgmma_slot_columns(w->f, w->x.t.bn);

    if (w->f->x.terms > 1) /* of a b that is turned both parts are written */
        return (Clocks){math, groups * w->f->x.terms * bn + bm + bn,
                        bm + (wgmma_turns_b(w->f) ? 2 + 1 : 2) * bn};
    /* Of a box within which the columns end all is written; and products take
     * as long as if they read all of it, but not three warpgroups', of whose
     * reads half are the others', too. */
    double reads = w->consumers > 2 ? groups * (1 + 1.0 / w->consumers) / 2 * bn
                                    : groups * whole;
    return (Clocks){math, (bm + reads) * taken(w),
                    w->rows + (w->stays ? 0 : whole)};
}

/* The part of the steps whose rows end inside a box, where there are others or
 * a window. */
static double short_share(const Wgmma *w)
{
    const Axis *k = &w->f->tma.k.axis[w->f->tma.k.n - 1];
    int64_t steps = (k->extent + w->f->tma.bk - 1) / w->f->tma.bk;

    return k->extent % w->f->tma.bk && !tma_few_terms(&w->f->tma)
               ? 1.0 / (double)steps
               : 0;
}

/* Clocks of TMA for a row that ends inside a box: those of one that begins
 * inside a sector; fewer where all rows do and have fewer sectors, of which it
 * takes one after the other, beside what a row takes. */
static double short_row_clk(const Wgmma *w)
{
    const Device *d = w->f->x.o->device;
    const Tma *t = &w->f->tma;
    double terms = (double)t->k.axis[t->k.n - 1].extent;
    double most = (double)TMA_ROW / L2_SECTOR - 1;
    double sectors = ceil(terms / t->bk * TMA_ROW / L2_SECTOR);

    return d->tma_odd_row_clk * (fmin(sectors, most) + 2) / (most + 2);
}

/* Clocks of TMA for an operand's rows, in the mean of its steps. Those that
 * begin inside a sector take longer, as do those that end inside a box for each
 * block that gets them. */
static double copy_rows(const Wgmma *w, const TmaOperand *o, double asked,
                        double got)
{
    const Device *d = w->f->x.o->device;
    double part = o->k_major ? short_share(w) : 0;
    double whole =
        tma_off(o, L2_SECTOR) ? d->tma_odd_row_clk : d->tma_row_clk;

    return (1 - part) * asked * whole +
           part * fmax(asked * whole, got * short_row_clk(w));
}

/* Of a step's rows of b. */
static double copies_b(const Wgmma *w)
{
    const TmaOperand *b = &w->f->tma.b;
    double bn = wgmma_slot_columns(w->f, w->x.t.bn), asked = bn / w->below;

    return tma_few_terms(&w->f->tma) ? tma_few_clk(&w->f->tma, b, asked)
                                     : copy_rows(w, b, asked, bn);
}

/* Of a step. Rows that several blocks get take those of a cluster as long as
 * rows that they ask for. */
static double copies(const Wgmma *w)
{
    const TmaOperand *a = &w->f->tma.a;
    double asked = (double)w->rows / w->beside;
    double got = w->rows + wgmma_slot_columns(w->f, w->x.t.bn);
    double own = (tma_few_terms(&w->f->tma)
                      ? tma_few_clk(&w->f->tma, a, asked)
                      : copy_rows(w, a, asked, w->rows)) +
                 (w->stays ? 0 : copies_b(w));

    return w->cluster > 1
               ? fmax(own, 2 * got * w->f->x.o->device->tma_row_clk)
               : own;
}

/* A thread's part of a step's rows becomes values in registers: conversions
 * both ways, and what is read of columns, which rows share; each instruction
 * waits for others of its thread, as long as another's do not fill in. */
static double rows_values(const Wgmma *w)
{
    double lanes = (double)w->x.t.bm / WGMMA_M * WARP;
    double columns = w->f->pre_columns * (double)WGMMA_M / w->wm;

    return lanes * (2 + w->f->pre_ops + columns) *
           w->f->x.o->device->dependent_clk / 2;
}

/* Tiles that read the same weights, those of a row of tiles or a column. */
static int64_t readers(const Wgmma *w)
{
    return w->f->turned ? w->n_tiles : w->m_tiles;
}

/* Clocks, not of the tensor cores, of a slot's round through the ring. It takes
 * its time whatever is in it, the longer the fewer there are, and where k has
 * a window's axes, for both operands' copies or one's; and where it comes from
 * memory: the first slots, or all if few tiles share what they read. */
static double round_clk(const Wgmma *w)
{
    const Device *d = w->f->x.o->device;
    double slots = w->x.t.stages * (double)wgmma_sharers(w);
    double first = fmin(1, slots / w->mean_steps);
    double between = fmax(1, w->x.t.stages - 1);
    double far = readers(w) > 2 ? first : 1;
    double slot = w->f->tma.k.n > 1 ? d->window_clk : d->slot_clk;
    double round = (w->stays ? slot / 2 : slot) +
                   far * (d->hbm_latency - d->l2_latency) / between;

    return first < 1
               ? fmax(round, (2 * d->hbm_latency + copies(w)) / between)
               : round;
}

/* Of 3xtf32, clocks of the three warps that turn b: of a lane's 4 k of 4
 * columns each number is read, split and written. */
static double turn_clk(const Wgmma *w)
{
    const Device *d = w->f->x.o->device;
    double turns = ceil((double)w->x.t.bn / (2 + 1) / (WARP / 2));

    return wgmma_turns_b(w->f) ? turns * (WARP / 2) *
                                     (d->copy_ops + d->access_ops) *
                                     d->dependent_clk
                               : 0;
}

/* Of 3xtf32, where so many blocks of an SM are in it at a time. A warpgroup
 * takes its time over fragments and sums, while others multiply, and shared
 * memory serves what products read three times, TMA and the splitting warps one
 * after the other. */
static double beside_clk(const Wgmma *w, const Clocks *s, double blocks)
{
    const Device *d = w->f->x.o->device;
    double clk = s->math * WGMMA_M / w->x.t.bm;
    double alone = 2 * (d->slot_clk + d->sync_clk);
    double busy = w->consumers * blocks * clk / (clk + alone);
    double multiply = fmax(s->math / fmin(1, busy),
                           (s->reads + s->writes) / d->issue_reached);

    return fmax(multiply, turn_clk(w) / blocks);
}

/* In the mean of an SM's tiles, of which the last ones have fewer beside. */
static double parts_clk(const Wgmma *w, const Clocks *s)
{
    double tiles = ceil(wgmma_blocks(w) / wgmma_sms(w));
    double last = fmod(tiles, w->resident);

    return ((tiles - last) * beside_clk(w, s, w->resident) +
            (last > 0 ? last * beside_clk(w, s, last) : 0)) / tiles;
}

/* Clocks that a step of one block takes of its SM's tensor cores. Products wait
 * a little for each slot where several blocks take turns. */
static double step_clk(const Wgmma *w, const Clocks *s)
{
    const Device *d = w->f->x.o->device;
    double wait = is_crowded(w) ? d->sync_clk : 0;
    double math = s->math + wait;

    if (w->f->pre) /* the slot's wait and fragments, then beside the products */
        math = fmax(math, rows_values(w) + d->sync_clk / crowd(w));
    if (w->f->x.terms > 1)
        math = parts_clk(w, s);
    return fmax(math, s->reads);
}

/* Whether the epilogue of a tile reads what belongs to its rows. What belongs
 * to its columns came during the products. */
static bool reads_rows(const Wgmma *w)
{
    return wgmma_reads_rows(w) && w->spare_rows > w->spare;
}

/* Clocks that what belongs to rows is late: where registers hold a part of it,
 * the next part is asked for when that is done with; where they hold none, all
 * SMs ask the memory for all of it when their products end. */
static double late_clk(const Wgmma *w)
{
    const Device *d = w->f->x.o->device;
    int part = wgmma_rows_ahead(w), all = w->own / WARP;
    double bytes = (double)w->x.t.bm * w->own * wgmma_result_bytes(&w->f->x);

    if (!reads_rows(w))
        return 0;
    if (!part && w->consumers > 1 && w->parts == 1)
        return d->hbm_latency +
               bytes * d->sms * loaded_clk_us(d) / (d->hbm_gbs * KILO);
    return d->l2_latency + (w->pingpong ? d->sync_clk : d->hbm_latency) *
                               (part ? all / part - 1 : 0);
}

/* Whether neighbours store pieces of sectors. */
static bool in_pieces(const Wgmma *w)
{
    return !w->deal && (wgmma_result_bytes(&w->f->x) > 2 || !w->pack);
}

/* Clocks of a tile's stores. */
static double stores_clk(const Wgmma *w)
{
    int bytes = wgmma_result_bytes(&w->f->x);

    if (!bytes) /* pieces alone are stored */
        return 0;
    /* of a lane's pair a whole sector goes out; others through shared memory;
     * of rows that begin amid a sector parts of one more */
    const Plane *plane = &w->f->plane;
    double least = w->deal && w->deal == w->f->deals ? 1 : 2, sectors = least;

    if (in_pieces(w))
        sectors = (double)L2_SECTOR / (2 * 2 * 2 * bytes);
    else if (w->deal && plane->tensor && plane->pitch * bytes % L2_SECTOR)
        sectors *= 1 + least * least / (2 * 2);

    return (double)w->x.t.bm * w->own * bytes * fmax(1, sectors) /
           w->f->x.o->device->sm_bytes_clk;
}

/* Clocks that a warpgroup with a tile of its own waits for what belongs to
 * columns where it is read 32 columns at a time, behind stores: half of it, the
 * other warpgroup's products go on. Dealt and packed columns' comes ahead of
 * the products. */
static double columns_clk(const Wgmma *w)
{
    bool ahead = w->deal || w->pack || w->x.t.split > 1 ||
                 wgmma_result_bytes(&w->f->x) > 2;

    return w->f->columns_read && w->pingpong && !ahead
               ? (double)w->own / WARP * w->f->x.o->device->l2_latency / 2
               : 0;
}

/* Clocks of a tile's epilogue. It is as long as its stores and instructions, of
 * all the warps that are in it at a time. */
static double epilogue_clk(const Wgmma *w)
{
    const Device *d = w->f->x.o->device;
    bool together = !w->pingpong && w->consumers > 1;
    double results = (double)w->wm * w->own / WARPGROUP;
    /* of two warps of a scheduler one computes while the other one waits */
    double others = together        ? w->consumers - (w->deal > 0)
                    : is_crowded(w) ? 2
                                    : 1;
    double hidden = d->hidden_ops * (w->boxes.tensor && together ? 2 : 1);
    double each = fmax(0, w->f->x.ops - hidden) * others;

    return 2 * d->sync_clk + late_clk(w) + columns_clk(w) + stores_clk(w) +
           results * each;
}

/* Clocks of an epilogue during which the other warpgroup of a tile still
 * multiplies. */
static double hidden_clk(const Wgmma *w)
{
    return fmin(w->lead * step_of(w).math / (2 * 2), epilogue_clk(w) / 2);
}

static void find_of_rows(const Expr *e, void *ctx)
{
    *(bool *)ctx |= e->kind == E_READ && e->tensor->of_rows;
}

/* Whether the epilogue makes elements of a norm of its rows. */
static bool makes_norms(const Wgmma *w)
{
    bool found = false;

    for (int i = 0; w->f->x.gr->pieces && i < w->f->x.gr->n_step; i++)
        if (w->f->x.gr->step[i].op == R_NONE)
            expr_visit(w->f->x.gr->step[i].value, find_of_rows, &found);
    return found;
}

/* Clocks until the last block of a tile has what the others left. Neighbours on
 * its SM hide what a lone warpgroup leaves. */
static double gather_clk(const Wgmma *w)
{
    const Device *d = w->f->x.o->device;
    double bytes = (double)(w->x.t.bm * w->own) * sizeof(float);
    double times = w->parts + (w->consumers > 1 ? 2 : 1);

    return w->parts == 1
               ? 0
               : d->memory_clk + bytes * times / (2 * d->sm_bytes_clk);
}

/* Clocks until a tile has the pieces of its rows' sums, and those of two
 * lanes, for the norm that corrects its products. */
static double fold_rows_clk(const Wgmma *w)
{
    const Device *d = w->f->x.o->device;
    const RowMerge *m = w->f->x.gr->merge;

    return m ? d->l2_latency + d->dependent_clk * (double)m->over->extent : 0;
}

/* And of the correction: a result reads two values of its column. */
static double fold_clk(const Wgmma *w)
{
    const Device *d = w->f->x.o->device;
    double results = (double)w->wm * w->own / WARPGROUP * w->consumers;

    return w->f->x.gr->merge
               ? fold_rows_clk(w) + results * 2 * (d->access_ops + 2)
               : 0;
}

/* Clocks from the launch to the first product, beyond launch_us, and what
 * blocks of a cluster wait for each other. */
static double start_clk(const Wgmma *w)
{
    const Device *d = w->f->x.o->device;
    const Tile *t = &w->x.t;
    double clk = (double)(t->bm + t->bn) * TMA_ROW / d->sm_bytes_clk;

    if (w->f->pre) /* rows' values and the first fragments are ahead of it */
        clk += 2 * d->start_clk;
    if (makes_norms(w)) /* a split's lone consumer has all in registers */
        clk += t->split > 1 && w->consumers == 1 ? d->l2_latency
                                                 : d->memory_clk;
    if (w->cluster > 1 || t->split > 1) /* they start and end together */
        clk += d->cluster_clk;
    if (t->split > 1)
        clk += (double)t->bm * (t->bn - w->own) * (2 * 2) / d->dsm_bytes_clk *
               crowd(w);
    return clk + fold_rows_clk(w) + gather_clk(w);
}

/* Clocks that the first tiles take longer: a factor's boxes are read once more,
 * a row of 16 bytes a clock, and what belongs to its sums is. */
static double factor_clk(const Wgmma *w)
{
    const Device *d = w->f->x.o->device;

    return w->f->x.gr->factor_sum
               ? w->mean_steps * wgmma_factor_boxes(w) * WGMMA_M +
                     d->l2_latency
               : 0;
}

/* Clocks by which products are held up by an epilogue beside them: while they
 * keep the tensor cores busy, few instructions fit beside, and the loads of a
 * norm's correction do not. */
static double held_up_clk(const Wgmma *w)
{
    const Device *d = w->f->x.o->device;
    double results = (double)w->wm * w->own / WARPGROUP;
    double more = w->f->x.ops - d->hidden_ops;
    double clk = more > 0 ? d->sync_clk + results * more : 0;

    if (w->f->x.gr->merge)
        clk += fold_rows_clk(w) + results * 2 * (d->access_ops + 1);
    return clk;
}

/* Clocks of a tile of a lone consumer that neighbours on its SM do not hide. */
static double lone_tile_clk(const Wgmma *w)
{
    const Device *d = w->f->x.o->device;

    return d->sync_clk + stores_clk(w) +
           (reads_rows(w) ? d->l2_latency + stores_clk(w) : 0);
}

/* Boxes of a tile that a warpgroup turns, one after the other. */
static double boxes(const Wgmma *w)
{
    return ceil((double)w->own / WGMMA_BOX) * w->wm / WGMMA_M;
}

/* Clocks of the epilogues before the last of an SM with so many tiles, as far
 * as no products of `multiply` clocks a tile hide them; of a tile that blocks
 * share, whose ring does not go on to the next. */
static double between_clk(const Wgmma *w, double tiles, double multiply)
{
    const Device *d = w->f->x.o->device;
    double epilogue = epilogue_clk(w) + fold_clk(w), more = tiles - 1;

    if (wgmma_sharers(w) > 1)
        return (ceil(tiles / w->resident) - 1) *
                   (2 * d->hbm_latency + start_clk(w)) +
               more * epilogue;
    if (w->pingpong && w->deal && !reads_rows(w)) /* of two tiles at a time */
        return more * (fmax(fmax(held_up_clk(w),
                                 (epilogue + d->start_clk - multiply) / 2),
                            stores_clk(w) - multiply) +
                       d->sync_clk);
    if (w->pingpong)
        return more *
               (fmax(held_up_clk(w), 2 * epilogue - multiply) + d->sync_clk);
    if (w->consumers == 1 && w->resident > 1)
        return more * fmax(held_up_clk(w), lone_tile_clk(w));
    if (w->lead && w->f->x.special > 0) /* one's, beside another's products */
        epilogue += held_up_clk(w) / 2;
    if (w->f->turned && w->consumers == 1) /* nobody multiplies meanwhile */
        epilogue += (boxes(w) - 1) * 2 * d->sync_clk;
    return more * (epilogue - hidden_clk(w) + d->sync_clk);
}

/* Clocks between tiles during which an SM asks the memory for nothing that its
 * rows read: the last part is on its way, used and stored before the next one
 * is asked for, unless another warpgroup's tile is, or another block's that
 * does not keep pace with it, or the first comes during products. */
static double asks_clk(const Wgmma *w, double multiply)
{
    const Device *d = w->f->x.o->device;
    int part = wgmma_rows_ahead(w), all = w->own / WARP;
    double blocks = w->cluster > 1 ? 1 : w->resident;
    double each = d->hbm_latency + d->l2_latency + 2 * d->sync_clk;
    double clk = part ? fmax(0, each - multiply) +
                            (all / part - 1) * d->hbm_latency
                      : all * each;

    return reads_rows(w) && model_too_large(d, w->f->x.out_bytes)
               ? clk / blocks / (w->pingpong ? w->consumers : 1)
               : 0;
}

/* Steps of a tile of the SM with the most, in the mean: it has the first tile,
 * of those with many steps, and every so-manieth behind it. */
static double full_steps(const Wgmma *w)
{
    const Tma *t = &w->f->tma;
    int64_t apart = (int64_t)wgmma_sms(w) / w->cluster, n = 0;
    double sum = 0;

    if (!t->taps.n)
        return (double)w->k_tiles;
    for (int64_t tile = 0; tile < w->tiles; tile += apart, n++)
        sum += (double)t->steps[tile / (w->m_tiles * w->n_tiles)];
    return sum / (double)n;
}

/* The times of the SM with the most tiles. SMs without a block leave the others
 * more power: a higher clock. A ring takes its time whatever the clock is, and
 * goes on during an epilogue as far as it has slots. */
static void timeline(const Wgmma *w, Work *out)
{
    const Device *d = w->f->x.o->device;
    Clocks s = step_of(w);
    double steps = full_steps(w) / wgmma_sharers(w);
    double blocks = wgmma_blocks(w), tiles = ceil(blocks / wgmma_sms(w));
    double clk = loaded_clk_us(d), boost = d->clock_ghz * KILO;
    double quick = fmin(boost, clk / sqrt(fmin(1, blocks / d->sms)));
    double step = fmax(round_clk(w) / crowd(w), copies(w)) / boost;
    double loads = steps * step, multiply = steps * step_clk(w, &s) / quick;
    double between = between_clk(w, tiles, fmax(multiply, loads) * clk) / clk;
    double ahead = (tiles - 1) * w->x.t.stages * step;

    double asks = (tiles - 1) * asks_clk(w, multiply * clk) / clk;

    out->smem_bytes = blocks * steps * (s.reads + s.writes) * TMA_ROW;
    if (w->inputs)
        out->smem_bytes += blocks * w->x.t.bm * w->x.t.bn * w->f->n_input *
                           2 * 2;
    out->waves = 1;
    out->serial_us = fmax(tiles * multiply + between,
                          tiles * loads + fmax(0, between - ahead));
    /* some SMs have the narrow tiles of all rows' ends, and are done first */
    double wide = out->padded_flops / out->flops;

    if (asks > 0)
        out->serial_us =
            fmax(out->serial_us,
                 asks + wide * out->hbm_bytes / (d->hbm_gbs * KILO));
    out->fill_us = (start_clk(w) + epilogue_clk(w) - hidden_clk(w) +
                    factor_clk(w)) / clk;
    if (w->stays)
        out->fill_us += w->mean_steps * copies_b(w) / boost;
}

/* How much longer weights that one tile reads come from memory where some SMs
 * have a tile more than others, as the last ones are asked for by few; or where
 * some have none: of whole sums most where few have none, as few blocks do not
 * ask for all that the memory gives anyway. */
static double uneven(const Wgmma *w)
{
    const Device *d = w->f->x.o->device;
    double each = wgmma_blocks(w) / d->sms;

    if (readers(w) > 1)
        return 1;
    if (each <= 1 && wgmma_sharers(w) > 1)
        return 1 + d->hbm_uneven * (1 - each) / 2 / 2;
    if (each <= 1)
        return 1 + d->hbm_uneven * 2 * (1 - each) * each * each * each;
    return 1 + d->hbm_uneven * (ceil(each) / each - 1);
}

/* How much longer weights that one tile reads take from rows far apart: the
 * more, the fewer rows a box has. */
static double far_rows(const Wgmma *w)
{
    double more = contract_pages(&w->f->x, readers(w) == 1) - 1;

    return 1 + more * WGMMA_M / (w->f->turned ? w->x.t.bm : w->x.t.bn);
}

/* Lines of the L2 that a row of a box is in, in the mean: two, but for those
 * that begin with a line. 100 SMs and 130 had as many rows a microsecond, half
 * as many as of whole lines. */
static double lines(const TmaOperand *o)
{
    int begin = L2_LINE; /* at multiples of as many bytes */

    while (tma_off(o, begin))
        begin /= 2;
    return 2 - (double)begin / L2_LINE;
}

/* Neighbours ask for the same boxes at about the same time, and the L2 serves
 * them with one read; fewer do where blocks share a tile's k, or rows, and
 * weights of one tile have one that asks. Lone warpgroups that share k are out
 * of step, the longer they go round their rings. */
static double shared_reads(const Wgmma *w, double steps)
{
    const Device *d = w->f->x.o->device;
    double half = (1 + d->l2_shared) / 2;

    if (w->x.t.split == 1)
        return d->l2_shared;
    if (w->consumers > 1)
        return half;
    return 1 - (1 - half) / fmax(1, steps / w->x.t.stages / (2 * 2));
}

static void work(const Wgmma *w, Work *out)
{
    const Contract *x = &w->f->x;
    const Tile *t = &w->x.t;
    double sums = (double)t->bm * t->bn, tiles = wgmma_blocks(w);
    double steps = w->mean_steps / wgmma_sharers(w);
    double a = w->rows * (double)TMA_ROW * steps;
    double b = wgmma_slot_columns(w->f, t->bn) * (double)TMA_ROW * steps;
    /* single sectors of rows, as the sums lie, go out in parts */
    double parts = in_pieces(w) && wgmma_result_bytes(x) > 2 ? x->out_bytes : 0;

    out->pipe = x->elem == T_F32 ? PIPE_TF32 : PIPE_WGMMA;
    out->efficiency = 1.0 / x->terms;
    out->flops = contract_flops(x) * w->f->tma.mean / (double)w->k_tiles;
    out->padded_flops = 2 * tiles * sums * steps * t->bk * taken(w);
    out->special = x->special * tiles * sums / wgmma_sharers(w) +
                   w->f->pre_special * tiles * t->bm * steps * t->bk;
    out->hbm_bytes = x->hbm_bytes * far_rows(w) * uneven(w) +
                     (wgmma_skips(w) ? 0 : x->unread) + parts / 2;
    double shared = shared_reads(w, steps);
    /* What comes from memory or goes there passes the L2 besides; not so where
     * blocks share a tile's k: counted there, it says that a split which gains
     * would lose (vit_b16 at batch 1). */
    bool lone = readers(w) == 1 && w->below == 1;
    double passes = t->split > 1 || lone ? 0 : x->hbm_bytes;
    double asked = lone ? b : b * lines(&w->f->tma.b) * shared;

    /* nor does one of what all blocks read beside it, a few rows */
    if (lone)
        shared = 1;
    if (w->stays) /* into each block once: all ask for few lines at one time */
        asked = b * (double)wgmma_at_once(w) / tiles;
    a /= w->beside;
    if (w->beside > 1)
        asked /= w->below;
    if (w->beside > 1 && w->n_tiles == 1) /* a lone cluster asks for its rows */
        shared = 1;
    out->l2_bytes = tiles * (a * lines(&w->f->tma.a) * shared + asked) +
                    passes + x->out_l2 + parts +
                    (w->parts > 1 ? 2 * tiles * sums / t->split * sizeof(float)
                                  : 0);
    out->scatter = 1;
    out->blocks = tiles;
    out->cluster = t->split > 2 || w->cluster > 2 ? 2 * 2 : 0;
    out->threads = t->threads;
    out->regs = w->x.regs;
    out->smem_block = (double)w->smem;
    out->block_ops = 2 * sums * steps * t->bk;
    out->block_bytes = a + (w->stays ? 0 : b) + x->out_bytes / tiles;
    out->bank_conflict = 1;
    out->in_flight = (double)wgmma_ring_bytes(w) * (t->stages - 1) / t->stages;
    out->warps_full = WARPGROUP / WARP;
}

void wgmma_cost(const void *form, const Variant *v, Cost *c)
{
    Wgmma w;
    Work n = {0};

    memset(c, 0, sizeof *c);
    if ((c->why = wgmma_plan(&w, form, v)))
        return;
    work(&w, &n);
    timeline(&w, &n);
    model_cost(w.f->x.o->device, &n, c);
}
