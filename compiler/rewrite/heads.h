/* heads.h - products of heads are made as they are read.
 *
 * What attention makes, a[b, n, i, e] = sum(j) p[b, n, i, j] v[b, n, j, e], is
 * mostly multiplied with all heads in a row, a[b, d / K, i, d % K]. If nothing
 * reads it otherwise, n and e are one dimension, n K + e, from the start: the
 * next product's factor is a matrix, not one in pieces. */
#ifndef DCC_HEADS_H
#define DCC_HEADS_H

#include "graph/graph.h"

void join_heads(Graph *g);

#endif
