/* row_sums.h - fusion of sums over pieces of a product's rows, of each column:
 *
 *     y[i, j] = sum(k) x[i, k] * w[j, k]
 *     s[I, j] = sum(p in 0..64) y[64 I + p, j]
 *     q[I, j] = sum(p in 0..64) (y[64 I + p, j] - s[I, j] / 64)^2
 *
 * A warpgroup has 64 rows of its tile, so the product's kernel leaves what they
 * come to (norm.h's Pieces) beside y: the statistics of a batch norm, and what
 * gradients sum over a batch, take no pass over y of their own. levels.h has
 * made two sums of one for it. */
#ifndef DCC_GROUP_ROW_SUMS_H
#define DCC_GROUP_ROW_SUMS_H

#include "group/group.h"

/* Product p with the sums that c has of pieces of its rows, whose terms are p's
 * result t or made of it and what else is read there, or with these beside what
 * it has of them already. NULL if that is not what c does. t stays stored. The
 * arguments stay as they are. */
Group *fuse_row_sums(Graph *g, const Group *p, const Group *c, const Tensor *t,
                     bool keep);

#endif
