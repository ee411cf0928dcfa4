/* rt_save.c - what a run carries to the next, as a file: dcc_model_save and
 * dcc_model_load of dcc_rt.h.
 *
 * The file has the parameters, where runs write them, under their names of the
 * weights file, so that it is one; and each state under "state:" and its path.
 * The metadata names the model.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rt_model.h"
#include "safetensors.h"

/* What is saved of a model, and its bytes in the host's memory. */
typedef struct {
    dcc_st_out *out;     /* parameters, then states */
    char *names;         /* of the states */
    unsigned char *params, *state;
    int n_params, n;
} RtSaved;

static dcc_status rt_no_host_memory(const dcc_model *m)
{
    return dcc_fail(DCC_ERR_MEMORY, "%s: out of memory", m->desc->name);
}

static void rt_drop_saved(RtSaved *s)
{
    free(s->out);
    free(s->names);
    free(s->params);
    free(s->state);
}

static dcc_st_out rt_saved_tensor(const char *name, const dcc_tensor *t,
                                  const unsigned char *base)
{
    dcc_st_out out = {name, dcc_st_dtype_of(t->type), t->rank, t->dim,
                      base + t->offset};
    return out;
}

static dcc_status rt_list_saved(const dcc_model *m, RtSaved *s)
{
    static const char prefix[] = "state:";
    const dcc_model_desc *d = m->desc;
    size_t size = 1;
    int n = 0;

    memset(s, 0, sizeof *s);
    s->n_params = d->trains ? d->n_params : 0;
    s->n = s->n_params + d->n_states;
    s->out = (dcc_st_out *)calloc((size_t)s->n + 1, sizeof *s->out);
    for (int i = 0; i < d->n_states; i++)
        size += sizeof prefix + strlen(d->states[i].name);
    s->names = (char *)malloc(size);
    s->params = (unsigned char *)malloc(d->params_bytes + 1);
    s->state = (unsigned char *)malloc(d->state_bytes + 1);
    if (!s->out || !s->names || !s->params || !s->state)
        return rt_no_host_memory(m);
    for (int i = 0; i < s->n_params; i++)
        s->out[i] = rt_saved_tensor(d->params[i].name, &d->params[i],
                                    s->params);
    for (char *name = s->names; n < d->n_states; n++) {
        const int length = snprintf(name, size, "%s%s", prefix,
                                    d->states[n].name);

        s->out[s->n_params + n] =
            rt_saved_tensor(name, &d->states[n], s->state);
        name += length + 1;
        size -= (size_t)length + 1;
    }
    return s->n ? DCC_OK
                : dcc_fail(DCC_ERR_ARG,
                           "%s: there is nothing to save: no run leaves "
                           "anything to the next", d->name);
}

/* ---- save ---- */

static int rt_is_nan(dcc_type type, const unsigned char *at)
{
    uint32_t f;
    uint16_t h;

    if (type == DCC_F32) {
        memcpy(&f, at, 4);
        return (f & 0x7fffffff) > 0x7f800000;
    }
    memcpy(&h, at, 2);
    return (h & 0x7fff) > (type == DCC_F16 ? 0x7c00 : 0x7f80);
}

/* Parameters that no weights file may have are not written into one. */
static dcc_status rt_check_numbers(const dcc_model *m, const RtSaved *s)
{
    for (int i = 0; i < s->n_params; i++) {
        const dcc_tensor *t = &m->desc->params[i];
        const unsigned char *at = (const unsigned char *)s->out[i].data;
        const size_t size = dcc_type_size(t->type);

        if (t->type != DCC_F32 && t->type != DCC_F16 && t->type != DCC_BF16)
            continue;
        for (size_t k = 0; k < dcc_tensor_bytes(t); k += size)
            if (rt_is_nan(t->type, at + k))
                return dcc_fail(DCC_ERR_FORMAT,
                                "%s: parameter \"%.200s\" is NaN, element "
                                "%zu: not saved", m->desc->name, t->name,
                                k / size);
    }
    return DCC_OK;
}

static dcc_status rt_fetch(dcc_model *m, void *to, const void *from,
                           size_t bytes)
{
    cudaError_t error = cudaSuccess;

    if (bytes)
        error = cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost,
                                m->stream);
    if (error == cudaSuccess)
        error = cudaStreamSynchronize(m->stream);
    return rt_cuda(m, "copying from the GPU", error);
}

static const dcc_tensor *rt_saved(const dcc_model_desc *d, const RtSaved *s,
                                  int i)
{
    return i < s->n_params ? &d->params[i] : &d->states[i - s->n_params];
}

/* What was fetched as it lies on the GPU, in rows; or back. */
static dcc_status rt_turn_saved(const dcc_model *m, const RtSaved *s,
                                int first, int to_rows)
{
    dcc_status status = DCC_OK;

    for (int i = first; i < s->n && status == DCC_OK; i++)
        status = rt_turn(rt_saved(m->desc, s, i),
                         (unsigned char *)s->out[i].data, to_rows);
    return status;
}

static dcc_status rt_wait(dcc_model *m)
{
    return m->ran ? rt_cuda(m, "waiting for runs",
                            cudaEventSynchronize(m->done))
                  : DCC_OK;
}

dcc_status rt_save_with(dcc_model *m, const char *path,
                        const char *const *more, int n_more)
{
    const char *metadata[2 * RT_METADATA] = {"dcc.model", m->desc->name};
    RtSaved s;
    dcc_status status = rt_list_saved(m, &s);

    for (int i = 0; i < 2 * n_more && i < 2 * RT_METADATA - 2; i++)
        metadata[2 + i] = more[i];
    if (status == DCC_OK)
        status = rt_wait(m);
    if (status == DCC_OK && s.n_params)
        status = rt_fetch(m, s.params, m->weights->params,
                          m->desc->params_bytes);
    if (status == DCC_OK)
        status = rt_fetch(m, s.state, m->state, m->desc->state_bytes);
    if (status == DCC_OK)
        status = rt_turn_saved(m, &s, 0, 1);
    if (status == DCC_OK)
        status = rt_check_numbers(m, &s);
    if (status == DCC_OK)
        status = dcc_st_write_durable(path, s.out, s.n, metadata, n_more + 1);
    rt_drop_saved(&s);
    return status;
}

dcc_status dcc_model_save(dcc_model *m, const char *path)
{
    dcc_status status;

    if (!m || !path)
        return dcc_fail(DCC_ERR_ARG, "save: a null pointer");
    status = rt_check_current(m);
    if (status == DCC_OK && m->weights->broken)
        status = dcc_fail(DCC_ERR_ARG,
                          "%s: the last update of the weights failed half "
                          "way: there is nothing to save", m->desc->name);
    return status == DCC_OK ? rt_save_with(m, path, NULL, 0) : status;
}

/* ---- load ---- */

static dcc_status rt_check_saved(const RtSaved *s, const dcc_st_file *file,
                                 int i)
{
    const dcc_st_out *t = &s->out[i];
    const dcc_st_tensor *st = dcc_st_find(file, t->name);
    char is[200], wanted[200];

    if (!st)
        return dcc_fail(DCC_ERR_FORMAT, "%s: no tensor \"%.200s\"",
                        dcc_st_path(file), t->name);
    if (st->dtype == t->dtype && st->rank == t->rank &&
        memcmp(st->dim, t->dim, (size_t)t->rank * sizeof *t->dim) == 0)
        return DCC_OK;
    return dcc_fail(DCC_ERR_FORMAT,
                    "%s: \"%.200s\" is %s%s, the model's is %s%s",
                    dcc_st_path(file), t->name, dcc_st_dtype_name(st->dtype),
                    dcc_st_shape_text(is, sizeof is, st->rank, st->dim),
                    dcc_st_dtype_name(t->dtype),
                    dcc_st_shape_text(wanted, sizeof wanted, t->rank, t->dim));
}

static int rt_is_saved(const RtSaved *s, const char *name)
{
    for (int i = 0; i < s->n; i++)
        if (strcmp(s->out[i].name, name) == 0)
            return 1;
    return 0;
}

/* It is of this model, whole, and of nothing else. */
static dcc_status rt_check_file(const dcc_model *m, const RtSaved *s,
                                const dcc_st_file *file)
{
    const char *of = dcc_st_metadata(file, "dcc.model");
    dcc_status status = DCC_OK;

    if (!of)
        return dcc_fail(DCC_ERR_FORMAT,
                        "%s: no file that %s_save wrote: its metadata names "
                        "no model", dcc_st_path(file), m->desc->name);
    if (strcmp(of, m->desc->name) != 0)
        return dcc_fail(DCC_ERR_FORMAT, "%s: of the model %.200s, not of %s",
                        dcc_st_path(file), of, m->desc->name);
    for (int i = 0; i < s->n && status == DCC_OK; i++)
        status = rt_check_saved(s, file, i);
    for (int i = 0; i < dcc_st_count(file) && status == DCC_OK; i++)
        if (!rt_is_saved(s, dcc_st_at(file, i)->name))
            status = dcc_fail(DCC_ERR_FORMAT,
                              "%s: \"%.200s\" is nothing of %s",
                              dcc_st_path(file), dcc_st_at(file, i)->name,
                              m->desc->name);
    return status;
}

static dcc_status rt_read_states(dcc_model *m, const RtSaved *s,
                                 const dcc_st_file *file)
{
    dcc_status status = rt_fetch(m, s->state, m->state, m->desc->state_bytes);

    for (int i = s->n_params; i < s->n && status == DCC_OK; i++) {
        const dcc_tensor *t = &m->desc->states[i - s->n_params];
        dcc_st_want want = {s->out[i].name, t->type, t->rank, t->dim, 0,
                            "state"};

        status = dcc_st_read(file, &want, (void *)s->out[i].data, NULL);
    }
    return status == DCC_OK ? rt_turn_saved(m, s, s->n_params, 0) : status;
}

static dcc_status rt_send_states(dcc_model *m, const RtSaved *s)
{
    cudaError_t error = cudaSuccess;

    if (m->desc->n_states)
        error = cudaMemcpyAsync(m->state, s->state, m->desc->state_bytes,
                                cudaMemcpyHostToDevice, m->stream);
    if (error == cudaSuccess)
        error = cudaStreamSynchronize(m->stream);
    return rt_cuda(m, "copying the state to the GPU", error);
}

dcc_status rt_load_saved(dcc_model *m, const dcc_st_file *file)
{
    RtSource source = {file, NULL, 0};
    RtSaved s;
    dcc_status status = rt_list_saved(m, &s);

    if (status == DCC_OK)
        status = rt_check_file(m, &s, file);
    if (status == DCC_OK)
        status = rt_wait(m);
    if (status == DCC_OK)
        status = rt_read_states(m, &s, file);
    if (status == DCC_OK && s.n_params)
        status = rt_replace_weights(m, &source);
    if (status == DCC_OK)
        status = rt_send_states(m, &s);
    rt_drop_saved(&s);
    return status;
}

dcc_status dcc_model_load(dcc_model *m, const char *path)
{
    dcc_st_file *file = NULL;
    dcc_status status;

    if (!m || !path)
        return dcc_fail(DCC_ERR_ARG, "load: a null pointer");
    status = rt_check_current(m);
    if (status == DCC_OK)
        status = dcc_st_open(&file, path);
    if (status == DCC_OK)
        status = rt_load_saved(m, file);
    dcc_st_close(file);
    return status;
}
