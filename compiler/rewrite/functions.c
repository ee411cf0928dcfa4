#include "rewrite/functions.h"

#include <math.h>

static bool is_number(const Expr *e, double num)
{
    return e->kind == E_CONST && e->num == num;
}

static bool is_binary(const Expr *e, Func f)
{
    return e->kind == E_BINARY && e->fn == f;
}

static bool is_unary(const Expr *e, Func f)
{
    return e->kind == E_UNARY && e->fn == f;
}

/* What of a and -a is not the one with a minus; NULL: they are no such two. */
static const Expr *of_opposites(const Expr *a, const Expr *b)
{
    for (int i = 0; i < 2; i++) {
        const Expr *x = i ? b : a, *minus = i ? a : b;
        if (is_unary(minus, F_NEG) && expr_equal(minus->arg[0], x))
            return x;
        for (int k = 0; k < 2 && is_binary(x, F_MUL) &&
                        is_binary(minus, F_MUL); k++)
            if (minus->arg[k]->kind == E_CONST && minus->arg[k]->num < 0 &&
                is_number(x->arg[k], -minus->arg[k]->num) &&
                expr_equal(x->arg[1 - k], minus->arg[1 - k]))
                return x;
    }
    return NULL;
}

/* logistic(x) logistic(-x) */
static const Expr *slope(Graph *g, const Expr *a, const Expr *b, Type t)
{
    if (!is_unary(a, F_LOGISTIC) || !is_unary(b, F_LOGISTIC))
        return NULL;
    const Expr *x = of_opposites(a->arg[0], b->arg[0]);
    return x ? expr_unary(g, F_SLOPE, x, t) : NULL;
}

static const Expr *times(Graph *g, const Expr *a, const Expr *b, Type t)
{
    if (is_unary(b, F_NORMCDF) && expr_equal(a, b->arg[0]))
        return expr_unary(g, F_GELU, a, t);
    return expr_binary(g, F_MUL, a, b, t);
}

/* c x, in f32; c goes into the number that x is multiplied or divided by. */
static const Expr *scaled(Graph *g, double c, const Expr *x)
{
    for (int i = 0; i < 2 && is_binary(x, F_MUL); i++)
        if (x->arg[i]->kind == E_CONST)
            return scaled(g, c * x->arg[i]->num, x->arg[1 - i]);
    if (is_binary(x, F_DIV) && x->arg[1]->kind == E_CONST &&
        type_is_float(x->type))
        return scaled(g, c / x->arg[1]->num, x->arg[0]);
    if (is_unary(x, F_NEG))
        return scaled(g, -c, x->arg[0]);
    if ((float)c == -1)
        return expr_unary(g, F_NEG, x, x->type);
    return times(g, expr_const(g, (float)c, x->type), x, x->type);
}

static const Expr *twice(Graph *g, Func f, double c, const Expr *x, Type t)
{
    return times(g, expr_const(g, 2, t), expr_unary(g, f, scaled(g, c, x), t),
                 t);
}

/* 1 + f, or 1 - f if `sign` is -1. */
static const Expr *one_and(Graph *g, const Expr *f, double sign, Type t)
{
    if (is_unary(f, F_ERF))
        return twice(g, F_NORMCDF, sign * M_SQRT2, f->arg[0], t);
    if (is_unary(f, F_TANH))
        return twice(g, F_LOGISTIC, sign * 2, f->arg[0], t);
    return NULL;
}

/* a / (1 + e^x) */
static const Expr *over_one_and_exp(Graph *g, const Expr *a, const Expr *sum,
                                    Type t)
{
    for (int i = 0; i < 2 && is_binary(sum, F_ADD); i++)
        if (is_number(sum->arg[i], 1) && is_unary(sum->arg[1 - i], F_EXP))
            return times(g, a,
                         expr_unary(g, F_LOGISTIC,
                                    scaled(g, -1, sum->arg[1 - i]->arg[0]), t),
                         t);
    return NULL;
}

/* What was made by twice(), or a product with that: half of it. */
static const Expr *half(const Expr *e)
{
    return is_binary(e, F_MUL) && is_number(e->arg[0], 2) ? e->arg[1] : NULL;
}

static bool made_here(const Expr *e)
{
    return is_unary(e, F_NORMCDF) || is_unary(e, F_GELU) ||
           is_unary(e, F_LOGISTIC) ||
           (is_binary(e, F_MUL) && made_here(e->arg[1]));
}

/* a (2 y) as (2 a) y, if a is a number times something: exact. */
static const Expr *join_two(Graph *g, const Expr *a, const Expr *y, Type t)
{
    if (a->kind == E_CONST)
        return times(g, expr_const(g, 2 * a->num, a->type), y, t);
    for (int i = 0; i < 2 && is_binary(a, F_MUL); i++)
        if (a->arg[i]->kind == E_CONST)
            return times(g, scaled(g, 2, a), y, t);
    return times(g, expr_const(g, 2, t), times(g, a, y, t), t);
}

const Expr *function_of_sum(Graph *g, const Expr *e)
{
    const Expr *y;

    if (e->kind != E_BINARY || !type_is_float(e->type))
        return NULL;
    for (int i = 0; i < 2; i++) {
        const Expr *a = e->arg[i], *b = e->arg[1 - i];
        if (e->fn == F_ADD && is_number(a, 1) &&
            (y = one_and(g, b, 1, e->type)))
            return y;
        if (e->fn == F_MUL && (y = slope(g, a, b, e->type)))
            return y;
        if (e->fn == F_MUL && (y = half(b)) && made_here(y))
            return join_two(g, a, y, e->type);
    }
    if (e->fn == F_SUB && is_number(e->arg[0], 1))
        return one_and(g, e->arg[1], -1, e->type);
    if (e->fn == F_DIV)
        return over_one_and_exp(g, e->arg[0], e->arg[1], e->type);
    return NULL;
}
