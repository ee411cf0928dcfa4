#include "search/lean.h"

#include <limits.h>

struct Lean {
    Units *u;
    int *from;     /* by unit: the position of its group's first statement */
    Ints *touches; /* by unit: tensors of a run, a tensor's first version */
    int *left;     /* by tensor: units that touch it and have not run */
    bool *held;    /* by tensor */
};

/* Whose memory t shares. */
static const Tensor *base_of(const Tensor *t)
{
    while (t->prev || t->host)
        t = t->prev ? t->prev : t->host;
    return t;
}

static void touch(Lean *l, int unit, const Ints *list)
{
    const Graph *g = l->u->g;
    Ints *to = &l->touches[unit];

    for (int i = 0; i < list->n; i++) {
        const Tensor *t = base_of(g->tensor[list->v[i]]);
        if (t->role != ROLE_TEMP || t->when != WHEN_RUN ||
            units_has(to, t->id))
            continue;
        VEC_PUSH(g->arena, to->v, to->n, to->cap) = t->id;
        l->left[t->id]++;
    }
}

/* The position of a group's first statement; of the backward pass, if it has
 * any: what it computes of the forward one is in its registers. */
static int first_of(const Group *gr, const int *at)
{
    int first[2] = {INT_MAX, INT_MAX};

    for (int i = 0; i < gr->n_stmt; i++) {
        int *x = &first[gr->stmt[i]->behind];
        if (at[gr->stmt[i]->id] < *x)
            *x = at[gr->stmt[i]->id];
    }
    return first[1] < INT_MAX ? first[1] : first[0];
}

/* Of what the groups are, not of how they came to be: a plan's are the same. */
static void find_from(Lean *l)
{
    const Units *u = l->u;
    const Graph *g = u->g;
    int *at = arena_array(g->arena, int, g->n_made + 1);

    for (int i = 0; i < g->n_stmt; i++)
        at[g->stmt[i]->id] = i;
    l->from = arena_array(g->arena, int, u->n + 1);
    for (int i = 0; i < u->n; i++) {
        const Group *gr = u->unit[i].group;
        l->from[i] = gr && gr->n_stmt ? first_of(gr, at) : u->unit[i].first;
    }
}

Lean *lean_open(Units *u)
{
    Arena *a = u->g->arena;
    Lean *l = arena_new_of(a, Lean);

    *l = (Lean){.u = u};
    l->touches = arena_array(a, Ints, u->n + 1);
    l->left = arena_array(a, int, u->g->n_tensor + 1);
    l->held = arena_array(a, bool, u->g->n_tensor + 1);
    find_from(l);
    for (int i = 0; i < u->n; i++)
        if (u->unit[i].group) {
            touch(l, i, &u->unit[i].reads);
            touch(l, i, &u->unit[i].writes);
        }
    return l;
}

static int64_t bytes(const Lean *l, int tensor)
{
    const Tensor *t = l->u->g->tensor[tensor];

    return t->span * type_bytes(t->type);
}

/* What is held more behind the unit than before it. */
static int64_t grows(const Lean *l, int unit)
{
    const Ints *t = &l->touches[unit];
    int64_t by = 0;

    for (int i = 0; i < t->n; i++) {
        if (!l->held[t->v[i]])
            by += bytes(l, t->v[i]);
        if (l->left[t->v[i]] == 1)
            by -= bytes(l, t->v[i]);
    }
    return by;
}

static void run(Lean *l, int unit)
{
    const Ints *t = &l->touches[unit];

    for (int i = 0; i < t->n; i++) {
        l->held[t->v[i]] = true;
        l->left[t->v[i]]--;
    }
}

/* Several units may have a statement in common. */
static bool before(const Lean *l, int a, int b)
{
    const Unit *x = &l->u->unit[a], *y = &l->u->unit[b];

    if (l->from[a] != l->from[b])
        return l->from[a] < l->from[b];
    return x->first != y->first ? x->first < y->first : x->to < y->to;
}

int lean_next(Lean *l, const int *ready, int n)
{
    int best = 0;
    int64_t least = 1;

    for (int i = 0; i < n; i++) {
        int64_t by = grows(l, ready[i]);
        bool first = before(l, ready[i], ready[best]);
        by = by > 0 ? 1 : by;
        if (by < least || (by == least && first)) {
            best = i;
            least = by;
        }
    }
    run(l, ready[best]);
    return best;
}
