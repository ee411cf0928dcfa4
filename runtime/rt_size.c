/* rt_size.c - models with a set of sizes (rt_model.h): which one runs, and what
 * a run of a size between two of them needs.
 *
 * Such a run has the next size's kernels, which are told how many there are.
 * Of a tensor within which they cannot keep (dcc_tensor.copied) it has the next
 * size's in memory of the handle: the caller's input is copied into its first
 * rows, and a result out of them. The rows behind are of an earlier run, or
 * copies of these: rows never read each other, and kernels may rely on what
 * inputs promise. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rt_model.h"

static int rt_count_sizes(const dcc_model_desc *d)
{
    return d->n_sizes ? d->n_sizes : 1;
}

static const dcc_model_desc *rt_desc_of(const dcc_model_desc *d, int i)
{
    return d->n_sizes ? d->of_sizes[i] : d;
}

/* ---- memory */

/* Of a tensor in the handle's memory, or 0. */
static size_t rt_copy_bytes(const dcc_tensor *t)
{
    return t->varies && t->copied ? rt_round(dcc_tensor_bytes(t)) : 0;
}

static size_t rt_arguments_bytes(const dcc_model_desc *d)
{
    size_t bytes = 0;

    for (int i = 0; i < d->n_inputs; i++)
        bytes += rt_copy_bytes(&d->inputs[i]);
    for (int i = 0; i < d->n_outputs; i++)
        bytes += rt_copy_bytes(&d->outputs[i]);
    return bytes;
}

/* Whether some size is between this one and the one before it. */
static int rt_has_between(const dcc_model_desc *d, int i)
{
    return d->n_sizes && d->sizes[i] > (i ? d->sizes[i - 1] : 0) + 1;
}

/* The largest arena of all. */
static size_t rt_steps_bytes(const dcc_model_desc *d)
{
    size_t most = 0;

    for (int i = 0; i < rt_count_sizes(d); i++)
        if (rt_desc_of(d, i)->arena_bytes > most)
            most = rt_desc_of(d, i)->arena_bytes;
    return rt_round(most);
}

size_t rt_arena_bytes(const dcc_model_desc *d)
{
    size_t bytes = rt_steps_bytes(d);

    for (int i = 0; i < d->n_sizes; i++)
        if (rt_has_between(d, i))
            bytes += rt_arguments_bytes(d->of_sizes[i]);
    return bytes;
}

dcc_status rt_make_sizes(dcc_model *m)
{
    const dcc_model_desc *d = m->desc;
    const size_t n = (size_t)rt_count_sizes(d);
    const size_t pointers = rt_pointers(d);

    m->size = (RtSize *)calloc(n, sizeof *m->size);
    if (!m->size)
        return DCC_ERR_MEMORY;
    m->n_sizes = (int)n;
    for (size_t i = 0; i < n; i++) {
        RtSize *s = &m->size[i];

        s->desc = rt_desc_of(d, (int)i);
        s->value = d->n_sizes ? d->sizes[i] : 0;
        s->nodes = (cudaGraphNode_t *)calloc((size_t)s->desc->n_steps + 1,
                                             sizeof *s->nodes);
        s->recorded_with = (void **)calloc(2 * pointers, sizeof(void *));
        if (!s->nodes || !s->recorded_with)
            return DCC_ERR_MEMORY;
        s->own = s->recorded_with + pointers;
    }
    return DCC_OK;
}

void rt_free_sizes(dcc_model *m)
{
    for (int i = 0; i < m->n_sizes; i++) {
        free(m->size[i].nodes);
        free(m->size[i].recorded_with);
    }
    free(m->size);
}

static void rt_place(void **own, const dcc_tensor *t, unsigned char **at)
{
    *own = rt_copy_bytes(t) ? *at : NULL;
    *at += rt_copy_bytes(t);
}

void rt_place_sizes(dcc_model *m)
{
    const dcc_model_desc *d = m->desc;
    unsigned char *at = m->arena + rt_steps_bytes(d);

    for (int k = 0; k < d->n_sizes; k++) {
        const dcc_model_desc *one = d->of_sizes[k];
        void **own = m->size[k].own;

        if (!rt_has_between(d, k))
            continue;
        for (int i = 0; i < d->n_inputs; i++)
            rt_place(own++, &one->inputs[i], &at);
        for (int i = 0; i < d->n_outputs; i++)
            rt_place(own++, &one->outputs[i], &at);
    }
}

/* ---- which */

RtSize *rt_size_of(dcc_model *m, int64_t size)
{
    const dcc_model_desc *d = m->desc;

    if (size == 0 && !d->n_sizes)
        return &m->size[0];
    for (int i = 0; i < d->n_sizes && size > 0; i++)
        if (size <= d->sizes[i])
            return &m->size[i];
    if (d->n_sizes)
        dcc_fail(DCC_ERR_ARG, "%s: %s is %lld, not 1 to %lld", d->name,
                 d->size_name, (long long)size,
                 (long long)d->sizes[d->n_sizes - 1]);
    else
        dcc_fail(DCC_ERR_ARG, "%s: has no set of sizes", d->name);
    return NULL;
}

void rt_arguments(dcc_model *m, const RtSize *s, int64_t size,
                  void *const *in, void *const *out)
{
    const int n_inputs = s->desc->n_inputs, n_outputs = s->desc->n_outputs;

    for (int i = 0; i < n_inputs + n_outputs; i++) {
        void *own = size != s->value ? s->own[i] : NULL;

        m->arguments[i] = own            ? own
                          : i < n_inputs ? in[i]
                                         : out[i - n_inputs];
    }
    m->arguments[n_inputs + n_outputs] = (void *)(uintptr_t)size;
}

/* ---- copies */

/* A tensor as `outer` blocks of rows; a row is `row` bytes, and a block has
 * `rows` of them in memory of the whole size. */
typedef struct {
    size_t outer, rows, row;
    size_t some; /* rows of a block that a run of less has */
} RtRows;

static RtRows rt_rows(const dcc_tensor *t, int64_t size, int64_t whole)
{
    RtRows r = {1, 1, dcc_type_size(t->type), 1};
    const int at = t->varies - 1;

    for (int i = 0; i < t->rank; i++) {
        if (i < at)
            r.outer *= (size_t)t->dim[i];
        else if (i == at)
            r.rows = (size_t)t->dim[i];
        else
            r.row *= (size_t)t->dim[i];
    }
    r.some = at < 0 ? r.rows : r.rows / (size_t)whole * (size_t)size;
    return r;
}

static dcc_status rt_copy_rows(dcc_model *m, void *to, size_t to_rows,
                               const void *from, size_t from_rows,
                               size_t rows, const RtRows *r,
                               cudaStream_t stream)
{
    return rt_cuda(m, "copying a size between two",
                   r->outer == 1
                       ? cudaMemcpyAsync(to, from, rows * r->row,
                                         cudaMemcpyDeviceToDevice, stream)
                       : cudaMemcpy2DAsync(
                             to, to_rows * r->row, from, from_rows * r->row,
                             rows * r->row, r->outer,
                             cudaMemcpyDeviceToDevice, stream));
}

/* Rows [r->some, r->rows) get what is before them. */
static dcc_status rt_fill_rows(dcc_model *m, unsigned char *t, const RtRows *r,
                               cudaStream_t stream)
{
    dcc_status status = DCC_OK;

    for (size_t have = r->some; have < r->rows && status == DCC_OK;) {
        size_t more = r->rows - have < have ? r->rows - have : have;

        status = rt_copy_rows(m, t + have * r->row, r->rows, t, r->rows, more,
                              r, stream);
        have += more;
    }
    return status;
}

dcc_status rt_copy_inputs(dcc_model *m, RtSize *s, int64_t size,
                          void *const *from, cudaStream_t stream,
                          int capturing)
{
    /* a check looks at all rows: none may be an earlier run's */
    const int fill = !s->filled || capturing || m->found;
    dcc_status status = DCC_OK;

    for (int i = 0; i < s->desc->n_inputs && status == DCC_OK; i++) {
        RtRows r = rt_rows(&s->desc->inputs[i], size, s->value);

        if (!s->own[i])
            continue;
        status = rt_copy_rows(m, s->own[i], r.rows, from[i], r.some, r.some,
                              &r, stream);
        if (fill && status == DCC_OK)
            status = rt_fill_rows(m, (unsigned char *)s->own[i], &r, stream);
    }
    s->filled |= status == DCC_OK && !capturing;
    return status;
}

dcc_status rt_copy_outputs(dcc_model *m, const RtSize *s, int64_t size,
                           void *const *to, cudaStream_t stream)
{
    void *const *own = s->own + s->desc->n_inputs;
    dcc_status status = DCC_OK;

    for (int i = 0; i < s->desc->n_outputs && status == DCC_OK; i++) {
        RtRows r = rt_rows(&s->desc->outputs[i], size, s->value);

        if (!own[i])
            continue;
        status = rt_copy_rows(m, to[i], r.some, own[i], r.rows, r.some, &r,
                              stream);
    }
    return status;
}
