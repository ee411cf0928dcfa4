#include "group/clash.h"

#include "rewrite/inplace.h"

typedef struct Reading {
    OlderReads old;
    const bool *tainted;    /* by step: computed again from an old element */
    bool uses_tainted;
} Reading;

static void note(const Expr *e, void *ctx)
{
    Reading *r = ctx;

    if (e->kind == E_LOCAL && r->tainted)
        r->uses_tainted |= r->tainted[e->local];
    older_note(e, &r->old);
}

/* A value over the columns may be computed again in a later pass over them;
 * a reduction's result, or a value a row, is kept. */
static void find_tainted(const Group *gr, Reading r, bool *tainted)
{
    r.tainted = tainted;
    for (int i = 0; i < gr->n_step; i++) {
        const Step *s = &gr->step[i];
        r.old.any = r.uses_tainted = false;
        expr_visit(s->value, note, &r);
        tainted[i] = s->over_cols && s->op == R_NONE &&
                     (r.old.any || r.uses_tainted);
    }
}

static bool step_clashes(const Group *gr, int store)
{
    const Step *s = &gr->step[store];
    Reading r = {.old = {.written = s->tensor, .own = s->store}};
    bool tainted[gr->n_step];

    memset(tainted, 0, sizeof tainted);
    find_tainted(gr, r, tainted);
    for (int i = 0; i < gr->n_step; i++) {
        const Step *k = &gr->step[i];
        Reading now = r;
        now.tainted = tainted;
        expr_visit(k->value, note, &now);
        if (now.old.elsewhere || (now.old.any && s->where.n) ||
            (i > store && (now.old.any || now.uses_tainted)) ||
            (k->tensor && older_places(k->store, k->tensor->rank, k->where,
                                       s->tensor)))
            return true;
    }
    return false;
}

bool in_place_clash(const Group *gr)
{
    for (int i = 0; i < gr->n_step; i++) {
        const Tensor *t = gr->step[i].tensor;
        if (t && t->prev && step_clashes(gr, i))
            return true;
    }
    return false;
}
