#!/bin/sh
# dcc as a command: options, files that cannot be read or written, plans, and
# what the examples become. Nothing is left behind by a command that fails.
src=${DCC_SRC:-$(cd "$(dirname "$0")/.." && pwd)}
dcc=${DCC_BIN:-$src/build/dcc}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
cd "$work" || exit 1
n=0 bad=0
. "$src/tests/point.sh"

# check NAME STATUS PATTERN COMMAND...: exit status, a line of the output, and
# no file more or less after a failure
check()
{
    name=$1 want=$2 pattern=$3 got=0
    shift 3
    before=$(ls)
    "$@" >log 2>&1 || got=$?
    ok=0
    if [ "$got" != "$want" ] ||
        { [ -n "$pattern" ] && ! grep -q -e "$pattern" log; }; then
        ok=1
        echo "exit status $got, not $want; wanted: $pattern" >>log
    elif [ "$want" != 0 ] && [ "$before" != "$(ls)" ]; then
        ok=1
        ls >>log
    fi
    point $ok "$name"
}

cat >m.dcl <<'END'
model m {
  dim B = 8;
  input x : f16[B, 64];
  param w : f16[32, 64];
  param b : f16[32];
  h = relu(linear(x, w, b));
  @nofuse s = h * 2;
  output y = softmax(s);
}
END
cat >two.dcl <<'END'
model one { input x : f32[5]; output y = exp(x); }
model two { input x : f32[3, 7]; output y = softmax(x); }
END
touch log

# ---- options

check "no file" 2 "no .dcl file" "$dcc"
check "help" 0 "usage: dcc" "$dcc" --help
"$dcc" --help | awk 'NF && /^[^ ]/ && !/^usage|^dcc COMMAND|^output wh|^Several/ {
    print; bad = 1 } length > 79 { print; bad = 1 } END { exit bad }' >log
point $? "its lines are indented, and none is too long"
check "version" 0 "^dcc [0-9.]*$" "$dcc" --version
check "and it is the package's" 0 "AC_INIT(.dcc., .$("$dcc" --version |
    sed -n 's/^dcc //p')" cat "$src/configure.ac"
check "an unknown option" 2 "unknown option '--bogus'" "$dcc" --bogus m.dcl
check "an unknown letter" 2 "unknown option" "$dcc" -z m.dcl
check "an option without its value" 2 "wants a value" "$dcc" m.dcl -o
check "an unknown GPU" 2 "unknown GPU 'z80'" "$dcc" m.dcl --target=z80
check "an architecture" 0 "" "$dcc" m.dcl --target=sm_80 -o a.cu
"$dcc" m.dcl -o a.cu --target=h200 --math=tf32 --dependent-launch=on -D B=16 \
    --random-plan=7 --standalone --main >log 2>&1 &&
    sed '/^#include/q' a.cu | awk 'length > 80 { print; bad = 1 }
        /^\/\/   command / { command = 1 } /^\/\/   target / { command = 0 }
        command { lines++ } END { exit bad || lines != 2 }' >>log
point $? "a long command is broken into lines"
check "an unknown pass" 2 "--dump is graph, .* or memory, not 'x'" "$dcc" m.dcl --dump=x
check "an unknown mode of math" 2 "exact, tf32 or 3xtf32" "$dcc" m.dcl --math=q
check "an unknown way of launching" 2 "on or off" \
    "$dcc" m.dcl --dependent-launch=maybe
check "launches cannot overlap there" 0 "A100.* cannot overlap launches" \
    "$dcc" m.dcl --dependent-launch=on --target=sm_80 -o a.cu
[ -s a.cu ] && ! grep -q dcc_grid_wait a.cu
point $? "and their kernels do not wait"
check "launches overlap" 0 "" "$dcc" m.dcl -o a.cu
# all kernels wait; the run's first launch does not overlap with what is ahead
[ "$(grep -c 'dcc_grid_wait();' a.cu) $(grep -c DCC_AFTER, a.cu) \
$(grep -c DCC_DEPENDENT, a.cu)" = "3 1 2" ]
point $? "every kernel waits; all launches but the first overlap"
check "an unknown form" 2 "cu or ref" "$dcc" m.dcl --emit=ptx
check "an option of run" 2 "option of dcc run" "$dcc" m.dcl --bench=3
check "an option of compiling" 2 "is an option of dcc MODEL.dcl, .* not of dcc run" "$dcc" run m.dcl -o a.cu
check "a seed that is none" 2 "not a whole number" "$dcc" verify --seed=-1 m.dcl
check "another" 2 "not a whole number" "$dcc" m.dcl --random-plan=x
check "both places" 2 "exclude each other" "$dcc" run --cpu --gpu m.dcl
check "the header's name for the .cu" 2 "header's place" "$dcc" m.dcl -o m.h
check "no value in -D" 2 "NAME=VALUE" "$dcc" m.dcl -D B
check "no name in -D" 2 "NAME=VALUE" "$dcc" m.dcl -D =3
check "-D of nothing" 1 "no model has a dim or type 'Q'" "$dcc" m.dcl -D Q=3
check "-D of no number" 1 "-D B=x" "$dcc" m.dcl -D B=x
check "-D of zero" 1 "a size is 1 to" "$dcc" m.dcl -D B=0
check "-D that fits" 0 "x : f16\[3, 64\]" "$dcc" m.dcl -D B=3 --dump=graph
check "a model that is not there" 1 "no model 'q'" "$dcc" m.dcl --model=q
check "one of two models" 0 "^model two" "$dcc" two.dcl --model=two --dump=graph
check "run of two models" 1 "2 models" "$dcc" run --cpu two.dcl
check "an op that is not there" 1 "no op 'q'" "$dcc" ops q
check "an op" 0 "op relu" "$dcc" ops relu
check "the GPUs" 0 "^h200 .*sm_90" "$dcc" devices
check "a GPU's figures, and whose they are" 0 "hbm_gbs .* measured " \
    "$dcc" devices h200
check "what is of another GPU is a guess" 0 "hbm_latency .* guess .*as of h200" \
    "$dcc" devices h100
printf 'title = mine\nlike = t4\nsms = 20 # measured: here\n' >mine.dev
check "a GPU of one's own" 0 "^mine .* 20 SMs" "$dcc" devices mine.dev
check "code for it" 0 "" "$dcc" m.dcl --target=mine.dev -o mine.cu
check "is for its architecture" 0 "arch=sm_75" cat mine.cu
printf 'like = t4\nsmms = 20 # guess\n' >bad.dev
check "a figure that there is not" 2 "line 2: no such figure" \
    "$dcc" m.dcl --target=bad.dev -o bad.cu
printf 'like = t4\nsms = many # guess\n' >bad.dev
check "a figure that is no number" 1 "line 2: a number" "$dcc" devices bad.dev
printf 'like = t4\nsms = 20\n' >bad.dev
check "a figure of nobody's" 1 "line 2: no source" "$dcc" devices bad.dev
printf 'sms = 20 # guess\n' >bad.dev
check "a GPU of one figure" 1 "sm is not given" "$dcc" devices bad.dev
printf 'like = t4\r\nsms = 20 # guess\r\n' >"my own.dev"
check "lines that end as elsewhere, a blank in the name" 0 "20 SMs" \
    "$dcc" devices "my own.dev"
for line in "sms = 0" "sms = 3.5" "sms = 300000" "clock_ghz = 0" "sm = 90"
do
    printf 'like = t4\n%s # guess\n' "$line" >bad.dev
    check "no GPU has $line" 1 "bad.dev: .*\(whole\|is 0\)" \
        "$dcc" devices bad.dev
done
printf 'like = t4\nsms = 20 # guess\n\000' >bad.dev
check "a NUL in a GPU" 1 "NUL" "$dcc" devices bad.dev
check "a GPU that is not there" 1 "No such file" "$dcc" devices none.dev
check "a probe of a file" 2 "takes no file" "$dcc" probe m.dcl
if ! ls /dev/nvidia0 >/dev/null 2>&1; then
    check "a probe of no GPU" 3 "there is no NVIDIA GPU" "$dcc" probe -o own.dev
fi
check "fmt of nothing" 2 "wants a FILE" "$dcc" fmt

# ---- -MD, and what shells complete

check "what make has to know" 0 "" "$dcc" m.dcl two.dcl -o 'd d.cu' -MD
check "is a rule" 0 '^d\\ d.cu d\\ d.h: m.dcl two.dcl$' cat 'd d.d'
"$dcc" m.dcl -o q.cu --write-plan=q.plan
check "with the plan, to a file of one's own" 0 "^q.cu q.h: m.dcl q.plan$" \
    "$dcc" m.dcl -o q.cu --plan=q.plan -MD -MF -
check "of a program from elsewhere" 0 "^stdin.cu:$" \
    sh -c '"$1" - -o - -MD -MF s.d <m.dcl >/dev/null && cat s.d' sh "$dcc"
check "without -o it says what it wrote" 0 "^dcc: wrote m.cu and m.h$" \
    "$dcc" m.dcl
check "help of a command" 0 "usage: dcc tune" "$dcc" tune --help
check "the same" 0 "usage: dcc tune" "$dcc" help tune
check "the same in short" 0 "usage: dcc tune" "$dcc" tune -h
check "a form that is right" 0 "" sh -c '"$1" fmt m.dcl >f.dcl &&
    "$1" fmt --check f.dcl && "$1" fmt - <m.dcl | cmp - f.dcl' sh "$dcc"
echo 'op  f(x: T[..]) -> y { y=x; }' >g.dcl
check "a form that is not" 1 "^g.dcl$" "$dcc" fmt --check f.dcl g.dcl
: >log
commands=$("$dcc" --help | sed -n 's/^  dcc \([a-z]*\)  .*/\1/p')
for command in "" $commands; do
    [ "$command" != help ] || continue
    page=$src/man/dcc${command:+-$command}.1
    grep -q "^\.TH" "$page" || echo "no page for dcc $command" >>log
    [ -z "$command" ] ||
        [ "$(grep -c "^\.BR dcc.-$command (1)" "$src/man/dcc.1")" = 2 ] ||
        echo "dcc.1 does not name dcc $command twice" >>log
    # shellcheck disable=SC2086
    "$dcc" help $command |
        sed -n 's/^  \(-[hV], \)*\(-[-a-zA-Z]*\).*/\2/p' |
        while read -r option; do
            case $command-$option in
            ?*---help | ?*---version) continue ;;
            esac
            grep -q -F -e "$(echo "$option" | sed 's/-/\\-/g')" "$page" ||
                echo "$page lacks $option" >>log
        done
done
[ ! -s log ]
point $? "the manual has every command and option"
: >log
echo 'model mlp { input x : f32[3]; state s : f32[3]; s = s + x; output y = s; }' |
    "$dcc" - -o mlp.cu
sed -n 's/^dcc_status \(mlp_[a-z_]*\)(.*/\1/p' mlp.h | while read -r name; do
    grep -q "^dcc_status $name(" "$src/man/dcc_rt.3" &&
        grep -q "^\.BR* .*$name" "$src/man/dcc_rt.3" ||
        echo "dcc_rt.3 lacks $name" >>log
done
[ -s mlp.h ] && [ ! -s log ]
point $? "the manual has every function of a header"
: >log
for word in op block model dim type input output param state for in if else \
    scan as or require inf true false f32 f16 bf16 i8 u8 i32 bool f8e4m3; do
    grep -q "\"[^ ]*$word" "$src/dsl/dcl.l" || echo "$word is no word" >>log
    grep -q "^syn keyword.* $word\( \|$\)" \
        "$src/editors/vim/syntax/dcl.vim" || echo "vim lacks $word" >>log
    grep -q "b($word|\||$word|\||$word)" \
        "$src/editors/vscode/syntaxes/dcl.tmLanguage.json" ||
        echo "VS Code lacks $word" >>log
done
[ ! -s log ]
point $? "editors know every word of the language"
if command -v bash >/dev/null; then
    cat >complete <<'END'
eval "$("$1" completion bash)"
COMP_WORDS=(dcc $2)
COMP_CWORD=${3:-$((${#COMP_WORDS[@]} - 1))}
_dcc 2>/dev/null
echo "${COMPREPLY[*]}"
END
    check "bash: a command" 0 "^verify$" bash complete "$dcc" "ve"
    check "bash: an option" 0 "^--budget=$" bash complete "$dcc" "tune --bu"
    check "bash: a word" 0 "^exact tf32 3xtf32$" \
        bash complete "$dcc" "m.dcl --math =" 3
    check "bash: a GPU" 0 "^h100 h200$" bash complete "$dcc" \
        "m.dcl --target = h" 4
fi
if command -v script >/dev/null; then
    esc=$(printf '\033')
    check "colours on a terminal" 0 "^$esc.1mdcc: $esc.0m$esc.1;31merror:" \
        env -u NO_COLOR TERM=xterm script -qc "'$dcc' none.dcl" /dev/null
    check "and NO_COLOR" 0 "^dcc: error: cannot read" \
        env NO_COLOR=1 TERM=xterm script -qc "'$dcc' none.dcl" /dev/null
fi

# ---- variants

"$dcc" m.dcl --explain >explain
kernel=$(sed -n 's/^ *0 //p' explain)
check "a variant of no kernel" 1 "no kernel or family is called 'q'" \
    "$dcc" m.dcl -o v.cu --variant=q=vec=1
check "a variant that a kernel has not" 1 "no legal variant 'bm=7'" \
    "$dcc" m.dcl -o v.cu --variant="$kernel"=bm=7
whole=$("$dcc" m.dcl -o v.cu --dump=variants 2>/dev/null |
    sed -n "/^variants of $kernel:/,\$s/.* \(contract_simt, .*\)/\1/p" |
    sed -n 2p)
check "a variant as it is dumped, of another family" 0 "" \
    "$dcc" m.dcl -o v.cu --variant="$kernel=$whole"
tr '\n' ' ' <v.cu | sed 's| *// *| |g' |
    tr -s ' ' | grep -F "Family $whole" >/dev/null
point $? "it is that: $whole"
check "a family that a kernel cannot be of" 1 "cannot be of family prefix" \
    "$dcc" m.dcl -o v.cu --variant="$kernel=prefix"
cp m.dcl "m y.dcl"
"$dcc" "m y.dcl" -o "v'.cu" -D B=4 >log 2>&1
grep -F "dcc 'm y.dcl' -o 'v'\"'\"'.cu' -D B=4" "v'.cu" >/dev/null
point $? "the banner's command is a shell's"
check "a variant that no kernel has" 0 "note: --variant=map=vec=3 fits no" \
    "$dcc" m.dcl -o v.cu --variant=map=vec=3
"$dcc" m.dcl -o v.cu --variant=reduce=any >log 2>&1 && [ ! -s log ]
point $? "any variant of a family that is there needs no note"
cat >windows.dcl <<'END'
model windows {
  input x : f16[16, 128, 56, 56];
  param w : f16[128, 1, 3, 3];
  output y = conv2d(x, w, pad = 1, groups = 128);
}
END
check "a variant of what is not tried first" 0 "" "$dcc" windows.dcl -o v.cu \
    --variant="windows_y_conv=map, vec=4 threads=128 line=1"
grep -q "Family *map, vec=4 threads=128 line=1" v.cu
point $? "it is taken, not a quicker one of those and other words"
check "a variant without text" 2 "KERNEL=TEXT" "$dcc" m.dcl --variant=map

# ---- less memory, where tensors are left that nothing makes any more

cat >less.dcl <<'END'
op ab_loss(y: T[..]) -> s: f32 { u = random(7, y); s[] = sum(..) y[..] * u[..]; }
model less {
  input x : f32[5, 7];
  loss = ab_loss(softmax(x));
  output loss;
  output dx = grad(loss, x);
}
END
check "less memory" 0 "" "$dcc" less.dcl -o l.cu --memory=100%

# ---- long programs: seconds, not minutes

awk 'BEGIN { print "model m {"
    for (i = 0; i < 60000; i++) print "  y = q;\n  z = q" i ";"
    print "}" }' >long.dcl
check "errors in every line" 1 "more errors not shown" \
    sh -c 'ulimit -t 12; "$1" long.dcl -o l.cu' sh "$dcc"
cat >long.dcl <<'END'
model m {
  input x : f32[8000];
  for l in 0..8000 { t[l] = x[7999 - l]; }
  output y = t;
}
END
check "thousands of parts" 0 "" \
    sh -c 'ulimit -t 12; "$1" long.dcl -o l.cu' sh "$dcc"
# kernels whose every step is stored
cat >long.dcl <<'END'
model m {
  input x : f32[8, 256, 64];
  param a : f32[64, 16] = ones;
  param b : f32[64, 16] = ones;
  param c : f32[64, 16] = ones;
  h[i in 0..8, d in 0..64, k in 0..16] = 0.0;
  for t in 0..256 {
    h[i, d, k] = a[d, k] * h[i, d, k] + b[d, k] * x[i, t, d];
    y[i, t, d] = sum(k) h[i, d, k] * c[d, k];
  }
  l = square_sum(y);
  for v in params { v = v - 0.1 * grad(l, v); }
  output l;
}
END
check "a long recurrence's gradients" 0 "" \
    sh -c 'ulimit -t 12; "$1" long.dcl -o l.cu' sh "$dcc"
# a tensor that each step reads
cat >long.dcl <<'END'
model m {
  input x : f32[1800, 64];
  param w : f32[64, 64];
  param r : f32[64, 64];
  z = linear(x, w);
  h[j in 0..64] = 0.0;
  for t in 0..1800 {
    h[j] = tanh(z[t, j] + (sum(k) h[k] * r[j, k]));
    y[t, j] = h[j];
  }
  output y;
}
END
check "a long recurrence" 0 "" \
    sh -c 'ulimit -t 12; "$1" long.dcl -o l.cu' sh "$dcc"

# ---- files

check "a missing file" 1 "cannot read 'none.dcl'" "$dcc" none.dcl -o n.cu
check "a folder for a file" 1 "Is a directory" "$dcc" / -o n.cu
check "no folder to write to" 3 "cannot write './none/n.cu'" \
    "$dcc" m.dcl -o ./none/n.cu
check "a folder for the output" 3 "Is a directory" "$dcc" m.dcl -o "$work"
check "a full disk" 3 "No space left" "$dcc" m.dcl -o /dev/full
ln -s /dev/null null.cu
check "no header of a device" 0 "" \
    sh -c '"$1" m.dcl -o null.cu && ! [ -e null.h ]' sh "$dcc"
mkdir d.h
check "a folder in the header's place" 3 "cannot write 'd.h'" \
    "$dcc" m.dcl -o d.cu
check "a plan on a full disk" 3 "No space left" \
    "$dcc" m.dcl -o f.cu --write-plan=/dev/full
check "a plan that is missing" 1 "cannot read 'no.plan'" \
    "$dcc" m.dcl -o f.cu --plan=no.plan
check "a full disk for help" 3 "" sh -c '"$1" --help >/dev/full' sh "$dcc"
cp "$src/examples/mlp.onnx" .
check "no weights without a program" 3 "cannot write\|protobuf-c" \
    sh -c '"$1" import mlp.onnx -o - >/dev/full' sh "$dcc"
check "a full disk for more than a buffer" 3 "cannot write to" \
    sh -c '"$1" ops >/dev/full' sh "$dcc"
check "a full disk for --explain" 3 "cannot write to" \
    sh -c '"$1" m.dcl --explain >/dev/full' sh "$dcc"

# ---- the same bytes

mkdir a b
cp m.dcl a
cp m.dcl b
(cd a && "$dcc" m.dcl -o fused.cu)
"$dcc" "$work/b/m.dcl" -o "$work/b/fused.cu"
cmp a/fused.cu b/fused.cu >log 2>&1 && cmp a/fused.h b/fused.h >>log 2>&1
point $? "the same text from another folder"
grep -n "$work\|/root\|/home" a/fused.cu >log
point $((1 - $?)) "no absolute path in it"

# ---- headers

printf '#include "good.h"\n#include "good.h"\nint one;\n' >head.c
"$dcc" m.dcl -o good.cu >log 2>&1
for std in c++98 c++11 c++20 c89 c99 c17; do
    case $std in
    c++*) c="${CXX:-g++} -x c++" ;;
    *) c=${CC:-cc} ;;
    esac
    $c -std=$std -Wall -Wextra -Werror -I"$src/runtime" -fsyntax-only head.c \
        >>log 2>&1 || echo "not as $std" >>log
done
[ ! -s log ]
point $? "a header is C and C++ of all years"
sed 's/_FOR([0-9]*/_FOR(1/' good.h >another.h
! ${CXX:-g++} -std=c++98 -x c++ -I"$src/runtime" -fsyntax-only another.h \
    >log 2>&1
point $? "another dcc's is refused in C++98, too"

# ---- plans

# edited SCRIPT: good.plan, edited by sed, as bad.plan
edited()
{
    sed "$1" good.plan >bad.plan
}
planned() { "$dcc" m.dcl -o p.cu --plan=bad.plan; }
"$dcc" m.dcl -o good.cu --write-plan=good.plan
"$dcc" m.dcl -o again.cu --plan=good.plan --write-plan=again.plan
cmp good.plan again.plan >log 2>&1
point $? "a plan that is read is written again"
for f in good again; do
    sed "s/$f/NAME/g; /^.*command/d" $f.cu >$f.text
done
cmp good.text again.text >log 2>&1
point $? "a plan gives the same kernels"
: >bad.plan
check "an empty plan" 1 "bad.plan:1:1: error: .*dcc plan 3" planned
head -c 300 /dev/urandom >bad.plan
check "bytes for a plan" 1 "bad.plan:1:1: error" planned
edited '1s/3/2/'
check "a plan of another form" 1 "bad.plan:1:1: error: .*dcc plan 3" planned
printf 'dcc plan 3\nmodel m\000' >bad.plan
check "a NUL in a plan" 1 "NUL" planned
edited 's/^model m/model q/'
check "a plan for another model" 1 "the plan has no model 'm'" planned
edited 's/target h200/target a100/'
check "a plan for another GPU" 1 "bad.plan:3:1: error: .*target a100" planned
edited 's/math exact/math tf32/'
check "a plan for other math" 1 "math tf32" planned
edited 's/math exact/math exact layouts x/'
check "layouts by no number" 1 "bad.plan:3:.*: error: .*layouts SEED" planned
edited 's/^group /grape /'
check "a line that is none" 1 "bad.plan:6:1: error: .*group" planned
edited 's/^group \([^ ]*\)/group \1,zebra/'
check "a plan with an unknown statement" 1 "bad.plan:6:.*no statement 'zebra'" \
    planned
edited 's/ : [a-z_]*\/[0-9]* [0-9a-f]* .*//'
check "a plan that is cut off in a line" 1 "bad.plan:6:.*expected" planned
edited '$d'
check "a plan that is cut off" 1 "the plan has no group for" planned
edited '6p'
check "a statement twice" 1 "bad.plan:7:.*two groups" planned
edited 's/ [0-9a-f]\{16\} / 0123456789abcdef /'
check "a plan for another kernel" 1 "bad.plan:6:1: error: .*another kernel" \
    planned
edited 's/\(.*[0-9a-f]\{16\}\) .* #/\1 bm=7 #/'
check "a plan with an illegal variant" 1 "variant 'bm=7' is not legal" planned
check "a plan for another size" 1 "another kernel" \
    "$dcc" m.dcl -D B=3 -o p.cu --plan=good.plan
sed 's/relu(linear(x, w, b))/linear(x, w, b) * 3/' m.dcl >m3.dcl
check "a plan for another statement" 1 "error" \
    "$dcc" m3.dcl -o p.cu --plan=good.plan
"$dcc" two.dcl -o t.cu --write-plan=two.plan
check "a plan of two models" 0 "" "$dcc" two.dcl -o t.cu --plan=two.plan
check "half of a plan of two models" 0 "" \
    "$dcc" two.dcl --model=two -o t.cu --plan=two.plan

"$dcc" m.dcl -o good.cu --target="my own.dev" --write-plan=own.plan &&
    "$dcc" m.dcl -o again.cu --target="my own.dev" --plan=own.plan >log 2>&1
point $? "a plan for a GPU whose name has a blank"
sed 's/$/\r/' good.plan >bad.plan
check "a plan whose lines end as elsewhere" 0 "" planned
long=$(printf 'm%0200d' 7)
sed "s/^model m/model $long/" m.dcl >long.dcl
"$dcc" long.dcl -o good.cu --write-plan=own.plan &&
    "$dcc" long.dcl -o again.cu --plan=own.plan >log 2>&1
point $? "a plan of a model with a long name"

# ---- --explain

# says PATTERN: explain has such a line
says()
{
    cp explain log
    grep -q -e "$1" explain
    point $? "--explain says: $1"
}
says "@nofuse"
says "launch graph: .* kernels, 0 copies, 0 memsets"
says "GMRatio .*SMRatio .*WBRatio .*COEF_r .*PUL"
says "predicted .* us, limited by"
says "m.dcl:6  h"
cat >rows.dcl <<'END'
model rows {
  dim N = 8192;
  input x : f16[N, 128];  input w : f16[64, 9, 128];  input y : f16[N, 64];
  input q : f16[N, 256];  input g : i32[N, 9] in 0..N;
  s[i, c, r] : f32 = sum(k) y[i, k] * w[k, r, c];
  a[i, r] : f32 = sum(c) s[i, c, r] * x[g[i, r], c];
  b[i, r] : f32 = sum(c) s[i, c, r] * x[i, c];
  e[i, r] : f16 = a[i, r] * b[i, r];
  output z[r, d] : f16 = sum(i) e[i, r] * q[i, d];
}
END
"$dcc" rows.dcl --explain >explain 2>&1 || echo "status $?" >>explain
says "over 's': the first product leaves more than its points"

# ---- the examples: launches of a run, kernels' text shared by equal layers

# launches NAME MOST KERNELS LOAD [OPTION...]: at most so many launches of so
# many kernels, and so many kernels at load time
launches()
{
    name=$1 most=$2 kernels=$3 load=$4
    shift 4
    "$dcc" "$src/examples/$name.dcl" "$@" --explain >log 2>&1
    set -- $(sed -n "s/^launch graph: \([0-9]*\) .* \([0-9]*\) distinct \
.*, \([0-9]*\) kernels\$/\1 \2 \3/p" log)
    [ "${1:-9999}" -le "$most" ] && [ "${2:-9999}" -le "$kernels" ] &&
        [ "${3:-9999}" -le "$load" ]
    status=$?
    grep "^launch graph" log >short
    mv short log
    point $status "$name: ${1:-no} launches of ${2:-no} kernels, ${3:-no} at \
load time ($most, $kernels, $load)"
}
launches resnet50 60 36 12
launches bert_base 64 12 8
launches bert_base 74 8 8 -D B=8
launches gpt2 64 12 2
launches gpt2_decode 64 12 2
launches vit_b16 64 12 2
launches resnet18 30 24 12
launches vgg16 30 20 10
launches mobilenetv2 65 35 20
launches mlp 4 4 0
launches digits_train 20 20 0
launches chargpt_train 150 39 0

# q, k and v are one tensor, and code calls them what the user does; so the two
# products of a gate
"$dcc" "$src/examples/bert_base.dcl" -o names.cu >log 2>&1 &&
    for name in '\*__restrict__ q_k_v,' 'half q_tile\[' 'half k_tile\[' \
        'half v_tile\['; do
        grep -q "$name" names.cu || echo "no $name"
    done >log
[ ! -s log ]
point $? "q, k and v have their names"
cat >gate.dcl <<END
model gate {
  dim D = 512;  input x : f16[1, D];
  param a : f16[1024, D];  param b : f16[1024, D];
  g = linear(x, a);
  u = linear(x, b);
  output y = silu(g) * u;
}
END
"$dcc" gate.dcl -o names.cu >log 2>&1 && grep -q 'float g_sum = ' names.cu &&
    grep -q 'float u_sum = ' names.cu
point $? "sums of two products have the products' names"

# ---- and how it is laid out

: >log
for file in "$src"/examples/*.dcl; do
    for flags in "" "-D E=f32 --target=v100" "--target=sm_80 -D B=8"; do
        # shellcheck disable=SC2086
        "$dcc" "$file" -o wide.cu $flags >>log 2>&1
        # a comment that ends with a backslash would go on in the next line
        awk -v from="$(basename "$file") $flags" \
            'length > 80 || /\/\/.*\\$/ {
                print from ": line " FNR ": " $0
            }' wide.cu wide.h >>log
    done
done
[ ! -s log ]
point $? "emitted lines have 80 columns at most"

# ---- what the L2 keeps

# product M N K: one product, emitted to big.cu
product()
{
    cat >big.dcl <<END
model big {
  input x : f16[$1, $3];
  input w : f16[$2, $3];
  output y[i, j] = sum(k) x[i, k] * w[j, k];
}
END
    "$dcc" big.dcl -o big.cu >log 2>&1
}

# where a token's caches are stored, each kernel reads once, ahead of the wait;
# rows that products make of others come as vectors
"$dcc" "$src/examples/gpt2_decode.dcl" -D B=8 --target=h200 -o token.cu \
    >log 2>&1 && ! grep -q 'pos\[0\]' token.cu &&
    grep -q 'pos_now = dcc_read_now(pos)' token.cu &&
    grep -q 'dcc_load<8>(h_lanes, ' token.cu
point $? "a token's position and rows are read once"

# constants of a normed row are in registers before the wait, also where threads
# have unequal shares of it
"$dcc" "$src/examples/gpt2_decode.dcl" -D E=f16 --target=h200 -o token.cu \
    >log 2>&1 && grep -q 'g_own\[(BK + THREADS - 1) / THREADS\]' token.cu &&
    ! grep -q 'dcc_touch_block(&g' token.cu
point $? "a row's constants come before the wait"

# w passes by rows of x that stay; or both stay, or neither
for sizes in "4096 14336 4096 1" "2048 2048 2048 0" "8192 8192 8192 0" \
    "16 4096 4096 1" "16 2048 4096 0"; do
    # shellcheck disable=SC2086
    set -- $sizes
    product "$1" "$2" "$3" &&
        [ "$(grep -Ec 'dcc_(tma_stream_4d\(smem.w_tile|cp_stream16\(&w_ring)' \
            big.cu)" = "$4" ]
    point $? "$1 x $2 x $3: w leaves the L2 first: $4"
done

# w from memory, a tile of it for one block, is read in several places at a time,
# and what the L2 does not hold
for sizes in "64 12288 8192 4" "16 4096 4096 4" "16 4096 640 0" \
    "2048 2048 2048 0" "4096 14336 4096 4"; do
    # shellcheck disable=SC2086
    set -- $sizes
    product "$1" "$2" "$3" || : >big.cu
    grep -q '// Family' big.cu
    emitted=$?
    leaps=$(sed -n 's/.* LEAPS = \([0-9]*\),.*/\1/p' big.cu)
    turns=$(grep -c "dcc_leap<.*LEAPS>" big.cu)
    [ $emitted = 0 ] && [ "${leaps:-0}" = "$4" ] &&
        [ $((turns > 0)) = $(($4 > 0)) ]
    point $? "$1 x $2 x $3: turns in which k is taken: $4"
done

# names that begin as types of C or names of the runtime do
cat >names.dcl <<'END'
model names {
  input interest : f16[8];
  param int8_t : f16[8];
  param dcc_load : f16[8];
  output into[i] = interest[i] * int8_t[i] + dcc_load[i];
}
END
timeout 20 "$dcc" names.dcl --emit=ref -o names.c >log 2>&1 &&
    ${CC:-cc} -std=gnu11 -fsyntax-only -I "$src/runtime" names.c >>log 2>&1 &&
    grep -q '\<dcc_load_\>' names.c
point $? "the oracle has names of its own for int8_t and dcc_load"
cat >deep.dcl <<'END'
op lse(a: f32[..], b: f32[..]) -> y: f32[..] { m[..] = max(a[..], b[..]); y[..] = log(exp(a[..] - m[..]) + exp(b[..] - m[..])) + m[..]; }
model deep { input x : f32[9]; y[i] = lse(lse(x[i], x[i - 1] or 0), x[i] * 2); output l[] = sum(i) y[i]; output g = grad(l, x); }
END
"$dcc" deep.dcl --emit=ref -o deep.c >log 2>&1 &&
    grep -q '^DCC_AS_WRITTEN static dcc_pair point_' deep.c &&
    ! grep -q '^DCC_AS_WRITTEN static dcc_pair point_l_' deep.c
point $? "the oracle's long expressions are not optimised, short ones are"
"$dcc" names.dcl -o names.cu >log 2>&1 &&
    grep -q '__restrict__ dcc_load_)' names.cu
point $? "and the kernels"

# a decay of 0 is none: 0 times an infinite weight is no number
cat >steps.dcl <<'END'
model steps {
  input x : f32[6, 9];
  param w : f32[7, 9];
  loss = square_sum(linear(x, w));
  for v in params {
    g = grad(loss, v);
    v = adam(sgd(v, g, 0.01), g, 0.01);
  }
  output loss;
}
END
"$dcc" steps.dcl -o - >log 2>&1 && ! grep -q '[^.0-9]0\.0f \*' log
point $? "optimizers without decay"

echo "1..$n"
exit $bad
