/* reduced.h - products of which only what their rows come to is wanted.
 *
 *     d[i, j] = sum(k) (x[i, k] - c[j, k])^2        m[i] = min(j) d[i, j]
 *
 * The rows' reduction is two: of pieces of 64 columns, which the product's
 * kernel has in a tile (group/reduced.h), and of these. So d is never stored.
 * With m_J the maximum of a piece, a softmax's sum is
 *
 *     sum(j) exp(s[i, j] - m[i]) = sum(J) exp(m_J - m[i])
 *                                         sum(j in J) exp(s[i, j] - m_J)
 *
 * and an argmax is that of the piece with the greatest. What reads a few of the
 * results besides, s[i, i] or s[i, label[i]], has these computed for itself. */
#ifndef DCC_REWRITE_REDUCED_H
#define DCC_REWRITE_REDUCED_H

#include "graph/graph.h"

void reduce_products(Graph *g);

#endif
