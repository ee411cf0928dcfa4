/* rt_load.c - weights on their way to the GPU (rt_model.h).
 *
 * Parameters that runs read as they are go straight to their places. Those
 * that load steps alone read pass through a staging buffer of at most 64 MB,
 * or, where one step reads more than that, are read by it from page-locked
 * host memory. So the GPU never holds a weight twice.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dcc_init.h"
#include "rt_model.h"
#include "safetensors.h"

enum {
    RT_STAGING = 56 << 20, /* with all else, under 64 MB above what stays */
    RT_CHUNK = 4 << 20     /* of two, which are read and copied in turn */
};

/* How often each conversion of a float type happened. */
typedef struct {
    int count[DCC_ST_TYPES][DCC_U8 + 1];
    int example[DCC_ST_TYPES][DCC_U8 + 1];
} RtChanges;

typedef struct {
    dcc_model *m;
    const RtSource *source;
    unsigned char *staging;
    size_t used;            /* of it */
    unsigned char *mapped;  /* page-locked, for a step of more than that */
    unsigned char **staged; /* where each parameter is now, or NULL */
    unsigned char *chunk[2];
    cudaEvent_t copied[2];
    int turn;
    RtChanges changes;
} RtLoad;

static size_t rt_param_bytes(const dcc_model_desc *d, int i)
{
    return rt_round(dcc_tensor_bytes(&d->params[i]));
}

/* ---- sizes */

/* The bytes that the load step whose list begins at `reads` stages. */
static size_t rt_step_bytes(const dcc_model_desc *d, const int *reads)
{
    size_t bytes = 0;

    for (; *reads >= 0; reads++)
        bytes += rt_param_bytes(d, *reads);
    return bytes;
}

static const int *rt_next_step(const int *reads)
{
    while (*reads >= 0)
        reads++;
    return reads + 1;
}

/* The most of one step: of those that fit the staging, or of those that do
 * not; and of all together. */
static size_t rt_most(const dcc_model_desc *d, int fits, size_t *all)
{
    const int *reads = d->load_reads;
    size_t most = 0;

    *all = 0;
    for (int s = 0; reads && s < d->n_load_steps; s++) {
        size_t bytes = rt_step_bytes(d, reads);

        if ((bytes <= RT_STAGING) == fits && bytes > most)
            most = bytes;
        if (bytes <= RT_STAGING)
            *all += bytes;
        reads = rt_next_step(reads);
    }
    return most;
}

size_t rt_staging_bytes(const dcc_model_desc *d)
{
    size_t all;

    rt_most(d, 1, &all);
    return all < RT_STAGING ? all : RT_STAGING;
}

static size_t rt_chunk_bytes(const dcc_model_desc *d)
{
    size_t largest = 0;

    for (int i = 0; i < d->n_params; i++)
        if (rt_param_bytes(d, i) > largest)
            largest = rt_param_bytes(d, i);
    return largest < RT_CHUNK ? largest : RT_CHUNK;
}

size_t rt_pinned_bytes(const dcc_model_desc *d)
{
    size_t all;

    return 2 * rt_chunk_bytes(d) + rt_most(d, 0, &all);
}

/* ---- notes */

/* Parameter i is filled by its initialiser. */
static int rt_is_drawn(const dcc_model_desc *d, const RtSource *source, int i)
{
    const dcc_tensor *p = &d->params[i];

    if (p->begin == DCC_BEGIN_NONE)
        return 0;
    return source->file ? !dcc_st_find(source->file, p->name)
                        : !source->memory || !source->memory[i];
}

static void rt_note(dcc_model *m, const char *line)
{
    size_t at = strlen(m->notes);

    snprintf(m->notes + at, sizeof m->notes - at, "%s\n", line);
}

/* A line for each kind of conversion, not for each of hundreds of weights. */
static void rt_note_changes(dcc_model *m, const RtChanges *changes)
{
    for (int from = 0; from < DCC_ST_TYPES; from++) {
        for (int to = 0; to <= DCC_U8; to++) {
            int n = changes->count[from][to];
            char line[400];

            if (n == 0)
                continue;
            snprintf(line, sizeof line,
                     "%d parameter%s converted from %s to %s (%s\"%.200s\")",
                     n, n == 1 ? "" : "s",
                     dcc_st_dtype_name((dcc_st_dtype)from),
                     dcc_type_name((dcc_type)to), n == 1 ? "" : "first: ",
                     m->desc->params[changes->example[from][to]].name);
            rt_note(m, line);
        }
    }
}

/* A file was given and lacks some that have initialisers. */
static void rt_note_drawn(dcc_model *m, const RtSource *source)
{
    const dcc_model_desc *d = m->desc;
    int n = 0, first = 0;
    char line[400];

    for (int i = d->n_params - 1; i >= 0 && source->file; i--)
        if (rt_is_drawn(d, source, i)) {
            first = i;
            n++;
        }
    if (n == 0)
        return;
    snprintf(line, sizeof line,
             "the weights file lacks %d parameter%s (%s\"%.200s\"): as "
             "initialised, seed %llu", n, n == 1 ? "" : "s",
             n == 1 ? "" : "first: ", d->params[first].name,
             (unsigned long long)source->seed);
    rt_note(m, line);
}

static void rt_note_change(RtLoad *l, int i, const dcc_st_change *change,
                           long long lost)
{
    const dcc_tensor *p = &l->m->desc->params[i];
    char line[400];

    if (change->converted &&
        l->changes.count[change->from][p->type]++ == 0)
        l->changes.example[change->from][p->type] = i;
    if (!lost)
        return;
    snprintf(line, sizeof line,
             "parameter \"%.200s\": %lld values are too large for %s and "
             "became infinite", p->name, lost, dcc_type_name(p->type));
    rt_note(l->m, line);
}

/* ---- reading */

static dcc_st_want rt_want(const dcc_tensor *p)
{
    dcc_st_want want = {p->name, p->type, p->rank, p->dim, 1, "parameter"};

    return want;
}

static dcc_status rt_read_piece(RtLoad *l, int i, size_t first, size_t n,
                                void *to, dcc_st_change *change)
{
    const dcc_tensor *p = &l->m->desc->params[i];
    const size_t size = dcc_type_size(p->type);
    dcc_st_want want = rt_want(p);

    memset(change, 0, sizeof *change);
    if (rt_is_drawn(l->m->desc, l->source, i)) {
        dcc_init_fill((dcc_begin)p->begin, p->init, p->spread, p->name,
                      l->source->seed, p->type, first, n, to);
        return DCC_OK;
    }
    if (l->source->file)
        return dcc_st_read_part(l->source->file, &want, (int64_t)first,
                                (int64_t)n, to, change);
    memcpy(to, (const char *)l->source->memory[i] + first * size, n * size);
    return DCC_OK;
}

/* A piece into a chunk that the GPU has done with, and on to the GPU. */
static dcc_status rt_send_piece(RtLoad *l, int i, size_t first, size_t n,
                                unsigned char *to, dcc_st_change *change)
{
    const size_t size = dcc_type_size(l->m->desc->params[i].type);
    const int turn = l->turn;
    dcc_status status = rt_cuda(l->m, "copying weights to the GPU",
                                cudaEventSynchronize(l->copied[turn]));

    if (status == DCC_OK)
        status = rt_read_piece(l, i, first, n, l->chunk[turn], change);
    if (status != DCC_OK || !to)
        return status;
    l->turn = !turn;
    status = rt_cuda(l->m, "copying weights to the GPU",
                     cudaMemcpyAsync(to + first * size, l->chunk[turn],
                                     n * size, cudaMemcpyHostToDevice,
                                     l->m->stream));
    return status == DCC_OK
               ? rt_cuda(l->m, "copying weights to the GPU",
                         cudaEventRecord(l->copied[turn], l->m->stream))
               : status;
}

/* One that lies in another order than in a file, whole. */
static dcc_status rt_send_turned(RtLoad *l, int i, unsigned char *to)
{
    const dcc_tensor *p = &l->m->desc->params[i];
    const size_t bytes = dcc_tensor_bytes(p);
    unsigned char *host = (unsigned char *)malloc(bytes + 1);
    dcc_st_change change;
    dcc_status status =
        host ? rt_read_piece(l, i, 0, bytes / dcc_type_size(p->type), host,
                             &change)
             : dcc_fail(DCC_ERR_MEMORY, "%s: out of memory", l->m->desc->name);

    if (status == DCC_OK)
        status = rt_turn(p, host, 0);
    if (status == DCC_OK)
        status = rt_cuda(l->m, "copying weights to the GPU",
                         cudaMemcpyAsync(to, host, bytes,
                                         cudaMemcpyHostToDevice,
                                         l->m->stream));
    if (status == DCC_OK)
        status = rt_cuda(l->m, "copying weights to the GPU",
                         cudaStreamSynchronize(l->m->stream));
    if (status == DCC_OK)
        rt_note_change(l, i, &change, change.lost);
    free(host);
    return status;
}

/* Reads and checks parameter i; to: memory of the GPU, or with `host` the
 * host's, or NULL. */
static dcc_status rt_send(RtLoad *l, int i, unsigned char *to, int host)
{
    const dcc_tensor *p = &l->m->desc->params[i];
    const size_t size = dcc_type_size(p->type);
    const size_t all = dcc_tensor_bytes(p) / size;
    const size_t most = rt_chunk_bytes(l->m->desc) / size;
    dcc_st_change change;
    long long lost = 0;
    dcc_status status = DCC_OK;

    if (to && !host && !rt_is_row_major(p))
        return rt_send_turned(l, i, to);
    memset(&change, 0, sizeof change);
    for (size_t at = 0; at < all && status == DCC_OK; at += most) {
        size_t n = all - at < most ? all - at : most;

        status = host ? rt_read_piece(l, i, at, n, to + at * size, &change)
                      : rt_send_piece(l, i, at, n, to, &change);
        lost += change.lost;
    }
    if (status == DCC_OK)
        rt_note_change(l, i, &change, lost);
    return status;
}

dcc_status rt_check_source(dcc_model *m, const RtSource *source)
{
    for (int i = 0; i < m->desc->n_params; i++) {
        dcc_st_want want = rt_want(&m->desc->params[i]);
        dcc_status status;

        if (rt_is_drawn(m->desc, source, i))
            continue;
        if (!source->file && !source->memory[i])
            return dcc_fail(DCC_ERR_ARG,
                            "%s: parameter \"%s\" is a null pointer",
                            m->desc->name, want.name);
        status = source->file ? dcc_st_check(source->file, &want) : DCC_OK;
        if (status != DCC_OK)
            return status;
    }
    return DCC_OK;
}

/* ---- staging */

/* The parameters of a step that the staging holds. What was staged before it
 * stays until the buffer is full; the stream keeps the order. */
static dcc_status rt_stage(RtLoad *l, const int *reads)
{
    const dcc_model_desc *d = l->m->desc;
    size_t more = 0;
    dcc_status status = DCC_OK;

    for (const int *r = reads; *r >= 0; r++)
        more += l->staged[*r] ? 0 : rt_param_bytes(d, *r);
    if (l->used + more > rt_staging_bytes(d)) {
        memset(l->staged, 0, (size_t)d->n_params * sizeof *l->staged);
        l->used = 0;
    }
    for (; *reads >= 0 && status == DCC_OK; reads++) {
        if (l->staged[*reads])
            continue;
        l->staged[*reads] = l->staging + l->used;
        l->used += rt_param_bytes(d, *reads);
        status = rt_send(l, *reads, l->staged[*reads], 0);
    }
    return status;
}

/* Those of a step of more than that, in host memory that the GPU reads. */
static dcc_status rt_stage_mapped(RtLoad *l, const int *reads)
{
    const dcc_model_desc *d = l->m->desc;
    void *seen = NULL;
    size_t at = 0;
    dcc_status status = rt_cuda(l->m, "packing weights",
                                cudaStreamSynchronize(l->m->stream));

    if (status == DCC_OK)
        status = rt_cuda(l->m, "mapping page-locked memory",
                         cudaHostGetDevicePointer(&seen, l->mapped, 0));
    memset(l->staged, 0, (size_t)d->n_params * sizeof *l->staged);
    l->used = 0;
    for (; *reads >= 0 && status == DCC_OK; reads++) {
        status = rt_send(l, *reads, l->mapped + at, 1);
        l->staged[*reads] = (unsigned char *)seen + at;
        at += rt_param_bytes(d, *reads);
    }
    return status;
}

static dcc_status rt_load_steps(RtLoad *l)
{
    dcc_model *m = l->m;
    const int *reads = m->desc->load_reads;
    dcc_frame frame = rt_frame(m, NULL, NULL);
    dcc_status status = DCC_OK;

    frame.staged = l->staged;
    for (int i = 0; i < m->desc->n_load_steps && status == DCC_OK; i++) {
        int fits = !reads || rt_step_bytes(m->desc, reads) <= RT_STAGING;

        if (reads)
            status = fits ? rt_stage(l, reads) : rt_stage_mapped(l, reads);
        if (status == DCC_OK)
            status = rt_step_error(m, NULL, i,
                                   m->desc->load_step(&frame, i, m->stream));
        if (!fits) /* the next one may not find these */
            memset(l->staged, 0,
                   (size_t)m->desc->n_params * sizeof *l->staged);
        if (reads)
            reads = rt_next_step(reads);
    }
    return status;
}

/* ---- the whole */

static int rt_is_staged(const dcc_model_desc *d, int i)
{
    const int *reads = d->load_reads;

    for (int s = 0; reads && s < d->n_load_steps; s++) {
        for (; *reads >= 0; reads++)
            if (*reads == i)
                return 1;
        reads++;
    }
    return 0;
}

static dcc_status rt_send_all(RtLoad *l)
{
    const dcc_model_desc *d = l->m->desc;
    dcc_status status = DCC_OK;

    for (int i = 0; i < d->n_params && status == DCC_OK; i++) {
        const dcc_tensor *p = &d->params[i];

        if (p->place == DCC_IN_PARAM)
            status = rt_send(l, i, l->m->weights->params + p->offset, 0);
        else if (!rt_is_staged(d, i)) /* nobody reads it: checked alone */
            status = rt_send(l, i, NULL, 0);
    }
    return status == DCC_OK ? rt_load_steps(l) : status;
}

static dcc_status rt_open_load(RtLoad *l)
{
    const dcc_model_desc *d = l->m->desc;
    const size_t chunk = rt_chunk_bytes(d), mapped = rt_pinned_bytes(d) -
                                                     2 * chunk;
    dcc_status status = DCC_OK;

    l->staged = (unsigned char **)calloc((size_t)d->n_params + 1,
                                         sizeof *l->staged);
    if (!l->staged)
        return dcc_fail(DCC_ERR_MEMORY, "%s: out of memory", d->name);
    for (int i = 0; i < 2 && chunk && status == DCC_OK; i++) {
        status = rt_cuda(l->m, "page-locking host memory",
                         cudaMallocHost((void **)&l->chunk[i], chunk));
        if (status == DCC_OK)
            status = rt_cuda(l->m, "creating an event",
                             cudaEventCreateWithFlags(
                                 &l->copied[i], cudaEventDisableTiming));
    }
    if (mapped && status == DCC_OK)
        status = rt_cuda(l->m, "page-locking host memory",
                         cudaHostAlloc((void **)&l->mapped, mapped,
                                       cudaHostAllocMapped));
    if (status == DCC_OK)
        status = rt_take(l->m, &l->staging, rt_staging_bytes(d));
    return status;
}

static void rt_close_load(RtLoad *l)
{
    cudaStreamSynchronize(l->m->stream);
    rt_give(l->m, l->staging);
    for (int i = 0; i < 2; i++) {
        if (l->chunk[i])
            cudaFreeHost(l->chunk[i]);
        if (l->copied[i])
            cudaEventDestroy(l->copied[i]);
    }
    if (l->mapped)
        cudaFreeHost(l->mapped);
    free(l->staged);
}

dcc_status rt_load(dcc_model *m, const RtSource *source)
{
    RtLoad l;
    dcc_status status = rt_check_source(m, source);

    if (status != DCC_OK)
        return status;
    memset(&l, 0, sizeof l);
    l.m = m;
    l.source = source;
    m->notes[0] = 0;
    RT_RANGE("dcc load");
    status = rt_open_load(&l);
    if (status == DCC_OK)
        status = rt_send_all(&l);
    if (status == DCC_OK)
        status = rt_step_error(m, NULL, -1, cudaStreamSynchronize(m->stream));
    rt_close_load(&l);
    RT_RANGE_END();
    rt_note_drawn(m, source);
    rt_note_changes(m, &l.changes);
    return status;
}
