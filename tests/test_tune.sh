#!/bin/sh
# dcc tune as a user calls it, in the emulator: what it tries, what it does
# with variants that fail, and that a valid plan is left whatever happens.
src=${DCC_SRC:-$(cd "$(dirname "$0")/.." && pwd)}
dcc=${DCC_BIN:-$src/build/dcc}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
export DCC_RUNTIME_DIR="$src/runtime" DCC_EMU_CACHE="${DCC_EMU_CACHE:-$work}"
export TMPDIR="$work/tmp"
mkdir "$TMPDIR"
cd "$work" || exit 1
n=0 bad=0

# result NAME STATUS: 0 is ok; shows the log if not
result()
{
    n=$((n + 1))
    if [ "$2" = 0 ]; then
        echo "ok $n - $1"
    else
        bad=1
        echo "not ok $n - $1"
        sed -n '1,25s/^/# /p' log
    fi
}

# check NAME STATUS PATTERN COMMAND...: exit status, a line of the output, and
# no folder left
check()
{
    name=$1 want=$2 pattern=$3
    shift 3
    got=0
    "$@" >log 2>&1 || got=$?
    left=$(ls "$TMPDIR")
    [ "$got" = "$want" ] && [ -z "$left" ] &&
        { [ -z "$pattern" ] || grep -q -e "$pattern" log; }
    good=$?
    [ $good = 0 ] ||
        echo "# exit status $got, not $want; wanted: $pattern; left: $left"
    result "$name" $good
}

# has NAME PATTERN FILE: a line of the file; hasnot: none
has()
{
    cp "$3" log
    grep -q -e "$2" "$3"
    result "$1" $?
}
hasnot()
{
    cp "$3" log
    ! grep -q -e "$2" "$3"
    result "$1" $?
}

# Two kernels, of the families map (six variants) and reduce.
cat >two.dcl <<'END'
model two {
  input x : f32[16, 64];
  input u : f32[8, 33];
  output p = exp(x) * 2 + 1;
  output z[i] = max(j) u[i, j];
}
END
# A kernel that runs twice.
cat >equal.dcl <<'END'
model equal {
  input x : f32[8, 16];
  param v : f32[16, 16];
  param w : f32[16, 16];
  h = relu(linear(x, v));
  output y = relu(linear(h, w));
}
END
echo 'model bad { input x : f32[3]; output y[i] = x[i + 1]; }' >bad.dcl

# ---- the command line

check "no plan to write" 2 "wants -o" "$dcc" tune --cpu two.dcl
check "no budget" 2 "wants a value: TIME" \
    "$dcc" tune --cpu --budget= two.dcl -o p.plan
for budget in s -3s 12x 5ss 0 nan 1e9h 0x10 "3 s"; do
    check "a budget of '$budget'" 2 "as 90s, 2m or 1h" \
        "$dcc" tune --cpu --budget="$budget" two.dcl -o p.plan
done
check "no jobs" 2 "-j is a number from 1 to" "$dcc" tune --cpu -j 0 two.dcl -o p.plan
check "no variants" 2 "--variants is a number from 1 to" \
    "$dcc" tune --cpu --variants=none two.dcl -o p.plan
check "an option of others" 2 "not of dcc tune" \
    "$dcc" tune --cpu --variant=map=vec=1 two.dcl -o p.plan
check "an option that only tune has" 2 "option of dcc tune" \
    "$dcc" verify --cpu --budget=1s two.dcl
check "both places" 2 "exclude each other" \
    "$dcc" tune --cpu --gpu two.dcl -o p.plan
check "an error of the model" 1 "bad.dcl:1:4" \
    "$dcc" tune --cpu bad.dcl -o p.plan
check "two models" 1 "picks one" \
    "$dcc" tune --cpu two.dcl equal.dcl -o p.plan

# ---- the environment

check "no GPU or no nvcc" 3 "dcc tune measures on a GPU" \
    env NVCC=/nowhere/nvcc "$dcc" tune two.dcl -o p.plan
mkdir folder bin
ln -s "$(command -v "${CXX:-g++}")" bin/g++
check "no make" 3 "make is not found" \
    env PATH="$work/bin" CXX=g++ "$dcc" tune --cpu two.dcl -o p.plan
check "no runtime" 3 "no runtime in /nowhere" \
    env DCC_RUNTIME_DIR=/nowhere "$dcc" tune --cpu two.dcl -o p.plan
check "a folder as the plan" 3 "'folder': Is a directory" \
    "$dcc" tune --cpu two.dcl -o folder
check "a plan nowhere" 3 "'no/p.plan': No such file" \
    "$dcc" tune --cpu two.dcl -o no/p.plan
check "a file as the folder to keep" 3 "Not a directory" \
    "$dcc" tune --cpu --keep two.dcl two.dcl -o p.plan
check "a compiler that always fails" 3 "nothing was measured" \
    env CXX=false "$dcc" tune --cpu two.dcl -o p.plan
test ! -e p.plan
result "no plan without a result" $?

# ---- variants that fail: one does not compile, one is wrong, one crashes, one
# hangs; a compiler that meddles with their text makes them

cat >meddler <<'END'
#!/bin/sh
for file; do
    case $file in
    *.cc) ;;
    *) continue ;;
    esac
    case $(sed -n '/^.. ---- two_p/,/^.. Family/s/.. Family *map, //p' "$file")
    in
    'vec=1 threads=256')
        echo "$file:7: error: meddled with"
        exit 1 ;;
    'vec=2 threads=128') sed -i 's/+ 1\.0f/+ 1.5f/' "$file" ;;
    'vec=2 threads=256')
        sed -i 's/+ 1\.0f/+ 1.0f; __builtin_trap()/' "$file" ;;
    'vec=4 threads=128')
        sed -i 's/+ 1\.0f/+ 1.0f; for (volatile int z = 0; !z;)/' "$file" ;;
    esac
done
exec ${REAL_CXX:-g++} "$@"
END
chmod +x meddler
check "variants that fail" 0 "4 failed" \
    env REAL_CXX="${CXX:-g++}" CXX="$work/meddler" DCC_TUNE_PATIENCE=3 \
    "$dcc" tune --cpu -j 2 --variants 6 --keep kept two.dcl -o two.plan
cp log said
cp two.plan plan
has "that does not compile" \
    '^# failed: two_p_exp by map/1 vec=1 threads=256: does not comp.*meddled' \
    plan
has "that is wrong" \
    '^# failed: two_p_exp by map/1 vec=2 threads=128: wrong: .* instead of' \
    plan
has "that crashes" '^# failed: two_p_exp by map/1 vec=2 threads=256: ' plan
has "that hangs" \
    '^# failed: two_p_exp by map/1 vec=4 threads=128: no answer in 3 s' plan
has "the others are measured" \
    '^group p.* map/1 .* vec=\(1 threads=128\|4 threads=256\) #.* measured' \
    plan
has "the other kernel of their rounds too" '^group z.* us predicted, .* mea' \
    plan
has "the emulator's times are said to be none" '^# measured in the emul' plan
has "the failures are said" 'two_p_exp by map, vec=2 threads=128: wrong' said
has "the report" '^two: .* variants measured, 4 failed' said
has "the folder is kept" 'written by dcc tune' kept/Makefile
check "the plan is one" 0 "measured .* us$" \
    "$dcc" two.dcl --plan=two.plan --explain
check "what is kept can be made" 0 "" \
    env CXX="${CXX:-g++}" make -C kept -W r0_0.cu round0
check "and runs" 0 "^step 1 " \
    kept/round0 --random 1 --tune 1
check "a plan is where tuning may begin" 0 "2 variants measured, 0 failed" \
    "$dcc" tune --cpu --variants 1 two.dcl --plan=two.plan -o again.plan

# ---- equal groups, the budget, signals

check "equal groups are one" 0 "^  equal_[a-z_]* *2 x" \
    "$dcc" tune --cpu --variants 1 equal.dcl -o equal.plan
check "a budget that is too small" 0 "nothing was measured in 0.01 s" \
    "$dcc" tune --cpu --budget=0.01s equal.dcl -o small.plan
check "leaves a plan" 0 "" "$dcc" equal.dcl --plan=small.plan -o equal.cu

# interrupt NAME SIGNAL STATUS FILE PATTERN: when the file has the line
interrupt()
{
    setsid "$dcc" tune --cpu -j 1 --variants 40 two.dcl -o int.plan \
        >log 2>&1 &
    pid=$!
    tries=0
    until grep -q "$5" "$4" 2>/dev/null || [ $tries -ge 300 ]; do
        sleep 0.1
        tries=$((tries + 1))
    done
    kill -"$2" $pid
    status=0
    wait $pid || status=$?
    [ $status = "$3" ] && [ -z "$(ls "$TMPDIR")" ]
    good=$?
    [ $good = 0 ] || echo "# exit status $status; left: $(ls "$TMPDIR")"
    result "$1" $good
}
interrupt "interrupted at the start" TERM 143 int.plan predicted
check "a valid plan is left" 0 "" "$dcc" two.dcl --plan=int.plan -o two.cu
interrupt "interrupted later" TERM 143 int.plan 'us predicted, .* measured'
check "what was measured is in the plan" 0 "measured .* us$" \
    "$dcc" two.dcl --plan=int.plan --explain
echo "1..$n"
exit $bad
