/* dependent.h - launches that overlap: programmatic dependent launch.
 *
 * A launch of a run may begin before the one ahead of it has ended: every
 * kernel of a run waits (dcc_grid_wait) in each thread that touches memory
 * that a run writes, and in each block; before that it reads what load time
 * made, and writes nothing. A launch has then ended only when all before it
 * have, so the memory plan's chain of launches stays true: who waits may read
 * what any of them wrote, and write over what any of them read.
 *
 * The first launch of a run follows what the caller enqueued, of which nothing
 * is known: its edge is plain. So are those of load time. Copies and memsets
 * would need plain edges on both sides; a run has none.
 *
 * Where a kernel lets the next launch begin (Trigger) carries no data and only
 * decides how well the blocks of that one spread: blocks that begin early take
 * whatever SMs have room at that moment. */
#ifndef DCC_DEPENDENT_H
#define DCC_DEPENDENT_H

#include "emit/emit.h"
#include "search/select.h"

/* Sets waits and trigger of p's kernels, before their text is made, and
 * dependent of its launches. */
void dependent_launches(Selection *s, CudaProgram *p);

/* A kernel that is to wait and has no wait is a defect of dcc: the process
 * ends with status 70. */
void dependent_check(const Kernel *k);

#endif
