#include "emit/memory.h"

#include <stdlib.h>

enum { ALIGN = 256 };

static size_t round_up(size_t n)
{
    return (n + ALIGN - 1) / ALIGN * ALIGN;
}

size_t memory_bytes(const Tensor *t)
{
    return round_up((size_t)t->span * (size_t)type_bytes(t->type));
}

/* One tensor's life in the arena: launches first .. last. */
typedef struct Life {
    Tensor *t;
    int first, last;
    size_t size;
} Life;

typedef struct Lives {
    Graph *g;
    Life *life;
    int n, cap;
    int *of; /* by tensor id: 1 + its life's number, or 0 */
} Lives;

static Life *life_of(Lives *l, Tensor *t)
{
    if (l->of[t->id])
        return &l->life[l->of[t->id] - 1];
    l->of[t->id] = l->n + 1;
    Life *n = &VEC_PUSH(l->g->arena, l->life, l->n, l->cap);
    *n = (Life){t, -1, -1, memory_bytes(t)};
    return n;
}

/* The version whose memory a chain of partial writes shares, or the tensor
 * in a part of which t lies. */
static Tensor *base_of(Tensor *t)
{
    while (t->prev || t->host)
        t = t->prev ? t->prev : t->host;
    return t;
}

/* How many bytes behind its base's beginning t does. */
static size_t first_byte(const Tensor *t)
{
    size_t first = 0;

    for (; t->prev || t->host; t = t->prev ? t->prev : t->host)
        if (!t->prev)
            first += (size_t)t->first * (size_t)type_bytes(t->type);
    return first;
}

/* When launch i has ended: others that run beside it may be under way. */
static int last_of(const Launch *launch, int i)
{
    return launch[i].beside && launch[i].until > i ? launch[i].until - 1 : i;
}

static void find_lives(Lives *l, const Launch *launch, int n, int start,
                       When when)
{
    for (int i = 0; i < n; i++) {
        const Group *gr = launch[i].group;
        for (int k = 0; k < gr->n_arg; k++) {
            Tensor *t = base_of(gr->arg[k]);
            if (t->role != ROLE_TEMP || t->when != when)
                continue;
            Life *life = life_of(l, t);
            if (life->first < 0)
                life->first = start + i;
            if (life->last < start + last_of(launch, i))
                life->last = start + last_of(launch, i);
        }
    }
}

static bool overlap(const Life *a, const Life *b)
{
    return a->first <= b->last && b->first <= a->last;
}

/* Best fit: the smallest gap between the tensors alive at the same time.
 * `placed` has n of them by their places. */
static size_t place_one(Life *const *placed, int n, const Life *x)
{
    size_t best = 0, best_gap = (size_t)-1, at = 0;

    for (int i = 0; i < n; i++) {
        const Life *y = placed[i];
        size_t lo = y->t->offset, hi = lo + y->size;
        if (!overlap(x, y))
            continue;
        if (lo > at && lo - at >= x->size && lo - at < best_gap) {
            best = at;
            best_gap = lo - at;
        }
        at = hi > at ? hi : at;
    }
    return best_gap != (size_t)-1 ? best : at;
}

static void insert_placed(Life **placed, int n, Life *x)
{
    for (; n && placed[n - 1]->t->offset > x->t->offset; n--)
        placed[n] = placed[n - 1];
    placed[n] = x;
}

/* The largest first, else in order. */
static int larger(const void *a, const void *b)
{
    const Life *x = *(Life *const *)a, *y = *(Life *const *)b;

    if (x->size != y->size)
        return x->size > y->size ? -1 : 1;
    return x < y ? -1 : x > y;
}

static size_t place_arena(Lives *l)
{
    Life **by_size = arena_array(l->g->arena, Life *, l->n + 1);
    Life **placed = arena_array(l->g->arena, Life *, l->n + 1);
    size_t total = 0;

    for (int i = 0; i < l->n; i++)
        by_size[i] = &l->life[i];
    qsort(by_size, (size_t)l->n, sizeof *by_size, larger);
    for (int i = 0; i < l->n; i++) {
        Life *x = by_size[i];
        x->t->offset = place_one(placed, i, x);
        x->t->place = PLACE_ARENA;
        insert_placed(placed, i, x);
        if (x->t->offset + x->size > total)
            total = x->t->offset + x->size;
    }
    return total;
}

static size_t append(Tensor *t, Place place, size_t at)
{
    t->place = place;
    t->offset = at;
    return at + memory_bytes(t);
}

/* By tensor id: an argument of one of n launches. */
static void mark_used(bool *used, const Launch *launch, int n)
{
    for (int i = 0; i < n; i++)
        for (int k = 0; k < launch[i].group->n_arg; k++)
            used[launch[i].group->arg[k]->id] = true;
}

static void place_fixed(CudaProgram *p)
{
    Graph *g = p->graph;
    bool *used = arena_array(g->arena, bool, g->n_tensor + 1);

    mark_used(used, p->run, p->n_run);
    for (int i = 0; i < g->n_param; i++) {
        Tensor *t = base_of(g->param[i]); /* others may lie beside it */
        if (t->place == PLACE_PARAMS)
            continue;
        if (used[g->param[i]->id] || g->trains) /* saved, shared */
            p->params_bytes = append(t, PLACE_PARAMS, p->params_bytes);
        else
            append(t, PLACE_STAGED, (size_t)i); /* its ordinal */
    }
    for (int i = 0; i < g->n_state; i++)
        p->state_bytes = append(g->state[i], PLACE_STATE, p->state_bytes);
    for (int i = 0; i < g->n_input; i++) {
        g->input[i]->place = PLACE_INPUT;
        g->input[i]->offset = (size_t)i;
    }
    for (int i = 0; i < g->n_output; i++) {
        g->output[i]->place = PLACE_OUTPUT;
        g->output[i]->offset = (size_t)i;
    }
}

/* What load-time kernels make and runs read, in order; and what other kernels
 * of loading alone read, where what is there is made later. A tensor that was
 * fused away has no place. */
static void place_constants(CudaProgram *p)
{
    Graph *g = p->graph;
    Lives l = {.g = g, .of = arena_array(g->arena, int, g->n_tensor + 1)};
    Life **placed = arena_array(g->arena, Life *, g->n_tensor + 1);
    bool *used = arena_array(g->arena, bool, g->n_tensor + 1);
    int n = 0;

    mark_used(used, p->run, p->n_run);
    find_lives(&l, p->load, p->n_load, 0, WHEN_LOAD);
    for (int i = 0; i < g->n_tensor; i++) {
        Tensor *t = g->tensor[i];
        used[base_of(t)->id] |= used[t->id] || t->kept;
    }
    for (int i = 0; i < g->n_tensor; i++) {
        Life *x = l.of[i] ? life_of(&l, g->tensor[i]) : NULL;
        if (!x || !used[i])
            continue;
        x->last = p->n_load;
        p->consts_bytes = append(x->t, PLACE_CONSTS, p->consts_bytes);
        placed[n++] = x;
    }
    for (int i = 0; i < l.n; i++) {
        Life *x = &l.life[i];
        if (used[x->t->id])
            continue;
        append(x->t, PLACE_CONSTS, place_one(placed, n, x));
        insert_placed(placed, n++, x);
        if (x->t->offset + x->size > p->consts_bytes)
            p->consts_bytes = x->t->offset + x->size;
    }
}

static void share_versions(Graph *g)
{
    for (int i = 0; i < g->n_tensor; i++) {
        Tensor *t = g->tensor[i], *base = base_of(t);
        if (t == base)
            continue;
        t->place = base->place;
        t->offset = base->offset + first_byte(t);
    }
}

typedef struct Scratch {
    size_t workspace, counters;
} Scratch;

static void need(Scratch *s, const Kernel *k)
{
    if (k->workspace > s->workspace)
        s->workspace = k->workspace;
    if (k->coop_counters && (size_t)k->n_counters * 4 > s->counters)
        s->counters = (size_t)k->n_counters * 4;
}

/* Launches that follow each other share it; a branch has its own. */
static void reserve_scratch(CudaProgram *p)
{
    Scratch all = {0, 0}, beside = {0, 0};

    for (int i = 0; i < p->n_kernel; i++)
        need(&all, p->kernel[i]);
    for (int i = 0; i < p->n_run; i++)
        if (p->run[i].beside)
            need(&beside, p->run[i].kernel);
    p->workspace_offset = p->arena_bytes;
    p->beside_workspace = p->workspace_offset + round_up(all.workspace);
    p->arena_bytes = p->beside_workspace + round_up(beside.workspace);
    p->counter_offset = p->state_bytes;
    p->beside_counter = p->counter_offset + round_up(all.counters);
    p->counter_bytes = round_up(all.counters) + round_up(beside.counters);
    p->state_bytes += p->counter_bytes;
}

void memory_plan_run(CudaProgram *p)
{
    Lives l = {.g = p->graph,
               .of = arena_array(p->graph->arena, int,
                                 p->graph->n_tensor + 1)};

    p->state_bytes -= p->counter_bytes;
    p->counter_bytes = 0;
    find_lives(&l, p->run, p->n_run, 0, WHEN_RUN);
    p->arena_bytes = place_arena(&l);
    share_versions(p->graph);
    reserve_scratch(p);
}

void memory_plan(CudaProgram *p)
{
    place_fixed(p);
    place_constants(p);
    memory_plan_run(p);
}

/* ---- sets of sizes */

static void share_params(CudaProgram **p, int n)
{
    size_t at = 0;

    for (int i = 0; i < p[0]->graph->n_param; i++) {
        bool read = false;
        for (int k = 0; k < n; k++)
            read |= p[k]->graph->param[i]->place == PLACE_PARAMS;
        size_t next = at;
        for (int k = 0; k < n && read; k++)
            next = append(p[k]->graph->param[i], PLACE_PARAMS, at);
        at = next;
    }
    for (int k = 0; k < n; k++)
        p[k]->params_bytes = at;
}

static void move_constants(CudaProgram *p, size_t by)
{
    for (int i = 0; i < p->graph->n_tensor; i++)
        if (p->graph->tensor[i]->place == PLACE_CONSTS)
            p->graph->tensor[i]->offset += by;
}

/* All that is loaded becomes the last one's. */
static void share_loading(CudaProgram **p, int n, const int *same)
{
    CudaProgram *last = p[n - 1];
    size_t *base = arena_array(last->graph->arena, size_t, n), bytes = 0;
    int launches = 0, at = 0;

    for (int k = 0; k < n; k++)
        launches += same[k] == k ? p[k]->n_load : 0;
    Launch *all = arena_array(last->graph->arena, Launch, launches + 1);
    for (int k = 0; k < n; k++) {
        if (same[k] == k) {
            base[k] = bytes;
            bytes += p[k]->consts_bytes;
            for (int i = 0; i < p[k]->n_load; i++)
                all[at++] = p[k]->load[i];
        }
        move_constants(p[k], base[same[k]]);
    }
    for (int k = 0; k < n; k++) {
        p[k]->consts_bytes = bytes;
        p[k]->n_load = 0;
    }
    last->load = all;
    last->n_load = launches;
}

void memory_share(CudaProgram **p, int n, const int *same)
{
    size_t counters = 0;

    share_params(p, n);
    share_loading(p, n, same);
    for (int k = 0; k < n; k++)
        if (p[k]->counter_bytes > counters)
            counters = p[k]->counter_bytes;
    for (int k = 0; k < n; k++) {
        p[k]->state_bytes = p[k]->counter_offset + counters;
        p[k]->counter_bytes = counters;
    }
}

void memory_dump(Buf *b, const CudaProgram *p)
{
    static const char *const name[] = {"-",     "params", "consts", "arena",
                                       "state", "input",  "output", "staged"};

    buf_printf(b, "params %zu consts %zu arena %zu state %zu bytes\n",
               p->params_bytes, p->consts_bytes, p->arena_bytes,
               p->state_bytes);
    for (int i = 0; i < p->graph->n_tensor; i++) {
        const Tensor *t = p->graph->tensor[i];
        if (t->place != PLACE_NONE)
            buf_printf(b, "  %-7s %10zu %10zu  %s\n", name[t->place],
                       t->offset, memory_bytes(t), t->name);
    }
}
