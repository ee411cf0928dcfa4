#include "search/pair.h"

#include "group/groups.h"
#include "search/merge.h"

#include <math.h>

/* Two groups, the tensor between them, and which of the tensors that they store
 * others need, a bit each. */
typedef struct Key {
    const Group *p, *c;
    const Tensor *t;
    MergeKind kind;
    uint64_t needed;
} Key;

typedef struct Entry {
    Key key; /* p NULL: free */
    Pair pair;
} Entry;

struct Pairs {
    Selection *s;
    Entry **entry;
    size_t n, cap; /* cap is a power of two */
};

enum { MOST_STORES = 63 };

Pairs *pairs_new(Selection *s)
{
    Pairs *x = arena_new_of(s->graph->arena, Pairs);

    x->s = s;
    x->cap = 1024;
    x->entry = arena_array(s->graph->arena, Entry *, x->cap);
    return x;
}

/* Where a key is kept says nothing about what is made of it. */
static size_t hash(const Key *k)
{
    const uint64_t part[] = {(uintptr_t)k->p, (uintptr_t)k->c,
                             (uint64_t)k->t->id, (uint64_t)k->kind, k->needed};
    uint64_t h = 0;

    for (int i = 0; i < 5; i++) {
        h = (h ^ part[i]) * 0x9e3779b97f4a7c15u;
        h ^= h >> 29;
    }
    return (size_t)h;
}

static bool same(const Key *a, const Key *b)
{
    return a->p == b->p && a->c == b->c && a->t == b->t &&
           a->kind == b->kind && a->needed == b->needed;
}

static Entry **slot(const Pairs *x, const Key *k)
{
    size_t i = hash(k) & (x->cap - 1);

    while (x->entry[i] && !same(&x->entry[i]->key, k))
        i = (i + 1) & (x->cap - 1);
    return &x->entry[i];
}

static void grow(Pairs *x)
{
    Entry **old = x->entry;
    size_t n = x->cap;

    x->cap *= 2;
    x->entry = arena_array(x->s->graph->arena, Entry *, x->cap);
    for (size_t i = 0; i < n; i++)
        if (old[i])
            *slot(x, &old[i]->key) = old[i];
}

/* *found: it was tried before. */
static Pair *find(Pairs *x, const Key *k, bool *found)
{
    if (x->n * 2 >= x->cap)
        grow(x);
    Entry **e = slot(x, k);
    *found = *e;
    if (!*e) {
        *e = arena_new_of(x->s->graph->arena, Entry);
        (*e)->key = *k;
        x->n++;
    }
    return &(*e)->pair;
}

static void finish(Pairs *x, Pair *pair)
{
    const Choice *c = choose_variant(x->s, pair->made);

    pair->us = c->family ? c->cost.us : INFINITY;
}

static uint64_t needed_of(const Units *u, int p, int c)
{
    const Unit *both[] = {&u->unit[p], &u->unit[c]};
    uint64_t bits = 1;

    for (int i = 0; i < 2; i++)
        for (int k = 0; k < both[i]->writes.n; k++)
            bits = bits * 2 + units_need(u, u->g->tensor[both[i]->writes.v[k]],
                                         p, c);
    return bits;
}

const Pair *pair_fuse(Pairs *x, const Units *u, int p, int c, Tensor *t)
{
    Group *both[] = {u->unit[p].group, u->unit[c].group};
    const bool keep = units_need(u, t, p, c);
    const Key key = {both[0], both[1], t, keep ? MERGE_KEEP : MERGE_POINT,
                     needed_of(u, p, c)};
    bool found = false;
    Pair *pair = u->unit[p].writes.n + u->unit[c].writes.n > MOST_STORES
                     ? arena_new_of(u->g->arena, Pair)
                     : find(x, &key, &found);

    if (found)
        return pair;
    pair->us = INFINITY;
    pair->made = fuse(u->g, both[0], both[1], t, keep, &pair->why);
    if (!pair->made)
        return pair;
    merge_note(u->g, pair->made, key.kind, t, both, 2);
    pair->made = merge_drop_stores(u, pair->made, p, c);
    finish(x, pair);
    return pair;
}

const Pair *pair_again(Pairs *x, Group *p, Group *c, Tensor *t)
{
    const Key key = {p, c, t, MERGE_AGAIN, 0};
    bool found;
    Pair *pair = find(x, &key, &found);

    if (found)
        return pair;
    pair->us = INFINITY;
    pair->made = fuse_inline(x->s->graph, p, c, t, &pair->why);
    if (!pair->made)
        return pair;
    merge_note(x->s->graph, pair->made, MERGE_AGAIN, t, (Group *[]){p, c}, 2);
    finish(x, pair);
    return pair;
}
