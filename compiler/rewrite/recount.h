/* recount.h - sums that count the other end of a congruence.
 *
 * The gradient of a transposed convolution's weights sums over the points of
 * its result, of which one in m^2 meets a point of what is multiplied:
 *
 *   dw[k] = sum(p in 0..P) (p - k + b) % m == 0 ? y[p] * x[(p - k + b) / m] or
 * 0 : 0 is  sum(u in 0..U) (y[m u + k - b] or 0) * x[u]
 *
 * where U is all of x, beyond which it is 0: a window along y like that of a
 * convolution's, without a phase for each residue of k (phase.h). Only where u
 * has hardly more values than p has of one residue, and in gradients: where x
 * is infinite, a term that there was not is NaN (dsl/LANGUAGE.md). */
#ifndef DCC_RECOUNT_H
#define DCC_RECOUNT_H

#include "graph/graph.h"

void recount_sums(Graph *g);

#endif
