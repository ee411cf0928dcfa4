#include "search/select.h"

#include "group/fuse.h"
#include "search/chains.h"
#include "search/plan.h"
#include "rewrite/simplify.h"

#include <math.h>

/* A node of the group graph; NULL group: merged into another. */
typedef struct Unit {
    Group *group;
    uint64_t *reads; /* bit of a tensor's id: the group reads it */
    double us;
    int serial; /* identity for the memo; new after each merge */
    int first;  /* position of its first statement */
} Unit;

typedef enum { BY_POINT, BY_AGAIN } Way;
enum { WANTED = 1000000 }; /* microseconds that @fuse is worth */

typedef struct Candidate {
    int p, c;
    uint64_t state; /* of the units concerned, when evaluated; 0: never */
    Way way;
    Tensor *t;
    Group *fused;   /* BY_POINT */
    double saves;   /* microseconds */
    const char *why;
} Candidate;

typedef struct Search {
    Selection *s;
    Graph *g;
    Unit *unit;
    int n_unit, serial;
    uint64_t *after; /* bit k of row i: unit k must run after unit i */
    int words;       /* of a row */
    int *readers;    /* by tensor: changes whenever one that reads it does */
    bool *older;     /* by tensor: a later version keeps parts of it */
    int tensor_words;
    Candidate *cand;
    int n_cand, cap_cand;
} Search;

/* ---- what a group would take */

static bool preferred(const Options *o, const Family *f)
{
    for (int i = 0; i < o->n_prefer; i++)
        if (!strcmp(o->prefer[i], f->name))
            return true;
    return false;
}

static Choice *cost_all(Selection *s, Group *gr, const char *key)
{
    Choice *best = arena_new_of(s->graph->arena, Choice);

    best->key = key;
    best->cost.us = INFINITY;
    for (const Family *const *f = family_table; *f; f++) {
        Variant *v = NULL;
        const char *why = family_refuses(*f, s->graph, gr, s->options);
        if (why) {
            best->why = best->why ? best->why : why;
            continue;
        }
        bool first = preferred(s->options, *f);
        int n = (*f)->space(s->graph, gr, s->options, &v);
        for (int i = 0; i < n; i++) {
            Cost c = {0};
            (*f)->cost(s->graph, gr, s->options, &v[i], &c);
            s->evaluated++;
            bool after = best->family &&
                         first < preferred(s->options, best->family);
            bool before = best->family &&
                          first > preferred(s->options, best->family);
            if (!c.coef_r || after || (!before && c.us >= best->cost.us))
                continue;
            best->family = *f;
            best->variant = v;
            best->n_variant = n;
            best->best = i;
            best->cost = c;
        }
    }
    return best;
}

Choice *choose_variant(Selection *s, Group *gr)
{
    Buf key = {0};

    group_args(s->graph, gr);
    group_canon(&key, gr);
    Choice *c = map_get(s->choices, key.text);
    if (!c) {
        c = cost_all(s, gr, arena_strdup(s->graph->arena, key.text));
        map_put(s->choices, key.text, c);
    }
    buf_free(&key);
    return c;
}

static double time_of(Search *x, Group *gr)
{
    Choice *c = choose_variant(x->s, gr);

    return c->family ? c->cost.us : INFINITY;
}

/* ---- the group graph */

static bool reads(const Search *x, int unit, const Tensor *t)
{
    return x->unit[unit].reads[t->id / 64] >> (t->id % 64) & 1;
}

static bool writes(const Group *gr, const Tensor *t)
{
    for (int i = 0; i < gr->n_step; i++)
        if (gr->step[i].tensor == t)
            return true;
    return false;
}

typedef struct ReadSet {
    uint64_t *bits;
} ReadSet;

static void add_read(const Expr *e, void *ctx)
{
    ReadSet *r = ctx;

    if (e->kind == E_READ)
        r->bits[e->tensor->id / 64] |= (uint64_t)1 << (e->tensor->id % 64);
}

/* What the group reads, in values and in places that it stores to. */
static uint64_t *find_reads(const Search *x, const Group *gr)
{
    ReadSet r = {arena_array(x->g->arena, uint64_t, x->tensor_words)};

    for (int i = 0; i < gr->n_step; i++)
        expr_visit(gr->step[i].value, add_read, &r);
    for (int i = 0; i < gr->n_arg; i++) {
        const Tensor *t = gr->arg[i];
        if (group_place_reads(gr, t))
            r.bits[t->id / 64] |= (uint64_t)1 << (t->id % 64);
    }
    return r.bits;
}

/* All that read what unit i reads have one more or one less beside them. */
static void touch_readers(Search *x, int i)
{
    for (int w = 0; x->unit[i].reads && w < x->tensor_words; w++)
        for (uint64_t left = x->unit[i].reads[w]; left; left &= left - 1)
            x->readers[w * 64 + __builtin_ctzll(left)]++;
}

static void drop_unit(Search *x, int i)
{
    touch_readers(x, i);
    x->unit[i].group = NULL;
}

static void set_unit(Search *x, int i, Group *gr)
{
    Unit *u = &x->unit[i];

    touch_readers(x, i);
    u->group = gr;
    u->us = time_of(x, gr); /* finds the group's arguments, too */
    u->reads = find_reads(x, gr);
    u->serial = ++x->serial;
    touch_readers(x, i);
}

/* Must unit b run after unit a? Flow, and for state: writes after older
 * reads. */
static bool depends(const Search *x, int a, int b)
{
    const Group *p = x->unit[a].group, *c = x->unit[b].group;

    for (int i = 0; i < p->n_step; i++)
        if (p->step[i].tensor && reads(x, b, p->step[i].tensor))
            return true;
    for (int i = 0; i < c->n_step; i++) {
        const Tensor *t = c->step[i].tensor;
        for (const Tensor *old = t ? t->prev : NULL; old; old = old->prev)
            if (reads(x, a, old) || writes(p, old))
                return true;
    }
    return false;
}

static uint64_t *row(const Search *x, int i)
{
    return x->after + (size_t)i * (size_t)x->words;
}

static void set_order(Search *x, int a, int b)
{
    uint64_t bit = (uint64_t)1 << (b % 64);

    if (a != b && x->unit[a].group && x->unit[b].group && depends(x, a, b))
        row(x, a)[b / 64] |= bit;
    else
        row(x, a)[b / 64] &= ~bit;
}

static void update_order(Search *x, int i)
{
    for (int k = 0; k < x->n_unit; k++) {
        set_order(x, i, k);
        set_order(x, k, i);
    }
}

/* Is there a way from a to b through some other unit? */
static bool path_around(const Search *x, int a, int b)
{
    uint64_t seen[x->words], todo[x->words];
    uint64_t bit_b = (uint64_t)1 << (b % 64);
    bool more = true;

    memcpy(todo, row(x, a), sizeof todo);
    todo[b / 64] &= ~bit_b;
    memcpy(seen, todo, sizeof seen);
    while (more) {
        more = false;
        for (int i = 0; i < x->n_unit; i++) {
            if (!(todo[i / 64] >> (i % 64) & 1))
                continue;
            todo[i / 64] &= ~((uint64_t)1 << (i % 64));
            more = true;
            if (row(x, i)[b / 64] & bit_b)
                return true;
            for (int w = 0; w < x->words; w++) {
                uint64_t fresh = row(x, i)[w] & ~seen[w];
                todo[w] |= fresh;
                seen[w] |= fresh;
            }
        }
    }
    return false;
}

static int readers(const Search *x, const Tensor *t, int *list)
{
    int n = 0;

    for (int i = 0; i < x->n_unit; i++)
        if (x->unit[i].group && reads(x, i, t))
            list[n++] = i;
    return n;
}

static int writer_units(const Search *x, const Tensor *t, int *first)
{
    int n = 0;

    for (int i = 0; i < x->n_unit; i++)
        if (x->unit[i].group && writes(x->unit[i].group, t) && !n++)
            *first = i;
    return n;
}

/* Does any unit but these two read t, or something that outlives them? */
static bool needed_elsewhere(const Search *x, const Tensor *t, int p, int c)
{
    if (t->role != ROLE_TEMP || t->prev || x->older[t->id])
        return true;
    for (int i = 0; i < x->n_unit; i++)
        if (i != p && i != c && x->unit[i].group && reads(x, i, t))
            return true;
    return false;
}

/* What nobody else reads stays in the registers of the group that p and c
 * have become (or are: p == c). True if that changes it. */
static bool drop_stores(const Search *x, Group *gr, int p, int c)
{
    bool dropped = false;

    for (int i = 0; i < gr->n_step; i++) {
        Tensor *t = gr->step[i].tensor;
        if (!t || needed_elsewhere(x, t, p, c) || group_reads(gr, t))
            continue;
        gr->step[i].tensor = NULL;
        dropped = true;
    }
    return dropped;
}

/* ---- candidates */

static bool pinned(const Group *gr)
{
    for (int i = 0; i < gr->n_stmt; i++)
        if (gr->stmt[i]->notes & NOTE_NOFUSE)
            return true;
    return false;
}

/* Does @fuse want the tensor to stay in the kernel that makes it? */
static bool wanted(const Group *c, const Tensor *t)
{
    for (int i = 0; i < c->n_stmt; i++)
        for (int k = 0; k < c->stmt[i]->n_with; k++)
            if (c->stmt[i]->with[k] == t)
                return true;
    return false;
}

static void try_point(Search *x, Candidate *k)
{
    Group *p = x->unit[k->p].group, *c = x->unit[k->c].group;
    bool keep = needed_elsewhere(x, k->t, k->p, k->c);

    k->saves = -INFINITY;
    if (pinned(p) || pinned(c)) {
        k->why = "@nofuse";
        return;
    }
    k->fused = fuse(x->g, p, c, k->t, keep, &k->why);
    if (!k->fused)
        return;
    drop_stores(x, k->fused, k->p, k->c);
    double us = time_of(x, k->fused);
    if (isinf(us)) {
        k->why = "no family serves the two together";
        return;
    }
    k->saves = x->unit[k->p].us + x->unit[k->c].us - us;
    if (wanted(c, k->t) && k->saves < WANTED)
        k->saves += WANTED;
}

/* Computing p again in c reads p's inputs later than p did: wrong where they
 * are states that a unit between the two overwrites. */
static bool reads_too_late(const Search *x, int p, int c)
{
    const Group *gr = x->unit[p].group;

    for (int i = 0; i < gr->n_arg; i++)
        if (gr->arg[i]->role == ROLE_STATE && path_around(x, p, c))
            return true;
    return false;
}

enum { MOST_AGAIN = 63 }; /* readers that each compute a value again */

/* Computing p again in every reader, so that it disappears. */
static void try_again(Search *x, Candidate *k)
{
    Group *p = x->unit[k->p].group;
    int list[x->n_unit + 1], n = readers(x, k->t, list);
    double saves = x->unit[k->p].us;

    k->saves = -INFINITY;
    if (k->t->role != ROLE_TEMP || k->t->prev || pinned(p))
        return;
    if (n > MOST_AGAIN) {
        k->why = "too many kernels would compute it again";
        return;
    }
    if (n < 2 && p->n_step > 1)
        return; /* nothing is gained that its steps one by one would not */
    for (int i = 0; i < n; i++) {
        Unit *c = &x->unit[list[i]];
        if (reads_too_late(x, k->p, list[i])) {
            k->why = "the state that it reads is overwritten before";
            return;
        }
        Group *r = pinned(c->group)
                       ? NULL
                       : fuse_inline(x->g, p, c->group, k->t, &k->why);
        if (!r)
            return;
        saves += c->us - time_of(x, r);
    }
    k->saves = saves;
}

/* Changes whenever a unit that the candidate concerns does; never 0. */
static uint64_t state_of(const Search *x, const Candidate *k)
{
    return (uint64_t)x->unit[k->p].serial << 32 |
           (uint32_t)x->readers[k->t->id];
}

static void evaluate(Search *x, Candidate *k)
{
    k->fused = NULL;
    k->why = NULL;
    if (k->way == BY_POINT)
        try_point(x, k);
    else
        try_again(x, k);
}

/* Pairs that are tried with a tensor: a result that joins one reader makes the
 * others' pairs others, and each pair is a search among variants. The readers
 * beyond stay kernels of their own. */
enum { MOST_PAIRS = 64 };

static void add_candidates(Search *x, Tensor *t)
{
    int p = -1, list[x->n_unit + 1];

    if (t->role == ROLE_PARAM || t->role == ROLE_INPUT ||
        writer_units(x, t, &p) != 1)
        return;
    int n = readers(x, t, list);
    const When when = x->unit[p].group->when;
    for (int i = 0; i < n && i < MOST_PAIRS; i++)
        if (list[i] != p && (when == WHEN_RUN ||
                             x->unit[list[i]].group->when == when))
            VEC_PUSH(x->g->arena, x->cand, x->n_cand, x->cap_cand) =
                (Candidate){.p = p, .c = list[i], .way = BY_POINT, .t = t};
    const Group *gr = x->unit[p].group;
    if (n && when == WHEN_RUN && gr->n_step == 1 && !gr->n_cols)
        VEC_PUSH(x->g->arena, x->cand, x->n_cand, x->cap_cand) =
            (Candidate){.p = p, .c = list[0], .way = BY_AGAIN, .t = t};
}

/* ---- merging */

static bool merge_point(Search *x, Candidate *k)
{
    int p = k->p, c = k->c; /* k itself is renamed below */

    if (path_around(x, k->p, k->c)) {
        k->saves = -INFINITY;
        k->why = "another kernel lies between the two";
        return false;
    }
    set_unit(x, k->c, k->fused);
    drop_unit(x, k->p);
    update_order(x, k->p);
    update_order(x, k->c);
    for (int i = 0; i < x->n_cand; i++) {
        if (x->cand[i].p == p)
            x->cand[i].p = c;
        if (x->cand[i].c == p)
            x->cand[i].c = c;
    }
    return true;
}

static bool merge_again(Search *x, Candidate *k)
{
    int list[x->n_unit + 1], n = readers(x, k->t, list);
    Group *p = x->unit[k->p].group;
    const char *why;

    for (int i = 0; i < n; i++) {
        if (reads_too_late(x, k->p, list[i])) {
            k->saves = -INFINITY;
            return false;
        }
    }
    for (int i = 0; i < n; i++)
        set_unit(x, list[i],
                 fuse_inline(x->g, p, x->unit[list[i]].group, k->t, &why));
    drop_unit(x, k->p);
    update_order(x, k->p);
    for (int i = 0; i < n; i++)
        update_order(x, list[i]);
    /* What p read is now read by each of them. */
    for (int i = 0; i < p->n_arg; i++)
        if (p->arg[i] != k->t)
            add_candidates(x, p->arg[i]);
    return true;
}

static bool alive(const Search *x, const Candidate *k)
{
    return k->p != k->c && x->unit[k->p].group && x->unit[k->c].group &&
           reads(x, k->c, k->t) &&
           writes(x->unit[k->p].group, k->t);
}

static bool allowed(const Search *x, const Candidate *k)
{
    if (x->s->plan && k->way == BY_AGAIN)
        return plan_again(x->s->plan, x->unit[k->p].group);
    return !x->s->plan || plan_together(x->s->plan, x->unit[k->p].group,
                                        x->unit[k->c].group);
}

/* The candidate that saves most; with a plan, any that the plan wants. */
static Candidate *best_candidate(Search *x)
{
    Candidate *best = NULL;

    for (int i = 0; i < x->n_cand; i++) {
        Candidate *k = &x->cand[i];
        if (!alive(x, k)) {
            x->cand[i--] = x->cand[--x->n_cand];
            continue;
        }
        uint64_t state = state_of(x, k);
        if (k->state != state) {
            k->state = state;
            evaluate(x, k);
        }
        bool takes = x->s->plan ? k->saves > -INFINITY && allowed(x, k)
                                : k->saves > 0;
        if (takes && (!best || k->saves > best->saves))
            best = k;
    }
    return best;
}

static void note_refusals(Search *x)
{
    Selection *s = x->s;

    for (int i = 0; i < x->n_cand; i++) {
        Candidate *k = &x->cand[i];
        bool again = k->way == BY_AGAIN;
        if (!alive(x, k) || (again && isinf(k->saves)))
            continue;
        Unit *p = &x->unit[k->p], *c = &x->unit[k->c];
        if (!again && !s->plan && wanted(c->group, k->t))
            diag_warning(x->g->diag, c->group->stmt[0]->call,
                         "@fuse is not possible: '%s' %s", k->t->name,
                         k->why ? k->why : "stays apart");
        double apart = p->us + c->us;
        VEC_PUSH(x->g->arena, s->refusal, s->n_refusal, s->cap_refusal) =
            (Refusal){p->group->stmt[p->group->n_stmt - 1], c->group->stmt[0],
                      k->t, k->why, apart, apart - k->saves, again};
    }
}

/* ---- chains: two products and what lies between them, last */

/* Units that nobody but they themselves need to be apart. */
static bool may_chain(const Search *x, const int *member, int n)
{
    for (int i = 0; i < n; i++) {
        if (pinned(x->unit[member[i]].group))
            return false;
        for (int k = 0; k < n; k++)
            if (i != k && x->s->plan &&
                !plan_together(x->s->plan, x->unit[member[i]].group,
                               x->unit[member[k]].group))
                return false;
    }
    return true;
}

/* Is there a way from a member to another one through some other unit? */
static bool chain_surrounds(const Search *x, const int *member, int n)
{
    bool in[x->n_unit];

    memset(in, 0, sizeof in);
    for (int i = 0; i < n; i++)
        in[member[i]] = true;
    for (int u = 0; u < x->n_unit; u++) {
        bool after = false, before = false;
        for (int i = 0; i < n && !in[u] && x->unit[u].group; i++) {
            int m = member[i];
            after |= (row(x, m)[u / 64] >> (u % 64) & 1) ||
                     path_around(x, m, u);
            before |= (row(x, u)[m / 64] >> (m % 64) & 1) ||
                      path_around(x, u, m);
        }
        if (after && before)
            return true;
    }
    return false;
}

static void refuse_chain(Search *x, int last, const ChainFound *f,
                         const char *why, double apart, double us)
{
    Selection *s = x->s;
    const Group *c = x->unit[last].group;

    VEC_PUSH(x->g->arena, s->refusal, s->n_refusal, s->cap_refusal) =
        (Refusal){x->unit[f->member[0]].group->stmt[0], c->stmt[0],
                  f->scores, why, apart, us, false};
}

static const char *why_unserved(Search *x, Group *gr)
{
    const char *why = NULL;

    for (const Family *const *f = family_table; *f && !why; f++)
        if ((*f)->chains)
            why = family_refuses(*f, x->g, gr, x->s->options);
    return why ? why : "no variant fits the GPU";
}

/* With one of the products behind it. False if there is none. */
static bool try_chain(Search *x, int last, int which)
{
    Group *unit[x->n_unit];
    ChainFound f = {.n = 0};
    double apart = 0;

    for (int i = 0; i < x->n_unit; i++)
        unit[i] = x->unit[i].group;
    if (!chain_find(x->g, unit, x->n_unit, last, x->older, which, &f))
        return false;
    if (!f.group && !f.why)
        return true;
    if (f.group && (!may_chain(x, f.member, f.n) ||
                    chain_surrounds(x, f.member, f.n)))
        return true;
    double us = f.group ? time_of(x, f.group) : INFINITY;
    for (int i = 0; i < f.n; i++)
        apart += x->unit[f.member[i]].us;
    if (f.group && isinf(us)) {
        f.why = why_unserved(x, f.group);
    }
    bool first = f.group && !isinf(us) &&
                 preferred(x->s->options,
                           choose_variant(x->s, f.group)->family);
    if (isinf(us) || (us >= apart && !x->s->plan && !first)) {
        refuse_chain(x, last, &f, isinf(us) ? f.why : NULL, apart, us);
        return true;
    }
    f.group->apart_us = apart;
    set_unit(x, last, f.group);
    for (int i = 0; i < f.n - 1; i++) {
        drop_unit(x, f.member[i]);
        update_order(x, f.member[i]);
    }
    update_order(x, last);
    return true;
}

/* ---- launch order */

/* False if some wait for each other, which no merge may bring about. */
static bool order_groups(Search *x)
{
    Selection *s = x->s;
    bool *done = arena_array(x->g->arena, bool, x->n_unit);

    for (;;) {
        int next = -1;
        for (int i = 0; i < x->n_unit; i++) {
            if (done[i] || !x->unit[i].group ||
                (next >= 0 && x->unit[i].first > x->unit[next].first))
                continue;
            bool ready = true;
            for (int k = 0; k < x->n_unit && ready; k++)
                ready = done[k] || !(row(x, k)[i / 64] >> (i % 64) & 1);
            if (ready)
                next = i;
        }
        if (next < 0)
            break;
        done[next] = true;
        Group *gr = x->unit[next].group;
        gr->id = s->n_group;
        VEC_PUSH(x->g->arena, s->group, s->n_group, s->cap_group) = gr;
    }
    for (int i = 0; i < x->n_unit; i++) {
        if (done[i] || !x->unit[i].group)
            continue;
        diag_error(x->g->diag, x->unit[i].group->stmt[0]->call,
                   "a bug in dcc: kernels that wait for each other");
        return false;
    }
    return true;
}

/* What every family says against a group. */
static void say_why(Search *x, Group *gr)
{
    Diag *d = x->g->diag;

    diag_error(d, gr->stmt[0]->call, "no kernel family can compute this");
    for (const Family *const *f = family_table; *f; f++) {
        const char *why = family_refuses(*f, x->g, gr, x->s->options);
        if ((*f)->chains != (gr->chain != NULL))
            continue;
        diag_note(d, gr->stmt[0]->call, "%s: %s", (*f)->name,
                  why ? why : "no variant fits the GPU");
    }
}

static bool check_served(Search *x)
{
    bool ok = true;

    for (int i = 0; i < x->n_unit; i++) {
        Group *gr = x->unit[i].group;
        if (!gr)
            continue;
        Choice *c = choose_variant(x->s, gr);
        if (c->family) {
            gr->family = c->family;
            gr->variant = c->best;
            gr->predicted_us = c->cost.us;
            continue;
        }
        say_why(x, gr);
        ok = false;
    }
    return ok;
}

bool select_groups(Graph *g, const Options *o, const Plan *plan, Selection *s)
{
    Search x = {.s = s, .g = g};

    s->graph = g;
    s->options = o;
    s->plan = plan;
    s->choices = map_new(g->arena);
    x.unit = arena_array(g->arena, Unit, g->n_stmt);
    x.readers = arena_array(g->arena, int, g->n_tensor + 1);
    x.tensor_words = g->n_tensor / 64 + 1;
    x.older = arena_array(g->arena, bool, g->n_tensor + 1);
    for (int i = 0; i < g->n_tensor; i++)
        if (g->tensor[i]->prev)
            x.older[g->tensor[i]->prev->id] = true;
    for (int i = 0; i < g->n_stmt; i++) {
        x.n_unit++;
        set_unit(&x, i, group_of(g, g->stmt[i]));
        x.unit[i].first = i;
    }
    x.words = (x.n_unit + 63) / 64;
    x.after = arena_array(g->arena, uint64_t, x.words * x.n_unit);
    for (int i = 0; i < x.n_unit; i++)
        for (int k = 0; k < x.n_unit; k++)
            set_order(&x, i, k);
    for (int i = 0; i < g->n_tensor; i++)
        add_candidates(&x, g->tensor[i]);
    for (Candidate *k; (k = best_candidate(&x));)
        (k->way == BY_POINT ? merge_point : merge_again)(&x, k);
    for (int i = 0; i < x.n_unit; i++)
        if (x.unit[i].group && drop_stores(&x, x.unit[i].group, i, i))
            set_unit(&x, i, x.unit[i].group);
    for (int i = 0; i < x.n_unit; i++)
        if (x.unit[i].group && x.unit[i].group->when == WHEN_RUN)
            for (int which = 0; try_chain(&x, i, which); which++)
                ;
    note_refusals(&x);
    if (!check_served(&x))
        return false;
    return order_groups(&x) && (!plan || plan_check(plan, s));
}
