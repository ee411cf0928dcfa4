#include "group/spread.h"

#include "group/split.h"
#include "rewrite/rewrite.h"

#include <string.h>

enum { MAX_VARS = 24, MOST_COPIES = 16 };

typedef struct Spread {
    Graph *g;
    Group *c; /* a copy, whose variables are split */
    const Tensor *t;
    const Expr *read; /* of t: the first */
    bool differ;
    const Var *copy[MAX_VARS]; /* variables that say which of the points */
    int n_copy;
    int64_t copies;
} Spread;

/* ---- where c reads */

static void note_read(const Expr *e, void *ctx)
{
    Spread *f = ctx;

    if (e->kind != E_READ || e->tensor != f->t)
        return;
    if (!f->read)
        f->read = e;
    f->differ |= !guard_same(e->in, f->read->in);
    for (int d = 0; d < f->t->rank; d++)
        f->differ |= e->at[d] != f->read->at[d];
}

/* All reads of t are at one place, which is noted. */
static bool find_read(Spread *f)
{
    f->read = NULL;
    f->differ = false;
    for (int i = 0; i < f->c->n_step; i++)
        expr_visit(f->c->step[i].value, note_read, f);
    return f->read && !f->differ;
}

static bool pointwise(const Group *c)
{
    for (int i = 0; i < c->n_step; i++)
        if (c->step[i].op != R_NONE)
            return false;
    return !c->n_cols;
}

/* ---- c's variables, split */

/* v := d * v1 + v2 where d need not divide its extent. */
static void split_ragged(Spread *f, const Var *v, int64_t d)
{
    Graph *g = f->g;
    Group *c = f->c;
    const Var *v1 = idx_new_var(g->pool, v->name, (v->extent - 1) / d + 1);
    const Var *v2 = idx_new_var(g->pool, v->name, d);
    const Idx *by =
        idx_add(g->pool, idx_scale(g->pool, idx_var(g->pool, v1), d),
                idx_var(g->pool, v2));
    Subst sub = {v, by};

    c->rows = list_split(g, c->rows, &c->n_rows, v, v1, v2);
    group_subst(g, c, &sub, 1);
    for (int i = 0; i < c->n_step; i++) {
        Step *s = &c->step[i];
        s->value = expr_confine(g, s->value);
        if (s->tensor)
            s->where = guard_within(g->pool, s->where, by, 0, v->extent);
    }
}

/* A variable of which the place or the guard has a remainder. */
static bool split_one(Spread *f)
{
    const Expr *e = f->read;

    for (int i = 0; i < e->in.n; i++) {
        const Cond *c = &e->in.cond[i];
        const Var *v = c->mod && c->e->n == 1 ? c->e->term[0].atom->var : NULL;
        if (v && v->extent > c->mod) {
            split_ragged(f, v, c->mod);
            return true;
        }
    }
    for (int d = 0; d < f->t->rank; d++)
        for (int i = 0; i < e->at[d]->n; i++) {
            const Atom *a = e->at[d]->term[i].atom;
            const Var *v = a->kind == ATOM_FLOOR && a->a->n == 1
                               ? a->a->term[0].atom->var
                               : NULL;
            if (v && v->extent > a->d) {
                split_ragged(f, v, a->d);
                return true;
            }
        }
    return false;
}

/* ---- the points of an element */

/* Whether the place has v, by other values than one that the guard leaves. */
static bool places(const Spread *f, const Var *v)
{
    const Expr *e = f->read;
    bool used = false;

    for (int i = 0; i < e->in.n; i++)
        if (e->in.cond[i].mod && e->in.cond[i].e->n == 1 &&
            idx_uses(e->in.cond[i].e, v))
            return false;
    for (int d = 0; d < f->t->rank; d++)
        used |= idx_uses(e->at[d], v);
    return used;
}

/* Whether c stores the points that v says beside each other, in one dimension
 * with others: v is the fastest digit there. */
static bool beside(const Spread *f, const Var *v)
{
    for (int i = 0; i < f->c->n_step; i++) {
        const Step *s = &f->c->step[i];
        bool found = !s->tensor;
        for (int d = 0; !found && d < s->tensor->rank; d++) {
            const Idx *e = s->store[d];
            int64_t own = idx_coef(e, v);
            for (int k = 0; k < e->n && own > 0; k++)
                found |= e->term[k].c >= own * v->extent;
        }
        if (!found)
            return false;
    }
    return true;
}

static bool find_copies(Spread *f)
{
    f->n_copy = 0;
    f->copies = 1;
    for (int i = 0; i < f->c->n_rows; i++) {
        const Var *v = f->c->rows[i];
        if (places(f, v))
            continue;
        if (f->copies * v->extent > MOST_COPIES || !beside(f, v))
            return false;
        f->copy[f->n_copy++] = v;
        f->copies *= v->extent;
    }
    return f->copies > 1 && f->copies * f->c->n_step <= MAX_STEPS;
}

static const Expr *move_local(Graph *g, const Expr *e, void *ctx)
{
    const int *by = ctx;

    return e->kind == E_LOCAL ? expr_local(g, e->local + *by, e->type) : NULL;
}

/* c's steps of the point that `place` says. */
static void add_point(const Spread *f, Group *r, int64_t place)
{
    Graph *g = f->g;
    Subst map[MAX_VARS];
    Group *c = group_copy(g, f->c);
    int base = r->n_step;

    for (int i = f->n_copy - 1; i >= 0; i--) {
        int64_t n = f->copy[i]->extent;
        map[i] = (Subst){f->copy[i], idx_const(g->pool, place % n)};
        place /= n;
    }
    group_subst(g, c, map, f->n_copy);
    for (int i = 0; i < c->n_step; i++) {
        Step s = c->step[i];
        s.value = expr_rewrite(g, s.value, move_local, &base);
        r->step[r->n_step++] = s;
    }
}

static bool is_copy(const Spread *f, const Var *v)
{
    for (int i = 0; i < f->n_copy; i++)
        if (f->copy[i] == v)
            return true;
    return false;
}

Group *group_unrolled(Graph *g, const Group *c, const Tensor *t)
{
    Spread f = {.g = g, .t = t};

    if (!pointwise(c) || c->n_rows > MAX_VARS / 2)
        return NULL;
    f.c = group_copy(g, c);
    for (int i = 0; i < MAX_RANK; i++)
        if (!find_read(&f) || !split_one(&f))
            break;
    if (!find_read(&f) || !find_copies(&f))
        return NULL;
    Group *r = arena_new_of(g->arena, Group);
    *r = *f.c;
    r->rows = arena_array(g->arena, const Var *, c->n_rows + MAX_RANK);
    r->n_rows = 0;
    for (int i = 0; i < f.c->n_rows; i++)
        if (!is_copy(&f, f.c->rows[i]))
            r->rows[r->n_rows++] = f.c->rows[i];
    r->step = arena_array(g->arena, Step, f.copies * c->n_step);
    r->n_step = 0;
    for (int64_t i = 0; i < f.copies; i++)
        add_point(&f, r, i);
    return r;
}
