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

/* Of what is not hidden behind the limit, that limit is none: where products
 * are, it is a part of the memory's time and of the copies'. */
Test(walk, products_are_not_beside_themselves)
{
    Fixture f = fixture();
    Device *d = arena_new_of(f.arena, Device), *none;
    Options o = {.device = d}, without;
    Variant *v;
    int walks = 0;

    *d = *device_find(f.arena, "h200");
    none = arena_new_of(f.arena, Device);
    *none = *d;
    none->beside = 0;
    without = (Options){.device = none};
    const void *form = opened(&f, &o), *other = opened(&f, &without);
    cr_assert(form && other);
    int n = family_map.space(form, &v);
    for (int i = 0; i < n; i++) {
        Cost c, bare;
        if (!strstr(v[i].text, "rows=") || strstr(v[i].text, "bands="))
            continue;
        family_map.cost(form, &v[i], &c);
        family_map.cost(other, &v[i], &bare);
        if (c.why || strcmp(c.limiter, "FMA"))
            continue;
        walks++;
        cr_expect_leq(c.us - bare.us,
                      d->beside * (bare.hbm + bare.l2 + bare.smem) + 1e-6,
                      "%s: %g for %g", v[i].text, c.us, bare.us);
    }
    cr_assert_gt(walks, 10);
    arena_free(f.arena);
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
