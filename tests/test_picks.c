/* test_picks.c - variants that an H200 measured as much slower than others are
 * not what the model picks, and families that it measured are open. */
#include "models.h"

#include "compiler/emit/kernel.h"

static void expect_pick(const char *text, const char *family,
                        const char *words, const char *without)
{
    Fixture f = fixture();
    CompileOptions o = compile_options(&f);
    Report r = {0};

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
                "contract_wgmma", "bm=128 bn=128", NULL);
}

/* Thin products of many blocks: these begin beside each other. */
Test(picks, thin_products)
{
    expect_pick("input x : f16[401408, 32]; param w : f16[16, 32];"
                " output y[i, j] : f16 = sum(k) x[i, k] * w[j, k];",
                "contract_mma", "", NULL);
}
