#include "family/turn/turn.h"

#include <math.h>

/* What a variant of turn costs. */

void turn_traffic(const TurnForm *f, const TurnPlan *p, Traffic *t)
{
    const Spread s = {.row = f->fast,
                      .along = f->fast,
                      .vec = p->vec,
                      .rows_warp = WARP * p->vec,
                      .turned = f->along};

    census_traffic(f->census, &s, t);
}

double turn_least(const void *form)
{
    const TurnForm *f = form;

    return model_least(f->options->device, PIPE_FMA, census_flops(f->census));
}

/* Elements that all blocks copy to shared memory, those beyond the tensors'
 * edges with them; *bytes that go into it, and from there by threads of which
 * 32 take a word or less each at once; and the instructions of that. */
static double copies(const TurnForm *f, const TurnPlan *p, double *bytes)
{
    const Device *d = f->options->device;
    const double points = p->blocks * (double)p->points;
    double ops = 0;

    *bytes = 0;
    for (int i = 0; i < f->n_turned; i++) {
        const int size = type_bytes(f->turned[i].read->tensor->type);
        const double n = p->blocks * (double)(p->lines[i] * p->line[i]);
        *bytes += n * size + (p->crossed[i] ? points * size
                                            : points * L2_LINE / WARP);
        ops +=
            n / p->step[i] *
            (d->copy_ops + d->access_ops + d->guard_ops * (1 + f->turned[i].n));
    }
    return ops;
}

/* Runs of whole lines follow each other: neighbouring blocks have them at the
 * same time. */
static double runs_cost(const Device *d, int64_t bytes)
{
    return bytes < L2_LINE ? model_runs(d, (double)bytes) : 1;
}

/* Whether a tile is taken element by element: each with its own address, and
 * stored to in more of a line's banks than are free. */
static bool by_elements(const TurnForm *f, const TurnPlan *p)
{
    bool any = false;

    for (int i = 0; i < f->n_turned; i++)
        any |= !p->crossed[i];
    return any;
}

void turn_cost(const void *form, const Variant *v, Cost *c)
{
    const TurnForm *f = form;
    const Device *d = f->options->device;
    const TurnPlan p = turn_plan(f, v);
    Traffic t;
    double copied;

    turn_traffic(f, &p, &t);
    const double ops = copies(f, &p, &copied);
    const double points = p.blocks * (double)p.points,
                 idle = points / (double)group_rows(f->group);
    /* where a block's tile lies, and each point in it */
    const double digits = (points / p.vec + p.blocks * p.threads) *
                          d->guard_ops * (1 + f->group->n_rows);
    const double runs = (runs_cost(d, p.run_in) + runs_cost(d, p.run_out)) / 2;
    /* it begins, loads, waits and stores: nothing of the block hides that */
    const double alone =
        model_us(d, 2 * (d->start_clk + d->hbm_latency + d->sync_clk));
    Work w = {
        .pipe = PIPE_FMA,
        .flops = t.flops,
        .padded_flops = idle * (t.flops + t.overhead) + 2 * (ops + digits),
        .efficiency = d->issue_reached / (by_elements(f, &p) ? 2 : 1),
        .special = idle * t.special,
        .hbm_bytes = f->bytes * runs,
        .l2_bytes = t.bytes,
        .scatter = t.scatter,
        .smem_bytes = copied,
        .blocks = p.blocks,
        .threads = p.threads,
        .regs = (int)d->map_regs + 2 * (p.vec + f->group->n_step),
        .smem_block = (double)p.smem,
        .block_ops = t.flops / p.blocks,
        .block_bytes = t.bytes / p.blocks,
        .serial_us = alone,
    };
    model_cost(d, &w, c);
    c->us += alone; /* once, what no block hides */
}
