/* graph_eval.h - a graph's meaning, statement by statement in double: the
 * reference for what lowering makes of a program. */
#ifndef TEST_GRAPH_EVAL_H
#define TEST_GRAPH_EVAL_H

#include "graph/graph.h"

#include <math.h>

typedef struct GraphEval {
    Graph *graph;
    double **data; /* by tensor id */
    int64_t *var;  /* by variable id */
} GraphEval;

static inline double ge_value(GraphEval *g, const Expr *e);

static inline int64_t ge_idx(GraphEval *g, const Idx *e)
{
    int64_t sum = e->k;

    for (int i = 0; i < e->n; i++) {
        const Atom *t = e->term[i].atom;
        int64_t a = t->a ? ge_idx(g, t->a) : 0, b = t->b ? ge_idx(g, t->b) : 0;
        int64_t x = t->kind == ATOM_VAR     ? g->var[t->var->id]
                    : t->kind == ATOM_FLOOR ? a / t->d - (a % t->d < 0)
                    : t->kind == ATOM_MIN   ? (a < b ? a : b)
                    : t->kind == ATOM_MAX   ? (a > b ? a : b)
                                            : (int64_t)ge_value(g, t->data);
        sum += e->term[i].c * x;
    }
    return sum;
}

static inline bool ge_holds(GraphEval *g, Guard in)
{
    for (int i = 0; i < in.n; i++) {
        int64_t x = ge_idx(g, in.cond[i].e);
        if (in.cond[i].mod ? x % in.cond[i].mod != 0 : x < 0)
            return false;
    }
    return true;
}

/* The element's offset; -1: outside, which no read and no store may be. */
static inline int64_t ge_offset(GraphEval *g, const Tensor *t,
                                const Idx *const *at)
{
    int64_t offset = 0;

    for (int d = 0; d < t->rank; d++) {
        int64_t x = ge_idx(g, at[d]);
        if (x < 0 || x >= t->dim[d])
            return -1;
        offset = offset * t->dim[d] + x;
    }
    return offset;
}

static inline double ge_binary(Func f, double a, double b)
{
    switch (f) {
    case F_ADD:
        return a + b;
    case F_SUB:
        return a - b;
    case F_MUL:
        return a * b;
    case F_DIV:
        return b ? floor(a / b) : 0; /* of integers */
    case F_MOD:
        return b ? a - b * floor(a / b) : 0;
    case F_LT:
        return a < b;
    case F_LE:
        return a <= b;
    case F_GT:
        return a > b;
    case F_GE:
        return a >= b;
    case F_EQ:
        return a == b;
    case F_NE:
        return a != b;
    case F_AND:
        return a && b;
    case F_OR:
        return a || b;
    case F_MIN:
        return fmin(a, b);
    case F_MAX:
        return fmax(a, b);
    default:
        return NAN;
    }
}

static inline double ge_value(GraphEval *g, const Expr *e)
{
    switch (e->kind) {
    case E_CONST:
        return e->num;
    case E_INDEX:
        return (double)ge_idx(g, e->idx);
    case E_READ: {
        if (!ge_holds(g, e->in))
            return ge_value(g, e->outside);
        int64_t at = ge_offset(g, e->tensor, e->at);
        return at < 0 ? NAN : g->data[e->tensor->id][at];
    }
    case E_UNARY:
        return e->fn == F_NOT ? !ge_value(g, e->arg[0])
                              : -ge_value(g, e->arg[0]);
    case E_BINARY:
        return ge_binary(e->fn, ge_value(g, e->arg[0]), ge_value(g, e->arg[1]));
    case E_SELECT:
        return ge_value(g, e->arg[ge_value(g, e->arg[0]) ? 1 : 2]);
    case E_CAST:
        return ge_value(g, e->arg[0]);
    case E_LOCAL:
        break;
    }
    return NAN;
}

/* The next of v's points, from all zeros on; false after the last. */
static inline bool ge_next(GraphEval *g, const Var *const *v, int n)
{
    for (int i = n - 1; i >= 0; i--) {
        if (++g->var[v[i]->id] < v[i]->extent)
            return true;
        g->var[v[i]->id] = 0;
    }
    return false;
}

static inline double ge_point(GraphEval *g, const Stmt *s)
{
    double r = s->op == R_MAX ? -INFINITY : s->op == R_MIN ? INFINITY : 0;

    if (s->op == R_NONE)
        return ge_value(g, s->value);
    do {
        double x = ge_value(g, s->value);
        r = s->op == R_MAX ? fmax(r, x) : s->op == R_MIN ? fmin(r, x) : r + x;
    } while (ge_next(g, s->red, s->n_red));
    return r;
}

/* Runs the graph; data of inputs is there already. False if a store leaves its
 * tensor. */
static inline bool ge_run(GraphEval *g)
{
    bool inside = true;

    for (int i = 0; i < g->graph->n_stmt; i++) {
        const Stmt *s = g->graph->stmt[i];
        const Tensor *t = s->tensor;
        if (t->prev)
            memcpy(g->data[t->id], g->data[t->prev->id],
                   sizeof(double) * (size_t)tensor_elems(t));
        do {
            if (!ge_holds(g, s->where))
                continue;
            double x = ge_point(g, s);
            int64_t at = ge_offset(g, t, s->store);
            inside = inside && at >= 0;
            if (at >= 0)
                g->data[t->id][at] = x;
        } while (ge_next(g, s->out, s->n_out));
    }
    return inside;
}

/* Inputs get 1, 2, .. from `first` on, other tensors NaN. */
static inline void ge_open(GraphEval *g, Graph *graph)
{
    double next = 1;

    g->graph = graph;
    g->data = arena_array(graph->arena, double *, graph->n_tensor + 1);
    g->var = arena_array(graph->arena, int64_t, 1 << 14);
    for (int i = 0; i < graph->n_tensor; i++) {
        const Tensor *t = graph->tensor[i];
        int64_t n = tensor_elems(t);
        g->data[t->id] = arena_array(graph->arena, double, (size_t)n + 1);
        for (int64_t k = 0; k < n; k++)
            g->data[t->id][k] = t->role == ROLE_INPUT ? next++ : NAN;
    }
}

#endif
