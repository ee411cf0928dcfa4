/* range.h - between which bounds a value lies, whatever the data are.
 *
 * Of functions that are bounded (exp of what is at most 0, tanh, a sigmoid),
 * of what integers and choices are, and of sums and products of such. Two
 * facts are about two values: x - max(k) x[k] is at most 0, and
 * x / sum(k) x[k] at most 1, where x is one of the x[k] and no x[k] is
 * negative. What is not known lies between the infinities, as all data do
 * that are floats. A NaN has no bounds. */
#ifndef DCC_REWRITE_RANGE_H
#define DCC_REWRITE_RANGE_H

#include "graph/graph.h"

typedef struct Limits {
    double lo, hi;
} Limits;

/* maker: tensor_makers'. In exact arithmetic: rounding may leave it by its own
 * error. */
Limits value_range(Graph *g, Stmt **maker, const Expr *e);
/* The least magnitude of e's values in the sum s, but for zeros; of shares of a
 * whole that s sums along, as of a softmax, that of the whole, beside which
 * small ones do not matter. 0: they may be as small as may be. */
double value_least(Graph *g, Stmt **maker, const Stmt *s, const Expr *e);
/* The larger of both bounds' magnitudes. */
double range_magnitude(Limits r);

#endif
