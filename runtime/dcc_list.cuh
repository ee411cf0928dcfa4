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

// dcc_list_store of 32 entries at most: all warps look at all of them.
template <int SIZE, int ENDS, int WARPS>
DCC_DEVICE void dcc_list_few(const unsigned (&list)[SIZE], int n,
                             unsigned short (&places)[SIZE],
                             int (&first)[ENDS], int (&)[WARPS])
{
    enum {
        ROWS = ENDS - 1,
        EACH = (ROWS + WARPS - 1) / WARPS, // of a warp
        TURNS = (EACH + 31) / 32           // of a lane
    };
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const unsigned entry = lane < n ? list[lane] : ~0u;
    const int row = (int)(entry >> 16), end = min((warp + 1) * EACH, (int)ROWS);
    int to = 0, before[TURNS] = {};

    for (int k = 0; k < n; ++k) {
        const int other = __shfl_sync(0xffffffffu, row, k);
        to += other < row || (other == row && k < lane);
#pragma unroll
        for (int t = 0; t < TURNS; ++t)
            before[t] += other < warp * EACH + t * 32 + lane;
    }
    if (warp == 0 && lane < n)
        places[to] = (unsigned short)entry;
    if (threadIdx.x == 0)
        first[ROWS] = n;
#pragma unroll
    for (int t = 0; t < TURNS; ++t)
        if (warp * EACH + t * 32 + lane < end)
            first[warp * EACH + t * 32 + lane] = before[t];
    __syncthreads();
}

// Stores the places of a list's entries by their rows, those of a row as they
// were. first[r] is where row r's begin, first[ROWS] how many there are. Says
// whether a row has so many more than others that all threads are to have them
// (dcc_list_crowd). Nobody reads `places` and `first` when it is called.
template <int MOST, int SIZE, int ENDS, int WARPS>
DCC_DEVICE bool dcc_list_store(const unsigned (&list)[SIZE], int n,
                               unsigned short (&places)[SIZE],
                               int (&first)[ENDS], int (&warps)[WARPS])
{
    enum {
        ROWS = ENDS - 1,
        EACH = (ROWS + WARPS - 1) / WARPS, // of a warp
        GROUP = EACH < 8 ? EACH : 8        // counted together
    };
    static_assert(MOST >= 32, "few entries are no crowd");
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int end = min((warp + 1) * EACH, (int)ROWS);

    if (n <= 32) {
        dcc_list_few(list, n, places, first, warps);
        return false;
    }
    for (int r = warp * EACH; r < end; r += GROUP) {
        int count[GROUP] = {};
        for (int at = 0; at < n; at += 32) {
            const int row = at + lane < n ? (int)(list[at + lane] >> 16) : -1;
#pragma unroll
            for (int g = 0; g < GROUP; ++g)
                count[g] += __popc(__ballot_sync(0xffffffffu, row == r + g));
        }
#pragma unroll
        for (int g = 0; g < GROUP; ++g)
            if (lane == g && r + g < end)
                first[r + g] = count[g];
    }
    __syncthreads();
    if (warp == 0) {
        bool crowd = false;
        int before = 0;
        for (int r = 0; r < ROWS; r += 32) {
            const int own = r + lane < ROWS ? first[r + lane] : 0;
            int sum = own;
#pragma unroll
            for (int o = 1; o < 32; o *= 2) {
                const int up = __shfl_up_sync(0xffffffffu, sum, o);
                sum += lane >= o ? up : 0;
            }
            if (r + lane < ROWS)
                first[r + lane] = before + sum - own;
            before += __shfl_sync(0xffffffffu, sum, 31);
            crowd |= __any_sync(0xffffffffu,
                                own > MOST && own * ROWS > 2 * n);
        }
        if (lane == 0) {
            first[ROWS] = before;
            warps[0] = crowd;
        }
    }
    __syncthreads();
    for (int r = warp * EACH; r < end; r += GROUP) {
        int to[GROUP];
#pragma unroll
        for (int g = 0; g < GROUP; ++g)
            to[g] = first[min(r + g, (int)ROWS)];
        for (int at = 0; at < n; at += 32) {
            const unsigned entry = at + lane < n ? list[at + lane] : ~0u;
#pragma unroll
            for (int g = 0; g < GROUP; ++g) {
                const bool is = (int)(entry >> 16) == r + g && r + g < end;
                const unsigned in = __ballot_sync(0xffffffffu, is);
                if (is)
                    places[to[g] + __popc(in & ((1u << lane) - 1))] =
                        (unsigned short)entry;
                to[g] += __popc(in);
            }
        }
    }
    const bool crowd = warps[0];
    __syncthreads();
    return crowd;
}

// Whether a row has more entries than MOST and twice as many as its block's
// rows have in the mean.
template <int MOST, int ENDS>
DCC_DEVICE bool dcc_list_crowd(const int (&first)[ENDS], int row)
{
    const int own = first[row + 1] - first[row];

    return own > MOST && own * (ENDS - 1) > 2 * first[ENDS - 1];
}

// Which of a warp's threads that have the same columns this is. A row has LANES
// * SHARE threads side by side, of which each SHARE that are neighbours have
// the same.
template <int LANES, int SHARE> DCC_DEVICE int dcc_list_turn()
{
    const int lane = threadIdx.x % 32;

    return (int)(threadIdx.x / 32) * (32 / LANES) +
           lane / (LANES * SHARE) * SHARE + lane % SHARE;
}

// Leaves what a warp's threads have of a row, in parts[warp].
template <class Op, int LANES, int SHARE, int N, class T, int WARPS, int SIZE>
DCC_DEVICE void dcc_list_leave(T (&part)[N], T (&parts)[WARPS][SIZE])
{
    const int lane = threadIdx.x % 32;

    __syncthreads();
#pragma unroll
    for (int v = 0; v < N; ++v) {
#pragma unroll
        for (int o = 1; o < 32; o *= 2)
            if (o < SHARE || o >= LANES * SHARE)
                part[v] = Op::apply(part[v],
                                    __shfl_xor_sync(0xffffffffu, part[v], o));
        if (lane < LANES * SHARE && lane % SHARE == 0)
            parts[threadIdx.x / 32][lane / SHARE * N + v] = part[v];
    }
    __syncthreads();
}

template <class Op, int LANES, int SHARE, class T, int WARPS, int SIZE>
DCC_DEVICE void dcc_list_leave(T part, T (&parts)[WARPS][SIZE])
{
    T one[1] = {part};

    dcc_list_leave<Op, LANES, SHARE>(one, parts);
}

// Adds what all warps have left to the row's own.
template <class Op, int LANES, int SHARE, int N, class T, int WARPS, int SIZE>
DCC_DEVICE void dcc_list_take(T (&sum)[N], const T (&parts)[WARPS][SIZE])
{
    const int lane = threadIdx.x / SHARE % LANES;

#pragma unroll 1
    for (int w = 0; w < WARPS; ++w)
#pragma unroll
        for (int v = 0; v < N; ++v)
            sum[v] = Op::apply(sum[v], parts[w][lane * N + v]);
}

template <class Op, int LANES, int SHARE, class T, int WARPS, int SIZE>
DCC_DEVICE void dcc_list_take(T &sum, const T (&parts)[WARPS][SIZE])
{
    T one[1] = {sum};

    dcc_list_take<Op, LANES, SHARE>(one, parts);
    sum = one[0];
}

#endif
