/* spread.h - fusion of a reader that makes several points of each of its
 * producer's: an image doubled in size, the rows that a stride leaves out of a
 * gradient, which are 0.
 *
 * The producer's points are the nest's. What the reader makes of one of them
 * are steps that store beside each other. */
#ifndef DCC_SPREAD_H
#define DCC_SPREAD_H

#include "group/group.h"

/* Consumer c, pointwise, with the steps of each of the few points that it makes
 * of an element of t, so that it has a point for each of these and reads t
 * where it is. NULL if that is not what it does. */
Group *group_unrolled(Graph *g, const Group *c, const Tensor *t);

#endif
