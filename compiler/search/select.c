#include "search/select.h"

#include "group/groups.h"
#include "search/chains.h"
#include "search/merge.h"
#include "search/norms.h"
#include "search/pair.h"
#include "search/plan.h"
#include "search/recipe.h"
#include "search/rows.h"
#include "search/siblings.h"
#include "search/stretch.h"
#include "search/tails.h"

#include <math.h>

typedef enum { BY_POINT, BY_AGAIN } Way;
enum { WANTED = 1000000 }; /* microseconds that @fuse is worth */

typedef struct Candidate {
    int p, c;
    Way way;
    Tensor *t;
    bool stale;     /* a unit concerned is not what was evaluated */
    bool waits;     /* among the ranked, or to be evaluated */
    bool gone;
    double saves;   /* microseconds */
    const char *why;
} Candidate;

/* A candidate by what it saved when it was evaluated. */
typedef struct Ranked {
    double saves;
    int cand;
} Ranked;

typedef struct Search {
    Selection *s;
    Graph *g;
    Units u;
    Pairs *pairs;
    Candidate *cand; int n_cand, cap_cand;
    Ints *of;        /* by tensor id: candidates over it */
    Ranked *heap; int n_heap, cap_heap;
    Ints todo;       /* candidates to be evaluated first */
    double again;    /* what a microsecond that BY_AGAIN saves counts, */
    double sums;     /* and one that joining a sum's kernel saves */
    bool elsewhere;  /* fuse_elsewhere was said */
    bool last;       /* what it refuses is said */
    bool folded;     /* norms have their places */
} Search;

/* ---- what a group would take */

static double time_of(Search *x, Group *gr)
{
    Choice *c = choose_variant(x->s, gr);

    return c->family ? c->cost.us : INFINITY;
}

/* ---- the best candidate */

static bool before(const Ranked *a, const Ranked *b)
{
    return a->saves != b->saves ? a->saves > b->saves : a->cand < b->cand;
}

/* What is computed again in its readers can no longer join its producer, which
 * may save more later. What has joined a sum's kernel is read by no element of
 * another place there: of a gate's halves both have to be one kernel first. */
static double rank_of(const Search *x, const Candidate *k)
{
    if (k->way == BY_AGAIN)
        return k->saves * x->again;
    return group_cols(x->u.unit[k->p].group) > 1 ? k->saves * x->sums
                                                 : k->saves;
}

static void rank(Search *x, int cand)
{
    Ranked r = {rank_of(x, &x->cand[cand]), cand};
    x->cand[cand].waits = true;
    VEC_PUSH(x->g->arena, x->heap, x->n_heap, x->cap_heap) = r;
    int i = x->n_heap - 1;

    for (; i > 0 && before(&r, &x->heap[(i - 1) / 2]); i = (i - 1) / 2)
        x->heap[i] = x->heap[(i - 1) / 2];
    x->heap[i] = r;
}

static Ranked take_first(Search *x)
{
    Ranked top = x->heap[0], last = x->heap[--x->n_heap];
    int i = 0;

    for (int k; (k = 2 * i + 1) < x->n_heap; i = k) {
        if (k + 1 < x->n_heap && before(&x->heap[k + 1], &x->heap[k]))
            k++;
        if (before(&last, &x->heap[k]))
            break;
        x->heap[i] = x->heap[k];
    }
    x->heap[i] = last;
    return top;
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
    const Unit *p = &x->u.unit[k->p], *c = &x->u.unit[k->c];

    k->saves = -INFINITY;
    if (pinned(p->group) || pinned(c->group)) {
        k->why = "@nofuse";
        return;
    }
    if (units_apart(p->group, c->group)) {
        k->why = "it is computed again, behind the forward pass";
        return;
    }
    const Pair *pair = pair_fuse(x->pairs, &x->u, k->p, k->c, k->t);
    k->why = pair->why;
    x->elsewhere |= k->why == fuse_elsewhere;
    if (pair->fits && isinf(pair->us))
        k->why = "no family serves the two together";
    if (isinf(pair->us))
        return;
    k->saves = p->us + c->us - pair->us;
    if (wanted(c->group, k->t) && k->saves < WANTED)
        k->saves += WANTED;
}

/* A state, a trained parameter: something that another unit replaces. */
static bool reads_replaced(const Search *x, const Group *gr)
{
    for (int i = 0; i < gr->n_arg; i++)
        if (x->u.later[gr->arg[i]->id].n)
            return true;
    return false;
}

/* Computing p again in c reads p's inputs later than p did: wrong where they
 * are what a unit between the two overwrites. */
static bool reads_too_late(Search *x, int p, int c)
{
    return reads_replaced(x, x->u.unit[p].group) &&
           units_path_around(&x->u, p, c);
}

enum { MOST_AGAIN = 63 }; /* readers that each compute a value again */

/* Computing p again in every reader, so that it disappears. */
static void try_again(Search *x, Candidate *k)
{
    const Unit *p = &x->u.unit[k->p];
    const Ints *readers = &x->u.readers[k->t->id];
    double saves = p->us;

    k->saves = -INFINITY;
    if (k->t->role != ROLE_TEMP || k->t->prev || k->t->host ||
        pinned(p->group))
        return;
    if (norm_of_rows(p->group, k->t) && readers->n &&
        group_multiplies(x->g, x->u.unit[readers->v[0]].group)) {
        k->why = "it is a norm, which products take with its values of rows";
        return;
    }
    if (readers->n > MOST_AGAIN) {
        k->why = "too many kernels would compute it again";
        return;
    }
    if (readers->n < 2 && p->group->n_step > 1 &&
        !(readers->n &&
          group_multiplies(x->g, x->u.unit[readers->v[0]].group)))
        return; /* nothing is gained that its steps one by one would not */
    for (int i = 0; i < readers->n; i++) {
        const Unit *c = &x->u.unit[readers->v[i]];
        const Pair *pair = pinned(c->group)
                               ? NULL
                               : pair_again(x->pairs, p->group, c->group,
                                            k->t);
        k->why = pair ? pair->why : k->why;
        if (!pair || !pair->fits)
            return;
        saves += c->us - pair->us;
    }
    for (int i = 0; i < readers->n && saves > 0; i++)
        if (reads_too_late(x, k->p, readers->v[i])) {
            k->why = "the state that it reads is overwritten before";
            return;
        }
    k->saves = saves;
}

static void evaluate(Search *x, Candidate *k)
{
    k->stale = false;
    k->why = NULL;
    if (k->way == BY_POINT)
        try_point(x, k);
    else
        try_again(x, k);
}

static bool alive(Search *x, Candidate *k)
{
    k->gone |= k->p == k->c || !x->u.unit[k->p].group ||
               !x->u.unit[k->c].group ||
               !units_has(&x->u.unit[k->c].reads, k->t->id) ||
               !units_has(&x->u.unit[k->p].writes, k->t->id);
    return !k->gone;
}

/* To be evaluated: at once, unless it saved something when it was evaluated
 * last; then when its turn comes. */
static void find_stale(Search *x, int cand)
{
    Candidate *k = &x->cand[cand];

    k->stale = true;
    if (!k->waits)
        VEC_PUSH(x->g->arena, x->todo.v, x->todo.n, x->todo.cap) = cand;
    k->waits = true;
}

static void add_candidate(Search *x, Tensor *t, int p, int c, Way way)
{
    Ints *of = &x->of[t->id];

    for (int i = 0; i < of->n; i++) {
        Candidate *k = &x->cand[of->v[i]];
        if (k->p == p && k->way == way && (k->c == c || way == BY_AGAIN) &&
            alive(x, k))
            return;
    }
    VEC_PUSH(x->g->arena, of->v, of->n, of->cap) = x->n_cand;
    VEC_PUSH(x->g->arena, x->cand, x->n_cand, x->cap_cand) =
        (Candidate){.p = p, .c = c, .way = way, .t = t};
    find_stale(x, x->n_cand - 1);
}

/* Norms will read it, or not. */
static bool for_fold(const Group *gr)
{
    return gr->n_stmt && gr->stmt[0]->for_fold;
}

static void add_candidates(Search *x, Tensor *t)
{
    const Ints *readers = &x->u.readers[t->id];

    if (t->role == ROLE_PARAM || t->role == ROLE_INPUT ||
        x->u.writers[t->id].n != 1 || x->u.guests[t->id].n ||
        (t->for_chain && !x->last))
        return;
    int p = x->u.writers[t->id].v[0];
    const Group *gr = x->u.unit[p].group;
    for (int i = 0; i < readers->n && for_fold(gr) == x->folded; i++) {
        int c = readers->v[i];
        const Group *to = x->u.unit[c].group;
        if (c != p && for_fold(to) == x->folded &&
            (gr->when == WHEN_RUN || to->when == gr->when))
            add_candidate(x, t, p, c, BY_POINT);
    }
    if (readers->n && gr->when == WHEN_RUN && !gr->n_cols)
        add_candidate(x, t, p, readers->v[0], BY_AGAIN);
}

/* ---- merging */

/* Whether that unit i is about to change, or has, may change candidate k over
 * t, which it reads or writes. Of many readers one more or less leaves t needed
 * by others than the two of k. */
static bool concerns(const Search *x, int i, const Candidate *k)
{
    enum { FEW = 3 };

    return k->p == i || k->c == i || k->way == BY_AGAIN ||
           x->u.readers[k->t->id].n <= FEW;
}

/* What was evaluated of unit i's neighbourhood holds no more. */
static void touch(Search *x, int i)
{
    const Ints *both[] = {&x->u.unit[i].reads, &x->u.unit[i].writes};

    for (int b = 0; b < 2; b++)
        for (int k = 0; k < both[b]->n; k++) {
            const Ints *of = &x->of[both[b]->v[k]];
            for (int c = 0; c < of->n; c++)
                if (concerns(x, i, &x->cand[of->v[c]]))
                    find_stale(x, of->v[c]);
        }
}

/* Candidates of unit p are unit c's. */
static void rename_unit(Search *x, int p, int c)
{
    const Ints *both[] = {&x->u.unit[p].reads, &x->u.unit[p].writes};

    for (int b = 0; b < 2; b++)
        for (int k = 0; k < both[b]->n; k++) {
            const Ints *of = &x->of[both[b]->v[k]];
            for (int i = 0; i < of->n; i++) {
                Candidate *cand = &x->cand[of->v[i]];
                cand->p = cand->p == p ? c : cand->p;
                cand->c = cand->c == p ? c : cand->c;
            }
        }
}

static void change(Search *x, int i, Group *gr)
{
    touch(x, i);
    units_set(&x->u, i, gr);
    touch(x, i);
}

static void drop(Search *x, int i)
{
    touch(x, i);
    units_drop(&x->u, i);
}

static void merge_point(Search *x, Candidate *k)
{
    int p = k->p, c = k->c; /* k itself is renamed below */

    if (units_path_around(&x->u, p, c)) {
        k->saves = -INFINITY;
        k->why = "another kernel lies between the two";
        return;
    }
    Group *fused = pair_fused(x->pairs, &x->u, p, c, k->t);
    if (!fused) {
        k->saves = -INFINITY;
        return;
    }
    units_join(&x->u, p, c);
    rename_unit(x, p, c);
    change(x, c, fused);
    drop(x, p);
}

static void merge_again(Search *x, Candidate *k)
{
    const Ints *readers = &x->u.readers[k->t->id];
    int p = k->p, n = readers->n;
    int list[MOST_AGAIN];
    Group *made[MOST_AGAIN];
    Tensor *t = k->t; /* k may move */
    Group *gr = x->u.unit[p].group;

    memcpy(list, readers->v, sizeof *list * (size_t)n); /* as evaluated */
    for (int i = 0; i < n; i++) {
        made[i] = pair_computed_again(x->pairs, gr,
                                      x->u.unit[list[i]].group, t);
        if (!made[i] || reads_too_late(x, p, list[i])) {
            k->saves = -INFINITY;
            return;
        }
    }
    for (int i = 0; i < n; i++) {
        units_join(&x->u, p, list[i]);
        change(x, list[i], made[i]);
    }
    drop(x, p);
    /* What p read is now read by each of them. */
    for (int i = 0; i < gr->n_arg; i++)
        if (gr->arg[i] != t)
            add_candidates(x, gr->arg[i]);
}

/* Is candidate number `cand`, as things are now, worth it? */
static bool worth_it(Search *x, int cand)
{
    Candidate *k = &x->cand[cand];

    k->waits = false;
    if (!alive(x, k))
        return false;
    if (k->stale)
        evaluate(x, k);
    return k->saves > 0;
}

/* The candidate that saves most, or nearly. NULL: none saves anything. */
static Candidate *best_candidate(Search *x)
{
    const double nearly = 0.99;

    for (int i = 0; i < x->todo.n; i++)
        if (worth_it(x, x->todo.v[i]))
            rank(x, x->todo.v[i]);
    x->todo.n = 0;
    while (x->n_heap) {
        int cand = take_first(x).cand;
        Candidate *k = &x->cand[cand];
        bool fresh = !k->stale;
        if (!worth_it(x, cand))
            continue;
        if (fresh || !x->n_heap || rank_of(x, k) >= nearly * x->heap[0].saves)
            return k;
        rank(x, cand);
    }
    return NULL;
}

static void note_refusals(Search *x)
{
    Selection *s = x->s;

    for (int i = 0; i < x->n_cand; i++) {
        Candidate *k = &x->cand[i];
        bool again = k->way == BY_AGAIN;
        if (!alive(x, k) || (again && isinf(k->saves)))
            continue;
        const Unit *p = &x->u.unit[k->p], *c = &x->u.unit[k->c];
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
        const Group *a = x->u.unit[member[i]].group;
        if (pinned(a) || units_apart(a, x->u.unit[member[0]].group))
            return false;
    }
    return true;
}

static void refuse_chain(Search *x, int last, const ChainFound *f,
                         const char *why, double apart, double us)
{
    Selection *s = x->s;
    const Group *c = x->u.unit[last].group;

    if (!x->last)
        return;
    VEC_PUSH(x->g->arena, s->refusal, s->n_refusal, s->cap_refusal) =
        (Refusal){x->u.unit[f->member[0]].group->stmt[0], c->stmt[0],
                  f->scores, why, apart, us, false};
}

static void make_chain(Search *x, int last, const ChainFound *f)
{
    Group *piece[CHAIN_MOST];

    for (int i = 0; i < f->n; i++)
        piece[i] = x->u.unit[f->member[i]].group;
    merge_note_chain(x->g, f->group, &f->kept, piece, f->n);
    for (int i = 0; i < f->n; i++)
        if (f->member[i] != last)
            units_join(&x->u, f->member[i], last);
    change(x, last, f->group);
    for (int i = 0; i < f->n - 1; i++)
        drop(x, f->member[i]);
}

static const char *why_unserved(Search *x, Group *gr)
{
    Choice *c = choose_variant(x->s, gr);
    const char *why = NULL;

    for (const Family *const *f = family_table; !c->no_chain && *f; f++) {
        const char *w = NULL;
        if ((*f)->chains)
            family_open(*f, x->g, gr, x->s->options, &w);
        if (!why || !strncmp(why, "needs sm_", 9)) /* of another GPU's */
            why = w ? w : why;
    }
    if (!c->no_chain)
        c->no_chain = why ? why : "no variant fits the GPU";
    return c->no_chain;
}

/* With one of the products behind it. False if there is none. */
static bool try_chain(Search *x, int last, int which)
{
    ChainFound f = {.n = 0};
    double apart = 0;

    if (!chain_find(&x->u, last, which, &f))
        return false;
    if (!f.group && !f.why)
        return true;
    if (f.group && (!may_chain(x, f.member, f.n) ||
                    units_surround(&x->u, f.member, f.n)))
        return true;
    double us = f.group ? time_of(x, f.group) : INFINITY;
    for (int i = 0; i < f.n; i++)
        apart += x->u.unit[f.member[i]].us;
    if (f.group && isinf(us))
        f.why = why_unserved(x, f.group);
    bool first = f.group && !isinf(us) &&
                 family_preferred(x->s->options,
                                  choose_variant(x->s, f.group)->family);
    if (isinf(us) || (us >= apart && !first))
        refuse_chain(x, last, &f, isinf(us) ? f.why : NULL, apart, us);
    else {
        f.group->apart_us = apart;
        make_chain(x, last, &f);
    }
    return true;
}

/* What every family says against a group. */
static void say_why(Search *x, Group *gr)
{
    Diag *d = x->g->diag;

    diag_error(d, gr->stmt[0]->call, "no kernel family can compute this");
    for (const Family *const *f = family_table; *f; f++) {
        const char *why;
        family_open(*f, x->g, gr, x->s->options, &why);
        if ((*f)->chains != (gr->chain != NULL))
            continue;
        diag_note(d, gr->stmt[0]->call, "%s: %s", (*f)->name,
                  why ? why : "no variant fits the GPU");
    }
}

static bool check_served(Search *x)
{
    bool ok = true;

    for (int i = 0; i < x->u.n; i++) {
        Group *gr = x->u.unit[i].group;
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

/* False if some wait for each other, which no merge may bring about. */
static bool order_groups(Search *x)
{
    int i = units_order(&x->u);

    if (i >= 0 && x->s->plan)
        diag_error(x->g->diag, x->u.unit[i].group->stmt[0]->call,
                   "the plan's kernels would wait for each other");
    else if (i >= 0)
        diag_error(x->g->diag, x->u.unit[i].group->stmt[0]->call,
                   "a bug in dcc: kernels that wait for each other");
    return i < 0;
}

static bool stores_nothing(const Group *gr)
{
    for (int i = 0; i < gr->n_step; i++)
        if (gr->step[i].tensor)
            return false;
    return true;
}

/* What nobody reads is not stored, and who stores nothing does not run: what
 * it read may be next. */
static void drop_unread(Search *x)
{
    bool again = true;

    while (again) {
        again = false;
        for (int i = x->u.n - 1; i >= 0; i--) {
            Group *gr = x->u.unit[i].group;
            if (gr && for_fold(gr) && !x->folded)
                continue;
            Group *kept = gr ? merge_drop_stores(&x->u, gr, i, i) : NULL;
            if (kept == gr)
                continue;
            if (stores_nothing(kept)) {
                drop(x, i);
                again = true;
            } else {
                change(x, i, kept);
            }
        }
    }
}

static void merge_candidates(Search *x)
{
    for (int i = 0; i < x->g->n_tensor; i++)
        add_candidates(x, x->g->tensor[i]);
    for (Candidate *k; (k = best_candidate(x));)
        (k->way == BY_POINT ? merge_point : merge_again)(x, k);
}

/* Merges whatever saves time, until nothing does. */
static void merge_all(Search *x)
{
    merge_candidates(x);
    drop_unread(x);
    for (int i = 0; i < x->u.n; i++)
        if (x->u.unit[i].group && x->u.unit[i].group->when == WHEN_RUN)
            for (int which = 0; try_chain(x, i, which); which++)
                ;
}

static Search search_open(Selection *s, Pairs *pairs, double again, double sums)
{
    Search x = {.s = s, .g = s->graph, .pairs = pairs, .again = again,
                .sums = sums};

    x.of = arena_array(x.g->arena, Ints, x.g->n_tensor + 1);
    units_open(&x.u, s);
    return x;
}

/* Nothing is known of candidates any more. */
static void forget(Search *x)
{
    x->n_cand = x->n_heap = x->todo.n = 0;
    for (int i = 0; i < x->g->n_tensor; i++)
        x->of[i].n = 0;
}

/* The plan's groups, in its order. What else could have been merged is
 * evaluated, for what is said of it. */
static bool take_plan(Search *x)
{
    if (!plan_merge(x->s->plan, &x->u))
        return false;
    drop_unread(x);
    if (!plan_place(x->s->plan, &x->u))
        return false;
    x->folded = true;
    drop_unread(x);
    recipe_end(&x->u);
    plan_order(x->s->plan, &x->u);
    for (int i = 0; i < x->g->n_tensor; i++)
        add_candidates(x, x->g->tensor[i]);
    for (int i = 0; i < x->todo.n; i++)
        worth_it(x, x->todo.v[i]);
    return true;
}

/* What is left to save where nothing else is to be merged by pairs. */
static void finish(Search *x)
{
    const double told = 0.98; /* what a model can tell */

    tails_place(&x->u, told);
    forget(x);
    x->last = true;
    merge_all(x);
    recipe_begin(&x->u);
    norms_place(&x->u);
    rows_place(&x->u);
    siblings_place(&x->u);
    x->folded = true;
    drop_unread(x);
    merge_candidates(x);
    recipe_end(&x->u);
}

/* Several searches by pairs, each of which may end where no single merge helps.
 * Between positions that no unit of any of them spans they can be mixed: of
 * each such part the cheapest is taken, that of the last search if it takes
 * less as far as a model can tell. */
static Search search_pairs(Selection *s, Pairs *pairs)
{
    const double told = 0.98;
    Search x = search_open(s, pairs, 0.8, 1), y = search_open(s, pairs, 1, 1);

    merge_all(&x);
    merge_all(&y);
    units_take_better(&x.u, &y.u, 1);
    if (x.elsewhere || y.elsewhere) {
        Search z = search_open(s, pairs, 1, 0.8);
        merge_all(&z);
        units_take_better(&x.u, &z.u, told);
    }
    return x;
}

/* What @fuse asks for counts more than time, which pairs know alone. */
static bool any_wanted(const Graph *g)
{
    for (int i = 0; i < g->n_stmt; i++)
        if (g->stmt[i]->n_with)
            return true;
    return false;
}

/* The same with stretches of several units: before pairs are merged, and where
 * those end. False if that saves nothing that a model can tell: a relu here or
 * there is no reason to leave what pairs make. */
static bool search_stretches(Search *x, const Search *by_pairs)
{
    const double told = 0.995;

    if (any_wanted(x->g))
        return false;
    *x = search_open(x->s, x->pairs, 1, 1);
    Search first = search_open(x->s, x->pairs, 1, 1);
    units_take_better(&x->u, &by_pairs->u, 1);
    if (stretches_place(&first.u, 1)) {
        merge_all(&first);
        units_take_better(&x->u, &first.u, told);
    }
    stretches_place(&x->u, told);
    return units_time(&x->u) < units_time(&by_pairs->u);
}

/* The better one of both: what saves time now may be in the way of what is
 * merged at the end. */
static Search *search_all(Selection *s)
{
    Arena *a = s->graph->arena;
    Pairs *pairs = pairs_new(s);
    Search *x = arena_new_of(a, Search), *y = arena_new_of(a, Search);

    *x = search_pairs(s, pairs);
    *y = (Search){.s = s, .g = s->graph, .pairs = pairs};
    bool two = search_stretches(y, x);
    finish(x);
    if (!two)
        return x;
    Refusal *refusal = s->refusal;
    int n = s->n_refusal;
    s->refusal = NULL;
    s->n_refusal = s->cap_refusal = 0;
    finish(y);
    if (units_time(&y->u) < units_time(&x->u))
        return y;
    s->refusal = refusal;
    s->n_refusal = s->cap_refusal = n;
    return x;
}

/* NULL after an error. Keys of statements are those of the order that opening
 * a search puts them in. */
static Search *search_planned(Selection *s, const PlanText *text)
{
    Search *x = arena_new_of(s->graph->arena, Search);

    *x = search_open(s, pairs_new(s), 1, 1);
    s->plan = plan_read(s->graph, s->options, text);
    return s->plan && take_plan(x) && plan_whole(s->plan, &x->u) ? x : NULL;
}

bool select_groups(Graph *g, const Options *o, const PlanText *plan,
                   Selection *s)
{
    s->graph = g;
    s->options = o;
    s->choices = map_new(g->arena);
    if (o->device->sm == 90) { /* what takes norms is wgmma */
        norm_prepare(g);
        fold_prepare(g, o->folds);
    }
    Search *x = plan->name ? search_planned(s, plan) : search_all(s);
    if (!x)
        return false;
    s->recipe = x->u.recipe;
    note_refusals(x);
    return check_served(x) && units_sound(&x->u) && order_groups(x);
}
