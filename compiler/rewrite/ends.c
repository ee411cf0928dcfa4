#include "rewrite/ends.h"

#include "rewrite/layout.h"

#include <string.h>

/* An element by element copy of `from` into a tensor of its own. */
static Stmt *copy_stmt(Graph *g, Tensor *from, Tensor *to)
{
    Stmt *s = graph_stmt(g);

    s->n_out = from->rank;
    s->out = arena_array(g->arena, const Var *, from->rank);
    s->store = arena_array(g->arena, const Idx *, from->rank);
    for (int d = 0; d < from->rank; d++) {
        s->out[d] = idx_new_var(g->pool, arena_printf(g->arena, "i%d", d),
                                from->dim[d]);
        s->store[d] = idx_var(g->pool, s->out[d]);
    }
    s->tensor = to;
    s->value = expr_read(g, from, s->store, (Guard){0}, NULL);
    s->when = WHEN_RUN;
    s->at = s->call = to->at;
    return s;
}

static Tensor *turned(Graph *g, const Tensor *t, bool chain)
{
    Tensor *own = graph_tensor_like(g, t, t->type, t->rank, t->dim);

    own->name = arena_printf(g->arena, "%s_turned", t->name);
    own->for_chain = chain;
    own->promised = t->promised;
    own->lo = t->lo;
    own->hi = t->hi;
    return own;
}

/* ---- inputs ------------------------------------------------------------- */

typedef struct Swap {
    const Tensor *from;
    Tensor *to;
} Swap;

static const Expr *read_other(Graph *g, const Expr *e, void *ctx)
{
    const Swap *w = ctx;

    return e->kind == E_READ && e->tensor == w->from
               ? expr_read(g, w->to, e->at, e->in, e->outside)
               : NULL;
}

/* All before statement `n` read and fuse with `to` in place of `from`. */
static void swap_reads(Graph *g, const Tensor *from, Tensor *to, int n)
{
    Swap w = {from, to};

    for (int i = 0; i < n; i++) {
        Stmt *s = g->stmt[i];
        s->value = expr_rewrite(g, s->value, read_other, &w);
        for (int k = 0; k < s->n_with; k++)
            if (s->with[k] == from)
                s->with[k] = to;
    }
}

static bool says_where(const Graph *g, const Tensor *t)
{
    for (int i = 0; i < g->n_stmt; i++)
        if (place_reads(g->stmt[i]->store, g->stmt[i]->tensor->rank,
                        g->stmt[i]->where, t))
            return true;
    return false;
}

typedef struct Seek {
    const Tensor *t;
    bool found;
} Seek;

static void note_read(const Expr *e, void *ctx)
{
    Seek *s = ctx;

    s->found |= e->kind == E_READ && e->tensor == s->t;
}

static bool is_reduced(const Graph *g, const Tensor *x)
{
    Seek s = {x, false};

    for (int i = 0; i < g->n_stmt; i++)
        if (g->stmt[i]->op != R_NONE)
            expr_visit(g->stmt[i]->value, note_read, &s);
    return s.found;
}

static void copy_input(Graph *g, Tensor *x, bool chain)
{
    Tensor *own = turned(g, x, chain);

    swap_reads(g, x, own, g->n_stmt);
    Stmt *s = copy_stmt(g, x, own);
    s->path = own->name;
    memmove(g->stmt + 1, g->stmt,
            sizeof *g->stmt * (size_t)(g->n_stmt - 1));
    g->stmt[0] = s;
}

/* ---- outputs ------------------------------------------------------------ */

static bool made_whole(const Graph *g, const Tensor *y)
{
    for (int i = 0; i < g->n_tensor; i++)
        if (g->tensor[i]->prev == y)
            return false;
    for (int i = 0; i < g->n_stmt; i++)
        if (g->stmt[i]->tensor == y && g->stmt[i]->where.n)
            return false;
    return !y->prev && y->when == WHEN_RUN;
}

static void copy_output(Graph *g, Tensor *y, bool chain)
{
    Tensor *own = turned(g, y, chain);
    Stmt *maker = NULL;

    for (int i = 0; i < g->n_stmt; i++)
        if (g->stmt[i]->tensor == y) {
            maker = g->stmt[i];
            maker->tensor = own;
        }
    swap_reads(g, y, own, g->n_stmt);
    Stmt *s = copy_stmt(g, own, y);
    s->path = maker->path;
    s->at = maker->at;
    s->call = maker->call;
    s->behind = maker->behind;
}

int copy_ends(Graph *g)
{
    const bool *chain, *misfit = layout_misfits(g, &chain);
    int n = 0;

    for (int i = 0; i < g->n_input; i++)
        if (misfit[g->input[i]->id] && is_reduced(g, g->input[i]) &&
            !says_where(g, g->input[i])) {
            copy_input(g, g->input[i], chain[g->input[i]->id]);
            n++;
        }
    for (int i = 0; i < g->n_output; i++)
        if (g->output[i]->role == ROLE_OUTPUT && misfit[g->output[i]->id] &&
            made_whole(g, g->output[i]) && !says_where(g, g->output[i])) {
            copy_output(g, g->output[i], chain[g->output[i]->id]);
            n++;
        }
    return n;
}
