#include "search/renew.h"

#include "group/groups.h"

#include <string.h>

typedef struct Renew {
    Selection *s;
    Graph *g;
    const Tensor *from; /* the parameter */
    Tensor *copy;
    Tensor *next;       /* what a run leaves of the parameter */
    int update;         /* the group that makes it */
    int last;           /* the last one that reads the copy */
} Renew;

static const Tensor *base_of(const Tensor *t)
{
    while (t->prev || t->host)
        t = t->prev ? t->prev : t->host;
    return t;
}

/* The one later version of the parameter; NULL: none, or several. */
static Tensor *only_version(const Graph *g, const Tensor *from)
{
    Tensor *found = NULL;

    for (int i = 0; i < g->n_tensor; i++) {
        Tensor *t = g->tensor[i];
        if (t == from || base_of(t) != from)
            continue;
        if (found)
            return NULL;
        found = t;
    }
    return found && found->prev == from ? found : NULL;
}

/* A step of the group stores all of the tensor. */
static bool makes_all(const Group *gr, const Tensor *t)
{
    int64_t points = group_rows(gr);

    for (int i = 0; i < gr->n_step; i++) {
        const Step *s = &gr->step[i];
        if (s->tensor == t)
            return !s->where.n && !s->needed.n &&
                   points * (s->over_cols ? group_cols(gr) : 1) ==
                       tensor_elems(t);
    }
    return false;
}

static bool touches(const Group *gr, const Tensor *t)
{
    for (int i = 0; i < gr->n_arg; i++)
        if (base_of(gr->arg[i]) == t)
            return true;
    return false;
}

static bool find_groups(Renew *r)
{
    const Selection *s = r->s;

    r->update = r->last = -1;
    for (int i = 0; i < s->n_group; i++) {
        const Group *gr = s->group[i];
        if (group_stores(gr, r->next)) {
            if (r->update >= 0 || !makes_all(gr, r->next))
                return false;
            r->update = i;
        }
        if (touches(gr, r->copy))
            r->last = i;
    }
    return r->update >= 0 && s->group[r->update]->when == WHEN_RUN &&
           !touches(s->group[r->update], r->copy);
}

/* May b, which stands behind a, be ahead of it? They share no memory that one
 * of them writes. */
static bool are_free(const Group *a, const Group *b)
{
    for (int i = 0; i < a->n_arg; i++)
        for (int k = 0; k < b->n_arg; k++)
            if (base_of(a->arg[i]) == base_of(b->arg[k]) &&
                (group_stores(a, a->arg[i]) || group_stores(b, b->arg[k])))
                return false;
    return true;
}

/* The update can be behind all that read the copy. */
static bool may_wait(const Renew *r)
{
    const Selection *s = r->s;

    for (int i = r->update + 1; i <= r->last; i++)
        if (!are_free(s->group[r->update], s->group[i]))
            return false;
    return true;
}

/* A tensor that lies as the copy does, in its place. */
static Tensor *renewed(const Renew *r)
{
    const Tensor *c = r->copy;
    Tensor *t = graph_tensor_like(r->g, c, c->type, c->rank, c->dim);

    for (int d = 0; d < c->rank; d++)
        t->stride[d] = c->stride[d];
    t->span = c->span;
    t->align = c->align;
    t->prev = r->copy;
    return t;
}

/* The update, with a step behind the others that stores the parameter's next
 * value rounded, too. */
static Group *with_rounding(const Renew *r, Tensor *to)
{
    Group *gr = group_copy(r->g, r->s->group[r->update]);
    Step *step = arena_array(r->g->arena, Step, gr->n_step + 1);
    int made = 0;

    memcpy(step, gr->step, sizeof *step * (size_t)gr->n_step);
    while (step[made].tensor != r->next)
        made++;
    step[gr->n_step] = step[made];
    step[gr->n_step].op = R_NONE;
    step[gr->n_step].value = expr_local(r->g, made, step[made].type);
    step[gr->n_step].tensor = to;
    gr->step = step;
    gr->n_step++;
    return gr;
}

/* The update that stores both, if that takes less than the copy does. */
static Group *both_of(const Renew *r, const Group *copy)
{
    const Group *update = r->s->group[r->update];

    if (update->chain || update->merge || update->pieces ||
        update->n_step >= MAX_STEPS)
        return NULL;
    Tensor *to = renewed(r);
    Group *both = with_rounding(r, to);
    const Choice *c = choose_variant(r->s, both);
    if (!c->family ||
        c->cost.us >= update->predicted_us + copy->predicted_us)
        return NULL;
    both->family = c->family;
    both->variant = c->best;
    both->predicted_us = c->cost.us;
    to->renewed = true;
    return both;
}

static void put_behind(Selection *s, int from, int to, Group *gr)
{
    for (int i = from; i < to; i++)
        s->group[i] = s->group[i + 1];
    s->group[to > from ? to : from] = gr;
}

/* The copy lies there when a run begins, as a constant does: what groups have
 * counted of it when it was one more value of the run was less. */
static void make_constant(const Renew *r)
{
    r->copy->renewed = true;
    r->copy->when = WHEN_LOAD;
    for (int i = 0; i < r->s->n_group; i++)
        if (touches(r->s->group[i], r->copy))
            group_forget(r->s->group[i]);
}

void renew_copy(Selection *s, int i, Tensor *from)
{
    Group *copy = s->group[i];
    Renew r = {.s = s, .g = s->graph, .from = from,
               .copy = copy->step->tensor};

    r.next = only_version(r.g, from);
    if (!r.next || !find_groups(&r) || !may_wait(&r))
        return;
    Group *both = both_of(&r, copy);
    if (!both)
        return;
    put_behind(s, r.update, r.last, both);
    make_constant(&r);
    copy->when = WHEN_LOAD;
}
