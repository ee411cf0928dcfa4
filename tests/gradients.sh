#!/bin/sh
# Gradients against directional derivatives of the forward pass, in double
# (dcc verify --gradients): of programs of tests/numeric, and of examples at
# small sizes.
#
#   tests/gradients.sh [FILE.dcl...]     a test point for each
#
# DCC_BIN  the compiler; DCC_SRC the source tree
src=${DCC_SRC:-$(cd "$(dirname "$0")/.." && pwd)}
dcc=${DCC_BIN:-$src/build/dcc}
export DCC_RUNTIME_DIR="$src/runtime"
log=$(mktemp) || exit 1
trap 'rm -f "$log"' EXIT
trap 'exit 130' INT TERM
n=0

# check NAME OPTION...
check()
{
    n=$((n + 1))
    name=$1
    shift
    if "$dcc" verify --gradients "$@" >"$log" 2>&1; then
        echo "ok - $name"
    else
        echo "not ok - $name"
        sed -n '1,15s/^/# /p' "$log"
    fi
}

if [ $# -gt 0 ]; then
    for f; do
        check "${f##*/}" "$f"
    done
else
    for f in gather index map optimizer params parts phase ranges scatter \
        training; do
        check "$f" "$src/tests/numeric/$f.dcl"
    done
    check mlp "$src/examples/mlp.dcl" -D B=2
fi
echo "1..$n"
