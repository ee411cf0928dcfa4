/* fold.h - arithmetic on constants, with the language's meaning.
 *
 * Floats are folded in double: what is printed is rounded once, and the oracle
 * keeps the exact value. Integers are folded as 32-bit integers that wrap. */
#ifndef DCC_FOLD_H
#define DCC_FOLD_H

#include "graph/graph.h"

/* f of 1 to 3 numbers; `ints`: all of them, and the result, are integers.
 * False if the result is left to run time (a NaN, an unusual function). */
bool fold_func(Func f, bool ints, const double *x, double *out);
/* x rounded to t as a cast does: to nearest even; to integers truncated and
 * saturated, NaN is 0. */
double fold_round(double x, Type t);

#endif
