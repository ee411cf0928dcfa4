#include "group/part.h"

#include "group/clash.h"
#include "group/split.h"
#include "rewrite/rewrite.h"

#include <string.h>

enum { MAX_VARS = 24 };

typedef struct Part {
    Graph *g;
    const Group *p, *c;
    const Tensor *t;
    int made;          /* p's step that stores t */
    const Idx **at;    /* where c reads it */
    Subst map[MAX_VARS]; /* c's variables in p's */
    int n_map;
    Guard in;          /* the points of p that c has */
    bool failed;
} Part;

/* ---- where c reads */

static void note_read(const Expr *e, void *ctx)
{
    Part *f = ctx;

    if (e->kind != E_READ || e->tensor != f->t)
        return;
    if (!f->at)
        f->at = e->at;
    f->failed |= e->in.n > 0;
    for (int d = 0; d < f->t->rank; d++)
        f->failed |= e->at[d] != f->at[d];
}

static bool mapped(const Part *f, const Var *v)
{
    for (int i = 0; i < f->n_map; i++)
        if (f->map[i].var == v)
            return true;
    return false;
}

/* e's variable of the least positive coefficient that is not below `least`. */
static const IdxTerm *next_digit(const Idx *e, int64_t least)
{
    const IdxTerm *best = NULL;

    for (int i = 0; i < e->n; i++)
        if (e->term[i].c >= least && (!best || e->term[i].c < best->c))
            best = &e->term[i];
    return best;
}

/* Solves `at = made` for at's variables: digits of (made - k) / c, where at is
 * k + c * (a full mixed radix of them). */
static bool solve(Part *f, const Idx *at, const Idx *made)
{
    IdxPool *pool = f->g->pool;
    int64_t below = 1, step = 1;
    const Idx *e = idx_addc(pool, made, -at->k);

    if (!idx_affine(at) || idx_has_data(made))
        return false;
    for (int i = 0; i < at->n; i++) {
        const IdxTerm *t = next_digit(at, below * step);
        if (t && i == 0) {
            step = t->c;
            f->in = guard_add(pool, f->in, e, step);
            e = idx_floor(pool, e, step);
        }
        if (!t || t->c != below * step)
            return false;
        const Var *v = t->atom->var;
        if (mapped(f, v) || f->n_map == MAX_VARS)
            return false;
        const Idx *by = idx_floor(pool, e, below);
        if (i < at->n - 1)
            by = idx_mod(pool, by, v->extent);
        f->map[f->n_map++] = (Subst){v, by};
        below *= v->extent;
    }
    f->in = guard_within(pool, f->in, e, 0, below);
    return true;
}

/* Whether p's statement alone makes all of t. */
static bool makes_all(const Part *f)
{
    const Step *s = &f->p->step[f->made];
    int writers = 0;

    for (int i = 0; i < f->p->n_step; i++)
        writers += f->p->step[i].tensor == f->t;
    for (int d = 0; d < f->t->rank; d++)
        if (s->store[d]->lo > 0 || s->store[d]->hi < f->t->dim[d] - 1)
            return false;
    return writers == 1;
}

static bool find_points(Part *f)
{
    const Step *s = &f->p->step[f->made];

    for (int i = 0; i < f->c->n_step; i++)
        expr_visit(f->c->step[i].value, note_read, f);
    if (!f->at || f->failed)
        return false;
    f->in = s->where;
    for (int d = 0; d < f->t->rank; d++)
        if (!solve(f, f->at[d], s->store[d]))
            return false;
    for (int i = 0; i < f->c->n_rows; i++)
        if (!mapped(f, f->c->rows[i]))
            return false;
    return guard_truth(f->in) != NEVER;
}

/* ---- c's steps in p's nest */

/* Another of p's results, at a place that is not looked into. */
static bool made_here(const Part *f, const Expr *e)
{
    for (int i = 0; i < f->p->n_step; i++)
        if (f->p->step[i].tensor == e->tensor)
            return true;
    return false;
}

static const Expr *into_nest(Graph *g, const Expr *e, void *ctx)
{
    Part *f = ctx;

    if (e->kind == E_LOCAL)
        return expr_local(g, e->local + f->p->n_step, e->type);
    if (e->kind != E_READ)
        return NULL;
    if (e->tensor == f->t)
        return expr_local(g, f->made, f->p->step[f->made].type);
    f->failed |= made_here(f, e);
    return NULL;
}

static void add_step(Part *f, Group *r, Step s)
{
    Graph *g = f->g;
    const Step *made = &f->p->step[f->made];

    s.value = expr_confine(g, expr_subst(g, s.value, f->map, f->n_map));
    s.value = expr_rewrite(g, s.value, into_nest, f);
    s.over_cols = made->over_cols && made->op == R_NONE;
    if (s.tensor) {
        s.store = access_subst(g, s.store, s.tensor->rank, f->map, f->n_map);
        s.where = guard_subst(g->pool, s.where, f->map, f->n_map);
        s.where = guard_and(g->pool, f->in, s.where);
        s.needed = guard_subst(g->pool, s.needed, f->map, f->n_map);
    }
    r->step[r->n_step++] = s;
}

static Group *combine(Part *f, bool keep)
{
    Graph *g = f->g;
    Group *r = arena_new_of(g->arena, Group);

    *r = (Group){.when = f->c->when, .n_rows = f->p->n_rows,
                 .n_cols = f->p->n_cols};
    r->rows = arena_array(g->arena, const Var *, r->n_rows + 1);
    r->cols = arena_array(g->arena, const Var *, r->n_cols + 1);
    memcpy(r->rows, f->p->rows, sizeof(Var *) * (size_t)r->n_rows);
    memcpy(r->cols, f->p->cols, sizeof(Var *) * (size_t)r->n_cols);
    r->step = arena_array(g->arena, Step, f->p->n_step + f->c->n_step);
    for (int i = 0; i < f->p->n_step; i++)
        r->step[r->n_step++] = f->p->step[i];
    for (int i = 0; i < f->c->n_step; i++)
        add_step(f, r, f->c->step[i]);
    if (!keep)
        r->step[f->made].tensor = NULL;
    group_add_stmts(g, r, f->p);
    group_add_stmts(g, r, f->c);
    return f->failed ? NULL : r;
}

Group *fuse_part(Graph *g, const Group *p, const Group *c, const Tensor *t,
                 bool keep)
{
    Part f = {.g = g, .p = p, .c = c, .t = t, .made = -1};

    for (int i = 0; i < p->n_step; i++)
        if (p->step[i].tensor == t)
            f.made = i;
    if (f.made < 0 || c->n_cols || !makes_all(&f) || !find_points(&f))
        return NULL;
    Group *r = combine(&f, keep);
    if (!r || in_place_clash(r))
        return NULL;
    group_normalise(g, r);
    return r;
}
