#include "family/contract/contract.h"

#include <math.h>

/* Instructions of a copy: its address and guards; a value that goes through
 * registers is there twice. A thread's instruction takes as long as a byte of
 * shared memory. */
double contract_copy_ops(const Contract *x, const Load *l)
{
    const Device *d = x->o->device;

    return (d->copy_ops + d->guard_ops * l->n_need) * (l->async ? 1 : 2);
}

/* Neighbouring threads that read no neighbours waste most of each sector; all
 * but an element, where what lies beside it is another product's. */
static double load_scatter(const Contract *x, const Load *l)
{
    const Operand *o = l->op;
    const Side *side[] = {l->side, &x->k};

    if (o->along || !o->read)
        return 1;
    double most = L2_SECTOR / (double)type_bytes(o->read->tensor->type);
    double step = idx_affine(o->offset) ? most : 1;
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < side[k]->n; i++) {
            double c = fabs((double)idx_coef(o->offset, side[k]->v[i]));
            step = c > 0 ? fmin(step, c) : step;
        }
    return fmax(2 * 2, step);
}

/* Bytes of an element of what it reads. */
static int read_bytes(const Load *l, int size)
{
    return l->converted ? type_bytes(l->op->read->tensor->type) : size;
}

double contract_pages(const Contract *x, bool lone)
{
    const Device *d = x->o->device;

    return lone && x->c.K * type_bytes(x->c.b.type) >= KB ? d->far_rows : 1;
}

/* Clocks in which blocks that split k have added up their sums: each sends what
 * it has of the others' and reads theirs, or the last one reads all. */
static double contract_split_clk(const ContractPlan *x, double sums)
{
    const Device *d = x->f->o->device;
    double bytes = sums * sizeof(float);

    if (x->cluster)
        return d->cluster_clk * (2 + x->t.split) / (2 * 2) +
               2 * bytes / d->dsm_bytes_clk;
    return d->memory_clk + bytes * (x->t.split + 1) / d->sm_bytes_clk;
}

double contract_flops(const Contract *x)
{
    const Contraction *c = &x->c;

    return 2.0 * (double)c->M * (double)c->N * (double)c->K *
           (double)c->batches * contract_terms(x);
}

/* As if k were whole steps, and sums no bytes: a block's k is in both. */
double contract_potential(const Contract *x, const Variant *v, Pipe p,
                          double thread_ops)
{
    const Tile t = contract_tile(v);
    const Contraction *c = &x->c;
    double m = (double)((c->M + t.bm - 1) / t.bm);
    double n = (double)((c->N + t.bn - 1) / t.bn);
    double bytes = (double)(t.bm + t.bn) * type_bytes(x->elem);

    return model_potential(x->o->device, p, contract_flops(x),
                           m * n * t.split * (double)c->batches,
                           2.0 * t.bm * t.bn / bytes, thread_ops);
}

void contract_work(const ContractPlan *x, Work *w)
{
    const Device *d = x->f->o->device;
    const Tile *t = &x->t;
    const Contraction *c = &x->f->c;
    double live = t->split == 1 ? contract_live(x) : 1;
    double tiles =
        (double)contract_tiles(x->f, &x->t) * (double)c->batches * live;
    double blocks = tiles * t->split; /* if no tile is whole */
    double sums = (double)t->bm * t->bn;
    double k_len = ceil(ceil((double)c->K / t->bk) / t->split) * t->bk *
                   contract_reach(x, blocks / d->sms);
    int size = type_bytes(x->f->elem);
    double a = t->bm * k_len * read_bytes(&x->a, size),
           b = t->bn * k_len * read_bytes(&x->b, size);
    double scatter_a = load_scatter(x->f, &x->a),
           scatter_b = load_scatter(x->f, &x->b);
    double copies = t->bm * k_len / x->a.vec * contract_copy_ops(x->f, &x->a) +
                    t->bn * k_len / x->b.vec * contract_copy_ops(x->f, &x->b);
    double through = 2 * sums * sizeof(float); /* written and read */

    w->flops = contract_flops(x->f);
    w->padded_flops = 2.0 * blocks * sums * k_len;
    w->special = x->f->special * tiles * sums;
    w->hbm_bytes = x->f->hbm_bytes * contract_pages(x->f, c->M <= t->bm) +
                   (live < 1 ? 0 : x->f->unread);
    w->blocks = t->whole ? (double)contract_blocks(x->f, t) : blocks;
    w->late = t->whole ? w->blocks - t->whole : 0;
    w->part = 1.0 / t->split;
    w->cluster = x->cluster ? t->split : 1;
    w->threads = t->threads;
    w->regs = x->regs;
    w->smem_block = (double)contract_smem(x);
    double split_bytes = t->split > 1 && !x->cluster ? through : 0;
    if (t->whole)
        split_bytes *= w->late / blocks;
    w->block_bytes = a + b + split_bytes + x->f->out_bytes / blocks;
    bool once = c->M <= t->bm && scatter_b <= 2 * 2;
    double asked = once ? 0 : b * scatter_b;
    w->l2_bytes = blocks * (a * scatter_a + asked + split_bytes) +
                  w->hbm_bytes + x->f->out_l2;
    w->scatter = 1;
    w->block_ops = 2 * sums * k_len;
    w->smem_bytes += blocks * (a + b + copies + through / t->split);
    /* filling the ring, draining the sums */
    double clk =
        d->start_clk + d->hbm_latency + sums / t->threads * d->dependent_clk;
    double rounds = t->whole ? ceil(w->blocks / d->sms /
                                    model_room(d, w->threads, w->regs,
                                               w->smem_block))
                             : 1;
    clk += t->split > 1 ? contract_split_clk(x, sums) / rounds : 0;
    w->fill_us += model_us(d, clk);
    w->serial_steps = contract_async(&x->a, &x->b) ? 0 : 1;
    if (x->a.async && x->b.async)
        w->in_flight = (double)contract_ring(x) * (t->stages - 1) / t->stages;
}
