#include "rewrite/levels_web.h"

#include "rewrite/levels.h"
#include "rewrite/simplify.h"

#include <string.h>

int64_t vars_points(const Var *const *v, int n)
{
    int64_t e = 1;

    for (int i = 0; i < n && e < (int64_t)1 << 40; i++)
        e *= v[i]->extent;
    return e;
}

typedef struct Reach {
    const Web *web;
    int walk;
    const Tensor *t; /* what is looked for; NULL: what a product leaves */
    int depth;
    bool found;
} Reach;

static void note_short(const Expr *e, void *ctx)
{
    *(bool *)ctx |= e->kind == E_READ && (e->tensor->type == T_F16 ||
                                          e->tensor->type == T_BF16);
}

static bool is_short(const Expr *e)
{
    bool found = false;

    expr_visit(e, note_short, &found);
    return found;
}

bool web_is_product(const Stmt *s)
{
    const Expr *e = s->value;

    while (e->kind == E_CAST)
        e = e->arg[0];
    return s->op == R_SUM && e->kind == E_BINARY && e->fn == F_MUL &&
           is_short(e->arg[0]) && is_short(e->arg[1]);
}

static void reach(const Expr *e, void *ctx)
{
    Reach *r = ctx;

    if (e->kind != E_READ || r->found || r->depth == DEPTH)
        return;
    Met *met = &r->web->met[e->tensor->id];
    if (met->walk == r->walk && met->depth <= r->depth)
        return;
    *met = (Met){r->walk, r->depth};
    r->found = e->tensor == r->t;
    const Stmt *s = r->web->maker[e->tensor->id];
    if (r->found || !s)
        return;
    if (web_is_product(s)) {
        r->found = !r->t;
        return;
    }
    r->depth++;
    expr_visit(s->value, reach, r);
    r->depth--;
}

static void make_room(Web *web)
{
    int cap = 2 * web->g->n_tensor;

    if (web->g->n_tensor <= web->cap)
        return;
    Stmt **maker = arena_array(web->g->arena, Stmt *, cap);
    Stmts *readers = arena_array(web->g->arena, Stmts, cap);
    if (web->cap) {
        memcpy(maker, web->maker, sizeof *maker * (size_t)web->cap);
        memcpy(readers, web->readers, sizeof *readers * (size_t)web->cap);
    }
    web->maker = maker;
    web->readers = readers;
    web->met = arena_array(web->g->arena, Met, cap);
    web->cap = cap;
}

typedef struct Linking {
    Web *web;
    Stmt *s;
} Linking;

static void link_read(const Expr *e, void *ctx)
{
    const Linking *l = ctx;

    if (e->kind != E_READ)
        return;
    Stmts *r = &l->web->readers[e->tensor->id];
    if (!r->n || r->v[r->n - 1] != l->s)
        VEC_PUSH(l->web->g->arena, r->v, r->n, r->cap) = l->s;
}

/* s is new, or reads something else now. */
void web_link(Web *web, Stmt *s)
{
    Linking l = {web, s};
    Stmts *p = &web->products;

    make_room(web);
    expr_visit(s->value, link_read, &l);
    if (web_is_product(s))
        VEC_PUSH(web->g->arena, p->v, p->n, p->cap) = s;
}

Web web_open(Graph *g)
{
    Web web = {.g = g};
    Stmt **maker = tensor_makers(g);

    make_room(&web);
    memcpy(web.maker, maker, sizeof *maker * (size_t)g->n_tensor);
    for (int i = 0; i < g->n_stmt; i++)
        web_link(&web, g->stmt[i]);
    return web;
}

static bool reaches(Web *web, const Stmt *from, const Tensor *t)
{
    Reach r = {.web = web, .walk = ++web->walks, .t = t};

    expr_visit(from->value, reach, &r);
    return r.found;
}

typedef struct Reader {
    const Tensor *t;
    bool found;
} Reader;

static void note_reader(const Expr *e, void *ctx)
{
    Reader *r = ctx;

    r->found |= e->kind == E_READ && e->tensor == r->t;
}

static bool reads(const Stmt *s, const Tensor *t)
{
    Reader r = {t, false};

    expr_visit(s->value, note_reader, &r);
    return r.found;
}

/* A batch of one is a variable of some statements, and of others none. */
static int n_long(const Stmt *s)
{
    int n = 0;

    for (int i = 0; i < s->n_out; i++)
        n += s->out[i]->extent > 1;
    return n;
}

/* Whether all that read s, or values of its rows that do, are on the way to
 * `product`: a batch norm's mean has the running one besides, on the way to a
 * gradient of weights. */
static bool leads_there(Web *web, const Stmt *s, const Stmt *product,
                        int depth)
{
    int id = s->tensor->id;

    for (int i = 0; i < web->readers[id].n; i++) {
        const Stmt *t = web->readers[id].v[i];
        if (t == product || !reads(t, s->tensor))
            continue;
        if (!reaches(web, product, t->tensor) ||
            (depth && t->op == R_NONE && n_long(t) == n_long(s) &&
             !leads_there(web, t, product, depth - 1)))
            return false;
    }
    return true;
}

bool web_between(Web *web, const Stmt *s)
{
    Reach r = {.web = web, .walk = ++web->walks};
    int64_t cols = vars_points(s->red, s->n_red);

    expr_visit(s->value, reach, &r);
    for (int i = 0; i < web->products.n && r.found; i++) {
        const Stmt *p = web->products.v[i];
        if (vars_points(p->red, p->n_red) == cols && web_is_product(p) &&
            reaches(web, p, s->tensor) && leads_there(web, s, p, 2))
            return true;
    }
    return false;
}

/* ---- sums of a product's factors */

static const Expr *plain_read(const Expr *e)
{
    while (e->kind == E_CAST)
        e = e->arg[0];
    return e->kind == E_READ && !e->in.n ? e : NULL;
}

/* Whether e, a factor of product p, is t's element for each of p's terms. */
static bool is_factor(const Expr *e, const Tensor *t, const Stmt *p)
{
    int summed = 0;

    if (!e || e->tensor != t)
        return false;
    for (int d = 0; d < t->rank; d++)
        for (int i = 0; i < p->n_red; i++)
            summed += idx_is_var(e->at[d]) == p->red[i];
    return summed == p->n_red;
}

bool web_sums_factor(const Web *web, const Stmt *s)
{
    enum { MANY = 1 << 22 };
    const Expr *of = plain_read(s->value);

    if (!of || vars_points(s->red, s->n_red) *
                       vars_points(s->out, s->n_out) < MANY)
        return false;
    const Stmts *list = &web->readers[of->tensor->id];
    for (int i = 0; i < list->n; i++) {
        const Stmt *p = list->v[i];
        const Expr *e = p->value;
        while (e->kind == E_CAST)
            e = e->arg[0];
        if (!web_is_product(p) || p->n_red != s->n_red)
            continue;
        const Expr *a = plain_read(e->arg[0]), *b = plain_read(e->arg[1]);
        if (a && b && (is_factor(a, of->tensor, p) ||
                       is_factor(b, of->tensor, p)))
            return true;
    }
    return false;
}

bool levels_between(Graph *g, const Stmt *s)
{
    Web web = web_open(g);

    return web_between(&web, s);
}

bool levels_plain_store(const Stmt *s)
{
    if (s->where.n || s->n_out != s->tensor->rank)
        return false;
    for (int d = 0; d < s->n_out; d++)
        if (s->out[d]->extent > 1 ? idx_is_var(s->store[d]) != s->out[d]
                                  : s->store[d]->n || s->store[d]->k)
            return false;
    return true;
}
