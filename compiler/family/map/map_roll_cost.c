#include "family/map/map.h"

#include <math.h>
#include <string.h>

/* What a thread has and does; a warp's instructions, from the code that nvcc
 * makes of it. */
typedef struct Walk {
    double regs, smem;    /* a thread */
    double shared;        /* shared memory of a block besides */
    double steps;         /* iterations down the rows */
    double wait;          /* clocks of one in which no products are */
    double step, start;   /* instructions of an iteration, before them */
    double input, output; /* bytes of an iteration */
    double past;          /* of input's: by 16 at a time, past the L1 */
    double lane;          /* bytes of a copy */
} Walk;

static void count_guard(const Expr *e, void *ctx)
{
    double *n = ctx;

    *n += e->kind == E_READ && e->in.n > 0;
}

/* Of a tap: guards were heard when its input came in, a product goes into a
 * sum by one instruction, and the greater of two takes as long as two. */
double column_ops(const Step *s)
{
    double ops = expr_ops(s->value) + (s->op != R_NONE), guards = 0;
    bool fused =
        s->op == R_SUM && s->value->kind == E_BINARY && s->value->fn == F_MUL;

    expr_visit(s->value, count_guard, &guards);
    return ops - guards - fused + (s->op == R_MAX || s->op == R_MIN);
}

/* Iterations that have the products of a whole row, of all: the first and the
 * last ones may leave out other threads'. */
static double full_steps(const Group *gr, const Roll *r, int vec)
{
    double rows = (double)r->down.tile;

    return roll_skips(gr, r, vec) ? rows / (rows + roll_live(r) - 1) : 1;
}

static void count_reads(Graph *g, const Group *gr, const Device *d,
                        const Roll *r, int vec, Walk *w)
{
    int all[MAX_STEPS];
    double taps = (double)group_cols(gr);
    double span = (double)window_span(&r->across);
    double rows = (double)r->down.stride, stages = roll_stages(r);
    double full = full_steps(gr, r, vec);
    Reads reads;

    for (int i = 0; i < gr->n_step; i++)
        all[i] = i;
    reads_of(g, gr, all, gr->n_step, &reads);
    for (int i = 0; i < reads.n; i++) {
        const Expr *e = reads.read[i];
        int bytes = type_bytes(e->tensor->type);
        double convert = bytes < (int)sizeof(float) ? vec : 0;
        bool cols = false;
        for (int j = 0; j < gr->n_cols; j++)
            cols |= read_uses(e, gr->cols[j]);
        if (cols && roll_moves(r, e)) {
            bool filled = e->outside && e->outside->num != 0;
            bool own = !r->bands; /* copies are the thread's */
            w->step += rows * span *
                       (1 + 2 * own + convert + (filled ? d->guard_ops : 0));
            w->lane = vec * bytes;
            if (own && vec * bytes == VECTOR_BYTES)
                w->past += rows * span * vec * bytes;
            w->start += own * (stages - 1) * span * d->copy_ops;
            w->input += rows * span * vec * bytes;
            w->smem += own * stages * span * vec * bytes;
            w->regs += span * vec * bytes / sizeof(float);
        } else if (roll_moves(r, e)) { /* the results' own */
            w->step += full * r->across.tile * (2 + convert);
            w->output += full * r->across.tile * vec * bytes;
        } else {
            w->start += (cols ? taps : 1) * (2 + convert);
            w->regs += (cols ? taps : 1) * vec;
        }
    }
}

static void walk_of(Graph *g, const Group *gr, const Device *d, const Roll *r,
                    int vec, Walk *w)
{
    double tile = r->across.tile, taps = (double)group_cols(gr);
    double full = full_steps(gr, r, vec);

    memset(w, 0, sizeof *w);
    w->steps = (double)(r->down.tile + roll_live(r) - 1);
    w->step = 2 * d->guard_ops;
    w->start = d->round_ops;
    /* In a loop each waits for its row, and then for its columns; side by side
     * they come during the products before. */
    if (r->bands && !roll_written_out(gr, r, vec))
        w->wait = 2 * (d->sync_clk + d->smem_latency);
    w->shared = r->bands ? band_bytes(gr, r) : 0;
    w->regs = r->bands ? d->band_regs : d->walk_regs;
    if (!r->bands && r->down.q->extent % r->down.tile)
        w->regs += d->ragged_regs;
    count_reads(g, gr, d, r, vec, w);
    for (int i = 0; i < gr->n_step; i++) {
        const Step *s = &gr->step[i];
        if (is_col_step(s)) {
            w->step += full * taps * tile * vec * column_ops(s);
            if (s->op != R_NONE)
                w->regs += roll_live(r) * tile * vec;
        } else {
            w->step += full * tile * vec * (double)expr_ops(s->value);
        }
        if (s->tensor) {
            int bytes = type_bytes(s->tensor->type);
            w->step += full * tile *
                       (2 + (bytes < (int)sizeof(float) ? vec / 2.0 : 0));
            w->output += full * tile * vec * bytes;
        }
    }
}

/* Clocks of one wave of `blocks` blocks on an SM: they take turns, or each
 * waits for its copies. */
static double wave_clk(const Device *d, const Roll *r, const Walk *w,
                       double warps)
{
    double turns = fmax(1, warps / SCHEDULERS);
    double each = r->bands ? ceil(warps / SCHEDULERS) : turns;
    double issue = each * w->step / d->issue_reached;
    double wait =
        (double)r->down.stride * d->hbm_latency / (roll_stages(r) - 1);

    if (r->bands) /* all copies are under way */
        wait = 0;
    return w->steps * (fmax(issue, wait) + w->wait) + turns * w->start;
}

/* How many times a warp's load from shared rows goes through the banks, once
 * being the least: `wide` threads have neighbouring lanes of w->lane bytes, the
 * next ones have `apart` bytes to go. */
static double bank_turns(const Walk *w, int64_t wide, double apart)
{
    int lanes = (int)(WARP * sizeof(float) / w->lane), most = 1;
    int used[WARP] = {0}; /* as many banks, of 4 bytes */

    for (int i = 0; i < lanes; i++) {
        double at = (double)(i % wide) * w->lane + (double)(i / wide) * apart;
        int bank = (int)fmod(at / sizeof(float), WARP);
        if (++used[bank] > most)
            most = used[bank];
    }
    return most;
}

/* What bank conflicts cost an SM, microseconds. */
static double conflict_us(const Device *d, const Roll *r, const Walk *w,
                          const Var *fast, int vec, double warps)
{
    double step = (double)(r->across.tile * r->across.stride * fast->extent) *
                  w->lane / vec;
    double turns = bank_turns(w, fast->extent / vec, step);
    double passes = w->input * WARP / d->smem_bytes_clk;

    return model_us(d, warps * w->steps * passes * (turns - 1));
}

/* Clocks of all blocks of the fullest SM. */
static double sm_clk(const Device *d, const Roll *r, const Walk *w,
                     double blocks, int threads, double room)
{
    double most = ceil(blocks / d->sms), full = floor(most / room);
    double rest = most - full * room;
    double clocks = full * wave_clk(d, r, w, room * threads / WARP);

    if (rest > 0)
        clocks += wave_clk(d, r, w, rest * threads / WARP);
    return clocks;
}

/* Registers that a thread should have at most where an SM has n blocks, and
 * those that it has there. */
static double most_regs(const Device *d, const Roll *r, int threads, double n)
{
    return r->bands ? fmin(d->band_most_regs,
                           model_thread_regs(d, threads, (int)n))
                    : d->walk_most_regs;
}

static double held_to(const Device *d, const Roll *r, int threads, double n)
{
    return fmin(most_regs(d, r, threads, n),
                model_thread_regs(d, threads, (int)n));
}

/* Blocks on an SM; nvcc is held to the registers for them. */
static double blocks_room(const Device *d, const Roll *r, const Walk *w,
                          int threads)
{
    double n = model_whole_room(d, threads, w->regs,
                                w->smem * threads + w->shared);

    while (n > 1 && w->regs > held_to(d, r, threads, n))
        n--;
    return n;
}

int roll_blocks(Graph *g, const Group *gr, const Device *d, const Roll *r,
                int vec, int threads)
{
    Walk w;

    walk_of(g, gr, d, r, vec, &w);
    return (int)blocks_room(d, r, &w, threads);
}

/* Bytes of rows that the run itself has written, and of which the L2 holds a
 * part, which walks find there. Where as much is written, bands do not, for a
 * cause that was not found; with a stride they lose nothing. */
static double half_held(Graph *g, const Group *gr, const Device *d,
                        const Roll *r)
{
    int all[MAX_STEPS];
    double held = 0;
    Reads reads;

    for (int i = 0; i < gr->n_step; i++)
        all[i] = i;
    reads_of(g, gr, all, gr->n_step, &reads);
    for (int i = 0; i < reads.n && r->down.stride == 1; i++) {
        const Tensor *t = reads.read[i]->tensor;
        double bytes = (double)tensor_elems(t) * type_bytes(t->type);
        if (t->role == ROLE_TEMP && roll_moves(r, reads.read[i]) &&
            model_too_large(d, bytes) && bytes < d->l2_mb * MEGA)
            held += bytes;
    }
    return held;
}

void roll_cost(Graph *g, const Group *gr, const Options *o, const Roll *r,
               const Var *fast, int vec, int threads, const Traffic *t, Cost *c)
{
    const Device *d = o->device;
    double points = (double)roll_points(gr, r, vec);
    double blocks = ceil(points / threads);
    Walk w;

    walk_of(g, gr, d, r, vec, &w);
    memset(c, 0, sizeof *c);
    /* Of a walk whose iterations are side by side nvcc has values of several
     * at a time, and more registers than a thread should have. */
    double more =
        !r->bands && roll_written_out(gr, r, vec) ? 2 * d->ragged_regs : 0;
    if (w.regs + more > most_regs(d, r, threads, 1)) {
        c->why = "more registers than a thread should have";
        c->us = INFINITY;
        return;
    }
    double room = blocks_room(d, r, &w, threads);
    double waves = ceil(blocks / (d->sms * room)), n = points * w.steps;
    /* neighbours in a block find their common columns in the L1, where a
     * request takes a cycle for each line that it touches */
    double side = fmax(1, threads / fmax(1, (double)fast->extent / vec));
    double span = (double)window_span(&r->across);
    double own = r->across.q ? (double)(r->across.tile * r->across.stride) : 1;
    double fresh = (own + (span - own) / side) / span;
    double input = w.past + (w.input - w.past) * fresh;
    double narrow = fmax(1, L2_LINE / (2.0 * (double)fast->extent));
    double wide = fmax(
        1, VECTOR_BYTES / (2 * w.lane)); /* a request of less takes as long */
    double l1 = n * wide * (w.input * (narrow + 2) + w.output * narrow);
    double l2 = n * (input + w.output);
    double fill = model_us(d, d->hbm_latency + d->start_clk);
    double stride = (double)r->down.stride;
    if (r->bands) {
        l1 = n * (w.input + w.output);
        l2 = blocks * (double)band_rows(r) * band_row_bytes(gr, r) +
             n * w.output;
    }
    double sm_us = model_us(d, sm_clk(d, r, &w, blocks, threads, room));
    double l1_us = model_us(d, l1 / (d->smem_bytes_clk * d->sms));
    /* Of what does not limit it, a part is not hidden behind what does; of
     * copies less where several blocks go through their rows, each at another
     * place, and read few of them twice (3x3 of stride 2). */
    double several = r->bands && r->slots < band_rows(r) &&
                             2 * r->down.stride > r->down.s->extent
                         ? 2 / (1 + fmin(room, ceil(blocks / d->sms)))
                         : 1;
    if (r->bands)
        l1_us += conflict_us(d, r, &w, fast, vec, n / w.steps / d->sms / WARP);
    double copies = l1_us + l2 / (d->l2_gbs * KILO);
    double memory = model_group_bytes(g, gr, d, NULL, NULL) +
                    (r->bands ? half_held(g, gr, d, r) : 0);
    double hbm_us = memory / (d->hbm_gbs * KILO);
    /* and of rows that come into slots which two others had before, two rows
     * behind them */
    double late = r->bands && r->down.stride == 1
                      ? fmax(0, 1 - 2 * (double)(r->slots + 2) /
                                        (double)band_rows(r))
                      : 0;
    /* and of all rows of a block of several bands that has an SM for itself,
     * before another one */
    if (r->bands > 1 && room < 2 && waves > 1)
        late = 1 / (2 * waves);
    double beside = d->beside * (fmin(sm_us, hbm_us) + several * copies +
                                 late * hbm_us);
    Work work = {
        .pipe = PIPE_FMA,
        .flops = t->flops,
        .padded_flops = 2 * points * (w.steps * w.step + w.start),
        .efficiency = d->issue_reached,
        .special = t->special,
        .hbm_bytes = memory,
        .l2_bytes = l2,
        .smem_bytes = l1,
        .scatter = 1,
        .blocks = blocks,
        .threads = threads,
        .regs = (int)w.regs,
        .by_warps = true,
        .smem_block = w.smem * threads + w.shared,
        .block_ops = t->flops / blocks,
        .block_bytes = l2 / blocks,
        .in_flight =
            r->bands ? w.shared : input * threads * roll_stages(r) / stride,
        .waves = waves,
        .fill_us = (fill + beside) / fmin(waves, d->late_waves),
        /* a thread has independent sums enough for two warps of a scheduler
         * to fill it */
        .lone = d->lone_warp,
        .serial_us = sm_us / waves,
    };
    model_cost(d, &work, c);
}
