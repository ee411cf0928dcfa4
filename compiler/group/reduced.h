/* reduced.h - fusion of a reduction over pieces of a product's columns:
 *
 *     d[i, j]  = sum(k) (x[i, k] - c[j, k])^2
 *     m[J, i]  = min(p in 0..64) d[i, 64 J + p]
 *
 * A tile has all columns of its pieces, so the product's kernel leaves what
 * they come to (norm.h's Pieces), and d need not be stored. levels.h has made
 * two reductions of one for it. */
#ifndef DCC_GROUP_REDUCED_H
#define DCC_GROUP_REDUCED_H

#include "group/group.h"

/* Product p with what c, which reduces pieces of its columns, makes of t, or
 * with that beside what it has of them already. NULL if that is not what c
 * does. If !keep t is no longer stored. The arguments stay as they are. */
Group *fuse_reduced(Graph *g, const Group *p, const Group *c, const Tensor *t,
                    bool keep);

#endif
