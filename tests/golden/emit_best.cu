// ---- m_best ---------------------------------------------------------------
//
// Computes
//       argmax over d: i32 in registers, stored to y: i32[3]
//       min over d: f32 in registers, stored to z: f32[3]
//       sum over d: i32 in registers, stored to count: i32[3]
//
// Rows      i 3; columns d 100000
// Work      1.2 MFLOP, 600 kB moved, 2 FLOP/B
// Model     1.00 us, limited by HBM
// Family    reduce, split threads=256 vec=4 share=16

// grid 16 x 3, block 256, 132 bytes of shared memory
extern "C" __global__ __launch_bounds__(256)
void m_best(
    int32_t *__restrict__ y,                // i32[3]
    float *__restrict__ z,                  // f32[3]
    int32_t *__restrict__ count,            // i32[3]
    const float *__restrict__ x,            // f32[3, 100000]
    unsigned char *__restrict__ workspace,  // scratch, 1024 bytes
    unsigned int *__restrict__ counters)    // 3, left 0
{
    enum {
        D = 100000, VEC = 4,
        SPLITS = 16,  // blocks a row
        THREADS = 256, WARPS = 8,
        PART = 6252,  // columns of a block
    };
    static_assert(SPLITS <= THREADS, "a thread takes one partial result");
    struct smem_t {
        dcc_arg<float> scratch_arg[WARPS];  // one partial result a warp
        float scratch[WARPS];  // one partial result a warp
        int scratch_int[WARPS];  // one partial result a warp
        bool last;  // this block arrived last
    };
    smem_t &smem = dcc_shared<smem_t, 132>();

    // setup: SPLITS blocks share a row
    const int i = blockIdx.y;
    const int first = blockIdx.x * PART;
    const int last = min(first + PART, (int)D);

    // argmax, min, sum over the columns
    dcc_arg<float> argmax = {-INFINITY, DCC_NO_INDEX};
    float min_ = INFINITY;
    int sum = 0;
    #pragma unroll 4
    for (int d = first + threadIdx.x * VEC; d < last; d += THREADS * VEC) {
        float x_frag[VEC];
        dcc_load<VEC>(x_frag, &x[i * D + d]);
        #pragma unroll
        for (int v = 0; v < VEC; ++v) {
            const float x_val = x_frag[v];
            argmax = dcc_op_argmax::next(argmax,
                dcc_arg<float>{x_val, (d + v)});
            min_ = fminf(min_, x_val);
            sum += x_val > 0.5f;
        }
    }
    argmax = dcc_block_argmax<WARPS>(argmax, smem.scratch_arg);
    min_ = dcc_block_min<WARPS>(min_, smem.scratch);
    sum = dcc_block_sum<WARPS>(sum, smem.scratch_int);

    // the last block of the row to arrive combines all of them
    dcc_arg<float> *part_argmax =
        reinterpret_cast<dcc_arg<float> *>(workspace) + blockIdx.y * SPLITS;
    float *part_min = reinterpret_cast<float *>(workspace + 512)
        + blockIdx.y * SPLITS;
    int *part_sum = reinterpret_cast<int *>(workspace + 768)
        + blockIdx.y * SPLITS;
    if (threadIdx.x == 0) {
        part_argmax[blockIdx.x] = argmax;
        part_min[blockIdx.x] = min_;
        part_sum[blockIdx.x] = sum;
        __threadfence();
        smem.last = atomicAdd(&counters[blockIdx.y], 1u) == SPLITS - 1;
    }
    __syncthreads();
    if (!smem.last)
        return;
    if (threadIdx.x == 0)
        counters[blockIdx.y] = 0;
    __threadfence();
    argmax = {-INFINITY, DCC_NO_INDEX};
    if (threadIdx.x < SPLITS)
        argmax = {__ldcg(&part_argmax[threadIdx.x].value),
            __ldcg(&part_argmax[threadIdx.x].index)};
    argmax = dcc_block_argmax<WARPS>(argmax, smem.scratch_arg);
    min_ = INFINITY;
    if (threadIdx.x < SPLITS)
        min_ = __ldcg(&part_min[threadIdx.x]);
    min_ = dcc_block_min<WARPS>(min_, smem.scratch);
    sum = 0;
    if (threadIdx.x < SPLITS)
        sum = __ldcg(&part_sum[threadIdx.x]);
    sum = dcc_block_sum<WARPS>(sum, smem.scratch_int);

    // results of the row
    if (threadIdx.x == 0) {
        y[i] = argmax.index;
        z[i] = min_;
        count[i] = sum;
    }
}

extern "C" cudaError_t m_best_launch(int32_t *y, float *z, int32_t *count,
    const float *x, unsigned char *workspace, unsigned int *counters,
    cudaStream_t stream)
{
    const dim3 grid(16, 3);

    m_best<<<grid, 256, 132, stream>>>(y, z, count, x, workspace, counters);
    return cudaGetLastError();
}
