#include "family/chain/chain_window.h"
#include "family/contract/contract_shared.h"

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
    double own = ceil(blocks / d->sms), vectors = p->t.bm * p->t.bk / w->vec;
    double room =
        model_room(d, p->t.threads, p->regs, (double)contract_smem(p));
    double rounds = ceil(vectors / p->t.threads);
    double tile = d->hbm_latency + d->slot_clk + products_clk(p) +
                  rounds * ops / d->issue_reached;
    double issue = w->tiles_k * vectors * ops / (SCHEDULERS * WARP);

    return ceil(own / room) * w->tiles_k * tile +
           own * (2 * d->issue_reached * issue + 2 * d->start_clk) +
           (p->cluster ? d->cluster_clk + d->slot_clk * p->t.split : 0);
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
