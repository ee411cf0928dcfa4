#pragma OPENCL EXTENSION cl_khr_fp16 : enable

// N neighbours, converted: from memory, to memory, one value of all.
#define DCC_LOAD(N, to, from)                \
    for (int at_ = 0; at_ < (N); ++at_)      \
        (to)[at_] = (from)[at_]
#define DCC_STORE(N, to, from) DCC_LOAD(N, to, from)
#define DCC_FILL(to, value)                  \
    for (int at_ = 0; at_ < VEC; ++at_)      \
        (to)[at_] = (value)

// global size 49152, local size 128
__kernel __attribute__((reqd_work_group_size(128, 1, 1)))
void m_gelu(
    __global half *restrict y,
    const __global half *restrict x,
    const __global float *restrict bias)
{
    enum { J = 768, VEC = 2, THREADS = 128 };

    // setup: a thread computes VEC neighbours along j
    const int point = (int)get_group_id(0) * THREADS + (int)get_local_id(0);
    const int i = point / (J / VEC);
    const int j = point % (J / VEC) * VEC;

    // compute
    float x_frag[VEC];
    DCC_LOAD(VEC, x_frag, &x[i * J + j]);
    float bias_frag[VEC];
    DCC_LOAD(VEC, bias_frag, &bias[j]);
    float y_frag[VEC];
    #pragma unroll
    for (int v = 0; v < VEC; ++v) {
        const float t = x_frag[v] + bias_frag[v];
        y_frag[v] = 0.5f * t * (1.0f + erf(t * 0.70710677f));
    }
    DCC_STORE(VEC, &y[i * J + j], y_frag);
}
