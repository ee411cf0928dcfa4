// ---- m_running_sum --------------------------------------------------------
//
// Computes
//       sum over k: f32 in registers
//       each row: f32 in registers, stored to y: f32[48, 2000]
//
// Rows      r 48, i 2000; columns k 2000
// Work      192 kFLOP, 288 kB moved, 0.667 FLOP/B
// Model     1.00 us, limited by HBM
// Family    prefix, block threads=128 vec=8

// grid 48, block 128, 16 bytes of shared memory
extern "C" __global__ __launch_bounds__(128)
void m_running_sum(
    float *__restrict__ y,         // f32[48, 2000]
    const __half *__restrict__ x)  // f16[48, 2000]
{
    enum {
        VEC = 8, THREADS = 128,
        CHUNKS = 2,  // a thread's turns along the line
        I = 2000,
    };
    struct smem_t {
        float warps[THREADS / 32];  // each warp's own
    };
    smem_t &smem = dcc_shared<smem_t, 16>();

    // setup: a block goes along a line
    const int r = blockIdx.x;

    // running sum
    float before = 0.0f;
    for (int chunk = 0; chunk < CHUNKS; ++chunk) {
        const int i = (chunk * THREADS + threadIdx.x) * VEC;
        float t[VEC];
        dcc_fill(t, 0.0f);
        if (i < I) {
            float x_frag[VEC];
            dcc_load<VEC>(x_frag, &x[r * I + i]);
            #pragma unroll
            for (int v = 0; v < VEC; ++v)
                t[v] = x_frag[v];
        }
        dcc_block_scan<dcc_op_sum>(t, before, smem.warps);
        if (i < I) {
            float y_frag[VEC];
            #pragma unroll
            for (int v = 0; v < VEC; ++v)
                y_frag[v] = t[v] * 0.5f;
            dcc_store<4>(&y[r * I + i], y_frag);
        }
    }
}

extern "C" cudaError_t m_running_sum_launch(float *y, const __half *x,
    cudaStream_t stream)
{
    const dim3 grid(48);

    m_running_sum<<<grid, 128, 16, stream>>>(y, x);
    return cudaGetLastError();
}
