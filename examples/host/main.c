/* main.c - a program of one's own around an emitted model.
 *
 *     classify weights.safetensors
 *
 * runs the perceptron of examples/mlp.dcl, compiled with -D B=1 -D E=f32, on
 * one row of 512 numbers and prints the 10 probabilities. */
#include "mlp.h"

#include <cuda_runtime_api.h>
#include <stdio.h>

enum { D = 512, C = 10 };

static int fail(const char *what)
{
    fprintf(stderr, "classify: %s\n", what);
    return 1;
}

/* Copies a row to the GPU, runs, copies the answer back. */
static int classify(mlp *model, const float *row, float *probability)
{
    float *x = NULL, *y = NULL;
    int bad = cudaMalloc((void **)&x, D * sizeof *x) != cudaSuccess ||
              cudaMalloc((void **)&y, C * sizeof *y) != cudaSuccess;
    if (!bad) {
        mlp_inputs in = {DCC_HEAD(mlp_inputs), .x = x};
        mlp_outputs out = {DCC_HEAD(mlp_outputs), .y = y};
        cudaMemcpy(x, row, D * sizeof *x, cudaMemcpyHostToDevice);
        bad = mlp_run(model, &in, &out, 0) != DCC_OK;
        bad |= cudaMemcpy(probability, y, C * sizeof *y,
                          cudaMemcpyDeviceToHost) != cudaSuccess;
    }
    cudaFree(x);
    cudaFree(y);
    return bad;
}

int main(int argc, char **argv)
{
    if (argc != 2)
        return fail("usage: classify weights.safetensors");
    mlp *model;
    if (mlp_create(&model, argv[1]) != DCC_OK)
        return fail(dcc_error());
    float row[D], probability[C];
    for (int i = 0; i < D; i++)
        row[i] = (float)(i % 17 - 8) / 8.0f;
    int bad = classify(model, row, probability);
    mlp_destroy(model);
    if (bad)
        return fail(dcc_error()[0] ? dcc_error() : "the GPU refused");
    for (int i = 0; i < C; i++)
        printf("%d: %.4f\n", i, probability[i]);
    return 0;
}
