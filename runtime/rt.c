/* rt.c - the life of a handle (dcc_rt.h): GPU, memory, state, weights that are
 * shared, its end. Valid as C and, for CPU execution, as C++.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rt_model.h"
#include "safetensors.h"

/* ---- errors ---- */

static dcc_status rt_failed(const dcc_model *m, dcc_status status,
                            const char *doing, cudaError_t error)
{
    cudaGetLastError(); /* has been reported: later calls start clean */
    return dcc_fail(status, "%s: %s: %s", m->desc->name, doing,
                    cudaGetErrorString(error));
}

static int rt_is_fault(cudaError_t error)
{
    return error == cudaErrorIllegalAddress ||
           error == cudaErrorMisalignedAddress ||
           error == cudaErrorIllegalInstruction ||
           error == cudaErrorLaunchFailure;
}

/* What any call may return: the machine's fault, or what some kernel did
 * before, which need not be one of ours. */
dcc_status rt_cuda(const dcc_model *m, const char *doing, cudaError_t error)
{
    if (error == cudaSuccess)
        return DCC_OK;
    if (error == cudaErrorInvalidResourceHandle) {
        cudaGetLastError();
        return dcc_fail(DCC_ERR_ARG, "%s: %s: no such stream on this GPU",
                        m->desc->name, doing);
    }
    if (rt_is_fault(error))
        return dcc_fail(DCC_ERR_CUDA,
                        "%s: %s: a kernel that ran earlier in this process "
                        "has failed: %s (of this model's, if a pointer of a "
                        "run was to too little memory; compute-sanitizer "
                        "finds it)", m->desc->name, doing,
                        cudaGetErrorString(error));
    return rt_failed(m, error == cudaErrorMemoryAllocation ? DCC_ERR_MEMORY
                                                           : DCC_ERR_CUDA,
                     doing, error);
}

/* A kernel of ours that cannot be launched, or faults where all memory is
 * ours, is a defect of the generated code. */
static int rt_is_defect(cudaError_t error)
{
    return rt_is_fault(error) || error == cudaErrorInvalidValue ||
           error == cudaErrorInvalidConfiguration ||
           error == cudaErrorLaunchOutOfResources;
}

dcc_status rt_step_error(const dcc_model *m, const dcc_model_desc *run,
                         int step, cudaError_t error)
{
    const char *const *names =
        run ? run->step_names : m->desc->load_step_names;
    char doing[300];

    if (error == cudaSuccess)
        return DCC_OK;
    if (error == cudaErrorNoKernelImageForDevice) {
        cudaGetLastError();
        return dcc_fail(DCC_ERR_CUDA,
                        "%s: the program was not compiled for this GPU",
                        m->desc->name);
    }
    if (step < 0)
        snprintf(doing, sizeof doing, "load steps");
    else
        snprintf(doing, sizeof doing, "%sstep %d%s%s", run ? "" : "load ",
                 step, names ? " " : "", names ? names[step] : "");
    return rt_is_defect(error) ? rt_failed(m, DCC_ERR_BUG, doing, error)
                               : rt_cuda(m, doing, error);
}

dcc_status dcc_check_head(const char *name, const void *head, size_t bytes)
{
    uint32_t is[2];

    memcpy(is, head, sizeof is);
    if (is[0] == bytes && is[1] == DCC_INTERFACE)
        return DCC_OK;
    if (is[1] == 0 || is[1] > 1000)
        return dcc_fail(DCC_ERR_ARG,
                        "%s does not begin with its size and version: %s x = "
                        "{DCC_HEAD(%s), ...}", name, name, name);
    return dcc_fail(DCC_ERR_ARG,
                    "%s is of interface %u (%u bytes), these runtime sources "
                    "are of dcc " DCC_RUNTIME_VERSION ", interface %d (%zu "
                    "bytes): emit and compile all of it with one dcc",
                    name, is[1], is[0], DCC_INTERFACE, bytes);
}

dcc_status rt_check_desc(const dcc_model_desc *d)
{
    if (!d)
        return dcc_fail(DCC_ERR_ARG, "no model: a null pointer");
    return dcc_check_head("the emitted model", d, sizeof *d);
}

static dcc_status rt_check_options(const dcc_model_desc *d,
                                   const dcc_options *o)
{
    if (!o)
        return dcc_fail(DCC_ERR_ARG, "%s: options are a null pointer",
                        d->name);
    if (dcc_check_head("dcc_options", o, sizeof *o) != DCC_OK)
        return DCC_ERR_ARG;
    if (!!o->weights + !!o->params + !!o->shared > 1)
        return dcc_fail(DCC_ERR_ARG,
                        "%s: weights, params and shared: one of them",
                        d->name);
    if (!o->alloc != !o->release)
        return dcc_fail(DCC_ERR_ARG, "%s: alloc and release: both or neither",
                        d->name);
    if (o->graphs < 0 || o->graphs > 4096)
        return dcc_fail(DCC_ERR_ARG, "%s: graphs is %d, not 0 to 4096",
                        d->name, o->graphs);
    if (o->device < -1)
        return dcc_fail(DCC_ERR_ARG,
                        "%s: device is %d, not a GPU's number or -1", d->name,
                        o->device);
    return DCC_OK;
}

/* ---- sizes ---- */

size_t dcc_tensor_bytes(const dcc_tensor *t)
{
    size_t bytes = dcc_type_size(t->type);

    for (int d = 0; d < t->rank; d++)
        bytes *= (size_t)t->dim[d];
    return bytes;
}

static size_t rt_workspace_bytes(const dcc_model_desc *d)
{
    const size_t state = rt_round(d->state_bytes);

    return rt_arena_bytes(d) + state +
           (rt_needs_first_state(d) ? state : 0);
}

dcc_status dcc_model_sizes(const dcc_model_desc *d, dcc_sizes *s)
{
    dcc_status status = rt_check_desc(d);

    if (status != DCC_OK)
        return status;
    if (!s)
        return dcc_fail(DCC_ERR_ARG, "%s: sizes is a null pointer", d->name);
    if (dcc_check_head("dcc_sizes", s, sizeof *s) != DCC_OK)
        return DCC_ERR_ARG;
    s->weights = rt_round(d->params_bytes) + rt_round(d->consts_bytes);
    s->workspace = rt_workspace_bytes(d);
    s->arena = rt_arena_bytes(d);
    s->state = d->state_bytes;
    s->load_peak = s->weights + s->workspace + rt_staging_bytes(d);
    s->pinned = rt_pinned_bytes(d);
    return DCC_OK;
}

const dcc_model_desc *dcc_model_describe(const dcc_model *m)
{
    return m ? m->desc : NULL;
}

/* ---- memory ---- */

static dcc_status rt_out_of_memory(const dcc_model *m)
{
    dcc_sizes need = DCC_SIZES;
    size_t available = 0, total = 0;

    dcc_model_sizes(m->desc, &need);
    cudaGetLastError();
    cudaMemGetInfo(&available, &total);
    cudaGetLastError();
    return dcc_fail(DCC_ERR_MEMORY,
                    "%s: too little GPU memory: the model needs %.1f MB "
                    "(weights %.1f, packed %.1f, intermediates %.1f, state "
                    "%.1f, to load %.1f), %.1f MB of %.1f are free",
                    m->desc->name, (double)need.load_peak / 1e6,
                    (double)m->desc->params_bytes / 1e6,
                    (double)m->desc->consts_bytes / 1e6,
                    (double)m->desc->arena_bytes / 1e6,
                    (double)m->desc->state_bytes / 1e6,
                    (double)rt_staging_bytes(m->desc) / 1e6,
                    (double)available / 1e6, (double)total / 1e6);
}


dcc_status rt_take(dcc_model *m, unsigned char **out, size_t bytes)
{
    cudaError_t error = cudaSuccess;
    void *p = NULL;

    *out = NULL;
    if (bytes == 0)
        return DCC_OK;
    if (m->alloc) {
        p = m->alloc(m->ctx, bytes);
        if (p && (uintptr_t)p % DCC_ALIGN) {
            m->release(m->ctx, p);
            return dcc_fail(DCC_ERR_ARG,
                            "%s: options.alloc gave memory that is not "
                            "aligned to %d", m->desc->name, DCC_ALIGN);
        }
    } else if (m->pools) {
        error = cudaMallocAsync(&p, bytes, m->stream);
    } else {
        error = cudaMalloc(&p, bytes);
    }
    if (error == cudaErrorMemoryAllocation || (!p && !error))
        return rt_out_of_memory(m);
    *out = (unsigned char *)p;
    return rt_cuda(m, "allocating GPU memory", error);
}

static void rt_give_to(const dcc_model *m, void *memory,
                       void (*release)(void *, void *), void *ctx)
{
    if (!memory)
        return;
    if (release)
        release(ctx, memory);
    else if (m->pools)
        cudaFreeAsync(memory, m->stream);
    else
        cudaFree(memory);
}

void rt_give(dcc_model *m, void *memory)
{
    rt_give_to(m, memory, m->release, m->ctx);
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
    if (m->device >= count) {
        const int asked = m->device;

        m->device = -1;
        return dcc_fail(DCC_ERR_ARG, "%s: no GPU %d: there are %d",
                        m->desc->name, asked, count);
    }
    if (m->device < 0)
        return rt_cuda(m, "choosing the GPU", cudaGetDevice(&m->device));
    return rt_cuda(m, "choosing the GPU", cudaSetDevice(m->device));
}

dcc_frame rt_frame(const dcc_model *m, void *const *inputs,
                   void *const *outputs)
{
    dcc_frame frame;

    frame.params = m->weights->params;
    frame.consts = m->weights->consts;
    frame.arena = m->arena;
    frame.state = m->state;
    frame.inputs = inputs;
    frame.outputs = outputs;
    frame.staged = NULL;
    frame.size = 0;
    return frame;
}

static dcc_status rt_new_weights(dcc_model *m)
{
    RtWeights *w = (RtWeights *)calloc(1, sizeof *w);

    if (!w)
        return dcc_fail(DCC_ERR_MEMORY, "%s: out of memory", m->desc->name);
    w->users = 1;
    w->desc = m->desc;
    pthread_rwlock_init(&w->lock, NULL);
    pthread_mutex_init(&w->list, NULL);
    w->alloc = m->alloc;
    w->release = m->release;
    w->ctx = m->ctx;
    m->weights = w;
    return DCC_OK;
}

static void rt_join(dcc_model *m)
{
    RtWeights *w = m->weights;

    pthread_mutex_lock(&w->list);
    m->next = w->first;
    w->first = m;
    pthread_mutex_unlock(&w->list);
}

/* The last user frees them, and is then one less of those whose copies they
 * are. */
static void rt_drop_weights(const dcc_model *m, RtWeights *w)
{
    if (!w || __atomic_sub_fetch(&w->users, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    rt_drop_weights(m, w->of);
    rt_give_to(m, w->params, w->release, w->ctx);
    rt_give_to(m, w->consts, w->release, w->ctx);
    pthread_rwlock_destroy(&w->lock);
    pthread_mutex_destroy(&w->list);
    free(w);
}

static void rt_leave(dcc_model *m)
{
    RtWeights *w = m->weights;

    if (!w)
        return;
    pthread_mutex_lock(&w->list);
    for (dcc_model **at = &w->first; *at; at = &(*at)->next)
        if (*at == m) {
            *at = m->next;
            break;
        }
    pthread_mutex_unlock(&w->list);
    rt_drop_weights(m, w);
}

/* The caller's workspace, or memory of our own. */
static dcc_status rt_take_workspace(dcc_model *m)
{
    const dcc_model_desc *d = m->desc;
    const size_t arena = rt_arena_bytes(d);
    const size_t state = rt_round(d->state_bytes);
    unsigned char *at = (unsigned char *)m->workspace;
    dcc_status status = DCC_OK;

    if (at && (uintptr_t)at % DCC_ALIGN)
        return dcc_fail(DCC_ERR_ARG,
                        "%s: the workspace is not aligned to %d", d->name,
                        DCC_ALIGN);
    if (at && m->workspace_bytes < rt_workspace_bytes(d))
        return dcc_fail(DCC_ERR_ARG,
                        "%s: the workspace has %zu bytes, %zu are needed",
                        d->name, m->workspace_bytes, rt_workspace_bytes(d));
    if (at) {
        m->arena = at;
        m->state = at + arena;
        m->first_state = rt_needs_first_state(d) ? at + arena + state : NULL;
        return DCC_OK;
    }
    status = rt_take(m, &m->arena, arena);
    if (status == DCC_OK)
        status = rt_take(m, &m->state, state);
    if (status == DCC_OK && rt_needs_first_state(d))
        status = rt_take(m, &m->first_state, state);
    return status;
}

static dcc_status rt_take_weights(dcc_model *m)
{
    RtWeights *w = m->weights;
    size_t bytes = rt_round(m->desc->params_bytes);
    dcc_status status = rt_take(m, &w->params, bytes);

    /* a step may round what lies between parameters with them */
    if (status == DCC_OK && m->desc->trains && bytes)
        status = rt_cuda(m, "clearing the parameters' memory",
                         cudaMemsetAsync(w->params, 0, bytes, m->stream));
    return status == DCC_OK
               ? rt_take(m, &w->consts, rt_round(m->desc->consts_bytes))
               : status;
}

/* No run writes to them: with `settled` 0 loading may. */
static void rt_settle_weights(const dcc_model *m, int settled)
{
#ifdef DCC_EMU
    if (m->alloc)
        return;
    if (!m->desc->trains)
        dcc_emu_constant(m->weights->params, rt_round(m->desc->params_bytes),
                         settled);
    /* runs that train leave copies of parameters to the next, there */
    dcc_emu_constant(m->weights->consts, rt_round(m->desc->consts_bytes),
                     settled && m->desc->trains ? 2 : settled);
#else
    (void)m;
    (void)settled;
#endif
}

static dcc_status rt_make_check(dcc_model *m)
{
    void *seen = NULL;
    dcc_status status;

    if (!m->check || !m->desc->check)
        return DCC_OK;
    m->turn = 1;
    status = rt_cuda(m, "page-locking host memory",
                     cudaMallocHost(&seen, sizeof *m->seen));
    if (status != DCC_OK)
        return status;
    memset(seen, 0, sizeof *m->seen);
    m->seen = (volatile dcc_found *)seen;
    status = rt_take(m, (unsigned char **)&m->found, DCC_ALIGN);
    return status == DCC_OK ? rt_cuda(m, "clearing memory",
                                      cudaMemsetAsync(m->found, 0, DCC_ALIGN,
                                                      m->stream))
                            : status;
}

/* Device memory from the driver's pools follows a stream: freeing it waits
 * for nobody else's work, as cudaFree does. */
static int rt_has_pools(int device)
{
    int pools = 0;

    cudaDeviceGetAttribute(&pools, cudaDevAttrMemoryPoolsSupported, device);
    cudaGetLastError();
    return pools;
}

static dcc_status rt_load_or_copy(dcc_model *m, const RtSource *source)
{
    return source ? rt_load(m, source) : rt_copy_trained(m);
}

/* source NULL: the weights are another handle's; `trained`: or copies of what
 * that one trains. */
static dcc_status rt_fill(dcc_model *m, const RtSource *source,
                          RtWeights *trained)
{
    const int own = source || trained;
    dcc_status status = rt_cuda(m, "creating a stream",
                                cudaStreamCreateWithFlags(
                                    &m->stream, cudaStreamNonBlocking));

    m->pools = rt_has_pools(m->device);
    if (status == DCC_OK)
        status = rt_make_events(m);
    if (status == DCC_OK && own)
        status = rt_new_weights(m);
    if (status == DCC_OK && trained) {
        m->weights->of = trained;
        __atomic_add_fetch(&trained->users, 1, __ATOMIC_RELAXED);
    }
    if (status == DCC_OK && own)
        status = rt_take_weights(m);
    if (status == DCC_OK)
        status = rt_take_workspace(m);
    if (status == DCC_OK)
        rt_place_sizes(m);
    if (status == DCC_OK)
        status = rt_make_check(m);
    if (status == DCC_OK)
        status = rt_make_first_state(m);
    if (status == DCC_OK)
        status = dcc_model_reset(m, m->stream);
    if (status == DCC_OK && own)
        status = rt_load_or_copy(m, source);
    if (status == DCC_OK)
        status = rt_step_error(m, NULL, -1, cudaStreamSynchronize(m->stream));
    if (status == DCC_OK && own)
        rt_settle_weights(m, 1);
    if (status == DCC_OK)
        rt_join(m);
    return status;
}

static void rt_free_host(dcc_model *m)
{
    rt_free_sizes(m);
    if (m->graph)
        free(m->graph[0].pointers);
    free(m->graph);
    free(m);
}

static dcc_model *rt_new(const dcc_model_desc *desc, const dcc_options *o)
{
    const size_t pointers = (size_t)desc->n_inputs + (size_t)desc->n_outputs;
    dcc_model *m = (dcc_model *)calloc(1, sizeof *m);

    if (!m)
        return NULL;
    m->desc = desc;
    m->device = o->device;
    m->workspace = o->workspace;
    m->workspace_bytes = o->workspace_bytes;
    m->alloc = o->alloc;
    m->release = o->release;
    m->ctx = o->ctx;
    m->check = o->check;
    m->max_graphs = o->graphs ? o->graphs : 8;
    m->graph = (RtGraph *)calloc((size_t)m->max_graphs, sizeof *m->graph);
    if (m->graph)
        m->graph[0].pointers = (void **)calloc(
            (pointers + 1) * ((size_t)m->max_graphs + 1), sizeof(void *));
    if (rt_make_sizes(m) != DCC_OK || !m->graph || !m->graph[0].pointers) {
        rt_free_host(m);
        return NULL;
    }
    for (int i = 1; i < m->max_graphs; i++)
        m->graph[i].pointers =
            m->graph[0].pointers + (pointers + 1) * (size_t)i;
    m->arguments =
        m->graph[0].pointers + (pointers + 1) * (size_t)m->max_graphs;
    return m;
}

static dcc_status rt_create(dcc_model **out, const dcc_model_desc *desc,
                            const dcc_options *o, const RtSource *source)
{
    dcc_model *m = rt_new(desc, o);
    RtWeights *trained = NULL;
    int before = -1, other;
    dcc_status status;

    if (!m)
        return dcc_fail(DCC_ERR_MEMORY, "%s: out of memory", desc->name);
    if (o->shared) {
        m->device = o->shared->device;
        if (o->shared->desc != desc)
            trained = o->shared->weights;
    }
    if (o->shared && !trained) {
        m->weights = o->shared->weights;
        __atomic_add_fetch(&m->weights->users, 1, __ATOMIC_RELAXED);
    }
    cudaGetDevice(&before);
    status = rt_check_device(m);
    other = m->device >= 0 && m->device != before;
    if (status == DCC_OK)
        status = rt_fill(m, source, trained);
    if (status == DCC_OK)
        *out = m;
    else
        dcc_model_destroy(m);
    if (before >= 0 && other)
        cudaSetDevice(before);
    cudaGetLastError();
    return status;
}

/* Needs no file: every parameter has an initialiser. */
static int rt_begins(const dcc_model_desc *d)
{
    for (int i = 0; i < d->n_params; i++)
        if (d->params[i].begin == DCC_BEGIN_NONE)
            return 0;
    return 1;
}

/* Opens what the options name; the file is closed by the caller. */
static dcc_status rt_open_source(const dcc_model_desc *d, const dcc_options *o,
                                 RtSource *source, dcc_st_file **file)
{
    dcc_status status = DCC_OK;

    *file = NULL;
    source->file = NULL;
    source->memory = o->params;
    source->seed = o->seed;
    if (d->n_params == 0 || o->params || (!o->weights && rt_begins(d)))
        return DCC_OK;
    if (!o->weights)
        return dcc_fail(DCC_ERR_ARG, "%s: needs a weights file", d->name);
    status = dcc_st_open(file, o->weights);
    source->file = *file;
    return status;
}

dcc_status dcc_model_create_options(dcc_model **out,
                                    const dcc_model_desc *desc,
                                    const dcc_options *o)
{
    RtSource source;
    dcc_st_file *file;
    dcc_status status;

    if (!out)
        return dcc_fail(DCC_ERR_ARG, "create: a null pointer");
    *out = NULL;
    status = rt_check_desc(desc);
    if (status == DCC_OK)
        status = rt_check_options(desc, o);
    if (status != DCC_OK)
        return status;
    if (o->shared) {
        if (o->shared->desc != desc || desc->trains)
            status = rt_check_shares(desc, o->shared);
        if (status != DCC_OK)
            return status;
        if (o->device >= 0 && o->device != o->shared->device)
            return dcc_fail(DCC_ERR_ARG,
                            "%s: the weights are on GPU %d, not %d",
                            desc->name, o->shared->device, o->device);
        return rt_create(out, desc, o, NULL);
    }
    status = rt_open_source(desc, o, &source, &file);
    if (status == DCC_OK)
        status = rt_create(out, desc, o, &source);
    dcc_st_close(file);
    return status;
}

dcc_status dcc_model_create_with(dcc_model **out, const dcc_model_desc *desc,
                                 const void *const *params)
{
    dcc_options o = dcc_options_default();

    o.params = params;
    return dcc_model_create_options(out, desc, &o);
}

dcc_status dcc_model_create(dcc_model **out, const dcc_model_desc *desc,
                            const char *weights_path)
{
    dcc_options o = dcc_options_default();

    o.weights = weights_path;
    return dcc_model_create_options(out, desc, &o);
}

dcc_status dcc_model_share(dcc_model **out, const dcc_model_desc *desc,
                           dcc_model *first)
{
    dcc_options o = dcc_options_default();
    int device = -1;

    if (out)
        *out = NULL;
    if (!out || !first)
        return dcc_fail(DCC_ERR_ARG, "create_shared: a null pointer");
    cudaGetDevice(&device);
    if (device != first->device)
        return dcc_fail(DCC_ERR_ARG,
                        "%s: the weights are on GPU %d, the current GPU is "
                        "%d", first->desc->name, first->device, device);
    o.shared = first;
    return dcc_model_create_options(out, desc, &o);
}

dcc_status dcc_model_create_shared(dcc_model **out, dcc_model *first)
{
    return dcc_model_share(out, first ? first->desc : NULL, first);
}

const char *dcc_model_notes(const dcc_model *m)
{
    return m ? m->notes : "";
}

/* ---- update and destroy ---- */

/* The runs of all handles that share the weights have ended. */
static dcc_status rt_wait_for_runs(dcc_model *m)
{
    RtWeights *w = m->weights;
    dcc_status status = DCC_OK;

    pthread_mutex_lock(&w->list);
    for (dcc_model *h = w->first; h && status == DCC_OK; h = h->next)
        if (h->ran)
            status = rt_cuda(m, "waiting for runs",
                             cudaEventSynchronize(h->done));
    pthread_mutex_unlock(&w->list);
    return status;
}

dcc_status rt_check_current(const dcc_model *m)
{
    int device = -1;
    dcc_status status =
        rt_cuda(m, "asking for the GPU", cudaGetDevice(&device));

    if (status == DCC_OK && device != m->device)
        status = dcc_fail(DCC_ERR_ARG,
                          "%s: the model is on GPU %d, the current GPU is %d",
                          m->desc->name, m->device, device);
    return status;
}

dcc_status rt_replace_weights(dcc_model *m, const RtSource *source)
{
    RtWeights *w = m->weights;
    dcc_status status;

    pthread_rwlock_wrlock(&w->lock);
    status = rt_wait_for_runs(m);
    if (status == DCC_OK) {
        w->broken = 1;
        rt_settle_weights(m, 0);
        status = rt_load_or_copy(m, source);
        rt_settle_weights(m, 1);
        w->broken = status != DCC_OK;
        __atomic_add_fetch(&w->written, 1, __ATOMIC_ACQ_REL);
    }
    pthread_rwlock_unlock(&w->lock);
    return status;
}

dcc_status dcc_model_update(dcc_model *m, const dcc_options *o)
{
    RtSource source;
    dcc_st_file *file = NULL;
    dcc_status status;

    if (!m)
        return dcc_fail(DCC_ERR_ARG, "update: a null pointer");
    status = rt_check_options(m->desc, o);
    if (status == DCC_OK)
        status = rt_check_current(m);
    if (status == DCC_OK && o->shared)
        status = dcc_fail(DCC_ERR_ARG, "%s: update: weights or params",
                          m->desc->name);
    if (status == DCC_OK && m->weights->of)
        status = dcc_fail(DCC_ERR_ARG,
                          "%s: update: its weights are those of %s",
                          m->desc->name, m->weights->of->desc->name);
    if (status == DCC_OK)
        status = rt_open_source(m->desc, o, &source, &file);
    if (status == DCC_OK)
        status = rt_check_source(m, &source);
    if (status == DCC_OK)
        status = rt_replace_weights(m, &source);
    dcc_st_close(file);
    return status;
}

void dcc_model_destroy(dcc_model *m)
{
    int before = -1;

    if (!m)
        return;
    cudaGetDevice(&before);
    if (m->device >= 0 && before != m->device)
        cudaSetDevice(m->device);
    if (m->ran)
        cudaEventSynchronize(m->done);
    rt_free_graphs(m);
    if (m->stream)
        cudaStreamSynchronize(m->stream);
    rt_leave(m);
    if (!m->workspace) {
        rt_give(m, m->arena);
        rt_give(m, m->state);
        rt_give(m, m->first_state);
    }
    rt_give(m, m->found);
    if (m->seen)
        cudaFreeHost((void *)m->seen);
    rt_drop_events(m);
    if (m->stream) {
        cudaStreamSynchronize(m->stream);
        cudaStreamDestroy(m->stream);
    }
    if (before >= 0 && m->device >= 0 && before != m->device)
        cudaSetDevice(before);
    cudaGetLastError();
    rt_free_host(m);
}
