/* test_picks.c - variants that an H200 measured as much slower than others are
 * not what the model picks, and families that it measured are open. */
#include "models.h"

#include "compiler/emit/kernel.h"

static void expect_by(int math, const char *text, const char *family,
                      const char *words, const char *without)
{
    Fixture f = fixture();
    CompileOptions o = compile_options(&f);
    Report r = {0};

    o.model.math = math;
    CudaProgram *p = compiled(
        &f, arena_printf(f.arena, "model m { %s }", text), &r, &o);
    cr_assert(p, "%s: %s", text, diag_text(f.diag));
    const Kernel *k = p->run[p->n_run - 1].kernel;
    cr_expect_str_eq(k->family, family, "%s: %s", text, k->family);
    cr_expect(strstr(k->variant, words), "%s: %s", text, k->variant);
    cr_expect(!without || !strstr(k->variant, without), "%s: %s", text,
              k->variant);
    arena_free(f.arena);
}

static void expect_pick(const char *text, const char *family,
                        const char *words, const char *without)
{
    expect_by(MATH_EXACT, text, family, words, without);
}

/* Factors that lie across the sum need no copies along it; few rows of many
 * terms are columns. */
Test(picks, weight_gradients_of_f32)
{
    expect_by(MATH_3XTF32,
              "input x : f32[32, 56, 56, 64]; input d : f32[32, 56, 56, 64];"
              " output y[k in 0..64, r in 0..3, s in 0..3, c] = sum(n, p, q)"
              " d[n, p, q, k] * (x[n, p + r - 1, q + s - 1, c] or 0);",
              "contract_wgmma", "bm=192 bn=64", NULL);
    expect_by(MATH_3XTF32,
              "input a : f32[4096, 512]; input b : f32[4096, 768];"
              " output y[i, j] = sum(k) a[k, i] * b[k, j];",
              "contract_wgmma", "", NULL);
}

/* Windows of few channels have the images along the sum. */
Test(picks, weight_gradient_of_first_channels)
{
    expect_by(MATH_3XTF32,
              "input x : f32[32, 3, 112, 112]; input d : f32[32, 56, 56, 64];"
              " output y[k, c in 0..3, r in 0..7, s in 0..7] = sum(n, p, q)"
              " (x[n, c, 2 * p + r - 3, 2 * q + s - 3] or 0) * d[n, p, q, k];",
              "contract_wgmma", "", NULL);
}

/* And of trained ones taps and channels are runs that TMA brings. */
Test(picks, first_channels_trained)
{
    Fixture f = fixture();
    CompileOptions o = compile_options(&f);
    Report r = {0};

    o.model.math = MATH_3XTF32;
    CudaProgram *p = compiled(
        &f, "model m { input x : f32[32, 3, 112, 112];"
            " param w : f32[64, 3, 7, 7];"
            " y = conv2d(x, w, stride = 2, pad = 3);"
            " loss[] = sum(n, k, p, q) y[n, k, p, q] * y[n, k, p, q];"
            " for v in params { v = v - 0.01 * grad(loss, v); }"
            " output loss; }", &r, &o);
    cr_assert(p, "%s", diag_text(f.diag));
    int products = 0;
    for (int i = 0; i < p->n_run; i++) {
        const char *family = p->run[i].kernel->family;
        cr_expect(strcmp(family, "contract_simt") &&
                  strcmp(family, "contract_mma"));
        products += !strcmp(family, "contract_wgmma");
    }
    cr_expect_eq(products, 2);
    arena_free(f.arena);
}

/* What blocks leave of a channel's sums is taken by few: not 256 blocks'. */
Test(picks, sums_of_channels)
{
    expect_pick("input d : f16[32, 14, 14, 64]; input y : f16[32, 14, 14, 64];"
                " a[c] : f32 = sum(n, p, q) f32(d[n, p, q, c]);"
                " b[c] : f32 = sum(n, p, q) f32(d[n, p, q, c])"
                " * f32(y[n, p, q, c]); output o[c] = a[c] + b[c];",
                "reduce", "share=8 parts=64", NULL);
}

/* A window's taps are columns of a product over pixels, as images are none. */
Test(picks, weight_gradient_of_a_convolution)
{
    expect_pick(
        "input x : f16[32, 28, 28, 128]; input d : f16[32, 28, 28, 128];"
        " output y[k in 0..128, r in 0..3, s in 0..3, c] : f16 = sum(n, p, q)"
        " d[n, p, q, k] * (x[n, p + r - 1, q + s - 1, c] or 0);",
        "contract_wgmma", "", NULL);
}

/* Each tile's residual comes from memory: a lone warpgroup waits for it. */
Test(picks, rows_from_memory)
{
    expect_pick("input x : f16[100352, 64]; param w : f16[64, 256];"
                " input r : f16[100352, 256]; input h : f16[100352, 256];"
                " output y[i, j] : f16 = h[i, j] > 0"
                " ? r[i, j] + (sum(k) x[i, k] * w[k, j]) : 0;",
                "contract_wgmma", "consumers=2", NULL);
    expect_pick("input x : f16[25088, 128]; param w : f16[128, 512];"
                " input r : f16[25088, 512]; input h : f16[25088, 512];"
                " output y[i, j] : f16 = h[i, j] > 0"
                " ? r[i, j] + (sum(k) x[i, k] * w[k, j]) : 0;",
                "contract_wgmma", "bm=128", NULL);
}

/* The maps of a lone product's kernel: two of its factors. */
static int maps(const char *text)
{
    Fixture f = fixture();
    CompileOptions o = compile_options(&f);
    CudaProgram *p = compiled_body(&f, text, &o);
    int n = p->run[0].kernel->n_map;

    arena_free(f.arena);
    return n;
}

/* What results read at their own places comes by TMA; not what is read at
 * others, too. */
Test(picks, inputs_of_results)
{
    cr_expect_eq(maps("input x : f16[25088, 128]; param w : f16[128, 512];"
                      " input r : f16[25088, 512]; input h : f16[25088, 512];"
                      " output y[i, j] : f16 = h[i, j] > 0"
                      " ? r[i, j] + (sum(k) x[i, k] * w[k, j]) : 0;"),
                 4);
    cr_expect_eq(maps("input x : f16[25088, 128]; param w : f16[128, 512];"
                      " input r : f16[25088, 512]; input h : f16[25088, 512];"
                      " output y[i, j] : f16 = h[i, 511 - j] > 0"
                      " ? r[i, j] + (sum(k) x[i, k] * w[k, j]) : h[i, j];"),
                 3);
}

static const char *product(Arena *a, int m, int n, int k)
{
    return arena_printf(a, "input x : f16[%d, %d]; input w : f16[%d, %d];"
                           " output y[i, j] = sum(k) x[i, k] * w[j, k];",
                        m, k, n, k);
}

/* One round of tiles that rows of any number fit, in clusters where rows begin
 * amid lines; no lone warpgroup turns boxes between several tiles. */
Test(picks, ragged_products)
{
    Fixture f = fixture();

    expect_pick(product(f.arena, 2392, 1872, 2544), "contract_wgmma_turned",
                "bm=192 bn=184", NULL);
    expect_pick(product(f.arena, 1832, 2096, 1496), "contract_wgmma_turned",
                "bm=192 bn=160", "across=");
    expect_pick(product(f.arena, 4112, 640, 1000), "contract_wgmma",
                "bm=128 bn=160 stages=6 consumers=2 schedule=cooperative"
                " cluster=2 split=1 across", NULL);
    expect_pick(product(f.arena, 394, 6144, 960), "contract_wgmma_turned",
                "consumers=2", NULL);
    expect_pick("input x : f16[64, 256, 784]; output y[b, i, j] : f16 ="
                " (sum(p) x[b, i, p] * x[b, j, p]) / 784.0;",
                "contract_wgmma", "bm=256 bn=128", NULL);
    arena_free(f.arena);
}

/* Rows of a window that wait for slots which others had twice, and those of a
 * block that nothing is beside. */
Test(picks, bands_of_windows)
{
    Fixture f = fixture();
    static const char text[] =
        "input x : f16[128, %d, %d, %d]; input w : f16[3, 3, %d];"
        " output y[n, p in 0..%d, q in 0..%d, c] = sum(r, s)"
        " (x[n, p + r - 1, q + s - 1, c] or 0) * w[r, s, c];";

    expect_pick(arena_printf(f.arena, text, 56, 56, 168, 168, 56, 56), "map",
                "rows=14 bands=1", NULL);
    expect_pick(arena_printf(f.arena, text, 112, 112, 16, 16, 112, 112), "map",
                "rows=14 bands=2", NULL);
    arena_free(f.arena);
}

/* Lone warpgroups' blocks that share a long k find little that others read. */
Test(picks, long_splits)
{
    Fixture f = fixture();

    expect_by(MATH_TF32,
              "input x : f32[128, 6144]; input w : f32[2560, 6144];"
              " output y[i, j] = sum(k) x[i, k] * w[j, k];",
              "contract_wgmma", "bm=128 bn=128", NULL);
    expect_pick(product(f.arena, 785, 256, 3840), "contract_wgmma",
                "bm=64 bn=64 stages=10 consumers=1 schedule=cooperative"
                " cluster=1 split=2", NULL);
    arena_free(f.arena);
}

/* Rows of the result that begin amid a sector take long by 8 bytes a lane. */
Test(picks, rows_amid_sectors)
{
    Fixture f = fixture();

    expect_pick(product(f.arena, 2104, 2104, 1312), "contract_wgmma_turned",
                "bm=192 bn=176", NULL);
    arena_free(f.arena);
}

/* Sums that blocks of several warpgroups leave in memory take longer than those
 * of lone ones, which neighbours hide. */
Test(picks, sums_in_parts)
{
    Fixture f = fixture();

    expect_pick(product(f.arena, 400, 1536, 8960), "contract_wgmma_turned",
                "consumers=1", "parts=");
    arena_free(f.arena);
}

/* Steps that the loading thread asks for ahead of its loop. */
static int64_t early(const char *text)
{
    Fixture f = fixture();
    CompileOptions o = compile_options(&f);
    int64_t n = 0;

    o.model.dependent = false;
    CudaProgram *p = compiled_body(&f, text, &o);
    const Kernel *k = p->run[0].kernel;
    for (int i = 0; i < k->n_constant; i++)
        if (!strcmp(k->constant[i].name, "EARLY"))
            n = k->constant[i].value;
    arena_free(f.arena);
    return n;
}

/* Of large slots few, which the first products wait for. */
Test(picks, first_steps)
{
    cr_expect_eq(early("input x : f16[2048, 2048]; param w : f16[2048, 2048];"
                       " output y = linear(x, w);"), 2);
    cr_expect_eq(early("input x : f16[50, 3584]; param w : f16[13824, 3584];"
                       " output y = linear(x, w);"), 4);
}

/* Weights that one row of tiles reads: as many SMs ask for them as can. */
Test(picks, weights_of_few_rows)
{
    Fixture f = fixture();

    expect_pick(product(f.arena, 19, 6144, 3072), "contract_wgmma",
                "bm=64 bn=48", NULL);
    expect_pick(product(f.arena, 42, 6144, 4608), "contract_wgmma",
                "bm=64 bn=48", NULL);
    expect_pick(product(f.arena, 24, 14336, 3072), "contract_wgmma",
                "bm=64 bn=112", NULL);
    expect_pick("input x : f16[392, 2048]; param w : f16[768, 2048];"
                " output y = linear(x, w);", "contract_wgmma", "", "bn=48");
    arena_free(f.arena);
}

/* Thin products of many blocks: these begin beside each other. */
Test(picks, thin_products)
{
    expect_pick("input x : f16[401408, 32]; param w : f16[16, 32];"
                " output y[i, j] : f16 = sum(k) x[i, k] * w[j, k];",
                "contract_mma", "", NULL);
}

/* Rows that end in padding are held in shared memory by vectors, too. */
Test(picks, rows_with_padding_behind)
{
    expect_pick("input x : f16[4096, 64]; input w : f16[50257, 64];"
                " z = linear(x, w); m[i] = max(j) z[i, j];"
                " s[i] = sum(j) exp(z[i, j] - m[i]);"
                " output y[i] = sum(j) exp(z[i, j] - m[i]) / s[i]"
                " * (z[i, j] - m[i] - log(s[i]));",
                "reduce", "vec=8 share=1 held=1", NULL);
}

/* Rows in pieces of less than a sector are not stored a block each: those that
 * make a sector are held in shared memory together, if there is room. */
Test(picks, rows_in_pieces)
{
    expect_pick("input x : f16[16, 64, 64, 256]; param g : f16[256];"
                " param b : f16[256]; t[n, c, h, w] = x[n, h, w, c];"
                " u = silu(group_norm(t, g, b, groups = 32));"
                " output y[n, h, w, c] = u[n, c, h, w];",
                "reduce", "share=2 held=1", NULL);
    expect_pick("input x : f16[8, 104, 104, 256]; param g : f16[256];"
                " param b : f16[256]; t[n, c, h, w] = x[n, h, w, c];"
                " u = silu(group_norm(t, g, b, groups = 32));"
                " output y[n, h, w, c] = u[n, c, h, w];",
                "map", "", NULL);
}

/* Two sums of what is read from four tensors take more registers than leave an
 * SM room for two blocks of 512 threads with vectors of 8. */
Test(picks, columns_of_many_vectors)
{
    expect_pick("input a : f16[4096, 768]; input b : f16[4096, 768];"
                " input h : f16[4096, 768]; input k : f16[4096, 768];"
                " param g : f16[768]; input m : f32[4096]; input s : f32[4096];"
                " input u : f32[4096]; y[i, j] : f16 = a[i, j] + k[i, j] +"
                " b[i, j] * (g[j] * s[i]) + (h[i, j] - m[i]) * u[i];"
                " output p[c in 0..64, j] : f32 ="
                " sum(q in 0..64) f32(y[64 * c + q, j]);"
                " output r[c in 0..64, j] : f32 = sum(q in 0..64)"
                " b[64 * c + q, j] * ((h[64 * c + q, j] - m[64 * c + q])"
                " * s[64 * c + q]); output y;",
                "reduce", "columns", "threads=512 vec=8");
}

/* What data say where to read, and what a row has one of, takes few registers
 * of a tile's: the table's gradient beside rows that were looked up. */
Test(picks, table_of_words)
{
    expect_pick("input d : f16[4096, 50304]; input x : f16[4096, 768];"
                " input rows : f32[2, 2048, 768];"
                " input first : i32[2, 50304] in 0..4096;"
                " input w : f32[50304, 768];"
                " output y[v, e] = w[v, e] - (sum(t) d[t, v] * x[t, e])"
                " - (first[0, v] < 2048 ? rows[0, first[0, v], e] or 0 : 0)"
                " - (first[1, v] < 2048 ? rows[1, first[1, v], e] or 0 : 0);",
                "contract_wgmma", "consumers=2", "bm=64");
}

/* Points whose data name one of many rows are listed, not multiplied by ones
 * and zeros or asked by each row; of few rows they are a product. */
Test(picks, scatters)
{
    expect_pick("input ids : i32[16384] in 0..2048; input x : f16[16384, 128];"
                " output y[i, j] : f16[2048, 128] = sum(p)"
                " (ids[p] == i ? x[p, j] : 0);",
                "listed", "", NULL);
    expect_pick("input ids : i32[12000] in 0..200000;"
                " output y[i] : i32[200000] = max(p) (ids[p] == i ? p : -1);",
                "listed", "", NULL);
    expect_pick("input ids : i32[16384] in 0..16; input x : f16[16384, 128];"
                " output y[i, j] : f16[16, 128] = sum(p)"
                " (ids[p] == i ? x[p, j] : 0);",
                "contract_mma", "", NULL);
}

/* Pixels of 32 channels come two to a row of TMA's where output pixels are two
 * apart: by rows of 64 bytes wgmma took as long as mma.sync. */
Test(picks, pairs_of_pixels)
{
    expect_pick("input x : f16[1, 320, 320, 32]; input w : f16[64, 3, 3, 32];"
                " output y[n, p in 0..160, q in 0..160, k] = sum(r, s, c)"
                " (x[n, 2 * p + r - 1, 2 * q + s - 1, c] or 0)"
                " * w[k, r, s, c];",
                "contract_wgmma", "", NULL);
    expect_pick("input x : f16[8, 208, 208, 32]; input w : f16[64, 5, 5, 32];"
                " output y[n, p in 0..104, q in 0..104, k] = sum(r, s, c)"
                " (x[n, 2 * p + r - 2, 2 * q + s - 2, c] or 0)"
                " * w[k, r, s, c];",
                "contract_wgmma", "", NULL);
}

/* Many points of each row are pieces' first: 65536 of 512 rows were a block's
 * each, by all of its points. */
Test(picks, scatters_in_pieces)
{
    Fixture f = fixture();
    CompileOptions o = compile_options(&f);
    Report r = {0};
    CudaProgram *p = compiled(
        &f, "model m { input ids : i32[65536] in 0..512;"
            " input x : f16[65536, 128]; output y[i, j] : f16[512, 128] ="
            " sum(p) (ids[p] == i ? x[p, j] : 0); }", &r, &o);

    cr_assert(p, "%s", diag_text(f.diag));
    cr_assert_eq(p->n_run, 2);
    cr_expect_str_eq(p->run[0].kernel->family, "listed");
    cr_expect_gt(p->run[0].kernel->grid[2], 1);
    arena_free(f.arena);
}

/* Attention to fewer keys than a tile has columns keeps no scores in memory. */
Test(picks, short_sequences)
{
    expect_pick("input q : f16[2048, 2, 12, 32]; input k : f16[2048, 2, 12, 32];"
                " input v : f16[2048, 2, 12, 32];"
                " output y = attention(q, k, v);",
                "chain_few", "", NULL);
}

/* Rows of a sparse matrix have their own columns alone. */
Test(picks, ranges_of_data)
{
    Fixture f = fixture();
    CompileOptions o = compile_options(&f);
    Report r = {0};
    CudaProgram *p = compiled(
        &f, "model m { input v : f16[65536]; input c : i32[65536] in 0..4096;"
            " input o : i32[4097] in 0..65537; input x : f16[4096, 64];"
            " output y[b in 0..4096, d] : f16 = sum(m in o[b]..o[b + 1])"
            " v[m] * x[c[m], d]; }", &r, &o);

    cr_assert(p, "%s", diag_text(f.diag));
    cr_expect_lt(p->run[p->n_run - 1].kernel->predicted_us, 20);
    arena_free(f.arena);
}

/* A bias that comes with 32 columns at a time, behind stores: 128 x 128 took
 * 36.4 us, 64 x 256 39.9, 64 x 192 41.0. */
Test(picks, columns_behind_stores)
{
    expect_pick("input x : f16[4096, 768]; param w : f16[768, 3072];"
                " param b : f16[3072];"
                " h[i, j] : f16 = sum(k) x[i, k] * w[k, j] + b[j];"
                " output z = h; output y = gelu(h, approximate = \"tanh\");",
                "contract_wgmma", "bm=128 bn=128 stages=6 consumers=2 "
                "schedule=pingpong", NULL);
}

/* Heads of 40, whose rows begin inside a sector and end inside a box: tiles of
 * 64 rows ask for twice as many of them, and took 419 us, by 128 rows 265. */
Test(picks, narrow_heads)
{
    expect_pick("input x : f16[64, 5234, 40]; input w : f16[8, 5234, 40];"
                " s[h in 0..64, i in 0..5234, j in 0..5234] : f32 ="
                " j <= i && i - j < 1099 ? 0.158 * sum(d) x[h, i, d]"
                " * w[h / 8, j, d] : -inf;"
                " p : f16 = softmax(s);"
                " output y[h, i, e] = sum(j) p[h, i, j] * w[h / 8, j, e];",
                "chain_wgmma", "bm=128", NULL);
}
