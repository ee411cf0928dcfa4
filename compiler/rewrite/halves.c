#include "rewrite/halves.h"

#include "rewrite/simplify.h"
#include "rewrite/walk.h"

#include <math.h>

/* ---- guards that are choices */

static const Expr *holds(Graph *g, Guard in)
{
    const Expr *all = NULL;

    for (int i = 0; i < in.n; i++) {
        const Expr *e = expr_binary(g, F_GE, expr_index(g, in.cond[i].e),
                                    expr_const(g, 0, T_I32), T_BOOL);
        all = all ? expr_binary(g, F_AND, all, e, T_BOOL) : e;
    }
    return all;
}

/* Of a reduction, any of its variables, each of them once. */
static bool own_place(const Stmt *s, const Expr *e, int d)
{
    const Var *v = idx_is_var(e->at[d]);

    if (!v || v->extent > e->tensor->dim[d])
        return false;
    if (s->op == R_NONE)
        return e->at[d] == s->store[d];
    for (int i = 0; i < d; i++)
        if (e->at[i] == e->at[d])
            return false;
    return true;
}

static const Expr *choose(Graph *g, const Expr *e, void *ctx)
{
    const Stmt *s = ctx;
    int rank = s->op == R_NONE ? s->tensor->rank : s->n_out + s->n_red;

    if (e->kind != E_READ || !e->in.n || e->tensor->rank != rank ||
        e->tensor->role != ROLE_TEMP || e->tensor->when != WHEN_RUN ||
        e->outside->kind != E_CONST)
        return NULL;
    for (int d = 0; d < e->tensor->rank; d++)
        if (!own_place(s, e, d))
            return NULL;
    for (int i = 0; i < e->in.n; i++)
        if (e->in.cond[i].mod || idx_has_data(e->in.cond[i].e))
            return NULL;
    return expr_select(g, holds(g, e->in),
                       expr_read(g, e->tensor, e->at, (Guard){0}, NULL),
                       e->outside, e->type);
}

/* Sums take guards as they are: tiles of a product are loaded under them. */
void choose_guarded(Graph *g)
{
    for (int i = 0; i < g->n_stmt; i++) {
        Stmt *s = g->stmt[i];
        bool takes = s->op == R_NONE || s->op == R_MAX || s->op == R_MIN;
        if (takes && !s->where.n && s->when == WHEN_RUN)
            s->value = expr_rewrite(g, s->value, choose, s);
    }
}

/* ---- halves */

enum { APART = 2048, /* 2^11: the bits of an f16 */
       MOST_STEPS = 3 /* between a product and where it is rounded */ };

/* Worth a second product: the sum is long, and so are both sides. */
static bool is_large(const Stmt *s, const Expr *a, const Expr *b)
{
    enum { LONG = 64 };
    int64_t sum = 1, rows = 1, columns = 1;

    for (int i = 0; i < s->n_red; i++)
        sum *= s->red[i]->extent;
    for (int i = 0; i < s->n_out; i++) {
        rows *= expr_uses(a, s->out[i]) ? s->out[i]->extent : 1;
        columns *= expr_uses(b, s->out[i]) ? s->out[i]->extent : 1;
    }
    return sum >= LONG && rows >= LONG && columns >= LONG;
}

typedef struct Halves {
    Tensor *of, *high, *low;
} Halves;

static Tensor *pointwise(Graph *g, int at, const Tensor *like, Type type,
                         const char *name)
{
    Stmt *by = g->stmt[at - 1], *s = stmt_insert(g, at);
    Tensor *t = graph_tensor(g, arena_printf(g->arena, "%s_%s", like->name,
                                             name),
                             type, like->rank, like->dim);
    int id = s->id;

    t->path = like->path;
    t->when = like->when;
    t->at = like->at;
    *s = *by;
    s->id = id;
    s->op = R_NONE;
    s->tensor = t;
    s->red = NULL;
    s->n_red = 0;
    s->where = (Guard){0};
    s->n_out = like->rank;
    s->out = arena_array(g->arena, const Var *, like->rank + 1);
    s->store = arena_array(g->arena, const Idx *, like->rank + 1);
    for (int d = 0; d < like->rank; d++) {
        s->out[d] = idx_new_var(g->pool, arena_printf(g->arena, "%c", 'i' + d),
                                like->dim[d]);
        s->store[d] = idx_var(g->pool, s->out[d]);
    }
    return t;
}

static const Expr *own_read(Graph *g, const Tensor *t, const Stmt *s)
{
    return expr_read(g, (Tensor *)t, s->store, (Guard){0}, NULL);
}

/* Both parts, behind the statement at - 1, which makes the tensor. */
static Halves make_halves(Graph *g, int at, Tensor *t)
{
    Halves h = {.of = t};

    h.high = pointwise(g, at, t, T_F16, "high");
    Stmt *s = g->stmt[at];
    s->value = own_read(g, t, s);
    h.low = pointwise(g, at + 1, t, T_F16, "low");
    s = g->stmt[at + 1];
    const Expr *whole = own_read(g, t, s);
    const Expr *high = expr_cast(g, expr_cast(g, whole, T_F16), T_F32);
    s->value = expr_binary(
        g, F_MUL, expr_binary(g, F_SUB, whole, high, T_F32),
        expr_const(g, APART, T_F32), T_F32);
    return h;
}

/* The last statement that makes a part of t, or all. */
static int maker_of(const Graph *g, const Tensor *t)
{
    int at = -1;

    for (int i = 0; i < g->n_stmt; i++) {
        if (g->stmt[i]->tensor != t)
            continue;
        if (g->stmt[i]->where.n)
            return -1;
        at = i;
    }
    return at;
}

static const Expr *with(Graph *g, const Expr *read, Tensor *t)
{
    return expr_read(g, t, read->at, read->in,
                     read->in.n ? expr_const(g, 0, t->type) : NULL);
}

/* s sums the products of the high part; one of the low part goes before it, and
 * their sum behind it. */
static void split_product(Graph *g, int at, const Halves *h, const Expr *a,
                          const Expr *b)
{
    Stmt *s = g->stmt[at];
    Tensor *result = s->tensor;
    Stmt saved = *s;

    Tensor *parts[2];
    for (int i = 0; i < 2; i++) {
        Stmt *p = i ? stmt_insert(g, at) : s;
        int id = p->id;
        parts[i] = graph_tensor(
            g, arena_printf(g->arena, "%s_%s", result->name,
                            i ? "low" : "high"),
            T_F32, result->rank, result->dim);
        parts[i]->path = result->path;
        parts[i]->when = result->when;
        parts[i]->at = result->at;
        *p = saved;
        p->id = id;
        p->tensor = parts[i];
        p->value = expr_binary(g, F_MUL, with(g, a, i ? h->low : h->high), b,
                               T_F32);
    }
    Stmt *sum = stmt_insert(g, at + 2);
    int id = sum->id;
    *sum = saved;
    sum->id = id;
    sum->op = R_NONE;
    sum->red = NULL;
    sum->n_red = 0;
    sum->value = expr_binary(
        g, F_ADD, expr_read(g, parts[0], sum->store, (Guard){0}, NULL),
        expr_binary(g, F_MUL,
                    expr_read(g, parts[1], sum->store, (Guard){0}, NULL),
                    expr_const(g, 1.0 / APART, T_F32), T_F32), T_F32);
}

static bool is_plain_store(const Stmt *s)
{
    if (s->where.n)
        return false;
    for (int d = 0; d < s->tensor->rank; d++)
        if (!idx_is_var(s->store[d]))
            return false;
    return true;
}

/* Of e, which reads t: sums of it with others, and no more than it. */
static bool is_part(const Expr *e)
{
    switch (e->kind) {
    case E_READ:
        return true;
    case E_CAST:
        return is_part(e->arg[0]);
    case E_BINARY:
        return e->fn == F_ADD || e->fn == F_SUB
                   ? is_part(e->arg[0]) && is_part(e->arg[1])
                   : (e->fn == F_MUL || e->fn == F_DIV) &&
                         e->arg[1]->kind == E_CONST &&
                         (fabs(e->arg[1]->num) <= 1) == (e->fn == F_MUL) &&
                         is_part(e->arg[0]);
    default:
        return false;
    }
}

typedef struct Reads {
    const Tensor *t;
    bool found;
} Reads;

static void note_read(const Expr *e, void *ctx)
{
    Reads *r = ctx;

    r->found |= e->kind == E_READ && e->tensor == r->t;
}

/* Whether all that reads t rounds it to f16, at last: what parts of f16 lose is
 * little beside that. */
static bool is_rounded(const Graph *g, const Tensor *t, int steps)
{
    bool read = false;

    for (int i = 0; i < g->n_stmt; i++) {
        const Stmt *s = g->stmt[i];
        Reads r = {t, false};
        expr_visit(s->value, note_read, &r);
        if (!r.found)
            continue;
        const Tensor *to = s->tensor;
        if (s->op != R_NONE || !is_part(s->value))
            return false;
        if (to->type != T_F16 && (to->role != ROLE_TEMP || !steps ||
                                  !is_rounded(g, to, steps - 1)))
            return false;
        read = true;
    }
    return read;
}

/* The factor that is scores' gradient, which the other one of f16 meets. */
static bool find_factors(const Graph *g, const Stmt *s, const Expr **a,
                         const Expr **b)
{
    if (s->op != R_SUM || s->when != WHEN_RUN || s->tensor->type != T_F32 ||
        s->tensor->role != ROLE_TEMP || s->tensor->prev ||
        !is_plain_store(s) || !walk_product(s, a, b))
        return false;
    if (!(*a)->tensor->halves) {
        const Expr *other = *a;
        *a = *b;
        *b = other;
    }
    return (*a)->tensor->halves && (*a)->tensor->type == T_F32 &&
           (*b)->tensor->type == T_F16 && is_large(s, *a, *b) &&
           is_rounded(g, s->tensor, MOST_STEPS);
}

void split_halves(Graph *g)
{
    Halves *made = NULL;
    int n = 0, cap = 0;

    for (int i = 0; i < g->n_stmt; i++) {
        const Expr *a, *b;
        if (!find_factors(g, g->stmt[i], &a, &b))
            continue;
        int by = maker_of(g, a->tensor), k = 0;
        while (k < n && made[k].of != a->tensor)
            k++;
        if (by < 0)
            continue;
        if (k == n) {
            VEC_PUSH(g->arena, made, n, cap) =
                make_halves(g, by + 1, a->tensor);
            i += 2;
        }
        split_product(g, i, &made[k], a, b);
        i += 2;
    }
}
