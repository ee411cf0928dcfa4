/* hoist.h - arithmetic on parameters moves to load time.
 *
 * (x - mean[c]) * rsqrt(var[c] + eps) * gain[c] + bias[c] becomes
 * x * a[c] + b[c] with a and b, in f32, computed once: what is left of a batch
 * norm in an epilogue is a multiply-add. */
#ifndef DCC_HOIST_H
#define DCC_HOIST_H

#include "graph.h"

void hoist_params(Graph *g);

#endif
