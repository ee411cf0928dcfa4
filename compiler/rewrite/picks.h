/* picks.h - sums of which a condition leaves one term.
 *
 *   sum(v) (ids[n] == v ? w[v, d] : 0)   is   w[ids[n], d]   within the range,
 *
 * and 0 elsewhere; a diagonal, where indices are compared. Of a term without a
 * condition, (ids[n] == v ? 1 : 0) w[v, d], all rows are in the sum: 0 times
 * what is not finite is NaN, so that it stays a product. */
#ifndef DCC_PICKS_H
#define DCC_PICKS_H

#include "graph/graph.h"

void pick_terms(Graph *g);

#endif
