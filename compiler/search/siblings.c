#include "search/siblings.h"

#include "group/groups.h"
#include "search/copies.h"

#include <math.h>

enum { MOST_READERS = 16, /* of one tensor: a table that all read tells none
                             that it is another's sibling */
       SHORT = 4,         /* launches that a short kernel takes at most */
       AHEAD = 64, TRIES = 4 }; /* units that are looked at, and tried */

static bool pinned(const Group *gr)
{
    for (int i = 0; i < gr->n_stmt; i++)
        if (gr->stmt[i]->notes & NOTE_NOFUSE)
            return true;
    return false;
}

/* Points side by side, chains of the same scores, or a product with the sum of
 * one of its factors. */
static Group *one_of(Graph *g, const Group *a, const Group *b)
{
    Group *gr = fuse_siblings(g, a, b);

    if (!gr)
        gr = chain_twins(g, a, b);
    if (!gr)
        gr = fuse_factor_sum(g, a, b);
    return gr ? gr : fuse_factor_sum(g, b, a);
}

/* By a plan, or if the model predicts less time. False if they stay apart. */
static bool place(Units *u, int a, int b, bool planned)
{
    Unit *x = &u->unit[a], *y = &u->unit[b];
    int both[] = {a, b};

    if (pinned(x->group) || pinned(y->group) || units_apart(x->group, y->group))
        return false;
    Group *gr = one_of(u->g, x->group, y->group);
    if (!gr || units_surround(u, both, 2))
        return false;
    const Choice *c = choose_variant(u->s, gr);
    if (!c->family || (c->cost.us >= x->us + y->us && !planned))
        return false;
    gr->beside_us = x->us + y->us;
    recipe_add(u, &(Placed){.kind = PLACED_BESIDE, .unit = a, .other = &b,
                            .n = 1});
    units_join(u, a, b);
    units_set(u, b, gr);
    units_drop(u, a);
    return true;
}

/* ---- a factor's sum that is made with the factor ------------------------- */

typedef struct Split {
    Units *u;
    int c, p;        /* what makes the factor and sums it, the product */
    Group *product, *points;
    int into;        /* the unit that takes the points in, or -1 */
    Group *made;     /* of it */
} Split;

static double time_of(const Split *s, Group *gr)
{
    const Choice *c = choose_variant(s->u->s, gr);

    return c->family ? c->cost.us : INFINITY;
}

/* A product of whose result the points are made, and that alone. */
static bool find_into(Split *s, int w)
{
    Units *u = s->u;
    const Group *of = u->unit[w].group;
    const char *why;

    if (w == s->p || pinned(of) || !group_multiplies(u->g, of) ||
        units_path_around(u, w, s->c))
        return false;
    for (int i = 0; i < of->n_step && !s->made; i++) {
        Tensor *t = of->step[i].tensor;
        if (t && group_reads(s->points, t) && !units_need(u, t, w, s->c))
            s->made = fuse(u->g, of, s->points, t, false, &why);
    }
    s->into = s->made ? w : -1;
    return s->made;
}

static void place_points(Split *s)
{
    const Ints *reads = &s->u->unit[s->c].reads;

    s->into = -1;
    for (int r = 0; r < reads->n; r++) {
        const Ints *w = &s->u->writers[reads->v[r]];
        if (w->n == 1 && find_into(s, w->v[0]))
            return;
    }
}

static double time_split(const Split *s)
{
    return time_of(s, s->product) +
           time_of(s, s->into < 0 ? s->points : s->made);
}

static double time_apart(const Split *s)
{
    const Unit *unit = s->u->unit;

    return unit[s->c].us + unit[s->p].us +
           (s->into < 0 ? 0 : unit[s->into].us);
}

static void apply(const Split *s)
{
    Units *u = s->u;
    int other[] = {s->p, s->into};

    s->product->beside_us = time_apart(s);
    recipe_add(u, &(Placed){.kind = PLACED_BESIDE, .unit = s->c,
                            .other = other, .n = s->into < 0 ? 1 : 2});
    units_join(u, s->c, s->p);
    units_set(u, s->p, s->product);
    if (s->into < 0) {
        units_set(u, s->c, s->points);
        return;
    }
    units_join(u, s->c, s->into);
    units_set(u, s->into, s->made);
    units_drop(u, s->c);
}

/* Unit c's sum goes to product p; what it is of, to the product that makes what
 * that is of, if that takes less. `into`: as a plan has it. */
static bool place_split(Units *u, int c, int p, bool planned, int into)
{
    Split s = {.u = u, .c = c, .p = p, .into = -1};
    const Group *x = u->unit[c].group, *y = u->unit[p].group;

    if (pinned(x) || pinned(y) || units_apart(x, y))
        return false;
    s.product = split_factor_sum(u->g, y, x, &s.points);
    if (!s.product || units_path_around(u, c, p))
        return false;
    Split alone = s;
    place_points(&s);
    if (planned ? into != s.into
                : s.into < 0 || time_split(&s) - time_apart(&s) >=
                                    time_split(&alone) - time_apart(&alone))
        s = alone;
    if (planned ? into != s.into : time_split(&s) >= time_apart(&s))
        return false;
    apply(&s);
    return true;
}

static bool place_in(Units *u, int i, const Ints *list)
{
    for (int k = 0; k < list->n && list->n <= MOST_READERS; k++) {
        int j = list->v[k];
        if (j > i && place(u, i, j, false))
            return true;
        if (j != i && place_split(u, i, j, false, -1))
            return true;
    }
    return false;
}

/* The same that reads another result of a unit which makes tensor t. */
static bool place_beside(Units *u, int i, int t)
{
    const Ints *makers = &u->writers[t];

    for (int k = 0; k < makers->n && makers->n <= MOST_READERS; k++) {
        const Ints *writes = &u->unit[makers->v[k]].writes;
        for (int w = 0; w < writes->n && writes->n <= MOST_READERS; w++)
            if (place_in(u, i, &u->readers[writes->v[w]]))
                return true;
    }
    return false;
}

/* The first sibling behind unit i takes it in: one that reads what it reads, or
 * another result of what makes that, or makes another part of what it makes. */
static bool find_sibling(Units *u, int i)
{
    const Ints *reads = &u->unit[i].reads, *writes = &u->unit[i].writes;

    for (int r = 0; r < reads->n; r++)
        if (place_in(u, i, &u->readers[reads->v[r]]))
            return true;
    for (int r = 0; r < reads->n; r++)
        if (place_beside(u, i, reads->v[r]))
            return true;
    for (int w = 0; w < writes->n; w++)
        if (place_in(u, i, &u->writers[writes->v[w]]) ||
            place_in(u, i, &u->readers[writes->v[w]]))
            return true;
    return false;
}

static bool is_short(const Units *u, const Unit *x)
{
    return x->group && x->group->when == WHEN_RUN &&
           x->us <= SHORT * u->s->options->device->launch_us &&
           !copies_has(u->g, x->group);
}

static bool same_points(const Group *a, const Group *b)
{
    if (a->n_rows != b->n_rows || a->n_cols != b->n_cols)
        return false;
    for (int i = 0; i < a->n_rows; i++)
        if (a->rows[i]->extent != b->rows[i]->extent)
            return false;
    for (int i = 0; i < a->n_cols; i++)
        if (a->cols[i]->extent != b->cols[i]->extent)
            return false;
    return true;
}

/* Unit i and one behind it, neither of which is in this round's. */
static bool find_short(Units *u, int i, bool *taken)
{
    int end = i + AHEAD < u->n ? i + AHEAD : u->n;
    int tries = 0;

    for (int j = i + 1; j < end && tries < TRIES; j++)
        if (!taken[j] && is_short(u, &u->unit[j]) &&
            same_points(u->unit[i].group, u->unit[j].group)) {
            if (place(u, i, j, false))
                return taken[j] = true;
            tries++;
        }
    return false;
}

/* What takes hardly more than its launch needs no other reason: the steps that
 * each parameter's optimizer counts, updates of many norms' gains. Two of a
 * size at a time, as what is between is kept. */
static bool pair_short(Units *u)
{
    bool *taken = arena_array(u->g->arena, bool, u->n);
    bool any = false;

    for (int i = 0; i < u->n; i++)
        if (!taken[i] && is_short(u, &u->unit[i]))
            any |= find_short(u, i, taken);
    return any;
}

const char *siblings_take(Units *u, const Placed *as)
{
    int into = as->n == 2 ? as->other[1] : -1;

    return as->n >= 1 && as->other[0] != as->unit &&
                   ((as->n == 1 && place(u, as->unit, as->other[0], true)) ||
                    place_split(u, as->unit, as->other[0], true, into))
               ? NULL : "these cannot be one";
}

void siblings_place(Units *u)
{
    for (int i = 0; i < u->n; i++) {
        const Group *gr = u->unit[i].group;
        if (gr && gr->when == WHEN_RUN)
            find_sibling(u, i);
    }
    while (pair_short(u))
        continue;
}
