#include "layout.h"

#include "simplify.h"

/* ---- classes of tensors with one layout */

typedef struct Layouts {
    Graph *g;
    int *parent;               /* union-find by tensor id */
    double (*vote)[MAX_RANK];  /* of a class: for each innermost dimension */
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

/* ---- votes */

static void vote(Layouts *l, const Tensor *t, int dim, double weight)
{
    l->vote[t->id][dim] += weight * (double)tensor_elems(t);
}

static bool in_list(const Var *const *list, int n, const Var *v)
{
    for (int i = 0; i < n; i++)
        if (list[i] == v)
            return true;
    return false;
}

/* The dimension that one variable of the list walks alone, the longest. */
static int best_dim(const Expr *read, const Var *const *list, int n)
{
    int best = -1;

    for (int d = 0; d < read->tensor->rank; d++) {
        const Idx *e = read->at[d];
        if (e->n != 1 || e->term[0].c != 1 ||
            e->term[0].atom->kind != ATOM_VAR ||
            !in_list(list, n, e->term[0].atom->var))
            continue;
        int64_t size = e->term[0].atom->var->extent;
        if (size < 4)
            continue;
        /* The last of equals: it is the contiguous one as declared. */
        if (best < 0 || read->at[best]->term[0].atom->var->extent <= size)
            best = d;
    }
    return best;
}

static bool stmt_product(const Stmt *s, const Expr **a, const Expr **b)
{
    const Expr *e = s->value;

    if (s->op != R_SUM || e->kind != E_BINARY || e->fn != F_MUL ||
        e->arg[0]->kind != E_READ || e->arg[1]->kind != E_READ)
        return false;
    *a = e->arg[0];
    *b = e->arg[1];
    return true;
}

/* The variables of `out` that only `a` (not b) indexes. */
static int only_in(const Stmt *s, const Expr *a, const Expr *b, const Var **v)
{
    int n = 0;

    for (int i = 0; i < s->n_out; i++)
        if (expr_uses(a, s->out[i]) && !expr_uses(b, s->out[i]))
            v[n++] = s->out[i];
    return n;
}

static void vote_operand(Layouts *l, const Stmt *s, const Expr *a,
                         const Expr *b)
{
    const Var *own[32];
    int d = best_dim(a, (const Var *const *)s->red, s->n_red);

    if (d < 0)
        d = best_dim(a, own, only_in(s, a, b, own));
    if (d >= 0)
        vote(l, a->tensor, d, 1);
}

/* The result is written along the variables of the weights. */
static void vote_result(Layouts *l, const Stmt *s, const Expr *a,
                        const Expr *b)
{
    bool weights = b->tensor->when == WHEN_LOAD ||
                   b->tensor->role == ROLE_PARAM;

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
    if (!stmt_product(s, &a, &b)) {
        vote(l, s->tensor, s->tensor->rank - 1, 0.01);
        return;
    }
    vote_operand(l, s, a, b);
    vote_operand(l, s, b, a);
    vote_result(l, s, a, b);
    vote_result(l, s, b, a);
}

/* ---- strides */

/* Row-major, but with `inner` moved to the end. */
static void lay_out(Tensor *t, int inner)
{
    int order[MAX_RANK], n = 0;
    int64_t stride = 1;

    for (int d = 0; d < t->rank; d++)
        if (d != inner)
            order[n++] = d;
    order[n++] = inner;
    for (int i = n - 1; i >= 0; i--) {
        t->stride[order[i]] = stride;
        stride *= t->dim[order[i]];
    }
    t->span = stride;
}

static void choose(Layouts *l)
{
    Graph *g = l->g;

    for (int i = 0; i < g->n_tensor; i++) {
        int r = root(l, i);
        for (int d = 0; r != i && d < g->tensor[i]->rank; d++) {
            l->vote[r][d] += l->vote[i][d];
            l->vote[i][d] = 0;
        }
    }
    for (int i = 0; i < g->n_tensor; i++) {
        Tensor *t = g->tensor[i];
        const double *v = l->vote[root(l, i)];
        if (!is_free(t) || t->rank < 2)
            continue;
        int best = t->rank - 1;
        for (int d = t->rank - 2; d >= 0; d--)
            if (v[d] > v[best])
                best = d;
        if (best != t->rank - 1)
            lay_out(t, best);
    }
}

/* ---- packing of weights */

/* The contiguous summed variable of the operand that is no parameter. */
static const Var *wanted(const Stmt *s, const Expr *a)
{
    const Var *best = NULL;

    for (int d = 0; d < a->tensor->rank; d++) {
        const Idx *e = a->at[d];
        if (e->n != 1 || e->term[0].c != 1 || a->tensor->stride[d] != 1 ||
            e->term[0].atom->kind != ATOM_VAR)
            continue;
        const Var *v = e->term[0].atom->var;
        if (in_list((const Var *const *)s->red, s->n_red, v) &&
            v->extent >= 4 && (!best || v->extent > best->extent))
            best = v;
    }
    return best;
}

static Tensor *packed_copy(Graph *g, const Stmt *s, Tensor *w, int inner)
{
    Tensor *t = graph_tensor(g, w->name, w->type, w->rank, w->dim);
    Stmt *c = stmt_insert(g, 0);
    t->path = w->path;
    t->at = w->at;
    t->when = WHEN_LOAD;
    lay_out(t, inner);
    c->when = WHEN_LOAD;
    c->path = s->path;
    c->at = w->at;
    c->call = s->call;
    c->tensor = t;
    c->n_out = w->rank;
    c->out = arena_array(g->arena, const Var *, w->rank);
    c->store = arena_array(g->arena, const Idx *, w->rank);
    for (int d = 0; d < w->rank; d++) {
        c->out[d] = idx_new_var(g->pool, "i", w->dim[d]);
        c->store[d] = idx_var(g->pool, c->out[d]);
    }
    c->value = expr_read(g, w, c->store, (Guard){0}, NULL);
    return t;
}

typedef struct Packed {
    Tensor *from, *to;
    int inner;
} Packed;

typedef struct Packing {
    Packed *done;
    int n, cap;
} Packing;

static Tensor *pack(Graph *g, Packing *p, const Stmt *s, Tensor *w, int inner)
{
    for (int i = 0; i < p->n; i++)
        if (p->done[i].from == w && p->done[i].inner == inner)
            return p->done[i].to;
    Tensor *t = packed_copy(g, s, w, inner);
    VEC_PUSH(g->arena, p->done, p->n, p->cap) = (Packed){w, t, inner};
    return t;
}

/* Is w's access along v already one of stride 1, or along an index of the
 * result (the other major order)? */
static bool good_enough(const Stmt *s, const Expr *w, const Var *v)
{
    for (int d = 0; d < w->tensor->rank; d++) {
        int64_t below = 1;
        for (int k = 0; k < w->tensor->rank; k++)
            if (w->tensor->stride[k] < w->tensor->stride[d])
                below *= w->tensor->dim[k];
        if (below != 1 || w->tensor->dim[d] == 1)
            continue; /* not the contiguous dimension */
        const Var *at = idx_is_var(w->at[d]);
        return at && (at == v || (at->extent >= 8 &&
                                  in_list((const Var *const *)s->out,
                                          s->n_out, at)));
    }
    return false;
}

static int dim_of(const Expr *w, const Var *v)
{
    for (int d = 0; d < w->tensor->rank; d++)
        if (idx_is_var(w->at[d]) == v)
            return d;
    return -1;
}

static void pack_weights(Graph *g)
{
    Packing p = {0};

    for (int i = 0; i < g->n_stmt; i++) {
        Stmt *s = g->stmt[i];
        const Expr *f[2];
        if (s->when != WHEN_RUN || !stmt_product(s, &f[0], &f[1]))
            continue;
        for (int k = 0; k < 2; k++) {
            const Expr *w = f[k];
            if (w->tensor->role != ROLE_PARAM || w->in.n)
                continue;
            const Var *v = wanted(s, f[1 - k]);
            int d = v ? dim_of(w, v) : -1;
            if (d < 0 || good_enough(s, w, v))
                continue;
            int before = g->n_stmt;
            Tensor *t = pack(g, &p, s, w->tensor, d);
            i += g->n_stmt - before;
            f[k] = expr_read(g, t, w->at, (Guard){0}, NULL);
            s->value = expr_binary(g, F_MUL, f[0], f[1], s->value->type);
        }
    }
}

void layout(Graph *g)
{
    Layouts l = {.g = g};

    l.parent = arena_array(g->arena, int, g->n_tensor);
    l.vote = arena_alloc(g->arena, sizeof *l.vote * (size_t)g->n_tensor);
    for (int i = 0; i < g->n_tensor; i++) {
        l.parent[i] = i;
        tensor_row_major(g->tensor[i]);
    }
    for (int i = 0; i < g->n_stmt; i++) {
        Union u = {&l, g->stmt[i]};
        if (u.s->op == R_NONE)
            expr_visit(u.s->value, unite, &u);
        if (u.s->tensor->rank)
            vote_stmt(&l, u.s);
    }
    choose(&l);
    pack_weights(g);
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
