/* tabulate.h - functions of indices alone, at load time.
 *
 * cos(t * pow(10000.0, -d / 32.0)) in a rotary embedding, the sines of a
 * Fourier transform that is a product, the weights of a window: a table of
 * them is made once, where many points of a statement have each. */
#ifndef DCC_REWRITE_TABULATE_H
#define DCC_REWRITE_TABULATE_H

#include "graph/graph.h"

void tabulate(Graph *g);

#endif
