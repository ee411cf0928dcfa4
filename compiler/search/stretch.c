#include "search/stretch.h"

#include "search/assemble.h"

#include <math.h>

enum { LONGEST = 8 }; /* units of a stretch */

/* What the first 1, 2, ... units from a place on take as one. */
typedef struct Times {
    double us[LONGEST];
} Times;

typedef struct Row {
    Units *u;
    Graph *g;
    int *order, n; /* units, as they may run */
    int *at;       /* by unit: where it stands there */
    Times **times; /* by place */
    Map *known;    /* signature -> Times */
} Row;

typedef struct Stretch {
    const Row *row;
    int from, to; /* places */
} Stretch;

/* ---- cutting */

double stretches_cut(int n, int longest,
                     double (*us_of)(int i, int j, void *ctx), void *ctx,
                     int *from)
{
    const double least = 1e-6; /* microseconds: sums are rounded */
    double best[n + 1];

    best[0] = 0;
    for (int j = 0; j < n; j++) {
        from[j] = j;
        best[j + 1] = best[j] + us_of(j, j, ctx);
        for (int i = j - 1; i >= 0 && j - i < longest; i--) {
            double us = best[i] + us_of(i, j, ctx);
            if (us < best[j + 1] - least) {
                best[j + 1] = us;
                from[j] = i;
            }
        }
    }
    return best[n];
}

/* ---- what may be in a stretch */

static Group *group_at(const Row *r, int place)
{
    return r->u->unit[r->order[place]].group;
}

/* Memory that several tensors share is for who merges by pairs. */
static bool shares_memory(const Units *u, const Tensor *t)
{
    return t->prev || t->host || u->later[t->id].n || u->guests[t->id].n;
}

static bool is_plain(const Row *r, int place)
{
    const Unit *x = &r->u->unit[r->order[place]];
    const Group *gr = x->group;

    if (gr->when != WHEN_RUN || gr->chain || gr->merge || gr->pieces ||
        isinf(x->us))
        return false;
    for (int i = 0; i < gr->n_stmt; i++)
        if (gr->stmt[i]->notes || gr->stmt[i]->for_fold)
            return false;
    for (int i = 0; i < gr->n_arg; i++)
        if (shares_memory(r->u, gr->arg[i]))
            return false;
    return true;
}

/* ---- one stretch */

static bool is_needed(const Tensor *t, void *ctx)
{
    const Stretch *s = ctx;
    const Ints *readers = &s->row->u->readers[t->id];

    for (int i = 0; i < readers->n; i++) {
        int at = s->row->at[readers->v[i]];
        if (at < s->from || at > s->to)
            return true;
    }
    return false;
}

static void take_next(Assembly *a, Stretch *s)
{
    a->ctx = s;
    assemble_next(a, group_at(s->row, s->to));
}

/* Units from..to as one group, or NULL. */
static Group *make(const Row *r, int from, int to)
{
    Stretch s = {r, from, from};
    Assembly a = {.g = r->g, .outside = is_needed};

    for (; s.to <= to; s.to++)
        take_next(&a, &s);
    return a.n == 1 ? a.group[0] : NULL;
}

static double time_of(const Row *r, Group *gr)
{
    const Choice *c = choose_variant(r->u->s, gr);

    return c->family ? c->cost.us : INFINITY;
}

static Times *try_from(const Row *r, int from)
{
    Times *t = arena_new_of(r->g->arena, Times);
    Stretch s = {r, from, from};
    Assembly a = {.g = r->g, .outside = is_needed};

    take_next(&a, &s);
    t->us[0] = r->u->unit[r->order[from]].us;
    for (int k = 1; k < LONGEST; k++)
        t->us[k] = INFINITY;
    for (int k = 1; k < LONGEST && from + k < r->n; k++) {
        s.to = from + k;
        if (!is_plain(r, from) || !is_plain(r, s.to))
            break;
        take_next(&a, &s);
        if (a.n == 1)
            t->us[k] = time_of(r, a.group[0]);
    }
    return t;
}

/* ---- equal stretches */

typedef struct Signature {
    Buf b;
    const Row *row;
    int from;
    const Tensor *arg[LONGEST * MAX_STEPS];
    int n;
} Signature;

/* The last place that reads t, counted from the first of the stretch. */
static int last_reader(const Signature *s, const Tensor *t)
{
    const Ints *readers = &s->row->u->readers[t->id];
    int last = t->role == ROLE_TEMP ? -1 : LONGEST;

    for (int i = 0; i < readers->n; i++) {
        int at = s->row->at[readers->v[i]] - s->from;
        last = at > last ? at : last;
    }
    return last < LONGEST ? last : LONGEST;
}

static void sign_arg(Signature *s, const Tensor *t)
{
    int i = 0;

    while (i < s->n && s->arg[i] != t)
        i++;
    buf_putc(&s->b, ' ');
    buf_putd(&s->b, i);
    if (i < s->n || s->n == LONGEST * MAX_STEPS)
        return;
    s->arg[s->n++] = t;
    buf_putc(&s->b, '<');
    buf_putd(&s->b, last_reader(s, t));
    for (int d = 0; d < t->rank; d++) {
        buf_putc(&s->b, ',');
        buf_putd(&s->b, t->dim[d]);
    }
}

/* What its units are, which of their tensors are the same, and who else needs
 * them. */
static const char *sign(const Row *r, int from)
{
    Signature s = {.row = r, .from = from};

    for (int k = 0; k < LONGEST && from + k < r->n; k++) {
        Group *gr = group_at(r, from + k);
        if (!is_plain(r, from + k))
            break;
        buf_putc(&s.b, ';');
        buf_putd(&s.b, (intptr_t)choose_variant(r->u->s, gr));
        for (int i = 0; i < gr->n_arg; i++)
            sign_arg(&s, gr->arg[i]);
    }
    return buf_take(&s.b, r->g->arena);
}

static Times *times_from(Row *r, int from)
{
    const char *key = sign(r, from);
    Times *t = *key ? map_get(r->known, key) : try_from(r, from);

    if (!t) {
        t = try_from(r, from);
        map_put(r->known, key, t);
    }
    return t;
}

/* ---- all */

static double time_between(int i, int j, void *ctx)
{
    const Row *r = ctx;

    return r->times[i]->us[j - i];
}

static bool replace(Row *r, int from, int to, double share)
{
    Group *gr = make(r, from, to);
    double apart = 0;

    for (int i = from; i <= to; i++)
        apart += r->u->unit[r->order[i]].us;
    if (!gr || time_of(r, gr) >= share * apart)
        return false;
    for (int i = from; i < to; i++)
        units_join(r->u, r->order[i], r->order[to]);
    units_set(r->u, r->order[to], gr);
    for (int i = from; i < to; i++)
        units_drop(r->u, r->order[i]);
    return true;
}

bool stretches_place(Units *u, double share)
{
    Arena *a = u->g->arena;
    Row r = {.u = u, .g = u->g, .known = map_new(a)};
    bool changed = false;

    r.order = arena_array(a, int, u->n + 1);
    r.at = arena_array(a, int, u->n + 1);
    r.times = arena_array(a, Times *, u->n + 1);
    r.n = units_sort(u, r.order);
    for (int i = 0; i < r.n; i++)
        r.at[r.order[i]] = i;
    for (int i = 0; i < r.n; i++)
        r.times[i] = times_from(&r, i);
    int *from = arena_array(a, int, r.n + 1);
    stretches_cut(r.n, LONGEST, time_between, &r, from);
    for (int j = r.n - 1; j >= 0; j = from[j] - 1)
        if (from[j] < j)
            changed |= replace(&r, from[j], j, share);
    return changed;
}
