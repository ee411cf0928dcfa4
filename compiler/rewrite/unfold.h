/* unfold.h - patches in rows of their own.
 *
 * A product whose windows do not overlap (an image cut into patches) sums over
 * each element of its input once, in short runs that lie far apart, which no
 * copy engine brings in. Here the input is copied into a tensor of a row for
 * each patch, which the product takes as it takes any rows. A copy is a
 * statement like others (ends.h). */
#ifndef DCC_REWRITE_UNFOLD_H
#define DCC_REWRITE_UNFOLD_H

#include "graph/graph.h"

/* How many factors are copied now; or with `count` how many would be. */
int unfold(Graph *g, bool count);

#endif
