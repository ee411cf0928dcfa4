/* nest_eval.h - what a nest means, evaluated point by point in double: the
 * reference for tests that build nests by hand. */
#ifndef TEST_NEST_EVAL_H
#define TEST_NEST_EVAL_H

#include "compiler/cprint.h"

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
    case E_LOCAL:
        return n->local[e->local];
    case E_CAST:
        return nest_value(n, g, e->arg[0]);
    case E_SELECT:
        return nest_value(n, g, e->arg[0]) != 0
                   ? nest_value(n, g, e->arg[1])
                   : nest_value(n, g, e->arg[2]);
    case E_READ:
        if (!nest_holds(n, g, e->in))
            return nest_value(n, g, e->outside);
        return nest_data(n, e->tensor)[nest_idx(
            n, g, cprint_offset(g, e->tensor, e->at))];
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

static inline void nest_row(NestEval *n, Graph *g)
{
    const Group *gr = n->group;

    for (int s = 0; s < gr->n_step; s++) {
        const Step *st = &gr->step[s];
        double x = 0;
        if (st->op == R_NONE)
            x = nest_value(n, g, st->value);
        else
            do
                x += nest_value(n, g, st->value);
            while (nest_next(n, gr->cols, gr->n_cols));
        n->local[s] = x;
        if (st->tensor && nest_holds(n, g, st->where))
            nest_data(n, st->tensor)[nest_idx(
                n, g, cprint_offset(g, st->tensor, st->store))] = x;
    }
}

/* Runs a nest whose only reductions are sums, and whose other steps are values
 * a row. */
static inline void nest_run(NestEval *n, Graph *g)
{
    do
        nest_row(n, g);
    while (nest_next(n, n->group->rows, n->group->n_rows));
}

#endif
