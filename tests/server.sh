#!/bin/sh
# The emitted C API as a server uses it: tests/server/server.cpp under the
# address and the thread sanitizer and under valgrind; index files; files of
# other versions of dcc; two --standalone models in one program.
# SERVER_SECONDS: how long two threads churn one set of weights (default 1).
src=${DCC_SRC:-$(cd "$(dirname "$0")/.." && pwd)}
dcc=${DCC_BIN:-$src/build/dcc}
cc="$src/runtime/emu/dcc-emu-cc"
seconds=${SERVER_SECONDS:-1}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
cd "$work" || exit 1
export DCC_EMU_THREADS=1 # the threads are the program's
export DCC_EMU_GPUS=2
n=0

verdict() # STATUS TEXT
{
    n=$((n + 1))
    if [ "$1" = 0 ]; then
        echo "ok $n - $2"
    else
        grep -v '^ok' log | head -25 | sed 's/^/# /'
        echo "not ok $n - $2"
    fi
}
skip()
{
    n=$((n + 1))
    echo "ok $n - $1 # SKIP $2"
}

{ "$dcc" "$src/tests/server/net.dcl" -o net.cu &&
    "$dcc" "$src/tests/server/other.dcl" -o other.cu &&
    sh "$cc" -Og -c -I. -o kernels.o net.cu other.cu; } >log 2>&1
verdict $? "the models compile"
if ! python3 "$src/tests/server/weights.py" >log 2>&1; then
    skip "the server" "needs python3"
    echo "1..$n"
    exit
fi

# the tables as dcc.py has them: sizes, and where the last fields are
cat >table.cpp <<'END'
#include <stddef.h>
#include <stdio.h>
#include "dcc_rt.h"
int main()
{
    printf("%d %zu %zu %zu %zu %zu\n", DCC_INTERFACE, sizeof(dcc_tensor),
           offsetof(dcc_tensor, lo), offsetof(dcc_tensor, spread),
           sizeof(dcc_model_desc), offsetof(dcc_model_desc, n_sizes));
}
END
{ sh "$cc" -O0 -o table table.cpp && ./table >table.c.txt &&
    PYTHONPATH=$src/runtime PYTHONDONTWRITEBYTECODE=1 python3 -c 'if 1:
    from ctypes import sizeof
    from dcc import _Desc as d, _Tensor as t, _INTERFACE as i
    print(i, sizeof(t), t.lo.offset, t.spread.offset, sizeof(d),
          d.n_sizes.offset)' >table.py.txt && diff table.c.txt table.py.txt
} >log 2>&1
verdict $? "dcc.py reads the tables as dcc_rt.h has them"

build() # OUT FLAG...
{
    out=$1
    shift
    sh "$cc" "$@" -I. -o "$out" net.cu other.cu "$src/tests/server/server.cpp"
}
{ build plain -Og -g && ./plain w1.safetensors w2.safetensors; } >log 2>&1
verdict $? "the server"
DCC_EMU_LAUNCH=early ./plain w1.safetensors w2.safetensors alone \
    >log 2>&1
verdict $? "the server with launches as early as they may be"
./plain w1.safetensors.index.json w2.safetensors.index.json >log 2>&1
verdict $? "the server with weights in several files"
{ build asan -Og --asan && ./asan w1.safetensors w2.safetensors; } >log 2>&1
verdict $? "the server under the address sanitizer"
{ build tsan -Og --tsan &&
    TSAN_OPTIONS=halt_on_error=1 ./tsan w1.safetensors w2.safetensors &&
    TSAN_OPTIONS=halt_on_error=1 ./tsan w1.safetensors w2.safetensors \
        churn "$seconds"; } >log 2>&1
verdict $? "the server under the thread sanitizer, churning for $seconds s"
if command -v valgrind >/dev/null; then
    valgrind -q --error-exitcode=9 --leak-check=full \
        --errors-for-leak-kinds=definite ./plain w1.safetensors \
        w2.safetensors.index.json churn 0.5 >log 2>&1
    verdict $? "two threads that churn one set under valgrind"
else
    skip "two threads that churn one set under valgrind" "needs valgrind"
fi

# ---- index files that are wrong
index() # TEXT EXPECTED
{
    printf '%s' "$1" >bad.index.json
    ./plain bad.index.json w2.safetensors churn 0.1 >log 2>&1
    grep -F "$2" log >/dev/null
    verdict $? "an index: $2"
}
index '' 'the file is empty'
index '{"metadata": {}}' 'no "weight_map"'
index '{"weight_map": {"q": "nofile.safetensors"}}' 'nofile.safetensors: No such'
index '{"weight_map": {"q": "../w1.safetensors"}}' 'no name of a file beside'
index '{"weight_map": {"zz": "w1.safetensors"}}' 'has no tensor "zz"'
index '{"weight_map": {"q": "w1.safetensors", "q": "w2.safetensors"}}' \
    '"q" is named twice'
index '{"weight_map": {"q": "w1.safetensors"}}' 'no tensor "k"'
index '{"weight_map": {"q": 7}}' "expected '\"'"
index '{"a": [[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]}' 'nested too deeply'

# ---- files and sources of other versions
sed 's/^DCC_EMITTED_FOR([0-9]*, "[^"]*")/DCC_EMITTED_FOR(1, "0.0.9")/' net.h \
    >old.h
mkdir old && mv old.h old/net.h && cp net.cu old/
sh "$cc" -O0 -c -o old.o old/net.cu >log 2>&1
[ $? != 0 ] && grep 'emitted by dcc 0.0.9, interface 1; dcc_rt.h is of dcc' \
    log >/dev/null
verdict $? "a file of an older dcc does not compile, and says why"
[ "$(sed -n 's/^#define DCC_RUNTIME_VERSION "\(.*\)"/\1/p' \
    "$src/runtime/dcc_rt.h")" = "$("$dcc" --version | awk 'NR == 1 {print $2}')" ]
verdict $? "the runtime is of the version that dcc is"

# ---- two files that have the runtime in them
cat >two.cpp <<'END'
#include "net.h"
#include "other.h"

#include <stdio.h>
#include <string.h>

int main(void)
{
    net *m = 0;
    other *o = 0;

    return !(net_create(&m, 0) == DCC_ERR_ARG &&
             strstr(dcc_error(), "net: needs a weights file") &&
             other_create(&o, 0) == DCC_ERR_ARG &&
             strstr(dcc_error(), "other: needs a weights file"));
}
END
mkdir alone &&
    "$dcc" "$src/tests/server/net.dcl" -o alone/net.cu --standalone >log 2>&1 &&
    "$dcc" "$src/tests/server/other.dcl" -o alone/other.cu --standalone \
        >>log 2>&1 &&
    sh "$cc" -O0 -I. -o two alone/net.cu alone/other.cu two.cpp >>log 2>&1 &&
    ./two >>log 2>&1
verdict $? "two --standalone models in one program"

# ---- ranges for Nsight, where there are nvtx3's headers
for cuda in "${CUDA_HOME:-/usr/local/cuda}" /usr; do
    [ ! -e "$cuda/include/nvtx3/nvToolsExt.h" ] ||
        ln -sfn "$cuda/include/nvtx3" nvtx3
done
if [ -e nvtx3 ]; then
    { "$dcc" "$src/tests/server/other.dcl" -o range.cu --main --standalone &&
        sh "$cc" -O0 -DDCC_NVTX -I. -o range range.cu -ldl &&
        ${CC:-cc} -shared -fPIC -I. -o inject.so "$src/tests/server/nvtx.c" &&
        NVTX_INJECTION64_PATH=$PWD/inject.so ./range --random 1; } >log 2>&1 &&
        grep -q '^push other$' log && grep -q '^push other_' log &&
        [ "$(grep -c ^push log)" = "$(grep -c ^pop log)" ]
    verdict $? "NVTX ranges of runs and their steps"
else
    skip "NVTX ranges of runs and their steps" "needs nvtx3"
fi
echo "1..$n"
