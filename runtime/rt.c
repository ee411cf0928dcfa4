/* rt.c - the life of a model (dcc_rt.h): weights, device memory, load steps,
 * the CUDA graph. Valid as C and, for CPU execution, as C++.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dcc_rt.h"
#include "safetensors.h"

/* What runs read and never write: of one handle, or of several. */
typedef struct {
    int users; /* counted atomically: handles may be of several threads */
    unsigned char *params, *consts;
} RtWeights;

struct dcc_model {
    const dcc_model_desc *desc;
    int device;
    RtWeights *weights; /* params and consts are its own */
    unsigned char *params, *consts, *arena, *state;
    unsigned char *first_state; /* the initial state; NULL if it is all zero */
    void **inputs, **outputs;   /* what the graph was captured with */
    cudaStream_t stream;        /* private: load steps, capture */
    cudaGraphExec_t exec;       /* NULL until the first run */
    char notes[2048];
};

/* Where create gets parameters from: a file, or host memory. */
typedef struct {
    const dcc_st_file *file;
    const void *const *memory;
} RtSource;

/* How often each conversion of a float type happened. */
typedef struct {
    int count[DCC_ST_TYPES][DCC_U8 + 1];
    int example[DCC_ST_TYPES][DCC_U8 + 1];
} RtChanges;

/* ---- errors ---- */

/* A kernel that faults or cannot be launched is a defect of the generated
 * code; all else is the machine's. */
static dcc_status rt_status(cudaError_t error)
{
    switch (error) {
    case cudaErrorMemoryAllocation:
        return DCC_ERR_MEMORY;
    case cudaErrorInvalidValue:
    case cudaErrorInvalidConfiguration:
    case cudaErrorIllegalAddress:
    case cudaErrorMisalignedAddress:
    case cudaErrorIllegalInstruction:
    case cudaErrorLaunchFailure:
    case cudaErrorLaunchOutOfResources:
        return DCC_ERR_BUG;
    default:
        return DCC_ERR_CUDA;
    }
}

static dcc_status rt_cuda(const dcc_model *m, const char *doing,
                          cudaError_t error)
{
    if (error == cudaSuccess)
        return DCC_OK;
    cudaGetLastError(); /* has been reported: later calls start clean */
    return dcc_fail(rt_status(error), "%s: %s: %s", m->desc->name, doing,
                    cudaGetErrorString(error));
}

static dcc_status rt_step_error(const dcc_model *m, int load, int step,
                                cudaError_t error)
{
    const char *const *names =
        load ? m->desc->load_step_names : m->desc->step_names;
    char doing[300];

    if (error == cudaSuccess)
        return DCC_OK;
    if (error == cudaErrorNoKernelImageForDevice) {
        cudaGetLastError();
        return dcc_fail(DCC_ERR_CUDA,
                        "%s: the program was not compiled for this GPU",
                        m->desc->name);
    }
    snprintf(doing, sizeof doing, "%sstep %d%s%s", load ? "load " : "", step,
             names ? " " : "", names ? names[step] : "");
    return rt_cuda(m, doing, error);
}

/* Copies to the device before anything later on the private stream. A plain
 * cudaMemcpy from pageable memory may return with the copy under way, and
 * orders nothing against a non-blocking stream. */
static cudaError_t rt_copy_in(const dcc_model *m, void *to, const void *from,
                              size_t bytes)
{
    cudaError_t error =
        cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, m->stream);

    return error == cudaSuccess ? cudaStreamSynchronize(m->stream) : error;
}

static size_t rt_bytes(const dcc_tensor *t)
{
    size_t bytes = dcc_type_size(t->type);

    for (int d = 0; d < t->rank; d++)
        bytes *= (size_t)t->dim[d];
    return bytes;
}

/* ---- create ---- */

static dcc_status rt_check_device(dcc_model *m)
{
    int count = 0;
    cudaError_t error = cudaGetDeviceCount(&count);

    if (error != cudaSuccess || count == 0) {
        cudaGetLastError();
        return dcc_fail(DCC_ERR_CUDA, "%s: no usable CUDA GPU: %s",
                        m->desc->name,
                        error ? cudaGetErrorString(error) : "none is there");
    }
    return rt_cuda(m, "choosing the GPU", cudaGetDevice(&m->device));
}

static dcc_status rt_out_of_memory(const dcc_model *m, size_t needed)
{
    size_t available = 0, total = 0;

    cudaGetLastError();
    cudaMemGetInfo(&available, &total);
    cudaGetLastError();
    return dcc_fail(DCC_ERR_MEMORY,
                    "%s: too little GPU memory: the model needs %.1f MB "
                    "(weights %.1f, packed %.1f, intermediates %.1f, state "
                    "%.1f), %.1f MB of %.1f are free",
                    m->desc->name, (double)needed / 1e6,
                    (double)m->desc->params_bytes / 1e6,
                    (double)m->desc->consts_bytes / 1e6,
                    (double)m->desc->arena_bytes / 1e6,
                    (double)m->desc->state_bytes / 1e6,
                    (double)available / 1e6, (double)total / 1e6);
}

static int rt_needs_first_state(const dcc_model_desc *d)
{
    for (int i = 0; i < d->n_states; i++)
        if (d->states[i].init != 0)
            return 1;
    return 0;
}

static dcc_status rt_allocate(dcc_model *m)
{
    const dcc_model_desc *d = m->desc;
    struct {
        unsigned char **at;
        size_t bytes;
    } want[] = {
        {&m->params, m->weights ? 0 : d->params_bytes},
        {&m->consts, m->weights ? 0 : d->consts_bytes},
        {&m->arena, d->arena_bytes},
        {&m->state, d->state_bytes},
        {&m->first_state, rt_needs_first_state(d) ? d->state_bytes : 0},
    };
    const int n = (int)(sizeof want / sizeof *want);
    size_t needed = 0;

    for (int i = 0; i < n; i++)
        needed += want[i].bytes;
    for (int i = 0; i < n; i++) {
        void *p = NULL;
        cudaError_t error;

        if (want[i].bytes == 0)
            continue;
        error = cudaMalloc(&p, want[i].bytes);
        if (error == cudaErrorMemoryAllocation)
            return rt_out_of_memory(m, needed);
        if (error != cudaSuccess)
            return rt_cuda(m, "allocating GPU memory", error);
        *want[i].at = (unsigned char *)p;
    }
    return DCC_OK;
}

static void rt_note(dcc_model *m, const char *line)
{
    size_t at = strlen(m->notes);

    snprintf(m->notes + at, sizeof m->notes - at, "%s\n", line);
}

/* A line for each kind of conversion, not for each of hundreds of weights. */
static void rt_note_changes(dcc_model *m, const RtChanges *changes)
{
    for (int from = 0; from < DCC_ST_TYPES; from++) {
        for (int to = 0; to <= DCC_U8; to++) {
            int n = changes->count[from][to];
            char line[400];

            if (n == 0)
                continue;
            snprintf(line, sizeof line,
                     "%d parameter%s converted from %s to %s (%s\"%.200s\")",
                     n, n == 1 ? "" : "s",
                     dcc_st_dtype_name((dcc_st_dtype)from),
                     dcc_type_name((dcc_type)to), n == 1 ? "" : "first: ",
                     m->desc->params[changes->example[from][to]].name);
            rt_note(m, line);
        }
    }
}

/* Reads parameter i of the file into `host`. */
static dcc_status rt_read_param(dcc_model *m, const dcc_st_file *file, int i,
                                void *host, RtChanges *changes)
{
    const dcc_tensor *p = &m->desc->params[i];
    dcc_st_want want = {p->name, p->type, p->rank, p->dim, 1, "parameter"};
    dcc_st_change change;
    dcc_status status = dcc_st_read(file, &want, host, &change);

    if (status != DCC_OK)
        return status;
    if (change.converted) {
        int *count = &changes->count[change.from][p->type];

        if ((*count)++ == 0)
            changes->example[change.from][p->type] = i;
    }
    if (change.lost) {
        char line[400];

        snprintf(line, sizeof line,
                 "parameter \"%.200s\": %lld values are too large for %s and "
                 "became infinite",
                 p->name, (long long)change.lost, dcc_type_name(p->type));
        rt_note(m, line);
    }
    return DCC_OK;
}

static dcc_status rt_upload_params(dcc_model *m, const RtSource *source)
{
    const dcc_model_desc *d = m->desc;
    RtChanges changes;
    size_t largest = 1;
    void *host;
    dcc_status status = DCC_OK;

    memset(&changes, 0, sizeof changes);
    for (int i = 0; i < d->n_params; i++)
        if (rt_bytes(&d->params[i]) > largest)
            largest = rt_bytes(&d->params[i]);
    host = malloc(largest);
    if (!host)
        return dcc_fail(DCC_ERR_MEMORY, "%s: out of memory", d->name);
    for (int i = 0; i < d->n_params && status == DCC_OK; i++) {
        const dcc_tensor *p = &d->params[i];
        const void *from = host;

        if (source->memory)
            from = source->memory[i];
        else
            status = rt_read_param(m, source->file, i, host, &changes);
        if (status == DCC_OK)
            status = rt_cuda(m, "copying weights to the GPU",
                             rt_copy_in(m, m->params + p->offset, from,
                                        rt_bytes(p)));
    }
    free(host);
    rt_note_changes(m, &changes);
    return status;
}

/* As a definition would store it. */
static int32_t rt_saturated(double value, double lo, double hi)
{
    return value != value ? 0
           : value < lo   ? (int32_t)lo
           : value > hi   ? (int32_t)hi
                          : (int32_t)value;
}

/* The initial value as an element; returns its bytes. */
static size_t rt_element(dcc_type type, double value, unsigned char *out)
{
    float f = (float)value;
    int32_t i32 = rt_saturated(value, -2147483648.0, 2147483647.0);
    uint16_t h = type == DCC_F16 ? dcc_float_to_half(f)
                                 : dcc_float_to_bfloat(f);

    switch (type) {
    case DCC_F32:
        memcpy(out, &f, 4);
        break;
    case DCC_I32:
        memcpy(out, &i32, 4);
        break;
    case DCC_F16:
    case DCC_BF16:
        memcpy(out, &h, 2);
        break;
    case DCC_I8:
        out[0] = (unsigned char)(int8_t)rt_saturated(value, -128, 127);
        break;
    case DCC_U8:
        out[0] = (unsigned char)rt_saturated(value, 0, 255);
        break;
    case DCC_BOOL:
        out[0] = value != 0;
        break;
    }
    return dcc_type_size(type);
}

static dcc_status rt_make_first_state(dcc_model *m)
{
    const dcc_model_desc *d = m->desc;
    unsigned char *host;
    dcc_status status;

    if (!m->first_state)
        return DCC_OK;
    host = (unsigned char *)calloc(1, d->state_bytes);
    if (!host)
        return dcc_fail(DCC_ERR_MEMORY, "%s: out of memory", d->name);
    for (int i = 0; i < d->n_states; i++) {
        const dcc_tensor *t = &d->states[i];
        unsigned char element[8];
        size_t size = rt_element(t->type, t->init, element);

        for (size_t at = 0; at < rt_bytes(t); at += size)
            memcpy(host + t->offset + at, element, size);
    }
    status = rt_cuda(m, "copying the state to the GPU",
                     rt_copy_in(m, m->first_state, host, d->state_bytes));
    free(host);
    return status;
}

static dcc_frame rt_frame(const dcc_model *m, void *const *inputs,
                          void *const *outputs)
{
    dcc_frame frame;

    frame.params = m->params;
    frame.consts = m->consts;
    frame.arena = m->arena;
    frame.state = m->state;
    frame.inputs = inputs;
    frame.outputs = outputs;
    return frame;
}

/* What the load steps read and made: no run writes to it. */
static void rt_end_of_load(dcc_model *m)
{
    if (!m->desc->keep_params) {
        cudaFree(m->params);
        m->params = NULL;
    }
#ifdef DCC_EMU
    dcc_emu_constant(m->params, m->desc->params_bytes);
    dcc_emu_constant(m->consts, m->desc->consts_bytes);
#endif
}

static dcc_status rt_load_steps(dcc_model *m)
{
    dcc_frame frame = rt_frame(m, NULL, NULL);
    dcc_status status = DCC_OK;

    for (int i = 0; i < m->desc->n_load_steps && status == DCC_OK; i++)
        status = rt_step_error(m, 1, i,
                               m->desc->load_step(&frame, i, m->stream));
    if (status == DCC_OK)
        status =
            rt_cuda(m, "load steps", cudaStreamSynchronize(m->stream));
    if (status == DCC_OK)
        rt_end_of_load(m);
    return status;
}

/* From now on others may share them. */
static dcc_status rt_own_weights(dcc_model *m)
{
    m->weights = (RtWeights *)calloc(1, sizeof *m->weights);
    if (!m->weights)
        return dcc_fail(DCC_ERR_MEMORY, "%s: out of memory", m->desc->name);
    m->weights->users = 1;
    m->weights->params = m->params;
    m->weights->consts = m->consts;
    return DCC_OK;
}

/* source NULL: the weights are another handle's. */
static dcc_status rt_fill(dcc_model *m, const RtSource *source)
{
    dcc_status status = rt_check_device(m);

    if (status == DCC_OK)
        status = rt_cuda(m, "creating a stream",
                         cudaStreamCreateWithFlags(&m->stream,
                                                   cudaStreamNonBlocking));
    if (status == DCC_OK)
        status = rt_allocate(m);
    if (status == DCC_OK && source)
        status = rt_upload_params(m, source);
    if (status == DCC_OK)
        status = rt_make_first_state(m);
    if (status == DCC_OK)
        status = dcc_model_reset(m, m->stream);
    if (status == DCC_OK && source)
        status = rt_load_steps(m);
    if (status == DCC_OK && source)
        status = rt_own_weights(m);
    if (status == DCC_OK && !source)
        status = rt_cuda(m, "resetting the state",
                         cudaStreamSynchronize(m->stream));
    return status;
}

static dcc_status rt_create(dcc_model **out, const dcc_model_desc *desc,
                            const RtSource *source, RtWeights *shared)
{
    dcc_model *m = (dcc_model *)calloc(1, sizeof *m);
    const size_t pointers = (size_t)desc->n_inputs + (size_t)desc->n_outputs;
    dcc_status status;

    *out = NULL;
    if (m)
        m->inputs = (void **)calloc(pointers + 1, sizeof *m->inputs);
    if (!m || !m->inputs) {
        free(m);
        return dcc_fail(DCC_ERR_MEMORY, "%s: out of memory", desc->name);
    }
    m->outputs = m->inputs + desc->n_inputs;
    m->desc = desc;
    m->weights = shared;
    if (shared) {
        __atomic_add_fetch(&shared->users, 1, __ATOMIC_RELAXED);
        m->params = shared->params;
        m->consts = shared->consts;
    }
    status = rt_fill(m, source);
    if (status == DCC_OK)
        *out = m;
    else
        dcc_model_destroy(m);
    return status;
}

dcc_status dcc_model_create_with(dcc_model **out, const dcc_model_desc *desc,
                                 const void *const *params)
{
    RtSource source = {NULL, params};

    return rt_create(out, desc, &source, NULL);
}

dcc_status dcc_model_create_shared(dcc_model **out, dcc_model *first)
{
    int device = -1;
    dcc_status status;

    if (!out || !first)
        return dcc_fail(DCC_ERR_ARG, "create_shared: a null pointer");
    *out = NULL;
    status = rt_cuda(first, "asking for the GPU", cudaGetDevice(&device));
    if (status == DCC_OK && device != first->device)
        status = dcc_fail(DCC_ERR_ARG,
                          "%s: the weights are on GPU %d, the current GPU is "
                          "%d", first->desc->name, first->device, device);
    return status == DCC_OK
               ? rt_create(out, first->desc, NULL, first->weights)
               : status;
}

dcc_status dcc_model_create(dcc_model **out, const dcc_model_desc *desc,
                            const char *weights_path)
{
    RtSource source = {NULL, NULL};
    dcc_st_file *file = NULL;
    dcc_status status;

    *out = NULL;
    if (desc->n_params > 0) {
        if (!weights_path)
            return dcc_fail(DCC_ERR_ARG, "%s: needs a weights file",
                            desc->name);
        status = dcc_st_open(&file, weights_path);
        if (status != DCC_OK)
            return status;
        source.file = file;
    }
    status = rt_create(out, desc, &source, NULL);
    dcc_st_close(file);
    return status;
}

const char *dcc_model_notes(const dcc_model *m)
{
    return m->notes;
}

void dcc_model_destroy(dcc_model *m)
{
    if (!m)
        return;
    cudaDeviceSynchronize();
    if (m->exec)
        cudaGraphExecDestroy(m->exec);
    if (m->stream)
        cudaStreamDestroy(m->stream);
    if (!m->weights || __atomic_sub_fetch(&m->weights->users, 1,
                                          __ATOMIC_ACQ_REL) == 0) {
        cudaFree(m->params);
        cudaFree(m->consts);
        free(m->weights);
    }
    cudaFree(m->arena);
    cudaFree(m->state);
    cudaFree(m->first_state);
    cudaGetLastError();
    free(m->inputs);
    free(m);
}

dcc_status dcc_model_reset(dcc_model *m, cudaStream_t stream)
{
    const size_t bytes = m->desc->state_bytes;

    if (bytes == 0)
        return DCC_OK;
    if (m->first_state)
        return rt_cuda(m, "resetting the state",
                       cudaMemcpyAsync(m->state, m->first_state, bytes,
                                       cudaMemcpyDeviceToDevice, stream));
    return rt_cuda(m, "resetting the state",
                   cudaMemsetAsync(m->state, 0, bytes, stream));
}

/* ---- run ---- */

static dcc_status rt_check_pointers(const dcc_model *m, const char *role,
                                    const dcc_tensor *tensors, int n,
                                    void *const *pointers)
{
    for (int i = 0; i < n; i++) {
        if (!pointers[i])
            return dcc_fail(DCC_ERR_ARG, "%s: %s \"%s\" is a null pointer",
                            m->desc->name, role, tensors[i].name);
        if ((uintptr_t)pointers[i] % 16 != 0)
            return dcc_fail(DCC_ERR_ARG,
                            "%s: %s \"%s\" is not aligned to 16 bytes",
                            m->desc->name, role, tensors[i].name);
    }
    return DCC_OK;
}

static dcc_status rt_check_run(const dcc_model *m, void *const *inputs,
                               void *const *outputs)
{
    const dcc_model_desc *d = m->desc;
    int device = -1;
    dcc_status status =
        rt_cuda(m, "asking for the GPU", cudaGetDevice(&device));

    if (status == DCC_OK && device != m->device)
        status = dcc_fail(DCC_ERR_ARG,
                          "%s: the model is on GPU %d, the current GPU is %d",
                          d->name, m->device, device);
    if (status == DCC_OK)
        status = rt_check_pointers(m, "input", d->inputs, d->n_inputs, inputs);
    if (status == DCC_OK)
        status =
            rt_check_pointers(m, "output", d->outputs, d->n_outputs, outputs);
    return status;
}

static dcc_status rt_launch(const dcc_model *m, const dcc_frame *frame,
                            cudaStream_t stream)
{
    dcc_status status = DCC_OK;

    for (int i = 0; i < m->desc->n_steps && status == DCC_OK; i++)
        status = rt_step_error(m, 0, i, m->desc->step(frame, i, stream));
    return status;
}

/* Records the launches of one run on the private stream. Thread-local mode:
 * other threads may go on using CUDA meanwhile. */
static dcc_status rt_capture(dcc_model *m, cudaGraph_t *graph)
{
    dcc_frame frame = rt_frame(m, m->inputs, m->outputs);
    dcc_status status, ended;

    *graph = NULL;
    status = rt_cuda(m, "beginning the capture",
                     cudaStreamBeginCapture(m->stream,
                                            cudaStreamCaptureModeThreadLocal));
    if (status != DCC_OK)
        return status;
    status = rt_launch(m, &frame, m->stream);
    if (status != DCC_OK) { /* keep the first error's text */
        cudaStreamEndCapture(m->stream, graph);
        cudaGetLastError();
    } else {
        ended = rt_cuda(m, "ending the capture",
                        cudaStreamEndCapture(m->stream, graph));
        status = ended;
    }
    if (status != DCC_OK && *graph) {
        cudaGraphDestroy(*graph);
        *graph = NULL;
    }
    return status;
}

/* Points an existing executable graph at the new addresses; false if it has
 * to be built anew. */
static int rt_update(dcc_model *m, cudaGraph_t graph)
{
    cudaError_t error;

    if (!m->exec)
        return 0;
#if CUDART_VERSION >= 12000
    cudaGraphExecUpdateResultInfo result;

    error = cudaGraphExecUpdate(m->exec, graph, &result);
#else
    cudaGraphNode_t node;
    enum cudaGraphExecUpdateResult result;

    error = cudaGraphExecUpdate(m->exec, graph, &node, &result);
#endif
    if (error == cudaSuccess)
        return 1;
    cudaGetLastError();
    cudaGraphExecDestroy(m->exec);
    m->exec = NULL;
    return 0;
}

static dcc_status rt_rebuild(dcc_model *m)
{
    cudaGraph_t graph;
    dcc_status status = rt_capture(m, &graph);

    if (status != DCC_OK)
        return status;
    if (!rt_update(m, graph)) {
        status = rt_cuda(m, "instantiating the graph",
                         cudaGraphInstantiateWithFlags(&m->exec, graph, 0));
        if (status != DCC_OK)
            m->exec = NULL;
    }
    cudaGraphDestroy(graph);
    return status;
}

/* Takes the pointers over; true if the graph still fits them. */
static int rt_same_pointers(dcc_model *m, void *const *inputs,
                            void *const *outputs)
{
    const size_t in = (size_t)m->desc->n_inputs * sizeof *inputs;
    const size_t out = (size_t)m->desc->n_outputs * sizeof *outputs;

    if (m->exec && (!in || memcmp(m->inputs, inputs, in) == 0) &&
        (!out || memcmp(m->outputs, outputs, out) == 0))
        return 1;
    if (in)
        memcpy(m->inputs, inputs, in);
    if (out)
        memcpy(m->outputs, outputs, out);
    return 0;
}

dcc_status dcc_model_run(dcc_model *m, const void *const *inputs,
                         void *const *outputs, cudaStream_t stream)
{
    void *const *in = (void *const *)inputs;
    enum cudaStreamCaptureStatus capturing = cudaStreamCaptureStatusNone;
    dcc_status status = rt_check_run(m, in, outputs);

    if (status == DCC_OK)
        status = rt_cuda(m, "asking for the stream's state",
                         cudaStreamIsCapturing(stream, &capturing));
    if (status != DCC_OK)
        return status;
    if (capturing != cudaStreamCaptureStatusNone) {
        dcc_frame frame = rt_frame(m, in, outputs);

        return rt_launch(m, &frame, stream);
    }
    if (!rt_same_pointers(m, in, outputs)) {
        status = rt_rebuild(m);
        if (status != DCC_OK) {
            if (m->exec)
                cudaGraphExecDestroy(m->exec);
            m->exec = NULL;
            return status;
        }
    }
    return rt_cuda(m, "launching the graph",
                   cudaGraphLaunch(m->exec, stream));
}

dcc_status dcc_model_run_steps(dcc_model *m, const void *const *inputs,
                               void *const *outputs, cudaStream_t stream,
                               dcc_after_step after, void *ctx)
{
    void *const *in = (void *const *)inputs;
    dcc_frame frame = rt_frame(m, in, outputs);
    dcc_status status = rt_check_run(m, in, outputs);

    if (status == DCC_OK && m->desc->arena_bytes)
        status = rt_cuda(m, "filling the arena",
                         cudaMemsetAsync(m->arena, 0xff, m->desc->arena_bytes,
                                         stream));
    if (status == DCC_OK && after)
        status = after(ctx, -1, &frame);
    for (int i = 0; i < m->desc->n_steps && status == DCC_OK; i++) {
        status = rt_step_error(m, 0, i, m->desc->step(&frame, i, stream));
        if (status == DCC_OK)
            status = rt_step_error(m, 0, i, cudaStreamSynchronize(stream));
        if (status == DCC_OK && after)
            status = after(ctx, i, &frame);
    }
    return status;
}
