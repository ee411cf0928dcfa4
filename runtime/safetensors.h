/* safetensors.h - reads and writes .safetensors files
 * (https://github.com/huggingface/safetensors). Files are untrusted: every
 * offset, size and name is checked before any tensor is handed out. C and C++,
 * libc only.
 */
#ifndef DCC_SAFETENSORS_H
#define DCC_SAFETENSORS_H

#include "dcc_base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Element types a file may hold; the sub-byte ones, the scale F8_E8M0 and the
 * complex C64 are known by size only and cannot be read into a tensor. */
typedef enum {
    DCC_ST_BOOL,
    DCC_ST_U8,
    DCC_ST_I8,
    DCC_ST_I16,
    DCC_ST_U16,
    DCC_ST_I32,
    DCC_ST_U32,
    DCC_ST_I64,
    DCC_ST_U64,
    DCC_ST_F16,
    DCC_ST_BF16,
    DCC_ST_F32,
    DCC_ST_F64,
    DCC_ST_F4,
    DCC_ST_F6_E2M3,
    DCC_ST_F6_E3M2,
    DCC_ST_F8_E4M3,
    DCC_ST_F8_E5M2,
    DCC_ST_F8_E8M0,
    DCC_ST_C64,
    DCC_ST_TYPES
} dcc_st_dtype;

typedef struct {
    const char *name; /* UTF-8, owned by the file */
    dcc_st_dtype dtype;
    int rank;
    int64_t dim[DCC_MAX_RANK];
    int64_t count; /* elements */
    size_t begin;  /* in the file's data section */
    size_t bytes;
    const unsigned char *data; /* in the mapping; any alignment */
} dcc_st_tensor;

typedef struct dcc_st_file dcc_st_file;

/* Maps a file and checks all of its header. *out is NULL on error. The file
 * must not be truncated by others while it is open. A path that ends with
 * .json is the index of several files beside it, which stand for one: its
 * "weight_map" says which has a tensor. */
dcc_status dcc_st_open(dcc_st_file **out, const char *path);

/* The same over bytes in memory, which must outlive the file object; `label`
 * stands for the path in errors. */
dcc_status dcc_st_parse(dcc_st_file **out, const char *label,
                        const void *bytes, size_t size);

/* NULL is allowed. */
void dcc_st_close(dcc_st_file *file);

const char *dcc_st_path(const dcc_st_file *file);

/* Tensors in the order of their names (strcmp). */
int dcc_st_count(const dcc_st_file *file);
const dcc_st_tensor *dcc_st_at(const dcc_st_file *file, int i);

/* NULL if there is none of that name. */
const dcc_st_tensor *dcc_st_find(const dcc_st_file *file, const char *name);

/* What the file's metadata says of a key; NULL: nothing. */
const char *dcc_st_metadata(const dcc_st_file *file, const char *key);

const char *dcc_st_dtype_name(dcc_st_dtype dtype);
dcc_st_dtype dcc_st_dtype_of(dcc_type type);

/* What a reader expects of one tensor. */
typedef struct {
    const char *name;
    dcc_type type;
    int rank;
    const int64_t *dim;
    int refuse_nan; /* weights: a NaN is an error that names its index */
    const char *role; /* for messages: "parameter", "input" */
} dcc_st_want;

/* What reading did to the values. */
typedef struct {
    int converted;     /* between float types */
    dcc_st_dtype from; /* the file's type */
    int64_t lost;      /* finite values that became infinite */
} dcc_st_change;

/* Copies a tensor into dst (row-major, type `want->type`), converting between
 * float types, and between integer types where every value fits. An integer
 * where a float is wanted (or the reverse), a missing tensor or another shape
 * is DCC_ERR_FORMAT. `change` may be NULL. */
dcc_status dcc_st_read(const dcc_st_file *file, const dcc_st_want *want,
                       void *dst, dcc_st_change *change);

/* The same for the elements [first, first + count) alone, into dst; count -1:
 * all. */
dcc_status dcc_st_read_part(const dcc_st_file *file, const dcc_st_want *want,
                            int64_t first, int64_t count, void *dst,
                            dcc_st_change *change);

/* Whether it is there, of a type and shape that can be read; no value is. */
dcc_status dcc_st_check(const dcc_st_file *file, const dcc_st_want *want);

/* "[2, 3]" into text; returns text. */
char *dcc_st_shape_text(char *text, size_t size, int rank, const int64_t *dim);

typedef struct {
    const char *name;
    dcc_st_dtype dtype; /* a type of whole bytes */
    int rank;
    const int64_t *dim;
    const void *data; /* row-major */
} dcc_st_out;

/* Writes all tensors or nothing: a temporary file beside `path` takes its
 * place at the end and is removed on any error. A device or pipe is written
 * directly, `-` is standard output, a link stays one. Metadata is a list of
 * n_metadata key, value pairs. */
dcc_status dcc_st_write(const char *path, const dcc_st_out *tensors, int n,
                        const char *const *metadata, int n_metadata);

/* The same, and the file is on the disk when it takes its place: what `path`
 * was before or all that is new, whatever happens to the machine. */
dcc_status dcc_st_write_durable(const char *path, const dcc_st_out *tensors,
                                int n, const char *const *metadata,
                                int n_metadata);

/* Writes a text file in the same manner. */
dcc_status dcc_write_text(const char *path, const char *text);

#ifdef __cplusplus
}
#endif
#endif
