/* test_select.c - which kernels models become: how many launches, in which
 * order, and that a plan brings the same ones back. */
#include "models.h"
#include "touches.h"
#include "compiler/search/stretch.h"
#include "compiler/support/file.h"

#include <math.h>

static int launches(const char *text)
{
    Fixture f = fixture();
    CompileOptions o = compile_options(&f);
    int n = compiled_body(&f, text, &o)->n_run;

    arena_free(f.arena);
    return n;
}

static void expect(int n, const char *text)
{
    cr_expect_eq(launches(text), n, "%s: %d launches, not %d", text,
                 launches(text), n);
}

/* What is one kernel whatever the figures of a GPU are. */
Test(select, one_kernel)
{
    expect(1, "input x : f16[64, 256]; output y = softmax(x);");
    expect(1, "input x : f16[64, 256]; output y = layer_norm(x);");
    expect(1, "input x : f16[64, 256]; input g : f16[256];"
              " output y = rms_norm(x + 1, g);");
    expect(1, "input x : f32[64, 256]; output y = gelu(relu(x * 2) + x);");
    expect(1, "input x : f16[64, 256]; param w : f16[128, 256];"
              " param b : f16[128]; output y = relu(linear(x, w, b));");
    expect(1, "input x : f16[1, 3, 14, 14]; param w : f16[32, 3, 3, 3];"
              " input r : f16[1, 32, 14, 14];"
              " param g : f16[32]; param b : f16[32]; param m : f16[32];"
              " param v : f16[32]; output y = relu(batch_norm(conv2d(x, w,"
              " pad = 1), g, b, m, v) + r);");
    expect(1, "input x : f16[16, 256]; param a : f16[64, 256];"
              " param b : f16[64, 256]; param c : f16[64, 256];"
              " param d : f16[64]; param e : f16[64]; param f : f16[64];"
              " q = linear(x, a, d); k = linear(x, b, e); v = linear(x, c, f);"
              " output y = q * k - v;");
    expect(1, "input ids : i32[64] in 0..99; param t : f16[99, 64];"
              " param g : f16[64]; output y = rms_norm(embedding(ids, t), g);");
}

/* What writes over what it reads is no equal of what does not. */
Test(select, in_place)
{
    expect(4, "input ids : i32[8]; param w : f16[100000, 16];"
              " z = embedding(ids, w); output loss = square_sum(z);"
              " for v in params { v = v - 0.1 * grad(loss, v); }");
}

/* What a product's factor is computed of is no kernel of its own where tensor
 * cores take the factor from registers. */
Test(select, computed_factors)
{
    expect(1,
           "input x : f16[4096, 1024]; param w : f16[1024, 1024];"
           " param s : f16[1024]; h = relu(x) * s; output y = linear(h, w);");
    expect(1, "input x : f16[4096, 1024]; param w : f16[1024, 1024];"
              " param s : f16[1024]; h = relu(x) * s; output y = linear(h, w);");
}

static int launches_by(const char *family, const char *text)
{
    Fixture f = fixture();
    CompileOptions o = compile_options(&f);
    Forced forced = {.name = family, .text = "any"};

    o.forced = &forced;
    o.n_forced = 1;
    int n = compiled_body(&f, text, &o)->n_run;
    arena_free(f.arena);
    return n;
}

/* Norms of rows that a product makes and products take are no kernels, whoever
 * wrote them; others are. */
Test(select, norms_in_products)
{
    const char *wgmma = "contract_wgmma";
    const char *before = "input x : f16[128, 64]; input r : f16[128, 96];"
                         " param v : f16[96, 64]; param w : f16[64, 96];"
                         " param u : f16[64, 96]; param g : f16[96];"
                         " h = linear(x, v) + r;";
    const struct {
        int n;
        const char *text;
    } t[] = {
        {2, "output y = linear(layer_norm(h), w);"},
        {2, "output y = linear(rms_norm(h, g), w); output z = h;"},
        {2, "q[i] : f32 = sum(k) f32(h[i, k]) * h[i, k];"
            " n[i, k] : f16 = h[i, k] / sqrt(q[i] + 1) - g[k];"
            " output y = linear(n, w);"},
        {3, "n = layer_norm(h); output y = linear(n, w);"
            " output z = relu(linear(n, u));"},
        {3, "n = layer_norm(h); f = linear(n, w);"
            " output y[i, j] = (sum(k) f[i, k] * w[k, j]) + n[i, j];"},
        /* the largest of a row is no sum; the norm is a result */
        {3, "q[i] = max(k) h[i, k]; n[i, k] : f16 = h[i, k] - q[i];"
            " output y = linear(n, w);"},
        {3, "n = layer_norm(h); output y = linear(n, w); output z = n;"},
    };

    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        Arena *a = arena_new();
        const char *text = arena_printf(a, "%s %s", before, t[i].text);
        int n = launches_by(wgmma, text);
        cr_expect_eq(n, t[i].n, "%s: %d launches, not %d", t[i].text, n,
                     t[i].n);
        arena_free(a);
    }
}

/* Equal values are made once; which is no reason to store what is cheap. */
Test(select, equal_values)
{
    expect(1, "input x : f16[64, 256]; param a : f16[128, 256]; output y[i, j]"
              " = relu(sum(k) x[i, k] * a[j, k]) * relu(sum(k) x[i, k] *"
              " a[j, k]);");
    expect(1, "input x : f16[64, 256]; output y = softmax(x);"
              " output z = softmax(x); output w = softmax(x) * 2;");
    expect(1, "input x : f32[64, 256]; output y = relu(x + 1);"
              " output z = relu(x + 1);");
    expect(2, "input x : f32[64, 256]; input z : f32[256, 64]; t = x * 2;"
              " output a[i] = sum(j) silu(t[i, j] + 1);"
              " output b[j] = max(i) silu(t[i, j] + 1) * z[j, i];");
}

/* Where the gradient at a sigmoid goes into the product ahead, as pairs have
 * it, the sums behind cannot join. */
Test(select, several_at_once)
{
    expect(2, "input x : f16[8, 256]; param w : f16[1, 256];"
              " z = linear(x, w); s = sigmoid(z);"
              " output l[] = sum(i, j) s[i, j] * s[i, j];"
              " output d = s * (1 - s); output b[j] = sum(i) d[i, j];");
    expect(3, "input x : f16[8, 256]; param w : f16[1, 256];"
              " z = linear(x, w); s = sigmoid(z);"
              " output l[] = sum(i, j) s[i, j] * s[i, j];"
              " d = s * s * (1 - s); output b[j] = sum(i) d[i, j];"
              " output c[j, k] = sum(i) d[i, j] * x[i, k];");
}

/* Six units of a microsecond each: as one they take a microsecond more than
 * apart, but three in the middle take one; what no family serves alone is part
 * of more. */
static double us_of(int i, int j, void *ctx)
{
    const bool *unserved = ctx;

    if (i == 1 && j == 3)
        return 1;
    if (*unserved && i == 4 && j == 4)
        return INFINITY;
    return i == j ? 1 : j - i + 2;
}

Test(select, stretches)
{
    bool unserved = false;
    int from[6];

    cr_expect_float_eq(stretches_cut(6, 8, us_of, &unserved, from), 4, 1e-9);
    cr_expect(from[0] == 0 && from[3] == 1 && from[4] == 4 && from[5] == 5);
    cr_expect_float_eq(stretches_cut(6, 2, us_of, &unserved, from), 6, 1e-9);
    for (int i = 0; i < 6; i++)
        cr_expect_eq(from[i], i);
    unserved = true;
    cr_expect_float_eq(stretches_cut(6, 8, us_of, &unserved, from), 5, 1e-9);
    cr_expect_eq(from[5], 4);
    cr_expect_float_eq(stretches_cut(0, 8, us_of, &unserved, from), 0, 1e-9);
}

/* What an LSTM's second step multiplies is all of the first one's state: no
 * kernel may make that and, around the product, what follows. */
Test(select, stretches_that_wait)
{
    launches("input z : f16[2, 2, 24]; param r : f16[24, 6];"
             " c1[n, j in 0..6] : f16 = sigmoid(z[0, n, j]) *"
             " tanh(z[0, n, 18 + j]);"
             " s1[n, j] : f16 = sigmoid(z[0, n, 6 + j]) * tanh(c1[n, j]);"
             " g[n, k] : f16 = z[1, n, k] + sum(i) s1[n, i] * r[k, i];"
             " c2[n, j in 0..6] : f16 = sigmoid(g[n, 12 + j]) * c1[n, j] +"
             " sigmoid(g[n, j]) * tanh(g[n, 18 + j]);"
             " s2[n, j] : f16 = sigmoid(g[n, 6 + j]) * tanh(c2[n, j]);"
             " output y = concat(s1, s2, axis = 0);");
}

/* Which kernel has the sum behind two products does not depend on which of
 * them is written first: the one with the longer sum. */
Test(select, tails)
{
    static const char *const branch[] = {
        "h = conv2d(relu(conv2d(x, w, pad = 1)), w, b, pad = 1);",
        "d = conv2d(x, v, c);",
    };
    static const int channels[] = {128, 256, 512};

    for (int i = 0; i < 6; i++) {
        Fixture f = fixture();
        CompileOptions o = compile_options(&f);
        Report r = {0};
        int k = channels[i / 2], size = 3584 / k;
        CudaProgram *p = compiled(&f, arena_printf(f.arena,
            "model m { input i : f16[8, %1$d, %2$d, %2$d]; param w : f16[%1$d,"
            " %1$d, 3, 3]; param b : f16[%1$d]; param v : f16[%1$d, %1$d, 1,"
            " 1]; param c : f16[%1$d]; x = relu(conv2d(i, w, pad = 1)); %3$s"
            " %4$s y = relu(h + d); output z = conv2d(y, w, pad = 1); }",
            k, size, branch[i % 2], branch[!(i % 2)]), &r, &o);
        cr_assert(p, "%s", diag_text(f.diag));
        for (int n = 0; n < p->n_run; n++) {
            const Group *gr = p->run[n].group;
            bool has = false, ours = false;
            for (int s = 0; s < gr->n_stmt; s++) {
                has |= !strcmp(gr->stmt[s]->path, "y");
                ours |= !strcmp(gr->stmt[s]->path, "h_sum");
            }
            cr_expect_eq(has, ours, "%d channels, order %d: kernel %d", k,
                         i % 2, n);
        }
        arena_free(f.arena);
    }
}

/* Views cost no kernel. */
Test(select, views)
{
    expect(1, "input x : f16[8, 24]; a = reshape(x, shape = [8, 3, 8]);"
              " b = transpose(a, perm = [1, 0, 2]); c = slice(b, axis = 2,"
              " first = 2, last = 6); output y = softmax(c);");
    expect(1, "input x : f16[1, 8, 6, 6]; param w : f16[8, 8, 3, 3];"
              " p = pad(pad(x, axis = 2, before = 1, after = 1), axis = 3,"
              " before = 1, after = 1); output y = conv2d(p, w);");
}

Test(select, what_the_user_pins)
{
    expect(2, "input x : f32[64]; @nofuse a = x * 2; output y = a + 1;");
    expect(1, "input x : f32[64]; a = x * 2; output y = a + 1;");
}

/* Does one launch compute both? */
static bool together(const CudaProgram *p, const char *a, const char *b)
{
    for (int i = 0; i < p->n_run; i++) {
        bool has_a = false, has_b = false;
        for (int k = 0; k < p->run[i].group->n_stmt; k++) {
            has_a |= !strcmp(p->run[i].group->stmt[k]->path, a);
            has_b |= !strcmp(p->run[i].group->stmt[k]->path, b);
        }
        if (has_a && has_b)
            return true;
    }
    return false;
}

/* The row maxima of a product: with the product's last step if told so. */
Test(select, what_the_user_fuses)
{
    static const char *const note[] = {"", "@fuse(h) "};

    for (int i = 0; i < 2; i++) {
        Fixture f = fixture();
        CompileOptions o = compile_options(&f);
        Report r = {0};
        CudaProgram *p = compiled(
            &f,
            arena_printf(
                f.arena,
                "model m { input x : f16[512, 1024]; param w : f16[1024, 1024];"
                " h = linear(x, w); %sm[i] = max(j) h[i, j]; output y = h;"
                " output k = m; }",
                note[i]),
            &r, &o);
        cr_assert(p, "%s", diag_text(f.diag));
        cr_expect_eq(together(p, "y", "m_max"), i == 1);
        arena_free(f.arena);
    }
}

/* @fuse that no rule allows is said. */
/* What meets at one point is made there, where no sum is made twice for it. */
Test(select, halves)
{
    expect(1, "input x : f16[4, 256]; param w : f16[1024, 256];"
              " h = linear(x, w);"
              " output y[s, f in 0..512] = silu(h[s, f]) * h[s, 512 + f];");
    expect(1, "input x : f16[512, 256]; param w : f16[512, 256];"
              " param v : f16[512, 256]; param b : f16[512];"
              " param c : f16[512]; g = linear(x, w, b);"
              " u = linear(x, v, c); output y = gelu(g) * u;");
    expect(1, "input x : f16[1, 256]; param w : f16[512, 256];"
              " param v : f16[512, 256]; g = linear(x, w);"
              " u = linear(x, v); output y = silu(g) * u;");
    expect(2, "input x : f16[512, 256]; param w : f16[1024, 256];"
              " h = linear(x, w);"
              " output y[s, f in 0..768] = h[s, f] * h[s, 256 + f];");
}

Test(select, what_cannot_be_fused)
{
    Fixture f = fixture();
    CompileOptions o = compile_options(&f);
    Report r = {0};

    cr_assert(compiled(
        &f,
        "model m { input x : f32[9]; a[] = sum(i) x[i];\n"
        "@fuse(a) b[i] = x[i] * a; output y = max_of(b); output z = a; }\n"
        "op max_of(x: T[N]) -> y: T[1] { y[i in 0..1] = max(n) x[n]; }",
        &r, &o));
    cr_expect_null(strstr(diag_text(f.diag), "warning"), "%s",
                   diag_text(f.diag));
    cr_assert(compiled(&f,
                       "model m { input x : f32[9, 9]; @nofuse a = x + 1;\n"
                       "@fuse(a) output y = a * 2; }",
                       &r, &o));
    cr_expect(strstr(diag_text(f.diag),
                     "t.dcl:2:1: warning: @fuse is not possible: 'a' @nofuse"),
              "%s", diag_text(f.diag));
    cr_assert(
        compiled(&f,
                 "model m { input x : f32[9]; h = x + 1; y = h * 2;\n"
                 "@fuse(x) z = x + y;\n@fuse(h) w = z * 3; output q = w + h; }",
                 &r, &o));
    cr_expect(strstr(diag_text(f.diag), "t.dcl:2:7: warning: @fuse is not "
                                        "possible: no value of 'x'"),
              "%s", diag_text(f.diag));
    cr_expect(strstr(diag_text(f.diag), "t.dcl:3:7: warning: @fuse is not "
                                        "possible: no value of 'h'"),
              "%s", diag_text(f.diag));
    arena_free(f.arena);
}

/* Pointwise kernels of the same points that read the same are one, unless one
 * waits for the other. */
Test(select, siblings)
{
    static const struct { int launches; const char *text; } cases[] = {
        {1, "output y = x * 2; output z = exp(x);"},
        {2, "@nofuse y = x * 2; output u = y; output z = exp(x);"},
        {2, "output y = x * 2; output z[i in 0..3, j] = exp(x[i, j]);"},
        {1, "output y = x * 2; output z = exp(w);"}, /* two short ones */
        {2, "input u : f16[2048, 4096]; output y = v * 2; output z = exp(u);"},
        {1, "y[i, j in 0..32] = x[i, j] - x[i, j + 32];"
            " y[i, j in 32..64] = x[i, j - 32] + x[i, j]; output y;"},
    };
    Fixture f = fixture();
    CompileOptions o = compile_options(&f);

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Report r = {0};
        CudaProgram *p = compiled(&f, arena_printf(f.arena,
            "model m { input x : f16[64, 64]; input w : f16[64, 64];"
            " input v : f16[2048, 4096]; %s }", cases[i].text), &r, &o);
        cr_assert(p, "%s", diag_text(f.diag));
        cr_expect_eq(p->n_run, cases[i].launches, "%s: %d", cases[i].text,
                     p->n_run);
    }
    arena_free(f.arena);
}

/* A product sums a factor of its own, too; what the factor is made of may go to
 * the product before. Not where the sum's rows are others, or it is of other
 * values than are multiplied. */
Test(select, factor_sums)
{
    static const struct { int launches; const char *text; } cases[] = {
        {1, "output w[o, i] = sum(r) d[r, o] * x[r, i];"
            " output b[o] = 1 - sum(r) d[r, o];"},
        {1, "output w[i, o] = sum(r) d[r, o] * x[r, i];"
            " output b[h in 0..4, j in 0..64] = sum(r) d[r, 64 * h + j];"},
        {2, "output w[o, i] = sum(r) d[r, o] * x[r, i];"
            " output b[r] = sum(o) d[r, o];"},
        {2, "output w[o, i] = sum(r) d[r, o] * x[r, i];"
            " output b[o] = sum(r) abs(d[r, o]);"},
        {2, "e[r, o] : f16 = (d[r, o] > 0 ? exp(-d[r, o]) : 0.1) *"
            " sum(k) g[r, k] * v[o, k];"
            " output w[o, i] = sum(r) e[r, o] * x[r, i];"
            " output b[o] = 1 - sum(r) e[r, o];"},
    };
    Fixture f = fixture();
    CompileOptions o = compile_options(&f);

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Report r = {0};
        CudaProgram *p = compiled(&f, arena_printf(f.arena,
            "model m { input x : f16[1024, 128]; input d : f16[1024, 256];"
            " input g : f16[1024, 128]; input v : f16[256, 128]; %s }",
            cases[i].text), &r, &o);
        cr_assert(p, "%s", diag_text(f.diag));
        cr_expect_eq(p->n_run, cases[i].launches, "%s: %d", cases[i].text,
                     p->n_run);
    }
    arena_free(f.arena);
}

/* What each of five steps is multiplied with, its gradient and the weight's are
 * a product each. */
Test(select, steps_of_a_loop)
{
    Fixture f = fixture();
    CompileOptions o = compile_options(&f);
    Report r = {0};
    CudaProgram *p = compiled(&f,
        "model m { input x : f32[2, 5, 40]; param w : f32[32, 40];"
        " param v : f32[32, 32]; a : f32[2, 32] = 0.5; e = tanh(x);"
        " for s in 0..5 { r[b, d] = e[b, 4 - s, d];"
        " a = tanh(linear(r, w) + linear(a, v)); y[s, b, j] = a[b, j]; }"
        " loss[] = sum(s, b, j) y[s, b, j] * y[s, b, j];"
        " output dw = grad(loss, w); output dv = grad(loss, v);"
        " output dx = grad(loss, x); }", &r, &o);

    cr_assert(p, "%s", diag_text(f.diag));
    cr_expect_leq(p->n_run, 15, "%d", p->n_run);
    arena_free(f.arena);
}

/* ---- properties of every model */

static bool is_made(const CudaProgram *p, const Tensor *t)
{
    for (int i = 0; i < p->n_run; i++)
        if (stores_of(p->run[i].group, t))
            return true;
    for (int i = 0; i < p->n_load; i++)
        if (stores_of(p->load[i].group, t))
            return true;
    return false;
}

/* Every temporary that a launch reads was written before it, all of its
 * statements' writers included; load-time ones at load time. */
static void check_order(const CudaProgram *p, const char *path)
{
    const Graph *g = p->graph;

    for (int i = 0; i < p->n_run; i++) {
        const Group *gr = p->run[i].group;
        for (int k = 0; k < gr->n_arg; k++) {
            const Tensor *t = gr->arg[k];
            cr_expect(t->role != ROLE_TEMP || is_made(p, t),
                      "%s: launch %d reads %s, which nothing writes", path, i,
                      t->name);
            for (int s = 0; s < p->n_run; s++)
                cr_expect(s <= i || group_stores(gr, t) ||
                              !stores_of(p->run[s].group, t),
                          "%s: launch %d reads %s, which launch %d writes",
                          path, i, t->name, s);
        }
    }
    for (int i = 0; i < g->n_output; i++) {
        bool made = false;
        for (int s = 0; s < p->n_run; s++)
            made |= group_stores(p->run[s].group, g->output[i]);
        cr_expect(made, "%s: nothing writes %s", path, g->output[i]->name);
    }
}

/* One kernel for each canonical text of the same slices, and every group has
 * one. */
static void check_kernels(const CudaProgram *p, const char *path)
{
    for (int i = 0; i < p->n_run; i++) {
        Buf a = {0};
        group_canon(&a, p->run[i].group);
        group_canon_slices(&a, p->run[i].group);
        for (int k = 0; k < i; k++) {
            Buf b = {0};
            group_canon(&b, p->run[k].group);
            group_canon_slices(&b, p->run[k].group);
            cr_expect_eq(p->run[i].kernel == p->run[k].kernel,
                         !strcmp(buf_text(&a), buf_text(&b)),
                         "%s: launches %d and %d", path, k, i);
            buf_free(&b);
        }
        buf_free(&a);
    }
    for (int i = 0; i < p->n_kernel; i++)
        for (int k = 0; k < i; k++)
            cr_expect_str_neq(p->kernel[i]->name, p->kernel[k]->name);
}

static const Group *launched(const CudaProgram *p, int i)
{
    return i < p->n_load ? p->load[i].group : p->run[i - p->n_load].group;
}

/* Another launch reads every temporary that one stores, or what lies in it;
 * itself or a later version of it. */
static void check_stores(const CudaProgram *p, const char *path)
{
    const int n = p->n_load + p->n_run;

    for (int i = 0; i < n; i++) {
        const Group *gr = launched(p, i);
        for (int k = 0; k < gr->n_step; k++) {
            const Tensor *t = gr->step[k].tensor;
            bool read = !t || t->role != ROLE_TEMP || t->prev;
            for (int j = 0; j < p->graph->n_tensor && !read; j++)
                read = p->graph->tensor[j]->prev == t;
            for (int j = 0; j < n && !read; j++)
                read = j != i && reads_of(launched(p, j), t);
            cr_expect(read, "%s: %s: launch %d stores %s, which nobody reads",
                      path, p->graph->model, i, t ? t->name : "");
        }
    }
}

static void check(const CudaProgram *p, const char *path)
{
    check_order(p, path);
    check_kernels(p, path);
    check_stores(p, path);
}

static void check_folder(const char *folder, const char *target, int least)
{
    Arena *a = arena_new();
    const char **file;
    int n = models_in(a, folder, &file), models = 0;

    for (int i = 0; i < n; i++)
        models += each_model_for(target, file[i], 0, check);
    cr_expect_geq(models, least);
    arena_free(a);
}

Test(select, examples)
{
    check_folder("examples", "h200", 8);
}
Test(select, numeric_cases)
{
    check_folder("tests/numeric", "h200", 200);
}
Test(select, other_gpus)
{
    check_folder("tests/numeric", "sm_80", 200);
}

static int kernels_at_depth(const char *path, const char *layers)
{
    Fixture f = fixture();
    CompileOptions o = compile_options(&f);
    const Define depth = {"L", layers};
    Report r = {0};
    Buf text = {0};

    o.define = &depth;
    o.n_define = 1;
    cr_assert(file_read(&text, path));
    CudaProgram *p = compiled(&f, buf_text(&text), &r, &o);
    cr_assert(p, "%s: %s", path, diag_text(f.diag));
    int n = p->n_kernel;
    buf_free(&text);
    arena_free(f.arena);
    return n;
}

/* Equal layers share their kernels, however many there are. */
Test(select, equal_layers)
{
    static const char *const name[] = {"bert_base", "gpt2", "gpt2_decode",
                                       "vit_b16"};
    Arena *a = arena_new();

    for (int i = 0; i < 4; i++) {
        const char *path =
            arena_printf(a, "%s/examples/%s.dcl", source_dir(), name[i]);
        cr_expect_eq(kernels_at_depth(path, "3"), kernels_at_depth(path, "5"),
                     "%s", name[i]);
    }
    arena_free(a);
}

/* ---- plans */

static CudaProgram *planned(Fixture *f, const char *path, int model,
                            CompileOptions *o, Report *r, Buf *cu)
{
    char *file[] = {(char *)path};
    struct Program *tree = front_read(f->arena, f->diag, file, 1, true);
    const char **name;
    Buf header = {0};
    FileInfo info = {.source = "t.dcl",
                     .command = "dcc",
                     .target = "h200",
                     .sm = 90,
                     .cu_name = "t.cu",
                     .header_name = "t.h"};

    cr_assert(tree, "%s: %s", path, diag_text(f->diag));
    if (model >= front_models(f->arena, tree, &name))
        return NULL;
    CudaProgram *p = compile_model(f->arena, f->diag, tree, name[model], o, r);
    cr_assert(p, "%s: %s", path, diag_text(f->diag));
    emit_file(cu, &header, &p, 1, &info);
    buf_free(&header);
    return p;
}

/* Written, read, written again: the same plan and the same text. False if the
 * file has no such model. */
static bool round_trip(const char *path, int model, const char *target)
{
    Fixture f = fixture(), again = fixture();
    CompileOptions o = compile_options(&f);
    Report first = {0}, second = {0};
    Buf cu = {0}, cu_again = {0};

    o.model.device = device_find(f.arena, target);
    o.want_plan = true;
    bool is = planned(&f, path, model, &o, &first, &cu) != NULL;
    if (is) {
        o.plan_name = "t.plan";
        o.plan_text = buf_text(&first.plan);
        o.plan_len = first.plan.len;
        planned(&again, path, model, &o, &second, &cu_again);
        cr_expect_str_eq(buf_text(&first.plan), buf_text(&second.plan),
                         "%s, %s, model %d", path, target, model);
        cr_expect(!strcmp(buf_text(&cu), buf_text(&cu_again)),
                  "%s, %s, model %d", path, target, model);
    }
    Buf *all[] = {&cu, &cu_again, &first.plan, &second.plan};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        buf_free(all[i]);
    arena_free(f.arena);
    arena_free(again.arena);
    return is;
}

Test(plan, round_trip)
{
    Arena *a = arena_new();
    const char **file;
    int n = models_in(a, "examples", &file);

    for (int i = 0; i < n; i++)
        round_trip(file[i], 0, "h200");
    arena_free(a);
}

/* Groups of many kinds: chains, values computed again, parts, states. */
Test(plan, round_trip_of_cases)
{
    static const char *const name[] = {"attention",  "block", "inplace",
                                       "neighbours", "norm",  "number",
                                       "parts",      "phase"};
    Arena *a = arena_new();

    for (size_t i = 0; i < sizeof name / sizeof *name; i++) {
        const char *path =
            arena_printf(a, "%s/tests/numeric/%s.dcl", source_dir(), name[i]);
        for (int k = 0; round_trip(path, k, "h200"); k++)
            ;
        for (int k = 0; round_trip(path, k, "sm_80"); k++)
            ;
    }
    arena_free(a);
}

static void emit(Fixture *f, const char *text, CompileOptions *o, Report *r,
                 Buf *cu)
{
    CudaProgram *p = compiled(f, text, r, o);
    Buf header = {0};
    FileInfo info = {.source = "t.dcl",
                     .command = "dcc",
                     .target = "h200",
                     .sm = 90,
                     .cu_name = "t.cu",
                     .header_name = "t.h"};

    cr_assert(p, "%s", diag_text(f->diag));
    emit_file(cu, &header, &p, 1, &info);
    buf_free(&header);
}

/* A random legal variant of every kernel can be planned, too. */
Test(plan, of_random_variants)
{
    Fixture f = fixture(), again = fixture();
    CompileOptions o = compile_options(&f);
    Report first = {0}, second = {0};
    const char *text = "model m { input x : f16[64, 96]; param w : f16[48, 96];"
                       " h = relu(linear(x, w)); output y = softmax(h); }";
    Buf cu = {0}, cu_again = {0};

    o.want_plan = true;
    o.random_plan = o.random_layout = 7;
    emit(&f, text, &o, &first, &cu);
    o.random_plan = 0;
    o.plan_name = "t.plan";
    o.plan_text = buf_text(&first.plan);
    o.plan_len = first.plan.len;
    emit(&again, text, &o, &second, &cu_again);
    cr_expect(!strcmp(buf_text(&cu), buf_text(&cu_again)));
    Buf *all[] = {&cu, &cu_again, &first.plan, &second.plan};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        buf_free(all[i]);
    arena_free(f.arena);
    arena_free(again.arena);
}

/* What a plan must not say. */
static void refused(const char *text, const char *from, const char *to,
                    const char *message)
{
    Fixture f = fixture(), again = fixture();
    CompileOptions o = compile_options(&f);
    Report first = {0}, second = {0};

    o.want_plan = true;
    cr_assert(compiled(&f, text, &first, &o), "%s", diag_text(f.diag));
    const char *at = strstr(buf_text(&first.plan), from);
    cr_assert(at, "%s: %s", from, buf_text(&first.plan));
    o.plan_name = "t.plan";
    o.plan_text =
        arena_printf(f.arena, "%.*s%s%s", (int)(at - buf_text(&first.plan)),
                     buf_text(&first.plan), to, at + strlen(from));
    o.plan_len = strlen(o.plan_text);
    cr_expect_null(compiled(&again, text, &second, &o), "%s", o.plan_text);
    cr_expect(strstr(diag_text(again.diag), message), "%s -> %s: %s", from, to,
              diag_text(again.diag));
    buf_free(&first.plan);
    buf_free(&second.plan);
    arena_free(f.arena);
    arena_free(again.arena);
}

Test(plan, merges_that_cannot_be)
{
    const char *text = "model m { input x : f32[64, 32]; a[i] = max(j) x[i, j];"
                       " b[i, j] = exp(x[i, j] - a[i]); output y[i, j] = "
                       "b[i, j] * 2; @nofuse output z[i] = x[i, 0] * 3; }";

    refused(text, " a>b", " a>nobody", "no merge of the model's");
    refused(text, " a>b", " a*b", "cannot be formed");
    refused(text, "merge b>y a>b\n", "", "cannot be fused");
    refused(text, "merge b>y a>b\n", "merge b>y\nmerge a>b\n",
            "stands in two groups");
    refused(text, "group z", "norm b 32\ngroup z", "is no norm");
    refused(text, "group z", "rows a\ngroup z", "cannot compute");
    refused(text, "group z", "beside y\ngroup z", "cannot be one");
    refused(text, "group z", "beside y z\ngroup z", "cannot be one");
    refused(text, "group z", "norm\ngroup z", "'group ...'");
    refused(text, " a>b", " z>b", "@nofuse");
    refused(text, " b>y", " !y b>y", "nothing stores this ('y')");
    refused(text, "group z", "merge !z\ngroup z", "nothing stores this ('z')");
    refused(text, " a>b", " a>b a>b", "one already");
    refused(text, " a>b", " a>b!y", "no merge of the model's");
    text = "model m { input q : f16[4096, 64]; s[i, j] : f32 = sum(d) q[i, d]"
           "* q[j, d]; output a[i] = max(j) s[i, j]; p[i, j] = exp(s[i, j] -"
           "a[i]); l[i] = sum(j) p[i, j]; w[i, j] : f16 = p[i, j] / l[i]; "
           "output y[i, e] : f16 = sum(j) w[i, j] * q[j, e]; }";
    refused(text, "&y_sum<a", "&y_sum", "nothing stores this ('a')");
    refused(text, "&y_sum<a", "&y_sum<", "no merge of the model's");
}

/* Rows with padding behind them and rows without are not of one kernel: the
 * first may be stored by vectors that end in it. */
Test(select, room_behind_rows)
{
    Fixture f = fixture();
    CompileOptions o = compile_options(&f);
    Report r = {0};

    o.random_plan = o.random_layout = 465694; /* turns the input's copy */
    CudaProgram *p = compiled(
        &f,
        "model m { param p : f16[2, 4, 16]; param q : f16[2, 65, 16];"
        " param v : f16[2, 65, 32]; input x : bf16[65, 1];"
        " param w : f32[1, 5]; input y : f16[1, 65, 5]; input z : f16[65, 8];"
        " s[b in 0..2, i in 0..4, j in 0..65] : f32 = b / 4 == j / 4"
        " ? (sum(d) p[b, i, d] * q[b, j, d]) * 0.25 : -30;"
        " a = softmax(s);"
        " t[b in 0..2, i in 0..4, f in 0..32] : f32 ="
        " sum(j) a[b, i, j] * v[b, j, f];"
        " u[i in 0..65, j in 0..5] : f32 ="
        " tanh(sum(k in 0..1) x[i, k] * w[k, j] * y[k, i, j]"
        " + (z[i, 7 - i] or -1));"
        " output t; output o = u; output same = x;"
        " loss : f32 = square_sum(o); output g = grad(loss, x); }",
        &r, &o);
    cr_assert(p, "%s", diag_text(f.diag));
    for (int i = 0; i < p->n_run; i++) {
        const Group *gr = p->run[i].group;
        if (!strcmp(gr->stmt[0]->tensor->name, "same"))
            cr_expect(strstr(gr->kernel->variant, "vec=1"), "%s",
                      gr->kernel->variant);
    }
    arena_free(f.arena);
}
