#include "search/units.h"

#include "group/groups.h"
#include "search/lean.h"

#include <math.h>
#include <string.h>

bool units_has(const Ints *list, int x)
{
    for (int i = 0; i < list->n; i++)
        if (list->v[i] == x)
            return true;
    return false;
}

static void push(Units *u, Ints *list, int x)
{
    VEC_PUSH(u->g->arena, list->v, list->n, list->cap) = x;
}

/* Lists are kept in order: what they lead to must not depend on the merges
 * before. */
static void insert(Units *u, Ints *list, int x)
{
    push(u, list, x);
    for (int i = list->n - 1; i > 0 && list->v[i - 1] > x; i--) {
        list->v[i] = list->v[i - 1];
        list->v[i - 1] = x;
    }
}

static void take_out(Ints *list, int x)
{
    int kept = 0;

    for (int i = 0; i < list->n; i++)
        if (list->v[i] != x)
            list->v[kept++] = list->v[i];
    list->n = kept;
}

/* ---- what a group touches */

typedef struct Found {
    Units *u;
    Ints *list;
} Found;

static void note(Found *f, const Tensor *t)
{
    if (f->u->seen[t->id] == f->u->stamp)
        return;
    f->u->seen[t->id] = f->u->stamp;
    push(f->u, f->list, t->id);
}

static void note_read(const Expr *e, void *ctx)
{
    Found *f = ctx;

    if (e->kind != E_READ)
        return;
    note(f, e->tensor);
    const Ints *guests = &f->u->guests[e->tensor->id];
    for (int i = 0; i < guests->n; i++)
        note(f, f->u->g->tensor[guests->v[i]]);
}

static void note_place(const Atom *a, void *ctx)
{
    if (a->kind == ATOM_DATA && a->data)
        expr_visit(a->data, note_read, ctx);
}

static void note_reads(const Step *s, void *ctx)
{
    expr_visit(s->value, note_read, ctx);
    for (int d = 0; s->tensor && d < s->tensor->rank; d++)
        idx_visit(s->store[d], note_place, ctx);
    for (int c = 0; s->tensor && c < s->where.n; c++)
        idx_visit(s->where.cond[c].e, note_place, ctx);
}

/* In values, and in places that it stores to. */
static void find_reads(Units *u, const Group *gr, Ints *list)
{
    Found f = {u, list};

    list->n = 0;
    u->stamp++;
    group_visit(gr, note_reads, &f);
}

static void note_write(const Step *s, void *ctx)
{
    if (s->tensor)
        note(ctx, s->tensor);
}

static void find_writes(Units *u, const Group *gr, Ints *list)
{
    Found f = {u, list};

    list->n = 0;
    u->stamp++;
    group_visit(gr, note_write, &f);
}

static void forget_all(Units *u, const Ints *units)
{
    for (int i = 0; i < units->n; i++)
        u->known[units->v[i]] = false;
}

/* What must run after unit i, and after those that it must run after, is about
 * to change, or has. */
static void forget_after(Units *u, int i)
{
    const Unit *x = &u->unit[i];

    u->known[i] = false;
    for (int k = 0; k < x->reads.n; k++)
        forget_all(u, &u->writers[x->reads.v[k]]);
    for (int k = 0; k < x->writes.n; k++) {
        const Tensor *old = u->g->tensor[x->writes.v[k]];
        while ((old = old->prev)) {
            forget_all(u, &u->readers[old->id]);
            forget_all(u, &u->writers[old->id]);
        }
    }
}

static void leave_lists(Units *u, int i)
{
    const Unit *x = &u->unit[i];

    forget_after(u, i);
    for (int k = 0; k < x->reads.n; k++)
        take_out(&u->readers[x->reads.v[k]], i);
    for (int k = 0; k < x->writes.n; k++)
        take_out(&u->writers[x->writes.v[k]], i);
}

static void span(Units *u, int i, int by)
{
    for (int k = u->unit[i].from; k < u->unit[i].to; k++)
        u->spans[k] += by;
}

void units_drop(Units *u, int i)
{
    leave_lists(u, i);
    span(u, i, -1);
    u->unit[i].group = NULL;
    u->unit[i].reads.n = u->unit[i].writes.n = 0;
}

void units_set(Units *u, int i, Group *gr)
{
    Unit *x = &u->unit[i];

    leave_lists(u, i);
    x->group = gr;
    x->weight = UNKNOWN;
    const Choice *c = choose_variant(u->s, gr); /* finds the arguments, too */
    x->us = c->family ? c->cost.us : INFINITY;
    find_reads(u, gr, &x->reads);
    find_writes(u, gr, &x->writes);
    for (int k = 0; k < x->reads.n; k++)
        insert(u, &u->readers[x->reads.v[k]], i);
    for (int k = 0; k < x->writes.n; k++)
        insert(u, &u->writers[x->writes.v[k]], i);
    forget_after(u, i);
}

void units_join(Units *u, int p, int c)
{
    const Unit *x = &u->unit[p];
    Unit *y = &u->unit[c];

    span(u, c, -1);
    y->from = x->from < y->from ? x->from : y->from;
    y->to = x->to > y->to ? x->to : y->to;
    span(u, c, 1);
}

static double time_between(const Units *u, int from, int to)
{
    double us = 0;

    for (int i = from; i <= to; i++)
        if (u->unit[i].group)
            us += u->unit[i].us;
    return us;
}

double units_time(const Units *u)
{
    return time_between(u, 0, u->n - 1);
}

static void take(Units *u, const Units *other, int from, int to)
{
    for (int i = from; i <= to; i++)
        if (u->unit[i].group)
            units_drop(u, i);
    for (int i = from; i <= to; i++) {
        const Unit *x = &other->unit[i];
        if (!x->group)
            continue;
        units_set(u, i, x->group);
        u->unit[i].first = x->first;
        u->unit[i].from = x->from;
        u->unit[i].to = x->to;
        span(u, i, 1);
    }
}

void units_take_better(Units *u, const Units *other, double share)
{
    const double least = 1e-6; /* microseconds: sums are rounded */
    int from = 0;

    for (int i = 0; i < u->n; i++) {
        if (u->spans[i] || other->spans[i])
            continue;
        if (time_between(other, from, i) + least <
            share * time_between(u, from, i))
            take(u, other, from, i);
        from = i + 1;
    }
}

/* ---- order */

typedef bool Visit(Units *u, int unit, void *ctx); /* true: go no further */

static bool each(Units *u, const Ints *list, int but, Visit *f, void *ctx)
{
    for (int i = 0; i < list->n; i++)
        if (list->v[i] != but && f(u, list->v[i], ctx))
            return true;
    return false;
}

/* Those that must run after unit a: they read what it writes, or write what
 * replaces a state that it reads or wrote in part. */
static bool each_after(Units *u, int a, Visit *f, void *ctx)
{
    const Unit *x = &u->unit[a];
    const Ints *both[] = {&x->reads, &x->writes};

    for (int i = 0; i < x->writes.n; i++)
        if (each(u, &u->readers[x->writes.v[i]], a, f, ctx))
            return true;
    for (int b = 0; b < 2; b++)
        for (int i = 0; i < both[b]->n; i++) {
            const Ints *later = &u->later[both[b]->v[i]];
            for (int k = 0; k < later->n; k++)
                if (each(u, &u->writers[later->v[k]], a, f, ctx))
                    return true;
        }
    return false;
}

static bool put_in_list(Units *u, int unit, void *ctx)
{
    if (u->listed[unit] != u->list)
        push(u, ctx, unit);
    u->listed[unit] = u->list;
    return false;
}

/* The same, each once. */
static bool each_once_after(Units *u, int a, Visit *f, void *ctx)
{
    Ints *after = &u->after[a];

    if (!u->known[a]) {
        after->n = 0;
        u->list++;
        each_after(u, a, put_in_list, after);
        u->known[a] = true;
    }
    return each(u, after, a, f, ctx);
}

typedef struct Way {
    int to, end; /* nothing that begins behind `end` leads to `to` */
    bool direct, found;
    int n;       /* of Units.todo */
} Way;

static bool step(Units *u, int unit, void *ctx)
{
    Way *w = ctx;

    if (unit == w->to)
        return w->found = !w->direct;
    if (u->visited[unit] != u->stamp && u->unit[unit].from <= w->end) {
        u->visited[unit] = u->stamp;
        u->todo[w->n++] = unit;
    }
    return false;
}

static bool has_again(const Group *gr)
{
    for (int i = 0; i < gr->n_stmt; i++)
        if (gr->stmt[i]->again)
            return true;
    return false;
}

static bool all_ahead(const Group *gr)
{
    for (int i = 0; i < gr->n_stmt; i++)
        if (gr->stmt[i]->behind)
            return false;
    return true;
}

bool units_apart(const Group *a, const Group *b)
{
    return (has_again(a) && all_ahead(b)) || (has_again(b) && all_ahead(a));
}

bool units_path_around(Units *u, int a, int b)
{
    const Unit *x = &u->unit[a], *y = &u->unit[b];
    Way w = {b, x->to > y->to ? x->to : y->to, true, false, 0};

    while (u->spans[w.end])
        w.end++;
    u->stamp++;
    each_once_after(u, a, step, &w);
    w.direct = false;
    while (w.n && !w.found)
        each_once_after(u, u->todo[--w.n], step, &w);
    return w.found;
}

typedef struct Ring {
    const int *member;
    int n_member, end, n; /* as in Way */
    bool outside, found;
} Ring;

static bool leave(Units *u, int unit, void *ctx)
{
    Ring *r = ctx;

    for (int i = 0; i < r->n_member; i++)
        if (r->member[i] == unit)
            return r->found |= r->outside;
    if (u->visited[unit] != u->stamp && u->unit[unit].from <= r->end) {
        u->visited[unit] = u->stamp;
        u->todo[r->n++] = unit;
    }
    return false;
}

bool units_surround(Units *u, const int *member, int n)
{
    Ring r = {.member = member, .n_member = n};

    for (int i = 0; i < n; i++)
        if (u->unit[member[i]].to > r.end)
            r.end = u->unit[member[i]].to;
    while (u->spans[r.end])
        r.end++;
    u->stamp++;
    for (int i = 0; i < n; i++)
        each_once_after(u, member[i], leave, &r);
    r.outside = true;
    while (r.n && !r.found)
        each_once_after(u, u->todo[--r.n], leave, &r);
    return r.found;
}

bool units_need(const Units *u, const Tensor *t, int p, int c)
{
    const Ints *r = &u->readers[t->id];

    if (t->role != ROLE_TEMP || t->kept || t->prev || u->later[t->id].n)
        return true;
    for (int i = 0; i < r->n; i++)
        if (r->v[i] != p && r->v[i] != c)
            return true;
    return false;
}

/* ---- launch order */

typedef struct Ready {
    int *waits; /* by unit: launches that must come before */
    int *heap;  /* units that wait for nothing, the first statement on top */
    int n;
    Lean *lean; /* picks the next one instead, where it is there */
} Ready;

static void push_ready(const Units *u, Ready *r, int unit)
{
    int i = r->n++;

    for (; i > 0; i = (i - 1) / 2) {
        int up = r->heap[(i - 1) / 2];
        if (u->unit[up].first <= u->unit[unit].first)
            break;
        r->heap[i] = up;
    }
    r->heap[i] = unit;
}

static int pop_ready(const Units *u, Ready *r)
{
    int top = r->heap[0], last = r->heap[--r->n], i = 0;

    for (int k; (k = 2 * i + 1) < r->n; i = k) {
        if (k + 1 < r->n && u->unit[r->heap[k + 1]].first <
                                u->unit[r->heap[k]].first)
            k++;
        if (u->unit[last].first <= u->unit[r->heap[k]].first)
            break;
        r->heap[i] = r->heap[k];
    }
    r->heap[i] = last;
    return top;
}

/* The one that lean_next picks, for which no heap is needed. */
static int pop_lean(Ready *r)
{
    int i = lean_next(r->lean, r->heap, r->n), unit = r->heap[i];

    r->heap[i] = r->heap[--r->n];
    return unit;
}

static bool wait_more(Units *u, int unit, void *ctx)
{
    (void)u;
    ((Ready *)ctx)->waits[unit]++;
    return false;
}

static bool wait_less(Units *u, int unit, void *ctx)
{
    Ready *r = ctx;

    if (!--r->waits[unit])
        push_ready(u, r, unit);
    return false;
}

/* Into `order` those that can run, each behind what it waits for and else as
 * the statements are; how many these are. */
static int sort_units(Units *u, Ready *r, int *order)
{
    int n = 0;

    r->waits = arena_array(u->g->arena, int, u->n + 1);
    r->heap = arena_array(u->g->arena, int, u->n + 1);
    for (int i = 0; i < u->n; i++)
        if (u->unit[i].group)
            each_after(u, i, wait_more, r);
    for (int i = 0; i < u->n; i++)
        if (u->unit[i].group && !r->waits[i])
            push_ready(u, r, i);
    while (r->n) {
        order[n] = r->lean ? pop_lean(r) : pop_ready(u, r);
        each_after(u, order[n++], wait_less, r);
    }
    return n;
}

int units_sort(Units *u, int *order)
{
    Ready r = {0};

    return sort_units(u, &r, order);
}

int units_order(Units *u)
{
    Selection *s = u->s;
    Ready r = {.lean = u->g->trains && !s->plan ? lean_open(u) : NULL};
    int *order = arena_array(u->g->arena, int, u->n + 1);
    int n = sort_units(u, &r, order);

    for (int i = 0; i < n; i++) {
        Group *gr = u->unit[order[i]].group;
        gr->id = s->n_group;
        VEC_PUSH(u->g->arena, s->group, s->n_group, s->cap_group) = gr;
    }
    for (int i = 0; i < u->n; i++)
        if (u->unit[i].group && r.waits[i])
            return i;
    return -1;
}

static bool is_bug(Units *u, const Group *gr, const char *what, const Tensor *t)
{
    diag_error(u->g->diag, gr->stmt[0]->call, "a bug in dcc: %s '%s', which "
               "this reads", what, t->name);
    return false;
}

bool units_sound(Units *u)
{
    for (int i = 0; i < u->n; i++) {
        const Unit *c = &u->unit[i];
        const Tensor *over = c->group ? in_place_clash(c->group) : NULL;
        if (over)
            return is_bug(u, c->group, "its own kernel overwrites", over);
        for (int k = 0; c->group && k < c->reads.n; k++) {
            const Tensor *t = u->g->tensor[c->reads.v[k]];
            if (t->role == ROLE_TEMP && !u->writers[t->id].n &&
                !u->guests[t->id].n)
                return is_bug(u, c->group, "no kernel makes", t);
        }
    }
    return true;
}

static void open_units(Units *u)
{
    Graph *g = u->g;

    for (int i = 0; i < g->n_stmt; i++) {
        u->unit[i].first = u->unit[i].from = u->unit[i].to = i;
        Group **alone = &u->s->alone[g->stmt[i]->id];
        if (!*alone)
            *alone = group_of(g, g->stmt[i]);
        units_set(u, i, *alone);
    }
}

/* Behind an update of a parameter there may be statements that read what it
 * was, a gradient of another for one: these go ahead, so that nothing waits
 * for what stands behind it. False if they did already. */
static bool sort_statements(Units *u)
{
    Graph *g = u->g;
    Ready r = {0};
    int *order = arena_array(g->arena, int, u->n + 1);
    Stmt **stmt = arena_array(g->arena, Stmt *, u->n + 1);
    bool moved = false;

    if (sort_units(u, &r, order) < u->n)
        return false;
    for (int i = 0; i < u->n; i++) {
        stmt[i] = g->stmt[order[i]];
        moved |= order[i] != i;
    }
    memcpy(g->stmt, stmt, sizeof *stmt * (size_t)u->n);
    return moved;
}

void units_open(Units *u, Selection *s)
{
    Graph *g = s->graph;
    Arena *a = g->arena;

    *u = (Units){.s = s, .g = g, .n = g->n_stmt};
    u->unit = arena_array(a, Unit, g->n_stmt + 1);
    u->readers = arena_array(a, Ints, g->n_tensor + 1);
    u->writers = arena_array(a, Ints, g->n_tensor + 1);
    u->later = arena_array(a, Ints, g->n_tensor + 1);
    u->guests = arena_array(a, Ints, g->n_tensor + 1);
    u->seen = arena_array(a, int, g->n_tensor + 1);
    u->visited = arena_array(a, int, g->n_stmt + 1);
    u->after = arena_array(a, Ints, g->n_stmt + 1);
    u->known = arena_array(a, bool, g->n_stmt + 1);
    u->listed = arena_array(a, int, g->n_stmt + 1);
    u->spans = arena_array(a, int, g->n_stmt + 1);
    u->todo = arena_array(a, int, g->n_stmt + 1);
    for (int i = 0; i < g->n_tensor; i++) {
        for (Tensor *old = g->tensor[i]->prev; old; old = old->prev)
            push(u, &u->later[old->id], i);
        for (Tensor *in = g->tensor[i]->host; in; in = in->host)
            push(u, &u->guests[in->id], i);
    }
    if (!s->alone) {
        s->n_alone = g->n_made + 1;
        s->alone = arena_array(a, Group *, s->n_alone);
    }
    open_units(u);
    if (sort_statements(u))
        open_units(u);
}
