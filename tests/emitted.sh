#!/bin/sh
# What dcc emits for examples/mlp.dcl is kept in examples/emitted/: a change of
# it is seen in review.  After a wanted change: tests/emitted.sh --update
src=${DCC_SRC:-$(cd "$(dirname "$0")/.." && pwd)}
dcc=${DCC_BIN:-$src/build/dcc}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

cd "$src/examples" && "$dcc" mlp.dcl -o "$work/mlp.cu" || exit 1
if [ "${1:-}" = --update ]; then
    cp "$work/mlp.cu" "$work/mlp.h" emitted/
    exit
fi
echo 1..3
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
