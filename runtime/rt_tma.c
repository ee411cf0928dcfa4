/* rt_tma.c - dcc_tma_encode and dcc_tma_encode_im2col of dcc_rt.h. The driver's
 * functions are looked up through the runtime, so that nothing links libcuda.
 */
#include <cuda.h>

#include "dcc_rt.h"

typedef CUresult (*RtEncode)(CUtensorMap *, CUtensorMapDataType, cuuint32_t,
                             void *, const cuuint64_t *, const cuuint64_t *,
                             const cuuint32_t *, const cuuint32_t *,
                             CUtensorMapInterleave, CUtensorMapSwizzle,
                             CUtensorMapL2promotion, CUtensorMapFloatOOBfill);

typedef CUresult (*RtEncodeIm2col)(
    CUtensorMap *, CUtensorMapDataType, cuuint32_t, void *, const cuuint64_t *,
    const cuuint64_t *, const int *, const int *, cuuint32_t, cuuint32_t,
    const cuuint32_t *, CUtensorMapInterleave, CUtensorMapSwizzle,
    CUtensorMapL2promotion, CUtensorMapFloatOOBfill);

static cudaError_t rt_find(const char *name, void **out)
{
    enum cudaDriverEntryPointQueryResult found;
    cudaError_t error;

    *out = NULL;
#if CUDART_VERSION >= 12050
    error = cudaGetDriverEntryPointByVersion(name, out, 12000,
                                             cudaEnableDefault, &found);
#else
    error = cudaGetDriverEntryPoint(name, out, cudaEnableDefault, &found);
#endif
    if (error == cudaSuccess &&
        (found != cudaDriverEntryPointSuccess || !*out))
        error = cudaErrorInsufficientDriver;
    return error;
}

static CUtensorMapDataType rt_tma_type(dcc_type type, dcc_swizzle swizzle)
{
    switch (type) {
    case DCC_F32:
        return swizzle == DCC_SWIZZLE_128_TF32
                   ? CU_TENSOR_MAP_DATA_TYPE_TFLOAT32
                   : CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
    case DCC_F16:
        return CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
    case DCC_BF16:
        return CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
    case DCC_I32:
        return CU_TENSOR_MAP_DATA_TYPE_INT32;
    case DCC_I8:
    case DCC_U8:
    case DCC_BOOL:
        break;
    }
    return CU_TENSOR_MAP_DATA_TYPE_UINT8;
}

static CUtensorMapSwizzle rt_tma_swizzle(dcc_swizzle swizzle)
{
    switch (swizzle) {
    case DCC_SWIZZLE_32:
        return CU_TENSOR_MAP_SWIZZLE_32B;
    case DCC_SWIZZLE_64:
        return CU_TENSOR_MAP_SWIZZLE_64B;
    case DCC_SWIZZLE_128:
    case DCC_SWIZZLE_128_TF32:
        return CU_TENSOR_MAP_SWIZZLE_128B;
    case DCC_SWIZZLE_NONE:
        break;
    }
    return CU_TENSOR_MAP_SWIZZLE_NONE;
}

static void rt_sizes(cuuint64_t *dims, cuuint64_t *strides, int rank,
                     const uint64_t *dim, const uint64_t *stride_bytes)
{
    for (int d = 0; d < rank; d++) {
        dims[d] = dim[d];
        strides[d] = d + 1 < rank ? stride_bytes[d] : 0;
    }
}

/* How much of the L2's lines a box's rows bring: where rows begin inside a
 * sector, pairs of lines took 1.2 times as long as lines. */
static CUtensorMapL2promotion rt_promotion(const cuuint64_t *strides, int rank)
{
    for (int d = 0; d + 1 < rank; d++)
        if (strides[d] % 32)
            return CU_TENSOR_MAP_L2_PROMOTION_L2_128B;
    return CU_TENSOR_MAP_L2_PROMOTION_L2_256B;
}

static const cuuint32_t rt_ones[5] = {1, 1, 1, 1, 1};

cudaError_t dcc_tma_encode(struct CUtensorMap_st *map, dcc_type type, int rank,
                           const void *base, const uint64_t *dim,
                           const uint64_t *stride_bytes, const uint32_t *box,
                           const uint32_t *elem_stride, dcc_swizzle swizzle)
{
    cuuint64_t dims[5], strides[5];
    void *encode;
    cudaError_t error = rt_find("cuTensorMapEncodeTiled", &encode);

    if (error != cudaSuccess)
        return error;
    if (rank < 1 || rank > 5)
        return cudaErrorInvalidValue;
    rt_sizes(dims, strides, rank, dim, stride_bytes);
    if (((RtEncode)encode)(map, rt_tma_type(type, swizzle), (cuuint32_t)rank,
               (void *)base, dims, strides, box,
               elem_stride ? elem_stride : rt_ones,
               CU_TENSOR_MAP_INTERLEAVE_NONE, rt_tma_swizzle(swizzle),
               rt_promotion(strides, rank),
               CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) != CUDA_SUCCESS)
        return cudaErrorInvalidValue;
    return cudaSuccess;
}

cudaError_t dcc_tma_encode_im2col(struct CUtensorMap_st *map, dcc_type type,
                                  int rank, const void *base,
                                  const uint64_t *dim,
                                  const uint64_t *stride_bytes,
                                  const int *lower, const int *upper,
                                  uint32_t channels, uint32_t pixels,
                                  const uint32_t *elem_stride,
                                  dcc_swizzle swizzle)
{
    cuuint64_t dims[5], strides[5];
    void *encode;
    cudaError_t error = rt_find("cuTensorMapEncodeIm2col", &encode);

    if (error != cudaSuccess)
        return error;
    if (rank < 3 || rank > 5)
        return cudaErrorInvalidValue;
    rt_sizes(dims, strides, rank, dim, stride_bytes);
    if (((RtEncodeIm2col)encode)(
            map, rt_tma_type(type, swizzle), (cuuint32_t)rank, (void *)base,
            dims, strides, lower, upper, channels, pixels,
            elem_stride ? elem_stride : rt_ones,
            CU_TENSOR_MAP_INTERLEAVE_NONE, rt_tma_swizzle(swizzle),
            rt_promotion(strides, rank),
            CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) != CUDA_SUCCESS)
        return cudaErrorInvalidValue;
    return cudaSuccess;
}
