#include "family/map/map.h"

#include <math.h>
#include <string.h>

/* Loads one after the other, each waiting for memory: a window's tile goes
 * through the taps across it one by one, and only the first ones find nothing
 * that a neighbour brought. */
static double load_rounds(Graph *g, const Group *gr, const Var *fast, int tile)
{
    Window pair[MAX_RANK], w;
    double rounds = 1 + (tile - 1) / (2.0 * 2);
    int n = tile > 1 ? window_pairs(g, gr, fast, pair, MAX_RANK) : 0;

    window_find(g, gr, fast, &w);
    for (int i = 0; i < n; i++)
        if (pair[i].q != w.q && pair[i].s != w.s)
            rounds *= (double)pair[i].stride;
    return rounds;
}

/* Loads of the columns that wait for those before them: of a loop that is not
 * written out, those of a few turns are under way at once, in each pass. */
static double column_rounds(const MapForm *f)
{
    double cols = (double)group_cols(f->gr), ahead = WARP / 2.0;

    if (cols > MAP_WRITTEN_OUT)
        return f->passes * cols / f->o->device->loads_ahead;
    return cols > ahead ? cols / ahead : 0;
}

/* By the read that asks for most. */
static void spread_line(const MapForm *f, Spread *s)
{
    int all[MAX_STEPS];
    Reads r;
    Line l;

    for (int i = 0; i < f->gr->n_step; i++)
        all[i] = i;
    reads_of(f->g, f->gr, all, f->gr->n_step, &r);
    s->line = line_find(f->g, f->gr, f->fast, &f->window, s->vec);
    for (int i = 0; i < r.n; i++) {
        if (!line_of(f->g, r.read[i], f->fast, s->line, s->vec, &l))
            continue;
        double part = (double)l.n / (s->vec * (double)s->line->extent);
        if (part < s->line_part)
            continue;
        s->line_vec = (double)l.vec;
        s->line_part = part;
        s->line_new = fmin(1, (double)l.stride * s->vec / (double)l.n);
    }
}

void map_traffic(const MapForm *f, const Variant *v, Traffic *t)
{
    const Group *gr = f->gr;
    const Var *fast = f->fast;
    int vec = v->knob[KNOB_VEC], tile = v->knob[KNOB_TILE];
    Spread s = {
        .row = fast, .along = fast, .vec = vec, .rows_warp = WARP * vec};
    Window w = f->window;

    if (w.q) {
        w.tile = tile;
        s.window = w.q;
        s.tile = tile;
        s.taken = (double)window_span(&w) / (double)(tile * w.s->extent);
    }
    if (v->knob[KNOB_LINE])
        spread_line(f, &s);
    census_traffic(f->census, &s, t);
    /* finding the point, once a thread */
    t->overhead += 2.0 * (double)group_rows(gr) / vec / tile *
                   f->o->device->guard_ops * (2 + gr->n_rows);
}

double map_least(const void *form)
{
    const MapForm *f = form;

    return model_least(f->o->device, PIPE_FMA, census_flops(f->census));
}

/* Bytes that later passes over the columns bring from memory again: all, if
 * those of the points under way at a time do not stay in the L2. */
static double read_again(const MapForm *f, double points)
{
    const Device *d = f->o->device;
    double at_once = fmin(1, (double)d->sms * d->threads_sm / points);

    return f->passes > 1 && model_too_large(d, f->in * at_once)
               ? f->in * (f->passes - 1)
               : 0;
}

static bool sums_columns(const Group *gr)
{
    bool found = false;

    for (int i = 0; i < gr->n_step; i++)
        found |= gr->step[i].op == R_SUM;
    return found;
}

/* Instructions that bring a read's values into a thread's registers: one by
 * one, or by the row that serves all taps of a line. */
static double load_ops(const MapForm *f, const Variant *v, const Expr *e)
{
    const double access = f->o->device->access_ops;
    const int vec = v->knob[KNOB_VEC];
    const double convert = type_bytes(e->tensor->type) < (int)sizeof(float);
    const Window *w = &f->window;
    double times = v->knob[KNOB_TILE];
    Line l;
    int step;

    if (uses_cols(f->gr, e)) {
        const Var *s = line_find(f->g, f->gr, f->fast, w, vec);
        bool line = line_of(f->g, e, f->fast, s, vec, &l);
        times = (double)group_cols(f->gr);
        if (w->q && read_uses(e, w->s)) {
            Window tiled = *w;
            tiled.tile = v->knob[KNOB_TILE];
            if (read_uses(e, w->q))
                times *= (double)window_span(&tiled) / (double)w->s->extent;
        }
        if (line) {
            const double loads = (double)(l.n / l.vec),
                         used = (double)(l.stride * (vec - 1) +
                                         l.step * (s->extent - 1) + 1);
            return times / (double)s->extent *
                   (loads * (access + 2) + used * convert);
        }
    }
    switch (read_kind(f->g, e, f->fast, vec, &step)) {
    case READ_BROADCAST: return times * (2 + convert);
    case READ_VECTOR: return times * vec * (2.0 / step + convert);
    default: return times * vec * (2 + convert);
    }
}

/* Instructions of a thread that has rows' elements by vectors. */
static double line_ops(const MapForm *f, const Variant *v)
{
    const Device *d = f->o->device;
    const Group *gr = f->gr;
    const double lanes = v->knob[KNOB_TILE] * v->knob[KNOB_VEC];
    double ops = d->guard_ops * (2 + gr->n_rows);
    int all[MAX_STEPS];
    Reads r;

    for (int i = 0; i < gr->n_step; i++) {
        const Step *s = &gr->step[i];
        all[i] = i;
        ops += lanes * (is_col_step(s)
                            ? (double)group_cols(gr) * column_ops(s)
                            : (double)expr_ops(s->value));
        if (s->tensor)
            ops += v->knob[KNOB_TILE] * d->access_ops + lanes / 2;
    }
    reads_of(f->g, gr, all, gr->n_step, &r);
    for (int i = 0; i < r.n; i++)
        ops += load_ops(f, v, r.read[i]);
    return ops;
}

void map_cost(const void *form, const Variant *v, Cost *c)
{
    const MapForm *f = form;
    Graph *g = f->g;
    const Group *gr = f->gr;
    const Device *d = f->o->device;
    int vec = v->knob[KNOB_VEC], threads = v->knob[KNOB_THREADS];
    int tile = v->knob[KNOB_TILE];
    double points = ceil((double)group_rows(gr) / vec / tile);
    int64_t cols = group_cols(gr);
    Traffic t;
    Roll r;

    if (ceil(points / threads) > INT32_MAX) {
        *c = (Cost){.us = INFINITY, .why = "more blocks than a grid has"};
        return;
    }
    map_traffic(f, v, &t);
    if (map_walk(f, v, &r)) {
        roll_cost(g, gr, f->o, &r, f->fast, vec, threads, &t, c);
        return;
    }
    /* Of the time of what does not limit it, a part is not hidden; more of it
     * where windows have little in common, and so find little that others
     * brought from memory (3x3 of stride 2). Of a maximum nothing was, for a
     * cause that was not found. */
    bool apart = f->window.q && 2 * f->window.stride > f->window.s->extent &&
                 sums_columns(f->gr) && model_too_large(d, f->bytes);
    double share = cols > 1 ? d->beside / (apart ? 1 : 2 * 2) : 0;
    Work w = {
        .pipe = PIPE_FMA,
        .flops = t.flops,
        .padded_flops = t.flops + t.overhead,
        .efficiency = 1.0 / 2,
        .fill_us =
            share * ((t.flops + t.overhead) / (d->fma_tflops * MEGA / 2) +
                     t.bytes / (d->l2_gbs * KILO)),
        .special = t.special,
        .hbm_bytes = f->bytes + read_again(f, points),
        .l2_bytes = t.bytes,
        .scatter = t.scatter,
        .smem_bytes = t.l1_clk * d->smem_bytes_clk,
        .blocks = ceil(points / threads),
        .threads = threads,
        .regs = (int)d->map_regs + 2 * (vec + gr->n_step) + tile * vec,
        .block_ops = t.flops / fmax(1, points / threads),
        .block_bytes = t.bytes / fmax(1, points / threads),
        .serial_steps = f->gather + (v->knob[KNOB_LINE]
                                         ? 1
                                         : column_rounds(f) +
                                               load_rounds(g, gr, f->fast,
                                                           tile)),
    };
    if (v->knob[KNOB_LINE]) { /* rows come in ahead of the products */
        w.padded_flops = 2 * points * line_ops(f, v);
        w.efficiency = d->issue_reached;
        w.fill_us = 0;
    }
    model_cost(d, &w, c);
    /* Of two that wait for memory alike, that with fewer instructions: 8
     * elements rather than 4. */
    c->us += c->math / KILO / KILO;
}
