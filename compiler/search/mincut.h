/* mincut.h - the cheapest division of a directed graph between a source and a
 * sink: Dinic's way (Soviet Math. Doklady 11, 1970). */
#ifndef DCC_MINCUT_H
#define DCC_MINCUT_H

#include "support/support.h"

#include <stdbool.h>

typedef struct Edge {
    int from, to;
    double room; /* what may still flow; the next edge is its way back */
} Edge;

/* Nodes are 0 to n - 1; 0 is the source and 1 the sink. */
typedef struct Net {
    Arena *arena;
    int n;
    Edge *edge; int n_edge, cap_edge;
} Net;

#define MINCUT_NEVER 1e300

/* It costs `cost` to have `from` on the source's side and `to` on the sink's;
 * MINCUT_NEVER: that is not to be. */
void mincut_edge(Net *t, int from, int to, double cost);

/* Which nodes are on the sink's side: of several divisions of least cost, the
 * one with fewest there. Uses up the edges' room. */
const bool *mincut(Net *t);

#endif
