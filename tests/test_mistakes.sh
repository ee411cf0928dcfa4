#!/bin/sh
# Typical mistakes on the command line and in files: each with its exit status
# and its message, word for word, in tests/mistakes.txt.
#
#   tests/test_mistakes.sh [--update]     writes what dcc says now
src=${DCC_SRC:-$(cd "$(dirname "$0")/.." && pwd)}
dcc=${DCC_BIN:-$src/build/dcc}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 130' HUP INT PIPE TERM
export DCC_EMU_CACHE="${DCC_EMU_CACHE:-$work/cache}" LC_ALL=C
mkdir "$work/bin" "$work/in"
ln -s "$dcc" "$work/bin/dcc"
PATH=$work/bin:$PATH
cd "$work/in" || exit 1

cat >m.dcl <<'END'
model m {
  dim B = 4;
  type E = f32;
  input x : E[B, 6];
  input ids : i32[B] in 0..5;
  param w : E[5, 6] = "fc.weight";
  param b : E[5] = "fc.bias";
  h[i, j] = relu(sum(k) x[i, k] * w[j, k] + b[j]);
  output y[i] = h[i, ids[i]];
}
END
cat >two.dcl <<'END'
model one { input x : f32[5]; output y = exp(x); }
model two { input x : f32[3, 7]; output y = softmax(x); }
END
echo 'op twice(x: T[..]) -> y { y = x * 2; }' >ops.dcl
sed 's/relu(sum/rleu(sum/' m.dcl >typo.dcl
sed 's/;$//' m.dcl >nosemi.dcl
sed 's/w\[j, k\]/w[k, j]/' m.dcl >swap.dcl
sed '$d' m.dcl >open.dcl
sed 's/f32/float32/' m.dcl >type.dcl
sed 's/x\[i, k\]/x[i, k + 1]/' m.dcl >outside.dcl
: >empty.dcl
printf '\377\376m\000o\000' >utf16.dcl
printf 'PK\003\004archive' >model.pt
printf '\010\007\022\007pytorch' >model.onnx
head -c 64 /dev/zero >zeros.dcl
mkdir folder.dcl
ln m.dcl hard.dcl
dcc m.dcl -o m.cu --main --write-plan=m.plan
dcc two.dcl -o two.cu --write-plan=two.plan
sh "$src/runtime/emu/dcc-emu-cc" -O0 -o prog m.cu || exit 1
./prog --random 1 --save all.st >/dev/null

# st FILE JSON BYTES: a safetensors file whose header is JSON
st()
{
    n=${#2}
    {
        printf "\\$(printf %o $((n % 256)))\\$(printf %o $((n / 256)))"
        printf '\000\000\000\000\000\000%s' "$2"
        head -c "$3" /dev/zero
    } >"$1"
}
st names.st '{"model.fc.weight":{"dtype":"F32","shape":[5,6],"data_offsets":[0,120]},"fc.bais":{"dtype":"F32","shape":[5],"data_offsets":[120,140]}}' 140
st shape.st '{"fc.weight":{"dtype":"F32","shape":[6,5],"data_offsets":[0,120]},"fc.bias":{"dtype":"F32","shape":[1,5],"data_offsets":[120,140]}}' 140
st kind.st '{"fc.weight":{"dtype":"I32","shape":[5,6],"data_offsets":[0,120]},"fc.bias":{"dtype":"F32","shape":[5],"data_offsets":[120,140]}}' 140
st none.st '{"q":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}' 4
head -c 100 all.st >cut.st
echo 'step    0      nan us  h' >nan.txt
echo 'model s { dim B in {1, 8}; input x : f32[B, 3]; output y = x * 2; }' >set.dcl
ed() # SCRIPT FILE: m.dcl with a mistake
{
    sed "$1" m.dcl >"$2"
}
ed 's/"fc.weight"/“fc.weight”/' quotes.dcl
ed "s/\"fc.weight\"/'fc.weight'/" single.dcl
ed 's/"fc.weight"/"fc.weight/' unclosed.dcl
ed '1i # a comment' hash.dcl
ed '1i /* a comment */' block.dcl
ed 's/dim B = 4;/int B = 4;/' intb.dcl
ed 's/x\[i, k\]/x[i][k]/' brackets.dcl
ed 's/h\[i, j\] = relu/h[i, j] := relu/' assign.dcl
ed 's/h\[i, j\] =/h[i, j] ==/' equal.dcl
ed 's/f32/float/' float.dcl
ed 's/: E\[B, 6\]/: E(B, 6)/' paren.dcl
ed 's/output y/return y/' return.dcl
ed 's/  output y.*/  y = x ** 2; output y;/' power.dcl
ed 's/  output y.*/  y = x ^ 2; output y;/' hat.dcl
ed 's/  output y.*/  output y = x @ w;/' at.dcl
ed 's/  output y.*/  output y[i] = sum(j) !(x[i, j] > 0);/' not.dcl
ed 's/  output y.*/  output y = softmax(x, dim = -1);/' dim.dcl
ed 's/  output y.*/  output y = linear(x);/' few.dcl
ed 's/  output y.*/  output y = relu(x, x);/' many.dcl
ed 's/  output y.*/  for l in range(4) { y = x; } output y;/' range.dcl
ed 's/  output y.*/  for l in 0..4 y = x; output y;/' nobrace.dcl
ed 's/  output y.*/  if B > 2 { y = x; } output y;/' ifc.dcl
ed 's/  output y.*/  output y = x[:, 0];/' slice.dcl
ed 's/  output y.*/  output y[i] = x[i, -1];/' last.dcl
ed 's/  output y.*/  output y[i] = x[i];/' rank.dcl
ed 's/  output y.*/  output y[i] = sum(k) x[i, k]*0.5/' nosemiend.dcl
ed 's/  output y.*/  output y = x.T;/' dot.dcl
ed 's/  output y.*/  output y = X * 2;/' case.dcl
ed 's/  output y.*//' nooutput.dcl
ed 's/  output y.*/  output y = x; output y = x;/' twice.dcl
ed 's/  output y.*/  output y = x and x;/' and.dcl
ed 's/  output y.*/  output y = x * .5;/' point.dcl
ed 's/  output y.*/  output y = x * 1.;/' point2.dcl
ed 's/  output y.*/  output y[i] = sum(x[i, k]);/' sumcall.dcl
ed 's/  output y.*/  output y[i] = x[i, k];/' free.dcl
ed 's/^model m/module m/' module.dcl
ed '1i import "lib.dcl";' import.dcl
ed 's/model m {/model m() {/' args.dcl
ed 's/model m {/model {/' noname.dcl
sed 's/\[B, 6\];/[B, 6;/' m.dcl >bracket.dcl
ed 's/model m {/model 2m {/' digit.dcl
ed 's/dim B = 4;/dim B in {};/' emptyset.dcl
ed 's/dim B = 4;/dim B in 1..8;/' rangeset.dcl
ed 's/dim B = 4;/dim B in [1, 8];/' listset.dcl
cat >floatloop.dcl <<'END'
model m {
  dim L = 2.0;
  input x : f32[4];
  for t in 0..L { h[t, i] = x[i]; }
  s[t] = sum(i) h[t, i];
  output y = s;
}
END
ed 's/dim B = 4;//' nosize.dcl
ed 's/dim B = 4;/dim B = {1, 8};/' braces.dcl
ed 's/dim B = 4;/dim B = None;/' none.dcl
ed 's/E\[B, 6\]/E[?, 6]/' question.dcl
ed 's/  output y.*/  for (int i = 0; i < 4; i++) { y = x; } output y;/' cfor.dcl
ed 's/  output y.*/  output y = if x > 0 then x else 0;/' then.dcl
ed 's/  output y.*/  output y = x if x > 0 else 0;/' ifelse.dcl
ed 's/  output y.*/  output y = relu x;/' juxtaposed.dcl
ed 's/  output y.*/  output y[i] += x[i, 0];/' adds.dcl
ed 's/  output y.*/  output y = twice(x);/' op1.dcl
ed '1i op twice(x) -> y { y = x * 2; }' untyped.dcl
ed '1i op twice(x: T[..]) { y = x * 2; }' noresult.dcl
ed '1i op twice(x: T[..]) -> y { z = x * 2; }' otherresult.dcl
ed '1i op twice(x: T[..]) -> y { y = twice(x); }' itself.dcl
ed 's/input x : E/input x : i64/' i64.dcl
ed 's/^model m {//' nomodel.dcl
cp m.dcl ./-dash.dcl
cp m.dcl 'a b%s.dcl'
sed 's/  dim/\xc2\xa0 dim/' m.dcl >nbsp.dcl
sed 's/\bB\b/é/g' m.dcl >accent.dcl
ed 's/"fc.weight"/"fc.{.weight"/' hole.dcl
ed 's/h\[i, j\] =/h(i, j) =/' calllhs.dcl
ed 's/input x : E\[B, 6\]/input E x[B, 6]/' cdecl.dcl
ed 's/input x :/inptu x :/' inptu.dcl
ed 's/param w/parm w/' parm.dcl
ed 's/param w/weight w/' weight.dcl
ed 's/type E/dtype E/' dtype.dcl
ed 's/dim B = 4;/B = 4;/' nodim.dcl
ed 's/dim B = 4;/dim B = 1e9;/' e9.dcl
ed 's/dim B = 4;/dim B = -4;/' negative.dcl
ed 's/dim B = 4;/dim B = 99999999999;/' huge.dcl
ed 's/\*/×/' times.dcl
ed 's/  output y.*/  output y[i] = x[i, 1 − 1];/' minus.dcl
ed 's/in 0..5/in 0…5/' dots.dcl
ed 's/\bx\b/größe/g' umlaut.dcl
ed 's/\bx\b/名/g' cjk.dcl
printf 'model m {\342\200\213 input x : f32[2]; output y = x; }' >invisible.dcl
ed 's/  output y.*/  while (1) { }  output y = x;/' while.dcl
ed 's/  output y.*/  print(x); output y = x;/' print.dcl
ed 's/  output y.*/  output y = relu(x; axis = 1);/' semiarg.dcl
ed 's/h\[i, j\]/h[i; j]/' semiindex.dcl
ed 's/"fc.weight"/randn(0.1)/' randn.dcl
ed 's/"fc.weight";/"fc.weight" normal(0.1);/' noor.dcl
ed 's/"fc.weight"/"fc.bias"/' samename.dcl
ed 's/  output y.*/  output y[i, j] = softmax(x[i, j]);/' softidx.dcl
ed 's/sum(k)/sum[k]/' sumb.dcl
ed 's/sum(k)/sum k/' sumk.dcl
ed 's/  output y.*/  output y[i] = sum(i) x[i, 0];/' sameidx.dcl
ed 's/  output y.*/  output y[i] = x[i, x[i, 0]];/' floatidx.dcl
ed 's/in 0..5/in 0..9/' wide.dcl
ed 's/b\[j\]/b[j)/' mixed.dcl
ed 's/E\[B, 6\]/E[B 6]/' nocomma.dcl
ed 's/  output y.*/  output y = matmul(x, w);/' matmul.dcl
ed 's/  output y.*/  output y = reshape(x, [3, 7]);/' reshape.dcl
ed 's/  output y.*/  output y = z; z = x;/' order.dcl
ed 's/  output y.*/  for l in 0..3 { param p : E[6]; } output y = x;/' parloop.dcl
{ printf '\357\273\277'; sed 's/relu/rleu/; s/$/\r/' m.dcl; } >windows.dcl
sed 's/^  /\t/; s/relu/rleu/' m.dcl >tabs.dcl
printf '\223NUMPY\1\0v\0' >x.npy
printf '\200\2}q\1cabcdefgh' >model.pkl
printf 'GGUF\3\0\0\0\0\0' >model.gguf
cat >a.json <<'X'
{"x": [1,2]}
X
cp all.st m.pt
echo 'print("hi")' > m.py
st over.st '{"fc.weight":{"dtype":"F32","shape":[5,6],"data_offsets":[0,120]},"fc.bias":{"dtype":"F32","shape":[5],"data_offsets":[100,120]}}' 120
st odd.st '{"fc.weight":{"dtype":"F32","shape":[5,6],"data_offsets":[0,100]},"fc.bias":{"dtype":"F32","shape":[5],"data_offsets":[100,120]}}' 120
st json.st '{"fc.weight":{"dtype":"F32","shape":[5,6],"data_offsets":[0,120]},"fc.bias"' 140
st tr.st '{"x":{"dtype":"F32","shape":[6,4],"data_offsets":[0,96]},"ids":{"dtype":"I32","shape":[4],"data_offsets":[96,112]}}' 112
st b1.st '{"x":{"dtype":"F32","shape":[1,6],"data_offsets":[0,24]},"ids":{"dtype":"I32","shape":[1],"data_offsets":[24,28]}}' 28
sed 's/dcc plan 3/dcc plan 9/' m.plan >v9.plan
head -3 m.plan >cut.plan

cp -R . "$work/fixture"
say()
{
    printf '%s\n' "$1"
    got=0
    sh -c "$1" <"/dev/null" >"$work/out" 2>&1 || got=$?
    sed 's/^/    /' "$work/out"
    echo "    = $got"
}
grep -v '^    ' "$src/tests/mistakes.txt" |
    while IFS= read -r line; do
        case $line in
        '#'* | '') printf '%s\n' "$line" ;;
        *) say "$line" ;;
        esac
    done >"$work/now"
if [ "${1:-}" = --update ]; then
    cp "$work/now" "$src/tests/mistakes.txt"
    exit 0
fi

# a point each
awk -v was="$src/tests/mistakes.txt" '
function take(file, text, name,   line, key) {
    while ((getline line < file) > 0) {
        if (line ~ /^#/ || line == "")
            continue
        if (line !~ /^    /) {
            key = line
            if (name)
                order[++n] = key
            continue
        }
        text[key] = text[key] line "\n"
    }
}
BEGIN {
    take(was, wanted, 1)
    take(ARGV[1], is, 0)
    for (i = 1; i <= n; i++) {
        good = wanted[order[i]] == is[order[i]]
        printf "%s %d - %s\n", good ? "ok" : "not ok", i, order[i]
        if (!good) {
            gsub(/\n/, "\n# ", is[order[i]])
            printf "# now:\n# %s\n", is[order[i]]
            bad = 1
        }
    }
    print "1.." n
    exit bad
}' "$work/now"
bad=$?
diff -r "$work/fixture" . >"$work/diff" 2>&1 || {
    echo "# a mistake left something behind:"
    sed 's/^/# /' "$work/diff"
    echo "Bail out!"
    exit 1
}
exit $bad
