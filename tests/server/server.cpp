// server.cpp - what a server does with emitted models, in one program: contexts
// in threads, weights that are shared and replaced, memory of its own, graphs,
// checks, and a caller's mistakes. tests/server.sh runs it on the CPU; with
// nvcc it runs on a GPU.
//
//     server WEIGHTS OTHER_WEIGHTS [churn SECONDS | alone]
//
// The two files hold q, k, v, u, e of net.dcl as in params() with a seed of 1
// and 2. It says ok or not ok for each case and exits 1 after a failure.
#include <cuda_runtime_api.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "net.h"
#include "other.h"

enum { B = 4, D = 64, V = 7, ROWS = 16, THREADS = 8 };

static int failures, cases;

static void report(bool good, const char *what)
{
    cases++;
    failures += !good;
    printf("%s %d - %s%s%s\n", good ? "ok" : "not ok", cases, what,
           good ? "" : " # ", good ? "" : dcc_error());
    fflush(stdout);
}

// ---- data: f16 as its bits, f32, i32

typedef std::vector<uint16_t> Half;

static Half half_values(size_t n, unsigned seed)
{
    Half out(n);
    for (size_t i = 0; i < n; i++) {
        seed = seed * 1664525u + 1013904223u;
        out[i] = dcc_float_to_half((float)(int)(seed >> 24) / 1024.0f - 0.125f);
    }
    return out;
}

struct Params {
    Half q, k, v, u, e;
    float unread[3] = {1, 2, 3};
    const void *at[6];
    explicit Params(unsigned seed)
        : q(half_values(D * D, seed)), k(half_values(D * D, seed + 1)),
          v(half_values(D * D, seed + 2)), u(half_values(D * D, seed + 3)),
          e(half_values(ROWS * D, seed + 4))
    {
        const void *all[] = {q.data(), k.data(), v.data(),
                             u.data(), e.data(), unread};
        memcpy(at, all, sizeof at);
    }
};

// Device memory of one caller: its inputs and outputs, and a stream.
struct Caller {
    void *x = 0, *ids = 0, *y = 0;
    cudaStream_t stream = 0;
    net_inputs in = {DCC_HEAD(net_inputs)};
    net_outputs out = {DCC_HEAD(net_outputs)};
    std::vector<uint8_t> host;

    explicit Caller(unsigned seed)
    {
        Half values = half_values(B * D, seed);
        int32_t id[B] = {0, (int32_t)(seed % V), V - 1, 1};
        size_t bytes = dcc_tensor_bytes(&net_desc.outputs[0]);
        host.resize(bytes);
        cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
        cudaMalloc(&x, values.size() * 2);
        cudaMalloc(&ids, sizeof id);
        cudaMalloc(&y, bytes);
        cudaMemcpyAsync(x, values.data(), values.size() * 2,
                        cudaMemcpyHostToDevice, stream);
        cudaMemcpyAsync(ids, id, sizeof id, cudaMemcpyHostToDevice, stream);
        cudaStreamSynchronize(stream);
        in.x = x;
        in.ids = ids;
        out.y = y;
    }
    ~Caller()
    {
        cudaFree(x);
        cudaFree(ids);
        cudaFree(y);
        cudaStreamDestroy(stream);
    }
    bool run(net *m)
    {
        if (net_run(m, &in, &out, stream) != DCC_OK)
            return false;
        cudaMemcpyAsync(host.data(), y, host.size(), cudaMemcpyDeviceToHost,
                        stream);
        return cudaStreamSynchronize(stream) == cudaSuccess;
    }
};

static net *made(unsigned seed)
{
    Params p(seed);
    net *m = 0;
    dcc_model_create_with(&m, &net_desc, p.at);
    return m;
}

// ---- cases

// The other model, whose every output is 32.
struct Other {
    std::vector<float> x = std::vector<float>(8 * 32, 2.0f);
    std::vector<float> y = std::vector<float>(8 * 16);
    other *m = 0;
    void *dx = 0, *dy = 0;
    cudaStream_t stream = 0;

    Other()
    {
        std::vector<float> w(16 * 32, 0.5f);
        const void *params[] = {w.data()};
        dcc_model_create_with(&m, &other_desc, params);
        cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
        cudaMalloc(&dx, x.size() * 4);
        cudaMalloc(&dy, y.size() * 4);
        cudaMemcpyAsync(dx, x.data(), x.size() * 4, cudaMemcpyHostToDevice,
                        stream);
        cudaStreamSynchronize(stream);
    }
    ~Other()
    {
        other_destroy(m);
        cudaFree(dx);
        cudaFree(dy);
        cudaStreamDestroy(stream);
    }
    bool run()
    {
        other_inputs in = {DCC_HEAD(other_inputs), dx};
        other_outputs out = {DCC_HEAD(other_outputs), dy};
        if (other_run(m, &in, &out, stream) != DCC_OK)
            return false;
        cudaMemcpyAsync(y.data(), dy, y.size() * 4, cudaMemcpyDeviceToHost,
                        stream);
        bool good = cudaStreamSynchronize(stream) == cudaSuccess;
        for (float v : y)
            good = good && v == 32.0f;
        return good;
    }
};

static void two_models()
{
    net *m = made(1);
    Other o;
    Caller c(1);

    report(m && c.run(m) && o.run() && c.run(m), "two models in one program");
    net_destroy(m);
}

// Eight contexts of one model in a thread each, while the other model runs.
static void contexts()
{
    net *first = made(1);
    Other beside;
    std::atomic<bool> ended(false);
    bool others = true;
    std::vector<net *> all(THREADS, nullptr);
    std::vector<std::vector<uint8_t>> got(THREADS);
    std::vector<std::thread> threads;
    std::atomic<int> bad(0);
    bool good = first != 0;

    for (int i = 0; i < THREADS && good; i++)
        good = net_create_shared(&all[i], first) == DCC_OK;
    for (int i = 0; i < THREADS && good; i++)
        threads.emplace_back([&, i] {
            Caller c(7);
            for (int turn = 0; turn < 5; turn++) // the state goes on
                bad += !c.run(all[i]);
            got[i] = c.host;
        });
    std::thread runs([&] {
        do
            others = beside.run() && others;
        while (!ended);
    });
    for (auto &t : threads)
        t.join();
    ended = true;
    runs.join();
    for (int i = 0; i < THREADS; i++) {
        good = good && got[i] == got[0] && !bad;
        net_destroy(all[i]);
    }
    good = good && others;
    report(good, "8 contexts of one of two models in 8 threads, bit for bit");
    net_destroy(first);
}

// Two threads create, run, update and destroy handles of one set.
static void churn(const char *const *weights, double seconds)
{
    net *first = 0;
    std::vector<std::thread> threads;
    std::atomic<int> bad(0), runs(0);
    bool good = net_create(&first, weights[0]) == DCC_OK;
    const auto end = std::chrono::steady_clock::now() +
                     std::chrono::duration<double>(seconds);
    net *seed[2] = {0, 0};

    for (int i = 0; i < 2 && good; i++)
        good = net_create_shared(&seed[i], first) == DCC_OK;
    net_destroy(first);
    for (int i = 0; i < 2 && good; i++)
        threads.emplace_back([&, i] {
            net *mine = seed[i], *next;
            Caller c((unsigned)i + 3);
            for (int n = 0; n < 6 || std::chrono::steady_clock::now() < end;
                 n++) {
                bad += !c.run(mine) || net_status(mine) != DCC_OK;
                runs++;
                if (n % 5 == 4)
                    bad += net_update(mine, weights[n / 5 % 2]) != DCC_OK;
                if (n % 3 == 2) {
                    bad += net_create_shared(&next, mine) != DCC_OK;
                    net_destroy(mine);
                    mine = next;
                }
            }
            net_destroy(mine);
        });
    for (auto &t : threads)
        t.join();
    report(good && !bad && runs > 2,
           "two threads create, run, update and destroy one set");
}

// An allocator that counts.
struct Counted {
    size_t now = 0, most = 0;
    std::vector<std::pair<void *, size_t>> given;
};

static void *take_counted(void *ctx, size_t bytes)
{
    Counted *c = (Counted *)ctx;
    void *p = 0;
    if (cudaMalloc(&p, bytes) != cudaSuccess)
        return 0;
    c->given.emplace_back(p, bytes);
    c->now += bytes;
    c->most = c->now > c->most ? c->now : c->most;
    return p;
}

static void release_counted(void *ctx, void *p)
{
    Counted *c = (Counted *)ctx;
    for (auto &g : c->given)
        if (g.first == p) {
            c->now -= g.second;
            g.first = 0;
        }
    cudaFree(p);
}

static void sizes()
{
    Params p(1);
    dcc_sizes s = DCC_SIZES;
    dcc_options o = dcc_options_default();
    net *m = 0, *second = 0;
    Caller c(1), d(1);
    Counted count;
    bool good = net_sizes(&s) == DCC_OK;

    o.params = p.at;
    o.alloc = take_counted;
    o.release = release_counted;
    o.ctx = &count;
    good = good && net_create_options(&m, &o) == DCC_OK && c.run(m);
    good = good && count.now == s.weights + s.workspace &&
           count.most == s.load_peak;
    good = good && s.load_peak <= s.weights + s.workspace + (64u << 20);
    report(good, "weights, workspace and load peak are what sizes says");

    void *workspace = 0;
    cudaMalloc(&workspace, s.workspace);
    o.params = 0;
    o.shared = m;
    o.workspace = workspace;
    o.workspace_bytes = s.workspace;
    size_t before = count.now;
    good = net_create_options(&second, &o) == DCC_OK && d.run(second) &&
           count.now == before && c.host == d.host;
    report(good, "a context in a workspace of the caller's takes no memory");
    net *none = 0;
    o.workspace_bytes--;
    good = net_create_options(&none, &o) == DCC_ERR_ARG && !none;
    o.workspace_bytes++;
    o.workspace = (char *)workspace + 16;
    good = good && net_create_options(&none, &o) == DCC_ERR_ARG && !none;
    report(good, "a workspace too small or misaligned is an error");
    net_destroy(m);
    net_destroy(second);
    cudaFree(workspace);
    report(count.now == 0, "all memory went back");
}

static std::vector<uint8_t> first_run(net *weights, unsigned seed);

// An allocator that fails at its nth call, gives memory that is misaligned, or
// does something to a file meanwhile.
struct Hostile {
    Counted count;
    int calls = 0, fails = -1, misaligns = -1;
    const char *truncates = 0;
};

static void *take_hostile(void *ctx, size_t bytes)
{
    Hostile *h = (Hostile *)ctx;
    if (h->truncates && truncate(h->truncates, 5000))
        return 0;
    if (h->calls++ == h->fails)
        return 0;
    void *p = take_counted(&h->count, bytes + 16);
    return h->calls - 1 == h->misaligns ? (char *)p + 16 : p;
}

static void release_hostile(void *ctx, void *p)
{
    Hostile *h = (Hostile *)ctx;
    release_counted(&h->count, (uintptr_t)p % DCC_ALIGN ? (char *)p - 16 : p);
}

static std::string copied(const char *path)
{
    const std::string to = "hostile.safetensors";
    std::ifstream in(path, std::ios::binary);
    std::ofstream(to, std::ios::binary) << in.rdbuf();
    return to;
}

static void allocators(const char *const *weights)
{
    bool good = true;
    int n = 0;

    for (bool made = false; !made && n < 20; n++) {
        Hostile h;
        dcc_options o = dcc_options_default();
        net *m = (net *)1;
        h.fails = n;
        o.weights = weights[0];
        o.alloc = take_hostile;
        o.release = release_hostile;
        o.ctx = &h;
        const dcc_status status = net_create_options(&m, &o);
        made = status == DCC_OK;
        good = good && (made || (status == DCC_ERR_MEMORY && !m &&
                                 h.count.now == 0));
        net_destroy(made ? m : 0);
        good = good && h.count.now == 0;
    }
    report(good && n > 3 && n < 20, "an allocator that fails, at each call");
    good = true;
    for (int i = 0; i + 2 < n; i++) {
        Hostile h;
        dcc_options o = dcc_options_default();
        net *m = (net *)1;
        h.misaligns = i;
        o.weights = weights[0];
        o.alloc = take_hostile;
        o.release = release_hostile;
        o.ctx = &h;
        good = good && net_create_options(&m, &o) == DCC_ERR_ARG && !m &&
               strstr(dcc_error(), "not aligned") && h.count.now == 0;
    }
    report(good, "an allocator that gives misaligned memory, at each call");
}

static void files(const char *const *weights)
{
    if (strstr(weights[0], ".json"))
        return;
    const std::string path = copied(weights[0]);
    dcc_options o = dcc_options_default();
    Hostile h;
    net *m = 0;

    h.truncates = path.c_str();
    o.weights = path.c_str();
    o.alloc = take_hostile;
    o.release = release_hostile;
    o.ctx = &h;
    bool good = net_create_options(&m, &o) != DCC_OK && !m &&
                strstr(dcc_error(), path.c_str()) && h.count.now == 0;
    report(good, "a file that is cut off while it is read");

    good = net_create(&m, weights[0]) == DCC_OK;
    const std::vector<uint8_t> was = first_run(m, 3);
    const char *wrong[] = {path.c_str(), "/nonexistent", "/dev/null",
                           "other.safetensors", "/"};
    const std::string header =
        "{\"q\":{\"dtype\":\"F16\",\"shape\":[2,2],\"data_offsets\":[0,8]}}";
    std::ofstream(wrong[3], std::ios::binary)
        << (char)header.size() << std::string(7, 0) << header
        << std::string(8, 0);
    for (const char *w : wrong) {
        good = good && net_update(m, w) != DCC_OK && strstr(dcc_error(), w);
        good = good && first_run(m, 3) == was;
    }
    report(good, "an update with a wrong file leaves the weights as they are");
    net_destroy(m);
}

static void describe()
{
    net *m = made(1);
    const dcc_model_desc *d = dcc_model_describe(m);
    bool good = d == &net_desc && d->n_inputs == 2 && d->n_outputs == 1 &&
                !strcmp(d->inputs[1].name, "ids") &&
                d->inputs[1].type == DCC_I32 && d->inputs[1].rank == 1 &&
                d->inputs[1].dim[0] == B && d->inputs[1].hi == V &&
                dcc_tensor_bytes(&d->inputs[0]) == B * D * 2;

    report(good, "names, types, shapes and promises at run time");
    net_destroy(m);
}

// A fresh handle's first run, with pointers of its own.
static std::vector<uint8_t> first_run(net *weights, unsigned seed)
{
    net *m = 0;
    Caller c(seed);
    if (net_create_shared(&m, weights) != DCC_OK || !c.run(m))
        c.host.clear();
    net_destroy(m);
    return c.host;
}

static void graphs()
{
    enum { N = 20 };
    net *m = made(1), *few = 0;
    dcc_options o = dcc_options_default();
    std::vector<Caller *> callers;
    std::vector<std::vector<uint8_t>> expect;
    bool good = m != 0;

    for (unsigned i = 0; i < N; i++) {
        callers.push_back(new Caller(i));
        expect.push_back(first_run(m, i));
    }
    o.shared = m;
    o.graphs = 2;
    good = good && net_create_options(&few, &o) == DCC_OK;
    for (int i = 0; i < 3 * N && good; i++) {
        const int k = i * 7 % N; // 8 graphs, 2 graphs
        for (net *h : {m, few}) {
            cudaStreamSynchronize(callers[k]->stream);
            good = good && net_reset(h, callers[k]->stream) == DCC_OK &&
                   callers[k]->run(h) && callers[k]->host == expect[k];
        }
    }
    report(good, "20 sets of pointers through 8 graphs, and 2");

    Caller *c = callers[0], *d = callers[1];
    good = net_warm(few, &c->in, &c->out) == DCC_OK;
    net_inputs mixed = {DCC_HEAD(net_inputs), c->x, d->ids};
    good = good && net_warm(few, &mixed, &d->out) == DCC_OK &&
           net_reset(few, c->stream) == DCC_OK && c->run(few) &&
           c->host == expect[0];
    report(good, "warm prepares a run and runs nothing");
    for (Caller *x : callers)
        delete x;
    net_destroy(m);
    net_destroy(few);
}

static void captured()
{
    net *m = made(1);
    Caller c(5);
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    std::vector<uint8_t> expect = first_run(m, 5);
    bool good = cudaStreamBeginCapture(
                    c.stream, cudaStreamCaptureModeThreadLocal) == cudaSuccess;

    good = good && net_run(m, &c.in, &c.out, c.stream) == DCC_OK;
    good = cudaStreamEndCapture(c.stream, &graph) == cudaSuccess && good;
    good = good && cudaGraphInstantiateWithFlags(&exec, graph, 0) ==
                       cudaSuccess &&
           cudaGraphLaunch(exec, c.stream) == cudaSuccess;
    cudaMemcpyAsync(c.host.data(), c.y, c.host.size(), cudaMemcpyDeviceToHost,
                    c.stream);
    cudaStreamSynchronize(c.stream);
    report(good && c.host == expect, "a run joins the caller's capture");
    cudaGraphExecDestroy(exec);
    cudaGraphDestroy(graph);
    net_destroy(m);
}

static void update(const char *const *weights)
{
    net *m = 0, *shared = 0, *fresh = 0;
    Params p(2);
    dcc_options o = dcc_options_default();
    bool good = net_create(&m, weights[0]) == DCC_OK &&
                net_create_shared(&shared, m) == DCC_OK &&
                net_create(&fresh, weights[1]) == DCC_OK;
    std::vector<uint8_t> old = first_run(m, 3), now = first_run(fresh, 3);

    good = good && old != now && net_update(m, weights[1]) == DCC_OK &&
           first_run(shared, 3) == now;
    report(good, "update replaces the weights of all that share them");
    good = net_update(m, "/nonexistent") == DCC_ERR_IO &&
           first_run(m, 3) == now;
    report(good, "an update without a file changes nothing");
    p.e[5] = 0x7e00; // a NaN, found half way: host memory is not looked at
    o.params = p.at;
    p.at[2] = 0;
    good = dcc_model_update(m, &o) == DCC_ERR_ARG && first_run(m, 3) == now;
    report(good, "an update with a null pointer changes nothing");
    net_destroy(m);
    net_destroy(shared);
    net_destroy(fresh);
}

static void promises()
{
    net *m = made(1), *checked = 0, *plain = 0;
    dcc_options o = dcc_options_default();
    Caller good_one(1), bad(1);
    int32_t ids[B] = {0, 1, V + 2, V + 3};
    bool good;

    o.shared = m;
    good = net_create_options(&plain, &o) == DCC_OK;
    o.check = 1;
    good = good && net_create_options(&checked, &o) == DCC_OK;
    good = good && good_one.run(checked) && net_status(checked) == DCC_OK;
    report(good, "a promise that is kept");
    // e has more rows than are promised to be read
    cudaMemcpy(bad.ids, ids, sizeof ids, cudaMemcpyHostToDevice);
    cudaDeviceSynchronize();
    net_run(checked, &bad.in, &bad.out, bad.stream);
    cudaStreamSynchronize(bad.stream);
    good = net_status(checked) == DCC_ERR_ARG &&
           strstr(dcc_error(), "\"ids\": element 2 is 9") &&
           net_status(checked) == DCC_OK;
    report(good, "a promise that is broken, which status says once");
    net_run(checked, &bad.in, &bad.out, bad.stream);
    cudaStreamSynchronize(bad.stream);
    good = net_run(checked, &good_one.in, &good_one.out, good_one.stream) ==
               DCC_ERR_ARG && good_one.run(checked);
    report(good, "and the next run says otherwise");
    net_destroy(m);
    net_destroy(checked);
    net_destroy(plain);
}

static void wrong_options()
{
    Params p(1);
    net *none = 0;
    dcc_options o = dcc_options_default();

    o.version = 77;
    o.params = p.at;
    report(net_create_options(&none, &o) == DCC_ERR_ARG &&
               strstr(dcc_error(), "interface 77"), "options of another");
    o = dcc_options_default();
    o.params = p.at;
    o.weights = "x";
    report(net_create_options(&none, &o) == DCC_ERR_ARG &&
               strstr(dcc_error(), "one of them"), "two sources of weights");
    o.weights = 0;
    o.device = 99;
    report(net_create_options(&none, &o) == DCC_ERR_ARG &&
               strstr(dcc_error(), "no GPU 99"), "a GPU that is not there");
    o.device = -5;
    report(net_create_options(&none, &o) == DCC_ERR_ARG &&
               strstr(dcc_error(), "device is -5"), "a GPU that cannot be");
}

static void mistakes()
{
    net *m = made(1), *none = 0;
    Caller c(1);
    net_inputs in = c.in;
    net_outputs out = c.out;
    dcc_options o = dcc_options_default();
    dcc_sizes s = DCC_SIZES;
    Params p(1);
    other *o2 = 0;

    struct {
        const char *what;
        dcc_status status;
        const char *text;
    } all[] = {
        {"create without a file", net_create(&none, 0), "needs a weights"},
        {"create into nothing", net_create(0, "x"), "null pointer"},
        {"run of no handle", net_run(0, &in, &out, 0), "null pointer"},
        {"run without inputs", net_run(m, 0, &out, 0), "null pointer"},
        {"run without outputs", net_run(m, &in, 0, 0), "null pointer"},
        {"warm of no handle", net_warm(0, &in, &out), "null pointer"},
        {"status of no handle", net_status(0), "null pointer"},
        {"reset of no handle", net_reset(0, 0), "null pointer"},
        {"update of no handle", net_update(0, "x"), "null pointer"},
        {"sizes into nothing", net_sizes(0), "null pointer"},
        {"no options", net_create_options(&none, 0), "null pointer"},
        {"run_steps of no handle",
         dcc_model_run_steps(0, 0, 0, 0, 0, 0), "null pointer"},
        {"no model", dcc_model_create(&none, 0, "x"), "null pointer"},
        {"arguments are null", dcc_model_run(m, 0, 0, 0), "null pointer"},
    };
    for (auto &a : all)
        report(a.status == DCC_ERR_ARG, a.what);

    in.ids = 0;
    report(net_run(m, &in, &out, 0) == DCC_ERR_ARG &&
               strstr(dcc_error(), "\"ids\" is a null pointer"),
           "an input that is null");
    in = c.in;
    out.y = (char *)c.y + 4;
    report(net_run(m, &in, &out, 0) == DCC_ERR_ARG &&
               strstr(dcc_error(), "\"y\" is not aligned to 16"),
           "an output that is misaligned");
    for (size_t at : {0, 64, B * D * 2 - 16}) {
        out.y = (char *)c.x + at;
        report(net_run(m, &in, &out, 0) == DCC_ERR_ARG &&
                   strstr(dcc_error(), "\"y\" overlaps input \"x\""),
               "an output that begins in an input");
    }
    out = c.out;
    in.x = (char *)c.y + 16;
    report(net_warm(m, &in, &out) == DCC_ERR_ARG &&
               strstr(dcc_error(), "\"y\" overlaps input \"x\""),
           "an input that begins in an output");
    in = c.in;
    in.struct_size -= 8;
    report(net_run(m, &in, &out, 0) == DCC_ERR_ARG &&
               strstr(dcc_error(), "net_inputs is of interface " DCC_TEXT_OF(
                                         DCC_INTERFACE) " (16 bytes)"),
           "inputs of another header");
    in = c.in;
    out.version = 2;
    report(net_warm(m, &in, &out) == DCC_ERR_ARG &&
               strstr(dcc_error(), "net_outputs is of interface 2 "),
           "outputs of another version");
    memset((void *)&out, 0, sizeof out);
    out.y = c.y;
    report(net_run(m, &in, &out, 0) == DCC_ERR_ARG &&
               strstr(dcc_error(), "net_outputs x = {DCC_HEAD(net_outputs)"),
           "outputs that do not say what they are");
    s.struct_size = 8;
    report(net_sizes(&s) == DCC_ERR_ARG && strstr(dcc_error(), "interface"),
           "a struct of another version");
    o = dcc_options_default();
    o.shared = m;
    report(other_create_options(&o2, &o) == DCC_ERR_ARG &&
               strstr(dcc_error(), "handle of model net"),
           "weights of another model");
    dcc_model_desc old = net_desc;
    old.version = 1;
    report(dcc_model_create_with(&none, &old, p.at) == DCC_ERR_ARG &&
               strstr(dcc_error(), "interface 1 ") &&
               strstr(dcc_error(), "interface " DCC_TEXT_OF(DCC_INTERFACE)),
           "an emitted model of another version");
    report(c.run(m), "and the handle still runs");
    net_destroy(m);
    net_destroy(0);
}

static bool other_gpu(dcc_status status)
{
    return status == DCC_ERR_ARG &&
           strstr(dcc_error(), "on GPU 1, the current GPU is 0");
}

// A handle of GPU 1 while GPU 0 is current.
static void devices(const char *const *weights)
{
    int count = 0, now = -1;
    dcc_options o = dcc_options_default();
    net *m = 0, *shared = 0;
    Params p(1);

    cudaGetDeviceCount(&count);
    if (count < 2)
        return;
    o.params = p.at;
    o.device = 1;
    bool good = net_create_options(&m, &o) == DCC_OK &&
                cudaGetDevice(&now) == cudaSuccess && now == 0;
    report(good, "a handle on another GPU than the current one");
    cudaSetDevice(1);
    {
        Caller c(1);
        cudaSetDevice(0);
        report(other_gpu(net_run(m, &c.in, &c.out, c.stream)), "run there");
        report(other_gpu(net_warm(m, &c.in, &c.out)), "warm there");
        report(other_gpu(net_reset(m, c.stream)), "reset there");
        report(other_gpu(net_update(m, weights[0])), "update there");
        report(other_gpu(net_save(m, "there.safetensors")), "save there");
        report(other_gpu(net_create_shared(&shared, m)) && !shared,
               "create_shared there");
        report(net_status(m) == DCC_OK, "status asks no GPU");
        o = dcc_options_default();
        o.shared = m;
        good = net_create_options(&shared, &o) == DCC_OK &&
               cudaGetDevice(&now) == cudaSuccess && now == 0;
        report(good, "create_options goes to the weights' GPU and back");
        cudaSetDevice(1);
        good = c.run(m);
        const std::vector<uint8_t> first = c.host;
        report(good && c.run(shared) && c.host == first, "and it runs there");
    }
    cudaSetDevice(0);
    net_destroy(m);
    net_destroy(shared);
    cudaGetDevice(&now);
    report(now == 0 && cudaGetLastError() == cudaSuccess,
           "destroyed from another GPU, which stays");
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    if (argc > 4) {
        churn(argv + 1, atof(argv[4]));
    } else {
        const bool alone = argc == 4; // one thread, as early launches need
        two_models();
        if (!alone)
            contexts();
        describe();
        sizes();
        graphs();
        captured();
        update(argv + 1);
        allocators(argv + 1);
        files(argv + 1);
        promises();
        mistakes();
        wrong_options();
        devices(argv + 1);
        if (!alone)
            churn(argv + 1, 0.3);
    }
    return failures != 0;
}
