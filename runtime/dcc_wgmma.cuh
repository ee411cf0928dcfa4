// dcc_wgmma.cuh - wgmma.mma_async of sm_90a: the products of a warpgroup (128
// threads, the first a multiple of 128), and what goes with them. PTX ISA 8.8,
// "Asynchronous Warpgroup Level Matrix Instructions".
//
// d is a 64 x N tile of f32 sums. Thread t of the warpgroup, in warp w = t / 32
// with g = t % 32 / 4 and q = t % 4, holds in d[4 j .. 4 j + 3] the columns
// 8 j + 2 q, + 1 of row 16 w + g, then the same columns of row 16 w + g + 8.
//
// a and b are descriptors of tiles in shared memory, in the 128-byte swizzle in
// which TMA writes boxes of 64 16-bit elements: K-major tiles have their 64
// neighbours along k, MN-major ones along the rows of a (columns of b). Adding
// (bytes >> 4) to a descriptor moves it: 16 further k are 32 bytes of a K-major
// tile and 2048 of an MN-major one. TRANS is 1 for an MN-major tile. tf32 is
// f32 without its lower 13 bits, which are ignored; a row is 32 of them, a
// product 8 k, and tiles are K-major.
#ifndef DCC_WGMMA_CUH
#define DCC_WGMMA_CUH

#include "dcc_device.cuh"

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900

// A K-major tile: rows of 128 bytes, one after another, aligned to 1024 bytes.
DCC_DEVICE uint64_t dcc_wgmma_k_major(const void *smem)
{
    return (uint64_t)((dcc_smem_u32(smem) & 0x3ffff) >> 4) | 1ull << 16 |
           64ull << 32 | 1ull << 62;
}

// An MN-major tile: rows of 64 elements, one for each k, 128 bytes apart; the
// next 64 along m or n are `next` bytes on.
DCC_DEVICE uint64_t dcc_wgmma_mn_major(const void *smem, int next)
{
    return (uint64_t)((dcc_smem_u32(smem) & 0x3ffff) >> 4) |
           (uint64_t)(next >> 4) << 16 | 64ull << 32 | 1ull << 62;
}

// The descriptor of slot `slot` of a ring of tiles, from that of the first.
template <class T, int N>
DCC_DEVICE uint64_t dcc_wgmma_slot(uint64_t first, const T (&ring)[N], int slot)
{
    (void)ring;
    return first + slot * (int)(sizeof(T) / 16);
}

// The thread's warpgroup, in a form that the compiler knows to be one of the
// whole warp: branches and descriptors that depend on it are uniform.
DCC_DEVICE int dcc_warpgroup()
{
    return __shfl_sync(0xffffffffu, (int)threadIdx.x / 128, 0);
}

// The first THREADS threads of all blocks together: ask the L2 for n elements,
// each for a line at a time. Ahead of TMA, whose blocks ask for the same lines
// at one time, each of which then waits for HBM.
template <int THREADS, class T>
DCC_DEVICE void dcc_sweep_l2(const T *from, int n)
{
    enum { LINE = 128 / sizeof(T) };
    const int first = (int)blockIdx.x * THREADS + (int)threadIdx.x;
    if (threadIdx.x < THREADS)
        for (int i = first * LINE; i < n; i += (int)gridDim.x * THREADS * LINE)
            dcc_prefetch_l2(from + i);
}

// The same of the first line of each row alone, or of the LEAPS lines of it
// that come first (dcc_leap): TMA asks for lines that lie a row's length apart,
// all blocks at one time, and waits longest for the first.
template <int THREADS, int LEAPS = 1, class T>
DCC_DEVICE void dcc_sweep_heads_l2(const T *from, int rows, int length)
{
    const int first = (int)(threadIdx.x * gridDim.x + blockIdx.x);
    if (threadIdx.x < THREADS)
        for (int i = first; i < rows * LEAPS; i += (int)gridDim.x * THREADS)
            dcc_prefetch_l2(from + i * (length / LEAPS));
}

// The barriers of a ring of N slots: one is full when all its fillers, and
// empty when all its readers, have arrived. Of one thread, as dcc_mbar_init.
template <int N>
DCC_DEVICE void dcc_ring_init(uint64_t (&full)[N], int fillers,
                              uint64_t (&empty)[N], int readers)
{
    for (int s = 0; s < N; ++s) {
        dcc_mbar_init(&full[s], fillers);
        dcc_mbar_init(&empty[s], readers);
    }
}

// The same of a whole block, whose thread FILLER may use `full` at once; the
// others after a barrier.
template <int FILLER, int N>
DCC_DEVICE void dcc_ring_init(uint64_t (&full)[N], int fillers,
                              uint64_t (&empty)[N], int readers)
{
    if (threadIdx.x == FILLER) {
        for (int s = 0; s < N; ++s)
            dcc_mbar_init(&full[s], fillers);
        dcc_fence_mbar_init();
    } else if (threadIdx.x == 0) {
        for (int s = 0; s < N; ++s)
            dcc_mbar_init(&empty[s], readers);
        dcc_fence_mbar_init();
    }
}

// Of slots that are filled once, `full` is all; of one thread, or of a whole
// block, too.
template <int N>
DCC_DEVICE void dcc_ring_init(uint64_t (&full)[N], int fillers)
{
    for (int s = 0; s < N; ++s)
        dcc_mbar_init(&full[s], fillers);
}

template <int FILLER, int N>
DCC_DEVICE void dcc_ring_init(uint64_t (&full)[N], int fillers)
{
    if (threadIdx.x != FILLER)
        return;
    dcc_ring_init(full, fillers);
    dcc_fence_mbar_init();
}

// Of what results read: rings of SLOTS, `full` and `empty`, one behind another,
// a warpgroup's each. Claims slot `number` of ring `of` for so many bytes of
// TMA's, and says where it is; gives one back, when a warp is done with it.
template <int SLOTS, int N>
DCC_DEVICE int dcc_claim_input(uint64_t (&full)[N], uint64_t (&empty)[N],
                               int of, int number, int bytes)
{
    const int at = of * SLOTS + number % SLOTS;
    dcc_mbar_wait(&empty[at], number / SLOTS % 2 ^ 1);
    dcc_mbar_expect_tx(&full[at], bytes);
    return at;
}

DCC_DEVICE void dcc_free_input(uint64_t *empty)
{
    __syncwarp();
    if (threadIdx.x % 32 == 0)
        dcc_mbar_arrive(empty);
}

// A factor of ones, of 16 bits: all threads, before products that have it.
template <class T, int N, int K> DCC_DEVICE void dcc_wgmma_ones(T (&ones)[N][K])
{
    for (int i = threadIdx.x; i < N * K; i += blockDim.x)
        ones[i / K][i % K] = dcc_from_float<T>(1.0f);
    dcc_fence_async();
}

// Two warpgroups that share a tile do not end it together: before its last
// products the second one waits until the first has begun all of its own, which
// therefore are done early, and stores while the second multiplies. The first
// must not end the next tile before the second has come to this one's end, as
// the barrier would count it twice. Where slots that the second has yet to free
// do not see to that, the second tells, and the first waits, but for its first
// tile.
DCC_DEVICE void dcc_end_first(int warpgroup, bool waits = false)
{
    if (warpgroup != 0)
        return;
    if (waits)
        dcc_barrier_sync(2, 256);
    dcc_barrier_arrive(1, 256);
}

DCC_DEVICE void dcc_end_second(int warpgroup, bool tells = false)
{
    if (warpgroup != 1)
        return;
    dcc_barrier_sync(1, 256);
    if (tells)
        dcc_barrier_arrive(2, 256);
}

// The next slot of a ring of N, and its phase's parity.
template <int N> DCC_DEVICE void dcc_next_slot(int &slot, int &phase)
{
    if (++slot == N) {
        slot = 0;
        phase ^= 1;
    }
}

// Blocks of a cluster, BESIDE of them side by side: one bit each for those of
// the row of block `rank`, which share rows, and of its column.
template <int BESIDE> DCC_DEVICE int dcc_cluster_row(int rank)
{
    return ((1 << BESIDE) - 1) << rank / BESIDE * BESIDE;
}

template <int CLUSTER, int BESIDE> DCC_DEVICE int dcc_cluster_column(int rank)
{
    int blocks = 0;
    for (int i = 0; i < CLUSTER; i += BESIDE)
        blocks |= 1 << (i + rank % BESIDE);
    return blocks;
}

// Whether a lane tells the block of its number that a slot is free: one that
// copies into it.
template <int CLUSTER, int BESIDE> DCC_DEVICE bool dcc_cluster_frees(int lane)
{
    const int rank = (int)dcc_cluster_rank();
    return (dcc_cluster_row<BESIDE>(rank) |
            dcc_cluster_column<CLUSTER, BESIDE>(rank)) >> lane & 1;
}

// Before a slot of a ring is filled by one thread: it is empty, and as many
// bytes are to come.
DCC_DEVICE void dcc_claim_slot(uint64_t *full, uint64_t *empty, int phase,
                               int bytes)
{
    dcc_mbar_wait(empty, phase ^ 1);
    dcc_mbar_expect_tx(full, bytes);
}

// A warp has read a slot of a ring, whose readers are warps, and goes on to the
// next one of its team's.
template <int TEAMS = 1, int N>
DCC_DEVICE void dcc_free_slot(uint64_t (&empty)[N], int &slot, int &phase)
{
    if (threadIdx.x % 32 == 0)
        dcc_mbar_arrive(&empty[slot]);
#pragma unroll
    for (int i = 0; i < TEAMS; ++i)
        dcc_next_slot<N>(slot, phase);
}

// The same of a slot that lanes have read, each by itself.
template <int TEAMS = 1, int N>
DCC_DEVICE void dcc_free_read_slot(uint64_t (&empty)[N], int &slot, int &phase)
{
    __syncwarp();
    dcc_free_slot<TEAMS>(empty, slot, phase);
}

#ifdef DCC_EMU

void dcc_wgmma_fence();
void dcc_wgmma_commit();
void dcc_emu_wgmma_wait(int n);
template <int N> static inline void dcc_wgmma_wait() { dcc_emu_wgmma_wait(N); }
template <class T, int N> static inline void dcc_wgmma_use(T (&d)[N])
{
    (void)d;
}

#define DCC_WGMMA(N, T, P0, P1, P2, P3, P4, P5, P6, P7)                        \
    template <int TRANS_A, int TRANS_B>                                        \
    static inline void dcc_wgmma_m64n##N##k16_##T(float (&d)[N / 2],           \
                                                  uint64_t a, uint64_t b,      \
                                                  int accumulate)              \
    {                                                                          \
        dcc_emu_wgmma(d, N, #T[0] == 'b', a, NULL, b, accumulate, TRANS_A,     \
                      TRANS_B);                                                \
    }                                                                          \
    template <int TRANS_B>                                                     \
    static inline void dcc_wgmma_m64n##N##k16_##T##_regs(                      \
        float (&d)[N / 2], const uint32_t (&a)[4], uint64_t b, int accumulate) \
    {                                                                          \
        dcc_emu_wgmma(d, N, #T[0] == 'b', 0, a, b, accumulate, 0, TRANS_B);    \
    }
#define DCC_WGMMA_TF32(N, P0, P1, P2, P3, P4, P5)                              \
    static inline void dcc_wgmma_m64n##N##k8_tf32(                             \
        float (&d)[N / 2], uint64_t a, uint64_t b, int accumulate)             \
    {                                                                          \
        dcc_emu_wgmma(d, N, 2, a, NULL, b, accumulate, 0, 0);                  \
    }                                                                          \
    static inline void dcc_wgmma_m64n##N##k8_tf32_regs(                        \
        float (&d)[N / 2], const uint32_t (&a)[4], uint64_t b, int accumulate) \
    {                                                                          \
        dcc_emu_wgmma(d, N, 2, 0, a, b, accumulate, 0, 0);                     \
    }

#else

// wgmma.fence: before the first product, and after registers that one reads or
// adds to were written by other instructions.
DCC_DEVICE void dcc_wgmma_fence()
{
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

// wgmma.commit_group: the products since the last commit become one group.
DCC_DEVICE void dcc_wgmma_commit()
{
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

// wgmma.wait_group: all but the N youngest groups are complete.
template <int N> DCC_DEVICE void dcc_wgmma_wait()
{
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(N) : "memory");
}

// Nothing that follows reads the sums before this: after the wait.
template <int N> DCC_DEVICE void dcc_wgmma_use(float (&d)[N])
{
#pragma unroll
    for (int i = 0; i < N; ++i)
        asm volatile("" : "+f"(d[i])::"memory");
}

// Registers of a are written by now: before the fence.
template <int N> DCC_DEVICE void dcc_wgmma_use(uint32_t (&a)[N])
{
#pragma unroll
    for (int i = 0; i < N; ++i)
        asm volatile("" : "+r"(a[i])::"memory");
}

template <class T, int R, int N> DCC_DEVICE void dcc_wgmma_use(T (&x)[R][N])
{
#pragma unroll
    for (int i = 0; i < R; ++i)
        dcc_wgmma_use(x[i]);
}

// d = a * b, or d += a * b if `accumulate`; a from shared memory, or (_regs)
// from registers: as mma.m16n8k16's (m16n8k8's for tf32), warp w holding rows
// 16 w to 16 w + 15. These are read while the products are under way, and nvcc
// 13 leaves them alone up to a wait that follows without a loop's turn between;
// beyond one they are taken for free, and get other values while they are read.
#define DCC_WGMMA(N, T, P0, P1, P2, P3, P4, P5, P6, P7)                        \
    template <int TRANS_A, int TRANS_B>                                        \
    DCC_DEVICE void dcc_wgmma_m64n##N##k16_##T(float (&d)[N / 2], uint64_t a,  \
                                               uint64_t b, int accumulate)     \
    {                                                                          \
        asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, " P2 ", 0;\n"           \
                     "wgmma.mma_async.sync.aligned.m64n" #N                    \
                     "k16.f32." #T "." #T " {" DCC_WGMMA_REGS_##N "}, " P0     \
                     ", " P1 ", p, 1, 1, " P3 ", " P4 ";\n}"                   \
                     : DCC_WGMMA_SUMS_##N(d)                                   \
                     : "l"(a), "l"(b), "r"(accumulate), "n"(TRANS_A),          \
                       "n"(TRANS_B));                                          \
    }                                                                          \
    template <int TRANS_B>                                                     \
    DCC_DEVICE void dcc_wgmma_m64n##N##k16_##T##_regs(                         \
        float (&d)[N / 2], const uint32_t (&a)[4], uint64_t b, int accumulate) \
    {                                                                          \
        asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, " P5 ", 0;\n"           \
                     "wgmma.mma_async.sync.aligned.m64n" #N                    \
                     "k16.f32." #T "." #T " {" DCC_WGMMA_REGS_##N "}, {" P0    \
                     ", " P1 ", " P2 ", " P3 "}, " P4 ", p, 1, 1, " P6         \
                     ";\n}"                                                    \
                     : DCC_WGMMA_SUMS_##N(d)                                   \
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b),     \
                       "r"(accumulate), "n"(TRANS_B));                         \
    }
#define DCC_WGMMA_TF32(N, P0, P1, P2, P3, P4, P5)                              \
    DCC_DEVICE void dcc_wgmma_m64n##N##k8_tf32(                                \
        float (&d)[N / 2], uint64_t a, uint64_t b, int accumulate)             \
    {                                                                          \
        asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, " P2 ", 0;\n"           \
                     "wgmma.mma_async.sync.aligned.m64n" #N                    \
                     "k8.f32.tf32.tf32 {" DCC_WGMMA_REGS_##N "}, " P0 ", " P1  \
                     ", p, 1, 1;\n}"                                           \
                     : DCC_WGMMA_SUMS_##N(d)                                   \
                     : "l"(a), "l"(b), "r"(accumulate));                       \
    }                                                                          \
    DCC_DEVICE void dcc_wgmma_m64n##N##k8_tf32_regs(                           \
        float (&d)[N / 2], const uint32_t (&a)[4], uint64_t b, int accumulate) \
    {                                                                          \
        asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, " P5 ", 0;\n"           \
                     "wgmma.mma_async.sync.aligned.m64n" #N                    \
                     "k8.f32.tf32.tf32 {" DCC_WGMMA_REGS_##N "}, {" P0 ", " P1 \
                     ", " P2 ", " P3 "}, " P4 ", p, 1, 1;\n}"                  \
                     : DCC_WGMMA_SUMS_##N(d)                                   \
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b),     \
                       "r"(accumulate));                                       \
    }

#endif

// Begins the products of STEPS times 16 k of a, rows of the tile at `a`, by b,
// both K-major: the next 64 k are `rows`, `columns` lines of 128 bytes on.
template <auto WGMMA, int STEPS, int N>
DCC_DEVICE void dcc_wgmma_rows(float (&d)[N], uint64_t a, int rows, uint64_t b,
                               int columns)
{
    dcc_wgmma_fence();
#pragma unroll
    for (int kk = 0; kk < STEPS; ++kk)
        WGMMA(d, a + kk / 4 * (rows * 8) + kk % 4 * 2,
              b + kk / 4 * (columns * 8) + kk % 4 * 2, kk > 0);
    dcc_wgmma_commit();
}

// The same of a in registers and of b in steps of `step` of its descriptor, of
// which the fourth goes `next` on from the first; they add to d if `more`.
template <auto WGMMA, int STEPS, int N>
DCC_DEVICE void dcc_wgmma_weights(float (&d)[N], uint32_t (&a)[STEPS][4],
                                  uint64_t b, int step, int next, bool more)
{
    dcc_wgmma_use(a);
    dcc_wgmma_fence();
#pragma unroll
    for (int kk = 0; kk < STEPS; ++kk)
        WGMMA(d, a[kk], b + kk / 4 * next + kk % 4 * step, more || kk > 0);
    dcc_wgmma_commit();
}

// Leaves of a fragment, floats' bits, the nearest tf32 numbers, and in `small`
// the rest, both for products to read.
DCC_DEVICE void dcc_split_fragment(uint32_t (&big)[4], uint32_t (&small)[4])
{
#pragma unroll
    for (int e = 0; e < 4; ++e)
        small[e] = dcc_tf32_split(big[e]);
    dcc_wgmma_use(big);
    dcc_wgmma_use(small);
}

// Both parts of a warp's 16 rows of a tile of f32 that lies along k: a_row is
// lane % 16's. Its pieces of 16 bytes are swizzled.
template <int STEPS, int ROWS>
DCC_DEVICE void dcc_parts_along(uint32_t (&big)[STEPS][4],
                                uint32_t (&small)[STEPS][4],
                                const float (&tile)[ROWS][STEPS * 8],
                                int a_row)
{
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int kk = 0; kk < STEPS; ++kk) {
        const int piece = (kk * 2 + lane / 16) ^ (a_row % 8);
        dcc_ldmatrix_x4(big[kk], &tile[a_row][piece * 4]);
        dcc_split_fragment(big[kk], small[kk]);
    }
}

// The same of one that lies across k (dcc_fragment_across).
template <bool BOTH, int STEPS>
DCC_DEVICE void dcc_parts_across(uint32_t (&big)[STEPS][4],
                                 uint32_t (&small)[STEPS][4],
                                 const float (&box)[32][32], int row)
{
#pragma unroll
    for (int kk = 0; kk < STEPS; ++kk) {
        dcc_fragment_across<BOTH>(big[kk], box, row, kk * 8);
        dcc_split_fragment(big[kk], small[kk]);
    }
}

template <int N>
DCC_DEVICE void dcc_add_sums(float (&to)[N], const float (&more)[N])
{
#pragma unroll
    for (int i = 0; i < N; ++i)
        to[i] += more[i];
}

// d = a * b of STEPS times 8 k, both factors as sums of two tf32 numbers:
//   a * b = a_small * b_big + a_big * b_small + a_big * b_big
// to f32's accuracy. tf32 reads the upper 19 bits of an f32, so a tile as it is
// is its big part. Begun, and to be waited for.
template <auto WGMMA, int STEPS, int N>
DCC_DEVICE void dcc_wgmma_parts(float (&d)[N], uint32_t (&big)[STEPS][4],
                                uint32_t (&small)[STEPS][4], uint64_t b_big,
                                uint64_t b_small)
{
    dcc_wgmma_fence();
#pragma unroll
    for (int kk = 0; kk < STEPS; ++kk)
        WGMMA(d, small[kk], b_big + kk * 2, kk > 0);
#pragma unroll
    for (int kk = 0; kk < STEPS; ++kk)
        WGMMA(d, big[kk], b_small + kk * 2, 1);
#pragma unroll
    for (int kk = 0; kk < STEPS; ++kk)
        WGMMA(d, big[kk], b_big + kk * 2, 1);
    dcc_wgmma_commit();
}

// The products of both parts of f16 (dcc_pack_halves) by the same b, of which
// each is a group.
template <auto WGMMA, int STEPS, int N>
DCC_DEVICE void dcc_wgmma_halves(float (&d)[N], uint32_t (&a)[STEPS][4],
                                 float (&d_low)[N], uint32_t (&low)[STEPS][4],
                                 uint64_t b, int step, int next, bool more)
{
    dcc_wgmma_weights<WGMMA>(d, a, b, step, next, more);
    dcc_wgmma_weights<WGMMA>(d_low, low, b, step, next, more);
}

// All but the N youngest groups are complete, and what follows reads the sums.
template <int N, class T, class... More>
DCC_DEVICE void dcc_wgmma_wait(T &sums, More &...more)
{
    dcc_wgmma_wait<N>();
    dcc_wgmma_use(sums);
    (dcc_wgmma_use(more), ...);
}

// By one thread: boxes of 64 neighbours, side by side along the map's first
// dimension from c0 on, to the tiles of a slot.
template <int BOXES, class T, class... At>
DCC_DEVICE void dcc_tma_load_boxes(T (&tile)[BOXES], const CUtensorMap *map,
                                   uint64_t *barrier, int c0, At... at)
{
#pragma unroll
    for (int c = 0; c < BOXES; ++c)
        if constexpr (sizeof...(at) == 1)
            dcc_tma_load_2d(tile[c], map, c0 + c * 64, at..., barrier);
        else if constexpr (sizeof...(at) == 2)
            dcc_tma_load_3d(tile[c], map, c0 + c * 64, at..., barrier);
        else if constexpr (sizeof...(at) == 3)
            dcc_tma_load_4d(tile[c], map, c0 + c * 64, at..., barrier);
        else
            dcc_tma_load_5d(tile[c], map, c0 + c * 64, at..., barrier);
}

template <class... Map> DCC_DEVICE void dcc_tma_prefetch_maps(Map... map)
{
    (dcc_tma_prefetch_map(map), ...);
}

// ---- a from registers, computed ---------------------------------------------

// A warp's fragments of 16 rows of a K-major slot, from lane % 16's row. Its
// pieces of 16 bytes are swizzled.
template <int K, class T, int BK>
DCC_DEVICE void dcc_read_rows(uint32_t (&to)[K][4], const T (&row)[BK])
{
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int kk = 0; kk < K; ++kk)
        dcc_ldmatrix_x4(to[kk], &row[((kk * 2 + lane / 16) ^ lane % 8) * 8]);
}

// Each of a fragment's elements x becomes value(x, h, c): h is 0 or 1, of rows
// lane / 4 and that + 8, c of columns lane % 4 * 2, + 1, + 8 and + 9.
template <class T, class F>
DCC_DEVICE void dcc_make_rows(uint32_t (&at)[4], const F &value)
{
#pragma unroll
    for (int r = 0; r < 4; ++r) {
        float x[2];
        dcc_unpack<T>(x, at[r]);
        at[r] = dcc_pack_pair<T>(value(x[0], r % 2, r / 2 * 2),
                                 value(x[1], r % 2, r / 2 * 2 + 1));
    }
}

// The next products' fragments take the place of those that are done with:
// behind the wait.
template <int R, int K>
DCC_DEVICE void dcc_wgmma_take(uint32_t (&a)[R][K][4],
                               const uint32_t (&next)[R][K][4])
{
    dcc_wgmma_use(a);
#pragma unroll
    for (int i = 0; i < R; ++i)
#pragma unroll
        for (int k = 0; k < K; ++k)
            dcc_fill(a[i][k], next[i][k]);
}

// Each of a thread's sums of COLS columns, from n0 on and before `end`, becomes
// change(sum, i, n): i of the rows 8 apart that it has, n its column. DEAL of
// its columns lie side by side: by the order of b's rows, or as sums do.
template <int COLS, int DEAL, int R, int C, class F>
DCC_DEVICE void dcc_each_sum(float (&sums)[R][C], int n0, int end,
                             const F &change)
{
    const int first = n0 + (int)threadIdx.x % 4 * DEAL;
#pragma unroll
    for (int j = 0; j < COLS / (4 * DEAL); ++j)
        if (first + j * 4 * DEAL < end)
#pragma unroll
            for (int i = 0; i < 2 * R; ++i)
#pragma unroll
                for (int e = 0; e < DEAL; ++e) {
                    const int at = e / 2 * (COLS / DEAL) + j * 4;
                    float &sum = sums[i / 2][at + i % 2 * 2 + e % 2];
                    sum = change(sum, i, first + j * 4 * DEAL + e);
                }
}

// The same by the number c of the column among a thread's own, as
// dcc_own_columns has what belongs to it, of `n` from the first.
template <int COLS, int DEAL, int R, int C, class F>
DCC_DEVICE void dcc_each_own(float (&sums)[R][C], int n, const F &change)
{
    const int first = (int)threadIdx.x % 4 * DEAL;
#pragma unroll
    for (int c = 0; c < COLS / 4; ++c)
        if (first + c / DEAL * 4 * DEAL < n)
#pragma unroll
            for (int i = 0; i < 2 * R; ++i) {
                const int e = c % DEAL;
                const int at = e / 2 * (COLS / DEAL) + c / DEAL * 4;
                float &sum = sums[i / 2][at + i % 2 * 2 + e % 2];
                sum = change(sum, i, c);
            }
}

template <int COLS, int DEAL>
DCC_DEVICE void dcc_own_columns(float (&own)[COLS / 4], const float *from,
                                int n)
{
    const int first = (int)threadIdx.x % 4 * DEAL;
#pragma unroll
    for (int c = 0; c < COLS / 4; c += 2)
        if (first + c / DEAL * 4 * DEAL < n) {
            dcc_f32x2 pair;
            dcc_read(pair, from + first + c / DEAL * 4 * DEAL + c % DEAL);
            own[c] = pair.v[0];
            own[c + 1] = pair.v[1];
        }
}

// What belongs to the rows of a warpgroup's sums, of `n` from the first.
template <int R>
DCC_DEVICE void dcc_own_rows(float (&own)[R], const float *from, int n)
{
    const int first = (int)threadIdx.x % 128 / 32 * 16 + threadIdx.x % 32 / 4;
#pragma unroll
    for (int i = 0; i < R; ++i)
        own[i] = from[min(first + i / 2 * 64 + i % 2 * 8, n - 1)];
}

// The same columns of what belongs to them, from the first.
template <class T> DCC_DEVICE dcc_f32x4 dcc_load_columns(const T *from)
{
    float low[2], high[2];
    dcc_load<2>(low, from);
    dcc_load<2>(high, from + 8);
    return {{low[0], low[1], high[0], high[1]}};
}

// Of `n` columns that are left, an even number; those beyond are zeros.
template <class T> DCC_DEVICE dcc_f32x4 dcc_load_columns(const T *from, int n)
{
    dcc_vector<T, 2> low = {}, high = {};
    if (n > 0)
        dcc_read(low, from);
    if (n > 8)
        dcc_read(high, from + 8);
    dcc_f32x4 to;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
        dcc_assign(to.v[i], low.v[i]);
        dcc_assign(to.v[2 + i], high.v[i]);
    }
    return to;
}

// ---- values of rows from pieces of them ------------------------------------

// The sum of value(0), ..., value(N - 1) of LANES lanes.
template <int N, int LANES, class F>
DCC_DEVICE float dcc_piece_sum(const F &value)
{
    float sum = 0.0f;
#pragma unroll
    for (int c = 0; c < N; ++c)
        sum += value(c);
    return dcc_lanes_sum<LANES>(sum);
}

// Two neighbouring lanes have a row's N pieces by turns; 0 beyond the last.
template <int N> struct dcc_pieces { float v[(N + 1) / 2]; };

// They are `apart` elements one from the next.
template <int N>
DCC_DEVICE dcc_pieces<N> dcc_read_parts(const float *from, int apart)
{
    dcc_pieces<N> to;
#pragma unroll
    for (int q = 0; q < (N + 1) / 2; ++q) {
        const int piece = q * 2 + (int)threadIdx.x % 2;
        to.v[q] = piece < N ? from[(long long)piece * apart] : 0.0f;
    }
    return to;
}

template <int N> DCC_DEVICE float dcc_sum_pieces(const dcc_pieces<N> &piece)
{
    float sum = 0.0f;
#pragma unroll
    for (int q = 0; q < (N + 1) / 2; ++q)
        sum += piece.v[q];
    return sum + __shfl_xor_sync(0xffffffffu, sum, 1);
}

// The squares about `mean` of a row, of pieces of SIZE columns, each with its
// sum and the squares about its own mean (Chan, Golub and LeVeque).
template <int SIZE, int N>
DCC_DEVICE float dcc_sum_squares(const dcc_pieces<N> &sum,
                                 const dcc_pieces<N> &squares, float mean)
{
    dcc_pieces<N> all;
#pragma unroll
    for (int q = 0; q < (N + 1) / 2; ++q) {
        const float off = sum.v[q] * (1.0f / SIZE) - mean;
        const bool there = N % 2 == 0 || q * 2 + (int)threadIdx.x % 2 < N;
        all.v[q] = there ? squares.v[q] + off * off * SIZE : 0.0f;
    }
    return dcc_sum_pieces(all);
}

// What two lanes have of each of 16 rows, to the four that have fragments of
// rows lane / 4 and that + 8.
DCC_DEVICE void dcc_deal_rows(float (&to)[2], float x)
{
    const int from = (int)threadIdx.x % 32 / 4 * 2;
    to[0] = __shfl_sync(0xffffffffu, x, from);
    to[1] = __shfl_sync(0xffffffffu, x, from + 16);
}

// What a warp of four has of 64 rows and 16 columns of sums, words of
// pairs of columns as they lie after products, to a box with a line for each
// column.
template <class T>
DCC_DEVICE void dcc_turn_pairs(T (&to)[16][64], const uint32_t (&packed)[4],
                               int warp)
{
    const int lane = threadIdx.x % 32, line = lane / 16 * 8 + lane % 8;
    dcc_stmatrix_x4_trans(
        &to[line][dcc_packed_at<64>(line, warp * 2 + lane / 8 % 2)], packed);
}

// in ? a : b, of values: of elements of arrays C++ chooses the place, and nvcc
// may then keep the arrays in local memory.
template <class T> DCC_DEVICE T dcc_choose(bool in, T a, T b)
{
    return in ? a : b;
}

// Line `line` of what dcc_pack_rows left, its first `count` columns, to memory
// of any alignment, by as many lanes as it has pieces of 8: as words of 16
// bytes where those begin in memory, and single elements before and behind.
template <int COLS, dcc_way WAY = DCC_KEPT, class T>
DCC_DEVICE void dcc_store_line(T *to, const T (&from)[16][COLS], int line,
                               int count)
{
    constexpr int LANES = COLS / 8;
    const int k = (int)threadIdx.x % LANES;
    const int past = (int)(reinterpret_cast<uintptr_t>(to) / 2 % 8);
    auto piece = [&](int i) {
        return &from[line][dcc_packed_at<COLS>(line, i)];
    };
    if (count >= COLS && (k > 0 || past == 0)) {
        const uint4 a = *reinterpret_cast<const uint4 *>(piece(max(k - 1, 0)));
        const uint4 b = *reinterpret_cast<const uint4 *>(piece(k));
        uint32_t w[8] = {a.x, a.y, a.z, a.w, b.x, b.y, b.z, b.w};
        const int skip = 8 - past; // of these 16 elements
#pragma unroll
        for (int i = 0; i < 4; ++i)
            w[i] = dcc_choose(skip & 8, w[i + 4], w[i]);
#pragma unroll
        for (int i = 0; i < 6; ++i)
            w[i] = dcc_choose(skip & 4, w[i + 2], w[i]);
#pragma unroll
        for (int i = 0; i < 5; ++i)
            w[i] = dcc_choose(skip & 2, w[i + 1], w[i]);
#pragma unroll
        for (int i = 0; i < 4; ++i)
            w[i] = dcc_choose(skip & 1, w[i] >> 16 | w[i + 1] << 16, w[i]);
        dcc_put<WAY>(to + k * 8 - past, make_uint4(w[0], w[1], w[2], w[3]));
    }
    const int single = count < COLS ? count : past ? 8 : 0;
#pragma unroll 1
    for (int i = k; i < single; i += LANES) {
        const int at = count < COLS || i < 8 - past ? i : COLS - 8 + i;
        dcc_put<WAY>(to + at, piece(at / 8)[at % 8]);
    }
}

#endif // sm_90

#include "dcc_sums.cuh"
#include "dcc_wgmma_shapes.cuh"

#undef DCC_WGMMA
#undef DCC_WGMMA_TF32

#endif
