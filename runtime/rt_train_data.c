/* rt_train_data.c - batches for dcc train (rt_train.h).
 *
 * An input that the file has a tensor for gets batch after batch of that
 * tensor's rows, in an order that seed and epoch alone decide, so that a run
 * that goes on needs no more than the number of its step. Rows that fill no
 * batch at an epoch's end wait for the next, which shuffles all anew.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rt_train.h"

static dcc_status rt_data_error(const char *doing, cudaError_t error)
{
    if (error == cudaSuccess)
        return DCC_OK;
    return dcc_fail(error == cudaErrorMemoryAllocation ? DCC_ERR_MEMORY
                                                       : DCC_ERR_CUDA,
                    "%s: %s", doing, cudaGetErrorString(error));
}

double rt_value(dcc_type type, const void *at)
{
    float f;
    int32_t i;
    uint16_t h;

    switch (type) {
    case DCC_F32:
        memcpy(&f, at, 4);
        return f;
    case DCC_I32:
        memcpy(&i, at, 4);
        return i;
    case DCC_F16:
        memcpy(&h, at, 2);
        return dcc_half_to_float(h);
    case DCC_BF16:
        memcpy(&h, at, 2);
        return dcc_bfloat_to_float(h);
    case DCC_I8:
        return *(const int8_t *)at;
    case DCC_U8:
    case DCC_BOOL:
        break;
    }
    return *(const uint8_t *)at;
}

static void rt_put_value(dcc_type type, double value, void *at)
{
    float f = (float)value;
    int32_t i = value >= INT32_MAX   ? INT32_MAX
                : value <= INT32_MIN ? INT32_MIN
                                     : (int32_t)value;
    uint16_t h = type == DCC_F16 ? dcc_float_to_half(f)
                                 : dcc_float_to_bfloat(f);

    switch (type) {
    case DCC_F32:
        memcpy(at, &f, 4);
        return;
    case DCC_I32:
        memcpy(at, &i, 4);
        return;
    case DCC_F16:
    case DCC_BF16:
        memcpy(at, &h, 2);
        return;
    case DCC_I8:
    case DCC_U8:
    case DCC_BOOL:
        break;
    }
    *(uint8_t *)at = (uint8_t)i;
}

/* A number for the input t, which `what` says. */
static dcc_status rt_check_number(const dcc_tensor *t, double value,
                                  const char *what)
{
    const int is_float = t->type == DCC_F32 || t->type == DCC_F16 ||
                         t->type == DCC_BF16;
    unsigned char held[4];
    double back;

    rt_put_value(t->type, value, held);
    back = rt_value(t->type, held);
    if (is_float ? !isfinite(back) : back != value)
        return dcc_fail(DCC_ERR_ARG, "%s: input \"%.200s\" is %s, which has no "
                        "%.10g", what, t->name, dcc_type_name(t->type), value);
    if (t->lo != t->hi && (value < (double)t->lo || value >= (double)t->hi))
        return dcc_fail(DCC_ERR_ARG, "%s: \"%.200s\" is %.10g, promised is "
                        "%lld..%lld", what, t->name, value, (long long)t->lo,
                        (long long)t->hi);
    return DCC_OK;
}

/* ---- which input is what */

static const char *rt_set_for(const RtTrainOptions *o, const char *name)
{
    const size_t n = strlen(name);

    for (int i = o->n_set - 1; i >= 0; i--)
        if (strncmp(o->set[i], name, n) == 0 && o->set[i][n] == '=')
            return o->set[i] + n + 1;
    return NULL;
}

static dcc_status rt_find_set(RtFeed *feed, const dcc_tensor *t,
                              const char *text)
{
    char *end;

    feed->from = RT_FROM_SET;
    feed->value = strtod(text, &end);
    if (end == text || *end || !isfinite(feed->value))
        return dcc_fail(DCC_ERR_ARG, "--set %s=%s: not a number", t->name,
                        text);
    if (t->rank)
        return dcc_fail(DCC_ERR_ARG, "--set %s: the input is no single number",
                        t->name);
    return rt_check_number(t, feed->value, "--set");
}

/* A number of the file for an input that is one: the same in all steps. */
static dcc_status rt_find_number(RtFeeder *f, RtFeed *feed,
                                 const dcc_tensor *t)
{
    unsigned char held[4];
    dcc_status status;

    feed->from = RT_FROM_SET;
    feed->want.name = t->name;
    feed->want.type = t->type;
    feed->want.dim = feed->dim;
    feed->want.role = "input";
    status = dcc_st_check(f->file, &feed->want);
    if (status == DCC_OK)
        status = dcc_st_read_part(f->file, &feed->want, 0, 1, held, NULL);
    if (status != DCC_OK)
        return status;
    feed->value = rt_value(t->type, held);
    return rt_check_number(t, feed->value, dcc_st_path(f->file));
}

/* What a number of a well-known name is, where neither file nor --set has
 * it. */
static int rt_find_known(RtFeed *feed, const dcc_tensor *t)
{
    static const struct {
        const char *name;
        RtFrom from;
    } known[] = {{"step", RT_FROM_STEP},
                 {"epoch", RT_FROM_EPOCH},
                 {"seed", RT_FROM_SEED}};

    for (int i = 0; i < 3; i++)
        if (!t->rank && strcmp(t->name, known[i].name) == 0) {
            feed->from = known[i].from;
            return 1;
        }
    return 0;
}

/* The file's tensor: rows of what the input has a batch of. */
static dcc_status rt_find_rows(RtFeeder *f, RtFeed *feed, const dcc_tensor *t,
                               const dcc_st_tensor *st)
{
    char is[200], wanted[200];
    int fits = st->rank == t->rank && t->rank > 0;
    const char *path = dcc_st_path(f->file);

    feed->from = RT_FROM_DATA;
    for (int d = 1; d < t->rank && fits; d++)
        fits = st->dim[d] == t->dim[d];
    if (!fits)
        return dcc_fail(DCC_ERR_FORMAT,
                        "%s: \"%.200s\" is %s; for the input, %s, it must be "
                        "rows of that: any first dimension, then the same",
                        path, t->name,
                        dcc_st_shape_text(is, sizeof is, st->rank, st->dim),
                        dcc_st_shape_text(wanted, sizeof wanted, t->rank,
                                          t->dim));
    if (f->rows && st->dim[0] != f->rows)
        return dcc_fail(DCC_ERR_FORMAT,
                        "%s: \"%.200s\" has %lld rows, another tensor %lld",
                        path, t->name, (long long)st->dim[0],
                        (long long)f->rows);
    if (f->batch && t->dim[0] != f->batch)
        return dcc_fail(DCC_ERR_FORMAT,
                        "%s: input \"%.200s\" is of %lld rows, another of "
                        "%lld: no batches",
                        f->desc->name, t->name, (long long)t->dim[0],
                        (long long)f->batch);
    f->rows = st->dim[0];
    f->batch = t->dim[0];
    memcpy(feed->dim, st->dim, sizeof feed->dim);
    feed->want.name = t->name;
    feed->want.type = t->type;
    feed->want.rank = t->rank;
    feed->want.dim = feed->dim;
    feed->want.role = "input";
    feed->row = 1;
    for (int d = 1; d < t->rank; d++)
        feed->row *= t->dim[d];
    return dcc_st_check(f->file, &feed->want);
}

static dcc_status rt_find_feed(RtFeeder *f, int i)
{
    const dcc_tensor *t = &f->desc->inputs[i];
    const dcc_st_tensor *st = dcc_st_find(f->file, t->name);
    const char *set = rt_set_for(f->o, t->name);
    RtFeed *feed = &f->feed[i];

    feed->bytes = dcc_tensor_bytes(t);
    if (set)
        return rt_find_set(feed, t, set);
    if (st && !st->rank && !t->rank)
        return rt_find_number(f, feed, t);
    if (st)
        return rt_find_rows(f, feed, t, st);
    if (rt_find_known(feed, t))
        return DCC_OK;
    return dcc_fail(DCC_ERR_FORMAT,
                    "%s: no tensor \"%.200s\" for the input of that name%s%s%s",
                    dcc_st_path(f->file), t->name, t->rank ? "" : ": --set ",
                    t->rank ? "" : t->name,
                    t->rank ? "" : "=VALUE gives it a number");
}

/* ---- promises */

static dcc_status rt_check_rows(const RtFeeder *f, const RtFeed *feed,
                                const dcc_tensor *t)
{
    const int64_t piece_most = 1 << 16;
    const size_t size = dcc_type_size(t->type);
    const int64_t n = feed->row * f->rows;
    unsigned char *piece;
    dcc_status status = DCC_OK;

    if (t->lo == t->hi)
        return DCC_OK;
    piece = (unsigned char *)malloc((size_t)piece_most * size);
    if (!piece)
        return dcc_fail(DCC_ERR_MEMORY, "out of memory");
    for (int64_t at = 0; at < n && status == DCC_OK; at += piece_most) {
        int64_t m = n - at < piece_most ? n - at : piece_most;

        status = dcc_st_read_part(f->file, &feed->want, at, m, piece, NULL);
        for (int64_t i = 0; i < m && status == DCC_OK; i++) {
            double v = rt_value(t->type, piece + (size_t)i * size);

            if (v < (double)t->lo || v >= (double)t->hi)
                status = dcc_fail(DCC_ERR_FORMAT,
                                  "%s: \"%.200s\" holds %.0f in row %lld, "
                                  "promised is %lld..%lld",
                                  dcc_st_path(f->file), t->name, v,
                                  (long long)((at + i) / feed->row),
                                  (long long)t->lo, (long long)t->hi);
        }
    }
    free(piece);
    return status;
}

int64_t rt_feeder_epoch(const RtFeeder *f)
{
    return f->order ? f->rows / f->batch
                    : (f->rows + f->batch - 1) / f->batch;
}

static double rt_known_value(const RtFeeder *f, const RtFeed *feed,
                             int64_t step)
{
    switch (feed->from) {
    case RT_FROM_STEP:
        return (double)step;
    case RT_FROM_EPOCH:
        return (double)(step / rt_feeder_epoch(f));
    case RT_FROM_SEED:
        return (double)(f->o->seed & 0x7fffffff);
    case RT_FROM_SET:
    case RT_FROM_DATA:
        break;
    }
    return feed->value;
}

/* What a number of a well-known name may become. */
static dcc_status rt_check_known(const RtFeeder *f, const RtFeed *feed,
                                 const dcc_tensor *t)
{
    int64_t last = f->order ? f->o->steps - 1 : rt_feeder_epoch(f) - 1;
    dcc_status status =
        rt_check_number(t, rt_known_value(f, feed, 0), "the first step");

    return status == DCC_OK
               ? rt_check_number(t, rt_known_value(f, feed, last),
                                 "the last step")
               : status;
}

static dcc_status rt_check_feeds(const RtFeeder *f, const char *path)
{
    dcc_status status = DCC_OK;

    if (!f->rows)
        return dcc_fail(DCC_ERR_FORMAT,
                        f->batch ? "%s: what it has for %s are no rows at all"
                                 : "%s: no tensor is an input of %s",
                        path, f->desc->name);
    if (f->rows < f->batch && f->order)
        return dcc_fail(DCC_ERR_FORMAT,
                        "%s: %lld rows, fewer than a batch of %lld", path,
                        (long long)f->rows, (long long)f->batch);
    for (int i = 0; i < f->desc->n_inputs && status == DCC_OK; i++)
        if (f->feed[i].from == RT_FROM_DATA)
            status = rt_check_rows(f, &f->feed[i], &f->desc->inputs[i]);
        else if (f->feed[i].from != RT_FROM_SET)
            status = rt_check_known(f, &f->feed[i], &f->desc->inputs[i]);
    return status;
}

/* ---- memory */

static dcc_status rt_make_feeds(RtFeeder *f)
{
    const dcc_model_desc *d = f->desc;
    dcc_status status = DCC_OK;

    for (int k = 0; k < 2 && status == DCC_OK; k++)
        status = rt_data_error("creating an event",
                               cudaEventCreateWithFlags(
                                   &f->sent[k], cudaEventDisableTiming));
    for (int i = 0; i < d->n_inputs && status == DCC_OK; i++) {
        RtFeed *feed = &f->feed[i];

        status = rt_data_error("allocating inputs",
                               cudaMalloc(&f->inputs[i], feed->bytes));
        for (int k = 0; k < 2 && status == DCC_OK; k++)
            status = rt_data_error(
                "page-locking host memory",
                cudaMallocHost((void **)&feed->host[k], feed->bytes));
    }
    for (int i = 0; i < d->n_outputs && status == DCC_OK; i++)
        status = rt_data_error("allocating outputs",
                               cudaMalloc(&f->outputs[i],
                                          dcc_tensor_bytes(&d->outputs[i])));
    return status;
}

dcc_status rt_feeder_open(RtFeeder *f, const dcc_model_desc *desc,
                          const RtTrainOptions *o, const char *path,
                          int shuffle, cudaStream_t stream)
{
    dcc_status status;

    memset(f, 0, sizeof *f);
    f->desc = desc;
    f->o = o;
    f->stream = stream;
    f->epoch = -1;
    f->feed = (RtFeed *)calloc((size_t)desc->n_inputs + 1, sizeof *f->feed);
    f->inputs = (void **)calloc((size_t)desc->n_inputs + 1, sizeof(void *));
    f->outputs = (void **)calloc((size_t)desc->n_outputs + 1, sizeof(void *));
    if (!f->feed || !f->inputs || !f->outputs)
        return dcc_fail(DCC_ERR_MEMORY, "out of memory");
    status = dcc_st_open(&f->file, path);
    for (int i = 0; i < desc->n_inputs && status == DCC_OK; i++)
        status = rt_find_feed(f, i);
    if (status == DCC_OK && shuffle && f->rows) {
        f->order = (int64_t *)malloc((size_t)f->rows * sizeof *f->order);
        if (!f->order)
            status = dcc_fail(DCC_ERR_MEMORY, "out of memory");
    }
    if (status == DCC_OK)
        status = rt_check_feeds(f, path);
    return status == DCC_OK ? rt_make_feeds(f) : status;
}

void rt_feeder_close(RtFeeder *f)
{
    if (!f->desc)
        return;
    if (f->stream)
        cudaStreamSynchronize(f->stream);
    for (int i = 0; f->feed && i < f->desc->n_inputs; i++) {
        cudaFree(f->inputs[i]);
        for (int k = 0; k < 2; k++)
            if (f->feed[i].host[k])
                cudaFreeHost(f->feed[i].host[k]);
    }
    for (int i = 0; f->outputs && i < f->desc->n_outputs; i++)
        cudaFree(f->outputs[i]);
    for (int k = 0; k < 2; k++)
        if (f->sent[k])
            cudaEventDestroy(f->sent[k]);
    free(f->feed);
    free(f->inputs);
    free(f->outputs);
    free(f->order);
    dcc_st_close(f->file);
}

/* ---- batches */

/* splitmix64 (Steele, Lea, Flood 2014) */
static uint64_t rt_next(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* The order of an epoch, whatever came before it (Fisher, Yates 1938). */
static void rt_shuffle(RtFeeder *f, int64_t epoch)
{
    uint64_t state = f->o->seed;

    if (f->epoch == epoch)
        return;
    state = rt_next(&state) + (uint64_t)epoch;
    f->epoch = epoch;
    for (int64_t i = 0; i < f->rows; i++)
        f->order[i] = i;
    for (int64_t i = f->rows - 1; i > 0; i--) {
        int64_t j = (int64_t)(rt_next(&state) % (uint64_t)(i + 1));
        int64_t keep = f->order[i];

        f->order[i] = f->order[j];
        f->order[j] = keep;
    }
}

static dcc_status rt_fill_rows(RtFeeder *f, const RtFeed *feed, int64_t first)
{
    const size_t bytes = (size_t)feed->row * dcc_type_size(feed->want.type);
    dcc_status status = DCC_OK;

    for (int64_t b = 0; b < f->batch && status == DCC_OK; b++) {
        int64_t row = (first + b) % f->rows;

        if (f->order)
            row = f->order[row];
        status = dcc_st_read_part(f->file, &feed->want, row * feed->row,
                                  feed->row,
                                  feed->host[f->turn] + (size_t)b * bytes,
                                  NULL);
    }
    return status;
}

dcc_status rt_feeder_fill(RtFeeder *f, int64_t step)
{
    const int64_t epoch = rt_feeder_epoch(f);
    dcc_status status = rt_data_error("copying inputs",
                                      cudaEventSynchronize(f->sent[f->turn]));

    if (f->order)
        rt_shuffle(f, step / epoch);
    for (int i = 0; i < f->desc->n_inputs && status == DCC_OK; i++) {
        RtFeed *feed = &f->feed[i];

        if (feed->from == RT_FROM_DATA)
            status = rt_fill_rows(f, feed, step % epoch * f->batch);
        else
            rt_put_value(f->desc->inputs[i].type,
                         rt_known_value(f, feed, step), feed->host[f->turn]);
        if (status == DCC_OK)
            status = rt_data_error(
                "copying inputs",
                cudaMemcpyAsync(f->inputs[i], feed->host[f->turn],
                                feed->bytes, cudaMemcpyHostToDevice,
                                f->stream));
    }
    if (status == DCC_OK)
        status = rt_data_error("copying inputs",
                               cudaEventRecord(f->sent[f->turn], f->stream));
    f->turn = !f->turn;
    return status;
}

/* ---- the data, as a number */

/* FNV-1a */
static uint64_t rt_hash(uint64_t h, const void *bytes, size_t n)
{
    const unsigned char *at = (const unsigned char *)bytes;

    for (size_t i = 0; i < n; i++)
        h = (h ^ at[i]) * 0x100000001b3u;
    return h;
}

uint64_t rt_feeder_print(const RtFeeder *f)
{
    const size_t most = 1 << 22; /* bytes of a tensor */
    uint64_t h = 0xcbf29ce484222325u;

    for (int i = 0; i < f->desc->n_inputs; i++) {
        const RtFeed *feed = &f->feed[i];
        const dcc_st_tensor *st;

        if (feed->from != RT_FROM_DATA)
            continue;
        st = dcc_st_find(f->file, feed->want.name);
        h = rt_hash(h, feed->want.name, strlen(feed->want.name));
        h = rt_hash(h, st->dim, (size_t)st->rank * sizeof *st->dim);
        h = rt_hash(h, st->data, st->bytes < most ? st->bytes : most);
    }
    return h;
}
