/* functions.h - functions that may be computed in another way, because of
 * what becomes of their values.
 *
 * A sum with 1 is rounded to units of 2^-24 or 2^-23: the relative accuracy
 * of the small values of erf or tanh, which the library pays for, is lost in
 * it. So 1 + erf(x) is taken as one function, dcc_normcdf, and 1 + tanh(x),
 * which is 2 / (1 + e^-2x), as dcc_logistic. Both keep the relative accuracy
 * where the sum is small, which the sum itself does not. x dcc_normcdf(x) is
 * dcc_gelu, and dcc_logistic(x) dcc_logistic(-x) dcc_logistic_slope(x).
 */
#ifndef DCC_REWRITE_FUNCTIONS_H
#define DCC_REWRITE_FUNCTIONS_H

#include "graph/graph.h"

/* For expr_rewrite: what stands for e, or NULL. */
const Expr *function_of_sum(Graph *g, const Expr *e);

#endif
