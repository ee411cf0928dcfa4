/* test_windows.c - kernels of convolutions whose groups are one channel, or a
 * few, and of their gradients: threads that walk along windows, groups joined.
 */
#include "compiler/rewrite/shifts.h"
#include "models.h"
#include "compiler/search/explain.h"

/* What --explain says of a model. */
static const char *explained(Fixture *f, const char *text)
{
    CompileOptions o = compile_options(f);
    Report r = {0};
    CudaProgram *p =
        compiled(f, arena_printf(f->arena, "model m { %s }", text), &r, &o);
    Buf b = {0};

    cr_assert(p, "%s: %s", text, diag_text(f->diag));
    explain(&b, r.selection, p);
    return buf_take(&b, f->arena);
}

/* Some kernel is a walk of map's. */
static void expect_walk(const char *text)
{
    Fixture f = fixture();
    const char *said = explained(&f, text), *map = said;
    bool found = false;

    while (!found && (map = strstr(map, "\n    map, "))) {
        const char *rows = strstr(map, "rows="), *end = strchr(map + 1, '\n');
        found = rows && end && rows < end;
        map++;
    }
    cr_expect(found, "%s: no walk in\n%s", text, said);
    arena_free(f.arena);
}

Test(windows, that_go_on)
{
    expect_walk("input x : f16[32, 56, 56, 96]; param w : f16[3, 3, 96];"
                " output y[n, p in 0..56, q in 0..56, c] : f16 = sum(r, s)"
                " (x[n, p + r - 1, q + s - 1, c] or 0) * w[r, s, c];");
}

/* A data gradient's is the same window, seen from its other end. */
Test(windows, that_go_back)
{
    expect_walk("input d : f16[32, 56, 56, 96]; param w : f16[3, 3, 96];"
                " output g[n, p in 0..56, q in 0..56, c] : f16 = sum(r, s)"
                " (d[n, p - r + 1, q - s + 1, c] or 0) * w[r, s, c];");
    expect_walk("input d : f16[32, 56, 56, 96]; input w : f16[96, 1, 7, 7];"
                " output g[n, p in 0..56, q in 0..56, c] : f16 = sum(r, s)"
                " (d[n, p - r + 3, q - s + 3, c] or 0) * w[c, 0, r, s];");
}

/* Weights' gradients are sums of tiles, which are the taps there. */
Test(windows, of_tiles)
{
    expect_walk("input x : f16[32, 56, 56, 96]; input d : f16[32, 56, 56, 96];"
                " output g[c, r in 0..3, s in 0..3] : f32 = sum(n, p, q)"
                " (x[n, p + r - 1, q + s - 1, c] or 0) * d[n, p, q, c];");
}

/* A residual that a step scales by channel: what is summed over pixels for a
 * channel each lies along channels, as what made it does. */
Test(windows, lie_along_channels)
{
    Fixture f = fixture();
    CompileOptions o = compile_options(&f);
    Report r = {0};

    o.dump = "layout";
    compiled(&f,
             "model m { input x : f16[32, 96, 56, 56];"
             " param w : f16[96, 1, 7, 7]; param s : f16[96];"
             " param v : f16[96, 96]; input t : f16[32, 96, 56, 56];"
             " h = x; for l in 0..2 { y = conv2d(h, w, pad = 3, groups = 96);"
             " z[n, i, j, k] = sum(c) y[n, c, i, j] * v[k, c];"
             " h[n, c, i, j] = h[n, c, i, j] + s[c] * z[n, i, j, c]; }"
             " output loss = mse(h, t);"
             " for p in params { p = p - grad(loss * 64, p); } }",
             &r, &o);
    cr_expect(strstr(buf_text(&r.dump), "d_y : f16[32, 96, 56, 56] strides "
                                        "301056 1 5376 96"),
              "%s", buf_text(&r.dump));
    arena_free(f.arena);
}

/* What is written in pieces of its rows has padding behind them, too. */
Test(windows, of_concatenated_channels)
{
    Fixture f = fixture();
    CompileOptions o = compile_options(&f);
    Report r = {0};

    o.dump = "layout";
    compiled(&f,
             "model m { input x : f16[2, 40, 20, 20];"
             " param a : f16[45, 40, 1, 1]; param b : f16[48, 40, 1, 1];"
             " param w : f16[24, 93, 3, 3]; c = concat(relu(conv2d(x, a)),"
             " relu(conv2d(x, b)), axis = 1);"
             " output y = conv2d(c, w, pad = 1); }",
             &r, &o);
    cr_expect(strstr(buf_text(&r.dump), "c : f16[2, 93, 20, 20] strides "
                                        "38400 1 1920 96"),
              "%s", buf_text(&r.dump));
    arena_free(f.arena);
}

/* Channels that attend to each other want a window's results along pixels: it
 * runs along channels all the same, as its source lies. */
Test(windows, that_others_read_along_pixels)
{
    expect_walk("input x : f16[8, 48, 128, 128]; param a : f16[144, 48, 1, 1];"
                " param w : f16[144, 1, 3, 3]; d = conv2d(conv2d(x, a), w,"
                " pad = 1, groups = 144);"
                " p = reshape(d, shape = [8, 144, 16384]);"
                " output y[n, i, j] = sum(k) p[n, i, k] * p[n, j, k];");
}

/* Parts of rows, each of which is summed whole, are no windows. */
Test(windows, that_are_parts)
{
    Fixture f = fixture();
    CompileOptions o = compile_options(&f);
    Report r = {0};

    o.dump = "layout";
    compiled(&f,
             "model m { input x : f16[8, 10, 128, 128];"
             " p = reshape(max_pool(x, kernel = 3, stride = 1, pad = 1),"
             " shape = [8, 10, 32, 512]); n[i, j, g, k] : i32[8, 10, 32, 512]"
             " = sum(r in 0..512) (p[i, j, g, r] > p[i, j, g, k]);"
             " output v[i, j, g, k] : f16[8, 10, 32, 4] = sum(r)"
             " (n[i, j, g, r] == k ? p[i, j, g, r] : 0); }",
             &r, &o);
    cr_expect(strstr(buf_text(&r.dump), "n : i32[8, 10, 32, 512] strides "
                                        "163840 16384 512 1"),
              "%s", buf_text(&r.dump));
    arena_free(f.arena);
}

/* Distances of all pairs of points (AlphaFold's) run along points, as these
 * lie, though there are far more pairs than points. */
Test(windows, beside_pairs_of_points)
{
    Fixture f = fixture();
    CompileOptions o = compile_options(&f);
    Report r = {0};

    o.dump = "layout";
    compiled(
        &f,
        "model m { input x : f16[1, 256, 384]; input r : f16[1, 256, 3, 3];"
        " param a : f16[144, 384];"
        " p = reshape(linear(x, a), shape = [1, 256, 12, 4, 3]);"
        " u[n, i, h, q, e] = sum(j) r[n, i, e, j] * p[n, i, h, q, j];"
        " d = reshape(u, shape = [1, 256, 1, 12, 4, 3]) -"
        " reshape(u, shape = [1, 1, 256, 12, 4, 3]);"
        " output y = softmax(sum(sum(d * d, axis = -1), axis = -1),"
        " axis = 2); }",
        &r, &o);
    cr_expect(strstr(buf_text(&r.dump), " d : f16[1, 256, 256, 12, 4, 3] "
                                        "strides 9437184 36864 1 3072 768 256"),
              "%s", buf_text(&r.dump));
    arena_free(f.arena);
}

/* Small groups beside each other are one product, also of weights that the step
 * trains: ahead and back. */
Test(windows, of_small_groups)
{
    Fixture f = fixture();
    const char *at = explained(
        &f, "input x : f16[32, 128, 56, 56]; param a : f16[128, 128, 1, 1];"
            " param w : f16[128, 4, 3, 3]; input t : f16[32, 128, 56, 56];"
            " h = relu(conv2d(x, a));"
            " output loss = mse(conv2d(h, w, pad = 1, groups = 32), t);"
            " for p in params { p = p - grad(loss * 64, p); }");
    int n = 0;

    while ((at = strstr(at, "\n    contract_wgmma, "))) {
        n++;
        at++;
    }
    cr_expect(n >= 4, "%d products by wgmma", n);
    arena_free(f.arena);
}

/* Statements of products of single taps. */
static int taps(const char *body)
{
    Fixture f = fixture();
    Graph *g = lowered(&f, arena_printf(f.arena, "model m { %s }", body));
    int n = 0;

    simplified(g);
    normalise(g);
    split_shifts(g);
    for (int i = 0; i < g->n_tensor; i++)
        n += strstr(g->tensor[i]->name, "_taps") != NULL;
    arena_free(f.arena);
    return n;
}

/* A head's few channels are sums of shifts, those that go on are not. */
Test(shifts, few_columns)
{
    cr_expect_eq(taps("input x : f16[1, 256, 32, 32];"
                      " param w : f16[17, 256, 3, 3];"
                      " output y = sigmoid(conv2d(x, w, pad = 1));"), 1);
    cr_expect_eq(taps("input x : f16[1, 256, 32, 32];"
                      " param w : f16[17, 256, 3, 3]; param v : f16[64, 17];"
                      " h = relu(conv2d(x, w, pad = 1));"
                      " output y[k, p, q] = sum(c) h[0, c, p, q] * v[k, c];"),
                 0);
    cr_expect_eq(taps("input x : f16[1, 256, 32, 32];"
                      " param w : f16[28, 256, 3, 3];"
                      " output y = conv2d(x, w, pad = 1);"), 0);
}
