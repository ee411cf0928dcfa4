// dcc_sums.cuh - sums of a tile that several blocks share: those of a cluster,
// by its shared memory, or any, by the workspace. dcc_wgmma.cuh includes it.
#ifndef DCC_SUMS_CUH
#define DCC_SUMS_CUH

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900

// The N blocks of a cluster share the columns of a tile of which each has sums:
// every thread sends those of block s's columns to `sums` there, where they
// count against `arrived`. Those of its own stay: a thread reads what it wrote.
template <int N, int R, int C>
DCC_DEVICE void dcc_send_sums(float4 *sums, int threads, uint64_t *arrived,
                              const float (&acc)[R][C])
{
    const int rank = (int)dcc_cluster_rank();
    float4 *const mine = &sums[rank * R * (C / N / 4) * threads + threadIdx.x];
#pragma unroll
    for (int s = 0; s < N; ++s) {
        float4 *const to = dcc_cluster_peer(mine, s);
        uint64_t *const barrier = dcc_cluster_peer(arrived, s);
#pragma unroll
        for (int i = 0; i < R; ++i)
#pragma unroll
            for (int j = 0; j < C / N; j += 4) {
                const float *const v = &acc[i][s * (C / N) + j];
                const int at = (i * (C / N) + j) / 4 * threads;
                const float4 four = make_float4(v[0], v[1], v[2], v[3]);
                if (s == rank)
                    mine[at] = four;
                else
                    dcc_cluster_send(&to[at], four, barrier);
            }
    }
}

// What arrived, and the block's own, added up in the order of the blocks.
template <int N, int R, int C>
DCC_DEVICE void dcc_join_sums(float (&own)[R][C], const float4 *sums,
                              int threads)
{
#pragma unroll
    for (int s = 0; s < N; ++s)
#pragma unroll
        for (int i = 0; i < R * C; i += 4) {
            const float4 v = sums[(s * R * C + i) / 4 * threads + threadIdx.x];
            float *const sum = &own[i / C][i % C];
            sum[0] = s ? sum[0] + v.x : v.x;
            sum[1] = s ? sum[1] + v.y : v.y;
            sum[2] = s ? sum[2] + v.z : v.z;
            sum[3] = s ? sum[3] + v.w : v.w;
        }
}

// Both, and the wait between them: `own` gets the sums of the block's columns.
// `arrived` expects the bytes that the others send, in its first phase.
template <int N, int R, int C, int D>
DCC_DEVICE void dcc_share_sums(float (&own)[R][D], const float (&acc)[R][C],
                               float4 *sums, int threads, uint64_t *arrived)
{
    dcc_send_sums<N>(sums, threads, arrived, acc);
    dcc_mbar_wait(arrived, 0);
    dcc_join_sums<N>(own, sums, threads);
}

// The sums of a tile whose k is in N parts: each block leaves its own at
// `left`, and is done (true); but the last one to do so gets all of them added
// up, in the order of the parts. The `threads` that have sums call.
template <int N, int R, int C>
DCC_DEVICE bool dcc_leave_sums(float (&sums)[R][C], float4 *left, int part,
                               int threads, unsigned int *counter, int *flag)
{
    // of each part, so that about 12 loads are under way; the last may be less
    constexpr int FOURS = R * C / 4, GROUP = N < 12 ? 12 / N : 1;
    float4 *const mine = left + part * FOURS * threads + threadIdx.x;
#pragma unroll
    for (int i = 0; i < FOURS; ++i) {
        const float *const v = &sums[i * 4 / C][i * 4 % C];
        mine[i * threads] = make_float4(v[0], v[1], v[2], v[3]);
    }
    dcc_barrier_sync(1, threads);
    if (threadIdx.x == 0) {
        __threadfence();
        *flag = atomicAdd(counter, 1u) == N - 1;
        if (*flag)
            *counter = 0;
        __threadfence();
    }
    dcc_barrier_sync(1, threads);
    if (!*flag)
        return true;
#pragma unroll
    for (int i = 0; i < FOURS; i += GROUP) {
        float4 sum[GROUP];
#pragma unroll 12
        for (int s = 0; s < N; ++s)
#pragma unroll
            for (int j = 0; j < GROUP && i + j < FOURS; ++j) {
                const float4 v =
                    left[(s * FOURS + i + j) * threads + threadIdx.x];
                sum[j].x = s ? sum[j].x + v.x : v.x;
                sum[j].y = s ? sum[j].y + v.y : v.y;
                sum[j].z = s ? sum[j].z + v.z : v.z;
                sum[j].w = s ? sum[j].w + v.w : v.w;
            }
#pragma unroll
        for (int j = 0; j < GROUP && i + j < FOURS; ++j) {
            float *const to = &sums[(i + j) * 4 / C][(i + j) * 4 % C];
            to[0] = sum[j].x;
            to[1] = sum[j].y;
            to[2] = sum[j].z;
            to[3] = sum[j].w;
        }
    }
    return false;
}

#endif // sm_90

#endif
