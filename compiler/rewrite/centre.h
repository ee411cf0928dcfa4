/* centre.h - what a weighted mean is subtracted from, is subtracted from twice.
 *
 * The gradient of e[i] / z, where z = sum(k) e[k], is
 *
 *   (g[i] - m) / z,   m = (sum(k) g[k] e[k]) / z
 *
 * and where the g are nearly equal, rounding of m and of z is all that is left
 * of it, of one sign in all of a row. What is left of the difference's own mean
 * is subtracted, too:
 *
 *   (g[i] - m) / z - (sum(k) (g[k] - m) e[k]) / z^2
 *
 * which is the same whatever m is. A softmax's gradient in an attention whose
 * values are alike is 1e-7 of its terms; of f16 terms rounding is more. */
#ifndef DCC_CENTRE_H
#define DCC_CENTRE_H

#include "graph/graph.h"

/* Of f32 terms; how many. */
int centre(Graph *g);

#endif
