/* rt_sequence.c - many runs of one program (rt_main.h): inputs that have a
 * value for each run, outputs that are the next run's inputs.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dcc_rt.h"
#include "rt_main.h"
#include "safetensors.h"

static size_t rt_run_bytes(const dcc_tensor *t)
{
    size_t n = dcc_type_size(t->type);

    for (int d = 0; d < t->rank; d++)
        n *= (size_t)t->dim[d];
    return n;
}

static dcc_status rt_moved(const char *doing, cudaError_t error)
{
    if (error == cudaSuccess)
        return DCC_OK;
    return dcc_fail(DCC_ERR_CUDA, "%s: %s", doing, cudaGetErrorString(error));
}

/* ---- which output is which input ---- */

static int rt_index(const dcc_tensor *all, int n, const char *name, size_t k)
{
    for (int i = 0; i < n; i++)
        if (strlen(all[i].name) == k && strncmp(all[i].name, name, k) == 0)
            return i;
    return -1;
}

static int rt_alike(const dcc_tensor *a, const dcc_tensor *b)
{
    if (a->type != b->type || a->rank != b->rank)
        return 0;
    for (int d = 0; d < a->rank; d++)
        if (a->dim[d] != b->dim[d])
            return 0;
    return 1;
}

dcc_status rt_read_feeds(RtProgram *p, const RtOptions *o)
{
    const dcc_model_desc *d = p->desc;

    p->feed = (int *)calloc((size_t)d->n_inputs + 1, sizeof *p->feed);
    p->values = (int64_t *)calloc((size_t)d->n_inputs + 1, sizeof *p->values);
    if (!p->feed || !p->values)
        return dcc_fail(DCC_ERR_MEMORY, "out of memory");
    for (int i = 0; i < d->n_inputs; i++)
        p->feed[i] = -1;
    for (int i = 0; i < o->n_feed; i++) {
        size_t n = strcspn(o->feed[i], "=");
        int in = rt_index(d->inputs, d->n_inputs, o->feed[i], n), out = -1;

        if (o->feed[i][n])
            out = rt_index(d->outputs, d->n_outputs, o->feed[i] + n + 1,
                           strlen(o->feed[i] + n + 1));
        if (in < 0 || out < 0)
            return dcc_fail(DCC_ERR_ARG, "--feed %s: %s has no such %s",
                            o->feed[i], d->name, in < 0 ? "input" : "output");
        if (!rt_alike(&d->inputs[in], &d->outputs[out]))
            return dcc_fail(DCC_ERR_ARG,
                            "--feed %s: the two differ in type "
                            "or shape",
                            o->feed[i]);
        p->feed[in] = out;
    }
    return DCC_OK;
}

/* ---- how many runs ---- */

/* Inputs that no output feeds say it, all of them the same; else --runs. */
dcc_status rt_count_runs(RtProgram *p, RtOptions *o)
{
    const dcc_model_desc *d = p->desc;
    int64_t runs = 0, most = 0;
    int first = -1;

    for (int i = 0; i < d->n_inputs; i++) {
        most = p->values[i] > most ? p->values[i] : most;
        if (!p->values[i] || p->feed[i] >= 0)
            continue;
        if (first >= 0 && p->values[i] != runs)
            return dcc_fail(DCC_ERR_FORMAT,
                            "\"%s\" has values for %lld runs, \"%s\" for %lld",
                            d->inputs[first].name, (long long)runs,
                            d->inputs[i].name, (long long)p->values[i]);
        runs = p->values[i];
        first = i;
    }
    if (!o->sequence)
        return DCC_OK;
    if (!most)
        return dcc_fail(DCC_ERR_FORMAT,
                        "--sequence: no input has one dimension more than "
                        "the model's");
    if (first >= 0 && o->runs > runs)
        return dcc_fail(DCC_ERR_FORMAT,
                        "\"%s\" has values for %lld runs, "
                        "--runs asks for %d",
                        d->inputs[first].name, (long long)runs, o->runs);
    if (!o->runs_given)
        o->runs = (int)(first >= 0 ? runs : most);
    return DCC_OK;
}

/* ---- between runs ---- */

dcc_status rt_before_run(RtProgram *p, int run)
{
    const dcc_model_desc *d = p->desc;
    dcc_status status = DCC_OK;

    for (int i = 0; i < d->n_inputs && status == DCC_OK; i++) {
        size_t bytes = rt_run_bytes(&d->inputs[i]);

        if (run && run < p->values[i])
            status = rt_moved("copying inputs",
                              rt_transfer(p, p->inputs[i],
                                          (const char *)p->host_inputs[i] +
                                              (size_t)run * bytes,
                                          bytes, cudaMemcpyHostToDevice));
        else if (run && p->feed[i] >= 0)
            status = rt_moved("feeding an output",
                              rt_transfer(p, p->inputs[i],
                                          p->outputs[p->feed[i]], bytes,
                                          cudaMemcpyDeviceToDevice));
    }
    return status;
}

dcc_status rt_after_run(RtProgram *p, const RtOptions *o, int run)
{
    const dcc_model_desc *d = p->desc;
    dcc_status status = DCC_OK;

    if (!o->sequence || !o->out)
        return DCC_OK;
    if (!p->host_outputs)
        p->host_outputs =
            (void **)calloc((size_t)d->n_outputs + 1, sizeof(void *));
    for (int i = 0; p->host_outputs && i < d->n_outputs; i++) {
        size_t bytes = rt_run_bytes(&d->outputs[i]);

        if (!p->host_outputs[i])
            p->host_outputs[i] = malloc(bytes * (size_t)o->runs);
        if (!p->host_outputs[i])
            return dcc_fail(DCC_ERR_MEMORY, "out of memory");
        status = rt_moved(
            "copying outputs",
            rt_transfer(p, (char *)p->host_outputs[i] + (size_t)run * bytes,
                        p->outputs[i], bytes, cudaMemcpyDeviceToHost));
        if (status != DCC_OK)
            return status;
    }
    return p->host_outputs ? DCC_OK : dcc_fail(DCC_ERR_MEMORY, "out of memory");
}

/* One value for each run: a dimension in front. */
dcc_status rt_write_sequence(RtProgram *p, const RtOptions *o)
{
    const dcc_model_desc *d = p->desc;
    const size_t n = (size_t)d->n_outputs + 1;
    dcc_st_out *all = (dcc_st_out *)calloc(n, sizeof *all);
    int64_t(*dim)[DCC_MAX_RANK + 1] =
        (int64_t(*)[DCC_MAX_RANK + 1]) calloc(n, sizeof *dim);
    dcc_status status = DCC_OK;

    if (!all || !dim)
        status = dcc_fail(DCC_ERR_MEMORY, "out of memory");
    for (int i = 0; i < d->n_outputs && status == DCC_OK; i++) {
        const dcc_tensor *t = &d->outputs[i];

        dim[i][0] = o->runs;
        memcpy(&dim[i][1], t->dim, sizeof *dim[i] * (size_t)t->rank);
        all[i].name = t->name;
        all[i].dtype = dcc_st_dtype_of(t->type);
        all[i].rank = t->rank + 1;
        all[i].dim = dim[i];
        all[i].data = p->host_outputs[i];
    }
    if (status == DCC_OK) {
        p->writing = 1;
        status = dcc_st_write(o->out, all, d->n_outputs, NULL, 0);
    }
    free(all);
    free(dim);
    return status;
}

void rt_free_sequence(RtProgram *p)
{
    for (int i = 0; p->host_outputs && i < p->desc->n_outputs; i++)
        free(p->host_outputs[i]);
    free(p->host_outputs);
    free(p->feed);
    free(p->values);
}
