/* base.c - error text, type table and float conversions (dcc_base.h). */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dcc_base.h"

/* The one piece of state of the runtime: every thread's last error. */
static __thread char dcc_error_text[1024];

const char *dcc_error(void)
{
    return dcc_error_text;
}

/* Of a text that does not fit, its begin and its end, where what is wrong
 * stands behind a long path or name. */
static void dcc_shorten(char *text, size_t size, const char *whole)
{
    static const char gap[] = " ... ";
    const size_t half = size / 2 - sizeof gap;

    memcpy(text, whole, half);
    memcpy(text + half, gap, sizeof gap - 1);
    memcpy(text + half + sizeof gap - 1, whole + strlen(whole) - half,
           half + 1);
}

dcc_status dcc_fail(dcc_status status, const char *format, ...)
{
    /* An argument may be the previous text: format aside, then copy. */
    char text[sizeof dcc_error_text];
    char *whole = NULL;
    va_list args;
    int n;

    va_start(args, format);
    n = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (n >= (int)sizeof text)
        whole = (char *)malloc((size_t)n + 1);
    if (whole) {
        va_start(args, format);
        vsnprintf(whole, (size_t)n + 1, format, args);
        va_end(args);
        dcc_shorten(text, sizeof text, whole);
        free(whole);
    }
    memcpy(dcc_error_text, text, sizeof text);
    return status;
}

size_t dcc_type_size(dcc_type type)
{
    switch (type) {
    case DCC_F32:
    case DCC_I32:
        return 4;
    case DCC_F16:
    case DCC_BF16:
        return 2;
    case DCC_I8:
    case DCC_U8:
    case DCC_BOOL:
        return 1;
    }
    return 0;
}

const char *dcc_type_name(dcc_type type)
{
    switch (type) {
    case DCC_F32:
        return "f32";
    case DCC_F16:
        return "f16";
    case DCC_BF16:
        return "bf16";
    case DCC_I8:
        return "i8";
    case DCC_U8:
        return "u8";
    case DCC_I32:
        return "i32";
    case DCC_BOOL:
        return "bool";
    }
    return "?";
}

static uint32_t dcc_float_bits(float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static float dcc_bits_float(uint32_t bits)
{
    float value;

    memcpy(&value, &bits, sizeof value);
    return value;
}

float dcc_bfloat_to_float(uint16_t bits)
{
    return dcc_bits_float((uint32_t)bits << 16);
}

uint16_t dcc_float_to_bfloat(float value)
{
    uint32_t bits = dcc_float_bits(value);

    if ((bits & 0x7fffffff) > 0x7f800000)
        return 0x7fff;
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

float dcc_half_to_float(uint16_t bits)
{
    /* Moves exponent and mantissa into place and rebiases by a product, which
     * also normalises subnormals. */
    float scaled = dcc_bits_float((uint32_t)(bits & 0x7fff) << 13) * 0x1p112f;
    uint32_t out = dcc_float_bits(scaled);

    if (out >= 0x47800000) /* was infinity or NaN */
        out |= 0x7f800000;
    return dcc_bits_float(out | (uint32_t)(bits & 0x8000) << 16);
}

uint16_t dcc_float_to_half(float value)
{
    uint32_t bits = dcc_float_bits(value);
    uint32_t sign = bits >> 16 & 0x8000;

    bits &= 0x7fffffff;
    if (bits > 0x7f800000)
        return 0x7fff;
    if (bits >= 0x477ff000) /* rounds to 65536 or more */
        return (uint16_t)(sign | 0x7c00);
    if (bits < 0x38800000) { /* subnormal: adding 0.5 aligns and rounds */
        float shifted = dcc_bits_float(bits) + 0.5f;
        return (uint16_t)(sign | (dcc_float_bits(shifted) - 0x3f000000));
    }
    bits += 0xc8000fffu + (bits >> 13 & 1);
    return (uint16_t)(sign | bits >> 13);
}
