/* dcc_emu_host.h - the part of the CUDA runtime's host interface that emitted
 * code and rt.c use, on a CPU. Streams run at once; a capture records calls
 * and replays them.
 */
#ifndef DCC_EMU_HOST_H
#define DCC_EMU_HOST_H

#include <functional>
#include <tuple>
#include <utility>

#define CUDART_VERSION 13000

enum cudaError_t {
    cudaSuccess = 0,
    cudaErrorInvalidValue = 1,
    cudaErrorMemoryAllocation = 2,
    cudaErrorInvalidConfiguration = 9,
    cudaErrorInsufficientDriver = 35,
    cudaErrorNoDevice = 100,
    cudaErrorNoKernelImageForDevice = 209,
    cudaErrorInvalidResourceHandle = 400,
    cudaErrorNotReady = 600,
    cudaErrorIllegalAddress = 700,
    cudaErrorLaunchOutOfResources = 701,
    cudaErrorIllegalInstruction = 715,
    cudaErrorMisalignedAddress = 716,
    cudaErrorLaunchFailure = 719,
    cudaErrorNotSupported = 801,
    cudaErrorStreamCaptureInvalidated = 901
};

enum cudaMemcpyKind {
    cudaMemcpyHostToHost,
    cudaMemcpyHostToDevice,
    cudaMemcpyDeviceToHost,
    cudaMemcpyDeviceToDevice,
    cudaMemcpyDefault
};
enum cudaFuncAttribute {
    cudaFuncAttributeMaxDynamicSharedMemorySize = 8,
    cudaFuncAttributePreferredSharedMemoryCarveout = 9,
    cudaFuncAttributeNonPortableClusterSizeAllowed = 14
};
enum cudaStreamCaptureMode {
    cudaStreamCaptureModeGlobal,
    cudaStreamCaptureModeThreadLocal,
    cudaStreamCaptureModeRelaxed
};
enum cudaStreamCaptureStatus {
    cudaStreamCaptureStatusNone,
    cudaStreamCaptureStatusActive,
    cudaStreamCaptureStatusInvalidated
};
enum { cudaStreamDefault = 0, cudaStreamNonBlocking = 1 };
enum { cudaEventDefault = 0, cudaEventDisableTiming = 2 };
enum { cudaEnableDefault = 0 };

typedef struct dcc_emu_stream *cudaStream_t;
typedef struct dcc_emu_graph *cudaGraph_t;
typedef struct dcc_emu_graph *cudaGraphExec_t;
typedef struct dcc_emu_event *cudaEvent_t;
typedef struct dcc_emu_node *cudaGraphNode_t;

struct cudaGraphEdgeData {
    int unused;
};
struct cudaKernelNodeParams {
    void *func;
    dim3 gridDim, blockDim;
    unsigned sharedMemBytes;
    void **kernelParams;
    void **extra; /* the recorded call */
};
enum cudaDeviceAttr { cudaDevAttrMemoryPoolsSupported = 115 };
enum { cudaHostAllocMapped = 2 };

struct cudaGraphExecUpdateResultInfo {
    int result;
};
struct cudaDeviceProp {
    char name[256];
    size_t totalGlobalMem;
    int major, minor, multiProcessorCount;
    size_t sharedMemPerBlockOptin;
};

const char *cudaGetErrorString(cudaError_t error);
const char *cudaGetErrorName(cudaError_t error);
cudaError_t cudaGetLastError();
cudaError_t cudaPeekAtLastError();
cudaError_t cudaGetDeviceCount(int *count);
cudaError_t cudaGetDevice(int *device);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaGetDeviceProperties(cudaDeviceProp *out, int device);
cudaError_t cudaMemGetInfo(size_t *available, size_t *total);
cudaError_t cudaDeviceSynchronize();

/* Device memory: exactly as large as asked for, so that a sanitizer sees an
 * overrun; 0x7fc1 until written. */
cudaError_t cudaMalloc(void **out, size_t bytes);
template <class T> static inline cudaError_t cudaMalloc(T **out, size_t bytes)
{
    return cudaMalloc((void **)out, bytes);
}
cudaError_t cudaFree(void *p);
cudaError_t cudaMallocAsync(void **out, size_t bytes, cudaStream_t stream);
cudaError_t cudaFreeAsync(void *p, cudaStream_t stream);
cudaError_t cudaDeviceGetAttribute(int *out, cudaDeviceAttr what, int device);
/* From now on no kernel writes to [p, p + bytes), all of an allocation; or,
 * `constant` 0, again one may; or, 2, only between runs (inputs). */
void dcc_emu_constant(void *p, size_t bytes, int constant);
cudaError_t cudaMallocHost(void **out, size_t bytes);
cudaError_t cudaFreeHost(void *p);
cudaError_t cudaHostAlloc(void **out, size_t bytes, unsigned flags);
cudaError_t cudaHostGetDevicePointer(void **out, void *host, unsigned flags);
cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes,
                       cudaMemcpyKind kind);
cudaError_t cudaMemset(void *to, int byte, size_t bytes);
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes,
                            cudaMemcpyKind kind, cudaStream_t stream = 0);
cudaError_t cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from,
                              size_t from_pitch, size_t bytes, size_t rows,
                              cudaMemcpyKind kind, cudaStream_t stream = 0);
cudaError_t cudaMemsetAsync(void *to, int byte, size_t bytes,
                            cudaStream_t stream = 0);

cudaError_t cudaStreamCreate(cudaStream_t *out);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *out, unsigned flags);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event,
                                unsigned flags = 0);
cudaError_t cudaStreamIsCapturing(cudaStream_t stream,
                                  cudaStreamCaptureStatus *out);
cudaError_t cudaStreamBeginCapture(cudaStream_t stream,
                                   cudaStreamCaptureMode mode);
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *out);

cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t *out,
                                          cudaGraph_t graph,
                                          unsigned long long flags);
cudaError_t cudaGraphInstantiate(cudaGraphExec_t *out, cudaGraph_t graph,
                                 unsigned long long flags = 0);
cudaError_t cudaGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t graph,
                                cudaGraphExecUpdateResultInfo *out);
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream);
cudaError_t cudaGraphDestroy(cudaGraph_t graph);
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec);
cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *nodes,
                              size_t *count);
cudaError_t cudaStreamGetCaptureInfo(
    cudaStream_t stream, cudaStreamCaptureStatus *status,
    unsigned long long *id, cudaGraph_t *graph, const cudaGraphNode_t **last,
    const cudaGraphEdgeData **edges, size_t *n);
cudaError_t cudaGraphKernelNodeGetParams(cudaGraphNode_t node,
                                         cudaKernelNodeParams *out);
cudaError_t
cudaGraphExecKernelNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                 const cudaKernelNodeParams *params);
cudaError_t cudaGraphUpload(cudaGraphExec_t exec, cudaStream_t stream);

cudaError_t cudaEventCreate(cudaEvent_t *out);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *out, unsigned flags);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream = 0);
cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaEventQuery(cudaEvent_t event);
cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t from, cudaEvent_t to);

/* ---- TMA maps, as the driver's interface has them ---- */

typedef uint32_t cuuint32_t;
typedef uint64_t cuuint64_t;
enum CUresult { CUDA_SUCCESS = 0, CUDA_ERROR_INVALID_VALUE = 1 };
enum CUtensorMapDataType {
    CU_TENSOR_MAP_DATA_TYPE_UINT8,
    CU_TENSOR_MAP_DATA_TYPE_UINT16,
    CU_TENSOR_MAP_DATA_TYPE_UINT32,
    CU_TENSOR_MAP_DATA_TYPE_INT32,
    CU_TENSOR_MAP_DATA_TYPE_UINT64,
    CU_TENSOR_MAP_DATA_TYPE_INT64,
    CU_TENSOR_MAP_DATA_TYPE_FLOAT16,
    CU_TENSOR_MAP_DATA_TYPE_FLOAT32,
    CU_TENSOR_MAP_DATA_TYPE_FLOAT64,
    CU_TENSOR_MAP_DATA_TYPE_BFLOAT16,
    CU_TENSOR_MAP_DATA_TYPE_TFLOAT32 = 11
};
enum CUtensorMapInterleave { CU_TENSOR_MAP_INTERLEAVE_NONE };
enum CUtensorMapSwizzle {
    CU_TENSOR_MAP_SWIZZLE_NONE,
    CU_TENSOR_MAP_SWIZZLE_32B,
    CU_TENSOR_MAP_SWIZZLE_64B,
    CU_TENSOR_MAP_SWIZZLE_128B
};
enum CUtensorMapL2promotion {
    CU_TENSOR_MAP_L2_PROMOTION_NONE,
    CU_TENSOR_MAP_L2_PROMOTION_L2_64B,
    CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
    CU_TENSOR_MAP_L2_PROMOTION_L2_256B
};
enum CUtensorMapFloatOOBfill { CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE };

typedef struct alignas(64) CUtensorMap_st {
    uint64_t opaque[16];
} CUtensorMap;

enum cudaDriverEntryPointQueryResult {
    cudaDriverEntryPointSuccess,
    cudaDriverEntryPointSymbolNotFound
};
cudaError_t
cudaGetDriverEntryPointByVersion(const char *name, void **out,
                                 unsigned version, unsigned long long flags,
                                 cudaDriverEntryPointQueryResult *found);

/* ---- launches ---- */

enum cudaLaunchAttributeID {
    cudaLaunchAttributeIgnore,
    cudaLaunchAttributeClusterDimension = 4,
    cudaLaunchAttributeProgrammaticStreamSerialization = 6
};
union cudaLaunchAttributeValue {
    struct {
        unsigned x, y, z;
    } clusterDim;
    int programmaticStreamSerializationAllowed;
};
struct cudaLaunchAttribute {
    cudaLaunchAttributeID id;
    cudaLaunchAttributeValue val;
};
struct cudaLaunchConfig_t {
    dim3 gridDim, blockDim;
    size_t dynamicSmemBytes;
    cudaStream_t stream;
    cudaLaunchAttribute *attrs;
    unsigned numAttrs;
};

struct dcc_emu_geometry {
    dim3 grid, block, cluster;
    size_t smem;
    cudaStream_t stream;
    bool waits; /* it may wait for the grid */
};

cudaError_t dcc_emu_set_attribute(const void *kernel, cudaFuncAttribute what,
                                  int value);

/* Checks the geometry, then runs `body` (one thread's work) over the grid, or
 * records it if the stream is capturing. */
cudaError_t dcc_emu_launch_body(const void *kernel,
                                const dcc_emu_geometry &geometry,
                                std::function<void()> body);

template <class... P>
static inline cudaError_t cudaFuncSetAttribute(void (*kernel)(P...),
                                               cudaFuncAttribute what,
                                               int value)
{
    return dcc_emu_set_attribute((const void *)kernel, what, value);
}

/* k<<<grid, block, smem, stream>>>(a, ...) is read as
 * dcc_emu_launch(k, grid, block, smem, stream)(a, ...). */
template <class... P> struct dcc_emu_launcher {
    void (*kernel)(P...);
    dcc_emu_geometry geometry;

    cudaError_t operator()(P... p) const
    {
        std::tuple<P...> args(p...);
        void (*k)(P...) = kernel;
        return dcc_emu_launch_body((const void *)kernel, geometry,
                                   [k, args] { std::apply(k, args); });
    }
};

template <class... P>
static inline dcc_emu_launcher<P...> dcc_emu_launch(void (*kernel)(P...),
                                                    dim3 grid, dim3 block,
                                                    size_t smem = 0,
                                                    cudaStream_t stream = 0)
{
    return {kernel, {grid, block, dim3(1, 1, 1), smem, stream, false}};
}

template <class... P, class... A>
static inline cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t *c,
                                             void (*kernel)(P...), A &&...a)
{
    dcc_emu_launcher<P...> launcher = {
        kernel,
        {c->gridDim, c->blockDim, dim3(1, 1, 1), c->dynamicSmemBytes,
         c->stream, false}};
    for (unsigned i = 0; i < c->numAttrs; i++)
        if (c->attrs[i].id ==
            cudaLaunchAttributeProgrammaticStreamSerialization)
            launcher.geometry.waits = true;
        else if (c->attrs[i].id == cudaLaunchAttributeClusterDimension)
            launcher.geometry.cluster = dim3(c->attrs[i].val.clusterDim.x,
                                             c->attrs[i].val.clusterDim.y,
                                             c->attrs[i].val.clusterDim.z);
    return launcher(static_cast<P>(a)...);
}

#endif
