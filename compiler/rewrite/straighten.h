/* straighten.h - what tensor cores would have to gather is put in order first.
 *
 *     y[k, p, q] = sum(c, r, s) x[c, (p + r - 1) / 2, (q + s - 1) / 2] * w[..]
 *
 * is a convolution of an image that was made larger, and
 *
 *     y[a, m, k] = sum(c) x[(7 * a + m + 3) % 56, c] * w[k, c]
 *
 * one of windows that were shifted around. Such elements are in no box that TMA
 * copies, whatever their variables are split at, and threads would fetch them
 * one by one. Where the sum is long enough to pay for a copy, that is
 *
 *     t[c, i, j] = x[c, i / 2, j / 2]        t[i, c] = x[(i + 3) % 56, c]
 *
 * and the product reads t as other products read: t[c, p + r - 1, q + s - 1]
 * and t[7 * a + m, c]. */
#ifndef DCC_STRAIGHTEN_H
#define DCC_STRAIGHTEN_H

#include "rewrite/paths.h"

/* After normalise. */
void straighten(Graph *g, const Prices *p);

#endif
