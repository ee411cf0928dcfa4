#include "adjoint/derive.h"

#include <math.h>

/* A node and what the whole changes by where it changes. */
typedef struct Node {
    const Expr *e;
    const Expr *adjoint; /* NULL: 0 */
    bool reads;          /* the tensor in question, somewhere below */
} Node;

typedef struct Walk {
    Graph *g;
    Span at;
    const Tensor *t;
    const Expr *whole, *kept; /* what is derived; NULL, or a read of it */
    Node *node; int n, cap; /* arguments before what takes them */
    int *slot; int slots;   /* open addressing: 1 + number, 0: free */
    bool failed;
} Walk;

/* ---- the nodes, arguments first */

static int *find_slot(const Walk *w, const Expr *e)
{
    size_t i = ((uintptr_t)e >> 4) * 0x9e3779b97f4a7c15u >> 20;
    size_t mask = (size_t)w->slots - 1;

    for (i &= mask; w->slot[i] && w->node[w->slot[i] - 1].e != e;)
        i = (i + 1) & mask;
    return &w->slot[i];
}

static void grow_slots(Walk *w)
{
    w->slots = w->slots ? 4 * w->slots : 64;
    w->slot = arena_array(w->g->arena, int, w->slots);
    for (int i = 0; i < w->n; i++)
        *find_slot(w, w->node[i].e) = i + 1;
}

/* Notes e and what is below; does it read the tensor? */
static bool collect(Walk *w, const Expr *e)
{
    if (!type_is_float(e->type))
        return false;
    int seen = *find_slot(w, e);
    if (seen)
        return w->node[seen - 1].reads;
    bool reads = e->kind == E_READ && e->tensor == w->t;
    for (int i = 0; i < 3; i++)
        if (e->arg[i] && !(e->kind == E_SELECT && i == 0))
            reads |= collect(w, e->arg[i]);
    if (e->kind == E_READ && e->outside)
        reads |= collect(w, e->outside);
    if (e->kind == E_UNARY && e->fn == F_STOP)
        reads = false;
    VEC_PUSH(w->g->arena, w->node, w->n, w->cap) = (Node){e, NULL, reads};
    if (2 * w->n >= w->slots)
        grow_slots(w);
    else
        *find_slot(w, e) = w->n;
    return reads;
}

/* ---- arithmetic of adjoints */

static const Expr *num(Graph *g, double x)
{
    return expr_const(g, x, T_F32);
}

static bool is_zero(const Expr *e)
{
    return e->kind == E_CONST && e->num == 0;
}

const Expr *derive_times(Graph *g, const Expr *a, const Expr *b)
{
    if (a->kind == E_SELECT && (is_zero(a->arg[1]) || is_zero(a->arg[2]))) {
        bool second = is_zero(a->arg[1]);
        const Expr *in = derive_times(g, a->arg[second ? 2 : 1], b);
        return second ? expr_select(g, a->arg[0], a->arg[1], in, T_F32)
                      : expr_select(g, a->arg[0], in, a->arg[2], T_F32);
    }
    if (a->kind == E_CONST && a->num == -1)
        return expr_unary(g, F_NEG, b, T_F32);
    if (b->kind == E_CONST && b->num == -1)
        return expr_unary(g, F_NEG, a, T_F32);
    return expr_binary(g, F_MUL, a, b, T_F32);
}

const Expr *derive_plus(Graph *g, const Expr *a, const Expr *b)
{
    if (!a || !b)
        return a ? a : b;
    return expr_binary(g, F_ADD, a, b, T_F32);
}

static const Expr *mul(Graph *g, const Expr *a, const Expr *b)
{
    return expr_binary(g, F_MUL, a, b, T_F32);
}

static const Expr *quotient(Graph *g, const Expr *a, const Expr *b)
{
    return expr_binary(g, F_DIV, a, b, T_F32);
}

static const Expr *plus(Graph *g, const Expr *a, double b)
{
    return expr_binary(g, F_ADD, a, num(g, b), T_F32);
}

/* 1 - a a, of which nothing cancels near 1 */
static const Expr *less_square(Graph *g, const Expr *a)
{
    return mul(g, expr_binary(g, F_SUB, num(g, 1), a, T_F32), plus(g, a, 1));
}

static const Expr *call(Graph *g, Func f, const Expr *a)
{
    return expr_unary(g, f, a, T_F32);
}

static const Expr *negative(Graph *g, const Expr *a)
{
    if (a->kind == E_UNARY && a->fn == F_NEG)
        return a->arg[0];
    return call(g, F_NEG, a);
}

/* 1 / (1 + exp(a)): 0 and 1 far out, and its slope, by the rule of quotients
 * by such sums, again a product of these. */
static const Expr *falling(Graph *g, const Expr *a)
{
    return quotient(g, num(g, 1), plus(g, call(g, F_EXP, a), 1));
}

/* Does e change with the tensor at all? */
static bool varies(const Walk *w, const Expr *e)
{
    return type_is_float(e->type) && w->node[*find_slot(w, e) - 1].reads;
}

/* Adds to what e's adjoint is. */
static void give(Walk *w, const Expr *e, const Expr *adjoint)
{
    if (!varies(w, e))
        return;
    int i = *find_slot(w, e);
    w->node[i - 1].adjoint = derive_plus(w->g, w->node[i - 1].adjoint,
                                         adjoint);
}

static void give_times(Walk *w, const Expr *e, const Expr *a, const Expr *by)
{
    if (varies(w, e))
        give(w, e, derive_times(w->g, a, by));
}

static void give_where(Walk *w, const Expr *e, const Expr *c, const Expr *a)
{
    give(w, e, expr_select(w->g, c, a, num(w->g, 0), T_F32));
}

static void give_unless(Walk *w, const Expr *e, const Expr *c, const Expr *a)
{
    give(w, e, expr_select(w->g, c, num(w->g, 0), a, T_F32));
}

/* ---- functions of one argument: the derivative at x, where y is the value;
 * NULL: it is 0 everywhere. Where y has lost what the derivative needs, as
 * tanh's far out, x is asked: 1 - y y has no digit left from |x| = 9 in f32. */

static const Expr *by_power(Graph *g, Func f, const Expr *x, const Expr *y)
{
    switch (f) {
    case F_SQRT: return quotient(g, num(g, 0.5), y);
    case F_RSQRT: return mul(g, num(g, -0.5), mul(g, y, mul(g, y, y)));
    case F_CBRT: return quotient(g, num(g, 1 / 3.0), mul(g, y, y));
    case F_EXP: return y;
    case F_EXP2: return mul(g, y, num(g, M_LN2));
    case F_EXPM1: return call(g, F_EXP, x);
    case F_LOG: return quotient(g, num(g, 1), x);
    case F_LOG2: return quotient(g, num(g, M_LOG2E), x);
    case F_LOG10: return quotient(g, num(g, M_LOG10E), x);
    case F_LOG1P: return quotient(g, num(g, 1), plus(g, x, 1));
    default: return NULL;
    }
}

static const Expr *by_angle(Graph *g, Func f, const Expr *x, const Expr *y)
{
    const Expr *square = mul(g, x, x);

    switch (f) {
    case F_SIN: return call(g, F_COS, x);
    case F_COS: return call(g, F_NEG, call(g, F_SIN, x));
    case F_TAN: return plus(g, mul(g, y, y), 1);
    case F_ASIN: return call(g, F_RSQRT, less_square(g, x));
    case F_ACOS: return call(g, F_NEG, call(g, F_RSQRT, less_square(g, x)));
    case F_ATAN: return quotient(g, num(g, 1), plus(g, square, 1));
    case F_SINH: return call(g, F_COSH, x);
    case F_COSH: return call(g, F_SINH, x);
    case F_TANH:
        x = mul(g, num(g, 2), x);
        return mul(g, num(g, 4), mul(g, falling(g, x),
                                     falling(g, negative(g, x))));
    case F_ASINH:
        return quotient(g, num(g, 1),
                        expr_binary(g, F_HYPOT, x, num(g, 1), T_F32));
    case F_ACOSH:
        return mul(g, call(g, F_RSQRT, plus(g, x, -1)),
                   call(g, F_RSQRT, plus(g, x, 1)));
    case F_ATANH: return quotient(g, num(g, 1), less_square(g, x));
    case F_ERF:
    case F_ERFC:
        return mul(g, num(g, f == F_ERF ? M_2_SQRTPI : -M_2_SQRTPI),
                   call(g, F_EXP, call(g, F_NEG, square)));
    default: return NULL;
    }
}

/* lgamma's derivative, off by less than 1e-13: psi(z) = psi(z + 8) less eight
 * inverses, and there the asymptotic series (DLMF 5.11.2); below 1/2 by
 * reflection. */
static const Expr *digamma(Graph *g, const Expr *x)
{
    static const double series[] = {1 / 12.0, -1 / 120.0, 1 / 252.0,
                                    -1 / 240.0, 1 / 132.0, -691 / 32760.0};
    const Expr *low = expr_binary(g, F_LT, x, num(g, 0.5), T_BOOL);
    const Expr *z = expr_select(
        g, low, expr_binary(g, F_SUB, num(g, 1), x, T_F32), x, T_F32);
    const Expr *r = quotient(g, num(g, 1), plus(g, z, 8)), *r2 = mul(g, r, r);
    const Expr *less = num(g, series[5]), *psi = call(g, F_LOG, plus(g, z, 8));

    for (int k = 4; k >= 0; k--)
        less = plus(g, mul(g, less, r2), series[k]);
    less = mul(g, plus(g, mul(g, less, r), 0.5), r);
    for (int k = 0; k < 8; k++)
        less = derive_plus(g, less, quotient(g, num(g, 1), plus(g, z, k)));
    psi = expr_binary(g, F_SUB, psi, less, T_F32);
    const Expr *turned = quotient(
        g, num(g, M_PI), call(g, F_TAN, mul(g, num(g, M_PI), x)));
    return expr_select(g, low, expr_binary(g, F_SUB, psi, turned, T_F32), psi,
                       T_F32);
}

static const Expr *by_gamma(Graph *g, Func f, const Expr *x, const Expr *y)
{
    switch (f) {
    case F_LGAMMA: return digamma(g, x);
    case F_TGAMMA: return mul(g, y, digamma(g, x));
    default: return NULL;
    }
}

static bool is_step(Func f)
{
    return f >= F_FLOOR && f <= F_RINT;
}

static void no_rule(Walk *w, const Expr *e)
{
    diag_error(w->g->diag, e->span.source ? e->span : w->at,
               "the gradient of '%s' is not supported", func_name(e->fn));
    w->failed = true;
}

static void into_unary(Walk *w, const Expr *e, const Expr *a)
{
    Graph *g = w->g;
    const Expr *x = e->arg[0], *zero = num(g, 0);

    if (e->fn == F_NEG) {
        give(w, x, call(g, F_NEG, a));
    } else if (e->fn == F_ABS) {
        give_where(w, x, expr_binary(g, F_GT, x, zero, T_BOOL), a);
        give_where(w, x, expr_binary(g, F_LT, x, zero, T_BOOL),
                   call(g, F_NEG, a));
    } else if (!is_step(e->fn) && e->fn != F_NOT && e->fn != F_STOP) {
        const Expr *by = by_power(g, e->fn, x, e);
        if (!by)
            by = by_angle(g, e->fn, x, e);
        if (!by)
            by = by_gamma(g, e->fn, x, e);
        if (by)
            give_times(w, x, a, by);
        else
            no_rule(w, e);
    }
}

/* ---- operators and functions of two */

static void into_power(Walk *w, const Expr *e, const Expr *a)
{
    Graph *g = w->g;
    const Expr *x = e->arg[0], *y = e->arg[1];
    const Expr *less = expr_binary(g, F_POW, x, plus(g, y, -1), T_F32);

    /* 0 where y is 0, of x = 0 too, where the rule has 0 times infinity. */
    if (y->kind != E_CONST)
        give_unless(w, x, expr_binary(g, F_EQ, y, num(g, 0), T_BOOL),
                    derive_times(g, a, mul(g, y, less)));
    else if (!is_zero(y))
        give_times(w, x, a, mul(g, y, less));
    if (!varies(w, y))
        return;
    const Expr *positive = expr_binary(g, F_GT, x, num(g, 0), T_BOOL);
    give_where(w, y, positive,
               derive_times(g, a, mul(g, e, call(g, F_LOG, x))));
}

static void into_extreme(Walk *w, const Expr *e, const Expr *a)
{
    const Expr *x = e->arg[0], *y = e->arg[1];
    /* max(x, y) > y where x > y: of relu's argument nothing is needed. */
    bool by_kept = e == w->whole && w->kept && y->kind == E_CONST;
    const Expr *first = expr_binary(w->g, e->fn == F_MAX ? F_GT : F_LT,
                                    by_kept ? w->kept : x, y, T_BOOL);

    give_where(w, x, first, a);
    give_unless(w, y, first, a);
}

static void into_rare(Walk *w, const Expr *e, const Expr *a)
{
    Graph *g = w->g;
    const Expr *x = e->arg[0], *y = e->arg[1], *size, *one = num(g, 1);

    switch (e->fn) {
    case F_ATAN2:
        size = derive_plus(g, mul(g, x, x), mul(g, y, y));
        give_times(w, x, a, quotient(g, y, size));
        give_times(w, y, a, call(g, F_NEG, quotient(g, x, size)));
        break;
    case F_FMOD:
        give(w, x, a);
        give_times(w, y, a, call(g, F_NEG, call(g, F_TRUNC,
                                                quotient(g, x, y))));
        break;
    case F_HYPOT:
        give_times(w, x, a, quotient(g, x, e));
        give_times(w, y, a, quotient(g, y, e));
        break;
    case F_COPYSIGN:
        give_times(w, x, a, mul(g, expr_binary(g, F_COPYSIGN, one, x, T_F32),
                                expr_binary(g, F_COPYSIGN, one, y, T_F32)));
        break;
    case F_FDIM:
        size = expr_binary(g, F_GT, x, y, T_BOOL);
        give_where(w, x, size, a);
        give_where(w, y, size, call(g, F_NEG, a));
        break;
    default:
        no_rule(w, e);
    }
}

/* The c of c + exp(u), and that exponential; NULL: e is no such sum. */
static const Expr *logistic(const Expr *e, const Expr **power)
{
    if (e->kind != E_BINARY || e->fn != F_ADD)
        return NULL;
    for (int i = 0; i < 2; i++) {
        const Expr *p = e->arg[i], *c = e->arg[1 - i];
        *power = p;
        if (c->kind == E_CONST && p->kind == E_UNARY &&
            (p->fn == F_EXP || p->fn == F_EXP2))
            return c;
    }
    return NULL;
}

/* p / (c + p) of p = exp(u) or exp2(u), as 1 / (1 + c / p): right where p is 0
 * or infinite. NULL: c is not positive. */
static const Expr *share(Graph *g, const Expr *c, const Expr *p)
{
    const Expr *down = negative(g, p->arg[0]);
    bool two = p->fn == F_EXP2;

    if (!(c->num > 0))
        return NULL;
    if (c->num != 1)
        down = plus(g, down, two ? log2(c->num) : log(c->num));
    return quotient(g, num(g, 1), plus(g, call(g, p->fn, down), 1));
}

/* Of e = x / y by y. By u, e = x / (c + exp(u)) changes by -e exp(u) / y: of
 * the last two the product is 1 where exp(u) is infinite, -e / y times exp(u)
 * is NaN there; and c / y - 1 has no digit left where exp(u) is small. */
static void into_divisor(Walk *w, const Expr *e, const Expr *a)
{
    Graph *g = w->g;
    const Expr *y = e->arg[1], *power;
    const Expr *c = logistic(y, &power), *part;

    if (!varies(w, y))
        return;
    part = c ? share(g, c, power) : NULL;
    if (!part) {
        give_times(w, y, a, call(g, F_NEG, quotient(g, e, y)));
        return;
    }
    const Expr *u = power->arg[0], *by = mul(g, e, part);
    if (power->fn == F_EXP2)
        by = mul(g, by, num(g, M_LN2));
    if (u->kind == E_UNARY && u->fn == F_NEG)
        give_times(w, u->arg[0], a, by);
    else
        give_times(w, u, a, call(g, F_NEG, by));
}

static void into_binary(Walk *w, const Expr *e, const Expr *a)
{
    Graph *g = w->g;
    const Expr *x = e->arg[0], *y = e->arg[1];

    switch (e->fn) {
    case F_FMA:
        give(w, e->arg[2], a);
        /* fall through */
    case F_MUL:
        give_times(w, x, a, y);
        give_times(w, y, a, x);
        break;
    case F_ADD:
        give(w, x, a);
        give(w, y, a);
        break;
    case F_SUB:
        give(w, x, a);
        give(w, y, call(g, F_NEG, a));
        break;
    case F_DIV:
        give_times(w, x, a, quotient(g, num(g, 1), y));
        into_divisor(w, e, a);
        break;
    case F_MAX:
    case F_MIN: into_extreme(w, e, a); break;
    case F_POW: into_power(w, e, a); break;
    default: into_rare(w, e, a);
    }
}

/* ---- */

static void note(Walk *w, const Expr *read, const Expr *by, Partials *out)
{
    Graph *g = w->g;
    const Expr *when = NULL;

    while (by->kind == E_SELECT && (is_zero(by->arg[1]) ||
                                    is_zero(by->arg[2]))) {
        const Expr *c = by->arg[0];
        if (is_zero(by->arg[1]))
            c = expr_unary(g, F_NOT, c, T_BOOL);
        when = when ? expr_binary(g, F_AND, when, c, T_BOOL) : c;
        by = by->arg[is_zero(by->arg[1]) ? 2 : 1];
    }
    for (int i = 0; i < out->n; i++)
        if (!when && !out->of[i].when && expr_equal(out->of[i].read, read)) {
            out->of[i].by = derive_plus(g, out->of[i].by, by);
            return;
        }
    VEC_PUSH(g->arena, out->of, out->n, out->cap) = (Partial){read, by, when};
}

static void into_read(Walk *w, const Expr *e, const Expr *a, Partials *out)
{
    Graph *g = w->g;

    if (e->tensor == w->t)
        note(w, e, a, out);
    if (e->outside)
        give_unless(w, e->outside, expr_of_guard(g, e->in), a);
}

static void into(Walk *w, const Expr *e, const Expr *a, Partials *out)
{
    switch (e->kind) {
    case E_READ: into_read(w, e, a, out); break;
    case E_UNARY: into_unary(w, e, a); break;
    case E_BINARY: into_binary(w, e, a); break;
    case E_SELECT:
        give_where(w, e->arg[1], e->arg[0], a);
        give_unless(w, e->arg[2], e->arg[0], a);
        break;
    case E_CAST: give(w, e->arg[0], a); break;
    case E_CONST:
    case E_INDEX:
    case E_LOCAL: break;
    }
}

bool derive(Graph *g, const Expr *e, const Expr *kept, const Tensor *t, Span at,
            Partials *out)
{
    Walk w = {.g = g, .at = at, .t = t, .whole = e, .kept = kept};

    grow_slots(&w);
    if (!collect(&w, e))
        return true;
    give(&w, e, num(g, 1));
    for (int i = w.n - 1; i >= 0; i--)
        if (w.node[i].adjoint)
            into(&w, w.node[i].e, w.node[i].adjoint, out);
    return !w.failed;
}
