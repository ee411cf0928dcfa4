#include "family/contract/stream/contract_stream.h"

#include <math.h>
#include <string.h>

/* The columns of a block that a slot has. */
static int slot_columns(const Stream *s)
{
    return s->ring ? s->columns : MMA_N;
}

/* Bytes of weights under way to an SM. Warps beyond the end of K have none. */
static double under_way(const Stream *s, double beside)
{
    double used = (double)s->f->x.c.K / ((double)s->x.t.bk * s->x.t.split);

    return beside * s->warps * s->stages * slot_columns(s) * s->piece *
           s->f->size * used;
}

/* How much longer the memory takes if too few bytes are under way; where blocks
 * follow others, or loads stop since a ring has one slot, a little more are
 * missed. */
static double sparse(const Stream *s, double all, double under)
{
    const Device *d = s->f->x.o->device;
    double enough = d->ask_kb * KB * (s->stages > 1 ? 1 : 2);

    return fmax(1, fmin(enough, all) / fmax(under, 1));
}

/* Clocks in which the rows of x come, beyond those of the weights; products and
 * sums of the last slot. Rows in a ring come with the weights, but its warps
 * wait for each piece where it has one slot; others are asked for ahead of the
 * first piece's weights, but behind those of the next pieces. */
static double x_clk(const Stream *s, double x_bytes, double beside)
{
    const Device *d = s->f->x.o->device;
    double steps = (double)s->piece / s->k_step;

    if (!s->ring)
        return x_bytes / d->sm_bytes_clk + (s->pieces - 1) * d->slot_clk +
               steps * 2 * d->smem_latency / s->chains;
    double clk = steps * s->columns / MMA_N * d->smem_latency;
    if (s->stages < 2)
        clk += s->pieces * d->slot_clk / beside;
    /* few warps have long ways to their end */
    return clk + s->pieces * d->slot_clk / (s->warps * beside);
}

static void work(const Stream *s, Work *w)
{
    const Contract *x = &s->f->x;
    const Tile *t = &s->x.t;
    const Device *d = x->o->device;
    double x_bytes = (double)t->bm * t->bk * type_bytes(x->elem);
    double weights = (double)s->columns * t->bk * s->f->size;

    skinny_work(&s->x, s->f, s->columns, s->warps, s->smem, w);
    double blocks = w->blocks, per_sm = fmax(1, blocks / d->sms);
    double room = skinny_room(&s->x, s->smem), beside = fmin(per_sm, room);
    double under = under_way(s, beside);
    if (s->f->mma)
        w->padded_flops *= ceil((double)t->bm / MMA_M) * MMA_M / t->bm;
    w->hbm_bytes = x->hbm_bytes * skinny_uneven(d, blocks, room) *
                   sparse(s, per_sm * weights, under);
    w->smem_bytes += blocks * 2 * weights;
    if (s->ring) /* the same few bytes for all */
        w->l2_bytes -= blocks * x_bytes * (1 - d->l2_shared);
    w->in_flight = under;
    /* the first weights; x; the sums of the warps, through shared memory, or
     * that of others */
    double clk = d->hbm_latency + d->start_clk + x_clk(s, x_bytes, beside) +
                 d->dependent_clk * s->warps;
    if (t->split > 1)
        clk += d->cluster_clk +
               d->l2_latency / 2 * s->warps * s->columns * t->bm / t->threads;
    /* Blocks that follow others start while those beside them go on. */
    double waves = fmin(d->late_waves, ceil(blocks / (d->sms * room)));
    w->fill_us += model_us(d, clk);
    w->fill_us *= (1 + d->beside * (waves - 1)) / waves;
}

void stream_cost(const void *form, const Variant *v, Cost *c)
{
    Stream s;
    Work w = {0};

    memset(c, 0, sizeof *c);
    if ((c->why = stream_plan(&s, form, v)))
        return;
    work(&s, &w);
    model_cost(s.f->x.o->device, &w, c);
}
