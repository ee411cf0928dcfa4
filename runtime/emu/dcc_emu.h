/* dcc_emu.h - CUDA text as plain C++17 on a CPU: keywords, built-in variables,
 * synchronisation, shuffles, atomics, math. Every CUDA thread is a fiber; a
 * block (with clusters: all blocks of one) belongs to one OS thread. emu.cpp
 * schedules them.
 *
 * Environment of a program built this way:
 *   DCC_EMU_ASYNC=lazy   asynchronous copies happen as late as is legal
 *                        (default, or eager: at once)
 *   DCC_EMU_ORDER=0|1|N  threads run forward, in reverse, in a random order
 *                        of seed N
 *   DCC_EMU_LAUNCH=early each block of a kernel that may wait for the grid
 *                        (dcc_configure_edge) runs up to its dcc_grid_wait
 *                        before the launches ahead have run: a thread that
 *                        touches memory before its wait is a defect, constants
 *                        (dcc_emu_constant) read by it excepted, and so is a
 *                        block that never waits, or a write to constants
 *                        (default, or late: launches one after another)
 *   DCC_EMU_THREADS=N    OS threads (default, or 0: one a core; early: 1)
 *   DCC_EMU_MEMORY=N     bytes of "GPU" memory (default: unlimited)
 *   DCC_EMU_NO_GPU=1     behaves as a machine without a GPU
 *   DCC_EMU_GPUS=N       how many GPUs there are (default: 1), with one memory
 *
 * What is none of these ends the program with status 3.
 *
 * New memory, shared memory included, is filled with 0x7fc1, which is NaN in
 * f32, f16 and bf16, and a large number in i32. A defect that is found
 * (deadlock, divergent collective, bad barrier, a write behind what cudaMalloc
 * gave) ends the program with status 70 and says where the threads are.
 */
#ifndef DCC_EMU_H
#define DCC_EMU_H

#define DCC_EMU 1

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- keywords ---- */

#define __global__
#define __device__
#define __host__
#define __constant__ static
#define __shared__ thread_local /* static arrays: not with clusters */
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __align__(n) __attribute__((aligned(n)))
#define __launch_bounds__(...)
#define __grid_constant__
#define __restrict__ __restrict

/* ---- vector types ---- */

struct uint3 {
    unsigned x, y, z;
};
struct dim3 {
    unsigned x, y, z;
    constexpr dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1)
        : x(a), y(b), z(c)
    {
    }
};

#define DCC_EMU_VECTORS(type, name, bytes)                                 \
    struct alignas(2 * bytes) name##2 { type x, y; };                      \
    struct alignas(4 * bytes) name##4 { type x, y, z, w; };                \
    static inline name##2 make_##name##2(type x, type y)                   \
    {                                                                      \
        return {x, y};                                                     \
    }                                                                      \
    static inline name##4 make_##name##4(type x, type y, type z, type w)   \
    {                                                                      \
        return {x, y, z, w};                                               \
    }
DCC_EMU_VECTORS(float, float, 4)
DCC_EMU_VECTORS(int, int, 4)
DCC_EMU_VECTORS(unsigned, uint, 4)
DCC_EMU_VECTORS(signed char, char, 1)
DCC_EMU_VECTORS(unsigned char, uchar, 1)

/* ---- built-in variables: set whenever a fiber is entered ---- */

extern __thread uint3 threadIdx, blockIdx;
extern __thread dim3 blockDim, gridDim;
#define warpSize 32

/* The dynamic shared memory of the running block. dcc-emu-cc removes the
 * declaration `extern __shared__ ... dcc_smem[];`. */
unsigned char *dcc_emu_smem();
#define dcc_smem (dcc_emu_smem())

/* ---- what the scheduler offers to this header ---- */

/* Prints the fault with block and thread, and ends the program. */
[[noreturn]] void dcc_emu_fault(const char *format, ...)
    __attribute__((format(printf, 1, 2)));

/* Barrier `id` among n threads; waits unless `arrive_only`. */
void dcc_emu_barrier(int id, int n, int arrive_only, const char *where);

/* Collective of the lanes in mask: each posts a pointer, the last to arrive
 * runs f over all 32 slots (NULL: lane is not in mask), then all go on. */
typedef void (*dcc_emu_collective)(void **slot);
void dcc_emu_warp(unsigned mask, void *mine, dcc_emu_collective f,
                  const char *where);

int dcc_emu_lane();
int dcc_emu_block_threads();

#define DCC_EMU_STRING2(x) #x
#define DCC_EMU_STRING(x) DCC_EMU_STRING2(x)
#define DCC_EMU_AT(what) what " at " __FILE__ ":" DCC_EMU_STRING(__LINE__)

/* ---- synchronisation ---- */

#define __syncthreads()                             \
    dcc_emu_barrier(0, dcc_emu_block_threads(), 0,  \
                    DCC_EMU_AT("__syncthreads"))

static inline void dcc_emu_meet(void **) {}

static inline void __syncwarp(unsigned mask = 0xffffffffu)
{
    dcc_emu_warp(mask, &mask, dcc_emu_meet, "__syncwarp");
}

static inline void __threadfence()
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}
static inline void __threadfence_block() {}
static inline void __threadfence_system() { __threadfence(); }

/* ---- shuffles and votes ---- */

struct dcc_emu_shuffle {
    uint64_t in, out;
    int from;
};
void dcc_emu_exchange(void **slot);
void dcc_emu_vote(void **slot);

template <class T>
static inline T dcc_emu_shuffle_from(unsigned mask, T v, int from,
                                     const char *where)
{
    static_assert(sizeof(T) <= 8, "shuffles move up to 8 bytes");
    dcc_emu_shuffle s = {0, 0, from};
    memcpy(&s.in, &v, sizeof v);
    dcc_emu_warp(mask, &s, dcc_emu_exchange, where);
    memcpy(&v, &s.out, sizeof v);
    return v;
}

template <class T>
static inline T __shfl_sync(unsigned mask, T v, int lane, int width = 32)
{
    const int base = dcc_emu_lane() / width * width;
    return dcc_emu_shuffle_from(mask, v, base + (lane & (width - 1)),
                                "__shfl_sync");
}

template <class T>
static inline T __shfl_xor_sync(unsigned mask, T v, int x, int width = 32)
{
    const int lane = dcc_emu_lane(), from = lane ^ x;
    return dcc_emu_shuffle_from(
        mask, v, from / width == lane / width ? from : lane,
        "__shfl_xor_sync");
}

template <class T>
static inline T __shfl_down_sync(unsigned mask, T v, unsigned delta,
                                 int width = 32)
{
    const int lane = dcc_emu_lane(), from = lane + (int)delta;
    return dcc_emu_shuffle_from(
        mask, v, from / width == lane / width ? from : lane,
        "__shfl_down_sync");
}

template <class T>
static inline T __shfl_up_sync(unsigned mask, T v, unsigned delta,
                               int width = 32)
{
    const int lane = dcc_emu_lane(), from = lane - (int)delta;
    return dcc_emu_shuffle_from(mask, v,
                                from >= lane / width * width ? from : lane,
                                "__shfl_up_sync");
}

static inline unsigned __ballot_sync(unsigned mask, int predicate)
{
    unsigned v = predicate != 0;
    dcc_emu_warp(mask, &v, dcc_emu_vote, "__ballot_sync");
    return v;
}
static inline int __any_sync(unsigned mask, int p)
{
    return __ballot_sync(mask, p) != 0;
}
static inline int __all_sync(unsigned mask, int p)
{
    return __ballot_sync(mask, !p) == 0;
}

/* ---- atomics: blocks may run on several OS threads ---- */

template <class T, class F> static inline T dcc_emu_atomic(T *p, F change)
{
    T old, next;
    __atomic_load(p, &old, __ATOMIC_RELAXED);
    do
        next = change(old);
    while (!__atomic_compare_exchange(p, &old, &next, 0, __ATOMIC_RELAXED,
                                      __ATOMIC_RELAXED));
    return old;
}

template <class T> static inline T atomicAdd(T *p, T v)
{
    return dcc_emu_atomic(p, [v](T old) { return (T)(old + v); });
}
template <class T> static inline T atomicMax(T *p, T v)
{
    return dcc_emu_atomic(p, [v](T old) { return old < v ? v : old; });
}
template <class T> static inline T atomicMin(T *p, T v)
{
    return dcc_emu_atomic(p, [v](T old) { return v < old ? v : old; });
}
template <class T> static inline T atomicExch(T *p, T v)
{
    return dcc_emu_atomic(p, [v](T) { return v; });
}
template <class T> static inline T atomicCAS(T *p, T expected, T v)
{
    return dcc_emu_atomic(
        p, [expected, v](T old) { return old == expected ? v : old; });
}
static inline unsigned atomicInc(unsigned *p, unsigned limit)
{
    return dcc_emu_atomic(
        p, [limit](unsigned old) { return old >= limit ? 0 : old + 1; });
}

/* ---- math that math.h lacks ---- */

#define __expf expf /* glibc declares some of these names itself */
#define __logf logf
#define __powf powf
#define __sinf sinf
#define __cosf cosf
#define __tanf tanf
#define __exp10f exp10f
#define __log2f log2f
template <class T> static inline T __ldg(const T *p) { return *p; }
template <class T> static inline T __ldcs(const T *p) { return *p; }
template <class T> static inline T __ldcg(const T *p) { return *p; }
template <class T> static inline void __stcs(T *p, T v) { *p = v; }
template <class T> static inline void __stcg(T *p, T v) { *p = v; }
static inline float rsqrtf(float x) { return 1.0f / sqrtf(x); }
static inline float __frsqrt_rn(float x) { return 1.0f / sqrtf(x); }
static inline float __fdividef(float a, float b) { return a / b; }
static inline float __fdiv_rn(float a, float b) { return a / b; }
static inline float __frcp_rn(float x) { return 1.0f / x; }
static inline float __fsqrt_rn(float x) { return sqrtf(x); }
static inline float __fadd_rn(float a, float b) { return a + b; }
static inline float __fmul_rn(float a, float b) { return a * b; }
static inline float __fmaf_rn(float a, float b, float c)
{
    return fmaf(a, b, c);
}
static inline int min(int a, int b) { return a < b ? a : b; }
static inline int max(int a, int b) { return a > b ? a : b; }
static inline unsigned min(unsigned a, unsigned b) { return a < b ? a : b; }
static inline unsigned max(unsigned a, unsigned b) { return a > b ? a : b; }
static inline long long min(long long a, long long b) { return a < b ? a : b; }
static inline long long max(long long a, long long b) { return a > b ? a : b; }
static inline float min(float a, float b) { return fminf(a, b); }
static inline float max(float a, float b) { return fmaxf(a, b); }
static inline int __popc(unsigned x) { return __builtin_popcount(x); }
static inline int __ffs(int x) { return __builtin_ffs(x); }
static inline int __clz(int x) { return x ? __builtin_clz((unsigned)x) : 32; }

template <class To, class From> static inline To dcc_emu_bits(From v)
{
    static_assert(sizeof(To) == sizeof(From), "same size");
    To out;
    memcpy(&out, &v, sizeof out);
    return out;
}
static inline unsigned __float_as_uint(float f)
{
    return dcc_emu_bits<unsigned>(f);
}
static inline int __float_as_int(float f) { return dcc_emu_bits<int>(f); }
static inline float __uint_as_float(unsigned u)
{
    return dcc_emu_bits<float>(u);
}
static inline float __int_as_float(int i) { return dcc_emu_bits<float>(i); }

#include "dcc_emu_half.h"
#include "dcc_emu_host.h"

#endif
