#!/bin/sh
# What dcc emits for examples/mlp.dcl is kept in examples/emitted/: a change of
# it is seen in review.  After a wanted change: tests/emitted.sh --update
src=${DCC_SRC:-$(cd "$(dirname "$0")/.." && pwd)}
dcc=${DCC_BIN:-$src/build/dcc}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

cd "$src/examples" && "$dcc" mlp.dcl -o "$work/mlp.cu" || exit 1
if [ "${1:-}" = --update ]; then
    mkdir -p emitted
    cp "$work/mlp.cu" "$work/mlp.h" emitted/
    exit
fi
echo 1..4
for f in mlp.cu mlp.h; do
    if diff -u "emitted/$f" "$work/$f" >"$work/diff"; then
        echo "ok - $f is what examples/emitted has"
    else
        sed 's/^/# /' "$work/diff" | head -60
        echo "not ok - $f is what examples/emitted has"
    fi
done
mv "$work/mlp.cu" "$work/first.cu"
"$dcc" mlp.dcl -o "$work/mlp.cu"
if cmp -s "$work/mlp.cu" "$work/first.cu"; then
    echo "ok - the same input gives the same bytes"
else
    echo "not ok - the same input gives the same bytes"
fi

# alone in a folder, without the runtime's headers
cd "$work" && mkdir alone && "$dcc" "$src/examples/mlp.dcl" -D B=2 -o \
    alone/mlp.cu --main --standalone && rm -f alone/mlp.h && cd alone &&
    sh "$src/runtime/emu/dcc-emu-cc" -Og -o mlp mlp.cu >log 2>&1 &&
    ./mlp --random 1 >>log 2>&1
if [ $? = 0 ] && ! grep '#include "' mlp.cu | grep -qv emu; then
    echo "ok - a --standalone file needs no other file"
else
    head -20 log | sed 's/^/# /'
    grep '#include "' mlp.cu | grep -v emu | sed 's/^/# /'
    echo "not ok - a --standalone file needs no other file"
fi
