#include "group/siblings.h"

#include "group/clash.h"
#include "group/split.h"

#include <string.h>

enum { MAX_VARS = 24 };

/* Steps that one pass over the columns makes: they come first. */
static int passed(const Group *gr)
{
    int n = 0;

    while (n < gr->n_step && gr->step[n].over_cols)
        n++;
    return n;
}

/* Rows, or rows with sums over columns: one pass over these and what follows
 * from the sums. There a later version of a tensor is stored behind the sums:
 * the row's own threads have read then. */
static bool plain(const Group *gr)
{
    if (gr->chain || gr->merge || gr->pieces || gr->factor_sum ||
        gr->n_rows + gr->n_cols > MAX_VARS)
        return false;
    for (int i = 0; i < gr->n_step; i++) {
        const Step *s = &gr->step[i];
        if ((s->over_cols && i >= passed(gr)) ||
            (s->tensor && s->tensor->prev && gr->n_cols && s->over_cols))
            return false;
    }
    return true;
}

typedef struct Places {
    int of[2][MAX_STEPS]; /* by argument and its step: the result's */
    int arg;
} Places;

static const Expr *replace(Graph *g, const Expr *e, void *ctx)
{
    const Places *p = ctx;

    return e->kind == E_LOCAL
               ? expr_local(g, p->of[p->arg][e->local], e->type) : NULL;
}

/* Both's sums, then what follows from them. */
static void find_places(Places *p, const Group *a, const Group *b)
{
    const Group *arg[] = {a, b};
    int n = 0;

    for (int rest = 0; rest < 2; rest++)
        for (int k = 0; k < 2; k++) {
            int from = rest ? passed(arg[k]) : 0;
            int to = rest ? arg[k]->n_step : passed(arg[k]);
            for (int i = from; i < to; i++)
                p->of[k][i] = n++;
        }
}

/* A group's steps with a's variables, in their places. */
static void put_steps(Graph *g, Group *r, const Group *a, const Group *b,
                      Places *p)
{
    Subst map[MAX_VARS];
    Group own = *b;
    int n = 0;

    own.step = arena_array(g->arena, Step, b->n_step);
    memcpy(own.step, b->step, sizeof(Step) * (size_t)b->n_step);
    for (int i = 0; i < b->n_rows; i++)
        map[n++] = (Subst){b->rows[i], idx_var(g->pool, a->rows[i])};
    for (int i = 0; i < b->n_cols; i++)
        map[n++] = (Subst){b->cols[i], idx_var(g->pool, a->cols[i])};
    if (a != b)
        group_subst(g, &own, map, n);
    for (int i = 0; i < b->n_step; i++) {
        Step s = own.step[i];
        s.value = expr_rewrite(g, s.value, replace, p);
        r->step[p->of[p->arg][i]] = s;
    }
    r->n_step += b->n_step;
}

static bool same_extents(const Var *const *a, const Var *const *b, int n)
{
    for (int i = 0; i < n; i++)
        if (a[i]->extent != b[i]->extent)
            return false;
    return true;
}

Group *fuse_siblings(Graph *g, const Group *a, const Group *b)
{
    Places p = {.arg = 0};

    if (!plain(a) || !plain(b) || a->when != b->when ||
        a->n_rows != b->n_rows || a->n_cols != b->n_cols ||
        group_too_long(a, b) || group_follows(a, b) || group_follows(b, a) ||
        !same_extents(a->rows, b->rows, a->n_rows) ||
        !same_extents(a->cols, b->cols, a->n_cols))
        return NULL;
    Group *r = arena_new_of(g->arena, Group);
    *r = (Group){.when = a->when, .n_rows = a->n_rows, .n_cols = a->n_cols};
    r->rows = arena_array(g->arena, const Var *, a->n_rows + 1);
    r->cols = arena_array(g->arena, const Var *, a->n_cols + 1);
    memcpy(r->rows, a->rows, sizeof *r->rows * (size_t)a->n_rows);
    memcpy(r->cols, a->cols, sizeof *r->cols * (size_t)a->n_cols);
    r->step = arena_array(g->arena, Step, a->n_step + b->n_step);
    find_places(&p, a, b);
    put_steps(g, r, a, a, &p);
    p.arg = 1;
    put_steps(g, r, a, b, &p);
    group_add_stmts(g, r, a);
    group_add_stmts(g, r, b);
    if (in_place_clash(r)) /* one reads rows that the other overwrites */
        return NULL;
    group_normalise(g, r);
    return r;
}
