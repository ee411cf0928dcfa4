// dcc_sums.cuh - sums of a tile: as neighbours in a thread; those that several
// blocks share, of a cluster, by its shared memory, or any, by the workspace;
// and over its rows. And what chains share with products: values of columns,
// results by whole lines.
// dcc_wgmma.cuh includes it.
#ifndef DCC_SUMS_CUH
#define DCC_SUMS_CUH

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900

// A thread holds pairs of columns: those of four neighbouring 8-column groups
// (sums[4 j + 2 h], + 1 for j 0..3) become, among the four lanes of a row, 8
// neighbouring columns a lane: lane q has columns 8 q .. 8 q + 7 of the 32.
// All lanes of the warp take part.
DCC_DEVICE void dcc_wgmma_row(float (&row)[8], const float *sums, int half)
{
    const int q = threadIdx.x % 4;
    float pair[4][2], other[4][2];
#pragma unroll
    for (int j = 0; j < 4; ++j) {
        pair[j][0] = sums[4 * j + 2 * half];
        pair[j][1] = sums[4 * j + 2 * half + 1];
    }
    // Lanes 1 apart change the pairs of groups 1 apart, then lanes 2 apart
    // those of groups 2 apart: a 4 x 4 transposition.
#pragma unroll
    for (int j = 0; j < 4; j += 2)
#pragma unroll
        for (int e = 0; e < 2; ++e) {
            const float give = dcc_choose(q & 1, pair[j][e], pair[j + 1][e]);
            const float got = __shfl_xor_sync(0xffffffffu, give, 1);
            other[j][e] = dcc_choose(q & 1, got, pair[j][e]);
            other[j + 1][e] = dcc_choose(q & 1, pair[j + 1][e], got);
        }
#pragma unroll
    for (int j = 0; j < 2; ++j)
#pragma unroll
        for (int e = 0; e < 2; ++e) {
            const float give = dcc_choose(q & 2, other[j][e], other[j + 2][e]);
            const float got = __shfl_xor_sync(0xffffffffu, give, 2);
            row[2 * j + e] = dcc_choose(q & 2, got, other[j][e]);
            row[2 * j + 4 + e] = dcc_choose(q & 2, other[j + 2][e], got);
        }
}

// The same by fours: lane q has columns 4 q .. 4 q + 3 of each 16.
DCC_DEVICE void dcc_wgmma_quads(float (&row)[8], const float *sums, int half)
{
    const int q = threadIdx.x % 4;
#pragma unroll
    for (int c = 0; c < 2; ++c) {
        float *const to = row + 4 * c;
        // Lanes 2 apart change the pairs of two groups, then lanes 1 apart one
        // of the two that they have of a group.
#pragma unroll
        for (int e = 0; e < 2; ++e) {
            const float first = sums[8 * c + 2 * half + e];
            const float second = sums[8 * c + 4 + 2 * half + e];
            const float got = __shfl_xor_sync(
                0xffffffffu, dcc_choose(q & 2, first, second), 2);
            const float low = dcc_choose(q & 2, got, first);
            const float high = dcc_choose(q & 2, second, got);
            const float other = __shfl_xor_sync(
                0xffffffffu, dcc_choose(q & 1, low, high), 1);
            to[e] = dcc_choose(q & 1, other, low);
            to[2 + e] = dcc_choose(q & 1, high, other);
        }
    }
}

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

// ---- sums over rows, of each column ----------------------------------------

// A sum in a register of its own, to be rounded. ptxas makes all products wait
// where what rounds their registers is at a second place; x + -0 is x.
DCC_DEVICE float dcc_wgmma_copy(float x)
{
#ifndef DCC_EMU
    asm volatile("add.f32 %0, %0, 0f80000000;" : "+f"(x));
#endif
    return x;
}

// A warp's lanes 4 apart have rows 2 i and 2 i + 1 of the same 8 columns, of 32
// that are number j of the tile's. They leave the sums over all its 16 rows.
template <int R, int N>
DCC_DEVICE void dcc_leave_sum(float (&left)[N], int j,
                              const float (&row)[R][8], int i)
{
    const int lane = threadIdx.x % 32;
    float v[8];
#pragma unroll
    for (int c = 0; c < 8; ++c)
        v[c] = row[2 * i][c] + row[2 * i + 1][c];
#pragma unroll
    for (int n = 4; n > 0; n /= 2) {
        const bool upper = threadIdx.x & (n * 4);
#pragma unroll
        for (int c = 0; c < n; ++c) {
            const float other = upper ? v[c] : v[n + c];
            v[c] = (upper ? v[n + c] : v[c]) +
                   __shfl_xor_sync(0xffffffffu, other, n * 4);
        }
    }
    left[j * 32 + lane % 4 * 8 + lane / 4] = v[0];
}

// The sum and the squares about the mean of n rows become those of 2 n, the
// others' being as many (Chan, Golub, LeVeque).
DCC_DEVICE void dcc_join_moments(float &sum, float &squares, float other,
                                 float other_squares, float n)
{
    const float apart = sum - other;
    sum += other;
    squares += other_squares + apart * apart * (0.5f / n);
}

// Both, as dcc_leave_sum() the sums.
template <int R, int N>
DCC_DEVICE void dcc_leave_moments(float (&sum)[N], float (&squares)[N], int j,
                                  const float (&row)[R][8], int i)
{
    const int lane = threadIdx.x % 32;
    float v[8], q[8];
#pragma unroll
    for (int c = 0; c < 8; ++c) {
        v[c] = row[2 * i][c];
        q[c] = 0.0f;
        dcc_join_moments(v[c], q[c], row[2 * i + 1][c], 0.0f, 1.0f);
    }
#pragma unroll
    for (int n = 4; n > 0; n /= 2) {
        const bool upper = threadIdx.x & (n * 4);
#pragma unroll
        for (int c = 0; c < n; ++c) {
            const float s = upper ? v[c] : v[n + c];
            const float t = upper ? q[c] : q[n + c];
            v[c] = upper ? v[n + c] : v[c];
            q[c] = upper ? q[n + c] : q[c];
            dcc_join_moments(v[c], q[c],
                             __shfl_xor_sync(0xffffffffu, s, n * 4),
                             __shfl_xor_sync(0xffffffffu, t, n * 4), 8.0f / n);
        }
    }
    sum[j * 32 + lane % 4 * 8 + lane / 4] = v[0];
    squares[j * 32 + lane % 4 * 8 + lane / 4] = q[0];
}

// Of WARPS warps with 16 rows each: their sums i, or the squares k about the
// mean of these.
template <int WARPS, int S, int N>
DCC_DEVICE float dcc_warps_sum(const float (*left)[S][N], int i, int col)
{
    float v = left[0][i][col];
#pragma unroll
    for (int warp = 1; warp < WARPS; ++warp)
        v += left[warp][i][col];
    return v;
}

template <int WARPS, int S, int N>
DCC_DEVICE float dcc_warps_squares(const float (*left)[S][N], int i, int k,
                                   int col)
{
    float v[WARPS], t[WARPS];
#pragma unroll
    for (int warp = 0; warp < WARPS; ++warp) {
        v[warp] = left[warp][i][col];
        t[warp] = left[warp][k][col];
    }
#pragma unroll
    for (int n = 1; n < WARPS; n *= 2)
#pragma unroll
        for (int warp = 0; warp < WARPS; warp += 2 * n)
            dcc_join_moments(v[warp], t[warp], v[warp + n], t[warp + n],
                             16.0f * n);
    return t[0];
}

// ---- chains: values of columns, whole lines of results ----------------------

// What a lane has of K values of every 32nd of BJ columns, or of every 32nd of
// one of WARPS that have them in turns.
template <int K, int BJ, int WARPS = 1> struct dcc_columns {
    static constexpr int ALL = WARPS * 32;
    float of[(BJ + ALL - 1) / ALL][K];
};

// f(values, column) of each of a lane's columns, from the warp's `column` on.
template <int K, int BJ, int WARPS = 1, class F>
DCC_DEVICE dcc_columns<K, BJ, WARPS> dcc_read_columns(int column, F f)
{
    constexpr int ALL = WARPS * 32;
    dcc_columns<K, BJ, WARPS> c;
#pragma unroll
    for (int q = 0; q < (BJ + ALL - 1) / ALL; ++q)
        f(c.of[q], column + q * ALL + (int)threadIdx.x % 32);
    return c;
}

// By a warp, number `warp` of them: its lanes leave what they have, and it
// arrives.
template <int K, int BJ, int WARPS>
DCC_DEVICE void dcc_leave_columns(float (&of_column)[K][BJ],
                                  const dcc_columns<K, BJ, WARPS> &columns,
                                  uint64_t *arrived, int warp = 0)
{
    constexpr int ALL = WARPS * 32;
    const int lane = threadIdx.x % 32, first = warp * 32 + lane;
    __syncwarp();
#pragma unroll
    for (int k = 0; k < K; ++k)
#pragma unroll
        for (int q = 0; q < (BJ + ALL - 1) / ALL; ++q)
            if (BJ % ALL == 0 || q * ALL + first < BJ)
                of_column[k][q * ALL + first] = columns.of[q][k];
    __syncwarp();
    if (lane == 0)
        dcc_mbar_arrive(arrived);
}

// Sums of 16 rows of COLS columns, of which `rows` are there, where products
// leave them, as T to memory: whole lines, through shared memory. Rows are
// `stride` apart, and begin at whole words of 16 bytes.
template <int COLS, class T>
DCC_DEVICE void dcc_store_lines(T *to, int stride, int rows,
                                const float (&sums)[COLS / 2],
                                T (&out)[16][COLS])
{
    uint32_t packed[COLS / 16][4];
    dcc_pack_scores<T>(packed, sums);
    dcc_pack_rows(out, packed);
#pragma unroll 2  // more addresses would not fit
    for (int q = 0; q < COLS / 16; ++q) {
        const int i = q * 32 + (int)threadIdx.x % 32;
        const int line = i / (COLS / 8), piece = i % (COLS / 8);
        if (line < rows)
            dcc_copy<uint4>(&to[line * stride + piece * 8],
                            &out[line][dcc_packed_at<COLS>(line, piece)]);
    }
    __syncwarp();
}

#endif // sm_90

#endif
