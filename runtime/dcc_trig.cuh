// dcc_trig.cuh - sine, cosine and tangent, for every f32. dcc_device.cuh
// includes it. CUDA's keep a product of eight words in local memory, for
// arguments that are far out; these have all in registers.
#ifndef DCC_TRIG_CUH
#define DCC_TRIG_CUH

// x is a number of quarter turns, modulo four, and what is left of it: a
// fraction of pi / 2 in [-1/2, 1/2], times pi / 2.
struct dcc_angle { float left; unsigned quarter; };

// Word n of 2 / pi in binary; word 0 is what stands before the point.
DCC_DEVICE uint32_t dcc_two_over_pi(int n)
{
    return n < 4 ? n < 2 ? n < 1 ? 0u : 0xa2f9836eu
                         : n < 3 ? 0x4e441529u : 0xfc2757d1u
                 : n < 6 ? n < 5 ? 0xf534ddc0u : 0xdb629599u
                         : n < 7 ? 0x3c439041u : 0xfe5163abu;
}

// Of |x| >= 2^16. x is m 2^(e - 23) with an integer m. Bits of 2 / pi that make
// multiples of four with it are left out, and of the others 96 are enough: the
// f32 that comes nearest to a quarter turn is 2^-30 of one away.
DCC_DEVICE dcc_angle dcc_angle_far(float x)
{
    const uint32_t bits = __float_as_uint(x);
    const uint32_t m = (bits & 0x7fffffu) | 0x800000u;
    const int first = (int)(bits >> 23 & 255u) - 120, word = first >> 5;
    uint32_t w[4];
#pragma unroll
    for (int i = 0; i < 4; ++i)
        w[i] = dcc_two_over_pi(word + i);
    const int shift = first & 31;
#pragma unroll
    for (int i = 0; i < 3; ++i)
        w[i] = (uint32_t)(((uint64_t)w[i] << 32 | w[i + 1]) >> (32 - shift));
    // the product's upper 64 bits of 96: two of quarters, the rest a fraction
    const uint64_t p = ((uint64_t)(m * w[0]) << 32) + (uint64_t)m * w[1] +
                       ((uint64_t)m * w[2] >> 32);
    const uint64_t near = p + ((uint64_t)1 << 61);
    const int64_t part = (int64_t)(p << 2) >> 1; // of 2^63
    const float high = (float)part, low = (float)(part - (int64_t)high);
    // times pi 2^-64, in two parts
    const float rest = fmaf(high, -4.73919821e-27f, low * 1.70306084e-19f);
    const float left = fmaf(high, 1.70306084e-19f, rest);
    dcc_angle a = {left, (uint32_t)(near >> 62)};
    if (bits >> 31)
        a = {-left, 0u - a.quarter};
    if ((bits & 0x7f800000u) == 0x7f800000u)
        a.left = x - x;
    return a;
}

// pi / 2 in three parts below it: the first product is exact, and the zero's
// sign stays.
DCC_DEVICE dcc_angle dcc_angle_of(float x)
{
    if (!(fabsf(x) < 65536.0f))
        return dcc_angle_far(x);
    const float turns = fmaf(x, 0.636619772f, 12582912.0f); // 1.5 * 2^23
    const float n = turns - 12582912.0f;
    float left = fmaf(n, -1.57079625f, x);
    left = fmaf(n, -7.54978942e-8f, left);
    left = fmaf(n, -5.39030295e-15f, left);
    return {left, __float_as_uint(turns)};
}

// Polynomials fitted for the least error on [-pi / 4, pi / 4].
DCC_DEVICE float dcc_sin_near(float x)
{
    const float z = x * x;
    float p = fmaf(-1.95172266e-4f, z, 8.332178e-3f);
    p = fmaf(p, z, -0.166666552f);
    return x == 0.0f ? x : fmaf(x * z, p, x); // -0 stays
}

DCC_DEVICE float dcc_cos_near(float x)
{
    const float z = x * x;
    float p = fmaf(2.44383809e-5f, z, -1.38873665e-3f);
    p = fmaf(p, z, 4.16666456e-2f);
    p = fmaf(p, z, -0.5f);
    return fmaf(p, z, 1.0f);
}

DCC_DEVICE float dcc_circle(dcc_angle a)
{
    const float y = a.quarter & 1 ? dcc_cos_near(a.left) : dcc_sin_near(a.left);
    return a.quarter & 2 ? -y : y;
}

// Within 1.6 units of their last place, the tangent 3.2 (CUDA's: 2 and 4).
DCC_DEVICE float dcc_sin(float x) { return dcc_circle(dcc_angle_of(x)); }
DCC_DEVICE float dcc_cos(float x)
{
    dcc_angle a = dcc_angle_of(x);
    ++a.quarter;
    return dcc_circle(a);
}
DCC_DEVICE float dcc_tan(float x)
{
    const dcc_angle a = dcc_angle_of(x);
    const float s = dcc_sin_near(a.left), c = dcc_cos_near(a.left);
    return a.quarter & 1 ? -c / s : s / c;
}

#endif
