/* safetensors.c - the reader of safetensors.h: header, lookup. The
 * format: 8 bytes little-endian header size, a JSON header of exactly two
 * levels, then the data, which the tensors must cover without gap or overlap.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "safetensors_json.h"

/* The reference implementation's limit too. */
#define DCC_ST_MAX_HEADER 100000000u

typedef struct {
    const char *name;
    int bits;
} StType;

static const StType st_types[DCC_ST_TYPES] = {
    {"BOOL", 8}, {"U8", 8}, {"I8", 8}, {"I16", 16}, {"U16", 16},
    {"I32", 32}, {"U32", 32}, {"I64", 64}, {"U64", 64}, {"F16", 16},
    {"BF16", 16}, {"F32", 32}, {"F64", 64}, {"F4", 4}, {"F6_E2M3", 6},
    {"F6_E3M2", 6}, {"F8_E4M3", 8}, {"F8_E5M2", 8}, {"F8_E8M0", 8},
    {"C64", 64},
};

const char *dcc_st_dtype_name(dcc_st_dtype dtype)
{
    return st_types[dtype].name;
}

dcc_st_dtype dcc_st_dtype_of(dcc_type type)
{
    switch (type) {
    case DCC_F32:
        return DCC_ST_F32;
    case DCC_F16:
        return DCC_ST_F16;
    case DCC_BF16:
        return DCC_ST_BF16;
    case DCC_I8:
        return DCC_ST_I8;
    case DCC_U8:
        return DCC_ST_U8;
    case DCC_I32:
        return DCC_ST_I32;
    case DCC_BOOL:
        break;
    }
    return DCC_ST_BOOL;
}

char *dcc_st_shape_text(char *text, size_t size, int rank, const int64_t *dim)
{
    size_t at = 0;

    snprintf(text, size, "[");
    for (int d = 0; d < rank; d++) {
        at = strlen(text);
        snprintf(text + at, size - at, "%s%lld", d ? ", " : "",
                 (long long)dim[d]);
    }
    at = strlen(text);
    snprintf(text + at, size - at, "]");
    return text;
}

/* ---- the header ---- */

/* "[1, 2]" of at most `max` numbers; the count, -1 after an error. */
static int st_numbers(StCursor *c, int64_t *out, int max, const char *what)
{
    int n = 0;

    if (!st_need(c, '['))
        return -1;
    if (st_take(c, ']'))
        return 0;
    do {
        if (n == max) {
            st_bad(c, "%s has more than %d numbers", what, max);
            return -1;
        }
        if (!st_number(c, &out[n++]))
            return -1;
    } while (st_take(c, ','));
    return st_need(c, ']') ? n : -1;
}

static int st_dtype(StCursor *c, dcc_st_dtype *out)
{
    char *keep = c->name;
    const char *text = st_string(c);

    if (!text)
        return 0;
    c->name = keep;
    for (int i = 0; i < DCC_ST_TYPES; i++) {
        if (strcmp(text, st_types[i].name) == 0) {
            *out = (dcc_st_dtype)i;
            return 1;
        }
    }
    return st_bad(c, "unknown dtype \"%.40s\"", text);
}

/* Fills count and checks that the offsets hold exactly the shape. */
static int st_check_size(StCursor *c, dcc_st_tensor *t, const int64_t *range)
{
    int64_t bits;
    char shape[200];

    t->count = 1;
    for (int d = 0; d < t->rank; d++)
        if (__builtin_mul_overflow(t->count, t->dim[d], &t->count))
            return st_bad(c, "tensor \"%.200s\" is too large", t->name);
    if (__builtin_mul_overflow(t->count, (int64_t)st_types[t->dtype].bits,
                               &bits))
        return st_bad(c, "tensor \"%.200s\" is too large", t->name);
    if (range[0] > range[1])
        return st_bad(c, "tensor \"%.200s\" ends before it begins", t->name);
    if (bits % 8 != 0 || range[1] - range[0] != bits / 8)
        return st_bad(c,
                      "tensor \"%.200s\" spans %lld bytes, but %s %s is "
                      "%lld bits",
                      t->name, (long long)(range[1] - range[0]),
                      st_types[t->dtype].name,
                      dcc_st_shape_text(shape, sizeof shape, t->rank, t->dim),
                      (long long)bits);
    t->begin = (size_t)range[0];
    t->bytes = (size_t)(range[1] - range[0]);
    return 1;
}

/* {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]} in any order */
static int st_entry(StCursor *c, dcc_st_tensor *t)
{
    enum { DTYPE = 1, SHAPE = 2, OFFSETS = 4, ALL = 7 };
    int seen = 0;
    int64_t range[2] = {0, 0};

    if (!st_need(c, '{'))
        return 0;
    do {
        char *keep = c->name;
        const char *key = st_string(c);
        int which;

        if (!key)
            return 0;
        c->name = keep;
        if (strcmp(key, "dtype") == 0)
            which = DTYPE;
        else if (strcmp(key, "shape") == 0)
            which = SHAPE;
        else if (strcmp(key, "data_offsets") == 0)
            which = OFFSETS;
        else
            return st_bad(c, "unknown key \"%.40s\" for tensor \"%.200s\"",
                          key, t->name);
        if (seen & which)
            return st_bad(c, "\"%s\" twice for tensor \"%.200s\"", key,
                          t->name);
        seen |= which;
        if (!st_need(c, ':'))
            return 0;
        if (which == DTYPE && !st_dtype(c, &t->dtype))
            return 0;
        if (which == SHAPE &&
            (t->rank = st_numbers(c, t->dim, DCC_MAX_RANK, "shape")) < 0)
            return 0;
        if (which == OFFSETS) {
            int n = st_numbers(c, range, 2, "data_offsets");
            if (n != 2)
                return st_bad(c, "data_offsets needs two numbers");
        }
    } while (st_take(c, ','));
    if (!st_need(c, '}'))
        return 0;
    if (seen != ALL)
        return st_bad(c, "tensor \"%.200s\" needs dtype, shape, data_offsets",
                      t->name);
    return st_check_size(c, t, range);
}

/* "__metadata__": strings to strings, decoded one after another */
static int st_metadata(StCursor *c)
{
    c->file->metadata = c->name;
    if (!st_need(c, '{'))
        return 0;
    if (st_take(c, '}'))
        return 1;
    do {
        if (!st_string(c) || !st_need(c, ':') || !st_string(c))
            return 0;
        c->file->n_metadata++;
    } while (st_take(c, ','));
    return st_need(c, '}');
}

static dcc_st_tensor *st_append(StCursor *c)
{
    dcc_st_file *f = c->file;

    if (f->count == f->capacity) {
        int capacity = f->capacity ? 2 * f->capacity : 64;
        void *grown =
            realloc(f->tensors, (size_t)capacity * sizeof *f->tensors);
        if (!grown) {
            st_no_memory(c);
            return NULL;
        }
        f->tensors = (dcc_st_tensor *)grown;
        f->capacity = capacity;
    }
    dcc_st_tensor *t = &f->tensors[f->count++];
    memset(t, 0, sizeof *t);
    return t;
}

static int st_header(StCursor *c)
{
    int seen_metadata = 0;

    if (c->at == c->end || *c->at != '{')
        return st_bad(c, "the header must begin with '{'");
    c->at++;
    if (!st_take(c, '}')) {
        do {
            const char *name = st_string(c);

            if (!name || !st_need(c, ':'))
                return 0;
            if (strcmp(name, "__metadata__") == 0) {
                if (seen_metadata++)
                    return st_bad(c, "__metadata__ twice");
                if (!st_metadata(c))
                    return 0;
                continue;
            }
            dcc_st_tensor *t = st_append(c);
            if (!t)
                return 0;
            t->name = name;
            if (!st_entry(c, t))
                return 0;
        } while (st_take(c, ','));
        if (!st_need(c, '}'))
            return 0;
    }
    st_blank(c);
    return c->at == c->end || st_bad(c, "text after the header's end");
}

/* ---- whole-file checks ---- */

static int st_by_place(const void *a, const void *b)
{
    const dcc_st_tensor *x = (const dcc_st_tensor *)a;
    const dcc_st_tensor *y = (const dcc_st_tensor *)b;

    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? -1 : 1;
    return strcmp(x->name, y->name);
}

static int st_by_name(const void *a, const void *b)
{
    return strcmp(((const dcc_st_tensor *)a)->name,
                  ((const dcc_st_tensor *)b)->name);
}

static void st_sort(dcc_st_file *f, int (*compare)(const void *, const void *))
{
    if (f->count)
        qsort(f->tensors, (size_t)f->count, sizeof *f->tensors, compare);
}

void st_sort_names(dcc_st_file *f)
{
    st_sort(f, st_by_name);
}

/* Tensors must tile the data: no overlap, no gap, nothing left over. Leaves
 * them in the order of their places. */
static dcc_status st_check_cover(dcc_st_file *f, size_t data_bytes)
{
    size_t end = 0;

    st_sort(f, st_by_place);
    for (int i = 0; i < f->count; i++) {
        const dcc_st_tensor *t = &f->tensors[i];

        if (t->begin < end)
            return dcc_fail(DCC_ERR_FORMAT,
                            "%s: tensors \"%.200s\" and \"%.200s\" overlap",
                            f->path, f->tensors[i - 1].name, t->name);
        if (t->begin > data_bytes || t->bytes > data_bytes - t->begin)
            return dcc_fail(DCC_ERR_FORMAT,
                            "%s: truncated: tensor \"%.200s\" ends at data "
                            "byte %zu, the file holds %zu",
                            f->path, t->name, t->begin + t->bytes, data_bytes);
        if (t->begin > end)
            return dcc_fail(DCC_ERR_FORMAT,
                            "%s: data bytes %zu to %zu, before tensor "
                            "\"%.200s\", belong to no tensor",
                            f->path, end, t->begin, t->name);
        end = t->begin + t->bytes;
    }
    if (end != data_bytes)
        return dcc_fail(DCC_ERR_FORMAT,
                        "%s: %zu bytes after the last tensor's end", f->path,
                        data_bytes - end);
    return DCC_OK;
}

static dcc_status st_check_names(dcc_st_file *f)
{
    st_sort(f, st_by_name);
    for (int i = 1; i < f->count; i++)
        if (strcmp(f->tensors[i - 1].name, f->tensors[i].name) == 0)
            return dcc_fail(DCC_ERR_FORMAT,
                            "%s: two tensors are called \"%.200s\"", f->path,
                            f->tensors[i].name);
    return DCC_OK;
}

/* What files that people take for weights begin with. */
static const char *st_kind(const unsigned char *bytes)
{
    static const struct {
        const char *begin;
        size_t n;
        const char *is;
    } kinds[] = {
        {"PK\3\4", 4, "a zip archive, as PyTorch's .pt"},
        {"\x80\2", 2, "a Python pickle"},
        {"\x80\4", 2, "a Python pickle"},
        {"\x80\5", 2, "a Python pickle"},
        {"\x93NUMPY", 6, "numpy's .npy"},
        {"\x89HDF", 4, "HDF5, as Keras's .h5"},
        {"GGUF", 4, "GGUF"},
    };
    int text = 1;

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (memcmp(bytes, kinds[i].begin, kinds[i].n) == 0)
            return kinds[i].is;
    for (int i = 0; i < 8; i++)
        text &= (bytes[i] >= 32 && bytes[i] < 127) ||
                (bytes[i] && strchr("\t\n\r", bytes[i]));
    return text ? "text" : NULL;
}

static dcc_status st_load(dcc_st_file *f)
{
    uint64_t header = 0;
    StCursor c;
    dcc_status status;

    if (f->size < 8)
        return dcc_fail(DCC_ERR_FORMAT,
                        "%s: %zu bytes are too few for a safetensors file",
                        f->path, f->size);
    for (int i = 7; i >= 0; i--)
        header = header << 8 | f->bytes[i];
    if (header > DCC_ST_MAX_HEADER && st_kind(f->bytes))
        return dcc_fail(DCC_ERR_FORMAT,
                        "%s: not a safetensors file: it is %s", f->path,
                        st_kind(f->bytes));
    if (header > DCC_ST_MAX_HEADER)
        return dcc_fail(DCC_ERR_FORMAT,
                        "%s: not a safetensors file: a header of %llu bytes "
                        "(the limit is %u)",
                        f->path, (unsigned long long)header,
                        DCC_ST_MAX_HEADER);
    if (header > f->size - 8)
        return dcc_fail(DCC_ERR_FORMAT,
                        "%s: truncated: a header of %llu bytes in a file of "
                        "%zu",
                        f->path, (unsigned long long)header, f->size);
    f->names = (char *)malloc((size_t)header + 1);
    if (!f->names)
        return dcc_fail(DCC_ERR_MEMORY, "%s: out of memory", f->path);
    memset(&c, 0, sizeof c);
    c.file = f;
    c.start = c.at = f->bytes + 8;
    c.end = c.start + header;
    c.name = f->names;
    if (!st_header(&c))
        return c.failed;
    status = st_check_names(f);
    if (status == DCC_OK)
        status = st_check_cover(f, f->size - 8 - (size_t)header);
    if (status == DCC_OK)
        st_sort(f, st_by_name);
    for (int i = 0; i < f->count; i++)
        f->tensors[i].data = c.end + f->tensors[i].begin;
    return status;
}

dcc_st_file *st_new(const char *path)
{
    dcc_st_file *f = (dcc_st_file *)calloc(1, sizeof *f);

    if (f && !(f->path = strdup(path))) {
        free(f);
        f = NULL;
    }
    return f;
}

dcc_status dcc_st_parse(dcc_st_file **out, const char *label,
                        const void *bytes, size_t size)
{
    dcc_st_file *f = st_new(label);
    dcc_status status;

    *out = NULL;
    if (!f)
        return dcc_fail(DCC_ERR_MEMORY, "%s: out of memory", label);
    f->bytes = (const unsigned char *)bytes;
    f->size = size;
    status = st_load(f);
    if (status == DCC_OK)
        *out = f;
    else
        dcc_st_close(f);
    return status;
}

/* Maps the file's bytes; f->bytes stays NULL for an empty one. */
dcc_status st_map(dcc_st_file *f)
{
    struct stat info;
    void *bytes = MAP_FAILED;
    int fd = open(f->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    int ok;

    if (fd < 0)
        return dcc_fail(DCC_ERR_IO, "%s: %s", f->path, strerror(errno));
    ok = fstat(fd, &info) == 0;
    if (ok && !S_ISREG(info.st_mode)) {
        close(fd);
        return dcc_fail(DCC_ERR_IO, "%s: not a regular file", f->path);
    }
    if (ok && info.st_size > 0) {
        f->size = (size_t)info.st_size;
        bytes = mmap(NULL, f->size, PROT_READ, MAP_PRIVATE, fd, 0);
        ok = bytes != MAP_FAILED;
    }
    if (!ok)
        dcc_fail(DCC_ERR_IO, "%s: %s", f->path, strerror(errno));
    if (bytes == MAP_FAILED) {
        close(fd);
        return ok ? DCC_OK : DCC_ERR_IO;
    }
    f->bytes = (const unsigned char *)bytes;
    f->mapped = 1;
    f->fd = fd;
    return DCC_OK;
}

int st_is_index(const char *path)
{
    const size_t n = strlen(path);

    return n > 5 && strcmp(path + n - 5, ".json") == 0;
}

dcc_status dcc_st_open(dcc_st_file **out, const char *path)
{
    dcc_st_file *f = st_new(path);
    dcc_status status;

    *out = NULL;
    if (!f)
        return dcc_fail(DCC_ERR_MEMORY, "%s: out of memory", path);
    status = st_map(f);
    if (status == DCC_OK)
        status = st_is_index(path) ? st_load_index(f) : st_load(f);
    if (status == DCC_OK)
        *out = f;
    else
        dcc_st_close(f);
    return status;
}

void dcc_st_close(dcc_st_file *f)
{
    if (!f)
        return;
    if (f->mapped) {
        munmap((void *)f->bytes, f->size);
        close(f->fd);
    }
    for (int i = 0; i < f->n_shards; i++)
        dcc_st_close(f->shards[i]);
    free(f->shards);
    free(f->tensors);
    free(f->names);
    free(f->path);
    free(f);
}

const char *dcc_st_path(const dcc_st_file *f)
{
    return f->path;
}

int dcc_st_count(const dcc_st_file *f)
{
    return f->count;
}

const dcc_st_tensor *dcc_st_at(const dcc_st_file *f, int i)
{
    return &f->tensors[i];
}

const char *dcc_st_metadata(const dcc_st_file *f, const char *key)
{
    const char *at = f->metadata;

    for (int i = 0; i < f->n_metadata; i++) {
        const char *value = at + strlen(at) + 1;

        if (strcmp(at, key) == 0)
            return value;
        at = value + strlen(value) + 1;
    }
    return NULL;
}

const dcc_st_tensor *dcc_st_find(const dcc_st_file *f, const char *name)
{
    dcc_st_tensor key;

    memset(&key, 0, sizeof key);
    key.name = name;
    if (f->count == 0)
        return NULL;
    return (const dcc_st_tensor *)bsearch(&key, f->tensors, (size_t)f->count,
                                          sizeof key, st_by_name);
}
