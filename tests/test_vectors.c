/* test_vectors.c - which variants the model takes, of what users write. */
#include "models.h"

/* The first kernel's variant has these words. */
static void expect(const char *words, const char *text)
{
    Fixture f = fixture();
    CompileOptions o = compile_options(&f);
    CudaProgram *p = compiled_body(&f, text, &o);

    cr_expect(strstr(p->run[0].kernel->variant, words), "%s: %s, not %s", text,
              p->run[0].kernel->variant, words);
    arena_free(f.arena);
}

/* Rows that end inside vectors, one behind the other, are taken as one; and a
 * thread's elements are one store of the widest type. */
Test(variants, vectors)
{
    expect("vec=4", "input x : f16[64, 768, 14, 14]; m[n, h, w] : f32 ="
                    " max(c) x[n, c, h, w];"
                    " output y[n, c, h, w] = x[n, c, h, w] - m[n, h, w];");
    expect("vec=8", "input x : f16[32, 512, 28, 28];"
                    " output y[n, h, w, c] = x[n, c, h, w];");
    expect("vec=8", "input x : f16[32, 512, 28, 28]; param g : f16[512];"
                    " output y[n, c, h, w] = x[n, c, h, w] * g[c];");
    expect("vec=4", "input x : f16[8, 64, 64, 320]; input m : f32[8, 32];"
                    " output y[n, h, w, c] = x[n, h, w, c] - m[n, c / 10];");
    expect("vec=4", "input x : f16[32768, 512];"
                    " output y : f32[32768, 512] = x;");
    expect("held=1", "input x : f16[1024, 50257];"
                     " output y = log_softmax(x);");
    expect("vec=8", "input x : f16[1024, 50257];"
                    " output y = log_softmax(x);");
}

/* What is turned by a quarter lies backwards in what it reads. */
Test(variants, quarter)
{
    expect("out=", "input x : f32[64, 512, 512];"
                   " output y[n, i in 0..512, j in 0..512] ="
                   " x[n, j, 511 - i];");
}

/* Colours, and coordinates, are rows too short for vectors, which go along the
 * index before. */
Test(variants, short_rows)
{
    expect("vec=8", "input x : f16[64, 224, 224, 3]; param m : f32[3];"
                    " output y[n, i, j, c] : f16 = x[n, i, j, c] - m[c];");
    expect("vec=4", "input p : f32[900000, 3]; output y[n, i in 0..3] ="
                    " p[n, (i + 1) % 3] * p[n, i];");
}

/* Few columns are beside many rows' sums what a tile leaves empty. */
Test(variants, few_columns)
{
    expect("bn=32", "input a : f16[65536, 512]; input b : f16[8, 512];"
                    " output y = linear(a, b);");
}

/* Single elements of which the neighbours are of another product take a sector
 * each, as in a long convolution of every channel: no tiles of them. */
Test(variants, elements_among_others)
{
    Fixture f = fixture();
    CompileOptions o = compile_options(&f);
    Report r = {0};
    CudaProgram *p = compiled(
        &f,
        "model m { input k : f16[1024, 256]; input g : f16[8, 1024, 256];"
        " output y[b, s in 0..1024, d] ="
        " sum(j in 0..s + 1) (k[s - j, d] or 0) * g[b, j, d]; }",
        &r, &o);

    cr_assert(p, "%s", diag_text(f.diag));
    cr_expect_str_eq(p->run[p->n_run - 1].kernel->family, "reduce");
    arena_free(f.arena);
}

/* A product by windows of an image takes its rows as the image has them, so
 * that the norm of these is taken there as any other's. */
Test(variants, rows_of_windows)
{
    Fixture f = fixture();
    CompileOptions o = compile_options(&f);
    Report r = {0};
    CudaProgram *p = compiled(
        &f,
        "model m { input x : f16[2, 28, 28, 192]; param v : f16[192, 192];"
        " param w : f16[576, 192]; param g : f16[192]; param b : f16[192];"
        " h = linear(x, v) + x; t = layer_norm(h, g, b);"
        " u[n, a in 0..4, r in 0..4, m in 0..49, c] ="
        " t[n, a * 7 + m / 7, r * 7 + m % 7, c];"
        " output z = h; output y = linear(u, w); }",
        &r, &o);

    cr_assert(p, "%s", diag_text(f.diag));
    cr_expect_eq(p->n_run, 2, "%d launches", p->n_run);
    arena_free(f.arena);
}

/* What data pick is read as often as they do, at most all there is: matrices of
 * four rows' own among eight, and one element of each row. */
Test(variants, what_data_pick)
{
    static const struct {
        const char *text;
        double least, most; /* bytes */
    } t[] = {
        {"input x : f16[4, 512]; input id : i32[4] in 0..8;"
         " param w : f16[8, 1024, 512];"
         " output y[b, f] = sum(d) x[b, d] * w[id[b], f, d];",
         4 * 1024 * 512 * 2, 5 * 1024 * 512 * 2},
        {"input x : f32[4096, 512]; input at : i32[4096] in 0..512;"
         " output y[i] = x[i, at[i]];",
         4096 * 4, 4096 * 40},
    };

    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        Fixture f = fixture();
        CompileOptions o = compile_options(&f);
        Report r = {0};
        CudaProgram *p = compiled(
            &f, arena_printf(f.arena, "model m { %s }", t[i].text), &r, &o);
        double bytes = p ? p->run[0].kernel->bytes : 0;
        cr_expect(bytes >= t[i].least && bytes <= t[i].most, "%s: %g bytes",
                  t[i].text, bytes);
        arena_free(f.arena);
    }
}

/* Parts that alternate in memory are one launch, and a thread's elements one
 * store, whoever reads what; and those that it reads one load. */
Test(variants, woven)
{
    static const char *const text[][2] = {
        {"input a : f16[512, 1024]; input b : f16[512, 1024];"
         " y[i, 2 * j] = a[i, j]; y[i, 2 * j + 1] = b[i, j]; output y;",
         "y_frag[2 * v + 1] ="},
        {"input a : u8[512, 1024]; y[i, j, 0] : f32 = a[i, j] * 0.1;"
         " y[i, j, 2] : f32 = a[i, j] * 0.2;"
         " y[i, j, 1] : f32 = a[i, j] * 0.3; output y;",
         "y_frag[3 * v + 1] ="},
        {"input a : f32[512]; input b : f32[2048, 4]; output y[i, j] ="
         " max(a[i], b[j, 3]) * b[j, 0] - b[j, 1];",
         "b_frag[4 * v + 3]"}};

    for (int i = 0; i < 3; i++) {
        Fixture f = fixture();
        CompileOptions o = compile_options(&f);
        CudaProgram *p = compiled_body(&f, text[i][0], &o);
        Buf b = {0};
        emit_kernel(&b, p, p->run[0].kernel);
        cr_expect_eq(p->n_run, 1);
        cr_expect(strstr(buf_text(&b), text[i][1]), "%s", buf_text(&b));
        buf_free(&b);
        arena_free(f.arena);
    }
}

/* Results whose pieces a norm sums are kept beside their sums: a tile's next
 * products wait where others write to their registers. */
Test(variants, kept_results)
{
    Fixture f = fixture();
    CompileOptions o = compile_options(&f);
    Buf b = {0};
    CudaProgram *p = compiled_body(
        &f,
        "input x : f16[131072, 96]; param w : f16[48, 96]; param g : f16[48];"
        " param b : f16[48]; param v : f16[144, 48]; h = linear(x, w);"
        " output s = h; output y = linear(layer_norm(h, g, b), v);",
        &o);

    emit_kernel(&b, p, p->run[0].kernel);
    cr_expect(strstr(buf_text(&b), "dcc_piece_sum"), "%s", buf_text(&b));
    cr_expect(strstr(buf_text(&b), "kept[i / 2]"), "%s", buf_text(&b));
    buf_free(&b);
    arena_free(f.arena);
}

/* Few rows that data add up, as a product with ones and zeros. */
Test(variants, rows_added_up)
{
    Fixture f = fixture();
    CompileOptions o = compile_options(&f);
    CudaProgram *p = compiled_body(
        &f,
        "input x : f16[65536, 128]; input s : i32[65536] in 0..32;"
        " y : f32[32, 128] = 0; y[s[n], d] += f32(x[n, d]); output y;", &o);

    cr_expect_str_eq(p->run[p->n_run - 1].kernel->family, "contract_mma");
    arena_free(f.arena);
}

/* Where rows' values are is read once a row, ahead of the products as they
 * are themselves. */
Test(variants, rows_that_data_name)
{
    Fixture f = fixture();
    CompileOptions o = compile_options(&f);
    Buf b = {0};
    CudaProgram *p = compiled_body(
        &f,
        "input x : f16[4096, 768]; param w : f16[768, 768];"
        " input ids : i32[4096] in 0..512; input t : f16[512, 768];"
        " h = linear(x, w); output y[i, j] = h[i, j] + t[ids[i], j];",
        &o);

    emit_kernel(&b, p, p->run[0].kernel);
    const char *text = buf_text(&b), *read = strstr(text, "ids_own[i] = ids[");
    const char *value = strstr(text, "768 * ids_own[i]");
    cr_expect(read && value && value < strstr(text, "dcc_wgmma_fence"), "%s",
              text);
    buf_free(&b);
    arena_free(f.arena);
}

/* A row's last vector, which ends in padding, is apart from those that lanes
 * add up unasked; powers of e are the instruction's, for 16 bits alone; and
 * what a condition gives to one lane is loaded once. */
Test(variants, labels)
{
    static const char *const type[] = {"f16", "f32"};

    for (int i = 0; i < 2; i++) {
        Fixture f = fixture();
        CompileOptions o = compile_options(&f);
        Report r = {0};
        Buf b = {0};
        CudaProgram *p = compiled(
            &f,
            arena_printf(f.arena,
                         "model m { param x : %s[2048, 64];"
                         " param w : %s[20003, 64];"
                         " input t : i32[2048] in 0..20003; z = linear(x, w);"
                         " output loss = cross_entropy(z, t);"
                         " for v in params { v = v - grad(loss, v); } }",
                         type[i], type[i]),
            &r, &o);
        cr_assert(p, "%s", diag_text(f.diag));
        for (int k = 0; k < p->n_run; k++)
            if (!strcmp(p->run[k].kernel->family, "reduce"))
                emit_kernel(&b, p, p->run[k].kernel);
        const char *text = buf_text(&b);
        cr_expect(strstr(text, "j + VEC <= J;"), "%s", text);
        cr_expect(strstr(text, "// partly beyond the row"), "%s", text);
        cr_expect_eq(strstr(text, "dcc_ex2(") != NULL, i == 0, "%s", text);
        cr_expect_eq(strstr(text, "expf(") != NULL, i == 1, "%s", text);
        cr_expect(strstr(text, "const float d_loss_u_val = d_loss_u["), "%s",
                  text);
        buf_free(&b);
        arena_free(f.arena);
    }
}

/* So are both ends of a row that begins inside a vector. */
Test(variants, ends_of_rows)
{
    Fixture f = fixture();
    CompileOptions o = compile_options(&f);
    Buf b = {0};
    CudaProgram *p = compiled_body(
        &f, "input x : f16[1024, 50257]; output y = log_softmax(x);", &o);

    emit_kernel(&b, p, p->run[0].kernel);
    const char *text = buf_text(&b);
    cr_expect(strstr(text, "; d + VEC <= D; "), "%s", text);
    cr_expect(strstr(text, "if (mine && (d < 0 || d + VEC > D)) {"), "%s",
              text);
    buf_free(&b);
    arena_free(f.arena);
}
