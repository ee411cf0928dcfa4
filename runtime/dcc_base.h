/* dcc_base.h - what every part of the runtime shares: status codes, element
 * types, the error text, float conversions. C and C++, libc only, so that the
 * compiler itself can use it too.
 */
#ifndef DCC_BASE_H
#define DCC_BASE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { DCC_MAX_RANK = 8 };

typedef enum {
    DCC_OK,
    DCC_ERR_IO,     /* a file cannot be opened, read or written */
    DCC_ERR_FORMAT, /* a file's contents are malformed or do not fit */
    DCC_ERR_CUDA,   /* no GPU, wrong GPU, or the driver refused */
    DCC_ERR_MEMORY, /* too little host or GPU memory */
    DCC_ERR_ARG,    /* the caller passed something impossible */
    DCC_ERR_BUG     /* a kernel faulted: a defect of the generated code */
} dcc_status;

/* Element types of the language. In emitted code they are float, __half,
 * __nv_bfloat16, int8_t, int32_t and uint8_t (0 or 1). */
typedef enum {
    DCC_F32,
    DCC_F16,
    DCC_BF16,
    DCC_I8,
    DCC_I32,
    DCC_BOOL,
    DCC_U8
} dcc_type;

/* What a parameter is where no weights file has it. */
typedef enum {
    DCC_BEGIN_NONE,    /* a file must have it */
    DCC_BEGIN_NUMBER,  /* a everywhere */
    DCC_BEGIN_UNIFORM, /* in [a, b) */
    DCC_BEGIN_NORMAL   /* mean a, standard deviation b */
} dcc_begin;

/* Bytes of one element. */
size_t dcc_type_size(dcc_type type);

/* The language's name of the type: "f32", "f16", ... */
const char *dcc_type_name(dcc_type type);

/* Text of this thread's last error; "" if there was none. Valid until the
 * thread's next error. */
const char *dcc_error(void);

/* Records the text of an error and returns `status`, so that callers write
 * `return dcc_fail(DCC_ERR_IO, "%s: ...", path);`. */
dcc_status dcc_fail(dcc_status status, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* IEEE conversions of the 16-bit float types, round to nearest even. */
float dcc_half_to_float(uint16_t bits);
float dcc_bfloat_to_float(uint16_t bits);
uint16_t dcc_float_to_half(float value);
uint16_t dcc_float_to_bfloat(float value);

#ifdef __cplusplus
}
#endif
#endif
