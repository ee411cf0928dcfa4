// test_emu_model.cu - an emitted file by hand: a small model with parameters
// packed at load time, an intermediate in a padded layout, a state, an integer
// input with a promise, and a trace. tests/test_emu.sh runs it.
//
//   model tiny {
//     input x : f16[5, 12];   input ids : i32[5] in 0..7;
//     param w : f16[9, 12] = "fc.weight";  param b : f32[9] = "fc.bias";
//     param table : f16[7, 9] = "emb";     state total : f32[9] = 2;
//     h[i, j] = relu(sum(k) x[i, k] * w[j, k] + b[j]);
//     total[j] = total[j] + sum(i) f32(h[i, j]);
//     output y : f32[5, 9] = h[i, j] + table[ids[i], j] + total[j];
//   }
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "dcc_device.cuh"
#include "dcc_rt.h"

enum { I = 5, J = 9, K = 12, IDS = 7 };
enum { H_STRIDE = 16 }; // h's rows are padded for aligned loads
enum { THREADS = 64 };

// load time: w[j, k] -> w_packed[k, j]
extern "C" __global__ void tiny_w_pack(const __half *w, __half *w_packed)
{
    const int i = blockIdx.x * THREADS + threadIdx.x;
    if (i < J * K)
        w_packed[i % K * J + i / K] = w[i];
}

extern "C" __global__ __launch_bounds__(THREADS) void tiny_h(
    const __half *x, const __half *w_packed, const float *b, __half *h)
{
    const int n = blockIdx.x * THREADS + threadIdx.x;
    const int i = n / J, j = n % J;
    if (i >= I)
        return;
    float sum = 0;
    for (int k = 0; k < K; ++k)
        sum += dcc_to_float(x[i * K + k]) * dcc_to_float(w_packed[k * J + j]);
    h[i * H_STRIDE + j] = dcc_to_f16(dcc_max(sum + b[j], 0.0f));
}

struct tiny_y_smem {
    float total[J];
};

extern "C" __global__ __launch_bounds__(THREADS) void tiny_y(
    const __half *h, const __half *table, const int32_t *ids, float *total,
    float *y)
{
    extern __shared__ __align__(1024) unsigned char dcc_smem[];
    tiny_y_smem &smem = *(tiny_y_smem *)dcc_smem;
    const int t = threadIdx.x;
    if (t < J) {
        float sum = 0;
        for (int i = 0; i < I; ++i)
            sum += dcc_to_float(h[i * H_STRIDE + t]);
        total[t] = smem.total[t] = total[t] + sum;
    }
    __syncthreads();
    if (t < I * J) {
        const int i = t / J, j = t % J;
        y[t] = dcc_to_float(h[i * H_STRIDE + j]) +
               dcc_to_float(table[ids[i] * J + j]) + smem.total[j];
    }
}

static cudaError_t tiny_load_step(const dcc_frame *f, int step,
                                  cudaStream_t stream)
{
    if (step == 0)
        tiny_w_pack<<<(J * K + THREADS - 1) / THREADS, THREADS, 0, stream>>>(
            (const __half *)(f->params + 0), (__half *)(f->consts + 0));
    return cudaGetLastError();
}

static cudaError_t tiny_step(const dcc_frame *f, int step,
                             cudaStream_t stream)
{
    switch (step) {
    case 0:
        tiny_h<<<(I * J + THREADS - 1) / THREADS, THREADS, 0, stream>>>(
            (const __half *)f->inputs[0], (const __half *)(f->consts + 0),
            (const float *)(f->params + 256), (__half *)(f->arena + 0));
        break;
    case 1:
        tiny_y<<<1, THREADS, sizeof(tiny_y_smem), stream>>>(
            (const __half *)(f->arena + 0), (const __half *)(f->params + 512),
            (const int32_t *)f->inputs[1], (float *)(f->state + 0),
            (float *)f->outputs[0]);
        break;
    }
    return cudaGetLastError();
}

static const dcc_tensor tiny_params[] = {
    {"fc.weight", DCC_F16, 2, {9, 12}, {12, 1}, DCC_IN_PARAM, 0, 0, 0, 0, 0},
    {"fc.bias", DCC_F32, 1, {9}, {1}, DCC_IN_PARAM, 256, 0, 0, 0, 0},
    {"emb", DCC_F16, 2, {7, 9}, {9, 1}, DCC_IN_PARAM, 512, 0, 0, 0, 0},
};
static const dcc_tensor tiny_inputs[] = {
    {"x", DCC_F16, 2, {5, 12}, {12, 1}, DCC_IN_INPUT, 0, 0, 0, 0, 0},
    {"ids", DCC_I32, 1, {5}, {1}, DCC_IN_INPUT, 1, 0, 0, IDS, 0},
};
static const dcc_tensor tiny_outputs[] = {
    {"y", DCC_F32, 2, {5, 9}, {9, 1}, DCC_IN_OUTPUT, 0, 0, 0, 0, 0},
};
static const dcc_tensor tiny_states[] = {
    {"total", DCC_F32, 1, {9}, {1}, DCC_IN_STATE, 0, 0, 0, 0, 2},
};
static const dcc_tensor tiny_trace[] = {
    {"w_packed", DCC_F16, 2, {9, 12}, {1, 9}, DCC_IN_CONST, 0, -1, 0, 0, 0},
    {"h", DCC_F16, 2, {5, 9}, {16, 1}, DCC_IN_ARENA, 0, 0, 0, 0, 0},
    {"y", DCC_F32, 2, {5, 9}, {9, 1}, DCC_IN_OUTPUT, 0, 1, 0, 0, 0},
};
static const char *const tiny_load_names[] = {"tiny_w_pack"};
static const int tiny_step_args[] = {0, -1, 1, 2, -1};
static const char *const tiny_names[] = {"tiny_h", "tiny_y"};

static const dcc_model_desc tiny_desc = {
    .struct_size = sizeof(dcc_model_desc),
    .version = DCC_INTERFACE,
    .name = "tiny",
    .params = tiny_params,
    .n_params = 3,
    .inputs = tiny_inputs,
    .n_inputs = 2,
    .outputs = tiny_outputs,
    .n_outputs = 1,
    .states = tiny_states,
    .n_states = 1,
    .trace = tiny_trace,
    .n_trace = 3,
    .params_bytes = 768,
    .consts_bytes = 256,
    .arena_bytes = 256,
    .state_bytes = 256,
    .n_load_steps = 1,
    .n_steps = 2,
    .load_step = tiny_load_step,
    .step = tiny_step,
    .load_step_names = tiny_load_names,
    .step_names = tiny_names,
    .step_args = tiny_step_args,
};

// ---- the C interface, against the same in plain loops -----------------------

static struct {
    __half w[J * K], table[IDS * J], x[I * K];
    float b[J], total[J];
    int32_t ids[I];
    float y[I * J];
} host;

static void fill_host()
{
    for (int i = 0; i < J * K; ++i)
        host.w[i] = (float)(i * 37 % 19 - 9) / 16.0f;
    for (int i = 0; i < IDS * J; ++i)
        host.table[i] = (float)(i * 11 % 23 - 11) / 8.0f;
    for (int i = 0; i < I * K; ++i)
        host.x[i] = (float)(i * 7 % 13 - 6) / 4.0f;
    for (int i = 0; i < J; ++i)
        host.b[i] = (float)i / 4.0f - 1.0f;
    for (int i = 0; i < I; ++i)
        host.ids[i] = (i * 3 + 1) % IDS;
}

// One more run of the model in plain loops.
static void run_host()
{
    float h[I][J];
    for (int i = 0; i < I; ++i) {
        for (int j = 0; j < J; ++j) {
            float sum = host.b[j];
            for (int k = 0; k < K; ++k)
                sum += (float)host.x[i * K + k] * (float)host.w[j * K + k];
            h[i][j] = sum > 0 ? sum : 0;
            host.total[j] += h[i][j];
        }
    }
    for (int i = 0; i < I; ++i)
        for (int j = 0; j < J; ++j)
            host.y[i * J + j] = h[i][j] +
                                (float)host.table[host.ids[i] * J + j] +
                                host.total[j];
}

static int compare(const char *what, const void *y)
{
    float got[I * J];
    cudaMemcpy(got, y, sizeof got, cudaMemcpyDeviceToHost);
    for (int i = 0; i < I * J; ++i) {
        if (fabsf(got[i] - host.y[i]) <= 1e-2f)
            continue;
        printf("%s: y[%d] is %g, expected %g\n", what, i, got[i], host.y[i]);
        return 1;
    }
    return 0;
}

static int need(const char *what, dcc_status status)
{
    if (status != DCC_OK)
        printf("%s: %s\n", what, dcc_error());
    return status != DCC_OK;
}

// A run that joins the caller's own capture.
static int run_captured(dcc_model *m, const void *const *in, void *const *out)
{
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaStreamCreate(&stream);
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
    int bad = need("captured run", dcc_model_run(m, in, out, stream));
    cudaStreamEndCapture(stream, &graph);
    cudaGraphInstantiateWithFlags(&exec, graph, 0);
    cudaGraphLaunch(exec, stream);
    cudaStreamSynchronize(stream);
    cudaGraphExecDestroy(exec);
    cudaGraphDestroy(graph);
    cudaStreamDestroy(stream);
    run_host();
    return bad | compare("captured run", out[0]);
}

static void reset_host()
{
    for (float &t : host.total)
        t = 2;
}

// Two states whose names differ after 600 letters are two in a file.
static int long_names(const void *const *params)
{
    static char names[2][620];
    dcc_tensor states[] = {tiny_states[0], tiny_states[0]};
    dcc_model_desc desc = tiny_desc;
    dcc_model *m;

    for (int i = 0; i < 2; ++i) {
        memset(names[i], 'n', 600);
        names[i][600] = "ab"[i];
        states[i].name = names[i];
    }
    states[1].offset = 64;
    desc.states = states;
    desc.n_states = 2;
    if (need("create", dcc_model_create_with(&m, &desc, params)))
        return 1;
    int bad = need("save", dcc_model_save(m, "/dev/null"));
    dcc_model_destroy(m);
    return bad;
}

static int self_test()
{
    const void *params[] = {host.w, host.b, host.table};
    void *x, *ids, *y, *y2, *none = NULL;
    dcc_model *m;
    fill_host();
    if (need("create", dcc_model_create_with(&m, &tiny_desc, params)))
        return 1;
    cudaMalloc(&x, sizeof host.x);
    cudaMalloc(&ids, sizeof host.ids);
    cudaMalloc(&y, sizeof host.y);
    cudaMalloc(&y2, sizeof host.y);
    cudaMemcpy(x, host.x, sizeof host.x, cudaMemcpyHostToDevice);
    cudaMemcpy(ids, host.ids, sizeof host.ids, cudaMemcpyHostToDevice);
    const void *in[] = {x, ids};
    int bad = 0;
    reset_host();
    for (int i = 0; i < 3; ++i) { // the third has another output
        void *out = i == 2 ? y2 : y;
        bad |= need("run", dcc_model_run(m, in, &out, 0));
        cudaDeviceSynchronize();
        run_host();
        bad |= compare("run", out);
    }
    bad |= run_captured(m, in, &y);
    bad |= need("steps", dcc_model_run_steps(m, in, &y, 0, NULL, NULL));
    run_host();
    bad |= compare("steps", y);
    bad |= need("reset", dcc_model_reset(m, 0));
    reset_host();
    bad |= need("run", dcc_model_run(m, in, &y, 0));
    cudaDeviceSynchronize();
    run_host();
    bad |= compare("after reset", y);
    if (dcc_model_run(m, in, &none, 0) != DCC_ERR_ARG)
        bad = printf("a null output was accepted\n");
    dcc_model_destroy(m);
    bad |= long_names(params);
    cudaFree(x);
    cudaFree(ids);
    cudaFree(y);
    cudaFree(y2);
    return bad;
}

int main(int argc, char **argv)
{
    static const dcc_model_desc *const models[] = {&tiny_desc};
    if (argc == 2 && strcmp(argv[1], "--self-test") == 0)
        return self_test() != 0;
    return dcc_main(models, 1, argc, argv);
}
