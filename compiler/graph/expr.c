/* expr.c - making expressions; what can be said at once is simplified. */
#include "graph/graph.h"

#include <limits.h>
#include <math.h>

/* Integers up to here are exact in f32. */
#define F32_EXACT ((int64_t)1 << 24)

static Expr *make(Graph *g, ExprKind kind, Type t)
{
    Expr *e = arena_new_of(g->arena, Expr);
    e->kind = kind;
    e->type = t;
    return e;
}

static bool is_num(const Expr *e, double x)
{
    return e->kind == E_CONST && e->num == x;
}

static bool in_i32(const Idx *e)
{
    return e->lo >= INT32_MIN && e->hi <= INT32_MAX;
}

/* ---- leaves */

const Expr *expr_const(Graph *g, double num, Type t)
{
    Expr *e = make(g, E_CONST, t);
    e->num = type_is_float(t) ? num : fold_round(num, t);
    return e;
}

const Expr *expr_index(Graph *g, const Idx *x)
{
    if (idx_is_const(x) && in_i32(x))
        return expr_const(g, (double)x->k, T_I32);
    Expr *e = make(g, E_INDEX, T_I32);
    e->idx = x;
    return e;
}

const Expr *expr_read(Graph *g, Tensor *t, const Idx **at, Guard in,
                      const Expr *outside)
{
    Truth inside = guard_truth(in);
    if (inside != ALWAYS && !outside)
        outside = expr_const(g, 0, t->type);
    if (inside == NEVER)
        return expr_cast(g, outside, t->type);
    Expr *e = make(g, E_READ, t->type);
    e->tensor = t;
    e->at = arena_array(g->arena, const Idx *, t->rank);
    for (int i = 0; i < t->rank; i++)
        e->at[i] = at[i];
    if (inside == MAYBE) {
        e->in = in;
        e->outside = outside;
    }
    return e;
}

const Expr *expr_local(Graph *g, int step, Type t)
{
    Expr *e = make(g, E_LOCAL, t);
    e->local = step;
    return e;
}

const Expr *expr_at(Graph *g, const Expr *e, Span span)
{
    Expr *copy = make(g, e->kind, e->type);
    *copy = *e;
    copy->span = span;
    return copy;
}

/* ---- casts */

bool type_holds(Type t, Type in)
{
    if (t == in || in == T_BOOL || t == T_F32)
        return in != T_I32 || t == T_I32;
    return (in == T_I8 || in == T_U8) && t >= T_I32;
}

/* e's value is one that its type can hold: it needs no rounding. */
static bool is_rounded(const Expr *e)
{
    if (e->type == T_F32 || e->type == T_I32 || e->type == T_BOOL)
        return true;
    switch (e->kind) {
    case E_CONST:
        return fold_round(e->num, e->type) == e->num;
    case E_READ:
    case E_CAST:
        return true;
    case E_SELECT:
        return is_rounded(e->arg[1]) && is_rounded(e->arg[2]);
    case E_INDEX:
    case E_LOCAL:
    case E_UNARY:
    case E_BINARY:
        break;
    }
    return false;
}

const Expr *expr_cast(Graph *g, const Expr *a, Type t)
{
    if (a->kind == E_CONST) {
        double r = fold_round(a->num, t);
        return a->type == t && (r == a->num || isnan(r))
                   ? a : expr_const(g, r, t);
    }
    if (a->type == t && is_rounded(a))
        return a;
    if (a->kind == E_CAST && type_holds(a->type, a->arg[0]->type)) {
        const Expr *in = a->arg[0]; /* a changed nothing */
        if (is_rounded(in))
            return expr_cast(g, in, t);
    }
    Expr *e = make(g, E_CAST, t);
    e->arg[0] = a;
    return e;
}

/* ---- index arithmetic */

const Idx *expr_as_idx(Graph *g, const Expr *e)
{
    if (e->kind == E_INDEX)
        return e->idx;
    if (e->kind == E_CONST && !type_is_float(e->type))
        return idx_const(g->pool, (int64_t)e->num);
    return NULL;
}

static const Idx *index_binary(IdxPool *p, Func f, const Idx *a,
                               const Idx *b)
{
    switch (f) {
    case F_ADD:
        return idx_add(p, a, b);
    case F_SUB:
        return idx_sub(p, a, b);
    case F_MUL:
        return idx_is_const(b)   ? idx_scale(p, a, b->k)
               : idx_is_const(a) ? idx_scale(p, b, a->k)
                                 : NULL;
    case F_DIV:
        if (idx_is_const(b) && b->k < 0)
            return idx_floor(p, idx_scale(p, a, -1), -b->k);
        return !idx_is_const(b) ? NULL
               : b->k == 0      ? idx_const(p, 0)
                                : idx_floor(p, a, b->k);
    case F_MOD:
        return !idx_is_const(b) || b->k < 0 ? NULL
               : b->k == 0                  ? idx_const(p, 0)
                                            : idx_mod(p, a, b->k);
    case F_MIN:
        return idx_min(p, a, b);
    case F_MAX:
        return idx_max(p, a, b);
    default:
        return NULL;
    }
}

/* A comparison of indices that their ranges decide: 0 or 1, else -1. */
static int index_compare(IdxPool *p, Func f, const Idx *a, const Idx *b)
{
    const Idx *d = idx_sub(p, b, a);
    Truth t = MAYBE;
    switch (f) {
    case F_LT:
    case F_GE:
        t = cond_truth((Cond){idx_addc(p, d, -1), 0});
        break;
    case F_LE:
    case F_GT:
        t = cond_truth((Cond){d, 0});
        break;
    case F_EQ:
    case F_NE:
        if (d->lo > 0 || d->hi < 0)
            t = NEVER;
        else if (d->lo == 0 && d->hi == 0)
            t = ALWAYS;
        break;
    default:
        return -1;
    }
    if (t == MAYBE)
        return -1;
    bool negated = f == F_GE || f == F_GT || f == F_NE;
    return (t == ALWAYS) != negated;
}

/* f(a, b) on indices as one index or a decided comparison; NULL if it is
 * neither, or could leave 32 bits. */
static const Expr *fold_index(Graph *g, Func f, const Expr *a, const Expr *b,
                              Type t)
{
    const Idx *x = expr_as_idx(g, a), *y = expr_as_idx(g, b);
    if (!x || !y || !in_i32(x) || !in_i32(y))
        return NULL;
    if (t == T_BOOL) {
        int decided = index_compare(g->pool, f, x, y);
        return decided < 0 ? NULL : expr_const(g, decided, T_BOOL);
    }
    const Idx *e = t == T_I32 ? index_binary(g->pool, f, x, y) : NULL;
    return e && in_i32(e) ? expr_index(g, e) : NULL;
}

/* ---- operators */

static bool is_bool_result(Func f)
{
    return f == F_NOT || (f >= F_LT && f <= F_OR);
}

/* All arguments are constants: their value. NULL if they are not. */
static const Expr *fold_const(Graph *g, Func f, const Expr *const *arg, Type t)
{
    double x[3] = {0}, r;
    bool ints = !type_is_float(t);
    for (int i = 0; i < func_arity(f); i++) {
        if (arg[i]->kind != E_CONST)
            return NULL;
        x[i] = arg[i]->num;
        ints &= !type_is_float(arg[i]->type);
    }
    if (!ints && !type_is_float(t) && !is_bool_result(f))
        return NULL;
    return fold_func(f, ints, x, &r) ? expr_const(g, r, t) : NULL;
}

const Expr *expr_unary(Graph *g, Func f, const Expr *a, Type t)
{
    const Expr *folded = fold_const(g, f, &a, t);
    if (folded)
        return folded;
    if (a->kind == E_UNARY && a->fn == f && (f == F_NEG || f == F_NOT) &&
        a->arg[0]->type == t)
        return a->arg[0];
    if (f == F_NEG && a->kind == E_INDEX && t == T_I32)
        return expr_binary(g, F_SUB, expr_const(g, 0, T_I32), a, t);
    Expr *e = make(g, E_UNARY, t);
    e->fn = f;
    e->arg[0] = a;
    return e;
}

/* x + 0, x * 1, x / 1, x && true, ...: the one operand that is the result.
 * Only what holds for every x, NaN and infinities too. */
static const Expr *identity(Func f, const Expr *a, const Expr *b, Type t)
{
    bool ints = !type_is_float(t);
    switch (f) {
    case F_ADD:
        return is_num(b, 0) ? a : is_num(a, 0) ? b : NULL;
    case F_SUB:
        return is_num(b, 0) ? a : NULL;
    case F_MUL:
        if (ints && (is_num(a, 0) || is_num(b, 0)))
            return is_num(a, 0) ? a : b;
        return is_num(b, 1) ? a : is_num(a, 1) ? b : NULL;
    case F_DIV:
        return is_num(b, 1) ? a : NULL;
    case F_POW:
        return is_num(b, 1) ? a : NULL;
    case F_AND:
        return is_num(a, 0) || is_num(b, 1)   ? a
               : is_num(b, 0) || is_num(a, 1) ? b
                                              : NULL;
    case F_OR:
        return is_num(a, 1) || is_num(b, 0)   ? a
               : is_num(b, 1) || is_num(a, 0) ? b
                                              : NULL;
    default:
        return NULL;
    }
}

const Expr *expr_binary(Graph *g, Func f, const Expr *a, const Expr *b,
                        Type t)
{
    const Expr *arg[2] = {a, b}, *folded;
    if (t == T_BOOL && !is_bool_result(f))
        t = T_I32; /* a pass may write out a sum of comparisons */
    folded = fold_const(g, f, arg, t);
    if (!folded)
        folded = fold_index(g, f, a, b, t);
    if (folded)
        return folded;
    bool logic = f == F_AND || f == F_OR;
    folded = logic && (a->type != T_BOOL || b->type != T_BOOL)
                 ? NULL : identity(f, a, b, t);
    if (folded)
        return folded->type == t ? folded : expr_cast(g, folded, t);
    Expr *e = make(g, E_BINARY, t);
    e->fn = f;
    e->arg[0] = a;
    e->arg[1] = b;
    return e;
}

const Expr *expr_ternary(Graph *g, Func f, const Expr *a, const Expr *b,
                         const Expr *c, Type t)
{
    const Expr *arg[3] = {a, b, c};
    const Expr *folded = f == F_FMA ? fold_const(g, f, arg, t) : NULL;
    if (folded)
        return folded;
    Expr *e = make(g, E_BINARY, t);
    e->fn = f;
    for (int i = 0; i < 3; i++)
        e->arg[i] = arg[i];
    return e;
}

const Expr *expr_fma(Graph *g, const Expr *a, const Expr *b, const Expr *c,
                     Type t)
{
    return expr_ternary(g, F_FMA, a, b, c, t);
}

const Expr *expr_random(Graph *g, const Expr *n, const Expr *place,
                        const Expr *which)
{
    return expr_ternary(g, F_RANDOM, n, place, which, T_F32);
}

static const Expr *arm(Graph *g, const Expr *e, Type t)
{
    return e->type == t ? e : expr_cast(g, e, t);
}

const Expr *expr_select(Graph *g, const Expr *c, const Expr *a, const Expr *b,
                        Type t)
{
    Guard guard;
    if (c->kind == E_CONST)
        return arm(g, c->num != 0 ? a : b, t);
    if (expr_as_guard(g, c, &guard) && guard_truth(guard) != MAYBE)
        return arm(g, guard_truth(guard) == ALWAYS ? a : b, t);
    if (expr_equal(a, b))
        return arm(g, a, t);
    Expr *e = make(g, E_SELECT, t);
    e->arg[0] = c;
    e->arg[1] = a;
    e->arg[2] = b;
    return e;
}

/* ---- conditions */

/* Both sides of a comparison as indices: an index converted to a float that
 * holds it exactly counts, and so does a whole number. */
static const Idx *compared(Graph *g, const Expr *e)
{
    const Idx *x = expr_as_idx(g, e);
    if (x)
        return x;
    if (e->kind == E_CAST && e->type == T_F32) {
        x = expr_as_idx(g, e->arg[0]);
        return x && x->lo >= -F32_EXACT && x->hi <= F32_EXACT ? x : NULL;
    }
    if (e->kind == E_CONST && fabs(e->num) <= (double)F32_EXACT &&
        e->num == floor(e->num))
        return idx_const(g->pool, (int64_t)e->num);
    return NULL;
}

/* d == 0, where d may be a multiple of one `x % m` and a constant. */
static void guard_equal(IdxPool *p, const Idx *d, Guard *out)
{
    const IdxMod *m = d->mod;
    if (m && idx_is_const(m->rest) && m->rest->k % m->m == 0) {
        int64_t r = -(m->rest->k / m->m); /* x % d == r */
        if (r >= 0 && r < m->d) {
            *out = guard_add(p, *out, idx_addc(p, m->a, -r), m->d);
            return;
        }
    }
    *out = guard_add(p, *out, d, 0);
    *out = guard_add(p, *out, idx_scale(p, d, -1), 0);
}

/* d != 0: where d has one sign, or is x % 2. */
static bool guard_unequal(IdxPool *p, const Idx *d, Guard *out)
{
    const IdxMod *m = d->mod;
    if (m && m->d == 2 && idx_is_const(m->rest) && m->rest->k % m->m == 0) {
        int64_t r = -(m->rest->k / m->m);
        if (r == 0 || r == 1) {
            *out = guard_add(p, *out, idx_addc(p, m->a, r - 1), 2);
            return true;
        }
    }
    if (d->lo < 0 && d->hi > 0)
        return false;
    const Idx *size = d->lo >= 0 ? d : idx_scale(p, d, -1);
    *out = guard_add(p, *out, idx_addc(p, size, -1), 0);
    return true;
}

static bool guard_compare(Graph *g, Func f, const Expr *ea, const Expr *eb,
                          Guard *out)
{
    IdxPool *p = g->pool;
    const Idx *a = compared(g, ea), *b = compared(g, eb);
    if (!a || !b)
        return false;
    const Idx *up = idx_sub(p, b, a), *down = idx_sub(p, a, b);
    switch (f) {
    case F_LT:
        *out = guard_add(p, *out, idx_addc(p, up, -1), 0);
        return true;
    case F_LE:
        *out = guard_add(p, *out, up, 0);
        return true;
    case F_GT:
        *out = guard_add(p, *out, idx_addc(p, down, -1), 0);
        return true;
    case F_GE:
        *out = guard_add(p, *out, down, 0);
        return true;
    case F_EQ:
        guard_equal(p, down, out);
        return true;
    case F_NE:
        return guard_unequal(p, down, out);
    default:
        return false;
    }
}

static Func opposite(Func f)
{
    static const Func of[] = {
        [F_LT] = F_GE, [F_LE] = F_GT, [F_GT] = F_LE,
        [F_GE] = F_LT, [F_EQ] = F_NE, [F_NE] = F_EQ,
    };
    return f >= F_LT && f <= F_NE ? of[f] : F_COUNT;
}

static bool add_condition(Graph *g, const Expr *e, bool negated, Guard *out)
{
    if (e->kind == E_CONST) {
        bool holds = (e->num != 0) != negated;
        if (!holds)
            *out = guard_add(g->pool, *out, idx_const(g->pool, -1), 0);
        return true;
    }
    if (e->kind == E_CAST && e->type == T_BOOL)
        return add_condition(g, e->arg[0], negated, out);
    if (e->kind == E_UNARY && e->fn == F_NOT)
        return add_condition(g, e->arg[0], !negated, out);
    if (e->kind == E_INDEX) {
        const Expr *zero = expr_const(g, 0, T_I32);
        return guard_compare(g, negated ? F_EQ : F_NE, e, zero, out);
    }
    if (e->kind != E_BINARY)
        return false;
    if (e->fn == (negated ? F_OR : F_AND))
        return add_condition(g, e->arg[0], negated, out) &&
               add_condition(g, e->arg[1], negated, out);
    Func f = negated ? opposite(e->fn) : e->fn;
    return guard_compare(g, f, e->arg[0], e->arg[1], out);
}

bool expr_as_guard(Graph *g, const Expr *e, Guard *out)
{
    Guard made = {0};
    if (!add_condition(g, e, false, &made))
        return false;
    *out = made;
    return true;
}

const Expr *expr_of_guard(Graph *g, Guard guard)
{
    const Expr *all = expr_const(g, 1, T_BOOL), *zero = expr_const(g, 0, T_I32);
    for (int i = 0; i < guard.n; i++) {
        Cond c = guard.cond[i];
        const Idx *e = c.mod ? idx_mod(g->pool, c.e, c.mod) : c.e;
        const Expr *one = expr_binary(g, c.mod ? F_EQ : F_GE, expr_index(g, e),
                                      zero, T_BOOL);
        all = expr_binary(g, F_AND, all, one, T_BOOL);
    }
    return all;
}

static const Expr *confine_read(Graph *g, const Expr *e, void *ctx)
{
    (void)ctx;
    if (e->kind != E_READ)
        return NULL;
    Guard in = e->in;
    for (int d = 0; d < e->tensor->rank; d++)
        in = guard_within(g->pool, in, e->at[d], 0, e->tensor->dim[d]);
    if (in.n == e->in.n)
        return NULL;
    return expr_read(g, e->tensor, e->at, in,
                     e->outside ? e->outside : expr_const(g, 0, e->type));
}

const Expr *expr_confine(Graph *g, const Expr *e)
{
    return expr_rewrite(g, e, confine_read, NULL);
}
