/* rt_model.h - what rt.c (the life of a handle), rt_load.c (weights) and
 * rt_graph.c (runs) share; nobody else's business.
 */
#ifndef DCC_RT_MODEL_H
#define DCC_RT_MODEL_H

#include <pthread.h>

#include "dcc_rt.h"

struct dcc_st_file;

/* What runs read and never write: of one handle, or of several, which may be
 * of several threads. Runs hold the lock for reading while they enqueue. The
 * runs of a model that trains write it: that has one handle, and models that
 * share its parameters have copies, made anew before a run that would find
 * older ones. */
typedef struct RtWeights {
    const dcc_model_desc *desc; /* whose they are */
    struct RtWeights *of;       /* whose copies they are, or NULL */
    unsigned long long written; /* how often, counted atomically */
    unsigned long long copied;  /* written of `of`, when they were copied */
    int captured;       /* runs are in graphs of the caller's: not counted */
    pthread_rwlock_t lock;
    int users;          /* counted atomically */
    dcc_model *first;   /* the handles, guarded by `list` */
    pthread_mutex_t list;
    unsigned char *params, *consts;
    int broken;         /* an update ended half way */
    void *(*alloc)(void *ctx, size_t bytes); /* as of the handle that made it */
    void (*release)(void *ctx, void *memory);
    void *ctx;
} RtWeights;

/* A graph and the pointers in it: inputs, then outputs, then the run's size as
 * one. */
typedef struct {
    cudaGraphExec_t exec;
    int size;                /* which RtSize it is of */
    void **pointers;
    unsigned long long used; /* the run that used it last */
} RtGraph;

/* One of a set of sizes, or all of a model without one. */
typedef struct {
    const dcc_model_desc *desc;
    int64_t value;           /* of the set; 0 without one */
    /* what runs were recorded as, and with which pointers; nodes[step] are its
     * kernels (nodes[0] NULL: not one a step) */
    cudaGraph_t recorded;
    cudaGraphNode_t *nodes;
    void **recorded_with;
    void **own;              /* inputs and outputs that are copied (dcc_tensor)
                                in the handle's memory, for sizes below
                                `value`; NULL for the others */
    int filled;              /* all rows of these hold something */
} RtSize;

struct dcc_model {
    const dcc_model_desc *desc;
    int device;
    RtWeights *weights;
    dcc_model *next;            /* of weights->first */
    unsigned char *arena, *state;
    unsigned char *first_state; /* the initial state; NULL if it is all zero */
    void *workspace;            /* the caller's, or NULL */
    size_t workspace_bytes;
    void *(*alloc)(void *ctx, size_t bytes);
    void (*release)(void *ctx, void *memory);
    void *ctx;
    int pools;                  /* the driver's memory is stream-ordered */
    cudaStream_t stream;        /* private: loading, recording */
    cudaEvent_t done;           /* after the last run */
    cudaStream_t branch;        /* of a run's graph (dcc_stand); or NULL */
    cudaEvent_t fork, mark, join;
    int ran;                    /* it was recorded */
    RtSize *size;
    int n_sizes;
    RtGraph *graph;             /* copies of what was recorded */
    int max_graphs;
    void **arguments;           /* of the run at hand */
    unsigned long long runs;
    /* checks of promises */
    int check;
    dcc_found *found;           /* on the GPU */
    volatile dcc_found *seen;   /* its copy in page-locked memory */
    unsigned long long turn;
    char notes[2048];
};

/* Where weights come from: a file, or host memory. */
typedef struct {
    const struct dcc_st_file *file;
    const void *const *memory;
    uint64_t seed; /* of what neither has */
} RtSource;

static inline size_t rt_round(size_t bytes)
{
    return (bytes + DCC_ALIGN - 1) / DCC_ALIGN * DCC_ALIGN;
}

/* The caller's or the machine's errors; `doing` is for the text. A CUDA error
 * of a launch is the generated code's, and rt_step_error says so (`run`: whose
 * step it is; NULL: a load step). */
dcc_status rt_cuda(const dcc_model *m, const char *doing, cudaError_t error);
dcc_status rt_step_error(const dcc_model *m, const dcc_model_desc *run,
                         int step, cudaError_t error);
dcc_status rt_check_desc(const dcc_model_desc *d);

dcc_frame rt_frame(const dcc_model *m, void *const *inputs,
                   void *const *outputs);

/* Device memory of a handle, before its private stream's next work. */
dcc_status rt_take(dcc_model *m, unsigned char **out, size_t bytes);
void rt_give(dcc_model *m, void *memory);

/* rt_graph.c: events of a handle, and the stream of its runs' branches. */
dcc_status rt_make_events(dcc_model *m);
void rt_drop_events(dcc_model *m);

/* rt_load.c: reads, checks and packs all weights; waits for it. */
dcc_status rt_load(dcc_model *m, const RtSource *source);
/* Names, types and shapes alone. */
dcc_status rt_check_source(dcc_model *m, const RtSource *source);
/* Bytes of the GPU's memory that staged weights pass through, and of the
 * host's that is page-locked meanwhile. */
size_t rt_staging_bytes(const dcc_model_desc *d);
size_t rt_pinned_bytes(const dcc_model_desc *d);

/* Waits for the runs of all handles that share the weights, and replaces them
 * by a source that was checked. */
dcc_status rt_replace_weights(dcc_model *m, const RtSource *source);

/* rt_share.c: whether `d` may share what `first` trains; and copies of it, as
 * it is now, for the handle's next run. */
dcc_status rt_check_shares(const dcc_model_desc *d, const dcc_model *first);
dcc_status rt_copy_trained(dcc_model *m);
dcc_status rt_follow(dcc_model *m, int capturing);

/* rt_save.c: dcc_model_save with more metadata, key, value; dcc_model_load of
 * a file that is open. */
enum { RT_METADATA = 16 };
dcc_status rt_save_with(dcc_model *m, const char *path,
                        const char *const *more, int n_more);
dcc_status rt_load_saved(dcc_model *m, const struct dcc_st_file *file);

/* The handle's GPU is the thread's current one. */
dcc_status rt_check_current(const dcc_model *m);

/* rt_strides.c: whether a tensor lies as declared; its elements in rows; and
 * into rows or back in its own memory. */
int rt_is_row_major(const dcc_tensor *t);
void rt_to_rows(const dcc_tensor *t, const unsigned char *from,
                unsigned char *rows);
dcc_status rt_turn(const dcc_tensor *t, unsigned char *memory, int to_rows);

/* rt_state.c */
int rt_needs_first_state(const dcc_model_desc *d);
dcc_status rt_make_first_state(dcc_model *m);

/* rt_size.c: those of the handle's memory that a set of sizes needs; they lie
 * behind the arena. */
size_t rt_arena_bytes(const dcc_model_desc *d);
dcc_status rt_make_sizes(dcc_model *m);
void rt_free_sizes(dcc_model *m);
void rt_place_sizes(dcc_model *m);
/* The size that runs `size`; NULL after an error. */
RtSize *rt_size_of(dcc_model *m, int64_t size);
/* How many arguments a run has: inputs, outputs, its size. */
static inline size_t rt_pointers(const dcc_model_desc *d)
{
    return (size_t)d->n_inputs + (size_t)d->n_outputs + 1;
}
/* m->arguments: the caller's, or the handle's copies. */
void rt_arguments(dcc_model *m, const RtSize *s, int64_t size,
                  void *const *in, void *const *out);
/* Copies of a run of less than a size: inputs before it, outputs after. */
dcc_status rt_copy_inputs(dcc_model *m, RtSize *s, int64_t size,
                          void *const *from, cudaStream_t stream,
                          int capturing);
dcc_status rt_copy_outputs(dcc_model *m, const RtSize *s, int64_t size,
                           void *const *to, cudaStream_t stream);

/* rt_graph.c */
void rt_free_graphs(dcc_model *m);
dcc_status rt_check_run(const dcc_model *m, void *const *inputs,
                        void *const *outputs);

#ifdef DCC_NVTX /* -DDCC_NVTX: ranges for Nsight, header only */
#include <nvtx3/nvToolsExt.h>
#define RT_RANGE(name) nvtxRangePushA(name)
#define RT_RANGE_END() nvtxRangePop()
#else
#define RT_RANGE(name) ((void)(name))
#define RT_RANGE_END() ((void)0)
#endif

#endif
