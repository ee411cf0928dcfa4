// dcc_scan.cuh - running values along lanes, warps and blocks. dcc_device.cuh
// includes it. All lanes of a warp, and all threads of a block, call these.
#ifndef DCC_SCAN_CUH
#define DCC_SCAN_CUH

// A thread's VEC neighbours become their running values; BACK: from the last to
// the first. Returns that of all.
template <class Op, bool BACK, class T, int VEC>
DCC_DEVICE T dcc_thread_scan(T (&x)[VEC])
{
#pragma unroll
    for (int v = 1; v < VEC; ++v) {
        const int at = BACK ? VEC - 1 - v : v, ahead = BACK ? at + 1 : at - 1;
        x[at] = Op::apply(x[ahead], x[at]);
    }
    return x[BACK ? 0 : VEC - 1];
}

// The running value of a warp's lanes.
template <class Op, class T> DCC_DEVICE T dcc_lanes_scan(T x)
{
#pragma unroll
    for (int n = 1; n < 32; n *= 2) {
        const T ahead = __shfl_up_sync(0xffffffffu, x, n);
        if (threadIdx.x % 32 >= n)
            x = Op::apply(ahead, x);
    }
    return x;
}

// The running values of a warp's elements, lane after lane, behind `before`,
// which becomes what stands before the next.
template <class Op, bool BACK = false, class T, int VEC>
DCC_DEVICE void dcc_warp_scan(T (&x)[VEC], T &before)
{
    const T mine = dcc_lanes_scan<Op>(dcc_thread_scan<Op, BACK>(x));
    T ahead = __shfl_up_sync(0xffffffffu, mine, 1);
    ahead = threadIdx.x % 32 ? Op::apply(before, ahead) : before;
#pragma unroll
    for (int v = 0; v < VEC; ++v)
        x[v] = Op::apply(ahead, x[v]);
    before = Op::apply(before, __shfl_sync(0xffffffffu, mine, 31));
}

// The same of a block of WARPS full warps, in one fixed order. `scratch` is
// their own; who used it before has reached this call's first barrier.
template <class Op, bool BACK = false, class T, int VEC, int WARPS>
DCC_DEVICE void dcc_block_scan(T (&x)[VEC], T &before, T (&scratch)[WARPS])
{
    const T mine = dcc_lanes_scan<Op>(dcc_thread_scan<Op, BACK>(x));
    const T left = __shfl_up_sync(0xffffffffu, mine, 1);
    const int warp = threadIdx.x / 32;
    T ahead = before;

    __syncthreads();
    if (threadIdx.x % 32 == 31)
        scratch[warp] = mine;
    __syncthreads();
#pragma unroll
    for (int w = 0; w < WARPS; ++w) {
        if (w == warp)
            ahead = before;
        before = Op::apply(before, scratch[w]);
    }
    if (threadIdx.x % 32)
        ahead = Op::apply(ahead, left);
#pragma unroll
    for (int v = 0; v < VEC; ++v)
        x[v] = Op::apply(ahead, x[v]);
}

// The same of 32 lines, one a lane of each of a block's WARPS warps, which have
// its elements one after the other.
template <class Op, bool BACK = false, class T, int VEC, int WARPS>
DCC_DEVICE void dcc_lines_scan(T (&x)[VEC], T &before, T (&scratch)[WARPS][32])
{
    const T mine = dcc_thread_scan<Op, BACK>(x);
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    T ahead = before;

    __syncthreads();
    scratch[warp][lane] = mine;
    __syncthreads();
#pragma unroll
    for (int w = 0; w < WARPS; ++w) {
        if (w == warp)
            ahead = before;
        before = Op::apply(before, scratch[w][lane]);
    }
#pragma unroll
    for (int v = 0; v < VEC; ++v)
        x[v] = Op::apply(ahead, x[v]);
}

// One element a thread.
template <class Op, bool BACK = false, class T>
DCC_DEVICE void dcc_warp_scan(T &x, T &before)
{
    T one[1] = {x};

    dcc_warp_scan<Op, BACK>(one, before);
    x = one[0];
}
template <class Op, bool BACK = false, class T, int WARPS>
DCC_DEVICE void dcc_block_scan(T &x, T &before, T (&scratch)[WARPS])
{
    T one[1] = {x};

    dcc_block_scan<Op, BACK>(one, before, scratch);
    x = one[0];
}
template <class Op, bool BACK = false, class T, int WARPS>
DCC_DEVICE void dcc_lines_scan(T &x, T &before, T (&scratch)[WARPS][32])
{
    T one[1] = {x};

    dcc_lines_scan<Op, BACK>(one, before, scratch);
    x = one[0];
}

// ---- threads that share rows ------------------------------------------------

// What TY threads have of VEC rows each, combined in the order of ty; all of
// these get the result. Nobody uses `scratch` between the call's barriers, nor
// after it before another one.
template <class Op, int VEC, int TY, int ROWS, class T>
DCC_DEVICE void dcc_shared_rows(T (&x)[VEC], T (&scratch)[TY][ROWS], int tx,
                                int ty)
{
    constexpr int TX = ROWS / VEC;
#pragma unroll
    for (int v = 0; v < VEC; ++v)
        scratch[ty][v * TX + tx] = x[v];
    __syncthreads();
    for (int t = threadIdx.x; t < ROWS; t += TX * TY) {
        T total = scratch[0][t];
#pragma unroll 8
        for (int y = 1; y < TY; ++y)
            total = Op::apply(total, scratch[y][t]);
        scratch[0][t] = total;
    }
    __syncthreads();
#pragma unroll
    for (int v = 0; v < VEC; ++v)
        x[v] = scratch[0][v * TX + tx];
}

// Of a row each.
template <class Op, int TY, int TX, class T>
DCC_DEVICE T dcc_shared_rows(T x, T (&scratch)[TY][TX], int tx, int ty)
{
    T one[1] = {x};
    dcc_shared_rows<Op>(one, scratch, tx, ty);
    return one[0];
}

// What a block has of VEC rows, for the block that combines all parts.
template <int VEC, class T>
DCC_DEVICE void dcc_leave_part(T *part, const T (&x)[VEC])
{
#pragma unroll
    for (int v = 0; v < VEC; ++v)
        part[v] = x[v];
}

// The same of another block, 16 bytes at a time where they begin with such.
template <int VEC, class T>
DCC_DEVICE void dcc_get_part(T (&x)[VEC], const T *part)
{
    if constexpr (VEC % 4 == 0 && sizeof(T) == 4) {
#pragma unroll
        for (int i = 0; i < VEC / 4; ++i) {
            const float4 four =
                __ldcg(reinterpret_cast<const float4 *>(part) + i);
            memcpy(&x[i * 4], &four, sizeof four);
        }
    } else {
#pragma unroll
        for (int v = 0; v < VEC; ++v)
            x[v] = __ldcg(&part[v]);
    }
}

// What PARTS blocks left of VEC rows each, `apart` elements from one to the
// next: each TY-th of them from number ty on, combined in their order, some of
// them under way at a time; `none` of no part.
template <class Op, int PARTS, int TY, int VEC, class T>
DCC_DEVICE void dcc_take_parts(T (&x)[VEC], const T *part, int apart, int ty,
                               T none)
{
    enum { EACH = (PARTS + TY - 1) / TY, MOST = VEC > 4 ? 2 : 4,
           AHEAD = EACH < MOST ? EACH : MOST };
#pragma unroll
    for (int v = 0; v < VEC; ++v)
        x[v] = none;
    for (int first = ty; first < PARTS; first += AHEAD * TY) {
        T y[AHEAD][VEC];
#pragma unroll
        for (int j = 0; j < AHEAD; ++j)
            if (first + j * TY < PARTS)
                dcc_get_part(y[j], &part[(first + j * TY) * apart]);
#pragma unroll
        for (int j = 0; j < AHEAD; ++j)
#pragma unroll
            for (int v = 0; v < VEC; ++v)
                if (first + j * TY < PARTS)
                    x[v] = Op::apply(x[v], y[j][v]);
    }
}

// Of a row each.
template <class Op, int PARTS, int TY, class T>
DCC_DEVICE T dcc_take_parts(const T *part, int apart, int ty, T none)
{
    T one[1];
    dcc_take_parts<Op, PARTS, TY>(one, part, apart, ty, none);
    return one[0];
}

// ---- rows side by side -----------------------------------------------------

// Reduces ROWS rows, a power of two up to 32, over a block of WARPS full warps
// whose thread t has something of row t % ROWS, in one fixed order; each thread
// gets its row's. `scratch` is as dcc_block_reduce's, of WARPS * ROWS elements.
template <class Op, int WARPS, int ROWS, class T>
DCC_DEVICE T dcc_rows_reduce(T x, T *scratch)
{
    const int row = threadIdx.x % ROWS;
#pragma unroll
    for (int mask = 16; mask >= ROWS; mask /= 2)
        x = Op::apply(x, dcc_shuffle_xor(x, mask));
    if (WARPS == 1)
        return x;
    if (threadIdx.x % 32 < ROWS)
        scratch[threadIdx.x / 32 * ROWS + row] = x;
    __syncthreads();
    x = scratch[row];
#pragma unroll
    for (int w = 1; w < WARPS; ++w)
        x = Op::apply(x, scratch[w * ROWS + row]);
    __syncthreads();
    return x;
}

template <int WARPS, int ROWS, class T> DCC_DEVICE T dcc_rows_sum(T x, T *s)
{
    return dcc_rows_reduce<dcc_op_sum, WARPS, ROWS>(x, s);
}
template <int WARPS, int ROWS, class T> DCC_DEVICE T dcc_rows_prod(T x, T *s)
{
    return dcc_rows_reduce<dcc_op_prod, WARPS, ROWS>(x, s);
}
template <int WARPS, int ROWS, class T> DCC_DEVICE T dcc_rows_max(T x, T *s)
{
    return dcc_rows_reduce<dcc_op_max, WARPS, ROWS>(x, s);
}
template <int WARPS, int ROWS, class T> DCC_DEVICE T dcc_rows_min(T x, T *s)
{
    return dcc_rows_reduce<dcc_op_min, WARPS, ROWS>(x, s);
}

#endif
