#include "adjoint/adjoint.h"

#include "adjoint/derive.h"
#include "adjoint/invert.h"
#include "adjoint/scatter.h"

typedef struct Readers {
    int *stmt; int n, cap;
} Readers;

typedef enum Known { ASK, YES, NO } Known;

struct Adjoint {
    Graph *g;
    Tensor *loss;
    Stmt **stmt;          /* of the forward pass, in order */
    int n_tensor, n_stmt;
    bool *live;           /* by tensor: the loss may depend on it */
    Readers *readers;     /* by tensor: live statements */
    Tensor **cotangent;   /* by tensor; NULL: not made yet */
    Tensor **chosen;      /* by statement: which point a max or min took */
    Known *scores;        /* by tensor, as far as it was asked */
    Span at, call;
};

/* ---- what depends on what */

typedef struct Reading {
    Adjoint *a;
    int stmt;
} Reading;

static void note_read(const Expr *e, void *ctx)
{
    Reading *r = ctx;
    Adjoint *a = r->a;

    if (e->kind != E_READ || !type_is_float(e->tensor->type))
        return;
    a->live[e->tensor->id] = true;
    Readers *by = &a->readers[e->tensor->id];
    if (!by->n || by->stmt[by->n - 1] != r->stmt)
        VEC_PUSH(a->g->arena, by->stmt, by->n, by->cap) = r->stmt;
}

Adjoint *adjoint_new(Graph *g, Tensor *loss)
{
    Adjoint *a = arena_new_of(g->arena, Adjoint);

    *a = (Adjoint){.g = g, .loss = loss, .n_tensor = g->n_tensor,
                   .n_stmt = g->n_stmt};
    a->stmt = arena_array(g->arena, Stmt *, a->n_stmt + 1);
    memcpy(a->stmt, g->stmt, sizeof *a->stmt * (size_t)a->n_stmt);
    a->live = arena_array(g->arena, bool, a->n_tensor);
    a->readers = arena_array(g->arena, Readers, a->n_tensor);
    a->cotangent = arena_array(g->arena, Tensor *, a->n_tensor);
    a->chosen = arena_array(g->arena, Tensor *, a->n_stmt + 1);
    a->scores = arena_array(g->arena, Known, a->n_tensor);
    a->live[loss->id] = true;
    for (int i = a->n_stmt - 1; i >= 0; i--) {
        const Stmt *s = a->stmt[i];
        Reading r = {a, i};
        if (!a->live[s->tensor->id] || s->op == R_ARGMAX)
            continue;
        expr_visit(s->value, note_read, &r);
        Tensor *old = s->tensor->prev;
        if (old) {
            a->live[old->id] = true;
            Readers *by = &a->readers[old->id];
            if (!by->n || by->stmt[by->n - 1] != i)
                VEC_PUSH(g->arena, by->stmt, by->n, by->cap) = i;
        }
    }
    return a;
}

const Tensor *adjoint_loss(const Adjoint *a)
{
    return a->loss;
}

/* ---- statements of the backward pass */

static Stmt *new_stmt(Adjoint *a, Tensor *t, const Tensor *of)
{
    return scatter_stmt(a->g, t, of, a->at, a->call);
}

/* New variables, one for each dimension of t, and the element they name. */
static const Idx **element(Graph *g, const Tensor *t, const Var **v)
{
    static const char *const names[MAX_RANK] = {"i", "j", "k", "l",
                                                "m", "n", "o", "p"};
    const Idx **u = arena_array(g->arena, const Idx *, MAX_RANK);

    for (int d = 0; d < t->rank; d++) {
        v[d] = idx_new_var(g->pool, names[d], t->dim[d]);
        u[d] = idx_var(g->pool, v[d]);
    }
    return u;
}

static const Expr *element_of(Graph *g, Tensor *t, const Idx **u)
{
    return expr_read(g, t, u, (Guard){0}, NULL);
}

/* ---- reductions other than sums */

/* The place of a point in the order of the reduction, from 0. */
static const Idx *place_of(Graph *g, const Stmt *s)
{
    const Idx *place = idx_const(g->pool, 0);

    for (int i = 0; i < s->n_red; i++)
        place = idx_add(g->pool, idx_scale(g->pool, place, s->red[i]->extent),
                        idx_var(g->pool, s->red[i]));
    return place;
}

enum {
    MOST_I8 = 128,    /* places that an i8 tells apart */
    SMALL_WINDOW = 16 /* points that are looked at one by one */
};

/* Places of small windows: they are kept from the forward pass on. */
static Tensor *in_a_byte(Adjoint *a, Tensor *t)
{
    Graph *g = a->g;
    const Var *v[MAX_RANK];
    const Idx **u = element(g, t, v);
    Tensor *byte = graph_tensor(g, t->name, T_I8, t->rank, t->dim);
    Stmt *c = new_stmt(a, byte, t);

    scatter_out(g, c, v, t->rank);
    c->value = expr_cast(g, element_of(g, t, u), T_I8);
    return byte;
}

static bool uses_any(const Idx *e, const Var *const *v, int n)
{
    for (int i = 0; i < n; i++)
        if (idx_uses(e, v[i]))
            return true;
    return false;
}

/* Does a place of x move with the result's and with the reduction's? */
static bool has_window(const Stmt *s, const Expr *x)
{
    for (int d = 0; d < x->tensor->rank; d++)
        if (uses_any(x->at[d], (const Var *const *)s->out, s->n_out) &&
            uses_any(x->at[d], (const Var *const *)s->red, s->n_red))
            return true;
    return false;
}

/* A tensor that has just what the maximum s found in windows: its own, or one
 * of 16 bits where it was found among such. NULL: none that is kept anyway. */
static Tensor *found_by(const Adjoint *a, const Stmt *s)
{
    const Expr *x = s->value;

    while (x->kind == E_CAST && type_is_float(x->type))
        x = x->arg[0];
    if (x->kind != E_READ || !has_window(s, x))
        return NULL;
    if (x->tensor->type == s->tensor->type)
        return s->tensor;
    for (int i = 0; i < a->n_stmt; i++) {
        const Stmt *c = a->stmt[i];
        const Expr *e = c->value->kind == E_CAST ? c->value->arg[0] : c->value;
        bool same = c->op == R_NONE && !c->where.n && e->kind == E_READ &&
                    !e->in.n && e->tensor == s->tensor &&
                    c->tensor->type == x->tensor->type;
        for (int d = 0; same && d < s->tensor->rank; d++)
            same = e->at[d] == c->store[d] && idx_is_var(c->store[d]) != NULL;
        if (same)
            return c->tensor;
    }
    return NULL;
}

/* Small windows say it themselves, in a byte: 0 where the first one is what was
 * found, else 1 where the second one is, ... */
static Tensor *place_in_window(Adjoint *a, const Stmt *s, Tensor *found)
{
    Graph *g = a->g;
    int64_t dim[MAX_RANK], all = 1;
    const Var *v[MAX_RANK];
    Subst by[MAX_RANK * 4];
    int n = s->n_out;

    for (int i = 0; i < s->n_out; i++)
        dim[i] = s->out[i]->extent;
    for (int i = 0; i < s->n_red; i++)
        all *= s->red[i]->extent;
    Tensor *t = graph_tensor(
        g, arena_printf(g->arena, "%s_place", s->tensor->name), T_I8,
        s->n_out, dim);
    Stmt *c = new_stmt(a, t, s->tensor);
    const Idx **u = element(g, t, v);
    scatter_out(g, c, v, s->n_out);
    for (int i = 0; i < s->n_out; i++)
        by[i] = (Subst){s->out[i], u[i]};
    const Idx **place = arena_array(g->arena, const Idx *, MAX_RANK);
    for (int d = 0; d < s->tensor->rank; d++)
        place[d] = idx_subst(g->pool, s->store[d], by, n);
    const Expr *y = element_of(g, found, place);
    const Expr *at = expr_const(g, (double)(all - 1), T_I32);
    for (int64_t k = all - 2; k >= 0; k--) {
        int64_t rest = k;
        for (int i = s->n_red - 1; i >= 0; i--) {
            int64_t extent = s->red[i]->extent;
            by[n + i] = (Subst){s->red[i], idx_const(g->pool, rest % extent)};
            rest /= extent;
        }
        at = expr_select(
            g,
            expr_binary(g, F_EQ,
                        expr_cast(g, expr_subst(g, s->value, by, n + s->n_red),
                                  T_F32),
                        expr_cast(g, y, T_F32), T_BOOL),
            expr_const(g, (double)k, T_I32), at, T_I32);
    }
    c->value = expr_cast(g, at, T_I8);
    return t;
}

/* Which point a maximum or minimum took, the first of equals, for all that s
 * is written for. */
static Tensor *choose(Adjoint *a, int number)
{
    Graph *g = a->g;
    const Stmt *s = a->stmt[number];
    int64_t dim[MAX_RANK], all = 1;
    Subst by[MAX_RANK * 2];

    if (a->chosen[number])
        return a->chosen[number];
    for (int i = 0; i < s->n_out; i++)
        dim[i] = s->out[i]->extent;
    for (int i = 0; i < s->n_red; i++)
        all *= s->red[i]->extent;
    Tensor *found = all <= SMALL_WINDOW ? found_by(a, s) : NULL;
    if (found)
        return a->chosen[number] = place_in_window(a, s, found);
    Tensor *t = graph_tensor(
        g, arena_printf(g->arena, "%s_place", s->tensor->name), T_I32,
        s->n_out, dim);
    Stmt *c = new_stmt(a, t, s->tensor);
    const Var *v = idx_new_var(g->pool, s->red[0]->name, all);
    const Idx *rest = idx_var(g->pool, v);
    scatter_out(g, c, s->out, s->n_out);
    for (int i = s->n_red - 1; i >= 0; i--) {
        int64_t n = s->red[i]->extent;
        by[i] = (Subst){s->red[i], i ? idx_mod(g->pool, rest, n) : rest};
        rest = idx_floor(g->pool, rest, n);
    }
    c->red = arena_array(g->arena, const Var *, 1);
    c->red[c->n_red++] = v;
    c->op = R_ARGMAX;
    c->value = expr_subst(g, s->value, by, s->n_red);
    if (s->op == R_MIN)
        c->value = expr_unary(g, F_NEG, c->value, T_F32);
    return a->chosen[number] = all > MOST_I8 ? t : in_a_byte(a, t);
}

/* The product of all other terms, for every point of a prod. */
static const Expr *others(Adjoint *a, const Stmt *s)
{
    Graph *g = a->g;
    const Var *out[MAX_RANK];
    int64_t dim[MAX_RANK];
    const Idx *at[MAX_RANK];
    Subst by[MAX_RANK * 2];
    int n = s->n_out + s->n_red;

    if (n > MAX_RANK) {
        diag_error(g->diag, s->at, "the gradient of a product over %d indices "
                   "for %d others is not supported: at most %d together",
                   s->n_red, s->n_out, (int)MAX_RANK);
        return NULL;
    }
    const Expr *own = expr_const(g, 1, T_BOOL);
    Tensor *t = NULL;
    for (int i = 0; i < n; i++) {
        out[i] = i < s->n_out ? s->out[i] : s->red[i - s->n_out];
        dim[i] = out[i]->extent;
        at[i] = idx_var(g->pool, out[i]);
    }
    t = graph_tensor(g, arena_printf(g->arena, "%s_others", s->tensor->name),
                     T_F32, n, dim);
    Stmt *c = new_stmt(a, t, s->tensor);
    scatter_out(g, c, out, n);
    c->red = arena_array(g->arena, const Var *, s->n_red + 1);
    for (int i = 0; i < s->n_red; i++) {
        const Var *v = idx_new_var(g->pool, s->red[i]->name,
                                   s->red[i]->extent);
        by[i] = (Subst){s->red[i], idx_var(g->pool, v)};
        c->red[c->n_red++] = v;
        own = expr_binary(
            g, F_AND, own,
            expr_binary(g, F_EQ, expr_index(g, by[i].by),
                        expr_index(g, idx_var(g->pool, s->red[i])), T_BOOL),
            T_BOOL);
    }
    c->op = R_PROD;
    c->value = expr_select(g, own, expr_const(g, 1, T_F32),
                           expr_subst(g, s->value, by, s->n_red), T_F32);
    return expr_read(g, t, at, (Guard){0}, NULL);
}

static const Expr *both(Graph *g, const Expr *a, const Expr *b)
{
    if (!a || !b)
        return a ? a : b;
    return expr_binary(g, F_AND, a, b, T_BOOL);
}

/* p for the terms of s becomes p for its result. False after an error. */
static bool through_reduction(Adjoint *a, int number, Partial *p)
{
    Graph *g = a->g;
    const Stmt *s = a->stmt[number];

    if (s->op == R_PROD) {
        const Expr *rest = others(a, s);
        if (rest)
            p->by = derive_times(g, p->by, rest);
        return rest != NULL;
    }
    if (s->op != R_MAX && s->op != R_MIN)
        return true;
    const Idx *at[MAX_RANK];
    for (int i = 0; i < s->n_out; i++)
        at[i] = idx_var(g->pool, s->out[i]);
    const Expr *took = expr_read(g, choose(a, number), at, (Guard){0}, NULL);
    took = expr_cast(g, took, T_I32);
    took = expr_binary(g, F_EQ, took, expr_index(g, place_of(g, s)), T_BOOL);
    p->when = both(g, p->when, took);
    return true;
}

/* ---- what one read of one statement gives */

static unsigned note_wild(const Expr *e, void *wild)
{
    switch (e->kind) {
    case E_CONST:
    case E_INDEX:
    case E_READ: return ARG_NONE;
    case E_CAST: return ARG_0;
    case E_UNARY:
        if (e->fn == F_NEG || e->fn == F_TANH)
            return ARG_0;
        break;
    case E_BINARY:
        if ((e->fn == F_MUL || e->fn == F_ADD || e->fn == F_SUB) && !e->arg[2])
            return ARG_0 | ARG_1;
        break;
    case E_SELECT: return ARG_1 | ARG_2;
    case E_LOCAL: break;
    }
    *(bool *)wild = true;
    return ARG_NONE;
}

/* Finite wherever what it reads is: a guard may then stand at the other factor
 * of a product with it. */
static bool is_tame(const Expr *e)
{
    bool wild = false;

    expr_descend(e, note_wild, &wild);
    return !wild;
}

/* The cotangent of what s stores, at the points of the set. */
static const Expr *result_at(Adjoint *a, const Stmt *s, const Inverse *set,
                             Guard in)
{
    Graph *g = a->g;
    Tensor *t = a->cotangent[s->tensor->id];
    const Idx *at[MAX_RANK];

    for (int d = 0; d < t->rank; d++)
        at[d] = idx_subst(g->pool, s->store[d], set->known, set->n_known);
    return expr_read(g, t, at, in, in.n ? expr_const(g, 0, t->type) : NULL);
}

typedef struct Gift {
    Adjoint *a;
    const Tensor *of; /* whose cotangent is made */
    const Idx **u;
    const Var *v[MAX_RANK];
    struct Part { const Expr *e; bool own; } *part; /* own: a sum's tensor */
    int n, cap, n_own;
} Gift;

static void give_part(Gift *to, const Expr *e, bool own)
{
    VEC_PUSH(to->a->g->arena, to->part, to->n, to->cap) =
        (struct Part){e, own};
    to->n_own += own;
}

/* How much of a name says what is differentiated: gradients of gradients would
 * be called after all that they come from. */
static int stem(const char *name)
{
    const char *by = strstr(name, "_by_");

    return (int)(by && by > name ? by - name : (ptrdiff_t)strlen(name));
}

/* A sum over what u does not determine is a statement of its own. */
static const Expr *summed(Gift *to, const Stmt *s, const Inverse *set,
                          const Expr *e)
{
    Adjoint *a = to->a;
    Graph *g = a->g;
    const Tensor *t = to->of;
    Tensor *sum = graph_tensor(
        g, arena_printf(g->arena, "d_%.*s_by_%.*s", stem(t->name), t->name,
                        stem(s->tensor->name), s->tensor->name),
        T_F32, t->rank, t->dim);
    Stmt *c = new_stmt(a, sum, t);
    scatter_out(g, c, to->v, t->rank);
    c->red = arena_array(g->arena, const Var *, set->n_left + 1);
    for (int i = 0; i < set->n_left; i++)
        c->red[c->n_red++] = set->left[i];
    c->op = R_SUM;
    c->value = e;
    return element_of(g, sum, to->u);
}

/* Whether a sum over what is left depends on e. */
static bool left_in(const Inverse *set, const Expr *e)
{
    for (int i = 0; i < set->n_left; i++)
        if (expr_uses(e, set->left[i]))
            return true;
    return false;
}

static void give_set(Gift *to, const Stmt *s, const Partial *p,
                     const Inverse *set)
{
    Adjoint *a = to->a;
    Graph *g = a->g;
    const Expr *zero = expr_const(g, 0, T_F32), *when = set->when;
    const Expr *range = NULL; /* of a sum of products: one of the products */
    Guard in = guard_subst(g->pool, p->read->in, set->known, set->n_known), c;

    in = guard_and(g->pool, in, guard_subst(g->pool, s->where, set->known,
                                            set->n_known));
    in = guard_and(g->pool, in, set->in);
    if (p->when) {
        const Expr *e = expr_subst(g, p->when, set->known, set->n_known);
        if (s->op == R_SUM && p->by->kind != E_CONST &&
            expr_as_guard(g, e, &c))
            range = e;
        else if (expr_as_guard(g, e, &c))
            in = guard_and(g->pool, in, c);
        else
            when = both(g, when, e);
    }
    if (guard_truth(in) == NEVER)
        return;
    const Expr *by = expr_subst(g, p->by, set->known, set->n_known);
    bool split = is_tame(by);
    const Expr *e = result_at(a, s, set, split ? in : (Guard){0});
    if (by->kind != E_CONST || by->num != 1)
        e = expr_binary(g, F_MUL, e, by, T_F32);
    e = expr_confine(g, e);
    if (!split)
        when = in.n ? both(g, expr_of_guard(g, in), when) : when;
    Scatter sc = {.graph = g, .of = to->of, .from = s->tensor, .v = to->v,
                  .u = to->u, .left = set->left, .n_left = set->n_left,
                  .at = a->at, .call = a->call};
    bool inside = range && left_in(set, range);
    const Expr *ranged = inside ? expr_select(g, range, e, zero, T_F32) : e;
    const Expr *rows = when ? scatter_sum(&sc, when, ranged) : NULL;
    bool own = !rows && set->n_left;
    if (when && !rows)
        e = expr_select(g, expr_confine(g, when), e, zero, T_F32);
    if (inside)
        e = expr_select(g, range, e, zero, T_F32);
    e = own ? summed(to, s, set, e) : rows ? rows : e;
    if (range && !inside)
        e = expr_select(g, range, e, zero, T_F32);
    give_part(to, e, own && (!range || inside));
}

static bool give_read(Gift *to, int number, Partial p)
{
    Graph *g = to->a->g;
    const Stmt *s = to->a->stmt[number];
    int n = s->n_out + s->n_red, sets;
    const Var **var = arena_array(g->arena, const Var *, n + 1);

    if (!through_reduction(to->a, number, &p))
        return false;
    for (int i = 0; i < n; i++)
        var[i] = i < s->n_out ? s->out[i] : s->red[i - s->n_out];
    const Inverse *set = invert(g, var, n, p.read->at, to->u, to->of->rank,
                                &sets);
    for (int i = 0; i < sets; i++)
        give_set(to, s, &p, &set[i]);
    return true;
}

/* What a later version keeps of the tensor. */
static void give_kept(Gift *to, const Stmt *s)
{
    Graph *g = to->a->g;
    const Expr *zero = expr_const(g, 0, T_F32);
    const Expr *e = element_of(g, to->a->cotangent[s->tensor->id], to->u);
    int sets;
    const Inverse *set = invert(g, s->out, s->n_out, s->store, to->u,
                                to->of->rank, &sets);

    for (int i = 0; i < sets; i++) {
        Guard in = guard_and(g->pool, set[i].in,
                             guard_subst(g->pool, s->where, set[i].known,
                                         set[i].n_known));
        const Expr *written = both(g, expr_of_guard(g, in), set[i].when);
        e = expr_select(g, expr_confine(g, written), zero, e, T_F32);
    }
    give_part(to, e, false);
}

/* A read of what s stores, at its points; NULL where that may be something
 * else than its value by then. */
static const Expr *kept_value(Graph *g, const Stmt *s)
{
    if (s->op != R_NONE || s->where.n || s->tensor->prev ||
        s->tensor->role != ROLE_TEMP)
        return NULL;
    return expr_read(g, s->tensor, s->store, (Guard){0}, NULL);
}

static bool give_all(Gift *to)
{
    Adjoint *a = to->a;
    const Readers *by = &a->readers[to->of->id];

    for (int i = 0; i < by->n; i++) {
        const Stmt *s = a->stmt[by->stmt[i]];
        Partials p = {0};
        if (!a->cotangent[s->tensor->id] || s->tensor->stopped)
            continue;
        if (!derive(a->g, s->value, kept_value(a->g, s), to->of, s->at, &p))
            return false;
        for (int k = 0; k < p.n; k++)
            if (!give_read(to, by->stmt[i], p.of[k]))
                return false;
        if (s->tensor->prev == to->of)
            give_kept(to, s);
    }
    return true;
}

/* ---- cotangents */

/* A sum's own tensor is f32, whatever becomes of it: what comes back to it has
 * the type of the tensor that it comes from. Scores of an attention keep f32
 * there: in f16 a bias of the queries, a sum over what cancels, was 4% off. */
static Type cotangent_type(const Adjoint *a, const Tensor *t, const Expr *e,
                           bool wanted)
{
    bool reduced = false;

    if (wanted)
        return T_F32;
    for (int i = 0; i < a->n_stmt; i++)
        if (a->stmt[i]->tensor == t)
            reduced = a->stmt[i]->op != R_NONE;
    if (!reduced)
        return t->type;
    if (e->kind == E_BINARY && e->fn == F_MUL && e->arg[1]->kind == E_CONST)
        e = e->arg[0];
    return e->kind == E_READ ? e->tensor->type : t->type;
}

static bool reads_f16(const Expr *e)
{
    while (e->kind == E_CAST)
        e = e->arg[0];
    return e->kind == E_READ && e->tensor->type == T_F16;
}

static bool is_scores(const Adjoint *a, const Tensor *t);

typedef struct Scores {
    const Adjoint *a;
    bool found;
} Scores;

/* Which parts may be scores that are scaled and masked. */
static unsigned of_scores(const Expr *e, void *ctx)
{
    Scores *s = ctx;

    switch (e->kind) {
    case E_READ:
        s->found |= e->tensor->type == T_F32 && is_scores(s->a, e->tensor);
        return ARG_NONE;
    case E_CAST: return ARG_0;
    case E_SELECT: return ARG_1 | ARG_2;
    case E_BINARY:
        if (e->fn == F_ADD || e->fn == F_SUB)
            return ARG_0 | ARG_1;
        return (e->fn == F_MUL || e->fn == F_DIV) &&
               e->arg[1]->kind == E_CONST ? ARG_0 : ARG_NONE;
    default: return ARG_NONE;
    }
}

static bool has_scores(const Adjoint *a, const Expr *e)
{
    Scores s = {a, false};

    expr_descend(e, of_scores, &s);
    return s.found;
}

static bool sums_f16(const Adjoint *a, const Tensor *t)
{
    for (int i = 0; i < a->n_stmt; i++) {
        const Expr *e = a->stmt[i]->value;
        if (a->stmt[i]->tensor != t)
            continue;
        if (a->stmt[i]->op == R_NONE)
            return has_scores(a, e);
        while (e->kind == E_BINARY && e->arg[1]->kind == E_CONST &&
               (e->fn == F_MUL || e->fn == F_DIV))
            e = e->arg[0];
        return a->stmt[i]->op == R_SUM && e->kind == E_BINARY &&
               e->fn == F_MUL && !e->arg[2] && reads_f16(e->arg[0]) &&
               reads_f16(e->arg[1]);
    }
    return false;
}

/* Does t sum products of f16 tensors, as the scores of an attention? Asked once
 * of each: 2^n paths may lead to it. */
static bool is_scores(const Adjoint *a, const Tensor *t)
{
    if (t->id >= a->n_tensor)
        return false;
    if (!a->scores[t->id])
        a->scores[t->id] = sums_f16(a, t) ? YES : NO;
    return a->scores[t->id] == YES;
}

/* The tensor that e reads whole, if e is nothing else. */
static Tensor *read_whole(const Expr *e, const Tensor *like, const Idx **u)
{
    if (e->kind != E_READ || e->in.n || e->tensor->rank != like->rank)
        return NULL;
    for (int d = 0; d < like->rank; d++)
        if (e->at[d] != u[d] || e->tensor->dim[d] != like->dim[d])
            return NULL;
    return e->tensor;
}

/* e, stored. */
static const Expr *so_far(Gift *to, const Expr *e)
{
    const Tensor *t = to->of;
    Graph *g = to->a->g;
    Tensor *sum = graph_tensor(
        g, arena_printf(g->arena, "d_%s_so_far", t->name), T_F32, t->rank,
        t->dim);
    Stmt *s = new_stmt(to->a, sum, t);

    scatter_out(g, s, to->v, t->rank);
    s->value = e;
    return element_of(g, sum, to->u);
}

/* What was given, added up. Sums of many readers, such as the steps of a loop
 * have of one weight, are added as they come, the last reader's first: else all
 * of them would be in memory at the end. */
static const Expr *added(Gift *to)
{
    enum { TOGETHER = 4 };
    const bool many = to->n_own > TOGETHER;
    Graph *g = to->a->g;
    const Expr *sum = NULL;

    for (int i = to->n - 1, left = to->n_own; many && i >= 0; i--) {
        if (!to->part[i].own)
            continue;
        sum = derive_plus(g, sum, to->part[i].e);
        if (--left && left < to->n_own - 1)
            sum = so_far(to, sum);
    }
    for (int i = 0; i < to->n; i++)
        if (!many || !to->part[i].own)
            sum = derive_plus(g, sum, to->part[i].e);
    return sum ? sum : expr_const(g, 0, T_F32);
}

static bool make(Adjoint *a, Tensor *t, bool wanted)
{
    Graph *g = a->g;
    Gift to = {.a = a, .of = t};

    to.u = element(g, t, to.v);
    if (t == a->loss)
        give_part(&to, expr_const(g, 1, T_F32), false);
    if (!give_all(&to))
        return false;
    const Expr *sum = added(&to);
    Type type = cotangent_type(a, t, sum, wanted);
    Tensor *whole = read_whole(sum, t, to.u);
    if (whole && whole->type == type) {
        a->cotangent[t->id] = whole;
        return true;
    }
    Tensor *d = graph_tensor(g, arena_printf(g->arena, "d_%s", t->name), type,
                             t->rank, t->dim);
    Stmt *s = new_stmt(a, d, t);
    scatter_out(g, s, to.v, t->rank);
    s->value = sum;
    d->halves = type == T_F32 && is_scores(a, t);
    a->cotangent[t->id] = d;
    return true;
}

/* Marks what lies between w and the loss and has no cotangent yet; does w reach
 * it at all? */
static bool mark(Adjoint *a, const Tensor *w, bool *marked)
{
    int *queue = arena_array(a->g->arena, int, a->n_tensor + 1), n = 0;
    bool reached = w == a->loss;

    marked[w->id] = true;
    queue[n++] = w->id;
    for (int i = 0; i < n; i++) {
        const Readers *by = &a->readers[queue[i]];
        for (int k = 0; k < by->n; k++) {
            const Tensor *t = a->stmt[by->stmt[k]]->tensor;
            reached |= t == a->loss || a->cotangent[t->id];
            if (marked[t->id] || a->cotangent[t->id] || t->stopped ||
                !type_is_float(t->type))
                continue;
            marked[t->id] = true;
            queue[n++] = t->id;
        }
    }
    return reached;
}

Tensor *adjoint(Adjoint *a, Tensor *w, Span at, Span call)
{
    bool *marked = arena_array(a->g->arena, bool, a->n_tensor + 1);

    if (w->id >= a->n_tensor || !a->live[w->id])
        return NULL;
    if (a->cotangent[w->id] && a->cotangent[w->id]->type == T_F32)
        return a->cotangent[w->id];
    a->at = at;
    a->call = call;
    if (!mark(a, w, marked))
        return NULL;
    for (int i = a->n_stmt - 1; i >= 0; i--) {
        Tensor *t = a->stmt[i]->tensor;
        if (t->id < a->n_tensor && marked[t->id] && t != w &&
            !a->cotangent[t->id] && !make(a, t, false))
            return NULL;
    }
    return make(a, w, true) ? a->cotangent[w->id] : NULL;
}
