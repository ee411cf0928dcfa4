/* factors.h - factors of products that are computed, as tensors of their own.
 *
 * TMA brings what is in memory to tensor cores: a factor that is computed of
 * what it reads, w[j, k] of i8 as a float or (j <= i ? a[i, j] : 0), goes
 * through registers instead, and is computed for every tile that has it. Where
 * 16 bits hold its values exactly and many rows and columns are had of each,
 * it is a tensor, of load time where parameters alone are in it; the search
 * computes it in its readers again where that is quicker. */
#ifndef DCC_FACTORS_H
#define DCC_FACTORS_H

#include "graph/graph.h"

void split_computed(Graph *g);

#endif
