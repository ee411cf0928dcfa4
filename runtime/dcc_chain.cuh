// dcc_chain.cuh - what kernels of chains share: rows of scores between two
// products. dcc_device.cuh includes it.
//
// A thread has N sums of the first product as wgmma and mma.sync leave them:
// its row r's are those with c / 2 % 2 == r, of columns c / 4 * 8 + c % 2 on,
// and the four lanes of a row have the others.
#ifndef DCC_CHAIN_CUH
#define DCC_CHAIN_CUH

// f(score, row, column) of each of the thread's: its warp's rows are from `row`
// on, the block's columns from `column` on.
template <int N, class F>
DCC_DEVICE void dcc_each_score(float (&score)[N], int row, int column, F f)
{
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int c = 0; c < N; ++c)
        f(score[c], row + lane / 4 + c / 2 % 2 * 8,
          column + c / 4 * 8 + lane % 4 * 2 + c % 2);
}

// The same with another sum of the same points: f(score, other, row, column).
template <int N, class F>
DCC_DEVICE void dcc_each_score(float (&score)[N], const float (&other)[N],
                               int row, int column, F f)
{
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int c = 0; c < N; ++c)
        f(score[c], other[c], row + lane / 4 + c / 2 % 2 * 8,
          column + c / 4 * 8 + lane % 4 * 2 + c % 2);
}

// The same with pairs of values, of each row's neighbouring columns, that were
// read before: f(score, value, row, column).
template <class T, int N, class F>
DCC_DEVICE void dcc_each_score(float (&score)[N],
                               const uint32_t (&ahead)[N / 2], int row,
                               int column, F f)
{
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int c = 0; c < N; ++c)
        f(score[c], dcc_word_value<T>(&ahead[c / 2], c % 2),
          row + lane / 4 + c / 2 % 2 * 8,
          column + c / 4 * 8 + lane % 4 * 2 + c % 2);
}

// f(c, row, column) of each of the thread's N scores.
template <int N, class F>
DCC_DEVICE void dcc_each_place(int row, int column, F f)
{
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int c = 0; c < N; ++c)
        f(c, row + lane / 4 + c / 2 % 2 * 8,
          column + c / 4 * 8 + lane % 4 * 2 + c % 2);
}

// The same with K values of the column, which both rows take:
// f(c, values, row, column).
template <int N, int K, int BJ, class F>
DCC_DEVICE void dcc_each_column(const float (&of_column)[K][BJ], int row,
                                int column, F f)
{
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int p = 0; p < N / 4; ++p) {
        float of[2][K];
#pragma unroll
        for (int k = 0; k < K; ++k) {
            const float2 pair = *reinterpret_cast<const float2 *>(
                &of_column[k][p * 8 + lane % 4 * 2]);
            of[0][k] = pair.x;
            of[1][k] = pair.y;
        }
#pragma unroll
        for (int e = 0; e < 4; ++e)
            f(p * 4 + e, of[e % 2], row + lane / 4 + e / 2 * 8,
              column + p * 8 + lane % 4 * 2 + e % 2);
    }
}

// The same of sums where they lie: f(score, values, row, column), and
// f(score, other, values, row, column).
template <int N, int K, int BJ, class F>
DCC_DEVICE void dcc_each_column(float (&score)[N],
                                const float (&of_column)[K][BJ], int row,
                                int column, F f)
{
    dcc_each_column<N>(of_column, row, column,
                       [&](int c, const float (&of)[K], int i, int j) {
                           f(score[c], of, i, j);
                       });
}

template <int N, int K, int BJ, class F>
DCC_DEVICE void dcc_each_column(float (&score)[N], float (&other)[N],
                                const float (&of_column)[K][BJ], int row,
                                int column, F f)
{
    dcc_each_column<N>(of_column, row, column,
                       [&](int c, const float (&of)[K], int i, int j) {
                           f(score[c], other[c], of, i, j);
                       });
}

// A tile of rows and what is independent of it, of tile number `i`: `group`
// at most of `batches` run together, their last rows first.
DCC_DEVICE dcc_tile dcc_last_first(int i, int group, int tiles, int batches)
{
    const int from = i / (group * tiles) * group;
    const int at = i - from * tiles;
    const int width = batches % group ? min(group, batches - from) : group;
    return {tiles - 1 - at / width, from + at % width};
}

// A block of columns of a softmax: score = exp2(score * scale - base), where
// base is the greatest scaled score so far, or up to 8 less: what a row has is
// scaled by `grow` only where the greatest grows by more, for which f16 has
// room. most, sum: of the row so far, the lane's own part of the sum; `again`:
// they have something. A row that has nothing is all 0. EXACT: `most` is the
// greatest score itself. Where that times `scale` is beyond f32 (a mask of
// -FLT_MAX hides all so far), scores differ by 0 or too much for any scale.
template <bool EXACT = false, int N>
DCC_DEVICE void dcc_soften(float (&score)[N], float (&most)[2], float (&sum)[2],
                           float (&grow)[2], float scale, bool again)
{
#pragma unroll
    for (int r = 0; r < 2; ++r) {
        const float before = again ? most[r] : -INFINITY;
        most[r] = score[r * 2];
#pragma unroll
        for (int c = 0; c < N; ++c)
            if (c / 2 % 2 == r)
                most[r] = fmaxf(most[r], score[c]);
        most[r] = fmaxf(dcc_warp_max<4>(most[r]), before);
        if (!EXACT && (most[r] - before) * scale <= 8.0f)
            most[r] = before;
        const float by = fabsf(most[r] * scale) == INFINITY ? 1.0f : scale;
        const float base = most[r] == -INFINITY ? 0.0f : most[r] * by;
        grow[r] = most[r] == before ? 1.0f : dcc_ex2(before * by - base);
        float part[2] = {};
#pragma unroll
        for (int c = 0; c < N; ++c)
            if (c / 2 % 2 == r) {
                score[c] = dcc_ex2(fmaf(score[c], by, -base));
                part[c % 2] += score[c];
            }
        sum[r] = (again ? sum[r] * grow[r] : 0.0f) + (part[0] + part[1]);
    }
}

// The lanes' parts of rows' sums, added.
DCC_DEVICE void dcc_row_sums(float (&sum)[2])
{
    sum[0] = dcc_warp_sum<4>(sum[0]);
    sum[1] = dcc_warp_sum<4>(sum[1]);
}

// 1 / x of a power of two between 2^-126 and 2^126.
DCC_DEVICE float dcc_inverse_power(float x)
{
    return __int_as_float(0x7f000000 - __float_as_int(x));
}

// Rows of any size as f16 holds them: score *= scale, a power of two for each
// row, by which its greatest is 2^7 at first; where one comes that is 2^15 so,
// it is scaled anew, and what the row has so far by `grow`.
template <int N>
DCC_DEVICE void dcc_fit_rows(float (&score)[N], float (&scale)[2],
                             float (&grow)[2], bool again)
{
#pragma unroll
    for (int r = 0; r < 2; ++r) {
        float most = 0.0f;
#pragma unroll
        for (int c = 0; c < N; ++c)
            if (c / 2 % 2 == r)
                most = fmaxf(most, fabsf(score[c]));
        most = dcc_warp_max<4>(most);
        const int to = min(261 - (__float_as_int(most) >> 23), 253) << 23;
        const bool fits = again && most * scale[r] < 32768.0f;
        grow[r] = fits || !again
                      ? 1.0f
                      : __int_as_float(to) * dcc_inverse_power(scale[r]);
        scale[r] = fits ? scale[r] : __int_as_float(to);
#pragma unroll
        for (int c = 0; c < N; ++c)
            if (c / 2 % 2 == r)
                score[c] *= scale[r];
    }
}

// Sums of rows, which lie as scores do, times `grow` of the row.
template <int N> DCC_DEVICE void dcc_grow(float (&sums)[N], const float *grow)
{
    if (!__any_sync(0xffffffffu, grow[0] != 1.0f || grow[1] != 1.0f))
        return;
#pragma unroll
    for (int c = 0; c < N; ++c)
        sums[c] *= grow[c / 2 % 2];
}

// Two warpgroups have the same rows and different columns: the other one leaves
// what it has of them and is done; the first one adds that to its own.
template <int N>
DCC_DEVICE bool dcc_join_teams(float (&left)[N + 4][128], int team,
                               float (&sums)[N], float (&most)[2],
                               float (&sum)[2], float scale)
{
    const int thread = threadIdx.x % 128;
    if (team > 0) {
#pragma unroll
        for (int c = 0; c < N; ++c)
            left[c][thread] = sums[c];
#pragma unroll
        for (int r = 0; r < 2; ++r) {
            left[N + r][thread] = most[r];
            left[N + 2 + r][thread] = sum[r];
        }
        dcc_barrier_arrive(1, 256);
        return true;
    }
    dcc_barrier_sync(1, 256);
    float mine[2], other[2];
#pragma unroll
    for (int r = 0; r < 2; ++r) {
        const float there = left[N + r][thread], here = most[r];
        most[r] = fmaxf(here, there);
        const float by = fabsf(most[r] * scale) == INFINITY ? 1.0f : scale;
        const float base = most[r] == -INFINITY ? 0.0f : most[r] * by;
        mine[r] = dcc_ex2(here * by - base);
        other[r] = dcc_ex2(there * by - base);
        sum[r] = sum[r] * mine[r] + left[N + 2 + r][thread] * other[r];
    }
#pragma unroll
    for (int c = 0; c < N; ++c)
        sums[c] = sums[c] * mine[c / 2 % 2] +
                  left[c][thread] * other[c / 2 % 2];
    return false;
}

// The same of sums alone.
template <int N>
DCC_DEVICE bool dcc_join_teams(float (&left)[N][128], int team,
                               float (&sums)[N])
{
    const int thread = threadIdx.x % 128;
    if (team > 0) {
#pragma unroll
        for (int c = 0; c < N; ++c)
            left[c][thread] = sums[c];
        dcc_barrier_arrive(1, 256);
        return true;
    }
    dcc_barrier_sync(1, 256);
#pragma unroll
    for (int c = 0; c < N; ++c)
        sums[c] += left[c][thread];
    return false;
}

// Scores as the next product's operand, rounded to T.
template <class T, int N>
DCC_DEVICE void dcc_pack_scores(uint32_t (&weight)[N / 8][4],
                                const float (&score)[N])
{
#pragma unroll
    for (int c = 0; c < N / 2; ++c)
        weight[c / 4][c % 4] = dcc_pack(dcc_from_float<T>(score[2 * c]),
                                        dcc_from_float<T>(score[2 * c + 1]));
}

// Scores as two operands of f16: rounded, and 2048 times what that leaves.
template <int N>
DCC_DEVICE void dcc_pack_halves(uint32_t (&weight)[N / 8][4],
                                uint32_t (&low)[N / 8][4],
                                const float (&score)[N])
{
    dcc_pack_scores<__half>(weight, score);
    float rest[N];
#pragma unroll
    for (int c = 0; c < N; ++c) {
        const float high =
            dcc_word_value<__half>(&weight[c / 8][c / 2 % 4], c % 2);
        rest[c] = (score[c] - high) * 2048;
    }
    dcc_pack_scores<__half>(low, rest);
}

// As three of bf16, whose sum they are.
template <int N>
DCC_DEVICE void dcc_pack_thirds(uint32_t (&weight)[N / 8][4],
                                uint32_t (&mid)[N / 8][4],
                                uint32_t (&low)[N / 8][4],
                                const float (&score)[N])
{
    float rest[N];
    dcc_pack_scores<__nv_bfloat16>(weight, score);
#pragma unroll
    for (int c = 0; c < N; ++c)
        rest[c] =
            score[c] - dcc_to_float(dcc_from_float<__nv_bfloat16>(score[c]));
    dcc_pack_scores<__nv_bfloat16>(mid, rest);
#pragma unroll
    for (int c = 0; c < N; ++c)
        rest[c] -= dcc_to_float(dcc_from_float<__nv_bfloat16>(rest[c]));
    dcc_pack_scores<__nv_bfloat16>(low, rest);
}

// The sums of both parts of f16.
template <int N>
DCC_DEVICE void dcc_add_low(float (&sums)[N], const float (&low)[N])
{
#pragma unroll
    for (int c = 0; c < N; ++c)
        sums[c] += low[c] * (1.0f / 2048);
}

// The same of rows that dcc_fit_rows scaled.
template <int N>
DCC_DEVICE void dcc_add_low(float (&sums)[N], const float (&low)[N],
                            const float (&scale)[2])
{
    const float by[2] = {dcc_inverse_power(scale[0]),
                         dcc_inverse_power(scale[1])};
#pragma unroll
    for (int c = 0; c < N; ++c)
        sums[c] = (sums[c] + low[c] * (1.0f / 2048)) * by[c / 2 % 2];
}

// Sums of 16 rows, of which there are `rows`, where products leave them: `to`
// is the thread's first pair, and rows are `stride` apart.
template <int N>
DCC_DEVICE void dcc_store_sums(float *to, int stride, int rows,
                               const float (&sums)[N])
{
#pragma unroll
    for (int c = 0; c < N; c += 2)
        if (c % 4 / 2 * 8 + (int)threadIdx.x % 32 / 4 < rows)
            *reinterpret_cast<float2 *>(
                &to[c % 4 / 2 * 8 * stride + c / 4 * 8]) =
                make_float2(sums[c], sums[c + 1]);
}

// What the teams of a block have of M rows: of each the greatest score and the
// sum so far (dcc_soften), and its N sums, of rows on different banks. A team
// has columns of its own.
template <int TEAMS, int M, int N> struct dcc_part {
    static constexpr int teams = TEAMS;
    float2 row[TEAMS][M];
    float sum[TEAMS][M][N + 8];
};

// A warp leaves what it has of 16 rows from `top` on. The lanes' parts of `sum`
// are added already.
template <int TEAMS, int M, int N>
DCC_DEVICE void dcc_leave_rows(dcc_part<TEAMS, M, N> &part, int team, int top,
                               const float (&acc)[N / 2],
                               const float (&most)[2], const float (&sum)[2])
{
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int r = 0; r < 2; ++r) {
        const int m = top + lane / 4 + r * 8;
        if (m >= M)
            continue;
        if (lane % 4 == 0)
            part.row[team][m] = make_float2(most[r], sum[r]);
#pragma unroll
        for (int n = 0; n < N / 8; ++n)
            *reinterpret_cast<float2 *>(
                &part.sum[team][m][n * 8 + lane % 4 * 2]) =
                make_float2(acc[n * 4 + r * 2], acc[n * 4 + r * 2 + 1]);
    }
}

// Row m of SPLIT parts together: the greatest score, the sum, and the sums of
// columns n and n + 1, in the order of the parts.
struct dcc_joined {
    float most, sum, v[2];
};

// Part s is that of the s-th block of the cluster, or the s-th in memory. Some
// are read at a time, before they are needed.
template <int SPLIT, bool CLUSTER, class PART>
DCC_DEVICE dcc_joined dcc_join_rows(const PART *parts, int m, int n,
                                    float scale)
{
    constexpr int TEAMS = PART::teams;
    constexpr int ALL = SPLIT * TEAMS, STEP = ALL < 16 ? ALL : 16;
    dcc_joined all = {-INFINITY, 0.0f, {0.0f, 0.0f}};
    for (int i0 = 0; i0 < ALL; i0 += STEP) {
        float2 row[STEP], v[STEP];
        float most = all.most;
#pragma unroll
        for (int i = 0; i < STEP; ++i) {
            row[i] = make_float2(-INFINITY, 0.0f);
            v[i] = make_float2(0.0f, 0.0f);
            if (ALL % STEP && i0 + i >= ALL)
                continue;
            const int s = (i0 + i) / TEAMS, team = (i0 + i) % TEAMS;
            const PART *part = &parts[CLUSTER ? 0 : s];
            if constexpr (CLUSTER)
                part = dcc_cluster_peer(parts, s);
            const auto of = part->row[team][m];
            row[i] = make_float2(of.x, of.y);
            v[i] = *reinterpret_cast<const float2 *>(&part->sum[team][m][n]);
        }
#pragma unroll
        for (int i = 0; i < STEP; ++i)
            most = fmaxf(most, row[i].x);
        const float base = most == -INFINITY ? 0.0f : most;
        const float before = dcc_ex2((all.most - base) * scale);
        all.most = most;
        all.sum *= before;
        all.v[0] *= before;
        all.v[1] *= before;
#pragma unroll
        for (int i = 0; i < STEP; ++i) {
            const float grow = dcc_ex2((row[i].x - base) * scale);
            all.sum += row[i].y * grow;
            all.v[0] += v[i].x * grow;
            all.v[1] += v[i].y * grow;
        }
    }
    return all;
}

// What a block of a cluster has of M rows for the one that finishes N of their
// columns: words of 16 bytes.
template <int M, int N> struct alignas(16) dcc_sent {
    static constexpr int teams = 1;
    float4 row[1][M];  // as dcc_part's
    float sum[1][M][(N + 3) / 4 * 4];
};

// A block's rows, joined, to all blocks of its cluster: what one finishes comes
// to `sent` there, in the order of the blocks, and counts against `arrived`.
template <int CLUSTER, int THREADS, int TEAMS, int M, int BN, int N>
DCC_DEVICE void dcc_send_rows(dcc_sent<M, N> (&sent)[CLUSTER],
                              uint64_t *arrived,
                              const dcc_part<TEAMS, M, BN> &from, float scale)
{
    constexpr int FOURS = (N + 3) / 4;
    dcc_sent<M, N> *const mine = &sent[dcc_cluster_rank()];
    for (int x = threadIdx.x; x < CLUSTER * M * FOURS; x += THREADS) {
        const int s = x / (M * FOURS), m = x / FOURS % M, n = x % FOURS * 4;
        const int at = s * N + n;  // a last pair may be another block's
        const auto a = dcc_join_rows<1, false>(&from, m, at, scale);
        const auto b = dcc_join_rows<1, false>(&from, m, at + 2, scale);
        dcc_sent<M, N> *const to = dcc_cluster_peer(mine, s);
        uint64_t *const there = dcc_cluster_peer(arrived, s);
        dcc_cluster_send(reinterpret_cast<float4 *>(&to->sum[0][m][n]),
                         make_float4(a.v[0], a.v[1], b.v[0], b.v[1]), there);
        if (n == 0)
            dcc_cluster_send(&to->row[0][m],
                             make_float4(a.most, a.sum, 0.0f, 0.0f), there);
    }
}

// The rows of SPLIT parts, joined, of N columns from n0 on, to memory. All
// threads call.
template <int THREADS, int SPLIT, bool CLUSTER, int TEAMS, int M, int BN, int N>
DCC_DEVICE void dcc_leave_part(dcc_part<1, M, N> &to,
                               const dcc_part<TEAMS, M, BN> &from, int n0,
                               float scale)
{
    constexpr int AT_ONCE = SPLIT * TEAMS < 16 ? 16 / (SPLIT * TEAMS) : 1;
#pragma unroll AT_ONCE
    for (int x = threadIdx.x; x < M * (N / 2); x += THREADS) {
        const int m = x / (N / 2), n = x % (N / 2) * 2;
        const dcc_joined all =
            dcc_join_rows<SPLIT, CLUSTER>(&from, m, n0 + n, scale);
        if (n == 0)
            to.row[0][m] = make_float2(all.most, all.sum);
        *reinterpret_cast<float2 *>(&to.sum[0][m][n]) =
            make_float2(all.v[0], all.v[1]);
    }
}

#endif
