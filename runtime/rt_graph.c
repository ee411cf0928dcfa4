/* rt_graph.c - runs (rt_model.h): what is checked before one, the graph that
 * it is, and how a graph gets other pointers.
 *
 * A run is recorded once, on the private stream. Each set of pointers then has
 * a copy of what was recorded in which the kernels of the steps that use an
 * argument are given the pointers; so has a set that comes when all copies
 * are taken. What a kernel is given (pointers, TMA maps) its launcher knows:
 * the step alone is recorded, and its node's parameters are taken over. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rt_model.h"

/* ---- checks ---- */

static dcc_status rt_check_pointers(const dcc_model *m, const char *role,
                                    const dcc_tensor *tensors, int n,
                                    void *const *pointers)
{
    if (n && !pointers)
        return dcc_fail(DCC_ERR_ARG, "%s: the %ss are a null pointer",
                        m->desc->name, role);
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

dcc_status rt_check_run(const dcc_model *m, void *const *inputs,
                        void *const *outputs)
{
    const dcc_model_desc *d = m->desc;
    dcc_status status = rt_check_current(m);

    if (status == DCC_OK)
        status = rt_check_pointers(m, "input", d->inputs, d->n_inputs, inputs);
    if (status == DCC_OK)
        status =
            rt_check_pointers(m, "output", d->outputs, d->n_outputs, outputs);
    if (status == DCC_OK && m->weights->broken)
        status = dcc_fail(DCC_ERR_ARG,
                          "%s: the last update of the weights failed half "
                          "way: no run until one succeeds", d->name);
    return status;
}

/* The bytes of an argument in a run of `size`. */
static size_t rt_argument_bytes(const RtSize *s, const dcc_tensor *t,
                                int64_t size)
{
    const size_t bytes = dcc_tensor_bytes(t);

    return t->varies && size ? bytes / (size_t)s->value * (size_t)size : bytes;
}

/* An output in the memory of an input or of another output would be wrong in
 * silence: kernels read the one after others have written the other. */
static dcc_status rt_check_apart(const dcc_model *m, const RtSize *s,
                                 void *const *pointers)
{
    const dcc_model_desc *d = s->desc;
    const int n = d->n_inputs + d->n_outputs;
    const int64_t size = (int64_t)(uintptr_t)pointers[n];

    for (int i = d->n_inputs; i < n; i++) {
        const dcc_tensor *out = &d->outputs[i - d->n_inputs];
        const uintptr_t from = (uintptr_t)pointers[i];
        const uintptr_t to = from + rt_argument_bytes(s, out, size);

        for (int k = 0; k < i; k++) {
            const dcc_tensor *t = k < d->n_inputs
                                      ? &d->inputs[k]
                                      : &d->outputs[k - d->n_inputs];
            const uintptr_t at = (uintptr_t)pointers[k];

            if (at < to && from < at + rt_argument_bytes(s, t, size))
                return dcc_fail(DCC_ERR_ARG,
                                "%s: output \"%s\" overlaps %s \"%s\" in "
                                "memory", m->desc->name, out->name,
                                k < d->n_inputs ? "input" : "output", t->name);
        }
    }
    return DCC_OK;
}

/* A promise that an earlier run's check found broken; said once. */
static dcc_status rt_found(dcc_model *m)
{
    const volatile dcc_found *f = m->seen;

    if (!f || f->turn != m->turn)
        return DCC_OK;
    m->turn++;
    return dcc_fail(DCC_ERR_ARG,
                    "%s: input \"%s\": element %lld is %lld, outside of its "
                    "promise %lld..%lld", m->desc->name,
                    m->desc->inputs[f->input].name, f->at, f->value,
                    (long long)m->desc->inputs[f->input].lo,
                    (long long)m->desc->inputs[f->input].hi);
}

dcc_status dcc_model_status(dcc_model *m)
{
    cudaError_t error;
    dcc_status status;

    if (!m)
        return dcc_fail(DCC_ERR_ARG, "status: a null pointer");
    status = rt_found(m);
    if (status != DCC_OK || !m->ran)
        return status;
    error = cudaEventQuery(m->done);
    if (error == cudaErrorNotReady) {
        cudaGetLastError();
        return DCC_OK;
    }
    return rt_cuda(m, "runs", error);
}

static dcc_status rt_launch_check(dcc_model *m, const RtSize *s,
                                  const dcc_frame *frame, cudaStream_t stream)
{
    cudaError_t error;

    if (!m->found)
        return DCC_OK;
    error = s->desc->check(frame, m->found, m->turn, stream);
    if (error == cudaSuccess)
        error = cudaMemcpyAsync((void *)m->seen, m->found, sizeof *m->found,
                                cudaMemcpyDeviceToHost, stream);
    return rt_cuda(m, "checking inputs", error);
}

/* ---- recording ---- */

#if CUDART_VERSION >= 13000
#define rt_capture_info cudaStreamGetCaptureInfo
#elif CUDART_VERSION >= 12030
#define rt_capture_info cudaStreamGetCaptureInfo_v3
#endif

/* The node that the stream's next launch will follow; NULL: there is not one
 * exactly. */
static cudaGraphNode_t rt_last_node(cudaStream_t stream)
{
#ifdef rt_capture_info
    enum cudaStreamCaptureStatus capturing;
    const cudaGraphNode_t *last = NULL;
    const cudaGraphEdgeData *edge = NULL;
    size_t n = 0;

    if (rt_capture_info(stream, &capturing, NULL, NULL, &last, &edge, &n) ==
            cudaSuccess && n == 1)
        return last[0];
    cudaGetLastError();
#else
    (void)stream;
#endif
    return NULL;
}

static cudaError_t rt_wait_for(cudaStream_t stream, cudaEvent_t event,
                               cudaStream_t other)
{
    cudaError_t error = cudaEventRecord(event, other);

    return error == cudaSuccess ? cudaStreamWaitEvent(stream, event, 0)
                                : error;
}

static cudaError_t rt_before_step(const dcc_model *m, int way,
                                  cudaStream_t stream)
{
    switch (way) {
    case DCC_STAND_BRANCH:
    case DCC_STAND_MARK:
        return rt_wait_for(m->branch, m->fork, stream);
    case DCC_STAND_AFTER_MARK:
        return cudaStreamWaitEvent(stream, m->mark, 0);
    case DCC_STAND_AFTER_ALL:
        return rt_wait_for(stream, m->join, m->branch);
    default:
        return cudaSuccess;
    }
}

/* One step of several: where it stands. */
static dcc_status rt_launch_at(const dcc_model *m, const dcc_model_desc *d,
                               const dcc_frame *frame, int i, int way,
                               cudaGraphNode_t *node, cudaStream_t stream)
{
    const int beside = way == DCC_STAND_BRANCH || way == DCC_STAND_MARK;
    cudaStream_t on = beside ? m->branch : stream;
    cudaError_t error = rt_before_step(m, way, stream);

    if (error == cudaSuccess)
        error = d->step(frame, i, on);
    if (node)
        *node = rt_last_node(on);
    if (error == cudaSuccess && way == DCC_STAND_MARK)
        error = cudaEventRecord(m->mark, on);
    return rt_step_error(m, d, i, error);
}

/* Steps [from, to) on a stream; as a capture of all of them has branches, where
 * they have. */
static dcc_status rt_launch(const dcc_model *m, const dcc_model_desc *d,
                            const dcc_frame *frame, int from, int to,
                            cudaGraphNode_t *nodes, cudaStream_t stream)
{
    const unsigned char *ways =
        to - from == d->n_steps && m->branch ? d->step_ways : NULL;
    dcc_status status = DCC_OK;

    for (int i = from; i < to && status == DCC_OK; i++) {
        RT_RANGE(d->step_names ? d->step_names[i] : "step");
        status = rt_launch_at(m, d, frame, i, ways ? ways[i] : DCC_STAND_CHAIN,
                              nodes ? &nodes[i - from] : NULL, stream);
        RT_RANGE_END();
    }
    if (ways && status == DCC_OK)
        status = rt_cuda(m, "joining branches",
                         rt_wait_for(stream, m->join, m->branch));
    return status;
}

/* The run's size among its arguments. */
static int64_t rt_size_in(const dcc_model_desc *d, void *const *pointers)
{
    return (int64_t)(uintptr_t)pointers[rt_pointers(d) - 1];
}

/* The launches of steps [from, to) as a graph, with each one's node. Recording
 * is the thread's own: others may go on using CUDA meanwhile. */
static dcc_status rt_record(dcc_model *m, const RtSize *s,
                            void *const *pointers, int from, int to,
                            cudaGraph_t *graph, cudaGraphNode_t *nodes)
{
    dcc_frame frame = rt_frame(m, pointers, pointers + s->desc->n_inputs);
    dcc_status status, ended;
    size_t n = 0;

    *graph = NULL;
    frame.size = rt_size_in(s->desc, pointers);
    status = rt_cuda(m, "beginning the capture",
                     cudaStreamBeginCapture(m->stream,
                                            cudaStreamCaptureModeThreadLocal));
    if (status != DCC_OK)
        return status;
    status = rt_launch(m, s->desc, &frame, from, to, nodes, m->stream);
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
    if (status == DCC_OK && /* a node each, or none is known */
        (cudaGraphGetNodes(*graph, NULL, &n) != cudaSuccess ||
         n != (size_t)(to - from)))
        nodes[0] = NULL;
    return status;
}

/* ---- branches ---- */

static dcc_status rt_make_event(dcc_model *m, cudaEvent_t *event)
{
    return rt_cuda(m, "creating an event",
                   cudaEventCreateWithFlags(event, cudaEventDisableTiming));
}

static int rt_has_branches(const dcc_model_desc *d)
{
    int some = d->step_ways != NULL;

    for (int i = 0; i < d->n_sizes; i++)
        some |= d->of_sizes[i]->step_ways != NULL;
    return some;
}

static dcc_status rt_make_branch(dcc_model *m)
{
    dcc_status status = rt_cuda(m, "creating a stream",
                                cudaStreamCreateWithFlags(
                                    &m->branch, cudaStreamNonBlocking));

    if (status == DCC_OK)
        status = rt_make_event(m, &m->fork);
    if (status == DCC_OK)
        status = rt_make_event(m, &m->mark);
    if (status == DCC_OK)
        status = rt_make_event(m, &m->join);
    return status;
}

dcc_status rt_make_events(dcc_model *m)
{
    dcc_status status = rt_make_event(m, &m->done);

    return status == DCC_OK && rt_has_branches(m->desc) ? rt_make_branch(m)
                                                        : status;
}

void rt_drop_events(dcc_model *m)
{
    cudaEvent_t event[] = {m->done, m->fork, m->mark, m->join};

    for (int i = 0; i < 4; i++)
        if (event[i])
            cudaEventDestroy(event[i]);
    if (m->branch)
        cudaStreamDestroy(m->branch);
}

/* ---- other pointers ---- */

/* Whether the step whose list begins at `uses` uses an argument that changes;
 * the next list. */
static const int *rt_uses_changed(const int *uses, void *const *old,
                                  void *const *now, int *changed)
{
    *changed = 0;
    for (; *uses >= 0; uses++)
        *changed |= old[*uses] != now[*uses];
    return uses + 1;
}

/* Gives the kernel of one step what it is launched with for `pointers`. */
static dcc_status rt_change_step(dcc_model *m, const RtSize *s,
                                 cudaGraphExec_t exec, int step,
                                 void *const *pointers)
{
    struct cudaKernelNodeParams params;
    cudaGraph_t graph;
    cudaGraphNode_t node;
    dcc_status status =
        rt_record(m, s, pointers, step, step + 1, &graph, &node);

    if (status != DCC_OK)
        return status;
    memset(&params, 0, sizeof params);
    status = rt_cuda(m, "reading a node",
                     node ? cudaGraphKernelNodeGetParams(node, &params)
                          : cudaErrorNotSupported);
    if (status == DCC_OK)
        status = rt_cuda(m, "changing a node",
                         cudaGraphExecKernelNodeSetParams(
                             exec, s->nodes[step], &params));
    cudaGraphDestroy(graph);
    return status;
}

static dcc_status rt_change(dcc_model *m, RtGraph *g, void *const *pointers)
{
    const RtSize *s = &m->size[g->size];
    const int *uses = s->desc->step_args;
    dcc_status status = DCC_OK;

    for (int i = 0; i < s->desc->n_steps && status == DCC_OK; i++) {
        int changed;

        uses = rt_uses_changed(uses, g->pointers, pointers, &changed);
        if (changed)
            status = rt_change_step(m, s, g->exec, i, pointers);
    }
    return status;
}

/* ---- the graphs of a handle ---- */

static void rt_take_pointers(const dcc_model *m, RtGraph *g,
                             void *const *pointers)
{
    memcpy(g->pointers, pointers, rt_pointers(m->desc) * sizeof *pointers);
}

static dcc_status rt_instantiate(dcc_model *m, RtGraph *g)
{
    dcc_status status =
        rt_cuda(m, "instantiating the graph",
                cudaGraphInstantiateWithFlags(&g->exec,
                                          m->size[g->size].recorded, 0));

    if (status != DCC_OK)
        g->exec = NULL;
    return status;
}

static void rt_forget(RtGraph *g)
{
    if (g->exec)
        cudaGraphExecDestroy(g->exec);
    g->exec = NULL;
}

static void rt_forget_recorded(RtSize *s)
{
    if (s->recorded)
        cudaGraphDestroy(s->recorded);
    s->recorded = NULL;
}

void rt_free_graphs(dcc_model *m)
{
    for (int i = 0; i < m->max_graphs; i++)
        rt_forget(&m->graph[i]);
    for (int i = 0; i < m->n_sizes; i++)
        rt_forget_recorded(&m->size[i]);
}

static dcc_status rt_record_all(dcc_model *m, RtSize *s, void *const *pointers)
{
    dcc_status status;

    rt_forget_recorded(s);
    status = rt_record(m, s, pointers, 0, s->desc->n_steps, &s->recorded,
                       s->nodes);
    if (status == DCC_OK)
        memcpy(s->recorded_with, pointers,
               rt_pointers(m->desc) * sizeof *pointers);
    return status;
}

static dcc_status rt_fill_graph(dcc_model *m, RtGraph *g, int size,
                                void *const *pointers)
{
    RtSize *s = &m->size[size];
    const int known = s->recorded && s->nodes[0] && s->desc->step_args;
    dcc_status status = DCC_OK;

    if (!known || g->size != size)
        rt_forget(g);
    g->size = size;
    if (!known)
        status = rt_record_all(m, s, pointers);
    if (!g->exec && status == DCC_OK) {
        status = rt_instantiate(m, g);
        rt_take_pointers(m, g, s->recorded_with);
    }
    if (status == DCC_OK)
        status = rt_change(m, g, pointers);
    if (status == DCC_OK)
        rt_take_pointers(m, g, pointers);
    else
        rt_forget(g);
    return status;
}

/* The graph with these pointers, made where there is none. */
static dcc_status rt_find_graph(dcc_model *m, const RtSize *s,
                                void *const *pointers, RtGraph **out)
{
    const int size = (int)(s - m->size);
    const size_t bytes = rt_pointers(m->desc) * sizeof *pointers;
    RtGraph *oldest = &m->graph[0];
    dcc_status status = DCC_OK;

    m->runs++;
    for (int i = 0; i < m->max_graphs; i++) {
        RtGraph *g = &m->graph[i];

        if (g->exec && g->size == size &&
            memcmp(g->pointers, pointers, bytes) == 0) {
            g->used = m->runs;
            *out = g;
            return DCC_OK;
        }
        if (oldest->exec && (!g->exec || g->used < oldest->used))
            oldest = g;
    }
    status = rt_check_apart(m, s, pointers);
    if (status != DCC_OK)
        return status;
    status = rt_fill_graph(m, oldest, size, pointers);
    oldest->used = m->runs;
    *out = oldest;
    return status;
}

/* ---- runs ---- */

static dcc_status rt_run_graph(dcc_model *m, const RtSize *s,
                               cudaStream_t stream)
{
    RtGraph *g = NULL;
    dcc_status status;

    status = rt_find_graph(m, s, m->arguments, &g);
    return status == DCC_OK ? rt_cuda(m, "launching the graph",
                                      cudaGraphLaunch(g->exec, stream))
                            : status;
}

/* For those that have copies of what this run writes. */
static void rt_count_writes(dcc_model *m, dcc_status status, int capturing)
{
    if (!m->desc->trains || status != DCC_OK)
        return;
    __atomic_add_fetch(&m->weights->written, 1, __ATOMIC_ACQ_REL);
    if (capturing)
        __atomic_store_n(&m->weights->captured, 1, __ATOMIC_RELEASE);
}

/* With the weights' lock held. */
static dcc_status rt_enqueue(dcc_model *m, RtSize *s, int64_t size,
                             void *const *in, void *const *out,
                             cudaStream_t stream, int capturing)
{
    const int between = size && size != s->value;
    dcc_frame frame =
        rt_frame(m, m->arguments, m->arguments + s->desc->n_inputs);
    dcc_status status = rt_check_run(m, in, out);

    frame.size = size;
    if (status == DCC_OK)
        rt_arguments(m, s, size, in, out);
    if (status == DCC_OK && between)
        status = rt_copy_inputs(m, s, size, in, stream, capturing);
    if (status == DCC_OK && capturing)
        status = rt_check_apart(m, s, m->arguments);
    if (status == DCC_OK)
        status = rt_launch_check(m, s, &frame, stream);
    if (status == DCC_OK)
        status = capturing ? rt_launch(m, s->desc, &frame, 0,
                                       s->desc->n_steps, NULL, stream)
                           : rt_run_graph(m, s, stream);
    if (status == DCC_OK && between)
        status = rt_copy_outputs(m, s, size, out, stream);
    if (status == DCC_OK && !capturing)
        status = rt_cuda(m, "recording an event",
                         cudaEventRecord(m->done, stream));
    m->ran |= status == DCC_OK && !capturing;
    rt_count_writes(m, status, capturing);
    return status;
}

static int64_t rt_largest(const dcc_model *m)
{
    return m && m->desc->n_sizes ? m->desc->sizes[m->desc->n_sizes - 1] : 0;
}

dcc_status dcc_model_run_size(dcc_model *m, int64_t size,
                              const void *const *inputs, void *const *outputs,
                              cudaStream_t stream)
{
    void *const *in = (void *const *)inputs;
    enum cudaStreamCaptureStatus capturing = cudaStreamCaptureStatusNone;
    RtSize *s;
    dcc_status status;

    if (!m)
        return dcc_fail(DCC_ERR_ARG, "run: a null pointer");
    s = rt_size_of(m, size);
    status = s ? rt_found(m) : DCC_ERR_ARG;
    if (status == DCC_OK)
        status = rt_cuda(m, "asking for the stream's state",
                         cudaStreamIsCapturing(stream, &capturing));
    if (status == DCC_OK)
        status = rt_follow(m, capturing != cudaStreamCaptureStatusNone);
    if (status != DCC_OK)
        return status;
    pthread_rwlock_rdlock(&m->weights->lock);
    RT_RANGE(m->desc->name);
    status = rt_enqueue(m, s, size, in, outputs, stream,
                        capturing != cudaStreamCaptureStatusNone);
    RT_RANGE_END();
    pthread_rwlock_unlock(&m->weights->lock);
    return status;
}

dcc_status dcc_model_run(dcc_model *m, const void *const *inputs,
                         void *const *outputs, cudaStream_t stream)
{
    return dcc_model_run_size(m, rt_largest(m), inputs, outputs, stream);
}

dcc_status dcc_model_warm_size(dcc_model *m, int64_t size,
                               const void *const *inputs,
                               void *const *outputs)
{
    void *const *in = (void *const *)inputs;
    RtGraph *g = NULL;
    RtSize *s;
    dcc_status status;

    if (!m)
        return dcc_fail(DCC_ERR_ARG, "warm: a null pointer");
    s = rt_size_of(m, size);
    if (!s)
        return DCC_ERR_ARG;
    pthread_rwlock_rdlock(&m->weights->lock);
    status = rt_check_run(m, in, outputs);
    if (status == DCC_OK) {
        rt_arguments(m, s, size, in, outputs);
        status = rt_find_graph(m, s, m->arguments, &g);
    }
    if (status == DCC_OK)
        status = rt_cuda(m, "uploading the graph",
                         cudaGraphUpload(g->exec, m->stream));
    pthread_rwlock_unlock(&m->weights->lock);
    return status;
}

dcc_status dcc_model_warm(dcc_model *m, const void *const *inputs,
                          void *const *outputs)
{
    return dcc_model_warm_size(m, rt_largest(m), inputs, outputs);
}

dcc_status dcc_model_run_steps(dcc_model *m, const void *const *inputs,
                               void *const *outputs, cudaStream_t stream,
                               dcc_after_step after, void *ctx)
{
    void *const *in = (void *const *)inputs;
    dcc_frame frame;
    dcc_status status;

    if (!m)
        return dcc_fail(DCC_ERR_ARG, "run_steps: a null pointer");
    frame = rt_frame(m, in, outputs);
    frame.size = rt_largest(m);
    status = rt_check_run(m, in, outputs);
    if (status == DCC_OK)
        status = rt_follow(m, 0);
    rt_count_writes(m, status, 0);
    if (status == DCC_OK && m->desc->arena_bytes)
        status = rt_cuda(m, "filling the arena",
                         cudaMemsetAsync(m->arena, 0xff, m->desc->arena_bytes,
                                         stream));
    if (status == DCC_OK && after)
        status = after(ctx, -1, &frame);
    for (int i = 0; i < m->desc->n_steps && status == DCC_OK; i++) {
        status = rt_launch(m, m->desc, &frame, i, i + 1, NULL, stream);
        if (status == DCC_OK)
            status = rt_step_error(m, m->desc, i,
                                   cudaStreamSynchronize(stream));
        if (status == DCC_OK && after)
            status = after(ctx, i, &frame);
    }
    return status;
}
