/* halves.h - products of what is f32 with tensors of f16, in two parts.
 *
 * The scores of an attention pass f32 gradients back (adjoint.c), which are
 * multiplied with queries and keys of f16: tensor cores have no such product. A
 * number x is f16(x) and 1/2048 of f16(2048 (x - f16(x))), to 22 bits, or 2^-36
 * where it is small; what makes x stores both, and the product is two. This is
 * for results that are rounded to f16: there 2^-36 is little, and a gradient
 * beyond f16's range is infinite, as are those of its factors. Others are one
 * product of f32 (parts.h), or a chain (recompute.h). */
#ifndef DCC_HALVES_H
#define DCC_HALVES_H

#include "graph/graph.h"

/* Element-by-element reads under a guard that no bounds need are choices: they
 * can be made where what they read is made. */
void choose_guarded(Graph *g);
void split_halves(Graph *g);

#endif
