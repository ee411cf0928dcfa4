/* test_invert.c - reads turned round, compared with a loop over all points:
 * of random statements every point that reads an element is found once, and no
 * other. */
#include "compiler/adjoint/invert.h"
#include "index_eval.h"

#include <criterion/criterion.h>
#include <stdio.h>

enum { N_VAR = 3, MAX_POINTS = 1000, MAX_VARS = 4096 };

typedef struct World {
    Arena *arena;
    Graph *g;
    const Var *var[N_VAR];
    const Idx *at[3];
    const Var *uv[3];
    const Idx *u[3];
    int rank, points;
    uint64_t seed;
    int64_t v[MAX_VARS];
    unsigned char found[MAX_POINTS];
} World;

static int64_t roll(World *w, int64_t lo, int64_t hi)
{
    w->seed = w->seed * 6364136223846793005u + 1442695040888963407u;
    return lo + (int64_t)((w->seed >> 33) % (uint64_t)(hi - lo + 1));
}

static const Idx *random_index(World *w, int depth)
{
    IdxPool *p = w->g->pool;
    int64_t d = roll(w, 2, 6);
    const Idx *a, *b;

    if (!depth || !roll(w, 0, 3)) {
        int64_t c = roll(w, 0, 2) ? 1 : roll(w, -4, 6);
        return idx_addc(p, idx_scale(p, idx_var(p, w->var[roll(w, 0, 2)]), c),
                        roll(w, 0, 3) ? 0 : roll(w, -3, 3));
    }
    a = random_index(w, depth - 1);
    b = random_index(w, depth - 1);
    switch (roll(w, 0, 9)) {
    case 0: return idx_floor(p, a, d);
    case 1: return idx_mod(p, a, d);
    case 2: return idx_min(p, a, b);
    case 3: return idx_max(p, a, idx_const(p, roll(w, -2, 4)));
    case 4: return idx_add(p, idx_scale(p, a, w->var[2]->extent), b);
    case 5: return idx_sub(p, a, b);
    case 6: return idx_scale(p, a, d);
    default: return idx_add(p, a, b);
    }
}

static void random_world(World *w, uint64_t seed)
{
    memset(w, 0, sizeof *w);
    w->arena = arena_new();
    w->g = graph_new(w->arena, NULL, "m");
    w->seed = seed;
    w->points = 1;
    for (int i = 0; i < N_VAR; i++) {
        w->var[i] = idx_new_var(
            w->g->pool, arena_printf(w->arena, "v%d", i), roll(w, 1, 7));
        w->points *= (int)w->var[i]->extent;
    }
    w->rank = (int)roll(w, 1, 3);
    for (int d = 0; d < w->rank; d++) {
        w->at[d] = random_index(w, (int)roll(w, 0, 3));
        /* elements from 0 on */
        w->at[d] = idx_addc(w->g->pool, w->at[d], -w->at[d]->lo);
        w->uv[d] = idx_new_var(w->g->pool, "u", w->at[d]->hi + 1);
        w->u[d] = idx_var(w->g->pool, w->uv[d]);
    }
}

static void set_point(World *w, int n)
{
    for (int i = N_VAR - 1; i >= 0; i--) {
        w->v[w->var[i]->id] = n % w->var[i]->extent;
        n /= (int)w->var[i]->extent;
    }
}

static bool holds(const World *w, Guard in)
{
    for (int i = 0; i < in.n; i++) {
        int64_t x = eval_idx(in.cond[i].e, w->v);
        int64_t m = in.cond[i].mod;
        if (m ? x - m * eval_floor(x, m) != 0 : x < 0)
            return false;
    }
    return true;
}

static int64_t value_of(const World *w, const Inverse *set, const Var *v)
{
    if (v->extent == 1)
        return 0;
    for (int i = 0; i < set->n_known; i++)
        if (set->known[i].var == v)
            return eval_idx(set->known[i].by, w->v);
    return w->v[v->id];
}

/* Marks the points of a set for the element in w->v. */
static void mark_set(World *w, const Inverse *set)
{
    int64_t n = 1;

    for (int i = 0; i < set->n_left; i++)
        n *= set->left[i]->extent;
    for (int64_t k = 0; k < n; k++) {
        int64_t rest = k, point = 0;
        for (int i = 0; i < set->n_left; i++) {
            w->v[set->left[i]->id] = rest % set->left[i]->extent;
            rest /= set->left[i]->extent;
        }
        if (!holds(w, set->in))
            continue;
        for (int i = 0; i < N_VAR; i++) {
            int64_t x = value_of(w, set, w->var[i]);
            cr_assert(x >= 0 && x < w->var[i]->extent, "seed %llu",
                      (unsigned long long)w->seed);
            point = point * w->var[i]->extent + x;
        }
        w->found[point]++;
    }
}

/* The statement and its inverse, for a message. */
static const char *text_of(const World *w, const Inverse *set, int sets)
{
    Buf b = {0};

    for (int i = 0; i < N_VAR; i++)
        buf_printf(&b, "v%d<%d ", w->var[i]->id, (int)w->var[i]->extent);
    for (int d = 0; d < w->rank; d++) {
        buf_puts(&b, d ? ", " : "reads ");
        idx_dump(&b, w->at[d]);
    }
    for (int k = 0; k < sets; k++) {
        buf_puts(&b, "; where ");
        guard_dump(&b, set[k].in);
        for (int i = 0; i < set[k].n_known; i++) {
            buf_printf(&b, ", v%d<%d = ", set[k].known[i].var->id,
                       (int)set[k].known[i].var->extent);
            idx_dump(&b, set[k].known[i].by);
        }
        buf_printf(&b, ", %d left", set[k].n_left);
    }
    return buf_take(&b, w->arena);
}

static void check_element(World *w, const Inverse *set, int sets)
{
    int64_t at[3];

    for (int d = 0; d < w->rank; d++)
        at[d] = w->v[w->uv[d]->id];
    memset(w->found, 0, sizeof w->found);
    for (int i = 0; i < sets; i++) {
        cr_assert(!set[i].when);
        mark_set(w, &set[i]);
    }
    for (int n = 0; n < w->points; n++) {
        bool reads = true;
        set_point(w, n);
        for (int d = 0; d < w->rank; d++)
            reads &= eval_idx(w->at[d], w->v) == at[d];
        cr_assert_eq(w->found[n], reads, "%s: point %d found %d times",
                     text_of(w, set, sets), n, w->found[n]);
    }
}

/* Of large tensors some elements: those that are read, and a few others. */
static void check_world(World *w)
{
    int sets, tries = w->points < 40 ? w->points : 40;
    const Inverse *set = invert(w->g, w->var, N_VAR, w->at, w->u, w->rank,
                                &sets);

    for (int k = 0; k < tries + 8; k++) {
        int64_t at[3];
        set_point(w, (int)roll(w, 0, w->points - 1));
        for (int d = 0; d < w->rank; d++)
            at[d] = k < tries ? eval_idx(w->at[d], w->v)
                              : roll(w, 0, w->uv[d]->extent - 1);
        for (int d = 0; d < w->rank; d++)
            w->v[w->uv[d]->id] = at[d];
        check_element(w, set, sets);
    }
}

Test(invert, random_statements)
{
    World *w = malloc(sizeof *w);

    for (uint64_t seed = 1; seed <= 20000; seed++) {
        random_world(w, seed);
        check_world(w);
        arena_free(w->arena);
    }
    free(w);
}

/* What a rule finds needs no sum over what it determines. */
static int left_over(const int64_t *extent, int n, int rank,
                     const Idx *(*at)(IdxPool *p, const Idx **v, int d),
                     int64_t dim)
{
    Arena *a = arena_new();
    Graph *g = graph_new(a, NULL, "m");
    const Var *var[4];
    const Idx *v[4], *e[4], *u[4];
    int sets, left = 0;

    for (int i = 0; i < n; i++) {
        var[i] = idx_new_var(g->pool, "v", extent[i]);
        v[i] = idx_var(g->pool, var[i]);
    }
    for (int d = 0; d < rank; d++) {
        e[d] = at(g->pool, v, d);
        u[d] = idx_var(g->pool, idx_new_var(g->pool, "u", dim));
    }
    const Inverse *set = invert(g, var, n, e, u, rank, &sets);
    for (int i = 0; i < sets; i++)
        left += set[i].n_left;
    arena_free(a);
    return left;
}

static const Idx *window(IdxPool *p, const Idx **v, int d)
{
    (void)d;
    return idx_addc(p, idx_add(p, idx_scale(p, v[0], 2), v[1]), -1);
}

static const Idx *split(IdxPool *p, const Idx **v, int d)
{
    return d ? idx_mod(p, v[0], 8) : idx_floor(p, v[0], 8);
}

static const Idx *joined(IdxPool *p, const Idx **v, int d)
{
    const Idx *flat = idx_add(p, idx_scale(p, v[0], 6), v[1]);

    return d ? idx_mod(p, flat, 4) : idx_floor(p, flat, 4);
}

static const Idx *nearest(IdxPool *p, const Idx **v, int d)
{
    (void)d;
    return idx_floor(p, v[0], 2);
}

Test(invert, sums_over_what_is_left_alone)
{
    cr_expect_eq(left_over((int64_t[]){28, 3}, 2, 1, window, 56), 1);
    cr_expect_eq(left_over((int64_t[]){64}, 1, 2, split, 8), 0);
    cr_expect_eq(left_over((int64_t[]){8, 6}, 2, 2, joined, 12), 0);
    cr_expect_eq(left_over((int64_t[]){10}, 1, 1, nearest, 5), 1);
}
