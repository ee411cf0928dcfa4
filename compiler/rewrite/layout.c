#include "rewrite/layout.h"

#include "rewrite/embed.h"
#include "rewrite/simplify.h"
#include "rewrite/walk.h"

/* ---- classes of tensors with one layout */

typedef struct Layouts {
    Graph *g;
    int *parent;               /* union-find by tensor id */
    double (*vote)[MAX_RANK];  /* of a class: for each innermost dimension */
    bool *sums;                /* of a class: sums or windows voted */
    bool *decided;             /* by tensor: and nearly all for one dimension */
    bool *trained;             /* of a class: it has a trained parameter */
} Layouts;

static int root(Layouts *l, int i)
{
    while (l->parent[i] != i)
        i = l->parent[i] = l->parent[l->parent[i]];
    return i;
}

static bool is_free(const Tensor *t)
{
    return t->role == ROLE_TEMP && t->when == WHEN_RUN && !t->prev;
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

    if (e->kind != E_READ || !same_dims(e->tensor, t))
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

enum { WORTH = 4 }; /* extents from which loading along is worth anything */

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

/* An operand is best loaded along a summed variable; along a variable of its
 * own is as good where the tensor already lies so. */
static void vote_operand(Layouts *l, const Stmt *s, const Expr *a,
                         const Expr *b)
{
    const Var *own[32];
    int n = walk_only_in(s, a, b, own), last = a->tensor->rank - 1;
    /* of weights the summed ones are one number already */
    int d = tensor_is_constant(b->tensor) ? -1 : walk_sole_own(s, a, own, n);

    while (last > 0 && a->tensor->dim[last] < WORTH)
        last--; /* parts of a stack */
    const Var *v = last < 0 ? NULL : walk_var(a->at[last]);

    if (d < 0)
        d = best_dim(a, (const Var *const *)s->red, s->n_red);
    if (d < 0 && !walk_has_window(a)) /* a window's images are far apart */
        d = best_dim(a, own, n);
    if (d >= 0)
        vote(l, a->tensor, d, 1);
    if (v && v->extent >= WORTH && d != last && walk_in_list(own, n, v))
        vote(l, a->tensor, last, 1);
}

typedef struct Windows {
    Layouts *l;
    const Stmt *s;
} Windows;

/* The last dimension that walks alone, by a variable that every factor has:
 * channels, not images. */
static int channel_dim(const Stmt *s, const Expr *read)
{
    const Expr *a, *b;
    bool product = walk_product(s, &a, &b);

    for (int d = read->tensor->rank - 1; d >= 0; d--) {
        const Var *v = walk_var(read->at[d]);
        if (v && v->extent >= WORTH &&
            walk_in_list((const Var *const *)s->out, s->n_out, v) &&
            (!product || (expr_uses(a, v) && expr_uses(b, v))))
            return d;
    }
    return -1;
}

/* Windows that no contraction sums over channels of (pooling, depthwise) are
 * read and written along what walks alone: the channels. */
static void vote_window(const Expr *e, void *ctx)
{
    Windows *w = ctx;
    const Stmt *s = w->s;

    if (e->kind != E_READ || !walk_has_window(e))
        return;
    int d = channel_dim(s, e);
    if (d < 0)
        return;
    vote(w->l, e->tensor, d, 1);
    for (int i = 0; i < s->tensor->rank; i++)
        if (idx_is_var(s->store[i]) == idx_is_var(e->at[d]))
            vote(w->l, s->tensor, i, 1);
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
        const Var *v = idx_is_var(s->store[d]);
        if (v && weights && expr_uses(b, v) && !expr_uses(a, v)) {
            vote(l, s->tensor, d, 0.5);
            return;
        }
    }
}

static void vote_stmt(Layouts *l, const Stmt *s)
{
    const Expr *a, *b;

    if (s->when != WHEN_RUN)
        return;
    Windows w = {l, s};
    bool product = walk_product(s, &a, &b);
    if (!product)
        vote(l, s->tensor, s->tensor->rank - 1, 0.01);
    if (s->op != R_NONE && (!product || !sums_along(s, a)))
        expr_visit(s->value, vote_window, &w);
    if (!product)
        return;
    vote_operand(l, s, a, b);
    vote_operand(l, s, b, a);
    vote_result(l, s, a, b);
    vote_result(l, s, b, a);
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

/* y[0, k, p] = f(x[k, p]): what x is best laid out for is good for y too,
 * unless who reads y has said what is. */
static void inherit(const Expr *e, void *ctx)
{
    Union *u = ctx;
    const Tensor *t = u->s->tensor;

    if (e->kind != E_READ || same_dims(e->tensor, t) || !is_free(e->tensor) ||
        u->l->decided[t->id])
        return;
    for (int i = 0; i < e->tensor->rank; i++)
        for (int d = 0; d < t->rank; d++)
            if (e->at[i] == u->s->store[d] && idx_is_var(e->at[i]))
                u->l->vote[t->id][d] += u->l->vote[e->tensor->id][i];
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

/* Row-major, but with `inner` moved to the end. */
static void lay_out(Tensor *t, int inner)
{
    int order[MAX_RANK], n = 0;

    for (int d = 0; d < t->rank; d++)
        if (d != inner)
            order[n++] = d;
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
        if (!(is_free(t) || follows_trained(l, t)) || t->rank < 2 ||
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

    gather_votes(l);
    for (int i = 0; i < g->n_tensor; i++) {
        Tensor *t = g->tensor[i];
        const double *v = l->vote[root(l, i)];
        if (!(is_free(t) || follows_trained(l, t)) || t->rank < 2)
            continue;
        int best = t->rank - 1;
        for (int d = t->rank - 2; d >= 0; d--)
            if (v[d] > v[best])
                best = d;
        if (best != t->rank - 1)
            lay_out(t, best);
    }
}

/* ---- padding of rows */

/* Rows of 32 elements and more begin at whole vectors of eight. */
enum { VECTOR = 8, LONG_ROW = 32 };

typedef struct Rows {
    bool *whole;   /* by tensor: each access runs along whole rows */
    bool *worth;   /* a reduction reads or a sum writes them */
    const Stmt *s;
} Rows;

static int innermost(const Tensor *t)
{
    int d = t->rank - 1;

    while (d > 0 && (t->stride[d] != 1 || t->dim[d] == 1))
        d--;
    return d;
}

/* Whether `at` walks t's rows from beginning to end, or data say where. */
static bool walks_rows(const Tensor *t, const Idx *const *at)
{
    int inner = innermost(t);
    const Var *v = idx_is_var(at[inner]);

    for (int d = 0; d < t->rank; d++)
        if (d != inner && v && idx_uses(at[d], v))
            return false;
    return idx_has_data(at[inner]) || (v && v->extent == t->dim[inner]);
}

static void note_rows(const Expr *e, void *ctx)
{
    Rows *r = ctx;

    if (e->kind != E_READ || !e->tensor->rank)
        return;
    int id = e->tensor->id;
    r->whole[id] &= walks_rows(e->tensor, e->at);
    r->worth[id] |= r->s->op != R_NONE;
}

static void pad(Tensor *t)
{
    int inner = innermost(t);
    int64_t row = t->dim[inner];
    int64_t padded = (row + VECTOR - 1) / VECTOR * VECTOR;

    for (int d = 0; d < t->rank; d++)
        if (d != inner && t->stride[d] % row == 0)
            t->stride[d] = t->stride[d] / row * padded;
    t->span = t->span / row * padded;
}

/* Reductions and sums take whole vectors of a row that does not end with one,
 * if there is room behind it. */
static void pad_rows(Graph *g)
{
    Rows r = {arena_array(g->arena, bool, g->n_tensor),
              arena_array(g->arena, bool, g->n_tensor), NULL};

    for (int i = 0; i < g->n_tensor; i++)
        r.whole[i] = true;
    for (int i = 0; i < g->n_stmt; i++) {
        const Stmt *s = r.s = g->stmt[i];
        if (s->tensor->rank)
            r.whole[s->tensor->id] &= walks_rows(s->tensor, s->store);
        r.worth[s->tensor->id] |= s->op != R_NONE;
        expr_visit(s->value, note_rows, &r);
    }
    for (int i = 0; i < g->n_tensor; i++) {
        Tensor *t = g->tensor[i];
        if (is_free(t) && t->rank > 1 && type_is_float(t->type) &&
            r.whole[i] && r.worth[i] && t->dim[innermost(t)] >= LONG_ROW &&
            t->dim[innermost(t)] * type_bytes(t->type) % 16)
            pad(t);
    }
}

/* ---- packing of weights */

/* The summed variable along which the operand that is no parameter is
 * contiguous; in a window whose weights go with the channel (depthwise), the
 * channel. */
static const Var *wanted(const Stmt *s, const Expr *a, const Expr *w)
{
    for (int d = 0; d < a->tensor->rank; d++) {
        const Var *v = walk_var(a->at[d]);
        if (!v || a->tensor->stride[d] != 1 || v->extent < WORTH)
            continue;
        if (walk_in_list((const Var *const *)s->red, s->n_red, v) ||
            (walk_has_window(a) && expr_uses(w, v)))
            return v;
    }
    return NULL;
}

/* Results for each weight: of the extents that only `a` has. */
static int64_t rows_of(const Stmt *s, const Expr *a, const Expr *w)
{
    const Var *own[32];
    int64_t rows = 1;

    for (int i = walk_only_in(s, a, w, own); i-- > 0;)
        rows *= own[i]->extent;
    return rows;
}

/* Exact f32 products of many rows: tiles of the weights are copied four columns
 * of the result at a time, where a sum's terms would come one by one. */
static bool wants_columns(const Stmt *s, const Expr *a, const Expr *w)
{
    enum { MANY = 17 }; /* beyond the families for few rows */

    return w->type == T_F32 && rows_of(s, a, w) >= MANY;
}

static const Var *columns(const Stmt *s, const Expr *a, const Expr *w)
{
    const Var *best = NULL;

    for (int d = 0; d < s->tensor->rank; d++) {
        const Var *v = idx_is_var(s->store[d]);
        if (v && s->tensor->stride[d] == 1 && v->extent % 4 == 0 &&
            expr_uses(w, v) && !expr_uses(a, v))
            best = v;
    }
    return best;
}

static int64_t stride_along(const Expr *w, const Var *v)
{
    int64_t stride = 0;

    for (int d = 0; d < w->tensor->rank; d++)
        stride += idx_coef(w->at[d], v) * w->tensor->stride[d];
    return stride;
}

/* Do weights of this type have to lie along the sum? For tensor cores f32 ones
 * as tf32 do; and 16-bit ones that few rows are multiplied with, a column of
 * which is then copied far ahead by itself. For one row it makes no
 * difference. */
static bool only_along_sum(const Stmt *s, const Expr *a, const Expr *w,
                           bool f32_along_sum)
{
    enum { FEW = 16 }; /* an mma's rows */
    int64_t rows = rows_of(s, a, w);

    return type_bytes(w->type) == 2 ? rows > 1 && rows <= FEW
                                    : f32_along_sum && w->type == T_F32;
}

/* How far apart the statement stores neighbours along v. */
static int64_t store_stride(const Stmt *s, const Var *v)
{
    int64_t stride = 0;

    for (int d = 0; d < s->tensor->rank; d++)
        stride += idx_coef(s->store[d], v) * s->tensor->stride[d];
    return stride < 0 ? -stride : stride;
}

/* The variables of the result that w has, as the result lies: slow to fast. */
static int result_vars(const Stmt *s, const Expr *w, const Var **v)
{
    int n = 0;

    for (int i = 0; i < s->n_out && n < MAX_RANK; i++) {
        const Var *x = s->out[i];
        if (x->extent == 1 || !expr_uses(w, x))
            continue;
        int at = n++;
        for (; at > 0 && store_stride(s, v[at - 1]) < store_stride(s, x); at--)
            v[at] = v[at - 1];
        v[at] = x;
    }
    return n;
}

/* Do the columns that w makes of the result follow each other in w as they do
 * there, so that a tile of them is one box? */
static bool columns_in_order(const Stmt *s, const Expr *a, const Expr *w)
{
    const Var *v[MAX_RANK], *fast = NULL;

    for (int n = result_vars(s, w, v), i = n - 1; i >= 0; i--) {
        if (expr_uses(a, v[i]))
            continue;
        if (fast && stride_along(w, v[i]) !=
                        stride_along(w, fast) * fast->extent)
            return false;
        fast = v[i];
    }
    return true;
}

/* Is w contiguous along v already, or along an index of the result (the other
 * major order)? */
static bool good_enough(const Stmt *s, const Expr *a, const Expr *w,
                        const Var *v, bool f32_along_sum)
{
    if (!columns_in_order(s, a, w))
        return false;
    if (stride_along(w, v) == 1)
        return true;
    if (only_along_sum(s, a, w, f32_along_sum) &&
        walk_in_list((const Var *const *)s->red, s->n_red, v))
        return false;
    for (int i = 0; i < s->n_out; i++)
        if (s->out[i]->extent >= 8 && stride_along(w, s->out[i]) == 1)
            return true;
    return false;
}

typedef struct Pack {
    const Tensor *from;
    const Idx **at;      /* of the read that was packed */
    const Var **var;     /* its variables, the packed dimensions */
    int n;
    Tensor *to;
} Pack;

typedef struct Packing {
    Pack *done;
    int n, cap;
} Packing;

/* The variables that index w: the result's as it lies, then the sum's; `inner`
 * last, behind the one along which the sum's other factor lies. */
static int pack_vars(const Stmt *s, const Expr *w, const Var *along,
                     const Var *inner, const Var **v)
{
    const Var *last[] = {along == inner ? NULL : along, inner};
    const Var *out[MAX_RANK];
    int n_out = result_vars(s, w, out), n = 0;

    for (int i = 0; i < n_out + s->n_red; i++) {
        const Var *x = i < n_out ? out[i] : s->red[i - n_out];
        if (x != last[0] && x != inner && x->extent > 1 && expr_uses(w, x) &&
            n < MAX_RANK)
            v[n++] = x;
    }
    for (int i = 0; i < 2; i++)
        if (last[i] && expr_uses(w, last[i]))
            v[n < MAX_RANK ? n++ : n] = last[i];
    return n;
}

static int64_t elems(const Var *const *v, int n)
{
    int64_t k = 1;

    for (int i = 0; i < n; i++)
        k *= v[i]->extent;
    return k;
}

/* Ahead of s, which reads what a run writes. */
static Stmt *run_stmt(Graph *g, const Stmt *s, const Tensor *w)
{
    int at = 0;

    while (g->stmt[at] != s)
        at++;
    Stmt *c = stmt_insert(g, at);
    c->when = WHEN_RUN;
    c->behind = s->behind;
    c->again = s->again;
    c->path = arena_printf(g->arena, "%s%s%s_turned", w->path,
                           *w->path ? "." : "", w->name);
    c->at = s->at;
    c->call = s->call;
    return c;
}

/* packed[v1, v2, ...] = w[at], at load time or ahead of s. */
static Tensor *pack_stmt(Graph *g, const Stmt *s, const Expr *w,
                         const Var **v, int n)
{
    int64_t dim[MAX_RANK];
    bool once = w->tensor->role == ROLE_PARAM;
    Stmt *c = once ? load_stmt(g, w->tensor) : run_stmt(g, s, w->tensor);
    Subst fresh[MAX_RANK];

    for (int i = 0; i < n; i++)
        dim[i] = v[i]->extent;
    const char *name = arena_printf(g->arena, "%s_%s", w->tensor->name,
                                    once ? "packed" : "turned");
    Tensor *t = graph_tensor(g, name, w->tensor->type, n, dim);
    t->path = w->tensor->path;
    t->at = w->tensor->at;
    t->when = c->when;
    tensor_row_major(t);
    c->tensor = t;
    c->n_out = n;
    c->out = arena_array(g->arena, const Var *, n);
    c->store = arena_array(g->arena, const Idx *, n);
    for (int i = 0; i < n; i++) {
        c->out[i] = idx_new_var(g->pool, v[i]->name, v[i]->extent);
        c->store[i] = idx_var(g->pool, c->out[i]);
        fresh[i] = (Subst){v[i], c->store[i]};
    }
    c->value = expr_subst(g, w, fresh, n);
    return t;
}

/* Was the same read packed before, for another statement (tied weights)? */
static Tensor *packed_before(Graph *g, const Packing *p, const Expr *w,
                             const Var **v, int n)
{
    for (int i = 0; i < p->n; i++) {
        const Pack *q = &p->done[i];
        Subst s[MAX_RANK];
        bool same = q->from == w->tensor && q->n == n;
        for (int k = 0; same && k < n; k++) {
            same = q->var[k]->extent == v[k]->extent;
            s[k] = (Subst){q->var[k], idx_var(g->pool, v[k])};
        }
        for (int d = 0; same && d < w->tensor->rank; d++)
            same = idx_subst(g->pool, q->at[d], s, n) == w->at[d];
        if (same)
            return q->to;
    }
    return NULL;
}

static const Expr *pack(Graph *g, Packing *p, const Stmt *s, const Expr *w,
                        const Var *along, const Var *inner)
{
    const Var **v = arena_array(g->arena, const Var *, MAX_RANK + 1);
    int n = pack_vars(s, w, along, inner, v);

    if (n > MAX_RANK || elems(v, n) != tensor_elems(w->tensor))
        return NULL; /* read in part or more than once */
    Tensor *t = packed_before(g, p, w, v, n);
    if (!t) {
        t = pack_stmt(g, s, w, v, n);
        VEC_PUSH(g->arena, p->done, p->n, p->cap) =
            (Pack){w->tensor, w->at, v, n, t};
    }
    const Idx **at = arena_array(g->arena, const Idx *, n);
    for (int i = 0; i < n; i++)
        at[i] = idx_var(g->pool, v[i]);
    return expr_read(g, t, at, (Guard){0}, NULL);
}

/* Does it read a parameter as a step finds it, which tensor cores do not take
 * as it lies? */
static bool is_turned(const Expr *e, bool f32_along_sum)
{
    return f32_along_sum && e->type == T_F32 && !e->tensor->prev &&
           tensor_is_trained(e->tensor);
}

/* A parameter's elements whose place is known at load time. */
static bool is_weights(const Expr *e, bool f32_along_sum)
{
    if ((e->tensor->role != ROLE_PARAM && !is_turned(e, f32_along_sum)) ||
        e->in.n)
        return false;
    for (int d = 0; d < e->tensor->rank; d++)
        if (idx_has_data(e->at[d]))
            return false;
    return true;
}

/* What this graph alone would do. */
static PackHow own_way(const Stmt *s, const Expr *a, const Expr *w,
                       bool f32_along_sum)
{
    const Var *v = !f32_along_sum && wants_columns(s, a, w) ? columns(s, a, w)
                                                            : NULL;
    PackHow how = v ? PACK_COLUMNS : PACK_ALONG;

    v = v ? v : wanted(s, a, w);
    return v && !good_enough(s, a, w, v, f32_along_sum) ? how : PACK_NOT;
}

/* As told, or by itself; noted. */
static PackHow way(Graph *g, const Stmt *s, const Expr *a, const Expr *w,
                   bool f32_along_sum, const Packings *as, Packings *made)
{
    const char *weight = w->tensor->weight;
    PackHow how = own_way(s, a, w, f32_along_sum);
    int nth = 0;

    if (w->tensor->role != ROLE_PARAM)
        return how;
    for (int i = 0; i < made->n; i++)
        nth += !strcmp(made->way[i].weight, weight);
    for (int i = 0; as && i < as->n; i++)
        if (as->way[i].nth == nth && !strcmp(as->way[i].weight, weight))
            how = as->way[i].how;
    VEC_PUSH(g->arena, made->way, made->n, made->cap) =
        (PackWay){weight, nth, how};
    return how;
}

static void pack_weights(Graph *g, bool f32_along_sum, const Packings *as,
                         Packings *made)
{
    Packing p = {0};

    for (int i = 0; i < g->n_stmt; i++) {
        Stmt *s = g->stmt[i];
        const Expr *f[2];
        if (s->when != WHEN_RUN || !walk_product(s, &f[0], &f[1]))
            continue;
        for (int k = 0; k < 2; k++) {
            const Expr *w = f[k];
            if (!is_weights(w, f32_along_sum))
                continue;
            PackHow how = way(g, s, f[1 - k], w, f32_along_sum, as, made);
            const Var *along = wanted(s, f[1 - k], w);
            const Var *v = how == PACK_COLUMNS ? columns(s, f[1 - k], w)
                                               : along;
            if (how == PACK_NOT || !v)
                continue;
            int before = g->n_stmt;
            const Expr *packed = pack(g, &p, s, w, along ? along : v, v);
            i += g->n_stmt - before;
            if (!packed)
                continue;
            f[k] = packed;
            s->value = expr_binary(g, F_MUL, f[0], f[1], s->value->type);
        }
    }
}

void layout(Graph *g, bool f32_along_sum, uint64_t seed, const Packings *as,
            Packings *made)
{
    Layouts l = {.g = g};
    Packings ways = {0};

    l.parent = arena_array(g->arena, int, g->n_tensor);
    l.vote = arena_alloc(g->arena, sizeof *l.vote * (size_t)g->n_tensor);
    l.decided = arena_array(g->arena, bool, g->n_tensor);
    l.sums = arena_array(g->arena, bool, g->n_tensor);
    l.trained = arena_array(g->arena, bool, g->n_tensor);
    for (int i = 0; i < g->n_tensor; i++) {
        l.parent[i] = i;
        tensor_row_major(g->tensor[i]);
    }
    for (int i = 0; i < g->n_tensor; i++) /* one memory */
        if (g->tensor[i]->prev)
            l.parent[root(&l, g->tensor[i]->prev->id)] = root(&l, i);
    bool *copied = arena_array(g->arena, bool, g->n_stmt + 1);
    for (int i = 0; i < g->n_stmt; i++) {
        if (g->stmt[i]->op == R_NONE)
            expr_visit(g->stmt[i]->value, unite, &(Union){&l, g->stmt[i]});
        copied[i] = unite_copied(&l, g->stmt[i]);
    }
    for (int i = 0; i < g->n_tensor; i++)
        l.trained[root(&l, i)] |= tensor_is_trained(g->tensor[i]);
    for (int i = 0; i < g->n_stmt; i++)
        if (g->stmt[i]->tensor->rank && !copied[i])
            vote_stmt(&l, g->stmt[i]);
    note_decided(&l);
    for (int i = 0; i < g->n_stmt; i++)
        if (g->stmt[i]->op == R_NONE && !copied[i])
            expr_visit(g->stmt[i]->value, inherit, &(Union){&l, g->stmt[i]});
    choose(&l);
    if (seed)
        choose_at_random(&l, seed);
    pad_rows(g);
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
