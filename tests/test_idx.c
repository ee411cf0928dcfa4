/* test_idx.c - index expressions, compared with brute force over all points
 * of small domains, and what idx.h promises, one by one. */
#include "compiler/graph/graph.h"
#include "compiler/index/idx.h"
#include "index_eval.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>

/* ---- random expressions with their values at every point */

enum { MAX_POINTS = 1000, N_VAR = 3 };

typedef struct Value {
    const Idx *e;
    int64_t at[MAX_POINTS];
} Value;

typedef struct World {
    Arena *arena;
    IdxPool *pool;
    const Var *var[N_VAR];
    int points;
    uint64_t seed;
} World;

static int64_t roll(World *w, int64_t lo, int64_t hi)
{
    w->seed = w->seed * 6364136223846793005u + 1442695040888963407u;
    return lo + (int64_t)((w->seed >> 33) % (uint64_t)(hi - lo + 1));
}

static void world_open(World *w, uint64_t seed)
{
    static const int64_t extent[] = {1, 2, 3, 4, 5, 6, 8, 12, 16};
    *w = (World){.arena = arena_new(), .seed = seed, .points = 1};
    w->pool = idx_pool(w->arena);
    for (int i = 0; i < N_VAR; i++) {
        int64_t n = extent[roll(w, 0, 8)];
        if (w->points * n > MAX_POINTS)
            n = 2;
        char name[2] = {(char)('x' + i), 0};
        w->var[i] = idx_new_var(w->pool, name, n);
        w->points *= (int)n;
    }
}

static void world_close(World *w)
{
    arena_free(w->arena);
}

static void point_of(const World *w, int64_t i, int64_t *v)
{
    for (int k = 0; k < N_VAR; k++) {
        v[k] = i % w->var[k]->extent;
        i /= w->var[k]->extent;
    }
}

static int64_t divisor(World *w)
{
    static const int64_t d[] = {2, 2, 3, 4, 4, 5, 6, 7, 8, 9, 12, 16, 24, 1};
    return d[roll(w, 0, 13)];
}

static Value random_leaf(World *w)
{
    Value r;
    int64_t v[N_VAR], k = roll(w, 0, N_VAR);
    int64_t c = roll(w, 0, 3) ? roll(w, 1, 12) : roll(w, -12, 12);
    r.e = k < N_VAR ? idx_scale(w->pool, idx_var(w->pool, w->var[k]), c)
                    : idx_const(w->pool, c);
    for (int i = 0; i < w->points; i++) {
        point_of(w, i, v);
        r.at[i] = k < N_VAR ? c * v[k] : c;
    }
    return r;
}

static const Idx *apply(IdxPool *p, int op, const Idx *a, const Idx *b,
                        int64_t d)
{
    switch (op) {
    case 0:
    case 1:
        return idx_add(p, a, b);
    case 2:
        return idx_sub(p, a, b);
    case 3:
    case 4:
        return idx_floor(p, a, d);
    case 5:
    case 6:
        return idx_mod(p, a, d);
    case 7:
        return idx_min(p, a, b);
    case 8:
        return idx_max(p, a, b);
    case 9:
        return idx_addc(p, a, -d);
    default:
        return idx_scale(p, a, d);
    }
}

static int64_t compute(int op, int64_t a, int64_t b, int64_t d)
{
    switch (op) {
    case 0:
    case 1:
        return a + b;
    case 2:
        return a - b;
    case 3:
    case 4:
        return eval_floor(a, d);
    case 5:
    case 6:
        return a - d * eval_floor(a, d);
    case 7:
        return a < b ? a : b;
    case 8:
        return a > b ? a : b;
    case 9:
        return a - d;
    default:
        return a * d;
    }
}

static Value random_value(World *w, int depth)
{
    if (depth == 0)
        return random_leaf(w);
    Value a = random_value(w, depth - 1);
    int op = (int)roll(w, 0, 10);
    int64_t d = divisor(w);
    Value b = random_value(w, (int)roll(w, 0, depth - 1));
    a.e = apply(w->pool, op, a.e, b.e, d);
    for (int i = 0; i < w->points; i++)
        a.at[i] = compute(op, a.at[i], b.at[i], d);
    return a;
}

static const char *text_of(const Idx *e)
{
    static Buf b;
    b.len = 0;
    idx_dump(&b, e);
    return buf_text(&b);
}

/* ---- properties */

static void check_value(const World *w, const Value *x)
{
    int64_t v[N_VAR], min = INT64_MAX, max = INT64_MIN;
    for (int i = 0; i < w->points; i++) {
        point_of(w, i, v);
        int64_t got = eval_idx(x->e, v);
        cr_assert(got == x->at[i], "%s is %" PRId64 ", not %" PRId64,
                  text_of(x->e), got, x->at[i]);
        min = got < min ? got : min;
        max = got > max ? got : max;
    }
    cr_assert(x->e->lo <= min && max <= x->e->hi,
              "%s: [%" PRId64 ", %" PRId64 "] is not in [%" PRId64 ", %" PRId64
              "]", text_of(x->e), min, max, x->e->lo, x->e->hi);
    int64_t align = idx_align(x->e, 64);
    for (int i = 0; i < w->points; i++)
        cr_assert(x->at[i] % align == 0, "%s", text_of(x->e));
}

Test(idx, random_expressions_keep_their_values_and_ranges)
{
    for (uint64_t seed = 1; seed <= 400; seed++) {
        World w;
        world_open(&w, seed);
        for (int i = 0; i < 12; i++) {
            Value x = random_value(&w, (int)roll(&w, 1, 6));
            check_value(&w, &x);
        }
        world_close(&w);
    }
}

static void print_c_var(Buf *b, const Var *v, void *ctx)
{
    (void)ctx;
    buf_puts(b, v->name);
}

static const IdxPrinter in_c = {.var = print_c_var};

Test(idx, printed_text_has_the_same_value_in_c)
{
    for (uint64_t seed = 1; seed <= 150; seed++) {
        World w;
        world_open(&w, seed);
        for (int k = 0; k < 8; k++) {
            Value x = random_value(&w, (int)roll(&w, 1, 6));
            Buf sum = {0}, mul = {0};
            buf_puts(&sum, "1 + ");
            idx_print(&sum, x.e, &in_c, 1);
            buf_puts(&mul, "3 * ");
            idx_print(&mul, x.e, &in_c, 2);
            for (int i = 0; i < w.points; i += 3) {
                int64_t v[N_VAR];
                point_of(&w, i, v);
                cr_assert(eval_text(buf_text(&sum), v) == 1 + x.at[i], "%s",
                          buf_text(&sum));
                cr_assert(eval_text(buf_text(&mul), v) == 3 * x.at[i], "%s",
                          buf_text(&mul));
            }
            buf_free(&sum);
            buf_free(&mul);
        }
        world_close(&w);
    }
}

static bool holds(Cond c, const int64_t *v)
{
    int64_t x = eval_idx(c.e, v);
    return c.mod ? x % c.mod == 0 : x >= 0;
}

static bool all_hold(Guard g, const int64_t *v)
{
    for (int i = 0; i < g.n; i++)
        if (!holds(g.cond[i], v))
            return false;
    return true;
}

static void check_guard(World *w, Guard g, const bool *expect)
{
    int64_t v[N_VAR];
    int yes = 0;
    for (int i = 0; i < w->points; i++) {
        point_of(w, i, v);
        cr_assert(all_hold(g, v) == expect[i]);
        for (int k = 0; k < g.n; k++) {
            Buf b = {0};
            cond_print(&b, g.cond[k], &in_c);
            cr_assert((eval_text(buf_text(&b), v) != 0) == holds(g.cond[k], v),
                      "%s", buf_text(&b));
            buf_free(&b);
        }
        yes += expect[i];
    }
    if (guard_truth(g) == ALWAYS)
        cr_assert(yes == w->points);
    if (guard_truth(g) == NEVER)
        cr_assert(yes == 0);
}

Test(idx, guards_hold_where_their_conditions_do)
{
    for (uint64_t seed = 1; seed <= 150; seed++) {
        World w;
        world_open(&w, seed);
        Guard g = {0};
        bool expect[MAX_POINTS];
        memset(expect, true, sizeof expect);
        for (int k = 0; k < 4; k++) {
            Value x = random_value(&w, (int)roll(&w, 1, 4));
            int64_t mod = roll(&w, 0, 2) ? 0 : divisor(&w);
            for (int i = 0; i < w.points; i++)
                expect[i] &= mod ? x.at[i] % mod == 0 : x.at[i] >= 0;
            g = guard_add(w.pool, g, x.e, mod);
            check_guard(&w, g, expect);
        }
        world_close(&w);
    }
}

Test(idx, substitution_is_simultaneous)
{
    for (uint64_t seed = 1; seed <= 300; seed++) {
        World w;
        world_open(&w, seed);
        Value x = random_value(&w, (int)roll(&w, 1, 5));
        Subst s[N_VAR];
        Value by[N_VAR];
        for (int k = 0; k < N_VAR; k++) { /* values in the variable's range */
            Value y = random_value(&w, 2);
            s[k].var = w.var[k];
            by[k].e = s[k].by = idx_mod(w.pool, y.e, w.var[k]->extent);
        }
        const Idx *z = idx_subst(w.pool, x.e, s, N_VAR);
        for (int i = 0; i < w.points; i++) {
            int64_t v[N_VAR], u[N_VAR];
            point_of(&w, i, v);
            for (int k = 0; k < N_VAR; k++)
                u[k] = eval_idx(by[k].e, v);
            cr_assert(eval_idx(z, v) == eval_idx(x.e, u), "%s", text_of(x.e));
        }
        world_close(&w);
    }
}

Test(idx, building_twice_gives_one_pointer)
{
    for (uint64_t seed = 1; seed <= 100; seed++) {
        World w;
        world_open(&w, seed);
        uint64_t from = w.seed;
        Value a = random_value(&w, 5);
        w.seed = from;
        Value b = random_value(&w, 5);
        cr_assert(a.e == b.e);
        world_close(&w);
    }
}

/* ---- promises */

typedef struct Fix {
    Arena *arena;
    IdxPool *p;
    const Var *vi, *vj, *vk;
    const Idx *i, *j, *k; /* extents 8, 16, 100 */
} Fix;

static Fix fix_open(void)
{
    Fix f = {.arena = arena_new()};
    f.p = idx_pool(f.arena);
    f.vi = idx_new_var(f.p, "i", 8);
    f.vj = idx_new_var(f.p, "j", 16);
    f.vk = idx_new_var(f.p, "k", 100);
    f.i = idx_var(f.p, f.vi);
    f.j = idx_var(f.p, f.vj);
    f.k = idx_var(f.p, f.vk);
    return f;
}

static const Idx *radix_16(const Fix *f) /* 16 i + j */
{
    return idx_add(f->p, idx_scale(f->p, f->i, 16), f->j);
}

Test(idx, quotient_and_remainder_recombine)
{
    Fix f = fix_open();
    const Idx *q = idx_floor(f.p, f.k, 7), *r = idx_mod(f.p, f.k, 7);
    cr_assert(idx_add(f.p, idx_scale(f.p, q, 7), r) == f.k);
    cr_assert(r->lo == 0 && r->hi == 6);
    cr_assert(idx_floor(f.p, radix_16(&f), 16) == f.i);
    cr_assert(idx_mod(f.p, radix_16(&f), 16) == f.j);
    const Idx *two = idx_mod(f.p, idx_floor(f.p, f.k, 4), 3);
    cr_assert(idx_floor(f.p, idx_mod(f.p, f.k, 12), 4) == two);
    cr_assert(two->lo == 0 && two->hi == 2);
    arena_free(f.arena);
}

Test(idx, floors_join)
{
    Fix f = fix_open();
    IdxPool *p = f.p;
    cr_assert(idx_floor(p, idx_floor(p, f.k, 3), 4) == idx_floor(p, f.k, 12));
    const Idx *eight = idx_add(p, idx_scale(p, f.k, 8), f.i);
    cr_assert(idx_floor(p, eight, 16) == idx_floor(p, f.k, 2));
    const Idx *neg = idx_sub(p, idx_const(p, 99), f.k);
    cr_assert(idx_mod(p, neg, 10) ==
              idx_sub(p, idx_const(p, 9), idx_mod(p, f.k, 10)));
    /* through two remainders: 24 j + 12 (k % 2) + k % 12 */
    const Idx *e = idx_scale(p, f.j, 24);
    e = idx_add(p, e, idx_scale(p, idx_mod(p, f.k, 2), 12));
    e = idx_add(p, e, idx_mod(p, f.i, 12));
    cr_assert(idx_floor(p, e, 24) == f.j);
    arena_free(f.arena);
}

Test(idx, a_reshape_and_back_is_nothing)
{
    Fix f = fix_open();
    IdxPool *p = f.p;
    /* [8, 16] -> [4, 32] -> [8, 16] */
    const Idx *flat = radix_16(&f);
    const Idx *a = idx_floor(p, flat, 32), *b = idx_mod(p, flat, 32);
    const Idx *again = idx_add(p, idx_scale(p, a, 32), b);
    cr_assert(idx_floor(p, again, 16) == f.i);
    cr_assert(idx_mod(p, again, 16) == f.j);
    cr_assert(a->hi == 3 && b->hi == 31);
    arena_free(f.arena);
}

Test(idx, min_and_max_fold)
{
    Fix f = fix_open();
    IdxPool *p = f.p;
    const Idx *c7 = idx_const(p, 7), *c0 = idx_const(p, 0);
    cr_assert(idx_min(p, f.i, c7) == f.i);
    cr_assert(idx_max(p, f.i, c0) == f.i);
    cr_assert(idx_min(p, f.j, f.j) == f.j);
    cr_assert(idx_min(p, f.i, f.j) == idx_min(p, f.j, f.i));
    cr_assert(idx_min(p, idx_min(p, f.k, c7), idx_const(p, 3)) ==
              idx_min(p, f.k, idx_const(p, 3)));
    const Idx *m = idx_min(p, f.k, f.j);
    cr_assert(idx_sub(p, f.k, m)->lo == 0);
    cr_assert(idx_min(p, m, f.k) == m);
    cr_assert(m->hi == 15);
    arena_free(f.arena);
}

Test(idx, alignment_is_that_of_the_coefficients)
{
    Fix f = fix_open();
    IdxPool *p = f.p;
    const Idx *e = idx_add(p, idx_scale(p, f.i, 24), idx_const(p, 16));
    cr_assert(idx_align(e, 64) == 8);
    cr_assert(idx_align(e, 4) == 4);
    cr_assert(idx_align(idx_const(p, 0), 16) == 16);
    cr_assert(idx_align(idx_floor(p, f.k, 7), 16) == 1);
    cr_assert(idx_align(idx_scale(p, idx_floor(p, f.k, 7), 12), 16) == 4);
    arena_free(f.arena);
}

Test(idx, radix_numbers_are_found)
{
    Fix f = fix_open();
    IdxPool *p = f.p;
    const Var *v[8], *one = idx_new_var(p, "one", 1);
    cr_assert(idx_radix(radix_16(&f), 128, v, 8) == 2);
    cr_assert(v[0] == f.vi && v[1] == f.vj);
    cr_assert(idx_radix(f.k, 100, v, 8) == 1 && v[0] == f.vk);
    cr_assert(idx_radix(idx_const(p, 0), 1, v, 8) == 0);
    cr_assert(idx_radix(f.k, 101, v, 8) == -1);
    cr_assert(idx_radix(idx_addc(p, f.k, 1), 100, v, 8) == -1);
    cr_assert(idx_radix(radix_16(&f), 128, v, 1) == -1);
    const Idx *gap = idx_add(p, idx_scale(p, f.i, 17), f.j);
    cr_assert(idx_radix(gap, 128, v, 8) == -1);
    const Idx *with = idx_add(p, radix_16(&f),
                              idx_scale(p, idx_var(p, one), 5));
    cr_assert(idx_radix(with, 128, v, 8) == 2, "a variable of one value is 0");
    cr_assert(idx_var(p, one) == idx_const(p, 0));
    arena_free(f.arena);
}

Test(idx, questions)
{
    Fix f = fix_open();
    IdxPool *p = f.p;
    const Idx *e = idx_add(p, idx_scale(p, f.i, 3), idx_floor(p, f.k, 7));
    cr_assert(idx_coef(e, f.vi) == 3 && idx_coef(e, f.vk) == 0);
    cr_assert(idx_uses(e, f.vk) && !idx_uses(e, f.vj));
    cr_assert(!idx_affine(e) && idx_affine(radix_16(&f)));
    cr_assert(idx_is_var(f.i) == f.vi && !idx_is_var(e));
    cr_assert(!idx_is_var(idx_const(p, 0)) && idx_is_const(idx_const(p, 0)));
    cr_assert(!idx_has_data(e));
    arena_free(f.arena);
}

Test(idx, what_leaves_the_numbers_proves_nothing)
{
    Fix f = fix_open();
    IdxPool *p = f.p;
    const Idx *big = idx_scale(p, f.k, INT64_MAX / 2);
    const Idx *sum = idx_add(p, big, big);
    cr_assert(sum->hi >= IDX_INF);
    const Idx *gone = idx_scale(p, sum, 1000);
    cr_assert(gone->lo <= -IDX_INF && gone->hi >= IDX_INF);
    cr_assert(idx_scale(p, sum, 1000) != gone, "two unknowns are not equal");
    cr_assert(cond_truth((Cond){gone, 0}) == MAYBE);
    cr_assert(cond_truth((Cond){idx_sub(p, gone, f.k), 0}) == MAYBE);
    const Idx *k = idx_const(p, INT64_MAX);
    cr_assert(cond_truth((Cond){idx_addc(p, k, 1), 0}) != NEVER);
    arena_free(f.arena);
}

Test(idx, size_and_time_are_bounded)
{
    Fix f = fix_open();
    IdxPool *p = f.p;
    const Idx *big = idx_var(p, idx_new_var(p, "big", 1000000));
    const Idx *e = big, *sum = big, *mods = big;
    for (int i = 0; i < 1000; i++)
        e = idx_min(p, idx_scale(p, e, 3), idx_addc(p, f.k, 100000 + i));
    Buf b = {0};
    idx_print(&b, e, &in_c, 0);
    buf_free(&b);
    for (int i = 2; i < 1000; i++)
        sum = idx_add(p, sum, idx_floor(p, idx_addc(p, big, 37 * i), i));
    cr_assert(sum->n <= IDX_MAX_TERMS);
    for (int i = 0; i < 10; i++)
        mods = idx_add(p, idx_mod(p, mods, 1000 - 7 * i),
                       idx_scale(p, idx_floor(p, mods, 13 + i), 3));
    cr_assert(arena_used(f.arena) < 32 << 20);
    arena_free(f.arena);
}

static void print_is(const Idx *e, const char *want)
{
    Buf b = {0};
    idx_print(&b, e, &in_c, 0);
    cr_assert_str_eq(buf_text(&b), want);
    buf_free(&b);
}

Test(idx, text_is_what_a_person_would_write)
{
    Fix f = fix_open();
    IdxPool *p = f.p;
    print_is(radix_16(&f), "16 * i + j");
    print_is(idx_mod(p, f.k, 8), "k % 8");
    print_is(idx_floor(p, f.k, 8), "k / 8");
    print_is(idx_addc(p, f.k, -3), "k - 3");
    print_is(idx_sub(p, idx_const(p, 7), f.i), "7 - i");
    print_is(idx_scale(p, f.i, -1), "-i");
    print_is(idx_sub(p, f.j, idx_scale(p, f.i, 3)), "j - 3 * i");
    print_is(idx_scale(p, idx_floor(p, f.k, 8), 4), "4 * (k / 8)");
    print_is(idx_scale(p, idx_mod(p, f.k, 8), 4), "4 * (k % 8)");
    print_is(idx_mod(p, idx_floor(p, f.k, 4), 3), "k / 4 % 3");
    print_is(idx_mod(p, radix_16(&f), 24), "(16 * i + j) % 24");
    print_is(idx_min(p, idx_addc(p, f.k, 1), idx_const(p, 64)),
             "min(k + 1, 64)");
    print_is(idx_floor(p, idx_sub(p, f.j, f.i), 4),
             "-dcc_floordiv(i - j + 3, 4)");
    print_is(idx_scale(p, f.i, 3000000000), "3000000000LL * i");
    print_is(idx_const(p, -5), "-5");
    arena_free(f.arena);
}

static void cond_is(Cond c, const char *want)
{
    Buf b = {0};
    cond_print(&b, c, &in_c);
    cr_assert_str_eq(buf_text(&b), want);
    buf_free(&b);
}

static void zero_is(const Idx *e, const char *want)
{
    Buf b = {0};
    cond_print_zero(&b, e, &in_c);
    cr_assert_str_eq(buf_text(&b), want);
    buf_free(&b);
}

Test(idx, conditions_are_what_a_person_would_write)
{
    Fix f = fix_open();
    IdxPool *p = f.p;
    cond_is((Cond){idx_sub(p, idx_const(p, 49), f.k), 0}, "k < 50");
    cond_is((Cond){idx_addc(p, f.k, -3), 0}, "k >= 3");
    cond_is((Cond){idx_sub(p, f.i, f.j), 0}, "i >= j");
    cond_is((Cond){idx_addc(p, idx_sub(p, f.k, f.j), -1), 0}, "k > j");
    cond_is((Cond){idx_addc(p, f.k, 3), 4}, "(k + 3) % 4 == 0");
    zero_is(idx_addc(p, f.k, -3), "k == 3");
    zero_is(idx_addc(p, idx_sub(p, f.k, f.j), 1), "k + 1 == j");
    arena_free(f.arena);
}

Test(guard, repetition_and_weaker_conditions_go)
{
    Fix f = fix_open();
    IdxPool *p = f.p;
    const Idx *e = idx_addc(p, f.k, -5);
    Guard g = guard_add(p, (Guard){0}, e, 0);
    cr_assert(guard_add(p, g, e, 0).n == 1);
    cr_assert(guard_add(p, g, idx_addc(p, e, 3), 0).n == 1);
    Guard h = guard_add(p, g, idx_addc(p, e, -3), 0);
    cr_assert(h.n == 1 && h.cond[0].e == idx_addc(p, e, -3));
    cr_assert(guard_add(p, g, f.k, 0).n == 1, "always true");
    cr_assert(guard_add(p, g, idx_addc(p, f.k, -100), 0).n == 1);
    cr_assert(guard_truth(guard_add(p, g, idx_addc(p, f.k, -100), 0)) == NEVER);
    Guard twice = guard_add(p, (Guard){0}, idx_addc(p, idx_scale(p, f.k, 4),
                                                    -18), 0);
    cr_assert(twice.cond[0].e == e, "4 k >= 18 is k >= 5");
    Guard no = guard_add(p, g, idx_sub(p, idx_const(p, 4), f.k), 0);
    cr_assert(guard_truth(no) == NEVER, "k >= 5 and k <= 4");
    arena_free(f.arena);
}

Test(guard, distances_are_affine)
{
    Fix f = fix_open();
    IdxPool *p = f.p;
    const Idx *d = idx_sub(p, f.i, f.k);
    const Idx *far = idx_max(p, d, idx_scale(p, d, -1));
    const Idx *near = idx_sub(p, idx_const(p, 5), far);
    Guard g = guard_add(p, (Guard){0}, near, 0);
    cr_assert(g.n == 2 && idx_affine(g.cond[0].e) && idx_affine(g.cond[1].e));
    g = guard_add(p, (Guard){0}, idx_scale(p, near, -1), 0);
    cr_assert(g.n == 1 && !idx_affine(g.cond[0].e), "the farther ones are two");
    arena_free(f.arena);
}

/* A block's columns: those of i / 4 == k / 4 are at most 3 away. */
Test(guard, what_follows_is_affine)
{
    Fix f = fix_open();
    IdxPool *p = f.p;
    const Idx *d = idx_sub(p, idx_floor(p, f.i, 4), idx_floor(p, f.k, 4));
    Guard g = guard_add(p, (Guard){0}, d, 0);
    g = guard_add(p, g, idx_scale(p, d, -1), 0);
    g = guard_affine(p, guard_add(p, g, idx_mod(p, f.k, 3), 2));
    cr_assert_eq(g.n, 2);
    for (int i = 0; i < 2; i++)
        cr_assert(g.cond[i].e->k == 3 && idx_affine(g.cond[i].e));
    arena_free(f.arena);
}

Test(guard, within_gives_only_what_is_open)
{
    Fix f = fix_open();
    IdxPool *p = f.p;
    cr_assert(guard_within(p, (Guard){0}, f.k, 0, 100).n == 0);
    cr_assert(guard_within(p, (Guard){0}, f.k, 0, 99).n == 1);
    cr_assert(guard_within(p, (Guard){0}, idx_addc(p, f.k, -1), 0, 98).n == 2);
    arena_free(f.arena);
}

Test(guard, modulus_by_coefficients)
{
    Fix f = fix_open();
    IdxPool *p = f.p;
    const Idx *e = idx_scale(p, f.k, 8);
    cr_assert(cond_truth((Cond){e, 4}) == ALWAYS);
    cr_assert(cond_truth((Cond){idx_addc(p, e, 2), 4}) == NEVER);
    cr_assert(cond_truth((Cond){f.k, 4}) == MAYBE);
    cr_assert(cond_truth((Cond){idx_addc(p, f.i, 1), 16}) == NEVER);
    arena_free(f.arena);
}

/* ---- data */

typedef struct DataFix {
    Arena *arena;
    Graph *g;
    const Var *i, *j;
    Tensor *ids;
} DataFix;

static DataFix data_open(void)
{
    DataFix f = {.arena = arena_new()};
    int64_t dim[1] = {64};
    f.g = graph_new(f.arena, NULL, "m");
    f.i = idx_new_var(f.g->pool, "i", 8);
    f.j = idx_new_var(f.g->pool, "j", 64);
    f.ids = graph_tensor(f.g, "ids", T_I32, 1, dim);
    return f;
}

static const Idx *read_ids(DataFix *f, const Idx *at)
{
    const Expr *e = expr_read(f->g, f->ids, &at, (Guard){0}, NULL);
    return idx_data(f->g->pool, e, 0, 99);
}

Test(data, equal_reads_are_one_atom)
{
    DataFix f = data_open();
    IdxPool *p = f.g->pool;
    const Idx *i = idx_var(p, f.i), *j = idx_var(p, f.j);
    const Idx *a = read_ids(&f, i), *b = read_ids(&f, j);
    cr_assert(read_ids(&f, i) == a && a != b);
    cr_assert(a->lo == 0 && a->hi == 99);
    cr_assert(idx_uses(a, f.i) && !idx_uses(a, f.j) && idx_has_data(a));
    Subst s = {f.i, j};
    cr_assert(idx_subst(p, idx_addc(p, a, 2), &s, 1) == idx_addc(p, b, 2));
    cr_assert(idx_sub(p, a, a) == idx_const(p, 0));
    Buf t = {0};
    idx_dump(&t, idx_scale(p, a, 3));
    cr_assert_str_eq(buf_text(&t), "3 * {ids[i]}");
    buf_free(&t);
    arena_free(f.arena);
}

static void put_anything(Buf *b, const struct Expr *e, void *ctx)
{
    (void)e;
    (void)ctx;
    buf_puts(b, "x");
}

Test(data, a_guard_narrows_what_it_guards)
{
    DataFix f = data_open();
    IdxPool *p = f.g->pool;
    const IdxPrinter how = {.data = put_anything, .ints = true};
    const Idx *at = idx_var(p, f.i);
    const Expr *e = expr_read(f.g, f.ids, &at, (Guard){0}, NULL);
    const Idx *x = idx_data(p, e, INT32_MIN, INT32_MAX);
    Guard in = guard_within(p, (Guard){0}, x, 0, 1024);
    const Idx *all = idx_scale(p, x, 4096);
    cr_assert(idx_is_wide(all) && !idx_is_wide(guard_narrow(p, in, all)));
    cr_assert(guard_narrow(p, in, all)->hi == 1023 * 4096);
    cr_assert(guard_narrow(p, (Guard){0}, all) == all);
    const char *want[] = {"x >= 0", "x < 1024"};
    cr_assert(in.n == 2);
    for (int i = 0; i < 2; i++) {
        Buf b = {0};
        cond_print(&b, in.cond[i], &how);
        cr_assert_str_eq(buf_text(&b), want[i]);
        buf_free(&b);
    }
    arena_free(f.arena);
}
