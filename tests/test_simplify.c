/* test_simplify.c - what the passes before selection make of tests/passes:
 * NAME.dcl has its graphs after simplify and normalise, and its layouts, in
 * NAME.txt. With DCC_UPDATE set in the environment they are written anew.
 * And the meaning of single steps. */
#include "compiler/rewrite/centre.h"
#include "compiler/rewrite/layout.h"
#include "compiler/rewrite/reassociate.h"
#include "models.h"
#include "compiler/support/file.h"

static void print_passes(Arena *a, const char *path, Buf *b)
{
    Diag *d = diag_new(a);
    const char *stem = strrchr(path, '/') + 1;
    Buf text = {0};
    const char **model;

    cr_assert(file_read(&text, path));
    struct Program *p = front_text(a, d, stem, buf_text(&text), text.len);
    cr_assert(p, "%s", diag_text(d));
    int n = front_models(a, p, &model);
    for (int i = 0; i < n; i++) {
        Graph *g = lower_model(a, d, p, model[i], NULL, 0);
        cr_assert(g, "%s", diag_text(d));
        simplified(g);
        buf_puts(b, "-- simplify\n");
        graph_dump(b, g);
        normalise(g);
        buf_puts(b, "-- normalise\n");
        graph_dump(b, g);
        layout(g, false, 0, NULL, NULL);
        buf_puts(b, "-- layout\n");
        layout_dump(b, g);
    }
    buf_free(&text);
}

Test(simplify, golden)
{
    Arena *a = arena_new();
    const char **file;
    int n = models_in(a, "tests/passes", &file);

    cr_assert_geq(n, 8);
    for (int i = 0; i < n; i++) {
        Buf got = {0}, want = {0};
        const char *path = arena_printf(a, "%.*s.txt",
                                        (int)strlen(file[i]) - 4, file[i]);
        print_passes(a, file[i], &got);
        if (getenv("DCC_UPDATE"))
            cr_assert(file_write(buf_text(&got), got.len, path));
        cr_assert(file_read(&want, path), "%s is missing", path);
        cr_expect_str_eq(buf_text(&got), buf_text(&want), "%s differs:\n%s",
                         path, buf_text(&got));
        buf_free(&got);
        buf_free(&want);
    }
    arena_free(a);
}

static int statements(const char *text, Reduce op)
{
    Fixture f = fixture();
    Graph *g = lowered(&f, text);
    int n = 0;

    simplified(g);
    for (int i = 0; i < g->n_stmt; i++)
        n += g->stmt[i]->when == WHEN_RUN && g->stmt[i]->op == op;
    arena_free(f.arena);
    return n;
}

/* Up to eight products of one input become one statement. */
Test(stack, of_two_to_nine)
{
    static const int left[] = {0, 1, 1, 1, 1, 1, 1, 1, 1, 2};

    for (int k = 1; k <= 9; k++) {
        Buf b = {0};
        buf_puts(&b, "model m { input x : f16[8, 32]; y0 = 1;");
        for (int i = 0; i < k; i++)
            buf_printf(&b, " param w%d : f16[16, 32];"
                           " y%d = y%d * linear(x, w%d);", i, i + 1, i, i);
        buf_printf(&b, " output y = y%d; }", k);
        cr_expect_eq(statements(buf_text(&b), R_SUM), left[k], "%d", k);
        buf_free(&b);
    }
}

/* Norms of groups of channels are two levels of both sums, of one image as of
 * several. */
Test(levels, of_images)
{
    for (int n = 1; n <= 2; n++) {
        Buf b = {0};
        buf_printf(&b, "model m { input x : f16[%d, 64, 192, 192];"
                       " output y = group_norm(x, groups = 16); }", n);
        cr_expect_eq(statements(buf_text(&b), R_SUM), 4, "%d", n);
        buf_free(&b);
    }
}

Test(stack, needs_one_form)
{
    const char *head = "model m { input x : f16[8, 32]; input z : f16[8, 32];"
                       " param a : f16[16, 32]; param b : f16[16, 32];"
                       " param c : f16[24, 32]; param d : f16[32, 16];";
    const char *tail = " output y = p - 1; output s = q * 2; }";
    static const char *const apart[] = {
        "p = linear(x, a); q = linear(x, c);",
        "p = linear(x, a); q = linear(z, b);",
        "p = linear(x, a); q = matmul(x, d);",
        "p = linear(x, a); @nofuse q = linear(x, b);",
        "output o = linear(x, a); q = linear(x, b); p = q;",
    };
    Arena *a = arena_new();

    for (size_t i = 0; i < sizeof apart / sizeof *apart; i++)
        cr_expect_eq(statements(arena_printf(a, "%s %s%s", head, apart[i],
                                             tail), R_SUM), 2, "%s",
                     apart[i]);
    cr_expect_eq(statements(arena_printf(a, "%s %s%s", head,
                                "p = linear(x, a); q = linear(x, b);", tail),
                            R_SUM), 1);
    arena_free(a);
}

/* Lookups in tables of one width are one where places and columns of ids grow
 * in equal steps, and nobody else reads the tables. */
Test(lookups, of_one_form)
{
    static const struct { int left; const char *text; } cases[] = {
        {2, "z[i, 0, k] = a[ids[i, 0], k]; z[i, 1, k] = b[ids[i, 1], k];"
            " z[i, 2, k] = c[ids[i, 2], k];"},
        {2, "z[i, 2, k] = a[ids[i, 0], k]; z[i, 1, k] = b[ids[i, 1], k];"
            " z[i, 0, k] = c[ids[i, 2], k];"},
        {3, "z[i, 0, k] = a[ids[i, 0], k]; z[i, 1, k] = b[ids[i, 1], k];"
            " z[i, 2, k] = c[ids[i, 0], k];"},
        {4, "z[i, 0, k] = a[ids[i, 0], k]; z[i, 1, k] = d[ids[i, 1], k];"
            " z[i, 2, k] = c[jds[i, 2], k];"},
        {4, "z[i, 0, k] = a[ids[i, 0], k]; z[i, 1, k] = a[ids[i, 1], k];"
            " z[i, 2, k] = a[ids[i, 2], k];"},
        {3, "z[i, 0, k] = a[ids[i, 0], k]; @nofuse z[i, 1, k] ="
            " b[ids[i, 1], k]; z[i, 2, k] = c[ids[i, 2], k];"},
    };
    Arena *a = arena_new();

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        cr_expect_eq(statements(arena_printf(a,
            "model m { input ids : i32[5, 3]; input jds : i32[5, 3];"
            " param a : f16[9, 8]; param b : f16[7, 8]; param c : f16[9, 8];"
            " param d : f32[9, 8]; z[i, 3, k in 0..8] = f16(ids[i, 0] * k);"
            " %s output y = exp(z); }", cases[i].text),
            R_NONE), cases[i].left + 1, "%s", cases[i].text);
    arena_free(a);
}

/* Names of load-time copies say what they copy; none is called "i". */
Test(stack, indices_have_names)
{
    Fixture f = fixture();
    Graph *g = lowered(&f, "model m { input x : f16[8, 32];"
        " param a : f16[16, 32]; param b : f16[16, 32];"
        " output y = linear(x, a) * linear(x, b); }");

    simplified(g);
    for (int i = 0; i < g->n_stmt; i++) {
        const Stmt *s = g->stmt[i];
        if (s->when != WHEN_LOAD)
            continue;
        for (int v = 0; v < s->n_out; v++)
            for (int w = 0; w < v; w++)
                cr_expect_str_neq(s->out[v]->name, s->out[w]->name);
    }
    arena_free(f.arena);
}

Test(factors, stay_with_integers)
{
    const char *text = "model m { input x : i8[4, 6]; input s : i8[4];"
                       " output y[i] = sum(j) x[i, j] * s[i]; }";
    Fixture f = fixture();
    Graph *g = lowered(&f, text);

    simplified(g);
    cr_expect_eq(g->n_stmt, 1);
    arena_free(f.arena);
}

/* A condition that leaves one term leaves no sum; a factor of 0 does not. */
Test(picks, one_term)
{
    const char *of[] = {"(t[n] == v ? w[v, d] : 0)",
                        "(v == t[n] && d > 3 ? w[v, d] * 2 : 0)",
                        "(t[n] == v ? 1.0 : 0.0) * w[v, d]"};

    for (int i = 0; i < 3; i++) {
        Fixture f = fixture();
        Graph *g = lowered(&f, arena_printf(f.arena, "model m {"
            " input t : i32[8]; input w : f32[9, 12];"
            " output y[n, d] = sum(v) %s; }", of[i]));
        simplified(g);
        cr_expect_eq(g->stmt[0]->op, i < 2 ? R_NONE : R_SUM, "%s", of[i]);
        arena_free(f.arena);
    }
}

/* Launches of products. */
static int products_of(const char *text)
{
    Fixture f = fixture();
    CompileOptions o = compile_options(&f);
    Report r = {0};
    CudaProgram *p = compiled(&f, text, &r, &o);
    int n = 0;

    cr_assert(p, "%s", diag_text(f.diag));
    for (int i = 0; i < p->n_run; i++)
        n += strncmp(p->run[i].group->family->name, "contract_", 9) == 0;
    arena_free(f.arena);
    return n;
}

/* A sum over a range that rows decide is a product of a factor with zeros, and
 * so are its gradients. */
Test(factors, of_ranges)
{
    cr_expect_eq(products_of("model m { input a : f16[2048, 2048];"
                             " input x : f16[2048, 1024]; output y[i, k] ="
                             " sum(j in 0..i + 1) a[i, j] * x[j, k]; }"), 1);
    cr_expect_eq(products_of("model m { input a : f16[1024, 1024];"
                             " input x : f16[1024, 512];"
                             " input u : f16[1024, 512]; y[i, k] : f32 ="
                             " sum(j in 0..i + 1) a[i, j] * x[j, k];"
                             " loss[] = sum(i, k) y[i, k] * u[i, k];"
                             " output loss; output da = grad(loss, a);"
                             " output dx = grad(loss, x); }"), 3);
}

/* Whether some sum of the model is over several indices. */
static bool sums_over_several(const char *text)
{
    Fixture f = fixture();
    CompileOptions o = compile_options(&f);
    Report r = {0};

    o.dump = "number";
    cr_assert(compiled(&f, text, &r, &o), "%s", diag_text(f.diag));
    bool found = false;
    for (const char *s = buf_text(&r.dump); (s = strstr(s, "sum(")); s++)
        found |= s[strcspn(s, ",)")] == ',';
    buf_free(&r.dump);
    buf_free(&r.plan);
    arena_free(f.arena);
    return found;
}

/* Sums of several factors are in pairs, those of gradients too; not where one
 * sum is as quick. */
Test(paths, in_pairs)
{
    cr_expect_not(sums_over_several("model m {"
        " input a : f16[256, 300]; input b : f16[300, 310];"
        " input c : f16[310, 256];"
        " y[i, l] = sum(j, k) a[i, j] * b[j, k] * c[k, l]; output y;"
        " r[i] : f32 = sum(l) y[i, l] * y[i, l]; loss[] = sum(i) r[i];"
        " output da = grad(loss, a); output dc = grad(loss, c); }"));
    cr_expect(sums_over_several("model m {"
        " input a : f16[8, 9]; input b : f16[9, 10]; input c : f16[10, 8];"
        " output y[i, l] = sum(j, k) a[i, j] * b[j, k] * c[k, l]; }"));
}

/* How often the normalised model, for a GPU, says so. */
static int said(const char *text, const char *gpu, const char *words)
{
    Fixture f = fixture();
    CompileOptions o = compile_options(&f);
    Report r = {0};
    int n = 0;

    o.dump = "normalise";
    o.model.device = device_find(f.arena, gpu);
    cr_assert(compiled(&f, text, &r, &o), "%s", diag_text(f.diag));
    for (const char *s = buf_text(&r.dump); (s = strstr(s, words)); s++)
        n++;
    buf_free(&r.dump);
    buf_free(&r.plan);
    arena_free(f.arena);
    return n;
}

/* What TMA has no box for is copied in order where the product is long enough,
 * and the GPU has TMA. */
Test(straighten, larger_images_and_shifted_windows)
{
    const char *larger = "model m { input x : f16[1, 256, 16, 16];"
                         " param w : f16[256, 256, 3, 3];"
                         " output y = conv2d(upsample(x), w, pad = 1); }";
    const char *small = "model m { input x : f16[1, 16, 16, 16];"
                        " param w : f16[16, 16, 3, 3];"
                        " output y = conv2d(upsample(x), w, pad = 1); }";
    const char *shifted = "model m { input x : f16[6272, 512];"
                          " param w : f16[1024, 512];"
                          " output y[i in 0..6272, k] ="
                          " sum(c) x[(i + 3) % 6272, c] * w[k, c]; }";

    cr_expect_eq(said(larger, "h200", "temp   x_straight"), 1);
    cr_expect_eq(said(larger, "h200", "x_straight[0, c, p + r - 1, "), 1);
    cr_expect_eq(said(larger, "a100", "x_straight"), 0);
    cr_expect_eq(said(small, "h200", "x_straight"), 0);
    cr_expect_eq(said(shifted, "h200", "(x_straight[i, c] *"), 1);
}

/* Groups of channels that lie fastest are rows side by side in a block, as many
 * as make a sector; a row that has one by itself has a block. */
Test(layout, rows_side_by_side)
{
    static const int groups[] = {32, 8};

    for (int i = 0; i < 2; i++) {
        Fixture f = fixture();
        CompileOptions o = compile_options(&f);
        Report r = {0};
        CudaProgram *p = compiled(&f, arena_printf(f.arena,
            "model m { input i : f16[32, 128, 32, 32];"
            " param w : f16[128, 128, 3, 3]; x = conv2d(i, w, pad = 1);"
            " n = silu(group_norm(x, groups = %d));"
            " output z = conv2d(n, w, pad = 1); }", groups[i]), &r, &o);
        cr_assert(p, "%s", diag_text(f.diag));
        bool beside = false;
        for (int n = 0; n < p->n_run; n++)
            beside |= p->run[n].kernel->family &&
                      !strcmp(p->run[n].kernel->family, "reduce") &&
                      !strncmp(p->run[n].kernel->variant, "block", 5) &&
                      !strstr(p->run[n].kernel->variant, "share=1");
        cr_expect_eq(beside, groups[i] == 32, "%d groups", groups[i]);
        arena_free(f.arena);
    }
}

/* Sums over the scores of an attention in its gradients: of products of f32
 * tensors of all scores, and where the greatest is. */
static void count_of_scores(const char *parts, int *sums, int *places)
{
    Fixture f = fixture();
    Graph *g = lowered(&f, arena_printf(f.arena, "model m {"
        " input q : f32[2, 12, 8]; input k : f32[2, 20, 8];"
        " input v : f32[2, 20, 8]; input u : f32[2, 12, 8];"
        " %s loss[] = sum(b, i, e) o[b, i, e] * u[b, i, e]; output loss;"
        " output dq = grad(loss, q); }", parts));

    simplified(g);
    normalise(g);
    reassociate(g);
    *sums = *places = 0;
    for (int i = 0; i < g->n_stmt; i++) {
        const Stmt *s = g->stmt[i];
        *places += s->op == R_ARGMAX;
        *sums += s->op == R_SUM && s->n_out == 2 && s->red[0]->extent == 20;
    }
    arena_free(f.arena);
}

Test(reassociate, gradients_of_attention)
{
    const char *softmax = "s[b, i, j] : f32 = sum(d) q[b, i, d] * k[b, j, d];"
                          " m[b, i] = max(j) s[b, i, j];"
                          " x[b, i, j] = exp(s[b, i, j] - m[b, i]);"
                          " p[b, i, j] = x[b, i, j] / sum(l) x[b, i, l];";
    Arena *a = arena_new();
    int sums, places;

    count_of_scores("o = attention(q, k, v);", &sums, &places);
    cr_expect_eq(sums, 1); /* of the exponentials */
    /* what the maximum passes back cancels */
    count_of_scores(arena_printf(a, "%s o[b, i, e] = sum(j) p[b, i, j] *"
                                 " v[b, j, e];", softmax), &sums, &places);
    cr_expect_eq(sums, 1);
    cr_expect_eq(places, 0);
    /* nothing has the other order where other weights are summed */
    count_of_scores(arena_printf(a, "%s o[b, i, e] = sum(j) p[b, i, j] *"
                                 " p[b, i, j] * v[b, j, e];", softmax),
                    &sums, &places);
    cr_expect_gt(sums, 1);
    arena_free(a);
}

/* How many means are subtracted twice in the gradient of sum(y * u), where
 * `parts` makes y of x. */
static int count_centred(const char *type, const char *parts)
{
    Fixture f = fixture();
    Graph *g = lowered(&f, arena_printf(f.arena, "model m {"
        " input x : %s[6, 20]; input v : %s[20, 8]; input u : f32[6, 8];"
        " %s y = matmul(p, v); loss[] = sum(i, e) y[i, e] * u[i, e];"
        " output loss; output dx = grad(loss, x); }", type, type, parts));

    simplified(g);
    normalise(g);
    int n = centre(g);
    arena_free(f.arena);
    return n;
}

Test(centre, gradients_of_softmax)
{
    cr_expect_eq(count_centred("f32", "p = softmax(x);"), 1);
    cr_expect_eq(count_centred("f32", "p = softmax(softmax(x));"), 2);
    cr_expect_eq(count_centred("f32", "e = exp(x);"
                               " p[i, j] = e[i, j] / sum(k) e[i, k];"), 1);
    /* rounding of 16 bits is more than what cancels */
    cr_expect_eq(count_centred("f16", "p = softmax(x);"), 0);
    /* no mean: the weights do not add up to what divides them */
    cr_expect_eq(count_centred("f32", "e = exp(x); p[i, j] = e[i, j] /"
                               " (1 + sum(k) e[i, k]);"), 0);
    cr_expect_eq(count_centred("f32", "e = exp(x); p[i, j] = e[i, j] /"
                               " sum(k) e[i, k] * e[i, k];"), 0);
}

/* Maxima and sums after simplify of a cross entropy of `cols` classes. */
static int entropy_levels(const char *type, int cols, Reduce op)
{
    char text[256];

    snprintf(text, sizeof text, "model m { input x : %s[2048, %d];"
             " m[i] : f32 = max(j) x[i, j]; output y[i] : f32 = m[i] +"
             " log(sum(j) exp(f32(x[i, j]) - m[i])); }", type, cols);
    return statements(text, op);
}

/* What a block can keep until it reads it again stays one sum. */
Test(levels, kept)
{
    cr_expect_eq(entropy_levels("f16", 50304, R_MAX), 1);
    cr_expect_eq(entropy_levels("f16", 50304, R_SUM), 1);
    cr_expect_eq(entropy_levels("f16", 131072, R_MAX), 2);
    cr_expect_eq(entropy_levels("f16", 131072, R_SUM), 2);
    cr_expect_eq(entropy_levels("f32", 50304, R_MAX), 1);
    cr_expect_eq(entropy_levels("f32", 65536, R_MAX), 2);
    cr_expect_eq(statements("model m { input x : f16[2048, 50304];"
                            " output y[i] : f32 = sum(j) f32(x[i, j]); }",
                            R_SUM), 2);
}

/* Large windows are summed along one index after the other, long ones in
 * parts; those that a thread has in registers, or that weights are of, as they
 * are. */
Test(separate, large_windows)
{
    static const struct {
        int sums;
        const char *term;
    } cases[] = {{2, "sum(r in 0..11, s in 0..11) x[i + r, j + s]"},
                 {2, "sum(k in 0..64) x[i, j + k]"},
                 {1, "sum(r in 0..7, s in 0..7) x[i + r, j + s]"},
                 {1, "sum(k in 0..31) x[i, j + k]"},
                 {1, "sum(r in 0..11, s in 0..11) x[i + r, j + s] * w[r, s]"},
                 {1, "sum(r in 0..11, s in 0..11) x[i + r, j + s] * r"}};

    for (int i = 0; i < (int)(sizeof cases / sizeof *cases); i++) {
        char text[256];
        snprintf(text, sizeof text, "model m { input x : f32[400, 400];"
                 " input w : f32[11, 11];"
                 " output y[i in 0..300, j in 0..300] = %s; }", cases[i].term);
        cr_expect_eq(statements(text, R_SUM), cases[i].sums, "%s",
                     cases[i].term);
    }
}

/* Functions of indices are made at load time where many points have each. */
Test(tabulate, functions_of_indices)
{
    static const struct {
        int tables;
        const char *value;
    } cases[] = {{1, "x[n, t, d] + sin(t * exp(-0.1 * d))"},
                 {1, "x[n, t, d] * (d % 2 == 0 ? sin(t * 0.1) : cos(t * 0.1))"},
                 {0, "x[n, t, d] * exp(-0.1 * d)"},
                 {0, "x[n, t, d] * sin(n * t * d * 0.1)"},
                 {0, "x[n, t, d] * sin(p[t] * 0.1)"}};

    for (int i = 0; i < (int)(sizeof cases / sizeof *cases); i++) {
        Fixture f = fixture();
        Graph *g = lowered(
            &f, arena_printf(f.arena, "model m { input x : f32[8, 16, 32];"
                             " input p : i32[16]; output y[n, t, d] = %s; }",
                             cases[i].value));
        int n = 0;
        simplified(g);
        for (int k = 0; k < g->n_stmt; k++)
            n += g->stmt[k]->when == WHEN_LOAD;
        cr_expect_eq(n, cases[i].tables, "%s", cases[i].value);
        arena_free(f.arena);
    }
}

/* Where sums of one loop's steps are one, what has been added up so far
 * between them, with those of another loop, is not what it was: no trace
 * compares it. */
Test(steps, regrouped)
{
    Fixture f = fixture();
    Graph *g = lowered(
        &f,
        "model m { input x : f32[2, 7, 5]; param w : f32[5, 5];"
        " f : f32[2, 5] = 0; r : f32[2, 5] = 0; for t in 0..7 {"
        " f[b, d] = tanh(x[b, t, d] + sum(e) w[d, e] * f[b, e]);"
        " p[b, t, d] = f[b, d];"
        " r[b, d] = tanh(x[b, 6 - t, d] + sum(e) w[e, d] * r[b, e]);"
        " q[b, 6 - t, d] = r[b, d]; }"
        " s[] = sum(b, t, d) p[b, t, d] * q[b, t, d];"
        " output g = grad(s, w); }");
    int so_far = 0, marked = 0;

    simplified(g);
    for (int i = 0; i < g->n_stmt; i++) {
        const Tensor *t = g->stmt[i]->tensor;
        so_far += !strcmp(t->name, "d_w_so_far");
        marked += t->regrouped;
        cr_expect(!t->regrouped || t->role == ROLE_TEMP);
    }
    cr_expect(so_far > 0 && marked >= 1 && marked <= so_far,
              "%d so far, %d of them marked", so_far, marked);
    arena_free(f.arena);
}
