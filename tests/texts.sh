#!/bin/sh
# What a reader of emitted text counts on, over the examples, two targets, both
# types and three batches: a kernel has fewer than 200 lines, from its first to
# its closing brace, a line at most 80 columns, and no two kernels of a model
# differ in their names alone. And what nvcc does: products of registers are
# waited for in the turn of a loop that begins them.
#
#   tests/texts.sh [NAME...]     a test point for each model and target
#
# DCC_BIN  the compiler; DCC_SRC the source tree
src=${DCC_SRC:-$(cd "$(dirname "$0")/.." && pwd)}
dcc=${DCC_BIN:-$src/build/dcc}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
n=0
. "$src/tests/point.sh"

# long_texts FILE: a line for each kernel or line that is too long
long_texts()
{
    awk '/^extern "C" __global__/ { first = NR; name = "" }
         first && !name && /^void / { name = $2; sub(/\(.*/, "", name) }
         /^}/ && first {
             if (NR - first + 1 >= 200)
                 print name ": " NR - first + 1 " lines"
             first = 0
         }
         length > 80 { print "line " NR ": " length " columns" }' "$1"
}

# lost_factors FILE: a line for each product of registers in a loop that waits
# for it in a later turn, or only on some way: nvcc does not keep the registers
# that long. A line's indentation says which loop it is in.
lost_factors()
{
    awk 'function indent(s) { match(s, /^ */); return RLENGTH }
         /^extern "C" __global__/ { n = 0; lambda = products = "" }
         /auto [a-z_]+ = \[&\]/ { lambda = $2; inner = indent($0) }
         lambda && /^ *};$/ && indent($0) == inner { lambda = "" }
         /^ *for \(.*\{$/ && before !~ /#pragma unroll$/ {
             loop[++n] = indent($0); open[n] = ""
         }
         /_regs<|_regs\(|dcc_wgmma_weights|dcc_wgmma_halves|dcc_wgmma_parts/ {
             if (lambda)
                 products = products "|" lambda "\\("
             else if (n)
                 open[n] = NR
         }
         products && $0 ~ substr(products, 2) && n { open[n] = NR }
         /dcc_wgmma_wait<0>/ && n && indent($0) == loop[n] + 4 { open[n] = "" }
         /^ *}$/ && n && indent($0) == loop[n] {
             if (open[n])
                 print "line " open[n] ": its loop turns before it is done"
             --n
         }
         { before = $0 }' "$1"
}

# twins FILE: a line for each kernel that differs from one before it of the same
# model in its name and in comments alone, from its grid to the end of its launch
twins()
{
    awk '/^\/\/ grid / { text = $0; name = ""; ends = 0; on = 1; next }
         on && !name && /^void / {
             name = $2
             sub(/\(.*/, "", name)
             if (name ~ /__/) # of several models
                 text = substr(name, 1, index(name, "__")) text
             next
         }
         on {
             line = $0
             sub(/ *\/\/.*/, "", line)
             gsub(name, "", line)
             text = text "\n" line
         }
         on && /^}/ && ++ends == 2 {
             if (text in first)
                 print name ": as " first[text]
             else
                 first[text] = name
             on = 0
         }' "$1"
}

# kernel LINES: a text of one kernel
kernel()
{
    printf 'extern "C" __global__\nvoid long_one(\n    int i)\n{\n'
    i=5
    while [ $i -lt "$1" ]; do
        echo "    ++i;"
        i=$((i + 1))
    done
    echo "}"
}

# model NAME TARGET
model()
{
    : >"$work/log"
    for type in f16 f32; do
        for batch in 1 8 32; do
            "$dcc" "$src/examples/$1.dcl" -D E=$type -D B=$batch \
                --target="$2" -o "$work/x.cu" >"$work/said" 2>&1 ||
                cat "$work/said" >>"$work/log"
            { long_texts "$work/x.cu"; lost_factors "$work/x.cu"
              twins "$work/x.cu"; } |
                sed "s/^/$type B=$batch: /" >>"$work/log"
        done
    done
    [ ! -s "$work/log" ]
    point $? "$1 for $2"
}

# chains TARGET FAMILY: with all that lies between two products; line 4 is the
# command
chains()
{
    : >"$work/log"
    for seed in 1 2 3; do
        "$dcc" "$src/tests/numeric/attention.dcl" --target="$1" \
            --variant="$2=any" --random-plan=$seed -o "$work/x.cu" \
            >>"$work/log" 2>&1
        { long_texts "$work/x.cu"; lost_factors "$work/x.cu"; } |
            grep -v '^line 4:' >>"$work/log"
    done
    [ ! -s "$work/log" ]
    point $? "chains for $1"
}

# stacked N: that many layers, whose two results a choice stacks and slices read
# back. What they sum up goes with no product beyond what a reader takes in.
stacked()
{
    cat <<'EOF'
block layer(x: T[C, L]; far) -> y {
  param w : T[C, C, 2];
  param v : T[C, C];
  h[k, t in 0..L] = tanh(sum(c, r) (x[c, t - r * far] or 0) * w[k, c, r]);
  r[k, t] = sum(c) h[c, t] * v[k, c];
  y[two in 0..2, c, t] = two == 0 ? x[c, t] + r[c, t] : r[c, t];
}
model stacked {
  dim N = 4;
  input x0 : f16[64, 4000];
  x = x0;
  skip : f32 = 0;
  for l in 0..N {
    z = layer(x, far = l + 1) as "layer.{l}";
    x = reshape(slice(z, axis = 0, last = 1), shape = [64, 4000]);
    skip = skip + reshape(slice(z, axis = 0, first = 1), shape = [64, 4000]);
  }
  output y = relu(skip) + x;
}
EOF
}

# drawn MODEL: layouts and variants that nobody would choose
drawn()
{
    : >"$work/log"
    for seed in 1 2 3 4; do
        "$dcc" "$src/examples/$1.dcl" -D E=f16 --random-plan=$seed \
            -o "$work/x.cu" >"$work/said" 2>&1 ||
            { echo "seed $seed:"; cat "$work/said"; } >>"$work/log"
    done
    [ ! -s "$work/log" ]
    point $? "drawn plans of $1"
}

kernel 199 >"$work/x.cu"
long_texts "$work/x.cu" >"$work/log"
[ ! -s "$work/log" ]
point $? "a kernel of 199 lines may be"
{ kernel 200; printf '%81s\n' x; } >"$work/x.cu"
long_texts "$work/x.cu" >"$work/log"
[ "$(wc -l <"$work/log")" -eq 2 ] && grep -q '^long_one: 200 lines' "$work/log"
point $? "one of 200 and a line of 81 columns are found"

stacked >"$work/stacked.dcl"
: >"$work/log"
for layers in 4 24; do
    "$dcc" -D N=$layers "$work/stacked.dcl" -o "$work/x.cu" >>"$work/log" 2>&1
    long_texts "$work/x.cu" >>"$work/log"
done
[ ! -s "$work/log" ]
point $? "kernels of 24 layers whose results a choice stacks"

"$dcc" "$src/tests/long_texts.dcl" -o "$work/x.cu" >"$work/log" 2>&1
long_texts "$work/x.cu" >>"$work/log"
[ ! -s "$work/log" ]
point $? "steps whose sums make several parameters"

# launched NAME BODY: a kernel and its launch
launched()
{
    printf '%s\n' '// grid 1' 'extern "C" __global__' "void $1(" '{' "    $2" \
        '}' "extern \"C\" cudaError_t $1_launch()" '{' "    $1<<<1, 1>>>();" '}'
}
{ launched one '++i;'; launched two '--i;'; launched three '++i;  // again'
  launched a__four '++i;'; } >"$work/x.cu"
twins "$work/x.cu" >"$work/log"
[ "$(cat "$work/log")" = "three: as one" ]
point $? "a kernel that another one is, but for its name, is found"

# turn INDENTATION: a loop whose wait stands there
turn()
{
    printf '%s\n' 'extern "C" __global__' 'void f(' '{' \
        '    for (int k = 0; k < K; ++k) {' '        #pragma unroll' \
        '        for (int i = 0; i < 4; ++i)' \
        '            dcc_wgmma_m64n64k16_f16_regs<0>(acc, a[i], b, 1);' \
        '        if (k + 1 < K)' "$1dcc_wgmma_wait<0>();" '    }' '}'
}

turn '        ' >"$work/x.cu"
turn '            ' >"$work/y.cu"
lost_factors "$work/x.cu" >"$work/log"
[ ! -s "$work/log" ] && [ "$(lost_factors "$work/y.cu")" = \
    "line 7: its loop turns before it is done" ]
point $? "products of registers whose loop may turn before a wait are found"

{ echo "model m {"
  for i in 1 2 3 4 5 6 7 8 9; do echo "  input a_long_name_$i : f32[3];"; done
  for i in 1 2 3 4 5 6 7 8 9; do
      echo "  output b_long_name_$i = a_long_name_$i * 2;"
  done
  echo "}"; } >"$work/m.dcl"
(cd "$work" && "$dcc" m.dcl -o x.cu && long_texts x.cu) >"$work/log" 2>&1
[ ! -s "$work/log" ]
point $? "lists of many inputs and outputs"

for plan in '' --random-plan=1 --random-plan=2; do
    "$dcc" "$src/tests/train_tall.dcl" --model recurrent $plan \
        -o "$work/x.cu" && long_texts "$work/x.cu"
done >"$work/log" 2>&1
[ ! -s "$work/log" ]
point $? "gradients of a weight that each step of a loop reads"

# norms on drawn layouts: rows may be the tile's columns, of several variables
norms()
{
    : >"$work/log"
    for seed in 5 14 52 1 2 3; do
        "$dcc" "$src/tests/numeric/norms.dcl" --random-plan=$seed \
            --variant=contract_wgmma=any -o "$work/x.cu" >>"$work/log" 2>&1
        long_texts "$work/x.cu" | grep -v '^line 4:' >>"$work/log"
    done
    [ ! -s "$work/log" ]
    point $? "norms of products on drawn layouts"
}

if [ $# = 0 ]; then
    norms
    chains h200 chain_wgmma
    chains sm_80 chain_mma
    drawn gpt2
    drawn bert_base
    drawn smollm2
    for file in "$src"/examples/*.dcl; do
        set -- "$@" "$(basename "$file" .dcl)"
    done
fi
for name in "$@"; do
    model "$name" h200
    model "$name" sm_80
done
echo "1..$n"
