#include "rewrite/picks.h"

/* A term: `value` where all of `when` and `in` hold, else 0. */
typedef struct Pick {
    Graph *g;
    Stmt *s;
    const Expr *value, *when; /* when: of data, without the equation; or NULL */
    Guard in;
    const Var *v;  /* of the sum, which is */
    const Idx *is; /* this */
} Pick;

/* An index that an integer is, which cannot wrap around; or NULL. */
static const Idx *as_idx(Graph *g, const Expr *e)
{
    const Tensor *t = e->tensor;

    if (e->kind == E_BINARY && (e->fn == F_ADD || e->fn == F_SUB)) {
        const Idx *a = as_idx(g, e->arg[0]), *b = as_idx(g, e->arg[1]);
        const Idx *sum = !a || !b         ? NULL
                         : e->fn == F_ADD ? idx_add(g->pool, a, b)
                                          : idx_sub(g->pool, a, b);
        return sum && sum->lo >= INT32_MIN && sum->hi <= INT32_MAX ? sum : NULL;
    }
    if (e->kind != E_READ)
        return expr_as_idx(g, e);
    if (t->type != T_I32 || e->in.n)
        return NULL;
    return idx_data(g->pool, e, t->promised ? t->lo : INT32_MIN,
                    t->promised ? t->hi - 1 : INT32_MAX);
}

/* What the equation e = 0 says of a variable of the sum. */
static bool solve(Pick *p, const Idx *e)
{
    IdxPool *pool = p->g->pool;

    for (int i = 0; i < p->s->n_red && !p->v; i++) {
        const Var *v = p->s->red[i];
        int64_t c = idx_coef(e, v);
        if (c != 1 && c != -1)
            continue;
        const Idx *rest =
            idx_sub(pool, idx_scale(pool, idx_var(pool, v), c), e);
        rest = idx_scale(pool, rest, c);
        if (idx_uses(rest, v))
            continue;
        p->v = v;
        p->is = rest;
    }
    return p->v;
}

/* The first equation of a conjunction, taken out of it; the rest in p->when. */
static void take_equation(Pick *p, const Expr *e)
{
    if (e->kind == E_BINARY && e->fn == F_AND) {
        take_equation(p, e->arg[0]);
        take_equation(p, e->arg[1]);
        return;
    }
    if (e->kind == E_BINARY && e->fn == F_EQ && !p->v &&
        !type_is_float(e->arg[0]->type) && !type_is_float(e->arg[1]->type)) {
        const Idx *a = as_idx(p->g, e->arg[0]), *b = as_idx(p->g, e->arg[1]);
        if (a && b && solve(p, idx_sub(p->g->pool, a, b)))
            return;
    }
    p->when = p->when ? expr_binary(p->g, F_AND, p->when, e, T_BOOL) : e;
}

/* The same of a guard: e >= 0 and -e >= 0. */
static void take_guard(Pick *p, Guard in)
{
    IdxPool *pool = p->g->pool;

    for (int i = 0; i < in.n && !p->v; i++)
        for (int k = 0; k < i && !p->v; k++)
            if (!in.cond[i].mod && !in.cond[k].mod &&
                in.cond[k].e == idx_scale(pool, in.cond[i].e, -1))
                solve(p, in.cond[i].e);
    p->in = in;
}

static bool is_zero(const Expr *e)
{
    return e->kind == E_CONST && e->num == 0;
}

static bool find_pick(Pick *p)
{
    const Stmt *s = p->s;
    const Expr *e = s->value;

    if (s->op != R_SUM || s->notes)
        return false;
    p->value = e;
    if (e->kind == E_READ && e->in.n && is_zero(e->outside)) {
        take_guard(p, e->in);
        p->value = expr_read(p->g, e->tensor, e->at, (Guard){0}, NULL);
    } else if (e->kind == E_SELECT && is_zero(e->arg[2])) {
        take_equation(p, e->arg[0]);
        p->value = e->arg[1];
    }
    return p->v;
}

/* The one term, where it is. */
static void rewrite(Pick *p)
{
    Graph *g = p->g;
    Stmt *s = p->s;
    const Subst at = {p->v, p->is};
    const Type type = s->value->type;
    Guard in = guard_subst(g->pool, p->in, &at, 1);
    int n = 0;

    in = guard_within(g->pool, in, p->is, 0, p->v->extent);
    const Expr *e = expr_subst(g, p->value, &at, 1);
    const Expr *when = p->when ? expr_subst(g, p->when, &at, 1) : NULL;
    if (in.n)
        e = expr_confine(g, e);
    if (in.n)
        when = when ? expr_binary(g, F_AND, expr_of_guard(g, in), when, T_BOOL)
                    : expr_of_guard(g, in);
    s->value = when ? expr_select(g, when, e, expr_const(g, 0, type), type) : e;
    const Var **red = arena_array(g->arena, const Var *, s->n_red);
    for (int i = 0; i < s->n_red; i++)
        if (s->red[i] != p->v)
            red[n++] = s->red[i];
    s->red = red;
    s->n_red = n;
    if (!n)
        s->op = R_NONE;
}

void pick_terms(Graph *g)
{
    for (int i = 0; i < g->n_stmt; i++) {
        Pick p = {.g = g, .s = g->stmt[i]};
        while (find_pick(&p)) {
            rewrite(&p);
            p = (Pick){.g = g, .s = g->stmt[i]};
        }
    }
}
