#include "rewrite/walk.h"

bool walk_same_place(const Expr *a, const Expr *b)
{
    if (a->tensor != b->tensor)
        return false;
    for (int d = 0; d < a->tensor->rank; d++)
        if (a->at[d] != b->at[d])
            return false;
    return true;
}

bool walk_in_list(const Var *const *list, int n, const Var *v)
{
    for (int i = 0; i < n; i++)
        if (list[i] == v)
            return true;
    return false;
}

const Var *walk_var(const Idx *e)
{
    const Var *v = NULL;

    for (int i = 0; i < e->n; i++)
        if (e->term[i].c == 1 && e->term[i].atom->kind == ATOM_VAR && !v)
            v = e->term[i].atom->var;
    for (int i = 0; v && i < e->n; i++) {
        int64_t c = e->term[i].c;
        if ((c > 0 ? c : -c) < v->extent && e->term[i].atom->var != v)
            return NULL;
    }
    return v;
}

static bool is_product(const Expr *e, const Expr **a, const Expr **b)
{
    if (e->kind != E_BINARY || e->fn != F_MUL || e->arg[0]->kind != E_READ ||
        e->arg[1]->kind != E_READ)
        return false;
    *a = e->arg[0];
    *b = e->arg[1];
    return true;
}

bool walk_product(const Stmt *s, const Expr **a, const Expr **b)
{
    return s->op == R_SUM && is_product(s->value, a, b);
}

bool walk_cut_product(const Stmt *s, const Expr **a, const Expr **b)
{
    const Expr *e = s->value;

    if (s->op != R_SUM || e->kind != E_SELECT)
        return walk_product(s, a, b);
    const Expr *none = e->arg[2];
    return none->kind == E_CONST && none->num == 0 &&
           is_product(e->arg[1], a, b) &&
           ((*a)->tensor->cut || (*b)->tensor->cut || (*a)->in.n ||
            (*b)->in.n);
}

static void find_data(const Expr *e, void *ctx)
{
    for (int d = 0; e->kind == E_READ && d < e->tensor->rank; d++)
        *(bool *)ctx |= idx_has_data(e->at[d]);
}

bool walk_is_pick(const Stmt *s)
{
    enum { FEW = 4 };
    int64_t terms = 1;
    bool data = false;

    for (int i = 0; i < s->n_red && terms <= FEW; i++)
        terms *= s->red[i]->extent;
    expr_visit(s->value, find_data, &data);
    return s->op == R_SUM && terms <= FEW && data;
}

const Expr *walk_multiplied(Graph *g, const Stmt *s, const Expr *a,
                            const Expr *b)
{
    const Expr *e = s->value, *to = expr_binary(g, F_MUL, a, b, e->type);

    return e->kind == E_SELECT
               ? expr_select(g, e->arg[0], to, e->arg[2], e->type)
               : to;
}

bool walk_has_window(const Expr *read)
{
    for (int d = 0; d < read->tensor->rank; d++)
        if (read->at[d]->n > 1)
            return true;
    return false;
}

static bool uses_any(const Idx *e, const Var *const *list, int n)
{
    for (int i = 0; i < n; i++)
        if (idx_uses(e, list[i]))
            return true;
    return false;
}

/* Whether a window moves over what s reads there: a dimension of its own points
 * and summed ones. What several variables of its points index (parts of rows)
 * is a view. Where another dimension is reduced, what walks alone would be no
 * channels of the window but a group of them over its image, and images are
 * what walks alone. */
static bool moves_window(const Stmt *s, const Expr *read)
{
    bool window = false;

    for (int d = 0; d < read->tensor->rank; d++) {
        bool out = uses_any(read->at[d], (const Var *const *)s->out, s->n_out);
        bool red = uses_any(read->at[d], (const Var *const *)s->red, s->n_red);
        if (red && !out)
            return false;
        window |= red && out;
    }
    return window;
}

int walk_channels(const Stmt *s, const Expr *read)
{
    const Expr *a, *b;
    bool product = walk_cut_product(s, &a, &b);

    if (read->kind != E_READ || !moves_window(s, read))
        return -1;
    for (int d = read->tensor->rank - 1; d >= 0; d--) {
        const Var *v = walk_var(read->at[d]);
        if (v && v->extent >= WORTH &&
            walk_in_list((const Var *const *)s->out, s->n_out, v) &&
            (!product || (expr_uses(a, v) && expr_uses(b, v))))
            return d;
    }
    return -1;
}

bool walk_zero_beyond(Graph *g, const Expr *e)
{
    Guard own = {0};
    int found = 0;

    for (int d = 0; d < e->tensor->rank; d++)
        own = guard_within(g->pool, own, e->at[d], 0, e->tensor->dim[d]);
    for (int i = 0; i < e->in.n; i++)
        for (int j = 0; j < own.n; j++)
            found += e->in.cond[i].e == own.cond[j].e &&
                     e->in.cond[i].mod == own.cond[j].mod;
    return found == e->in.n &&
           (!found || (e->outside->kind == E_CONST && e->outside->num == 0));
}

int walk_only_in(const Stmt *s, const Expr *a, const Expr *b, const Var **v)
{
    int n = 0;

    for (int i = 0; i < s->n_out; i++)
        if (expr_uses(a, s->out[i]) && !expr_uses(b, s->out[i]))
            v[n++] = s->out[i];
    return n;
}

int walk_sole_own(const Stmt *s, const Expr *a, const Var *const *own, int n)
{
    int found = -1, summed = 0;

    for (int d = 0; d < a->tensor->rank; d++) {
        const Idx *e = a->at[d];
        const Var *v = NULL; /* the longest counts */
        for (int i = 0; i < e->n; i++)
            if (e->term[i].atom->kind == ATOM_VAR &&
                (!v || e->term[i].atom->var->extent > v->extent))
                v = e->term[i].atom->var;
        bool sum = v && walk_in_list((const Var *const *)s->red, s->n_red, v);
        if (e->n && !sum && (found >= 0 || !v || !walk_in_list(own, n, v)))
            return -1;
        found = e->n && !sum ? d : found;
        summed += sum;
    }
    return summed > 1 ? found : -1;
}
