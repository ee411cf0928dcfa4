#include "search/siblings.h"

#include "group/groups.h"

enum { MOST_READERS = 16 }; /* of one tensor: a table that all read tells none
                               that it is another's sibling */

static bool pinned(const Group *gr)
{
    for (int i = 0; i < gr->n_stmt; i++)
        if (gr->stmt[i]->notes & NOTE_NOFUSE)
            return true;
    return false;
}

/* By a plan, or if the model predicts less time. False if they stay apart. */
static bool place(Units *u, int a, int b, bool planned)
{
    Unit *x = &u->unit[a], *y = &u->unit[b];
    int both[] = {a, b};

    if (pinned(x->group) || pinned(y->group) || units_apart(x->group, y->group))
        return false;
    Group *gr = fuse_siblings(u->g, x->group, y->group);
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

static bool place_in(Units *u, int i, const Ints *list)
{
    for (int k = 0; k < list->n && list->n <= MOST_READERS; k++) {
        int j = list->v[k];
        if (j > i && place(u, i, j, false))
            return true;
    }
    return false;
}

/* The first sibling behind unit i takes it in: one that reads what it reads, or
 * makes another part of what it makes. */
static bool find_sibling(Units *u, int i)
{
    const Ints *reads = &u->unit[i].reads, *writes = &u->unit[i].writes;

    for (int r = 0; r < reads->n; r++)
        if (place_in(u, i, &u->readers[reads->v[r]]))
            return true;
    for (int w = 0; w < writes->n; w++)
        if (place_in(u, i, &u->writers[writes->v[w]]))
            return true;
    return false;
}

const char *siblings_take(Units *u, const Placed *as)
{
    return as->n == 1 && as->other[0] != as->unit &&
                   place(u, as->unit, as->other[0], true)
               ? NULL : "these cannot be one";
}

void siblings_place(Units *u)
{
    for (int i = 0; i < u->n; i++) {
        const Group *gr = u->unit[i].group;
        if (gr && gr->when == WHEN_RUN)
            find_sibling(u, i);
    }
}
