/* test_emit.c - kernels of map, turn, prefix and reduce, from nests built by
 * hand: their text against golden files, and what they compute on the emulator,
 * against the nests' meaning. DCC_GOLDEN_WRITE=1 writes the golden files. */
#include "compiler/emit/cprint.h"
#include "compiler/model/device.h"
#include "compiler/emit/emit.h"
#include "compiler/emit/opencl.h"
#include "compiler/family/family.h"
#include "tests/nest_eval.h"
#include "tests/scratch.h"
#include "compiler/support/file.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

typedef struct Build {
    Arena *arena;
    Graph *g;
    Group *gr;
} Build;

static Build start(const char *name)
{
    Build b = {.arena = arena_new()};

    b.g = graph_new(b.arena, diag_new(b.arena), name);
    b.gr = arena_new_of(b.arena, Group);
    b.gr->step = arena_array(b.arena, Step, 16);
    b.gr->when = WHEN_RUN;
    return b;
}

#define DIMS(...) (const int64_t[]){__VA_ARGS__}
#define VARS(...) (const Var *[]){__VA_ARGS__}
#define AT(...) (const Idx *[]){__VA_ARGS__}

static const Var *var(Build *b, const char *name, int64_t extent)
{
    return idx_new_var(b->g->pool, name, extent);
}

static const Idx *ix(Build *b, const Var *v)
{
    return idx_var(b->g->pool, v);
}

static Tensor *tensor(Build *b, const char *name, Type t, int rank,
                      const int64_t *dim)
{
    return graph_tensor(b->g, name, t, rank, dim);
}

/* [n, c, h, w] stored as n, h, w, c. */
static Tensor *channels_last(Build *b, const char *name, Type t,
                             const int64_t *dim)
{
    Tensor *x = tensor(b, name, t, 4, dim);

    x->stride[1] = 1;
    x->stride[3] = dim[1];
    x->stride[2] = dim[1] * dim[3];
    return x;
}

static const Idx **copy(Build *b, const Tensor *t, const Idx **at)
{
    const Idx **i = arena_array(b->arena, const Idx *, MAX_RANK);

    memcpy(i, at, sizeof *at * (size_t)t->rank);
    return i;
}

static const Expr *rd(Build *b, Tensor *t, const Idx **at)
{
    return expr_read(b->g, t, copy(b, t, at), (Guard){0}, NULL);
}

static const Expr *num(Build *b, double x)
{
    return expr_const(b->g, x, T_F32);
}

static const Expr *op(Build *b, Func f, const Expr *x, const Expr *y)
{
    return expr_binary(b->g, f, x, y, T_F32);
}

static const Expr *fn(Build *b, Func f, const Expr *x)
{
    return expr_unary(b->g, f, x, T_F32);
}

static void nest(Build *b, int n_rows, const Var **rows, int n_cols,
                 const Var **cols)
{
    b->gr->rows = arena_array(b->arena, const Var *, n_rows + 1);
    b->gr->cols = arena_array(b->arena, const Var *, n_cols + 1);
    memcpy(b->gr->rows, rows, sizeof *rows * (size_t)n_rows);
    if (n_cols)
        memcpy(b->gr->cols, cols, sizeof *cols * (size_t)n_cols);
    b->gr->n_rows = n_rows;
    b->gr->n_cols = n_cols;
}

static Type value_type(const Expr *e)
{
    return type_is_float(e->type) ? T_F32 : e->type == T_BOOL ? T_BOOL : T_I32;
}

static Step *step(Build *b, bool over_cols, Reduce r, const Expr *e)
{
    Step *s = &b->gr->step[b->gr->n_step++];

    *s = (Step){.over_cols = over_cols, .op = r, .value = e,
                .type = r == R_ARGMAX ? T_I32 : value_type(e)};
    if (r == R_SUM && s->type == T_BOOL)
        s->type = T_I32;
    return s;
}

static const Expr *local(Build *b, bool over_cols, Reduce r, const Expr *e)
{
    Step *s = step(b, over_cols, r, e);

    return expr_local(b->g, b->gr->n_step - 1, s->type);
}

static void store(Build *b, Step *s, Tensor *t, const Idx **at)
{
    s->tensor = t;
    s->store = copy(b, t, at);
}

/* ---- nests of family map ----------------------------------------------- */

static Build bias_gelu(Type t, int M, int N)
{
    Build b = start("gelu");
    const Var *i = var(&b, "i", M), *j = var(&b, "j", N);
    Tensor *y = tensor(&b, "y", t, 2, DIMS(M, N));
    Tensor *x = tensor(&b, "x", t, 2, DIMS(M, N));
    Tensor *bias = tensor(&b, "bias", T_F32, 1, DIMS(N));
    const Expr *s = op(&b, F_ADD, rd(&b, x, AT(ix(&b, i), ix(&b, j))),
                       rd(&b, bias, AT(ix(&b, j))));
    const Expr *e = fn(&b, F_ERF, op(&b, F_MUL, s, num(&b, 0.70710678)));

    e = op(&b, F_MUL, op(&b, F_MUL, num(&b, 0.5), s),
           op(&b, F_ADD, num(&b, 1), e));
    nest(&b, 2, VARS(i, j), 0, NULL);
    store(&b, step(&b, false, R_NONE, expr_cast(b.g, e, t)), y,
          AT(ix(&b, i), ix(&b, j)));
    return b;
}

static Build transpose(int M, int N)
{
    Build b = start("transpose");
    const Var *i = var(&b, "i", M), *j = var(&b, "j", N);
    Tensor *y = tensor(&b, "y", T_F16, 2, DIMS(N, M));
    Tensor *x = tensor(&b, "x", T_F16, 2, DIMS(M, N));
    const Expr *e = rd(&b, x, AT(ix(&b, i), ix(&b, j)));
    Tensor *z = tensor(&b, "z", T_I8, 2, DIMS(M, N));

    nest(&b, 2, VARS(i, j), 0, NULL);
    e = local(&b, false, R_NONE, op(&b, F_MUL, e, num(&b, 40)));
    store(&b, &b.gr->step[0], y, AT(ix(&b, j), ix(&b, i)));
    e = expr_cast(b.g, expr_cast(b.g, e, T_I32), T_I8);
    store(&b, step(&b, false, R_NONE, e), z, AT(ix(&b, i), ix(&b, j)));
    return b;
}

static const Expr *window(Build *b, Tensor *x, const Var **v, int stride,
                          int pad, double outside)
{
    IdxPool *pool = b->g->pool;
    const Idx *at[4] = {ix(b, v[0]), ix(b, v[1])};
    Guard in = {0};

    for (int d = 0; d < 2; d++) {
        at[2 + d] = idx_add(pool, idx_scale(pool, ix(b, v[2 + d]), stride),
                            ix(b, v[4 + d]));
        at[2 + d] = idx_addc(pool, at[2 + d], -pad);
        in = guard_within(pool, in, at[2 + d], 0, x->dim[2 + d]);
    }
    return expr_read(b->g, x, copy(b, x, at), in,
                     in.n ? expr_const(b->g, outside, x->type) : NULL);
}

static Build max_pool(bool last, int C, int H)
{
    Build b = start(last ? "pool_last" : "pool");
    int P = (H + 2 - 3) / 2 + 1;
    const Var *v[] = {var(&b, "n", 2), var(&b, "c", C), var(&b, "p", P),
                      var(&b, "q", P), var(&b, "r", 3), var(&b, "s", 3)};
    Tensor *(*make)(Build *, const char *, Type, const int64_t *) =
        channels_last;
    Tensor *y = last ? make(&b, "y", T_F16, DIMS(2, C, P, P))
                     : tensor(&b, "y", T_F16, 4, DIMS(2, C, P, P));
    Tensor *x = last ? make(&b, "x", T_F16, DIMS(2, C, H, H))
                     : tensor(&b, "x", T_F16, 4, DIMS(2, C, H, H));
    const Expr *m;

    nest(&b, 4, v, 2, v + 4);
    m = local(&b, true, R_MAX, window(&b, x, v, 2, 1, -INFINITY));
    store(&b, step(&b, false, R_NONE, op(&b, F_MAX, m, num(&b, 0))), y,
          AT(ix(&b, v[0]), ix(&b, v[1]), ix(&b, v[2]), ix(&b, v[3])));
    return b;
}

static Build depthwise(int C, int H)
{
    Build b = start("depthwise");
    const Var *v[] = {var(&b, "n", 2), var(&b, "c", C), var(&b, "p", H),
                      var(&b, "q", H), var(&b, "r", 3), var(&b, "s", 3)};
    Tensor *y = channels_last(&b, "y", T_F16, DIMS(2, C, H, H));
    Tensor *x = channels_last(&b, "x", T_F16, DIMS(2, C, H, H));
    Tensor *w = tensor(&b, "w", T_F16, 3, DIMS(C, 3, 3));
    Tensor *bias = tensor(&b, "bias", T_F32, 1, DIMS(C));
    const Expr *e = rd(&b, w, AT(ix(&b, v[1]), ix(&b, v[4]), ix(&b, v[5])));

    nest(&b, 4, v, 2, v + 4);
    e = local(&b, true, R_SUM, op(&b, F_MUL, window(&b, x, v, 1, 1, 0), e));
    e = op(&b, F_ADD, e, rd(&b, bias, AT(ix(&b, v[1]))));
    e = op(&b, F_MIN, op(&b, F_MAX, e, num(&b, 0)), num(&b, 6));
    store(&b, step(&b, false, R_NONE, e), y,
          AT(ix(&b, v[0]), ix(&b, v[1]), ix(&b, v[2]), ix(&b, v[3])));
    return b;
}

static Build embedding(int S, int D)
{
    Build b = start("embedding");
    const Var *n = var(&b, "b", 3), *s = var(&b, "s", S),
              *d = var(&b, "d", D);
    Tensor *y = tensor(&b, "y", T_F16, 3, DIMS(3, S, D));
    Tensor *ids = tensor(&b, "ids", T_I32, 2, DIMS(3, S));
    Tensor *table = tensor(&b, "table", T_F16, 2, DIMS(29, D));
    Tensor *pos = tensor(&b, "pos", T_F16, 2, DIMS(S, D));
    IdxPool *pool = b.g->pool;
    const Expr *id = rd(&b, ids, AT(ix(&b, n), ix(&b, s)));
    const Idx *at = idx_data(pool, id, INT32_MIN, INT32_MAX);

    at = idx_max(pool, idx_min(pool, at, idx_const(pool, 28)),
                 idx_const(pool, 0));
    nest(&b, 3, VARS(n, s, d), 0, NULL);
    store(&b, step(&b, false, R_NONE,
                   op(&b, F_ADD, rd(&b, table, AT(at, ix(&b, d))),
                      rd(&b, pos, AT(ix(&b, s), ix(&b, d))))),
          y, AT(ix(&b, n), ix(&b, s), ix(&b, d)));
    return b;
}

/* A row of a state at `pos`, if that is inside. */
static Build cache(int S, int D)
{
    Build b = start("cache");
    const Var *h = var(&b, "h", 2), *d = var(&b, "d", D);
    Tensor *k = tensor(&b, "k", T_F16, 3, DIMS(2, S, D));
    Tensor *pos = tensor(&b, "pos", T_I32, 0, DIMS(1));
    Tensor *x = tensor(&b, "x", T_F16, 2, DIMS(2, D));
    const Idx *at = idx_data(b.g->pool, rd(&b, pos, AT(NULL)), INT32_MIN,
                             INT32_MAX);
    Step *s;

    k->role = ROLE_STATE;
    nest(&b, 2, VARS(h, d), 0, NULL);
    s = step(&b, false, R_NONE, rd(&b, x, AT(ix(&b, h), ix(&b, d))));
    store(&b, s, k, AT(ix(&b, h), at, ix(&b, d)));
    s->where = guard_within(b.g->pool, (Guard){0}, at, 0, S);
    return b;
}

static Build upsample(int H)
{
    Build b = start("upsample");
    const Var *c = var(&b, "c", 3), *p = var(&b, "p", 2 * H),
              *q = var(&b, "q", 2 * H);
    Tensor *y = tensor(&b, "y", T_F32, 3, DIMS(3, 2 * H, 2 * H));
    Tensor *x = tensor(&b, "x", T_F32, 3, DIMS(3, H, H));
    IdxPool *pool = b.g->pool;

    nest(&b, 3, VARS(c, p, q), 0, NULL);
    store(&b, step(&b, false, R_NONE,
                   rd(&b, x, AT(ix(&b, c), idx_floor(pool, ix(&b, p), 2),
                                idx_floor(pool, ix(&b, q), 2)))),
          y, AT(ix(&b, c), ix(&b, p), ix(&b, q)));
    return b;
}

static Build positive(int N)
{
    Build b = start("positive");
    const Var *i = var(&b, "i", N);
    Tensor *y = tensor(&b, "y", T_BOOL, 1, DIMS(N));
    Tensor *x = tensor(&b, "x", T_BF16, 1, DIMS(N));
    Tensor *z = tensor(&b, "z", T_F32, 1, DIMS(N));
    const Expr *e = expr_binary(b.g, F_GT, rd(&b, x, AT(ix(&b, i))),
                                num(&b, 0.25), T_BOOL);

    nest(&b, 1, VARS(i), 0, NULL);
    e = local(&b, false, R_NONE, e);
    store(&b, &b.gr->step[0], y, AT(ix(&b, i)));
    e = expr_select(b.g, e, rd(&b, x, AT(ix(&b, i))),
                    expr_index(b.g, ix(&b, i)), T_F32);
    store(&b, step(&b, false, R_NONE, e), z, AT(ix(&b, i)));
    return b;
}

/* ---- a nest of family prefix ------------------------------------------- */

/* Each row's running sum, halved. */
static Build running_sum(Type t, int rows, int n)
{
    Build b = start("running_sum");
    const Var *r = var(&b, "r", rows), *i = var(&b, "i", n),
              *k = var(&b, "k", n);
    Tensor *y = tensor(&b, "y", T_F32, 2, DIMS(rows, n));
    Tensor *x = tensor(&b, "x", t, 2, DIMS(rows, n));
    Guard in = guard_add(b.g->pool, (Guard){0},
                         idx_sub(b.g->pool, ix(&b, i), ix(&b, k)), 0);

    nest(&b, 2, VARS(r, i), 1, VARS(k));
    const Expr *sum = local(&b, true, R_SUM,
                            expr_read(b.g, x, AT(ix(&b, r), ix(&b, k)), in,
                                      num(&b, 0)));
    store(&b, step(&b, false, R_NONE, op(&b, F_MUL, sum, num(&b, 0.5))), y,
          AT(ix(&b, r), ix(&b, i)));
    return b;
}

/* ---- nests of family reduce -------------------------------------------- */

/* Over the last axis; over the middle one of [rows / 16, n, 16] if `middle`. */
static Build softmax(Type t, int rows, int n, bool middle)
{
    Build b = start(middle ? "softmax_middle" : "softmax");
    const Var *i = var(&b, "i", middle ? rows / 16 : rows),
              *d = var(&b, "d", n), *c = var(&b, "c", 16);
    const int64_t *dim = middle ? DIMS(rows / 16, n, 16) : DIMS(rows, n);
    Tensor *y = tensor(&b, "y", t, middle ? 3 : 2, dim);
    Tensor *x = tensor(&b, "x", t, middle ? 3 : 2, dim);
    const Idx *at[] = {ix(&b, i), ix(&b, d), ix(&b, c)};
    const Expr *m, *e, *z;

    nest(&b, middle ? 2 : 1, VARS(i, c), 1, VARS(d));
    m = local(&b, true, R_MAX, rd(&b, x, at));
    e = local(&b, true, R_NONE,
              fn(&b, F_EXP, op(&b, F_SUB, rd(&b, x, at), m)));
    z = local(&b, true, R_SUM, e);
    store(&b, step(&b, true, R_NONE, op(&b, F_DIV, e, z)), y, at);
    return b;
}

static Build layer_norm(Type t, int rows, int n)
{
    Build b = start("layer_norm");
    const Var *i = var(&b, "i", rows), *d = var(&b, "d", n);
    Tensor *y = tensor(&b, "y", t, 2, DIMS(rows, n));
    Tensor *sum = tensor(&b, "sum", t, 2, DIMS(rows, n));
    Tensor *mean = tensor(&b, "mean", T_F32, 1, DIMS(rows));
    Tensor *x = tensor(&b, "x", t, 2, DIMS(rows, n));
    Tensor *r = tensor(&b, "r", t, 2, DIMS(rows, n));
    Tensor *gain = tensor(&b, "gain", t, 1, DIMS(n));
    Tensor *bias = tensor(&b, "bias", t, 1, DIMS(n));
    const Idx *at[] = {ix(&b, i), ix(&b, d)};
    const Expr *h, *m, *c, *v;

    nest(&b, 1, VARS(i), 1, VARS(d));
    h = local(&b, true, R_NONE, op(&b, F_ADD, rd(&b, x, at), rd(&b, r, at)));
    store(&b, &b.gr->step[0], sum, at);
    m = local(&b, true, R_SUM, h);
    m = local(&b, false, R_NONE, op(&b, F_DIV, m, num(&b, n)));
    store(&b, &b.gr->step[2], mean, AT(ix(&b, i)));
    c = op(&b, F_SUB, h, m);
    v = local(&b, true, R_SUM, op(&b, F_MUL, c, c));
    v = op(&b, F_ADD, op(&b, F_DIV, v, num(&b, n)), num(&b, 1e-5));
    v = local(&b, false, R_NONE, fn(&b, F_RSQRT, v));
    c = op(&b, F_MUL, op(&b, F_MUL, c, v), rd(&b, gain, AT(ix(&b, d))));
    store(&b, step(&b, true, R_NONE,
                   op(&b, F_ADD, c, rd(&b, bias, AT(ix(&b, d))))), y, at);
    return b;
}

static Build best(int rows, int n)
{
    Build b = start("best");
    const Var *i = var(&b, "i", rows), *d = var(&b, "d", n);
    Tensor *y = tensor(&b, "y", T_I32, 1, DIMS(rows));
    Tensor *z = tensor(&b, "z", T_F32, 1, DIMS(rows));
    Tensor *count = tensor(&b, "count", T_I32, 1, DIMS(rows));
    Tensor *x = tensor(&b, "x", T_F32, 2, DIMS(rows, n));
    const Expr *e = rd(&b, x, AT(ix(&b, i), ix(&b, d)));

    nest(&b, 1, VARS(i), 1, VARS(d));
    store(&b, step(&b, true, R_ARGMAX, e), y, AT(ix(&b, i)));
    store(&b, step(&b, true, R_MIN, e), z, AT(ix(&b, i)));
    store(&b, step(&b, true, R_SUM,
                   expr_binary(b.g, F_GT, e, num(&b, 0.5), T_BOOL)), count,
          AT(ix(&b, i)));
    return b;
}

static Build average_pool(bool last, int C, int H)
{
    Build b = start(last ? "average_last" : "average");
    const Var *n = var(&b, "n", 2), *c = var(&b, "c", C),
              *h = var(&b, "h", H), *w = var(&b, "w", H);
    Tensor *y = tensor(&b, "y", T_F16, 2, DIMS(2, C));
    Tensor *x = last ? channels_last(&b, "x", T_F16, DIMS(2, C, H, H))
                     : tensor(&b, "x", T_F16, 4, DIMS(2, C, H, H));
    const Expr *s;

    nest(&b, 2, VARS(n, c), 2, VARS(h, w));
    s = local(&b, true, R_SUM, rd(&b, x, AT(ix(&b, n), ix(&b, c), ix(&b, h),
                                            ix(&b, w))));
    store(&b, step(&b, false, R_NONE, op(&b, F_DIV, s, num(&b, H * H))), y,
          AT(ix(&b, n), ix(&b, c)));
    return b;
}

static Build instance_norm(int C, int H, int W)
{
    Build b = start("instance_norm");
    const Var *n = var(&b, "n", 2), *c = var(&b, "c", C),
              *h = var(&b, "h", H), *w = var(&b, "w", W);
    Tensor *y = tensor(&b, "y", T_F32, 4, DIMS(2, C, H, W));
    Tensor *x = tensor(&b, "x", T_F32, 4, DIMS(2, C, H, W));
    Tensor *gain = tensor(&b, "gain", T_F32, 1, DIMS(C));
    const Idx *at[] = {ix(&b, n), ix(&b, c), ix(&b, h), ix(&b, w)};
    const Expr *m, *q, *v;

    nest(&b, 2, VARS(n, c), 2, VARS(h, w));
    m = local(&b, true, R_SUM, rd(&b, x, at));
    m = local(&b, false, R_NONE, op(&b, F_DIV, m, num(&b, H * W)));
    q = op(&b, F_SUB, rd(&b, x, at), m);
    v = local(&b, true, R_SUM, op(&b, F_MUL, q, q));
    v = op(&b, F_ADD, op(&b, F_DIV, v, num(&b, H * W)), num(&b, 1e-3));
    v = op(&b, F_MUL, fn(&b, F_RSQRT, v), rd(&b, gain, AT(ix(&b, c))));
    store(&b, step(&b, true, R_NONE, op(&b, F_MUL, q, v)), y, at);
    return b;
}

static Build gemv(int N, int K)
{
    Build b = start("gemv");
    const Var *j = var(&b, "j", N), *k = var(&b, "k", K);
    Tensor *y = tensor(&b, "y", T_F16, 1, DIMS(N));
    Tensor *x = tensor(&b, "x", T_F16, 1, DIMS(K));
    Tensor *w = tensor(&b, "w", T_F16, 2, DIMS(N, K));
    Tensor *bias = tensor(&b, "bias", T_F16, 1, DIMS(N));
    const Expr *s;

    nest(&b, 1, VARS(j), 1, VARS(k));
    s = local(&b, true, R_SUM,
              op(&b, F_MUL, rd(&b, x, AT(ix(&b, k))),
                 rd(&b, w, AT(ix(&b, j), ix(&b, k)))));
    s = op(&b, F_ADD, s, rd(&b, bias, AT(ix(&b, j))));
    store(&b, step(&b, false, R_NONE, op(&b, F_MAX, s, num(&b, 0))), y,
          AT(ix(&b, j)));
    return b;
}

/* ---- golden text ------------------------------------------------------- */

static int cheapest(Build *b, const Family *f, const Options *o, Variant **v,
                    int *n)
{
    Cost c = {0};
    double least = INFINITY;
    int best_v = 0;

    const char *why;
    const void *form = f->open(b->g, b->gr, o, &why);

    cr_assert(form, "%s", why);
    *n = f->space(form, v);
    cr_assert(*n > 0);
    for (int i = 0; i < *n; i++) {
        f->cost(form, &(*v)[i], &c);
        if (c.coef_r && c.us < least) {
            least = c.us;
            best_v = i;
        }
    }
    return best_v;
}

static void put_kernel(Buf *out, Build *b, const Family *f, const Options *o,
                       const Variant *v, Kernel *k, const char *name)
{
    CudaProgram p = {.graph = b->g};
    const char *why;

    k->name = name;
    f->build(f->open(b->g, b->gr, o, &why), v, k);
    kernel_finish(b->g, k);
    k->predicted_us = 1; /* golden text outlives changes of the model */
    k->limiter = "HBM";
    emit_kernel(out, &p, k);
}

static void check_columns(const char *text, const char *name)
{
    for (const char *s = text; *s;) {
        size_t n = strcspn(s, "\n");
        cr_expect(n <= 80, "%s: a line of %zu columns: %.*s", name, n, (int)n,
                  s);
        s += n + (s[n] == '\n');
    }
}

/* Compares with tests/golden/emit_<name>, or writes it. */
static void expect_golden(Arena *a, const Buf *got, const char *name)
{
    const char *src = getenv("DCC_SRC");
    const char *path = arena_printf(a, "%s/tests/golden/emit_%s",
                                    src ? src : ".", name);
    Buf want = {0};

    check_columns(buf_text(got), path);
    if (getenv("DCC_GOLDEN_WRITE"))
        file_write(buf_text(got), got->len, path);
    cr_assert(file_read(&want, path), "cannot read %s", path);
    cr_expect_str_eq(buf_text(got), buf_text(&want), "%s differs", path);
    buf_free(&want);
}

static void golden(Build b, const Family *f, const char *variant)
{
    Options o = {.device = device_find(b.arena, "h200")};
    Variant *v;
    int n, at = cheapest(&b, f, &o, &v, &n);
    const void *form = f->open(b.g, b.gr, &o, &(const char *){NULL});
    Buf got = {0};

    for (int i = 0; variant && i < n; i++)
        if (!strcmp(variant_text(f, form, &v[i]), variant))
            at = i;
    put_kernel(&got, &b, f, &o, &v[at], arena_new_of(b.arena, Kernel),
               arena_printf(b.arena, "m_%s", b.g->model));
    expect_golden(b.arena, &got, arena_printf(b.arena, "%s.cu", b.g->model));
    buf_free(&got);
    arena_free(b.arena);
}

/* What a tree holds is C: a map's is printed as OpenCL C too; a reduction in
 * shared memory is nothing that the table knows, and refused. */
Test(emit, opencl)
{
    Build b = bias_gelu(T_F16, 128, 768), r = softmax(T_F16, 8, 1000, false);
    Options o = {.device = device_find(b.arena, "h200")};
    Buf cuda = {0}, text = {0}, none = {0};
    Kernel *k = arena_new_of(b.arena, Kernel);
    Kernel *of_r = arena_new_of(r.arena, Kernel);
    Variant *v;
    int n, at = cheapest(&b, &family_map, &o, &v, &n);

    put_kernel(&cuda, &b, &family_map, &o, &v[at], k, "m_gelu");
    cr_assert(emit_opencl(b.arena, &text, k));
    expect_golden(b.arena, &text, "gelu.cl");
    at = cheapest(&r, &family_reduce, &o, &v, &n);
    put_kernel(&cuda, &r, &family_reduce, &o, &v[at], of_r, "m_softmax");
    cr_expect(!emit_opencl(r.arena, &none, of_r));
    cr_expect_eq(none.len, 0);
    buf_free(&cuda);
    buf_free(&text);
    arena_free(b.arena);
    arena_free(r.arena);
}

Test(emit, golden)
{
    golden(bias_gelu(T_F16, 128, 768), &family_map, "vec=8 threads=256");
    golden(max_pool(true, 64, 56), &family_map, "vec=8 threads=128");
    golden(depthwise(96, 28), &family_map, "vec=8 threads=128 tile=4");
    golden(embedding(64, 768), &family_map, "vec=8 threads=256");
    golden(cache(1024, 64), &family_map, "vec=8 threads=128");
    golden(softmax(T_F16, 1024, 768, false), &family_reduce,
           "lanes threads=128 vec=8 share=32");
    golden(layer_norm(T_F16, 512, 1000), &family_reduce,
           "block threads=128 vec=8 share=1");
    golden(average_pool(true, 2048, 7), &family_reduce,
           "columns threads=128 vec=8 share=16");
    golden(best(3, 100000), &family_reduce,
           "split threads=256 vec=4 share=16");
    golden(running_sum(T_F16, 48, 2000), &family_prefix,
           "block threads=128 vec=8");
    golden(transpose(200, 1000), &family_turn, NULL);
}

/* Every golden kernel compiles for old and new GPUs without a warning, and
 * none spills registers. */
Test(emit, nvcc)
{
    const char *src = getenv("DCC_SRC");
    char cmd[1200];

    if (system("command -v nvcc > /dev/null 2>&1")) {
        cr_skip("there is no nvcc");
        return;
    }
    snprintf(cmd, sizeof cmd,
             "cd '%s' && t=$(mktemp -d) && trap 'rm -r $t' EXIT && "
             "{ echo '#include \"dcc_rt.h\"';"
             " echo '#include \"dcc_device.cuh\"';"
             " cat tests/golden/emit_*.cu; } > $t/all.cu && "
             "for a in sm_80 sm_90a; do nvcc -std=c++17 -arch=$a -Iruntime "
             "-Werror all-warnings -Xptxas -v -cubin -o $t/all.cubin "
             "$t/all.cu > $t/log 2>&1 || { cat $t/log >&2; exit 1; }; "
             "if grep -q '[1-9][0-9]* bytes spill' $t/log; then "
             "cat $t/log >&2; exit 1; fi; done", src ? src : ".");
    cr_expect_eq(system(cmd), 0);
}

/* ---- numeric ----------------------------------------------------------- */

typedef struct Suite {
    Buf cu, main_;
    FILE *data;
    char dir[200];
    unsigned seed;
    int n;
    const Device *device;
} Suite;

static double draw(Suite *s, Type t)
{
    s->seed = s->seed * 1664525u + 1013904223u;
    int x = (int)(s->seed >> 24) - 128;
    return t == T_BOOL ? x & 1 : type_is_float(t) ? x / 64.0 : x / 4;
}

/* Each argument's values before and after. */
static void write_data(Suite *s, Build *b)
{
    NestEval n = {.group = b->gr};
    double *before[16];

    n.var = calloc(4096, sizeof *n.var);
    for (int i = 0; i < b->gr->n_arg; i++) {
        const Tensor *t = b->gr->arg[i];
        size_t bytes = sizeof(double) * (size_t)tensor_elems(t);
        before[i] = malloc(bytes);
        n.data[i] = malloc(bytes);
        for (int64_t e = 0; e < tensor_elems(t); e++)
            before[i][e] = draw(s, t->type);
        memcpy(n.data[i], before[i], bytes);
    }
    nest_run(&n, b->g);
    for (int i = 0; i < b->gr->n_arg; i++) {
        size_t elems = (size_t)tensor_elems(b->gr->arg[i]);
        fwrite(before[i], sizeof(double), elems, s->data);
        fwrite(n.data[i], sizeof(double), elems, s->data);
        free(before[i]);
        free(n.data[i]);
    }
    free(n.var);
}

static void put_run(Suite *s, const Kernel *k)
{
    Buf *m = &s->main_;

    for (int i = 0; i < k->n_arg; i++)
        buf_printf(m, "        a%d.reset();\n", i);
    buf_printf(m, "        auto *workspace = zeroed<unsigned char>(%zu);\n"
                  "        auto *counters = zeroed<unsigned>(%d);\n"
                  "        for (int run = 0; run < %d; run++)\n"
                  "            check_cuda(%s_launch(",
               k->workspace, k->n_counters, k->coop_counters ? 2 : 1, k->name);
    for (int i = 0; i < k->n_arg; i++)
        buf_printf(m, "a%d.p, ", i);
    buf_printf(m, "%s%s0), \"%s\");\n", k->workspace ? "workspace, " : "",
               k->coop_counters ? "counters, " : "", k->name);
    for (int i = 0; i < k->n_arg; i++)
        if (k->arg[i].use != ARG_IN)
            buf_printf(m, "        a%d.compare(\"%s\", \"%s\");\n", i, k->name,
                       k->arg[i].name);
    buf_puts(m, "        cudaFree(workspace);\n        cudaFree(counters);\n");
}

/* The cheapest variant, and every `stride`-th. */
static void add_case(Suite *s, Build b, const Family *f, int stride)
{
    Options o = {.device = s->device};
    Variant *v;
    int n, first = cheapest(&b, f, &o, &v, &n);

    group_args(b.g, b.gr);
    write_data(s, &b);
    buf_puts(&s->main_, "    {\n");
    for (int i = 0; i < b.gr->n_arg; i++)
        buf_printf(&s->main_, "        Arg<%s> a%d(in, %lld);\n",
                   type_cname(b.gr->arg[i]->type), i,
                   (long long)tensor_elems(b.gr->arg[i]));
    for (int i = 0; i < n; i++) {
        if (i != first && (i + s->n) % stride)
            continue;
        Kernel *k = arena_new_of(b.arena, Kernel);
        buf_puts(&s->main_, "        {\n");
        put_kernel(&s->cu, &b, f, &o, &v[i], k,
                   arena_printf(b.arena, "%s_%d", b.g->model, ++s->n));
        put_run(s, k);
        buf_puts(&s->main_, "        }\n");
    }
    buf_puts(&s->main_, "    }\n");
    check_columns(buf_text(&s->cu), b.g->model);
    arena_free(b.arena);
}

static Suite begin(Arena *a, const char *name)
{
    Suite s = {.seed = 7, .device = device_find(a, "h200")};
    char path[300];

    scratch_make(s.dir, sizeof s.dir, name);
    snprintf(path, sizeof path, "%s/data", s.dir);
    s.data = fopen(path, "wb");
    cr_assert(s.data != NULL);
    return s;
}

static void finish(Suite *s)
{
    const char *src = getenv("DCC_SRC");
    char path[300], cmd[2000];
    Buf all = {0};

    fclose(s->data);
    buf_puts(&all, "#include \"kernel_check.h\"\n\n");
    buf_puts(&all, buf_text(&s->cu));
    buf_puts(&all, "\nint main(int argc, char **argv)\n{\n"
                   "    FILE *in = fopen(argc > 1 ? argv[1] : \"data\", "
                   "\"rb\");\n    if (!in)\n        return 3;\n");
    buf_puts(&all, buf_text(&s->main_));
    buf_puts(&all, "    printf(\"%d failures\\n\", failures);\n"
                   "    return failures > 0;\n}\n");
    snprintf(path, sizeof path, "%s/run.cu", s->dir);
    cr_assert(file_write(buf_text(&all), all.len, path));
    if (!src)
        src = ".";
    snprintf(cmd, sizeof cmd,
             "'%s/runtime/emu/dcc-emu-cc' -O1 -I'%s/tests' -o '%s/run' '%s' "
             "&& '%s/run' '%s/data' >&2", src, src, s->dir, path, s->dir,
             s->dir);
    int status = system(cmd);
    cr_expect_eq(status, 0, "see %s", path);
    if (status == 0)
        scratch_remove(s->dir);
    buf_free(&all);
    buf_free(&s->cu);
    buf_free(&s->main_);
}

Test(emit, map)
{
    Arena *a = arena_new();
    Suite s = begin(a, "map");

    add_case(&s, bias_gelu(T_F16, 12, 40), &family_map, 2);
    add_case(&s, bias_gelu(T_F32, 7, 9), &family_map, 2);
    add_case(&s, transpose(24, 20), &family_map, 2);
    add_case(&s, max_pool(true, 16, 9), &family_map, 3);
    add_case(&s, max_pool(false, 5, 11), &family_map, 2);
    add_case(&s, depthwise(24, 5), &family_map, 3);
    add_case(&s, depthwise(16, 8), &family_map, 3);
    add_case(&s, embedding(11, 48), &family_map, 3);
    add_case(&s, cache(40, 32), &family_map, 3);
    add_case(&s, upsample(10), &family_map, 2);
    add_case(&s, positive(1000), &family_map, 3);
    add_case(&s, softmax(T_F32, 33, 10, false), &family_map, 2);
    add_case(&s, softmax(T_F16, 64, 9, true), &family_map, 3);
    add_case(&s, softmax(T_F32, 12, 1, false), &family_map, 1);
    finish(&s);
    arena_free(a);
}

Test(emit, reduce)
{
    Arena *a = arena_new();
    Suite s = begin(a, "reduce");

    add_case(&s, softmax(T_F16, 24, 768, false), &family_reduce, 7);
    add_case(&s, softmax(T_F32, 33, 10, false), &family_reduce, 5);
    add_case(&s, softmax(T_F16, 3, 1001, false), &family_reduce, 5);
    add_case(&s, softmax(T_F16, 48, 77, true), &family_reduce, 5);
    add_case(&s, softmax(T_F16, 2, 20011, false), &family_reduce, 5);
    add_case(&s, layer_norm(T_F16, 20, 104), &family_reduce, 7);
    add_case(&s, layer_norm(T_BF16, 5, 1000), &family_reduce, 7);
    add_case(&s, best(6, 300), &family_reduce, 7);
    add_case(&s, best(3, 20000), &family_reduce, 5);
    add_case(&s, best(1, 513), &family_reduce, 5);
    add_case(&s, average_pool(true, 72, 7), &family_reduce, 5);
    add_case(&s, average_pool(false, 72, 7), &family_reduce, 5);
    add_case(&s, instance_norm(3, 12, 10), &family_reduce, 7);
    add_case(&s, gemv(50, 264), &family_reduce, 7);
    finish(&s);
    arena_free(a);
}
