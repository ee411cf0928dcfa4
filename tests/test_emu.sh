#!/bin/sh
# test_emu.sh - the emulator and the runtime on it: kernels by hand in eager
# and lazy, forward and reverse order, plain and under sanitizers; every seeded
# defect must be found in some of these. Then a whole program by hand: files
# in, files out, bad input.
set -u
src=$(cd "$(dirname "$0")" && pwd)
cc=$src/../runtime/emu/dcc-emu-cc
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

fail() {
    echo "FAIL: $*"
    failed=1
}

for part in test_emu test_emu_sm90; do
    "$cc" -Og -o "$work/$part-plain" "$src/$part.cu" || exit 1
    "$cc" -Og --asan -o "$work/$part-asan" "$src/$part.cu" || exit 1
done
"$cc" -Og --asan -o "$work/tiny" "$src/test_emu_model.cu" || exit 1

# run MODE PROGRAM ARGS: MODE is asynchrony-order, or that and -early
run() {
    plain=${1%-early} launch=
    [ "$plain" = "$1" ] || launch=early
    shift
    DCC_EMU_ASYNC=${plain%-*} DCC_EMU_ORDER=${plain#*-} \
        DCC_EMU_LAUNCH=$launch timeout 60 "$@" >"$work/log" 2>&1
}

for mode in eager-0 eager-1 lazy-0 lazy-1 lazy-7 eager-0-early lazy-7-early; do
    for build in plain asan; do
        for part in test_emu test_emu_sm90; do
            run $mode "$work/$part-$build" all ||
                { cat "$work/log"; fail "$part $build $mode"; }
        done
    done
done

# Mutations, as numbered in emu_case.h. Each must fail in one mode at least;
# status 2 would be a case that there is not.
mutants() {
    cat <<LIST
test_emu saxpy 8
test_emu sgemm 1
test_emu sgemm 3
test_emu sgemm 4
test_emu sgemm 9
test_emu gemm_f16 1
test_emu gemm_f16 2
test_emu gemm_f16 10
test_emu gemm_bf16 2
test_emu reduce 4
test_emu_sm90 tma 2
test_emu_sm90 tma 3
test_emu_sm90 tma 5
test_emu_sm90 tma 6
test_emu_sm90 tma 7
test_emu_sm90 stream 2
test_emu_sm90 bulk 2
test_emu_sm90 cluster 1
test_emu_sm90 cluster 11
test_emu_sm90 cluster 12
test_emu_sm90 send 2
test_emu_sm90 send 5
test_emu_sm90 send 11
LIST
}
mutants >"$work/mutants"
while read -r part case number; do
    found=
    for mode in eager-0 lazy-1; do
        for build in plain asan; do
            run $mode "$work/$part-$build" "$case" "$number"
            case $? in
            0) ;;
            2) fail "no case $case in $part" ;;
            *) found=yes ;;
            esac
        done
    done
    [ -n "$found" ] || fail "defect $number of $case was not found"
done <"$work/mutants"

# Those of dependent launches show in early mode, whatever the order, and only
# there: number and what is said.
while read -r number what; do
    for mode in eager-0-early lazy-1-early lazy-7-early; do
        for build in plain asan; do
            run $mode "$work/test_emu_sm90-$build" overlap "$number"
            [ $? -eq 70 ] && grep -q "$what" "$work/log" ||
                { cat "$work/log"
                  fail "defect $number of overlap was not found: $mode"; }
        done
    done
done <<LIST
13 reads memory before dcc_grid_wait
14 writes memory before dcc_grid_wait
15 reads memory before dcc_grid_wait
16 writes memory before dcc_grid_wait
17 block (1, 0, 0) exits without dcc_grid_wait
18 a kernel writes to constants
LIST

# A register that is read before it is written is no zero by chance, where the
# compiler can say so.
fresh=-ftrivial-auto-var-init=pattern
for mode in eager-0 lazy-7; do
    ${CXX:-c++} $fresh -x c++ -fsyntax-only /dev/null 2>/dev/null || continue
    run $mode "$work/test_emu-plain" registers 19
    grep -q " 301 failures" "$work/log" || # in each thread
        { cat "$work/log"; fail "a sum from nothing: $mode"; }
done

# What is written behind memory shows without a sanitizer, too.
for mode in eager-0 lazy-7 eager-0-early; do
    run $mode "$work/test_emu-plain" saxpy 8
    [ $? -eq 70 ] && grep -q "writes behind memory of 400012 bytes, to byte \
400012" "$work/log" || { cat "$work/log"; fail "saxpy overruns: $mode"; }
done

# ---- a program ----

# status WANT PATTERN ARGS: exit status and a part of what is printed
status() {
    want=$1 pattern=$2
    shift 2
    "$@" >"$work/log" 2>&1
    got=$?
    [ $got -eq "$want" ] || { cat "$work/log"; fail "status $got: $*"; }
    [ -z "$pattern" ] || grep -q -- "$pattern" "$work/log" ||
        { cat "$work/log"; fail "no \"$pattern\": $*"; }
}

cd "$work" || exit 1
tiny=./tiny
status 0 "" $tiny --self-test
status 0 "on CPU" $tiny --random 3 --save all.st --out y1.st --trace t.st
status 0 "on CPU" $tiny --weights all.st --in all.st --out y2.st
cmp -s y1.st y2.st || fail "graph and steps differ"
status 0 "" $tiny --weights all.st --in all.st --out y3.st --runs 3
cmp -s y1.st y3.st && fail "the state was not carried on"
status 0 "median" $tiny --weights all.st --in all.st --bench 5 --json b.json
grep -q '"median_us"' b.json || fail "no JSON"
status 0 "w_packed" strings -n 3 t.st
status 0 "ids : i32" $tiny --describe
status 2 "unknown argument" $tiny --frobnicate
status 2 "needs --weights" $tiny
status 2 "needs --in" $tiny --weights all.st
status 2 "no model" $tiny --model big --random 1
status 1 "No such file" $tiny --weights none.st --in all.st
status 1 "fc.weight" $tiny --weights y1.st --in all.st
status 1 "no tensor \"x\"" $tiny --weights all.st --in y1.st
status 3 "cannot write" $tiny --random 1 --out /nonexistent/y.st
status 3 "cannot write" $tiny --random 1 --out .
[ -w /dev/full ] && status 3 "No space left" $tiny --random 1 --out /dev/full
status 3 "no usable CUDA GPU" env DCC_EMU_NO_GPU=1 $tiny --random 1
for wrong in GPUS=-1 GPUS=many ORDER=last THREADS=-3 MEMORY=1G ASYNC=late \
    LAUNCH=eager; do
    status 3 "DCC_EMU_${wrong%=*} is \"${wrong#*=}\", not " \
        env "DCC_EMU_$wrong" $tiny --random 1
done
status 3 "too little GPU memory" env DCC_EMU_MEMORY=1500 $tiny --random 1
ls | grep -q '\.tmp$' && fail "a temporary file was left behind"

[ $failed -eq 0 ] && echo "test_emu: all passed"
exit $failed
