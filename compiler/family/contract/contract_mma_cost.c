#include "family/contract/contract_mma.h"

#include <math.h>
#include <string.h>

/* Fraction of mma.sync's rate that a warp's inner loop reaches: small warp
 * tiles spend their time on fragments, each of which takes about as long as two
 * of the products that it is for. */
static double efficiency(const Contract *f, double wm, double wn)
{
    double fragments = 2.0 * MMA_N * (wm + wn) / (wm * wn);

    return f->o->device->mma_reached / (1 + fragments) / f->terms;
}

/* Clocks of a copy's instructions, one warp on a scheduler: each waits for the
 * one before. */
static double copies_clk(const ContractPlan *x, const Load *l)
{
    return l->passes * contract_copy_ops(x->f, l) *
           x->f->o->device->dependent_clk;
}

/* Clocks of the loop over k in one block, with few warps. */
static double loop_clk(const ContractPlan *x)
{
    const Device *d = x->f->o->device;
    const Tile *t = &x->t;
    double tiles = (double)((x->f->c.K + t->bk - 1) / t->bk);
    double steps = (double)t->bk / x->f->k_step / x->parts;
    double mmas = (double)t->wm / MMA_M * t->wn / MMA_N * x->f->terms;
    double step = fmax(model_mma_clk(d) * mmas, d->smem_latency) +
                  (double)(t->wm + t->wn) / MMA_M * d->dependent_clk;
    double tile = d->sync_clk + steps * step + copies_clk(x, &x->a) +
                  copies_clk(x, &x->b);

    tile = fmax(tile, 2 * d->hbm_latency / (t->stages - 1));
    return ceil(tiles / t->split) * tile * contract_reach(x, 1);
}

/* Clocks before the first tile's products and after the last one's. */
static double ends_clk(const ContractPlan *x)
{
    const Device *d = x->f->o->device;
    const Tile *t = &x->t;
    double results = (double)contract_rows(x) * t->bn / t->threads;

    return 2 * d->start_clk + copies_clk(x, &x->a) + copies_clk(x, &x->b) +
           results * x->f->ops * d->dependent_clk;
}

/* Warps of an SM that reach the pipe's rate: fewer, where each has much. */
static double warps_full(const ContractPlan *x)
{
    double area = (double)x->t.wm * x->t.wn;

    return x->f->o->device->mma_warps * fmin(1, WARP / sqrt(area));
}

static Pipe pipe_of(const Contract *x)
{
    return x->elem == T_F32  ? PIPE_MMA_TF32
           : x->elem == T_I8 ? PIPE_MMA_I8
                             : PIPE_MMA;
}

double mma_least(const void *form)
{
    const Contract *x = form;
    const double most = mma_warp_most();

    return model_least(x->o->device, pipe_of(x),
                       contract_flops(x) / efficiency(x, most, most));
}

/* Of a warp's inner step. */
static double thread_ops(const Tile *t)
{
    return 2.0 * t->wm * t->wn * MMA_K / WARP;
}

static double thread_loads(const Tile *t)
{
    return (double)(t->wm + t->wn) / MMA_M;
}

double mma_potential(const void *form, const Variant *v)
{
    const Tile t = contract_tile(v);

    return contract_potential(form, v, pipe_of(form),
                              thread_ops(&t) / thread_loads(&t));
}

void mma_cost(const void *form, const Variant *v, Cost *c)
{
    const Contract *f = form;
    ContractPlan x;
    const Device *d = f->o->device;
    Work w = {0};

    memset(c, 0, sizeof *c);
    if ((c->why = mma_plan(&x, f, v)))
        return;
    const Tile *t = &x.t;
    double blocks =
        (double)contract_tiles(f, t) * (double)f->c.batches * t->split;
    double steps = (double)((f->c.K + t->bk - 1) / t->bk) / t->split *
                   contract_reach(&x, blocks / d->sms);
    w.pipe = pipe_of(f);
    w.warps_full = warps_full(&x);
    w.efficiency = efficiency(f, t->wm, t->wn);
    /* every warp reads its rows of both tiles */
    w.smem_bytes = blocks * steps * t->threads / WARP * (t->wm + t->wn) *
                   t->bk * type_bytes(f->elem);
    w.thread_ops = thread_ops(t);
    w.thread_loads = thread_loads(t);
    w.bank_conflict = 1;
    contract_work(&x, &w);
    w.serial_us = model_us(d, loop_clk(&x));
    w.fill_us += model_us(d, ends_clk(&x));
    model_cost(d, &w, c);
    /* blocks in a row, whose start those beside it on an SM hide in part */
    double room = fmax(1, model_room(d, w.threads, w.regs, w.smem_block));
    double late = model_us(d, fmax(0, blocks / d->sms - 2 * d->late_waves) *
                                  d->start_clk / room);
    c->latency += late;
    c->us += late;
}
