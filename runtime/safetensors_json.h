/* safetensors_json.h - shared by the parsers of headers (safetensors.c) and of
 * index files (safetensors_index.c); nobody else's business.
 */
#ifndef DCC_SAFETENSORS_JSON_H
#define DCC_SAFETENSORS_JSON_H

#include "safetensors.h"

struct dcc_st_file {
    char *path;
    const unsigned char *bytes;
    size_t size;
    int mapped, fd;         /* of a file that is mapped */
    char *names;            /* decoded names, one after another */
    const char *metadata;   /* among them: key, value, key, value */
    int n_metadata;         /* pairs */
    dcc_st_tensor *tensors; /* sorted by name once parsed */
    int count;
    int capacity;
    dcc_st_file **shards; /* an index: the files that have the tensors */
    int n_shards;
};

/* A position in the header. After an error `failed` is its status and every
 * further step is refused, so callers check once. */
typedef struct {
    dcc_st_file *file;
    const unsigned char *at, *end, *start;
    char *name; /* next free byte of file->names */
    dcc_status failed;
} StCursor;

/* An error at the cursor, unless there was one; always 0. */
__attribute__((format(printf, 2, 3)))
int st_bad(StCursor *c, const char *format, ...);
/* The same for want of memory. */
int st_no_memory(StCursor *c);
void st_blank(StCursor *c);
/* Skips blanks and takes the byte if it is next. */
int st_take(StCursor *c, char byte);
int st_need(StCursor *c, char byte);
/* Decodes a string into file->names; NULL after an error. */
const char *st_string(StCursor *c);
/* Digits only: no sign, fraction, exponent or leading zero. */
int st_number(StCursor *c, int64_t *out);

/* safetensors.c, for the index */
int st_is_index(const char *path);
dcc_st_file *st_new(const char *path);
dcc_status st_map(dcc_st_file *f);
void st_sort_names(dcc_st_file *f);
/* A mapped file whose bytes are an index: opens its files. */
dcc_status st_load_index(dcc_st_file *f);

#endif
