#include "rewrite/astride.h"

#include "rewrite/layout.h"
#include "rewrite/simplify.h"
#include "rewrite/walk.h"

#include <string.h>

/* Who reads a tensor, and how often. */
typedef struct Readers {
    const Stmt *by; /* the last one */
    const Expr *read;
    int n;
} Readers;

typedef struct Reading {
    Readers *of; /* by tensor id */
    const Stmt *by;
} Reading;

static void note_read(const Expr *e, void *ctx)
{
    const Reading *now = ctx;

    if (e->kind != E_READ)
        return;
    Readers *r = &now->of[e->tensor->id];
    *r = (Readers){now->by, e, r->n + 1};
}

static Readers *find_readers(const Graph *g)
{
    Reading now = {.of = arena_array(g->arena, Readers, g->n_tensor)};

    for (int i = 0; i < g->n_stmt; i++) {
        now.by = g->stmt[i];
        expr_visit(now.by->value, note_read, &now);
    }
    return now.of;
}

typedef struct Size {
    int64_t elems;
    int n;
} Size;

static void note_large(const Expr *e, void *ctx)
{
    Size *s = ctx;

    s->n += e->kind == E_READ && tensor_elems(e->tensor) >= s->elems;
}

/* Whether s, point by point, has t in another form, a rounded one perhaps, and
 * reads nothing else that is as large. */
static bool is_same(const Stmt *s, const Tensor *t)
{
    Size of = {tensor_elems(t), 0};

    expr_visit(s->value, note_large, &of);
    return s->op == R_NONE && of.n == 1 &&
           tensor_elems(s->tensor) == of.elems;
}

/* Is there a dimension of the result that x has and y has not? */
static bool has_own(const Stmt *s, const Expr *x, const Expr *y)
{
    for (int d = 0; d < s->tensor->rank; d++) {
        const Var *v = idx_is_var(s->store[d]);
        if (v && v->extent >= WORTH && expr_uses(x, v) && !expr_uses(y, v))
            return true;
    }
    return false;
}

/* The variable of the product s that walks dimension d of what is stored by
 * `last`: s itself, or who reads s's result alone. */
static const Var *walks(const Stmt *s, const Stmt *last, const Expr *read,
                        int d)
{
    const Var *v = idx_is_var(last->store[d]);

    if (last == s || !v)
        return v;
    for (int i = 0; i < read->tensor->rank; i++)
        if (idx_is_var(read->at[i]) == v)
            return idx_is_var(s->store[i]);
    return NULL;
}

static bool is_plain(const Stmt *s)
{
    const Tensor *t = s->tensor;

    return t->role == ROLE_TEMP && t->when == WHEN_RUN && !t->prev &&
           !t->as_declared && t->rank > 1 && !s->where.n;
}

/* y = own, behind the statement at i, which makes `own` now. */
static void copy(Graph *g, int i)
{
    Tensor *y = g->stmt[i]->tensor;
    Tensor *own = graph_tensor_like(g, y, y->type, y->rank, y->dim);
    Stmt *c = stmt_insert(g, i + 1), *s = g->stmt[i];
    int id = c->id;

    own->name = arena_printf(g->arena, "%s_rows", y->name);
    own->astride = true;
    *c = (Stmt){.id = id, .op = R_NONE, .tensor = y, .when = s->when,
                .path = s->path, .at = s->at, .call = s->call,
                .behind = s->behind, .again = s->again};
    c->n_out = y->rank;
    c->out = arena_array(g->arena, const Var *, y->rank);
    c->store = arena_array(g->arena, const Idx *, y->rank);
    for (int d = 0; d < y->rank; d++) {
        c->out[d] = idx_new_var(g->pool, arena_printf(g->arena, "i%d", d),
                                y->dim[d]);
        c->store[d] = idx_var(g->pool, c->out[d]);
    }
    c->value = expr_read(g, own, c->store, (Guard){0}, NULL);
    s->tensor = own;
    s->path = own->name;
}

/* The statement that makes what others read of s: itself, or the one that reads
 * it alone, whole, at one place. */
static const Stmt *find_last(const Stmt *s, const Readers *r)
{
    return r->n == 1 && is_plain(r->by) && is_same(r->by, s->tensor) ? r->by
                                                                     : s;
}

typedef struct Along {
    const Stmt *s;
    const int *inner;
    const Var *channel;
} Along;

/* A window over what lies along its channels. */
static void note_channel(const Expr *e, void *ctx)
{
    Along *a = ctx;
    int d = walk_channels(a->s, e);

    if (d >= 0 && a->inner[e->tensor->id] == d)
        a->channel = walk_var(e->at[d]);
}

/* Whether the results of s, neighbours along v, lie astride of its rows. */
static bool lies_astride(const Stmt *s, const int *inner, const Var *v)
{
    const Expr *a, *b;
    bool product = walk_cut_product(s, &a, &b);
    Along along = {s, inner, NULL};

    if (!v || v->extent < WORTH || s->op == R_NONE || walk_is_pick(s))
        return false;
    if (product && has_own(s, a, b) && has_own(s, b, a))
        return expr_uses(a, v) && expr_uses(b, v);
    expr_visit(s->value, note_channel, &along);
    return along.channel && along.channel != v;
}

void copy_astride(Graph *g)
{
    const int *inner = layout_inner(g), n = g->n_tensor;
    const Readers *readers = find_readers(g);

    for (int i = 0; i < g->n_stmt; i++) {
        const Stmt *s = g->stmt[i];
        if (s->tensor->id >= n || !is_plain(s))
            continue;
        const Readers *r = &readers[s->tensor->id];
        const Stmt *last = find_last(s, r);
        if (!lies_astride(s, inner,
                          walks(s, last, r->read, inner[last->tensor->id])))
            continue;
        int at = i;
        while (g->stmt[at] != last)
            at++;
        copy(g, at);
    }
}
