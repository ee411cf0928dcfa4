/* dcc_emu_half.h - __half and __nv_bfloat16 on a CPU: storage of 16 bits,
 * conversions rounded to nearest even, arithmetic through float.
 */
#ifndef DCC_EMU_HALF_H
#define DCC_EMU_HALF_H

#if defined(__F16C__)
#include <immintrin.h>
#endif

static inline float dcc_emu_half_to_float(uint16_t h)
{
#if defined(__F16C__)
    return _cvtsh_ss(h);
#else
    const float f =
        __uint_as_float((uint32_t)(h & 0x7fff) << 13) * 0x1p112f;
    uint32_t bits = __float_as_uint(f);
    if (bits >= 0x47800000u)
        bits |= 0x7f800000u;
    return __uint_as_float(bits | (uint32_t)(h & 0x8000) << 16);
#endif
}

static inline uint16_t dcc_emu_float_to_half(float f)
{
    uint32_t bits = __float_as_uint(f);
    const uint32_t sign = bits >> 16 & 0x8000;
    bits &= 0x7fffffff;
    if (bits > 0x7f800000u)
        return 0x7fff;
    if (bits >= 0x477ff000u)
        return (uint16_t)(sign | 0x7c00);
    if (bits < 0x38800000u)
        return (uint16_t)(
            sign | (__float_as_uint(__uint_as_float(bits) + 0.5f) -
                    0x3f000000u));
    bits += 0xc8000fffu + (bits >> 13 & 1);
    return (uint16_t)(sign | bits >> 13);
}

static inline float dcc_emu_bfloat_to_float(uint16_t h)
{
    return __uint_as_float((uint32_t)h << 16);
}

static inline uint16_t dcc_emu_float_to_bfloat(float f)
{
    const uint32_t bits = __float_as_uint(f);
    if ((bits & 0x7fffffff) > 0x7f800000u)
        return 0x7fff;
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

struct __half {
    uint16_t bits;
    __half() = default;
    __half(float f) : bits(dcc_emu_float_to_half(f)) {}
    operator float() const { return dcc_emu_half_to_float(bits); }
};

struct __nv_bfloat16 {
    uint16_t bits;
    __nv_bfloat16() = default;
    __nv_bfloat16(float f) : bits(dcc_emu_float_to_bfloat(f)) {}
    operator float() const { return dcc_emu_bfloat_to_float(bits); }
};

typedef __half half;
typedef __nv_bfloat16 nv_bfloat16;

struct alignas(4) __half2 {
    __half x, y;
};
struct alignas(4) __nv_bfloat162 {
    __nv_bfloat16 x, y;
};
typedef __half2 half2;
typedef __nv_bfloat162 nv_bfloat162;

static inline __half __float2half(float f) { return f; }
static inline __half __float2half_rn(float f) { return f; }
static inline float __half2float(__half h) { return h; }
static inline __nv_bfloat16 __float2bfloat16(float f) { return f; }
static inline __nv_bfloat16 __float2bfloat16_rn(float f) { return f; }
static inline float __bfloat162float(__nv_bfloat16 h) { return h; }
static inline unsigned short __half_as_ushort(__half h) { return h.bits; }
static inline unsigned short __bfloat16_as_ushort(__nv_bfloat16 h)
{
    return h.bits;
}
static inline __half __ushort_as_half(unsigned short bits)
{
    __half h;
    h.bits = bits;
    return h;
}
static inline __nv_bfloat16 __ushort_as_bfloat16(unsigned short bits)
{
    __nv_bfloat16 h;
    h.bits = bits;
    return h;
}
static inline __half2 __halves2half2(__half a, __half b) { return {a, b}; }
static inline __half2 __floats2half2_rn(float a, float b)
{
    return {__half(a), __half(b)};
}
static inline __nv_bfloat162 __floats2bfloat162_rn(float a, float b)
{
    return {__nv_bfloat16(a), __nv_bfloat16(b)};
}
static inline __half2 __hmax2(__half2 a, __half2 b)
{
    return {__half(fmaxf(a.x, b.x)), __half(fmaxf(a.y, b.y))};
}
static inline __nv_bfloat162 __hmax2(__nv_bfloat162 a, __nv_bfloat162 b)
{
    return {__nv_bfloat16(fmaxf(a.x, b.x)), __nv_bfloat16(fmaxf(a.y, b.y))};
}
static inline float2 __half22float2(__half2 h)
{
    return {(float)h.x, (float)h.y};
}
static inline float2 __bfloat1622float2(__nv_bfloat162 h)
{
    return {(float)h.x, (float)h.y};
}

#endif
