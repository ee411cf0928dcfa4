/* emit_ref_share.c - what an expression has in several places, said once
 * (ref_text.h): a derivative has its function's argument three times, and a
 * text without names for that is 3^n long where n of them are nested. */
#include "oracle/ref_text.h"

#include <stdint.h>

typedef struct Node {
    const Expr *e;
    double size; /* of its text, in nodes */
    int uses;
    bool visited, named;
} Node;

struct RefShare {
    Graph *graph;
    Node *node; /* by its address */
    size_t cap, n;
};

static Node *find(const RefShare *s, const Expr *e)
{
    enum { SPREAD = 6 };
    size_t at = ((uintptr_t)e >> SPREAD) * 31 & (s->cap - 1);

    while (s->node[at].e && s->node[at].e != e)
        at = (at + 1) & (s->cap - 1);
    return &s->node[at];
}

static void grow(RefShare *s)
{
    enum { FIRST = 64 };
    const RefShare old = *s;

    s->cap = s->cap ? s->cap * 2 : FIRST;
    s->node = arena_array(s->graph->arena, Node, s->cap);
    memset(s->node, 0, sizeof *s->node * s->cap);
    for (size_t i = 0; i < old.cap; i++)
        if (old.node[i].e)
            *find(s, old.node[i].e) = old.node[i];
}

/* How many of e's arguments are there whatever its condition is: of a choice by
 * indices the condition alone, as reads in an arm may rely on it. */
static int sure_args(const RefShare *s, const Expr *e)
{
    Guard g = {0};

    return e->kind == E_SELECT && expr_as_guard(s->graph, e->arg[0], &g) ? 1
                                                                         : 3;
}

static double count(RefShare *s, const Expr *e)
{
    double size = 1;

    if (2 * s->n >= s->cap)
        grow(s);
    Node *n = find(s, e);
    if (n->e) {
        n->uses++;
        return n->size;
    }
    s->n++;
    *n = (Node){.e = e, .uses = 1};
    for (int i = 0; i < sure_args(s, e) && e->arg[i]; i++)
        size += count(s, e->arg[i]);
    find(s, e)->size = size;
    return size;
}

/* The names of what e has, its parts first. */
static void put_names(Buf *b, RefText *r, const Expr *e)
{
    enum { FEW = 3 };
    Node *n = find(r->share, e);

    if (n->visited)
        return;
    n->visited = true;
    for (int i = 0; i < sure_args(r->share, e) && e->arg[i]; i++)
        put_names(b, r, e->arg[i]);
    if (n->uses < 2 || n->size < FEW || !type_is_float(e->type) ||
        e->kind == E_READ)
        return;
    buf_printf(b, "const %s %s = ", r->pairs ? "dcc_pair" : "double",
               ref_name(r, e, "shared"));
    ref_expr(b, r, e, REF_ANY);
    buf_puts(b, "; ");
    n->named = true;
}

bool ref_open_shared(Buf *b, RefText *r, const Expr *e)
{
    enum { LARGE = 400 };

    r->share = arena_new_of(r->graph->arena, RefShare);
    *r->share = (RefShare){.graph = r->graph};
    if (count(r->share, e) < LARGE)
        return false;
    buf_puts(b, "({ ");
    put_names(b, r, e);
    return true;
}

const char *ref_shared(RefText *r, const Expr *e)
{
    return r->share && find(r->share, e)->named ? ref_name(r, e, NULL) : NULL;
}
