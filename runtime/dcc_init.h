/* dcc_init.h - what parameters begin as that no file has. C and C++; the same
 * numbers wherever they are drawn.
 *
 * Element i of the parameter "name" is drawn from philox(counter, key) with
 * counter = (i mod 2^32, i / 2^32, 0, 0) and key = (k mod 2^32, k / 2^32),
 * where k is the seed xor the 64-bit FNV-1a of the name. Of the words r the
 * uniform value is low + (high - low) floor(r0 / 2^8) / 2^24, the normal one
 *     mean + std sqrt(-2 ln u) cos(2 pi v),
 *     u = (r0 + 1/2) / 2^32, v = (r1 + 1/2) / 2^32,
 * both in double and then rounded to f32 and to the parameter's type.
 */
#ifndef DCC_INIT_H
#define DCC_INIT_H

#include <math.h>
#include <string.h>

#include "dcc_base.h"
#include "dcc_philox.h"

/* The key of the draws that `name` has. */
static inline uint64_t dcc_init_key(const char *name, uint64_t seed)
{
    uint64_t hash = 0xcbf29ce484222325u;

    for (; *name; name++)
        hash = (hash ^ (unsigned char)*name) * 0x100000001b3u;
    return seed ^ hash;
}

static inline double dcc_init_value(dcc_begin begin, double a, double b,
                                    uint64_t key, uint64_t i)
{
    const uint32_t counter[4] = {(uint32_t)i, (uint32_t)(i >> 32), 0, 0};
    uint32_t r[4];

    if (begin == DCC_BEGIN_NUMBER)
        return a;
    dcc_philox(counter, (uint32_t)key, (uint32_t)(key >> 32), r);
    if (begin == DCC_BEGIN_UNIFORM)
        return a + (b - a) * ((double)(r[0] >> 8) * 0x1p-24);
    return a + b * sqrt(-2 * log(((double)r[0] + 0.5) * 0x1p-32)) *
                   cos(6.283185307179586 * (((double)r[1] + 0.5) * 0x1p-32));
}

/* Elements first .. first + n of the parameter, as its type has them. */
static inline void dcc_init_fill(dcc_begin begin, double a, double b,
                                 const char *name, uint64_t seed,
                                 dcc_type type, size_t first, size_t n,
                                 void *out)
{
    const uint64_t key = dcc_init_key(name, seed);
    unsigned char *to = (unsigned char *)out;

    for (size_t i = 0; i < n; i++) {
        const double x = dcc_init_value(begin, a, b, key, first + i);
        const float f = (float)x;
        /* integers are numbers that fit: dcc saw to it */
        const int32_t v = begin == DCC_BEGIN_NUMBER && x >= -0x1p31 &&
                                  x < 0x1p31
                              ? (int32_t)x
                              : 0;
        const uint16_t h = type == DCC_F16 ? dcc_float_to_half(f)
                                           : dcc_float_to_bfloat(f);

        switch (type) {
        case DCC_F32:
            memcpy(to + 4 * i, &f, 4);
            break;
        case DCC_I32:
            memcpy(to + 4 * i, &v, 4);
            break;
        case DCC_F16:
        case DCC_BF16:
            memcpy(to + 2 * i, &h, 2);
            break;
        case DCC_I8:
        case DCC_U8:
        case DCC_BOOL:
            to[i] = (unsigned char)v;
            break;
        }
    }
}

#endif
