// test_emu.cu - kernels by hand that the emulator must run right, and with a
// seeded defect must not. usage: test_emu CASE [MUTATION]; status 0 right,
// 1 wrong result, 2 no such case, 70 the emulator found a defect.
// tests/test_emu.sh runs all. (With nvcc it needs sm_80.)
#include "emu_case.h"

// ---- saxpy: no barrier ------------------------------------------------------

extern "C" __global__ void saxpy(int n, float a, const float *x, float *y)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = a * x[i] + y[i];
}

static void test_saxpy(Mutation m)
{
    const int n = 100003;
    float *x = device<float>(n), *y = device<float>(n);
    saxpy<<<(n + 255) / 256, 256>>>(m == OVERRUN ? n + 1 : n, 2.0f, x, y);
    check(cudaGetLastError());
    float *got = fetch(y, n);
    for (int i = 0; i < n; ++i)
        expect("y", got[i], 3 * (double)noise(i), 1e-5);
}

// ---- sums in registers ------------------------------------------------------

extern "C" __global__ void registers(int n, bool fill, const float *x, float *y)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum[4];
    if (i >= n)
        return;
    for (int j = 0; j < 4 && fill; ++j)
        sum[j] = 0.0f;
    for (int j = 0; j < 4; ++j)
        sum[j] += x[4 * i + j];
    y[i] = sum[0] + sum[1] + sum[2] + sum[3];
}

static void test_registers(Mutation m)
{
    const int n = 301;
    float *x = device<float>(4 * n), *y = device<float>(n, false);
    registers<<<(n + 63) / 64, 64>>>(n, m != NO_FILL, x, y);
    check(cudaGetLastError());
    float *got = fetch(y, n);
    for (int i = 0; i < n; ++i)
        expect("sums", got[i],
               (double)noise(4 * i) + noise(4 * i + 1) + noise(4 * i + 2) +
                   noise(4 * i + 3), 1e-5);
}

// ---- functions that dcc has instead of the library's ------------------------

// y[6 * i ..]: normcdf, logistic and gelu by gelu16 of the float whose bits are
// first + i * step, then of its opposite.
extern "C" __global__ void functions(int n, unsigned first, unsigned step,
                                     float *y)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    const float x = __uint_as_float(first + (unsigned)i * step);
    y[6 * i] = dcc_normcdf(x);
    y[6 * i + 1] = dcc_logistic(x);
    y[6 * i + 2] = dcc_gelu16(x / 2, x / 2);
    y[6 * i + 3] = dcc_normcdf(-x);
    y[6 * i + 4] = dcc_logistic(-x);
    y[6 * i + 5] = dcc_gelu16(-x, 0.0f);
}

static float *run_functions(int n, unsigned first, unsigned step)
{
    float *y = device<float>(6 * n, false);
    functions<<<(n + 255) / 256, 256>>>(n, first, step, y);
    check(cudaGetLastError());
    return fetch(y, 6 * n);
}

static void expect_functions(double x, const float *y)
{
    const double phi = erfc(-x / sqrt(2.0)) / 2, sigma = 1 / (1 + exp(-x));
    const double few = (6 + 1.5 * fabs(x)) * 0x1p-24;

    expect("normcdf", y[0], phi,
           x > -4 ? fmin(0x1p-23, phi * 0x1p-12) : 0x1p-23);
    expect("logistic", y[1], sigma, sigma * few + 0x1p-126);
    expect("gelu16", y[2], x * phi, fabs(x) * (phi * 0x1p-13 + 0x1p-25));
}

// One float of every 4001 between 2^-30 and 128; infinity and NaN.
static void test_functions(Mutation)
{
    const unsigned first = 97u << 23, last = 134u << 23, step = 4001;
    const int n = (int)((last - first) / step);
    const float *y = run_functions(n, first, step);
    for (int i = 0; i < n; ++i) {
        const unsigned bits = first + (unsigned)i * step;
        float x;
        memcpy(&x, &bits, sizeof x);
        expect_functions(x, y + 6 * i);
        expect_functions(-(double)x, y + 6 * i + 3);
    }
    y = run_functions(1, 0x7f800000u, 0);
    const double limits[] = {1, 1, INFINITY, 0, 0};
    for (int i = 0; i < 5; ++i)
        if (y[i] != limits[i])
            expect("of an infinity", y[i], limits[i], 1e-14);
    expect("-inf * 0", y[5] != y[5], 1, 0);
    y = run_functions(1, 0x7fc00000u, 0);
    for (int i = 0; i < 6; ++i)
        expect("of NaN", y[i] != y[i], 1, 0);
}

// ---- sine, cosine and tangent, of every size --------------------------------

// y[3 * i ..]: of the float whose bits are first + i * step
extern "C" __global__ void circle(int n, unsigned first, unsigned step,
                                  float *y)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    const float x = __uint_as_float(first + (unsigned)i * step);
    y[3 * i] = dcc_sin(x);
    y[3 * i + 1] = dcc_cos(x);
    y[3 * i + 2] = dcc_tan(x);
}

static void expect_circle(int n, unsigned first, unsigned step)
{
    float *d = device<float>(3 * n, false);
    circle<<<(n + 255) / 256, 256>>>(n, first, step, d);
    check(cudaGetLastError());
    const float *y = fetch(d, 3 * n);
    for (int i = 0; i < n; ++i) {
        const unsigned bits = first + (unsigned)i * step;
        float x;
        memcpy(&x, &bits, sizeof x);
        const double s = sin((double)x), c = cos((double)x);
        expect("sin", y[3 * i], s, fabs(s) * 0x1p-22 + 0x1p-149);
        expect("cos", y[3 * i + 1], c, fabs(c) * 0x1p-22);
        expect("tan", y[3 * i + 2], s / c, fabs(s / c) * 0x1p-21 + 0x1p-149);
    }
}

// One float of every 40009 from 0 to the largest and of those below 0; the two
// that are nearest to quarter turns, near and far; infinity and NaN.
static void test_circle(Mutation)
{
    const unsigned step = 40009, top = 0x7f800000u;
    expect_circle((int)(top / step), 0, step);
    expect_circle((int)(top / step), 0x80000000u, step);
    expect_circle(2, 0x477fffffu, 1);
    expect_circle(1, 0x6f79be45u, 0);
    expect_circle(1, 0x7f7fffffu, 0);
    float *d = device<float>(6, false);
    circle<<<1, 32>>>(2, top, 0x400000u, d);
    check(cudaGetLastError());
    const float *y = fetch(d, 6);
    for (int i = 0; i < 6; ++i)
        expect("of no number", y[i] != y[i], 1, 0);
}

// ---- sgemm: tiles in shared memory between barriers -------------------------

struct sgemm_smem {
    float a[16][32 + 1];
    float b[16][32];
};

extern "C" __global__ __launch_bounds__(64) void sgemm(
    int M, int N, int K, const float *a, const float *b, float *c,
    int mutation)
{
    extern __shared__ __align__(1024) unsigned char dcc_smem[];
    sgemm_smem &smem = *(sgemm_smem *)dcc_smem;
    const int t = threadIdx.x, m0 = blockIdx.y * 32, n0 = blockIdx.x * 32;
    const int tm = t / 8 * 4, tn = t % 8 * 4;
    float acc[4][4] = {};

    for (int k0 = 0; k0 < K; k0 += 16) {
        for (int i = t; i < 32 * 16; i += 64) {
            const int m = i / 16, k = i % 16;
            smem.a[k][m] = m0 + m < M && k0 + k < K
                               ? a[(m0 + m) * K + k0 + k]
                               : 0.0f;
        }
        for (int i = t; i < 16 * 32; i += 64) {
            const int k = i / 32, n = i % 32;
            smem.b[k][n] = k0 + k < K && n0 + n < N
                               ? b[(k0 + k) * N + n0 + n]
                               : 0.0f;
        }
        if (mutation == SMEM_OVERRUN)
            smem.b[16][t % 32] = 0.0f;
        if (mutation == HALF_BARRIER && t < 32)
            continue;
        if (mutation != NO_BARRIER)
            __syncthreads();
        for (int k = 0; k < 16; ++k)
            for (int i = 0; i < 4; ++i)
                for (int j = 0; j < 4; ++j)
                    acc[i][j] += smem.a[k][tm + i] * smem.b[k][tn + j];
        if (mutation != NO_END)
            __syncthreads();
    }
    for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 4; ++j)
            if (m0 + tm + i < M && n0 + tn + j < N)
                c[(m0 + tm + i) * N + n0 + tn + j] = acc[i][j];
}

template <class A, class B, class C>
static void check_product(int M, int N, int K, const A *a, const B *b,
                          const C *c, bool b_is_columns, double bound)
{
    for (int i = 0; i < M; ++i) {
        for (int j = 0; j < N; ++j) {
            double sum = 0;
            for (int k = 0; k < K; ++k)
                sum += (double)(float)a[i * K + k] *
                       (double)(float)b[b_is_columns ? j * K + k : k * N + j];
            expect("product", (double)c[i * N + j], sum, bound);
        }
    }
}

static void test_sgemm(Mutation m)
{
    const int M = 45, N = 71, K = 53;
    float *a = device<float>(M * K), *b = device<float>(K * N);
    float *c = device<float>(M * N, false);
    const dim3 grid((N + 31) / 32, (M + 31) / 32);
    sgemm<<<grid, 64, sizeof(sgemm_smem), 0>>>(M, N, K, a, b, c, m);
    check(cudaGetLastError());
    check_product(M, N, K, fetch(a, M * K), fetch(b, K * N), fetch(c, M * N),
                  false, 1e-4);
}

// ---- mma.sync with cp.async stages and ldmatrix -----------------------------

enum { BM = 32, BN = 32, BK = 32, STAGES = 3, PAD = 8 };

template <class T> struct mma_smem {
    T a[STAGES][BM][BK + PAD];
    T b[STAGES][BK][BN + PAD];
};

__device__ inline void mma(float (&d)[4], const uint32_t (&a)[4],
                           const uint32_t (&b)[2], __half)
{
    dcc_mma_m16n8k16_f16(d, a, b);
}

__device__ inline void mma(float (&d)[4], const uint32_t (&a)[4],
                           const uint32_t (&b)[2], __nv_bfloat16)
{
    dcc_mma_m16n8k16_bf16(d, a, b);
}

// c[M,N] = a[M,K] b[K,N]; K and N are multiples of 8. 2 warps, each 16 rows.
template <class T>
__device__ void gemm16(mma_smem<T> &smem, int M, int N, int K, const T *a,
                       const T *b, float *c, int mutation)
{
    const int t = threadIdx.x, lane = t % 32, warp = t / 32;
    const int m0 = blockIdx.y * BM, n0 = blockIdx.x * BN;
    const int tiles = (K + BK - 1) / BK;
    float acc[4][4] = {};

    auto load = [&](int tile) {
        const int s = tile % STAGES, k0 = tile * BK;
        for (int i = t; i < BM * BK / 8; i += 64) {
            const int m = i / (BK / 8), k = i % (BK / 8) * 8;
            const bool in = m0 + m < M && k0 + k < K;
            dcc_cp_async16(&smem.a[s][m][k],
                           in ? a + (m0 + m) * K + k0 + k : a, in ? 16 : 0);
        }
        for (int i = t; i < BK * BN / 8; i += 64) {
            const int k = i / (BN / 8), n = i % (BN / 8) * 8;
            const bool in = k0 + k < K && n0 + n < N;
            dcc_cp_stream16(&smem.b[s][k][n],
                            in ? b + (k0 + k) * N + n0 + n : b, in ? 16 : 0);
        }
    };
    for (int i = 0; i < STAGES - 1; ++i) {
        if (i < tiles)
            load(i);
        dcc_cp_commit();
    }
    for (int tile = 0; tile < tiles; ++tile) {
        const int s = tile % STAGES;
        if (mutation == NO_WAIT)
            dcc_cp_wait<STAGES - 1>();
        else
            dcc_cp_wait<STAGES - 2>();
        if (mutation != NO_BARRIER)
            __syncthreads();
        if (tile + STAGES - 1 < tiles)
            load(tile + STAGES - 1);
        dcc_cp_commit();
        for (int kk = 0; kk < BK; kk += 16) {
            uint32_t fa[4], fb[4];
            if (mutation == DIVERGENT && lane < 16)
                __syncwarp(0xffff);
            dcc_ldmatrix_x4(
                fa, &smem.a[s][warp * 16 + lane % 16][kk + lane / 16 * 8]);
            for (int j = 0; j < 2; ++j) {
                dcc_ldmatrix_x4_trans(
                    fb, &smem.b[s][kk + lane % 16][j * 16 + lane / 16 * 8]);
                const uint32_t b0[2] = {fb[0], fb[1]}, b1[2] = {fb[2], fb[3]};
                mma(acc[2 * j], fa, b0, T());
                mma(acc[2 * j + 1], fa, b1, T());
            }
        }
    }
    for (int j = 0; j < 4; ++j) {
        for (int e = 0; e < 4; ++e) {
            const int m = m0 + warp * 16 + lane / 4 + e / 2 * 8;
            const int n = n0 + j * 8 + lane % 4 * 2 + e % 2;
            if (m < M && n < N)
                c[m * N + n] = acc[j][e];
        }
    }
}

extern "C" __global__ __launch_bounds__(64) void gemm_f16(
    int M, int N, int K, const __half *a, const __half *b, float *c,
    int mutation)
{
    extern __shared__ __align__(1024) unsigned char dcc_smem[];
    gemm16(*(mma_smem<__half> *)dcc_smem, M, N, K, a, b, c, mutation);
}

extern "C" __global__ __launch_bounds__(64) void gemm_bf16(
    int M, int N, int K, const __nv_bfloat16 *a, const __nv_bfloat16 *b,
    float *c, int mutation)
{
    extern __shared__ __align__(1024) unsigned char dcc_smem[];
    gemm16(*(mma_smem<__nv_bfloat16> *)dcc_smem, M, N, K, a, b, c, mutation);
}

template <class T, class Kernel>
static void test_gemm16(Kernel kernel, Mutation m)
{
    const int M = 37, N = 72, K = 328;
    T *a = device<T>(M * K), *b = device<T>(K * N);
    float *c = device<float>(M * N, false);
    const dim3 grid((N + BN - 1) / BN, (M + BM - 1) / BM);
    kernel<<<grid, 64, sizeof(mma_smem<T>), 0>>>(M, N, K, a, b, c, m);
    check(cudaGetLastError());
    check_product(M, N, K, fetch(a, M * K), fetch(b, K * N), fetch(c, M * N),
                  false, 1e-3);
}

static void test_f16(Mutation m)
{
    test_gemm16<__half>(gemm_f16, m);
}

static void test_bf16(Mutation m)
{
    test_gemm16<__nv_bfloat16>(gemm_bf16, m);
}

// ---- tf32 and s8 fragments straight from memory -----------------------------

extern "C" __global__ void mma_tf32(const float *a, const float *b, float *c)
{
    const int lane = threadIdx.x, g = lane / 4, t = lane % 4;
    float d[4] = {};
    const uint32_t fa[4] = {
        dcc_to_tf32(a[g * 8 + t]), dcc_to_tf32(a[(g + 8) * 8 + t]),
        dcc_to_tf32(a[g * 8 + t + 4]), dcc_to_tf32(a[(g + 8) * 8 + t + 4])};
    const uint32_t fb[2] = {dcc_to_tf32(b[t * 8 + g]),
                            dcc_to_tf32(b[(t + 4) * 8 + g])};
    dcc_mma_m16n8k8_tf32(d, fa, fb);
    for (int e = 0; e < 4; ++e)
        c[(g + e / 2 * 8) * 8 + t * 2 + e % 2] = d[e];
}

extern "C" __global__ void mma_s8(const int8_t *a, const int8_t *b_columns,
                                  int32_t *c)
{
    const int lane = threadIdx.x, g = lane / 4, t = lane % 4;
    int32_t d[4] = {};
    uint32_t fa[4], fb[2];
    for (int r = 0; r < 4; ++r)
        memcpy(&fa[r], a + (g + r % 2 * 8) * 32 + t * 4 + r / 2 * 16, 4);
    for (int r = 0; r < 2; ++r)
        memcpy(&fb[r], b_columns + g * 32 + t * 4 + r * 16, 4);
    dcc_mma_m16n8k32_s8(d, fa, fb);
    for (int e = 0; e < 4; ++e)
        c[(g + e / 2 * 8) * 8 + t * 2 + e % 2] = d[e];
}

static void test_fragments(Mutation)
{
    float *a = device<float>(16 * 8), *b = device<float>(8 * 8);
    float *c = device<float>(16 * 8, false);
    mma_tf32<<<1, 32>>>(a, b, c);
    check(cudaGetLastError());
    check_product(16, 8, 8, fetch(a, 128), fetch(b, 64), fetch(c, 128), false,
                  1e-2);
    int8_t *ai = device<int8_t>(16 * 32), *bi = device<int8_t>(8 * 32);
    int32_t *ci = device<int32_t>(16 * 8, false);
    mma_s8<<<1, 32>>>(ai, bi, ci);
    check(cudaGetLastError());
    check_product(16, 8, 32, fetch(ai, 512), fetch(bi, 256), fetch(ci, 128),
                  true, 0);
}

// Sums of as many products as the longest of mobilenetv2 have an error that
// depends on nothing: none that makes all of them smaller.
enum { LONG_K = 960, LONG_TILES = 8 };

extern "C" __global__ void mma_3xtf32(const float *a, const float *b, float *c)
{
    const int lane = threadIdx.x, g = lane / 4, t = lane % 4;
    a += blockIdx.x * 16 * LONG_K;
    b += blockIdx.x * 8 * LONG_K;
    float d[4] = {};
    for (int k = 0; k < LONG_K; k += 8) {
        uint32_t fa[4], fb[2];
        for (int r = 0; r < 4; ++r)
            fa[r] = __float_as_uint(
                a[(g + r % 2 * 8) * LONG_K + k + t + r / 2 * 4]);
        for (int r = 0; r < 2; ++r)
            fb[r] = __float_as_uint(b[g * LONG_K + k + t + r * 4]);
        dcc_mma_3xtf32(d, fa, fb);
    }
    for (int e = 0; e < 4; ++e)
        c[(blockIdx.x * 16 + g + e / 2 * 8) * 8 + t * 2 + e % 2] = d[e];
}

// 24 bits, not the 8 of noise(i).
static float *device_long(int n, int seed, const float **host)
{
    float *p = device<float>(n, false), *x = (float *)malloc(4 * (size_t)n);
    on_host[n_host++] = x;
    *host = x;
    for (int i = 0; i < n; ++i)
        x[i] = noise(3 * i + seed) + noise(3 * i + seed + 1) / 256 +
               noise(3 * i + seed + 2) / 65536;
    check(cudaMemcpy(p, x, 4 * (size_t)n, cudaMemcpyHostToDevice));
    return p;
}

static void test_3xtf32(Mutation)
{
    const float *a, *b;
    float *on_a = device_long(LONG_TILES * 16 * LONG_K, 1, &a);
    float *on_b = device_long(LONG_TILES * 8 * LONG_K, 777, &b);
    float *c = device<float>(LONG_TILES * 128, false);
    mma_3xtf32<<<LONG_TILES, 32>>>(on_a, on_b, c);
    check(cudaGetLastError());
    const float *got = fetch(c, LONG_TILES * 128);
    double along = 0, error = 0, size = 0;
    for (int i = 0; i < LONG_TILES * 128; ++i) {
        const int tile = i / 128, row = i / 8 % 16, col = i % 8;
        double want = 0;
        for (int k = 0; k < LONG_K; ++k)
            want += (double)a[(tile * 16 + row) * LONG_K + k] *
                    (double)b[(tile * 8 + col) * LONG_K + k];
        along += (got[i] - want) * want;
        error += (got[i] - want) * (got[i] - want);
        size += want * want;
    }
    expect("3xtf32: the sums' common factor, less 1", along / size, 0, 8e-8);
    expect("3xtf32: norm-relative error", sqrt(error / size), 0, 6e-7);
}

// ---- reductions, casts, integer rules ---------------------------------------

struct reduce_smem {
    float sum[4];
    dcc_arg<float> best[4];
};

extern "C" __global__ void reduce_rows(int n, const float *x, float *sum,
                                       int *best, int mutation)
{
    extern __shared__ __align__(1024) unsigned char dcc_smem[];
    reduce_smem &smem = *(reduce_smem *)dcc_smem;
    float part = 0;
    dcc_arg<float> top = {0, DCC_NO_INDEX};
    for (int i = threadIdx.x; i < n; i += 128) {
        const dcc_arg<float> here = {x[blockIdx.x * n + i], i};
        part += here.value;
        top = dcc_op_argmax::apply(top, here);
    }
    if (mutation == HALF_BARRIER && threadIdx.x == 3)
        return;
    part = dcc_block_sum<4>(part, smem.sum);
    top = dcc_block_argmax<4>(top, smem.best);
    if (threadIdx.x == 5) {
        sum[blockIdx.x] = part;
        best[blockIdx.x] = top.index;
    }
}

extern "C" __global__ void casts(float *out)
{
    const float nan = __int_as_float(0x7fc00000);
    int i = 0;
    out[i++] = (float)dcc_to_i8(200.7f);
    out[i++] = (float)dcc_to_i8(-3.9f);
    out[i++] = (float)dcc_to_i8(nan);
    out[i++] = (float)(dcc_to_i32(-1e30f) == -2147483647 - 1);
    out[i++] = (float)(dcc_to_i32(1e30f) == 2147483647);
    out[i++] = (float)dcc_floor_div(-7, 2);
    out[i++] = (float)dcc_floor_mod(-7, 2);
    out[i++] = (float)dcc_floor_div(7, 0);
    out[i++] = (float)dcc_floor_mod(7, 0);
    out[i++] = dcc_max(nan, 2.0f);
    out[i++] = dcc_to_float(dcc_to_f16(1.0f / 3.0f)) * 65536;
    out[i++] = dcc_to_float(dcc_to_bf16(1.0f / 3.0f)) * 65536;
    out[i++] = dcc_to_float(dcc_to_f16(6e-8f)) * 16777216.0f;
    out[i++] = (float)dcc_to_bool(nan) + 10 * (float)dcc_to_bool(0.5f);
}

static void test_reduce(Mutation m)
{
    static const float want[] = {127, -3, 0, 1,     1,     -4, 1,
                                 0,   0,  2, 21840, 21888, 1,  10};
    const int rows = 3, n = 1000;
    float *x = device<float>(rows * n), *sum = device<float>(rows, false);
    int *best = device<int>(rows, false);
    reduce_rows<<<rows, 128, sizeof(reduce_smem), 0>>>(n, x, sum, best, m);
    check(cudaGetLastError());
    const float *s = fetch(sum, rows), *values = fetch(x, rows * n);
    const int *b = fetch(best, rows);
    for (int r = 0; r < rows; ++r) {
        double total = 0;
        int top = 0;
        for (int i = 0; i < n; ++i) {
            total += values[r * n + i];
            if (values[r * n + i] > values[r * n + top])
                top = i;
        }
        expect("sum", s[r], total, 1e-3);
        expect("argmax", b[r], top, 0);
    }
    float *c = device<float>(14, false);
    casts<<<1, 1>>>(c);
    check(cudaGetLastError());
    const float *got = fetch(c, 14);
    for (int i = 0; i < 14; ++i)
        expect("cast", got[i], want[i], 0);
}

// ---- the host's side --------------------------------------------------------

static void test_host(Mutation)
{
    const int n = 1000;
    float *x = device<float>(n), *y = device<float>(n, false);
    const float *fresh = fetch(y, n);
    for (int i = 0; i < n; ++i) { // what nobody wrote is no number, no index
        int32_t as_int;
        memcpy(&as_int, &fresh[i], 4);
        expect("fresh", isnan(fresh[i]) && as_int > 1 << 30, 1, 0);
    }
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    check(cudaStreamCreate(&stream));
    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    check(cudaMemsetAsync(y, 0, n * 4, stream));
    saxpy<<<(n + 127) / 128, 128, 0, stream>>>(n, 3.0f, x, y);
    saxpy<<<(n + 127) / 128, 128, 0, stream>>>(n, 1.0f, x, y);
    check(cudaGetLastError());
    check(cudaStreamEndCapture(stream, &graph));
    check(cudaGraphInstantiateWithFlags(&exec, graph, 0));
    for (int i = 0; i < 2; ++i)
        check(cudaGraphLaunch(exec, stream));
    check(cudaStreamSynchronize(stream));
    const float *got = fetch(y, n);
    for (int i = 0; i < n; ++i)
        expect("graph", got[i], 4 * (double)noise(i), 1e-5);

    saxpy<<<1, 2048>>>(n, 1.0f, x, y);
    expect("2048 threads", cudaGetLastError() != cudaSuccess, 1, 0);
    saxpy<<<1, 32, 100 << 10>>>(n, 1.0f, x, y);
    expect("100 KB unasked", cudaGetLastError() != cudaSuccess, 1, 0);
    check(DCC_ALLOW_SMEM(saxpy, 100 << 10));
    saxpy<<<1, 32, 100 << 10>>>(n, 1.0f, x, y);
    expect("100 KB", cudaGetLastError() != cudaSuccess, 0, 0);
    check(cudaGraphExecDestroy(exec));
    check(cudaGraphDestroy(graph));
    check(cudaStreamDestroy(stream));
}

int main(int argc, char **argv)
{
    static const Case cases[] = {
        {"saxpy", test_saxpy},       {"functions", test_functions},
        {"circle", test_circle},     {"registers", test_registers},
        {"sgemm", test_sgemm},       {"gemm_f16", test_f16},
        {"gemm_bf16", test_bf16},    {"fragments", test_fragments},
        {"3xtf32", test_3xtf32},
        {"reduce", test_reduce},     {"host", test_host}};
    return run_cases(argc, argv, cases);
}
