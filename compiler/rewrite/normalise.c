#include "rewrite/normalise.h"

static bool search(const Idx *e, Splittable *f);

static bool search_atom(const Atom *a, Splittable *f)
{
    if (a->kind == ATOM_FLOOR) {
        const Var *v = idx_is_var(a->a);
        if (v && v->extent % a->d == 0 && v->extent > a->d) {
            *f = (Splittable){v, a->d};
            return true;
        }
    }
    return (a->a && search(a->a, f)) || (a->b && search(a->b, f));
}

static bool search(const Idx *e, Splittable *f)
{
    for (int i = 0; i < e->n; i++)
        if (search_atom(e->term[i].atom, f))
            return true;
    return false;
}

bool idx_splittable(const Idx *e, const Var **v, int64_t *d)
{
    Splittable f = {0};

    if (!search(e, &f))
        return false;
    *v = f.v;
    *d = f.d;
    return true;
}

static void search_guard(Guard g, Splittable *f)
{
    for (int i = 0; i < g.n && !f->v; i++)
        search(g.cond[i].e, f);
}

void splittable_note(const Expr *e, void *ctx)
{
    Splittable *f = ctx;

    if (f->v)
        return;
    if (e->kind == E_INDEX)
        search(e->idx, f);
    if (e->kind != E_READ)
        return;
    for (int i = 0; i < e->tensor->rank && !f->v; i++)
        search(e->at[i], f);
    search_guard(e->in, f);
}

const Idx **access_subst(Graph *g, const Idx **at, int rank, const Subst *s,
                         int n)
{
    const Idx **to = arena_array(g->arena, const Idx *, rank ? rank : 1);

    for (int i = 0; i < rank; i++)
        to[i] = idx_subst(g->pool, at[i], s, n);
    return to;
}

/* ---- statements */

const Var **list_split(Graph *g, const Var **list, int *n, const Var *v,
                       const Var *v1, const Var *v2)
{
    const Var **to = arena_array(g->arena, const Var *, *n + 1);
    int k = 0;

    for (int i = 0; i < *n; i++) {
        if (list[i] == v) {
            to[k++] = v1;
            to[k++] = v2;
        } else {
            to[k++] = list[i];
        }
    }
    *n = k;
    return to;
}

Subst var_halves(Graph *g, const Var *v, int64_t d, const Var **v1,
                 const Var **v2)
{
    IdxPool *p = g->pool;

    *v1 = idx_new_var(p, v->name, v->extent / d);
    *v2 = idx_new_var(p, v->name, d);
    const Idx *by = idx_add(p, idx_scale(p, idx_var(p, *v1), d),
                            idx_var(p, *v2));
    return (Subst){v, by};
}

static void stmt_split(Graph *g, Stmt *s, const Var *v, int64_t d)
{
    const Var *v1, *v2;
    Subst sub = var_halves(g, v, d, &v1, &v2);

    s->out = list_split(g, s->out, &s->n_out, v, v1, v2);
    s->red = list_split(g, s->red, &s->n_red, v, v1, v2);
    s->value = expr_subst(g, s->value, &sub, 1);
    s->store = access_subst(g, s->store, s->tensor->rank, &sub, 1);
    s->where = guard_subst(g->pool, s->where, &sub, 1);
}

static void stmt_normalise(Graph *g, Stmt *s)
{
    for (;;) {
        Splittable f = {0};
        expr_visit(s->value, splittable_note, &f);
        for (int i = 0; i < s->tensor->rank && !f.v; i++)
            search(s->store[i], &f);
        /* An argmax's value is its variable, which stays whole. */
        if (!f.v || (s->op == R_ARGMAX && vars_have(s->red, s->n_red, f.v)))
            return;
        stmt_split(g, s, f.v, f.d);
    }
}

void normalise(Graph *g)
{
    for (int i = 0; i < g->n_stmt; i++)
        stmt_normalise(g, g->stmt[i]);
}
