/* keep.h - what the forward pass leaves to the backward one: kept in memory,
 * or computed again.
 *
 * The forward pass is cut where few bytes are still to be read by it: between
 * the blocks of a network. A part between two cuts whose tensors are computed
 * again has its statements once more, on tensors of their own, right before the
 * first gradient that reads them; it starts from what crosses the cut ahead of
 * it, which is kept. All of a part are computed again but what is small.
 * Statements give the same values wherever they stand, random numbers too, so
 * the gradients are the same to the bit where the same kernels make them. */
#ifndef DCC_KEEP_H
#define DCC_KEEP_H

#include "model/model.h"
#include "graph/graph.h"

typedef struct Keep {
    int64_t wanted; /* bytes of the forward pass that gradients read */
    int64_t held;   /* of these, kept */
    int64_t again;  /* computed again */
    int64_t part;   /* the most that one part computes again: held beside */
    int parts, n;   /* how many there are, how many are computed again */
    double us;      /* what that takes, roughly */
    int64_t whole;  /* of the arena, and what a run takes, with all kept */
    double whole_us;
} Keep;

/* Keeps as much as `most` bytes hold, with one part's tensors beside; INT64_MAX
 * leaves all as it is. If that cannot be, as little as can be. */
Keep keep(Graph *g, const Device *d, int64_t most);

#endif
