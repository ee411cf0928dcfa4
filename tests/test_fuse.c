/* test_fuse.c - two nests become one, or the reason why they do not. */
#include "compiler/group/fuse.h"
#include "compiler/group/passes.h"
#include "compiler/model/model.h"
#include "models.h"

/* The statement that writes the tensor of this name; the last of several. */
static Stmt *writer(Graph *g, const char *name)
{
    Stmt *s = NULL;

    for (int i = 0; i < g->n_stmt; i++)
        if (!strcmp(g->stmt[i]->tensor->name, name))
            s = g->stmt[i];
    cr_assert(s, "no statement writes %s", name);
    return s;
}

static Graph *prepared(Fixture *f, const char *text)
{
    Graph *g = lowered(f, text);

    simplified(g);
    normalise(g);
    return g;
}

/* "a,b,c": the statements of a, b and c fused one after the other, each over
 * what the one before it writes. NULL and the reason at the first refusal. */
static Group *chain(Graph *g, const char *names, const char **why)
{
    char list[200], *rest = NULL;
    Group *gr = NULL;
    Tensor *t = NULL;

    snprintf(list, sizeof list, "%s", names);
    for (char *n = strtok_r(list, ",", &rest); n;
         n = strtok_r(NULL, ",", &rest)) {
        Stmt *s = writer(g, n);
        gr = gr ? fuse(g, gr, group_of(g, s), t, true, why) : group_of(g, s);
        if (!gr)
            return NULL;
        t = s->tensor;
    }
    return gr;
}

static void expect(const char *model, const char *names, const char *why)
{
    Fixture f = fixture();
    const char *got = NULL;
    Graph *g = prepared(&f, arena_printf(f.arena, "model m { %s }", model));
    Group *gr = chain(g, names, &got);

    if (why)
        cr_expect(!gr && got && !strcmp(got, why), "%s: '%s', not '%s'",
                  model, got ? got : "fused", why);
    else
        cr_expect(gr, "%s: %s", model, got);
    arena_free(f.arena);
}

Test(fuse, what_goes_together)
{
    expect("input x : f32[4, 6]; @nofuse a = x * 2; output y = a + 1;", "a,y",
           NULL);
    expect("input x : f32[4, 6]; a[i] = sum(j) x[i, j]; output y[i] = a[i] * 2;",
           "a,y", NULL);
    expect("input x : f32[4, 6]; a = exp(x); output y[i] = sum(j) a[i, j];",
           "a,y", NULL);
    expect("input x : f32[4, 6]; m[i] = max(j) x[i, j];"
           " output y[i, j] = x[i, j] - m[i];", "m,y", NULL);
    expect("input x : f32[4, 6]; m[i] = max(j) x[i, j];"
           " s[i] = sum(j) exp(x[i, j] - m[i]); output y[i, j] = x[i, j] / s[i];",
           "m,s,y", NULL);
    /* a transposed reader, and one that sees the rows as one index */
    expect("input x : f32[4, 6]; a = exp(x); output y[j, i] = a[i, j];",
           "a,y", NULL);
    expect("input x : f32[4, 6]; a = exp(x); output y = reshape(a, shape = [24]);",
           "a,y", NULL);
    /* slices, and every second: steps of the kernel that makes all */
    expect("input x : f32[9]; a = exp(x); output y[i in 0..3] = a[i];", "a,y",
           NULL);
    expect("input x : f32[9, 4]; a = exp(x);"
           " output y[i in 0..4, j in 0..2] = a[2 * i + 1, j + 2];", "a,y", NULL);
    /* a product's epilogue in another arrangement */
    expect("input x : f16[8, 16]; param w : f16[12, 16]; s = linear(x, w);"
           " r = reshape(s, shape = [8, 3, 4]);"
           " output y[h, i, d] = r[i, h, d];", "s,y", NULL);
}

Test(fuse, refusals)
{
    expect("input x : f32[9]; a = exp(x); output y[i in 0..9] = a[i - 1] or 0;",
           "a,y", "reads it under a guard");
    expect("input x : f32[9]; a = exp(x); output y[i] = a[i] * a[8 - i];",
           "a,y", "reads it at more than one place");
    expect("input x : f32[4]; a = exp(x); output y = concat(a, x, axis = 0);"
           " output z = y + 1;", "y,z", "only a part of the tensor is made here");
    expect("input x : f32[9]; a = exp(x); output y[i in 0..9] = a[i % 4 * 2];",
           "a,y", "reads only a part of it, or in another arrangement");
    expect("input x : f32[5, 5]; a = exp(x); output y[i] = a[i, i];", "a,y",
           "reads a diagonal of it");
    expect("input x : f32[5]; a = exp(x); input z : f32[3, 5];"
           " output y[i, j] = a[j] + z[i, j];", "a,y",
           "one value of it serves many rows");
    expect("input x : f32[5]; a = exp(x); input z : f32[5, 3, 4];"
           " output y[i] = sum(j, k) a[i] * z[i, j, k];", "a,y", NULL);
    expect("input x : f32[5, 3]; a = exp(x); input z : f32[5, 3, 4];"
           " output y[i] = sum(j, k) max(a[i, j], z[i, j, k]);", "a,y",
           "it varies along some of the columns only");
    expect("input x : f32[5, 6]; a[i] = sum(j) x[i, j];"
           " output y[] = sum(i) a[i];", "a,y", "reduces over the producer's rows");
    expect("input x : f32[5, 6]; a[i] = sum(j) x[i, j]; input z : f32[5, 3, 6];"
           " output y[i, k] = sum(j) max(a[i], z[i, k, j]);", "a,y",
           "has both rows and columns beyond the producer's rows");
    expect("input x : f32[5, 6]; a[i] = sum(j) x[i, j]; input z : f32[5, 7];"
           " output y[i, j] = z[i, j] - a[i];", "a,y",
           "its columns are not the producer's columns");
    expect("input x : f32[5, 6]; m[i] = max(j) x[i, j];"
           " e[i, j] = x[i, j] - m[i]; output y[j] = sum(i) e[i, j];", "m,e,y",
           "its points are not the producer's rows and columns");
    expect("input x : f32[5]; a = exp(x); b = a * 2;"
           " output y[i] = b[i] + a[4 - i];", "a,b,y",
           "reads another result of the producer elsewhere");
    expect("param w : f32[5]; a = exp(w); input x : f32[5]; output y = a + x;",
           "a,y", "one runs at load time, the other at run time");
    expect("input n : i32[3] in 0..4; p[] = n[0] + n[1]; state k : i32[9, 3];"
           " k[p, d] = n[d]; output y = k;", "p,k",
           "it says where the other stores");
}

/* What is made of an element at several points is stored by the kernel that
 * makes it: zeros between a gradient's rows, an image doubled. */
Test(fuse, several_points_of_an_element)
{
    expect("input x : f16[14, 14, 64]; input w : f16[64, 32];"
           " s[h, q, c] = sum(k) x[h, q, k] * w[k, c];"
           " output y[h in 0..28, q in 0..28, c] ="
           " h % 2 == 0 && q % 2 == 0 ? s[h / 2, q / 2, c] : 0;", "s,y", NULL);
    expect("input x : f16[14, 14, 64]; input w : f16[64, 32];"
           " s[h, q, c] = sum(k) x[h, q, k] * w[k, c];"
           " output y[h in 0..27, q in 0..42, c] ="
           " h % 2 == 0 && q % 3 == 1 ? s[h / 2, q / 3, c] : 0;", "s,y", NULL);
    expect("input x : f16[4, 8, 5, 5]; param w : f16[16, 8, 1, 1];"
           " s = conv2d(x, w); output y = upsample(s, scale = 2);", "s,y", NULL);
    expect("input x : f32[9]; a = exp(x);"
           " output y[i in 0..198] = a[i / 22];", "a,y",
           "one value of it serves many rows");
}

/* A state may be read where it is about to be overwritten, and not after. */
Test(fuse, states)
{
    expect("input x : f32[5]; state h : f32[5]; a[i] = h[i] * 2;"
           " h[i] = a[i] + x[i]; output y = h;", "a,h", NULL);
    expect("input x : f32[5]; state h : f32[5]; a[i in 0..5] = h[4 - i] * 2;"
           " h[i] = a[i] + x[i]; output y = h;", "a,h",
           "would overwrite a state that is still read");
    expect("input x : f32[3, 5]; state h : f32[5]; s[i] = sum(k) x[0, k] * h[i];"
           " h[i] = s[i]; output y = h;", "s,h", NULL);
    expect("input x : f32[5, 5]; state h : f32[5]; s[i] = sum(k) x[i, k] * h[k];"
           " h[i] = s[i]; output y = h;", "s,h",
           "would overwrite a state that is still read");
    expect("input x : f32[5, 9]; state h : f32[5, 9]; a[i, j] = h[i, j] + x[i, j];"
           " h[i, j] = a[i, j]; m[i] = sum(j) h[i, j];"
           " output y[i, j] = h[i, j] - m[i];", "a,h,m",
           "would overwrite a state that is still read");
}

/* What computing again in the reader gives. */
static void expect_again(const char *model, const char *p, const char *c,
                         const char *want)
{
    Fixture f = fixture();
    const char *why = NULL;
    Graph *g = prepared(&f, arena_printf(f.arena, "model m { %s }", model));
    Stmt *s = writer(g, p);
    Group *gr = fuse_inline(g, group_of(g, s), group_of(g, writer(g, c)),
                            s->tensor, &why);
    Buf b = {0};

    if (gr)
        expr_dump(&b, gr->step[0].value);
    else
        buf_puts(&b, why);
    cr_expect_str_eq(buf_text(&b), want, "%s: %s", model, buf_text(&b));
    buf_free(&b);
    arena_free(f.arena);
}

Test(fuse, again)
{
    expect_again("input x : f32[9]; a = exp(x); output y[i in 0..9] = a[8 - i];",
                 "a", "y", "exp(x[8 - i])");
    expect_again("input x : f32[9]; a = x * 2;"
                 " output y[i in 0..9] = a[i - 1] or 5;", "a", "y",
                 "(i - 1) >= 0 ? (x[i - 1] if i >= 1 or 0) * 2 : 5");
    expect_again("input x : f32[9]; @nofuse a[i in 0..8] = x[i + 1];"
                 " output y[i in 0..8] = (a[i - 1] or 0) * 2;", "a", "y",
                 "(x[i] if i >= 1 or 0) * 2");
    expect_again("input x : f32[4, 9]; a[i] = sum(j) x[i, j];"
                 " output y[i in 0..4] = a[3 - i];", "a", "y",
                 "it is more than one pointwise expression");
    expect_again("input x : f32[5]; state h : f32[5]; a[i in 0..5] = h[4 - i];"
                 " h = a; output y = h;", "a", "h",
                 "would overwrite a state that is still read");
}

static bool same_kernel(Graph *g, Group *a, Group *b)
{
    Buf x = {0}, y = {0};

    group_args(g, a);
    group_args(g, b);
    group_canon(&x, a);
    group_canon(&y, b);
    bool same = !strcmp(buf_text(&x), buf_text(&y));
    buf_free(&x);
    buf_free(&y);
    return same;
}

/* One arithmetic is one kernel, however its statements came together, and
 * however a view orders the dimensions of one memory. */
Test(fuse, one_arithmetic_is_one_kernel)
{
    Fixture f = fixture();
    const char *why = NULL;
    Graph *g = prepared(&f, "model m { input x : f32[8, 6]; input z : f32[6, 8];"
                            " @nofuse t = x * 2 + 1; output a = exp(t);"
                            " @nofuse output b = exp(x * 2 + 1);"
                            " @nofuse output c[i, j] = exp(z[j, i] * 2 + 1);"
                            " @nofuse output d = exp(x * 2 + 1.5);"
                            " output e[i, j] = t[i, j] * t[i, j]; }");
    Group *t = group_of(g, writer(g, "t"));
    Group *b = group_of(g, writer(g, "b"));
    Group *a = fuse(g, t, group_of(g, writer(g, "a")), t->step[0].tensor,
                    false, &why);
    Group *e = fuse(g, t, group_of(g, writer(g, "e")), t->step[0].tensor,
                    false, &why);

    cr_assert(a && e, "%s", why);
    for (int i = 0; i < g->n_tensor; i++) {
        Tensor *x = g->tensor[i];
        bool turned = !strcmp(x->name, "z");
        x->stride[turned] = 6;
        x->stride[!turned] = 1;
    }
    cr_expect(same_kernel(g, a, b));
    cr_expect(same_kernel(g, group_of(g, writer(g, "c")), b));
    cr_expect(!same_kernel(g, group_of(g, writer(g, "d")), b));
    cr_expect(!same_kernel(g, e, b));
    arena_free(f.arena);
}

/* What the last statement's sum is of: a product, 'p'; another function of two
 * reads, 't'; neither, '-'. */
static char sum_of(const char *text)
{
    Fixture f = fixture();
    Graph *g = lowered(&f, arena_printf(f.arena,
                                        "model m { input a : f32[40, 20];"
                                        " input b : f32[50, 20]; %s }",
                                        text));
    const char *why;
    Contraction c;

    simplified(g);
    normalise(g);
    const Group *gr = group_of(g, g->stmt[g->n_stmt - 1]);
    char found = group_contraction(g, gr, &c, &why) ? 'p'
                 : group_pairs(g, gr, &c, &why)     ? 't'
                                                    : '-';
    arena_free(f.arena);
    return found;
}

Test(pairs, of_two_reads)
{
    cr_expect_eq(sum_of("output y[i, j] = sum(k) a[i, k] * b[j, k];"), 'p');
    cr_expect_eq(sum_of("output y[i, j] = sum(k) (a[i, k] - b[j, k]) *"
                        " (a[i, k] - b[j, k]);"), 't');
    cr_expect_eq(sum_of("output y[i, j] = sum(k) abs(a[i, k] - b[j, k]);"),
                 't');
    /* 1 of zeros; three reads; nothing of which several rows are made */
    cr_expect_eq(sum_of("output y[i, j] = sum(k) exp(a[i, k] - b[j, k]);"),
                 '-');
    cr_expect_eq(sum_of("output y[i, j] = sum(k) abs(a[i, k] - b[j, k] *"
                        " a[0, k]);"), '-');
    cr_expect_eq(sum_of("output y[i] = sum(k) abs(a[i, k] - a[i, 0]);"),
                 '-');
}

/* What is scaled up in two directions is computed at once: points that read
 * the same elements share them. */
Test(fuse, scaled_up)
{
    Fixture f = fixture();
    CompileOptions o = compile_options(&f);
    Report r = {0};
    CudaProgram *p = compiled(&f,
                              "model m { input x : f16[16, 128, 64, 64];"
                              " output y = upsample(x, mode = \"bilinear\"); }",
                              &r, &o);

    cr_assert(p, "%s", diag_text(f.diag));
    cr_expect_eq(p->n_run, 1, "%d launches", p->n_run);
    arena_free(f.arena);
}

/* ---- values to which 2^n paths lead */

/* What compiling the model takes, with so many layers. */
static size_t bytes_of(const char *body, const char *layers)
{
    Fixture f = fixture();
    CompileOptions o = compile_options(&f);
    const Define depth = {"L", layers};
    Report r = {0};
    const char *text = arena_printf(
        f.arena,
        "op twice(x: T[..]) -> y { y = x > 0 && x < 3 ? x * 2 : x; }"
        "op both(x: T[..]) -> y { y = x * x * 0.1 + x; }"
        "model m { dim L = 1; input x : f32[32]; param w : f32[32];"
        " input p : i32[32] in 0..32; input z : f32[32, 48];"
        " g = x * 1; h = g * w; %s output y = h * g + p;"
        " output d = z * 2; }",
        body);

    o.define = &depth;
    o.n_define = 1;
    cr_assert(compiled(&f, text, &r, &o), "%s", diag_text(f.diag));
    size_t bytes = arena_used(f.arena);
    arena_free(f.arena);
    return bytes;
}

/* What is taken in at two places is made of what is, and so on. */
Test(fuse, computed_again_in_each_other, .timeout = 100)
{
    static const char *const layer[] = {
        "h[i] = h[31 - i] * 0.5 + h[i];",
        "h[i in 0..32] = h[(i + 31) % 32] + h[(i + 1) % 32] - 2 * h[i];",
        "h[i] = h[p[i]] * 0.5 + h[i];",
        "f = g; g = h; h[i] = f[i] + g[31 - i] * h[i];",
        "h = tanh(h * w); g[i] = h[31 - i] * h[i]; h = g + h;",
    };

    for (int i = 0; i < 5; i++) {
        Arena *a = arena_new();
        const char *body = arena_printf(
            a, "for l in 0..L { %s } s[] = sum(i) h[i];"
               " output c = grad(s, w);", layer[i]);
        size_t few = bytes_of(body, "15"), more = bytes_of(body, "60");
        cr_expect_lt(more, 16 * few, "%s: %zu, %zu", layer[i], few, more);
        arena_free(a);
    }
}

/* An expression in a row's sums, in scores, in a deviation. */
Test(fuse, shared_parts_of_rows, .timeout = 100)
{
    static const char *const rows[] = {
        "k = z; for l in 0..L { k = twice(k); } m[i] = max(j) (z[i, j]);"
        " e[i, j] = exp(k[i, j] - m[i]); q[i] = sum(j) e[i, j];"
        " output a[i, v] = (sum(j) e[i, j] * z[v, j]) / q[i];",
        "k = z; for l in 0..L { k = twice(k); } m[i] = mean(j) z[i, j];"
        " output a[i] = mean(j) (k[i, j] - m[i]) * (k[i, j] - m[i]);",
        "t = f16(z); k[i, j] : f32 = sum(v) t[i, v] * t[j, v];"
        " for l in 0..L { k = twice(k); } e : f16 = softmax(k);"
        " output a[i, v] = sum(j) e[i, j] * t[j, v];",
        "t = f16(z); k[i, j] : f32 = sum(v) t[i, v] * t[j, v];"
        " for l in 0..L { k = both(k); } e : f16 = softmax(k);"
        " output a[i, v] = sum(j) e[i, j] * t[j, v];",
    };

    for (int i = 0; i < 4; i++) {
        size_t few = bytes_of(rows[i], "10"), more = bytes_of(rows[i], "30");
        cr_expect_lt(more, 9 * few, "%s: %zu, %zu", rows[i], few, more);
    }
}

/* ---- registers */

/* What a kernel is held to has room for what its variant was planned with,
 * whatever the variant is: nvcc spills otherwise. */
/* What is there ahead of all steps is local -1, -2: it is no step. */
Test(fuse, values_ahead_are_of_no_pass)
{
    Arena *a = arena_new();
    Graph *g = graph_new(a, diag_new(a), "m");
    const Expr *ahead = expr_local(g, -1, T_F32);
    Step step[] = {{.op = R_SUM, .over_cols = true, .value = ahead},
                   {.over_cols = true, .value = ahead}};
    Group gr = {.step = step + 1, .n_step = 1};
    int at[] = {5, 5};

    cr_expect_eq(group_passes(&gr, at + 1), 1);
    cr_expect_eq(at[1], 0);
    arena_free(a);
}

Test(fuse, launch_bounds_leave_room, .timeout = 100)
{
    static const char text[] =
        "model m { type E = f16; input x : E[8, 144, 56, 56];"
        " param w : E[144, 1, 5, 5]; param u : E[144, 1, 7, 7];"
        " param g : f32[144]; input r : E[2, 128, 7, 7];"
        " param v : E[128, 1, 5, 5];"
        " y = conv2d(x, w, stride = 2, pad = 2, groups = 144);"
        " output a[n, c, p, q] = silu(y[n, c, p, q] * g[c]);"
        " output b = conv2d(x, u, pad = 3, groups = 144);"
        " output d = conv2d(r, v, pad = 2, groups = 128); }";

    for (uint64_t seed = 1; seed <= 60; seed++) {
        Fixture f = fixture();
        CompileOptions o = compile_options(&f);
        Forced forced = {.name = "map", .text = "any"};
        Report r = {0};
        o.random_plan = seed;
        o.forced = &forced;
        o.n_forced = 1;
        CudaProgram *p = compiled(&f, text, &r, &o);
        cr_assert(p, "%s", diag_text(f.diag));
        for (int i = 0; i < p->n_run; i++) {
            const Kernel *k = p->run[i].kernel;
            int blocks = k->min_blocks > 1 ? k->min_blocks : 1;
            int most = model_thread_regs(o.model.device, k->block, blocks);
            cr_expect_leq(k->regs, most, "seed %d, %s: %d of %d x %d",
                          (int)seed, k->name, k->regs, blocks, k->block);
        }
        arena_free(f.arena);
    }
}
