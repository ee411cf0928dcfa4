/* named.h - sums over points whose data name a row, in pieces of the points.
 *
 * y[i, j] = sum(p) (ids[p] == i ? x[p, j] : 0)
 *
 * asks all points for each row. Where a row has many of them, and so few rows
 * are there that sums of pieces are few beside what is summed, pieces come
 * first: each looks at its own points, so more blocks have them, whatever row
 * they name. */
#ifndef DCC_NAMED_H
#define DCC_NAMED_H

#include "graph/graph.h"

void split_named(Graph *g);

#endif
