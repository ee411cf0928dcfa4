#include "needed.h"

#include <math.h>

enum { MOST_VISITS = 4096 }; /* shared parts are visited on every way */

typedef struct Walk {
    Graph *g;
    const Expr *read;
    Guard found;
    bool any;
    int visits;
} Walk;

static bool has_cond(Guard g, Cond c)
{
    for (int i = 0; i < g.n; i++)
        if (g.cond[i].e == c.e && g.cond[i].mod == c.mod)
            return true;
    return false;
}

/* The read stands under `path`, too. */
static void meet(Walk *w, Guard path)
{
    Guard both = {0};

    for (int i = 0; i < path.n; i++)
        if (!w->any || has_cond(w->found, path.cond[i]))
            both = guard_add(w->g->pool, both, path.cond[i].e,
                             path.cond[i].mod);
    w->found = both;
    w->any = true;
}

static void note_inside(const Expr *e, void *ctx)
{
    Walk *w = ctx;

    if (e->kind == E_READ && expr_equal(e, w->read))
        meet(w, (Guard){0});
}

static void note_data(const Atom *a, void *ctx)
{
    if (a->data)
        expr_visit(a->data, note_inside, ctx);
}

static void walk(Walk *w, const Expr *e, Guard path)
{
    Guard yes = {0}, no = {0};

    if (w->visits++ > MOST_VISITS) {
        meet(w, (Guard){0});
        return;
    }
    if (e->kind == E_INDEX)
        idx_visit(e->idx, note_data, w);
    if (e->kind == E_READ) {
        if (expr_equal(e, w->read))
            meet(w, path);
        for (int d = 0; d < e->tensor->rank; d++)
            idx_visit(e->at[d], note_data, w);
        for (int i = 0; i < e->in.n; i++)
            idx_visit(e->in.cond[i].e, note_data, w);
        if (e->outside)
            walk(w, e->outside, path);
        return;
    }
    if (e->kind == E_SELECT) {
        const Expr *not = expr_unary(w->g, F_NOT, e->arg[0], T_BOOL);
        if (!expr_as_guard(w->g, e->arg[0], &yes))
            yes = (Guard){0};
        if (!expr_as_guard(w->g, not, &no))
            no = (Guard){0};
    }
    for (int i = 0; i < 3 && e->arg[i]; i++)
        walk(w, e->arg[i],
             i == 1   ? guard_and(w->g->pool, path, yes)
             : i == 2 ? guard_and(w->g->pool, path, no)
                      : path);
}

Guard needed_read(Graph *g, const Expr *const *value, int n, const Expr *read)
{
    Walk w = {.g = g, .read = read};

    for (int i = 0; i < n; i++)
        walk(&w, value[i], (Guard){0});
    return w.found;
}

double needed_share(Guard in)
{
    double share = 1;

    for (int i = 0; i < in.n; i++) {
        double lo = (double)in.cond[i].e->lo, hi = (double)in.cond[i].e->hi;
        if (in.cond[i].mod)
            share /= (double)in.cond[i].mod;
        else if (lo < 0)
            share *= fmax(0, (hi + 1) / (hi - lo + 1));
    }
    return share;
}
