// dcc_random.cuh - numbers drawn in kernels. Part of dcc_device.cuh, which
// includes it.
#ifndef DCC_RANDOM_CUH
#define DCC_RANDOM_CUH

// A number in [0, 1): the first word of Philox4x32-10 (Salmon, Moraes, Dror,
// Shaw 2011) without its last 8 bits, of the counter (place, n, 0, 0) and the
// key (which, 0).
DCC_DEVICE float dcc_random(int n, int place, int which)
{
    uint32_t c0 = (uint32_t)place, c1 = (uint32_t)n, c2 = 0, c3 = 0;
    uint32_t key0 = (uint32_t)which, key1 = 0;

#pragma unroll
    for (int round = 0; round < 10; ++round) {
        const uint64_t p = (uint64_t)0xd2511f53u * c0;
        const uint64_t q = (uint64_t)0xcd9e8d57u * c2;
        c0 = (uint32_t)(q >> 32) ^ c1 ^ key0;
        c1 = (uint32_t)q;
        c2 = (uint32_t)(p >> 32) ^ c3 ^ key1;
        c3 = (uint32_t)p;
        key0 += 0x9e3779b9u;
        key1 += 0xbb67ae85u;
    }
    return (float)(c0 >> 8) * 0x1p-24f;
}

#endif
