/* bounds.h - one of a set of sizes also runs fewer (`dim B in {1, 8}`: 5 of
 * them by 8's kernels): nothing beyond the caller's buffers may be touched.
 *
 * Of the groups that touch an input or output whose outermost dimension varies,
 * every such read and store gets a condition on the run's size, a variable that
 * launches are given (Graph.run): what a read misses is 0, or the least that
 * its input promises. Kernels print it as any guard; TMA has it in its map. All
 * other groups compute all rows, in the arena. */
#ifndef DCC_BOUNDS_H
#define DCC_BOUNDS_H

#include "search/select.h"

/* After select_groups, before build_kernels. A tensor of which some kernel
 * cannot say so gets its reason (Tensor.copied). */
void bound_groups(Selection *s);

#endif
