#!/bin/sh
# Names and foreign text that emitted code could mistake for its own.
#
#   tests/names.sh               the list of words, a program of all families
#                                renamed, hostile files, two files in a program
#   tests/names.sh --all [SEED]  every numeric case, in every flavour, renamed
#
# DCC_BIN, DCC_SRC as elsewhere; numeric.sh takes NUMERIC
src=${DCC_SRC:-$(cd "$(dirname "$0")/.." && pwd)}
dcc=${DCC_BIN:-$src/build/dcc}
export DCC_RUNTIME_DIR="$src/runtime" DCC_SRC="$src" DCC_BIN="$dcc"
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
n=0

. "$src/tests/point.sh"

# What dcc's own text is made of, and words of the compilers' headers.
candidates()
{
    { grep -v '^//@' "$src"/templates/*.cu.in
      find "$src/compiler/family" "$src/compiler/emit" "$src/compiler/oracle" \
          -name '*.c' -exec grep -oh '"[^"]*"' {} +
      grep -v '^#' "$src/compiler/emit/words.txt"; } |
        grep -oh '[A-Za-z_][A-Za-z0-9_]*' | sort -u
}

# renamed SEED FILE: to the standard output
renamed()
{
    awk -v seed="$1" -f "$src/tests/rename.awk" "$work/words" \
        "$src/dsl/prelude.dcl" "$2"
}

candidates >"$work/words"
if [ "$1" = --all ]; then
    mkdir "$work/all"
    for f in "$src"/tests/numeric/*.dcl; do
        renamed "${2:-1}" "$f" >"$work/all/$(basename "$f")"
    done
    sh "$src/tests/numeric.sh" "$work"/all/*.dcl
    exit
fi

cd "$work" || exit 1
{ python3 "$src/tools/names.py" --compare || echo "exit $?"; } >log 2>&1
if grep -q -e '^exit 77' -e 'not found' -e Error log; then
    n=$((n + 1))
    echo "ok $n - words.txt # SKIP other headers than the list's, or no tools"
else
    ! grep -q '^exit' log
    point $? "words.txt has every macro and global name of the headers"
fi

# ---- all families, every sort of name

cat >plain.dcl <<'END'
op scaled(u: T[..]; factor, shift = 1) -> v: T[..] {
  v[..] = u[..] * factor + shift;
}
block layer(x: T[B, D]; wide) -> y {
  param w1 : T[wide, D] = "first.weight";
  param w2 : T[D, wide];
  inner = relu(linear(x, w1));
  y = layer_norm(linear(inner, w2) + x);
}
model net {
  dim B = 70;
  dim D = 72;
  dim H = 136;
  type E = f16;
  input x : E[B, D];
  input ids : i32[B] in 0..9;
  input bytes : i8[B];
  param table : E[9, D];
  param gain : f32[D];
  state seen : f32[D] = 0.5;
  t = layer[0](x, wide = H);
  picked[b, d] = t[b, d] + table[ids[b], d];
  total[b] : f32 = sum(d) picked[b, d] * gain[d];
  best[b] = argmax(d) picked[b, d];
  seen[d] = seen[d] * 0.5 + max(b) picked[b, d];
  twice = scaled(picked, factor = 2);
  output near[b, d] = twice[b, d] + total[b];
  output last[d] = seen[d] * 2;
  output at[b] = best[b] + bytes[b] * 2;
}
model few {
  input x : f16[3, 512];
  param w : f16[700, 512];
  output y[m, n] = sum(k) x[m, k] * w[n, k];
  output z = softmax(y);
}
model pictures {
  input x : f32[2, 9, 9, 5];
  param w : f32[4, 5, 3, 3];
  output y[n, p in 0..9, q in 0..9, m] = relu(sum(c, r, s)
    (x[n, p + r - 1, q + s - 1, c] or 0) * w[m, c, r, s]);
}
END
for seed in 1 2; do
    renamed $seed plain.dcl >names$seed.dcl
    "$dcc" verify names$seed.dcl --cpu >log 2>&1 && ! grep -q WRONG log
    point $? "a program renamed, seed $seed"
done

# ---- names that end what they stand in

printf '%s\n' '// a comment \' 'model net {' '  input x : f32[4];' \
    '  param w : f32[4] = "a\"; // *\ ??/ %s %n"' \
    '  param v : f32[4] = "\";' \
    '  output y[i] = x[i] * w[i] + v[i]; // \' '}' >'we ird*\ ??%d.dcl'
printf '  // \377\001\n' >>'we ird*\ ??%d.dcl'
cp 'we ird*\ ??%d.dcl' hostile.dcl
"$dcc" verify 'we ird*\ ??%d.dcl' --cpu >log 2>&1
point $? "hostile names of weights and files"
"$dcc" 'we ird*\ ??%d.dcl' -o out.cu >log 2>&1 &&
    grep -qF '{"a\\", ' out.cu && grep -qF '{"\\", ' out.cu
point $? "they are escaped"
"$dcc" hostile.dcl -o 'a"b.cu' >log 2>&1
[ $? = 1 ] && grep -q 'cannot be included' log && [ ! -e 'a"b.cu' ]
point $? "a header that cannot be included is refused"

# ---- two programs in one

printf 'model a { input x : f32[4]; output b_y[i] = x[i] * 2; }\n' >a.dcl
printf 'model a_b { input x : f32[4]; output y[i] = x[i] * 3; }\n' >rt.dcl
{ "$dcc" a.dcl -o a.cu && "$dcc" rt.dcl -o rt.cu && cat >main.cpp <<'END'
#include "a.h"
#include "rt.h"
int main(void)
{
    a_inputs x = {0};
    a_b_inputs y = {0};
    return x.x != y.x || a_run == 0 || a_b_run == 0;
}
END
  sh "$src/runtime/emu/dcc-emu-cc" -O0 -I. -o two a.cu rt.cu main.cpp &&
  ./two; } >log 2>&1
point $? "two files' models are one program, whatever the files are called"
echo "1..$n"
