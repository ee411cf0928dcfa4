#!/bin/sh
# Every allocation of dcc and of a program with the runtime fails, one at a
# time: the status is 3 and the message says so, or what failed was none that
# the result needs (a buffer of the C library's) and all is there. No crash,
# no other status, and of files that belong together all or none.
src=${DCC_SRC:-$(cd "$(dirname "$0")/.." && pwd)}
dcc=${DCC_BIN:-$src/build/dcc}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 130' HUP INT PIPE TERM
export DCC_EMU_CACHE="${DCC_EMU_CACHE:-$work/cache}"
cd "$work" || exit 1
n=0 bad=0

# The sanitizers have a malloc of their own; other C libraries have no such
# names.
if [ -n "$NUMERIC_ASAN" ] ||
    ! ${CC:-cc} -shared -fPIC -o no_memory.so "$src/tests/no_memory.c" \
        2>/dev/null; then
    echo "1..0 # SKIP allocations cannot be refused here"
    exit 0
fi

# refuse AT COMMAND...: that allocation of it; its words to said
refuse()
{
    at=$1
    shift
    rm -rf out
    mkdir out
    got=0
    env NO_MEMORY_AT="$at" NO_MEMORY_COUNT=count \
        LD_PRELOAD="$work/no_memory.so" "$@" >printed 2>said || got=$?
}

# made FILES: there are so many, or any
made()
{
    [ "$1" = any ] || [ "$(ls out | wc -l)" = "$1" ]
}

# each NAME STEP FILES COMMAND...: every STEP-th of the command's allocations, and
# the first ones all. FILES is how many it makes in out/.
each()
{
    name=$1 step=$2 files=$3
    shift 3
    refuse 0 "$@"
    all=$(cat count) at=1 wrong=
    [ "$got" = 0 ] && made "$files" || wrong="none refused"
    while [ -z "$wrong" ] && [ "$at" -le "$all" ]; do
        refuse "$at" "$@"
        case $got in
        0) made "$files" || wrong="$at: $(ls out | wc -l) files" ;;
        3)
            grep -q "out of memory\|too little GPU memory" said ||
                wrong="$at: other words"
            [ "$files" = any ] || made 0 || wrong="$at: some are left" ;;
        *) # of libraries that end the process themselves
            grep -q "^libgomp: Out of memory\|glibc error.* out of memory" said ||
                wrong="$at: status $got" ;;
        esac
        at=$((at + (at < 100 ? 1 : step)))
    done
    n=$((n + 1))
    if [ -z "$wrong" ]; then
        echo "ok $n - $name, $all allocations"
    else
        bad=1
        echo "not ok $n - $name, $wrong"
        sed 's/^/# /' said
    fi
}

cat >m.dcl <<'END'
model m {
  dim B = 4;
  input x : f16[B, 6];
  input ids : i32[B] in 0..5;
  param w : f16[5, 6];
  param s : f32[5] = normal(1);
  state k : f32[B, 5];
  k = k * 0.5 + linear(x, w) * s;
  output y = k;
  output z[i] = w[ids[i], 0];
}
END
each "a .cu, its header and a plan" 17 3 \
    "$dcc" m.dcl --write-plan=out/m.plan -o out/m.cu
each "the oracle" 7 1 "$dcc" --emit=ref m.dcl -o out/m.c
each "fmt" 1 0 "$dcc" fmt m.dcl
each "ops" 1 0 "$dcc" ops softmax
[ ! -e "$src/examples/mlp.onnx" ] ||
    each "import" 1 2 "$dcc" import "$src/examples/mlp.onnx" -o out/m.dcl

"$dcc" m.dcl -o prog.cu --main &&
    sh "$src/runtime/emu/dcc-emu-cc" -Og -o prog prog.cu || exit 1
each "a program" 1 any env DCC_EMU_THREADS=1 ./prog --random 1 --save out/w \
    --out out/y --runs 2

echo "1..$n"
exit $bad
