/* rt_profile.c - how long each step of a model takes (--profile N).
 *
 * A step is captured N times into a CUDA graph of its own and the graph is
 * timed by events, so launch gaps are those of a graph and the step's data is
 * as warm as its repetition makes it. */
#include "rt_main.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct {
    RtProgram *program;
    int n;       /* repetitions in a graph */
    float *us;   /* of each step */
} RtProfile;

cudaError_t rt_repeat(RtProgram *p, const dcc_frame *frame, int n_frames,
                      int step, int n, cudaGraphExec_t *exec)
{
    cudaGraph_t graph = NULL;
    cudaError_t end, error =
        cudaStreamBeginCapture(p->stream, cudaStreamCaptureModeThreadLocal);

    for (int i = 0; i < n && error == cudaSuccess; i++)
        error = p->desc->step(&frame[i % n_frames], step, p->stream);
    end = cudaStreamEndCapture(p->stream, &graph);
    if (error == cudaSuccess)
        error = end;
    if (error == cudaSuccess)
        error = cudaGraphInstantiate(exec, graph, 0);
    if (graph)
        cudaGraphDestroy(graph);
    return error;
}

static cudaError_t rt_time_graph(const RtProfile *p, cudaGraphExec_t exec,
                                 float *us)
{
    cudaStream_t stream = p->program->stream;
    cudaEvent_t from = NULL, to = NULL;
    cudaError_t error = cudaEventCreate(&from);
    float ms = 0, best = 0;

    if (error == cudaSuccess)
        error = cudaEventCreate(&to);
    for (int i = 0; i < 4 && error == cudaSuccess; i++) {
        error = cudaEventRecord(from, stream);
        if (error == cudaSuccess)
            error = cudaGraphLaunch(exec, stream);
        if (error == cudaSuccess)
            error = cudaEventRecord(to, stream);
        if (error == cudaSuccess)
            error = cudaEventSynchronize(to);
        if (error == cudaSuccess)
            error = cudaEventElapsedTime(&ms, from, to);
        if (i == 1 || (i > 1 && ms < best)) /* the first one warms up */
            best = ms;
    }
    if (from)
        cudaEventDestroy(from);
    if (to)
        cudaEventDestroy(to);
    *us = best * 1e3f / (float)p->n;
    return error;
}

/* After the last step every tensor holds what a run leaves in it. */
static dcc_status rt_profile_steps(void *ctx, int step,
                                   const dcc_frame *frame)
{
    RtProfile *p = (RtProfile *)ctx;
    const dcc_model_desc *d = p->program->desc;

    if (step != d->n_steps - 1)
        return DCC_OK;
    for (int i = 0; i < d->n_steps; i++) {
        cudaGraphExec_t exec = NULL;
        cudaError_t error = rt_repeat(p->program, frame, 1, i, p->n, &exec);

        if (error == cudaSuccess)
            error = rt_time_graph(p, exec, &p->us[i]);
        if (exec)
            cudaGraphExecDestroy(exec);
        if (error != cudaSuccess)
            return dcc_fail(DCC_ERR_CUDA, "%s: timing step %d: %s", d->name,
                            i, cudaGetErrorString(error));
    }
    return DCC_OK;
}

static void rt_print_profile(const RtProfile *p)
{
    const dcc_model_desc *d = p->program->desc;
    double sum = 0;

    for (int i = 0; i < d->n_steps; i++) {
        fprintf(p->program->say, "step %4d %9.2f us  %s\n", i, p->us[i],
                d->step_names ? d->step_names[i] : "");
        sum += p->us[i];
    }
    fprintf(p->program->say,
            "%s: %.2f us in %d steps, each timed alone, on %s\n", d->name, sum,
            d->n_steps, p->program->device);
}

dcc_status rt_profile(RtProgram *program, int n)
{
    RtProfile p = {program, n, NULL};
    dcc_status status;

    p.us = (float *)calloc((size_t)program->desc->n_steps + 1, sizeof *p.us);
    if (!p.us)
        return dcc_fail(DCC_ERR_MEMORY, "out of memory");
    status = dcc_model_run_steps(program->model,
                                 (const void *const *)program->inputs,
                                 program->outputs, program->stream,
                                 rt_profile_steps, &p);
    if (status == DCC_OK)
        rt_print_profile(&p);
    free(p.us);
    return status;
}
