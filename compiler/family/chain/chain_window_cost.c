#include "family/chain/chain_window.h"
#include "family/contract/contract_mma.h"

#include <math.h>
#include <string.h>

/* What the window takes of the FMA pipe, how long a block takes with it and its
 * product. */

/* Values that all blocks make, those beyond the rows' end included, over those
 * that there are. */
static double again(const ContractPlan *p)
{
    const Contraction *c = &p->f->c;
    double tiles = (double)contract_tiles(p->f, &p->t);
    double k = ceil((double)c->K / p->t.bk) * p->t.bk;

    return tiles * p->t.bm / (double)c->M * k / (double)c->K;
}

/* Clocks of a block's products of one tile. */
static double products_clk(const ContractPlan *p)
{
    const Device *d = p->f->o->device;
    const Tile *t = &p->t;
    double mmas = (double)t->wm / MMA_M * t->wn / MMA_N;

    return (double)t->bk / MMA_K / p->parts *
           (fmax(model_mma_clk(d) * mmas, d->smem_latency) +
            (double)(t->wm + t->wn) / MMA_M * d->dependent_clk);
}

double window_least(const void *form)
{
    const WindowForm *f = form;

    if (f->product)
        return model_least(f->c.o->device, PIPE_MMA,
                           contract_flops(f->product) + contract_flops(&f->c));
    return model_least(f->c.o->device, PIPE_FMA, census_flops(f->census));
}

/* Instructions of a thread that makes a vector of values: what the nest
 * computes and loads, its 16-bit values as floats, and finding the point. */
static double vector_ops(const WindowForm *f, const WindowPlan *w,
                         const Traffic *t)
{
    const Contraction *c = &f->c.c;
    double all = (double)c->M * (double)c->K * (double)c->batches / w->vec;

    return (t->flops + t->overhead) / (2 * all) + f->converted * w->vec +
           f->c.o->device->guard_ops * (2 + c->n_m);
}

/* Clocks of the SM that ends last. Whatever a block's tile has to wait for
 * comes once a tile of k, and its threads have their vectors one after the
 * other; blocks beside each other share what the SM can issue. */
static double busy_clk(const WindowForm *f, const WindowPlan *w, double blocks,
                       double ops)
{
    const ContractPlan *p = &w->p;
    const Device *d = f->c.o->device;
    double sms = p->t.split > 2 ? d->cluster_sms : d->sms;
    double own = ceil(blocks / sms), vectors = p->t.bm * p->t.bk / w->vec;
    double room =
        model_room(d, p->t.threads, p->regs, (double)contract_smem(p));
    double rounds = ceil(vectors / p->t.threads);
    double tile = d->hbm_latency + d->slot_clk + products_clk(p) +
                  rounds * ops / d->issue_reached;
    double issue = w->tiles_k * vectors * ops / (SCHEDULERS * WARP);

    return ceil(own / room) * w->tiles_k * tile +
           own * (2 * d->issue_reached * issue + 2 * d->start_clk) +
           (p->cluster ? 2 * d->sync_clk + d->slot_clk * p->t.split : 0);
}

/* The same of two products: a block waits for its slots and goes through its
 * steps, and the SM multiplies what all of its blocks do, and makes factors of
 * the first sums. */
static double pair_clk(const WindowForm *f, const WindowPlan *w, double blocks,
                       double flops)
{
    const ContractPlan *p = &w->p;
    const Tile *t = &p->t;
    const Device *d = f->c.o->device;
    double own = ceil(blocks / d->sms), tiles = (double)f->product->c.K / w->bd;
    double room = model_room(d, t->threads, p->regs, (double)w->smem);
    double rate = d->mma_tflops * d->mma_reached * KILO / d->clock_ghz / d->sms;
    double values = (double)t->bm * t->bk * f->product->ops;
    double step = fmax(d->sync_clk + (double)w->bd / MMA_K * d->smem_latency,
                       2 * d->hbm_latency / w->stages);

    return ceil(own / room) * (d->hbm_latency + ceil(tiles) * step +
                               products_clk(p) + 2 * d->slot_clk) +
           own * (flops / blocks / rate + 2 * d->start_clk +
                  values / (SCHEDULERS * WARP) / d->issue_reached);
}

static void pair_cost(const WindowForm *f, const WindowPlan *w, Cost *c)
{
    const ContractPlan *p = &w->p;
    const Tile *t = &p->t;
    const Contraction *x = &f->c.c;
    const Device *d = f->c.o->device;
    double blocks = (double)contract_tiles(&f->c, t) * (double)x->batches;
    double terms = ceil((double)f->product->c.K / w->bd) * w->bd;
    double size = type_bytes(f->c.elem), sums = (double)t->bm * t->bn;
    double flops = 2 * blocks * ((double)t->bm * t->bk * terms + sums * t->bk);
    double bytes = (double)(t->bm + t->bk) * terms + (double)t->bn * t->bk;
    Work n = {
        .pipe = PIPE_MMA,
        .flops = contract_flops(f->product) + contract_flops(&f->c),
        .padded_flops = flops,
        .special = f->product->special * blocks * t->bm * t->bk +
                   f->c.special * sums * blocks,
        .efficiency = d->mma_reached,
        .hbm_bytes = f->c.hbm_bytes,
        .l2_bytes = blocks * bytes * size + f->c.out_bytes,
        .scatter = 1,
        .smem_bytes = blocks * 2 * (bytes * size + sums * sizeof(float)),
        .blocks = blocks,
        .threads = t->threads,
        .regs = p->regs,
        .smem_block = (double)w->smem,
        .block_ops = flops / blocks,
        .block_bytes = bytes * size,
        .waves = 1,
    };
    n.serial_us = model_us(d, pair_clk(f, w, blocks, flops));
    model_cost(d, &n, c);
}

void window_cost(const void *form, const Variant *v, Cost *c)
{
    const WindowForm *f = form;
    const Device *d = f->c.o->device;
    const Contraction *x = &f->c.c;
    WindowPlan plan;
    const ContractPlan *p = &plan.p;
    Traffic t;

    memset(c, 0, sizeof *c);
    if ((c->why = window_plan(&plan, f, v)))
        return;
    if (f->product) {
        pair_cost(f, &plan, c);
        return;
    }
    const Tile *tile = &p->t;
    Spread s = {.row = f->along,
                .along = f->along,
                .vec = plan.vec,
                .rows_warp = WARP * plan.vec};
    census_traffic(f->census, &s, &t);
    double blocks =
        (double)contract_tiles(&f->c, tile) * (double)x->batches * tile->split;
    double size = type_bytes(f->c.elem), part = plan.tiles_k * tile->bk;
    double sums = (double)tile->bm * tile->bn, made = tile->bm * part;
    double ops = vector_ops(f, &plan, &t);
    Work w = {
        .pipe = PIPE_FMA,
        .flops = t.flops,
        .padded_flops = 2 * ops * blocks * made / plan.vec,
        .special = t.special * again(p) + f->c.special * sums * blocks,
        .efficiency = 1,
        .hbm_bytes = f->c.hbm_bytes,
        .l2_bytes = t.bytes * again(p) + blocks * tile->bn * part * size +
                    f->c.out_bytes,
        .scatter = t.scatter,
        .smem_bytes =
            blocks * (made * size + 2 * sums * sizeof(float) +
                      part * size * sums * (1.0 / tile->wm + 1.0 / tile->wn)),
        .blocks = blocks,
        .cluster = p->cluster ? tile->split : 1,
        .threads = tile->threads,
        .regs = p->regs,
        .smem_block = (double)contract_smem(p),
        .block_ops = 2 * ops * made / plan.vec,
        .block_bytes = t.bytes * again(p) / blocks + tile->bn * part * size,
        .waves = 1,
    };
    w.serial_us = model_us(d, busy_clk(f, &plan, blocks, ops));
    model_cost(d, &w, c);
}
