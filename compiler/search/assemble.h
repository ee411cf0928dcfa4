/* assemble.h - groups made of several, which come one after another in an order
 * in which they may run. */
#ifndef DCC_ASSEMBLE_H
#define DCC_ASSEMBLE_H

#include "search/merge.h"

enum { ASSEMBLE_MOST = 16 };

/* What has come so far, as far as it was merged. */
typedef struct Assembly {
    Graph *g;
    StoreIsRead *outside; /* does one who will not come read t? */
    void *ctx;       /* outside's */
    Group *group[ASSEMBLE_MOST];
    int n;
    const Group *taken; /* the piece that is merged now */
} Assembly;

/* The next one, and what it reads of the pieces before. Those that cannot be
 * one with it may be with what comes. At most ASSEMBLE_MOST stay apart. */
void assemble_next(Assembly *a, Group *gr);

#endif
