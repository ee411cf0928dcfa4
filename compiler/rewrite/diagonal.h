/* diagonal.h - small groups beside each other as one.
 *
 * A grouped convolution of 4, 8, 16 or 32 channels a group is as many products
 * of so few columns and terms that tiles of tensor cores are nearly empty, and
 * so are the rows that are copied; but groups are neighbours in memory. With
 * weights that are 0 from one group to another, made once at load time,
 *
 *     y[.., h i k] = sum(c, j) x[.., h j c] * (i == j ? w[h i k, c] : 0)
 *
 * several groups are one product of whole rows of copies; what it multiplies by
 * zeros takes no longer than the copies. An infinity in one of the groups is a
 * NaN in those beside it. */
#ifndef DCC_DIAGONAL_H
#define DCC_DIAGONAL_H

#include "graph/graph.h"

void join_groups(Graph *g);

#endif
