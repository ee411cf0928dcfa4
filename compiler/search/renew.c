#include "search/renew.h"

#include "group/groups.h"

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
        for (int k = 0; k < gr->n_arg; k++)
            if (base_of(gr->arg[k]) == r->copy)
                r->last = i;
    }
    return r->update >= 0 && s->group[r->update]->when == WHEN_RUN;
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

static const Stmt *source_of(const Group *gr, const Tensor *t)
{
    const Step *s = gr->step;

    while (s->tensor != t)
        s++;
    return s->source;
}

/* What the next run reads: next[..], rounded; told as what makes that. */
static Stmt *rounding(const Renew *r)
{
    Graph *g = r->g;
    const Tensor *c = r->copy;
    const Stmt *like = source_of(r->s->group[r->update], r->next);
    Stmt *s = graph_stmt(g);
    const Idx **at = arena_array(g->arena, const Idx *, c->rank + 1);
    Tensor *t = graph_tensor_like(g, c, c->type, c->rank, c->dim);

    for (int d = 0; d < c->rank; d++)
        t->stride[d] = c->stride[d];
    t->span = c->span;
    t->align = c->align;
    t->prev = r->copy;
    s->out = arena_array(g->arena, const Var *, c->rank + 1);
    s->n_out = c->rank;
    for (int d = 0; d < c->rank; d++) {
        s->out[d] = idx_new_var(
            g->pool, arena_printf(g->arena, "%c", 'i' + d), c->dim[d]);
        at[d] = idx_var(g->pool, s->out[d]);
    }
    s->value = expr_read(g, r->next, at, (Guard){0}, NULL);
    s->tensor = t;
    s->store = at;
    s->path = like->path;
    s->at = like->at;
    s->call = like->call;
    return s;
}

/* The update that stores both, if that takes less than the copy does. */
static Group *both_of(const Renew *r, const Group *copy)
{
    const Group *update = r->s->group[r->update];
    Stmt *s = rounding(r);
    const char *why;
    Group *both = fuse(r->g, update, group_of(r->g, s), r->next, true, &why);
    const Choice *c;

    if (!both)
        return NULL;
    both->n_stmt = update->n_stmt; /* a plan has no more */
    c = choose_variant(r->s, both);
    if (!c->family ||
        c->cost.us >= update->predicted_us + copy->predicted_us)
        return NULL;
    both->family = c->family;
    both->variant = c->best;
    both->predicted_us = c->cost.us;
    s->tensor->renewed = true;
    return both;
}

static void put_behind(Selection *s, int from, int to, Group *gr)
{
    for (int i = from; i < to; i++)
        s->group[i] = s->group[i + 1];
    s->group[to > from ? to : from] = gr;
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
    r.copy->renewed = true;
    r.copy->when = WHEN_LOAD;
    copy->when = WHEN_LOAD;
}
