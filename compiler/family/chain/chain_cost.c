#include "family/chain/chain_wgmma.h"
#include "model/model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What chains of two products cost. */

/* Points are scores, `all` of them by a kernel's steps; a block reads `columns`
 * of what belongs to a column. */
static void chain_work(const ChainKernel *w, Work *out, double blocks,
                       double points, double columns)
{
    const ChainForm *f = w->f;
    double width = chain_width(w);

    memset(out, 0, sizeof *out);
    out->flops = 2 * f->share * (double)f->M * (double)f->J *
                 ((double)(f->D + f->O) + chain_results(f)) *
                 (double)f->batches;
    out->padded_flops = 2 * points * width;
    out->special = points * (f->rows.softmax + f->special);
    out->efficiency = 1;
    out->hbm_bytes = f->hbm;
    out->l2_bytes = columns * 2 *
                    ((double)(f->D + f->O) +
                     (chain_one_ring(f) ? 0 : chain_results(f)));
    out->scatter = 1;
    out->blocks = blocks;
    out->threads = w->threads;
    /* a producer's warps leave theirs to the others */
    out->regs = (int)fmin(w->regs, model_thread_regs(f->a.o->device,
                                                     w->threads, w->resident));
    out->smem_block = (double)w->smem;
    out->block_ops = out->padded_flops / blocks;
    out->block_bytes = out->l2_bytes / blocks;
    out->in_flight = (double)w->smem * (w->stages - 1) / w->stages;
    out->warps_full = SCHEDULERS;
    out->waves = 1;
}

/* Instructions of a score: maximum, scale, sum, half a conversion and half of
 * scaling the sums; and what it is besides. */
static double score_ops(const ChainForm *f)
{
    return (f->rows.softmax ? f->a.o->device->softmax_ops : 1) + f->ops;
}

/* ---- chain_wgmma --------------------------------------------------------- */

/* Clocks of a warpgroup's step, a block of columns: of the SM's tensor cores,
 * whose clock falls under load, its special functions, and its other
 * arithmetic, as it takes beside the others. */
typedef struct Clocks {
    double mm, special, alu;
} Clocks;

/* The same of an SM's scores, besides what products take. */
static Clocks points_clk(const ChainForm *f, double points)
{
    const Device *d = f->a.o->device;

    return (Clocks){
        .special = points * (f->rows.softmax + f->special) * d->sms *
                   d->clock_ghz / d->special_gops,
        .alu = points * score_ops(f) / (SCHEDULERS * WARP) / d->issue_reached,
    };
}

static Clocks step_of(const ChainKernel *w)
{
    const Device *d = w->f->a.o->device;
    double points = (double)WGMMA_M * w->bj;
    Clocks s = points_clk(w->f, points);

    s.mm = 2 * points * chain_width(w) * d->sms * d->clock_ghz /
           (d->wgmma_tflops * KILO);
    return s;
}

static double issue(const Clocks *s)
{
    return s->special + s->alu;
}

/* Of n warpgroups of an SM that all do one: products beside the rest of others,
 * less where nobody orders the warpgroups. */
static double step_clk(const ChainKernel *w, const Clocks *s, double n)
{
    const Device *d = w->f->a.o->device;
    double lone = issue(s) + s->mm + 2 * (d->slot_clk + d->sync_clk);
    double all = fmax(s->mm + d->beside * s->special, issue(s)) + d->sync_clk;

    if (w->consumers < 2 || w->teams > 1)
        all += floor(n) > 2 ? d->sync_clk : d->slot_clk;
    all += w->f->rows.live.n ? d->sync_clk : 0;
    return fmax(lone, n * all);
}

/* Of the beginning and the end of n tiles that an SM has at a time: the first
 * step has nothing beside it. */
static double tile_clk(const ChainKernel *w, double n, double step)
{
    const Device *d = w->f->a.o->device;

    bool turns = w->consumers > 1 && w->teams == 1;

    double join = (double)WGMMA_M * w->bn * sizeof(float) / d->smem_bytes_clk +
                  d->sync_clk + d->smem_latency;

    return d->start_clk * (turns ? 2 * (2 + w->consumers) : 1 + n) + step / 2 +
           (w->teams > 1 ? 2 * join : 0);
}

/* Whether it is read by tiles of one number of the batch alone; what all tiles
 * want, they wait for. */
static bool is_own(const ChainForm *f, const TmaOperand *o)
{
    for (int i = 0; i < f->n_batch; i++)
        if (idx_uses(o->op->offset, f->batch[i]))
            return true;
    return idx_uses(o->op->offset, f->row);
}

/* Whether rows of a box begin inside a sector. */
static bool splits(const TmaOperand *o)
{
    int size = type_bytes(o->op->read->tensor->type);

    for (int i = 1; i < o->rank; i++)
        if (o->dim[i].extent > 1 && o->dim[i].stride * size % L2_SECTOR)
            return true;
    return false;
}

/* Clocks of TMA for so many rows of an operand, each of so many elements, in so
 * many boxes: rows that end within their box are slower, more so those that
 * begin inside a sector, most of all those that all tiles want. */
static double rows_clk(const ChainForm *f, const Tma *t, const TmaOperand *o,
                       double rows, int64_t elems, int boxes)
{
    const Device *d = t->x->o->device;

    if (elems * 2 < TMA_ROW && is_own(f, o))
        return rows * boxes *
               (d->tma_odd_row_clk + (splits(o) ? 2 * d->tma_row_clk : 0));
    return o->k_major && tma_few_terms(t) ? tma_few_clk(t, o, rows * boxes)
                                          : rows * boxes * d->tma_row_clk;
}

/* Of so many columns of what the second product multiplies. */
static double second_clk(const ChainKernel *w, const ChainForm *f,
                         double columns)
{
    if (f->tb.b.k_major)
        return rows_clk(f, &f->tb, &f->tb.b, w->bn, f->J,
                        (int)ceil(columns / f->tb.bk));
    return rows_clk(f, &f->tb, &f->tb.b, columns, f->N, w->n_boxes);
}

/* The same for a tile of so many steps: its rows, and blocks of columns of
 * either product. An SM's tiles get theirs one after the other. */
static double copies_clk(const ChainKernel *w, double steps)
{
    const ChainForm *f = w->f;
    double columns = steps * w->teams * w->bj;
    double clk = rows_clk(f, &f->ta, &f->ta.a, w->bm, f->D, w->d_boxes) +
                 rows_clk(f, &f->ta, &f->ta.b, columns, f->D, w->d_boxes);

    if (w->o_boxes)
        clk += rows_clk(f, &f->to, &f->to.a, w->bm, f->O, w->o_boxes) +
               rows_clk(f, &f->to, &f->to.b, columns, f->O, w->o_boxes);
    if (chain_one_ring(f))
        return clk;
    clk += second_clk(w, f, columns);
    return f->twin ? clk + second_clk(w, f->twin, columns) : clk;
}

/* Of a tile's stores: the last ones have nothing beside them. */
static double stores_clk(const ChainKernel *w)
{
    const ChainForm *f = w->f;

    return (double)w->bm * w->bn * type_bytes(f->elem) * (f->twin ? 2 : 1) /
           f->a.o->device->sm_bytes_clk;
}

/* Clocks of the SM with the most tiles where each has one block of columns:
 * there is nothing to multiply beside its copies, and those of the next round
 * begin when a tile has been stored. The first round's begin as the launch
 * before ends; an SM's are one after the other whosever they are. Later tiles
 * of columns of their own begin beside those of other blocks, and take as long
 * as a `lone` one, or as all of them have to issue. */
static double single_clk(const ChainKernel *w, double all, double n,
                         double lone)
{
    const Device *d = w->f->a.o->device;
    double tiles = (double)w->m_tiles * (double)w->f->batches;
    double rounds = ceil(tiles / (d->sms * w->resident));
    double copies = copies_clk(w, 1), stores = n * stores_clk(w);
    double each = all + copies + stores, later = each;
    Clocks s = step_of(w);

    if (is_own(w->f, &w->f->ta.b) && is_own(w->f, &w->f->tb.b))
        later = fmax(step_clk(w, &s, n * w->consumers), lone);
    return fmax(each + (rounds - 1) * later - fmin(all, copies),
                ceil(tiles / d->sms) * copies + stores);
}

/* Of those of a tile alone on an SM, as where warpgroups take turns: what is
 * not 16 bits a column goes from registers, and nothing is beside it. */
static double alone_clk(const ChainKernel *w, double tiles)
{
    const ChainForm *f = w->f;
    bool turns = w->consumers > 1 && w->teams == 1;

    return !turns || w->pack ? 0
                             : f->out / tiles / f->a.o->device->sm_bytes_clk;
}

/* Clocks of the SM that ends last. */
static double busy_clk(const ChainKernel *w, double steps, double longest)
{
    Clocks s = step_of(w);
    double tiles = (double)w->m_tiles * (double)w->f->batches;
    double sms = w->f->a.o->device->sms, slots = sms * w->resident;
    double at_once = fmin(w->resident, ceil(tiles / sms));
    double step = step_clk(w, &s, at_once * w->consumers);
    double lone = step_clk(w, &s, w->consumers);
    double all = steps * step + tile_clk(w, at_once, step);

    if (w->j_tiles == 1)
        return single_clk(w, all, at_once, lone + tile_clk(w, 1, lone));
    if (steps == longest)
        return fmax(ceil(tiles / slots) * all,
                    ceil(tiles / sms) * copies_clk(w, steps)) +
               at_once * stores_clk(w);
    all += alone_clk(w, tiles);
    /* the longest come first, the others fill the gaps */
    return fmax(longest * lone + tile_clk(w, 1, lone),
                tiles / sms * fmax(all / at_once, copies_clk(w, steps)));
}

void chain_wgmma_cost(const void *form, const Variant *v, Cost *c)
{
    const ChainForm *f = form;
    const Device *d = f->a.o->device;
    ChainKernel w;
    Work n;

    memset(c, 0, sizeof *c);
    if ((c->why = chain_plan(&w, f, v)))
        return;
    double longest = ceil((double)w.j_tiles / w.teams), steps = longest;
    if (f->rows.live.n)
        steps = chain_mean_steps(&w, &longest);
    double tiles = (double)w.m_tiles * (double)f->batches;
    double columns = tiles * steps * w.teams * w.bj;
    chain_work(&w, &n, tiles, columns * w.bm, columns);
    n.pipe = PIPE_WGMMA;
    n.serial_us = model_us(d, busy_clk(&w, steps, longest));
    n.fill_us = model_us(d, d->hbm_latency);
    model_cost(d, &n, c);
}

/* ---- chain_few ----------------------------------------------------------- */

/* A warp's step waits for one thing after the other: for scores, lanes of a
 * row, weights and sums. */
static double lone_step(const ChainKernel *w)
{
    const Device *d = w->f->a.o->device;
    double width = (double)w->f->D + w->bn;

    return d->slot_clk + (double)w->bj / MMA_M * d->smem_latency *
                             (log2(WARP) + width / MMA_M);
}

/* Of an SM that has so many blocks at a time: what it has to issue, to move
 * through shared memory, and to read, of which so much is under way. */
static double few_step_clk(const ChainKernel *w, double blocks)
{
    const Device *d = w->f->a.o->device;
    double wait = (2 * d->hbm_latency + lone_step(w)) / (w->stages - 1);
    double width = (double)w->f->D + w->bn, warps = blocks * w->consumers;
    double bytes = blocks * w->slot * width * 2;
    double team = (double)w->consumers / w->teams;
    Clocks score = points_clk(w->f, warps * MMA_M * w->bj);
    double issue =
        warps / SCHEDULERS * w->bj / MMA_M * (d->sync_clk + width / 2) +
        score.special + score.alu;
    double shared =
        bytes * (1 + team) + (w->holds ? 0 : warps * WARP * (double)w->f->D);

    return fmax(fmax(fmax(lone_step(w), issue), wait),
                fmax(shared / d->smem_bytes_clk, bytes / d->sm_bytes_clk));
}

/* What the parts of M rows have becomes one: in a block, in a cluster, through
 * memory, of which each thread has so many pairs of columns, four at a time. */
static double merge_clk(const ChainKernel *w)
{
    const Device *d = w->f->a.o->device;
    double pairs = (double)w->f->M * w->bn / 2 / w->threads / w->cluster;
    double parts = (double)w->group / w->cluster, each = 2 * d->dependent_clk;
    double rounds = ceil(pairs / (2 * 2)), half = (double)WARP / 2;
    double clk = 2 * d->slot_clk + each * (double)w->f->M;

    if (chain_few_sends(w)) { /* teams join first; what was sent is near */
        double fours = ceil((double)w->bn / w->cluster / (2 * 2));
        double joined = (double)w->f->M * fours * w->cluster / w->threads;
        return clk + ceil(joined) * 2 * each * w->teams + d->cluster_clk +
               ceil(pairs) * each * w->cluster;
    }
    clk += ceil(pairs) * each * w->teams * w->cluster;
    if (w->cluster > 1)
        clk += d->cluster_clk +
               rounds * d->l2_latency * ceil(w->teams * w->cluster / half);
    if (w->group > w->cluster)
        clk += d->memory_clk + rounds * d->hbm_latency * ceil(parts / half) +
               ceil(pairs) * each * parts;
    return clk;
}

void chain_few_cost(const void *form, const Variant *v, Cost *c)
{
    const ChainForm *f = form;
    const Device *d = f->a.o->device;
    ChainKernel w;
    Work n;

    memset(c, 0, sizeof *c);
    if ((c->why = chain_few_plan(&w, f, v)))
        return;
    double blocks = (double)f->batches * w.group;
    double sms = w.cluster > 2 ? d->cluster_sms : d->sms;
    double at_once = fmin(w.resident, ceil(blocks / sms));
    double rounds = ceil(blocks / (sms * w.resident));
    double steps = ceil(w.j_tiles / (double)w.group);
    double columns = (double)f->batches * (double)f->J;
    chain_work(&w, &n, blocks, columns * w.bm, columns);
    n.pipe = PIPE_MMA;
    n.cluster = w.cluster;
    n.l2_bytes = fmax(n.l2_bytes, f->hbm);
    /* memory waits where it is almost the limit, too */
    double busy = model_us(d, rounds * steps * few_step_clk(&w, at_once));
    double read = n.hbm_bytes / (d->hbm_gbs * KILO), less = fmin(busy, read);
    n.serial_us = fmax(busy, read) + d->beside * less * less / fmax(busy, read);
    n.fill_us = model_us(d, rounds * (2 * d->hbm_latency + merge_clk(&w)) +
                                lone_step(&w));
    model_cost(d, &n, c);
}

/* ---- chain_mma ----------------------------------------------------------- */

void chain_mma_cost(const void *form, const Variant *v, Cost *c)
{
    const ChainForm *f = form;
    const Device *d = f->a.o->device;
    ChainKernel w;
    Work n;

    memset(c, 0, sizeof *c);
    if ((c->why = chain_mma_plan(&w, f, v)))
        return;
    double tiles = w.m_tiles * (double)f->batches;
    double rounds = ceil(tiles / ((double)d->sms * w.resident));
    double live = f->rows.live.n
                      ? fmin(1, f->share + (w.bm + w.bj) / (2.0 * (double)f->J))
                      : 1;
    double points = tiles * w.bm * w.bj * w.j_tiles * live;
    double alu = points * score_ops(f) / (d->fma_tflops / 2 * MEGA);
    /* the waits of a step, and what lanes of a row exchange */
    double steps = rounds * w.j_tiles * live * 2 * d->slot_clk;
    chain_work(&w, &n, tiles, points, points / w.bm);
    n.pipe = PIPE_MMA;
    double math = n.padded_flops / (d->mma_tflops * MEGA);
    double special = n.special / (d->special_gops * KILO);
    double even = tiles / (rounds * d->sms * w.resident);
    n.serial_us = (math + (special + alu) / 2) / d->issue_reached / even +
                  model_us(d, steps);
    n.fill_us = model_us(d, 2 * d->hbm_latency);
    model_cost(d, &n, c);
}
