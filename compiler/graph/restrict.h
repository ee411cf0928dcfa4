/* restrict.h - whether a model of one size is a part of the same model of
 * another: what lets a size between two of a set run the larger one's kernels.
 */
#ifndef DCC_RESTRICT_H
#define DCC_RESTRICT_H

#include "graph/graph.h"

/* Two graphs of one model as lowered, which differ in a size `name`, a's being
 * less: whether each element that a's statements define is what b's define
 * there. They have the same statements, and only the extents of what a
 * statement writes and of tensors differ; no reduction's, no index, number,
 * condition, parameter or state. An error in a's diag says what does otherwise.
 *
 * Where a's size is 1 (`one`) its indices of one point are numbers, and
 * statements may be fewer or more: then their reductions, in order, are the
 * same. */
bool graph_restricts(Graph *a, const Graph *b, const char *name, bool one);

/* The part of it that two sizes need which run kernels of their own: the same
 * inputs, outputs, parameters and states, but for one dimension of the first
 * two. */
bool graph_same_interface(Graph *a, const Graph *b, const char *name);

#endif
