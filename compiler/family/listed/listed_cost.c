#include "family/listed/listed.h"

#include <math.h>

/* What a variant of listed costs, if data name all rows alike. */

double listed_blocks(const ListedForm *f, const ListedPlan *p)
{
    return ceil((double)f->row->extent / p->rows) * (double)p->tiles *
           (double)f->tables;
}

void listed_traffic(const ListedForm *f, const ListedPlan *p, Traffic *t)
{
    const Var *row = f->n_across ? f->across[f->n_across - 1] : f->row;
    Spread s = {.row = f->n_across ? row : NULL,
                .along = p->vec > 1 ? p->along : NULL,
                .vec = p->vec,
                .rows_warp = p->lanes * p->vec};
    Traffic each;

    census_traffic(f->terms, &s, t);
    s.row = row;
    census_traffic(f->rows, &s, &each);
    t->flops += each.flops;
    t->special += each.special;
    t->overhead += each.overhead;
    t->scatter = t->bytes * t->scatter + each.bytes * each.scatter;
    t->bytes += each.bytes;
    t->l1_clk += each.l1_clk;
    t->scatter = t->bytes > 0 ? t->scatter / t->bytes : 1;
}

/* Points of a block's list, of all chunks. */
static double listed(const ListedForm *f, const ListedPlan *p)
{
    return (double)f->points * p->rows / (double)f->row->extent;
}

/* Of a block: each point's data are compared and its lane counted; each 32 of
 * the list are asked by every warp for each of its rows, and once more where
 * they belong among the row's. */
static double list_ops(const ListedForm *f, const ListedPlan *p,
                       const Device *d)
{
    const double of_warp = (double)WARP / (p->lanes * p->share) * p->each;
    const double turns = (double)p->chunks + listed(f, p) / WARP;

    return (double)f->points * (d->access_ops + d->guard_ops + d->copy_ops) +
           turns * p->threads * 2 * (d->guard_ops + of_warp * 2);
}

/* Waits for memory, one after the other: for a chunk's data, and for the points
 * of a row, of which a thread has some under way at a time. Each is behind what
 * says which points, a list that others make. */
static double waits(const ListedForm *f, const ListedPlan *p)
{
    const double of_warp = (double)WARP / (p->lanes * p->share);
    const double of_row =
        (double)f->points / (double)f->row->extent / (double)p->chunks;
    const double turns =
        fmax(of_row / p->share / LISTED_LOADS, fmin(1, of_row * of_warp));

    return 2 * (double)p->chunks * (1 + turns * p->each);
}

void listed_cost(const void *form, const Variant *v, Cost *c)
{
    const ListedForm *f = form;
    const Device *d = f->options->device;
    ListedPlan p = listed_plan(f, v);
    const double blocks = listed_blocks(f, &p);
    const double list = blocks * list_ops(f, &p, d);
    const double data = blocks * (double)f->points * sizeof(int);
    int resident;
    Traffic t;

    listed_traffic(f, &p, &t);
    const double idle = (double)p.tiles * p.lanes * p.vec / (double)f->columns;
    Work w = {
        .pipe = PIPE_FMA,
        .flops = t.flops,
        .padded_flops = t.flops * idle + t.overhead * idle + 2 * 2 * list,
        .efficiency = d->issue_reached,
        .special = t.special * idle,
        .hbm_bytes = f->bytes,
        .l2_bytes = t.bytes + data,
        .scatter = (t.bytes * t.scatter + data) / (t.bytes + data),
        .blocks = blocks,
        .threads = p.threads,
        .regs = listed_regs(f, &p, &resident),
        .smem_block = (double)listed_smem(&p),
        .block_ops = t.flops / blocks,
        .block_bytes = (t.bytes + data) / blocks,
        .fill_us = model_us(d, (double)p.chunks *
                                   (2 * 2 * d->sync_clk + d->memory_clk)),
        .serial_steps = waits(f, &p),
    };
    model_cost(d, &w, c);
}
