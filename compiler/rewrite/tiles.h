/* tiles.h - sums over images of what windows share, in two steps: the gradients
 * of depthwise convolutions' weights.
 *
 *     w'[c, r, s] = sum(n, p, q) d[n, p, q, c] * x[n, p + r, q + s, c]
 *
 * is no product for tensor cores: one factor has no points of its own. A tile
 * of d is to its sums what taps are to a convolution, whose points are r, s:
 *
 *     t[n, i, j, r, s, c] = sum(p in 0..P, q in 0..Q)
 *         d[n, P i + p, Q j + q, c] * x[n, P i + p + r, Q j + q + s, c]
 *
 * and w' is the sum of all t. So each element is loaded about once, where it
 * was for every tap, and the channels may be neighbours in memory. */
#ifndef DCC_TILES_H
#define DCC_TILES_H

#include "graph/graph.h"

void tile_sums(Graph *g);

#endif
