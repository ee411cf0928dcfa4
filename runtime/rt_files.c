/* rt_files.c - what dcc_main moves between files and the device (rt_main.h):
 * weights, inputs, outputs, random data, traces.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dcc_init.h"
#include "dcc_rt.h"
#include "rt_main.h"
#include "rt_model.h"
#include "safetensors.h"

static int64_t rt_count(const dcc_tensor *t)
{
    int64_t n = 1;

    for (int d = 0; d < t->rank; d++)
        n *= t->dim[d];
    return n;
}

static size_t rt_size(const dcc_tensor *t)
{
    return (size_t)rt_count(t) * dcc_type_size(t->type);
}

static dcc_status rt_no_memory(void)
{
    return dcc_fail(DCC_ERR_MEMORY, "out of memory");
}

static dcc_status rt_device_error(const char *doing, cudaError_t error)
{
    if (error == cudaSuccess)
        return DCC_OK;
    return dcc_fail(error == cudaErrorMemoryAllocation ? DCC_ERR_MEMORY
                                                       : DCC_ERR_CUDA,
                    "%s: %s", doing, cudaGetErrorString(error));
}

/* ---- random data ---- */

/* splitmix64 (Steele, Lea, Flood 2014) */
static uint64_t rt_random(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static double rt_uniform(uint64_t *state)
{
    return (double)(rt_random(state) >> 11) * 0x1p-53;
}

/* Parameters of rank >= 2 have variance 1 / fan-in, others lie in [0.5, 1.5),
 * inputs in [-1, 1), integers in their promised range or [0, 2). */
static void rt_draw(const dcc_tensor *t, int is_param, uint64_t *state,
                    unsigned char *out)
{
    const int64_t n = rt_count(t);
    double low = -1, high = 1;
    int64_t from = 0, range = 2;

    if (is_param && t->rank >= 2)
        low = -(high = sqrt(3.0 / ((double)n / (double)t->dim[0])));
    else if (is_param)
        low = 0.5, high = 1.5;
    if (t->lo != t->hi) {
        from = t->lo;
        range = t->hi - t->lo;
    }
    for (int64_t i = 0; i < n; i++) {
        float f = (float)(low + (high - low) * rt_uniform(state));
        int32_t v = (int32_t)(from + (int64_t)(rt_random(state) %
                                               (uint64_t)range));
        int8_t v8 = (int8_t)v;
        uint16_t h = t->type == DCC_F16 ? dcc_float_to_half(f)
                                        : dcc_float_to_bfloat(f);
        const void *p = t->type == DCC_F32   ? (const void *)&f
                        : t->type == DCC_I32 ? (const void *)&v
                        : dcc_type_size(t->type) == 2 ? (const void *)&h
                                                      : (const void *)&v8;

        memcpy(out + (size_t)i * dcc_type_size(t->type), p,
               dcc_type_size(t->type));
    }
}

/* ---- inputs ---- */

static dcc_status rt_check_promise(const dcc_tensor *t, int64_t runs,
                                   const void *values, const char *path)
{
    const int64_t n = rt_count(t) * runs;

    if (t->lo == t->hi || (t->type != DCC_I32 && t->type != DCC_I8 &&
                           t->type != DCC_U8))
        return DCC_OK;
    for (int64_t i = 0; i < n; i++) {
        int64_t v = t->type == DCC_I32  ? ((const int32_t *)values)[i]
                    : t->type == DCC_U8 ? ((const uint8_t *)values)[i]
                                        : ((const int8_t *)values)[i];

        if (v < t->lo || v >= t->hi)
            return dcc_fail(DCC_ERR_FORMAT,
                            "%s: input \"%s\" holds %lld as element %lld, "
                            "promised is %lld..%lld",
                            path, t->name, (long long)v, (long long)i,
                            (long long)t->lo, (long long)t->hi);
    }
    return DCC_OK;
}

static void rt_note_input(const RtOptions *o, const dcc_tensor *t,
                          const dcc_st_change *change)
{
    if (!change->converted)
        return;
    fprintf(stderr, "%s: note: input \"%s\" converted from %s to %s",
            o->program, t->name, dcc_st_dtype_name(change->from),
            dcc_type_name(t->type));
    if (change->lost)
        fprintf(stderr, "; %lld values became infinite",
                (long long)change->lost);
    fprintf(stderr, "\n");
}

/* In a sequence the file's tensor may have one dimension more: room for its
 * values. */
static dcc_status rt_want_sequence(RtProgram *p, const dcc_st_file *file,
                                   int i, dcc_st_want *want, int64_t *dim)
{
    const dcc_st_tensor *st = dcc_st_find(file, want->name);
    void *more;

    if (!st || st->rank != want->rank + 1 || st->dim[0] < 1 ||
        st->dim[0] > 1000000)
        return DCC_OK;
    more = realloc(p->host_inputs[i],
                   rt_size(&p->desc->inputs[i]) * (size_t)st->dim[0]);
    if (!more)
        return rt_no_memory();
    p->host_inputs[i] = more;
    p->values[i] = st->dim[0];
    dim[0] = st->dim[0];
    memcpy(dim + 1, want->dim, sizeof *dim * (size_t)want->rank);
    want->dim = dim;
    want->rank++;
    return DCC_OK;
}

/* Input i from the first file that has it, else drawn. */
static dcc_status rt_find_input(RtProgram *p, const RtOptions *o,
                                dcc_st_file *const *files, int i,
                                uint64_t *state)
{
    const dcc_tensor *t = &p->desc->inputs[i];
    dcc_st_want want = {t->name, t->type, t->rank, t->dim, 0, "input"};
    int k = 0;

    while (k < o->n_in && !dcc_st_find(files[k], t->name))
        k++;
    if (k == o->n_in && o->random) {
        rt_draw(t, 0, state, (unsigned char *)p->host_inputs[i]);
        return DCC_OK;
    }
    if (k == o->n_in)
        k = o->n_in - 1; /* for the error's file name */
    int64_t dim[DCC_MAX_RANK + 1];
    dcc_st_change change;
    dcc_status status = DCC_OK;

    if (o->sequence)
        status = rt_want_sequence(p, files[k], i, &want, dim);
    if (status == DCC_OK)
        status = dcc_st_read(files[k], &want, p->host_inputs[i], &change);
    if (status == DCC_OK) {
        rt_note_input(o, t, &change);
        status = rt_check_promise(t, p->values[i] ? p->values[i] : 1,
                                  p->host_inputs[i],
                                  rt_input_name(o, o->in[k]));
    }
    return status;
}

static void rt_note_strangers(const RtProgram *p, const RtOptions *o,
                              dcc_st_file *const *files)
{
    for (int k = 0; k < o->n_in; k++) {
        for (int i = 0; i < dcc_st_count(files[k]); i++) {
            const char *name = dcc_st_at(files[k], i)->name;
            int known = 0;

            for (int j = 0; j < p->desc->n_inputs; j++)
                known |= strcmp(name, p->desc->inputs[j].name) == 0;
            for (int j = 0; j < p->desc->n_params; j++)
                known |= strcmp(name, p->desc->params[j].name) == 0;
            if (!known)
                fprintf(stderr,
                        "%s: note: %s: \"%.200s\" is no input of %s\n",
                        o->program, rt_input_name(o, o->in[k]), name,
                        p->desc->name);
        }
    }
}

static dcc_status rt_read_inputs(RtProgram *p, const RtOptions *o)
{
    dcc_st_file *files[RT_MAX_FILES] = {NULL};
    uint64_t state = o->seed ^ 0x696e70757473u;
    dcc_status status = DCC_OK;

    for (int k = 0; k < o->n_in && status == DCC_OK; k++)
        status = dcc_st_open(&files[k], o->in[k]);
    for (int i = 0; i < p->desc->n_inputs && status == DCC_OK; i++)
        status = rt_find_input(p, o, files, i, &state);
    if (status == DCC_OK)
        rt_note_strangers(p, o, files);
    for (int k = 0; k < o->n_in; k++)
        dcc_st_close(files[k]);
    return status;
}

/* ---- start and stop ---- */

/* Parameter i, where it has an initialiser. */
static void rt_begin_param(const RtProgram *p, const RtOptions *o, int i)
{
    const dcc_tensor *t = &p->desc->params[i];

    dcc_init_fill((dcc_begin)t->begin, t->init, t->spread, t->name, o->begin,
                  t->type, 0, (size_t)rt_count(t), p->host_params[i]);
}

static dcc_status rt_draw_params(RtProgram *p, const RtOptions *o)
{
    const dcc_model_desc *d = p->desc;
    uint64_t state = o->seed;

    p->host_params = (void **)calloc((size_t)d->n_params + 1, sizeof(void *));
    if (!p->host_params)
        return rt_no_memory();
    for (int i = 0; i < d->n_params; i++) {
        p->host_params[i] = malloc(rt_size(&d->params[i]));
        if (!p->host_params[i])
            return rt_no_memory();
        if (d->params[i].begin)
            rt_begin_param(p, o, i);
        else
            rt_draw(&d->params[i], 1, &state,
                    (unsigned char *)p->host_params[i]);
    }
    return DCC_OK;
}

static dcc_status rt_make_model(RtProgram *p, const RtOptions *o)
{
    dcc_status status;

    dcc_options how = dcc_options_default();

    how.seed = o->begin;
    how.weights = o->weights;
    status = o->random && !o->weights ? rt_draw_params(p, o) : DCC_OK;
    how.params = (const void *const *)p->host_params;
    if (status == DCC_OK)
        status = dcc_model_create_options(&p->model, p->desc, &how);
    if (status == DCC_OK) {
        const char *note = dcc_model_notes(p->model);

        for (; *note; note += strcspn(note, "\n") + 1)
            fprintf(stderr, "%s: note: %.*s\n", o->program,
                    (int)strcspn(note, "\n"), note);
    }
    return status;
}

static dcc_status rt_make_buffers(RtProgram *p)
{
    const dcc_model_desc *d = p->desc;
    dcc_status status = DCC_OK;

    p->inputs = (void **)calloc((size_t)d->n_inputs + 1, sizeof(void *));
    p->host_inputs = (void **)calloc((size_t)d->n_inputs + 1, sizeof(void *));
    p->outputs = (void **)calloc((size_t)d->n_outputs + 1, sizeof(void *));
    if (!p->inputs || !p->host_inputs || !p->outputs)
        return rt_no_memory();
    for (int i = 0; i < d->n_inputs && status == DCC_OK; i++) {
        p->host_inputs[i] = malloc(rt_size(&d->inputs[i]));
        if (!p->host_inputs[i])
            return rt_no_memory();
        status = rt_device_error(
            "allocating inputs",
            cudaMalloc(&p->inputs[i], rt_size(&d->inputs[i])));
#ifdef DCC_EMU
        if (status == DCC_OK)
            dcc_emu_constant(p->inputs[i], rt_size(&d->inputs[i]), 2);
#endif
    }
    for (int i = 0; i < d->n_outputs && status == DCC_OK; i++)
        status = rt_device_error(
            "allocating outputs",
            cudaMalloc(&p->outputs[i], rt_size(&d->outputs[i])));
    return status;
}

cudaError_t rt_transfer(const RtProgram *p, void *to, const void *from,
                        size_t bytes, enum cudaMemcpyKind kind)
{
    cudaError_t error = cudaMemcpyAsync(to, from, bytes, kind, p->stream);

    return error == cudaSuccess ? cudaStreamSynchronize(p->stream) : error;
}

cudaError_t rt_fill(const RtProgram *p, void *to, int byte, size_t bytes)
{
    cudaError_t error = cudaMemsetAsync(to, byte, bytes, p->stream);

    return error == cudaSuccess ? cudaStreamSynchronize(p->stream) : error;
}

static dcc_status rt_upload_inputs(RtProgram *p)
{
    dcc_status status = DCC_OK;

    for (int i = 0; i < p->desc->n_inputs && status == DCC_OK; i++)
        status = rt_device_error(
            "copying inputs",
            rt_transfer(p, p->inputs[i], p->host_inputs[i],
                        rt_size(&p->desc->inputs[i]), cudaMemcpyHostToDevice));
    return status;
}

/* The parameters as they ran, read once more: they are not kept. */
static dcc_status rt_load_params(RtProgram *p, const RtOptions *o)
{
    dcc_st_file *file = NULL;
    dcc_status status = o->weights ? dcc_st_open(&file, o->weights) : DCC_OK;

    if (status != DCC_OK)
        return status;
    p->host_params =
        (void **)calloc((size_t)p->desc->n_params + 1, sizeof(void *));
    if (!p->host_params)
        status = rt_no_memory();
    for (int i = 0; i < p->desc->n_params && status == DCC_OK; i++) {
        const dcc_tensor *t = &p->desc->params[i];
        dcc_st_want want = {t->name, t->type, t->rank,
                            t->dim,  1,       "parameter"};

        p->host_params[i] = malloc(rt_size(t));
        if (!p->host_params[i])
            status = rt_no_memory();
        else if (t->begin && (!file || !dcc_st_find(file, t->name)))
            rt_begin_param(p, o, i);
        else
            status = dcc_st_read(file, &want, p->host_params[i], NULL);
    }
    dcc_st_close(file);
    return status;
}

static dcc_st_out rt_out(const dcc_tensor *t, const void *data)
{
    dcc_st_out out = {t->name, dcc_st_dtype_of(t->type), t->rank, t->dim,
                      data};
    return out;
}

static dcc_status rt_save(RtProgram *p, const RtOptions *o)
{
    const dcc_model_desc *d = p->desc;
    dcc_status status = DCC_OK;
    dcc_st_out *all;
    int n = 0;

    if (d->n_params && !p->host_params)
        status = rt_load_params(p, o);
    if (status != DCC_OK)
        return status;
    all = (dcc_st_out *)calloc((size_t)(d->n_params + d->n_inputs + 1),
                               sizeof *all);
    if (!all)
        return rt_no_memory();
    for (int i = 0; i < d->n_params; i++)
        all[n++] = rt_out(&d->params[i], p->host_params[i]);
    for (int i = 0; i < d->n_inputs; i++)
        all[n++] = rt_out(&d->inputs[i], p->host_inputs[i]);
    p->writing = 1;
    status = dcc_st_write(o->save, all, n, NULL, 0);
    p->writing = status != DCC_OK;
    free(all);
    return status;
}

static dcc_status rt_name_device(RtProgram *p)
{
    struct cudaDeviceProp properties;
    int device = 0;
    cudaError_t error = cudaGetDevice(&device);

    if (error == cudaSuccess)
        error = cudaGetDeviceProperties(&properties, device);
    if (error == cudaSuccess)
        snprintf(p->device, sizeof p->device, "%s", properties.name);
    return rt_device_error("asking for the GPU", error);
}

dcc_status rt_start(RtProgram *p, RtOptions *o)
{
    dcc_status status = rt_check_names(o, p->desc);

    if (status == DCC_OK)
        status = rt_read_feeds(p, o);
    if (status == DCC_OK)
        status = rt_make_model(p, o);

    if (status == DCC_OK)
        status = rt_name_device(p);
    if (status == DCC_OK)
        status = rt_device_error("creating a stream",
                                 cudaStreamCreateWithFlags(
                                     &p->stream, cudaStreamNonBlocking));
    if (status == DCC_OK)
        status = rt_make_buffers(p);
    if (status == DCC_OK)
        status = rt_read_inputs(p, o);
    if (status == DCC_OK)
        status = rt_count_runs(p, o);
    if (status == DCC_OK)
        status = rt_upload_inputs(p);
    if (status == DCC_OK && o->save)
        status = rt_save(p, o);
    return status;
}

void rt_stop(RtProgram *p)
{
    dcc_model_destroy(p->model);
    for (int i = 0; p->inputs && i < p->desc->n_inputs; i++)
        cudaFree(p->inputs[i]);
    for (int i = 0; p->host_inputs && i < p->desc->n_inputs; i++)
        free(p->host_inputs[i]);
    for (int i = 0; p->outputs && i < p->desc->n_outputs; i++)
        cudaFree(p->outputs[i]);
    for (int i = 0; p->host_params && i < p->desc->n_params; i++)
        free(p->host_params[i]);
    free(p->inputs);
    free(p->host_inputs);
    free(p->outputs);
    free(p->host_params);
    rt_free_sequence(p);
    if (p->stream)
        cudaStreamDestroy(p->stream);
}

/* ---- outputs and traces ---- */

static void rt_free_all(dcc_st_out *all, int n)
{
    for (int i = 0; all && i < n; i++)
        free((void *)all[i].data);
    free(all);
}

dcc_status rt_write_outputs(RtProgram *p, const char *path)
{
    const dcc_model_desc *d = p->desc;
    const int n = d->n_outputs;
    dcc_st_out *all = (dcc_st_out *)calloc((size_t)n + 1, sizeof *all);
    dcc_status status = all ? DCC_OK : rt_no_memory();

    for (int i = 0; i < n && status == DCC_OK; i++) {
        const size_t bytes = rt_size(&d->outputs[i]);
        void *host = malloc(bytes);

        all[i] = rt_out(&d->outputs[i], host);
        status = host ? rt_device_error("copying outputs",
                                        rt_transfer(p, host, p->outputs[i],
                                                    bytes,
                                                    cudaMemcpyDeviceToHost))
                      : rt_no_memory();
    }
    if (status == DCC_OK) {
        p->writing = 1;
        status = dcc_st_write(path, all, n, NULL, 0);
    }
    rt_free_all(all, n);
    return status;
}

static const unsigned char *rt_address(const dcc_tensor *t,
                                       const dcc_frame *frame)
{
    switch (t->place) {
    case DCC_IN_PARAM:
        return frame->params + t->offset;
    case DCC_IN_CONST:
        return frame->consts + t->offset;
    case DCC_IN_ARENA:
        return frame->arena + t->offset;
    case DCC_IN_STATE:
        return frame->state + t->offset;
    case DCC_IN_INPUT:
        return (const unsigned char *)frame->inputs[t->offset];
    case DCC_IN_OUTPUT:
    case DCC_IN_STAGED:
        break;
    }
    return (const unsigned char *)frame->outputs[t->offset];
}

typedef struct {
    const RtProgram *program;
    const dcc_model_desc *desc;
    dcc_st_out *all;
} RtTrace;

/* In bytes, as it lies in memory. */
static size_t rt_span(const dcc_tensor *t)
{
    size_t span = 1;

    for (int d = 0; d < t->rank; d++)
        span += (size_t)((t->dim[d] - 1) * t->stride[d]);
    return span * dcc_type_size(t->type);
}

static dcc_status rt_trace_tensor(const RtProgram *p, const dcc_tensor *t,
                                  const dcc_frame *frame, dcc_st_out *out)
{
    const size_t span = rt_span(t);
    unsigned char *strided, *dense;
    dcc_status status;

    strided = (unsigned char *)malloc(span);
    dense = (unsigned char *)malloc(rt_size(t));
    *out = rt_out(t, dense);
    if (strided && dense)
        status = rt_device_error("copying a traced tensor",
                                 rt_transfer(p, strided, rt_address(t, frame),
                                             span, cudaMemcpyDeviceToHost));
    else
        status = rt_no_memory();
    if (status == DCC_OK)
        rt_to_rows(t, strided, dense);
    free(strided);
    return status;
}

/* Behind the states lie counters, which every step leaves 0: a later launch
 * would count on, of this run or of the next, and nothing else shows it. */
static dcc_status rt_check_counters(const RtProgram *p, int step,
                                    const dcc_frame *frame)
{
    const dcc_model_desc *d = p->desc;
    const char *const *names = step >= 0 ? d->step_names : NULL;
    size_t from = 0, left = 0;
    unsigned char *counters;
    dcc_status status;

    for (int i = 0; i < d->n_states; i++) {
        const size_t end = d->states[i].offset +
            (d->states[i].stride[0] ? rt_span(&d->states[i])
                                    : rt_size(&d->states[i]));
        from = end > from ? end : from;
    }
    from = (from + DCC_ALIGN - 1) / DCC_ALIGN * DCC_ALIGN;
    if (from >= d->state_bytes)
        return DCC_OK;
    counters = (unsigned char *)malloc(d->state_bytes - from);
    if (!counters)
        return rt_no_memory();
    status = rt_device_error("copying counters",
                             rt_transfer(p, counters, frame->state + from,
                                         d->state_bytes - from,
                                         cudaMemcpyDeviceToHost));
    while (status == DCC_OK && from + left < d->state_bytes && !counters[left])
        left++;
    if (status == DCC_OK && from + left < d->state_bytes)
        status = dcc_fail(DCC_ERR_BUG,
                          "%s: %s leaves counter %zu at %d, not 0", d->name,
                          names      ? names[step]
                          : step < 0 ? "what ran before"
                                     : "a step",
                          left / 4, counters[left]);
    free(counters);
    return status;
}

static dcc_status rt_trace_step(void *ctx, int step, const dcc_frame *frame)
{
    RtTrace *trace = (RtTrace *)ctx;
    dcc_status status = rt_check_counters(trace->program, step, frame);

    for (int i = 0; i < trace->desc->n_trace && status == DCC_OK; i++)
        if (trace->desc->trace[i].step == step)
            status = rt_trace_tensor(trace->program, &trace->desc->trace[i],
                                     frame, &trace->all[i]);
    return status;
}

/* A tensor whose step never comes is a defect of the emitted table. */
static dcc_status rt_check_traced(const RtTrace *trace)
{
    for (int i = 0; i < trace->desc->n_trace; i++)
        if (!trace->all[i].data)
            return dcc_fail(DCC_ERR_BUG, "%s: no step %d for trace \"%s\"",
                            trace->desc->name, trace->desc->trace[i].step,
                            trace->desc->trace[i].name);
    return DCC_OK;
}

/* A tensor "steps": a row for each traced one, the number in its name ("t12")
 * and its step. Who checks a trace learns from it what one kernel computed
 * together. `dim` must outlive the result. */
static dcc_status rt_trace_steps(const dcc_model_desc *d, int64_t *dim,
                                 dcc_st_out *out)
{
    int32_t *rows = (int32_t *)calloc((size_t)d->n_trace * 2 + 1, sizeof *rows);

    if (!rows)
        return rt_no_memory();
    for (int i = 0; i < d->n_trace; i++) {
        const char *name = d->trace[i].name;

        rows[2 * i] = atoi(name + strcspn(name, "0123456789"));
        rows[2 * i + 1] = d->trace[i].step;
    }
    dim[0] = d->n_trace;
    dim[1] = 2;
    out->name = "steps";
    out->dtype = DCC_ST_I32;
    out->rank = 2;
    out->dim = dim;
    out->data = rows;
    return DCC_OK;
}

dcc_status rt_trace(RtProgram *p, const char *path)
{
    const int n = p->desc->n_trace;
    int64_t dim[2];
    RtTrace trace = {p, p->desc,
                     (dcc_st_out *)calloc((size_t)n + 1, sizeof(dcc_st_out))};
    dcc_status status = trace.all ? DCC_OK : rt_no_memory();

    if (status == DCC_OK)
        status = dcc_model_run_steps(p->model, (const void *const *)p->inputs,
                                     p->outputs, p->stream, rt_trace_step,
                                     &trace);
    if (status == DCC_OK)
        status = rt_check_traced(&trace);
    if (status == DCC_OK && n)
        status = rt_trace_steps(p->desc, dim, &trace.all[n]);
    if (status == DCC_OK) {
        p->writing = 1;
        status = dcc_st_write(path, trace.all, n ? n + 1 : 0, NULL, 0);
        p->writing = status != DCC_OK;
    }
    rt_free_all(trace.all, n + 1);
    return status;
}
