#!/bin/sh
# What the benchmarks draw and read, as far as it needs no GPU.
if ! command -v python3 >/dev/null 2>&1; then
    echo 1..1
    echo "ok - benchmarks # SKIP there is no python3"
    exit 0
fi
src=${DCC_SRC:-$(cd "$(dirname "$0")/.." && pwd)}
DCC_BIN=${DCC_BIN:-$src/build/dcc} DCC_RUNTIME_DIR="$src/runtime" \
    exec python3 "$src/tests/test_bench.py"
