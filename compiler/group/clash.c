#include "group/clash.h"

#include "group/passes.h"
#include "rewrite/rewrite.h"

typedef struct Reading {
    OlderReads old;
    const bool *tainted;    /* by step: computed again from an old element */
    bool uses_tainted;
} Reading;

static void note(const Expr *e, void *ctx)
{
    Reading *r = ctx;

    if (e->kind == E_LOCAL && e->local >= 0 && r->tainted)
        r->uses_tainted |= r->tainted[e->local];
    older_note(e, &r->old);
}

static void note_apart(const Step *s, void *ctx)
{
    expr_visit(s->value, older_note, ctx);
}

/* What is computed ahead of the steps is of rows that other threads have. */
static bool apart_clashes(const Group *gr, const Tensor *written)
{
    OlderReads ahead = {.written = written};
    Group apart = *gr;

    apart.n_step = 0;
    group_visit(&apart, note_apart, &ahead);
    return ahead.any;
}

/* A value over the columns may be computed again in a later pass over them;
 * a reduction's result, or a value a row, is kept. A value is of steps before
 * its own; a row's is stored before later passes, whose steps may be before its
 * own. */
static bool step_clashes(const Group *gr, int store)
{
    const Step *s = &gr->step[store];
    bool tainted[gr->n_step];
    int at[gr->n_step];

    memset(tainted, 0, sizeof tainted);
    group_passes(gr, at);
    for (int i = 0; i < gr->n_step; i++) {
        const Step *k = &gr->step[i];
        Reading now = {.old = {.written = s->tensor, .own = s->store},
                       .tainted = tainted};
        expr_visit(k->value, note, &now);
        tainted[i] = k->over_cols && k->op == R_NONE &&
                     (now.old.any || now.uses_tainted);
        if (now.old.elsewhere || (now.old.any && s->where.n) ||
            ((now.old.any || now.uses_tainted) &&
             (i > store ||
              step_reads_at(k, at[i]) > step_stores_at(s, at[store]))) ||
            (k->tensor && older_places(k->store, k->tensor->rank, k->where,
                                       s->tensor)))
            return true;
    }
    return false;
}

/* What the nest stores of an older version may come to be there last: in which
 * order a kernel stores is nobody's promise, vectors of elements or single
 * ones, and other threads' at the same place. */
static bool stores_older(const Group *gr, const Tensor *written)
{
    bool older = false;

    for (const Tensor *t = written->prev; t && !older; t = t->prev)
        older = group_stores(gr, t);
    return older;
}

const Tensor *in_place_clash(const Group *gr)
{
    for (int i = 0; i < gr->n_step; i++) {
        const Tensor *t = gr->step[i].tensor;
        if (t && t->prev && (step_clashes(gr, i) || apart_clashes(gr, t) ||
                             stores_older(gr, t)))
            return t;
    }
    return NULL;
}
