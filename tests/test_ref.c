/* test_ref.c - the oracle: its text is compiled and run, its outputs compared
 * with loops written here, and a trace with one wrong element must fail. */
#include "compiler/emit/emit.h"
#include "runtime/dcc_ref.h"
#include "runtime/safetensors.h"
#include "tests/scratch.h"
#include "compiler/support/file.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { N = 3, M = 4, K = 37, L = 11, NESTED = 24 };

/* ---- graphs */

static Tensor *tensor(Graph *g, const char *name, Type t, Role role, int rank,
                      int64_t d0, int64_t d1)
{
    int64_t dim[2] = {d0, d1};
    Tensor *x = graph_tensor(g, name, t, rank, dim);

    x->role = role;
    if (role == ROLE_INPUT)
        VEC_PUSH(g->arena, g->input, g->n_input, g->cap_input) = x;
    if (role == ROLE_OUTPUT)
        VEC_PUSH(g->arena, g->output, g->n_output, g->cap_output) = x;
    if (role == ROLE_PARAM) {
        x->weight = name;
        VEC_PUSH(g->arena, g->param, g->n_param, g->cap_param) = x;
    }
    return x;
}

static const Idx **pair_of(Graph *g, const Idx *a, const Idx *b)
{
    const Idx **at = arena_array(g->arena, const Idx *, 2);

    at[0] = a;
    at[1] = b;
    return at;
}

static const Idx *var(Graph *g, const Var *v)
{
    return idx_var(g->pool, v);
}

static Stmt *define(Graph *g, Tensor *t, const Var *i, const Var *j,
                    const Var *red, Reduce op, const Expr *value)
{
    Stmt *s = graph_stmt(g);

    s->out = arena_array(g->arena, const Var *, 2);
    s->out[s->n_out++] = i;
    if (j)
        s->out[s->n_out++] = j;
    s->red = arena_array(g->arena, const Var *, 1);
    if (red)
        s->red[s->n_red++] = red;
    s->op = op;
    s->value = value;
    s->tensor = t;
    s->store = pair_of(g, var(g, i), j ? var(g, j) : NULL);
    s->path = t->name;
    return s;
}

static const Expr *read2(Graph *g, Tensor *t, const Var *i, const Var *j)
{
    return expr_read(g, t, pair_of(g, var(g, i), j ? var(g, j) : NULL),
                     (Guard){0}, NULL);
}

/* s = x w^T; y = max(s + b, 0.1) with odd names; a = argmax(j) y */
static Graph *linear_model(Arena *a)
{
    Graph *g = graph_new(a, NULL, "linear");
    Tensor *x = tensor(g, "exp", T_F16, ROLE_INPUT, 2, N, K);
    Tensor *w = tensor(g, "fc.weight", T_F32, ROLE_PARAM, 2, M, K);
    Tensor *b = tensor(g, "double", T_F32, ROLE_PARAM, 1, M, 0);
    Tensor *s = tensor(g, "s", T_F32, ROLE_TEMP, 2, N, M);
    Tensor *y = tensor(g, "y", T_F32, ROLE_OUTPUT, 2, N, M);
    Tensor *best = tensor(g, "a", T_I32, ROLE_OUTPUT, 1, N, 0);
    const Var *i = idx_new_var(g->pool, "i", N);
    const Var *j = idx_new_var(g->pool, "j", M);
    const Var *k = idx_new_var(g->pool, "i", K);

    define(g, s, i, j, k, R_SUM,
           expr_binary(g, F_MUL, read2(g, x, i, k), read2(g, w, j, k), T_F32));
    define(g, y, i, j, NULL, R_NONE,
           expr_binary(g, F_MAX,
                       expr_binary(g, F_ADD, read2(g, s, i, j),
                                   read2(g, b, j, NULL), T_F32),
                       expr_const(g, 0.1, T_F32), T_F32));
    define(g, best, i, NULL, j, R_ARGMAX, read2(g, y, i, j));
    return g;
}

/* y[i, j] = sum(k) (x[i, j + k - 2] or 0) * w[k], x an integer */
static Graph *window_model(Arena *a)
{
    Graph *g = graph_new(a, NULL, "window");
    Tensor *x = tensor(g, "x", T_I8, ROLE_INPUT, 2, N, L);
    Tensor *w = tensor(g, "w", T_I8, ROLE_PARAM, 1, 5, 0);
    Tensor *y = tensor(g, "y", T_I32, ROLE_OUTPUT, 2, N, L);
    const Var *i = idx_new_var(g->pool, "i", N);
    const Var *j = idx_new_var(g->pool, "j", L);
    const Var *k = idx_new_var(g->pool, "k", 5);
    const Idx *q = idx_addc(g->pool, idx_add(g->pool, var(g, j), var(g, k)),
                            -2);
    Guard in = guard_within(g->pool, (Guard){0}, q, 0, L);
    const Expr *r = expr_read(g, x, pair_of(g, var(g, i), q), in,
                              expr_const(g, 0, T_I8));

    define(g, y, i, j, k, R_SUM,
           expr_binary(g, F_MUL, r, read2(g, w, k, NULL), T_I32));
    return g;
}

/* y[i] = s[i] - s[i], where s[i] = sum(k) x[i, k]: 0 but for rounding */
static Graph *difference_model(Arena *a)
{
    Graph *g = graph_new(a, NULL, "difference");
    Tensor *x = tensor(g, "x", T_F32, ROLE_INPUT, 2, N, K);
    Tensor *s = tensor(g, "s", T_F32, ROLE_TEMP, 1, N, 0);
    Tensor *y = tensor(g, "y", T_F32, ROLE_OUTPUT, 1, N, 0);
    const Var *i = idx_new_var(g->pool, "i", N);
    const Var *k = idx_new_var(g->pool, "k", K);

    define(g, s, i, NULL, k, R_SUM, read2(g, x, i, k));
    define(g, y, i, NULL, NULL, R_NONE,
           expr_binary(g, F_SUB, read2(g, s, i, NULL), read2(g, s, i, NULL),
                       T_F32));
    return g;
}

/* y[i, j] = x[i, j] of which 24 times the cosine is multiplied by it, twice:
 * with each part as often as it is named, 3^24 of them. */
static Graph *nested_model(Arena *a)
{
    Graph *g = graph_new(a, NULL, "nested");
    Tensor *x = tensor(g, "x", T_F32, ROLE_INPUT, 2, N, L);
    Tensor *y = tensor(g, "y", T_F32, ROLE_OUTPUT, 2, N, L);
    const Var *i = idx_new_var(g->pool, "i", N);
    const Var *j = idx_new_var(g->pool, "j", L);
    const Expr *e = read2(g, x, i, j);

    for (int n = 0; n < NESTED; n++)
        e = expr_binary(g, F_MUL, expr_unary(g, F_COS, e, T_F32),
                        expr_binary(g, F_ADD, e, e, T_F32), T_F32);
    define(g, y, i, j, NULL, R_NONE, e);
    return g;
}

/* ---- building and running */

typedef struct Work {
    char dir[200];
    Arena *arena;
} Work;

static Work work;

static int shell(const char *fmt, ...)
{
    Buf b = {0};
    va_list ap;

    buf_printf(&b, "cd '%s' && ", work.dir);
    va_start(ap, fmt);
    buf_vprintf(&b, fmt, ap);
    va_end(ap);
    int status = system(buf_text(&b));
    buf_free(&b);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void build(void)
{
    const char *src = getenv("DCC_SRC"), *cc = getenv("CC");
    Buf text = {0};
    char path[300];

    scratch_make(work.dir, sizeof work.dir, "ref");
    work.arena = arena_new();
    Graph *g[] = {linear_model(work.arena), window_model(work.arena),
                  difference_model(work.arena), nested_model(work.arena)};
    emit_ref(&text, g, 4, false);
    cr_assert_lt(text.len, 100000);
    snprintf(path, sizeof path, "%s/ref.c", work.dir);
    cr_assert(file_write(text.text, text.len, path));
    buf_free(&text);
    cr_assert_eq(shell("%s -std=gnu11 -O1 -Wall -Wextra -Werror "
                       "-Wno-unknown-pragmas -I %s/runtime -o ref ref.c "
                       "%s/runtime/ref*.c %s/runtime/base.c "
                       "%s/runtime/safetensors*.c -lm",
                       cc ? cc : "cc", src, src, src, src),
                 0);
}

static void clean(void)
{
    scratch_remove(work.dir);
    arena_free(work.arena);
}

/* A tensor of a file, as doubles where it is F64, else as they are. */
static dcc_st_file *open_file(const char *name)
{
    dcc_st_file *f;
    char path[300];

    snprintf(path, sizeof path, "%s/%s", work.dir, name);
    cr_assert_eq(dcc_st_open(&f, path), DCC_OK, "%s", dcc_error());
    return f;
}

static const void *data_of(const dcc_st_file *f, const char *name)
{
    const dcc_st_tensor *t = dcc_st_find(f, name);

    cr_assert(t, "%s", name);
    return t->data;
}

static void write_trace(const char *name, const float *y, const int32_t *a)
{
    char path[300];
    int64_t dim[] = {N, M};
    dcc_st_out out[] = {{"t4", DCC_ST_F32, 2, dim, y},
                        {"t5", DCC_ST_I32, 1, dim, a},
                        {"t99", DCC_ST_I32, 1, dim, a}};

    snprintf(path, sizeof path, "%s/%s", work.dir, name);
    cr_assert_eq(dcc_st_write(path, out, 3, NULL, 0), DCC_OK);
}

static double at64(const void *p, int i)
{
    double d;

    memcpy(&d, (const char *)p + 8 * i, 8);
    return d;
}

static float at32(const void *p, int i)
{
    float f;

    memcpy(&f, (const char *)p + 4 * i, 4);
    return f;
}

static float at16(const void *p, int i)
{
    uint16_t h;

    memcpy(&h, (const char *)p + 2 * i, 2);
    return dcc_half_to_float(h);
}

static void expect_linear(double *y, int *best)
{
    dcc_st_file *w = open_file("w.st"), *x = open_file("x.st");
    const void *px = data_of(x, "exp"), *pw = data_of(w, "fc.weight");
    const void *pb = data_of(w, "double");

    for (int i = 0; i < N; i++) {
        best[i] = 0;
        for (int j = 0; j < M; j++) {
            double sum = 0;
            for (int k = 0; k < K; k++)
                sum += (double)at16(px, i * K + k) * at32(pw, j * K + k);
            y[i * M + j] = fmax(sum + at32(pb, j), 0.1);
            if (y[i * M + j] > y[i * M + best[i]])
                best[i] = j;
        }
    }
    dcc_st_close(w);
    dcc_st_close(x);
}

Test(ref, computes_what_the_graph_says)
{
    double y[N * M];
    int best[N];

    build();
    cr_assert_eq(shell("./ref --model linear --random 7 --save-weights w.st "
                       "--save-in x.st --out y.st"),
                 0);
    expect_linear(y, best);
    dcc_st_file *f = open_file("y.st");
    for (int i = 0; i < N * M; i++)
        cr_expect_float_eq(at64(data_of(f, "y"), i), y[i], 1e-12);
    for (int i = 0; i < N; i++)
        cr_expect_eq(at64(data_of(f, "a"), i), best[i]);
    dcc_st_close(f);
    clean();
}

Test(ref, integers_are_exact_and_guards_hold)
{
    build();
    cr_assert_eq(shell("./ref --model window --random 3 --save-weights w.st "
                       "--save-in x.st --out y.st"),
                 0);
    dcc_st_file *w = open_file("w.st"), *x = open_file("x.st");
    dcc_st_file *f = open_file("y.st");
    const signed char *px = data_of(x, "x"), *pw = data_of(w, "w");
    for (int i = 0; i < N; i++) {
        for (int j = 0; j < L; j++) {
            int sum = 0;
            for (int k = 0; k < 5; k++)
                if (j + k - 2 >= 0 && j + k - 2 < L)
                    sum += px[i * L + j + k - 2] * pw[k];
            cr_expect_eq(at64(data_of(f, "y"), i * L + j), sum);
        }
    }
    dcc_st_close(w);
    dcc_st_close(x);
    dcc_st_close(f);
    clean();
}

Test(ref, parts_are_said_once)
{
    build();
    cr_assert_eq(shell("./ref --model nested --random 5 --save-in x.st "
                       "--out y.st"),
                 0);
    dcc_st_file *x = open_file("x.st"), *f = open_file("y.st");
    for (int i = 0; i < N * L; i++) {
        double y = at32(data_of(x, "x"), i);
        for (int n = 0; n < NESTED; n++)
            y = cos(y) * (y + y);
        cr_expect_float_eq(at64(data_of(f, "y"), i), y, 1e-9 * (fabs(y) + 1));
    }
    cr_expect_eq(shell("./ref --model nested --in x.st --against y.st"), 0);
    dcc_st_close(x);
    dcc_st_close(f);
    clean();
}

/* A right trace of the linear model, in t.st and in z and a; y: the results. */
static void trace_linear(double *y, float *z, int32_t *a)
{
    int best[N];

    build();
    cr_assert_eq(shell("./ref --model linear --random 7 --save-weights w.st "
                       "--save-in x.st"),
                 0);
    expect_linear(y, best);
    for (int i = 0; i < N * M; i++)
        z[i] = (float)y[i];
    for (int i = 0; i < N; i++)
        a[i] = best[i];
    write_trace("t.st", z, a);
}

Test(ref, a_trace_passes_or_fails_element_by_element)
{
    double y[N * M];
    float z[N * M];
    int32_t a[N];
    const char *check = "./ref --model linear --weights w.st --in x.st "
                        "--check t.st > /dev/null";

    trace_linear(y, z, a);
    cr_expect_eq(shell("%s", check), 0);
    z[5] = nextafterf(z[5], 1000); /* within the bound */
    write_trace("t.st", z, a);
    cr_expect_eq(shell("%s", check), 0);
    z[5] += 1e-4f;
    write_trace("t.st", z, a);
    cr_expect_eq(shell("%s", check), 1);
    z[5] = NAN;
    write_trace("t.st", z, a);
    cr_expect_eq(shell("%s", check), 1);
    z[5] = (float)y[5];
    a[1] = (a[1] + 1) % M;
    write_trace("t.st", z, a);
    cr_expect_eq(shell("%s", check), 1);
    clean();
}

/* Points are chosen where there are more of them: a long sum that has few
 * results is done for each of those once. */
Test(ref, few_results_are_checked_in_full)
{
    double y[N * M];
    float z[N * M];
    int32_t a[N];

    trace_linear(y, z, a);
    cr_expect_eq(shell("./ref --model linear --weights w.st --in x.st "
                       "--check t.st --budget 1 --verbose > log &&"
                       "grep -q 't[0-9]' log && ! grep 't[0-9].*points$' log"),
                 0);
    clean();
}

/* Outputs against another program's: an argmax is judged by its value. */
Test(ref, outputs_are_compared)
{
    const char *against = "./ref --model linear --weights w.st --in x.st "
                          "--against t.st > /dev/null";
    int64_t dim[] = {N, M};
    double y[N * M];
    int best[N];
    int32_t a[N];
    char path[300];

    build();
    snprintf(path, sizeof path, "%s/t.st", work.dir);
    cr_assert_eq(shell("./ref --model linear --random 7 --save-weights w.st "
                       "--save-in x.st"),
                 0);
    expect_linear(y, best);
    for (int i = 0; i < N; i++)
        a[i] = best[i];
    dcc_st_out out[] = {{"y", DCC_ST_F64, 2, dim, y},
                        {"a", DCC_ST_I32, 1, dim, a}};
    cr_assert_eq(dcc_st_write(path, out, 2, NULL, 0), DCC_OK);
    cr_expect_eq(shell("%s", against), 0);
    a[2] = (a[2] + 2) % M;
    cr_assert_eq(dcc_st_write(path, out, 2, NULL, 0), DCC_OK);
    cr_expect_eq(shell("%s", against), 1);
    a[2] = 1000;
    cr_assert_eq(dcc_st_write(path, out, 2, NULL, 0), DCC_OK);
    cr_expect_eq(shell("%s", against), 1);
    a[2] = best[2];
    y[3] += 1;
    cr_assert_eq(dcc_st_write(path, out, 2, NULL, 0), DCC_OK);
    cr_expect_eq(shell("%s", against), 1);
    clean();
}

/* What cancels may be off by what rounding leaves, and by no more. */
Test(ref, differences_are_off_by_rounding_alone)
{
    const struct {
        double y;
        int status;
    } tried[] = {{0, 0}, {1e-7, 0}, {-1e-7, 0}, {1e-3, 1}, {NAN, 1}, {1, 1}};
    int64_t dim[] = {N};
    char path[300];

    build();
    snprintf(path, sizeof path, "%s/y.st", work.dir);
    cr_assert_eq(shell("./ref --model difference --random 7 --save-in x.st"),
                 0);
    for (size_t i = 0; i < sizeof tried / sizeof *tried; i++) {
        double y[N] = {0, tried[i].y, 0};
        dcc_st_out out = {"y", DCC_ST_F64, 1, dim, y};
        cr_assert_eq(dcc_st_write(path, &out, 1, NULL, 0), DCC_OK);
        cr_expect_eq(shell("./ref --model difference --in x.st "
                           "--against y.st > /dev/null"),
                     tried[i].status, "%g", tried[i].y);
    }
    clean();
}
