#include "search/chains.h"

#include <string.h>

enum { MAX_FIRSTS = 8, FAILED = 64 };

/* A unit that did not lead to the first one, from so deep and beside so many
 * members. */
typedef struct Failed {
    int unit, depth, n;
} Failed;

typedef struct Find {
    const Units *u;
    int last;
    int path[CHAIN_MOST], n_path; /* from the last one back */
    int seen[64], n_seen;         /* walked through already */
    Failed failed[FAILED];        /* by unit; of two the later one */
    ChainFound *out;
} Find;

static bool writes(const Group *gr, const Tensor *t)
{
    for (int i = 0; i < gr->n_step; i++)
        if (gr->step[i].tensor == t)
            return true;
    return false;
}

static Group *group_at(const Find *f, int unit)
{
    return f->u->unit[unit].group;
}

/* Units keep whether they are products. */
static bool heavy(const Units *u, int unit)
{
    Unit *x = &u->unit[unit];

    if (x->weight == UNKNOWN)
        x->weight = chain_heavy(u->g, x->group) ? HEAVY : LIGHT;
    return x->weight == HEAVY;
}

/* A reduction over so little that its reader may make it: a window. */
static bool window(const Group *gr)
{
    enum { MOST = 64 };
    bool reduces = false;

    for (int i = 0; i < gr->n_step; i++)
        reduces |= gr->step[i].op != R_NONE;
    return reduces && !gr->chain && !gr->merge && !gr->pieces &&
           group_cols(gr) <= MOST;
}

/* The only unit that writes t, or -1. */
static int writer(const Find *f, const Tensor *t)
{
    const Ints *w = &f->u->writers[t->id];

    return w->n == 1 ? w->v[0] : -1;
}

static bool is_member(const Find *f, int u)
{
    for (int i = 0; i < f->out->n; i++)
        if (f->out->member[i] == u)
            return true;
    return false;
}

static bool all_members(const Find *f, const Ints *units)
{
    for (int i = 0; i < units->n; i++)
        if (!is_member(f, units->v[i]))
            return false;
    return true;
}

/* Nobody but the members knows what a member stores. */
static bool private(const Find *f, const Tensor *t)
{
    return t->role == ROLE_TEMP && !t->prev && !t->host &&
           !f->u->later[t->id].n && all_members(f, &f->u->readers[t->id]) &&
           all_members(f, &f->u->writers[t->id]);
}

/* Nor that of what those before the last store, but for what those between the
 * products keep. */
static bool all_private(Find *f)
{
    ChainFound *c = f->out;

    c->kept.n = 0;
    for (int i = 0; i + 1 < c->n; i++) {
        const Group *gr = group_at(f, c->member[i]);
        bool between = i > 0 && !heavy(f->u, c->member[i]);
        for (int k = 0; k < gr->n_step; k++) {
            const Tensor *t = gr->step[k].tensor;
            if (t && !private(f, t) &&
                (!between || f->u->later[t->id].n ||
                 !all_members(f, &f->u->writers[t->id]) ||
                 !chain_keep(&c->kept, t)))
                return false;
        }
    }
    return true;
}

/* Was it tried from as high, when there were as many members? Paths through
 * what many read are as many as there are ways. */
static bool failed_before(const Find *f, int u, int depth)
{
    const Failed *x = &f->failed[u % FAILED];

    return x->unit == u && x->depth <= depth && x->n == f->out->n;
}

/* Units between the first and the last: those that both lead to it and are
 * read on the way. */
static bool leads_to(Find *f, int u, int first, int depth)
{
    bool found = u == first;

    if (is_member(f, u))
        return true;
    if (found) {
        f->out->member[f->out->n++] = u;
        return true;
    }
    if (depth == CHAIN_MOST || group_at(f, u)->chain ||
        (u != f->last && heavy(f->u, u)) || failed_before(f, u, depth))
        return false;
    for (int i = 0; i < group_at(f, u)->n_arg; i++) {
        const Tensor *t = group_at(f, u)->arg[i];
        int w = t->role == ROLE_TEMP && !writes(group_at(f, u), t)
                    ? writer(f, t) : -1;
        if (w >= 0 && w != u && f->out->n < CHAIN_MOST - 1)
            found |= leads_to(f, w, first, depth + 1);
    }
    if (found && f->out->n < CHAIN_MOST)
        f->out->member[f->out->n++] = u;
    if (!found)
        f->failed[u % FAILED] = (Failed){u, depth, f->out->n};
    return found;
}

/* Another product that a member reads, made for it: behind the first one. */
static void add_other(Find *f)
{
    ChainFound *c = f->out;

    for (int i = 0; i + 1 < c->n; i++) {
        const Group *gr = group_at(f, c->member[i]);
        for (int k = 0; k < gr->n_arg && c->n < CHAIN_MOST; k++) {
            const Tensor *t = gr->arg[k];
            int w = t->own && !writes(gr, t) ? writer(f, t) : -1;
            if (w < 0 || is_member(f, w) || !heavy(f->u, w))
                continue;
            memmove(&c->member[2], &c->member[1],
                    sizeof c->member[0] * (size_t)(c->n++ - 1));
            c->member[1] = w;
            return;
        }
    }
}

static void try_first(Find *f, int first)
{
    Group *list[CHAIN_MOST];
    ChainFound *c = f->out;

    c->n = 0;
    for (int i = 0; i < FAILED; i++)
        f->failed[i].unit = -1;
    if (!leads_to(f, f->last, first, 0) || c->member[c->n - 1] != f->last)
        return;
    add_other(f);
    if (!all_private(f))
        return;
    for (int i = 0; i < c->n; i++)
        list[i] = group_at(f, c->member[i]);
    c->scores = list[0]->stmt[0]->tensor; /* where only its rows are stored */
    for (int k = 0; k < list[0]->n_step; k++)
        if (list[0]->step[k].tensor)
            c->scores = list[0]->step[k].tensor;
    c->group = chain_form(f->u->g, list, c->n, &c->kept, &c->why);
}

/* The windows that the last one multiplies, and the nearest contractions behind
 * unit u. */
static void walk(Find *f, int u, int *first, int *n, int depth)
{
    for (int i = 0; i < f->n_seen; i++)
        if (f->seen[i] == u)
            return;
    if (depth > CHAIN_MOST || f->n_seen == 64 || group_at(f, u)->chain)
        return;
    f->seen[f->n_seen++] = u;
    bool product = u != f->last && heavy(f->u, u);
    bool makes = depth == 1 && window(group_at(f, u));
    if ((product || makes) && *n < MAX_FIRSTS)
        first[(*n)++] = u;
    if (product)
        return;
    for (int i = 0; i < group_at(f, u)->n_arg; i++) {
        const Tensor *t = group_at(f, u)->arg[i];
        int w = t->role == ROLE_TEMP && !writes(group_at(f, u), t)
                    ? writer(f, t) : -1;
        if (w >= 0 && group_at(f, w)->when == WHEN_RUN)
            walk(f, w, first, n, depth + 1);
    }
}

bool chain_find(const Units *u, int last, int which, ChainFound *out)
{
    Find f = {.u = u, .last = last, .out = out};
    int first[MAX_FIRSTS], n_first = 0;

    *out = (ChainFound){.n = 0};
    if (!heavy(u, last))
        return false;
    walk(&f, last, first, &n_first, 0);
    if (which >= n_first)
        return false;
    try_first(&f, first[which]);
    return true;
}
