/* deviation.h - sums of deviations from their mean, which are 0.
 *
 * The gradient of a variance by its mean sums x - mean(x) over all x: a pass
 * over the tensor for what rounding leaves. */
#ifndef DCC_DEVIATION_H
#define DCC_DEVIATION_H

#include "graph/graph.h"

void drop_deviations(Graph *g);
/* Of each statement that sums x - mean(x), or that times what the sum does not
 * go over: the read of x; NULL of others. */
const Expr **find_deviations(Graph *g);

#endif
