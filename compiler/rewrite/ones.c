#include "rewrite/ones.h"

typedef struct Ones {
    Tensor **as; /* what stands for a tensor, by its id; or NULL */
    int n;
} Ones;

/* First dimensions of 1. */
static int ones(const Tensor *t)
{
    int n = 0;

    while (n < t->rank && t->dim[n] == 1)
        n++;
    return n;
}

static const Expr *read_other(Graph *g, const Expr *e, void *ctx)
{
    const Ones *o = ctx;

    if (e->kind != E_READ || e->tensor->id >= o->n || !o->as[e->tensor->id])
        return NULL;
    return expr_read(g, o->as[e->tensor->id], e->at + ones(e->tensor), e->in,
                     e->outside);
}

static Tensor *without_ones(Graph *g, const Tensor *t)
{
    int n = ones(t);
    Tensor *is = graph_tensor_like(g, t, t->type, t->rank - n, t->dim + n);

    is->halves = t->halves;
    is->stopped = t->stopped;
    is->twice = t->twice;
    return is;
}

/* A version of another one stays as that is. */
static void leave_versions(const Graph *g, Ones *o)
{
    for (int i = 0; i < g->n_tensor; i++) {
        const Tensor *t = g->tensor[i];
        if (t->prev && t->prev->id < o->n)
            o->as[t->prev->id] = NULL;
    }
}

static bool has_scores(const Graph *g)
{
    for (int i = 0; i < g->n_tensor; i++)
        if (g->tensor[i]->halves)
            return true;
    return false;
}

void drop_ones(Graph *g)
{
    Ones o = {arena_array(g->arena, Tensor *, g->n_tensor + 1), g->n_tensor};
    int n = g->n_tensor;

    if (!has_scores(g))
        return;
    for (int i = 0; i < n; i++) {
        Tensor *t = g->tensor[i];
        if (t->role == ROLE_TEMP && !t->prev && !t->promised && ones(t))
            o.as[t->id] = t;
    }
    leave_versions(g, &o);
    for (int i = 0; i < n; i++)
        if (o.as[i])
            o.as[i] = without_ones(g, o.as[i]);
    for (int i = 0; i < g->n_stmt; i++) {
        Stmt *s = g->stmt[i];
        s->value = expr_rewrite(g, s->value, read_other, &o);
        while (s->n_out > 0 && s->out[0]->extent == 1) {
            s->out++;
            s->n_out--;
        }
        if (s->tensor->id >= o.n || !o.as[s->tensor->id])
            continue;
        s->store += ones(s->tensor);
        s->tensor = o.as[s->tensor->id];
    }
}
