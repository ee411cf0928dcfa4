#include "rewrite/astride.h"

#include "rewrite/layout.h"
#include "rewrite/simplify.h"
#include "rewrite/walk.h"

#include <string.h>

typedef struct Seek {
    const Tensor *t;
    const Expr *read;
    int n;
} Seek;

static void note_read(const Expr *e, void *ctx)
{
    Seek *s = ctx;

    if (e->kind != E_READ || e->tensor != s->t)
        return;
    s->read = e;
    s->n++;
}

/* The number of the one statement that reads t, whole, at one place, as *read;
 * or -1. */
static int sole_reader(const Graph *g, const Tensor *t, const Expr **read)
{
    int found = -1;

    for (int i = 0; i < g->n_stmt; i++) {
        Seek s = {t, NULL, 0};
        expr_visit(g->stmt[i]->value, note_read, &s);
        if (!s.n)
            continue;
        if (found >= 0 || s.n > 1)
            return -1;
        found = i;
        *read = s.read;
    }
    return found;
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

/* The number of the statement that makes what others read of the product at i;
 * or -1, where it lies as its rows do. */
static int find_last(const Graph *g, const int *inner, int i)
{
    const Stmt *s = g->stmt[i];
    const Expr *a, *b, *read = NULL;

    if (!walk_cut_product(s, &a, &b) || walk_is_pick(s) || !is_plain(s) ||
        !has_own(s, a, b) || !has_own(s, b, a))
        return -1;
    int last = sole_reader(g, s->tensor, &read);
    if (last < 0 || !is_plain(g->stmt[last]) ||
        !is_same(g->stmt[last], s->tensor))
        last = i;
    const Stmt *l = g->stmt[last];
    const Var *v = walks(s, l, read, inner[l->tensor->id]);
    bool both = v && v->extent >= WORTH && expr_uses(a, v) && expr_uses(b, v);
    return both ? last : -1;
}

void copy_astride(Graph *g)
{
    const int *inner = layout_inner(g), n = g->n_tensor;

    for (int i = 0; i < g->n_stmt; i++) {
        int last = g->stmt[i]->tensor->id < n ? find_last(g, inner, i) : -1;
        if (last >= 0)
            copy(g, last);
    }
}
