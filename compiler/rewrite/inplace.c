#include "rewrite/inplace.h"

#include "rewrite/inline.h"
#include "rewrite/simplify.h"

static bool is_older(const Tensor *t, const Tensor *written)
{
    for (const Tensor *p = written->prev; p; p = p->prev)
        if (p == t)
            return true;
    return false;
}

void older_note(const Expr *e, void *ctx)
{
    OlderReads *r = ctx;

    if (e->kind != E_READ || !is_older(e->tensor, r->written))
        return;
    r->any = true;
    r->elsewhere |= e->in.n > 0;
    for (int d = 0; d < e->tensor->rank; d++)
        r->elsewhere |= !r->own || e->at[d] != r->own[d];
}

bool older_places(const Idx *const *store, int rank, Guard where,
                  const Tensor *written)
{
    for (const Tensor *old = written->prev; old; old = old->prev)
        if (place_reads(store, rank, where, old))
            return true;
    return false;
}

/* ---- single statements */

static Tensor *like(Graph *g, const Stmt *s, Type type, int rank,
                    const int64_t *dim)
{
    Tensor *t = graph_tensor_like(g, s->tensor, type, rank, dim);

    t->when = s->when;
    return t;
}

/* copy[i, ...] = old[i, ...] before statement number `at`. */
static Stmt *copy_old(Graph *g, int at, Tensor *old)
{
    Stmt *s = g->stmt[at];
    Tensor *t = like(g, s, old->type, old->rank, old->dim);
    Stmt *c = stmt_insert(g, at);
    int id = c->id;

    *c = *s;
    c->id = id;
    c->op = R_NONE;
    c->red = NULL;
    c->n_red = 0;
    c->where = (Guard){0};
    c->tensor = t;
    c->n_out = old->rank;
    c->out = arena_array(g->arena, const Var *, old->rank + 1);
    c->store = arena_array(g->arena, const Idx *, old->rank + 1);
    for (int d = 0; d < old->rank; d++) {
        c->out[d] = idx_new_var(
            g->pool, arena_printf(g->arena, "%c", 'a' + d), old->dim[d]);
        c->store[d] = idx_var(g->pool, c->out[d]);
    }
    c->value = expr_read(g, old, c->store, (Guard){0}, NULL);
    return c;
}

/* Where s stores follows from the copy from now on. */
static void place_by_copy(Graph *g, Stmt *s, Tensor *old, const Stmt *copy)
{
    /* as one read that carries both index and guard */
    const Expr *place = expr_read(g, s->tensor, s->store, s->where,
                                  s->where.n ? expr_const(g, 0, T_I32) : NULL);
    const Expr *read = expr_read(g, copy->tensor, copy->store, (Guard){0},
                                 NULL);

    place = inline_reads(g, place, old, read, copy->store);
    s->store = place->at;
    s->where = place->in;
}

/* s stores into a temporary; a further statement copies it to its place. */
static void detour(Graph *g, int at)
{
    Stmt *s = g->stmt[at];
    int64_t dim[MAX_RANK] = {1};
    const Idx **own = arena_array(g->arena, const Idx *, s->n_out + 1);
    bool whole = s->n_out > MAX_RANK; /* rare: then as the tensor is shaped */

    for (int i = 0; i < s->n_out && !whole; i++) {
        dim[i] = s->out[i]->extent;
        own[i] = idx_var(g->pool, s->out[i]);
    }
    Tensor *t = whole ? like(g, s, s->tensor->type, s->tensor->rank,
                             s->tensor->dim)
                      : like(g, s, s->tensor->type, s->n_out, dim);
    Stmt *c = stmt_insert(g, at + 1);
    int id = c->id;
    *c = *s;
    c->id = id;
    c->op = R_NONE;
    c->red = NULL;
    c->n_red = 0;
    s->tensor = t;
    if (!whole)
        s->store = own;
    s->where = (Guard){0};
    c->value = expr_read(g, t, s->store, (Guard){0}, NULL);
}

/* ---- what is read behind a write */

typedef struct Late {
    const Tensor *old;
    const bool *behind; /* by tensor: it follows from a later version of old */
    bool reads, waits;  /* old; what is behind */
} Late;

static void note_late(const Expr *e, void *ctx)
{
    Late *l = ctx;

    if (e->kind != E_READ)
        return;
    l->reads |= e->tensor == l->old;
    l->waits |= l->behind[e->tensor->id];
}

static Late look_late(const Stmt *s, const Tensor *old, const bool *behind)
{
    Late l = {old, behind, false, false};

    expr_visit(s->value, note_late, &l);
    return l;
}

typedef struct Last {
    int *read; /* by tensor id: behind the last statement whose value does */
    int at;
} Last;

static void note_last(const Expr *e, void *ctx)
{
    const Last *l = ctx;

    if (e->kind == E_READ)
        l->read[e->tensor->id] = l->at + 1;
}

static Last find_last(const Graph *g)
{
    Last l = {arena_array(g->arena, int, g->n_tensor + 1), 0};

    for (; l.at < g->n_stmt; l.at++)
        expr_visit(g->stmt[l.at]->value, note_last, &l);
    return l;
}

/* What needs both a later version, of which statement `at` writes the first,
 * and the old one, as gradients of a state's new value may, reads a copy of the
 * old one. True if there is one now, before that statement. */
static bool keep_old(Graph *g, int at, Tensor *old)
{
    bool *behind = arena_array(g->arena, bool, g->n_tensor + 1);
    const Stmt *copy = NULL;

    for (int i = 0; i < g->n_tensor; i++)
        behind[i] = is_older(old, g->tensor[i]);
    for (int i = at; i < g->n_stmt; i++) {
        Stmt *s = g->stmt[i];
        Late l = look_late(s, old, behind);
        if (!l.waits)
            continue;
        behind[s->tensor->id] = true;
        if (!l.reads)
            continue;
        if (!copy) {
            copy = copy_old(g, at, old);
            i++;
        }
        s->value = inline_reads(
            g, s->value, old,
            expr_read(g, copy->tensor, copy->store, (Guard){0}, NULL),
            copy->store);
    }
    return copy != NULL;
}

static void keep_older(Graph *g)
{
    Last last = find_last(g);

    for (int i = 0; i < g->n_stmt; i++) {
        const Tensor *t = g->stmt[i]->tensor;
        const int first = i;
        if (!t->prev || last.read[t->id] <= i + 1)
            continue;
        for (Tensor *old = t->prev; old; old = old->prev)
            i += keep_old(g, i, old);
        if (i > first) /* statements stand elsewhere now */
            last = find_last(g);
    }
}

void simplify_in_place(Graph *g)
{
    keep_older(g);
    for (int i = 0; i < g->n_stmt; i++) {
        Stmt *s = g->stmt[i];
        if (!s->tensor->prev)
            continue;
        for (Tensor *old = s->tensor->prev; old; old = old->prev)
            if (place_reads(s->store, s->tensor->rank, s->where, old)) {
                const Stmt *copy = copy_old(g, i++, old);
                place_by_copy(g, s, old, copy);
            }
        OlderReads r = {.written = s->tensor, .own = s->store};
        expr_visit(s->value, older_note, &r);
        if (r.elsewhere || (r.any && s->where.n))
            detour(g, i++);
    }
}
