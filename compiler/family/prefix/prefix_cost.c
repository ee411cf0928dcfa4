#include "family/prefix/prefix.h"

#include <math.h>

/* What a variant of prefix costs. */

double prefix_blocks(const PrefixPlan *p)
{
    const double lines = (double)p->lines;

    switch (p->mode) {
    case MODE_WALK:
        return ceil(lines / p->vec / p->threads);
    case MODE_WARP:
        return ceil(lines * WARP / p->threads);
    case MODE_LINES:
        return ceil(lines / WARP);
    default:
        return lines;
    }
}

void prefix_traffic(const PrefixForm *f, const PrefixPlan *p, Traffic *t)
{
    const bool lanes = p->mode == MODE_WALK || p->mode == MODE_LINES;
    const int n = f->line->n_rows;
    Spread s = {.row = lanes && n ? f->rows[n - 1] : NULL,
                .col = lanes ? NULL : f->at,
                .along = p->vec > 1 ? p->along : NULL,
                .vec = p->vec,
                .rows_warp = p->mode == MODE_WALK    ? WARP * p->vec
                             : p->mode == MODE_LINES ? WARP
                                                     : 1};

    census_traffic(f->census, &s, t);
}

/* Clocks in which a chunk's threads know what comes before them. */
static double chunk_clk(const Device *d, const PrefixPlan *p)
{
    double clk = 0;

    for (int n = 1; n < WARP && p->mode != MODE_LINES; n *= 2)
        clk += d->sync_clk;
    if (p->mode == MODE_BLOCK || p->mode == MODE_LINES)
        clk += 2 * d->sync_clk + d->dependent_clk * p->threads / WARP;
    return p->mode == MODE_WALK ? d->dependent_clk
                                : clk + 2 * d->dependent_clk * p->vec;
}

/* What the scan adds: each lane's value goes along its own elements twice and
 * through the shuffles. */
static double scan_ops(const Device *d, const PrefixForm *f,
                       const PrefixPlan *p)
{
    double rounds = 0, elements = (double)p->lines * (double)f->at->extent;

    if (p->mode == MODE_WALK)
        return elements * d->guard_ops / PREFIX_AHEAD;
    for (int n = 1; n < WARP && p->mode != MODE_LINES; n *= 2)
        rounds += d->copy_ops;
    if (p->mode == MODE_BLOCK || p->mode == MODE_LINES)
        rounds += d->copy_ops * p->threads / WARP;
    return elements * (2 + (rounds + d->guard_ops) / p->vec);
}

/* Of a thread in a turn: all warps' values, of a block's line by one read. */
static double shared_bytes(const PrefixPlan *p)
{
    return p->mode == MODE_BLOCK   ? VECTOR_BYTES
           : p->mode == MODE_LINES ? (double)p->threads / WARP * sizeof(float)
                                   : 0;
}

void prefix_cost(const void *form, const Variant *v, Cost *c)
{
    const PrefixForm *f = form;
    const Device *d = f->options->device;
    PrefixPlan p = prefix_plan(f, v);
    const double blocks = prefix_blocks(&p), chunks = (double)p.chunks;
    const bool walk = p.mode == MODE_WALK;
    Traffic t;

    prefix_traffic(f, &p, &t);
    double idle = walk ? blocks * p.threads * p.vec / (double)p.lines
                       : chunks * (double)p.turn / (double)f->at->extent;
    if (p.mode == MODE_LINES)
        idle *= blocks * WARP / (double)p.lines;
    Work w = {
        .pipe = PIPE_FMA,
        .flops = t.flops,
        .padded_flops =
            t.flops * idle + t.overhead + 2 * idle * scan_ops(d, f, &p),
        .efficiency = d->issue_reached,
        .special = t.special * idle,
        .hbm_bytes = f->bytes,
        .l2_bytes = t.bytes,
        .scatter = t.scatter,
        .smem_bytes = blocks * chunks * p.threads * shared_bytes(&p),
        .blocks = blocks,
        .threads = p.threads,
        .regs = (int)d->reduce_regs + 2 * p.vec,
        .block_ops = t.flops / blocks,
        .block_bytes = t.bytes / blocks,
        .fill_us = model_us(d, chunks * chunk_clk(d, &p)),
        .serial_steps = walk ? fmax(1, chunks / PREFIX_AHEAD) : chunks,
    };
    model_cost(d, &w, c);
}
