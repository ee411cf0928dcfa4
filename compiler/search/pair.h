/* pair.h - what two groups become as one. Every pair is tried once, whichever
 * search asks, and of equal ones the first, whichever program of the model they
 * are of: it owns what came of it. */
#ifndef DCC_PAIR_H
#define DCC_PAIR_H

#include "search/units.h"

typedef struct Pair {
    bool fits;       /* they can be one */
    const char *why; /* if not */
    double us;       /* of the one; infinite if no family serves it */
} Pair;

typedef struct Pairs Pairs;
Pairs *pairs_new(Selection *s);

/* Unit c takes p, which makes t, point by point. */
const Pair *pair_fuse(Pairs *x, const Units *u, int p, int c, Tensor *t);
/* c computes again what p stores to t. */
const Pair *pair_again(Pairs *x, Group *p, Group *c, Tensor *t);
/* The groups that these are about: NULL if there is none. */
Group *pair_fused(Pairs *x, const Units *u, int p, int c, Tensor *t);
Group *pair_computed_again(Pairs *x, Group *p, Group *c, Tensor *t);

#endif
