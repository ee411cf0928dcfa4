#include "search/pair.h"

#include "group/groups.h"
#include "search/merge.h"
#include "search/readable.h"

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
    Group *made; /* NULL: there is none, or nobody asked for it */
} Entry;

struct Pairs {
    Selection *s;
    Earlier *earlier; /* of the selection, or these pairs' own */
    Entry **entry;
    size_t n, cap; /* cap is a power of two */
};

enum { MOST_STORES = 64 };

Pairs *pairs_new(Selection *s)
{
    Pairs *x = arena_new_of(s->graph->arena, Pairs);

    x->s = s;
    x->earlier = s->earlier ? s->earlier : earlier_new(s->graph->arena);
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
static Entry *find(Pairs *x, const Key *k, bool *found)
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
    return *e;
}

/* ---- equal pairs
 *
 * Layers repeat, and so do a model's programs: what comes of a pair is known of
 * the first that is equal, and others are made when they are merged. */

/* What came of two groups, whichever equal ones they are. */
typedef struct Alike {
    Pair pair;
    Group *made;         /* the first, or NULL */
    const Selection *of; /* the program that the pair is of */
} Alike;

static void put_number(Buf *b, int64_t n)
{
    buf_putc(b, ' ');
    buf_putd(b, n);
}

/* What the text leaves out: its parts, and how what it touches lies. */
static void put_rest(Buf *b, const Group *gr)
{
    group_canon_parts(b, gr);
    group_canon_slices(b, gr);
    put_number(b, gr->when);
    for (int i = 0; i < gr->n_arg; i++) {
        const Tensor *t = gr->arg[i];
        for (int d = 0; d < t->rank; d++) {
            put_number(b, t->dim[d]);
            put_number(b, t->stride[d]);
        }
        buf_putc(b, ';');
    }
}

/* Of equal groups. */
static int number_of(Pairs *x, Group *gr)
{
    const Choice *c = choose_variant(x->s, gr); /* it has its arguments */
    GroupKnown *known = group_known(gr);
    Buf text = {0};

    if (known->number)
        return known->number;
    buf_puts(&text, c->key);
    put_rest(&text, gr);
    int *n = map_get(x->earlier->numbers, text.text);
    if (!n) {
        n = arena_new_of(x->s->graph->arena, int);
        *n = ++x->earlier->n;
        map_put(x->earlier->numbers, text.text, n);
    }
    buf_free(&text);
    return known->number = *n;
}

static int place_of(const Group *gr, const Tensor *t)
{
    int i = 0;

    while (i < gr->n_arg && gr->arg[i] != t)
        i++;
    return i;
}

/* Which of the two's tensors it is. */
static void put_which(Buf *b, const Key *k, const Tensor *t)
{
    put_number(b, place_of(k->p, t));
    put_number(b, place_of(k->c, t));
}

/* Whose versions gr's tensors are, and in which they lie. */
static void put_kinship(Buf *b, const Key *k, const Group *gr)
{
    for (int i = 0; i < gr->n_arg; i++) {
        const Tensor *t = gr->arg[i];
        if (t->prev || t->host)
            put_number(b, i);
        for (const Tensor *old = t; old->prev; old = old->prev) {
            buf_puts(b, " of");
            put_which(b, k, old->prev);
        }
        for (; t->host; t = t->host) {
            buf_puts(b, " in");
            put_which(b, k, t->host);
        }
    }
    buf_putc(b, ';');
}

/* What came of equal ones, or will. NULL: they have too many tensors. */
static Alike *alike(Pairs *x, const Key *k)
{
    enum { MOST_ARGS = 64 };
    const int p = number_of(x, (Group *)k->p), c = number_of(x, (Group *)k->c);
    Buf b = {0};

    if (k->p->n_arg + k->c->n_arg > MOST_ARGS)
        return NULL;
    put_number(&b, k->kind);
    put_number(&b, p);
    put_number(&b, c);
    put_number(&b, (int64_t)k->needed[0]);
    put_number(&b, (int64_t)k->needed[1]);
    put_which(&b, k, k->t);
    for (int i = 0; i < k->c->n_arg; i++)
        put_number(&b, place_of(k->p, k->c->arg[i]));
    put_kinship(&b, k, k->p);
    put_kinship(&b, k, k->c);
    Alike *a = map_get(x->earlier->pairs, b.text);
    if (!a) {
        a = arena_new_of(x->s->graph->arena, Alike);
        map_put(x->earlier->pairs, b.text, a);
    }
    buf_free(&b);
    return a;
}

/* ---- making */

static double time_of(Selection *s, Group *gr)
{
    const Choice *c = choose_variant(s, gr);

    return c->family ? c->cost.us : INFINITY;
}

/* p and c: the units, of a merge by points. */
static void make(Pairs *x, Entry *e, const Units *u, int p, int c)
{
    const Key *k = &e->key;
    Graph *g = x->s->graph;
    Pair *pair = &e->pair;

    e->made = k->kind == MERGE_AGAIN
                  ? fuse_inline(g, k->p, k->c, k->t, &pair->why)
                  : fuse(g, k->p, k->c, k->t, k->kind == MERGE_KEEP,
                         &pair->why);
    pair->fits = e->made != NULL;
    pair->us = INFINITY;
    if (!e->made)
        return;
    merge_note(g, e->made, k->kind, k->t,
               (Group *[]){(Group *)k->p, (Group *)k->c}, 2);
    if (k->kind != MERGE_AGAIN)
        e->made = merge_drop_stores(u, e->made, p, c);
    pair->us = time_of(x->s, e->made);
}

/* What is known of an equal pair is so of this; of another program's group, if
 * its kernel has not turned out too long since. */
static void take(const Pairs *x, Entry *e, Alike *a)
{
    if (a->made && a->of != x->s) {
        const Choice *c = group_known(a->made)->choice;
        if (c->family && readable_refuses(x->s, a->made, c))
            a->pair.us = INFINITY;
    }
    a->of = x->s;
    e->pair = a->pair;
}

static void evaluate(Pairs *x, Entry *e, const Units *u, int p, int c)
{
    Alike *a = alike(x, &e->key);

    if (a && a->of) {
        take(x, e, a);
        return;
    }
    make(x, e, u, p, c);
    if (a)
        *a = (Alike){e->pair, e->made, x->s};
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

static Entry *fuse_entry(Pairs *x, const Units *u, int p, int c, Tensor *t)
{
    const bool keep = units_need(u, t, p, c);
    Key key = {u->unit[p].group, u->unit[c].group, t,
               keep ? MERGE_KEEP : MERGE_POINT, {0, 0}};
    bool found;

    if (!needed_of(u, p, p, c, &key.needed[0]) ||
        !needed_of(u, c, p, c, &key.needed[1])) {
        Entry *e = arena_new_of(u->g->arena, Entry);
        e->key = key;
        make(x, e, u, p, c);
        return e;
    }
    Entry *e = find(x, &key, &found);
    if (!found)
        evaluate(x, e, u, p, c);
    return e;
}

static Entry *again_entry(Pairs *x, Group *p, Group *c, Tensor *t)
{
    const Key key = {p, c, t, MERGE_AGAIN, {0, 0}};
    bool found;
    Entry *e = find(x, &key, &found);

    if (!found)
        evaluate(x, e, NULL, 0, 0);
    return e;
}

const Pair *pair_fuse(Pairs *x, const Units *u, int p, int c, Tensor *t)
{
    return &fuse_entry(x, u, p, c, t)->pair;
}

const Pair *pair_again(Pairs *x, Group *p, Group *c, Tensor *t)
{
    return &again_entry(x, p, c, t)->pair;
}

Group *pair_fused(Pairs *x, const Units *u, int p, int c, Tensor *t)
{
    Entry *e = fuse_entry(x, u, p, c, t);

    if (!e->made && e->pair.fits)
        make(x, e, u, p, c);
    return e->made;
}

Group *pair_computed_again(Pairs *x, Group *p, Group *c, Tensor *t)
{
    Entry *e = again_entry(x, p, c, t);

    if (!e->made && e->pair.fits)
        make(x, e, NULL, 0, 0);
    return e->made;
}
