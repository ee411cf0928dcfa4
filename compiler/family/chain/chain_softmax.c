#include "family/chain/chain_wgmma.h"
#include "group/groups.h"

#include <math.h>

/* The rows between the products: max x, sum exp(x - max) and exp(x - max), by
 * which a softmax and all that is like one is had; or no reductions at all. */

enum { LOCAL_MAX = CHAIN_SUM + 1 }; /* where no step is the maximum */

static bool is_infinite(const Expr *e)
{
    while (e->kind == E_CAST && type_is_float(e->type))
        e = e->arg[0];
    return e->kind == E_CONST && e->num == -INFINITY;
}

/* The local `max`, or 0 in its place where it is -inf: the kernel subtracts
 * that anyway, of a row that has nothing. */
static bool is_max(const Expr *e, int max)
{
    const Expr *c = e->kind == E_SELECT ? e->arg[0] : NULL;

    if (c && c->kind == E_BINARY && c->fn == F_EQ && is_max(c->arg[0], max) &&
        is_infinite(c->arg[1]) && e->arg[1]->kind == E_CONST &&
        e->arg[1]->num == 0)
        e = e->arg[2];
    return e->kind == E_LOCAL && e->local == max;
}

/* e is exp(x - base) or exp2 of that: its base, or NULL. */
static const Expr *base_of(const Expr *e, const Expr *x, Func *exp)
{
    bool is = e->kind == E_UNARY && (e->fn == F_EXP || e->fn == F_EXP2);
    const Expr *d = is ? e->arg[0] : NULL;

    if (!d || d->kind != E_BINARY || d->fn != F_SUB ||
        !expr_equal(d->arg[0], x))
        return NULL;
    *exp = e->fn;
    return d->arg[1];
}

static int storing(const Group *gr, const Tensor *t)
{
    int i = 0;

    while (gr->step[i].tensor != t)
        i++;
    return i;
}

/* The other product's steps, written out down to its sum. */
static const Expr *from_other(Graph *g, const Expr *e, void *ctx, bool *more)
{
    const Chain *c = ctx;

    if (e->kind != E_LOCAL)
        return NULL;
    *more = c->other->step[e->local].op == R_NONE;
    return *more ? c->other->step[e->local].value
                 : expr_local(g, CHAIN_OTHER, T_F32);
}

/* The first product's. */
static const Expr *from_sum(Graph *g, const Expr *e, void *ctx, bool *more)
{
    const Chain *c = ctx;

    if (c->other && e->kind == E_READ && e->tensor == c->beside)
        return expr_write_out(
            g, expr_local(g, storing(c->other, c->beside), T_F32), from_other,
            ctx);
    if (e->kind != E_LOCAL)
        return NULL;
    *more = c->first->step[e->local].op == R_NONE;
    return *more ? c->first->step[e->local].value
                 : expr_local(g, CHAIN_SUM, T_F32);
}

static const Expr *write_out(Graph *g, const Expr *e, void *ctx)
{
    const Chain *c = ctx;
    bool more = false;

    if (e->kind == E_READ && e->tensor == c->scores)
        return expr_write_out(
            g, expr_local(g, storing(c->first, c->scores), T_F32), from_sum,
            ctx);
    return e->kind == E_READ ? from_sum(g, e, ctx, &more) : NULL;
}

/* On the row, the column and what the block has one of, and affine. */
static bool is_tile_guard(Guard g)
{
    for (int i = 0; i < g.n; i++)
        if (g.cond[i].mod || !idx_affine(g.cond[i].e))
            return false;
    return g.n > 0;
}

/* The same where data may be in it, of the batch alone. */
static bool is_few_guard(const ChainForm *f, Guard g)
{
    IdxPool *p = f->a.g->pool;

    for (int i = 0; i < g.n; i++) {
        const Idx *e = g.cond[i].e;
        const Var *v = f->col;
        if (g.cond[i].mod)
            return false;
        for (int k = -1; k < f->b.m.n; k++) {
            v = k < 0 ? v : f->b.m.v[k];
            e = idx_sub(p, e, idx_scale(p, idx_var(p, v), idx_coef(e, v)));
            if (idx_uses(e, v))
                return false;
        }
    }
    return g.n > 0;
}

/* What a score may be replaced by without effect: -inf, or 0. */
bool chain_is_nothing(const ChainForm *f, const Expr *e)
{
    return f->rows.softmax ? is_infinite(e) : e->kind == E_CONST && e->num == 0;
}

/* `c ? -inf : x` leaves x, where c does not hold. */
static const Expr *take_mask(ChainForm *f, const Expr *e)
{
    Graph *g = f->a.g;

    while (e->kind == E_SELECT) {
        bool then = chain_is_nothing(f, e->arg[1]);
        Guard live = {0};
        const Expr *c = e->arg[0];
        if (!then && !chain_is_nothing(f, e->arg[2]))
            break;
        if (then)
            c = expr_unary(g, F_NOT, c, T_BOOL);
        if (!expr_as_guard(g, c, &live))
            break;
        if (!(f->few ? is_few_guard(f, live) : is_tile_guard(live))) {
            if (!f->few) /* which tiles have none, e says of which scores */
                f->rows.live = guard_and(g->pool, f->rows.live,
                                         guard_affine(g->pool, live));
            break;
        }
        f->rows.live = guard_and(g->pool, f->rows.live, live);
        e = e->arg[then ? 2 : 1];
    }
    return e;
}

/* x where c holds, else `other`, as the value is of which this is a part. */
static const Expr *choice(Graph *g, const Expr *select, int arm,
                          const Expr *then, const Expr *other)
{
    return arm ? expr_select(g, select->arg[0], then, other, T_F32)
               : expr_select(g, select->arg[0], other, then, T_F32);
}

/* The arm of a selection of which the other one is 0, or -inf: 1 or 0 for the
 * first or the second; -1 if none is. */
static int arm_beside(const Expr *e, bool infinite)
{
    if (e->kind != E_SELECT)
        return -1;
    for (int i = 0; i < 2; i++) {
        const Expr *other = e->arg[2 - i];
        if (infinite ? is_infinite(other)
                     : other->kind == E_CONST && other->num == 0)
            return 1 - i;
    }
    return -1;
}

/* Selections of nothing come out of what is done to them: products, and
 * exponentials of -inf. */
static const Expr *choose_last(Graph *g, const Expr *e, void *ctx)
{
    const Expr *zero = expr_const(g, 0, T_F32);
    int arm;

    if (e->kind == E_UNARY && (e->fn == F_EXP || e->fn == F_EXP2)) {
        arm = arm_beside(e->arg[0], true);
        return arm < 0 ? NULL
                       : choice(g, e->arg[0], arm,
                                expr_unary(g, e->fn, e->arg[0]->arg[2 - arm],
                                           T_F32), zero);
    }
    if (e->kind != E_BINARY || e->arg[2])
        return NULL;
    arm = e->fn == F_ADD || e->fn == F_SUB ? arm_beside(e->arg[0], true) : -1;
    if (arm >= 0) {
        const Expr *s = e->arg[0];
        const Expr *x = expr_binary(g, e->fn, s->arg[2 - arm], e->arg[1],
                                    T_F32);
        return choice(g, s, arm, x, s->arg[1 + arm]);
    }
    for (int i = 0; i < 2 && (e->fn == F_MUL || (e->fn == F_DIV && !i)); i++) {
        const Expr *s = e->arg[i];
        arm = arm_beside(s, false);
        if (arm < 0)
            continue;
        const Expr *x = s->arg[2 - arm];
        x = expr_binary(g, e->fn, i ? e->arg[0] : x, i ? x : e->arg[1], T_F32);
        const Expr *again = choose_last(g, x, ctx);
        return choice(g, s, arm, again ? again : x, zero);
    }
    return NULL;
}

static const Expr *take_scale(const Expr *e, double *scale)
{
    for (;;) {
        int c = e->kind == E_BINARY && e->fn == F_MUL
                    ? (e->arg[0]->kind == E_CONST   ? 0
                       : e->arg[1]->kind == E_CONST ? 1
                                                    : -1)
                : e->kind == E_BINARY && e->fn == F_DIV &&
                        e->arg[1]->kind == E_CONST
                    ? 2
                    : -1;
        double x = c < 0 ? 0 : e->arg[c > 0]->num;
        if (c < 0 || !(x > 0) || isinf(x))
            return e;
        *scale = c == 2 ? *scale / x : *scale * x;
        e = e->arg[c == 0];
    }
}

typedef struct Uses {
    int local;
    bool found;
} Uses;

static void find_local(const Expr *e, void *ctx)
{
    Uses *u = ctx;

    u->found |= e->kind == E_LOCAL && e->local == u->local;
}

double chain_read_ops(const ChainForm *f, const Expr *e)
{
    enum { OF_POINT = 6, OTHERS = 1 }; /* which serve a thread's both rows */

    return expr_uses(e, f->row) && expr_uses(e, f->col) ? OF_POINT : OTHERS;
}

static void count_special(const Expr *e, void *ctx)
{
    ChainForm *f = ctx;

    if (e->kind == E_READ)
        f->ops += chain_read_ops(f, e);
    if (e->kind == E_UNARY && e->fn >= F_SQRT && e->fn < F_COUNT)
        f->special += e->fn == F_EXP || e->fn >= F_NORMCDF ? 1 : 2;
}

/* Reads of neighbouring columns in whole words. */
static void find_ahead(const Expr *e, void *ctx)
{
    ChainForm *f = ctx;
    IdxPool *p = f->a.g->pool;

    if (e->kind != E_READ || f->rows.ahead || f->J % 2 || e->in.n ||
        type_bytes(e->tensor->type) != 2 || !expr_uses(e, f->row))
        return;
    const Idx *at = tensor_offset(f->a.g, e->tensor, e->at);
    const Idx *rest = idx_sub(p, at, idx_var(p, f->col));
    if (idx_affine(at) && !idx_uses(rest, f->col) && idx_align(rest, 2) == 2)
        f->rows.ahead = e;
}

/* Quotients by a number as products with its inverse, as the scale is: a score
 * is divided by it as often as there are scores. */
static const Expr *times_inverse(Graph *g, const Expr *e, void *ctx)
{
    const Expr *by = e->kind == E_BINARY && e->fn == F_DIV ? e->arg[1] : NULL;

    (void)ctx;
    if (!by || by->kind != E_CONST || !type_is_float(e->type) ||
        !isnormal(1 / (float)by->num))
        return NULL;
    return expr_binary(g, F_MUL, e->arg[0],
                       expr_const(g, 1 / by->num, by->type), e->type);
}

/* The body, without what it is where it counts for nothing. */
static void set_body(ChainForm *f, const Expr *x)
{
    /* Instructions that make one more part of a factor; and that find its
       greatest and scale it. */
    enum { PART = 4, FIT = 2 };

    x = expr_rewrite(f->a.g, x, write_out, (void *)f->chain);
    if (!f->rows.softmax)
        x = expr_rewrite(f->a.g, x, choose_last, NULL);
    x = take_mask(f, x);
    if (f->few)
        chain_find_reach(f, x);
    if (f->rows.softmax)
        x = expr_rewrite(f->a.g, take_scale(x, &f->rows.scale), times_inverse,
                         NULL);
    else if (chain_parts(f->chain) == 1)
        x = functions_of_factor(f->a.g, x);
    f->rows.body = x;
    f->ops += PART * (chain_parts(f->chain) - 1) + FIT * chain_fits_rows(f);
    if (x->kind == E_LOCAL)
        return;
    f->ops += expr_ops(x);
    expr_visit(x, count_special, f);
    if (!f->few && !f->chain->other)
        expr_visit(x, find_ahead, f);
}

static bool has_local(const Expr *e, int local)
{
    Uses u = {local, false};

    expr_visit(e, find_local, &u);
    return u.found;
}

/* Whether e goes with 1 / sum, so that it does not matter which number near the
 * greatest score weights are relative to. */
static bool over_sum(const Expr *e, int sum)
{
    const Expr *const *a = e->arg;

    if (e->kind == E_SELECT)
        return a[0]->kind == E_BINARY && a[0]->arg[0]->kind == E_LOCAL &&
               a[0]->arg[1]->kind == E_CONST && a[0]->arg[1]->num == 0 &&
               over_sum(a[1], sum) && a[2]->kind == E_CONST && a[2]->num == 0;
    if (e->kind != E_BINARY)
        return false;
    if (e->fn == F_DIV && a[1]->kind == E_LOCAL && a[1]->local == sum)
        return !has_local(a[0], sum);
    return e->fn == F_MUL && (has_local(a[0], sum)
                                  ? over_sum(a[0], sum) && !has_local(a[1], sum)
                                  : over_sum(a[1], sum));
}

/* The sum of weights, in the end, is had of the kernel's own. */
static const Expr *put_sum(Graph *g, const Expr *e, void *ctx)
{
    const ChainForm *f = ctx;

    return e->kind == E_LOCAL && e->local == f->rows.sum
               ? expr_binary(g, F_MUL, e, f->rows.sum_by, T_F32)
               : NULL;
}

/* Weights are exp(x - base), where the base is any value of the row, such as
 * one that the greatest score and something else give: the kernel's are
 * exp(x - max), and what is summed of them differs by exp(max - base). */
static void change_base(ChainForm *f, const Expr *base, Func exp)
{
    Graph *g = f->a.g;
    ChainRows *r = &f->rows;
    const Expr *max = expr_local(g, r->max, T_F32);

    r->sum_by = expr_unary(g, exp, expr_binary(g, F_SUB, max, base, T_F32),
                           T_F32);
    r->after = r->after ? expr_rewrite(g, r->after, put_sum, f)
                        : expr_const(g, 1, T_F32);
    r->after = expr_binary(g, F_MUL, r->after, r->sum_by, T_F32);
}

/* x, of which the weights are: those of the sum and those of the product. */
static const char *find_base(ChainForm *f)
{
    static const char *const why = "other values than exp(x - max)";
    const Online *o = &f->online;
    ChainRows *r = &f->rows;
    bool max = o->red[0].op == R_MAX;
    const Expr *e = o->red[max].term, *zero = NULL, *x, *base;
    Func exp = F_EXP, same = F_EXP;

    if (o->n_red != 1 + max || o->red[max].op != R_SUM)
        return "other reductions than max x and sum exp(x - max)";
    r->max = max ? o->red[0].step : LOCAL_MAX;
    if (max) {
        x = o->red[0].term;
        base = base_of(e, x, &exp);
        zero = base_of(o->value, x, &same);
    } else { /* sum exp(x), of scores or in them: a base of 0 */
        const Expr *v = expr_rewrite(f->a.g, o->value, write_out,
                                     (void *)f->chain);
        e = expr_rewrite(f->a.g, e, write_out, (void *)f->chain);
        bool is = e->kind == E_UNARY && (e->fn == F_EXP || e->fn == F_EXP2);
        x = is ? e->arg[0] : NULL;
        base = is ? expr_const(f->a.g, 0, T_F32) : NULL;
        exp = same = e->fn;
        zero = is && expr_equal(v, e) ? base : NULL;
    }
    if (!base || !zero || !expr_equal(base, zero) || exp != same ||
        expr_uses(base, f->col))
        return why;
    r->body = x;
    r->base2 = exp == F_EXP2;
    if (!is_max(base, r->max))
        change_base(f, base, exp);
    r->exact = r->after && (has_local(r->after, r->max) ||
                            !over_sum(r->after, r->sum));
    return NULL;
}

typedef struct RowLocals {
    const ChainRows *r;
    bool others;
} RowLocals;

static void note_others(const Expr *e, void *ctx)
{
    RowLocals *l = ctx;

    l->others |=
        e->kind == E_LOCAL && e->local != l->r->max && e->local != l->r->sum;
}

/* Every block of rows has all of them: those that several blocks have, of other
 * columns of a batch, would be stored by each. */
static bool one_block(const ChainForm *f, const Step *s)
{
    for (int i = -1; i < f->n_batch; i++) {
        const Var *v = i < 0 ? f->row : f->batch[i];
        bool uses = v->extent == 1;
        for (int d = 0; d < s->tensor->rank; d++)
            uses |= idx_uses(s->store[d], v);
        if (!uses)
            return false;
    }
    return true;
}

/* What others read of the rows, from the group's steps: which are stored may
 * change after it was made. */
static const char *find_kept(ChainForm *f)
{
    const Chain *c = f->chain;
    ChainRows *r = &f->rows;

    for (int i = 0; i < c->n_between; i++) {
        const Step *s = &f->gr->step[c->n_first + i];
        RowLocals l = {r, false};
        if (!s->tensor)
            continue;
        const Expr *e = online_value(f->a.g, c->between, i);
        expr_visit(e, note_others, &l);
        if (l.others || expr_uses(e, f->col))
            return "a value of rows that is no softmax's";
        if (f->few)
            return "values of rows that others read, too";
        if (!one_block(f, s))
            return "values of rows that several blocks make";
        if (r->sum_by)
            e = expr_rewrite(f->a.g, e, put_sum, f);
        r->exact |= r->softmax;
        r->kept[r->n_kept].store = s;
        r->kept[r->n_kept++].value = e;
    }
    return NULL;
}

static const char *find_rows(ChainForm *f)
{
    const Online *o = &f->online;
    ChainRows *r = &f->rows;

    if (o->n_red == 0) {
        *r = (ChainRows){.scale = 1, .after = o->after, .max = -1, .sum = -1};
        set_body(f, o->value);
        return NULL;
    }
    *r = (ChainRows){.softmax = true,
                     .scale = 1,
                     .after = o->after,
                     .max = LOCAL_MAX,
                     .sum = o->red[o->n_red - 1].step};
    const char *why = find_base(f);
    if (why)
        return why;
    set_body(f, r->body);
    return NULL;
}

const char *chain_find_rows(ChainForm *f)
{
    const char *why = find_rows(f);

    return why ? why : find_kept(f);
}
