#include "rewrite/path_made.h"

typedef struct Order {
    const Var *var[MAX_VARS];
    int n;
    bool full;
} Order;

static void note_var(const Atom *a, void *ctx)
{
    Order *o = ctx;

    if (a->kind != ATOM_VAR)
        return;
    for (int i = 0; i < o->n; i++)
        if (o->var[i] == a->var)
            return;
    if (o->n == MAX_VARS)
        o->full = true;
    else
        o->var[o->n++] = a->var;
}

static void order_vars(const Expr *e, void *ctx)
{
    if (e->kind == E_INDEX)
        idx_visit(e->idx, note_var, ctx);
    if (e->kind != E_READ)
        return;
    for (int d = 0; d < e->tensor->rank; d++)
        idx_visit(e->at[d], note_var, ctx);
    for (int i = 0; i < e->in.n; i++)
        idx_visit(e->in.cond[i].e, note_var, ctx);
}

static int first_read(const Expr *e)
{
    return e->kind == E_READ ? e->tensor->id : -1;
}

/* The product of these factors, by the age of what they read. */
const Expr *path_product(const Paths *p, Mask of)
{
    const Expr *list[MOST_FACTORS], *e = NULL;
    int n = 0;

    for (int i = 0; i < p->n_part; i++) {
        if (!(of >> i & 1))
            continue;
        int k = n++;
        for (; k > 0 && first_read(list[k - 1]) > first_read(p->part[i].e); k--)
            list[k] = list[k - 1];
        list[k] = p->part[i].e;
    }
    for (int i = 0; i < n; i++)
        e = e ? expr_binary(p->g, F_MUL, e, list[i], T_F32) : list[i];
    return e;
}

/* The pool's variable of such an extent that stands at this place. */
static const Var *own_var(Paths *p, int place, const Var *like)
{
    for (int i = 0, at = 0; i < p->n_own; i++)
        if (p->own[i]->extent == like->extent && at++ == place)
            return p->own[i];
    const Var *v = idx_new_var(p->g->pool, like->name, like->extent);
    VEC_PUSH(p->g->arena, p->own, p->n_own, p->cap_own) = v;
    return own_var(p, place, like);
}

/* e in the pool's variables, and which stand for which. */
static const Expr *in_own(Paths *p, const Expr *e, Order *o)
{
    Subst sub[MAX_VARS];

    *o = (Order){.n = 0};
    expr_visit(e, order_vars, o);
    if (o->full)
        return NULL;
    for (int i = 0; i < o->n; i++)
        sub[i] =
            (Subst){o->var[i], idx_var(p->g->pool, own_var(p, i, o->var[i]))};
    return expr_subst(p->g, e, sub, o->n);
}

static int number_of(const Paths *p, const Var *v)
{
    int i = 0;

    while (i < p->n_var && p->var[i] != v)
        i++;
    return i;
}

static unsigned long long summed_places(const Paths *p, const Order *o,
                                        VarSet keep)
{
    unsigned long long summed = 0;

    for (int i = 0; i < o->n; i++) {
        int k = number_of(p, o->var[i]);
        if (k < p->n_var && !(keep >> k & 1))
            summed |= 1ull << i;
    }
    return summed;
}

const Made *path_find_made(Paths *p, Mask of)
{
    Order o;

    if (!p->n_made)
        return NULL;
    const Expr *e = in_own(p, path_product(p, of), &o);
    if (!e)
        return NULL;
    for (int i = 0; i < p->n_made; i++) {
        const Made *m = &p->made[i];
        if (m->summed == summed_places(p, &o, path_kept(p, of)) &&
            (m->s->when == WHEN_LOAD || p->s->when == WHEN_RUN) &&
            expr_equal(m->value, e))
            return m;
    }
    return NULL;
}

void path_note_made(Paths *p, Mask of, const Stmt *c, const Var *const *v)
{
    Order o;
    const Expr *e = in_own(p, path_product(p, of), &o);
    Made m = {.value = e, .s = c};

    if (!e)
        return;
    for (int d = 0; d < c->n_out; d++) {
        int k = 0;
        while (k < o.n && o.var[k] != v[d])
            k++;
        if (k == o.n)
            return;
        m.place[d] = k;
    }
    m.summed = summed_places(p, &o, path_kept(p, of));
    VEC_PUSH(p->g->arena, p->made, p->n_made, p->cap_made) = m;
}

const Expr *path_read_made(Paths *p, Mask of, const Made *m)
{
    const Idx **at = arena_array(p->g->arena, const Idx *, MAX_RANK);
    Order o;

    in_own(p, path_product(p, of), &o);
    for (int d = 0; d < m->s->tensor->rank; d++)
        at[d] = idx_var(p->g->pool, o.var[m->place[d]]);
    return expr_read(p->g, m->s->tensor, at, (Guard){0}, NULL);
}
