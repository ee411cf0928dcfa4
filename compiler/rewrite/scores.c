#include "rewrite/scores.h"

#include "rewrite/walk.h"

typedef struct Scores {
    const Tensor **product; /* by tensor: that it is made of point by point */
    const Tensor *found;    /* of what a statement reads */
    int64_t elems;          /* in tensors of so many elements, or of any: 0 */
} Scores;

static void note_product(const Expr *e, void *ctx)
{
    Scores *s = ctx;

    if (e->kind == E_READ && s->product[e->tensor->id] &&
        (!s->elems || tensor_elems(e->tensor) == s->elems))
        s->found = s->product[e->tensor->id];
}

/* The product behind what s reads. */
static const Tensor *read_by(Scores *f, const Stmt *s, int64_t elems)
{
    f->found = NULL;
    f->elems = elems;
    expr_visit(s->value, note_product, f);
    return f->found;
}

bool *find_scores(Graph *g)
{
    bool *is = arena_array(g->arena, bool, g->n_tensor + 1);
    Scores f = {arena_array(g->arena, const Tensor *, g->n_tensor + 1), NULL,
                0};
    const Expr *a, *b;

    for (int i = 0; i < g->n_stmt; i++) {
        const Stmt *s = g->stmt[i];
        const Tensor *t = s->tensor;
        if (walk_product(s, &a, &b))
            f.product[t->id] = t;
        else if (s->op == R_NONE && t->rank)
            f.product[t->id] = read_by(&f, s, tensor_elems(t));
        else if (s->op == R_MAX && read_by(&f, s, 0))
            is[f.found->id] = true;
    }
    for (int i = 0; i < g->n_tensor; i++) {
        const Tensor *of = f.product[i];
        is[i] |= of && is[of->id];
    }
    return is;
}
