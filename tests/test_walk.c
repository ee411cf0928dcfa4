/* test_walk.c - what the model says of windows that a thread walks down. */
#include "compiler/family/family.h"
#include "compiler/group/fuse.h"
#include "models.h"

/* 5x5 over 14 x 14 pixels of 672 channels: products take the time. */
static const void *opened(Fixture *f, const Options *o)
{
    Graph *g = lowered(
        f, "model m { input x : f16[256, 14, 14, 672]; "
           "input w : f16[5, 5, 672]; "
           "output y[n, p in 0..14, q in 0..14, c] : f16 = sum(r, s) "
           "(x[n, p + r - 2, q + s - 2, c] or 0) * w[r, s, c]; }");
    const char *why;

    simplified(g);
    normalise(g);
    return family_map.open(g, group_of(g, g->stmt[0]), o, &why);
}

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
    b->form = opened(&b->f, &b->o);
    b->bare = opened(&b->f, &b->without);
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
              .threads = 64, .regs = 132, .fill_us = 1};
    Cost c;

    cr_expect_eq(model_room(d, w.threads, w.regs, 0), 6);
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
              .threads = 154, .regs = 208};
    Cost part, whole;

    model_cost(d, &w, &part);
    w.threads = 160;
    model_cost(d, &w, &whole);
    cr_expect_geq(part.us, whole.us, "%g, %g", part.us, whole.us);
    arena_free(a);
}
