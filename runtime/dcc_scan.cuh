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

#endif
