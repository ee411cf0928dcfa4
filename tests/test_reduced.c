/* test_reduced.c - products of which only what their rows come to is wanted:
 * whether they are stored. That they are right, numeric/reduced.dcl shows. */
#include "models.h"

/* Elements of the largest tensor that a run's kernels have. */
static int64_t largest(const char *text)
{
    Fixture f = fixture();
    CompileOptions o = compile_options(&f);
    CudaProgram *p = compiled_body(&f, text, &o);
    int64_t most = 0;

    for (int i = 0; i < p->n_run; i++)
        for (int k = 0; k < p->run[i].group->n_arg; k++) {
            int64_t n = tensor_elems(p->run[i].group->arg[k]);
            most = n > most ? n : most;
        }
    arena_free(f.arena);
    return most;
}

/* A product of which its rows' reductions and a few results alone are wanted is
 * not stored. */
Test(reduced, products)
{
    const int64_t stored = 2048 * 1000;

    cr_expect_lt(largest("input x : f32[2048, 32]; input c : f32[1000, 32];"
                         " d[n, k] = sum(j) (x[n, j] - c[k, j]) *"
                         " (x[n, j] - c[k, j]);"
                         " output a[n] = argmin(k) d[n, k];"),
                 stored);
    cr_expect_lt(largest("input x : f32[2048, 32]; input z : f32[1000, 32];"
                         " input a : f32[1000]; k[i, j] = exp(-0.5 * sum(d)"
                         " (x[i, d] - z[j, d]) * (x[i, d] - z[j, d]));"
                         " output y[i] = sum(j) k[i, j] * a[j];"),
                 stored);
    cr_expect_lt(largest("input x : f16[2048, 64]; input w : f16[1024, 64];"
                         " input t : i32[2048] in 0..1024;"
                         " s = log_softmax(linear(x, w));"
                         " output l[] = -mean(i) s[i, t[i]];"),
                 stored);
    cr_expect_lt(largest("input x : f16[2048, 256]; input w : f16[1000, 256];"
                         " d[i, j] : f32 = sum(k) x[i, k] * w[j, k];"
                         " output a[i] = argmax(j) d[i, j];"), stored);
    /* what else reads all of it has it stored */
    cr_expect_eq(largest("input x : f32[2048, 32]; input c : f32[1000, 32];"
                         " output d[n, k] = sum(j) abs(x[n, j] - c[k, j]);"
                         " output m[n] = min(k) d[n, k];"),
                 stored);
}
