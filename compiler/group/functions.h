/* functions.h - functions that may be computed in another way, because of
 * what becomes of their values.
 *
 * A sum with 1 is rounded to units of 2^-24 or 2^-23: the relative accuracy
 * of the small values of erf or tanh, which the library pays for, is lost in
 * it. So 1 + erf(x) is taken as one function, dcc_normcdf, and 1 + tanh(x),
 * which is 2 / (1 + e^-2x), as dcc_logistic. Both keep the relative accuracy
 * where the sum is small, which the sum itself does not. x dcc_normcdf(x) is
 * dcc_gelu.
 *
 * A sum of many products that goes to 16 bits alone is off by more than f32's
 * last places, and what is stored by much more; dcc_gelu16 is no closer to
 * gelu than that asks for (2^-13 of it, half precision rounds by up to 2^-11).
 * Its argument is a sum of two, as it needs half of that. */
#ifndef DCC_FUNCTIONS_H
#define DCC_FUNCTIONS_H

#include "group/group.h"

/* For expr_rewrite: what stands for e, or NULL. */
const Expr *function_of_sum(Graph *g, const Expr *e);

/* value[i] of the group's steps, whose locals are sums of FUNCTIONS_MANY
 * products or more or made of those, and which store 16 bits alone: gelu of
 * them becomes dcc_gelu16. gone[i]: so nothing reads step i any more. */
enum { FUNCTIONS_MANY = 512 };
void functions_to_16_bits(Graph *g, const Group *gr, const Expr **value,
                          bool *gone);

#endif
