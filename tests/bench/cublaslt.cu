// cublaslt.cu - matrix products by cuBLASLt's heuristics, one by one.
//
// A shared library with a C interface for the measuring script: lt_open asks
// for up to `want` algorithms for y = x w^T and an epilogue, lt_run runs the
// i-th of them. x is [m, k], w [n, k], y [m, n], all row-major and of one
// element type; bias has n entries. Nothing is allocated on the GPU here.
//
// cuBLASLt's symbols are left open: whoever loads this library has loaded the
// cuBLASLt to be measured (PyTorch's own) with RTLD_GLOBAL before.

#include <cstdlib>
#include <cublasLt.h>
#include <cuda_runtime_api.h>

enum LtType { LT_F16, LT_BF16, LT_F32 };
enum LtEpilogue { LT_NONE, LT_BIAS, LT_RELU_BIAS, LT_GELU_BIAS };

// One problem: the descriptors that all of its algorithms share.
struct Lt {
    cublasLtHandle_t handle;
    cublasLtMatmulDesc_t op;
    cublasLtMatrixLayout_t w, x, y;
    size_t workspace_bytes;
    int has_bias, n_algo;
    cublasLtMatmulHeuristicResult_t *algo;
};

static cublasStatus_t set_op(Lt *p, cublasLtMatmulDescAttributes_t what,
                             const void *value, size_t bytes)
{
    return cublasLtMatmulDescSetAttribute(p->op, what, value, bytes);
}

// y^T = w x^T in cuBLAS's column-major order, so w is its A, transposed.
static cublasStatus_t describe(Lt *p, int m, int n, int k, int type,
                               int tf32, int epilogue)
{
    static const cudaDataType_t types[] = {CUDA_R_16F, CUDA_R_16BF,
                                           CUDA_R_32F};
    static const cublasLtEpilogue_t ends[] = {
        CUBLASLT_EPILOGUE_DEFAULT, CUBLASLT_EPILOGUE_BIAS,
        CUBLASLT_EPILOGUE_RELU_BIAS, CUBLASLT_EPILOGUE_GELU_BIAS};
    const cublasOperation_t yes = CUBLAS_OP_T, no = CUBLAS_OP_N;
    cublasStatus_t s = cublasLtMatmulDescCreate(
        &p->op, tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F,
        CUDA_R_32F);

    if (!s)
        s = set_op(p, CUBLASLT_MATMUL_DESC_TRANSA, &yes, sizeof yes);
    if (!s)
        s = set_op(p, CUBLASLT_MATMUL_DESC_TRANSB, &no, sizeof no);
    if (!s)
        s = set_op(p, CUBLASLT_MATMUL_DESC_EPILOGUE, &ends[epilogue],
                   sizeof ends[epilogue]);
    if (!s)
        s = cublasLtMatrixLayoutCreate(&p->w, types[type], k, n, k);
    if (!s)
        s = cublasLtMatrixLayoutCreate(&p->x, types[type], k, m, k);
    if (!s)
        s = cublasLtMatrixLayoutCreate(&p->y, types[type], n, m, n);
    return s;
}

static cublasStatus_t find(Lt *p, int want)
{
    cublasLtMatmulPreference_t prefer = nullptr;
    cublasStatus_t s = cublasLtMatmulPreferenceCreate(&prefer);

    if (!s)
        s = cublasLtMatmulPreferenceSetAttribute(
            prefer, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
            &p->workspace_bytes, sizeof p->workspace_bytes);
    p->algo = (cublasLtMatmulHeuristicResult_t *)calloc((size_t)want,
                                                        sizeof *p->algo);
    if (!s)
        s = cublasLtMatmulAlgoGetHeuristic(p->handle, p->op, p->w, p->x, p->y,
                                           p->y, prefer, want, p->algo,
                                           &p->n_algo);
    if (prefer)
        cublasLtMatmulPreferenceDestroy(prefer);
    return s;
}

extern "C" void lt_close(Lt *p)
{
    if (p->y)
        cublasLtMatrixLayoutDestroy(p->y);
    if (p->x)
        cublasLtMatrixLayoutDestroy(p->x);
    if (p->w)
        cublasLtMatrixLayoutDestroy(p->w);
    if (p->op)
        cublasLtMatmulDescDestroy(p->op);
    if (p->handle)
        cublasLtDestroy(p->handle);
    free(p->algo);
    free(p);
}

// How many algorithms there are, or minus a cublasStatus_t.
extern "C" int lt_open(Lt **out, int m, int n, int k, int type, int tf32,
                       int epilogue, size_t workspace_bytes, int want)
{
    Lt *p = (Lt *)calloc(1, sizeof *p);
    cublasStatus_t s = cublasLtCreate(&p->handle);

    *out = nullptr;
    p->workspace_bytes = workspace_bytes;
    p->has_bias = epilogue != LT_NONE;
    if (!s)
        s = describe(p, m, n, k, type, tf32, epilogue);
    if (!s)
        s = find(p, want);
    if (s) {
        lt_close(p);
        return -(int)s;
    }
    *out = p;
    return p->n_algo;
}

// Enqueues one product; 0 or a cublasStatus_t.
extern "C" int lt_run(Lt *p, int i, const void *x, const void *w,
                      const void *bias, void *y, void *workspace,
                      cudaStream_t stream)
{
    const float one = 1, zero = 0;
    const cublasLtMatmulHeuristicResult_t *a = &p->algo[i];
    cublasStatus_t s = a->state;

    if (!s && p->has_bias)
        s = set_op(p, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias, sizeof bias);
    if (!s)
        s = cublasLtMatmul(p->handle, p->op, &one, w, p->w, x, p->x, &zero, y,
                           p->y, y, p->y, &a->algo, workspace,
                           p->workspace_bytes, stream);
    return (int)s;
}
