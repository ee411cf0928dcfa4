/* emu_host.cpp - dcc_emu_host.h: the device, copies, streams, captures, events,
 * launches.
 */
#include <time.h>
#include <unistd.h>

#include <map>
#include <memory>
#include <mutex>

#include "emu.h"

/* What a stream was asked to do while it was capturing. */
struct dcc_emu_node {
    std::function<cudaError_t()> call;
    size_t at; /* in its graph */
};

struct dcc_emu_graph {
    std::vector<std::unique_ptr<dcc_emu_node>> nodes;
    std::vector<cudaStream_t> streams; /* that joined the capture */
    cudaGraphNode_t last = NULL;
};

struct dcc_emu_stream {
    cudaGraph_t capture; /* NULL: not capturing */
};

struct dcc_emu_event {
    double seconds;
    cudaGraph_t capture;
};

/* ---- errors ---- */

static thread_local cudaError_t emu_last_error;

cudaError_t emu_error(cudaError_t error)
{
    if (error != cudaSuccess)
        emu_last_error = error;
    return error;
}

cudaError_t cudaGetLastError()
{
    const cudaError_t error = emu_last_error;

    emu_last_error = cudaSuccess;
    return error;
}

cudaError_t cudaPeekAtLastError()
{
    return emu_last_error;
}

const char *cudaGetErrorName(cudaError_t error)
{
    switch (error) {
    case cudaSuccess:
        return "cudaSuccess";
    case cudaErrorInvalidValue:
        return "cudaErrorInvalidValue";
    case cudaErrorMemoryAllocation:
        return "cudaErrorMemoryAllocation";
    case cudaErrorInvalidConfiguration:
        return "cudaErrorInvalidConfiguration";
    case cudaErrorNoDevice:
        return "cudaErrorNoDevice";
    case cudaErrorNotSupported:
        return "cudaErrorNotSupported";
    default:
        return "cudaError";
    }
}

const char *cudaGetErrorString(cudaError_t error)
{
    switch (error) {
    case cudaSuccess:
        return "no error";
    case cudaErrorInvalidValue:
        return "invalid argument";
    case cudaErrorMemoryAllocation:
        return "out of memory";
    case cudaErrorInvalidConfiguration:
        return "invalid configuration argument";
    case cudaErrorNoDevice:
        return "no CUDA-capable device is detected";
    case cudaErrorNotSupported:
        return "operation not supported";
    default:
        return "unknown error";
    }
}

/* ---- the device ---- */

/* Several GPUs have one memory and the same streams: what they are for is which
 * of them is a thread's current one. */
static thread_local int current_device;

static int device_count()
{
    return getenv("DCC_EMU_NO_GPU") ? 0
                                    : (int)emu_number("DCC_EMU_GPUS", 64, 1);
}

cudaError_t cudaGetDeviceCount(int *count)
{
    *count = device_count();
    return *count ? cudaSuccess : emu_error(cudaErrorNoDevice);
}

cudaError_t cudaGetDevice(int *device)
{
    *device = current_device;
    return cudaSuccess;
}

cudaError_t cudaSetDevice(int device)
{
    if (device < 0 || device >= device_count())
        return emu_error(cudaErrorInvalidValue);
    current_device = device;
    return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize()
{
    return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp *out, int device)
{
    size_t available;

    if (device < 0 || device >= device_count())
        return emu_error(cudaErrorInvalidValue);
    memset(out, 0, sizeof *out);
    snprintf(out->name, sizeof out->name, "CPU");
    cudaMemGetInfo(&available, &out->totalGlobalMem);
    out->major = 9;
    out->multiProcessorCount = emu_settings().threads;
    out->sharedMemPerBlockOptin = EMU_MAX_SMEM;
    return cudaSuccess;
}

/* ---- host memory, copies ---- */

cudaError_t cudaMallocHost(void **out, size_t bytes)
{
    *out = malloc(bytes ? bytes : 1);
    return emu_error(*out ? cudaSuccess : cudaErrorMemoryAllocation);
}

cudaError_t cudaFreeHost(void *p)
{
    free(p);
    return cudaSuccess;
}

cudaError_t cudaHostAlloc(void **out, size_t bytes, unsigned)
{
    return cudaMallocHost(out, bytes);
}

cudaError_t cudaHostGetDevicePointer(void **out, void *host, unsigned)
{
    *out = host;
    return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int *out, cudaDeviceAttr, int)
{
    *out = 1;
    return cudaSuccess;
}

cudaError_t cudaMallocAsync(void **out, size_t bytes, cudaStream_t)
{
    return cudaMalloc(out, bytes);
}

cudaError_t cudaFreeAsync(void *p, cudaStream_t)
{
    return cudaFree(p);
}

cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes,
                       cudaMemcpyKind)
{
    if (bytes)
        memcpy(to, from, bytes);
    return cudaSuccess;
}

cudaError_t cudaMemset(void *to, int byte, size_t bytes)
{
    if (bytes)
        memset(to, byte, bytes);
    return cudaSuccess;
}

/* ---- streams and captures ---- */

/* Now, or when the graph that the stream is recording is launched. */
static cudaError_t emu_enqueue(cudaStream_t stream,
                               std::function<cudaError_t()> call)
{
    if (!stream || !stream->capture)
        return emu_error(call());
    auto &nodes = stream->capture->nodes;
    nodes.emplace_back(new dcc_emu_node{std::move(call), nodes.size()});
    stream->capture->last = nodes.back().get();
    return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes,
                            cudaMemcpyKind kind, cudaStream_t stream)
{
    return emu_enqueue(stream,
                       [=] { return cudaMemcpy(to, from, bytes, kind); });
}

cudaError_t cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from,
                              size_t from_pitch, size_t bytes, size_t rows,
                              cudaMemcpyKind, cudaStream_t stream)
{
    if (bytes > to_pitch || bytes > from_pitch)
        return emu_error(cudaErrorInvalidValue);
    return emu_enqueue(stream, [=] {
        for (size_t i = 0; i < rows; i++)
            memcpy((char *)to + i * to_pitch,
                   (const char *)from + i * from_pitch, bytes);
        return cudaSuccess;
    });
}

cudaError_t cudaMemsetAsync(void *to, int byte, size_t bytes,
                            cudaStream_t stream)
{
    return emu_enqueue(stream, [=] { return cudaMemset(to, byte, bytes); });
}

cudaError_t cudaStreamCreate(cudaStream_t *out)
{
    *out = new dcc_emu_stream{NULL};
    return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *out, unsigned)
{
    return cudaStreamCreate(out);
}

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    delete stream;
    return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    if (stream && stream->capture)
        return emu_error(cudaErrorStreamCaptureInvalidated);
    return cudaSuccess;
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream,
                                  cudaStreamCaptureStatus *out)
{
    *out = stream && stream->capture ? cudaStreamCaptureStatusActive
                                     : cudaStreamCaptureStatusNone;
    return cudaSuccess;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode)
{
    if (!stream || stream->capture)
        return emu_error(cudaErrorInvalidValue);
    stream->capture = new dcc_emu_graph();
    stream->capture->streams.push_back(stream);
    return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *out)
{
    *out = stream ? stream->capture : NULL;
    if (!*out)
        return emu_error(cudaErrorInvalidValue);
    for (cudaStream_t s : (*out)->streams)
        s->capture = NULL;
    (*out)->streams.clear();
    return cudaSuccess;
}

/* A stream that waits for an event of a capture joins that capture. */
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event,
                                unsigned)
{
    if (stream && event->capture && !stream->capture) {
        stream->capture = event->capture;
        stream->capture->streams.push_back(stream);
    }
    return cudaSuccess;
}

/* ---- graphs ---- */

static void emu_copy_nodes(const dcc_emu_graph *from, dcc_emu_graph *to)
{
    to->nodes.clear();
    for (const auto &n : from->nodes)
        to->nodes.emplace_back(new dcc_emu_node(*n));
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *out, cudaGraph_t graph,
                                 unsigned long long)
{
    *out = new dcc_emu_graph();
    emu_copy_nodes(graph, *out);
    return cudaSuccess;
}

cudaError_t cudaGraphUpload(cudaGraphExec_t, cudaStream_t)
{
    return cudaSuccess;
}

/* A node's call stands for its kernel and arguments. */
cudaError_t cudaGraphKernelNodeGetParams(cudaGraphNode_t node,
                                         cudaKernelNodeParams *out)
{
    memset((void *)out, 0, sizeof *out);
    out->extra = (void **)node;
    return cudaSuccess;
}

cudaError_t
cudaGraphExecKernelNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                 const cudaKernelNodeParams *params)
{
    if (node->at >= exec->nodes.size())
        return emu_error(cudaErrorInvalidValue);
    exec->nodes[node->at]->call = ((cudaGraphNode_t)params->extra)->call;
    return cudaSuccess;
}

cudaError_t cudaStreamGetCaptureInfo(
    cudaStream_t stream, cudaStreamCaptureStatus *status, unsigned long long *,
    cudaGraph_t *, const cudaGraphNode_t **last, const cudaGraphEdgeData **,
    size_t *n)
{
    cudaStreamIsCapturing(stream, status);
    *n = stream && stream->capture && stream->capture->last;
    *last = *n ? &stream->capture->last : NULL;
    return cudaSuccess;
}

cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t *out,
                                          cudaGraph_t graph,
                                          unsigned long long flags)
{
    return cudaGraphInstantiate(out, graph, flags);
}

cudaError_t cudaGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t graph,
                                cudaGraphExecUpdateResultInfo *out)
{
    out->result = 0;
    if (exec->nodes.size() != graph->nodes.size())
        return emu_error(cudaErrorInvalidValue);
    emu_copy_nodes(graph, exec);
    return cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream)
{
    for (const auto &node : exec->nodes) {
        const cudaError_t error = emu_enqueue(stream, node->call);

        if (error != cudaSuccess)
            return error;
    }
    return cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph)
{
    delete graph;
    return cudaSuccess;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec)
{
    delete exec;
    return cudaSuccess;
}

cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *nodes,
                              size_t *count)
{
    if (nodes)
        return emu_error(cudaErrorNotSupported);
    *count = graph->nodes.size();
    return cudaSuccess;
}

/* ---- events ---- */

cudaError_t cudaEventCreate(cudaEvent_t *out)
{
    *out = new dcc_emu_event{0, NULL};
    return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *out, unsigned)
{
    return cudaEventCreate(out);
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    delete event;
    return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    event->seconds = (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
    event->capture = stream ? stream->capture : NULL;
    return cudaSuccess;
}

cudaError_t cudaEventSynchronize(cudaEvent_t)
{
    return cudaSuccess;
}

cudaError_t cudaEventQuery(cudaEvent_t)
{
    return cudaSuccess;
}

cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t from, cudaEvent_t to)
{
    *ms = (float)((to->seconds - from->seconds) * 1e3);
    return cudaSuccess;
}

/* ---- launches ---- */

struct EmuKernels {
    std::mutex lock;
    std::map<const void *, int> smem; /* what cudaFuncSetAttribute allowed */
};

static EmuKernels &emu_kernels()
{
    static EmuKernels kernels;

    return kernels;
}

cudaError_t dcc_emu_set_attribute(const void *kernel, cudaFuncAttribute what,
                                  int value)
{
    EmuKernels &kernels = emu_kernels();
    std::lock_guard<std::mutex> hold(kernels.lock);

    if (what != cudaFuncAttributeMaxDynamicSharedMemorySize)
        return cudaSuccess;
    if (value < 0 || value > EMU_MAX_SMEM)
        return emu_error(cudaErrorInvalidValue);
    kernels.smem[kernel] = value;
    return cudaSuccess;
}

static bool emu_smem_allowed(const void *kernel, size_t bytes)
{
    EmuKernels &kernels = emu_kernels();
    std::lock_guard<std::mutex> hold(kernels.lock);
    auto found = kernels.smem.find(kernel);
    const size_t allowed =
        found == kernels.smem.end() ? 0 : (size_t)found->second;

    return bytes <= 48u << 10 || bytes <= allowed;
}

static cudaError_t emu_check_launch(const void *kernel,
                                    const dcc_emu_geometry &g)
{
    const unsigned long threads =
        (unsigned long)g.block.x * g.block.y * g.block.z;
    const unsigned long cluster =
        (unsigned long)g.cluster.x * g.cluster.y * g.cluster.z;

    if (threads < 1 || threads > EMU_MAX_THREADS || g.block.z > 64)
        return cudaErrorInvalidConfiguration;
    if (g.grid.x < 1 || g.grid.x > 0x7fffffffu || g.grid.y < 1 ||
        g.grid.y > 65535 || g.grid.z < 1 || g.grid.z > 65535)
        return cudaErrorInvalidConfiguration;
    if (cluster < 1 || cluster > EMU_MAX_CLUSTER || g.grid.x % g.cluster.x ||
        g.grid.y % g.cluster.y || g.grid.z % g.cluster.z)
        return cudaErrorInvalidConfiguration;
    if (!emu_smem_allowed(kernel, g.smem))
        return cudaErrorInvalidValue;
    return cudaSuccess;
}

cudaError_t dcc_emu_launch_body(const void *kernel, const dcc_emu_geometry &g,
                                std::function<void()> body)
{
    const cudaError_t error = emu_check_launch(kernel, g);

    if (error != cudaSuccess)
        return emu_error(error);
    return emu_enqueue(g.stream, [g, body] {
        emu_run_grid(g, body);
        return cudaSuccess;
    });
}
