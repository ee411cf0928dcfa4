// kernel_check.h - what the programs that tests make of emitted kernels use:
// arguments from a file of doubles, results compared with such.
#ifndef TEST_KERNEL_CHECK_H
#define TEST_KERNEL_CHECK_H

#include "dcc_device.cuh"
#include "dcc_rt.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <vector>

static int failures;

static void check_cuda(cudaError_t e, const char *what)
{
    if (e == cudaSuccess)
        e = cudaDeviceSynchronize();
    if (e != cudaSuccess) {
        printf("%s: %s\n", what, cudaGetErrorString(e));
        exit(1);
    }
}

template <class T> T make(double x) { return (T)x; }
template <> __half make<__half>(double x) { return __float2half_rn((float)x); }
template <> __nv_bfloat16 make<__nv_bfloat16>(double x)
{
    return __float2bfloat16_rn((float)x);
}
static double value(float x) { return x; }
static double value(int32_t x) { return x; }
static double value(int8_t x) { return x; }
static double value(uint8_t x) { return x; }
static double value(__half x) { return __half2float(x); }
static double value(__nv_bfloat16 x) { return __bfloat162float(x); }

static void read_doubles(FILE *in, std::vector<double> &d)
{
    if (fread(d.data(), sizeof(double), d.size(), in) != d.size())
        exit(3);
}

// A tensor on the device, with the values it is to have before and after.
template <class T> struct Arg {
    T *p;
    std::vector<double> before, after;

    Arg(FILE *in, size_t n) : p(nullptr), before(n), after(n)
    {
        read_doubles(in, before);
        read_doubles(in, after);
        check_cuda(cudaMalloc((void **)&p, n * sizeof(T) + 1), "malloc");
    }
    void reset()
    {
        std::vector<T> t(before.size());
        for (size_t i = 0; i < t.size(); i++)
            t[i] = make<T>(before[i]);
        cudaMemcpy(p, t.data(), t.size() * sizeof(T), cudaMemcpyHostToDevice);
    }
    void compare(const char *kernel, const char *name)
    {
        std::vector<T> t(after.size());
        double worst = 0, most = 1e-30;
        size_t where = 0;

        cudaMemcpy(t.data(), p, t.size() * sizeof(T), cudaMemcpyDeviceToHost);
        for (double x : after)
            most = fmax(most, fabs(x));
        for (size_t i = 0; i < t.size(); i++) {
            double e = fabs(value(t[i]) - after[i]) / most;
            if (!(e <= worst)) {
                worst = e;
                where = i;
            }
        }
        if (worst <= (sizeof(T) == 2 ? 8e-3 : sizeof(T) == 1 ? 1e-9 : 2e-5))
            return;
        failures++;
        printf("%s: %s differs by %g at %zu: %g, not %g\n", kernel, name,
               worst, where, value(t[where]), after[where]);
    }
};

template <class T> static T *zeroed(size_t n)
{
    T *p = nullptr;

    check_cuda(cudaMalloc((void **)&p, n * sizeof(T) + 1), "malloc");
    cudaMemset(p, 0, n * sizeof(T));
    return p;
}

#endif
