/* Contraction kernels: nests built by hand, every operand's way into shared
 * memory, ragged sizes, split K; the emitted text runs on the emulator and is
 * compared with the nest's meaning in double. */
#include "compiler/model/device.h"
#include "compiler/emit/emit.h"
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
    const Var *v[8]; /* variables of the case */
} Build;

static Build start(const char *name)
{
    Build b = {.arena = arena_new()};

    b.g = graph_new(b.arena, diag_new(b.arena), name);
    b.gr = arena_new_of(b.arena, Group);
    b.gr->step = arena_array(b.arena, Step, 8);
    b.gr->when = WHEN_RUN;
    return b;
}

static const Var *var(Build *b, const char *name, int64_t extent)
{
    return idx_new_var(b->g->pool, name, extent);
}

static Tensor *tensor(Build *b, const char *name, Type t, Role role, int rank,
                      const int64_t *dim)
{
    Tensor *x = graph_tensor(b->g, name, t, rank, dim);

    x->role = role;
    return x;
}

/* A read at plain variables. */
static const Expr *at(Build *b, Tensor *t, const Var **v)
{
    const Idx **i = arena_array(b->arena, const Idx *, MAX_RANK);

    for (int d = 0; d < t->rank; d++)
        i[d] = idx_var(b->g->pool, v[d]);
    return expr_read(b->g, t, i, (Guard){0}, NULL);
}

static const Expr *mul(Build *b, const Expr *x, const Expr *y)
{
    return expr_binary(b->g, F_MUL, x, y, type_wider(x->type, y->type));
}

static const Expr *add(Build *b, const Expr *x, const Expr *y)
{
    return expr_binary(b->g, F_ADD, x, y, type_wider(x->type, y->type));
}

static const Expr *relu(Build *b, const Expr *x)
{
    return expr_binary(b->g, F_MAX, x, expr_const(b->g, 0, x->type), x->type);
}

static void rows(Build *b, int n, const Var **v)
{
    b->gr->rows = arena_array(b->arena, const Var *, n);
    memcpy(b->gr->rows, v, sizeof *v * (size_t)n);
    b->gr->n_rows = n;
}

static void cols(Build *b, int n, const Var **v)
{
    b->gr->cols = arena_array(b->arena, const Var *, n);
    memcpy(b->gr->cols, v, sizeof *v * (size_t)n);
    b->gr->n_cols = n;
}

static const Expr *sum(Build *b, const Expr *term)
{
    Type t = type_is_float(term->type) ? T_F32 : T_I32;

    b->gr->step[b->gr->n_step] =
        (Step){.over_cols = true, .op = R_SUM, .value = term, .type = t};
    return expr_local(b->g, b->gr->n_step++, t);
}

/* A value a row, stored at plain variables. */
static void store(Build *b, const Expr *value, Tensor *t, const Var **v)
{
    const Idx **i = arena_array(b->arena, const Idx *, MAX_RANK);

    for (int d = 0; d < t->rank; d++)
        i[d] = idx_var(b->g->pool, v[d]);
    b->gr->step[b->gr->n_step++] = (Step){
        .value = value, .tensor = t, .store = i,
        .type = type_is_float(value->type) ? T_F32 : T_I32};
}

#define DIMS(...) (const int64_t[]){__VA_ARGS__}
#define VARS(...) (const Var *[]){__VA_ARGS__}

/* ---- cases ------------------------------------------------------------- */

/* y[i, j] = relu(sum(k) x * w + bias[j] + r[i, j]), by layout: "nt" is
 * x[i, k], w[j, k]. */
static Build gemm(Type t, const char *layout, int M, int N, int K, bool more)
{
    Build b = start("gemm");
    const Var *i = var(&b, "i", M), *j = var(&b, "j", N), *k = var(&b, "k", K);
    bool ta = layout[0] == 't', tb = layout[1] == 't';
    Tensor *x = tensor(&b, "x", t, ROLE_INPUT, 2,
                       ta ? DIMS(K, M) : DIMS(M, K));
    Tensor *w = tensor(&b, "w", t, ROLE_PARAM, 2,
                       tb ? DIMS(N, K) : DIMS(K, N));
    Tensor *y = tensor(&b, "y", t, ROLE_OUTPUT, 2, DIMS(M, N));
    const Expr *s = sum(&b, mul(&b, at(&b, x, ta ? VARS(k, i) : VARS(i, k)),
                                at(&b, w, tb ? VARS(j, k) : VARS(k, j))));

    rows(&b, 2, VARS(i, j));
    cols(&b, 1, VARS(k));
    if (more) {
        Tensor *bias = tensor(&b, "bias", T_F32, ROLE_PARAM, 1, DIMS(N));
        Tensor *r = tensor(&b, "r", t, ROLE_INPUT, 2, DIMS(M, N));
        s = relu(&b, add(&b, add(&b, s, at(&b, bias, VARS(j))),
                         at(&b, r, VARS(i, j))));
    }
    store(&b, s, y, VARS(i, j));
    return b;
}

/* Channels last if `last`: x[n, h, w, c] and weights [o, r, s, c]. */
static Build conv(Type t, bool last, int N, int H, int C, int O, int R,
                  int stride, int pad)
{
    Build b = start("conv");
    int P = (H + 2 * pad - R) / stride + 1;
    const Var *n = var(&b, "n", N), *o = var(&b, "k", O),
              *p = var(&b, "p", P), *q = var(&b, "q", P),
              *c = var(&b, "c", C), *r = var(&b, "r", R), *s = var(&b, "s", R);
    Tensor *x = tensor(&b, "x", t, ROLE_INPUT, 4,
                       last ? DIMS(N, H, H, C) : DIMS(N, C, H, H));
    Tensor *w = tensor(&b, "w", t, ROLE_PARAM, 4,
                       last ? DIMS(O, R, R, C) : DIMS(O, C, R, R));
    Tensor *y = tensor(&b, "y", t, ROLE_OUTPUT, 4,
                       last ? DIMS(N, P, P, O) : DIMS(N, O, P, P));
    IdxPool *pool = b.g->pool;
    const Idx *h[2];
    Guard in = {0};

    for (int d = 0; d < 2; d++) {
        const Idx *e = idx_scale(pool, idx_var(pool, d ? q : p), stride);
        e = idx_add(pool, e, idx_var(pool, d ? s : r));
        h[d] = idx_addc(pool, e, -pad);
        in = guard_within(pool, in, h[d], 0, H);
    }
    const Idx **xi = arena_array(b.arena, const Idx *, MAX_RANK);
    xi[0] = idx_var(pool, n);
    xi[last ? 3 : 1] = idx_var(pool, c);
    xi[last ? 1 : 2] = h[0];
    xi[last ? 2 : 3] = h[1];
    const Expr *xr = expr_read(b.g, x, xi, in,
                               in.n ? expr_const(b.g, 0, t) : NULL);
    const Expr *wr = at(&b, w, last ? VARS(o, r, s, c) : VARS(o, c, r, s));
    const Expr *v = sum(&b, mul(&b, xr, wr));
    rows(&b, 4, last ? VARS(n, p, q, o) : VARS(n, o, p, q));
    cols(&b, 3, VARS(c, r, s));
    store(&b, relu(&b, v), y, last ? VARS(n, p, q, o) : VARS(n, o, p, q));
    return b;
}

/* Attention's products over heads in [batch, position, head, d]. */
static Build scores(int B, int S, int H, int D)
{
    Build b = start("scores");
    const Var *n = var(&b, "b", B), *h = var(&b, "h", H), *i = var(&b, "i", S),
              *j = var(&b, "j", S), *d = var(&b, "d", D);
    Tensor *q = tensor(&b, "q", T_F16, ROLE_INPUT, 4, DIMS(B, S, H, D));
    Tensor *k = tensor(&b, "k", T_F16, ROLE_INPUT, 4, DIMS(B, S, H, D));
    Tensor *p = tensor(&b, "p", T_F16, ROLE_OUTPUT, 4, DIMS(B, H, S, S));
    const Expr *v = sum(&b, mul(&b, at(&b, q, VARS(n, i, h, d)),
                                at(&b, k, VARS(n, j, h, d))));

    rows(&b, 4, VARS(n, h, i, j));
    cols(&b, 1, VARS(d));
    store(&b, mul(&b, v, expr_const(b.g, 0.125, T_F32)), p,
          VARS(n, h, i, j));
    return b;
}

static Build values(int B, int S, int H, int D)
{
    Build b = start("values");
    const Var *n = var(&b, "b", B), *h = var(&b, "h", H), *i = var(&b, "i", S),
              *j = var(&b, "j", S), *d = var(&b, "d", D);
    Tensor *p = tensor(&b, "p", T_F16, ROLE_INPUT, 4, DIMS(B, H, S, S));
    Tensor *v = tensor(&b, "v", T_F16, ROLE_INPUT, 4, DIMS(B, S, H, D));
    Tensor *o = tensor(&b, "o", T_F16, ROLE_OUTPUT, 4, DIMS(B, S, H, D));
    const Expr *s = sum(&b, mul(&b, at(&b, p, VARS(n, h, i, j)),
                                at(&b, v, VARS(n, j, h, d))));

    rows(&b, 4, VARS(n, h, i, d));
    cols(&b, 1, VARS(j));
    store(&b, s, o, VARS(n, i, h, d));
    return b;
}

/* A prologue, and factors of different types. */
static Build mixed(int M, int N, int K)
{
    Build b = start("mixed");
    const Var *i = var(&b, "i", M), *j = var(&b, "j", N), *k = var(&b, "k", K);
    Tensor *x = tensor(&b, "x", T_F32, ROLE_INPUT, 2, DIMS(M, K));
    Tensor *w = tensor(&b, "w", T_F16, ROLE_PARAM, 2, DIMS(N, K));
    Tensor *y = tensor(&b, "y", T_F32, ROLE_OUTPUT, 2, DIMS(M, N));
    const Expr *a = relu(&b, add(&b, at(&b, x, VARS(i, k)),
                                 expr_const(b.g, 0.5, T_F32)));

    rows(&b, 2, VARS(i, j));
    cols(&b, 1, VARS(k));
    store(&b, sum(&b, mul(&b, a, at(&b, w, VARS(j, k)))), y, VARS(i, j));
    return b;
}

/* relu(x) . w, exact in f16: a prologue on tensor cores. */
static Build relu_first(int M, int N, int K)
{
    Build b = start("relu_first");
    const Var *i = var(&b, "i", M), *j = var(&b, "j", N), *k = var(&b, "k", K);
    Tensor *x = tensor(&b, "x", T_F16, ROLE_INPUT, 2, DIMS(M, K));
    Tensor *w = tensor(&b, "w", T_F16, ROLE_PARAM, 2, DIMS(N, K));
    Tensor *y = tensor(&b, "y", T_F16, ROLE_OUTPUT, 2, DIMS(M, N));

    rows(&b, 2, VARS(i, j));
    cols(&b, 1, VARS(k));
    store(&b, sum(&b, mul(&b, relu(&b, at(&b, x, VARS(i, k))),
                          at(&b, w, VARS(j, k)))), y, VARS(i, j));
    return b;
}

static Build integers(int M, int N, int K)
{
    Build b = start("integers");
    const Var *i = var(&b, "i", M), *j = var(&b, "j", N), *k = var(&b, "k", K);
    Tensor *x = tensor(&b, "x", T_I8, ROLE_INPUT, 2, DIMS(M, K));
    Tensor *w = tensor(&b, "w", T_I8, ROLE_PARAM, 2, DIMS(N, K));
    Tensor *y = tensor(&b, "y", T_I32, ROLE_OUTPUT, 2, DIMS(M, N));

    rows(&b, 2, VARS(i, j));
    cols(&b, 1, VARS(k));
    store(&b, sum(&b, mul(&b, at(&b, x, VARS(i, k)),
                          at(&b, w, VARS(j, k)))), y, VARS(i, j));
    return b;
}

/* ---- running ----------------------------------------------------------- */

enum { MAX_CASES = 64 };

typedef struct Suite {
    char dir[200];
    Buf cu, main_;
    FILE *data;
    unsigned seed;
    int n;
    int math;
    double bound; /* of f32 results, relative to the largest */
    const Device *device;
    const char *words; /* of the texts of variants that are tried; NULL: any */
} Suite;

static double draw(Suite *s, Type t)
{
    s->seed = s->seed * 1664525u + 1013904223u;
    int x = (int)(s->seed >> 24) - 128;
    return t == T_I8 || t == T_I32 ? x / 4 : x / 64.0;
}

static int out_index(const Group *gr, const Tensor *t)
{
    for (int i = 0; i < gr->n_step; i++)
        if (gr->step[i].tensor == t)
            return i;
    return -1;
}

/* Arguments and expected results go to the data file as doubles. */
static void write_data(Suite *s, Build *b)
{
    NestEval n = {.group = b->gr};

    n.var = calloc(4096, sizeof *n.var);
    for (int i = 0; i < b->gr->n_arg; i++) {
        const Tensor *t = b->gr->arg[i];
        n.data[i] = malloc(sizeof(double) * (size_t)tensor_elems(t));
        for (int64_t e = 0; e < tensor_elems(t); e++)
            n.data[i][e] = draw(s, t->type);
    }
    nest_run(&n, b->g);
    for (int i = 0; i < b->gr->n_arg; i++) {
        fwrite(n.data[i], sizeof(double),
               (size_t)tensor_elems(b->gr->arg[i]), s->data);
        free(n.data[i]);
    }
    free(n.var);
}

static void main_call(Suite *s, Build *b, const Kernel *k)
{
    Buf *m = &s->main_;
    const char *ws = k->workspace ? "workspace.get<unsigned char>(), " : "";

    buf_printf(m, "    {\n        Bytes workspace(%zu), counters(%d);\n",
               k->workspace + 16, (k->n_counters + 1) * 4);
    buf_printf(m, "        for (int again = 0; again < 2; again++) {\n"
                  "            wipe(arg[0]);\n"
                  "            check_cuda(%s_launch(", k->name);
    for (int i = 0; i < k->n_arg; i++)
        buf_printf(m, "arg[%d].get<%s>(), ", i,
                   type_cname(b->gr->arg[i]->type));
    buf_printf(m, "%s%s0), \"%s\");\n", ws,
               k->coop_counters ? "counters.get<unsigned>(), " : "", k->name);
    buf_printf(m, "            compare<%s>(\"%s\", arg[0], want, %g);\n"
                  "        }\n    }\n",
               type_cname(b->gr->arg[0]->type), k->name, s->bound);
}

static void add_kernel(Suite *s, Build *b, const Family *f,
                       const Options *o, const Variant *v)
{
    Kernel *k = arena_new_of(b->arena, Kernel);
    CudaProgram p = {.graph = b->g};
    const char *why;

    k->name = arena_printf(b->arena, "%s_%d_%s", b->g->model, s->n++,
                           f->name);
    f->build(f->open(b->g, b->gr, o, &why), v, k);
    kernel_finish(b->g, k);
    cr_assert(k->n_phase > 0, "%s was not built", k->name);
    emit_kernel(&s->cu, &p, k);
    buf_putc(&s->cu, '\n');
    main_call(s, b, k);
}

/* Whether the variant's text has those of the suite. */
static bool has_words(const Suite *s, const Family *f, const void *form,
                      const Variant *v)
{
    return !s->words || strstr(variant_text(f, form, v), s->words);
}

/* Every `step`-th variant of each family that serves the nest. */
static void add_case(Suite *s, Build b, const char *only, int step)
{
    const Family *family[] = {&family_contract_mma, &family_contract_simt};
    Options o = {.device = s->device, .math = s->math};
    int before = s->n;

    group_args(b.g, b.gr);
    cr_assert_eq(out_index(b.gr, b.gr->arg[0]) >= 0, true);
    write_data(s, &b);
    buf_puts(&s->main_, "    {\n    std::vector<Bytes> arg;\n");
    buf_puts(&s->main_, "    std::vector<double> want;\n");
    for (int i = 0; i < b.gr->n_arg; i++)
        buf_printf(&s->main_, "    arg.push_back(read_arg<%s>(in, %lld, "
                              "%s));\n", type_cname(b.gr->arg[i]->type),
                   (long long)tensor_elems(b.gr->arg[i]),
                   i ? "nullptr" : "&want");
    for (int f = 0; f < 2; f++) {
        Variant *v = NULL;
        const char *why;
        const void *form = family[f]->open(b.g, b.gr, &o, &why);
        if ((only && !strstr(family[f]->name, only)) || !form)
            continue;
        int n = family[f]->space(form, &v), best = 0;
        Cost c, least = {.us = INFINITY};
        for (int i = 0; i < n; i++) {
            family[f]->cost(form, &v[i], &c);
            if (c.coef_r && c.us < least.us) {
                least = c;
                best = i;
            }
        }
        fprintf(stderr, "%s %s: %d variants, first %s, %.2f us, %s\n",
                b.g->model, family[f]->name, n, n ? variant_text(family[f], form, &v[best]) : "",
                least.us, least.limiter);
        for (int i = 0, kept = s->n % step; i < n; i++)
            if (has_words(s, family[f], form, &v[i]) && kept-- == 0) {
                add_kernel(s, &b, family[f], &o, &v[i]);
                kept = step - 1;
            }
        if (n && !s->words)
            add_kernel(s, &b, family[f], &o, &v[best]);
    }
    cr_assert(s->n > before, "no family serves %s", b.g->model);
    buf_puts(&s->main_, "    }\n");
    arena_free(b.arena);
}

static const char *const prologue =
    "#include \"dcc_rt.h\"\n#include \"dcc_device.cuh\"\n"
    "#include <math.h>\n#include <stdio.h>\n#include <stdlib.h>\n"
    "#include <string.h>\n#include <vector>\n\n";

static const char *const support =
    "static int failures;\n"
    "static void check_cuda(cudaError_t e, const char *what)\n{\n"
    "    if (e == cudaSuccess)\n        e = cudaDeviceSynchronize();\n"
    "    if (e != cudaSuccess) {\n"
    "        printf(\"%s: %s\\n\", what, cudaGetErrorString(e));\n"
    "        exit(1);\n    }\n}\n"
    "struct Bytes {\n    void *p = nullptr;\n    size_t n = 0;\n"
    "    explicit Bytes(size_t bytes) : n(bytes)\n    {\n"
    "        check_cuda(cudaMalloc(&p, bytes), \"malloc\");\n"
    "        check_cuda(cudaMemset(p, 0, bytes), \"memset\");\n    }\n"
    "    template <class T> T *get() const { return (T *)p; }\n};\n"
    "static void wipe(const Bytes &b) { cudaMemset(b.p, 0x7f, b.n); }\n"
    "template <class T> static T make(double x) { return (T)(float)x; }\n"
    "template <> __half make<__half>(double x)\n"
    "{ return __float2half_rn((float)x); }\n"
    "template <> __nv_bfloat16 make<__nv_bfloat16>(double x)\n"
    "{ return __float2bfloat16_rn((float)x); }\n"
    "static double value(float x) { return x; }\n"
    "static double value(int x) { return x; }\n"
    "static double value(__half x) { return __half2float(x); }\n"
    "static double value(__nv_bfloat16 x) { return __bfloat162float(x); }\n"
    "template <class T>\n"
    "static Bytes read_arg(FILE *in, long n, std::vector<double> *want)\n{\n"
    "    std::vector<double> d(n);\n    std::vector<T> t(n);\n"
    "    if (fread(d.data(), 8, n, in) != (size_t)n)\n        exit(3);\n"
    "    for (long i = 0; i < n; i++)\n        t[i] = make<T>(d[i]);\n"
    "    Bytes b(n * sizeof(T));\n"
    "    cudaMemcpy(b.p, t.data(), b.n, cudaMemcpyHostToDevice);\n"
    "    if (want)\n        *want = d;\n    return b;\n}\n"
    "template <class T>\n"
    "static void compare(const char *name, const Bytes &got,\n"
    "                    const std::vector<double> &want, double bound)\n{\n"
    "    std::vector<T> t(want.size());\n"
    "    double worst = 0, most = 0;\n    size_t where = 0;\n"
    "    cudaMemcpy(t.data(), got.p, got.n, cudaMemcpyDeviceToHost);\n"
    "    for (size_t i = 0; i < t.size(); i++)\n"
    "        most = fmax(most, fabs(want[i]));\n"
    "    for (size_t i = 0; i < t.size(); i++) {\n"
    "        double e = fabs(value(t[i]) - want[i]) / most;\n"
    "        if (!(e <= worst)) { worst = e; where = i; }\n    }\n"
    "    if (sizeof(T) == 2)\n        bound = 5e-3;\n"
    "    if (!(worst <= bound)) {\n        failures++;\n"
    "        printf(\"%s: error %g at %zu\\n\", name, worst, where);\n"
    "    }\n}\n";

static void finish(Suite *s)
{
    Buf all = {0};
    char path[300], cmd[2000];
    const char *runtime = getenv("DCC_RUNTIME_DIR");

    fclose(s->data);
    buf_puts(&all, prologue);
    buf_puts(&all, buf_text(&s->cu));
    buf_puts(&all, support);
    buf_puts(&all, "\nint main(int argc, char **argv)\n{\n"
                   "    FILE *in = fopen(argc > 1 ? argv[1] : \"data\", "
                   "\"rb\");\n    if (!in)\n        return 3;\n");
    buf_puts(&all, buf_text(&s->main_));
    buf_puts(&all, "    printf(\"%d failures\\n\", failures);\n"
                   "    return failures > 0;\n}\n");
    snprintf(path, sizeof path, "%s/contract.cu", s->dir);
    cr_assert(file_write(buf_text(&all), all.len, path));
    snprintf(cmd, sizeof cmd,
             "'%s/emu/dcc-emu-cc' -O1 -o '%s/run' '%s' && '%s/run' '%s/data'",
             runtime ? runtime : "runtime", s->dir, path, s->dir, s->dir);
    int status = getenv("CONTRACT_TEXT_ONLY") ? 0 : system(cmd);
    buf_free(&all);
    buf_free(&s->cu);
    buf_free(&s->main_);
    cr_assert_eq(status, 0, "see %s", path);
    if (!getenv("CONTRACT_TEXT_ONLY"))
        scratch_remove(s->dir);
}

static Suite begin(Arena *a, const char *name)
{
    Suite s = {.seed = 7, .bound = 1e-5, .device = device_find(a, "h200")};
    char path[300];

    scratch_make(s.dir, sizeof s.dir, name);
    snprintf(path, sizeof path, "%s/data", s.dir);
    s.data = fopen(path, "wb");
    return s;
}

Test(contract, mma)
{
    Arena *a = arena_new();
    Suite s = begin(a, "contract-mma");

    add_case(&s, gemm(T_F16, "nt", 128, 128, 512, false), "mma", 23);
    add_case(&s, gemm(T_F16, "nt", 100, 72, 200, true), "mma", 31);
    add_case(&s, gemm(T_F16, "nn", 100, 72, 136, true), "mma", 37);
    add_case(&s, gemm(T_F16, "tn", 72, 104, 136, false), "mma", 37);
    add_case(&s, gemm(T_BF16, "tt", 64, 40, 96, false), "mma", 37);
    add_case(&s, gemm(T_F16, "nt", 37, 41, 43, true), "mma", 31);
    add_case(&s, gemm(T_F16, "nn", 37, 42, 43, true), "mma", 31);
    add_case(&s, conv(T_F16, true, 2, 9, 16, 24, 3, 1, 1), "mma", 41);
    add_case(&s, conv(T_F16, true, 1, 13, 8, 40, 3, 2, 1), "mma", 41);
    add_case(&s, conv(T_F16, false, 1, 11, 3, 24, 5, 2, 2), "mma", 41);
    add_case(&s, conv(T_F16, true, 1, 10, 64, 32, 1, 1, 0), "mma", 41);
    add_case(&s, scores(2, 40, 3, 32), "mma", 37);
    add_case(&s, values(2, 40, 3, 32), "mma", 37);
    add_case(&s, relu_first(40, 48, 56), "mma", 37);
    add_case(&s, integers(37, 40, 64), "mma", 37);
    add_case(&s, integers(70, 40, 208), "mma", 37);
    finish(&s);
    arena_free(a);
}

/* Variants of wgmma whose text has `words`, for one step of k. */
static int count_wgmma_of(const char *layout, int M, int N, const char *words)
{
    Build b = gemm(T_F16, layout, M, N, 64, false);
    Options o = {.device = device_find(b.arena, "h200")};
    Variant *v = NULL;
    const char *why;
    const void *form = family_contract_wgmma.open(b.g, b.gr, &o, &why);
    int n = family_contract_wgmma.space(form, &v), found = 0;

    for (int i = 0; i < n; i++)
        found += strstr(variant_text(&family_contract_wgmma, form, &v[i]),
                        words) != NULL;
    arena_free(b.arena);
    return found;
}

static int count_wgmma(int M, int N, const char *words)
{
    return count_wgmma_of("nt", M, N, words);
}

/* Weights that one row of tiles reads have tiles of 48 columns, too. */
Test(contract, tiles_of_few_rows)
{
    cr_assert_gt(count_wgmma(19, 6144, "bm=64 bn=48 "), 0);
}

/* Columns that lie side by side come in boxes of 64, the last one in part. */
Test(contract, tiles_of_half_a_box)
{
    cr_assert_gt(count_wgmma_of("tn", 384, 384, "bm=192 bn=96 "), 0);
    cr_assert_gt(count_wgmma_of("tn", 384, 384, "bm=128 bn=160 "), 0);
}

Test(contract, one_tile_takes_no_turns)
{
    cr_assert_eq(count_wgmma(256, 256, "pingpong"), 0);
    cr_assert_eq(count_wgmma(256, 256, "bm="),
                 count_wgmma(256, 256, "stages=2 "), "rings of one step");
    cr_assert_gt(count_wgmma(8192, 8192, "pingpong"), 0);
    cr_assert_gt(count_wgmma(8192, 8192, "stages=4 "), 0);
    cr_assert_eq(count_wgmma(100, 96, "bm=192 bn=96 stages=2 consumers=3"), 0,
                 "a warpgroup without rows");
    cr_assert_gt(count_wgmma(160, 96, "bm=192 bn=96 stages=2 consumers=3"), 0);
}

static void add_tf32(Suite *s)
{
    add_case(s, gemm(T_F32, "nt", 70, 68, 100, true), "mma", 61);
    add_case(s, gemm(T_F32, "nn", 70, 68, 100, true), "mma", 61);
    add_case(s, gemm(T_F32, "tt", 37, 41, 43, false), "mma", 61);
    add_case(s, gemm(T_F32, "tn", 40, 44, 40, false), "mma", 61);
    add_case(s, conv(T_F32, true, 2, 9, 8, 20, 3, 1, 1), "mma", 61);
    add_case(s, mixed(37, 40, 50), "mma", 61);
}

Test(contract, tf32)
{
    Arena *a = arena_new();
    Suite s = begin(a, "contract-tf32");

    s.math = MATH_TF32;
    s.bound = 2e-3;
    add_tf32(&s);
    s.math = MATH_3XTF32;
    s.bound = 1e-5;
    add_tf32(&s);
    finish(&s);
    arena_free(a);
}

Test(contract, simt)
{
    Arena *a = arena_new();
    Suite s = begin(a, "contract-simt");

    add_case(&s, gemm(T_F32, "nt", 70, 68, 100, true), "simt", 37);
    add_case(&s, gemm(T_F32, "nn", 70, 68, 100, true), "simt", 37);
    add_case(&s, gemm(T_F32, "tn", 37, 41, 43, false), "simt", 37);
    add_case(&s, gemm(T_F16, "nt", 33, 40, 48, true), "simt", 41);
    add_case(&s, conv(T_F32, false, 2, 9, 6, 20, 3, 2, 1), "simt", 41);
    add_case(&s, conv(T_F32, true, 2, 9, 8, 20, 3, 1, 1), "simt", 41);
    add_case(&s, mixed(37, 40, 50), "simt", 41);
    add_case(&s, integers(37, 40, 50), "simt", 41);
    finish(&s);
    arena_free(a);
}

/* A GPU of few SMs: products have more tiles than it holds at one time. */
Test(contract, late_tiles)
{
    Arena *a = arena_new();
    Suite s = begin(a, "contract-late");
    Device few = *s.device;

    few.sms = 2;
    s.device = &few;
    s.words = " whole=";
    add_case(&s, gemm(T_F32, "nt", 200, 190, 260, true), "simt", 19);
    add_case(&s, gemm(T_F32, "nn", 330, 120, 131, false), "simt", 23);
    add_case(&s, gemm(T_F32, "tt", 130, 260, 200, false), "simt", 29);
    cr_expect_gt(s.n, 9);
    finish(&s);
    arena_free(a);
}
