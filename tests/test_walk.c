/* test_walk.c - what the model says of windows that a thread walks down. */
#include "compiler/family/family.h"
#include "compiler/group/fuse.h"
#include "models.h"

#include <math.h>

/* A depthwise convolution of n images, h x h pixels of c channels, by a window
 * of r x r. */
typedef struct Shape {
    int n, c, h, r, stride;
} Shape;

static const void *opened_of(Fixture *f, const Options *o, Shape s, Role x)
{
    const int out = (s.h - 1) / s.stride + 1;
    const char *why, *text = arena_printf(
        f->arena,
        "model m { input x : f16[%d, %d, %d, %d]; input w : f16[%d, %d, %d]; "
        "output y[n, p in 0..%d, q in 0..%d, c] : f16 = sum(r, s) "
        "(x[n, p * %d + r - %d, q * %d + s - %d, c] or 0) * w[r, s, c]; }",
        s.n, s.h, s.h, s.c, s.r, s.r, s.c, out, out, s.stride, s.r / 2,
        s.stride, s.r / 2);
    Graph *g = lowered(f, text);

    simplified(g);
    normalise(g);
    for (int i = 0; i < g->n_tensor; i++)
        if (!strcmp(g->tensor[i]->name, "x"))
            g->tensor[i]->role = x;
    return family_map.open(g, group_of(g, g->stmt[0]), o, &why);
}

static const void *opened(Fixture *f, const Options *o, Shape s)
{
    return opened_of(f, o, s, ROLE_INPUT);
}

/* What variant `text` costs, microseconds. */
static double us_of(const void *form, const char *text)
{
    Variant *v;
    Cost c;

    for (int n = family_map.space(form, &v); n-- > 0;)
        if (!strcmp(v[n].text, text)) {
            family_map.cost(form, &v[n], &c);
            return c.us;
        }
    cr_assert_fail("no variant %s", text);
    return 0;
}

/* Of two variants on an H200 that which was quicker by a tenth and more is
 * cheaper. */
Test(walk, quicker_is_cheaper)
{
    static const struct {
        Shape of;
        const char *quicker, *slower;
    } pair[] = {
        {{32, 32, 112, 3, 1}, "vec=4 threads=256 tile=7 rows=14 bands=2",
         "vec=4 threads=64 tile=4 rows=14"},
        {{32, 96, 112, 3, 2}, "vec=2 threads=384 tile=7 rows=14 bands=1",
         "vec=4 threads=64 tile=4 rows=12"},
        {{32, 144, 56, 3, 1}, "vec=4 threads=252 tile=8 rows=14 bands=1",
         "vec=4 threads=64 tile=4 rows=8"},
        {{128, 32, 112, 5, 2}, "vec=2 threads=224 tile=4 rows=14 bands=1",
         "vec=4 threads=224 tile=2 rows=4 bands=1"},
        {{256, 16, 112, 3, 2}, "vec=2 threads=448 tile=1 rows=7 bands=1",
         "vec=4 threads=128 tile=4 rows=8"},
        {{32, 96, 56, 7, 1}, "vec=2 threads=128 tile=2 rows=56",
         "vec=2 threads=128 tile=4 rows=28"},
    };
    Fixture f = fixture();
    Options o = {.device = device_find(f.arena, "h200")};

    for (size_t i = 0; i < sizeof pair / sizeof *pair; i++) {
        const void *form = opened(&f, &o, pair[i].of);
        double quick = us_of(form, pair[i].quicker);
        double slow = us_of(form, pair[i].slower);
        cr_expect_lt(quick, slow, "%s, %g; %s, %g", pair[i].quicker, quick,
                     pair[i].slower, slow);
    }
    arena_free(f.arena);
}

/* Of what the run itself has written, and the L2 holds in part, walks are
 * quicker; not where the window has a stride. */
Test(walk, walks_find_what_was_written)
{
    Fixture f = fixture();
    Options o = {.device = device_find(f.arena, "h200")};
    Shape alike = {32, 32, 112, 3, 1}, fewer = {32, 144, 56, 3, 2};
    const void *form = opened_of(&f, &o, alike, ROLE_TEMP);
    const void *strided = opened_of(&f, &o, fewer, ROLE_TEMP);
    const void *input = opened(&f, &o, fewer);
    const char *bands = "vec=8 threads=126 tile=4 rows=4 bands=1 share=2";

    cr_expect_lt(us_of(form, "vec=4 threads=64 tile=4 rows=14"),
                 us_of(form, "vec=4 threads=256 tile=7 rows=14 bands=2"));
    cr_expect_eq(us_of(strided, bands), us_of(input, bands));
    arena_free(f.arena);
}

/* Blocks of an SM that have a few rows each hide copies of each other where few
 * rows are read twice: of 5 by stride 2 there are 3 that are. */
Test(walk, blocks_that_read_alike_hide_nothing)
{
    Fixture f = fixture();
    Options o = {.device = device_find(f.arena, "h200")};
    const void *form = opened(&f, &o, (Shape){128, 32, 112, 5, 2});

    cr_expect_geq(us_of(form, "vec=2 threads=224 tile=4 rows=14 bands=1 "
                              "share=2"),
                  us_of(form, "vec=2 threads=224 tile=4 rows=14 bands=1") -
                      1e-6);
    arena_free(f.arena);
}

/* Neighbours of a dilated window share their inputs, too, wherever images end:
 * a thread walks down them, and no form is cheaper. */
Test(walk, dilated_windows_are_walks)
{
    Fixture f = fixture();
    Options o = {.device = device_find(f.arena, "h200")};
    Graph *g = lowered(
        &f, "model m { input x : f16[32, 55, 57, 144]; "
            "input w : f16[3, 3, 144]; "
            "output y[n, p in 0..55, q in 0..57, c] : f16 = sum(r, s) "
            "(x[n, p + 2 * r - 2, q + 3 * s - 3, c] or 0) * w[r, s, c]; }");
    const char *why, *best = "";
    double least = INFINITY;
    Variant *v;

    simplified(g);
    normalise(g);
    const void *form = family_map.open(g, group_of(g, g->stmt[0]), &o, &why);
    cr_assert(form);
    for (int n = family_map.space(form, &v); n-- > 0;) {
        Cost c;
        family_map.cost(form, &v[n], &c);
        if (c.us < least) {
            least = c.us;
            best = v[n].text;
        }
    }
    cr_expect(strstr(best, "rows="), "%s, %g", best, least);
    arena_free(f.arena);
}

/* Products take the time. */
static const Shape products = {256, 672, 14, 5, 1};

/* The same on a device of which nothing is beside what limits a walk, too. */
typedef struct Beside {
    Fixture f;
    Device *d, *none;
    Options o, without;
    const void *form, *bare;
    Variant *v;
    int n;
} Beside;

static void open_beside(Beside *b)
{
    b->f = fixture();
    b->d = arena_new_of(b->f.arena, Device);
    b->none = arena_new_of(b->f.arena, Device);
    *b->d = *device_find(b->f.arena, "h200");
    *b->none = *b->d;
    b->none->beside = 0;
    b->o = (Options){.device = b->d};
    b->without = (Options){.device = b->none};
    b->form = opened(&b->f, &b->o, products);
    b->bare = opened(&b->f, &b->without, products);
    cr_assert(b->form && b->bare);
    b->n = family_map.space(b->form, &b->v);
}

/* Of what is not hidden behind the limit, that limit is none: where products
 * are, it is a part of the memory's time and of the copies'. */
Test(walk, products_are_not_beside_themselves)
{
    Beside b;
    int walks = 0;

    open_beside(&b);
    for (int i = 0; i < b.n; i++) {
        const char *text = b.v[i].text;
        Cost c, bare;
        if (!strstr(text, "rows=") || strstr(text, "bands="))
            continue;
        family_map.cost(b.form, &b.v[i], &c);
        family_map.cost(b.bare, &b.v[i], &bare);
        if (c.why || strcmp(c.limiter, "FMA"))
            continue;
        walks++;
        cr_expect_leq(c.us - bare.us,
                      b.d->beside * (bare.hbm + bare.l2 + bare.smem) + 1e-6,
                      "%s: %g for %g", text, c.us, bare.us);
    }
    cr_assert_gt(walks, 10);
    arena_free(b.f.arena);
}

/* What copies take beside what limits a walk is of all of them, in however many
 * waves of blocks they are. */
Test(walk, copies_of_all_waves_are_beside)
{
    Beside b;
    int late = 0;

    open_beside(&b);
    for (int i = 0; i < b.n; i++) {
        Cost c, bare;
        if (!strstr(b.v[i].text, "rows="))
            continue;
        family_map.cost(b.form, &b.v[i], &c);
        family_map.cost(b.bare, &b.v[i], &bare);
        if (c.why)
            continue;
        double room = model_room(b.d, c.threads, c.regs, c.smem_block);
        late += c.blocks / room / b.d->sms > b.d->late_waves;
        cr_expect_geq(c.us - bare.us, b.d->beside * bare.l2 - 1e-6,
                      "%s: %g for %g", b.v[i].text, c.us, bare.us);
    }
    cr_assert_gt(late, 10);
    arena_free(b.f.arena);
}

/* A scheduler has the registers of 3 warps by 132: an SM of 6 blocks of two,
 * and the seventh waits, as room for blocks says. */
Test(walk, registers_are_of_schedulers)
{
    Arena *a = arena_new();
    const Device *d = device_find(a, "h200");
    Work w = {.pipe = PIPE_FMA, .flops = 1e9, .padded_flops = 1e9,
              .efficiency = 1, .scatter = 1, .blocks = 7.0 * d->sms,
              .threads = 64, .regs = 132, .by_warps = true,
              .fill_us = 1};
    Cost c;

    cr_expect_eq(model_whole_room(d, w.threads, w.regs, 0), 6);
    model_cost(d, &w, &c);
    cr_expect_eq(c.latency, 2, "%g", c.latency);
    w.blocks = 6.0 * d->sms;
    model_cost(d, &w, &c);
    cr_expect_eq(c.latency, 1, "%g", c.latency);
    arena_free(a);
}

/* An SM gives registers to whole warps: one block of 154 threads fits with 208
 * each, as one of 160 does. */
Test(walk, registers_are_of_whole_warps)
{
    Arena *a = arena_new();
    const Device *d = device_find(a, "h200");
    Work w = {.pipe = PIPE_FMA, .flops = 1e9, .padded_flops = 1e9,
              .efficiency = 1, .scatter = 1, .blocks = 2.0 * d->sms,
              .threads = 154, .regs = 208, .by_warps = true};
    Cost part, whole;

    model_cost(d, &w, &part);
    w.threads = 160;
    model_cost(d, &w, &whole);
    cr_expect_geq(part.us, whole.us, "%g, %g", part.us, whole.us);
    arena_free(a);
}
