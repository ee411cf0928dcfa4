/* expr_walk.c - visiting, comparing and rebuilding expressions. */
#include "graph.h"

#include <stdlib.h>

/* ---- visiting */

typedef struct Visit {
    ExprVisit *f;
    void *ctx;
} Visit;

static void visit_atom(const Atom *a, void *ctx)
{
    const Visit *v = ctx;
    if (a->data)
        expr_visit(a->data, v->f, v->ctx);
}

void expr_visit(const Expr *e, ExprVisit *f, void *ctx)
{
    Visit v = {f, ctx};
    f(e, ctx);
    if (e->kind == E_INDEX)
        idx_visit(e->idx, visit_atom, &v);
    for (int i = 0; i < 3; i++)
        if (e->arg[i])
            expr_visit(e->arg[i], f, ctx);
    if (e->kind != E_READ)
        return;
    for (int i = 0; i < e->tensor->rank; i++)
        idx_visit(e->at[i], visit_atom, &v);
    for (int i = 0; i < e->in.n; i++)
        idx_visit(e->in.cond[i].e, visit_atom, &v);
    if (e->outside)
        expr_visit(e->outside, f, ctx);
}

bool expr_uses(const Expr *e, const Var *v)
{
    if (e->kind == E_INDEX)
        return idx_uses(e->idx, v);
    for (int i = 0; i < 3; i++)
        if (e->arg[i] && expr_uses(e->arg[i], v))
            return true;
    if (e->kind != E_READ)
        return false;
    for (int i = 0; i < e->tensor->rank; i++)
        if (idx_uses(e->at[i], v))
            return true;
    return guard_uses(e->in, v) || (e->outside && expr_uses(e->outside, v));
}

static bool same_read(const Expr *a, const Expr *b)
{
    if (a->tensor != b->tensor || a->in.n != b->in.n)
        return false;
    for (int i = 0; i < a->tensor->rank; i++)
        if (a->at[i] != b->at[i])
            return false;
    for (int i = 0; i < a->in.n; i++)
        if (a->in.cond[i].e != b->in.cond[i].e ||
            a->in.cond[i].mod != b->in.cond[i].mod)
            return false;
    return a->in.n == 0 || expr_equal(a->outside, b->outside);
}

bool expr_equal(const Expr *a, const Expr *b)
{
    if (a == b)
        return true;
    if (!a || !b || a->kind != b->kind || a->type != b->type)
        return false;
    switch (a->kind) {
    case E_CONST: /* -0 and 0 differ */
        return !memcmp(&a->num, &b->num, sizeof a->num);
    case E_INDEX:
        return a->idx == b->idx;
    case E_LOCAL:
        return a->local == b->local;
    case E_READ:
        return same_read(a, b);
    case E_UNARY:
    case E_BINARY:
        if (a->fn != b->fn)
            return false;
        break;
    case E_SELECT:
    case E_CAST:
        break;
    }
    return expr_equal(a->arg[0], b->arg[0]) &&
           expr_equal(a->arg[1], b->arg[1]) &&
           expr_equal(a->arg[2], b->arg[2]);
}

/* ---- rebuilding
 *
 * Expressions share parts, so what became of a part is remembered. */

typedef struct Pair {
    const Expr *from, *to;
} Pair;

typedef struct Rebuild {
    Graph *graph;
    ExprRewrite *f; /* or NULL: substitute */
    void *ctx;
    const Subst *s;
    int n_s;
    Pair *pair; /* open addressing */
    size_t n, cap;
} Rebuild;

static const Expr *rebuild(Rebuild *r, const Expr *e);

static Pair *find_pair(Pair *pair, size_t cap, const Expr *e)
{
    size_t i = ((uintptr_t)e >> 4) * 0x9e3779b97f4a7c15u >> 20;
    for (i &= cap - 1; pair[i].from && pair[i].from != e;)
        i = (i + 1) & (cap - 1);
    return &pair[i];
}

static void remember(Rebuild *r, const Expr *from, const Expr *to)
{
    if (2 * r->n >= r->cap) {
        size_t cap = r->cap ? 4 * r->cap : 32;
        Pair *pair = arena_array(r->graph->arena, Pair, cap);
        for (size_t i = 0; i < r->cap; i++)
            if (r->pair[i].from)
                *find_pair(pair, cap, r->pair[i].from) = r->pair[i];
        r->pair = pair;
        r->cap = cap;
    }
    *find_pair(r->pair, r->cap, from) = (Pair){from, to};
    r->n++;
}

static const Idx *rebuild_atom(IdxPool *p, const Atom *a, void *ctx)
{
    Rebuild *r = ctx;
    for (int i = 0; i < r->n_s && a->kind == ATOM_VAR; i++)
        if (r->s[i].var == a->var)
            return r->s[i].by;
    if (a->kind == ATOM_VAR || !a->data)
        return NULL;
    const Expr *e = rebuild(r, a->data);
    return e == a->data ? NULL : idx_data(p, e, a->lo, a->hi);
}

static const Idx *rebuild_idx(Rebuild *r, const Idx *e)
{
    return idx_map(r->graph->pool, e, rebuild_atom, r);
}

static const Expr *rebuild_read(Rebuild *r, const Expr *e)
{
    Graph *g = r->graph;
    const Idx *at[MAX_RANK];
    Guard in = {0};
    const Expr *outside = e->outside ? rebuild(r, e->outside) : NULL;
    bool same = outside == e->outside, same_in = true;
    for (int i = 0; i < e->tensor->rank; i++) {
        at[i] = rebuild_idx(r, e->at[i]);
        same &= at[i] == e->at[i];
    }
    for (int i = 0; i < e->in.n; i++) {
        const Idx *x = rebuild_idx(r, e->in.cond[i].e);
        same_in &= x == e->in.cond[i].e;
        in = guard_add(g->pool, in, x, e->in.cond[i].mod);
    }
    if (same && same_in)
        return e;
    return expr_read(g, e->tensor, at, same_in ? e->in : in, outside);
}

static const Expr *rebuild_operator(Rebuild *r, const Expr *e)
{
    Graph *g = r->graph;
    const Expr *a[3] = {0};
    bool same = true;
    for (int i = 0; i < 3; i++) {
        a[i] = e->arg[i] ? rebuild(r, e->arg[i]) : NULL;
        same &= a[i] == e->arg[i];
    }
    if (same)
        return e;
    switch (e->kind) {
    case E_UNARY:
        return expr_unary(g, e->fn, a[0], e->type);
    case E_BINARY:
        return e->fn == F_FMA ? expr_fma(g, a[0], a[1], a[2], e->type)
                              : expr_binary(g, e->fn, a[0], a[1], e->type);
    case E_SELECT:
        return expr_select(g, a[0], a[1], a[2], e->type);
    default:
        return expr_cast(g, a[0], e->type);
    }
}

static const Expr *rebuild_children(Rebuild *r, const Expr *e)
{
    const Idx *x;
    switch (e->kind) {
    case E_CONST:
    case E_LOCAL:
        return e;
    case E_INDEX:
        x = rebuild_idx(r, e->idx);
        return x == e->idx ? e : expr_index(r->graph, x);
    case E_READ:
        return rebuild_read(r, e);
    default:
        return rebuild_operator(r, e);
    }
}

static const Expr *rebuild(Rebuild *r, const Expr *e)
{
    if (r->cap) {
        const Pair *p = find_pair(r->pair, r->cap, e);
        if (p->from)
            return p->to;
    }
    const Expr *to = rebuild_children(r, e);
    if (to != e && !to->span.source && e->span.source)
        to = expr_at(r->graph, to, e->span);
    const Expr *by = r->f ? r->f(r->graph, to, r->ctx) : NULL;
    if (by)
        to = by;
    if (e->kind != E_CONST && e->kind != E_LOCAL)
        remember(r, e, to);
    return to;
}

const Expr *expr_subst(Graph *g, const Expr *e, const Subst *s, int n)
{
    Rebuild r = {.graph = g, .s = s, .n_s = n};
    return rebuild(&r, e);
}

const Expr *expr_rewrite(Graph *g, const Expr *e, ExprRewrite *f, void *ctx)
{
    Rebuild r = {.graph = g, .f = f, .ctx = ctx};
    return rebuild(&r, e);
}
