#include "rewrite/layout.h"

#include "rewrite/embed.h"
#include "rewrite/pack.h"
#include "rewrite/padding.h"
#include "rewrite/scores.h"
#include "rewrite/walk.h"

/* ---- classes of tensors with one layout */

typedef struct Layouts {
    Graph *g;
    int *parent;               /* union-find by tensor id */
    double (*vote)[MAX_RANK];  /* of a class: for each innermost dimension */
    bool *sums;                /* of a class: sums or windows voted */
    bool *decided;             /* by tensor: and nearly all for one dimension */
    bool *trained;             /* of a class: it has a trained parameter */
    bool *scores;              /* by tensor: find_scores' */
    bool *chain;               /* by tensor: and its factors, and results */
    bool windows, products;    /* some voted */
} Layouts;

static int root(Layouts *l, int i)
{
    while (l->parent[i] != i)
        i = l->parent[i] = l->parent[l->parent[i]];
    return i;
}

/* Trained parameters, and what is kept for their updates, lie as those products
 * want them that read them or make their gradients. */
static bool follows_trained(Layouts *l, const Tensor *t)
{
    return t->role == ROLE_STATE && l->trained[root(l, t->id)];
}

static bool same_dims(const Tensor *a, const Tensor *b)
{
    if (a->rank != b->rank)
        return false;
    for (int d = 0; d < a->rank; d++)
        if (a->dim[d] != b->dim[d])
            return false;
    return true;
}

typedef struct Union {
    Layouts *l;
    const Stmt *s;
} Union;

/* An element-by-element read: t[i, j] = f(x[i, j]). */
static void unite(const Expr *e, void *ctx)
{
    Union *u = ctx;
    const Tensor *t = u->s->tensor;

    if (e->kind != E_READ || !same_dims(e->tensor, t) || e->tensor->astride)
        return;
    for (int d = 0; d < t->rank; d++)
        if (e->at[d] != u->s->store[d])
            return;
    u->l->parent[root(u->l, e->tensor->id)] = root(u->l, t->id);
}

/* A tensor that is copied into a part of another, which it may become
 * (embed.h). */
static bool unite_copied(Layouts *l, const Stmt *s)
{
    int dim[MAX_RANK];
    const Tensor *a = embed_copied(s, dim);
    bool same = a && a->rank == s->tensor->rank;

    for (int i = 0; same && i < a->rank; i++)
        same = dim[i] == i || a->dim[i] == 1;
    if (same)
        l->parent[root(l, a->id)] = root(l, s->tensor->id);
    return same;
}

/* ---- votes */

static void vote(Layouts *l, const Tensor *t, int dim, double weight)
{
    l->vote[t->id][dim] += weight * (double)tensor_elems(t);
    l->sums[t->id] |= weight >= 0.5; /* less: as declared */
}

/* The dimension that one variable of the list walks, the longest. */
static int best_dim(const Expr *read, const Var *const *list, int n)
{
    int64_t best_size = 0;
    int best = -1;

    for (int d = 0; d < read->tensor->rank; d++) {
        const Var *v = walk_var(read->at[d]);
        /* The last of equals: it is the contiguous one as declared. */
        if (v && v->extent >= WORTH && v->extent >= best_size &&
            walk_in_list(list, n, v)) {
            best = d;
            best_size = v->extent;
        }
    }
    return best;
}

/* Whether some dimension of a is summed over by itself. */
static bool sums_along(const Stmt *s, const Expr *a)
{
    return best_dim(a, (const Var *const *)s->red, s->n_red) >= 0;
}

/* Whether what a read walks by variables of its own, up to dimension `last`, is
 * a whole number of vectors: what comes before it then begins at one. */
static bool runs_whole(const Expr *a, int last, const Var *const *own, int n)
{
    enum { VECTOR = 16 };
    int64_t bytes = type_bytes(a->tensor->type);
    int d = a->tensor->rank - 1;

    for (; d > last; d--)
        bytes *= a->tensor->dim[d];
    for (; d >= 0 && walk_in_list(own, n, walk_var(a->at[d])); d--)
        bytes *= a->tensor->dim[d];
    return d < 0 || bytes % VECTOR == 0;
}

/* An operand is best loaded along a summed variable; along a variable of its
 * own is as good where the tensor already lies so. */
static void vote_operand(Layouts *l, const Stmt *s, const Expr *a,
                         const Expr *b)
{
    const Var *own[32];
    int n = walk_only_in(s, a, b, own), last = a->tensor->rank - 1;
    /* of weights the summed ones are one number already, of parts they are
       none */
    int d = tensor_is_constant(b->tensor) || a->tensor->parts
                ? -1
                : walk_sole_own(s, a, own, n);

    while (last > 0 && a->tensor->dim[last] < WORTH)
        last--; /* parts of a stack */
    const Var *v = last < 0 ? NULL : walk_var(a->at[last]);

    if (d < 0)
        d = best_dim(a, (const Var *const *)s->red, s->n_red);
    if (d < 0 && !walk_has_window(a)) /* a window's images are far apart */
        d = best_dim(a, own, n);
    if (d >= 0)
        vote(l, a->tensor, d, 1);
    if (v && v->extent >= WORTH && d != last && walk_in_list(own, n, v) &&
        runs_whole(a, last, own, n))
        vote(l, a->tensor, last, 1);
}

typedef struct Windows {
    Layouts *l;
    const Stmt *s;
} Windows;

/* Windows that no contraction sums over channels of (pooling, depthwise) are
 * read and written along what walks alone: the channels. */
static void vote_window(const Expr *e, void *ctx)
{
    Windows *w = ctx;
    const Stmt *s = w->s;

    int d = w->l->g->as_declared ? -1 : walk_channels(s, e);
    if (d < 0)
        return;
    w->l->windows = true;
    vote(w->l, e->tensor, d, 1);
    for (int i = 0; i < s->tensor->rank; i++)
        if (idx_is_var(s->store[i]) == walk_var(e->at[d]))
            vote(w->l, s->tensor, i, 1);
}

/* The variable of the weights b alone that walks a dimension of the result:
 * what else is there is theirs, too (groups). */
static const Var *columns_of(const Expr *a, const Expr *b, const Idx *store)
{
    const Var *v = walk_var(store);

    for (int i = 0; i < store->n && v; i++)
        if (store->term[i].atom->kind != ATOM_VAR ||
            !expr_uses(b, store->term[i].atom->var))
            return NULL;
    return v && !expr_uses(a, v) ? v : NULL;
}

/* The result is written along the variables of the weights, or of a copy of
 * trained ones. */
static void vote_result(Layouts *l, const Stmt *s, const Expr *a,
                        const Expr *b)
{
    const Tensor *t = b->tensor;
    bool weights = t->when == WHEN_LOAD || t->role == ROLE_PARAM ||
                   l->trained[root(l, t->id)];

    for (int d = s->tensor->rank - 1; d >= 0; d--) {
        if (weights && columns_of(a, b, s->store[d])) {
            vote(l, s->tensor, d, 0.5);
            return;
        }
    }
}

/* A result along neither operand's own variables, but those that both have, is
 * stored to parts of sectors: better along one's own. */
static void vote_beside(Layouts *l, const Stmt *s, const Expr *a,
                        const Expr *b)
{
    const Tensor *t = s->tensor;
    const Var *last = idx_is_var(s->store[t->rank - 1]);

    if (!last || !expr_uses(a, last) || !expr_uses(b, last))
        return;
    for (int d = t->rank - 2; d >= 0; d--) {
        const Var *v = idx_is_var(s->store[d]);
        if (v && v->extent >= WORTH && expr_uses(a, v) != expr_uses(b, v)) {
            vote(l, t, d, 0.5);
            return;
        }
    }
}

static const double CHAIN = 0.25; /* what a chain's wish decides is a tie */

/* The first product of a chain wants its factors along its sum, the second one
 * its results along the other factor's columns. */
static void vote_chain(Layouts *l, const Stmt *s, const Expr *a, const Expr *b)
{
    const Expr *other = l->scores[a->tensor->id] ? b : a;
    const Expr *factor[] = {a, b};

    for (int i = 0; i < 2 && l->scores[s->tensor->id]; i++) {
        int d = best_dim(factor[i], (const Var *const *)s->red, s->n_red);
        if (d < 0)
            continue;
        vote(l, factor[i]->tensor, d, CHAIN);
        l->chain[factor[i]->tensor->id] = true;
    }
    if (l->scores[a->tensor->id] == l->scores[b->tensor->id])
        return;
    for (int d = s->tensor->rank - 1; d >= 0; d--) {
        const Var *v = idx_is_var(s->store[d]);
        if (v && expr_uses(other, v) && !expr_uses(other == a ? b : a, v)) {
            vote(l, s->tensor, d, CHAIN);
            l->chain[s->tensor->id] = true;
            return;
        }
    }
}

/* A sum for each channel alone, over what both have or a window moves: one
 * factor has no points of its own, and it is no contraction. */
static bool is_of_channels(const Stmt *s, const Expr *a, const Expr *b)
{
    const Var *own[32];
    bool apart = walk_only_in(s, a, b, own) && walk_only_in(s, b, a, own);

    return !apart && walk_has_window(a) && walk_has_window(b);
}

/* A sum of what two tensors have at each point, where one lies along points of
 * the result: both are best along these. */
static bool vote_points(Layouts *l, const Stmt *s, const Expr *a, const Expr *b)
{
    const Expr *factor[] = {a, b};
    const Var *own[32], *along = NULL;

    if (walk_only_in(s, a, b, own) || walk_only_in(s, b, a, own))
        return false;
    for (int i = 0; i < 2; i++) {
        const Tensor *t = factor[i]->tensor;
        const Var *v = t->rank ? idx_is_var(factor[i]->at[t->rank - 1]) : NULL;
        if (v && v->extent >= WORTH &&
            walk_in_list((const Var *const *)s->out, s->n_out, v))
            along = v;
    }
    for (int i = 0; along && i < 2; i++)
        for (int d = 0; d < factor[i]->tensor->rank; d++)
            if (idx_is_var(factor[i]->at[d]) == along)
                vote(l, factor[i]->tensor, d, 1);
    return along;
}

static void vote_stmt(Layouts *l, const Stmt *s)
{
    const Expr *a, *b;

    if (s->when != WHEN_RUN)
        return;
    Windows w = {l, s};
    bool product = walk_cut_product(s, &a, &b) && !walk_is_pick(s);
    if (!product)
        vote(l, s->tensor, s->tensor->rank - 1, 0.01);
    bool channels = product && is_of_channels(s, a, b);
    if (s->op != R_NONE && (!product || !sums_along(s, a) || channels))
        expr_visit(s->value, vote_window, &w);
    if (!product || channels || vote_points(l, s, a, b))
        return;
    l->products |= sums_along(s, a);
    vote_operand(l, s, a, b);
    vote_operand(l, s, b, a);
    vote_result(l, s, a, b);
    vote_result(l, s, b, a);
    vote_chain(l, s, a, b);
    if (s->tensor->rank > 1)
        vote_beside(l, s, a, b);
}

/* Those of a class are its root's. */
static void gather_votes(Layouts *l)
{
    for (int i = 0; i < l->g->n_tensor; i++) {
        int r = root(l, i);
        for (int d = 0; r != i && d < l->g->tensor[i]->rank; d++) {
            l->vote[r][d] += l->vote[i][d];
            l->vote[i][d] = 0;
        }
    }
}

/* Has one dimension clearly more than any other? */
static bool is_decided(const double *vote, int rank)
{
    double most = 0, next = 0;

    for (int d = 0; d < rank; d++) {
        if (vote[d] > most) {
            next = most;
            most = vote[d];
        } else if (vote[d] > next) {
            next = vote[d];
        }
    }
    return next < most / 2;
}

static void note_decided(Layouts *l)
{
    Graph *g = l->g;
    double (*sum)[MAX_RANK] =
        arena_alloc(g->arena, sizeof *sum * (size_t)g->n_tensor);

    for (int i = 0; i < g->n_tensor; i++) {
        l->sums[root(l, i)] |= l->sums[i];
        for (int d = 0; d < g->tensor[i]->rank; d++)
            sum[root(l, i)][d] += l->vote[i][d];
    }
    for (int i = 0; i < g->n_tensor; i++)
        l->decided[i] = l->sums[root(l, i)] &&
                        is_decided(sum[root(l, i)], g->tensor[i]->rank);
}

/* The dimension that most of its class votes for. */
static int elected(Layouts *l, const Tensor *t)
{
    const double *v = l->vote[root(l, t->id)];
    int best = t->rank - 1;

    for (int d = t->rank - 2; d >= 0; d--)
        if (v[d] > v[best])
            best = d;
    return best;
}

/* The dimension of t that s stores along what walks dimension i of the read. */
static int stored_along(const Stmt *s, const Expr *read, int i)
{
    const Var *v = walk_var(read->at[i]);

    for (int d = 0; d < s->tensor->rank; d++)
        if (v && idx_is_var(s->store[d]) == v)
            return d;
    return -1;
}

/* The dimension along which t lies, if that is known: as declared, or as those
 * who make and read it have said. */
static int lies_along(Layouts *l, const Tensor *t)
{
    enum { FEW = 10 };
    const int d = t->rank ? elected(l, t) : -1;

    if (t->role == ROLE_OUTPUT || d < 0)
        return t->rank - 1;
    return layout_is_free(t) && l->vote[root(l, t->id)][d] * FEW >
                             (double)tensor_elems(t) ? d : -1;
}

/* Whether points share elements of e: x[c, q / 2]. */
static bool is_enlarged(const Expr *e, const Tensor *t)
{
    bool part = false;

    for (int i = 0; i < e->tensor->rank; i++)
        part |= e->at[i]->n && !idx_is_var(e->at[i]);
    return part && tensor_elems(t) >= 2 * tensor_elems(e->tensor);
}

/* An output y[c, q] = f(x[c, q / 2]) lies as declared: x is best read along the
 * same, and so is what is enlarged on the way to something else. */
static void wish(const Expr *e, void *ctx)
{
    Union *u = ctx;
    const Tensor *t = u->s->tensor;
    const int d = lies_along(u->l, t);

    if (e->kind != E_READ || d < 0 || !layout_is_free(e->tensor) ||
        same_dims(e->tensor, t))
        return;
    const Var *last = idx_is_var(u->s->store[d]);
    const bool larger = is_enlarged(e, t);
    for (int i = 0; i < e->tensor->rank; i++)
        if (last && idx_uses(e->at[i], last) &&
            (idx_is_var(e->at[i]) ? larger : t->role == ROLE_OUTPUT))
            u->l->vote[root(u->l, e->tensor->id)][i] +=
                (double)tensor_elems(t) / 2;
}

static void note_largest(const Expr *e, void *ctx)
{
    int64_t *largest = ctx;

    if (e->kind == E_READ && tensor_elems(e->tensor) > *largest)
        *largest = tensor_elems(e->tensor);
}

/* y[0, k, p] = f(x[k, p]): what x is best laid out for is good for y too,
 * unless who reads y has said what is. Of y[i, j] = f(x[i], z[j]), each element
 * of these is read many times. */
static void inherit(const Expr *e, void *ctx)
{
    Union *u = ctx;
    const Tensor *t = u->s->tensor;

    if (e->kind != E_READ || same_dims(e->tensor, t) ||
        !layout_is_free(e->tensor) || u->l->decided[t->id])
        return;
    if (!e->tensor->rank ||
        stored_along(u->s, e, elected(u->l, e->tensor)) < 0)
        return;
    int64_t largest = 0;
    expr_visit(u->s->value, note_largest, &largest);
    double times = (double)tensor_elems(t) / (double)largest;
    for (int i = 0; i < e->tensor->rank; i++) {
        int d = stored_along(u->s, e, i);
        if (d >= 0)
            u->l->vote[root(u->l, t->id)][d] +=
                u->l->vote[root(u->l, e->tensor->id)][i] *
                (times > 1 ? times : 1);
    }
}

/* ---- strides */

/* Dense, the dimensions in this order, the last contiguous. */
static void in_order(Tensor *t, const int *order)
{
    int64_t stride = 1;

    for (int i = t->rank - 1; i >= 0; i--) {
        t->stride[order[i]] = stride;
        stride *= t->dim[order[i]];
    }
    t->span = stride;
}

/* Where the parts of a stack go that stand last: outside of what products sum
 * over, where points of it that are one number lie along `inner`. */
static int parts_before(const double *vote, const Tensor *t, int inner)
{
    enum { PART = 4 }; /* of the votes: a sum's, and not the declared order's */
    const int last = t->rank - 1;

    for (int d = 0; t->stacked && inner == last - 1 && d < inner - 1; d++)
        if (vote[d] * PART > vote[inner])
            return d;
    return last;
}

/* Row-major, but with `inner` moved to the end. */
static void lay_out(const double *vote, Tensor *t, int inner)
{
    const int before = parts_before(vote, t, inner), last = t->rank - 1;
    int order[MAX_RANK], n = 0;

    for (int d = 0; d < t->rank; d++) {
        if (d == before && before < last)
            order[n++] = last;
        if (d != inner && (d < last || before == last))
            order[n++] = d;
    }
    order[n++] = inner;
    in_order(t, order);
}

/* A number below n, of a sequence that `state` holds. */
static int draw(uint64_t *state, int n)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (int)((*state >> 33) % (uint64_t)n);
}

/* Layouts that nobody would choose, for about half of the classes. */
static void choose_at_random(Layouts *l, uint64_t seed)
{
    for (int i = 0; i < l->g->n_tensor; i++) {
        Tensor *t = l->g->tensor[i];
        uint64_t state = seed * 0x9e3779b97f4a7c15u + (uint64_t)root(l, i);
        int order[MAX_RANK];
        draw(&state, 2);
        if (!(layout_is_free(t) || follows_trained(l, t)) || t->rank < 2 ||
            draw(&state, 2))
            continue;
        for (int d = 0; d < t->rank; d++) { /* in a random place so far */
            int at = draw(&state, d + 1);
            order[d] = order[at];
            order[at] = d;
        }
        in_order(t, order);
    }
}

static void choose(Layouts *l)
{
    Graph *g = l->g;

    for (int i = 0; i < g->n_tensor; i++) {
        Tensor *t = g->tensor[i];
        if (!(layout_is_free(t) || follows_trained(l, t)) || t->rank < 2)
            continue;
        int best = elected(l, t);
        if (best != t->rank - 1)
            lay_out(l->vote[root(l, t->id)], t, best);
    }
}

/* ---- the classes, and how they vote */

static void unite_all(Layouts *l, bool *copied)
{
    Graph *g = l->g;

    for (int i = 0; i < g->n_tensor; i++)
        l->parent[i] = i;
    for (int i = 0; i < g->n_tensor; i++) /* one memory */
        if (g->tensor[i]->prev)
            l->parent[root(l, g->tensor[i]->prev->id)] = root(l, i);
    for (int i = 0; i < g->n_stmt; i++) {
        if (g->stmt[i]->op == R_NONE)
            expr_visit(g->stmt[i]->value, unite, &(Union){l, g->stmt[i]});
        copied[i] = unite_copied(l, g->stmt[i]);
    }
}

typedef struct Sources {
    Layouts *l;
    const Stmt *s;
    int trained, others;
} Sources;

static void note_source(const Expr *e, void *ctx)
{
    Sources *s = ctx;

    if (e->kind == E_READ)
        *(s->l->trained[root(s->l, e->tensor->id)] ? &s->trained
                                                   : &s->others) += 1;
}

/* Trained parameters of which something lies as it wants lie so, too. */
static void vote_source(const Expr *e, void *ctx)
{
    Sources *of = ctx;
    const Tensor *t = of->s->tensor;

    for (int d = 0; e->kind == E_READ && d < e->tensor->rank; d++) {
        const Var *v = walk_var(e->at[d]);
        if (v && v == idx_is_var(of->s->store[t->rank - 1]))
            vote(of->l, e->tensor, d, 1);
    }
}

/* What is made of trained parameters point by point (diagonal.h) is weights as
 * these are. */
static void note_trained(Layouts *l)
{
    const Graph *g = l->g;

    for (int i = 0; i < g->n_tensor; i++)
        l->trained[root(l, i)] |= tensor_is_trained(g->tensor[i]);
    for (int i = 0; i < g->n_stmt; i++) {
        const Stmt *s = g->stmt[i];
        Sources of = {.l = l, .s = s};
        if (s->op != R_NONE || s->tensor->role != ROLE_TEMP)
            continue;
        expr_visit(s->value, note_source, &of);
        if (!of.trained || of.others)
            continue;
        l->trained[root(l, s->tensor->id)] = true;
        if (s->tensor->as_declared)
            expr_visit(s->value, vote_source, &of);
    }
}

/* A sum that is no product has of each point what its terms have there. */
static bool is_pointwise(const Stmt *s)
{
    const Expr *a, *b;

    return s->op == R_NONE || walk_is_pick(s) || !walk_cut_product(s, &a, &b);
}

static Layouts poll(Graph *g)
{
    Layouts l = {.g = g};
    bool *copied = arena_array(g->arena, bool, g->n_stmt + 1);

    l.parent = arena_array(g->arena, int, g->n_tensor);
    l.vote = arena_alloc(g->arena, sizeof *l.vote * (size_t)g->n_tensor);
    l.decided = arena_array(g->arena, bool, g->n_tensor);
    l.sums = arena_array(g->arena, bool, g->n_tensor);
    l.trained = arena_array(g->arena, bool, g->n_tensor);
    l.scores = find_scores(g);
    l.chain = arena_array(g->arena, bool, g->n_tensor);
    unite_all(&l, copied);
    note_trained(&l);
    for (int i = 0; i < g->n_stmt; i++)
        if (g->stmt[i]->tensor->rank && !copied[i])
            vote_stmt(&l, g->stmt[i]);
    note_decided(&l);
    gather_votes(&l);
    for (int i = g->n_stmt - 1; i >= 0; i--)
        if (g->stmt[i]->op == R_NONE && !copied[i])
            expr_visit(g->stmt[i]->value, wish, &(Union){&l, g->stmt[i]});
    for (int i = 0; i < g->n_stmt; i++)
        if (!copied[i] && is_pointwise(g->stmt[i]))
            expr_visit(g->stmt[i]->value, inherit, &(Union){&l, g->stmt[i]});
    return l;
}

bool layout_by_windows(Graph *g)
{
    const Layouts l = poll(g);

    return l.windows && !l.products;
}

int *layout_inner(Graph *g)
{
    int *inner = arena_array(g->arena, int, g->n_tensor + 1);
    Layouts l = poll(g);

    for (int i = 0; i < g->n_tensor; i++) {
        const Tensor *t = g->tensor[i];
        inner[i] = t->rank && layout_is_free(t) ? elected(&l, t) : t->rank - 1;
    }
    return inner;
}

bool *layout_misfits(Graph *g, const bool **chain)
{
    bool *misfit = arena_array(g->arena, bool, g->n_tensor + 1);
    Layouts l = poll(g);

    for (int i = 0; i < g->n_tensor; i++) {
        const Tensor *t = g->tensor[i];
        l.chain[root(&l, i)] |= l.chain[i];
        bool odd = t->role == ROLE_INPUT && layout_ragged(t);
        misfit[i] = t->rank > 1 && (elected(&l, t) != t->rank - 1 || odd);
    }
    for (int i = 0; i < g->n_tensor; i++)
        l.chain[i] = l.chain[root(&l, i)];
    *chain = l.chain;
    return misfit;
}

void layout(Graph *g, bool f32_along_sum, uint64_t seed, const Packings *as,
            Packings *made)
{
    Layouts l = poll(g);
    Packings ways = {0};

    for (int i = 0; i < g->n_tensor; i++)
        tensor_row_major(g->tensor[i]);
    choose(&l);
    if (seed)
        choose_at_random(&l, seed);
    layout_pad_rows(g);
    pack_weights(g, f32_along_sum, as, made ? made : &ways);
}

void layout_dump(Buf *b, const Graph *g)
{
    for (int i = 0; i < g->n_tensor; i++) {
        const Tensor *t = g->tensor[i];
        buf_printf(b, "t%d %s : %s[", t->id, t->name, type_name(t->type));
        for (int d = 0; d < t->rank; d++)
            buf_printf(b, "%s%lld", d ? ", " : "", (long long)t->dim[d]);
        buf_puts(b, "] strides");
        for (int d = 0; d < t->rank; d++)
            buf_printf(b, " %lld", (long long)t->stride[d]);
        buf_puts(b, "\n");
    }
}
