// probe.cu - what `dcc probe` measures of the GPU at hand: prints a .dev file.
//
// Every figure is the median of several runs, after one that warms up. What is
// not printed here is taken from a like GPU, as a guess.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

static void check(cudaError_t status, const char *what)
{
    if (status == cudaSuccess)
        return;
    fprintf(stderr, "probe: %s: %s\n", what, cudaGetErrorString(status));
    exit(3);
}
#define CHECK(call) check(call, #call)

enum { RUNS = 7, CHAIN = 4096, NODES = 400 };

// Microseconds of one call of f, which enqueues work on `stream`.
template <class F>
static double time_us(cudaStream_t stream, F f)
{
    std::vector<float> ms(RUNS);
    cudaEvent_t begin, end;

    CHECK(cudaEventCreate(&begin));
    CHECK(cudaEventCreate(&end));
    f();
    for (float &m : ms) {
        CHECK(cudaEventRecord(begin, stream));
        f();
        CHECK(cudaEventRecord(end, stream));
        CHECK(cudaEventSynchronize(end));
        CHECK(cudaEventElapsedTime(&m, begin, end));
    }
    std::sort(ms.begin(), ms.end());
    return 1e3 * ms[RUNS / 2];
}

__global__ void copy_all(float4 *out, const float4 *in, size_t n)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n;
         i += (size_t)gridDim.x * blockDim.x)
        out[i] = in[i];
}

// Reads n elements `times` times, past the L1.
__global__ void read_all(float *out, const float4 *in, int n, int times)
{
    float sum = 0;
    for (int t = 0; t < times; ++t)
        for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n;
             i += gridDim.x * blockDim.x) {
            const float4 v = __ldcg(in + i);
            sum += v.x + v.y + v.z + v.w;
        }
    if (sum == 1.5f)
        *out = sum;
}

__global__ void multiply_add(float *out, float a, float b)
{
    float v[8];
    for (int i = 0; i < 8; ++i)
        v[i] = threadIdx.x + i;
    for (int k = 0; k < CHAIN; ++k)
        #pragma unroll
        for (int i = 0; i < 8; ++i)
            v[i] = v[i] * a + b;
    float sum = 0;
    for (int i = 0; i < 8; ++i)
        sum += v[i];
    if (sum == 1.5f)
        *out = sum;
}

__global__ void special(float *out, float a)
{
    float v[8];
    for (int i = 0; i < 8; ++i)
        v[i] = a * (threadIdx.x + i);
    for (int k = 0; k < CHAIN / 8; ++k)
        #pragma unroll
        for (int i = 0; i < 8; ++i)
            asm volatile("ex2.approx.ftz.f32 %0, %0;" : "+f"(v[i]));
    float sum = 0;
    for (int i = 0; i < 8; ++i)
        sum += v[i];
    if (sum == 1.5f)
        *out = sum;
}

// Products by mma.sync, 16 x 8 x 16 in f16 with sums in f32.
__global__ void products(float *out)
{
#if __CUDA_ARCH__ >= 800
    float sum[8][4] = {};
    const unsigned a = threadIdx.x, b = threadIdx.x + 1;
    for (int k = 0; k < CHAIN / 8; ++k)
        #pragma unroll
        for (int i = 0; i < 8; ++i)
            asm volatile(
                "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
                "{%0, %1, %2, %3}, {%4, %4, %5, %5}, {%4, %5}, "
                "{%0, %1, %2, %3};"
                : "+f"(sum[i][0]), "+f"(sum[i][1]), "+f"(sum[i][2]),
                  "+f"(sum[i][3])
                : "r"(a), "r"(b));
    float all = 0;
    for (int i = 0; i < 8; ++i)
        all += sum[i][0] + sum[i][1] + sum[i][2] + sum[i][3];
    if (all == 1.5f)
        *out = all;
#endif
}

// Clocks of a load from memory that next[] leads through, one after another.
__global__ void chase(const unsigned *next, int n, long long *clocks)
{
    unsigned at = 0;
    for (int i = 0; i < n; ++i)
        at = __ldcg(next + at);
    const long long begin = clock64();
    for (int i = 0; i < n; ++i)
        at = __ldcg(next + at);
    clocks[0] = clock64() - begin;
    clocks[1] = at;
}

__global__ void shared_memory(long long *clocks)
{
    __shared__ uint4 data[1024];
    unsigned *next = (unsigned *)data;
    for (int i = threadIdx.x; i < 4096; i += blockDim.x)
        next[i] = (i + 33) % 4096;
    __syncthreads();
    unsigned at = threadIdx.x;
    long long begin = clock64();
    if (threadIdx.x == 0) {
        for (int i = 0; i < 1024; ++i)
            at = next[at];
        clocks[0] = clock64() - begin;
    }
    __syncthreads();
    begin = clock64();
    uint4 sum = {};
    #pragma unroll 8
    for (int i = 0; i < 512; ++i) {
        const uint4 v = data[(threadIdx.x + 32 * i) % 1024];
        sum.x ^= v.x ^ v.y ^ v.z ^ v.w;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        clocks[1] = clock64() - begin;
        clocks[2] = sum.x + at;
    }
}

__global__ void nothing(int *out)
{
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
    if (threadIdx.x == 0)
        out[blockIdx.x] = blockIdx.x;
}

__global__ void clustered(int *out)
{
    if (out)
        *out = 1;
}

// One chain through `bytes` in steps of 4 KB and a bit, around.
static double latency(unsigned *buffer, size_t bytes)
{
    const size_t step = 4096 + 128, count = bytes / step;
    std::vector<unsigned> next(bytes / 4);
    long long *clocks, host[2];

    for (size_t i = 0; i < count; ++i)  // a stride that no prefetch knows
        next[i * step / 4] =
            (unsigned)((i + count * 5 / 8 + 1) % count * step / 4);
    CHECK(cudaMemcpy(buffer, next.data(), bytes, cudaMemcpyHostToDevice));
    CHECK(cudaMalloc(&clocks, sizeof host));
    const int n = (int)std::min<size_t>(count, 8192);
    chase<<<1, 1>>>(buffer, n, clocks);
    CHECK(cudaMemcpy(host, clocks, sizeof host, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(clocks));
    return (double)host[0] / n;
}

// A node of a graph in which each waits for the one before.
static double node_us(cudaStream_t stream, int sms, int *out, bool dependent)
{
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaLaunchConfig_t config = {};
    cudaLaunchAttribute attribute = {};

    config.gridDim = dim3(sms);
    config.blockDim = dim3(128);
    config.stream = stream;
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    config.attrs = &attribute;
    config.numAttrs = dependent;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    for (int i = 0; i < NODES; ++i)
        CHECK(cudaLaunchKernelEx(&config, nothing, out));
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    return time_us(stream, [&] { CHECK(cudaGraphLaunch(exec, stream)); }) /
           NODES;
}

// SMs that clusters of 4 blocks fill, one block an SM.
static int cluster_sms(const cudaDeviceProp &p)
{
    cudaLaunchConfig_t config = {};
    cudaLaunchAttribute attribute = {};
    int clusters = 0;

    if (p.major < 9)
        return 0;
    const int bytes = (int)p.sharedMemPerBlockOptin;
    CHECK(cudaFuncSetAttribute(
        clustered, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
    config.gridDim = dim3(p.multiProcessorCount / 4 * 4);
    config.blockDim = dim3(128);
    config.dynamicSmemBytes = bytes;
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim.x = 4;
    attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
    config.attrs = &attribute;
    config.numAttrs = 1;
    CHECK(cudaOccupancyMaxActiveClusters(&clusters, clustered, &config));
    return clusters * 4;
}

static void driver(const char *key, double value)
{
    printf("%s = %g # measured: by the driver\n", key, value);
}

static void measured(const char *key, double value, const char *how)
{
    printf("%s = %.4g # measured: %s\n", key, value, how);
}

static void put_driver(const cudaDeviceProp &p, int khz)
{
    const char *like = p.major >= 9   ? "h200"
                       : p.major < 7  ? "v100"
                       : p.major == 7 ? (p.minor ? "t4" : "v100")
                       : p.minor == 0 ? "a100"
                       : p.minor == 9 ? "rtx4090"
                                      : "rtx3090";

    printf("title = %s\nlike = %s\n", p.name, like);
    driver("sm", p.major * 10 + p.minor);
    driver("sms", p.multiProcessorCount);
    driver("cluster_sms", cluster_sms(p));
    driver("clock_ghz", khz / 1e6);
    driver("l2_mb", (double)(p.l2CacheSize >> 20));
    driver("smem_block_kb", (double)(p.sharedMemPerBlockOptin >> 10));
    driver("smem_sm_kb", (double)(p.sharedMemPerMultiprocessor >> 10));
    driver("regs_sm", p.regsPerMultiprocessor);
    driver("threads_sm", p.maxThreadsPerMultiProcessor);
    driver("blocks_sm", p.maxBlocksPerMultiProcessor);
}

static void put_rates(cudaStream_t s, const cudaDeviceProp &p, float4 *a,
                      float4 *b, size_t bytes)
{
    const int sms = p.multiProcessorCount, blocks = sms * 4, threads = 512;
    const double all = (double)blocks * threads;
    float *out = (float *)b;

    double us = time_us(s, [&] {
        copy_all<<<sms * 16, threads, 0, s>>>(b, a, bytes / 16);
    });
    measured("hbm_gbs", 2.0 * (double)bytes / us / 1e3, "copy, read and write");
    const int near = (int)(p.l2CacheSize * 0.4 / 16);
    us = time_us(s, [&] { read_all<<<blocks, threads, 0, s>>>(out, a, near, 20); });
    measured("l2_gbs", 20.0 * near * 16 / us / 1e3, "0.4 of it, again and again");
    us = time_us(s, [&] { multiply_add<<<blocks, threads, 0, s>>>(out, 1.1f, 0); });
    measured("fma_tflops", all * CHAIN * 8 * 2 / us / 1e6, "chains of FMA");
    us = time_us(s, [&] { special<<<blocks, threads, 0, s>>>(out, 1e-3f); });
    measured("special_gops", all * CHAIN / us / 1e3, "chains of ex2");
    if (p.major < 8)
        return;
    us = time_us(s, [&] { products<<<blocks, threads, 0, s>>>(out); });
    measured("mma_tflops", all / 32 * CHAIN * 16 * 8 * 16 * 2 / us / 1e6,
             "mma.sync from registers");
}

static void put_latencies(const cudaDeviceProp &p, float4 *a, size_t bytes)
{
    long long *clocks, host[3];

    CHECK(cudaMalloc(&clocks, sizeof host));
    shared_memory<<<1, 1024>>>(clocks);
    shared_memory<<<1, 1024>>>(clocks);
    CHECK(cudaMemcpy(host, clocks, sizeof host, cudaMemcpyDeviceToHost));
    measured("smem_latency", host[0] / 1024.0, "loads that depend");
    measured("smem_bytes_clk", 1024.0 * 512 * 16 / (double)host[1],
             "loads of 16 bytes");
    measured("l2_latency", latency((unsigned *)a, 2 << 20),
             "loads that depend, 2 MB");
    measured("hbm_latency", latency((unsigned *)a, std::min<size_t>(bytes, 256 << 20)),
             "loads that depend, 256 MB, an idle GPU");
    (void)p;
}

int main()
{
    const size_t bytes = (size_t)512 << 20;
    cudaDeviceProp p;
    cudaStream_t stream;
    float4 *a, *b;
    int device, khz;

    CHECK(cudaGetDevice(&device));
    CHECK(cudaGetDeviceProperties(&p, device));
    CHECK(cudaDeviceGetAttribute(&khz, cudaDevAttrClockRate, device));
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaMalloc(&a, bytes));
    CHECK(cudaMalloc(&b, bytes));
    CHECK(cudaMemset(a, 0, bytes));
    put_driver(p, khz);
    put_rates(stream, p, a, b, bytes);
    put_latencies(p, a, bytes);
    measured("launch_us", node_us(stream, p.multiProcessorCount, (int *)b, false),
             "a dependent node of a CUDA graph");
    if (p.major >= 9)
        measured("dependent_launch_us",
                 node_us(stream, p.multiProcessorCount, (int *)b, true),
                 "the same by dependent launch");
    CHECK(cudaDeviceSynchronize());
    return 0;
}
