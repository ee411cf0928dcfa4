// emu_case.h - what the kernels by hand of test_emu*.cu are run with: seeded
// defects, memory, comparison.
#ifndef EMU_CASE_H
#define EMU_CASE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dcc_device.cuh"
#include "dcc_rt.h"

// Defects to seed, passed to the kernels as a number.
enum Mutation {
    NONE,
    NO_BARRIER,    // shared memory is read before others wrote it
    NO_WAIT,       // a copy is used before it is waited for
    NO_END,        // a stage is overwritten while others read it
    HALF_BARRIER,  // half of the threads do not come to a barrier
    WRONG_BYTES,   // the mbarrier expects less than the loads bring
    NO_INIT,       // an mbarrier is used as it was found
    NO_STORE_WAIT, // shared memory is reused while a store reads it
    OVERRUN,       // one element beyond the end of a tensor
    SMEM_OVERRUN,  // one element beyond the launch's shared memory
    DIVERGENT,     // half of a warp is elsewhere in a collective
    NO_CLUSTER_SYNC,
    NO_RELEASE,    // a block leaves while arrivals are on their way to it
    EARLY_READ,     // what the launch ahead writes is read before the wait
    EARLY_WRITE,    // memory is written before the wait
    EARLY_COPY,     // an asynchronous copy begins before the wait
    WARP_NO_WAIT,   // half of the warps store, and do not wait
    BLOCK_NO_WAIT,  // one block does not wait, and touches nothing
    WRITE_CONSTANT, // a weight is written, after the wait
    NO_FILL         // a sum begins with what its register holds
};

static int failures;

static void expect(const char *what, double got, double want, double bound)
{
    if (!(got - want <= bound && want - got <= bound) && failures++ < 5)
        printf("%s: %.9g, expected %.9g\n", what, got, want);
}

static void check(cudaError_t error)
{
    if (error != cudaSuccess) {
        printf("CUDA error: %s\n", cudaGetErrorString(error));
        exit(3);
    }
}

// What the running case allocated; freed at its end.
static void *on_device[16], *on_host[16];
static int n_device, n_host;

static void free_all()
{
    while (n_device > 0)
        check(cudaFree(on_device[--n_device]));
    while (n_host > 0)
        free(on_host[--n_host]);
}

static float noise(int i)
{
    const unsigned h = (unsigned)i * 2654435761u;
    return (float)(h >> 16 & 0xff) / 128.0f - 1.0f;
}

template <class T> static T *device(int n, bool fill = true)
{
    T *p;
    T *host = (T *)malloc(sizeof(T) * (size_t)n);
    check(cudaMalloc(&p, sizeof(T) * (size_t)n));
    on_device[n_device++] = p;
    for (int i = 0; i < n; ++i)
        host[i] = (T)(sizeof(T) == 1 ? 100 * noise(i) : noise(i));
    if (fill)
        check(cudaMemcpy(p, host, sizeof(T) * (size_t)n,
                         cudaMemcpyHostToDevice));
    free(host);
    return p;
}

template <class T> static T *fetch(const T *p, int n)
{
    T *host = (T *)malloc(sizeof(T) * (size_t)n);
    on_host[n_host++] = host;
    check(cudaDeviceSynchronize());
    check(cudaMemcpy(host, p, sizeof(T) * (size_t)n, cudaMemcpyDeviceToHost));
    return host;
}

struct Case {
    const char *name;
    void (*run)(Mutation);
};

// Runs the case of argv[1], or all of them. Status 1: a wrong result; 2: there
// is no such case.
template <int N>
static int run_cases(int argc, char **argv, const Case (&cases)[N])
{
    const Mutation m = (Mutation)(argc > 2 ? atoi(argv[2]) : NONE);
    int ran = 0;

    for (const Case &c : cases) {
        if (argc > 1 && strcmp(argv[1], "all") && strcmp(argv[1], c.name))
            continue;
        c.run(m);
        free_all();
        ++ran;
    }
    printf("%d cases, %d failures\n", ran, failures);
    return !ran ? 2 : failures != 0;
}
#endif
