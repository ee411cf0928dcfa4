/* deviation.h - sums of deviations from their mean, which are 0.
 *
 * The gradient of a variance by its mean sums x - mean(x) over all x: a pass
 * over the tensor for what rounding leaves. */
#ifndef DCC_DEVIATION_H
#define DCC_DEVIATION_H

#include "graph/graph.h"

void drop_deviations(Graph *g);

#endif
