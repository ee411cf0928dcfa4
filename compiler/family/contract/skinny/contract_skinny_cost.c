#include "family/contract/skinny/contract_skinny.h"

#include "group/groups.h"

#include <math.h>
#include <string.h>

double skinny_room(const ContractPlan *x, size_t smem)
{
    return model_room(x->f->o->device, x->t.threads, x->regs, (double)smem);
}

double skinny_uneven(const Device *d, double blocks, double room)
{
    double per_sm = blocks / d->sms;

    if (per_sm <= 1)
        return 1;
    if (per_sm <= room)
        return 1 + d->hbm_uneven * (ceil(per_sm) / per_sm - 1);
    return 1 + d->hbm_uneven * room / per_sm;
}

void skinny_work(const ContractPlan *x, const SkinnyForm *f, int columns,
                 int parts, size_t smem, Work *w)
{
    const Device *d = x->f->o->device;
    const Tile *t = &x->t;
    double tiles = ceil((double)x->f->c.N / columns) * (double)x->f->c.batches;
    double blocks = tiles * t->split;
    double x_bytes = (double)t->bm * t->bk * type_bytes(x->f->elem);
    double weights = (double)columns * t->bk * f->size;

    w->pipe = f->mma ? PIPE_MMA : PIPE_FMA;
    w->efficiency = 1.0 / 2;
    w->flops = 2.0 * (double)x->f->c.M * (double)x->f->c.N * (double)x->f->c.K *
               (double)x->f->c.batches;
    w->padded_flops = w->flops;
    w->special = x->f->special * blocks * t->bm * t->bn;
    w->blocks = blocks;
    w->threads = t->threads;
    w->regs = x->regs;
    w->smem_block = (double)smem;
    w->block_bytes = x_bytes + weights;
    w->l2_bytes = blocks * (x_bytes + weights) + x->f->out_l2;
    w->scatter = 1;
    w->block_ops = w->flops / blocks;
    w->smem_bytes = 2 * blocks * columns * parts * t->bm * sizeof(float);
    w->warps_full = SCHEDULERS;
    /* a result's parts, one read after the other */
    w->fill_us = model_us(d, ceil((double)t->bm * t->bn / t->threads) * 2 *
                                 d->smem_latency);
}

/* Bytes of weights under way to an SM. */
static double under_way(const Skinny *s, double room, double per_sm)
{
    return fmin(room, per_sm) * s->x.t.threads * s->words * s->deep *
           sizeof(float);
}

/* How much longer the memory takes if too few bytes are under way. */
static double sparse(const Skinny *s, double under, double per_sm)
{
    double all = per_sm * s->columns * s->x.t.bk * s->f->size;

    return fmax(1, fmin(s->f->x.o->device->ask_kb * KB, all) / under);
}

/* Clocks until the rows of x are there, beyond those in which the first
 * weights come; no more of these are asked for before. */
static double wait_for_x(const Skinny *s, double under, double x_bytes)
{
    const Device *d = s->f->x.o->device;
    double hbm_clk = d->hbm_gbs / d->clock_ghz / d->sms;

    return fmax(0, x_bytes / d->sm_bytes_clk - under / hbm_clk);
}

/* How much longer memory takes over what lies side by side. */
static double runs(const Skinny *s)
{
    const SkinnyForm *f = s->f;
    double run = L2_LINE;

    if (f->align * f->size < VECTOR_BYTES)
        run = L2_SECTOR;
    /* four lanes side by side have vectors of a column, 8 others are far */
    if (f->k_major && s->f->x.c.K * f->size > SCHEDULERS * L2_LINE)
        run = fmin(run, SCHEDULERS * VECTOR_BYTES);
    if (!f->k_major)
        run = fmin(run, s->cols * f->size);
    return model_runs(s->f->x.o->device, run);
}

/* Reductions of a row. */
static int reductions(const RowMerge *m)
{
    int n = 0;

    for (int i = 0; i < m->n_step; i++)
        n += m->step[i].op != R_NONE;
    return n;
}

/* Clocks of the rows' values: a lane's elements, then those of a warp, five
 * times another's; and an element that is made of them and others. */
static double rows_clk(const Skinny *s)
{
    const Device *d = s->f->x.o->device;
    const RowMerge *m = s->f->x.gr->merge;
    const Tile *t = &s->x.t;

    if (!m)
        return 0;
    double rows = ceil((double)t->bm * WARP / t->threads);
    double lane = (double)m->over->extent / WARP;
    return d->sync_clk +
           rows * reductions(m) *
               (d->dependent_clk * lane + log2(WARP) * d->smem_latency) +
           d->l2_latency * (double)t->bm * t->bk / t->threads;
}

static void work(const Skinny *s, Work *w)
{
    const Contract *x = &s->f->x;
    const Tile *t = &s->x.t;
    const Device *d = x->o->device;
    double x_bytes = (double)t->bm * t->bk * type_bytes(x->elem);
    double room = skinny_room(&s->x, s->smem), narrow = runs(s);

    skinny_work(&s->x, s->f, s->columns, s->warps_k, s->smem, w);
    double blocks = w->blocks, per_sm = blocks / d->sms;
    double under = under_way(s, room, per_sm);
    double rows = s->f->mma ? ceil((double)t->bm / MMA_N) * MMA_N : t->bm;
    if (s->f->mma)
        w->padded_flops *= rows / t->bm;
    w->hbm_bytes = x->hbm_bytes * skinny_uneven(d, blocks, room) * narrow *
                   sparse(s, under, per_sm);
    w->scatter = narrow;
    w->smem_bytes += blocks * x_bytes *
                     (1 + s->warps_n * rows / t->bm * (s->f->mma ? 1 : 2));
    w->in_flight = d->ask_kb * KB; /* sparse() has counted */
    /* the first weights, the sums of the warps and those of the cluster */
    double clk = d->hbm_latency + d->start_clk +
                 d->dependent_clk * t->split * s->warps_k +
                 wait_for_x(s, under, x_bytes * fmin(room, fmax(1, per_sm)));
    if (s->f->k_major)
        clk += x_bytes / d->sm_bytes_clk;
    if (t->split > 1)
        clk += 2 * d->cluster_clk;
    if (!s->x.a.async) /* x comes through registers */
        clk += d->l2_latency +
               d->dependent_clk * (double)t->bm * t->bk / t->threads;
    w->fill_us += model_us(d, clk + rows_clk(s));
}

void skinny_cost(const void *form, const Variant *v, Cost *c)
{
    Skinny s;
    Work w = {0};

    memset(c, 0, sizeof *c);
    if ((c->why = skinny_plan(&s, form, v)))
        return;
    work(&s, &w);
    model_cost(s.f->x.o->device, &w, c);
}
