/* factor_sum.h - fusion of a product with the sum of one of its factors:
 *
 *     w[o, i] = w[o, i] - rate * sum(r) dy[r, o] * x[r, i]
 *     b[o]    = b[o] - rate * sum(r) dy[r, o]
 *
 * The product's kernel has all of dy in shared memory, so the first tiles of
 * columns sum it as it passes: a bias's gradient with its weight's. */
#ifndef DCC_GROUP_FACTOR_SUM_H
#define DCC_GROUP_FACTOR_SUM_H

#include "group/group.h"

/* Behind the steps of a group that is a product. */
typedef struct FactorSum {
    const Expr *factor;     /* the read that is summed, as the product has it */
    Step *step; int n_step; /* the first is its sum; E_LOCAL(i) is step i's */
} FactorSum;

/* Product p with c, which sums what is one of p's factors over what p sums
 * over. NULL if that is not what c does, or if one overwrites what the other
 * reads. The arguments stay as they are. */
Group *fuse_factor_sum(Graph *g, const Group *p, const Group *c);
/* The same where c makes the factor itself, point by point, and stores it:
 * *points does that alone. */
Group *split_factor_sum(Graph *g, const Group *p, const Group *c,
                        Group **points);

#endif
