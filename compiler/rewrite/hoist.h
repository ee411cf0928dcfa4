/* hoist.h - arithmetic on parameters moves to load time.
 *
 * (x - mean[c]) * rsqrt(var[c] + eps) * gain[c] + bias[c] becomes
 * x * scale[c] + shift[c], both in f32 and computed once: what is left of a
 * batch norm in an epilogue is a multiply-add. Only expressions that are
 * linear in the one factor that is no parameter, where two operations or more
 * are saved and the stored vectors stay small. Rounding is then relative to
 * |x * scale| + |shift|, as it is of any program that folds a batch norm, not
 * to their difference. */
#ifndef DCC_HOIST_H
#define DCC_HOIST_H

#include "graph/graph.h"

/* Adds load-time statements before all others and rewrites their readers. */
void hoist_params(Graph *g);

#endif
