#include "search/pair.h"

#include "group/groups.h"
#include "search/merge.h"

#include <math.h>

/* Two groups, the tensor between them, and which of the tensors that each of
 * them stores others need, a bit each: a step stores one at most. */
typedef struct Key {
    const Group *p, *c;
    const Tensor *t;
    MergeKind kind;
    uint64_t needed[2];
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

enum { MOST_STORES = 64 };

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
    const uint64_t part[] = {(uintptr_t)k->p,    (uintptr_t)k->c,
                             (uint64_t)k->t->id, (uint64_t)k->kind,
                             k->needed[0],       k->needed[1]};
    uint64_t h = 0;

    for (int i = 0; i < 6; i++) {
        h = (h ^ part[i]) * 0x9e3779b97f4a7c15u;
        h ^= h >> 29;
    }
    return (size_t)h;
}

static bool same(const Key *a, const Key *b)
{
    return a->p == b->p && a->c == b->c && a->t == b->t &&
           a->kind == b->kind && a->needed[0] == b->needed[0] &&
           a->needed[1] == b->needed[1];
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

/* Of what `unit` stores, when p and c are one. False: it is too much for a
 * key. */
static bool needed_of(const Units *u, int unit, int p, int c, uint64_t *bits)
{
    const Ints *writes = &u->unit[unit].writes;

    for (int k = 0; k < writes->n && k < MOST_STORES; k++)
        *bits |= (uint64_t)units_need(u, u->g->tensor[writes->v[k]], p, c) << k;
    return writes->n <= MOST_STORES;
}

const Pair *pair_fuse(Pairs *x, const Units *u, int p, int c, Tensor *t)
{
    Group *both[] = {u->unit[p].group, u->unit[c].group};
    const bool keep = units_need(u, t, p, c);
    Key key = {both[0], both[1], t, keep ? MERGE_KEEP : MERGE_POINT, {0, 0}};
    bool found = false;
    const bool known = needed_of(u, p, p, c, &key.needed[0]) &&
                       needed_of(u, c, p, c, &key.needed[1]);
    Pair *pair = known ? find(x, &key, &found)
                       : arena_new_of(u->g->arena, Pair);

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
    const Key key = {p, c, t, MERGE_AGAIN, {0, 0}};
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
