/* levels.h - long reductions of few results, in two levels.
 *
 * s[c] = sum(i) t[i, c] over millions of i would be a few thread blocks' work:
 * the sum of each piece of i comes first, then the sum of those. A variance
 * with its mean,
 *
 *     m = s / n    q[c] = sum(i) (t[i, c] - m[c])^2
 *
 * takes one pass over t: with each piece's mean m_b and sum of squares about
 * it, q = sum(b) q_b + |b| (m_b - m)^2 (Chan, Golub, LeVeque: Updating formulae
 * and a pairwise algorithm for computing sample variances, 1979). No
 * difference of large numbers is formed. */
#ifndef DCC_LEVELS_H
#define DCC_LEVELS_H

#include "graph/graph.h"

/* `products`: the GPU's products may leave pieces of their rows. */
void split_long_reductions(Graph *g, bool products);

/* Is s about what one product leaves, for another over the same columns? */
bool levels_between(Graph *g, const Stmt *s);

#endif
