// ---- m_depthwise ----------------------------------------------------------
//
// Computes
//       sum over r, s: f32 in registers
//       each row: f32 in registers, stored to y: f16[2, 96, 28, 28]
//
// Rows      n 2, c 96, p 28, q 28; columns r 3, s 3
// Work      4.52 MFLOP, 302 kB moved, 14.9 FLOP/B
// Model     1.00 us, limited by HBM
// Family    map, vec=8 threads=128 tile=4

// grid 37, block 128
extern "C" __global__ __launch_bounds__(128)
void m_depthwise(
    __half *__restrict__ y,          // f16[2, 96, 28, 28]
    const __half *__restrict__ x,    // f16[2, 96, 28, 28]
    const __half *__restrict__ w,    // f16[96, 3, 3]
    const float *__restrict__ bias)  // f32[96]
{
    enum {
        P = 28, Q = 28, C = 96, R = 3, S = 3, VEC = 8,
        TILE = 4,  // outputs of a thread along p
        SPAN = 6,  // inputs for them
        THREADS = 128,
        POINTS = 4704,  // groups of VEC
    };

    // setup: a thread computes VEC neighbours along c
    const int point = blockIdx.x * THREADS + threadIdx.x;
    if (point >= POINTS)
        return;
    const int n = point / ((P / TILE) * Q * C / VEC);
    const int p = point / (Q * C / VEC) % (P / TILE) * TILE;
    const int q = point / (C / VEC) % Q;
    const int c = point % (C / VEC) * VEC;

    // sum over the columns
    float sum[TILE][VEC] = {};
    #pragma unroll
    for (int s = 0; s < S; ++s) {
        #pragma unroll
        for (int u = 0; u < SPAN; ++u) {
            float x_frag[VEC];
            if (p + u >= 1 && p + u < 29 && q + s >= 1 && q + s < 29)
                dcc_load<VEC>(x_frag,
                    &x[((n * 28 + p + u - 1) * 28 + q + s - 1) * C + c]);
            else
                dcc_fill(x_frag, 0.0f);
            #pragma unroll
            for (int t = 0; t < TILE; ++t) {
                const int r = u - t;
                if (r >= 0 && r < R) {
                    #pragma unroll
                    for (int v = 0; v < VEC; ++v)
                        sum[t][v] += x_frag[v]
                            * __half2float(w[((c + v) * R + r) * S + s]);
                }
            }
        }
    }

    // results
    #pragma unroll
    for (int t = 0; t < TILE; ++t) {
        float bias_frag[VEC];
        dcc_load<4>(bias_frag, &bias[c]);
        float y_frag[VEC];
        #pragma unroll
        for (int v = 0; v < VEC; ++v)
            y_frag[v] = fminf(fmaxf(sum[t][v] + bias_frag[v], 0.0f), 6.0f);
        dcc_store<VEC>(&y[((n * P + (p + t)) * Q + q) * C + c], y_frag);
    }
}

extern "C" cudaError_t m_depthwise_launch(__half *y, const __half *x,
    const __half *w, const float *bias, cudaStream_t stream)
{
    const dim3 grid(37);

    m_depthwise<<<grid, 128, 0, stream>>>(y, x, w, bias);
    return cudaGetLastError();
}
