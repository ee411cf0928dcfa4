#include "rewrite/recompute.h"

#include "rewrite/inline.h"
#include "rewrite/simplify.h"
#include "rewrite/walk.h"

enum { MAX_VARS = 24, MAX_OPS = 200, MAX_MADE = 2, SHORT = 256 };

typedef struct Inverse {
    const Tensor *of;
    Tensor *is;
} Inverse;

typedef struct Recompute {
    Graph *g;
    Behind behind;
    Inverse *inverse; int n_inverse, cap_inverse;
    /* of the product in question */
    const Var *sum;
    const Var *own[MAX_RANK * 2];
    int n_own; /* rows of its factor alone */
    bool failed;
    const Expr *made[MAX_MADE]; int n_made;  /* reads of short products */
    Tensor *is[MAX_MADE];                    /* what stands for them */
    int at;                                  /* where statements are put */
} Recompute;

/* A value of each row and each term of the sum: one to look behind. */
static bool is_of_points(const Expr *e, const void *ctx)
{
    const Recompute *r = ctx;
    bool own = false;

    for (int i = 0; i < r->n_own && !own; i++)
        own = expr_uses(e, r->own[i]);
    return own && expr_uses(e, r->sum);
}

static void note_made(const Expr *e, void *ctx)
{
    Recompute *r = ctx;
    const Expr *a, *b;

    if (e->kind != E_READ || !is_of_points(e, r))
        return;
    const Stmt *s = behind_tensor(&r->behind, e->tensor);
    if (!s || s->op == R_NONE)
        return; /* from memory: a bias */
    r->failed |= s->n_red != 1 || s->red[0]->extent > SHORT || e->in.n ||
                 e->tensor->type != T_F32 || !walk_product(s, &a, &b);
    for (int i = 0; i < r->n_made; i++)
        if (r->made[i]->tensor == e->tensor) {
            r->failed |= !expr_equal(r->made[i], e);
            return;
        }
    if (r->n_made < MAX_MADE)
        r->made[r->n_made++] = e;
    else
        r->failed = true;
}

/* ---- what a product has of its own ------------------------------------ */

static Stmt *insert(Recompute *r, const Stmt *like)
{
    Stmt *s = stmt_insert(r->g, r->at++);
    int id = s->id;

    *s = *like;
    s->id = id;
    s->op = R_NONE;
    s->red = NULL;
    s->n_red = 0;
    s->where = s->needed = (Guard){0};
    return s;
}

static Tensor *tensor_for(Recompute *r, Stmt *s, const char *name, Type type,
                          const Var *const *v, int n)
{
    Graph *g = r->g;
    int64_t dim[MAX_RANK];

    for (int d = 0; d < n; d++)
        dim[d] = v[d]->extent;
    Tensor *t = graph_tensor(g, name, type, n, dim);
    t->path = s->tensor->path;
    t->when = s->when;
    t->at = s->tensor->at;
    s->tensor = t;
    s->out = arena_array(g->arena, const Var *, n + 1);
    s->store = arena_array(g->arena, const Idx *, n + 1);
    s->n_out = n;
    for (int d = 0; d < n; d++) {
        s->out[d] = v[d];
        s->store[d] = idx_var(g->pool, v[d]);
    }
    return t;
}

/* 1 / t, of values of rows, once for all. */
static Tensor *inverse_of(Recompute *r, Tensor *t)
{
    Graph *g = r->g;
    const Var *v[MAX_RANK];

    for (int i = 0; i < r->n_inverse; i++)
        if (r->inverse[i].of == t)
            return r->inverse[i].is;
    for (int d = 0; d < t->rank; d++)
        v[d] = idx_new_var(g->pool, arena_printf(g->arena, "%c", 'i' + d),
                           t->dim[d]);
    Stmt *s = insert(r, r->g->stmt[r->at]);
    Tensor *is = tensor_for(r, s, arena_printf(g->arena, "%s_inverse", t->name),
                            T_F32, v, t->rank);
    s->value = expr_binary(
        g, F_DIV, expr_const(g, 1, T_F32),
        expr_read(g, t, s->store, (Guard){0}, NULL), T_F32);
    VEC_PUSH(g->arena, r->inverse, r->n_inverse, r->cap_inverse) =
        (Inverse){t, is};
    return is;
}

static bool is_row_value(const Recompute *r, const Expr *e)
{
    return e->kind == E_READ && !e->in.n && e->tensor->type == T_F32 &&
           e->tensor->role == ROLE_TEMP && e->tensor->rank > 0 &&
           !is_of_points(e, r);
}

static const Expr *own_reads(Graph *g, const Expr *e, void *ctx)
{
    Recompute *r = ctx;

    if (e->kind == E_READ)
        for (int i = 0; i < r->n_made; i++)
            if (r->made[i]->tensor == e->tensor && r->is[i])
                return expr_read(g, r->is[i], e->at, (Guard){0}, NULL);
    if (e->kind != E_BINARY || e->fn != F_DIV || !is_row_value(r, e->arg[1]))
        return NULL;
    const Expr *d = e->arg[1];
    const Expr *by = expr_read(g, inverse_of(r, d->tensor), d->at, (Guard){0},
                               NULL);
    return e->arg[0]->kind == E_CONST && e->arg[0]->num == 1
               ? by : expr_binary(g, F_MUL, e->arg[0], by, e->type);
}

static void copy_product(Recompute *r, int i)
{
    Graph *g = r->g;
    const Stmt *from = behind_tensor(&r->behind, r->made[i]->tensor);
    const Tensor *t = from->tensor;
    Stmt *s = stmt_insert(g, r->at++);
    int id = s->id;

    *s = *from;
    s->id = id;
    s->behind = true;
    s->tensor = graph_tensor(g, arena_printf(g->arena, "%s_own", t->name),
                             t->type, t->rank, t->dim);
    s->tensor->path = t->path;
    s->tensor->when = t->when;
    s->tensor->at = t->at;
    s->tensor->own = true;
    r->is[i] = s->tensor;
}

/* The factor `value` of s, which is at r->at, as a tensor of its own. */
static const Expr *own_factor(Recompute *r, const Expr *value, Type type,
                              const char *name, const Var *const *var, int n)
{
    Graph *g = r->g;
    const Var *v[MAX_RANK];
    Subst sub[MAX_RANK];

    for (int i = 0; i < r->n_made; i++)
        copy_product(r, i);
    value = expr_rewrite(g, value, own_reads, r);
    for (int i = 0; i < n; i++) {
        v[i] = idx_new_var(g->pool, var[i]->name, var[i]->extent);
        sub[i] = (Subst){var[i], idx_var(g->pool, v[i])};
    }
    Stmt *s = insert(r, g->stmt[r->at]);
    Tensor *t = tensor_for(r, s, arena_printf(g->arena, "%s_own", name), type,
                           v, n);
    t->own = true;
    s->value = expr_subst(g, value, sub, n);
    const Idx **at = arena_array(g->arena, const Idx *, n + 1);
    for (int i = 0; i < n; i++)
        at[i] = idx_var(g->pool, var[i]);
    return expr_read(g, t, at, (Guard){0}, NULL);
}

/* ---- products ---------------------------------------------------------- */

static bool is_plain(const Stmt *s)
{
    Role role = s->tensor->role;

    if (s->where.n || s->tensor->prev || s->when != WHEN_RUN ||
        (role != ROLE_TEMP && role != ROLE_OUTPUT))
        return false;
    for (int d = 0; d < s->tensor->rank; d++)
        if (!idx_is_var(s->store[d]) && s->tensor->dim[d] > 1)
            return false;
    return true;
}

/* What s sums is worth it: `other` is small beside what is not stored. */
static bool is_worth(const Recompute *r, const Stmt *s, const Expr *other)
{
    int64_t rows = r->sum->extent, columns = 1;

    for (int i = 0; i < r->n_own; i++)
        rows *= r->own[i]->extent;
    for (int i = 0; i < s->n_out; i++)
        if (expr_uses(other, s->out[i]) && !walk_in_list(r->own, r->n_own,
                                                         s->out[i]) &&
            !expr_uses(r->made[0], s->out[i]))
            columns *= s->out[i]->extent;
    int64_t own = rows / r->sum->extent;
    return columns <= SHORT && rows >= 2 * own * columns &&
           r->sum->extent >= 64 && own >= 32;
}

/* The variables of s that e uses, in s's order, the sum's last. */
static int used_vars(const Stmt *s, const Expr *e, const Var **v)
{
    int n = 0;

    for (int i = 0; i < s->n_out; i++)
        if (expr_uses(e, s->out[i]) && n < MAX_RANK)
            v[n++] = s->out[i];
    if (n < MAX_RANK)
        v[n++] = s->red[0];
    return n;
}

/* The factor f of s, where the other one is o: made of short products? */
static const Expr *find_factor(Recompute *r, const Stmt *s, const Expr *f,
                               const Expr *o)
{
    r->sum = s->red[0];
    r->n_own = walk_only_in(s, f, o, r->own);
    r->n_made = 0;
    r->failed = false;
    if (f->in.n || o->in.n || !r->n_own || s->n_out + 1 > MAX_RANK)
        return NULL;
    const Expr *e = behind_reads(r->g, &r->behind, f);
    if (!e || e->kind == E_READ)
        return NULL;
    expr_visit(e, note_made, r);
    return r->failed || !r->n_made || !is_worth(r, s, o) ? NULL : e;
}

/* The product of high parts that s adds a product of low parts to. */
static const Stmt *high_product(const Recompute *r, const Stmt *s)
{
    const Expr *e = s->value, *a, *b;

    if (s->op != R_NONE || !is_plain(s) || e->kind != E_BINARY ||
        e->fn != F_ADD || e->arg[0]->kind != E_READ ||
        e->arg[1]->kind != E_BINARY || e->arg[1]->arg[0]->kind != E_READ ||
        e->arg[1]->arg[1]->kind != E_CONST)
        return NULL;
    const Stmt *high = behind_tensor(&r->behind, e->arg[0]->tensor);
    if (!high || !is_plain(high) || !walk_product(high, &a, &b) ||
        high->n_out != s->n_out)
        return NULL;
    for (int i = 0; i < s->n_out; i++)
        if (high->out[i]->extent != s->out[i]->extent ||
            high->store[i] != idx_var(r->g->pool, high->out[i]) ||
            s->store[i] != idx_var(r->g->pool, s->out[i]) ||
            e->arg[0]->at[i] != s->store[i])
            return NULL;
    for (int i = 0; i < 2; i++) {
        const Expr *f = i ? b : a;
        const Stmt *part = behind_tensor(&r->behind, f->tensor);
        if (part && part->op == R_NONE && part->value->kind == E_READ &&
            part->value->tensor->halves)
            return high;
    }
    return NULL;
}

static void note_halves(const Expr *e, void *ctx)
{
    *(bool *)ctx |= e->kind == E_READ && e->tensor->halves;
}

/* Is f a part of 16 bits of a value that is multiplied in two? */
static bool is_half(const Recompute *r, const Expr *f)
{
    const Stmt *s = behind_tensor(&r->behind, f->tensor);
    bool found = false;

    if (s && s->op == R_NONE && f->tensor->type == T_F16)
        expr_visit(s->value, note_halves, &found);
    return found;
}

static bool give_own(Recompute *r, int *at)
{
    Graph *g = r->g;
    Stmt *s = g->stmt[*at];
    const Stmt *high = high_product(r, s), *p = high ? high : s;
    const Expr *f[2], *e = NULL;
    const Var *v[MAX_RANK];
    int i = 0;

    if (!s->behind || p->n_red != 1 || !is_plain(s) ||
        !walk_product(p, &f[0], &f[1]) ||
        (!high && (is_half(r, f[0]) || is_half(r, f[1]))))
        return false;
    for (i = 0; i < 2 && !e; i++)
        e = find_factor(r, p, f[i], f[1 - i]);
    if (!e)
        return false;
    const Expr *made = f[i - 1], *other = f[2 - i];
    int n = used_vars(p, e, v);
    behind_twice(g, &r->behind, made);
    r->at = *at;
    made = own_factor(r, e, high ? T_F32 : made->tensor->type,
                      made->tensor->name, v, n);
    made->tensor->halves = high != NULL; /* so the result is rounded to f16 */
    s = g->stmt[*at = r->at];
    if (high) {
        s->op = R_SUM;
        s->out = high->out;
        s->store = high->store;
        s->red = high->red;
        s->n_red = high->n_red;
    }
    s->value = expr_binary(g, F_MUL, made, other, T_F32);
    return true;
}

int recompute(Graph *g)
{
    Recompute r = {
        .g = g,
        .behind = {tensor_makers(g), g->n_tensor, MAX_OPS, is_of_points, &r}};
    int n = 0;

    for (int i = 0; i < g->n_stmt; i++)
        n += give_own(&r, &i);
    if (n)
        simplify_dead(g);
    return n;
}
