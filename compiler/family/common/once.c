/* once.c - reads of one place for all lanes, which conditions give to some:
 * d[i] where t[i] is the lane's. One load serves them. */
#include "family/common/body.h"

typedef struct Lanes {
    const Var *along;
    bool found; /* data of a lane */
} Lanes;

static void find_data(const Atom *a, void *ctx)
{
    Lanes *x = ctx;

    x->found |= a->kind == ATOM_DATA &&
                (!a->data || a->of->uses(a->data, x->along));
}

/* Whether lanes have data of their own in the conditions. */
static bool by_lane(const Body *b, Guard in)
{
    Lanes x = {.along = b->along};

    for (int i = 0; i < in.n; i++)
        idx_visit(in.cond[i].e, find_data, &x);
    return x.found;
}

/* e without its conditions, if it may be read wherever they do not hold, and
 * its place, and what they read, is the lanes' and the columns' alike; or
 * NULL. */
static const Expr *everywhere(const Body *b, const Expr *e)
{
    const Guard always = {0};

    if (guard_truth(e->in) != MAYBE || !read_uses(e, b->along) ||
        !e->outside || e->outside->kind != E_CONST || by_lane(b, e->in))
        return NULL;
    for (int d = 0; d < e->tensor->rank; d++) {
        const Idx *at = e->at[d];
        if (idx_has_data(at) || idx_uses(at, b->along) || at->lo < 0 ||
            at->hi >= e->tensor->dim[d])
            return NULL;
        for (int c = 0; c < b->group->n_cols; c++)
            if (idx_uses(at, b->group->cols[c]))
                return NULL;
    }
    return expr_read(b->graph, e->tensor, e->at, always, NULL);
}

const char **body_read_once(Body *b, Tree *out, const Reads *r)
{
    const char **name = arena_array(b->graph->arena, const char *, r->n);

    for (int i = 0; i < r->n; i++) {
        const Expr *all =
            body_held(b, r->read[i]) ? NULL : everywhere(b, r->read[i]);
        name[i] = NULL;
        if (!all)
            continue;
        cprint_bind_guard(out, &b->print, r->read[i]->in);
        name[i] = cprint_bind_name(out, &b->print, all, NULL);
    }
    return name;
}

void body_hold_once(Body *b, const Reads *r, const char *const *name)
{
    for (int i = 0; i < r->n; i++)
        if (name[i])
            body_hold(b, r->read[i],
                      arena_printf(b->graph->arena, "(%s ? %s : %s)",
                                   cprint_guard(&b->print, r->read[i]->in),
                                   name[i],
                                   cprint_expr(&b->print,
                                               r->read[i]->outside)));
}
