#include "search/mincut.h"

#include <math.h>

/* One round: nodes by their distance from the source, and for each the edge
 * that is to be tried next. */
typedef struct Round {
    Net *net;
    int *first, *list; /* the edges from a node: list[first[i]] .. */
    int *level, *next, *queue;
} Round;

void mincut_edge(Net *t, int from, int to, double cost)
{
    VEC_PUSH(t->arena, t->edge, t->n_edge, t->cap_edge) =
        (Edge){from, to, cost};
    VEC_PUSH(t->arena, t->edge, t->n_edge, t->cap_edge) = (Edge){to, from, 0};
}

static void sort_edges(Round *r)
{
    const Net *t = r->net;

    for (int i = 0; i < t->n_edge; i++)
        r->first[t->edge[i].from + 1]++;
    for (int i = 0; i < t->n; i++)
        r->first[i + 1] += r->first[i];
    for (int i = 0; i < t->n; i++)
        r->next[i] = r->first[i];
    for (int i = 0; i < t->n_edge; i++)
        r->list[r->next[t->edge[i].from]++] = i;
}

/* Is there a way to the sink? */
static bool find_levels(Round *r)
{
    const Net *t = r->net;
    int n = 0;

    for (int i = 0; i < t->n; i++)
        r->level[i] = -1, r->next[i] = r->first[i];
    r->level[0] = 0;
    r->queue[n++] = 0;
    for (int q = 0; q < n; q++)
        for (int i = r->first[r->queue[q]], end = r->first[r->queue[q] + 1];
             i < end; i++) {
            const Edge *e = &t->edge[r->list[i]];
            if (e->room <= 0 || r->level[e->to] >= 0)
                continue;
            r->level[e->to] = r->level[e->from] + 1;
            r->queue[n++] = e->to;
        }
    return r->level[1] >= 0;
}

/* One way on from `at`, for `most` at most; how much goes it. `queue` has its
 * edges, since a way may be as long as there are nodes. */
static double find_way(Round *r)
{
    const Net *t = r->net;
    int n = 0, at = 0;

    while (at != 1) {
        if (r->next[at] < r->first[at + 1]) {
            const Edge *e = &t->edge[r->list[r->next[at]]];
            if (e->room > 0 && r->level[e->to] == r->level[at] + 1) {
                r->queue[n++] = r->list[r->next[at]];
                at = e->to;
            } else {
                r->next[at]++;
            }
        } else if (!n) {
            return 0;
        } else { /* a dead end */
            at = t->edge[r->queue[--n]].from;
            r->next[at]++;
        }
    }
    double most = MINCUT_NEVER;
    for (int i = 0; i < n; i++)
        most = fmin(most, t->edge[r->queue[i]].room);
    for (int i = 0; i < n; i++) {
        t->edge[r->queue[i]].room -= most;
        t->edge[r->queue[i] ^ 1].room += most;
    }
    return most;
}

/* Those from which there is a way to the sink. */
static const bool *sink_side(Round *r)
{
    const Net *t = r->net;
    bool *side = arena_array(t->arena, bool, t->n + 1);
    int n = 0;

    side[1] = true;
    r->queue[n++] = 1;
    for (int q = 0; q < n; q++)
        for (int i = r->first[r->queue[q]], end = r->first[r->queue[q] + 1];
             i < end; i++) {
            int back = r->list[i] ^ 1, from = t->edge[back].from;
            if (t->edge[back].room <= 0 || side[from])
                continue;
            side[from] = true;
            r->queue[n++] = from;
        }
    return side;
}

const bool *mincut(Net *t)
{
    Round r = {.net = t};

    r.first = arena_array(t->arena, int, t->n + 2);
    r.list = arena_array(t->arena, int, t->n_edge + 1);
    r.level = arena_array(t->arena, int, t->n + 1);
    r.next = arena_array(t->arena, int, t->n + 1);
    r.queue = arena_array(t->arena, int, t->n + 1);
    sort_edges(&r);
    while (find_levels(&r))
        while (find_way(&r) > 0)
            ;
    return sink_side(&r);
}
