/* map_short.c - rows too short for vectors, as 3 colours, or a point's 3
 * coordinates: a copy of each step for every value of them. What is stored
 * alternates in memory then, as what is read does (weave.c), and vectors go
 * along the next index. */
#include "family/map/map.h"

#include <string.h>

enum {
    MOST_STEPS = 32,
    MOST_COLS = 16,
    LEAST = 8,    /* for vectors */
    POINTS = 2048 /* fewer are a launch's time, whoever has them */
};

typedef struct Locals {
    const bool *of;
    bool found;
} Locals;

static void note_local(const Expr *e, void *ctx)
{
    Locals *l = ctx;

    l->found |= e->kind == E_LOCAL && e->local >= 0 && l->of[e->local];
}

/* Which steps are of single values of v: *n in all, with a copy for each. */
static void find_steps(const Group *gr, const Var *v, bool *of, int *n,
                       int *sums)
{
    *n = *sums = 0;
    for (int i = 0; i < gr->n_step; i++) {
        const Step *s = &gr->step[i];
        Locals l = {of, false};
        expr_visit(s->value, note_local, &l);
        of[i] = s->tensor || l.found || expr_uses(s->value, v);
        int copies = of[i] ? (int)v->extent : 1;
        *n += copies;
        *sums += s->op != R_NONE ? copies : 0;
    }
}

/* Results that lie 0, 1, .. along v, and one such run behind the other. */
static bool lies_so(Graph *g, const Group *gr, const Var *v, const Var *slow)
{
    for (int i = 0; i < gr->n_step; i++) {
        const Step *s = &gr->step[i];
        if (s->op == R_ARGMAX)
            return false;
        if (!s->tensor)
            continue;
        const Idx *to = tensor_offset(g, s->tensor, s->store);
        if (idx_coef(to, v) != 1 || idx_coef(to, slow) != v->extent ||
            s->tensor->prev || s->where.n || s->needed.n || s->over_cols)
            return false;
    }
    return true;
}

typedef struct Windows {
    const Group *gr;
    const Var *q;
    bool found;
} Windows;

static void note_window(const Expr *e, void *ctx)
{
    Windows *w = ctx;

    for (int d = 0; e->kind == E_READ && d < e->tensor->rank; d++)
        for (int i = 0; i < w->gr->n_cols && idx_uses(e->at[d], w->q); i++)
            w->found |= w->gr->cols[i]->extent > 1 &&
                        idx_uses(e->at[d], w->gr->cols[i]);
}

/* Whether there are windows along q, which have ways of their own. */
static bool has_windows(const Group *gr, const Var *q)
{
    Windows w = {gr, q, false};

    for (int i = 0; i < gr->n_step; i++)
        expr_visit(gr->step[i].value, note_window, &w);
    return w.found;
}

typedef struct Copies {
    const int *first; /* of each step's copies */
    const bool *of;
    int value;
} Copies;

static const Expr *renumbered(Graph *g, const Expr *e, void *ctx)
{
    const Copies *c = ctx;

    if (e->kind != E_LOCAL || e->local < 0)
        return NULL;
    int at = c->first[e->local] + (c->of[e->local] ? c->value : 0);
    return expr_local(g, at, e->type);
}

static Step copy_of(Graph *g, const Step *from, const Var *v, Copies *c)
{
    const Subst here = {v, idx_const(g->pool, c->value)};
    Step s = *from;

    s.value = expr_rewrite(g, expr_subst(g, s.value, &here, 1), renumbered, c);
    s.again = c->value > 0;
    if (!s.tensor)
        return s;
    s.store = arena_array(g->arena, const Idx *, s.tensor->rank);
    for (int d = 0; d < s.tensor->rank; d++)
        s.store[d] = idx_subst(g->pool, from->store[d], &here, 1);
    return s;
}

const Group *map_short(Graph *g, const Group *gr, const Var *const *rows)
{
    bool of[MAX_STEPS];
    int first[MAX_STEPS], n, sums;

    if (gr->n_rows < 2 || group_cols(gr) > MOST_COLS || group_rows(gr) < POINTS)
        return gr;
    const Var *v = rows[gr->n_rows - 1], *slow = rows[gr->n_rows - 2];
    const int64_t e = v->extent;
    find_steps(gr, v, of, &n, &sums);
    if (e > MOST_WOVEN || !(e & (e - 1)) || slow->extent < LEAST ||
        n > MOST_STEPS || sums > MAX_SUMS || !lies_so(g, gr, v, slow) ||
        has_windows(gr, slow))
        return gr;
    Group *to = group_copy(g, gr);
    to->step = arena_array(g->arena, Step, n);
    to->n_step = 0;
    for (int i = 0; i < gr->n_step; i++) {
        Copies c = {first, of, 0};
        first[i] = to->n_step;
        for (; c.value < (of[i] ? e : 1); c.value++)
            to->step[to->n_step++] = copy_of(g, &gr->step[i], v, &c);
    }
    to->rows = arena_array(g->arena, const Var *, gr->n_rows);
    to->n_rows = 0;
    for (int i = 0; i < gr->n_rows; i++)
        if (gr->rows[i] != v)
            to->rows[to->n_rows++] = gr->rows[i];
    return to;
}
