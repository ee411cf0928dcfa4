/* safetensors_index.c - weights in several files: {"weight_map": {"tensor":
 * "model-00001-of-00002.safetensors", ...}, ...}, as transformers writes it
 * (model.safetensors.index.json). The files lie beside the index.
 */
#include <stdlib.h>
#include <string.h>

#include "safetensors_json.h"

enum { ST_MOST_SHARDS = 10000, ST_DEEPEST = 16 };

/* "a/b.index.json" and "c": "a/c", to be freed. */
static char *st_beside(const char *index, const char *name)
{
    const char *slash = strrchr(index, '/');
    const size_t folder = slash ? (size_t)(slash - index) + 1 : 0;
    char *path = (char *)malloc(folder + strlen(name) + 1);

    if (path) {
        memcpy(path, index, folder);
        strcpy(path + folder, name);
    }
    return path;
}

/* The file of that name, opened the first time; NULL after an error. */
static dcc_st_file *st_shard(StCursor *c, const char *name)
{
    dcc_st_file *f = c->file, **more;
    char *path;

    if (!*name || strchr(name, '/') || *name == '.') {
        st_bad(c, "\"%.200s\" is no name of a file beside the index", name);
        return NULL;
    }
    if (st_is_index(name)) { /* perhaps this one, without an end */
        st_bad(c, "\"%.200s\" is an index as well", name);
        return NULL;
    }
    path = st_beside(f->path, name);
    for (int i = 0; path && i < f->n_shards; i++)
        if (strcmp(f->shards[i]->path, path) == 0) {
            free(path);
            return f->shards[i];
        }
    more = path && f->n_shards < ST_MOST_SHARDS
               ? (dcc_st_file **)realloc(
                     f->shards, ((size_t)f->n_shards + 1) * sizeof *more)
               : NULL;
    if (!more) {
        if (path && f->n_shards == ST_MOST_SHARDS)
            st_bad(c, "more than %d files", ST_MOST_SHARDS);
        else
            st_no_memory(c);
        free(path);
        return NULL;
    }
    f->shards = more;
    c->failed = dcc_st_open(&f->shards[f->n_shards], path);
    free(path);
    if (c->failed) {
        dcc_fail(c->failed, "%s: %s", f->path, dcc_error());
        return NULL;
    }
    return f->shards[f->n_shards++];
}

static int st_add(StCursor *c, const dcc_st_tensor *t)
{
    dcc_st_file *f = c->file;

    if (f->count == f->capacity) {
        const int capacity = f->capacity ? 2 * f->capacity : 64;
        dcc_st_tensor *more = (dcc_st_tensor *)realloc(
            f->tensors, (size_t)capacity * sizeof *more);

        if (!more)
            return st_no_memory(c);
        f->tensors = more;
        f->capacity = capacity;
    }
    f->tensors[f->count++] = *t;
    return 1;
}

/* "tensor": "file" */
static int st_mapping(StCursor *c)
{
    const char *tensor = st_string(c), *name;
    dcc_st_file *shard;
    const dcc_st_tensor *t;

    if (!tensor || !st_need(c, ':') || !(name = st_string(c)))
        return 0;
    shard = st_shard(c, name);
    if (!shard)
        return 0;
    t = dcc_st_find(shard, tensor);
    if (!t)
        return st_bad(c, "%.200s has no tensor \"%.200s\"", name, tensor);
    return st_add(c, t);
}

/* Any value, which nobody asks for. */
static int st_skip(StCursor *c, int depth)
{
    if (depth > ST_DEEPEST)
        return st_bad(c, "nested too deeply");
    if (st_take(c, '{') || st_take(c, '[')) {
        const int object = c->at[-1] == '{';
        const char close = object ? '}' : ']';

        if (st_take(c, close))
            return 1;
        do {
            if (object && (!st_string(c) || !st_need(c, ':')))
                return 0;
            if (!st_skip(c, depth + 1))
                return 0;
        } while (st_take(c, ','));
        return st_need(c, close);
    }
    if (c->at < c->end && *c->at == '"')
        return st_string(c) != NULL;
    const unsigned char *from = c->at;
    while (c->at < c->end && !strchr(",]} \t\r\n", *c->at))
        c->at++;
    return c->at > from || st_bad(c, "expected a value");
}

static int st_members(StCursor *c)
{
    int found = 0;

    if (!st_need(c, '{'))
        return 0;
    do {
        const char *key = st_string(c);

        if (!key || !st_need(c, ':'))
            return 0;
        if (strcmp(key, "weight_map") != 0) {
            if (!st_skip(c, 0))
                return 0;
            continue;
        }
        found = 1;
        if (!st_need(c, '{'))
            return 0;
        if (st_take(c, '}'))
            continue;
        do {
            if (!st_mapping(c))
                return 0;
        } while (st_take(c, ','));
        if (!st_need(c, '}'))
            return 0;
    } while (st_take(c, ','));
    if (!st_need(c, '}'))
        return 0;
    return found || st_bad(c, "no \"weight_map\": not an index of weights");
}

dcc_status st_load_index(dcc_st_file *f)
{
    StCursor c;

    f->names = (char *)malloc(f->size + 1);
    if (!f->names)
        return dcc_fail(DCC_ERR_MEMORY, "%s: out of memory", f->path);
    memset(&c, 0, sizeof c);
    c.file = f;
    c.start = c.at = f->bytes;
    c.end = f->bytes + f->size;
    c.name = f->names;
    if (!f->bytes)
        return dcc_fail(DCC_ERR_FORMAT, "%s: the file is empty", f->path);
    if (!st_members(&c))
        return c.failed;
    st_sort_names(f);
    for (int i = 1; i < f->count; i++)
        if (strcmp(f->tensors[i - 1].name, f->tensors[i].name) == 0)
            return dcc_fail(DCC_ERR_FORMAT,
                            "%s: tensor \"%.200s\" is named twice", f->path,
                            f->tensors[i].name);
    return DCC_OK;
}
