#include "family/contract/contract_simt.h"

#include <math.h>
#include <string.h>

/* What the copies of a tile cost a thread in instructions; a value that is
 * computed on its way is. */
static double copy_ops(const ContractPlan *x, const Load *l)
{
    double ops = l->async ? 0 : l->op->ops * l->vec;

    return l->copies * (contract_copy_ops(x->f, l) + ops);
}

typedef struct Parts {
    const Expr *seen[MAX_STEPS];
    int n;
    double ops;
} Parts;

/* What equals another part is computed once. */
static void count_part(const Expr *e, void *ctx)
{
    Parts *p = ctx;

    if (e->kind == E_UNARY && (e->fn == F_ABS || e->fn == F_NEG))
        return; /* a property of an operand */
    for (int i = 0; i < p->n; i++)
        if (expr_equal(p->seen[i], e))
            return;
    if (p->n < MAX_STEPS)
        p->seen[p->n++] = e;
    p->ops += expr_ops(e);
    const Expr *const *end = e->arg + sizeof e->arg / sizeof *e->arg;
    for (const Expr *const *arg = e->arg; arg < end; arg++)
        p->ops -= *arg ? expr_ops(*arg) : 0;
}

/* Instructions for two elements: one, or those of a term, of which a last
 * product and the sum are one. */
static double pair_ops(const Contraction *c)
{
    Parts p = {.ops = 1};

    if (!c->term)
        return p.ops;
    expr_visit(c->term, count_part, &p);
    return c->term->kind == E_BINARY && c->term->fn == F_MUL ? p.ops - 1
                                                             : p.ops;
}

/* Fraction of the issue slots that multiply: for each k there are, besides,
 * reads of shared memory; once a tile, copies, a barrier and the loop. Where
 * shared memory is read all the time, the reads queue. */
static double efficiency(const ContractPlan *x)
{
    const Device *d = x->f->o->device;
    const Tile *t = &x->t;
    double sums = (double)t->wm * t->wn, k = simt_steps(t);
    double reads = (double)(t->wm + t->wn) * sizeof(float) / VECTOR_BYTES;
    double copies = copy_ops(x, &x->a) + copy_ops(x, &x->b);
    double busy = 2.0 * (t->wm + t->wn) / sums; /* of shared memory's time */

    double ops = sums * pair_ops(&x->f->c) + reads;
    /* reductions of the rows come once for all k */
    double rows = sums * (contract_reduced_ops(x->f, false) +
                          (simt_own_rows(x)
                               ? 0
                               : contract_reduced_ops(x->f, true)));
    ops += rows / (double)x->f->c.K;

    return sums * k / (ops * k + copies + d->round_ops) /
           (1 + busy * busy * busy);
}

/* A block alone on its SM waits at each tile's barrier. */
static bool is_alone(const ContractPlan *x)
{
    return model_room(x->f->o->device, x->t.threads, x->regs,
                      (double)contract_smem(x)) < 2;
}

/* Clocks at the beginning and the end of a block, beside those of
 * contract_work(). */
static double ends_clk(const ContractPlan *x, double blocks, double k_steps)
{
    const Device *d = x->f->o->device;
    const Tile *t = &x->t;
    double slices = simt_slices(t);
    double bytes = slices * t->bm * t->bn * sizeof(float), clk = 0;

    if (blocks <= d->sms || is_alone(x))
        clk += k_steps / t->bk * d->sync_clk;
    if (slices > 1) /* their sums go through shared memory */
        clk += 2 * bytes / d->smem_bytes_clk;
    if (t->split > 1 && !t->whole && (!x->cluster || blocks > d->sms))
        clk += 2 * d->memory_clk; /* blocks wait for each other */
    if (slices > 1 && x->cluster) /* and all of them from block to block */
        clk += bytes / d->dsm_bytes_clk;
    return clk;
}

double simt_least(const void *form)
{
    const Contract *x = form;

    return model_least(x->o->device, PIPE_FMA, contract_flops(x));
}

/* Of a thread's inner step. */
static double thread_ops(const Tile *t)
{
    return (double)(2 * t->wm * t->wn * sizeof(float));
}

static double thread_loads(const Tile *t)
{
    return t->wm + t->wn;
}

double simt_potential(const void *form, const Variant *v)
{
    const Tile t = contract_tile(v);

    return contract_potential(form, v, PIPE_FMA,
                              thread_ops(&t) / thread_loads(&t));
}

void simt_cost(const void *form, const Variant *v, Cost *c)
{
    const Contract *f = form;
    ContractPlan x;
    const Device *d = f->o->device;
    Work w = {0};

    memset(c, 0, sizeof *c);
    if ((c->why = simt_plan(&x, f, v)))
        return;
    const Tile *t = &x.t;
    double blocks =
        (double)contract_tiles(f, t) * (double)f->c.batches * t->split;
    double k_steps = (double)f->c.K / t->split *
                     contract_reach(&x, blocks / d->sms);
    w.pipe = PIPE_FMA;
    w.efficiency = efficiency(&x);
    w.lone = 2 * x.regs > THREAD_REGS ? d->lone_warp : d->issue_reached;
    /* lanes share vectors: a warp's read takes two rows of the banks */
    w.smem_bytes =
        2 * blocks * k_steps * simt_slice_threads(t) * (t->wn + t->wm);
    w.thread_ops = thread_ops(t);
    w.thread_loads = thread_loads(t);
    w.bank_conflict = 1;
    contract_work(&x, &w);
    w.fill_us += model_us(d, ends_clk(&x, blocks, k_steps));
    /* the results of a wave leave when its products are done */
    w.fill_us +=
        f->out_bytes / (d->hbm_gbs * KILO) / fmax(1, blocks / (2 * d->sms));
    model_cost(d, &w, c);
}
