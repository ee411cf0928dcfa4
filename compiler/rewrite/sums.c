#include "rewrite/sums.h"

#include "rewrite/simplify.h"
#include "rewrite/walk.h"

enum {
    MOST = 4,  /* products in a sum: each is a kernel of its own */
    LONG = 64, /* the sum and both sides: what tiles gain by */
};

typedef struct Terms {
    const Expr *of[MOST];
    bool minus[MOST];
    int n;
} Terms;

static bool take_terms(Terms *t, const Expr *e, bool minus)
{
    if (e->kind == E_UNARY && e->fn == F_NEG)
        return take_terms(t, e->arg[0], !minus);
    if (e->kind == E_BINARY && (e->fn == F_ADD || e->fn == F_SUB))
        return take_terms(t, e->arg[0], minus) &&
               take_terms(t, e->arg[1], minus != (e->fn == F_SUB));
    if (t->n == MOST)
        return false;
    t->of[t->n] = e;
    t->minus[t->n++] = minus;
    return true;
}

/* Points of s that `a` has, and not b. */
static int64_t own_points(const Stmt *s, const Expr *a, const Expr *b)
{
    const Var *own[MAX_RANK];
    int64_t points = 1;

    for (int i = walk_only_in(s, a, b, own) - 1; i >= 0; i--)
        points *= own[i]->extent;
    return points;
}

/* Is the sum of e over s's variables a product worth tiles? */
static bool is_large(const Stmt *s, const Expr *e)
{
    const Expr *a, *b;
    int64_t sum = 1;
    Stmt of = *s;

    of.value = e;
    for (int i = 0; i < s->n_red; i++)
        sum *= s->red[i]->extent;
    return walk_product(&of, &a, &b) && sum >= LONG &&
           own_points(s, a, b) >= LONG && own_points(s, b, a) >= LONG;
}

static bool find_terms(const Stmt *s, Terms *t)
{
    const Type type = s->tensor->type;

    if (s->op != R_SUM || s->when != WHEN_RUN || s->where.n ||
        (type != T_F32 && type != T_I32) || s->tensor->role == ROLE_STATE ||
        s->tensor->prev || s->n_out > MAX_RANK ||
        !take_terms(t, s->value, false))
        return false;
    for (int d = 0; d < s->tensor->rank; d++)
        if (!idx_is_var(s->store[d]))
            return false;
    for (int i = 0; i < t->n; i++)
        if (!is_large(s, t->of[i]))
            return false;
    return t->n > 1;
}

/* A statement like s at `at`, of a tensor of its own. */
static Stmt *one_sum(Graph *g, int at, const Stmt *s, const Expr *term)
{
    const Tensor *like = s->tensor;
    Stmt *p = stmt_insert(g, at);
    Tensor *t = graph_tensor(g, like->name, like->type, like->rank, like->dim);
    int id = p->id;

    t->path = like->path;
    t->when = like->when;
    t->at = like->at;
    *p = *s;
    p->id = id;
    p->tensor = t;
    p->value = term;
    return p;
}

/* Statement `at` adds up what sums ahead of it are, one for each term. */
static void split_at(Graph *g, int at, const Terms *t)
{
    Stmt *s = g->stmt[at];
    const Type type = s->tensor->type;
    const Expr *all = NULL;

    for (int i = 0; i < t->n; i++) {
        const Stmt *p = one_sum(g, at + i, s, t->of[i]);
        const Expr *e =
            expr_read(g, p->tensor, s->store, (Guard){0}, NULL);
        if (all)
            all = expr_binary(g, t->minus[i] ? F_SUB : F_ADD, all, e, type);
        else
            all = t->minus[i] ? expr_unary(g, F_NEG, e, type) : e;
    }
    s->value = all;
    s->op = R_NONE;
    s->red = NULL;
    s->n_red = 0;
}

void split_sums(Graph *g)
{
    for (int i = 0; i < g->n_stmt; i++) {
        Terms t = {.n = 0};
        if (!find_terms(g->stmt[i], &t))
            continue;
        split_at(g, i, &t);
        i += t.n;
    }
}
