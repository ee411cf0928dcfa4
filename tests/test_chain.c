/* test_chain.c - two products and what lies between them: how reductions over
 * columns are had block by block, and which models become such kernels. */
#include "compiler/emit/emit.h"
#include "compiler/group/fuse.h"
#include "compiler/group/online.h"
#include "compiler/support/buf.h"
#include "models.h"

/* All statements of a model as one nest. */
static Group *nest(Fixture *f, Graph *g)
{
    Group *gr = group_of(g, g->stmt[0]);
    const char *why = NULL;

    for (int i = 1; i < g->n_stmt; i++) {
        Group *next = group_of(g, g->stmt[i]), *both = NULL;
        for (int k = 0; k < gr->n_step && !both; k++)
            if (gr->step[k].tensor && group_reads(next, gr->step[k].tensor))
                both = fuse(g, gr, next, gr->step[k].tensor, true, &why);
        cr_assert(both, "statement %d: %s", i, why ? why : "reads nothing");
        gr = both;
    }
    (void)f;
    return gr;
}

static const char *text_of(Fixture *f, const Expr *e)
{
    Buf b = {0};

    if (!e)
        return "1";
    expr_dump(&b, e);
    return buf_take(&b, f->arena);
}

/* The factors by which the reductions and the sums of the last statement's
 * values are rescaled, "1, exp(#0 - #1000); exp(..)", what is left for the end
 * behind a bar; or the reason why not. */
static const char *online(Fixture *f, const char *model)
{
    Graph *g = lowered(f, arena_printf(f->arena,
                                       "model m { "
                                       "input x : f32[8, 64]; %s }",
                                       model));
    const char *why = NULL;
    Online o;
    Buf b = {0};

    simplified(g);
    normalise(g);
    Group *gr = nest(f, g);
    if (!online_derive(g, gr, gr->step[gr->n_step - 1].tensor, &o, &why))
        return why;
    for (int i = 0; i < o.n_red; i++)
        buf_printf(&b, "%s%s", i ? ", " : "", text_of(f, o.red[i].rescale));
    buf_printf(&b, "; %s | %s", text_of(f, o.rescale), text_of(f, o.after));
    return buf_take(&b, f->arena);
}

static void expect_online(const char *want, const char *model)
{
    Fixture f = fixture();
    const char *got = online(&f, model);

    cr_expect_str_eq(got, want, "%s: '%s', not '%s'", model, got, want);
    arena_free(f.arena);
}

Test(chain, derived)
{
    expect_online("1, exp(#0 - #1000); exp(#0 - #1000) | 1 / #1",
                  "m[i] = max(j) x[i, j]; z[i] = sum(j) exp(x[i, j] - m[i]);"
                  "output p[i, j] = exp(x[i, j] - m[i]) / z[i];");
    expect_online("1; 1 | 1 / #0", "z[i] = sum(j) exp(x[i, j]);"
                                   "output p[i, j] = exp(x[i, j]) / z[i];");
    expect_online("1, exp2(#0 - #1000); exp2(#0 - #1000) | 1 / #1",
                  "m[i] = max(j) x[i, j]; z[i] = sum(j) exp2(x[i, j] - m[i]);"
                  "output p[i, j] = exp2(x[i, j] - m[i]) / z[i];");
    expect_online("1, exp(#0 * 0.5 - #1000 * 0.5); "
                  "exp(#0 * 0.5 - #1000 * 0.5) | 1 / #1",
                  "m[i] = max(j) x[i, j];"
                  "z[i] = sum(j) exp((x[i, j] - m[i]) * 0.5);"
                  "output p[i, j] = exp((x[i, j] - m[i]) * 0.5) / z[i];");
    expect_online("1, exp(#0 - #1000); exp(#0 - #1000) | 1 / #1",
                  "m[i] = max(j) x[i, j];"
                  "z[i] = sum(j) (j > i ? 0 : exp(x[i, j] - m[i]));"
                  "output p[i, j] = (j > i ? 0 : exp(x[i, j] - m[i])) / z[i];");
    expect_online("1, #0 / #1000; 1 | 1 / #1",
                  "m[i] = max(j) abs(x[i, j]); z[i] = sum(j)"
                  " (j > i ? 0 : x[i, j] / m[i]);"
                  "output p[i, j] = exp(x[i, j]) * x[i, j] / z[i];");
}

/* A row's condition leaves the sum with what it divides by. */
Test(chain, guarded)
{
    expect_online("1, exp(#0 - #1000); exp(#0 - #1000) | "
                  "#1 > 0 ? 1 / #1 : 0",
                  "m[i] = max(j) x[i, j]; z[i] = sum(j) exp(x[i, j] - m[i]);"
                  "output p[i, j] = z[i] > 0 ? exp(x[i, j] - m[i]) / z[i]"
                  " : 0;");
}

Test(chain, not_to_be_rescaled)
{
    const char *no = "its running value cannot be rescaled";

    expect_online(no, "m[i] = mean(j) x[i, j];"
                      "v[i] = sum(j) (x[i, j] - m[i]) * (x[i, j] - m[i]);"
                      "output p[i, j] = x[i, j] * v[i];");
    expect_online(no, "m[i] = max(j) x[i, j];"
                      "w[i] = max(j) abs(x[i, j] - m[i]);"
                      "output p[i, j] = x[i, j] * w[i];");
    expect_online(no, "m[i] = max(j) x[i, j];"
                      "output p[i, j] = exp(x[i, j] * m[i]);");
    expect_online(no, "m[i] = max(j) x[i, j];"
                      "output p[i, j] = x[i, j] + m[i];");
}

/* How many kernels a model becomes, and whether the first is a chain of the
 * family; with what --variant says of that, or NULL. */
static void expect_of(int n, bool chain, const char *text, const char *family,
                      const char *asked)
{
    Fixture f = fixture();
    CompileOptions o = compile_options(&f);
    Forced ask = {.name = family, .text = asked};

    o.forced = &ask;
    o.n_forced = asked != NULL;
    CudaProgram *p = compiled_body(&f, text, &o);

    cr_expect_eq(p->n_run, n, "%s: %d launches, not %d", text, p->n_run, n);
    cr_expect_eq(!strcmp(p->run[0].kernel->family, family), chain, "%s: by %s",
                 text, p->run[0].kernel->family);
    arena_free(f.arena);
}

static void expect(int n, bool chain, const char *text)
{
    expect_of(n, chain, text, "chain_wgmma", NULL);
}

#define QKV                                                       \
    "input q : f16[2, 4, 512, 64]; input k : f16[2, 4, 512, 64];" \
    "input v : f16[2, 4, 512, 64];"
#define SECOND "output y[b, h, i, e] = sum(j) p[b, h, i, j] * v[b, h, j, e];"
#define LAST "p : f16 = softmax(s); " SECOND

Test(chain, attention)
{
    /* probabilities that stay f32 */
    expect(1, true,
           QKV "s[b, h, i, j] : f32 = sum(d) q[b, h, i, d] *"
               " k[b, h, j, d]; p = softmax(s);"
               "output y[b, h, i, e] = sum(j) p[b, h, i, j] *"
               " v[b, h, j, e];");
    expect(1, true, QKV "output y = attention(q, k, v, causal = true);");
    /* the scores as they are, or -inf */
    expect(1, true,
           QKV "s[b, h, i, j] : f32 = j <= i ? sum(d) q[b, h, i, d] *"
               " k[b, h, j, d] * 0.125 : -inf;" LAST);
    expect(1, true,
           QKV "s[b, h, i, j] : f32 = 0.1 * sum(d) q[b, h, i, d] *"
               " k[b, h, j, d] - 0.01 * abs(f32(i - j));" LAST);
    expect(1, true,
           QKV "input m : f16[2, 1, 512, 512];"
               "output y = attention(q, k, v, m);");
    expect(1, true,
           "input q : f16[2, 512, 8, 64]; input k : f16[2, 512, 2,"
           " 64]; input v : f16[2, 512, 2, 64];"
           "s[b, h, i, j] : f32 = sum(d) q[b, i, h, d] *"
           " k[b, j, h / 4, d]; p : f16 = softmax(s);"
           "output y[b, i, h, e] = sum(j) p[b, h, i, j] *"
           " v[b, j, h / 4, e];");
    /* a bias of a picture's rows, and one of its columns */
    expect(1, true,
           QKV "input up : f16[2, 4, 512, 16]; input left : f16[2, 4, 512, 32];"
               "s[b, h, i, j] : f32 = (sum(d) q[b, h, i, d] * k[b, h, j, d])"
               " + up[b, h, i, j / 32] + left[b, h, i, j % 32];" LAST);
    expect(1, true,
           QKV "input up : f16[2, 4, 32, 16, 16];"
               "s[b, h, i, j] : f32 = (sum(d) q[b, h, i, d] * k[b, h, j, d])"
               " + up[b, h, i / 16, i % 16, j / 32];" LAST);
    /* windows of 7 x 7: many tiles of one block of columns */
    expect(1, true,
           "input q : f16[512, 4, 49, 32]; input k : f16[512, 4, 49, 32];"
           "input v : f16[512, 4, 49, 32]; param bias : f16[4, 49, 49];"
           "s[b, h, i, j] : f32 = (sum(d) q[b, h, i, d] * k[b, h, j, d])"
           " * 0.1768 + bias[h, i, j];" LAST);
    /* an op of the user's, with another name for everything */
    expect(1, true,
           QKV "t[b, h, i, j] : f32 = sum(d) q[b, h, i, d] *"
               " k[b, h, j, d]; g[b, h, i] = max(j) t[b, h, i, j];"
               "u[b, h, i, j] : f16 = exp(t[b, h, i, j] -"
               " g[b, h, i]); z[b, h, i] = sum(j) f32(u[b, h, i, j]);"
               "output y[b, h, i, e] = (sum(j) u[b, h, i, j] *"
               " v[b, h, j, e]) / z[b, h, i];");
}

/* Others read the scores; row sums finish the second product other than as a
 * divisor; a factor of f32 that 16 bits may not hold. */
Test(chain, apart)
{
    expect(3, false,
           QKV "output s[b, h, i, j] : f32 = sum(d) q[b, h, i, d] *"
               " k[b, h, j, d];" LAST);
    expect(3, false,
           QKV "t[b, h, i, j] : f32 = sum(d) q[b, h, i, d] *"
               " k[b, h, j, d]; u[b, h, i, j] : f16 ="
               " exp(t[b, h, i, j]); z[b, h, i] = sum(j)"
               " f32(u[b, h, i, j]); output y[b, h, i, e] = (sum(j)"
               " u[b, h, i, j] * v[b, h, j, e]) + z[b, h, i];");
    expect(2, false,
           QKV "s[b, h, i, j] : f32 = sum(d) q[b, h, i, d] *"
               " k[b, h, j, d]; p[b, h, i, j] = s[b, h, i, j] * 2;"
               "output y[b, h, i, e] = sum(j) p[b, h, i, j] *"
               " v[b, h, j, e];");
    expect(3, false,
           "input q : f32[2, 512, 64]; input k : f32[2, 512, 64];"
           "input v : f32[2, 512, 64];"
           "output y = attention(q, k, v);");
}

Test(chain, older_gpus)
{
    Fixture f = fixture();
    CompileOptions o = {.model.device = device_find(f.arena, "a100")};
    Report r = {0};
    CudaProgram *p = compiled(&f,
                              "model m { " QKV "output y ="
                              " attention(q, k, v, causal = true); }",
                              &r, &o);

    cr_assert(p, "%s", diag_text(f.diag));
    cr_expect_eq(p->n_run, 1, "%d launches", p->n_run);
    cr_expect_str_eq(p->run[0].kernel->family, "chain_mma");
    arena_free(f.arena);
}

/* What attends with few rows, and in how many launches, on a GPU. */
static void expect_few(int n, const char *gpu, const char *text)
{
    Fixture f = fixture();
    CompileOptions o = {.model.device = device_find(f.arena, gpu)};
    CudaProgram *p = compiled_body(&f, text, &o);

    cr_expect_eq(p->n_run, n, "%s: %d launches, not %d", text, p->n_run, n);
    cr_expect_str_eq(p->run[p->n_run - 1].kernel->family, "chain_few", "%s",
                     text);
    arena_free(f.arena);
}

/* One new token: a row of its own for each head, what data masks, and the rows
 * of all heads that share columns. */
Test(chain, few_rows)
{
    static const char *const gpu[] = {"h200", "a100"};
    const char *cache = "input q : f16[12, 64]; input c : f16[2, 12, 64];"
                        "input pos : i32 in 0..1024;"
                        "state k : f16[12, 1024, 64];"
                        "state v : f16[12, 1024, 64];"
                        "k[h, pos, d] = c[0, h, d]; v[h, pos, d] = c[1, h, d];"
                        "s[h, j] : f32 = j <= pos ? sum(d) q[h, d] *"
                        " k[h, j, d] / 8 : -inf; p : f16 = softmax(s);"
                        "output y[h, e] = sum(j) p[h, j] * v[h, j, e];";
    const char *groups = "input q : bf16[4, 2, 32, 128];"
                         "input k : bf16[4, 4096, 8, 128];"
                         "input v : bf16[4, 4096, 8, 128];"
                         "s[b, i, h, j] : f32 = 0.1 * sum(d) q[b, i, h, d] *"
                         " k[b, j, h / 4, d]; p : bf16 = softmax(s);"
                         "output y[b, i, h, e] = sum(j) p[b, i, h, j] *"
                         " v[b, j, h / 4, e];";

    /* no sum of so many terms goes in two levels, if it lies between */
    const char *far = "input q : f16[2, 32, 1, 128];"
                      "input k : f16[2, 2, 65536, 128];"
                      "input v : f16[2, 2, 65536, 128];"
                      "s[b, h, i, j] : f32 = 0.1 * sum(d) q[b, h, i, d] *"
                      " k[b, h / 16, j, d]; p : f16 = softmax(s);"
                      "output y[b, h, i, e] = sum(j) p[b, h, i, j] *"
                      " v[b, h / 16, j, e];";

    expect_few(1, gpu[0], far);
    for (int i = 0; i < 2; i++) {
        expect_few(2, gpu[i], cache); /* both states at one time */
        expect_few(1, gpu[i], groups);
    }
}

/* The text of the kernel that attends with 5 rows to 4096 columns, of which
 * those count that `live` says. */
static const char *text_where(Fixture *f, const char *live)
{
    CompileOptions o = {.model.device = device_find(f->arena, "h200")};
    const char *model = arena_printf(
        f->arena,
        "model m { input q : f16[2, 5, 64]; input k : f16[2, 4096, 64];"
        "input v : f16[2, 4096, 64]; input seen : i32[2] in 0..4000;input any "
        ": i32[2]; input each : i32[4096];"
        "s[b, i, j] : f32 = %s; p : f16 = softmax(s);"
        "output y[b, i, e] = sum(j) p[b, i, j] * v[b, j, e]; }",
        live);
    Report r = {0};
    CudaProgram *p = compiled(f, model, &r, &o);
    Buf b = {0};

    cr_assert(p, "%s: %s", live, diag_text(f->diag));
    cr_expect_str_eq(p->run[p->n_run - 1].kernel->family, "chain_few");
    emit_kernel(&b, p, p->run[p->n_run - 1].kernel);
    return buf_take(&b, f->arena);
}

/* Columns beyond what data say are not loaded: for all rows of a block, so the
 * last row's bound above and the first one's below. */
Test(chain, data_bound_columns)
{
    static const char x[] = "sum(d) q[b, i, d] * k[b, j, d]";
    static const char *const cases[][3] = {
        {"j <= seen[b] ? %s : -inf", "min(J - 1, seen[b_])", NULL},
        {"j + 3 < seen[b] ? %s : -inf", "min(J - 1, (seen[b_] - 3 + -1))",
         NULL},
        {"j > seen[b] + i ? -inf : %s", "min(J - 1, (seen[b_] + 4))", NULL},
        {"seen[b] - i >= j ? %s : -inf", "min(J - 1, seen[b_])", NULL},
        {"j < seen[b] || j > seen[1 - b] ? -inf : %s",
         "min(J - 1, seen[1 - b_])", "max(0, seen[b_])"},
        {"j - i >= seen[b] && i < 4 ? %s : -inf", "last = (J - 1)",
         "max(0, seen[b_])"},
        {"j < any[b] ? %s : -inf", "min(J - 1, dcc_wrap_add(any[b_], -1))",
         NULL},
        {"j > any[b] + i ? -inf : %s", "last = (J - 1)", NULL},
        {"j <= each[j] ? %s : -inf", "last = (J - 1)", NULL},
        {"j <= seen[b] || j > 4000 ? %s : -inf", "last = (J - 1)", NULL},
        {"j <= seen[b] ? %s : 0", "last = (J - 1)", NULL}};
    Fixture f = fixture();

    for (int i = 0; i < (int)(sizeof cases / sizeof *cases); i++) {
        const char *const *c = cases[i];
        Buf live = {0};
        const char *at = strstr(c[0], "%s");
        buf_printf(&live, "%.*s%s%s", (int)(at - c[0]), c[0], x, at + 2);
        const char *text = text_where(&f, buf_take(&live, f.arena));
        for (int k = 1; k < 3 && c[k]; k++)
            cr_expect(strstr(text, c[k]), "%s: no %s in\n%.1500s", c[0], c[k],
                      strstr(text, "blockIdx"));
    }
    arena_free(f.arena);
}

/* A score beside others is multiplied by the inverse of what divides it. */
Test(chain, divided_scores)
{
    Fixture f = fixture();
    const char *text = text_where(
        &f, "(sum(d) q[b, i, d] * k[b, j, d]) / 7.0 + 0.5 * each[j]");

    cr_expect(strstr(text, "x * 0.14285715f"), "%s", text);
    arena_free(f.arena);
}

/* All kernels of a model. */
static const char *texts(Fixture *f, const char *body)
{
    CompileOptions o = compile_options(f);
    CudaProgram *p = compiled_body(f, body, &o);
    Buf b = {0};

    for (int i = 0; i < p->n_run; i++)
        emit_kernel(&b, p, p->run[i].kernel);
    return buf_take(&b, f->arena);
}

/* What is of a column or a row alone is made once each, ahead of scores, and
 * exponentials are powers of 2. */
Test(chain, values)
{
    Fixture f = fixture();
    const char *text = texts(&f, QKV
        "input each : f32[512];"
        "s[b, h, i, j] : f32 = (sum(d) q[b, h, i, d] * k[b, h, j, d])"
        " * 0.5 + 2 * each[j];" LAST);

    cr_expect(strstr(text, "dcc_leave_columns(smem.of_column"), "%s", text);
    cr_expect(strstr(text, "x * 0.5f + of[0]"), "%s", text);
    arena_free(f.arena);
}

/* What a power is multiplied by goes into its exponent, if that is more than 0
 * whatever the data are. */
Test(chain, factors_of_powers)
{
    static const struct {
        const char *factor, *want;
    } cases[] = {{"(0.25 + each[j] * each[j])", " - log2f(0.25f + "},
                 {"each[j]", ") * of[1]"}};

    for (int i = 0; i < 2; i++) {
        Fixture f = fixture();
        CompileOptions o = compile_options(&f);
        Forced ask = {.name = "chain_wgmma", .text = "any"};
        o.forced = &ask;
        o.n_forced = 1;
        CudaProgram *p = compiled_body(
            &f, arena_printf(
                    f.arena,
                    QKV "input each : f32[512]; input least : f32[512];"
                    "p[b, h, i, j] : f16 = exp((sum(d) q[b, h, i, d]"
                    " * k[b, h, j, d]) * 0.5 - least[j]) * %s;" SECOND,
                    cases[i].factor),
            &o);
        Buf b = {0};
        emit_kernel(&b, p, p->run[0].kernel);
        const char *text = buf_take(&b, f.arena);
        cr_expect(strstr(text, cases[i].want), "%s", text);
        cr_expect_eq(strstr(text, "log2f") != NULL, i == 0, "%s", text);
        arena_free(f.arena);
    }
}

/* Where two warpgroups have many registers, values of columns are three warps'
 * beside the one that loads: they hold those of any block. */
Test(chain, many_values)
{
    static const char *const scores[] = {"x + a", "((x + a) * b + c) * e"};
    static const char *const read[] = {"dcc_read_columns<1, BJ,",
                                       "dcc_read_columns<4, BJ,"};

    for (int i = 0; i < 2; i++) {
        Fixture f = fixture();
        CompileOptions o = compile_options(&f);
        Forced ask = {.name = "chain_wgmma",
                      .text = "bm=128 bj=176 stages=2 consumers=2 group=1"};
        o.forced = &ask;
        o.n_forced = 1;
        CudaProgram *p = compiled_body(
            &f, arena_printf(f.arena,
                             QKV "input a : f32[512]; input b : f32[512];"
                             "input c : f32[512]; input e : f32[512];"
                             "x[n, h, i, j] : f32 = sum(d) q[n, h, i, d]"
                             " * k[n, h, j, d];"
                             "s = %s; p : f16 = softmax(s);"
                             "output y[n, h, i, l] = sum(j) p[n, h, i, j]"
                             " * v[n, h, j, l];",
                             scores[i]), &o);
        const char *variant = p->run[0].kernel->variant;
        cr_expect(strstr(variant, "bj=176"), "%s: %s", scores[i], variant);
        Buf b = {0};
        emit_kernel(&b, p, p->run[0].kernel);
        const char *text = buf_take(&b, f.arena);
        cr_expect(strstr(text, read[i]), "%s", text);
        cr_expect(strstr(text, "3>(block * BJ + part * 32"), "%s", text);
        arena_free(f.arena);
    }
}

/* With nothing reduced between the products only where --variant asks. */
Test(chain, pairs)
{
    const char *text = "input x : f16[65536, 128]; param w : f16[512, 128];"
                       "param b : f16[512]; param u : f16[128, 512];"
                       "output y = linear(gelu(linear(x, w, b)), u);";

    expect_of(1, true, text, "chain_wgmma", "any");
    expect_of(2, false, text, "chain_wgmma", "none");
    expect(1, true, text);
    /* TMA's short rows of weights, into each of many blocks */
    expect(2, false,
           "input x : f16[401408, 32]; param w : f16[16, 32];"
           "param u : f16[96, 16];"
           "output y = relu6(linear(linear(x, w), u));");
}

/* Gradients of keys and values that heads share are chains, however the heads
 * lie, as those of queries are: the columns' head is of their batch. */
Test(chain, shared_keys)
{
#define SHARED(Q, K, AT)                                                \
    "model m { dim S = 512;"                                            \
    "input q : f16[" Q "]; input k : f16[" K "]; input v : f16[" K "];" \
    "qs[b in 0..16, h in 0..9, i in 0..S, d in 0..64] = q[" AT "];"     \
    "ks[b in 0..16, h in 0..3, i in 0..S, d in 0..64] = k[" AT "];"     \
    "vs[b in 0..16, h in 0..3, i in 0..S, d in 0..64] = v[" AT "];"     \
    "a = grouped_attention(qs, ks, vs, causal = true);"                 \
    "u = random(1, a); w = f32(a) * u;"                                 \
    "loss[] = sum(b, h, i, d) w[b, h, i, d];"                           \
    "output dq = grad(loss, q); output dk = grad(loss, k);"             \
    "output dv = grad(loss, v); }"
    const char *text[] = {
        SHARED("16, 9, S, 64", "16, 3, S, 64", "b, h, i, d"),
        SHARED("16, S, 9 * 64", "16, S, 3 * 64", "b, i, h * 64 + d")};

    for (int i = 0; i < 2; i++) {
        Fixture f = fixture();
        CompileOptions o = compile_options(&f);
        Report r = {0};
        CudaProgram *p = compiled(&f, text[i], &r, &o);
        Buf b = {0};
        int n = 0;

        cr_assert(p, "%s", diag_text(f.diag));
        for (int j = 0; j < p->n_run; j++)
            if (p->run[j].group->chain) {
                emit_kernel(&b, p, p->run[j].kernel);
                n += p->run[j].group->chain->twin ? 2 : 1;
            }
        cr_expect_eq(n, 3, "%d chains", n);
        const char *kernels = buf_take(&b, f.arena);
        cr_expect(strstr(kernels, "dcc_leave_columns(smem.of_column"));
        cr_expect(strstr(kernels, "of_row["));
        cr_expect(!strstr(kernels, "expf("), "%s", kernels);
        arena_free(f.arena);
    }
#undef SHARED
}

/* The tiles with most blocks of columns come first, of queries the last ones,
 * of keys the first; all heads together, if the L2 holds what they read. */
Test(chain, order)
{
    static const struct {
        const char *rows, *group;
    } cases[] = {{"4, 12, 1024, 64", "GROUP = 48"},
                 {"2, 33, 8192, 64", "GROUP = 17"}};

    for (int i = 0; i < 2; i++) {
        Fixture f = fixture();
        const char *text = texts(
            &f, arena_printf(f.arena,
                             "input q : f16[%s]; input k : f16[%s];"
                             "input v : f16[%s];"
                             "a = attention(q, k, v, causal = true);"
                             "u = random(1, a); w = f32(a) * u;"
                             "loss[] = sum(b, h, i, d) w[b, h, i, d];"
                             "output dq = grad(loss, q);"
                             "output dk = grad(loss, k);"
                             "output dv = grad(loss, v);", cases[i].rows,
                             cases[i].rows, cases[i].rows));
        int groups = 0, last = 0, first = 0;

        for (const char *s = text; (s = strstr(s, "const int m0 = ")); s++) {
            last += !strncmp(s, "const int m0 = tile.m * BM;", 27);
            first += !strncmp(s, "const int m0 = (TILES_M - 1 - tile.m)", 37);
        }
        for (const char *s = text; (s = strstr(s, cases[i].group)); s++)
            groups++;
        cr_expect_geq(last, 1, "%d", last);
        cr_expect_geq(first, 1, "%d", first);
        cr_expect_eq(groups, first + last, "%s", text);
        arena_free(f.arena);
    }
}

/* The gradients of keys and values are of the same scores, and one kernel,
 * where they have as many columns; that of queries is of others. */
Test(chain, twins)
{
    static const struct {
        const char *rows;
        int chains, twins;
    } cases[] = {{"64", 2, 1}, {"32", 3, 0}};

    for (int i = 0; i < 2; i++) {
        Fixture f = fixture();
        CompileOptions o = compile_options(&f);
        CudaProgram *p = compiled_body(
            &f, arena_printf(f.arena,
                             "input q : f16[16, 12, 512, 64];"
                             "input k : f16[16, 12, 512, 64];"
                             "input v : f16[16, 12, 512, %s];"
                             "a = attention(q, k, v, causal = true);"
                             "u = random(1, a); w = f32(a) * u;"
                             "loss[] = sum(b, h, i, d) w[b, h, i, d];"
                             "output dq = grad(loss, q);"
                             "output dk = grad(loss, k);"
                             "output dv = grad(loss, v);", cases[i].rows), &o);
        int chains = 0, twins = 0;

        for (int j = 0; j < p->n_run; j++) {
            const Group *gr = p->run[j].group;
            chains += gr->chain != NULL;
            twins += gr->chain && gr->chain->twin;
            cr_expect(!gr->chain || !gr->chain->twin ||
                      (gr->beside_us > gr->predicted_us &&
                       p->run[j].kernel->n_map == 4));
        }
        cr_expect_eq(chains, cases[i].chains, "%d chains", chains);
        cr_expect_eq(twins, cases[i].twins, "%d twins", twins);
        arena_free(f.arena);
    }
}

/* Causal attention of 12 heads, whose queries, keys and values lie side by
 * side, and their gradients. */
static CudaProgram *side_by_side(Fixture *f, const CompileOptions *o,
                                 int batches, int rows)
{
    return compiled_body(
        f,
        arena_printf(
            f->arena,
            "input c : f16[%d, %d, 3 * 768]; input g : f16[%d, %d, 768];"
            "q[b, n in 0..12, s, d in 0..64] = c[b, s, n * 64 + d];"
            "k[b, n in 0..12, s, d in 0..64] = c[b, s, 768 + n * 64 + d];"
            "v[b, n in 0..12, s, d in 0..64] = c[b, s, 2 * 768 + n * 64 + d];"
            "a = attention(q, k, v, causal = true);"
            "output o[b, s, d in 0..768] = a[b, d / 64, s, d %% 64];"
            "loss[] : f32 = sum(b, s, d) f32(o[b, s, d]) * f32(g[b, s, d]);"
            "output dc : f16[%d, %d, 3 * 768] = f16(grad(loss, c));",
            batches, rows, batches, rows, batches, rows),
        o);
}

/* Sums that gradients read are stored as f32: by one tile an SM, which has
 * nothing beside it, that takes longer than by several. */
Test(chain, sums_are_stored)
{
    Fixture f = fixture();
    CompileOptions o = compile_options(&f);
    CudaProgram *p = side_by_side(&f, &o, 2, 2048);
    int n = 0;

    for (int j = 0; j < p->n_run; j++) {
        const Chain *c = p->run[j].group->chain;
        if (!c || c->other || c->twin)
            continue;
        n++;
        cr_expect(!strncmp(p->run[j].kernel->variant, "bm=64 ", 6), "%s",
                  p->run[j].kernel->variant);
    }
    cr_expect_eq(n, 1, "%d", n);
    arena_free(f.arena);
}

/* A batch of one sequence has the same chains. */
Test(chain, batch_of_one)
{
    Fixture f = fixture();
    CompileOptions o = compile_options(&f);
    CudaProgram *p = side_by_side(&f, &o, 1, 1024);
    int chains = 0, twins = 0;

    for (int j = 0; j < p->n_run; j++) {
        const Group *gr = p->run[j].group;
        chains += gr->chain != NULL;
        twins += gr->chain && gr->chain->twin;
    }
    cr_expect_eq(chains, 3, "%d chains", chains);
    cr_expect_eq(twins, 1, "%d twins", twins);
    arena_free(f.arena);
}

/* The gradient of queries, keys and values that lie side by side is no copy of
 * theirs: they lie in it. With a part that nobody reads it is. */
Test(chain, gradients_side_by_side)
{
    static const struct {
        const char *columns, *values;
        int hosted;
    } cases[] = {{"2304", "1536", 3}, {"2368", "1600", 0}};

    for (int i = 0; i < 2; i++) {
        Fixture f = fixture();
        CompileOptions o = compile_options(&f);
        CudaProgram *p = compiled_body(
            &f, arena_printf(
                    f.arena,
                    "input x : f16[4, 1024, 64]; param w : f16[%s, 64];"
                    "c = linear(x, w);"
                    "q[b, h in 0..12, i, d in 0..64] = c[b, i, h * 64 + d];"
                    "k[b, h in 0..12, i, d in 0..64] = c[b, i, 768 + h * 64 +"
                    " d]; v[b, h in 0..12, i, d in 0..64] ="
                    " c[b, i, %s + h * 64 + d];"
                    "a = attention(q, k, v, causal = true);"
                    "u = random(1, a); y = f32(a) * u;"
                    "loss[] = sum(b, h, i, d) y[b, h, i, d];"
                    "output dw = grad(loss, w);",
                    cases[i].columns, cases[i].values), &o);
        int hosted = 0;

        for (int j = 0; j < p->n_run; j++)
            for (int k = 0; k < p->run[j].group->n_step; k++) {
                const Tensor *t = p->run[j].group->step[k].tensor;
                hosted += t && t->host;
            }
        cr_expect_eq(hosted, cases[i].hosted, "%d hosted", hosted);
        arena_free(f.arena);
    }
}

static void expect_window(int n, const char *text)
{
    expect_of(n, n == 1, text, "chain_window", "any");
}

/* Nothing is looked at but how it reads: any short reduction of what lies side
 * by side along the product's sum, with whatever follows it. Not what others
 * read too, nor what is no 16 bits. */
Test(chain, windows)
{
#define IMAGE                                                \
    "input x : f16[1, 20, 20, 64]; param w : f16[3, 3, 64];" \
    "param v : f16[96, 64];"
#define SUM                                               \
    "d[p in 0..18, q in 0..18, c] : f16 = gelu(sum(r, s)" \
    " x[0, p + r, q + s, c] * w[r, s, c]);"

    expect_window(1, IMAGE SUM "output y = linear(d, v);");
    expect_window(1, IMAGE
                  "d[p in 0..18, q in 0..18, c] : f16 ="
                  " max(r in 0..3, s in 0..3) x[0, p + r, q + s, c];"
                  "output y[p, q, k] = relu(sum(c) v[k, c] * d[p, q, c]);");
    expect_window(2, IMAGE SUM "output d; output y = linear(d, v);");
    expect_window(2, IMAGE "d[p in 0..18, q in 0..18, c] : f32 = sum(r, s)"
                           " x[0, p + r, q + s, c] * w[r, s, c];"
                           "output y[p, q, k] = sum(c) v[k, c] * d[p, q, c];");
#undef SUM
#undef IMAGE
}
