#!/bin/sh
# `dim B in {..}`: every size of a set is bit for bit what its own file
# computes; one between two of them is what the next computes there, and about
# what its own file does; nothing beyond the caller's buffers is touched (the
# address sanitizer looks); and a set that something depends on is an error.
src=${DCC_SRC:-$(cd "$(dirname "$0")/.." && pwd)}
dcc=${DCC_BIN:-$src/build/dcc}
cc="$src/runtime/emu/dcc-emu-cc"
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
cd "$work" || exit 1
n=0

verdict() # STATUS TEXT
{
    n=$((n + 1))
    if [ "$1" = 0 ]; then
        echo "ok $n - $2"
    else
        head -20 log | sed 's/^/# /'
        echo "not ok $n - $2"
    fi
}

# a set's program, with the sanitizer; own: that of a single size
build() # set|own DCL [FLAG...]
{
    out=$1 file=$2 sanitizer=
    shift 2
    [ $out = own ] || sanitizer=--asan
    "$dcc" "$file" -o $out.cu "$@" &&
        sh "$cc" -Og $sanitizer -I. -o $out $out.cu driver-$out.o
}

# same FILE OF: each line of FILE is in OF; close: with a number near it
same()
{
    awk 'NR == FNR { v[$1] = $2; next }
         v[$1] != $2 { print "differs: " $0 ", not " v[$1]; bad = 1 }
         END { exit bad || !FNR }' "$2" "$1"
}
close_to()
{
    awk 'NR == FNR { v[$1] = $3; next }
         { d = $3 - v[$1]; a = v[$1] < 0 ? -v[$1] : v[$1]
           if (!($1 in v) || d * d > (0.01 + 0.03 * a) ^ 2) {
               print "differs: " $0 ", not near " v[$1]
               bad = 1
           } }
         END { exit bad || !FNR }' "$2" "$1"
}

# check MODEL TARGET BETWEEN SIZE..: the set's sizes and one between
check()
{
    model=$1 target=$2 between=$3
    shift 3
    file=$src/tests/sets/$model.dcl
    name=$(sed -n 's/^  dim \([A-Z]\) in .*/\1/p' "$file")
    build set "$file" "--target=$target" >log 2>&1
    verdict $? "$model for $target: a set of sizes compiles"
    next=
    for size; do
        build own "$file" -D "$name=$size" "--target=$target" >log 2>&1 &&
            ./own 0 >"own$size" 2>>log && ./set "$size" >got 2>>log &&
            same got "own$size" >>log
        verdict $? "$model for $target: $name = $size is its own file's"
        [ -n "$next" ] || [ "$size" -lt "$between" ] || next=$size
    done
    build own "$file" -D "$name=$between" "--target=$target" >log 2>&1 &&
        ./own 0 >ownb 2>>log && ./set "$between" >got 2>>log &&
        same got "own$next" >>log && close_to got ownb >>log
    verdict $? "$model for $target: $name = $between"
    "$dcc" "$file" --explain "--target=$target" 2>&1 | grep '^sizes: ' >log
    verdict $? "$model for $target: $(cut -d: -f2- log)"
}
driver=$src/tests/sets/driver.cpp
{ sh "$cc" -Og --asan -c -o driver-set.o "$driver" &&
    sh "$cc" -Og -c -o driver-own.o "$driver"; } >log 2>&1
verdict $? "the driver compiles"
check gather h200 5 8
"$dcc" "$src/tests/sets/gather.dcl" -o gather.cu --explain 2>&1 |
    grep 'is copied' >log
verdict $((! $?)) "of what varies outermost nothing is copied"
check attention h200 3 1 4 9
check conv h200 4 2 5
check ends h200 4 2 5
check rows h200 7 3 16 70
check direct h200 5 6
check rows v100 50 70
for bad in 0 -1 71; do
    ./set $bad >log 2>&1
    grep "R is $bad, not 1 to 70" log >/dev/null
    verdict $? "a run of R = $bad"
done

# where one size folds a norm into the weights of its product, another that has
# the norm's kernel takes the same weights: about what its own file computes
norm=$src/tests/sets/norm.dcl
build set "$norm" >log 2>&1
verdict $? "norm: a set of sizes compiles"
grep 'the norm without its factors of columns' set.cu >log
verdict $? "norm: one of them has its norm apart from the weights' factors"
for size in 2 8; do
    build own "$norm" -D "B=$size" >log 2>&1 && ./own 0 >"own$size" 2>>log &&
        ./set $size >"set$size" 2>>log && close_to "set$size" "own$size" >>log
    verdict $? "norm: B = $size is about its own file's"
done
./set 5 >got 2>log && same got set8 >>log
verdict $? "norm: B = 5"

# ---- packing
packing() # MODEL TEXT [OPTION...]
{
    says=$2
    printf '%s\n' "$1" >packing.dcl
    shift 2
    "$dcc" packing.dcl -o packing.cu --explain "$@" 2>&1 | grep "$says" >log
    verdict $? "$(cat log)"
}
packing "$(cat "$src/tests/sets/rows.dcl")" '^one packing for all: '
packing "$(sed -e 's/dim B = [0-9]*/dim B in {1, 128}/' -e 's/f16/f32/' \
    "$src/examples/mlp.dcl")" '^two packings are worth it: ' --target=rtx4090
packing "$(sed -e 's/dim B = 1;  dim T = 3000;  dim D = 512;  dim L = 6/\
dim B in {1, 3};  dim T = 64;  dim D = 128;  dim L = 1/' \
    "$src/examples/whisper_base.dcl")" "^no size's packing serves all: "
packing "$(cat "$norm")" '^one packing for all: '
packing "$(sed 's/dim B = [0-9]*/dim B in {1, 8, 32}/' \
    "$src/examples/bert_base.dcl")" '^one packing for all: ' -D E=f16
# where the sizes differ in nothing but the norms that products take
packing "$(sed 's/dim B = [0-9]*/dim B in {1, 3}/' \
    "$src/examples/bert_base.dcl")" '^one packing for all: ' -D E=f16 -D L=2
if command -v python3 >/dev/null; then
    "$dcc" packing.dcl -o packing.cu --explain=json 2>log |
        python3 -m json.tool >/dev/null 2>>log
    verdict $? "a set's --explain=json"
fi

# ---- sets that are none
reject() # TEXT PROGRAM
{
    printf '%s\n' "$2" >bad.dcl
    "$dcc" bad.dcl -o bad.cu >log 2>&1
    [ $? = 1 ] && grep -F "$1" log >/dev/null
    verdict $? "an error: $1"
}
reject "the range of 'b', over which sum goes, depends on 'B'" 'model m {
  dim B in {2, 8}; input x : f32[B]; output y[] = sum(b) x[b]; }'
reject "bad.dcl:2:38: error: the range of 'd', over which max goes, depends" \
    'model m {
  dim B in {2, 8}; input x : f32[B]; output y = softmax(x); }'
reject "what is reduced here depends on 'B'" 'model m {
  dim B in {2, 8}; input x : f32[B, 4]; output y[i] = mean(b) x[b, i]; }'
reject "the shape of the state 's' depends on 'B'" 'model m {
  dim B in {1, 2}; input x : f32[B]; state s : f32[B]; s[b] = x[b] + s[b];
  output y = s; }'
reject "the shape of the parameter 'w' depends on 'B'" 'model m {
  dim B in {1, 2}; input x : f32[B]; param w : f32[B]; output y = x * w; }'
reject "a value, an index or a condition here depends on 'B'" 'model m {
  dim B in {2, 8}; input x : f32[B]; output y[b in 0..B] = x[B - 1 - b]; }'
reject "a value, an index or a condition here depends on 'B'" 'model m {
  dim B in {2, 8}; input x : f32[B]; output y[b] = x[b] / B; }'
reject "a value, an index or a condition here depends on 'B'" 'model m {
  dim B in {2, 8}; input x : f32[B]; output y[b in 0..B] = x[b + 1] or 0; }'
reject "a value, an index or a condition here depends on 'B'" 'model m {
  dim B in {2, 8}; input x : f32[4 * B];
  output y[i in 0..4, b in 0..B] = x[i * B + b]; }'
reject "a value, an index or a condition here depends on 'B'" 'model m {
  dim B in {2, 8}; input x : f32[B]; input i : i32[B]; output y[b] = x[i[b]]; }'
reject "depends on 'B', a set" 'model m {
  dim B in {2, 8}; input x : f32[B]; h = x; if (B == 5) { h = exp(h); }
  output y = h; }'
reject "depends on 'B', a set" 'model m {
  dim B in {2, 8}; input x : f32[B]; h = x * 2; if (B == 5) { h = h * 3; }
  output y = h; }'
reject "it can only be a multiple of a set's size" 'model m {
  dim B in {2, 8}; input x : f32[B + 1]; output y = x * 2; }'
reject "more than one dimension of 'x' depends" 'model m {
  dim B in {2, 8}; input x : f32[B, B]; output y = x * 2; }'
reject "the range of 'x' depends on 'B'" 'model m {
  dim B in {2, 8}; input x : i32[B] in 0..B; output y = x * 2; }'
reject "a set has 2 to 16 sizes" 'model m {
  dim B in {8}; input x : f32[B]; output y = x; }'
reject "8 is in the set twice" 'model m {
  dim B in {8, 2, 8}; input x : f32[B]; output y = x; }'
reject "a model has one set of sizes, and 'B' is one already" 'model m {
  dim B in {2, 8}; dim C in {1, 2}; input x : f32[B, C]; output y = x; }'
reject "a set of sizes is a model's" 'block k(x: T[N]) -> y {
  dim B in {2, 8}; y = x * B; }
model m { input x : f32[4]; output y = k(x); }'
reject "requirement 'B % 8 == 0' does not hold (B = 1)" 'model m {
  dim B in {8, 16}; require B % 8 == 0; input x : f32[B]; output y = x * 2; }'
echo "1..$n"
