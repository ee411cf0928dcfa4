/* keep.h - what the forward pass leaves to the backward one: kept in memory,
 * or computed again.
 *
 * Of each tensor that gradients need, its bytes are kept, or the time is spent
 * to make it again from tensors that are there: a minimum cut (mincut.h) at a
 * price of a byte in microseconds. Bytes and times are those of a program that
 * keeps all: what has no memory there, since its readers compute it, costs
 * nothing here, and no more than what it is computed from.
 *
 * What is computed again is in memory until gradients have read it. So the
 * forward pass is divided where few bytes are still to be read by it, between
 * the blocks of a network. A part's statements stand once more, on tensors of
 * their own, right before the first gradient that reads them; what they read of
 * other parts is kept. Between two prices, each part has one or the other.
 * Statements give the same values wherever they stand, random numbers too, so
 * the gradients are the same to the bit where the same kernels make them. */
#ifndef DCC_KEEP_H
#define DCC_KEEP_H

#include "emit/emit.h"
#include "graph/graph.h"

/* What a program that keeps all has of one of its tensors. */
typedef struct Seen {
    const Tensor *tensor;
    bool kept;     /* in memory, made ahead of gradients and read by them */
    int64_t bytes; /* 0: it is not in memory */
    int at;        /* the launch that makes it */
    double us;     /* its part of those of the forward pass that do */
} Seen;

typedef struct Seens {
    Seen *of; int n; /* by tensor */
} Seens;
Seens keep_seen(const CudaProgram *p);
int64_t keep_held(const Seens *seen); /* bytes that are kept */

typedef struct Keep {
    bool gradients; /* there are any */
    bool less;      /* the program is to take less memory than the one seen */
    int64_t held;   /* bytes of the forward pass that are kept for them */
    int64_t again;  /* computed again */
    int64_t part;   /* the most that one part computes again: held beside */
    int parts;      /* how many there are */
    int n;          /* tensors that are computed again */
    double us;      /* what that takes, roughly */
    int64_t whole;  /* of the arena, and what a run takes, with all kept */
    double whole_us;
} Keep;

/* Keeps as much as `most` bytes hold, with one part's tensors beside; without
 * `seen` all. If that cannot be, as little as can be. */
Keep keep(Graph *g, const Seens *seen, int64_t most);

#endif
