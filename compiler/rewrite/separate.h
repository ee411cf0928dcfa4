/* separate.h - windows in two steps.
 *
 *   y[i, j] = sum(r, s) x[i + r, j + s]   is   t[p, j] = sum(s) x[p, j + s]
 *                                              y[i, j] = sum(r) t[i + r, j],
 *
 * R + S terms for R S; and so are maxima and minima. A long window along one
 * index is one of a few windows of a few: sum(k in 0..64) x[j + k] sums t[j],
 * t[j + 8], ..., where t[j] = sum(b in 0..8) x[j + b]. */
#ifndef DCC_SEPARATE_H
#define DCC_SEPARATE_H

#include "graph/graph.h"

void separate_windows(Graph *g);

#endif
