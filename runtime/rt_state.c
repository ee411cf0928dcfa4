/* rt_state.c - a handle's state: its initial value, and back to it
 * (rt_model.h).
 */
#include <stdlib.h>
#include <string.h>

#include "rt_model.h"

int rt_needs_first_state(const dcc_model_desc *d)
{
    for (int i = 0; i < d->n_states; i++)
        if (d->states[i].init != 0)
            return 1;
    return 0;
}

/* Copies before anything later on the private stream. */
static cudaError_t rt_copy_in(const dcc_model *m, void *to, const void *from,
                              size_t bytes)
{
    cudaError_t error =
        cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, m->stream);

    return error == cudaSuccess ? cudaStreamSynchronize(m->stream) : error;
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

dcc_status rt_make_first_state(dcc_model *m)
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

        for (size_t at = 0; at < dcc_tensor_bytes(t); at += size)
            memcpy(host + t->offset + at, element, size);
    }
    status = rt_cuda(m, "copying the state to the GPU",
                     rt_copy_in(m, m->first_state, host, d->state_bytes));
    free(host);
    return status;
}

dcc_status dcc_model_reset(dcc_model *m, cudaStream_t stream)
{
    size_t bytes;
    dcc_status status;

    if (!m)
        return dcc_fail(DCC_ERR_ARG, "reset: a null pointer");
    bytes = m->desc->state_bytes;
    status = bytes ? rt_check_current(m) : DCC_OK;
    if (bytes == 0 || status != DCC_OK)
        return status;
    if (m->first_state)
        return rt_cuda(m, "resetting the state",
                       cudaMemcpyAsync(m->state, m->first_state, bytes,
                                       cudaMemcpyDeviceToDevice, stream));
    return rt_cuda(m, "resetting the state",
                   cudaMemsetAsync(m->state, 0, bytes, stream));
}
