#include "rewrite/alike.h"

#include <math.h>
#include <stdlib.h>

enum {
    MAX_TERMS = 16, MAX_FACTORS = 12,
    MAX_EXPONENT = 16 /* of a term's number: a product without it ends
                         about where the one with it does */
};

/* A number times factors. */
typedef struct Term {
    double number;
    const Expr *factor[MAX_FACTORS];
    int n;
} Term;

typedef struct Sum {
    Term term[MAX_TERMS];
    int n;
    bool full;
} Sum;

static bool is_binary(const Expr *e, Func f)
{
    return e->kind == E_BINARY && e->fn == f && type_is_float(e->type);
}

/* Functions first: far out they are 0, and so is what is multiplied by them
 * then. */
static void add_factor(Term *t, const Expr *e, bool *full)
{
    int at = t->n;

    if (t->n == MAX_FACTORS) {
        *full = true;
        return;
    }
    while (e->kind != E_READ && at > 0 && t->factor[at - 1]->kind == E_READ)
        at--;
    for (int i = t->n++; i > at; i--)
        t->factor[i] = t->factor[i - 1];
    t->factor[at] = e;
}

static void take_product(const Expr *e, Term *t, bool *full)
{
    if (is_binary(e, F_MUL)) {
        take_product(e->arg[0], t, full);
        take_product(e->arg[1], t, full);
    } else if (e->kind == E_CONST) {
        t->number *= e->num;
    } else {
        add_factor(t, e, full);
    }
}

static bool are_alike(const Term *a, const Term *b)
{
    bool taken[MAX_FACTORS] = {false};

    for (int i = 0; i < a->n; i++) {
        int k = 0;
        while (k < b->n &&
               (taken[k] || !expr_equal(a->factor[i], b->factor[k])))
            k++;
        if (k == b->n)
            return false;
        taken[k] = true;
    }
    return a->n == b->n && a->n > 1 && a->number * b->number > 0;
}

/* Whether one is like another. */
static bool take_sum(const Expr *e, Sum *s)
{
    Term t = {.number = 1};

    if (s->full)
        return false;
    if (is_binary(e, F_ADD)) {
        bool first = take_sum(e->arg[0], s);
        return take_sum(e->arg[1], s) || first;
    }
    take_product(e, &t, &s->full);
    for (int i = 0; i < s->n; i++)
        if (are_alike(&s->term[i], &t)) {
            s->term[i].number += t.number;
            return true;
        }
    if (s->n == MAX_TERMS)
        s->full = true;
    else
        s->term[s->n++] = t;
    return false;
}

static const Expr *product(Graph *g, const Term *t, Type type)
{
    const Expr *e = t->n ? t->factor[0] : NULL, *number;

    for (int i = 1; i < t->n; i++)
        e = expr_binary(g, F_MUL, e, t->factor[i], type);
    if (e && t->number == 1)
        return e;
    number = expr_const(g, (float)t->number, type);
    return e ? expr_binary(g, F_MUL, number, e, type) : number;
}

static bool is_moderate(const Sum *s)
{
    for (int i = 0; i < s->n; i++) {
        int exponent;
        frexp(s->term[i].number, &exponent);
        if (s->term[i].n && abs(exponent) > MAX_EXPONENT)
            return false;
    }
    return true;
}

/* The sum e with what is alike as one; NULL: nothing is. */
static const Expr *joined(Graph *g, const Expr *e)
{
    Sum s = {.n = 0};

    if (!is_binary(e, F_ADD) || !take_sum(e, &s) || s.full || !is_moderate(&s))
        return NULL;
    const Expr *all = product(g, &s.term[0], e->type);
    for (int i = 1; i < s.n; i++)
        all = expr_binary(g, F_ADD, all, product(g, &s.term[i], e->type),
                          e->type);
    return all;
}

/* Sums that are terms of others, which are looked at whole. */
typedef struct Inner {
    Graph *g;
    const Expr **sum; int n, cap;
} Inner;

static void note_inner(const Expr *e, void *ctx)
{
    Inner *x = ctx;

    for (int i = 0; i < 2 && is_binary(e, F_ADD); i++)
        if (is_binary(e->arg[i], F_ADD))
            VEC_PUSH(x->g->arena, x->sum, x->n, x->cap) = e->arg[i];
}

static const Expr *join_outer(Graph *g, const Expr *e, void *ctx)
{
    const Inner *x = ctx;

    for (int i = 0; i < x->n; i++)
        if (x->sum[i] == e)
            return NULL;
    return joined(g, e);
}

const Expr *join_alike(Graph *g, const Expr *e)
{
    Inner x = {g, NULL, 0, 0};

    expr_visit(e, note_inner, &x);
    return expr_rewrite(g, e, join_outer, &x);
}
