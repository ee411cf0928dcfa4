#include "family/reduce/reduce.h"

#include <math.h>

/* What a variant of reduce costs. */

static double block_count(const RowReduce *r)
{
    switch (r->mode) {
    case MODE_LANES:
        return ceil((double)r->n_rows * r->share / r->threads);
    case MODE_COLUMNS:
        return ceil((double)r->n_rows / r->vec / r->share) * r->parts;
    case MODE_SPLIT:
        return (double)r->n_rows * r->share;
    default:
        return (double)r->n_rows / r->share;
    }
}

/* Waits for memory, one after the other, of one thread. */
static double serial_loads(const RowReduce *r, const Device *d)
{
    double turns = fmax(1, r->chunks / d->loads_ahead);
    double kept = (double)r->chunks / (d->loads_ahead * d->loads_ahead);

    if (r->mode == MODE_COLUMNS && turns > 1) /* some, then one by one */
        turns = floor(turns) + fmod(r->chunks, d->loads_ahead);
    if (r->held) /* copies are all under way; loads are one by one */
        return r->vec > 1 ? 1 : fmax(1, turns / 2);
    if (r->keep)
        return 1 + (kept > 1 ? kept : 0);
    /* later passes find it in the L2 */
    return turns * (1 + (r->plan.passes - 1) * d->l2_latency / d->hbm_latency);
}

/* Of one result with another thread's: a place has its own words to send, and
 * is chosen by comparing both, NaN and ties. */
static double combine_ops(const RowReduce *r, const Device *d)
{
    double places = 0;

    for (int i = 0; i < r->group->n_step; i++)
        places += r->group->step[i].op == R_ARGMAX;
    return d->copy_ops * (1 + 2 * 2 * places);
}

/* What a thread does besides the nest's own operations: finding its row and
 * columns, and combining results with others. */
static double thread_overhead(const RowReduce *r, const Device *d)
{
    double turn = d->guard_ops * (r->group->n_cols > 1 ? 2 : 1);
    double each = combine_ops(r, d), rounds = 1;

    for (int n = r->per_row; r->mode != MODE_COLUMNS && n > 1; n /= 2)
        rounds += each;
    if (r->mode == MODE_COLUMNS)
        rounds = d->copy_ops * r->vec;
    return d->guard_ops * (2 + r->group->n_rows) +
           r->plan.passes * (turn * r->chunks + rounds);
}

bool reduce_many_quotients(const RowReduce *r)
{
    return r->mode != MODE_COLUMNS && (r->chunks > 1 || r->vec > 1);
}

/* Divisions by a value of the row are products (body_divisors): two. */
static void cheap_divisions(const RowReduce *r, double quotients, Traffic *t)
{
    double n = reduce_many_quotients(r) ? quotients : 0;

    n *= (double)r->n_rows * (double)r->n_cols;
    t->flops -= (EXPR_DIVISION - 2) * n;
    t->special -= n;
}

void reduce_traffic(const RowReduce *r, const ReduceForm *f, Traffic *t)
{
    bool columns = r->mode == MODE_COLUMNS;
    bool beside = r->mode == MODE_BLOCK && r->share > 1;
    const Var *row = reduce_fastest(r->rows, r->group->n_rows);
    Spread s = {.row = columns || beside || r->mode == MODE_LANES ? row : NULL,
                .col =
                    columns ? NULL : reduce_fastest(r->cols, r->group->n_cols),
                .along = r->along,
                .vec = r->vec,
                .rows_warp = columns  ? r->share * r->vec
                             : beside ? r->share
                                      : WARP / r->per_row};

    census_traffic(f->census, &s, t);
    if (r->shift) { /* vectors, whatever the rows' places promise */
        Traffic one;
        s.vec = 1;
        census_traffic(f->census, &s, &one);
        t->l1_clk = one.l1_clk / r->vec;
        t->bytes = one.bytes;
        t->scatter = one.scatter;
    }
    cheap_divisions(r, f->quotients, t);
    t->flops *= r->part;
    t->special *= r->part;
    t->overhead *= r->part;
    t->bytes *= r->part;
    t->l1_clk *= r->part;
    t->overhead += 2 * block_count(r) *
                   (r->threads * thread_overhead(r, f->options->device) +
                    f->options->device->round_ops * WARP);
}

/* Bytes that come from HBM once more for each pass that reads the columns
 * again: all, if those of the rows that are under way at a time do not stay in
 * the L2. */
static double read_again(const RowReduce *r, const Device *d, double in)
{
    double blocks = block_count(r);
    double under_way =
        fmin(blocks, (double)d->sms * d->threads_sm / r->threads);

    if (r->keep || r->held || r->plan.passes < 2 ||
        !model_too_large(d, in * under_way / blocks))
        return 0;
    return in * (r->plan.passes - 1);
}

/* What runs of less than a line cost of the memory's bandwidth, as a factor. */
static double narrow_runs(const RowReduce *r, const Device *d, const Expr *read)
{
    if (r->mode != MODE_COLUMNS || !read)
        return 1;
    return model_runs(d, fmin((double)r->share * r->vec, (double)r->n_rows) *
                             type_bytes(read->tensor->type));
}

/* Results that threads have of a row's columns. */
static double sums(const RowReduce *r)
{
    double n = 0;

    for (int i = 0; i < r->group->n_step; i++)
        n += r->group->step[i].op != R_NONE;
    return n;
}

/* Clocks in which threads' results have become one. */
static double combine_clk(const RowReduce *r, const Device *d)
{
    double each = 2 * d->dependent_clk * r->per_row;

    if (r->mode == MODE_LANES)
        return d->sync_clk;
    if (r->mode == MODE_SPLIT)
        return d->memory_clk;
    if (r->parts > 1) /* and parts come from the L2, some at a time */
        return d->memory_clk + each +
               sums(r) * d->hbm_latency *
                   ceil((double)r->parts / r->per_row /
                        (r->vec > 2 * 2 ? 2 : d->loads_ahead));
    return 2 * d->sync_clk +
           (r->mode == MODE_COLUMNS ? each : (double)r->threads / 2);
}

double reduce_least(const void *form)
{
    const ReduceForm *f = form;
    Traffic t = {.flops = census_flops(f->census)};
    const RowReduce all = {.mode = MODE_BLOCK, .vec = 2,
                           .n_rows = group_rows(f->plain),
                           .n_cols = group_cols(f->plain)};

    cheap_divisions(&all, f->quotients, &t);
    return model_least(f->options->device, PIPE_FMA, t.flops * f->part);
}

/* Vectors of a thread: columns' sums, and what they are of. */
static int vectors(const RowReduce *r, const ReduceForm *f)
{
    int n = f->row_vectors;

    for (int i = 0; i < r->group->n_step && r->mode == MODE_COLUMNS; i++)
        n += r->group->step[i].op != R_NONE;
    return r->mode == MODE_COLUMNS && n > 2 ? n : 2;
}

void reduce_cost(const void *form, const Variant *v, Cost *c)
{
    const ReduceForm *f = form;
    const Device *d = f->options->device;
    RowReduce r;
    Traffic t;

    reduce_plan(&r, f, v);
    reduce_traffic(&r, f, &t);
    double again = r.keep || r.held ? 1 : fmax(1, r.plan.passes);
    double blocks = block_count(&r);
    if (blocks > INT32_MAX) {
        *c = (Cost){.us = INFINITY, .why = "more blocks than a grid has"};
        return;
    }
    double idle =
        (double)r.chunks * r.per_row * (r.mode == MODE_COLUMNS ? 1 : r.vec) /
        ((double)r.n_cols * r.part /
         (r.mode == MODE_SPLIT ? r.share : r.parts));
    double smem = t.l1_clk * again * d->smem_bytes_clk;
    if (r.mode == MODE_COLUMNS && r.per_row > 1)
        smem += VECTOR_BYTES * blocks * r.threads * r.vec * r.plan.passes;
    const double held =
        r.held ? (double)reduce_held_bytes(f, r.vec) : 0;
    smem += held * (double)r.n_rows * (1 + r.plan.passes);
    Work w = {
        .pipe = PIPE_FMA,
        .flops = t.flops,
        .padded_flops = t.flops * fmax(1, idle) + t.overhead,
        .efficiency = d->issue_reached,
        .special = t.special * fmax(1, idle),
        .hbm_bytes =
            (f->bytes + read_again(&r, d, f->in)) * narrow_runs(&r, d, f->read),
        .l2_bytes = t.bytes * again,
        .scatter = t.scatter,
        .smem_bytes = smem,
        .blocks = blocks,
        .threads = r.threads,
        .regs = (int)d->reduce_regs + vectors(&r, f) * r.vec +
                r.arrays * r.chunks * r.vec,
        .smem_block = held * r.share,
        /* a long chain an element, and nothing else to do */
        .warps_full = r.held ? 2 * d->fma_warps : 0,
        .block_ops = t.flops / blocks,
        .block_bytes = t.bytes / blocks,
        .fill_us = model_us(d, combine_clk(&r, d) * fmax(1, r.plan.passes)),
        .serial_steps = serial_loads(&r, d),
        .in_turn = r.mode == MODE_LANES ? r.threads / WARP : 1,
    };
    model_cost(d, &w, c);
}
