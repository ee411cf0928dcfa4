// test_emu.cu - kernels by hand that the emulator must run right, and with a
// seeded defect must not. usage: test_emu CASE [MUTATION]; status 0 right,
// 1 wrong result, 70 the emulator found a defect. tests/test_emu.sh runs all.
// (With nvcc it needs sm_90.)
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dcc_device.cuh"
#include "dcc_rt.h"

// Defects to seed, passed to the kernels as a number.
enum Mutation {
    NONE,
    NO_BARRIER,    // shared memory is read before others wrote it
    NO_WAIT,       // a copy is used before it is waited for
    NO_END,        // a stage is overwritten while others read it
    HALF_BARRIER,  // half of the threads do not come to a barrier
    WRONG_BYTES,   // the mbarrier expects less than the loads bring
    NO_INIT,       // an mbarrier is used as it was found
    NO_STORE_WAIT, // shared memory is reused while a store reads it
    OVERRUN,       // one element beyond the end of a tensor
    SMEM_OVERRUN,  // one element beyond the launch's shared memory
    DIVERGENT,     // half of a warp is elsewhere in a collective
    NO_CLUSTER_SYNC,
    NO_RELEASE,    // a block leaves while arrivals are on their way to it
    EARLY_READ,     // what the launch ahead writes is read before the wait
    EARLY_WRITE,    // memory is written before the wait
    EARLY_COPY,     // an asynchronous copy begins before the wait
    WARP_NO_WAIT,   // half of the warps store, and do not wait
    BLOCK_NO_WAIT,  // one block does not wait, and touches nothing
    WRITE_CONSTANT  // a weight is written, after the wait
};

static int failures;

static void expect(const char *what, double got, double want, double bound)
{
    if (!(got - want <= bound && want - got <= bound) && failures++ < 5)
        printf("%s: %.9g, expected %.9g\n", what, got, want);
}

static void check(cudaError_t error)
{
    if (error != cudaSuccess) {
        printf("CUDA error: %s\n", cudaGetErrorString(error));
        exit(3);
    }
}

// What the running case allocated; freed at its end.
static void *on_device[16], *on_host[16];
static int n_device, n_host;

static void free_all()
{
    while (n_device > 0)
        check(cudaFree(on_device[--n_device]));
    while (n_host > 0)
        free(on_host[--n_host]);
}

static float noise(int i)
{
    const unsigned h = (unsigned)i * 2654435761u;
    return (float)(h >> 16 & 0xff) / 128.0f - 1.0f;
}

template <class T> static T *device(int n, bool fill = true)
{
    T *p;
    T *host = (T *)malloc(sizeof(T) * (size_t)n);
    check(cudaMalloc(&p, sizeof(T) * (size_t)n));
    on_device[n_device++] = p;
    for (int i = 0; i < n; ++i)
        host[i] = (T)(sizeof(T) == 1 ? 100 * noise(i) : noise(i));
    if (fill)
        check(cudaMemcpy(p, host, sizeof(T) * (size_t)n,
                         cudaMemcpyHostToDevice));
    free(host);
    return p;
}

template <class T> static T *fetch(const T *p, int n)
{
    T *host = (T *)malloc(sizeof(T) * (size_t)n);
    on_host[n_host++] = host;
    check(cudaDeviceSynchronize());
    check(cudaMemcpy(host, p, sizeof(T) * (size_t)n, cudaMemcpyDeviceToHost));
    return host;
}

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

// ---- functions that dcc has instead of the library's ------------------------

// y[6 * i ..]: normcdf, logistic and gelu16 of the float whose bits are first +
// i * step, then of its opposite.
extern "C" __global__ void functions(int n, unsigned first, unsigned step,
                                     float *y)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    const float x = __uint_as_float(first + (unsigned)i * step);
    y[6 * i] = dcc_normcdf(x);
    y[6 * i + 1] = dcc_logistic(x);
    y[6 * i + 2] = dcc_gelu16(x);
    y[6 * i + 3] = dcc_normcdf(-x);
    y[6 * i + 4] = dcc_logistic(-x);
    y[6 * i + 5] = dcc_gelu16(-x);
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
    expect("gelu16", y[2], x * phi,
           fabs(x) * (x > -4 ? fmin(0x1p-20, phi * 0x1p-10) : 0x1p-24) +
               0x1p-126);
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
    const double limits[] = {1, 1, INFINITY, 0, 0, 0};
    for (int i = 0; i < 6; ++i)
        if (y[i] != limits[i])
            expect("of an infinity", y[i], limits[i], 1e-14);
    y = run_functions(1, 0x7fc00000u, 0);
    for (int i = 0; i < 6; ++i)
        expect("of NaN", y[i] != y[i], 1, 0);
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
            dcc_cp_async16(&smem.b[s][k][n],
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

// ---- TMA ring, producer and consumer warps, TMA store -----------------------

enum { ROWS = 8, COLS = 64, RING = 2 };

struct tma_smem {
    __half in[RING][ROWS][COLS]; // 128-byte swizzle
    __half out[ROWS][COLS];
    uint64_t full[RING], empty[RING];
};

// y = 2 x for a [D2, D1, D0] tensor, one 8x64 tile after another; warp 1
// loads, warp 0 works and stores. Tiles stick out on every side.
extern "C" __global__ __launch_bounds__(64) void tma_double(
    const __grid_constant__ CUtensorMap x, const __grid_constant__ CUtensorMap y,
    int tiles, int mutation)
{
    extern __shared__ __align__(1024) unsigned char dcc_smem[];
    tma_smem &smem = *(tma_smem *)dcc_smem;
    const int c0 = blockIdx.x * COLS, c2 = blockIdx.y;

    if (threadIdx.x == 0 && mutation != NO_INIT) {
        for (int s = 0; s < RING; ++s) {
            dcc_mbar_init(&smem.full[s], 1);
            dcc_mbar_init(&smem.empty[s], 32);
        }
        dcc_fence_mbar_init();
    }
    __syncthreads();
    if (threadIdx.x >= 32) {
        for (int i = 0; threadIdx.x == 32 && i < tiles; ++i) {
            const int s = i % RING;
            if (mutation != NO_END)
                dcc_mbar_wait(&smem.empty[s], (i / RING & 1) ^ 1);
            dcc_mbar_expect_tx(&smem.full[s], mutation == WRONG_BYTES
                                                  ? ROWS * COLS
                                                  : ROWS * COLS * 2);
            dcc_tma_load_3d(smem.in[s], &x, c0, i * ROWS, c2, &smem.full[s]);
        }
        return;
    }
    for (int i = 0; i < tiles; ++i) {
        const int s = i % RING;
        if (mutation != NO_WAIT)
            dcc_mbar_wait(&smem.full[s], i / RING & 1);
        if (threadIdx.x == 0 && mutation != NO_STORE_WAIT)
            dcc_tma_store_wait_read<0>();
        __syncwarp();
        for (int e = threadIdx.x; e < ROWS * COLS; e += 32) {
            const int at = e ^ (e >> 3 & 0x38); // swizzled, in elements
            const float v = dcc_to_float((&smem.in[s][0][0])[at]);
            (&smem.out[0][0])[at] = dcc_to_f16(2 * v);
        }
        dcc_mbar_arrive(&smem.empty[s]);
        dcc_fence_async();
        __syncwarp();
        if (threadIdx.x == 0) {
            dcc_tma_store_3d(&y, c0, i * ROWS, c2, smem.out);
            dcc_tma_store_commit();
        }
    }
    if (threadIdx.x == 0)
        dcc_tma_store_wait<0>();
}

static void test_tma(Mutation m)
{
    const int D0 = 88, D1 = 43, D2 = 3, n = D0 * D1 * D2;
    const uint64_t dim[] = {D0, D1, D2}, stride[] = {D0 * 2, D0 * D1 * 2};
    const uint32_t box[] = {COLS, ROWS, 1};
    __half *x = device<__half>(n), *y = device<__half>(n, false);
    CUtensorMap mx, my;
    check(dcc_tma_encode(&mx, DCC_F16, 3, x, dim, stride, box, NULL,
                         DCC_SWIZZLE_128));
    check(dcc_tma_encode(&my, DCC_F16, 3, y, dim, stride, box, NULL,
                         DCC_SWIZZLE_128));
    const dim3 grid((D0 + COLS - 1) / COLS, D2);
    tma_double<<<grid, 64, sizeof(tma_smem), 0>>>(
        mx, my, (D1 + ROWS - 1) / ROWS, m);
    check(cudaGetLastError());
    const __half *got = fetch(y, n), *in = fetch(x, n);
    for (int i = 0; i < n; ++i)
        expect("tma", (float)got[i], 2 * (float)in[i], 0);
}

// Loads with padding, element steps and every swizzle: one box of a [5,6,40]
// f32 tensor at a corner outside it.
extern "C" __global__ void tma_box(const __grid_constant__ CUtensorMap map,
                                   int c0, int c1, int c2, int bytes,
                                   float *out)
{
    extern __shared__ __align__(1024) unsigned char dcc_smem[];
    uint64_t *bar = (uint64_t *)(dcc_smem + 8192);
    if (threadIdx.x == 0) {
        dcc_mbar_init(bar, 1);
        dcc_fence_mbar_init();
        dcc_mbar_expect_tx(bar, bytes);
        dcc_tma_load_3d(dcc_smem, &map, c0, c1, c2, bar);
    }
    __syncthreads();
    dcc_mbar_wait(bar, 0);
    for (int i = threadIdx.x; i < bytes / 4; i += 32)
        out[i] = ((const float *)dcc_smem)[i];
}

static void test_tma_box(Mutation)
{
    const uint64_t dim[] = {40, 6, 5}, stride[] = {160, 960};
    const float *x = device<float>(1200);
    const float *in = fetch(x, 1200);
    for (int swizzle = 0; swizzle < 4; ++swizzle) {
        const int row = swizzle ? 4 << swizzle : 12; // f32 a row of the box
        const uint32_t box[] = {(uint32_t)row, 5, 3}, step[] = {1, 2, 1};
        const int rows = 3 * 3, n = row * rows;
        float *out = device<float>(n, false);
        CUtensorMap map;
        check(dcc_tma_encode(&map, DCC_F32, 3, x, dim, stride, box, step,
                             (dcc_swizzle)swizzle));
        tma_box<<<1, 32, 8200>>>(map, -3, -1, 3, n * 4, out);
        check(cudaGetLastError());
        const float *got = fetch(out, n);
        for (int r = 0; r < rows; ++r) {
            for (int i = 0; i < row; ++i) {
                const int i0 = i - 3, i1 = r % 3 * 2 - 1, i2 = 3 + r / 3;
                const bool inside = i0 >= 0 && i0 < 40 && i1 >= 0 && i1 < 6 &&
                                    i2 >= 0 && i2 < 5;
                int at = (r * row + i) * 4;
                const int mask[] = {0, 0x10, 0x30, 0x70};
                at ^= at >> 3 & mask[swizzle];
                expect("box", got[at / 4],
                       inside ? in[i2 * 240 + i1 * 40 + i0] : 0, 0);
            }
        }
    }
}

// ---- clusters, stmatrix, named barriers -------------------------------------

struct cluster_smem {
    float part;
    alignas(8) uint64_t seen;
    alignas(16) __half tile[32][8];
};

extern "C" __global__ void cluster_sum(const float *x, float *out,
                                       int mutation)
{
    extern __shared__ __align__(1024) unsigned char dcc_smem[];
    cluster_smem &smem = *(cluster_smem *)dcc_smem;
    const float v = dcc_warp_sum(x[blockIdx.x * 32 + threadIdx.x]);
    if (threadIdx.x == 0) {
        smem.part = v;
        dcc_mbar_init(&smem.seen, 4);
        dcc_fence_mbar_init();
    }
    if (mutation != NO_CLUSTER_SYNC)
        dcc_cluster_sync();
    float total = 0;
    for (int r = 0; r < 4; ++r)
        total += *dcc_cluster_peer(&smem.part, r);
    out[blockIdx.x * 32 + threadIdx.x] = total;
    // each tells all that it has seen their parts, and waits for nobody
    if (threadIdx.x < 4)
        dcc_mbar_arrive_at(&smem.seen, threadIdx.x);
    __syncwarp();
    if (mutation == NO_RELEASE)
        dcc_cluster_meet();
    else
        dcc_cluster_sync();
}

struct send_smem {
    alignas(16) float4 from[4][32];
    alignas(8) uint64_t arrived;
};

// Each of 4 blocks sends its values to all of them, who add them up.
extern "C" __global__ void cluster_send(const float4 *x, float *out,
                                        int mutation)
{
    extern __shared__ __align__(1024) unsigned char dcc_smem[];
    send_smem &smem = *(send_smem *)dcc_smem;
    const int lane = threadIdx.x, rank = (int)dcc_cluster_rank();
    if (lane == 0) {
        dcc_mbar_init(&smem.arrived, 1);
        dcc_fence_mbar_init();
        dcc_mbar_expect_tx(&smem.arrived,
                           mutation == WRONG_BYTES ? 1024 : 2048);
    }
    __syncwarp();
    if (mutation != NO_CLUSTER_SYNC)
        dcc_cluster_meet();
    for (int r = 0; r < 4; ++r)
        dcc_cluster_send(dcc_cluster_peer(&smem.from[rank][lane], r),
                         x[blockIdx.x * 32 + lane],
                         dcc_cluster_peer(&smem.arrived, r));
    if (mutation != NO_WAIT)
        dcc_mbar_wait(&smem.arrived, 0);
    float total = 0;
    for (int r = 0; r < 4; ++r) {
        const float4 v = smem.from[r][lane];
        total += v.x + v.y + v.z + v.w;
    }
    out[blockIdx.x * 32 + lane] = total;
}

// Warp 0 hands a matrix to warp 1 through stmatrix and a named barrier.
extern "C" __global__ void hand_over(const __half *x, __half *y, int mutation)
{
    extern __shared__ __align__(1024) unsigned char dcc_smem[];
    cluster_smem &smem = *(cluster_smem *)dcc_smem;
    const int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
    if (threadIdx.x < 32) {
        uint32_t r[4];
        for (int j = 0; j < 4; ++j)
            memcpy(&r[j], x + (j * 8 + g) * 8 + 2 * t, 4);
        dcc_stmatrix_x4(smem.tile[lane], r);
        if (mutation != NO_BARRIER)
            dcc_barrier_arrive(3, 64);
    } else {
        if (mutation != NO_BARRIER)
            dcc_barrier_sync(3, 64);
        for (int j = 0; j < 8; ++j)
            y[lane * 8 + j] = smem.tile[lane][j];
    }
}

static void test_cluster(Mutation m)
{
    float *x = device<float>(8 * 32), *out = device<float>(8 * 32, false);
    cudaLaunchAttribute attribute = {};
    cudaLaunchConfig_t config = {};
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim.x = 4;
    attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
    config.gridDim = dim3(8);
    config.blockDim = dim3(32);
    config.dynamicSmemBytes = sizeof(cluster_smem);
    config.attrs = &attribute;
    config.numAttrs = 1;
    check(cudaLaunchKernelEx(&config, cluster_sum, (const float *)x, out,
                             (int)m));
    const float *in = fetch(x, 256), *got = fetch(out, 256);
    for (int i = 0; i < 256; ++i) {
        double total = 0;
        for (int k = 0; k < 128; ++k)
            total += in[i / 128 * 128 + k];
        expect("cluster", got[i], total, 1e-4);
    }
    __half *a = device<__half>(256), *b = device<__half>(256, false);
    hand_over<<<1, 64, sizeof(cluster_smem), 0>>>(a, b, m);
    check(cudaGetLastError());
    const __half *from = fetch(a, 256), *to = fetch(b, 256);
    for (int i = 0; i < 256; ++i)
        expect("stmatrix", (float)to[i], (float)from[i], 0);
}

static void test_send(Mutation m)
{
    float *x = device<float>(8 * 128), *out = device<float>(8 * 32, false);
    cudaLaunchAttribute attribute = {};
    cudaLaunchConfig_t config = {};
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim.x = 4;
    attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
    config.gridDim = dim3(8);
    config.blockDim = dim3(32);
    config.dynamicSmemBytes = sizeof(send_smem);
    config.attrs = &attribute;
    config.numAttrs = 1;
    check(cudaLaunchKernelEx(&config, cluster_send, (const float4 *)x, out,
                             (int)m));
    const float *in = fetch(x, 8 * 128), *got = fetch(out, 256);
    for (int i = 0; i < 256; ++i) {
        double total = 0;
        for (int r = 0; r < 4; ++r)
            for (int e = 0; e < 4; ++e)
                total += in[((i / 128 * 4 + r) * 32 + i % 32) * 4 + e];
        expect("send", got[i], total, 1e-4);
    }
}

// ---- dependent launches -----------------------------------------------------

struct overlap_smem {
    alignas(16) float x[64];
    float w[64];
};

// y = w * x + bias for 64 elements a block. Weights come before the wait; the
// upper warp waits for itself, since it stores.
extern "C" __global__ void overlap(const float *w, const float *x, float *y,
                                   int mutation)
{
    extern __shared__ __align__(1024) unsigned char dcc_smem[];
    overlap_smem &smem = *(overlap_smem *)dcc_smem;
    const int t = threadIdx.x, i = blockIdx.x * 64 + t;
    if (mutation == BLOCK_NO_WAIT && blockIdx.x == 1)
        return;
    smem.w[t] = w[i];
    if (mutation == EARLY_READ)
        smem.x[t] = x[i];
    if (mutation == EARLY_WRITE)
        y[i] = 0;
    if (mutation == EARLY_COPY && t < 16)
        dcc_cp_async16(&smem.x[t * 4], x + blockIdx.x * 64 + t * 4);
    if (mutation != WARP_NO_WAIT || t < 32) {
        dcc_grid_wait();
        dcc_grid_trigger();
    }
    if (mutation != EARLY_READ && mutation != EARLY_COPY && t < 16)
        dcc_cp_async16(&smem.x[t * 4], x + blockIdx.x * 64 + t * 4);
    dcc_cp_commit();
    dcc_cp_wait<0>();
    __syncthreads();
    y[i] = smem.w[t] * smem.x[t];
    if (mutation == WRITE_CONSTANT)
        const_cast<float *>(w)[i] = 1;
}

static cudaError_t overlap_launch(const float *w, const float *x, float *y,
                                  int mutation, dcc_edge edge)
{
    dcc_launch launch;

    dcc_configure(&launch, dim3(4), 64, sizeof(overlap_smem), 0);
    dcc_configure_edge(&launch, edge);
    return cudaLaunchKernelEx(&launch.config, overlap, w, x, y, mutation);
}

static void test_overlap(Mutation m)
{
    const int n = 256;
    float *w = device<float>(n), *x = device<float>(n);
    float *h = device<float>(n, false), *y = device<float>(n, false);
    const float *weights = fetch(w, n), *in = fetch(x, n);
#ifdef DCC_EMU
    dcc_emu_constant(w, n * sizeof *w);
#endif
    check(overlap_launch(w, x, h, NONE, DCC_AFTER));
    check(overlap_launch(w, h, y, m, DCC_DEPENDENT));
    const float *got = fetch(y, n);
    for (int i = 0; i < n; ++i)
        expect("overlap", got[i], weights[i] * (weights[i] * in[i]), 0);
}

// ---- the host's side --------------------------------------------------------

static void test_host(Mutation)
{
    const int n = 1000;
    float *x = device<float>(n), *y = device<float>(n, false);
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
    static const struct {
        const char *name;
        void (*run)(Mutation);
    } cases[] = {{"saxpy", test_saxpy},
                 {"functions", test_functions},
                 {"sgemm", test_sgemm},
                 {"gemm_f16", test_f16},
                 {"gemm_bf16", test_bf16},
                 {"fragments", test_fragments},
                 {"reduce", test_reduce},
                 {"tma", test_tma},
                 {"tma_box", test_tma_box},
                 {"cluster", test_cluster},
                 {"send", test_send},
                 {"overlap", test_overlap},
                 {"host", test_host}};
    const Mutation m = (Mutation)(argc > 2 ? atoi(argv[2]) : NONE);
    int ran = 0;

    for (const auto &c : cases) {
        if (argc > 1 && strcmp(argv[1], "all") && strcmp(argv[1], c.name))
            continue;
        c.run(m);
        free_all();
        ++ran;
    }
    printf("%d cases, %d failures\n", ran, failures);
    return failures || !ran;
}
