/* nest_eval.h - what a nest means, evaluated point by point in double: the
 * reference for tests that build nests by hand. */
#ifndef TEST_NEST_EVAL_H
#define TEST_NEST_EVAL_H

#include "compiler/emit/cprint.h"

#include <math.h>
#include <stdlib.h>

typedef struct NestEval {
    const Group *group;
    int64_t *var;           /* value by variable id */
    double *data[16];       /* of group->arg[i], by element offset */
    double local[64];
} NestEval;

static inline double nest_value(NestEval *n, Graph *g, const Expr *e);

static inline int64_t nest_floor(int64_t a, int64_t d)
{
    return a / d - (a % d < 0);
}

static inline int64_t nest_idx(NestEval *n, Graph *g, const Idx *e)
{
    int64_t sum = e->k;

    for (int i = 0; i < e->n; i++) {
        const Atom *t = e->term[i].atom;
        int64_t a = t->a ? nest_idx(n, g, t->a) : 0;
        int64_t b = t->b ? nest_idx(n, g, t->b) : 0;
        int64_t x = t->kind == ATOM_VAR     ? n->var[t->var->id]
                    : t->kind == ATOM_FLOOR ? nest_floor(a, t->d)
                    : t->kind == ATOM_MIN   ? (a < b ? a : b)
                    : t->kind == ATOM_MAX
                        ? (a > b ? a : b)
                        : (int64_t)nest_value(n, g, t->data);
        sum += e->term[i].c * x;
    }
    return sum;
}

static inline bool nest_holds(NestEval *n, Graph *g, Guard in)
{
    for (int i = 0; i < in.n; i++) {
        int64_t x = nest_idx(n, g, in.cond[i].e);
        if (in.cond[i].mod ? x % in.cond[i].mod != 0 : x < 0)
            return false;
    }
    return true;
}

static inline double *nest_data(NestEval *n, const Tensor *t)
{
    for (int i = 0; i < n->group->n_arg; i++)
        if (n->group->arg[i] == t)
            return n->data[i];
    abort();
}

static inline double nest_apply(Func f, double a, double b)
{
    switch (f) {
    case F_NEG: return -a;
    case F_ADD: return a + b;
    case F_SUB: return a - b;
    case F_MUL: return a * b;
    case F_DIV: return a / b;
    case F_MIN: return fmin(a, b);
    case F_MAX: return fmax(a, b);
    case F_EXP: return exp(a);
    case F_TANH: return tanh(a);
    case F_ERF: return erf(a);
    case F_NORMCDF: return erfc(-a / sqrt(2)) / 2;
    case F_GELU: return a * erfc(-a / sqrt(2)) / 2;
    case F_LOGISTIC: return 1 / (1 + exp(-a));
    case F_SQRT: return sqrt(a);
    case F_RSQRT: return 1 / sqrt(a);
    case F_ABS: return fabs(a);
    case F_LT: return a < b;
    case F_GT: return a > b;
    case F_AND: return a != 0 && b != 0;
    default: abort();
    }
}

static inline double nest_value(NestEval *n, Graph *g, const Expr *e)
{
    switch (e->kind) {
    case E_CONST:
        return e->num;
    case E_INDEX:
        return (double)nest_idx(n, g, e->idx);
    case E_LOCAL: {
        const Step *s = &n->group->step[e->local];
        return s->over_cols && s->op == R_NONE ? nest_value(n, g, s->value)
                                               : n->local[e->local];
    }
    case E_CAST: {
        double x = nest_value(n, g, e->arg[0]);
        return e->type == T_I8    ? trunc(fmax(-128, fmin(127, x)))
               : e->type == T_U8  ? trunc(fmax(0, fmin(255, x)))
               : e->type == T_I32 ? trunc(x)
                                  : x;
    }
    case E_SELECT:
        return nest_value(n, g, e->arg[0]) != 0
                   ? nest_value(n, g, e->arg[1])
                   : nest_value(n, g, e->arg[2]);
    case E_READ:
        if (!nest_holds(n, g, e->in))
            return nest_value(n, g, e->outside);
        return nest_data(n, e->tensor)[nest_idx(
            n, g, tensor_offset(g, e->tensor, e->at))];
    default:
        return nest_apply(e->fn, nest_value(n, g, e->arg[0]),
                          e->arg[1] ? nest_value(n, g, e->arg[1]) : 0);
    }
}

/* Steps to the next point; false after the last. */
static inline bool nest_next(NestEval *n, const Var **v, int count)
{
    for (int i = count - 1; i >= 0; i--) {
        if (++n->var[v[i]->id] < v[i]->extent)
            return true;
        n->var[v[i]->id] = 0;
    }
    return false;
}

static inline void nest_store(NestEval *n, Graph *g, const Step *s, double x)
{
    if (s->tensor && nest_holds(n, g, s->where))
        nest_data(n, s->tensor)[nest_idx(
            n, g, tensor_offset(g, s->tensor, s->store))] = x;
}

static inline double nest_reduce(NestEval *n, Graph *g, const Step *s)
{
    const Group *gr = n->group;
    double x = s->op == R_PROD ? 1 : s->op == R_SUM ? 0 : NAN, best = NAN;
    int64_t at = 0, count = 0;

    do {
        double y = nest_value(n, g, s->value);
        if (s->op == R_SUM)
            x += y;
        else if (s->op == R_PROD)
            x *= y;
        else if (s->op == R_MIN)
            x = fmin(x, y);
        else
            x = fmax(x, y);
        if (isnan(best) || y > best) {
            best = y;
            at = count;
        }
        count++;
    } while (nest_next(n, gr->cols, gr->n_cols));
    return s->op == R_ARGMAX ? (double)at : x;
}

static inline void nest_row(NestEval *n, Graph *g)
{
    const Group *gr = n->group;

    for (int i = 0; i < gr->n_step; i++) {
        const Step *s = &gr->step[i];
        if (s->op == R_NONE && s->over_cols) {
            do
                nest_store(n, g, s, nest_value(n, g, s->value));
            while (nest_next(n, gr->cols, gr->n_cols));
            continue;
        }
        n->local[i] = s->op == R_NONE ? nest_value(n, g, s->value)
                                      : nest_reduce(n, g, s);
        nest_store(n, g, s, n->local[i]);
    }
}

static inline void nest_run(NestEval *n, Graph *g)
{
    do
        nest_row(n, g);
    while (nest_next(n, n->group->rows, n->group->n_rows));
}

#endif
