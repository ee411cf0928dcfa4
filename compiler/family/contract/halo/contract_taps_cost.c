#include "family/contract/halo/contract_taps.h"

#include <math.h>
#include <string.h>

/* What a tile takes of an SM, in clocks of its busiest unit, counted from the
 * code; and what it takes by itself, one phase after the other. */
typedef struct Clocks {
    double most, chain;
} Clocks;

static void tile_clocks(const Taps *h, Clocks *c)
{
    const Tile *t = &h->x.t;
    const Device *d = h->f->x.o->device;
    double vec = 2 * sizeof(uint64_t), words = vec / sizeof(float);
    double turns = (double)t->bm / MMA_K; /* of 16 pixels */
    double i = (double)h->wm / MMA_M, j = (double)h->wn / MMA_N;
    double pieces = h->copy * 2 / vec, copied = t->bm * t->bn * 2 / vec;
    double matrix = 2 * 2 * L2_LINE; /* bytes of four of ldmatrix */
    double smem = turns * h->warps * (i + j / 2) * matrix +
                  (pieces * (2 * 2 + h->copies) + copied) * vec;
    double issue = turns * h->warps *
                       (i * j + i + j / 2 + 2 * d->access_ops) +
                   pieces / WARP *
                       (2 * d->access_ops + h->copies * (2 * words + 1)) +
                   (pieces + copied) / WARP * (d->copy_ops + 2 * d->guard_ops);
    double products = i * j * model_mma_clk(d);
    double mma = turns * h->warps * products / SCHEDULERS;

    c->most = fmax(smem / d->smem_bytes_clk, fmax(issue / SCHEDULERS, mma)) /
              d->issue_reached;
    c->chain = 2 * d->sync_clk +
               ceil(pieces / t->threads) *
                   (d->smem_latency + h->copies * words * d->dependent_clk) +
               turns / h->slices * (d->smem_latency + products) *
                   ceil((double)t->threads / WARP / SCHEDULERS);
}

/* Clocks of an SM for all its blocks: they share its units, or each goes
 * through its tiles; the two get in each other's way. */
static double sm_clk(const Taps *h, double blocks)
{
    const Device *d = h->f->x.o->device;
    double each = ceil((double)h->tiles / h->blocks);
    double all = ceil(blocks / d->sms);
    double waves = ceil(all / model_room(d, h->x.t.threads, h->x.regs,
                                         (double)h->smem));
    Clocks c;

    tile_clocks(h, &c);
    double shared = all * each * c.most, alone = waves * each * c.chain;
    return fmax(shared, alone) + d->beside * fmin(shared, alone);
}

/* Clocks in which two blocks, one after the other, have added up the sums of a
 * team each. */
static double sums_clk(const Taps *h)
{
    const Device *d = h->f->x.o->device;
    double bytes = (double)h->f->x.c.M * h->x.t.bn * sizeof(float);

    return 2 * d->memory_clk +
           bytes * (2 * h->team + 2) / d->sm_bytes_clk;
}

static void work(const Taps *h, Work *w)
{
    const Contract *x = &h->f->x;
    const Device *d = x->o->device;
    const Tile *t = &h->x.t;
    double n_tiles = ceil((double)x->c.N / t->bn);
    double tiles = (double)h->tiles * n_tiles;
    double bytes = ((double)h->copy + (double)t->bm * t->bn) * 2;

    w->pipe = PIPE_MMA;
    w->efficiency = d->issue_reached;
    w->flops = 2.0 * (double)x->c.M * (double)x->c.N * (double)x->c.K;
    w->padded_flops = 2 * tiles * t->bm * t->bn * h->rows;
    w->special = x->special * (double)x->c.M * (double)x->c.N;
    w->hbm_bytes = x->hbm_bytes;
    w->l2_bytes = tiles * bytes + x->out_l2;
    w->scatter = 1;
    w->blocks = h->blocks * n_tiles;
    w->threads = t->threads;
    w->regs = h->x.regs;
    w->smem_block = (double)h->smem;
    w->block_ops = w->padded_flops / w->blocks;
    w->block_bytes = w->l2_bytes / w->blocks;
    w->in_flight = bytes;
    w->warps_full = SCHEDULERS;
    double room = model_room(d, t->threads, h->x.regs, (double)h->smem);
    w->serial_us = model_us(d, sm_clk(h, w->blocks)) /
                   ceil(w->blocks / (room * d->sms));
    w->fill_us = model_us(d, d->hbm_latency + d->start_clk + sums_clk(h));
}

void taps_cost(const void *form, const Variant *v, Cost *c)
{
    Taps h;
    Work w = {0};

    memset(c, 0, sizeof *c);
    if ((c->why = taps_plan(&h, form, v)))
        return;
    work(&h, &w);
    model_cost(h.f->x.o->device, &w, c);
}
