/* functions.h - functions as close as 16 bits ask for: gelu of sums, and
 * powers of e in a softmax.
 *
 * A sum of many products that goes to 16 bits alone is off by more than f32's
 * last places, and what is stored by much more; dcc_gelu16 is no closer to
 * gelu than that asks for (2^-13 of it, half precision rounds by up to 2^-11).
 * Its argument is a sum of two, as it needs half of that. */
#ifndef DCC_GROUP_FUNCTIONS_H
#define DCC_GROUP_FUNCTIONS_H

#include "group/group.h"

/* value[i] of the group's steps, whose locals are sums of FUNCTIONS_MANY
 * products or more or made of those, and which store 16 bits alone: gelu of
 * them becomes dcc_gelu16. gone[i]: so nothing reads step i any more. */
enum { FUNCTIONS_MANY = 512 };
void functions_to_16_bits(Graph *g, const Group *gr, const Expr **value,
                          bool *gone);
/* The same of a value e, of a product's sum, that is rounded to 16 bits and
 * only then a term of another: a quarter of what the rounding may add. */
const Expr *functions_of_factor(Graph *g, const Expr *e);

/* gr with powers of e of what its elements are more than a value of their row,
 * a softmax's, as powers of 2, which may be as close as the instruction has
 * them: 2^-22 of one, and 2^-24 of its argument, of which f32 has no more than
 * 128. What is read and stored along the columns has 16 bits; gr itself where
 * some has 32, or there are no such powers. */
const Group *functions_powers(Graph *g, const Group *gr);

#endif
