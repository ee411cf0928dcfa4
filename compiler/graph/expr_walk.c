/* expr_walk.c - visiting, comparing and rebuilding expressions. */
#include "graph/graph.h"

#include <stdlib.h>

/* ---- pairs of nodes already dealt with
 *
 * Expressions share parts, and paths to a part can be exponentially many; each
 * part is looked at once. */

typedef struct Pair {
    const Expr *a, *b;
} Pair;

enum {
    FEW = 32, /* expressions mostly have fewer parts */
    HINTS = 4 /* words of them */
};

typedef struct Seen {
    Pair *pair; /* open addressing; a == NULL: free. NULL: the first n of */
    size_t n, cap;
    uint64_t maybe[HINTS]; /* a bit for each place of a few: not set, not
                              there */
    Pair few[FEW];
} Seen;

static void seen_open(Seen *s)
{
    s->pair = NULL;
    s->n = s->cap = 0;
    memset(s->maybe, 0, sizeof s->maybe);
}

static void seen_close(Seen *s)
{
    free(s->pair);
}

static Pair *seen_find(Pair *pair, size_t cap, const Expr *a, const Expr *b)
{
    uint64_t h = ((uintptr_t)a >> 4) * 0x9e3779b97f4a7c15u;
    size_t i = (h ^ ((uintptr_t)b >> 4) * 0xc2b2ae3d27d4eb4fu) >> 20;
    for (i &= cap - 1; pair[i].a && (pair[i].a != a || pair[i].b != b);)
        i = (i + 1) & (cap - 1);
    return &pair[i];
}

static void seen_grow(Seen *s)
{
    const Pair *old = s->pair ? s->pair : s->few;
    size_t n = s->pair ? s->cap : FEW, cap = 4 * n;
    Pair *pair = arena_need(calloc(cap, sizeof *pair));

    for (size_t i = 0; i < n; i++)
        if (old[i].a)
            *seen_find(pair, cap, old[i].a, old[i].b) = old[i];
    seen_close(s);
    s->pair = pair;
    s->cap = cap;
}

/* Notes a pair; true if it was noted before. */
static bool seen_before(Seen *s, const Expr *a, const Expr *b)
{
    if (!s->pair) {
        uint64_t place = ((uintptr_t)a ^ (uintptr_t)b) * 0x9e3779b97f4a7c15u;
        uint64_t bit = (uint64_t)1 << (place >> 58);
        uint64_t *maybe = &s->maybe[place >> 56 & (HINTS - 1)];
        for (size_t i = 0; *maybe & bit && i < s->n; i++)
            if (s->few[i].a == a && s->few[i].b == b)
                return true;
        *maybe |= bit;
        s->few[s->n++] = (Pair){a, b};
        if (s->n == FEW)
            seen_grow(s);
        return false;
    }
    Pair *p = seen_find(s->pair, s->cap, a, b);
    if (p->a)
        return true;
    *p = (Pair){a, b};
    if (2 * ++s->n > s->cap)
        seen_grow(s);
    return false;
}

/* ---- visiting */

typedef struct Visit {
    Seen seen;
    ExprVisit *f;
    void *ctx;
} Visit;

static void visit(Visit *v, const Expr *e);

static void visit_atom(const Atom *a, void *ctx)
{
    if (a->data)
        visit(ctx, a->data);
}

static void visit_data(Visit *v, const Idx *e)
{
    if (idx_has_data(e))
        idx_visit(e, visit_atom, v);
}

static void visit(Visit *v, const Expr *e)
{
    if (seen_before(&v->seen, e, NULL))
        return;
    v->f(e, v->ctx);
    if (e->kind == E_INDEX)
        visit_data(v, e->idx);
    for (int i = 0; i < 3 && e->arg[i]; i++)
        visit(v, e->arg[i]);
    if (e->kind != E_READ)
        return;
    for (int i = 0; i < e->tensor->rank; i++)
        visit_data(v, e->at[i]);
    for (int i = 0; i < e->in.n; i++)
        visit_data(v, e->in.cond[i].e);
    if (e->outside)
        visit(v, e->outside);
}

void expr_visit(const Expr *e, ExprVisit *f, void *ctx)
{
    Visit v;
    seen_open(&v.seen);
    v.f = f;
    v.ctx = ctx;
    visit(&v, e);
    seen_close(&v.seen);
}

typedef struct Call {
    Func f;
    const Expr *of;
    bool found;
} Call;

static void find_call(const Expr *e, void *ctx)
{
    Call *c = ctx;

    c->found |= e->kind == E_UNARY && e->fn == c->f &&
                expr_equal(e->arg[0], c->of);
}

bool expr_calls(const Expr *e, Func f, const Expr *of)
{
    Call c = {f, of, false};

    expr_visit(e, find_call, &c);
    return c.found;
}

typedef struct Descend {
    Seen seen;
    ExprArgs *f;
    void *ctx;
} Descend;

static void descend(Descend *d, const Expr *e)
{
    if (seen_before(&d->seen, e, NULL))
        return;
    const unsigned args = d->f(e, d->ctx);
    for (int i = 0; i < 3; i++)
        if ((args >> i & 1) && e->arg[i])
            descend(d, e->arg[i]);
}

void expr_descend(const Expr *e, ExprArgs *f, void *ctx)
{
    Descend d;
    seen_open(&d.seen);
    d.f = f;
    d.ctx = ctx;
    descend(&d, e);
    seen_close(&d.seen);
}

typedef struct Uses {
    const Var *var;
    bool found;
} Uses;

static void note_atom(const Atom *a, void *ctx)
{
    Uses *u = ctx;
    u->found |= a->var == u->var;
}

static void note_uses(const Expr *e, void *ctx)
{
    Uses *u = ctx;
    if (e->kind == E_INDEX)
        idx_visit(e->idx, note_atom, u);
    if (e->kind != E_READ || u->found)
        return;
    for (int i = 0; i < e->tensor->rank; i++)
        idx_visit(e->at[i], note_atom, u);
    for (int i = 0; i < e->in.n; i++)
        idx_visit(e->in.cond[i].e, note_atom, u);
}

bool expr_uses(const Expr *e, const Var *v)
{
    Uses u = {v, false};
    expr_visit(e, note_uses, &u);
    return u.found;
}

/* ---- comparing */

static bool equal(Seen *s, const Expr *a, const Expr *b);

static bool same_read(Seen *s, const Expr *a, const Expr *b)
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
    return a->in.n == 0 || equal(s, a->outside, b->outside);
}

static bool equal(Seen *s, const Expr *a, const Expr *b)
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
        return same_read(s, a, b);
    case E_UNARY:
    case E_BINARY:
        if (a->fn != b->fn)
            return false;
        break;
    case E_SELECT:
    case E_CAST:
        break;
    }
    /* a pair met before was equal, or the comparison had ended there */
    if (seen_before(s, a, b))
        return true;
    return equal(s, a->arg[0], b->arg[0]) && equal(s, a->arg[1], b->arg[1]) &&
           equal(s, a->arg[2], b->arg[2]);
}

bool expr_equal(const Expr *a, const Expr *b)
{
    Seen s;
    seen_open(&s);
    bool same = equal(&s, a, b);
    seen_close(&s);
    return same;
}

/* ---- rebuilding: what became of a part is remembered */

typedef struct Became {
    const Expr *from, *to;
} Became;

typedef struct Rebuild {
    Graph *graph;
    ExprRewrite *f; /* or NULL: substitute, or */
    ExprValue *value; /* write out */
    void *ctx;
    const Subst *s;
    int n_s;
    Became *map; /* open addressing */
    size_t n, cap;
    Became few[32];
} Rebuild;

static const Expr *rebuild(Rebuild *r, const Expr *e);

static Became *find_became(Became *map, size_t cap, const Expr *e)
{
    size_t i = ((uintptr_t)e >> 4) * 0x9e3779b97f4a7c15u >> 20;
    for (i &= cap - 1; map[i].from && map[i].from != e;)
        i = (i + 1) & (cap - 1);
    return &map[i];
}

static void rebuild_close(Rebuild *r)
{
    if (r->map != r->few)
        free(r->map);
}

static void grow(Rebuild *r)
{
    size_t cap = 4 * r->cap;
    Became *map = arena_need(calloc(cap, sizeof *map));

    for (size_t i = 0; i < r->cap; i++)
        if (r->map[i].from)
            *find_became(map, cap, r->map[i].from) = r->map[i];
    rebuild_close(r);
    r->map = map;
    r->cap = cap;
}

static void remember(Rebuild *r, const Expr *from, const Expr *to)
{
    if (2 * r->n >= r->cap)
        grow(r);
    *find_became(r->map, r->cap, from) = (Became){from, to};
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
        return a[2] ? expr_ternary(g, e->fn, a[0], a[1], a[2], e->type)
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

/* Whether nothing is left of e but a part of it, which was rebuilt by then: a
 * cast that is none any more, a read of what is outside. */
static bool is_part(const Expr *e, const Expr *to)
{
    bool leaf = to->kind == E_CONST || to->kind == E_INDEX ||
                to->kind == E_READ || to->kind == E_LOCAL;

    return leaf && (to->kind != e->kind ||
                    (to->kind == E_READ && to->tensor != e->tensor));
}

/* What a local or a read stands for, or NULL. */
static const Expr *rebuild_value(Rebuild *r, const Expr *e)
{
    bool more = false;
    const Expr *to = NULL;
    if (r->value && (e->kind == E_LOCAL || e->kind == E_READ))
        to = r->value(r->graph, e, r->ctx, &more);
    return more ? rebuild(r, to) : to;
}

static const Expr *rebuild(Rebuild *r, const Expr *e)
{
    const Became *p = find_became(r->map, r->cap, e);
    if (p->from)
        return p->to;
    const Expr *to = rebuild_value(r, e);
    if (!to)
        to = rebuild_children(r, e);
    if (to != e && !to->span.source && e->span.source)
        to = expr_at(r->graph, to, e->span);
    const Expr *by = r->f && !is_part(e, to) ? r->f(r->graph, to, r->ctx)
                                             : NULL;
    if (by)
        to = by;
    if (e->kind != E_CONST && e->kind != E_LOCAL)
        remember(r, e, to);
    return to;
}

static const Expr *rebuilt(Rebuild *r, const Expr *e)
{
    r->map = r->few;
    r->cap = sizeof r->few / sizeof *r->few;
    const Expr *to = rebuild(r, e);
    rebuild_close(r);
    return to;
}

const Expr *expr_subst(Graph *g, const Expr *e, const Subst *s, int n)
{
    Rebuild r = {.graph = g, .s = s, .n_s = n};
    return rebuilt(&r, e);
}

const Expr *expr_rewrite(Graph *g, const Expr *e, ExprRewrite *f, void *ctx)
{
    Rebuild r = {.graph = g, .f = f, .ctx = ctx};
    return rebuilt(&r, e);
}

const Expr *expr_write_out(Graph *g, const Expr *e, ExprValue *f, void *ctx)
{
    Rebuild r = {.graph = g, .value = f, .ctx = ctx};
    return rebuilt(&r, e);
}
