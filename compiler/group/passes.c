#include "group/passes.h"

typedef struct Deps {
    const Group *group;
    const int *at; /* of the steps before */
    bool col;
    int first;     /* where all that is needed is there */
} Deps;

bool is_col_step(const Step *s)
{
    return s->op != R_NONE || s->over_cols;
}

static void add_dep(const Expr *e, void *ctx)
{
    Deps *d = ctx;

    if (e->kind != E_LOCAL || e->local < 0) /* there ahead of all steps */
        return;
    const Step *s = &d->group->step[e->local];
    int at = d->at[e->local];
    /* a row's value is there after its pass or phase */
    if (d->col && !(s->op == R_NONE && s->over_cols))
        at++;
    if (at > d->first)
        d->first = at;
}

int group_passes(const Group *gr, int *at)
{
    int passes = 0;

    for (int i = 0; i < gr->n_step; i++) {
        bool col = is_col_step(&gr->step[i]);
        Deps d = {gr, at, col, col ? 0 : -1};
        expr_visit(gr->step[i].value, add_dep, &d);
        at[i] = d.first;
        if (col && d.first + 1 > passes)
            passes = d.first + 1;
    }
    return passes;
}

int step_reads_at(const Step *s, int at)
{
    return is_col_step(s) ? 2 * at : 2 * at + 1;
}

int step_stores_at(const Step *s, int at)
{
    return s->op == R_NONE ? step_reads_at(s, at) : 2 * at + 1;
}
