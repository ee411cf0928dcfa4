/* lower_random.c - random(n, x): a value of Philox for each element of x's
 * shape. */
#include "lower/lower_priv.h"

enum { MAX_DRAWS = INT32_MAX };

static bool check_draw(Lower *l, const AstExpr *e, const Ref *x, bool scalar)
{
    int64_t n = 1;

    for (int d = 0; d < x->rank; d++)
        n = n > MAX_DRAWS ? n : n * x->dim[d];
    if (scalar)
        diag_error(l->d, e->at, "'random' stands in a definition without "
                   "indices, and so do ops that call it: u = random(n, x);");
    else if (n > MAX_DRAWS)
        diag_error(l->d, e->at, "'random' gives at most 2147483647 numbers, "
                   "this is %s", lower_dims(l, x->rank, x->dim));
    return !scalar && n <= MAX_DRAWS;
}

Ref random_of(Lower *l, const AstExpr *e, const Bound *b, const char *label,
              bool scalar)
{
    static const char *const names[MAX_RANK] = {"i", "j", "k", "l",
                                                "m", "n", "o", "p"};
    const Ref *n = &b[0].ref, *x = &b[1].ref;
    int n_index = l->n_index, n_var = l->n_var;
    const Idx *place = idx_const(l->p, 0);
    Graph *g = l->g;

    if (!check_draw(l, e, x, scalar))
        return (Ref){.bad = true};
    l->target.first = g->n_stmt;
    for (int d = 0; d < x->rank; d++) {
        Name v = {names[d], e->at};
        index_push(l, v, false, 1, &x->dim[d], 0);
        place = idx_add(l->p, idx_scale(l->p, place, x->dim[d]),
                        l->index[l->n_index - 1].idx[0]);
    }
    Val count = n->t ? ref_read(l, n, NULL) : n->val;
    Val v = {.type = T_F32};
    v.e = expr_random(g, val_as(l, count, T_I32), expr_index(g, place),
                      expr_const(g, l->n_random++, T_I32));
    Ref r = def_tensor(l, label, n_var, v, T_F32);
    index_pop(l, n_index, n_var);
    return r;
}
