/* map_roll.c - windows that a thread walks down: pooling and depthwise
 * convolution over vectors of neighbouring channels.
 *
 * A thread has TILE outputs along one window, `across`, and goes down the
 * other, `down`: every input row comes in once, by copies that run STAGES - 1
 * rows ahead in slots of the thread's own (so nobody waits at a barrier), is
 * converted once, and goes into the LIVE rows of outputs that it belongs to.
 * Their sums are in registers; so are the factors that only the window moves.
 */
#include "family/map/map.h"

#include <limits.h>
#include <math.h>
#include <string.h>

enum { MOST_REGS = 200, MOST_BAND_REGS = 250 };

/* ---- which nests ------------------------------------------------------- */

typedef struct RollCheck {
    Graph *graph;
    const Roll *roll;
    const Var *along;
    int vec, reads;
    bool good;
} RollCheck;

bool roll_moves(const Roll *r, const Expr *read)
{
    return read_uses(read, r->down.q) ||
           (r->across.q && read_uses(read, r->across.q));
}

/* What a window moves comes in by copies of 4, 8 or 16 bytes. */
static void check_read(const Expr *e, void *ctx)
{
    RollCheck *c = ctx;
    const Roll *r = c->roll;
    int step;

    if (e->kind != E_READ || !roll_moves(r, e))
        return;
    int bytes = c->vec * type_bytes(e->tensor->type);
    c->good &= ++c->reads <= WALK_READS && read_uses(e, r->down.q) &&
               (!r->across.q || read_uses(e, r->across.q)) &&
               read_kind(c->graph, e, c->along, c->vec, &step) ==
                   READ_VECTOR &&
               step == c->vec && (bytes == 4 || bytes == 8 || bytes == 16);
    for (int i = 0; i < e->tensor->rank; i++)
        c->good &= !idx_has_data(e->at[i]);
}

/* Rows are counted in ints, a tile's beyond the last included. */
static bool counts(const Window *w)
{
    return !w->q || (w->q->extent < INT_MAX / 4 / w->stride &&
                     w->s->extent < INT_MAX / 4);
}

bool roll_fits(Graph *g, const Group *gr, const Roll *r, const Var *along,
               int vec)
{
    RollCheck c = {g, r, along, vec, 0, counts(&r->down) && counts(&r->across)};

    for (int i = 0; i < gr->n_step; i++)
        if (is_col_step(&gr->step[i]))
            expr_visit(gr->step[i].value, check_read, &c);
    return c.good;
}

bool roll_find(Graph *g, const Group *gr, const Var *const *rows,
               const Var *fast, Roll *r)
{
    Window pair[4];
    int n = window_pairs(g, gr, fast, pair, 4), cols = 0;

    memset(r, 0, sizeof *r);
    for (int i = 0; i < gr->n_cols; i++)
        cols += gr->cols[i]->extent > 1;
    if (!n || n != cols || n > 2)
        return false;
    bool turned = false; /* down is the slower one in memory */
    for (int i = 0; n == 2 && i < gr->n_rows; i++) {
        if (rows[i] == pair[0].q)
            break;
        turned |= rows[i] == pair[1].q;
    }
    r->down = pair[turned];
    if (n == 2)
        r->across = pair[!turned];
    return n == 1 || r->down.q != r->across.q;
}

/* ---- cost -------------------------------------------------------------- */

/* Rows of outputs that one input row belongs to. */
int roll_live(const Roll *r)
{
    return (int)((r->down.s->extent + r->down.stride - 1) / r->down.stride);
}

/* The rows of LIVE iterations, which are one after the other in the text, go
 * round the ring a whole number of times where it has more than two: its slots
 * are constants there. No more than that: on an H200, rows further ahead only
 * keep the requests of other warps waiting (depthwise 3x3, 19 MB: 12.7 us with
 * 3 rows, 13.0 with 4, 13.5 with 6). */
int roll_stages(const Roll *r)
{
    int rows = roll_live(r) * (int)r->down.stride, stages = 3;

    while (rows > 2 && rows % stages)
        stages++;
    return rows > 2 ? stages : 4;
}

int64_t roll_points(const Group *gr, const Roll *r, int vec)
{
    int64_t rest = group_rows(gr) / vec / r->down.q->extent;

    if (r->across.q)
        rest /= r->across.q->extent;
    return rest * window_tiles(&r->down) * window_tiles(&r->across);
}

/* What a thread has and does; a warp's instructions, from the code that nvcc
 * makes of it. */
typedef struct Walk {
    double regs, smem;     /* a thread */
    double shared;         /* shared memory of a block besides */
    double steps;          /* iterations down the rows */
    double step, start;    /* instructions of an iteration, before them */
    double input, output;  /* bytes of an iteration */
    double past;           /* of input's: by 16 at a time, past the L1 */
    double lane;           /* bytes of a copy */
} Walk;

static void count_guard(const Expr *e, void *ctx)
{
    double *n = ctx;

    *n += e->kind == E_READ && e->in.n > 0;
}

/* Of a tap: guards were heard when its input came in, and a product goes into
 * a sum by one instruction. */
static double column_ops(const Step *s)
{
    double ops = expr_ops(s->value) + (s->op != R_NONE), guards = 0;
    bool fused = s->op == R_SUM && s->value->kind == E_BINARY &&
                 s->value->fn == F_MUL;

    expr_visit(s->value, count_guard, &guards);
    return ops - guards - fused;
}

/* Iterations that have the products of a whole row, of all: with shared rows
 * the first and the last ones leave out other threads'. */
static double full_steps(const Roll *r)
{
    return r->bands ? (double)r->down.tile / (r->down.tile + roll_live(r) - 1)
                    : 1;
}

static void count_reads(Graph *g, const Group *gr, const Roll *r, int vec,
                        Walk *w)
{
    int all[MAX_STEPS];
    double taps = (double)group_cols(gr);
    double span = (double)window_span(&r->across);
    double rows = (double)r->down.stride, stages = roll_stages(r);
    double full = full_steps(r);
    Reads reads;

    for (int i = 0; i < gr->n_step; i++)
        all[i] = i;
    reads_of(g, gr, all, gr->n_step, &reads);
    for (int i = 0; i < reads.n; i++) {
        const Expr *e = reads.read[i];
        int bytes = type_bytes(e->tensor->type);
        double convert = bytes < 4 ? vec : 0;
        bool cols = false;
        for (int j = 0; j < gr->n_cols; j++)
            cols |= read_uses(e, gr->cols[j]);
        if (cols && roll_moves(r, e)) {
            bool filled = e->outside && e->outside->num != 0;
            bool own = !r->bands; /* copies are the thread's */
            w->step += rows * span * (1 + 2 * own + convert +
                                      (filled ? 4 : 0));
            w->lane = vec * bytes;
            if (own && vec * bytes == 16)
                w->past += rows * span * vec * bytes;
            w->start += own * (stages - 1) * span * 4;
            w->input += rows * span * vec * bytes;
            w->smem += own * stages * span * vec * bytes;
            w->regs += span * vec * bytes / 4;
        } else if (roll_moves(r, e)) { /* the results' own */
            w->step += full * r->across.tile * (2 + convert);
            w->output += full * r->across.tile * vec * bytes;
        } else {
            w->start += (cols ? taps : 1) * (2 + convert);
            w->regs += (cols ? taps : 1) * vec;
        }
    }
}

static void walk_of(Graph *g, const Group *gr, const Roll *r, int vec, Walk *w)
{
    double tile = r->across.tile, taps = (double)group_cols(gr);
    double full = full_steps(r);

    memset(w, 0, sizeof *w);
    w->steps = (double)(r->down.tile + roll_live(r) - 1);
    w->step = 10;
    w->start = 80;
    w->shared = r->bands ? band_bytes(gr, r) : 0;
    w->regs = r->bands ? 8 : r->down.q->extent % r->down.tile ? 38 : 28;
    count_reads(g, gr, r, vec, w);
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
            w->step += full * tile * (2 + (bytes < 4 ? vec / 2.0 : 0));
            w->output += full * tile * vec * bytes;
        }
    }
}

/* Clocks of one wave of `blocks` blocks on an SM: they take turns, or each
 * waits for its copies. */
static double wave_clocks(const Device *d, const Roll *r, const Walk *w,
                          double warps)
{
    enum { ISSUED = 85 }; /* percent of the clocks */
    double each = r->bands ? ceil(warps / 4) : fmax(1, warps / 4);
    double issue = each * w->step * 100 / ISSUED;
    double wait = (double)r->down.stride * (d->hbm_latency + 100) /
                  (roll_stages(r) - 1);

    if (r->bands) /* all copies are under way */
        wait = 0;
    return w->steps * fmax(issue, wait) + fmax(1, warps / 4) * w->start;
}

/* How many times a warp's load from shared rows goes through the banks, once
 * being the least: `wide` threads have neighbouring lanes of w->lane bytes, the
 * next ones have `apart` bytes to go. */
static double bank_turns(const Walk *w, int64_t wide, double apart)
{
    enum { BANKS = 32, BANK_BYTES = 4 };
    int lanes = (int)(BANKS * BANK_BYTES / w->lane), most = 1;
    int used[BANKS] = {0};

    for (int i = 0; i < lanes; i++) {
        double at = (double)(i % wide) * w->lane + (double)(i / wide) * apart;
        int bank = (int)fmod(at / BANK_BYTES, BANKS);
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
    double passes = w->input * 32 / d->smem_bytes_clk;

    return warps * w->steps * passes * (turns - 1) / (d->clock_ghz * 1e3);
}

/* Clocks of all blocks of the fullest SM. */
static double sm_clocks(const Device *d, const Roll *r, const Walk *w,
                        double blocks, int threads, double room)
{
    double most = ceil(blocks / d->sms), full = floor(most / room);
    double rest = most - full * room;
    double clocks = full * wave_clocks(d, r, w, room * threads / 32);

    if (rest > 0)
        clocks += wave_clocks(d, r, w, rest * threads / 32);
    return clocks;
}

/* Blocks on an SM; nvcc is held to the registers for them. */
static double blocks_room(const Device *d, const Walk *w, int threads)
{
    double regs = ceil(w->regs / 8) * 8, smem = w->smem * threads + w->shared;
    double room = fmin(floor(d->regs_sm / (regs * threads)),
                       floor(d->smem_sm_kb * 1024 / (smem + 1024)));

    return fmax(1, fmin(room, floor((double)d->threads_sm / threads)));
}

int roll_blocks(Graph *g, const Group *gr, const Device *d, const Roll *r,
                int vec, int threads)
{
    Walk w;

    walk_of(g, gr, r, vec, &w);
    return (int)blocks_room(d, &w, threads);
}

void roll_cost(Graph *g, const Group *gr, const Options *o, const Roll *r,
               const Var *fast, int vec, int threads, const Traffic *t,
               Cost *c)
{
    const Device *d = o->device;
    double points = (double)roll_points(gr, r, vec);
    double blocks = ceil(points / threads), clk = d->clock_ghz * 1e3;
    Walk w;

    walk_of(g, gr, r, vec, &w);
    memset(c, 0, sizeof *c);
    if (w.regs > (r->bands ? MOST_BAND_REGS : MOST_REGS)) {
        c->why = "more registers than a thread should have";
        c->us = INFINITY;
        return;
    }
    if (r->bands && w.regs * threads > d->regs_sm) {
        c->why = "more registers than an SM has";
        c->us = INFINITY;
        return;
    }
    double room = blocks_room(d, &w, threads);
    double waves = ceil(blocks / (d->sms * room)), n = points * w.steps;
    /* neighbours in a block find their common columns in the L1, where a
     * request takes a cycle for each line that it touches */
    double side = fmax(1, threads / fmax(1, (double)fast->extent / vec));
    double span = (double)window_span(&r->across);
    double own = r->across.q ? (double)(r->across.tile * r->across.stride)
                             : 1;
    double fresh = (own + (span - own) / side) / span;
    double input = w.past + (w.input - w.past) * fresh;
    double narrow = fmax(1, 64.0 / (double)fast->extent);
    double wide = fmax(1, 8 / w.lane); /* a request of less takes as long */
    double l1 = n * wide * (w.input * (narrow + 2) + w.output * narrow);
    double l2 = n * (input + w.output);
    double fill = (d->hbm_latency * 1.5 + 500) / clk;
    double stride = (double)r->down.stride;
    if (r->bands) {
        l1 = n * (w.input + w.output);
        l2 = blocks * (double)band_rows(r) * band_row_bytes(gr, r) +
             n * w.output;
        fill += conflict_us(d, r, &w, fast, vec, n / w.steps / d->sms / 32);
    }
    double sm_us = sm_clocks(d, r, &w, blocks, threads, room) / clk;
    double l1_us = l1 / (d->smem_bytes_clk * d->sms * clk);
    double beside = ROLL_BESIDE * (sm_us + l1_us + l2 / (d->l2_gbs * 1e3));
    Work work = {
        .pipe = PIPE_FMA,
        .flops = t->flops,
        .padded_flops = 2 * points * (w.steps * w.step + w.start),
        .efficiency = 0.9,
        .special = t->special,
        .hbm_bytes = model_group_bytes(g, gr, o->device, NULL, NULL),
        .l2_bytes = l2,
        .smem_bytes = l1,
        .scatter = 1,
        .blocks = blocks,
        .threads = threads,
        .regs = (int)w.regs,
        .smem_block = w.smem * threads + w.shared,
        .block_ops = t->flops / blocks,
        .block_bytes = l2 / blocks,
        .in_flight = r->bands ? w.shared
                              : input * threads * roll_stages(r) / stride,
        .fill_us = (fill + beside) / waves,
        .serial_us = sm_us / waves,
    };
    model_cost(d, &work, c);
}
