#include "search/readable.h"

#include <math.h>
#include <stdlib.h>

enum { MOST_FAMILIES = 32 };

/* A variant is hopeless whose potential is so many times the least one's: in
 * examples/ at batch 1, 8 and 32 every choice stays, and a seventh of all
 * variants goes. Where all is done in the time of a launch, potentials say
 * nothing. */
enum { HOPELESS = 8 };

bool family_preferred(const Options *o, const Family *f)
{
    for (int i = 0; i < o->n_prefer; i++)
        if (!strcmp(o->prefer[i], f->name))
            return true;
    return false;
}

static bool is_avoided(const Options *o, const Family *f)
{
    for (int i = 0; i < o->n_avoid; i++)
        if (!strcmp(o->avoid[i], f->name))
            return true;
    return false;
}

/* A family that can serve the group. */
typedef struct Server {
    const Family *family;
    const void *form;
    bool preferred;
    int at;       /* in the table, which decides between equal costs */
    double least; /* no variant takes less */
} Server;

static bool before(const Server *a, const Server *b)
{
    if (a->preferred != b->preferred)
        return a->preferred;
    return a->least != b->least ? a->least < b->least : a->at < b->at;
}

/* Those that may be cheapest go first. */
static int open_all(Selection *s, Group *gr, Server *list, const char **why)
{
    int n = 0;

    for (int at = 0; family_table[at]; at++) {
        const Family *f = family_table[at];
        const char *no;
        if (is_avoided(s->options, f)) {
            *why = *why ? *why : "--variant leaves its family out";
            continue;
        }
        Server new = {f, family_open(f, s->graph, gr, s->options, &no),
                      family_preferred(s->options, f), at, 0};
        if (!new.form) {
            *why = *why ? *why : no;
            continue;
        }
        if (f->least)
            new.least = f->least(new.form);
        int i = n++;
        for (; i > 0 && before(&new, &list[i - 1]); i--)
            list[i] = list[i - 1];
        list[i] = new;
    }
    return n;
}

static bool hopeless(const Server *f, const Variant *v, double launch,
                     double least)
{
    return f->family->potential && f->family->potential(f->form, v) >
                                       HOPELESS * fmax(launch, least);
}

/* The form's variants, beside the arena: most lists are of no use. */
static Variant *list_variants(Arena *a, const Server *f, int *n)
{
    Variant *v = NULL, *list;

    *n = f->family->space(f->form, &v);
    list = arena_need(malloc(sizeof *v * (size_t)*n + 1));
    if (*n) {
        memcpy(list, v, sizeof *v * (size_t)*n);
        arena_give_back(a, v, sizeof *v * (size_t)*n);
    }
    return list;
}

/* *least: of the potentials of those that fit, so far. */
static void cost_family(Selection *s, const Server *f, int best_at,
                        double *least, Choice *best)
{
    double launch = s->options->device->launch_us;
    int n;
    Variant *v = list_variants(s->graph->arena, f, &n);
    bool better = false;

    for (int i = 0; i < n; i++) {
        Cost c = {0};
        if (hopeless(f, &v[i], launch, *least))
            continue;
        f->family->cost(f->form, &v[i], &c);
        s->evaluated++;
        if (c.coef_r)
            *least = fmin(*least, c.pul_us);
        if (!c.coef_r || c.us > best->cost.us ||
            (c.us == best->cost.us && (best->form == f->form ||
                                       f->at > best_at)))
            continue;
        best->family = f->family;
        best->form = f->form;
        best->n_variant = n;
        best->best = i;
        best->cost = c;
        better = true;
    }
    if (better)
        best->variant = family_variants(s->graph->arena, v, n);
    free(v);
}

/* The cheapest variant of all families, of preferred ones if there are. */
static Choice *cost_all(Selection *s, Group *gr, const char *key)
{
    Choice *best = arena_new_of(s->graph->arena, Choice);
    Server list[MOST_FAMILIES], *from = NULL;
    int n = open_all(s, gr, list, &best->why);

    best->key = key;
    best->cost.us = INFINITY;
    double least = INFINITY;
    for (int i = 0; i < n; i++) {
        if (from && (from->preferred > list[i].preferred ||
                     list[i].least > best->cost.us))
            continue;
        cost_family(s, &list[i], from ? from->at : -1, &least, best);
        if (best->form == list[i].form)
            from = &list[i];
    }
    if (best->family && readable_refuses(s, gr, best)) {
        best->family = NULL;
        best->cost.us = INFINITY;
        best->why = "its kernel would have too many lines";
    }
    return best;
}

const char *choice_text(const Choice *c, int variant)
{
    return variant_text(c->family, c->form, &c->variant[variant]);
}

void choice_cost(const Choice *c, int variant, Cost *cost)
{
    memset(cost, 0, sizeof *cost);
    c->family->cost(c->form, &c->variant[variant], cost);
}

Earlier *earlier_new(Arena *a)
{
    Earlier *e = arena_new_of(a, Earlier);

    *e = (Earlier){.choices = map_new(a), .numbers = map_new(a),
                   .pairs = map_new(a)};
    return e;
}

/* What a program before found of such a group, but if its kernel has turned out
 * too long since; or it is found. */
static Choice *found_or_cost(Selection *s, Group *gr, Buf *key)
{
    const size_t n = key->len;

    if (s->earlier)
        group_canon_parts(key, gr);
    Choice *c = s->earlier ? map_get(s->earlier->choices, key->text) : NULL;
    if (c && !(c->family && readable_refuses(s, gr, c)))
        return c;
    c = cost_all(s, gr, arena_strndup(s->graph->arena, key->text, n));
    if (s->earlier)
        map_put(s->earlier->choices, key->text, c);
    return c;
}

Choice *choose_variant(Selection *s, Group *gr)
{
    GroupKnown *known = group_known(gr);
    Buf key = {0};

    if (known->choice)
        return known->choice;
    group_args(s->graph, gr);
    group_canon(&key, gr);
    Choice *c = map_get(s->choices, key.text);
    if (!c) {
        c = found_or_cost(s, gr, &key);
        map_put(s->choices, c->key, c);
    }
    buf_free(&key);
    known->choice = c;
    return c;
}

Choice *choose_family(Selection *s, Group *gr, const Family *f,
                      const char **why)
{
    GroupKnown *known = group_known(gr);
    const Choice *had = choose_variant(s, gr);
    Server only = {.family = f};
    double least = INFINITY;
    Choice *c = arena_new_of(s->graph->arena, Choice);

    only.form = family_open(f, s->graph, gr, s->options, why);
    if (!only.form)
        return NULL;
    c->key = had->key;
    c->cost.us = INFINITY;
    cost_family(s, &only, 0, &least, c);
    *why = "none of its variants fits the GPU";
    if (!c->family)
        return NULL;
    map_put(s->choices, c->key, c);
    gr->variant = c->best;
    return known->choice = c;
}
