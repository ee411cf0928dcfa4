/* scatter.h - sums over the points whose data name a row: the gradient of a
 * table that ids were looked up in.
 *
 * For each element of the table the definition asks every point whether it
 * names its row, V N D of them. Where that is long, the points of one row are
 * added up at each of these points by a product with a matrix of 0 and 1,
 * N N D on tensor cores, and a row reads the sum of its first point:
 *
 *     same[n, m] = id[n] == id[m]
 *     rows[n, d] = sum(m) same[n, m] * e[m, d]
 *     first[v]   = min(m) (id[m] == v ? m : N)
 *     t'[v, d]   = first[v] < N ? rows[first[v], d] : 0
 *
 * Many points are of chunks: all of these are of one, and t' is the sum over
 * chunks. */
#ifndef DCC_SCATTER_H
#define DCC_SCATTER_H

#include "graph/graph.h"

typedef struct Scatter {
    Graph *graph;
    const Tensor *of, *from;      /* whose gradient, through what */
    const Var *const *v;          /* the element of it */
    const Idx **u;
    const Var *const *left; int n_left; /* what is summed over */
    Span at, call;
} Scatter;

/* The sum of e over `left` where `when` holds, as a value at u; NULL if `when`
 * is no comparison of data with a row, or it does not pay. */
const Expr *scatter_sum(const Scatter *s, const Expr *when, const Expr *e);

/* A statement of the backward pass that defines t, in the block of `of`. */
Stmt *scatter_stmt(Graph *g, Tensor *t, const Tensor *of, Span at, Span call);
void scatter_out(Graph *g, Stmt *s, const Var *const *v, int n);

#endif
