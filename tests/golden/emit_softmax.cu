// ---- m_softmax ------------------------------------------------------------
//
// Computes
//       max over d: f32 in registers
//       each element: f32 in registers
//       sum over d: f32 in registers
//       each element: f32 in registers, stored to y: f16[1024, 768]
//
// Rows      i 1024; columns d 768
// Work      7.86 MFLOP, 1.57 MB moved, 5 FLOP/B
// Model     1.00 us, limited by HBM
// Family    reduce, lanes threads=128 vec=8 share=32

// grid 256, block 128
extern "C" __global__ __launch_bounds__(128)
void m_softmax(
    __half *__restrict__ y,        // f16[1024, 768]
    const __half *__restrict__ x)  // f16[1024, 768]
{
    enum {
        D = 768, VEC = 8,
        CHUNKS = 3,  // a thread's turns through the columns
        LANES = 32,  // of a row
        THREADS = 128,
    };

    // setup: LANES lanes of a warp share a row
    const int lane_id = threadIdx.x % LANES;
    const int i = blockIdx.x * (THREADS / LANES) + threadIdx.x / LANES;

    // load: the row's columns into registers
    float x_frag[CHUNKS][VEC];
    #pragma unroll
    for (int chunk = 0; chunk < CHUNKS; ++chunk) {
        const int d = (chunk * LANES + lane_id) * VEC;
        dcc_load<VEC>(x_frag[chunk], &x[i * D + d]);
    }

    // max over the columns
    float max = -INFINITY;
    #pragma unroll
    for (int chunk = 0; chunk < CHUNKS; ++chunk) {
        #pragma unroll
        for (int v = 0; v < VEC; ++v)
            max = fmaxf(max, x_frag[chunk][v]);
    }
    max = dcc_warp_max(max);

    // sum over the columns
    float t[CHUNKS][VEC];
    float sum = 0.0f;
    #pragma unroll
    for (int chunk = 0; chunk < CHUNKS; ++chunk) {
        #pragma unroll
        for (int v = 0; v < VEC; ++v) {
            t[chunk][v] = dcc_ex2((x_frag[chunk][v] - max) * 1.442695f);
            sum += t[chunk][v];
        }
    }
    sum = dcc_warp_sum(sum);

    // values over the columns
    const dcc_divisor row_divisor = dcc_divisor_of(sum);
    #pragma unroll
    for (int chunk = 0; chunk < CHUNKS; ++chunk) {
        const int d = (chunk * LANES + lane_id) * VEC;
        float y_frag[VEC];
        #pragma unroll
        for (int v = 0; v < VEC; ++v)
            y_frag[v] = dcc_divide(t[chunk][v], row_divisor);
        dcc_store<VEC>(&y[i * D + d], y_frag);
    }
}

extern "C" cudaError_t m_softmax_launch(__half *y, const __half *x,
    cudaStream_t stream)
{
    const dim3 grid(256);

    m_softmax<<<grid, 128, 0, stream>>>(y, x);
    return cudaGetLastError();
}
