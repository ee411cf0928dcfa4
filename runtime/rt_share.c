/* rt_share.c - models that read what another trains (rt_model.h).
 *
 * A model lays its parameters out, converts and packs them in its own way, so
 * a reader has its own memory for them. Before a run it asks whether a run of
 * the one that trains was enqueued since its parameters were copied.
 */
#include <stdlib.h>
#include <string.h>

#include "rt_model.h"
#include "safetensors.h"

static const dcc_tensor *rt_param_of(const dcc_model_desc *d, const char *name)
{
    for (int i = 0; i < d->n_params; i++)
        if (strcmp(d->params[i].name, name) == 0)
            return &d->params[i];
    return NULL;
}

static int rt_same_shape(const dcc_tensor *a, const dcc_tensor *b)
{
    return a->rank == b->rank &&
           memcmp(a->dim, b->dim, (size_t)a->rank * sizeof *a->dim) == 0;
}

static int rt_is_float(dcc_type type)
{
    return type == DCC_F32 || type == DCC_F16 || type == DCC_BF16;
}

dcc_status rt_check_shares(const dcc_model_desc *d, const dcc_model *first)
{
    const dcc_model_desc *from = first->weights->desc;

    if (!from->trains)
        return dcc_fail(DCC_ERR_ARG,
                        "%s: shared is a handle of model %s, which does not "
                        "train", d->name, from->name);
    if (d->trains)
        return dcc_fail(DCC_ERR_ARG,
                        "%s: its runs write the weights, which are of one "
                        "handle", d->name);
    for (int i = 0; i < d->n_params; i++) {
        const dcc_tensor *want = &d->params[i];
        const dcc_tensor *have = rt_param_of(from, want->name);
        int fits = have && (have->type == want->type ||
                            (rt_is_float(have->type) &&
                             rt_is_float(want->type)));

        if (!have)
            return dcc_fail(DCC_ERR_ARG,
                            "%s: %s has no parameter \"%.200s\"", d->name,
                            from->name, want->name);
        if (!fits || !rt_same_shape(have, want))
            return dcc_fail(DCC_ERR_ARG,
                            "%s: its parameter \"%.200s\" and that of %s "
                            "differ in type or shape",
                            d->name, want->name, from->name);
    }
    return DCC_OK;
}

/* ---- copies ---- */

static float rt_to_float(const unsigned char *from, dcc_type type)
{
    uint16_t half;
    float f;

    if (type == DCC_F32) {
        memcpy(&f, from, 4);
        return f;
    }
    memcpy(&half, from, 2);
    return type == DCC_F16 ? dcc_half_to_float(half)
                           : dcc_bfloat_to_float(half);
}

static void rt_convert(const unsigned char *from, dcc_type is,
                       unsigned char *to, dcc_type wanted, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        float f = rt_to_float(from + i * dcc_type_size(is), is);
        uint16_t half = wanted == DCC_F16 ? dcc_float_to_half(f)
                                          : dcc_float_to_bfloat(f);

        if (wanted == DCC_F32)
            memcpy(to + 4 * i, &f, 4);
        else
            memcpy(to + 2 * i, &half, 2);
    }
}

/* The trained parameters in the host's memory, after the runs so far. */
static dcc_status rt_fetch_trained(dcc_model *m, unsigned char *to)
{
    RtWeights *w = m->weights->of;
    dcc_status status = DCC_OK;
    cudaError_t error;

    pthread_rwlock_wrlock(&w->lock); /* nothing is enqueued meanwhile */
    m->weights->copied = __atomic_load_n(&w->written, __ATOMIC_ACQUIRE);
    pthread_mutex_lock(&w->list);
    for (dcc_model *h = w->first; h && status == DCC_OK; h = h->next)
        if (h->ran)
            status = rt_cuda(m, "waiting for runs",
                             cudaEventSynchronize(h->done));
    pthread_mutex_unlock(&w->list);
    if (status == DCC_OK && w->broken)
        status = dcc_fail(DCC_ERR_ARG,
                          "%s: the last update of the weights failed half "
                          "way: no run until one succeeds", m->desc->name);
    if (status == DCC_OK) {
        error = cudaMemcpyAsync(to, w->params, w->desc->params_bytes,
                                cudaMemcpyDeviceToHost, m->stream);
        if (error == cudaSuccess)
            error = cudaStreamSynchronize(m->stream);
        status = rt_cuda(m, "copying from the GPU", error);
    }
    pthread_rwlock_unlock(&w->lock);
    return status;
}

/* Each parameter as the reader declares it: in `all`, or converted. */
static dcc_status rt_as_declared(const dcc_model *m, unsigned char *all,
                                 void **param)
{
    const dcc_model_desc *d = m->desc;

    for (int i = 0; i < d->n_params; i++) {
        const dcc_tensor *want = &d->params[i];
        const dcc_tensor *have = rt_param_of(m->weights->of->desc, want->name);
        size_t n = dcc_tensor_bytes(want) / dcc_type_size(want->type);

        param[i] = malloc(dcc_tensor_bytes(want) + 1);
        if (!param[i])
            return dcc_fail(DCC_ERR_MEMORY, "%s: out of memory", d->name);
        if (rt_turn(have, all + have->offset, 1) != DCC_OK)
            return DCC_ERR_MEMORY;
        if (have->type == want->type)
            memcpy(param[i], all + have->offset, dcc_tensor_bytes(want));
        else
            rt_convert(all + have->offset, have->type,
                       (unsigned char *)param[i], want->type, n);
    }
    return DCC_OK;
}

dcc_status rt_copy_trained(dcc_model *m)
{
    const dcc_model_desc *d = m->desc;
    void **param = (void **)calloc((size_t)d->n_params + 1, sizeof *param);
    unsigned char *all =
        (unsigned char *)malloc(m->weights->of->desc->params_bytes + 1);
    RtSource source = {NULL, (const void *const *)param, 0};
    dcc_status status = param && all
                            ? DCC_OK
                            : dcc_fail(DCC_ERR_MEMORY, "%s: out of memory",
                                       d->name);

    if (status == DCC_OK)
        status = rt_fetch_trained(m, all);
    if (status == DCC_OK)
        status = rt_as_declared(m, all, param);
    if (status == DCC_OK)
        status = rt_load(m, &source);
    for (int i = 0; param && i < d->n_params; i++)
        free(param[i]);
    free(param);
    free(all);
    return status;
}

static int rt_is_older(const RtWeights *w)
{
    return __atomic_load_n(&w->of->captured, __ATOMIC_ACQUIRE) ||
           __atomic_load_n(&w->of->written, __ATOMIC_ACQUIRE) != w->copied;
}

dcc_status rt_follow(dcc_model *m, int capturing)
{
    RtWeights *w = m->weights;
    int older;

    if (!w->of)
        return DCC_OK;
    pthread_rwlock_rdlock(&w->lock);
    older = rt_is_older(w);
    pthread_rwlock_unlock(&w->lock);
    if (!older)
        return DCC_OK;
    if (capturing)
        return dcc_fail(DCC_ERR_ARG,
                        "%s: %s has trained since the last run: run once "
                        "before capturing", m->desc->name, w->of->desc->name);
    return rt_replace_weights(m, NULL);
}
