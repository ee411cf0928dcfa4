/* diagonal.h - small groups beside each other as one.
 *
 * A grouped convolution of 4, 8, 16 or 32 channels a group is as many products
 * of so few columns and terms that tiles of tensor cores are nearly empty, and
 * so are the rows that are copied; but groups are neighbours in memory. With
 * weights that are 0 from one group to another, made once at load time, or in a
 * step that trains them,
 *
 *     y[.., h i k] = sum(c, j) (i == j ? x[.., h j c] * w'[h i k, j, c] : 0)
 *
 * several groups are one product of whole rows of copies; what it multiplies by
 * zeros takes no longer than the copies. w' is 0 where i is not j, and the
 * condition a range: where an infinity of a group beside made a sum NaN, it is
 * added up again of its own group's terms (contract_range.c). */
#ifndef DCC_DIAGONAL_H
#define DCC_DIAGONAL_H

#include "graph/graph.h"

void join_groups(Graph *g);

#endif
