// dcc_list.cuh - lists of points whose data name a block's rows. dcc_device.cuh
// includes it. All threads of a block of full warps call these together.
#ifndef DCC_LIST_CUH
#define DCC_LIST_CUH

// A chunk's point number k of the AHEAD that a thread looks at: lanes have
// neighbours, and a warp's points stand behind the warp's before it.
template <int AHEAD> DCC_DEVICE int dcc_list_place(int k)
{
    return (int)((threadIdx.x / 32 * AHEAD + k) * 32 + threadIdx.x % 32);
}

// Lists the points of a chunk whose row is one of the block's, 0 to ROWS - 1,
// in their order: of each its row and its place. `row` is a thread's points';
// any other number is none of the block's. Returns how many there are. Nobody
// reads `list` when the first barrier is reached; all of it is there behind
// the second.
template <int ROWS, int AHEAD, int SIZE, int WARPS>
DCC_DEVICE int dcc_list_rows(const int (&row)[AHEAD], unsigned (&list)[SIZE],
                             int (&warps)[WARPS])
{
    static_assert(ROWS <= 1 << 15 && SIZE <= 1 << 16, "16 bits for each");
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    unsigned in[AHEAD];
    int n = 0, at = 0, all = 0;

#pragma unroll
    for (int k = 0; k < AHEAD; ++k) {
        in[k] = __ballot_sync(0xffffffffu, (unsigned)row[k] < ROWS);
        n += __popc(in[k]);
    }
    if (lane == 0)
        warps[warp] = n;
    __syncthreads();
#pragma unroll
    for (int w = 0; w < WARPS; ++w) {
        at += w < warp ? warps[w] : 0;
        all += warps[w];
    }
#pragma unroll
    for (int k = 0; k < AHEAD; ++k) {
        if ((unsigned)row[k] < ROWS)
            list[at + __popc(in[k] & ((1u << lane) - 1))] =
                (unsigned)row[k] << 16 | (unsigned)dcc_list_place<AHEAD>(k);
        at += __popc(in[k]);
    }
    __syncthreads();
    return all;
}

// Which of the list's 32 entries from `at` on are this thread's, a bit each. A
// row has LANES * SHARE threads of a warp side by side, of which each SHARE
// that are neighbours have the entries in turns. The block's first thread has
// row `from`.
template <int LANES, int SHARE>
DCC_DEVICE unsigned dcc_listed(const unsigned *list, int at, int n, int from)
{
    const int lane = threadIdx.x % 32, of_warp = 32 / (LANES * SHARE);
    const int first = from + (int)(threadIdx.x / 32) * of_warp;
    const int row = at + lane < n ? (int)(list[at + lane] >> 16) : -1;
    const unsigned turns = (unsigned)(~0ull / ((1ull << SHARE) - 1));
    unsigned mine = 0;

#pragma unroll
    for (int r = 0; r < of_warp; ++r) {
        const unsigned is = __ballot_sync(0xffffffffu, row == first + r);
        mine = lane / (LANES * SHARE) == r ? is : mine;
    }
    return mine & turns << lane % SHARE;
}

// The place of the first entry that `left` has, which has one.
DCC_DEVICE int dcc_first_listed(const unsigned *list, int at, unsigned left)
{
    return (int)(list[at + __ffs((int)left) - 1] & 0xffff);
}

#endif
