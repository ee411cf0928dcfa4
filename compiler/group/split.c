#include "group/split.h"

#include "rewrite/rewrite.h"

void group_subst(Graph *g, Group *gr, const Subst *s, int n)
{
    for (int i = 0; i < gr->n_step; i++) {
        Step *st = &gr->step[i];
        st->value = expr_subst(g, st->value, s, n);
        if (!st->tensor)
            continue;
        st->store = access_subst(g, st->store, st->tensor->rank, s, n);
        st->where = guard_subst(g->pool, st->where, s, n);
        st->needed = guard_subst(g->pool, st->needed, s, n);
    }
}

const Var *group_split(Graph *g, Group *gr, const Var *v, int64_t d)
{
    const Var *v1, *v2;
    Subst sub = var_halves(g, v, d, &v1, &v2);

    gr->rows = list_split(g, gr->rows, &gr->n_rows, v, v1, v2);
    gr->cols = list_split(g, gr->cols, &gr->n_cols, v, v1, v2);
    group_subst(g, gr, &sub, 1);
    return v2;
}

/* An argmax's value is its variable, which stays whole. */
static bool stays_whole(const Group *gr, const Var *v)
{
    bool argmax = false, col = false;

    for (int i = 0; i < gr->n_step; i++)
        argmax |= gr->step[i].op == R_ARGMAX;
    for (int i = 0; i < gr->n_cols; i++)
        col |= gr->cols[i] == v;
    return argmax && col;
}

void group_normalise(Graph *g, Group *gr)
{
    for (;;) {
        Splittable f = {0};
        for (int i = 0; i < gr->n_step && !f.v; i++) {
            Step *s = &gr->step[i];
            expr_visit(s->value, splittable_note, &f);
            for (int d = 0; s->tensor && d < s->tensor->rank && !f.v; d++)
                idx_splittable(s->store[d], &f.v, &f.d);
        }
        if (!f.v || stays_whole(gr, f.v))
            return;
        group_split(g, gr, f.v, f.d);
    }
}
