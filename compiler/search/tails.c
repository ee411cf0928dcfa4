#include "search/tails.h"

#include "group/groups.h"
#include "search/assemble.h"

#include <math.h>

typedef struct Tails {
    Units *u;
    Graph *g;
    int *at;    /* by statement's id: where it stands */
    int *depth; /* by unit: kernels that come one after another before it */
} Tails;

/* Statements in order; of some, what others of them read. */
typedef struct Part {
    const Tails *x;
    int has, other; /* the units that both parts are of */
    Stmt **stmt; int n;
    int come; /* of them, when they are made one */
    const struct Part *rest;
} Part;

static Group *alone(const Tails *x, const Stmt *s)
{
    return x->u->s->alone[s->id];
}

/* ---- what may be taken apart */

static bool is_plain(const Unit *x)
{
    const Group *gr = x->group;

    if (!gr || gr->when != WHEN_RUN || gr->chain || gr->merge || gr->pieces ||
        gr->n_again || isinf(x->us))
        return false;
    for (int i = 0; i < gr->n_stmt; i++)
        if (gr->stmt[i]->notes || gr->stmt[i]->n_with ||
            gr->stmt[i]->for_fold || gr->stmt[i]->behind)
            return false;
    return true;
}

/* Nobody but unit c reads what unit q makes. */
static bool is_for(const Units *u, int q, int c)
{
    const Ints *writes = &u->unit[q].writes;

    for (int i = 0; i < writes->n; i++) {
        int id = writes->v[i];
        const Tensor *t = u->g->tensor[id];
        if (t->role != ROLE_TEMP || t->kept || t->own || t->prev || t->host ||
            u->later[id].n || u->guests[id].n || u->writers[id].n != 1 ||
            u->readers[id].n != 1 || u->readers[id].v[0] != c)
            return false;
    }
    return writes->n > 0;
}

static bool waits_for(const Tails *x, const Stmt *s, const Part *p)
{
    for (int i = 0; i < p->n; i++)
        if (group_reads(alone(x, s), p->stmt[i]->tensor))
            return true;
    return false;
}

static void put(const Tails *x, Part *p, Stmt *s)
{
    int i = p->n++;

    for (; i > 0 && x->at[p->stmt[i - 1]->id] > x->at[s->id]; i--)
        p->stmt[i] = p->stmt[i - 1];
    p->stmt[i] = s;
}

static Part part_of(const Tails *x, int has, int other, const Part *rest)
{
    int most = x->u->unit[has].group->n_stmt + x->u->unit[other].group->n_stmt;

    return (Part){x, has, other, arena_array(x->g->arena, Stmt *, most + 1), 0,
                  0, rest};
}

/* Unit c's statements: those that wait for unit q's go behind these, the
 * others are its own. */
static void divide(const Tails *x, int c, Part *own, Part *with)
{
    const Group *gr = x->u->unit[c].group;
    Part all = part_of(x, c, c, NULL);

    for (int i = 0; i < gr->n_stmt; i++)
        put(x, &all, gr->stmt[i]);
    for (int i = 0; i < all.n; i++)
        put(x, waits_for(x, all.stmt[i], with) ? with : own, all.stmt[i]);
}

/* ---- the two as they would be */

static bool read_by(const Part *p, int from, const Tensor *t)
{
    for (int i = from; i < p->n; i++)
        if (group_reads(alone(p->x, p->stmt[i]), t))
            return true;
    return false;
}

static bool is_needed(const Tensor *t, void *ctx)
{
    const Part *p = ctx;
    const Ints *readers = &p->x->u->readers[t->id];

    for (int i = 0; i < readers->n; i++)
        if (readers->v[i] != p->has && readers->v[i] != p->other)
            return true;
    return read_by(p, p->come, t) || read_by(p->rest, 0, t);
}

/* NULL if they are not one product. */
static Group *make(Part *p)
{
    Assembly a = {.g = p->x->g, .outside = is_needed, .ctx = p};

    if (!p->n || p->n > ASSEMBLE_MOST)
        return NULL;
    while (p->come < p->n)
        assemble_next(&a, alone(p->x, p->stmt[p->come++]));
    return a.n == 1 && group_multiplies(p->x->g, a.group[0]) ? a.group[0]
                                                            : NULL;
}

static double time_of(const Tails *x, Group *gr)
{
    const Choice *c = gr ? choose_variant(x->u->s, gr) : NULL;

    return c && c->family ? c->cost.us : INFINITY;
}

/* Above 0: unit q should have the tail that unit c has; 0: either. */
static int64_t prefers(const Tails *x, int q, int c)
{
    int64_t longer = group_cols(x->u->unit[q].group) -
                     group_cols(x->u->unit[c].group);

    return longer ? longer : x->depth[q] - x->depth[c];
}

static bool move(const Tails *x, int q, int c, double told)
{
    Units *u = x->u;
    int64_t wanted = prefers(x, q, c);
    Part own = part_of(x, c, q, NULL), with = part_of(x, c, q, &own);

    own.rest = &with;
    if (!wanted || units_path_around(u, q, c))
        return false;
    for (int i = 0; i < u->unit[q].group->n_stmt; i++)
        put(x, &with, u->unit[q].group->stmt[i]);
    divide(x, c, &own, &with);
    Group *less = make(&own), *more = less ? make(&with) : NULL;
    double now = u->unit[q].us + u->unit[c].us;
    double then = time_of(x, less) + time_of(x, more);
    if (wanted > 0 ? then * told > now : then >= now * told)
        return false;
    int first = x->at[own.stmt[own.n - 1]->id];
    units_join(u, q, c);
    units_join(u, c, q);
    units_set(u, c, more);
    units_set(u, q, less);
    u->unit[q].first = first;
    return true;
}

/* ---- all */

static void find_depths(const Tails *x)
{
    Units *u = x->u;
    int *order = arena_array(x->g->arena, int, u->n + 1);
    int n = units_sort(u, order);

    for (int i = 0; i < n; i++) {
        const Ints *reads = &u->unit[order[i]].reads;
        int *depth = &x->depth[order[i]];
        for (int k = 0; k < reads->n; k++) {
            const Ints *by = &u->writers[reads->v[k]];
            for (int w = 0; w < by->n; w++)
                if (by->v[w] != order[i] && x->depth[by->v[w]] >= *depth)
                    *depth = x->depth[by->v[w]] + 1;
        }
    }
}

void tails_place(Units *u, double told)
{
    Graph *g = u->g;
    Tails x = {u, g, arena_array(g->arena, int, g->n_made + 1),
               arena_array(g->arena, int, u->n + 1)};

    for (int i = 0; i < g->n_stmt; i++)
        x.at[g->stmt[i]->id] = i;
    find_depths(&x);
    for (int c = 0; c < u->n; c++) {
        bool moved = !is_plain(&u->unit[c]) ||
                     !group_multiplies(g, u->unit[c].group);
        for (int i = 0; !moved && i < u->unit[c].reads.n; i++) {
            const Ints *by = &u->writers[u->unit[c].reads.v[i]];
            int q = by->n == 1 ? by->v[0] : c;
            moved = q != c && is_for(u, q, c) && is_plain(&u->unit[q]) &&
                    group_multiplies(g, u->unit[q].group) &&
                    move(&x, q, c, told);
        }
    }
}
