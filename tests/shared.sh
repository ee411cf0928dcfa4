#!/bin/sh
# The emitted C API: handles that share weights, and what a caller gets wrong.
src=${DCC_SRC:-$(cd "$(dirname "$0")/.." && pwd)}
dcc=${DCC_BIN:-$src/build/dcc}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
cd "$work" || exit 1

cat >net.dcl <<'END'
model net {
  input x : f32[8, 32];
  param w : f32[16, 32];
  state n : f32[16];
  y0 = linear(x, w);
  n[j] = n[j] + sum(i) y0[i, j];
  output y[i, j] = y0[i, j] + n[j];
}
END
cat >main.cpp <<'END'
#include "net.h"

#include <stdio.h>
#include <string.h>

enum { N = 3 };

static int wrong(const char *what)
{
    printf("%s: %s\n", what, dcc_error());
    return 1;
}

int main(void)
{
    net *m[N] = {0}, *none = 0;
    float w[16 * 32], x[8 * 32], y[N][8 * 16];
    const void *params[] = {w};
    void *in, *out;

    for (int i = 0; i < 16 * 32; i++)
        w[i] = (float)(i % 7) - 3;
    for (int i = 0; i < 8 * 32; i++)
        x[i] = (float)(i % 5) - 2;
    if (dcc_model_create_with(&m[0], &net_desc, params))
        return wrong("create");
    for (int i = 1; i < N; i++)
        if (net_create_shared(&m[i], m[i - 1]))
            return wrong("create_shared");
    cudaMalloc(&in, sizeof x);
    cudaMalloc(&out, sizeof y[0]);
    cudaMemcpy(in, x, sizeof x, cudaMemcpyHostToDevice);
    net_inputs inputs = {in};
    net_outputs outputs = {out};
    for (int i = 0; i < N; i++) { /* the first go, the weights stay */
        for (int turn = 0; turn < 2; turn++)
            if (net_run(m[i], &inputs, &outputs, 0))
                return wrong("run");
        cudaDeviceSynchronize();
        cudaMemcpy(y[i], out, sizeof y[0], cudaMemcpyDeviceToHost);
        net_destroy(m[i]);
        if (memcmp(y[i], y[0], sizeof y[0]))
            return wrong("other numbers");
    }
    if (net_create_shared(&none, 0) != DCC_ERR_ARG || none ||
        net_run(0, &inputs, &outputs, 0) != DCC_ERR_ARG)
        return wrong("a null pointer is no error");
    cudaFree(in);
    cudaFree(out);
    return 0;
}
END
n=0
for flags in -O1 --asan; do
    n=$((n + 1))
    if { "$dcc" net.dcl -o net.cu &&
         sh "$src/runtime/emu/dcc-emu-cc" $flags -I. -o run net.cu main.cpp &&
         ./run; } >log 2>&1; then
        echo "ok $n - handles share weights, $flags"
    else
        echo "not ok $n - handles share weights, $flags"
        tail -20 log | sed 's/^/# /'
    fi
done
echo "1..$n"
