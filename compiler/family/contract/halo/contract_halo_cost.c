#include "family/contract/halo/contract_halo.h"

#include <math.h>
#include <string.h>

/* What a tile takes of an SM, in clocks of each unit, counted from the code;
 * and what it takes by itself, one phase after the other. */
typedef struct Clocks {
    double issue, smem, mma, chain;
} Clocks;

/* Of each element of a fragment of a, two bytes are read of shared memory by a
 * word of two; b's lie in their order. */
static void tile_clocks(const Halo *h, Clocks *c)
{
    const Tile *t = &h->x.t;
    const Device *d = h->f->x.o->device;
    double warps = (double)t->threads / WARP;
    double results = (double)t->bm * t->bn;
    double steps = (double)h->depth / MMA_K;
    double i = (double)h->wm / MMA_M, j = (double)h->bn / MMA_N;
    double patch = (double)halo_patch(h);
    double copies = patch / fmax(2, h->f->align) / WARP;
    /* words moved by one */
    double odd = patch / 2 / WARP * (h->copies - 1 + h->f->odd);
    double words = 2 * (2 * i + j) * L2_LINE; /* of a warp's fragments */
    /* a copy has guards of both dimensions, and the index of either; of rows
     * that are a warp's each, a column's */
    double copy =
        d->copy_ops + (h->f->wide ? d->guard_ops : 2 * 2 * d->guard_ops);

    double loads = h->f->wide ? i + 1 : 2 * 2 * i; /* by ldmatrix */
    c->issue = (warps * (steps * (loads + j / 2 + i * j + 1) + 2 * i * j +
                         d->round_ops) +
                copies * copy + odd * (d->copy_ops + d->guard_ops) +
                results / WARP * h->f->x.ops) /
               SCHEDULERS;
    c->smem = (warps * steps * words + 2 * results * sizeof(float) + patch * 2 +
               odd * (2 + 1) * L2_LINE) /
              d->smem_bytes_clk;
    c->mma = warps / SCHEDULERS * steps * i * j * model_mma_clk(d);
    double turns = ceil(warps / SCHEDULERS);
    c->chain = turns * (steps * i * j * model_mma_clk(d) +
                        results / t->threads * h->f->x.ops * 2) +
               d->hbm_latency;
    if (h->f->wide) /* long, and nothing else is in it while it waits */
        c->chain += turns * steps * 2 * d->smem_latency +
                    copies * copy / warps * d->dependent_clk / 2 +
                    (h->slots == 1 ? patch * 2 / d->sm_bytes_clk : 0);
}

/* The weights, a piece or an element at a time: instructions on an SM, and how
 * long a block waits for HALO_WEIGHTS_AHEAD rows of two columns of them at
 * once. */
static double setup_issue(const Halo *h)
{
    double copies = (double)h->bn * h->depth / (h->w_pieces ? HALO_PIECE : 1);

    return copies / WARP * h->f->x.o->device->copy_ops / SCHEDULERS;
}

static double setup_wait(const Halo *h)
{
    double rows = (double)h->bn * WARP / h->x.t.threads;
    const Device *d = h->f->x.o->device;

    if (h->w_pieces) /* beside the first tile's input */
        return d->hbm_latency;
    return d->hbm_latency + ceil((double)h->depth / (2 * WARP)) *
                                (d->l2_latency + d->sync_clk) *
                                ceil(rows / HALO_WEIGHTS_AHEAD);
}

static double resident(const Halo *h)
{
    return model_room(h->f->x.o->device, h->x.t.threads, h->x.regs,
                      (double)h->smem);
}

/* Clocks of an SM for all its blocks: they share its units, or each goes
 * through its tiles; the two get in each other's way. */
static double sm_clk(const Halo *h, double blocks)
{
    const Device *d = h->f->x.o->device;
    double each = ceil((double)h->tiles / h->grid);
    double all = ceil(blocks / d->sms), waves = ceil(all / resident(h));
    Clocks c;

    tile_clocks(h, &c);
    double most = fmax(c.issue, fmax(c.smem, c.mma)) / d->issue_reached;
    /* of few warps, fragments wait for those before them, and where pixels of
     * a stride come in apart, for their many copies */
    double wait = h->f->wide ? 1 / d->issue_reached : 1;
    double late = h->step > 1 ? wait * wait * wait : wait;
    double shared = all * each * most * late;
    double alone = waves * each * c.chain * late;
    return fmax(shared, alone) + d->beside * fmin(shared, alone) +
           all * setup_issue(h);
}

static void work(const Halo *h, Work *w)
{
    const Contract *x = &h->f->x;
    const Tile *t = &h->x.t;
    const Device *d = x->o->device;
    double n_tiles = ceil((double)h->channels / h->bn);
    double blocks = h->grid * n_tiles;
    double tiles = (double)h->tiles * n_tiles;
    double waves = ceil(blocks / (resident(h) * d->sms));
    double patch = (double)halo_patch(h) * 2;

    w->pipe = PIPE_MMA;
    w->efficiency = d->issue_reached;
    w->flops = 2.0 * (double)x->c.M * (double)x->c.N * (double)x->c.K;
    w->padded_flops = 2 * tiles * t->bm * t->bn * h->depth;
    w->special = x->special * tiles * t->bm * t->bn;
    w->hbm_bytes = x->hbm_bytes;
    w->l2_bytes =
        tiles * patch + x->out_l2 + blocks * h->bn * (double)x->c.K * 2;
    w->scatter = 1;
    w->blocks = blocks;
    w->threads = t->threads;
    w->regs = h->x.regs;
    w->smem_block = (double)h->smem;
    w->block_ops = w->padded_flops / blocks;
    w->block_bytes = w->l2_bytes / blocks;
    /* nothing waits for what is written: the share that is read is under way */
    w->in_flight = patch * w->l2_bytes / (tiles * patch);
    w->warps_full = SCHEDULERS;
    w->serial_us = model_us(d, sm_clk(h, blocks)) / waves;
    w->fill_us = model_us(d, d->hbm_latency + d->start_clk + setup_wait(h));
    if (h->f->wide) /* steps that are all written out: their first time */
        w->fill_us += model_us(d, d->memory_clk + 2 * d->start_clk);
}

void halo_cost(const void *form, const Variant *v, Cost *c)
{
    Halo h;
    Work w = {0};

    memset(c, 0, sizeof *c);
    if ((c->why = halo_plan(&h, form, v)))
        return;
    work(&h, &w);
    model_cost(h.f->x.o->device, &w, c);
}
