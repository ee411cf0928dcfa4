/* pack.h - copies of what products read, laid out as they want it: weights at
 * load time, what a run makes ahead of the product (layout.h says which). */
#ifndef DCC_PACK_H
#define DCC_PACK_H

#include "rewrite/layout.h"

/* After layouts are chosen. */
void pack_weights(Graph *g, bool f32_along_sum, const Packings *as,
                  Packings *made);

#endif
