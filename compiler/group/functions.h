/* functions.h - gelu of sums that go to 16 bits.
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

#endif
