// dcc_random.cuh - numbers drawn in kernels. Part of dcc_device.cuh, which
// includes it.
#ifndef DCC_RANDOM_CUH
#define DCC_RANDOM_CUH

#include "dcc_philox.h"

// A number in [0, 1): the first word of Philox without its last 8 bits, of the
// counter (place, n, 0, 0) and the key (which, 0).
DCC_DEVICE float dcc_random(int n, int place, int which)
{
    const uint32_t counter[4] = {(uint32_t)place, (uint32_t)n, 0, 0};
    uint32_t r[4];

    dcc_philox(counter, (uint32_t)which, 0, r);
    return (float)(r[0] >> 8) * 0x1p-24f;
}

#endif
