/* part.h - fusion of a reader of a part of a tensor: a slice, a half, every
 * second row; and of the reader of what its producer stores in such a place.
 *
 * The reader's points are fewer than the producer's, so it runs in the
 * producer's nest, where the point is one of its own: `ks[b, h, d] =
 * c[b, D + h * K + d]` becomes a step of the kernel that makes c, which stores
 * where D <= j < 2 D. */
#ifndef DCC_PART_H
#define DCC_PART_H

#include "group/group.h"

/* Consumer c, pointwise, becomes steps of producer p's nest. Each of its
 * variables must follow from t's index. NULL if it cannot. If !keep t is no
 * longer stored. The arguments stay as they are. */
Group *fuse_part(Graph *g, const Group *p, const Group *c, const Tensor *t,
                 bool keep);

#endif
