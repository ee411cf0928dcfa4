#include "family/chain/chain_wgmma.h"

#include <math.h>
#include <string.h>

/* What the plans, the costs and the kernels of all chains have in common. */

bool chain_among(const Var *const *v, int n, const Var *x)
{
    for (int i = 0; i < n; i++)
        if (v[i] == x)
            return true;
    return false;
}

int chain_round_up(int64_t n, int to)
{
    return (int)((n + to - 1) / to * to);
}

double chain_width(const ChainKernel *w)
{
    const ChainForm *f = w->f;

    return chain_round_up(f->D, 16) + chain_round_up(f->O, 16) +
           (chain_parts(f->chain) + (f->twin ? 1 : 0)) * (double)w->bn;
}

bool chain_one_ring(const ChainForm *f)
{
    return f->lies_in && (!f->twin || f->twin->lies_in);
}

bool chain_fits_rows(const ChainForm *f)
{
    return f->chain->scaled && !f->rows.softmax;
}

bool chain_grows(const ChainForm *f)
{
    return f->rows.softmax || chain_fits_rows(f);
}

ChainKernel chain_twin_of(const ChainKernel *w)
{
    ChainKernel twin = *w;

    twin.f = w->f->twin;
    twin.b.f = &w->f->twin->b;
    twin.id[2] = w->id[5];
    twin.acc = "twin_acc";
    return twin;
}

/* Columns of all second products. */
double chain_results(const ChainForm *f)
{
    return (double)(f->N + (f->twin ? f->twin->N : 0));
}

void chain_plan_open(ChainKernel *w, const ChainForm *f)
{
    memset(w, 0, sizeof *w);
    w->f = f;
    w->b = (ContractBuild){.f = &f->b, .g = f->b.g};
    w->plan = (ContractPlan){.f = &f->b};
    w->bn = chain_round_up(f->N, 16);
    w->m_tiles = w->group = w->cluster = 1;
    w->acc = "acc";
}

void chain_tile(ChainKernel *w, int slot, int threads)
{
    const ChainForm *f = w->f;

    w->slot = slot;
    w->threads = threads;
    w->m_tiles = chain_round_up(f->M, w->bm) / w->bm;
    w->j_tiles = chain_round_up(f->J, slot) / slot;
    w->plan.t = (Tile){.bm = w->bm,
                    .bn = w->bn,
                    .bk = w->bj,
                    .stages = w->stages,
                    .split = 1,
                    .threads = threads};
}

const char *chain_fits(ChainKernel *w, int blocks, int regs)
{
    const Device *d = w->f->a.o->device;

    for (w->resident = blocks; w->resident > 1; w->resident--)
        if ((size_t)w->resident * (w->smem + 1024) <=
            (size_t)d->smem_sm_kb * 1024)
            break;
    if (w->smem > (size_t)d->smem_block_kb * 1024)
        return "more shared memory than a block may have";
    return w->regs > regs || blocks < 1
               ? "more registers than a thread may have"
               : NULL;
}

void chain_begin(ChainKernel *w, Group *gr, Kernel *k)
{
    w->k = w->b.kernel = k;
    w->b.p = &w->plan;
    w->b.width = "BN";
    kernel_set_args(w->b.g, gr, k);
    chain_name_all(w);
}

void chain_end(ChainKernel *w, const char *family, const char *min_arch)
{
    const ChainForm *f = w->f;
    Kernel *k = w->k;

    k->grid[0] = (int)(w->m_tiles * f->batches * (f->few ? w->group : 1));
    k->grid[1] = k->grid[2] = 1;
    k->block = w->threads;
    k->cluster = w->cluster;
    k->smem_bytes = w->smem;
    k->min_blocks = w->resident;
    k->flops = 2.0 * (double)f->M * (double)f->J *
               ((double)(f->D + f->O) + chain_results(f)) * (double)f->batches *
               f->share;
    k->bytes = f->hbm;
    k->family = family;
    k->min_arch = min_arch;
    k->where = arena_array(f->a.g->arena, const char *, k->group->n_step);
}

Tree *chain_points(ChainKernel *w, ContractPlace *place)
{
    ContractBuild *x = &w->b;
    Tree *points = tree_list(x->g->arena);

    contract_points(x, points, 2, place, NULL);
    if (x->vec >= 2)
        return points;
    return QUOTE(x->g->arena,
                 "#pragma unroll\n"
                 "for (int c = 0; c < 2; ++c) {\n"
                 "    @POINTS\n"
                 "}\n",
                 FILL_TREE("POINTS", points));
}
