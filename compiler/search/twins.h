/* twins.h - kernels of other groups that came out as the same text. */
#ifndef DCC_TWINS_H
#define DCC_TWINS_H

#include "emit/emit.h"

/* Two groups that were fused in another order, or of which one computes again
 * what the other keeps, may be built as kernels that differ in nothing but
 * their names and comments: one of them serves both. After all are finished. */
void join_twins(CudaProgram *p);

#endif
