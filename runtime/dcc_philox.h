/* dcc_philox.h - Philox4x32-10 (Salmon, Moraes, Dror, Shaw 2011), the source of
 * all numbers drawn: what parameters begin as, on the host, and random(), in
 * kernels and in the oracle. C, C++ and CUDA. */
#ifndef DCC_PHILOX_H
#define DCC_PHILOX_H

#include <stdint.h>

#ifdef __CUDACC__
#define DCC_PHILOX static __host__ __device__ __forceinline__
#else
#define DCC_PHILOX static inline
#endif

DCC_PHILOX void dcc_philox(const uint32_t counter[4], uint32_t key0,
                           uint32_t key1, uint32_t out[4])
{
    uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2],
             c3 = counter[3];

#ifdef __CUDACC__
#pragma unroll
#endif
    for (int round = 0; round < 10; round++) {
        const uint64_t p = (uint64_t)0xd2511f53u * c0;
        const uint64_t q = (uint64_t)0xcd9e8d57u * c2;

        c0 = (uint32_t)(q >> 32) ^ c1 ^ key0;
        c1 = (uint32_t)q;
        c2 = (uint32_t)(p >> 32) ^ c3 ^ key1;
        c3 = (uint32_t)p;
        key0 += 0x9e3779b9u;
        key1 += 0xbb67ae85u;
    }
    out[0] = c0;
    out[1] = c1;
    out[2] = c2;
    out[3] = c3;
}

#endif
