/* steps_slices.h - sums of slices of which each point has one:
 *
 *   (t[0, j] if i == 0 or 0) + (t[1, j] if i == 1 or 0) + .. is t[i, j],
 *
 * as the gradient of a signal is, whose steps were made at once (steps.h). */
#ifndef DCC_STEPS_SLICES_H
#define DCC_STEPS_SLICES_H

#include "graph/graph.h"

void gather_slices(Graph *g);

#endif
