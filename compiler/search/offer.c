#include "search/offer.h"

#include <math.h>
#include <stdlib.h>

static int cheaper(const void *a, const void *b)
{
    const Offer *x = a, *y = b;

    if (x->cost.us != y->cost.us)
        return x->cost.us < y->cost.us ? -1 : 1;
    return x->at - y->at;
}

int offer_all(const Selection *s, Group *gr, Offer **out)
{
    Graph *g = s->graph;
    Offer *list = NULL;
    int n = 0, cap = 0;

    for (const Family *const *f = family_table; *f; f++) {
        Variant *v = NULL;
        const char *why;
        const void *form = family_open(*f, g, gr, s->options, &why);
        if (!form)
            continue;
        int count = (*f)->space(form, &v);
        for (int i = 0; i < count; i++) {
            Cost c = {0};
            (*f)->cost(form, &v[i], &c);
            if (c.coef_r && !isinf(c.us)) {
                v[i].text = variant_text(*f, form, &v[i]);
                VEC_PUSH(g->arena, list, n, cap) = (Offer){*f, &v[i], c, n};
                list[n - 1].at = n;
            }
        }
    }
    if (n)
        qsort(list, (size_t)n, sizeof *list, cheaper);
    *out = list;
    return n;
}

static Choice *cost_family(Selection *s, Group *gr, const Family *f)
{
    Choice *c = arena_new_of(s->graph->arena, Choice);
    Variant *v = NULL;
    const char *why;

    c->form = family_open(f, s->graph, gr, s->options, &why);
    if (!c->form)
        return NULL;
    c->n_variant = f->space(c->form, &v);
    c->variant = v;
    c->cost.us = INFINITY;
    for (int i = 0; i < c->n_variant; i++) {
        Cost cost = {0};
        f->cost(c->form, &v[i], &cost);
        if (!cost.coef_r || cost.us >= c->cost.us)
            continue;
        c->family = f;
        c->best = i;
        c->cost = cost;
    }
    return c->family ? c : NULL;
}

Choice *offer_family(Selection *s, Group *gr, const char *family)
{
    Choice *old = choose_variant(s, gr), *c = NULL;

    for (const Family *const *f = family_table; *f && !c; f++)
        if (!strcmp((*f)->name, family))
            c = cost_family(s, gr, *f);
    if (!c)
        return NULL;
    c->key = old->key;
    *old = *c; /* of all equal groups */
    return old;
}
