/* test_ends.c - inputs and outputs that lie otherwise than kernels want. */
#include "compiler/rewrite/astride.h"
#include "compiler/rewrite/ends.h"
#include "models.h"

/* How many inputs and outputs are offered as copies, and how many launches
 * there are behind the choice. */
static void expect(int copies, int launches, const char *body)
{
    Fixture f = fixture();
    const char *text = arena_printf(f.arena, "model m { %s }", body);
    Graph *g = lowered(&f, text);

    simplified(g);
    normalise(g);
    int n = copy_ends(g);
    cr_expect_eq(n, copies, "%s: %d copies, not %d", body, n, copies);
    CompileOptions o = compile_options(&f);
    Report r = {0};
    CudaProgram *p = compiled(&f, text, &r, &o);
    cr_assert(p, "%s: %s", body, diag_text(f.diag));
    cr_expect_eq(p->n_run, launches, "%s: %d launches, not %d", body,
                 p->n_run, launches);
    arena_free(f.arena);
}

/* Channels that are summed, or that windows walk along, are made neighbours
 * once, ahead of the kernel and behind it. */
Test(ends, channels_first)
{
    Fixture f = fixture();

    expect(2, 3,
           "input x : f16[32, 256, 14, 14]; param w : f16[256, 256, 3, 3];"
           " output y = relu(conv2d(x, w, pad = 1));");
    expect(2, 3, "input x : f16[16, 256, 2048]; param w : f16[512, 256, 5];"
                 " output y = relu(conv1d(x, w, pad = 2));");
    expect(2, 3, "input x : f16[32, 128, 57, 57]; param w : f16[128, 1, 7, 7];"
                 " output y = relu(conv2d(x, w, pad = 3, groups = 128));");
    /* rows of whole vectors are taken as they lie (map_line.c) */
    for (int k = 3; k <= 7; k += 2)
        expect(2, 1,
               arena_printf(f.arena,
                            "input x : f16[32, 128, 56, 56];"
                            " param w : f16[128, 1, %d, %d]; output y ="
                            " relu(conv2d(x, w, pad = %d, groups = 128));",
                            k, k, k / 2));
    expect(2, 1, "input x : f16[16, 512, 1600]; param w : f16[512, 1, 31];"
                 " output y = conv1d(x, w, pad = 15, groups = 512);");
    /* and so are those of windows' own results */
    expect(2, 3, "input x : f16[16, 256, 20, 20];"
                 " a = max_pool(x, kernel = 5, stride = 1, pad = 2);"
                 " b = max_pool(a, kernel = 5, stride = 1, pad = 2);"
                 " output y = max_pool(b, kernel = 5, stride = 1, pad = 2);");
    expect(2, 4, "input x : f16[8, 128, 28, 28];"
                 " param w : f16[128, 128, 3, 3];"
                 " param v : f16[128, 128, 3, 3];"
                 " h = relu(conv2d(x, w, pad = 1));"
                 " output y = relu(conv2d(h, v, pad = 1) + x);");
    arena_free(f.arena);
}

/* An attention's queries and keys that lie along its rows, and results that
 * do, are copied for the chain that wants them along heads' columns. */
Test(ends, of_chains)
{
    expect(3, 4,
           "input q : f16[8, 12, 64, 512]; input k : f16[8, 12, 64, 512];"
           " input v : f16[8, 12, 64, 512]; s[b, h, i, j] : f32 ="
           " sum(d) q[b, h, d, i] * k[b, h, d, j] * 0.125;"
           " p : f16 = softmax(s); output o[b, h, d, i] ="
           " sum(j) p[b, h, i, j] * v[b, h, d, j];");
    expect(1, 2,
           "input q : f16[8, 12, 512, 64]; input k : f16[8, 12, 64, 512];"
           " input v : f16[8, 12, 64, 512]; s[b, h, i, j] : f32 ="
           " sum(d) q[b, h, i, d] * k[b, h, d, j] * 0.125;"
           " p = softmax(s); output o[b, h, i, d] : f16 ="
           " sum(j) p[b, h, i, j] * v[b, h, d, j];");
    /* no scores: products take both as they lie */
    expect(0, 1, "input q : f16[8, 64, 512]; input k : f16[8, 64, 512];"
                 " output s[b, i, j] = sum(d) q[b, d, i] * k[b, d, j];");
}

/* Rows that do not end with a whole vector get one, for products that take many
 * of them. */
Test(ends, ragged_rows)
{
    expect(2, 3, "input a : f16[1000, 777]; input b : f16[777, 1333];"
                 " output c = matmul(a, b);");
    expect(1, 1, "input a : f16[8192, 1001]; output c = softmax(a);");
}

/* The copy is stored by whole vectors, into the padding behind its rows. */
Test(ends, ragged_rows_by_vectors)
{
    Fixture f = fixture();
    CompileOptions o = compile_options(&f);
    Report r = {0};
    CudaProgram *p = compiled(
        &f,
        "model m { input x : f16[1000, 1333]; input w : f16[777, 1333];"
        " output y[i, j] = sum(k) x[i, k] * w[j, k]; }",
        &r, &o);

    cr_assert(p && p->n_run == 3, "%s", diag_text(f.diag));
    for (int i = 0; i < 2; i++)
        cr_expect(strstr(p->run[i].kernel->variant, "vec=8"), "%s",
                  p->run[i].kernel->variant);
    arena_free(f.arena);
}

/* Patches that a product takes apart from each other lie in runs that no copy
 * engine takes: they go into rows of their own first, where that is quicker. */
Test(ends, patches)
{
    expect(1, 2, "input x : f16[32, 3, 224, 224]; param w : f16[768, 3, 16, 16];"
                 " output y = conv2d(x, w, stride = 16);");
    expect(0, 2, "input x : f16[32, 3, 224, 224]; param w : f16[768, 768];"
                 " t[n, p in 0..196, e in 0..768] = x[n, e % 3,"
                 " p / 14 * 16 + e / 48, p % 14 * 16 + e / 3 % 16];"
                 " output y = linear(t, w);");
    expect(0, 1, "input x : f16[2, 3, 32, 32]; param w : f16[768, 768];"
                 " t[n, p in 0..4, e in 0..768] = x[n, e % 3,"
                 " p / 2 * 16 + e / 48, p % 2 * 16 + e / 3 % 16];"
                 " output y = linear(t, w);");
}

/* Few channels are read as they lie; where nothing is summed, or lies as it is
 * wanted, there is nothing to copy; and what is copied may cost more. */
Test(ends, as_declared)
{
    expect(1, 1,
           "input x : f16[8, 3, 224, 224]; param w : f16[64, 3, 7, 7];"
           " output y = relu(conv2d(x, w, stride = 2, pad = 3));");
    expect(0, 1, "input x : f16[512, 768]; param w : f16[768, 768];"
                 " output y = linear(x, w);");
    expect(0, 1, "input x : f16[8, 64, 56, 56]; output y = relu(x) * 2;");
    expect(0, 1, "input x : f16[8, 64, 56, 56];"
                 " output y[n, c] = mean(i, j) x[n, c, i, j];");
}

/* How many intermediate results are tensors of their own, other than the one
 * that is read. */
static int astride(Fixture *f, const char *body)
{
    Graph *g = lowered(f, arena_printf(f->arena, "model m { %s }", body));
    int n = 0;

    simplified(g);
    normalise(g);
    copy_astride(g);
    for (int i = 0; i < g->n_tensor; i++)
        n += g->tensor[i]->astride;
    return n;
}

/* Results that are neighbours of a batch lie along their rows, and what reads
 * them has a copy, or all of a norm is the copy. */
Test(ends, along_a_batch)
{
    static const char head[] =
        "dim N = 128; input a : f16[2, N, N, N]; input b : f16[2, N, N, N];"
        " param w : f16[N, N];";
    Fixture f = fixture();
    const char *norm = arena_printf(
        f.arena, "%s t[n, i, j, c] = sum(k) a[n, i, c, k] * b[n, j, c, k];"
                 " output y = linear(layer_norm(t), w);", head);

    cr_expect_eq(astride(&f, norm), 1);
    expect(0, 4, norm);
    cr_expect_eq(astride(&f, arena_printf(
        f.arena, "%s t[n, i, j, c] : f32 = sum(k) a[n, i, c, k] *"
                 " b[n, j, c, k]; u : f16 = t * 2; output y = linear(u, w);",
        head)), 1);
    /* along its own columns it is as it should be */
    cr_expect_eq(astride(&f, arena_printf(
        f.arena, "%s t[n, i, c, j] = sum(k) a[n, i, c, k] * b[n, j, c, k];"
                 " output y = linear(layer_norm(t), w);", head)), 0);
    /* a sum for each channel has no rows */
    cr_expect_eq(astride(&f, arena_printf(
        f.arena, "%s t[n, i, c] = sum(k) a[n, i, c, k] * b[n, i, c, k];"
                 " output y = linear(layer_norm(t), w);", head)), 0);
    arena_free(f.arena);
}
