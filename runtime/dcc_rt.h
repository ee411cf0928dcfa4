/* dcc_rt.h - the contract between emitted code and the runtime.
 *
 * An emitted file holds kernels, a launcher for each, and one constant
 * `dcc_model_desc` per model: tables of tensors and two functions that launch
 * the model's steps. Everything generic is done here: reading and checking
 * weights, device memory, load-time steps, the CUDA graph, error text, and a
 * command line (`dcc_main`).
 *
 * C and C++. Only the CUDA runtime is needed. Tables may be written with
 * positional or designated initialisers: the order of the fields is fixed and
 * whatever is left out is zero.
 */
#ifndef DCC_RT_H
#define DCC_RT_H

#include <cuda_runtime_api.h>

#include "dcc_base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The interface between emitted code and these sources, and the dcc they are
 * of. An emitted file says which it was written for: others do not compile
 * with it, and those that were linked anyway are refused when they run. */
#define DCC_INTERFACE 5
#define DCC_RUNTIME_VERSION "0.1.0"

#define DCC_TEXT_OF_(x) #x
#define DCC_TEXT_OF(x) DCC_TEXT_OF_(x)
#if defined __cplusplus && __cplusplus < 201103L && !defined _MSC_VER
#define DCC_STATIC_ASSERT_(holds, text) /* C++98: an array of -1 */ \
    extern char dcc_emitted_by_another_dcc_[(holds) ? 1 : -1]
#elif defined __cplusplus
#define DCC_STATIC_ASSERT_ static_assert
#else
#define DCC_STATIC_ASSERT_ _Static_assert
#endif
#define DCC_EMITTED_FOR(interface_, version)                             \
    DCC_STATIC_ASSERT_(                                                  \
        (interface_) == DCC_INTERFACE,                                   \
        "this file was emitted by dcc " version ", interface "           \
        #interface_ "; dcc_rt.h is of dcc " DCC_RUNTIME_VERSION          \
        ", interface " DCC_TEXT_OF(DCC_INTERFACE)                        \
        ": emit it anew, or use that dcc's runtime")

/* Every struct that a program hands over begins with its size and the interface
 * that it is of; what is handed another's, or none, says so:
 *     mlp_inputs in = {DCC_HEAD(mlp_inputs), ...}; */
#define DCC_HEAD_FIELDS uint32_t struct_size, version
#define DCC_HEAD(type) (uint32_t)sizeof(type), DCC_INTERFACE

/* Every buffer starts, and every offset into one is a multiple of, this. */
enum { DCC_ALIGN = 256 };

/* Which buffer of the frame a tensor lives in. */
typedef enum {
    DCC_IN_PARAM,  /* frame.params: raw weights that runs read, as declared;
                      row-major but for those that runs train */
    DCC_IN_CONST,  /* frame.consts: what load steps made of them */
    DCC_IN_ARENA,  /* frame.arena: intermediates of one run */
    DCC_IN_STATE,  /* frame.state: lives from run to run; the counters of
                      split reductions too, zero between launches */
    DCC_IN_INPUT,  /* frame.inputs[offset] */
    DCC_IN_OUTPUT, /* frame.outputs[offset] */
    DCC_IN_STAGED  /* frame.staged[ordinal in params]: raw weights that load
                      steps alone read */
} dcc_place;

typedef struct {
    const char *name; /* param: name in the weights file; others: in the .dcl */
    dcc_type type;
    int rank;                     /* 0 is one element */
    int64_t dim[DCC_MAX_RANK];    /* logical extents, outermost first */
    int64_t stride[DCC_MAX_RANK]; /* in elements; read for trace tensors, and
                                     for parameters and states, which may
                                     leave them zero where they are row-major,
                                     as all others are */
    dcc_place place;
    size_t offset; /* bytes from the start of its buffer; for inputs and
                      outputs the ordinal in inputs[] or outputs[] */
    int step;      /* trace: the step after which the value is there;
                      -1: already after the load steps */
    int64_t lo, hi; /* integer input: the promise lo <= value < hi, checked
                       where the runtime sees the values (dcc_main);
                       lo == hi: no promise */
    double init;    /* state: the initial value of every element; param: the
                       first number of `begin` */
    int varies;     /* of a model with a set of sizes: 1 + the dimension that
                       is a multiple of the size; 0: none is */
    int copied;     /* of one that varies: 1: a run of a size between two has
                       the next one's of it in the handle's memory; 0: kernels
                       keep within the run's */
    int begin;      /* param: what it is where no file has it, a dcc_begin */
    double spread;  /* its second number */
} dcc_tensor;

/* What a step is given. Pointers are memory that the GPU can read. */
typedef struct {
    unsigned char *params;
    unsigned char *consts;
    unsigned char *arena;
    unsigned char *state;
    void *const *inputs;  /* n_inputs device pointers (load steps: NULL) */
    void *const *outputs; /* n_outputs device pointers (load steps: NULL) */
    unsigned char *const *staged; /* of each parameter; NULL where a step does
                                     not read it (runs: NULL) */
    int64_t size; /* a run's of a set of sizes; of others 0 */
} dcc_frame;

/* What checking a promise found; the GPU writes it. */
typedef struct {
    unsigned long long turn; /* which check; what is older was reported */
    long long at;            /* the first element that breaks the promise */
    long long value;
    int input;
    int unused;
} dcc_found;

/* Where a step stands in a run's graph. Steps follow each other; those of the
 * branch follow each other, and what stands before the first of them. A run has
 * ended when both have. */
typedef enum {
    DCC_STAND_CHAIN,
    DCC_STAND_BRANCH,
    DCC_STAND_MARK,      /* of the branch, which is marked behind it */
    DCC_STAND_AFTER_MARK, /* waits for the branch up to the last mark, too */
    DCC_STAND_AFTER_ALL  /* waits for all of the branch so far, too */
} dcc_stand;

typedef struct dcc_model_desc {
    DCC_HEAD_FIELDS;
    const char *name;
    const dcc_tensor *params;
    int n_params;
    const dcc_tensor *inputs;
    int n_inputs;
    const dcc_tensor *outputs;
    int n_outputs;
    const dcc_tensor *states;
    int n_states;
    const dcc_tensor *trace; /* materialised tensors that --trace writes */
    int n_trace;
    size_t params_bytes; /* sizes of the four buffers; 0: none */
    size_t consts_bytes;
    size_t arena_bytes; /* load steps may use it as scratch too */
    size_t state_bytes;
    int n_load_steps;
    int n_steps;
    /* Launches load step `step` (params -> consts), once, in order. */
    cudaError_t (*load_step)(const dcc_frame *frame, int step,
                             cudaStream_t stream);
    /* Launches step `step` of a run. Is called during stream capture: it may
     * launch kernels and asynchronous copies, and nothing else. */
    cudaError_t (*step)(const dcc_frame *frame, int step, cudaStream_t stream);
    /* Names for messages, one a step; NULL: steps are called by number. */
    const char *const *load_step_names;
    const char *const *step_names;
    /* For each load step in turn the parameters in frame.staged that it reads;
     * -1 ends a step's. NULL where there are none. */
    const int *load_reads;
    /* For each step in turn the arguments that it uses: inputs, then outputs
     * from n_inputs on, and behind them the run's size; -1 ends a step's. */
    const int *step_args;
    /* Enqueues a check of every input that is promised to lie in a range, and
     * writes into *found (device memory) what it finds. NULL: none. */
    cudaError_t (*check)(const dcc_frame *frame, dcc_found *found,
                         unsigned long long turn, cudaStream_t stream);
    int trains; /* 1: runs write parameters */
    /* `dim B in {1, 8}`: its name, its values, ascending, and for each a
     * description of which inputs, outputs, arena_bytes, steps and check
     * count; the last is this one. NULL, 0: the model has no such set. */
    const char *size_name;
    const int64_t *sizes;
    const struct dcc_model_desc *const *of_sizes;
    int n_sizes;
    /* For each step a dcc_stand; NULL: all are DCC_STAND_CHAIN. */
    const unsigned char *step_ways;
} dcc_model_desc;

typedef struct dcc_model dcc_model;

/* ---- what a program calls
 *
 * Threads. A handle is one thread's at a time, whatever is called on it;
 * handles are independent of each other, also those that share weights, which
 * any threads may create, run, update and destroy. The text of dcc_error is the
 * calling thread's. A handle belongs to the GPU that it was created on, and
 * that GPU must be the calling thread's current one.
 *
 * Streams. A run is enqueued on the stream that it is given and follows what is
 * there; it waits for nothing and nobody (but, if it finds the weights being
 * replaced, for that). One run in flight a handle: a run may follow another of
 * the same handle on the same stream, on another stream only in an order that
 * the caller makes. */

/* How a handle is created: dcc_options_default(), then what is to differ. */
typedef struct {
    DCC_HEAD_FIELDS;
    int device;            /* GPU by number; -1: the current one */
    const char *weights;   /* .safetensors, or the .json index of several */
    const void *const *params; /* or, in host memory, each parameter: row-major
                                  and of the declared type; it is copied. NULL
                                  for one that has an initialiser */
    dcc_model *shared;     /* or another handle, whose weights are used */
    void *workspace;       /* device memory of the caller's for all but the
                              weights, sizes.workspace bytes, aligned to
                              DCC_ALIGN; NULL: allocated */
    size_t workspace_bytes;
    /* Where device memory comes from; NULL: from the driver. Memory must be
     * aligned to DCC_ALIGN and usable from any stream at once. release is
     * called when the GPU no longer uses it. */
    void *(*alloc)(void *ctx, size_t bytes);
    void (*release)(void *ctx, void *memory);
    void *ctx;
    int graphs; /* at most so many CUDA graphs are kept, by their pointers;
                   0: 8 */
    int check;  /* 1: every run checks the inputs that are promised to lie in a
                   range (`in 0..V`); dcc_model_status has what it finds */
    uint64_t seed; /* of the parameters that no file has and an initialiser
                      draws (dcc_init.h) */
} dcc_options;

#ifdef __GNUC__ /* C89 has no inline */
__inline__
#else
inline
#endif
static dcc_options dcc_options_default(void)
{
    dcc_options o = {DCC_HEAD(dcc_options), -1, NULL, NULL, NULL, NULL, 0,
                     NULL, NULL, NULL, 0, 0, 1};

    return o;
}

/* Memory in bytes, known before anything is created. */
typedef struct {
    DCC_HEAD_FIELDS;  /* DCC_SIZES */
    size_t weights;   /* of the GPU, once for handles that share them */
    size_t workspace; /* of the GPU, each handle's: arena, state and the
                         state's initial value */
    size_t arena, state;
    size_t load_peak; /* of the GPU, while the first handle is created, with
                         what stays: at most 64 MB more */
    size_t pinned;    /* of the host, page-locked, while weights are loaded */
} dcc_sizes;

#define DCC_SIZES {DCC_HEAD(dcc_sizes), 0, 0, 0, 0, 0, 0}

dcc_status dcc_model_sizes(const dcc_model_desc *desc, dcc_sizes *sizes);

/* Reads the weights (none are needed where every parameter has an initialiser,
 * which then fills it), checks every parameter's presence, shape, type and
 * values, and packs them on the GPU: they are streamed through page-locked
 * memory, so that no second copy is ever there. A parameter with an initialiser
 * that the file lacks is filled, and dcc_model_notes says so. On error *out is
 * NULL and nothing is left allocated. */
dcc_status dcc_model_create_options(dcc_model **out,
                                    const dcc_model_desc *desc,
                                    const dcc_options *options);

/* The same with a weights file, all else by default. */
dcc_status dcc_model_create(dcc_model **out, const dcc_model_desc *desc,
                            const char *weights_path);

/* The same with parameters in host memory. */
dcc_status dcc_model_create_with(dcc_model **out, const dcc_model_desc *desc,
                                 const void *const *params);

/* Another handle with `first`'s weights and its own state, memory and graphs;
 * the weights go with the last of them, whichever that is. `first` is used as
 * by any other call on it. Where `first` trains, only it does: the other is of
 * a model that does not, all of whose parameters `first` has by their names
 * (dcc_model_share, or dcc_options.shared). A run of that one finds
 * the parameters as the runs of `first` that were enqueued before have left
 * them; where there was one since its last, it waits for that and copies
 * them. */
dcc_status dcc_model_create_shared(dcc_model **out, dcc_model *first);
dcc_status dcc_model_share(dcc_model **out, const dcc_model_desc *desc,
                           dcc_model *first);

/* Replaces the weights, in place, by those that options.weights or .params
 * name, for this handle and all that share them. Names, shapes and types are
 * checked before anything is touched. It waits for the runs of these handles,
 * and runs that begin meanwhile wait for it; of runs in graphs that the caller
 * captured the caller takes care. After an error in the middle (a value that
 * cannot be read) the handles refuse to run until an update succeeds. */
dcc_status dcc_model_update(dcc_model *model, const dcc_options *options);

/* What create or update converted ("fc1.weight: f32 converted to f16"), a line
 * each; "" for nothing. Valid until the next of them. */
const char *dcc_model_notes(const dcc_model *model);

/* The tables of a handle: names, types and shapes. NULL for NULL. */
const dcc_model_desc *dcc_model_describe(const dcc_model *model);

/* Bytes of a tensor that is row-major as declared. */
size_t dcc_tensor_bytes(const dcc_tensor *tensor);

/* For emitted code: whether a struct of the caller's has so many bytes and is
 * of this interface. */
dcc_status dcc_check_head(const char *name, const void *head, size_t bytes);

/* Enqueues one run on `stream`. Pointers are device memory, row-major as
 * declared, aligned to 16 bytes at least, and an output overlaps nothing else.
 * The first run records the launches as a CUDA graph; other pointers are put
 * into a copy of it, or, once `graphs` of them are kept, into the one that was
 * unused longest. If the stream is being captured, the launches join that
 * capture. */
dcc_status dcc_model_run(dcc_model *model, const void *const *inputs,
                         void *const *outputs, cudaStream_t stream);

/* The same of a model with a set of sizes (`dim B in {1, 8, 32}`), for `size`
 * of them, 1 to the largest: shapes are those of that size. A size of the set
 * runs its own kernels; one between runs the next one's, with the size in their
 * bounds and TMA maps, so that nothing beyond the caller's inputs and outputs
 * is read or written; a tensor of which they cannot keep within the run's
 * (dcc_tensor.copied) is copied to and from the handle's memory. Of a model
 * without a set it is 0. */
dcc_status dcc_model_run_size(dcc_model *model, int64_t size,
                              const void *const *inputs,
                              void *const *outputs, cudaStream_t stream);
dcc_status dcc_model_warm_size(dcc_model *model, int64_t size,
                               const void *const *inputs,
                               void *const *outputs);

/* Prepares the graph of a run with these pointers and runs nothing. */
dcc_status dcc_model_warm(dcc_model *model, const void *const *inputs,
                          void *const *outputs);

/* What is known of the runs so far, without waiting: DCC_ERR_ARG for an input
 * that broke its promise (options.check; said once), DCC_ERR_CUDA if the GPU
 * reported a fault. The next run returns the same. */
dcc_status dcc_model_status(dcc_model *model);

/* Runs without a graph, one step after another, and waits for each; `after`
 * (may be NULL) is called after the load steps (step -1) and every step. It
 * stops at the first status that is not DCC_OK and returns that. The arena is
 * filled with 0xff (NaN) first. */
typedef dcc_status (*dcc_after_step)(void *ctx, int step,
                                     const dcc_frame *frame);
dcc_status dcc_model_run_steps(dcc_model *model, const void *const *inputs,
                               void *const *outputs, cudaStream_t stream,
                               dcc_after_step after, void *ctx);

/* Sets the states to their initial values, in stream order. */
dcc_status dcc_model_reset(dcc_model *model, cudaStream_t stream);

/* Writes what a run leaves to the next as .safetensors: parameters, if runs
 * write them, and states. It waits for the handle's runs. The file takes the
 * place of what was there when all of it is on the disk, or not at all. As a
 * weights file it has the trained parameters. */
dcc_status dcc_model_save(dcc_model *model, const char *path);

/* Goes on from there: the handle's next run is the one that would have
 * followed. A file of another model, of other shapes, or one that is cut off
 * is DCC_ERR_FORMAT, and nothing is changed. */
dcc_status dcc_model_load(dcc_model *model, const char *path);

/* Waits for the handle's own runs and frees what is its own. NULL is
 * allowed. */
void dcc_model_destroy(dcc_model *model);

/* The generated program's command line (run it with --help). Returns the exit
 * status: 0, 1 user's error, 2 bad command line, 3 environment failure (no
 * GPU, unwritable output), 70 a defect in the generated code. */
int dcc_main(const dcc_model_desc *const *models, int n_models, int argc,
             char **argv);

/* For launchers: "kernel wants N bytes of dynamic shared memory". Call it
 * before the first launch that needs more than 48 KB; cheap afterwards. */
#define DCC_ALLOW_SMEM(kernel, bytes)                               \
    cudaFuncSetAttribute(                                           \
        (kernel), cudaFuncAttributeMaxDynamicSharedMemorySize,      \
        (int)(bytes))

/* For launchers of kernels beside launches that overlap with them: how much of
 * an SM's memory is to be shared, in percent. Blocks begin where there is room
 * for their shared memory, and until an SM is empty that cannot change. Where
 * two blocks of a kernel fit, but its own are one for each SM, those that begin
 * early would otherwise crowd on the SMs that had as much set apart: all, as
 * nothing passes the L1. Of kernels whose loads do, an H200's 100 of 228 KB:
 * with less a neighbour has no room, with more they have too little L1. Not
 * where windows are read through the L1. */
enum { DCC_SHARED_PART = 44, DCC_SHARED_ALL = 100 };
#define DCC_SHARE_SM(kernel, percent)                               \
    cudaFuncSetAttribute(                                           \
        (kernel), cudaFuncAttributePreferredSharedMemoryCarveout,   \
        (percent))

/* How a launch follows the one before it. A launcher of a kernel that waits
 * for the grid (dcc_grid_wait) takes one; all others are DCC_AFTER. */
typedef enum {
    DCC_AFTER,    /* it begins when that one has ended */
    DCC_DEPENDENT /* it may begin earlier (programmatic dependent launch) */
} dcc_edge;

#if defined(__cplusplus) && CUDART_VERSION >= 11080
/* For launchers: what cudaLaunchKernelEx takes. */
typedef struct {
    cudaLaunchConfig_t config;
    cudaLaunchAttribute attribute[2];
} dcc_launch;

static inline void dcc_configure(dcc_launch *l, dim3 grid, unsigned block,
                                 size_t smem, cudaStream_t stream)
{
    *l = dcc_launch();
    l->config.gridDim = grid;
    l->config.blockDim = dim3(block);
    l->config.dynamicSmemBytes = smem;
    l->config.stream = stream;
    l->config.attrs = l->attribute;
}

/* `n` blocks that follow each other along x are a cluster. */
static inline void dcc_configure_cluster(dcc_launch *l, unsigned n)
{
    cudaLaunchAttribute *a = &l->attribute[l->config.numAttrs++];

    a->id = cudaLaunchAttributeClusterDimension;
    a->val.clusterDim.x = n;
    a->val.clusterDim.y = a->val.clusterDim.z = 1;
}

/* For kernels that wait for the grid, and only for those. */
static inline void dcc_configure_edge(dcc_launch *l, dcc_edge edge)
{
    cudaLaunchAttribute *a = &l->attribute[l->config.numAttrs++];

    a->id = cudaLaunchAttributeProgrammaticStreamSerialization;
    a->val.programmaticStreamSerializationAllowed = edge == DCC_DEPENDENT;
}
#endif

/* TMA: which pattern the bytes of a tile's rows are permuted in. */
typedef enum {
    DCC_SWIZZLE_NONE,
    DCC_SWIZZLE_32,
    DCC_SWIZZLE_64,
    DCC_SWIZZLE_128,
    DCC_SWIZZLE_128_TF32 /* and f32 is rounded to tf32 on the way */
} dcc_swizzle;

/* Encodes a tiled TMA map (CUtensorMap of <cuda.h>) of `rank` 1..5. All arrays
 * are innermost first, as the hardware counts: dim in elements, stride_bytes
 * of dimensions 1..rank-1 (multiples of 16), box in elements, elem_stride
 * NULL for all ones. `base` is device memory aligned to 16. Outside is zero. */
struct CUtensorMap_st;
cudaError_t dcc_tma_encode(struct CUtensorMap_st *map, dcc_type type, int rank,
                           const void *base, const uint64_t *dim,
                           const uint64_t *stride_bytes, const uint32_t *box,
                           const uint32_t *elem_stride, dcc_swizzle swizzle);

/* The same of an im2col map, of rank 3..5: channels, one to three dimensions
 * of pixels, images. A load brings `pixels` neighbours, `channels` of each: in
 * a row of an image from `lower` to the row's end plus `upper`, elem_stride
 * apart, then in the next row, the next image. lower and upper are of the
 * rank - 2 dimensions of pixels. */
cudaError_t dcc_tma_encode_im2col(struct CUtensorMap_st *map, dcc_type type,
                                  int rank, const void *base,
                                  const uint64_t *dim,
                                  const uint64_t *stride_bytes,
                                  const int *lower, const int *upper,
                                  uint32_t channels, uint32_t pixels,
                                  const uint32_t *elem_stride,
                                  dcc_swizzle swizzle);

#ifdef __cplusplus
}
#endif
#endif
