// beside.cpp - models in one program, timed in turns, one beside another
// (sizes.py, imported.py).
//
//     beside [ROUNDS]
//
// models.h, which those write, has `pairs`: two models, a batch for those with
// a set of sizes, by how much the second may take longer than the first (0: it
// is not asked), and whether both compute the same of weights of equal names.
#include <cuda_runtime_api.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <algorithm>
#include <vector>

#include "dcc_rt.h"

struct Pair {
    const dcc_model_desc *own, *other;
    int64_t size;
    double bar;
    bool same;
};
#include "models.h"

enum { RUNS = 20, DRAWN = 65521 };

typedef std::vector<uint8_t> Bytes;

static void check(bool good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "%s: %s\n", what, dcc_error());
    exit(1);
}

static uint32_t mix(uint64_t h)
{
    h = (h ^ h >> 31) * 0x9e3779b97f4a7c15u;
    h = (h ^ h >> 29) * 0xbf58476d1ce4e5b9u;
    return (uint32_t)(h >> 32);
}

static size_t elements(const dcc_model_desc *d, const dcc_tensor *t,
                       int64_t size)
{
    size_t n = 1;
    for (int i = 0; i < t->rank; i++)
        n *= (size_t)(t->varies == i + 1 && d->n_sizes
                          ? t->dim[i] / d->sizes[d->n_sizes - 1] * size
                          : t->dim[i]);
    return n;
}

static Bytes values(const dcc_tensor *t, size_t n)
{
    const size_t each = dcc_type_size(t->type);
    Bytes out(n * each);
    uint64_t name = 7;
    for (const char *p = t->name; *p; p++)
        name = name * 31 + (uint8_t)*p;
    for (size_t i = 0; i < std::min<size_t>(n, DRAWN); i++) {
        const uint32_t r = mix(name * 0x10001 + i);
        // as a trained network's: gains near one, weights that keep a size
        const float f = ((float)(r % 513) / 256 - 1) * 0.05f +
                        (t->rank == 1 ? 0.5f : 0);
        const int32_t whole = (int32_t)(t->lo +
                                        r % (t->lo < t->hi ? t->hi - t->lo
                                                           : 2));
        const uint16_t h = t->type == DCC_F16 ? dcc_float_to_half(f)
                                              : dcc_float_to_bfloat(f);
        memcpy(&out[i * each], t->type == DCC_F32 ? (const void *)&f
                               : each == 2        ? (const void *)&h
                                                  : &whole, each);
    }
    for (size_t i = DRAWN; i < n; i += DRAWN)
        memcpy(&out[i * each], &out[0], std::min<size_t>(n - i, DRAWN) * each);
    return out;
}

static float number(const dcc_tensor *t, const uint8_t *at)
{
    float f = 0;
    uint16_t h = 0;
    memcpy(&f, at, std::min(sizeof f, dcc_type_size(t->type)));
    memcpy(&h, at, std::min(sizeof h, dcc_type_size(t->type)));
    return t->type == DCC_F16    ? dcc_half_to_float(h)
           : t->type == DCC_BF16 ? dcc_bfloat_to_float(h)
                                 : f;
}

// A handle and what its runs of `size` read and write.
struct Way {
    const dcc_model_desc *d;
    dcc_model *m;
    int64_t size;
    std::vector<void *> in, out;

    Way(const dcc_model_desc *desc, dcc_model *model, int64_t n)
        : d(desc), m(model), size(n)
    {
        for (int i = 0; i < d->n_inputs; i++) {
            const Bytes v = values(&d->inputs[i],
                                   elements(d, &d->inputs[i], size));
            in.push_back(NULL);
            cudaMalloc(&in.back(), v.size());
            cudaMemcpy(in.back(), v.data(), v.size(), cudaMemcpyHostToDevice);
        }
        for (int i = 0; i < d->n_outputs; i++) {
            out.push_back(NULL);
            cudaMalloc(&out.back(), elements(d, &d->outputs[i], size) *
                                        dcc_type_size(d->outputs[i].type));
        }
    }
    ~Way()
    {
        for (void *p : in)
            cudaFree(p);
        for (void *p : out)
            cudaFree(p);
    }
    void run()
    {
        check(!(d->n_sizes ? dcc_model_run_size(m, size, in.data(), out.data(),
                                                0)
                           : dcc_model_run(m, in.data(), out.data(), 0)),
              "run");
    }
    Bytes output(int i)
    {
        Bytes v(elements(d, &d->outputs[i], size) *
                dcc_type_size(d->outputs[i].type));
        run();
        check(!cudaDeviceSynchronize(), "wait");
        cudaMemcpy(v.data(), out[(size_t)i], v.size(), cudaMemcpyDeviceToHost);
        return v;
    }
};

// Norm of the difference over the norm of b, of what both have.
static double differ(Way *a, Way *b, size_t *n_bits)
{
    double worst = 0;
    *n_bits = 0;
    for (int i = 0; i < a->d->n_outputs; i++) {
        const dcc_tensor *t = &a->d->outputs[i];
        const Bytes x = a->output(i), y = b->output(i);
        const size_t each = dcc_type_size(t->type);
        double d = 0, s = 1e-30;
        for (size_t k = 0; k < std::min(x.size(), y.size()); k += each) {
            const double f = number(t, &x[k]), g = number(t, &y[k]);
            d += (f - g) * (f - g);
            s += g * g;
            *n_bits += memcmp(&x[k], &y[k], each) != 0;
        }
        worst = d == d ? fmax(worst, sqrt(d / s)) : INFINITY;
    }
    return worst;
}

static double time_of(Way *w)
{
    cudaEvent_t a, b;
    float ms = 0;
    cudaEventCreate(&a);
    cudaEventCreate(&b);
    w->run();
    cudaEventRecord(a, 0);
    for (int i = 0; i < RUNS; i++)
        w->run();
    cudaEventRecord(b, 0);
    check(!cudaEventSynchronize(b), "wait");
    cudaEventElapsedTime(&ms, a, b);
    cudaEventDestroy(a);
    cudaEventDestroy(b);
    return ms * 1e3 / RUNS;
}

static double median(std::vector<double> v)
{
    std::sort(v.begin(), v.end());
    return v[v.size() / 2];
}

static bool compare(const Pair *p, Way *own, Way *other, int rounds)
{
    std::vector<double> us[2], ratio;
    size_t bits = 0;
    const double e = p->same ? differ(other, own, &bits) : 0;
    for (int i = 0; i < rounds; i++) {
        double now[2];
        for (int k = 0; k < 2; k++) {
            const int w = k ^ (i & 1);
            now[w] = time_of(w ? other : own);
            us[w].push_back(now[w]);
        }
        ratio.push_back(now[1] / now[0]);
    }
    const bool good = e <= 5e-3 &&
                      (p->bar == 0 || median(ratio) <= p->bar);
    printf("{\"own\": \"%s\", \"other\": \"%s\", \"size\": %lld, "
           "\"own_us\": %.2f, \"other_us\": %.2f, \"ratio\": %.4f",
           p->own->name, p->other->name, (long long)p->size, median(us[0]),
           median(us[1]), median(ratio));
    if (p->same)
        printf(", \"differ\": %.2g, \"elements_that_differ\": %zu", e, bits);
    printf(", \"good\": %s}\n", good ? "true" : "false");
    fflush(stdout);
    return good;
}

static size_t used(void)
{
    size_t here = 0, all = 0;
    cudaMemGetInfo(&here, &all);
    return all - here;
}

static dcc_model *create(const dcc_model_desc *d)
{
    std::vector<Bytes> params;
    std::vector<const void *> at;
    dcc_sizes s = {DCC_HEAD(dcc_sizes)};
    dcc_model *m;
    for (int i = 0; i < d->n_params; i++)
        params.push_back(values(&d->params[i], elements(d, &d->params[i], 0)));
    for (const Bytes &p : params)
        at.push_back(p.data());
    check(!dcc_model_sizes(d, &s), "sizes");
    const size_t before = used();
    check(!dcc_model_create_with(&m, d, at.data()), "create");
    printf("{\"model\": \"%s\", \"weights_MB\": %.1f, \"workspace_MB\": %.1f, "
           "\"of_the_GPU_MB\": %.1f}\n", d->name, (double)s.weights / 1e6,
           (double)s.workspace / 1e6, (double)(used() - before) / 1e6);
    return m;
}

int main(int argc, char **argv)
{
    const int rounds = argc > 1 ? atoi(argv[1]) : 31;
    const dcc_model_desc *kept = NULL;
    dcc_model *other = NULL;
    bool good = true;

    cudaFree(0);
    for (const Pair &p : pairs) {
        if (p.other != kept) {
            dcc_model_destroy(other);
            other = create(p.other);
        }
        kept = p.other;
        dcc_model *own = create(p.own);
        {
            Way a(p.own, own, p.size), b(p.other, other, p.size);
            good = compare(&p, &a, &b, rounds) && good;
        }
        dcc_model_destroy(own);
    }
    dcc_model_destroy(other);
    return !good;
}
