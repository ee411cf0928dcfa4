/* branch.h - launches that run beside those behind them.
 *
 * A run is a chain of launches, and most of them need the one before. What
 * nothing needs for long, as the update of a weight in a step, may run beside
 * the chain: it begins when what stands before it has ended, and the chain goes
 * on meanwhile. Its blocks take the SMs that the chain's leave, and nobody
 * waits for its last ones. In the graph of a run these launches are a branch,
 * one behind the other; the chain waits for those that it needs (Launch). */
#ifndef DCC_SEARCH_BRANCH_H
#define DCC_SEARCH_BRANCH_H

#include "emit/emit.h"
#include "search/select.h"

/* After the kernels are built, before memory is planned. */
void branch_launches(Selection *s, CudaProgram *p);

#endif
