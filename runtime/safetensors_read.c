/* safetensors_read.c - dcc_st_read of safetensors.h: one tensor of a file,
 * checked against what is wanted and converted to it.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "safetensors.h"
#include "safetensors_json.h"

typedef enum { ST_IS_BOOL, ST_IS_INT, ST_IS_FLOAT, ST_IS_OTHER } StKind;

static StKind st_kind(dcc_st_dtype dtype)
{
    switch (dtype) {
    case DCC_ST_BOOL:
        return ST_IS_BOOL;
    case DCC_ST_U8:
    case DCC_ST_I8:
    case DCC_ST_I16:
    case DCC_ST_U16:
    case DCC_ST_I32:
    case DCC_ST_U32:
    case DCC_ST_I64:
    case DCC_ST_U64:
        return ST_IS_INT;
    case DCC_ST_F16:
    case DCC_ST_BF16:
    case DCC_ST_F32:
    case DCC_ST_F64:
    case DCC_ST_F8_E4M3:
    case DCC_ST_F8_E5M2:
        return ST_IS_FLOAT;
    default:
        return ST_IS_OTHER;
    }
}

static StKind st_kind_wanted(dcc_type type)
{
    return st_kind(dcc_st_dtype_of(type));
}

/* "[0, 3]", the multi-index of element `i`. */
static const char *st_place_text(char *text, size_t size,
                                 const dcc_st_tensor *t, int64_t i)
{
    int64_t at[DCC_MAX_RANK];

    for (int d = t->rank - 1; d >= 0; d--) {
        at[d] = i % t->dim[d];
        i /= t->dim[d];
    }
    return dcc_st_shape_text(text, size, t->rank, at);
}

static dcc_status st_bad_value(const dcc_st_file *f, const dcc_st_want *want,
                               const dcc_st_tensor *t, int64_t i,
                               const char *what)
{
    char place[200];

    return dcc_fail(DCC_ERR_FORMAT, "%s: %s \"%.200s\" holds %s at %s",
                    dcc_st_path(f), want->role, t->name, what,
                    st_place_text(place, sizeof place, t, i));
}

/* ---- floats, through chunks of float ---- */

enum { ST_CHUNK = 2048 };

/* The float on d's way to a 16-bit type: rounded to odd, so that rounding
 * again gives what rounding d once would. */
static float st_round_to_odd(double d)
{
    float f = (float)d;
    uint32_t bits;

    if ((double)f == d || f != f || isinf(d))
        return f;
    memcpy(&bits, &f, 4);
    if (fabs((double)f) > fabs(d))
        bits--;
    bits |= 1;
    memcpy(&f, &bits, 4);
    return f;
}

/* Sign, 4 bits of exponent, 3 of fraction; no infinity, S.1111.111 is NaN
 * (Micikevicius et al., FP8 Formats for Deep Learning, 2022, section 3). */
static float st_e4m3(unsigned char byte)
{
    const int exponent = byte >> 3 & 15, fraction = byte & 7;
    float f = exponent ? ldexpf((float)(8 + fraction), exponent - 10)
                       : ldexpf((float)fraction, -9);

    if ((byte & 127) == 127)
        f = NAN;
    return byte & 128 ? -f : f;
}

/* Returns how many finite values became infinite. */
static int st_decode(dcc_st_dtype dtype, const unsigned char *from, int n,
                     int narrow, float *to)
{
    uint16_t h;
    double d;
    int lost = 0;

    switch (dtype) {
    case DCC_ST_F32:
        memcpy(to, from, (size_t)n * 4);
        break;
    case DCC_ST_F16:
        for (int i = 0; i < n; i++) {
            memcpy(&h, from + 2 * i, 2);
            to[i] = dcc_half_to_float(h);
        }
        break;
    case DCC_ST_BF16:
        for (int i = 0; i < n; i++) {
            memcpy(&h, from + 2 * i, 2);
            to[i] = dcc_bfloat_to_float(h);
        }
        break;
    case DCC_ST_F8_E4M3:
        for (int i = 0; i < n; i++)
            to[i] = st_e4m3(from[i]);
        break;
    case DCC_ST_F8_E5M2: /* the upper half of an f16 */
        for (int i = 0; i < n; i++)
            to[i] = dcc_half_to_float((uint16_t)(from[i] << 8));
        break;
    default:
        for (int i = 0; i < n; i++) {
            memcpy(&d, from + 8 * i, 8);
            to[i] = narrow ? st_round_to_odd(d) : (float)d;
            lost += isinf(to[i]) && !isinf(d);
        }
    }
    return lost;
}

/* Returns how many finite values became infinite. */
static int st_encode(dcc_type type, const float *from, int n,
                     unsigned char *to)
{
    int lost = 0;

    if (type == DCC_F32) {
        memcpy(to, from, (size_t)n * 4);
        return 0;
    }
    for (int i = 0; i < n; i++) {
        uint16_t h;

        if (type == DCC_F16) {
            h = dcc_float_to_half(from[i]);
            lost += (h & 0x7fff) == 0x7c00 && !isinf(from[i]);
        } else {
            h = dcc_float_to_bfloat(from[i]);
            lost += (h & 0x7fff) == 0x7f80 && !isinf(from[i]);
        }
        memcpy(to + 2 * i, &h, 2);
    }
    return lost;
}

/* The file, or the shard, that has these bytes. */
static const dcc_st_file *st_owner(const dcc_st_file *f,
                                   const unsigned char *at)
{
    for (int i = 0; i < f->n_shards; i++)
        if (at >= f->shards[i]->bytes &&
            at < f->shards[i]->bytes + f->shards[i]->size)
            return f->shards[i];
    return f;
}

/* Bytes of a tensor. Mapped ones are read: they would be a fault where somebody
 * has cut the file off since it was opened. */
static dcc_status st_get(const dcc_st_file *f, const unsigned char *at,
                         size_t n, unsigned char *to)
{
    const dcc_st_file *o = st_owner(f, at);

    if (!o->mapped) {
        if (n)
            memcpy(to, at, n);
        return DCC_OK;
    }
    while (n) {
        const ssize_t got = pread(o->fd, to, n, (off_t)(at - o->bytes));

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return dcc_fail(DCC_ERR_IO, "%s: %s", o->path, strerror(errno));
        if (got == 0)
            return dcc_fail(DCC_ERR_IO, "%s: ends at byte %zu, it had %zu when "
                            "it was opened", o->path,
                            (size_t)(at - o->bytes), o->size);
        at += got;
        to += got;
        n -= (size_t)got;
    }
    return DCC_OK;
}

/* Elements [first, first + n). */
static dcc_status st_read_floats(const dcc_st_file *f,
                                 const dcc_st_want *want,
                                 const dcc_st_tensor *t, int64_t first,
                                 int64_t count, unsigned char *dst,
                                 int64_t *lost)
{
    const size_t from_size = t->count ? t->bytes / (size_t)t->count : 0;
    const size_t to_size = dcc_type_size(want->type);
    const int same = dcc_st_dtype_of(want->type) == t->dtype;
    const unsigned char *data = t->data + (size_t)first * from_size;
    float chunk[ST_CHUNK];
    unsigned char raw[ST_CHUNK * 8];
    dcc_status status = DCC_OK;

    *lost = 0;
    if (same)
        status = st_get(f, data, (size_t)count * from_size, dst);
    if (status != DCC_OK || (same && !want->refuse_nan))
        return status;
    for (int64_t i = 0; i < count; i += ST_CHUNK) {
        int n = count - i < ST_CHUNK ? (int)(count - i) : ST_CHUNK;

        if (!same)
            status = st_get(f, data + (size_t)i * from_size,
                            (size_t)n * from_size, raw);
        if (status != DCC_OK)
            return status;
        *lost += st_decode(t->dtype, same ? dst + (size_t)i * from_size : raw,
                           n, want->type != DCC_F32, chunk);
        for (int k = 0; want->refuse_nan && k < n; k++)
            if (chunk[k] != chunk[k])
                return st_bad_value(f, want, t, first + i + k, "a NaN");
        if (!same)
            *lost += st_encode(want->type, chunk, n,
                               dst + (size_t)i * to_size);
    }
    return DCC_OK;
}

/* ---- integers and bool ---- */

/* The element at `from`; false for a U64 beyond the signed range. */
static int st_integer(const dcc_st_tensor *t, const unsigned char *from,
                      int64_t *out)
{
    uint64_t u = 0;

    memcpy(&u, from, t->bytes / (size_t)t->count);
    switch (t->dtype) {
    case DCC_ST_I8:
        *out = (int8_t)u;
        break;
    case DCC_ST_I16:
        *out = (int16_t)u;
        break;
    case DCC_ST_I32:
        *out = (int32_t)u;
        break;
    default:
        *out = (int64_t)u;
    }
    return t->dtype != DCC_ST_U64 || u <= INT64_MAX;
}

static dcc_status st_read_integers(const dcc_st_file *f,
                                   const dcc_st_want *want,
                                   const dcc_st_tensor *t, int64_t first,
                                   int64_t count, unsigned char *dst)
{
    const int64_t low = want->type == DCC_I8    ? INT8_MIN
                        : want->type == DCC_I32 ? INT32_MIN
                                                : 0;
    const int64_t high = want->type == DCC_I8    ? INT8_MAX
                         : want->type == DCC_U8  ? UINT8_MAX
                         : want->type == DCC_I32 ? INT32_MAX
                                                 : 1;
    const size_t size = dcc_type_size(want->type);
    const size_t from_size = t->count ? t->bytes / (size_t)t->count : 0;
    unsigned char raw[ST_CHUNK * 8];
    dcc_status status = DCC_OK;

    for (int64_t i = 0; i < count; i++) {
        char what[80];
        int64_t v;
        int32_t v32;
        int8_t v8;
        int fits;

        if (i % ST_CHUNK == 0)
            status = st_get(f, t->data + (size_t)(first + i) * from_size,
                            (size_t)(count - i < ST_CHUNK ? count - i
                                                          : ST_CHUNK) *
                                from_size, raw);
        if (status != DCC_OK)
            return status;
        fits = st_integer(t, raw + (size_t)(i % ST_CHUNK) * from_size, &v);
        if (!fits || v < low || v > high) {
            if (fits)
                snprintf(what, sizeof what, "%lld, which is no %s,",
                         (long long)v, dcc_type_name(want->type));
            else
                snprintf(what, sizeof what, "a value that is no %s",
                         dcc_type_name(want->type));
            return st_bad_value(f, want, t, first + i, what);
        }
        v32 = (int32_t)v;
        v8 = (int8_t)v;
        memcpy(dst + (size_t)i * size,
               size == 4 ? (const void *)&v32 : (const void *)&v8, size);
    }
    return DCC_OK;
}

/* ---- the whole ---- */

static dcc_status st_check_shape(const dcc_st_file *f, const dcc_st_want *want,
                                 const dcc_st_tensor *t)
{
    char have[200], need[200];
    int same = t->rank == want->rank;

    for (int d = 0; same && d < t->rank; d++)
        same = t->dim[d] == want->dim[d];
    if (same)
        return DCC_OK;
    return dcc_fail(
        DCC_ERR_FORMAT,
        "%s: %s \"%.200s\" has shape %s in the file, the model needs %s",
        dcc_st_path(f), want->role, want->name,
        dcc_st_shape_text(have, sizeof have, t->rank, t->dim),
        dcc_st_shape_text(need, sizeof need, want->rank, want->dim));
}

static dcc_status st_check_kind(const dcc_st_file *f, const dcc_st_want *want,
                                const dcc_st_tensor *t)
{
    StKind have = st_kind(t->dtype), need = st_kind_wanted(want->type);

    if (have == need)
        return DCC_OK;
    return dcc_fail(
        DCC_ERR_FORMAT,
        "%s: %s \"%.200s\" is %s in the file, the model needs %s%s",
        dcc_st_path(f), want->role, want->name, dcc_st_dtype_name(t->dtype),
        dcc_type_name(want->type),
        have == ST_IS_OTHER ? " (this type cannot be converted)" : "");
}

dcc_status dcc_st_check(const dcc_st_file *f, const dcc_st_want *want)
{
    const dcc_st_tensor *t = dcc_st_find(f, want->name);
    dcc_status status;

    if (!t)
        return dcc_fail(DCC_ERR_FORMAT,
                        "%s: no tensor \"%.200s\" for the %s of that name",
                        dcc_st_path(f), want->name, want->role);
    status = st_check_kind(f, want, t);
    return status == DCC_OK ? st_check_shape(f, want, t) : status;
}

dcc_status dcc_st_read_part(const dcc_st_file *f, const dcc_st_want *want,
                            int64_t first, int64_t count, void *dst,
                            dcc_st_change *change)
{
    const dcc_st_tensor *t = dcc_st_find(f, want->name);
    int64_t lost = 0;
    dcc_status status = dcc_st_check(f, want);

    if (status != DCC_OK)
        return status;
    if (count < 0)
        count = t->count;
    if (st_kind(t->dtype) == ST_IS_FLOAT)
        status = st_read_floats(f, want, t, first, count,
                                (unsigned char *)dst, &lost);
    else
        status = st_read_integers(f, want, t, first, count,
                                  (unsigned char *)dst);
    if (change) {
        change->from = t->dtype;
        change->lost = lost;
        change->converted = st_kind(t->dtype) == ST_IS_FLOAT &&
                            dcc_st_dtype_of(want->type) != t->dtype;
    }
    return status;
}

dcc_status dcc_st_read(const dcc_st_file *f, const dcc_st_want *want,
                       void *dst, dcc_st_change *change)
{
    return dcc_st_read_part(f, want, 0, -1, dst, change);
}
