#!/bin/sh
# A sample of ONNX's backend tests by `dcc import` and the oracle; all of them:
# tests/onnx_tests.py --all.
src=${DCC_SRC:-$(cd "$(dirname "$0")/.." && pwd)}
if "${DCC_BIN:-$src/build/dcc}" import /dev/null 2>&1 |
    grep -q "without protobuf-c"; then
    echo 1..1
    echo "ok - ONNX # SKIP this dcc was built without protobuf-c"
elif ! command -v python3 >/dev/null 2>&1; then
    echo 1..1
    echo "ok - ONNX # SKIP there is no python3"
else
    exec python3 "$src/tests/onnx_tests.py"
fi
