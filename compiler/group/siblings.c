#include "group/siblings.h"

#include "group/split.h"

#include <string.h>

enum { MAX_VARS = 24 };

static bool plain(const Group *gr)
{
    if (gr->n_cols || gr->chain || gr->merge || gr->pieces ||
        gr->n_rows > MAX_VARS)
        return false;
    for (int i = 0; i < gr->n_step; i++)
        if (gr->step[i].tensor && gr->step[i].tensor->prev)
            return false;
    return true;
}

/* Does c read what p stores? */
static bool follows(const Group *c, const Group *p)
{
    for (int i = 0; i < p->n_step; i++)
        if (p->step[i].tensor && group_reads(c, p->step[i].tensor))
            return true;
    return false;
}

static const Expr *shift(Graph *g, const Expr *e, void *ctx)
{
    const int *by = ctx;

    return e->kind == E_LOCAL ? expr_local(g, e->local + *by, e->type) : NULL;
}

/* b's steps with a's variables, behind a's. */
static void add_steps(Graph *g, Group *r, const Group *a, const Group *b)
{
    Subst map[MAX_VARS];
    Group own = *b;
    int by = a->n_step;

    own.step = arena_array(g->arena, Step, b->n_step);
    memcpy(own.step, b->step, sizeof(Step) * (size_t)b->n_step);
    for (int i = 0; i < b->n_rows; i++)
        map[i] = (Subst){b->rows[i], idx_var(g->pool, a->rows[i])};
    group_subst(g, &own, map, b->n_rows);
    for (int i = 0; i < b->n_step; i++) {
        Step s = own.step[i];
        s.value = expr_rewrite(g, s.value, shift, &by);
        r->step[r->n_step++] = s;
    }
}

Group *fuse_siblings(Graph *g, const Group *a, const Group *b)
{
    if (!plain(a) || !plain(b) || a->when != b->when ||
        a->n_rows != b->n_rows || group_too_long(a, b) || follows(a, b) ||
        follows(b, a))
        return NULL;
    for (int i = 0; i < a->n_rows; i++)
        if (a->rows[i]->extent != b->rows[i]->extent)
            return NULL;
    Group *r = arena_new_of(g->arena, Group);
    *r = (Group){.when = a->when, .n_rows = a->n_rows};
    r->rows = arena_array(g->arena, const Var *, a->n_rows + 1);
    r->cols = arena_array(g->arena, const Var *, 1);
    memcpy(r->rows, a->rows, sizeof *r->rows * (size_t)a->n_rows);
    r->step = arena_array(g->arena, Step, a->n_step + b->n_step);
    memcpy(r->step, a->step, sizeof(Step) * (size_t)a->n_step);
    r->n_step = a->n_step;
    add_steps(g, r, a, b);
    group_add_stmts(g, r, a);
    group_add_stmts(g, r, b);
    group_normalise(g, r);
    return r;
}
