/* sums.h - a sum of several products is several sums of one.
 *
 * A complex product's real part, sum(k) a[i,k] b[k,j] - c[i,k] d[k,j], is no
 * contraction; its two halves are, and the second adds to the first. Where
 * sides and sum are long the first way computes each term on its own. */
#ifndef DCC_SUMS_H
#define DCC_SUMS_H

#include "graph/graph.h"

void split_sums(Graph *g);

#endif
