/* astride.h - results of products and windows that lie astride of their rows.
 *
 *     y[i, j, c] = sum(k) a[i, k, c] * b[j, k, c]
 *
 * is a product for each c, whose results are neighbours along i or j: where
 * those who read y want it along c, each of a product's results would go to a
 * sector of its own. They are a tensor of their own then, along j, of which y
 * is a copy: a statement like others, which select fuses with its neighbours
 * where that is quicker. So are the results of a window for each channel of
 * what lies along channels, where others read them along pixels. Before
 * layout. */
#ifndef DCC_ASTRIDE_H
#define DCC_ASTRIDE_H

#include "graph/graph.h"

void copy_astride(Graph *g);

#endif
