/* pair.h - what two groups become as one. Every pair is tried once, whichever
 * search asks: it owns what came of it. */
#ifndef DCC_PAIR_H
#define DCC_PAIR_H

#include "search/units.h"

typedef struct Pair {
    Group *made;     /* NULL: they cannot be one */
    const char *why; /* then */
    double us;       /* of made; infinite if no family serves it */
} Pair;

typedef struct Pairs Pairs;
Pairs *pairs_new(Selection *s);

/* Unit c takes p, which makes t, point by point. */
const Pair *pair_fuse(Pairs *x, const Units *u, int p, int c, Tensor *t);
/* c computes again what p stores to t. */
const Pair *pair_again(Pairs *x, Group *p, Group *c, Tensor *t);

#endif
