/* rt_tune.c - the steps of a model, for dcc tune (--reach, --tune N).
 *
 * --reach goes step by step and only says how far it came, from -1, before
 * the first: so a kernel that faults or hangs is known. --tune times every
 * step right after it ran, while all that it reads is still there: at most N
 * launches in a CUDA graph, over copies of the weights and of the arena, so
 * that weights come from memory as they do in a run while activations may lie
 * in the L2. The median of several graphs counts. Lines on stdout:
 *
 *     ran STEP         (-1: what comes before the first)
 *     step STEP US
 */
#include "rt_main.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    RT_WEIGHTS = 48, /* copies at most */
    RT_ARENAS = 4,
    RT_GRAPHS = 7,   /* timed, after one that warms up */
    RT_SPAN_US = 1500 /* of GPU time that a graph is to take */
};

typedef struct {
    RtProgram *program;
    int n;
    const char *steps; /* NULL: all */
    dcc_frame frame[RT_WEIGHTS];
    int weights, arenas;               /* how many copies, the first included */
    unsigned char *params[RT_WEIGHTS]; /* [0] is the model's own */
    unsigned char *consts[RT_WEIGHTS];
    unsigned char *arena[RT_ARENAS];
    cudaEvent_t from, to;
} RtTune;

static dcc_status rt_tune_error(const RtTune *t, int step, cudaError_t error)
{
    if (error == cudaSuccess)
        return DCC_OK;
    return dcc_fail(DCC_ERR_CUDA, "%s: timing step %d: %s",
                    t->program->desc->name, step, cudaGetErrorString(error));
}

static cudaError_t rt_tune_copy(const RtTune *t, unsigned char **copy,
                                const unsigned char *from, size_t bytes)
{
    cudaError_t error;

    if (!from || !bytes)
        return cudaSuccess;
    error = cudaMalloc((void **)copy, bytes);
    if (error == cudaSuccess)
        error = rt_transfer(t->program, *copy, from, bytes,
                            cudaMemcpyDeviceToDevice);
    return error;
}

/* As many copies as half of the free memory holds. */
static cudaError_t rt_tune_copies(RtTune *t, const dcc_frame *f)
{
    const dcc_model_desc *d = t->program->desc;
    const size_t weights = d->consts_bytes + d->params_bytes;
    size_t available = 0, total = 0;
    cudaError_t error = cudaMemGetInfo(&available, &total);

    t->params[0] = f->params;
    t->consts[0] = f->consts;
    t->arena[0] = f->arena;
    t->weights = t->arenas = 1;
    available /= 2;
    while (error == cudaSuccess && t->arenas < RT_ARENAS &&
           t->arenas < t->n && d->arena_bytes && d->arena_bytes < available) {
        error = rt_tune_copy(t, &t->arena[t->arenas], f->arena,
                             d->arena_bytes);
        available -= d->arena_bytes;
        t->arenas++;
    }
    while (error == cudaSuccess && t->weights < RT_WEIGHTS &&
           t->weights < t->n && weights && weights < available) {
        error = rt_tune_copy(t, &t->params[t->weights], f->params,
                             d->params_bytes);
        if (error == cudaSuccess)
            error = rt_tune_copy(t, &t->consts[t->weights], f->consts,
                                 d->consts_bytes);
        available -= weights;
        t->weights++;
    }
    for (int i = 0; i < RT_WEIGHTS; i++) {
        t->frame[i] = *f;
        t->frame[i].params = t->params[i % t->weights];
        t->frame[i].consts = t->consts[i % t->weights];
        t->frame[i].arena = t->arena[i % t->arenas];
    }
    return error;
}

static void rt_tune_free(RtTune *t)
{
    for (int i = 1; i < RT_WEIGHTS; i++) {
        cudaFree(t->params[i]);
        cudaFree(t->consts[i]);
    }
    for (int i = 1; i < RT_ARENAS; i++)
        cudaFree(t->arena[i]);
    if (t->from)
        cudaEventDestroy(t->from);
    if (t->to)
        cudaEventDestroy(t->to);
}

static cudaError_t rt_tune_launch(const RtTune *t, cudaGraphExec_t exec,
                                  float *us)
{
    cudaStream_t stream = t->program->stream;
    cudaError_t error = cudaEventRecord(t->from, stream);

    if (error == cudaSuccess)
        error = cudaGraphLaunch(exec, stream);
    if (error == cudaSuccess)
        error = cudaEventRecord(t->to, stream);
    if (error == cudaSuccess)
        error = cudaEventSynchronize(t->to);
    if (error == cudaSuccess)
        error = cudaEventElapsedTime(us, t->from, t->to);
    *us *= 1e3f;
    return error;
}

static int rt_tune_by_value(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;

    return x < y ? -1 : x > y;
}

/* The median of `graphs` graphs of n launches, in microseconds a launch. */
static cudaError_t rt_tune_time(const RtTune *t, int step, int n, int graphs,
                                float *us)
{
    cudaGraphExec_t exec = NULL;
    float took[RT_GRAPHS], warm;
    cudaError_t error =
        rt_repeat(t->program, t->frame, RT_WEIGHTS, step, n, &exec);

    if (error == cudaSuccess)
        error = rt_tune_launch(t, exec, &warm);
    for (int i = 0; i < graphs && error == cudaSuccess; i++)
        error = rt_tune_launch(t, exec, &took[i]);
    if (exec)
        cudaGraphExecDestroy(exec);
    if (error != cudaSuccess)
        return error;
    qsort(took, (size_t)graphs, sizeof *took, rt_tune_by_value);
    *us = took[graphs / 2] / (float)n;
    return cudaSuccess;
}

static dcc_status rt_tune_ran(void *ctx, int step, const dcc_frame *frame)
{
    const dcc_model_desc *d = ((RtTune *)ctx)->program->desc;
    cudaError_t error = cudaSuccess;

    printf("ran %d\n", step);
    fflush(stdout);
    /* what a variant leaves out must not look right by chance */
    for (int i = 0; i < d->n_outputs && step < 0; i++) {
        size_t bytes = dcc_type_size(d->outputs[i].type);

        for (int k = 0; k < d->outputs[i].rank; k++)
            bytes *= (size_t)d->outputs[i].dim[k];
        if (error == cudaSuccess)
            error = rt_fill(((RtTune *)ctx)->program, frame->outputs[i],
                            0xff, bytes);
    }
    return rt_tune_error((RtTune *)ctx, step, error);
}

static int rt_tune_listed(const char *steps, int step)
{
    for (const char *p = steps; p && *p; p++) {
        char *end;

        if (strtol(p, &end, 10) == step)
            return 1;
        p = end + strcspn(end, ",");
        if (!*p)
            return 0;
    }
    return !steps;
}

static dcc_status rt_tune_step(void *ctx, int step, const dcc_frame *frame)
{
    RtTune *t = (RtTune *)ctx;
    const dcc_model_desc *d = t->program->desc;
    cudaError_t error = cudaSuccess;
    float us = 0;
    int n;

    if (step < 0) {
        error = rt_tune_copies(t, frame);
        printf("ran -1\n");
        fflush(stdout);
        return rt_tune_error(t, 0, error);
    }
    if (!rt_tune_listed(t->steps, step))
        return DCC_OK;
    for (int i = 1; i < t->arenas && error == cudaSuccess; i++)
        error = rt_transfer(t->program, t->arena[i], frame->arena,
                            d->arena_bytes, cudaMemcpyDeviceToDevice);
    if (error == cudaSuccess)
        error = rt_tune_time(t, step, t->n < 4 ? t->n : 4, 1, &us);
    n = us > 0 ? (int)((float)RT_SPAN_US / us) : t->n;
    n = n < 4 ? 4 : n;
    if (error == cudaSuccess && t->n > 1)
        error = rt_tune_time(t, step, n < t->n ? n : t->n, RT_GRAPHS, &us);
    if (error == cudaSuccess)
        printf("step %d %.4f\n", step, us);
    fflush(stdout);
    return rt_tune_error(t, step, error);
}

dcc_status rt_tune(RtProgram *p, int n, const char *steps)
{
    RtTune *t = (RtTune *)calloc(1, sizeof *t);
    const void *const *in = (const void *const *)p->inputs;
    dcc_status status;

    if (!t)
        return dcc_fail(DCC_ERR_MEMORY, "out of memory");
    t->program = p;
    t->n = n;
    t->steps = steps;
    status = rt_tune_error(t, 0, cudaEventCreate(&t->from));
    if (status == DCC_OK)
        status = rt_tune_error(t, 0, cudaEventCreate(&t->to));
    if (status == DCC_OK)
        status = dcc_model_run_steps(p->model, in, p->outputs, p->stream,
                                     rt_tune_step, t);
    rt_tune_free(t);
    free(t);
    return status;
}

dcc_status rt_tune_reach(RtProgram *p)
{
    RtTune t;

    memset(&t, 0, sizeof t);
    t.program = p;
    return dcc_model_run_steps(p->model, (const void *const *)p->inputs,
                               p->outputs, p->stream, rt_tune_ran, &t);
}
