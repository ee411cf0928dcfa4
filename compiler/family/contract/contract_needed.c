#include "family/contract/contract.h"

#include "rewrite/rewrite.h"

#include <math.h>

/* Tiles of results of which nobody reads one: above the diagonal of a causal
 * attention's scores. */

static bool is_batch(const Contract *x, const Var *v)
{
    for (int i = 0; i < x->c.n_batch; i++)
        if (x->c.batch[i] == v)
            return true;
    return false;
}

static bool of_a_tile(const Contract *x, Cond c)
{
    if (c.mod || !idx_affine(c.e))
        return false;
    for (int i = 0; i < c.e->n; i++) {
        const Var *v = c.e->term[i].atom->var;
        if (v != x->m.v[0] && v != x->n.v[0] && !is_batch(x, v))
            return false;
    }
    return true;
}

void contract_needed(Contract *x)
{
    const Step *stored = NULL;

    x->needed = (Guard){0};
    x->unread = 0;
    for (int i = 0; i < x->gr->n_step; i++) {
        const Step *s = &x->gr->step[i];
        if (s->tensor && stored)
            return;
        stored = s->tensor ? s : stored;
    }
    if (!stored || !stored->needed.n || x->m.n != 1 || x->n.n != 1)
        return;
    for (int i = 0; i < stored->needed.n; i++)
        if (of_a_tile(x, stored->needed.cond[i]))
            x->needed = guard_add(x->g->pool, x->needed,
                                  stored->needed.cond[i].e, 0);
    double live = needed_share(stored->needed);
    if (live > 0)
        x->unread = x->out_bytes / live - x->out_bytes;
}

double contract_live(const ContractPlan *x)
{
    Guard tile = {0};

    for (int i = 0; i < x->f->needed.n; i++)
        tile = guard_add(x->f->g->pool, tile,
                         contract_most(x, x->f->needed.cond[i].e), 0);
    return needed_share(tile);
}

const char *contract_unread(ContractBuild *x, const char *m0, const char *n0)
{
    IdxPool *p = x->g->pool;
    CScope scope = cprint_open(&x->cp);
    const char *text = NULL;

    cprint_name(&x->cp, x->f->m.v[0], m0);
    cprint_name(&x->cp, x->f->n.v[0], n0);
    for (int i = 0; i < x->f->needed.n; i++) {
        const Idx *most = contract_most(x->p, x->f->needed.cond[i].e);
        const Idx *none = idx_addc(p, idx_scale(p, most, -1), -1);
        Guard g = guard_add(p, (Guard){0}, none, 0);
        if (!g.n || guard_truth(g) != MAYBE)
            continue;
        text = arena_printf(x->g->arena, "%s%s%s", text ? text : "",
                            text ? " || " : "", cprint_condition(&x->cp, g));
    }
    cprint_close(&x->cp, scope);
    return text;
}
