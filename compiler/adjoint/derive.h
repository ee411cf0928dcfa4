/* derive.h - partial derivatives of an expression by what it reads.
 *
 * The derivative of a whole expression by a read is again an expression at the
 * same point; a value that the expression has already (exp, tanh, sqrt) is
 * used for it. Where a branch is not taken its derivative is 0, whatever the
 * branch's own would be: `x > 0 ? log(x) : 0` has none of 1 / 0 at x = 0.
 *
 * At ties and corners: max(a, b) passes to a where a > b, else to b, so that
 * the derivative of max(x, 0) at 0 is 0; min(a, b) to a where a < b; abs has 0
 * at 0; rounding, comparisons and casts to integers have 0 everywhere; a cast
 * to a float type is as if it did not round. */
#ifndef DCC_DERIVE_H
#define DCC_DERIVE_H

#include "graph/graph.h"

typedef struct Partial {
    const Expr *read; /* E_READ of a float tensor */
    const Expr *by;   /* the derivative by it where `when` holds, else 0 */
    const Expr *when; /* NULL: always */
} Partial;

typedef struct Partials {
    Partial *of; int n, cap;
} Partials;

/* By what e reads of t, conditions and indices left alone. `kept` is a read of
 * what e is stored as, or NULL: which side a maximum took may be seen there.
 * False after an error: a function that has no rule. `at` is where e stands. */
bool derive(Graph *g, const Expr *e, const Expr *kept, const Tensor *t, Span at,
            Partials *out);

/* a * b, where a may be `c ? x : 0`: the product is within. */
const Expr *derive_times(Graph *g, const Expr *a, const Expr *b);
const Expr *derive_plus(Graph *g, const Expr *a, const Expr *b);

#endif
