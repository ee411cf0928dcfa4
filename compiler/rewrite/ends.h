/* ends.h - inputs and outputs in the order that kernels want.
 *
 * A program's inputs and outputs lie as declared. Where the reductions that
 * read an input want another dimension contiguous, or rows that end with a
 * whole vector (layout.h), they read a copy of it; where an output's class
 * wants another dimension, the output is a copy of what is computed. A copy
 * is a statement like others: layout lays it out, and select fuses it with
 * its neighbours where that is quicker. Products take a factor along its rows
 * or its sum alike, but not the two of an attention where they are to be one
 * kernel (scores.h): those copies are not merged before that was tried. What
 * reads an input point by point is no reason: it is as good a copy itself.
 */
#ifndef DCC_REWRITE_ENDS_H
#define DCC_REWRITE_ENDS_H

#include "graph/graph.h"

/* How many inputs and outputs have a copy now. */
int copy_ends(Graph *g);

#endif
