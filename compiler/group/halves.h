/* halves.h - fusion where several values of one product meet at one point:
 * silu(gate) * up of a stacked product, rotary pairs.
 *
 * The consumer's points become the nest's, and each of them has all the sums
 * that it needs. No sum is computed twice: the places that it reads at are,
 * together, every element of what the producer makes, once. */
#ifndef DCC_GROUP_HALVES_H
#define DCC_GROUP_HALVES_H

#include "group/group.h"

/* Consumer c, pointwise, becomes steps at its own points, behind the sums of
 * producer p there. NULL if it cannot. If !keep t is no longer stored. The
 * arguments stay as they are. */
Group *fuse_halves(Graph *g, const Group *p, const Group *c, const Tensor *t,
                   bool keep);

/* Another consumer of a t that p, made so, stores by several steps: reads it
 * at the same places. */
Group *fuse_beside(Graph *g, const Group *p, const Group *c, const Tensor *t,
                   bool keep);

#endif
