/* shifts.h - convolutions of few output channels: each tap's product first, the
 * sum of their shifts after.
 *
 *     y[k, p, q] = sum(c, r, s) x[c, p + r - 1, q + s - 1] * w[k, c, r, s]
 *
 * multiplies rows of all of x for each tap, and of a tile of tensor cores three
 * columns are used. Where columns are few,
 *
 *     z[k, r, s, p, q] = sum(c) x[c, p, q] * w[k, c, r, s]
 *     y[k, p, q]       = sum(r, s) z[k, r, s, p + r - 1, q + s - 1]
 *
 * reads x once, as it lies, and its columns are taps, too; z, in f32, is
 * written and read once. Not so where another product takes y: it wants
 * channels side by side, and z has pixels. */
#ifndef DCC_SHIFTS_H
#define DCC_SHIFTS_H

#include "graph/graph.h"

void split_shifts(Graph *g);

#endif
