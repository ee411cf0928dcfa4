#include "family/common/body.h"

#include <limits.h>
#include <string.h>

/* Variables of a nest that are one: rows of 14 elements, one behind the other,
 * are rows of 196. */

typedef struct Pair {
    Graph *g;
    const Var *a, *b; /* b is the faster */
    bool serves;      /* one element may serve all of b */
    bool good, any;
} Pair;

/* Whether v is in e other than as a term of its own. */
static bool is_inside(const Idx *e, const Var *v)
{
    for (int i = 0; i < e->n; i++) {
        const Atom *a = e->term[i].atom;
        if (a->kind != ATOM_VAR && atom_uses(a, v))
            return true;
    }
    return false;
}

/* Whether the offset goes on with a where b ends, and has them nowhere else. */
static bool goes_on(const Idx *e, const Var *a, const Var *b)
{
    return idx_coef(e, a) == idx_coef(e, b) * b->extent && !is_inside(e, a) &&
           !is_inside(e, b);
}

static void check_expr(const Expr *e, void *ctx)
{
    Pair *p = ctx;

    if (e->kind == E_INDEX)
        p->good &= !idx_uses(e->idx, p->a) && !idx_uses(e->idx, p->b);
    if (e->kind != E_READ || !p->good)
        return;
    const Idx *offset = tensor_offset(p->g, e->tensor, e->at);
    p->good &= (goes_on(offset, p->a, p->b) ||
                (p->serves && !idx_uses(offset, p->b))) &&
               !guard_uses(e->in, p->a) && !guard_uses(e->in, p->b);
    p->any |= idx_coef(offset, p->b) == 1;
    for (int d = 0; d < e->tensor->rank; d++)
        p->good &= !idx_has_data(e->at[d]);
}

/* Of points alone, a short row's own values are read at quotients: those of
 * groups of 10 channels, which have no vectors else. */
static bool are_one(Graph *g, const Group *gr, const Var *a, const Var *b)
{
    enum { SHORT = 64 };
    Pair p = {g, a, b, !gr->n_cols && b->extent <= SHORT, true, false};

    if (a->extent > INT_MAX / b->extent)
        return false;
    for (int i = 0; i < gr->n_step && p.good; i++) {
        const Step *s = &gr->step[i];
        expr_visit(s->value, check_expr, &p);
        p.good &= s->op != R_ARGMAX && !guard_uses(s->where, a) &&
                  !guard_uses(s->where, b);
        if (!s->tensor)
            continue;
        const Idx *to = tensor_offset(g, s->tensor, s->store);
        p.good &= goes_on(to, a, b);
        p.any |= idx_coef(to, b) == 1;
    }
    return p.good && p.any;
}

/* Whether vectors along both are wider than along b, or b alone is short. */
static bool is_better(const Var *a, const Var *b, int64_t least)
{
    enum { WIDEST = 8 };
    const int64_t both = a->extent * b->extent;

    if (a->extent < 2 || b->extent < 2 || b->extent % WIDEST == 0)
        return false;
    return b->extent < least || (b->extent & -b->extent) < (both & -both);
}

static Group *merge(Graph *g, const Group *gr, bool rows, int a, int b)
{
    Group *one = group_copy(g, gr);
    const Var *const *list = rows ? gr->rows : gr->cols;
    const int n = rows ? gr->n_rows : gr->n_cols;
    const Var *x = list[a], *y = list[b];
    const Var *both =
        idx_new_var(g->pool, arena_printf(g->arena, "%s%s", x->name, y->name),
                    x->extent * y->extent);
    const Idx *at = idx_var(g->pool, both);
    const Subst sub[] = {{x, idx_floor(g->pool, at, y->extent)},
                         {y, idx_mod(g->pool, at, y->extent)}};
    const Var **left = arena_array(g->arena, const Var *, n);
    int k = 0;

    for (int i = 0; i < n; i++)
        if (i != b)
            left[k++] = i == a ? both : list[i];
    *(rows ? &one->rows : &one->cols) = left;
    *(rows ? &one->n_rows : &one->n_cols) = k;
    for (int i = 0; i < one->n_step; i++) {
        Step *s = &one->step[i];
        s->value = expr_subst(g, s->value, sub, 2);
        if (s->tensor)
            s->store = access_subst(g, s->store, s->tensor->rank, sub, 2);
    }
    return one;
}

const Group *nest_merged(Graph *g, const Group *gr, int64_t least)
{
    for (int rows = 0; rows < 2; rows++) {
        const Var *const *list = rows ? gr->rows : gr->cols;
        const int n = rows ? gr->n_rows : gr->n_cols;
        for (int a = 0; a < n; a++)
            for (int b = 0; b < n; b++)
                if (a != b && is_better(list[a], list[b], least) &&
                    are_one(g, gr, list[a], list[b]))
                    return nest_merged(g, merge(g, gr, rows, a, b), least);
    }
    return gr;
}
