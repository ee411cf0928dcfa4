#include "search/dependent.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { EXIT_DEFECT = 70 };

/* As much longer than its products as memory's time may be: a token's launches,
 * which wait for memory, gain where they begin at once. */
enum { STREAMS = 3 };

/* What the blocks of a launch take of an SM. */
typedef struct Footprint {
    double share;    /* blocks, if they spread evenly */
    double most;     /* that fit on it */
    double threads, regs, smem_kb; /* of one block */
    bool streams;    /* it waits for memory, wherever its blocks are */
} Footprint;

static double room(const Device *d, const Footprint *f, double threads,
                   double regs, double smem_kb)
{
    double n = fmin(d->blocks_sm, floor(threads / f->threads));

    n = fmin(n, floor(smem_kb / f->smem_kb));
    return f->regs > 0 ? fmin(n, floor(regs / f->regs)) : n;
}

static Footprint footprint(Selection *s, const Kernel *k)
{
    const Device *d = s->options->device;
    Group *gr = k->instance[0];
    const Choice *c = choose_variant(s, gr);
    Cost cost;
    Footprint f;

    choice_cost(c, gr->variant, &cost);
    f.threads = fmax(cost.threads, 32);
    f.regs = ceil(cost.regs / 8.0) * 8 * f.threads;
    f.smem_kb = ceil(cost.smem_block / 1024) + 1;
    f.streams = cost.hbm > STREAMS * cost.math;
    f.most = fmax(1, room(d, &f, d->threads_sm, d->regs_sm, d->smem_sm_kb));
    f.share = fmin(f.most, ceil(fmax(cost.blocks, 1) / d->sms));
    if (cost.blocks < f.most)
        f.most = fmax(cost.blocks, 1);
    return f;
}

/* When the blocks of `next` may begin beside those of `k`. */
static Trigger trigger_before(Selection *s, const Kernel *k,
                              const Kernel *next, const char **why)
{
    const Device *d = s->options->device;
    Footprint a = footprint(s, k), b = footprint(s, next);

    if (b.most <= b.share) {
        *why = "an SM never holds more of its blocks than its share";
        return TRIGGER_START;
    }
    if (room(d, &b, d->threads_sm - a.share * a.threads,
             d->regs_sm - a.share * a.regs,
             d->smem_sm_kb - a.share * a.smem_kb) >= b.share) {
        if (a.streams && b.streams) {
            *why = "its blocks fit beside this kernel's, and wait for memory";
            return TRIGGER_START;
        }
        *why = "its blocks fit beside this kernel's";
        return TRIGGER_RUNNING;
    }
    *why = "its blocks would crowd on the SMs that are free first";
    return TRIGGER_EXIT;
}

/* One kernel has one trigger: the latest that a launch behind it wants. */
static void choose_trigger(Selection *s, const CudaProgram *p, Kernel *k)
{
    bool followed = false;

    for (int i = 0; i + 1 < p->n_run; i++) {
        const char *why;
        if (p->run[i].kernel != k || !p->run[i + 1].dependent)
            continue;
        Trigger t = trigger_before(s, k, p->run[i + 1].kernel, &why);
        if (!followed || t < k->trigger) {
            k->trigger = t;
            k->trigger_why = why;
        }
        followed = true;
    }
}

void dependent_launches(Selection *s, CudaProgram *p)
{
    if (!s->options->dependent)
        return;
    for (int i = 0; i < p->n_run; i++) {
        p->run[i].kernel->waits = true;
        p->run[i].dependent = i > 0;
    }
    for (int i = 0; i < p->n_kernel; i++)
        if (p->kernel[i]->waits)
            choose_trigger(s, p, p->kernel[i]);
}

void dependent_check(const Kernel *k)
{
    if (!k->waits || tree_mentions(k->body, "dcc_grid_wait"))
        return;
    fprintf(stderr, "dcc: internal error: kernel %s (%s) never waits\n",
            k->name, k->family);
    exit(EXIT_DEFECT);
}
