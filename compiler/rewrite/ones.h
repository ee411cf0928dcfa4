/* ones.h - temporaries of a batch of one are not of a batch, where there are
 * gradients of scores.
 *
 * An index along a first dimension of 1 is 0 and no variable, which their rules
 * would have to look for (reassociate.h, recompute.h, halves.h). */
#ifndef DCC_ONES_H
#define DCC_ONES_H

#include "graph/graph.h"

void drop_ones(Graph *g);

#endif
