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

    return model_least(f->c.o->device, PIPE_FMA, census_flops(f->census));
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
    double tiles_k = plan.tiles_k, size = type_bytes(f->c.elem);
    double part = tiles_k * tile->bk, sums = (double)tile->bm * tile->bn;
    double made = (double)tile->bm * part, vectors = made / plan.vec;
    double find = 2 * d->guard_ops * (2 + x->n_m) * blocks * vectors;
    double window = (t.flops + t.overhead) * again(p) + find;
    double results = (double)contract_rows(p) * tile->bn / tile->threads;
    /* loads that a thread waits for, one value after the other */
    double rounds = ceil(vectors / tiles_k / tile->threads) * tiles_k;
    Work w = {
        .pipe = PIPE_FMA,
        .flops = t.flops,
        .padded_flops = window,
        .efficiency = 1.0 / 2,
        .special = t.special * again(p) + f->c.special * sums * blocks,
        .hbm_bytes = f->c.hbm_bytes,
        .l2_bytes = t.bytes * again(p) + blocks * tile->bn * part * size +
                    f->c.out_bytes,
        .scatter = t.scatter,
        .smem_bytes = blocks * (made * size + 2 * sums * sizeof(float) +
                                part * size * tile->bm * tile->bn *
                                    (1.0 / tile->wm + 1.0 / tile->wn)),
        .blocks = blocks,
        .cluster = p->cluster ? tile->split : 1,
        .threads = tile->threads,
        .regs = p->regs,
        .smem_block = (double)contract_smem(p),
        .block_ops = window / blocks,
        .block_bytes = t.bytes * again(p) / blocks + tile->bn * part * size,
    };
    w.serial_us =
        model_us(d, rounds * d->l2_latency +
                        tiles_k * (2 * d->sync_clk + products_clk(p)) +
                        (tiles_k - 1) * d->l2_latency);
    w.fill_us = model_us(d, 2 * d->start_clk + d->hbm_latency +
                                sums / tile->threads * d->dependent_clk +
                                results * f->c.ops * d->dependent_clk +
                                (p->cluster ? contract_split_clk(p, sums) : 0));
    model_cost(d, &w, c);
}
