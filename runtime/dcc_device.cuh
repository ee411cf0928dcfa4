// dcc_device.cuh - what emitted kernels use beyond plain CUDA: element types
// and conversions with the language's rules, reductions, and small wrappers
// around single PTX instructions (the only inline PTX there is). Section names
// are those of the PTX ISA manual, version 8.8.
//
// The wrappers of instructions have CPU versions in emu/ of the same names and
// promises, so a kernel that calls them runs on both.
#ifndef DCC_DEVICE_CUH
#define DCC_DEVICE_CUH

#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <limits.h>
#include <stdint.h>

#include "dcc_rt.h"

#define DCC_DEVICE static __device__ __forceinline__

// ---- vectors: one load or store instruction moves one -----------------------

struct alignas(8) dcc_f32x2 { float v[2]; };
struct alignas(16) dcc_f32x4 { float v[4]; };
struct alignas(4) dcc_f16x2 { __half v[2]; };
struct alignas(8) dcc_f16x4 { __half v[4]; };
struct alignas(16) dcc_f16x8 { __half v[8]; };
struct alignas(4) dcc_bf16x2 { __nv_bfloat16 v[2]; };
struct alignas(8) dcc_bf16x4 { __nv_bfloat16 v[4]; };
struct alignas(16) dcc_bf16x8 { __nv_bfloat16 v[8]; };
struct alignas(8) dcc_i32x2 { int32_t v[2]; };
struct alignas(16) dcc_i32x4 { int32_t v[4]; };
struct alignas(2) dcc_i8x2 { int8_t v[2]; };
struct alignas(4) dcc_i8x4 { int8_t v[4]; };
struct alignas(8) dcc_i8x8 { int8_t v[8]; };
struct alignas(16) dcc_i8x16 { int8_t v[16]; };
struct alignas(2) dcc_u8x2 { uint8_t v[2]; };
struct alignas(4) dcc_u8x4 { uint8_t v[4]; };
struct alignas(8) dcc_u8x8 { uint8_t v[8]; };
struct alignas(16) dcc_u8x16 { uint8_t v[16]; };
struct alignas(2) dcc_boolx2 { uint8_t v[2]; };
struct alignas(4) dcc_boolx4 { uint8_t v[4]; };
struct alignas(8) dcc_boolx8 { uint8_t v[8]; };
struct alignas(16) dcc_boolx16 { uint8_t v[16]; };

// ---- shared memory: laid out by a struct ------------------------------------

// The block's dynamic shared memory as a T; the launcher asks for BYTES.
template <class T, int BYTES> DCC_DEVICE T &dcc_shared()
{
    static_assert(sizeof(T) <= BYTES, "what the launcher asks for");
#ifndef DCC_EMU
    extern __shared__ __align__(1024) unsigned char dcc_smem[];
#endif
    return *reinterpret_cast<T *>(dcc_smem);
}

// ---- single instructions ----------------------------------------------------

#ifdef DCC_EMU
#include "dcc_emu_device.h"
#else
#include "dcc_ptx.cuh"
#endif

// ---- conversions ------------------------------------------------------------

DCC_DEVICE float dcc_to_float(float x) { return x; }
DCC_DEVICE float dcc_to_float(__half x) { return __half2float(x); }
DCC_DEVICE float dcc_to_float(__nv_bfloat16 x) { return __bfloat162float(x); }
DCC_DEVICE float dcc_to_float(int8_t x) { return (float)x; }
DCC_DEVICE float dcc_to_float(int32_t x) { return (float)x; }
DCC_DEVICE float dcc_to_float(uint8_t x) { return (float)x; }

// Casts of the language: floats round to nearest even; integers truncate,
// saturate, and take 0 for NaN; bool is "not 0".
DCC_DEVICE __half dcc_to_f16(float x) { return __float2half_rn(x); }
DCC_DEVICE __nv_bfloat16 dcc_to_bf16(float x) { return __float2bfloat16_rn(x); }

DCC_DEVICE int32_t dcc_to_i32(float x)
{
    return x >= 2147483648.0f    ? 2147483647
           : x <= -2147483648.0f ? -2147483647 - 1
           : x == x              ? (int32_t)x
                                 : 0;
}

DCC_DEVICE int32_t dcc_to_i32(int32_t x) { return x; }
DCC_DEVICE int32_t dcc_to_i32(int8_t x) { return x; }
DCC_DEVICE int32_t dcc_to_i32(uint8_t x) { return x; }

DCC_DEVICE int8_t dcc_to_i8(float x)
{
    return x >= 127.0f    ? (int8_t)127
           : x <= -128.0f ? (int8_t)-128
           : x == x       ? (int8_t)(int)x
                          : (int8_t)0;
}

DCC_DEVICE int8_t dcc_to_i8(int32_t x)
{
    return (int8_t)(x > 127 ? 127 : x < -128 ? -128 : x);
}

DCC_DEVICE uint8_t dcc_to_u8(float x)
{
    return x >= 255.0f ? (uint8_t)255 : x > 0.0f ? (uint8_t)(int)x : (uint8_t)0;
}

DCC_DEVICE uint8_t dcc_to_u8(int32_t x)
{
    return (uint8_t)(x > 255 ? 255 : x < 0 ? 0 : x);
}

DCC_DEVICE uint8_t dcc_to_bool(float x) { return x == x && x != 0.0f; }
DCC_DEVICE uint8_t dcc_to_bool(int32_t x) { return x != 0; }

// The same by type: dcc_from_float<__half>(x).
template <class T> DCC_DEVICE T dcc_from_float(float x);
template <> __device__ __forceinline__ float dcc_from_float<float>(float x)
{
    return x;
}
template <> __device__ __forceinline__ __half dcc_from_float<__half>(float x)
{
    return dcc_to_f16(x);
}
template <>
__device__ __forceinline__ __nv_bfloat16 dcc_from_float<__nv_bfloat16>(float x)
{
    return dcc_to_bf16(x);
}
template <> __device__ __forceinline__ int32_t dcc_from_float<int32_t>(float x)
{
    return dcc_to_i32(x);
}
template <> __device__ __forceinline__ int8_t dcc_from_float<int8_t>(float x)
{
    return dcc_to_i8(x);
}
template <> __device__ __forceinline__ uint8_t dcc_from_float<uint8_t>(float x)
{
    return dcc_to_bool(x);
}

// Two elements in the 32-bit register that mma.sync takes; `low` is the one
// with the lower index.
DCC_DEVICE uint32_t dcc_pack(__half low, __half high)
{
    return (uint32_t)__half_as_ushort(low) |
           (uint32_t)__half_as_ushort(high) << 16;
}

DCC_DEVICE uint32_t dcc_pack(__nv_bfloat16 low, __nv_bfloat16 high)
{
    return (uint32_t)__bfloat16_as_ushort(low) |
           (uint32_t)__bfloat16_as_ushort(high) << 16;
}

// Such a register as two values, and back.
template <class T> DCC_DEVICE void dcc_unpack(float (&v)[2], uint32_t pair)
{
    T two[2];
    memcpy(two, &pair, sizeof two);
    v[0] = dcc_to_float(two[0]);
    v[1] = dcc_to_float(two[1]);
}

template <class T> DCC_DEVICE uint32_t dcc_pack_pair(float low, float high);
template <>
__device__ __forceinline__ uint32_t dcc_pack_pair<__half>(float low, float high)
{
    const __half2 two = __floats2half2_rn(low, high);
    return dcc_pack(two.x, two.y);
}
template <>
__device__ __forceinline__ uint32_t
dcc_pack_pair<__nv_bfloat16>(float low, float high)
{
    const __nv_bfloat162 two = __floats2bfloat162_rn(low, high);
    return dcc_pack(two.x, two.y);
}

// ---- fragments: neighbouring elements as an array of values -----------------

DCC_DEVICE void dcc_assign(float &to, float x) { to = x; }
DCC_DEVICE void dcc_assign(float &to, __half x) { to = __half2float(x); }
DCC_DEVICE void dcc_assign(float &to, __nv_bfloat16 x)
{
    to = __bfloat162float(x);
}
DCC_DEVICE void dcc_assign(int &to, int32_t x) { to = x; }
DCC_DEVICE void dcc_assign(int &to, int8_t x) { to = x; }
DCC_DEVICE void dcc_assign(int &to, uint8_t x) { to = x; }
DCC_DEVICE void dcc_assign(bool &to, uint8_t x) { to = x != 0; }
DCC_DEVICE void dcc_assign(__half &to, float x) { to = __float2half_rn(x); }
DCC_DEVICE void dcc_assign(__nv_bfloat16 &to, float x)
{
    to = __float2bfloat16_rn(x);
}
DCC_DEVICE void dcc_assign(int8_t &to, int x) { to = dcc_to_i8(x); }
DCC_DEVICE void dcc_assign(uint8_t &to, int x) { to = dcc_to_u8(x); }
DCC_DEVICE void dcc_assign(uint8_t &to, bool x) { to = x; }

template <class T, int N> struct alignas(sizeof(T) * N) dcc_vector {
    T v[N];
};

// N neighbouring elements as values, STEP at a time; STEP elements are at most
// 16 bytes, and `from` is a multiple of that.
template <int STEP, int N, class F, class T>
DCC_DEVICE void dcc_load(F (&to)[N], const T *from)
{
    static_assert(N % STEP == 0, "whole vectors");
#pragma unroll
    for (int i = 0; i < N; i += STEP) {
        const dcc_vector<T, STEP> x =
            *reinterpret_cast<const dcc_vector<T, STEP> *>(from + i);
#pragma unroll
        for (int j = 0; j < STEP; ++j)
            dcc_assign(to[i + j], x.v[j]);
    }
}

// A word's elements as values. Halves from the whole word: by elements, nvcc
// chooses each on its own where a condition has chosen the word.
template <class F, class T>
DCC_DEVICE void dcc_spread(F *to, uint32_t word, const T *)
{
    T x[4 / sizeof(T)];
    memcpy(x, &word, sizeof x);
#pragma unroll
    for (int i = 0; i < int(4 / sizeof(T)); ++i)
        dcc_assign(to[i], x[i]);
}

DCC_DEVICE void dcc_spread(float *to, uint32_t word, const __half *)
{
    __half2 x;
    memcpy(&x, &word, sizeof x);
    const float2 two = __half22float2(x);
    to[0] = two.x;
    to[1] = two.y;
}

// dcc_load where `in`; elsewhere zeros, or `other`. By words, which a condition
// chooses at once: STEP elements are 4, 8 or 16 bytes.
template <int STEP, int N, class F, class T>
DCC_DEVICE void dcc_load_if(F (&to)[N], bool in, const T *from)
{
    static_assert(N % STEP == 0, "whole vectors");
    using words = dcc_vector<uint32_t, STEP * sizeof(T) / 4>;
#pragma unroll
    for (int i = 0; i < N; i += STEP) {
        words bits = {};
        if (in)
            bits = *reinterpret_cast<const words *>(from + i);
#pragma unroll
        for (int j = 0; j < int(STEP * sizeof(T) / 4); ++j) {
            asm volatile("" : "+r"(bits.v[j])); // a word, no halves
            dcc_spread(&to[i + j * int(4 / sizeof(T))], bits.v[j], from);
        }
    }
}

template <int STEP, int N, class F, class T>
DCC_DEVICE void dcc_load_if(F (&to)[N], bool in, const T *from, F other)
{
    dcc_load_if<STEP>(to, in, from);
    for (int i = 0; i < N && !in; ++i)
        to[i] = other;
}

// Whether a result may stay in the caches, or is out of their way at once.
enum dcc_way { DCC_KEPT, DCC_PAST };

template <dcc_way WAY, class V>
DCC_DEVICE void dcc_put(void *to, const V &from)
{
    uint32_t word[(sizeof from + 3) / 4];
    memcpy(word, &from, sizeof from);
    if (WAY == DCC_PAST && sizeof from == 16)
        dcc_put16(to, word);
    else if (WAY == DCC_PAST && sizeof from == 8)
        dcc_put8(to, word);
    else if (WAY == DCC_PAST && sizeof from == 4)
        dcc_put4(to, word);
    else if (WAY == DCC_PAST && sizeof from == 2)
        dcc_put2(to, word);
    else
        *static_cast<V *>(to) = from;
}

template <int STEP, dcc_way WAY = DCC_KEPT, int N, class F, class T>
DCC_DEVICE void dcc_store(T *to, const F (&from)[N])
{
    static_assert(N % STEP == 0, "whole vectors");
#pragma unroll
    for (int i = 0; i < N; i += STEP) {
        dcc_vector<T, STEP> x;
#pragma unroll
        for (int j = 0; j < STEP; ++j)
            dcc_assign(x.v[j], from[i + j]);
        dcc_put<WAY>(to + i, x);
    }
}

DCC_DEVICE __half2 dcc_pair(float a, float b, const __half *)
{
    return __floats2half2_rn(a, b);
}
DCC_DEVICE __nv_bfloat162 dcc_pair(float a, float b, const __nv_bfloat16 *)
{
    return __floats2bfloat162_rn(a, b);
}

// The same, but `least` where they are less (or NaN), which T has exactly: then
// it makes no difference that they are compared two at a time, rounded.
template <int STEP, dcc_way WAY = DCC_KEPT, int N, class T>
DCC_DEVICE void dcc_store_max(T *to, const float (&from)[N], float least)
{
    static_assert(N % STEP == 0 && STEP % 2 == 0, "whole vectors, of pairs");
#pragma unroll
    for (int i = 0; i < N; i += STEP) {
        dcc_vector<T, STEP> x;
#pragma unroll
        for (int j = 0; j < STEP; j += 2) {
            const auto pair =
                __hmax2(dcc_pair(from[i + j], from[i + j + 1], to),
                        dcc_pair(least, least, to));
            memcpy(&x.v[j], &pair, sizeof pair);
        }
        dcc_put<WAY>(to + i, x);
    }
}

// A vector like those above, or N side by side; the address is a multiple of a
// vector's size.
template <class V, class T> DCC_DEVICE void dcc_read(V &to, const T *from)
{
    to = *reinterpret_cast<const V *>(from);
}

template <class V, int N, class T>
DCC_DEVICE void dcc_read(V (&to)[N], const T *from)
{
#pragma unroll
    for (int i = 0; i < N; ++i)
        to[i] = reinterpret_cast<const V *>(from)[i];
}

template <int N, class F> DCC_DEVICE void dcc_fill(F (&to)[N], F x)
{
#pragma unroll
    for (int i = 0; i < N; ++i)
        to[i] = x;
}

template <int N, class F>
DCC_DEVICE void dcc_fill(F (&to)[N], const F (&from)[N])
{
#pragma unroll
    for (int i = 0; i < N; ++i)
        to[i] = from[i];
}

template <int N, int M, class F, class X>
DCC_DEVICE void dcc_fill(F (&to)[N][M], const X &x)
{
#pragma unroll
    for (int i = 0; i < N; ++i)
        dcc_fill(to[i], x);
}

// Every row of values moves up by one: the last leaves, the first is all x, a
// value or as many as there are lanes.
template <int L, int N, int M, class F, class X>
DCC_DEVICE void dcc_shift(F (&row)[L][N][M], const X &x)
{
#pragma unroll
    for (int i = L - 1; i > 0; --i)
#pragma unroll
        for (int j = 0; j < N; ++j)
#pragma unroll
            for (int k = 0; k < M; ++k)
                row[i][j][k] = row[i - 1][j][k];
    dcc_fill(row[0], x);
}

// ---- many quotients by one divisor ------------------------------------------

// x / r as a product: within two units in the last place of f32. The scale, a
// power of two, keeps the inverse of the smallest and largest r in range.
struct dcc_divisor {
    float inverse, scale;
};

DCC_DEVICE dcc_divisor dcc_divisor_of(float r)
{
    const float size = fabsf(r);
    const float scale = size < 0x1p-100f   ? 0x1p64f
                        : size > 0x1p100f ? 0x1p-64f
                                          : 1.0f;
    return {1.0f / (r * scale), scale};
}

DCC_DEVICE float dcc_divide(float x, dcc_divisor r)
{
    return x * r.inverse * r.scale;
}

// ---- integer arithmetic of the language -------------------------------------

// They wrap around, where an overflow of int may be anything. The text calls
// them where the values' ranges leave 32 bits.
DCC_DEVICE int32_t dcc_wrap_add(int32_t a, int32_t b)
{
    return (int32_t)((uint32_t)a + (uint32_t)b);
}

DCC_DEVICE int32_t dcc_wrap_sub(int32_t a, int32_t b)
{
    return (int32_t)((uint32_t)a - (uint32_t)b);
}

DCC_DEVICE int32_t dcc_wrap_mul(int32_t a, int32_t b)
{
    return (int32_t)((uint32_t)a * (uint32_t)b);
}

DCC_DEVICE int32_t dcc_wrap_neg(int32_t a) { return dcc_wrap_sub(0, a); }

DCC_DEVICE int32_t dcc_wrap_abs(int32_t a)
{
    return a < 0 ? dcc_wrap_neg(a) : a;
}

// acc + a * b of either type.
DCC_DEVICE float dcc_mad(float a, float b, float acc) { return acc + a * b; }
DCC_DEVICE int32_t dcc_mad(int32_t a, int32_t b, int32_t acc)
{
    return dcc_wrap_add(acc, dcc_wrap_mul(a, b));
}

// Division is the floor; by zero it is 0.
DCC_DEVICE int32_t dcc_floor_div(int32_t a, int32_t b)
{
    if (b == 0)
        return 0;
    if (b == -1) // -2^31 / -1 wraps, as on the GPU
        return dcc_wrap_neg(a);
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

DCC_DEVICE int32_t dcc_floor_mod(int32_t a, int32_t b)
{
    if (b == 0 || b == -1)
        return 0;
    const int32_t r = a % b;
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

// The same in index arithmetic, where d > 0 is a constant.
template <class T, class D> DCC_DEVICE T dcc_floordiv(T a, D d)
{
    return a / d - (a % d < 0);
}

template <class T, class D> DCC_DEVICE T dcc_floormod(T a, D d)
{
    const T r = a % d;
    return r < 0 ? r + d : r;
}

// Bounds of 64-bit offsets are printed as plain numbers.
DCC_DEVICE long long min(long long a, int b) { return a < b ? a : b; }
DCC_DEVICE long long max(long long a, int b) { return a > b ? a : b; }

// ---- least and greatest: a NaN loses ----------------------------------------

DCC_DEVICE float dcc_max(float a, float b) { return fmaxf(a, b); }
DCC_DEVICE float dcc_min(float a, float b) { return fminf(a, b); }
DCC_DEVICE int32_t dcc_max(int32_t a, int32_t b) { return a > b ? a : b; }
DCC_DEVICE int32_t dcc_min(int32_t a, int32_t b) { return a < b ? a : b; }

// ---- reductions -------------------------------------------------------------

// A candidate of argmax. DCC_NO_INDEX is the identity: it loses to everything.
template <class T> struct dcc_arg {
    T value;
    int32_t index;
};

enum : int32_t { DCC_NO_INDEX = 0x7fffffff };

struct dcc_op_sum {
    template <class T> static __device__ __forceinline__ T apply(T a, T b)
    {
        return a + b;
    }
    static __device__ __forceinline__ int32_t apply(int32_t a, int32_t b)
    {
        return dcc_wrap_add(a, b);
    }
};

struct dcc_op_prod {
    template <class T> static __device__ __forceinline__ T apply(T a, T b)
    {
        return a * b;
    }
    static __device__ __forceinline__ int32_t apply(int32_t a, int32_t b)
    {
        return dcc_wrap_mul(a, b);
    }
};

struct dcc_op_max {
    template <class T> static __device__ __forceinline__ T apply(T a, T b)
    {
        return dcc_max(a, b);
    }
};

struct dcc_op_min {
    template <class T> static __device__ __forceinline__ T apply(T a, T b)
    {
        return dcc_min(a, b);
    }
};

// The greater value; the first of equals; a NaN loses.
struct dcc_op_argmax {
    template <class T>
    static __device__ __forceinline__ dcc_arg<T> apply(dcc_arg<T> a,
                                                       dcc_arg<T> b)
    {
        if (a.index == DCC_NO_INDEX || b.index == DCC_NO_INDEX)
            return a.index == DCC_NO_INDEX ? b : a;
        const bool a_is_nan = a.value != a.value;
        const bool b_is_nan = b.value != b.value;
        if (a_is_nan != b_is_nan)
            return a_is_nan ? b : a;
        if (a.value == b.value || a_is_nan)
            return a.index < b.index ? a : b;
        return a.value > b.value ? a : b;
    }

    // Where b is behind a, and behind all that a was chosen from.
    template <class T> DCC_DEVICE dcc_arg<T> next(dcc_arg<T> a, dcc_arg<T> b)
    {
        const bool greater = !(b.value <= a.value) && b.value == b.value;
        return greater || a.index == DCC_NO_INDEX ? b : a;
    }
};

template <class T> DCC_DEVICE T dcc_shuffle_xor(T x, int mask)
{
    return __shfl_xor_sync(0xffffffffu, x, mask);
}

template <class T> DCC_DEVICE dcc_arg<T> dcc_shuffle_xor(dcc_arg<T> x, int mask)
{
    x.value = __shfl_xor_sync(0xffffffffu, x.value, mask);
    x.index = __shfl_xor_sync(0xffffffffu, x.index, mask);
    return x;
}

// Reduces over each aligned group of WIDTH lanes, APART from one to the next;
// every lane gets the result. All 32 lanes of the warp must call it.
template <class Op, int WIDTH = 32, int APART = 1, class T>
DCC_DEVICE T dcc_warp_reduce(T x)
{
#pragma unroll
    for (int mask = WIDTH / 2 * APART; mask >= APART; mask /= 2)
        x = Op::apply(x, dcc_shuffle_xor(x, mask));
    return x;
}

// Reduces over a one-dimensional block of WARPS full warps, in one fixed
// order; every thread gets the result. `scratch` is WARPS elements of shared
// memory that nobody uses between the call's two barriers. LANES: the warps'
// results, a power of two of them, are combined by lanes.
template <class Op, int WARPS, bool LANES = false, class T>
DCC_DEVICE T dcc_block_reduce(T x, T *scratch)
{
    x = dcc_warp_reduce<Op>(x);
    if (WARPS == 1)
        return x;
    if (threadIdx.x % 32 == 0)
        scratch[threadIdx.x / 32] = x;
    __syncthreads();
    x = scratch[LANES ? threadIdx.x % WARPS : 0];
    if (LANES)
        x = dcc_warp_reduce<Op, WARPS>(x);
#pragma unroll
    for (int w = 1; w < WARPS && !LANES; ++w)
        x = Op::apply(x, scratch[w]);
    __syncthreads();
    return x;
}

template <int WIDTH = 32, class T> DCC_DEVICE T dcc_warp_sum(T x)
{
    return dcc_warp_reduce<dcc_op_sum, WIDTH>(x);
}
template <int WIDTH = 32, class T> DCC_DEVICE T dcc_warp_prod(T x)
{
    return dcc_warp_reduce<dcc_op_prod, WIDTH>(x);
}
template <int WIDTH = 32, class T> DCC_DEVICE T dcc_warp_max(T x)
{
    return dcc_warp_reduce<dcc_op_max, WIDTH>(x);
}
template <int WIDTH = 32, class T> DCC_DEVICE T dcc_warp_min(T x)
{
    return dcc_warp_reduce<dcc_op_min, WIDTH>(x);
}
template <int WIDTH = 32, class T>
DCC_DEVICE dcc_arg<T> dcc_warp_argmax(dcc_arg<T> x)
{
    return dcc_warp_reduce<dcc_op_argmax, WIDTH>(x);
}

template <int WARPS, class T> DCC_DEVICE T dcc_block_sum(T x, T *scratch)
{
    return dcc_block_reduce<dcc_op_sum, WARPS>(x, scratch);
}
template <int WARPS, class T> DCC_DEVICE T dcc_block_prod(T x, T *scratch)
{
    return dcc_block_reduce<dcc_op_prod, WARPS>(x, scratch);
}
template <int WARPS, class T> DCC_DEVICE T dcc_block_max(T x, T *scratch)
{
    return dcc_block_reduce<dcc_op_max, WARPS>(x, scratch);
}
template <int WARPS, class T> DCC_DEVICE T dcc_block_min(T x, T *scratch)
{
    return dcc_block_reduce<dcc_op_min, WARPS>(x, scratch);
}
template <int WARPS, class T>
DCC_DEVICE dcc_arg<T> dcc_block_argmax(dcc_arg<T> x, dcc_arg<T> *scratch)
{
    // dear to combine: of many warps' results each lane takes one
    return dcc_block_reduce<dcc_op_argmax, WARPS, (WARPS > 4)>(x, scratch);
}

// ---- functions that are dear in CUDA's library ------------------------------

// The normal distribution's integral, (1 + erf(x / sqrt 2)) / 2, within 2^-23;
// from -4 on within 2^-12 of itself, which that sum in f32 is not. At -|x| it
// is 2^q, with q a polynomial fitted for the least error of 2^q where that is
// not tiny; beyond, q falls on.
DCC_DEVICE float dcc_normcdf(float x)
{
    const float t = fabsf(x);
    float q = -2.83491272e-6f;
    q = fmaf(q, t, 3.93776936e-5f);
    q = fmaf(q, t, -1.86180245e-4f);
    q = fmaf(q, t, -1.36936345e-4f);
    q = fmaf(q, t, 7.06342002e-3f);
    q = fmaf(q, t, -5.24961799e-2f);
    q = fmaf(q, t, -0.45920819f);
    q = fmaf(q, t, -1.15110517f);
    q = fmaf(q, t, -1.0f);
    return fabsf((x > 0.0f ? 1.0f : 0.0f) - dcc_ex2(q));
}

// x dcc_normcdf(x)
DCC_DEVICE float dcc_gelu(float x) { return x * dcc_normcdf(x); }

// gelu(a + b) where that is made of a sum of many products and stored in 16
// bits: within 2^-13 of itself and 2^-25 |a + b|. With h = (a + b) / 2, one
// instruction where many a have the same b, it is
//   h + |h| (1 - 2 normcdf(-|2h|)),
// the latter as 1 - 2^q; beyond |h| = 2.5, q falls on.
DCC_DEVICE float dcc_gelu16(float a, float b)
{
    const float h = fmaf(a, 0.5f, 0.5f * b), t = fabsf(h);
    float q = -1.11641493e-2f;
    q = fmaf(q, t, 0.0975589678f);
    q = fmaf(q, t, -0.393009305f);
    q = fmaf(q, t, -1.85178399f);
    q = fmaf(q, t, -2.2994175f);
    q = fmaf(q, t, -8.285e-5f);
    return fmaf(t, 1.0f - dcc_ex2(q), h);
}

// 1 / (1 + e^-x), within 6 + 1.5 |x| units of 2^-24 of itself.
DCC_DEVICE float dcc_logistic(float x)
{
    return dcc_rcp(1.0f + dcc_ex2(-1.44269504f * x));
}

// Its slope, dcc_logistic(x) dcc_logistic(-x), within 12 + 3 |x| units of 2^-24
// of itself; of both at one x, what takes long is computed once. Where e^-x is
// infinite, its inverse is 0.
DCC_DEVICE float dcc_logistic_slope(float x)
{
    const float e = dcc_ex2(-1.44269504f * x), r = dcc_rcp(1.0f + e);
    return fminf(e, 1e38f) * r * r;
}

// ---- neighbouring elements as 32-bit words ----------------------------------

// Element i of the words.
template <class T> DCC_DEVICE float dcc_word_value(const uint32_t *w, int i);
template <>
__device__ __forceinline__ float dcc_word_value<float>(const uint32_t *w, int i)
{
    return __uint_as_float(w[i]);
}
template <>
__device__ __forceinline__ float dcc_word_value<__half>(const uint32_t *w,
                                                        int i)
{
    return __half2float(
        __ushort_as_half((unsigned short)(w[i / 2] >> i % 2 * 16)));
}
template <>
__device__ __forceinline__ float
dcc_word_value<__nv_bfloat16>(const uint32_t *w, int i)
{
    return __uint_as_float(i % 2 ? w[i / 2] & 0xffff0000u : w[i / 2] << 16);
}

// The lower and the upper halves of two words.
DCC_DEVICE uint32_t dcc_low_halves(uint32_t a, uint32_t b)
{
    return (a & 0xffffu) | b << 16;
}

DCC_DEVICE uint32_t dcc_high_halves(uint32_t a, uint32_t b)
{
    return a >> 16 | (b & 0xffff0000u);
}

// N words of constant memory that is read once, PIECE bytes at a time; what
// lies beyond the first `bytes` is not touched, and 0.
template <int PIECE, int N>
DCC_DEVICE void dcc_stream(uint32_t (&to)[N], const void *from,
                           int bytes = 4 * N)
{
    static_assert(PIECE == 2 || 4 * N % PIECE == 0, "whole pieces");
    const char *const at = static_cast<const char *>(from);
#pragma unroll
    for (int i = 0; i < N; ++i)
        to[i] = 0;
#pragma unroll
    for (int i = 0; i < 4 * N / PIECE; ++i) {
        if (i * PIECE >= bytes)
            continue;
        if (PIECE == 16)
            dcc_stream16(&to[i * PIECE / 4], at + i * PIECE);
        else if (PIECE == 8)
            dcc_stream8(&to[i * PIECE / 4], at + i * PIECE);
        else if (PIECE == 4)
            dcc_stream4(&to[i * PIECE / 4], at + i * PIECE);
        else
            to[i / 2] |= (uint32_t)*reinterpret_cast<const unsigned short *>(
                             at + i * PIECE) << i % 2 * 16;
    }
}

#include "dcc_contract.cuh"
#include "dcc_chain.cuh"
#include "dcc_list.cuh"
#include "dcc_scan.cuh"
#include "dcc_rows.cuh"
#include "dcc_turn.cuh"
#include "dcc_trig.cuh"
#include "dcc_random.cuh"
#include "dcc_check.cuh"

#endif
