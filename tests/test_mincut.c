/* test_mincut.c - the cheapest division against all there are. */
#include "search/mincut.h"

#include <criterion/criterion.h>

enum { NODES = 9, EDGES = 24 };

static unsigned next(unsigned *seed)
{
    return *seed = *seed * 1664525u + 1013904223u, *seed >> 16;
}

static double cost_of(const Edge *e, int n, unsigned side)
{
    double cost = 0;

    for (int i = 0; i < n; i++)
        if (!(side >> e[i].from & 1) && side >> e[i].to & 1)
            cost += e[i].room;
    return cost;
}

/* Sides are bits: 1 is the sink's. `few`: the least that the cheapest have. */
static double cheapest(const Edge *e, int n, int nodes, int *few)
{
    double best = 2 * MINCUT_NEVER;

    *few = nodes;
    for (unsigned side = 2; side < 1u << nodes; side++) {
        int count = __builtin_popcount(side);
        double cost = cost_of(e, n, side);
        if (side & 1 || !(side & 2) || cost > best)
            continue;
        *few = cost < best || count < *few ? count : *few;
        best = cost;
    }
    return best;
}

static void expect_cheapest(unsigned seed)
{
    Net t = {.arena = arena_new(), .n = 2 + (int)(next(&seed) % (NODES - 1))};
    int n = (int)(next(&seed) % EDGES), few, count = 0;
    Edge edge[EDGES];
    unsigned side = 0;

    for (int i = 0; i < n; i++) {
        int from = (int)(next(&seed) % (unsigned)t.n);
        int to = (int)(next(&seed) % (unsigned)t.n);
        bool never = next(&seed) % 8 == 0 && from > 1;
        edge[i] = (Edge){from, to, never ? MINCUT_NEVER : next(&seed) % 20};
        mincut_edge(&t, from, to, edge[i].room);
    }
    const bool *of = mincut(&t);
    for (int i = 0; i < t.n; i++) {
        side |= (unsigned)of[i] << i;
        count += of[i];
    }
    double best = cheapest(edge, n, t.n, &few);
    cr_expect(!of[0] && of[1]);
    cr_expect_eq(cost_of(edge, n, side), best, "%u: %g, not %g", seed,
                 cost_of(edge, n, side), best);
    cr_expect_eq(count, few, "%u: %d on the sink's side, not %d", seed, count,
                 few);
    arena_free(t.arena);
}

Test(mincut, is_the_cheapest_and_the_smallest)
{
    for (unsigned seed = 0; seed < 2000; seed++)
        expect_cheapest(seed);
}
