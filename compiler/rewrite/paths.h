/* paths.h - sums of products of several factors, in the order that costs least.
 *
 *   sum(j, k) a[i, j] b[j, k] c[k, l] = sum(k) (sum(j) a[i, j] b[j, k]) c[k, l]
 *
 * A factor that an index is not in leaves that index's sum. Each sum of a
 * subset of the factors is a tensor of its own, f32 and not rounded further;
 * which subsets, what they take decides (for eight factors all orders are
 * looked at, of more the cheapest pairs come first). What is a sum of factors
 * already, and is read once, is taken apart before. A tensor that is there, as
 * gradients have of the sums before them, is taken again.
 *
 * A guard, a range of a sum that other indices decide, stays with the sum that
 * has the last of its indices; a factor that is a choice or a gather is what it
 * was. */
#ifndef DCC_PATHS_H
#define DCC_PATHS_H

#include "graph/graph.h"

/* What a GPU does in a microsecond: operations on two factors of 16 bits, of
 * one such, and of others; bytes of memory, of caches and how many these keep;
 * and what a launch takes. */
typedef struct Prices {
    double tensor_ops, mixed_ops, plain_ops;
    double memory_bytes, cache_bytes, cached;
    double launch_us;
    bool boxes; /* products take tiles that TMA copies */
    bool apart; /* a loop's steps are not joined: that keeps less (steps.h) */
} Prices;

/* NULL: sums stay as they are. */
void split_paths(Graph *g, const Prices *p);

#endif
