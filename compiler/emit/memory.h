/* memory.h - where every tensor lives: a static plan.
 *
 * Parameters (raw), constants (what load-time kernels make), state, and one
 * arena for intermediates: best fit over lifetimes in launch order (launches
 * form one chain, so launch order is happens-before). Every offset is a
 * multiple of 256 bytes. Run-time workspaces share one range behind the
 * intermediates; counters of split reductions are zeroed once and reset
 * themselves, so they live with the state. */
#ifndef DCC_MEMORY_H
#define DCC_MEMORY_H

#include "emit/program.h"

/* What a tensor takes, padding included. */
size_t memory_bytes(const Tensor *t);
/* The same for the programs of a set of sizes after each had its own: params
 * and state lie in the same places; the constants of p[i] are those of
 * p[same[i]], same[i] <= i, which are loaded alike. The last one's loading is
 * then everyone's. */
void memory_share(CudaProgram **p, int n, const int *same);
void memory_plan(CudaProgram *p);
/* Of what lives in a run alone, once more, where its launches stand otherwise
 * than they did. */
void memory_plan_run(CudaProgram *p);
void memory_dump(Buf *b, const CudaProgram *p);

#endif
