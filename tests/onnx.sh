#!/bin/sh
# dcc import: a sample of ONNX's backend tests by the oracle (all of them:
# tests/onnx_tests.py --all), what the text looks like, damaged files.
src=${DCC_SRC:-$(cd "$(dirname "$0")/.." && pwd)}
if "${DCC_BIN:-$src/build/dcc}" import /dev/null 2>&1 |
    grep -q "without protobuf-c"; then
    echo 1..1
    echo "ok - ONNX # SKIP this dcc was built without protobuf-c"
elif ! command -v python3 >/dev/null 2>&1; then
    echo 1..1
    echo "ok - ONNX # SKIP there is no python3"
else
    export PYTHONDONTWRITEBYTECODE=1
    for part in onnx_text onnx_hostile onnx_tests; do
        python3 "$src/tests/$part.py" || echo "not ok - $part.py ends well"
    done | awk '/^1\.\.[0-9]/ { next }
                /^(not )?ok / { n++ }
                { print }
                END { print "1.." n }'
fi
