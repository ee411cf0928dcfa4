/* test_row_sums.c - sums over the rows of products: whether their kernels leave
 * pieces of them; and what walks pixels: windows in reverse, and sums over
 * pixels that lie apart. That they are right, numeric/row_sums.dcl shows. */
#include "models.h"

#include "group/norm.h"

/* Kernels of a run's that leave sums over their rows. */
static int with_row_sums(const char *text)
{
    Fixture f = fixture();
    CompileOptions o = compile_options(&f);
    CudaProgram *p = compiled_body(&f, text, &o);
    int n = 0;

    for (int i = 0; i < p->n_run; i++)
        n += p->run[i].group->pieces && p->run[i].group->pieces->down;
    arena_free(f.arena);
    return n;
}

Test(row_sums, products)
{
    /* a batch norm's moments, of rows that are one number or pixels */
    cr_expect_eq(
        with_row_sums("input x : f16[25088, 64]; param w : f16[64, 64];"
                      " param g : f16[64]; param b : f16[64];"
                      " output y = batch_norm_train(linear(x, w), g, b);"),
        1);
    cr_expect_eq(
        with_row_sums(
            "input x : f16[32, 64, 28, 28]; param w : f16[64, 64, 3, 3];"
            " param g : f16[64]; param b : f16[64];"
            " output y = batch_norm_train(conv2d(x, w, pad = 1), g, b);"),
        1);
    /* and gradients: two norms' forwards, and the inner one's back */
    cr_expect_eq(
        with_row_sums(
            "input x : f16[32, 64, 28, 28]; input t : f16[32, 64, 28, 28];"
            " param w : f16[64, 64, 3, 3]; param v : f16[64, 64, 3, 3];"
            " param g : f16[64]; param b : f16[64];"
            " h = relu(batch_norm_train(conv2d(x, w, pad = 1), g, b));"
            " z = conv2d(h, v, pad = 1);"
            " l[] : f32 = mean(n, k, p, q) f32(z[n, k, p, q]) * t[n, k, p, q];"
            " output d = grad(l, g); output e = grad(l, b);"),
        2);
    /* with what a row has one of, as a layer norm's factors' gradients */
    cr_expect_eq(
        with_row_sums(
            "input x : f16[8192, 512]; param w : f16[512, 512];"
            " input z : f16[8192, 512]; input m : f32[8192];"
            " output d = linear(x, w); output s[j] : f32 ="
            " sum(i) d[i, j] * ((f32(z[i, j]) - m[i]) * rsqrt(m[i]));"),
        1);
    /* columns that are no whole lines of a tile; f32 results */
    cr_expect_eq(
        with_row_sums(
            "input x : f16[25088, 64]; param w : f16[72, 64];"
            " output y = linear(x, w); output s[j] : f32 = sum(i) y[i, j];"),
        0);
    cr_expect_eq(
        with_row_sums("input x : f16[25088, 64]; param w : f16[64, 64];"
                      " output y[i, j] : f32 = sum(k) x[i, k] * w[j, k];"
                      " output s[j] : f32 = sum(i) y[i, j];"),
        0);
}

/* Two sums are tried, and both taken: the first one's statements stay its own,
 * and a plan that is written names each in one group. */
Test(row_sums, statements)
{
    Fixture f = fixture();
    CompileOptions o = compile_options(&f);
    CudaProgram *p = compiled_body(
        &f,
        "input d : f16[6272, 256]; input r : f16[6272, 1024];"
        " input a : f16[6272, 1024]; param w : f16[256, 1024];"
        " input h : f16[6272, 1024]; param u : f32[1024];"
        " t[m, n] : f32 = sum(k) d[m, k] * w[k, n];"
        " output y[m, n] : f16 = h[m, n] > 0 ? t[m, n] + r[m, n] : 0;"
        " output s[n] : f32 = sum(m) y[m, n];"
        " output v[n] : f32 = sum(m) y[m, n] * (a[m, n] - u[n]);",
        &o);
    int pieces = 0;

    for (int i = 0; i < p->n_run; i++) {
        const Group *gr = p->run[i].group;
        pieces += gr->pieces ? gr->pieces->n_step : 0;
        for (int k = 0; k < gr->n_stmt; k++)
            for (int j = 0; j < k; j++)
                cr_expect_neq(gr->stmt[j], gr->stmt[k], "%s",
                              gr->stmt[k]->path);
    }
    cr_expect_eq(pieces, 2);
    arena_free(f.arena);
}

/* Maps of a run's that walk pixels. */
static int walks(const char *text)
{
    Fixture f = fixture();
    CompileOptions o = compile_options(&f);
    CudaProgram *p = compiled_body(&f, text, &o);
    int n = 0;

    for (int i = 0; i < p->n_run; i++) {
        const Kernel *k = p->run[i].group->kernel;
        for (int m = 0; m < k->n_map; m++)
            n += k->map[m].pixels > 0;
    }
    arena_free(f.arena);
    return n;
}

Test(row_sums, windows_in_reverse)
{
    cr_expect_eq(
        walks("input x : f16[32, 28, 28, 64]; param w : f16[3, 3, 64, 64];"
              " output y[n, p in 0..28, q in 0..28, c] : f16 = sum(r, s, k)"
              " (x[n, p - r + 1, q - s + 1, k] or 0) * w[r, s, k, c];"),
        1);
    cr_expect_eq(
        walks("input x : f16[32, 28, 28, 64]; param w : f16[3, 3, 64, 64];"
              " output y[n, p in 0..28, q in 0..28, c] : f16 = sum(r, s, k)"
              " (x[n, p - r + 1, q + s - 1, k] or 0) * w[r, s, k, c];"),
        1);
}

/* Rows of few pixels that are every other one's in memory: steps of a row each
 * would be mostly empty. */
Test(row_sums, sums_over_pixels_apart)
{
    cr_expect_eq(walks("input d : f16[32, 7, 7, 256]; input x : f16[32, 14, 14, 128];"
                       " output w[k, c] : f32 = sum(n, p, q)"
                       " d[n, p, q, k] * x[n, 2 * p, 2 * q, c];"),
                 1);
}
