/* tails.h - what two products' results go into, a residual's sum for one, is
 * computed behind one of them, and the other's result is read there. Which one
 * merging by pairs or stretches gives it to, where both take the same time,
 * is a matter of the order of statements. Here it is one of the graph's
 * alone: the one with the longer sum, for what the tail reads arrives
 * meanwhile; of two as long the one that waits for more kernels, for the other
 * is there when it begins. */
#ifndef DCC_TAILS_H
#define DCC_TAILS_H

#include "search/units.h"

/* Each tail with the product that should have it, unless it takes more than
 * 1 / `told` of the time there; with the other one where that takes less than
 * `told`. */
void tails_place(Units *u, double told);

#endif
