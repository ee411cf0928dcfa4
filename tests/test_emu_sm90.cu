// test_emu_sm90.cu - kernels by hand, of TMA, clusters and dependent launches,
// that the emulator must run right, and with a seeded defect must not.
// usage: test_emu_sm90 CASE [MUTATION]; status 0 right, 1 wrong result, 2 no
// such case, 70 the emulator found a defect. tests/test_emu.sh runs all. (With
// nvcc it needs sm_90.)
#include "emu_case.h"

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
        tma_box<<<1, 32, 8200>>>(map, -4, -1, 3, n * 4, out);
        check(cudaGetLastError());
        const float *got = fetch(out, n);
        for (int r = 0; r < rows; ++r) {
            for (int i = 0; i < row; ++i) {
                const int i0 = i - 4, i1 = r % 3 * 2 - 1, i2 = 3 + r / 3;
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

// A box of what is read once: as dcc_tma_load_2d brings it.
extern "C" __global__ void tma_stream(const __grid_constant__ CUtensorMap map,
                                      float *out, int mutation)
{
    extern __shared__ __align__(1024) unsigned char dcc_smem[];
    uint64_t *bar = (uint64_t *)(dcc_smem + 1024);
    if (threadIdx.x == 0) {
        dcc_mbar_init(bar, 1);
        dcc_fence_mbar_init();
        dcc_mbar_expect_tx(bar, 8 * 32 * 4);
        dcc_tma_stream_2d(dcc_smem, &map, 8, -2, bar);
    }
    __syncwarp();
    if (mutation != NO_WAIT)
        dcc_mbar_wait(bar, 0);
    for (int i = 0; i < 8; ++i)
        out[i * 32 + threadIdx.x] =
            ((const float *)dcc_smem)[i * 32 + threadIdx.x];
}

static void test_stream(Mutation m)
{
    const uint64_t dim[] = {36, 7}, stride[] = {144};
    const uint32_t box[] = {32, 8};
    float *x = device<float>(36 * 7), *out = device<float>(256, false);
    CUtensorMap map;
    check(dcc_tma_encode(&map, DCC_F32, 2, x, dim, stride, box, NULL,
                         DCC_SWIZZLE_NONE));
    tma_stream<<<1, 32, 1032>>>(map, out, m);
    check(cudaGetLastError());
    const float *in = fetch(x, 36 * 7), *got = fetch(out, 256);
    for (int i = 0; i < 256; ++i) {
        const int row = i / 32 - 2, col = i % 32 + 8;
        const bool inside = row >= 0 && row < 7 && col < 36;
        expect("stream", got[i], inside ? in[row * 36 + col] : 0, 0);
    }
}

// Rows of 64 bytes, each a copy of its own with a barrier of its own.
extern "C" __global__ void bulk_rows(const float *x, float *out, int mutation)
{
    extern __shared__ __align__(1024) unsigned char dcc_smem[];
    float (*row)[16] = (float (*)[16])dcc_smem;
    uint64_t *there = (uint64_t *)(dcc_smem + 4 * 64);
    if (threadIdx.x == 0)
        for (int i = 0; i < 4; ++i) {
            dcc_mbar_init(&there[i], 1);
            dcc_fence_mbar_init();
            dcc_bulk_load(row[i], &x[i * 20], 64, &there[i], i > 1);
        }
    __syncwarp();
    for (int i = 0; i < 4; ++i) {
        if (mutation != NO_WAIT)
            dcc_mbar_wait(&there[i], 0);
        if (threadIdx.x < 16)
            out[i * 16 + threadIdx.x] = row[i][threadIdx.x];
    }
}

static void test_bulk(Mutation m)
{
    float *x = device<float>(80), *out = device<float>(64, false);
    bulk_rows<<<1, 32, 4 * 64 + 32>>>(x, out, m);
    check(cudaGetLastError());
    const float *in = fetch(x, 80), *got = fetch(out, 64);
    for (int i = 0; i < 64; ++i)
        expect("bulk", got[i], in[i / 16 * 20 + i % 16], 0);
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

// Eight blocks of a warp, in two clusters.
template <class T>
static void launch_clusters(void (*kernel)(const T *, float *, int),
                            size_t smem, const T *x, float *out, Mutation m)
{
    dcc_launch launch;
    dcc_configure(&launch, dim3(8), 32, smem, 0);
    dcc_configure_cluster(&launch, 4);
    check(cudaLaunchKernelEx(&launch.config, kernel, x, out, (int)m));
}

static void test_cluster(Mutation m)
{
    float *x = device<float>(8 * 32), *out = device<float>(8 * 32, false);
    launch_clusters<float>(cluster_sum, sizeof(cluster_smem), x, out, m);
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
    launch_clusters(cluster_send, sizeof(send_smem), (const float4 *)x, out, m);
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
    dcc_emu_constant(w, n * sizeof *w, 1);
#endif
    check(overlap_launch(w, x, h, NONE, DCC_AFTER));
    check(overlap_launch(w, h, y, m, DCC_DEPENDENT));
    const float *got = fetch(y, n);
    for (int i = 0; i < n; ++i)
        expect("overlap", got[i], weights[i] * (weights[i] * in[i]), 0);
}

int main(int argc, char **argv)
{
    static const Case cases[] = {
        {"tma", test_tma},         {"tma_box", test_tma_box},
        {"stream", test_stream},   {"bulk", test_bulk},
        {"cluster", test_cluster},
        {"send", test_send},       {"overlap", test_overlap}};
    return run_cases(argc, argv, cases);
}
