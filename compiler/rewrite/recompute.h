/* recompute.h - a factor of a product, made point by point of short products,
 * is made for it alone.
 *
 * The gradients of an attention multiply with probabilities and with gradients
 * of scores: tensors of all scores. Each of them is an expression of a product
 * or two of short sums and of values of rows. Where every reader has products
 * of its own, a chain (group/chain.h) takes them, and none is in memory. */
#ifndef DCC_RECOMPUTE_H
#define DCC_RECOMPUTE_H

#include "graph/graph.h"

/* Of products behind the forward pass; how many have factors of their own
 * now. */
int recompute(Graph *g);

#endif
