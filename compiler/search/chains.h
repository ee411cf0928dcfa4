/* chains.h - which units are two products with what lies between them, or a
 * window and the product that takes it. */
#ifndef DCC_CHAINS_H
#define DCC_CHAINS_H

#include "group/groups.h"
#include "search/units.h"

enum { CHAIN_MOST = 12 };

typedef struct ChainFound {
    int member[CHAIN_MOST], n; /* of the units, in the order of execution */
    Group *group;              /* or NULL: they are none, */
    const char *why;           /* and the reason */
    const Tensor *scores;      /* what the first product leaves */
    ChainKept kept;            /* what others read, too */
} ChainFound;

/* Walks back from unit `last`, a contraction, to the windows that it multiplies
 * and the nearest other contractions, of which it takes number `which`, and
 * whose results nobody else may need, but values of rows from between the two.
 * False if there are not so many. */
bool chain_find(const Units *u, int last, int which, ChainFound *out);

#endif
