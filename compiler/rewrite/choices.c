#include "rewrite/choices.h"

#include "rewrite/simplify.h"

#include <string.h>

enum { MOST = 16 }; /* tensors that one becomes */

/* How a tensor is read: in which dimensions always at known places, and at
 * which. */
typedef struct Known {
    Stmt *maker;
    bool other;               /* read in another way, or nothing to split */
    bool varies[MAX_RANK];
    int n[MAX_RANK];
    int64_t at[MAX_RANK][MOST];
    int dim;                  /* that goes */
    Tensor *part[MOST];
} Known;

typedef struct Choices {
    Graph *g;
    Known **of; /* by tensor id; NULL: it stays */
    int n_of;
} Choices;

/* ---- what could be split ------------------------------------------------ */

typedef struct Uses {
    const Var *v;
    bool chooses;
} Uses;

static void note_choice(const Expr *e, void *ctx)
{
    Uses *u = ctx;

    u->chooses |= e->kind == E_SELECT && expr_uses(e->arg[0], u->v);
}

static bool chooses_by(const Stmt *s, int d)
{
    Uses u = {idx_is_var(s->store[d]), false};

    if (u.v)
        expr_visit(s->value, note_choice, &u);
    return u.chooses;
}

static bool may_split(const Stmt *s)
{
    const Tensor *t = s ? s->tensor : NULL;

    if (!s || t->role != ROLE_TEMP || t->prev || t->host || t->promised ||
        s->op != R_NONE || s->where.n || s->notes || t->rank < 2)
        return false;
    for (int d = 0; d < t->rank; d++)
        if (!idx_is_var(s->store[d]) && t->dim[d] > 1)
            return false;
    for (int d = 0; d < t->rank; d++)
        if (chooses_by(s, d))
            return true;
    return false;
}

static Choices find_makers(Graph *g)
{
    Choices c = {.g = g, .n_of = g->n_tensor};
    Stmt **maker = tensor_makers(g);

    c.of = arena_array(g->arena, Known *, g->n_tensor + 1);
    for (int i = 0; i < g->n_tensor; i++)
        if (may_split(maker[i])) {
            c.of[i] = arena_new_of(g->arena, Known);
            c.of[i]->maker = maker[i];
        }
    return c;
}

/* ---- how it is read ----------------------------------------------------- */

static Known *known_of(const Choices *c, const Tensor *t)
{
    return t->id < c->n_of ? c->of[t->id] : NULL;
}

static void note_place(Known *k, int d, const Idx *at)
{
    int i = 0;

    if (!idx_is_const(at) || at->k < 0 ||
        at->k >= k->maker->tensor->dim[d] || k->varies[d]) {
        k->varies[d] = true;
        return;
    }
    while (i < k->n[d] && k->at[d][i] != at->k)
        i++;
    if (i == MOST)
        k->varies[d] = true;
    else if (i == k->n[d])
        k->at[d][k->n[d]++] = at->k;
}

static void note_read(const Expr *e, void *ctx)
{
    Known *k = e->kind == E_READ ? known_of(ctx, e->tensor) : NULL;

    for (int d = 0; k && d < e->tensor->rank; d++)
        note_place(k, d, e->at[d]);
}

static void refuse_read(const Expr *e, void *ctx)
{
    Known *k = e->kind == E_READ ? known_of(ctx, e->tensor) : NULL;

    if (k)
        k->other = true;
}

static void refuse_data(const Atom *a, void *ctx)
{
    if (a->data)
        expr_visit(a->data, refuse_read, ctx);
}

static void find_reads(Choices *c)
{
    for (int i = 0; i < c->g->n_stmt; i++) {
        const Stmt *s = c->g->stmt[i];
        expr_visit(s->value, note_read, c);
        for (int d = 0; d < s->tensor->rank; d++)
            idx_visit(s->store[d], refuse_data, c);
        for (int k = 0; k < s->where.n; k++)
            idx_visit(s->where.cond[k].e, refuse_data, c);
        for (int k = 0; k < s->n_with; k++)
            if (known_of(c, s->with[k]))
                known_of(c, s->with[k])->other = true;
    }
}

/* The dimension that goes, or -1. */
static int dim_of(const Known *k)
{
    for (int d = 0; !k->other && d < k->maker->tensor->rank; d++)
        if (!k->varies[d] && k->n[d] > 0 && chooses_by(k->maker, d))
            return d;
    return -1;
}

/* ---- and what becomes of it --------------------------------------------- */

static const Idx **without(Graph *g, const Idx **at, int rank, int dim)
{
    const Idx **left = arena_array(g->arena, const Idx *, rank);

    for (int d = 0, n = 0; d < rank; d++)
        if (d != dim)
            left[n++] = at[d];
    return left;
}

/* What s makes of its tensor at place number i of the dimension that goes. */
static void make_part(Graph *g, Known *k, int i)
{
    const Stmt *from = k->maker;
    const Tensor *t = from->tensor;
    const Var *v = idx_is_var(from->store[k->dim]);
    Subst at = {v, idx_const(g->pool, k->at[k->dim][i])};
    int64_t dim[MAX_RANK];
    Stmt *s = graph_stmt(g);
    int id = s->id;

    for (int d = 0, n = 0; d < t->rank; d++)
        if (d != k->dim)
            dim[n++] = t->dim[d];
    *s = *from;
    s->id = id;
    s->tensor = k->part[i] =
        graph_tensor_like(g, t, t->type, t->rank - 1, dim);
    s->tensor->stopped = t->stopped;
    s->store = without(g, from->store, t->rank, k->dim);
    s->out = arena_array(g->arena, const Var *, from->n_out + 1);
    s->n_out = 0;
    for (int j = 0; j < from->n_out; j++)
        if (from->out[j] != v)
            s->out[s->n_out++] = from->out[j];
    s->value = expr_subst(g, from->value, &at, 1);
}

static const Expr *read_part(Graph *g, const Expr *e, void *ctx)
{
    const Known *k = e->kind == E_READ ? known_of(ctx, e->tensor) : NULL;

    if (!k || !k->part[0])
        return NULL;
    int i = 0;
    while (k->at[k->dim][i] != e->at[k->dim]->k)
        i++;
    return expr_read(g, k->part[i],
                     without(g, e->at, e->tensor->rank, k->dim), e->in,
                     e->outside);
}

bool split_choices(Graph *g)
{
    Choices c = find_makers(g);
    int n = g->n_stmt;
    bool any = false;

    find_reads(&c);
    Stmt **old = arena_array(g->arena, Stmt *, n + 1);
    memcpy(old, g->stmt, sizeof *old * (size_t)n);
    g->n_stmt = 0;
    for (int i = 0; i < n; i++) {
        Known *k = known_of(&c, old[i]->tensor);
        int dim = k ? dim_of(k) : -1;
        if (dim < 0) {
            VEC_PUSH(g->arena, g->stmt, g->n_stmt, g->cap_stmt) = old[i];
            continue;
        }
        k->dim = dim;
        any = true;
        for (int p = 0; p < k->n[dim]; p++)
            make_part(g, k, p);
    }
    for (int i = 0; any && i < g->n_stmt; i++)
        g->stmt[i]->value = expr_rewrite(g, g->stmt[i]->value, read_part, &c);
    return any;
}
