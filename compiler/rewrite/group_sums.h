/* group_sums.h - sums over the queries of several heads, a head at a time.
 *
 * Where heads share keys and values, gradients of these are sums over the
 * heads of a group, and over their queries, of scores' gradients times what
 * heads have:
 *
 *     d[g, j, e]    = sum(h, i) s[g, h, i, j] * x[g, h, i, e]
 *
 * A chain (recompute.h) has one sum of scores, so that is
 *
 *     p[g, h, j, e] = sum(i) s[g, h, i, j] * x[g, h, i, e]
 *     d[g, j, e]    = sum(h) p[g, h, j, e]
 *
 * where p is small beside s. */
#ifndef DCC_GROUP_SUMS_H
#define DCC_GROUP_SUMS_H

#include "graph/graph.h"

/* Of products behind the forward pass. Whether there was such a one. */
bool split_group_sums(Graph *g);

#endif
