// dcc_contract.cuh - what kernels of contractions share: the places of tiles,
// the products of a thread's or a warp's fragments, and the way of their sums
// through shared memory. dcc_device.cuh includes it.
#ifndef DCC_CONTRACT_CUH
#define DCC_CONTRACT_CUH

// ---- results ----------------------------------------------------------------

// Vectors side by side; the address is a multiple of one's size.
template <dcc_way WAY = DCC_KEPT, class V, int N, class T>
DCC_DEVICE void dcc_write(T *to, const V (&from)[N])
{
#pragma unroll
    for (int i = 0; i < N; ++i)
        dcc_put<WAY>(reinterpret_cast<V *>(to) + i, from[i]);
}

// One such vector from memory to memory.
template <class V, dcc_way WAY = DCC_KEPT, class T>
DCC_DEVICE void dcc_copy(T *to, const T *from)
{
    dcc_put<WAY>(to, *reinterpret_cast<const V *>(from));
}

// ---- sums over a range ------------------------------------------------------

// Of sums of which one is NaN, this is NaN, too; else seldom.
template <int N>
DCC_DEVICE float dcc_nan_of(const float (&sums)[N])
{
    float all[4] = {};
#pragma unroll
    for (int k = 0; k < N; ++k)
        all[k % 4] += sums[k];
    return (all[0] + all[1]) + (all[2] + all[3]);
}

// Each that is NaN becomes what `redo` makes of its number.
template <int N, class Redo>
DCC_DEVICE void dcc_redo_one(float (&sums)[N], Redo redo)
{
#pragma unroll 1
    for (int at = 0; at < N; ++at) {
        float sum = 0;
#pragma unroll
        for (int k = 0; k < N; ++k) // registers have no number
            sum = k == at ? sums[k] : sum;
        if (sum == sum)
            continue;
        sum = redo(at);
#pragma unroll
        for (int k = 0; k < N; ++k)
            sums[k] = k == at ? sum : sums[k];
    }
}

// The same of fragments of 64 rows, of which a thread has two: redo(i, at), i
// the number of such a row.
template <int M, int N, class Redo>
DCC_DEVICE void dcc_redo_nan(float (&sums)[M][N], Redo redo)
{
#pragma unroll
    for (int i = 0; i < M; ++i) {
        const float all = dcc_nan_of(sums[i]);
        if (all != all)
            dcc_redo_one(sums[i], [&](int at) {
                return redo(2 * i + at / 2 % 2, at);
            });
    }
}

// Of neighbouring columns.
template <class V, int N, class Redo>
DCC_DEVICE void dcc_redo_nan(V (&sums)[N], Redo redo)
{
    enum { EACH = sizeof sums[0].v / sizeof sums[0].v[0] };
    float of[N * EACH];
#pragma unroll
    for (int k = 0; k < N * EACH; ++k)
        of[k] = sums[k / EACH].v[k % EACH];
    const float all = dcc_nan_of(of);
    if (all == all)
        return;
    dcc_redo_one(of, redo);
#pragma unroll
    for (int k = 0; k < N * EACH; ++k)
        sums[k / EACH].v[k % EACH] = of[k];
}

// ---- f32 factors on tensor cores --------------------------------------------

// The number of 11 bits that is nearest to x, which tf32 products take as it
// is; x itself where that is not finite.
DCC_DEVICE float dcc_nearest_tf32(float x)
{
    const uint32_t bits = __float_as_uint(x);
    const bool finite = (bits & 0x7f800000u) != 0x7f800000u;
    return finite ? __uint_as_float((bits + 0x1000u) & 0xffffe000u) : x;
}

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800

// d += a * b with factors rounded to tf32 (11 bits); a and b hold floats in the
// places of dcc_mma_m16n8k8_tf32.
DCC_DEVICE void dcc_mma_tf32(float (&d)[4], const uint32_t (&a)[4],
                             const uint32_t (&b)[2])
{
    uint32_t ra[4], rb[2];
#pragma unroll
    for (int i = 0; i < 4; ++i)
        ra[i] = dcc_to_tf32(__uint_as_float(a[i]));
#pragma unroll
    for (int i = 0; i < 2; ++i)
        rb[i] = dcc_to_tf32(__uint_as_float(b[i]));
    dcc_mma_m16n8k8_tf32(d, ra, rb);
}

// What is left of x when its upper 19 bits, which tf32 products read, are taken
// away. Infinity leaves NaN. A product reads 19 bits of the rest, too, and what
// is cut off has x's sign: all sums of products would be 2^-22 of themselves
// too small, which the layers of a network add up. So half a unit more, after
// which cutting off is rounding; a rest of at most 11 bits stays what it is.
DCC_DEVICE float dcc_tf32_rest(float x)
{
    return (x - __uint_as_float(__float_as_uint(x) & 0xffffe000u)) * 0x1.002p0f;
}

// Row `n` of 8 k of a tile that lies across k, where `part` and `of` say which
// of them a piece has: each second one where both factors lie so, by which
// reads are of different banks, or 4 in a row, as a factor along k has them.
template <bool BOTH> DCC_DEVICE int dcc_across(int part, int of)
{
    return BOTH ? of * 2 + part : part * 4 + of;
}

// A warp's fragment of 16 rows, from `row` of a box's 32 on, and 8 k, from `k`
// on, of a tile of f32 that lies across k, in 128-byte swizzle.
template <bool BOTH>
DCC_DEVICE void dcc_fragment_across(uint32_t (&to)[4],
                                    const float (&box)[32][32], int row, int k)
{
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int e = 0; e < 4; ++e) {
        const int m = row + e % 2 * 8 + lane / 4;
        const int low = dcc_across<BOTH>(e / 2, lane % 4);
        to[e] = __float_as_uint(box[k + low][(m / 4 ^ low) * 4 + m % 4]);
    }
}

// The small part of f32 numbers where they lie, by 96 threads from number 0 on.
// Several reads are under way before the first write: nvcc moves none ahead of
// a write, which might be to what is read.
template <int BN>
DCC_DEVICE void dcc_split_along(float (&small)[BN][32],
                                const float (&from)[BN][32], int thread)
{
    enum { THREADS = 96, ALL = BN * 8, AHEAD = 6 };
    const dcc_f32x4 *const in = reinterpret_cast<const dcc_f32x4 *>(from);
    dcc_f32x4 *const out = reinterpret_cast<dcc_f32x4 *>(small);
    for (int i = thread; i < ALL; i += THREADS * AHEAD) {
        dcc_f32x4 v[AHEAD];
#pragma unroll
        for (int j = 0; j < AHEAD; ++j)
            if (i + j * THREADS < ALL)
                v[j] = in[i + j * THREADS];
#pragma unroll
        for (int j = 0; j < AHEAD; ++j) {
#pragma unroll
            for (int e = 0; e < 4; ++e)
                v[j].v[e] = dcc_tf32_rest(v[j].v[e]);
            if (i + j * THREADS < ALL)
                out[i + j * THREADS] = v[j];
        }
    }
}

// The two parts of f32 numbers as rows of 32 k, of a tile that lies across k,
// by three warps; big ones are the numbers themselves, of which products leave
// out the lower bits. A warp takes 16 of 32 columns at a time, a lane 4 k of 4
// of them. Lanes are dealt out such that both their reads and their writes are
// of different banks. Of DEAL columns the pairs are dealt to as many parts of
// the rows: a product's lane then has DEAL neighbours.
template <bool BOTH, int DEAL, int BN>
DCC_DEVICE void dcc_split_across(float (&big)[BN][32], float (&small)[BN][32],
                                 const float (&from)[BN / 32][32][32],
                                 int thread)
{
    const int part = thread % 8;
    const int first = (BOTH ? part & 6 : part) ^ thread / 8 % 4;
    for (int i = thread / 32; i < BN / 16; i += 3) {
        const int box = i / 2, piece = first ^ i % 2 * 4;
        dcc_f32x4 v[4];
#pragma unroll
        for (int r = 0; r < 4; ++r) {
            const int low = dcc_across<BOTH>(part % 2, r);
            v[r] = *reinterpret_cast<const dcc_f32x4 *>(
                &from[box][part / 2 * 8 + low][(piece ^ low) * 4]);
        }
#pragma unroll
        for (int e = 0; e < 4; ++e) {
            const int n = box * 32 + piece * 4 + e;
            const int row =
                n / DEAL * 2 + n % DEAL / 2 * (2 * BN / DEAL) + n % 2;
            const int at = (part ^ row % 8) * 4;
            dcc_f32x4 whole, rest;
#pragma unroll
            for (int r = 0; r < 4; ++r) {
                whole.v[r] = v[r].v[e];
                rest.v[r] = dcc_tf32_rest(v[r].v[e]);
            }
            *reinterpret_cast<dcc_f32x4 *>(&big[row][at]) = whole;
            *reinterpret_cast<dcc_f32x4 *>(&small[row][at]) = rest;
        }
    }
}

// Leaves of x, a float's bits, the tf32 number that is nearest, and returns the
// rest, which is NaN if x is not finite. Unlike dcc_tf32_rest's it has x's sign
// as often as not, and so have its products with another factor's rest, which
// sums of three leave out: these are not all too small.
DCC_DEVICE uint32_t dcc_tf32_split(uint32_t &x)
{
    const float whole = __uint_as_float(x);
    x = (x + 0x1000u) & 0xffffe000u;
    return __float_as_uint(whole - __uint_as_float(x));
}

// dcc_mma_tf32 with each factor as a sum of two tf32 numbers; the product of
// the two small parts is left out. The 8 terms are added to d in f32, because
// the tensor cores' own sums are cut off, not rounded.
DCC_DEVICE void dcc_mma_3xtf32(float (&d)[4], const uint32_t (&a)[4],
                               const uint32_t (&b)[2])
{
    uint32_t big_a[4], big_b[2], small_a[4], small_b[2];
    float sum[4] = {};
#pragma unroll
    for (int i = 0; i < 4; ++i)
        big_a[i] = a[i], small_a[i] = dcc_tf32_split(big_a[i]);
#pragma unroll
    for (int i = 0; i < 2; ++i)
        big_b[i] = b[i], small_b[i] = dcc_tf32_split(big_b[i]);
    dcc_mma_m16n8k8_tf32(sum, small_a, big_b);
    dcc_mma_m16n8k8_tf32(sum, big_a, small_b);
    dcc_mma_m16n8k8_tf32(sum, big_a, big_b);
#pragma unroll
    for (int i = 0; i < 4; ++i)
        d[i] += sum[i];
}

// dcc_tf32_split where what is not finite has no rest.
DCC_DEVICE uint32_t dcc_tf32_split_finite(uint32_t &x)
{
    const bool finite = (x & 0x7f800000u) != 0x7f800000u;
    const uint32_t whole = x, rest = dcc_tf32_split(x);
    x = finite ? x : whole;
    return finite ? rest : 0;
}

// dcc_mma_3xtf32 where b holds tf32 numbers: a alone is a sum of two.
DCC_DEVICE void dcc_mma_2xtf32_a(float (&d)[4], const uint32_t (&a)[4],
                                 const uint32_t (&b)[2])
{
    uint32_t big[4], small[4];
    float sum[4] = {};
#pragma unroll
    for (int i = 0; i < 4; ++i)
        big[i] = a[i], small[i] = dcc_tf32_split_finite(big[i]);
    dcc_mma_m16n8k8_tf32(sum, small, b);
    dcc_mma_m16n8k8_tf32(sum, big, b);
#pragma unroll
    for (int i = 0; i < 4; ++i)
        d[i] += sum[i];
}

// And where a holds tf32 numbers.
DCC_DEVICE void dcc_mma_2xtf32_b(float (&d)[4], const uint32_t (&a)[4],
                                 const uint32_t (&b)[2])
{
    uint32_t big[2], small[2];
    float sum[4] = {};
#pragma unroll
    for (int i = 0; i < 2; ++i)
        big[i] = b[i], small[i] = dcc_tf32_split_finite(big[i]);
    dcc_mma_m16n8k8_tf32(sum, a, small);
    dcc_mma_m16n8k8_tf32(sum, a, big);
#pragma unroll
    for (int i = 0; i < 4; ++i)
        d[i] += sum[i];
}

#endif // sm_80

// ---- tiles and sums of tiles ------------------------------------------------

// A row and a column: of tiles, or in one.
struct dcc_tile {
    int m, n;
};

// The i-th of COUNT pieces of k from `begin` on, taken in LEAPS turns: those
// that are under way at one time come from far apart. All blocks read rows of
// weights side by side from the same k on; where that differs in few bits of an
// address only, some channels of the memory wait for others.
template <int COUNT, int LEAPS> DCC_DEVICE int dcc_leap(int i, int begin = 0)
{
    static_assert(COUNT % LEAPS == 0, "turns of equal length");
    i -= begin;
    return begin + i % LEAPS * (COUNT / LEAPS) + i / LEAPS;
}

// The four sums of a thread of one mma, 16 rows by 8 columns, to a tile in
// shared memory with `pitch` elements a row; `at` is the place of the first.
template <class T>
DCC_DEVICE void dcc_put_sums(T *at, int pitch, const T (&acc)[4])
{
    using pair = dcc_vector<T, 2>;
    *reinterpret_cast<pair *>(at) = pair{{acc[0], acc[1]}};
    *reinterpret_cast<pair *>(at + 8 * pitch) = pair{{acc[2], acc[3]}};
}

// The same for all I by J such tiles of a warp, which begin at row, col.
template <class T, int PITCH, int I, int J>
DCC_DEVICE void dcc_put_tile(T (*to)[PITCH], int row, int col,
                             const T (&acc)[I][J][4])
{
    const int lane = threadIdx.x % 32;
    T *const at = &to[row + lane / 4][col + lane % 4 * 2];
#pragma unroll
    for (int i = 0; i < I; ++i)
#pragma unroll
        for (int j = 0; j < J; ++j)
            dcc_put_sums(at + i * 16 * PITCH + j * 8, PITCH, acc[i][j]);
}

// The same as what f(value, row, column) makes of them, in 16 bits.
template <class T, int PITCH, int I, int J, class F>
DCC_DEVICE void dcc_put_factors(T (*to)[PITCH], int row, int col,
                                const float (&acc)[I][J][4], F f)
{
    const int lane = threadIdx.x % 32;
    row += lane / 4;
    col += lane % 4 * 2;
#pragma unroll
    for (int i = 0; i < I; ++i)
#pragma unroll
        for (int j = 0; j < J; ++j)
#pragma unroll
            for (int h = 0; h < 2; ++h) {
                const int r = row + i * 16 + h * 8, c = col + j * 8;
                const float *const x = &acc[i][j][h * 2];
                *reinterpret_cast<uint32_t *>(&to[r][c]) =
                    dcc_pack(dcc_from_float<T>(f(x[0], r, c)),
                             dcc_from_float<T>(f(x[1], r, c + 1)));
            }
}

// Adds the products of I fragments of a by J / 2 of b, two columns of tiles in
// each of b's, by one of the wrappers of mma.sync.
template <auto MMA, class T, int I, int J>
DCC_DEVICE void dcc_mma_tile(T (&acc)[I][J][4], const uint32_t (&a)[I][4],
                             const uint32_t (&b)[J / 2][4])
{
#pragma unroll
    for (int i = 0; i < I; ++i)
#pragma unroll
        for (int j = 0; j < J; ++j) {
            const uint32_t *const at = &b[j / 2][j % 2 * 2];
            const uint32_t pair[2] = {at[0], at[1]};
            MMA(acc[i][j], a[i], pair);
        }
}

// The same of one fragment of a and one of b, two columns of tiles, for sums
// that lie one after the other, as wgmma leaves them: theirs begin at `at`.
template <auto MMA, int N>
DCC_DEVICE void dcc_mma_two(float (&acc)[N], int at, const uint32_t (&a)[4],
                            const uint32_t (&b)[4])
{
#pragma unroll
    for (int t = 0; t < 2; ++t) {
        float *const sum = &acc[at + t * 4];
        float d[4] = {sum[0], sum[1], sum[2], sum[3]};
        const uint32_t pair[2] = {b[t * 2], b[t * 2 + 1]};
        MMA(d, a, pair);
#pragma unroll
        for (int i = 0; i < 4; ++i)
            sum[i] = d[i];
    }
}

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800

// dcc_cp_async16, or the same through registers: a lane that waits for copies
// waits for all that it has begun before, too.
DCC_DEVICE void dcc_copy16(bool async, void *smem, const void *global,
                           int bytes = 16)
{
    if (async)
        dcc_cp_async16(smem, global, bytes);
    else
        *reinterpret_cast<uint4 *>(smem) =
            bytes ? *reinterpret_cast<const uint4 *>(global) : uint4{};
}

#endif // sm_80

// Where the sums of a thread begin in a tile of BM x BN, of which slices of k
// have one each, some warps after the other: a warp's lanes lie
// LANES_M x LANES_N, neighbours so that they read the same vectors of shared
// memory, warps in rows. A thread has TM x TN sums, in fours: of columns,
// LANES_N * 4 apart, and TOGETHER rows, LANES_M * TOGETHER apart.
template <int LANES_M, int LANES_N, int TM, int TN, int BM, int BN,
          int TOGETHER = 4>
DCC_DEVICE dcc_tile dcc_thread_tile()
{
    constexpr int across = BN / (LANES_N * TN);
    constexpr int warps = BM / (LANES_M * TM) * across;
    const int warp = threadIdx.x / 32 % warps, lane = threadIdx.x % 32;
    const int lane_m = lane / (2 * LANES_N) * 2 + lane % 2;
    const int lane_n = lane / 2 % LANES_N;
    return {warp / across * (LANES_M * TM) + lane_m * TOGETHER,
            warp % across * (LANES_N * TN) + lane_n * 4};
}

// Vectors, `APART` elements from one to the next.
template <int APART, class V, int N, class T>
DCC_DEVICE void dcc_read_apart(V (&to)[N], const T *from)
{
#pragma unroll
    for (int i = 0; i < N; ++i)
        to[i] = *reinterpret_cast<const V *>(from + i * APART);
}

// Adds the products of a's rows by b's columns: acc[i][j][c] is the sum of
// column c ^ 1 of four. Registers lie in two banks, the even and the odd ones,
// and a bank gives one operand a cycle. What comes or goes as a vector lies in
// neighbours: a sum's neighbour has b's factor. Back and forth: products in a
// row have a factor in common.
template <class T, int I, int J, class V>
DCC_DEVICE void dcc_multiply(T (&acc)[I][J][4], const V (&a)[I / 4],
                             const V (&b)[J])
{
#pragma unroll
    for (int i = 0; i < I; ++i)
#pragma unroll
        for (int j = 0; j < J * 4; ++j) {
            const int c = i % 2 ? J * 4 - 1 - j : j;
            T &sum = acc[i][c / 4][c % 4 ^ 1];
            sum = dcc_mad(a[i / 4].v[i % 4], b[c / 4].v[c % 4], sum);
        }
}

// The same of another function of both than their product.
template <class T, int I, int J, class V, class F>
DCC_DEVICE void dcc_add_terms(T (&acc)[I][J][4], const V (&a)[I / 4],
                              const V (&b)[J], F term)
{
#pragma unroll
    for (int i = 0; i < I; ++i)
#pragma unroll
        for (int j = 0; j < J * 4; ++j) {
            const int c = i % 2 ? J * 4 - 1 - j : j;
            acc[i][c / 4][c % 4 ^ 1] +=
                term(a[i / 4].v[i % 4], b[c / 4].v[c % 4]);
        }
}

// dcc_multiply, where a's vectors are four k of a row each: the products of k.
// With the fourth of them a row is done with, and the next four of it are read
// from `next`, APART elements from row to row.
template <int APART, class T, int I, int J, class V>
DCC_DEVICE void dcc_multiply_rows(T (&acc)[I][J][4], V (&a)[I], int k,
                                  const V (&b)[J], const T *next)
{
#pragma unroll
    for (int i = 0; i < I; ++i) {
#pragma unroll
        for (int j = 0; j < J * 4; ++j) {
            const int c = i % 2 ? J * 4 - 1 - j : j;
            T &sum = acc[i][c / 4][c % 4 ^ 1];
            sum = dcc_mad(a[i].v[k], b[c / 4].v[c % 4], sum);
        }
        if (k == 3)
            a[i] = *reinterpret_cast<const V *>(next + i * APART);
    }
}

// Those sums as they lie, to a tile; the thread's begin at row, col.
template <int LANES_M, int LANES_N, int TOGETHER = 4, class T, int PITCH, int I,
          int J>
DCC_DEVICE void dcc_put_apart(T (*to)[PITCH], int row, int col,
                              const T (&acc)[I][J][4])
{
    T *const at = &to[row][col];
#pragma unroll
    for (int i = 0; i < I; ++i)
#pragma unroll
        for (int j = 0; j < J; ++j) {
            const T (&four)[4] = acc[i][j];
            const int down = i / TOGETHER * (LANES_M * TOGETHER) + i % TOGETHER;
            T *const first = at + down * PITCH;
            *reinterpret_cast<dcc_vector<T, 4> *>(first + j * (LANES_N * 4)) =
                dcc_vector<T, 4>{{four[0], four[1], four[2], four[3]}};
        }
}

// Rows of 16-bit elements in shared memory, moved by one element, so that what
// begins at odd ones lies in whole words: two words side by side.
template <int THREADS, class T, int C, int R, int P>
DCC_DEVICE void dcc_move_by_one(T (&to)[C][R][P], const T (&from)[C][R][P])
{
    constexpr int words = C * R * P / 2;
    const uint32_t *const in = reinterpret_cast<const uint32_t *>(from);
    uint32_t *const out = reinterpret_cast<uint32_t *>(to);
    for (int i = threadIdx.x; i < words; i += THREADS)
        out[i] = in[i] >> 16 | in[min(i + 1, words - 1)] << 16;
}

// Copies of a patch of ROWS rows of 16-bit elements, the i-th moved by i * MOVE
// + SHIFT elements; what comes behind a row is any. `from` has one row more.
template <int THREADS, int MOVE, int SHIFT, int ROWS, int COPIES, int SIZE,
          int PITCH, class T>
DCC_DEVICE void dcc_move_copies(T (&to)[COPIES][SIZE],
                                const T (&from)[ROWS + 1][PITCH])
{
    const uint4 *const pieces = reinterpret_cast<const uint4 *>(&from);
    for (int i = threadIdx.x; i < ROWS * PITCH / 8; i += THREADS) {
        uint4 read[3];
#pragma unroll
        for (int j = 0; j < 3; ++j)
            read[j] = pieces[min(i + j, ROWS * PITCH / 8)];
        const uint32_t in[12] = {read[0].x, read[0].y, read[0].z, read[0].w,
                                 read[1].x, read[1].y, read[1].z, read[1].w,
                                 read[2].x, read[2].y, read[2].z, read[2].w};
#pragma unroll
        for (int copy = 0; copy < COPIES; ++copy) {
            const int by = copy * MOVE + SHIFT;
            uint32_t out[4];
#pragma unroll
            for (int j = 0; j < 4; ++j) {
                const uint32_t *const word = &in[by / 2 + j];
                out[j] = by % 2 ? word[0] >> 16 | word[1] << 16 : word[0];
            }
            reinterpret_cast<uint4 *>(to[copy])[i] = {out[0], out[1], out[2],
                                                      out[3]};
        }
    }
}

// The sum of N neighbouring lanes, of which lane / N is the same, in each.
template <int N> DCC_DEVICE float dcc_lanes_sum(float x)
{
#pragma unroll
    for (int i = 1; i < N; i *= 2)
        x += __shfl_xor_sync(0xffffffffu, x, i);
    return x;
}

// Where piece `piece` (8 elements of 16 bits) of a row of COLS (16, 32 or 64)
// is kept in shared memory: pieces change places with the row, so that neither
// those of 8 rows nor those of a row meet in a bank.
template <int COLS> DCC_DEVICE int dcc_packed_at(int row, int piece)
{
    return (piece ^ (row / (64 / COLS) % (COLS / 8))) * 8;
}

// The element of T that 16 bytes begin with, as TMA leaves them in a row of 128
// bytes.
template <class T> DCC_DEVICE int dcc_box_at(int row, int piece)
{
    return (piece ^ (row % 8)) * (16 / (int)sizeof(T));
}

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900

// A pair of 16 bits each.
template <class T> DCC_DEVICE uint32_t dcc_word(const T &pair)
{
    return *reinterpret_cast<const uint32_t *>(&pair);
}

// 16 rows of COLS columns of a warp, as two words of pairs for each 8 columns
// lie after products, to shared memory.
template <int COLS, class T>
DCC_DEVICE void dcc_pack_rows(T (&to)[16][COLS],
                              const uint32_t (&packed)[COLS / 16][4])
{
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int c = 0; c < COLS / 16; ++c)
        dcc_stmatrix_x4(&to[lane % 16]
                           [dcc_packed_at<COLS>(lane % 16, c * 2 + lane / 16)],
                        packed[c]);
    __syncwarp();
}

// Of line `line` of what dcc_pack_rows left, columns first .. count - 1 to
// memory, where all COLS begin at a whole word.
template <int COLS, dcc_way WAY = DCC_KEPT, class T>
DCC_DEVICE void dcc_store_words(T *to, const T (&from)[16][COLS], int line,
                                int first, int count)
{
    const int at = (int)threadIdx.x % (COLS / 8) * 8;
    const T *const piece = &from[line][dcc_packed_at<COLS>(line, at / 8)];
    if (at >= first && at + 8 <= count)
        dcc_put<WAY>(to + at, *reinterpret_cast<const uint4 *>(piece));
    else
#pragma unroll 1
        for (int i = max(first - at, 0); i < min(count - at, 8); ++i)
            dcc_put<WAY>(to + at + i, piece[i]);
}

#endif // sm_90

// Tile `i` of tiles_m x tiles_n, which are dealt in bands of `band` rows, there
// in strips of `strip` columns, and there row by row: blocks that run at one
// time read few distinct tiles, neighbours fewer, and the L2 serves most reads.
DCC_DEVICE dcc_tile dcc_tile_in_band(int i, int band, int tiles_m, int tiles_n,
                                     int strip = 1)
{
    const int first = i / (band * tiles_n) * band;
    const int place = i % (band * tiles_n);
    const int height = tiles_m % band ? min(band, tiles_m - first) : band;
    const int left = place / (height * strip) * strip;
    const int width = tiles_n % strip ? min(strip, tiles_n - left) : strip;
    const int at = place % (height * strip);
    return {first + at / width, left + at % width};
}

template <class V, int N, class T>
DCC_DEVICE void dcc_add(V (&to)[N], const T *from)
{
#pragma unroll
    for (int i = 0; i < N; ++i) {
        const V x = reinterpret_cast<const V *>(from)[i];
#pragma unroll
        for (int c = 0; c < (int)(sizeof(V) / sizeof(T)); ++c)
            to[i].v[c] = dcc_op_sum::apply(to[i].v[c], x.v[c]);
    }
}

// The sum of N such vectors, the next one `apart` elements on.
template <int N, class V, int M, class T>
DCC_DEVICE void dcc_add_up(V (&to)[M], const T *from, int apart)
{
#pragma unroll
    for (int i = 0; i < M; ++i)
        to[i] = V{};
#pragma unroll
    for (int i = 0; i < N; ++i)
        dcc_add(to, from + i * apart);
}

// The same of the first n, at most MOST, all of which are read at once.
template <int MOST, class V, int M, class T>
DCC_DEVICE void dcc_add_some(V (&to)[M], const T *from, int apart, int n)
{
#pragma unroll
    for (int i = 0; i < MOST; ++i)
        if (i < n)
            dcc_add(to, from + i * apart);
}

// The block's tile of BM x BN sums to memory, each added up over SLICES such
// tiles that lie one below the other.
template <int SLICES, int BM, int BN, int THREADS, class T, int PITCH>
DCC_DEVICE void dcc_leave_tile(T *to, const T (*sums)[PITCH])
{
    using four = dcc_vector<T, 4>;
    for (int i = threadIdx.x; i < BM * BN / 4; i += THREADS) {
        const int row = i / (BN / 4), col = i % (BN / 4) * 4;
        four sum[1];
        dcc_add_up<SLICES>(sum, &sums[row][col], BM * PITCH);
        dcc_write(&to[i * 4], sum);
    }
}

// The other way: the tile becomes the sum of N that were left one after the
// other, in its first slice.
template <int N, int SLICES, int BM, int BN, int THREADS, class T, int PITCH>
DCC_DEVICE void dcc_take_tile(T (*sums)[PITCH], const T *from)
{
    using four = dcc_vector<T, 4>;
    for (int i = threadIdx.x; i < BM * BN / 4; i += THREADS) {
        const int row = i / (BN / 4), col = i % (BN / 4) * 4;
        four sum[1], none[1] = {};
        dcc_add_up<N>(sum, &from[i * 4], BM * BN);
        dcc_write(&sums[row][col], sum);
#pragma unroll
        for (int s = 1; s < SLICES; ++s)
            dcc_write(&sums[s * BM + row][col], none);
    }
    __syncthreads();
}

// Whether this block is the last of n that share a counter, which is zero
// again then: what the others wrote before is visible to it. All threads call;
// one's fences are for all, since they meet before and after.
DCC_DEVICE bool dcc_last_of(unsigned int n, unsigned int *counter, int *flag)
{
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        *flag = atomicAdd(counter, 1u) == n - 1;
        if (*flag)
            *counter = 0;
        __threadfence();
    }
    __syncthreads();
    return *flag;
}

// All lanes of a warp: n constants are on their way to the L2, as far as a line
// a lane goes.
template <class T> DCC_DEVICE void dcc_touch(const T *from, int n)
{
    enum { LINE = 128 / sizeof(T) };
    const int at = (int)threadIdx.x % 32 * LINE;
    if (at < n)
        dcc_prefetch_l2(from + at);
}

template <class... T> DCC_DEVICE void dcc_touch_columns(int n, const T *...from)
{
    (dcc_touch(from, n), ...);
}

// The same by all threads of a block, of any n.
template <class T> DCC_DEVICE void dcc_touch_block(const T *from, int n)
{
    enum { LINE = 128 / sizeof(T) };
    for (int at = threadIdx.x * LINE; at < n; at += blockDim.x * LINE)
        dcc_prefetch_l2(from + at);
}

// What this thread will read is on its way to the L2.
template <class... T> DCC_DEVICE void dcc_touch_each(const T *...at)
{
    (dcc_prefetch_l2(at), ...);
}

// A number of 4 bytes, asked for here: plain reads may be moved behind a wait.
template <class T> DCC_DEVICE T dcc_read_now(const T *at)
{
    static_assert(sizeof(T) == 4, "a word");
    uint32_t word;
    dcc_stream4(&word, at);
    return reinterpret_cast<const T &>(word);
}

#endif
