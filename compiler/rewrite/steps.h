/* steps.h - products of a loop's steps, as one.
 *
 * A recurrent network multiplies each step's input by one weight, and the
 * weight's gradient is a sum over steps:
 *
 *   z_t[n, j] = sum(k) x_t[n, k] w[j, k]
 *       is  z[t, n, j] = sum(k) x[t, n, k] w[j, k],
 *   dw[j, k] = sum(n) d_0[n, j] x_0[n, k] + sum(n) d_1[n, j] x_1[n, k] + ...
 *       is  sum(t, n) d[t, n, j] x[t, n, k],
 *
 * where the steps' tensors are slices of one, or are put into one where they
 * are made (embed.h). Only where no step's factor follows from another's
 * product, and the weight, or the sum, is larger than what varies: there each
 * step would read, or write, all of it again. */
#ifndef DCC_STEPS_H
#define DCC_STEPS_H

#include "graph/graph.h"

/* True if there was one: views are left to see through, and what is dead. */
bool join_steps(Graph *g);

#endif
