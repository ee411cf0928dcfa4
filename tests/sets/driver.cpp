// driver.cpp - runs a model with a set of sizes, or one of a single size, on
// numbers that depend on nothing but names and places, and prints every output
// element as "output/index bits value". The model is called net.
//
//     driver SIZE   of a set; 0: a model without one
//
// Inputs and outputs are exactly as large as they must be.
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <vector>

#include "dcc_rt.h"

extern "C" const dcc_model_desc net_desc;

typedef std::vector<uint8_t> Bytes;

static uint32_t mix(uint64_t h)
{
    h = (h ^ h >> 31) * 0x9e3779b97f4a7c15u;
    h = (h ^ h >> 29) * 0xbf58476d1ce4e5b9u;
    return (uint32_t)(h >> 32);
}

// A tensor of a run of `size`: its dimensions.
static std::vector<int64_t> shape(const dcc_tensor *t, int64_t size)
{
    std::vector<int64_t> dim(t->dim, t->dim + t->rank);
    if (t->varies && size > 0)
        dim[(size_t)t->varies - 1] =
            dim[(size_t)t->varies - 1] /
            net_desc.sizes[net_desc.n_sizes - 1] * size;
    return dim;
}

static size_t count(const std::vector<int64_t> &dim)
{
    size_t n = 1;
    for (int64_t d : dim)
        n *= (size_t)d;
    return n;
}

// The index of element i as one number, which is the same for every size.
static uint64_t place(const std::vector<int64_t> &dim, size_t i)
{
    uint64_t at = 0;
    for (size_t d = dim.size(); d-- > 0; i /= (size_t)dim[d])
        at = at * 1000003 + i % (size_t)dim[d];
    return at;
}

static Bytes values(const dcc_tensor *t, const std::vector<int64_t> &dim)
{
    const size_t size = dcc_type_size(t->type), n = count(dim);
    Bytes out(n * size);
    uint64_t name = 7;
    for (const char *p = t->name; *p; p++)
        name = name * 31 + (uint8_t)*p;
    for (size_t i = 0; i < n; i++) {
        const uint32_t r = mix(name * 0x10001 + place(dim, i));
        const float f = (float)(r % 513) / 256 - 1;
        const int32_t v = (int32_t)(t->lo + r % (t->lo < t->hi ? t->hi - t->lo
                                                              : 2));
        const uint16_t h = t->type == DCC_F16 ? dcc_float_to_half(f / 8)
                                              : dcc_float_to_bfloat(f / 8);
        if (t->type == DCC_F32)
            memcpy(&out[i * 4], &f, 4);
        else
            memcpy(&out[i * size], size == 2 ? (const void *)&h : &v, size);
    }
    return out;
}

static int fail(const char *what)
{
    fprintf(stderr, "%s: %s\n", what, dcc_error());
    return 1;
}

static void print(const dcc_tensor *t, const std::vector<int64_t> &dim,
                  const Bytes &bytes)
{
    const size_t size = dcc_type_size(t->type);
    for (size_t i = 0; i < bytes.size() / size; i++) {
        uint32_t bits = 0;
        uint16_t h = 0;
        float f = 0;
        memcpy(&bits, &bytes[i * size], size);
        memcpy(&h, &bits, 2);
        memcpy(&f, &bits, 4);
        if (size == 2)
            f = t->type == DCC_F16 ? dcc_half_to_float(h)
                                   : dcc_bfloat_to_float(h);
        printf("%s/%llx %x %g\n", t->name, (unsigned long long)place(dim, i),
               bits, f);
    }
}

int main(int argc, char **argv)
{
    const int64_t size = argc > 1 ? atoll(argv[1]) : 0;
    const dcc_model_desc *d = &net_desc;
    std::vector<Bytes> params;
    std::vector<const void *> at;
    std::vector<void *> in, out;
    dcc_model *m;

    for (int i = 0; i < d->n_params; i++)
        params.push_back(values(&d->params[i], shape(&d->params[i], 0)));
    for (const Bytes &p : params)
        at.push_back(p.data());
    if (dcc_model_create_with(&m, d, at.data()))
        return fail("create");
    for (int i = 0; i < d->n_inputs; i++) {
        Bytes v = values(&d->inputs[i], shape(&d->inputs[i], size));
        in.push_back(NULL);
        cudaMalloc(&in.back(), v.size());
        cudaMemcpy(in.back(), v.data(), v.size(), cudaMemcpyHostToDevice);
    }
    for (int i = 0; i < d->n_outputs; i++) {
        out.push_back(NULL);
        cudaMalloc(&out.back(), count(shape(&d->outputs[i], size)) *
                                    dcc_type_size(d->outputs[i].type));
    }
    cudaDeviceSynchronize();
    // one less with the same pointers lies between: a graph gets other sizes
    for (int turn = 0; turn < 4; turn++)
        if ((turn % 2 || size > 1) &&
            dcc_model_run_size(m, turn % 2 ? size : size - 1, in.data(),
                               out.data(), 0))
            return fail("run");
    if (cudaDeviceSynchronize() != cudaSuccess)
        return fail("wait");
    for (int i = 0; i < d->n_outputs; i++) {
        std::vector<int64_t> dim = shape(&d->outputs[i], size);
        Bytes v(count(dim) * dcc_type_size(d->outputs[i].type));
        cudaMemcpy(v.data(), out[(size_t)i], v.size(), cudaMemcpyDeviceToHost);
        print(&d->outputs[i], dim, v);
    }
    for (void *p : in)
        cudaFree(p);
    for (void *p : out)
        cudaFree(p);
    dcc_model_destroy(m);
    return 0;
}
