#include "search/rows.h"

#include "group/groups.h"

#include <math.h>
#include <string.h>

enum { MOST_READERS = 8 };

typedef struct RowsPlace {
    Units *u;
    int r;
    int reader[MOST_READERS]; int n;
    Group *group[MOST_READERS]; /* of the readers */
} RowsPlace;

static bool pinned(const Group *gr)
{
    for (int i = 0; i < gr->n_stmt; i++)
        if (gr->stmt[i]->notes & NOTE_NOFUSE)
            return true;
    return false;
}

static bool add_reader(RowsPlace *x, int unit)
{
    for (int i = 0; i < x->n; i++)
        if (x->reader[i] == unit)
            return true;
    if (x->n == MOST_READERS || unit == x->r ||
        pinned(x->u->unit[unit].group))
        return false;
    x->reader[x->n++] = unit;
    return true;
}

/* All units that read what r stores; false if it is needed besides. */
static bool find_readers(RowsPlace *x)
{
    const Units *u = x->u;
    const Ints *w = &u->unit[x->r].writes;

    for (int i = 0; i < w->n; i++) {
        const Ints *list = &u->readers[w->v[i]];
        if (u->later[w->v[i]].n)
            return false;
        for (int k = 0; k < list->n; k++)
            if (!add_reader(x, list->v[k]))
                return false;
    }
    return x->n > 0;
}

/* What they take with the values computed in each; infinite if one cannot. */
static double time_with(RowsPlace *x)
{
    const char *why;
    double us = 0;

    for (int i = 0; i < x->n; i++) {
        const Group *c = x->u->unit[x->reader[i]].group;
        x->group[i] = rows_taken(x->u->g, x->u->unit[x->r].group, c, i == 0,
                                 &why);
        if (!x->group[i])
            return INFINITY;
        const Choice *v = choose_variant(x->u->s, x->group[i]);
        us += v->family ? v->cost.us : INFINITY;
    }
    return us;
}

static bool wanted(const Options *o)
{
    for (int i = 0; i < o->n_prefer; i++)
        if (!strcmp(o->prefer[i], "contract_skinny"))
            return true;
    return false;
}

/* By a plan, or if the model predicts less time. False if it stays. */
static bool place(Units *u, int r, bool planned)
{
    RowsPlace x = {.u = u, .r = r};
    const Group *gr = u->unit[r].group;
    double apart = u->unit[r].us;

    if (!rows_alone(gr) || pinned(gr) || !find_readers(&x))
        return false;
    for (int i = 0; i < x.n; i++)
        apart += u->unit[x.reader[i]].us;
    double us = time_with(&x);
    if (isinf(us) || (us >= apart && !planned && !wanted(u->s->options)))
        return false;
    x.group[0]->apart_us = apart;
    x.group[0]->norm_us = us;
    recipe_add(u, &(Placed){.kind = PLACED_ROWS, .unit = r});
    for (int i = 0; i < x.n; i++) {
        units_join(u, r, x.reader[i]);
        units_set(u, x.reader[i], x.group[i]);
    }
    units_drop(u, r);
    return true;
}

const char *rows_take(Units *u, const Placed *as)
{
    return place(u, as->unit, true)
               ? NULL : "its readers cannot compute these values of rows";
}

void rows_place(Units *u)
{
    for (int i = 0; i < u->n; i++)
        if (u->unit[i].group)
            place(u, i, false);
}
