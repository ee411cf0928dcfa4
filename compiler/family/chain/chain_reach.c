#include "family/chain/chain_wgmma.h"

/* From which column to which there may be scores, where data say so: a token's
 * position, how long a sequence is. */

/* e of all rows: the greatest if sign is 1, the least if it is -1; NULL if it
 * depends on them in another way than by addition, or on the column. */
static const Idx *extreme_idx(const ChainForm *f, const Idx *e, int sign)
{
    IdxPool *p = f->a.g->pool;

    for (int i = 0; i < f->b.m.n; i++) {
        const Var *v = f->b.m.v[i];
        int64_t c = idx_coef(e, v);
        Subst at = {v, idx_const(p, c * sign > 0 ? v->extent - 1 : 0)};
        if (idx_uses(idx_sub(p, e, idx_scale(p, idx_var(p, v), c)), v))
            return NULL;
        e = idx_subst(p, e, &at, 1);
    }
    return idx_uses(e, f->col) ? NULL : e;
}

static const Expr *extreme(const ChainForm *f, const Expr *e, int sign)
{
    Graph *g = f->a.g;

    if (e->type != T_I32)
        return NULL;
    if (e->kind == E_INDEX) {
        const Idx *at = extreme_idx(f, e->idx, sign);
        return at ? expr_index(g, at) : NULL;
    }
    if (e->kind == E_BINARY && (e->fn == F_ADD || e->fn == F_SUB)) {
        const Expr *a = extreme(f, e->arg[0], sign);
        const Expr *b = extreme(f, e->arg[1], e->fn == F_SUB ? -sign : sign);
        return a && b ? expr_binary(g, e->fn, a, b, T_I32) : NULL;
    }
    for (int i = 0; i < f->b.m.n; i++)
        if (expr_uses(e, f->b.m.v[i]))
            return NULL;
    bool plain = e->kind == E_CONST || (e->kind == E_READ && !e->in.n);
    return plain && !expr_uses(e, f->col) ? e : NULL;
}

/* Whether no value of e, or on the way to it, may wrap around. */
static bool stays(const Expr *e, int64_t *lo, int64_t *hi)
{
    int64_t l[2], h[2];

    if (e->kind == E_CONST || e->kind == E_INDEX) {
        *lo = e->kind == E_CONST ? (int64_t)e->num : e->idx->lo;
        *hi = e->kind == E_CONST ? (int64_t)e->num : e->idx->hi;
    } else if (e->kind == E_READ) {
        *lo = e->tensor->promised ? e->tensor->lo : INT32_MIN;
        *hi = e->tensor->promised ? e->tensor->hi - 1 : INT32_MAX;
    } else {
        if (!stays(e->arg[0], &l[0], &h[0]) || !stays(e->arg[1], &l[1], &h[1]))
            return false;
        *lo = e->fn == F_ADD ? l[0] + l[1] : l[0] - h[1];
        *hi = e->fn == F_ADD ? h[0] + h[1] : h[0] - l[1];
    }
    return *lo >= INT32_MIN && *hi <= INT32_MAX;
}

static void add(ChainForm *f, const Expr **to, int *n, const Expr *b,
                const Idx *less, int sign, int more)
{
    Graph *g = f->a.g;
    const Expr *e = expr_binary(g, F_SUB, b, expr_index(g, less), T_I32);
    const Expr *most = extreme(f, e, sign);
    int64_t lo, hi;

    if (most && *n < CHAIN_BOUNDS && stays(e, &lo, &hi))
        to[(*n)++] = expr_binary(g, F_ADD, most, expr_const(g, more, T_I32),
                                 T_I32); /* wraps to where nothing is cut */
}

/* Scores are where a < b, say. */
static void add_comparison(ChainForm *f, Func fn, const Expr *a, const Expr *b)
{
    static const Func turned[] = {[F_LT] = F_GT, [F_LE] = F_GE, [F_GT] = F_LT,
                                  [F_GE] = F_LE, [F_EQ] = F_EQ};
    Graph *g = f->a.g;
    ChainRows *r = &f->rows;

    if (b->kind == E_INDEX && idx_uses(b->idx, f->col)) {
        const Expr *other = a;
        a = b;
        b = other;
        fn = turned[fn];
    }
    if (a->kind != E_INDEX || idx_coef(a->idx, f->col) != 1 ||
        b->type != T_I32)
        return;
    const Idx *rest = idx_sub(g->pool, a->idx, idx_var(g->pool, f->col));
    if (fn == F_LT || fn == F_LE || fn == F_EQ)
        add(f, r->upto, &r->n_upto, b, rest, 1, fn == F_LT ? -1 : 0);
    if (fn == F_GT || fn == F_GE || fn == F_EQ)
        add(f, r->from, &r->n_from, b, rest, -1, fn == F_GT ? 1 : 0);
}

/* Scores are where c holds, or where it does not. */
static void add_condition(ChainForm *f, const Expr *c, bool holds)
{
    static const Func not[] = {[F_LT] = F_GE, [F_LE] = F_GT, [F_GT] = F_LE,
                               [F_GE] = F_LT};

    if (c->kind == E_UNARY && c->fn == F_NOT) {
        add_condition(f, c->arg[0], !holds);
    } else if (c->kind == E_BINARY && c->fn == (holds ? F_AND : F_OR)) {
        add_condition(f, c->arg[0], holds);
        add_condition(f, c->arg[1], holds);
    } else if (c->kind == E_BINARY && c->fn >= F_LT && c->fn <= F_GE) {
        add_comparison(f, holds ? c->fn : not[c->fn], c->arg[0], c->arg[1]);
    } else if (c->kind == E_BINARY && c->fn == F_EQ && holds) {
        add_comparison(f, F_EQ, c->arg[0], c->arg[1]);
    }
}

void chain_find_reach(ChainForm *f, const Expr *e)
{
    while (e->kind == E_SELECT) {
        bool then = chain_is_nothing(f, e->arg[1]);
        if (!then && !chain_is_nothing(f, e->arg[2]))
            return;
        add_condition(f, e->arg[0], !then);
        e = e->arg[then ? 2 : 1];
    }
}
