#!/bin/sh
# Every model of tests/numeric/*.dcl, emitted, run on the CPU and checked
# against the oracle: outputs, and every tensor that was in memory, within
# computed bounds.  Threads run forward with copies at once, then in reverse
# and in a random order with copies as late as is legal. Most flavours are built
# for dependent launches and run in early mode, where what a kernel does before
# its wait for the grid comes before the launches ahead.
#
#   tests/numeric.sh [FILE.dcl...]      a test point for each model and order
#
# DCC_BIN     the compiler; DCC_SRC the source tree
# NUMERIC     flavours besides the model's own choice, default "mma simt wgmma
#             pairs wide pingpong crossed turned-crossed single boxes turned eights
#             mma-sm_80 halo taps stream rows ring map bands=1 bands=2
#             share=2 line=1 turn vec=4 vec=8 reduce held=1 prefix listed chain chain-ends chain-window
#             chain-sm_80 chain-few few-sm_80 tf32 3xtf32 wgmma-tf32 wgmma-3xtf32 paths apart overflow asan":
#             random legal variants of a family wherever it can serve, on
#             random layouts of intermediates, mma also where splits of k go
#             through memory; tiles of two warpgroups, also in reverse with
#             copies at once; of one, apart; of columns that end within a box;
#             of clusters that share rows and columns, turned, too; with inputs
#             of results in fewer slots than a tile has; whose rows
#             are columns of the result, and those in eights; map's with so
#             many bands a block, or blocks that share an SM, or rows of
#             registers; turn's with vectors of so many; reduce's with
#             rows in shared memory; the ways of --math;
#             paths: a GPU of free launches, so that small sums are split;
#             apart: launches one after another; overflow: with a signed
#             overflow as an error; the address and undefined-behaviour
#             sanitizers
# NUMERIC_SEED  of the random variants, default 1
# NUMERIC_ASAN  not empty: the sanitizers for every flavour; make check sets it
#             in a build with --enable-sanitizers
# DCC_FLAGS   more options for dcc
src=${DCC_SRC:-$(cd "$(dirname "$0")/.." && pwd)}
dcc=${DCC_BIN:-$src/build/dcc}
runtime=$src/runtime
export DCC_RUNTIME_DIR="$runtime"
flavours="mma simt wgmma pairs wide pingpong crossed turned-crossed single boxes turned eights mma-sm_80 halo taps stream rows ring map bands=1 bands=2 share=2 line=1 turn vec=4 vec=8 reduce held=1 prefix listed chain chain-ends chain-window chain-sm_80 chain-few few-sm_80 tf32 3xtf32 wgmma-tf32 wgmma-3xtf32 paths apart overflow asan"
flavours=${NUMERIC-$flavours}
seed=${NUMERIC_SEED:-1}
[ $# -gt 0 ] || set -- "$src"/tests/numeric/*.dcl
start=$PWD

work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
DCC_EMU_CACHE=${DCC_EMU_CACHE:-$work} OMP_NUM_THREADS=1
export DCC_EMU_CACHE OMP_NUM_THREADS

# point STATUS NAME LOG: a line of TAP, with the log if it failed
point()
{
    if [ "$1" = 0 ]; then
        echo "ok - $2"
    else
        echo "not ok - $2"
        sed -n '1,15s/^/# /p' "$3"
    fi
}

# The oracle's runtime, once.
oracle_objects()
{
    mkdir "$work/ref" && cd "$work/ref" &&
        ${CC:-cc} -std=gnu11 -O2 -fopenmp -I"$runtime" -c "$runtime"/ref*.c \
            "$runtime"/base.c "$runtime"/safetensors*.c
}

# much_work ORACLE.c: whether its sums have so many terms, over all models, that
# to optimise it takes less than it saves in the first two times that it judges
much_work()
{
    awk -F '[] ,;={}[]+' '
         /^static const int64_t m[0-9]+_extent/ {
             points[$4] = 1
             for (i = 5; i < NF; i++)
                 points[$4] *= $i
         }
         $4 == ".extent" && $6 == ".terms" { terms += points[$5] * $7 }
         END { exit terms < 2000 * NR }' "$1"
}

# oracle_of NAME FILE: once for all flavours
oracle_of()
{
    [ ! -x "$work/$1.oracle" ] || return 0
    "$dcc" --emit=ref "$2" -o "$work/$1.oracle.c" || return
    optimise=-O0
    ! much_work "$work/$1.oracle.c" || optimise=-O1
    ${CC:-cc} -std=gnu11 -w $optimise -fopenmp -I"$runtime" \
        -o built "$work/$1.oracle.c" "$work"/ref/*.o -lm &&
        mv built "$work/$1.oracle"
}

# judge ORDER ARGUMENT...: results and trace against the oracle. It says of the
# same bits what it said of them before, so those of the first order that were
# right are right in another one, too. Order 1, of the model's own choice, is
# judged anew, the way that large tensors are: at points.
judge()
{
    budget=20000000
    case $label-$1 in
    model-1) budget=1000 ;;
    *-0) ;;
    *)
        if [ -n "$right" ] && cmp -s "y$1" y0 && cmp -s "t$1" t0; then
            return 0
        fi ;;
    esac
    order=$1
    shift
    ./oracle --model "$model" --weights w --in x --against "y$order" \
        --check "t$order" --budget $budget "$@" || return 1
    [ "$order" != 0 ] || right=yes
}

# one_model PROGRAM MODEL STATES LABEL LAUNCH: a point for each order
one_model()
{
    dir=$1 model=$2 states=$3 label=$4 launch=$5 right=
    cd "$dir" || return
    ./oracle --model "$model" --random 1 --save-weights w --save-in x \
        >log 2>&1 || { point 1 "$label $model" log; return; }
    math=
    case $label in
    3xtf32 | *-3xtf32) math="--math 3xtf32" ;;
    tf32 | *-tf32) math="--math tf32" ;;
    esac
    turns="0-eager 1-lazy 7-lazy"
    [ "$label" != pairs ] || turns="$turns 1-eager"
    for turn in $turns; do
        order=${turn%-*} async=${turn#*-} status=0 runs=
        {
            export DCC_EMU_ORDER=$order DCC_EMU_ASYNC=$async DCC_EMU_THREADS=1
            export DCC_EMU_LAUNCH=$launch
            set -- --model "$model" --weights w --in x --out "y$order"
            ./program "$@" --trace "t$order" &&
            if [ "$states" -gt 0 ]; then
                runs="--runs 3"
                ./program "$@" $runs
            fi &&
            judge "$order" $math $runs
        } >log 2>&1 || status=1
        point $status "$label $model, $async, order $order" log
    done
}

# one_file FILE LABEL FLAGS: every model of a file. -Og: as quick as -O1 here, to
# build it takes two thirds
one_file()
{
    file=$1 name=$(basename "$1" .dcl) label=$2 emu=-Og flags=$3
    dir=$work/$name-$label launch=
    case $label in
    overflow | asan) emu="$emu --$label" ;;
    esac
    [ -z "$NUMERIC_ASAN" ] || emu="$emu --asan"
    case $flags in *$overlap*) launch=early ;; esac
    case $file in /*) ;; *) file=$start/$file ;; esac
    mkdir "$dir" && cd "$dir" || return
    if ! "$dcc" $DCC_FLAGS $flags --main --trace "$file" -o fused.cu \
        >log 2>&1; then
        if grep -q 'is not supported yet' log; then
            echo "ok - $name # SKIP $(grep -m1 'not supported' log |
                sed 's/.*error: //')"
        else
            point 1 "$label $name is compiled" log
        fi
        return
    fi
    case $label in
    chain* | few*)
        want=$(grep -c '^model' "$file")
        # not there: weights that lie along the second sum
        [ "$label" != chain-sm_80 ] ||
            want=$((want - $(grep -c '^model at_pair' "$file")))
        [ "$(awk '/^\/\/ ---- / { name = $3 }
            /^\/\/ Family *chain_/ { sub("__.*", "", name); has[name] }
            END { for (name in has) n++; print n }' fused.cu)" = "$want" ]
        point $? "$label $name: each model is a chain" log ;;
    mma* | wgmma)
        [ "$name" != wide_factors ] || {
            want=$(grep -c '^model' "$file")
            [ "$(grep -c '^//  *sum over part, ' fused.cu)" -ge "$want" ]
            point $? "$label $name: each model has a product in parts" log
        } ;;
    halo)
        [ "$name" != halo ] || {
            want=$(grep -c '^model' "$file")
            # not there: some of a pixel's channels
            [ "$(awk '/^\/\/ ---- / { name = $3; sub("__.*", "", name) }
                /^\/\/ Family *contract_halo/ { has[name] }
                END { for (name in has) n++; print n }' fused.cu)" = \
                $((want - 1)) ]
            point $? "$label $name: each window is a patch" log
        } ;;
    rows)
        [ "$(grep -c "// Values of \(rows, of\|the row\)" fused.cu)" -ge 3 ]
        point $? "$label $name: products compute values of rows" log ;;
    esac
    case "$label $name$DCC_FLAGS" in
    "model shifts")
        [ "$(grep -c "_taps[,)]  *// f32" fused.cu)" = 6 ]
        point $? "$label $name: taps' products come first" log ;;
    "model groups")
        [ "$(grep -c "w_joined,  // " fused.cu)" -ge 6 ]
        point $? "$label $name: small groups are joined" log ;;
    "model phase")
        [ "$(grep -c "auto find_steps" fused.cu)" -ge 3 ]
        point $? "$label $name: no phase multiplies another's taps" log ;;
    esac
    sh "$runtime/emu/dcc-emu-cc" $emu -o program fused.cu >log 2>&1 ||
        { point 1 "$label $name is built" log; return; }
    oracle_of "$name" "$file" >log 2>&1 ||
        { point 1 "$label $name has an oracle" log; return; }
    ln "$work/$name.oracle" oracle
    ./oracle --list >models
    while read -r model states; do
        (one_model "$dir" "$model" "$states" "$label" "$launch" </dev/null)
    done <models
    rm -rf "$dir"
}

# The paths of some of the cases.
files()
{
    for name in "$@"; do
        echo "$src/tests/numeric/$name.dcl"
    done
}

# flavour LABEL FLAGS FILE...: a line for each file
flavour()
{
    label=$1 flags=$2
    shift 2
    for file; do
        echo "$label|$flags|$file"
    done
}

# worker: takes the next line of $work/jobs that nobody has
worker()
{
    n=0
    while IFS='|' read -r label flags file; do
        n=$((n + 1))
        mkdir "$work/job.$n" 2>/dev/null || continue
        began=$(date +%s)
        one_file "$file" "$label" "$flags" </dev/null >"$work/job.$n/tap"
        echo "$(($(date +%s) - began)) s, $label $name" >"$work/job.$n/time"
    done <"$work/jobs"
}

if ! oracle_objects >"$work/log" 2>&1; then
    echo "1..1"
    point 1 "the oracle's runtime" "$work/log"
    exit 1
fi
# the emulator's own objects, before two builds want them
echo 'int main() { return 0; }' >"$work/empty.cu"
sh "$runtime/emu/dcc-emu-cc" -Og -o "$work/empty" "$work/empty.cu" ||
    { echo "1..0 # SKIP no C++ compiler"; exit 0; }
overlap=--dependent-launch=on apart=--dependent-launch=off
{
    flavour model "$overlap" "$@"
    for f in $flavours; do
        random="$overlap --random-plan=$seed --variant="
        case $f in
        mma | simt | wgmma) flavour $f "${random}contract_$f=any" \
            $(files contract conv tensor_cores wgmma wgmma_conv prologue norm \
                norms f32_products mixed_products factors distances images \
                phase phase_finite layouts range_products patches) \
            $([ $f = simt ] || files wide_factors groups) \
            $([ $f != wgmma ] || files row_sums inputs) ;;
        pairs) flavour $f \
            "$overlap --variant=contract_wgmma=bm=128,bn=128,consumers=2,\
schedule=cooperative" $(files pairs range_products) ;;
        wide) flavour $f "$overlap --target=$src/tests/few.dev \
--variant=contract_wgmma=bm=128,bn=256,consumers=2,split=1" $(files inputs) ;;
        pingpong) flavour $f "$overlap --target=$src/tests/few.dev \
--variant=contract_wgmma=bn=128,schedule=pingpong" $(files inputs) ;;
        crossed) flavour $f \
            "$apart --variant=contract_wgmma=bm=128,bn=64,cluster=4,across=2" \
            $(files clusters) ;;
        turned-crossed) flavour $f "$apart \
--variant=contract_wgmma_turned=bm=128,bn=64,cluster=4,across=2" \
            $(files clusters) ;;
        single) flavour $f \
            "$apart --variant=contract_wgmma=bm=64,bn=64,consumers=1,split=1" \
            $(files wgmma) ;;
        turned) flavour $f \
            "${random}contract_wgmma_turned=any --target=$src/tests/few.dev" \
            $(files turned) ;;
        eights) flavour $f "$apart --variant=contract_wgmma_turned=bn=72 \
--target=$src/tests/few.dev" $(files turned) ;;
        boxes) flavour $f \
            "$apart --variant=contract_wgmma=bm=64,bn=96,consumers=1,split=1" \
            $(files wgmma) ;;
        mma-sm_80) flavour $f \
            "$apart --target=sm_80 --random-plan=$seed \
--variant=contract_mma=any" \
            $(files tensor_cores wgmma_conv wide_factors) ;;
        taps) flavour $f "${random}contract_taps=any" $(files taps) ;;
        halo) flavour $f "${random}contract_halo=any" \
            $(files halo layouts) ;;
        stream) flavour $f "${random}contract_stream=any" \
            $(files skinny contract layouts) ;;
        rows) flavour $f "${random}contract_skinny=any" $(files few_rows) ;;
        ring) flavour $f "${random}contract_stream=x=ring" \
            $(files skinny) ;;
        map) flavour $f "${random}map=any" \
            $(files window layouts scaled) ;;
        bands=* | share=*) flavour $f "$overlap --variant=map=$f" $(files window) ;;
        line=1) flavour $f "${random}map=$f" $(files lines) ;;
        turn) flavour $f "${random}turn=any" $(files map layouts turn) ;;
        vec=*) flavour $f "${random}turn=$f" $(files turn) ;;
        reduce) flavour $f "${random}reduce=any" \
            $(files contract reduce ahead layouts ranges) ;;
        held=*) flavour $f "${random}reduce=$f" $(files held) ;;
        prefix) flavour $f "${random}prefix=any" $(files prefix) ;;
        listed) flavour $f "${random}listed=any" $(files listed scatter) ;;
        chain-sm_80) flavour $f \
            "$apart --target=sm_80 --random-plan=$seed \
--variant=chain_mma=any" $(files attention) ;;
        chain) flavour $f "${random}chain_wgmma=any" \
            $(files attention attention_back) ;;
        chain-ends) flavour $f "$overlap --variant=chain_wgmma=any" \
            $(files attention_turned) ;;
        chain-window) flavour $f "${random}chain_window=any" \
            $(files window_product) ;;
        chain-few) flavour $f "${random}chain_few=any" $(files decode) ;;
        few-sm_80) flavour $f "$apart --target=sm_80 --random-plan=$seed \
--variant=chain_few=any" $(files decode) ;;
        tf32 | 3xtf32) flavour $f "--math=$f ${random}contract_mma=any" \
            $(files tensor_cores f32_products mixed_products) ;;
        wgmma-*) flavour $f \
            "--math=${f#wgmma-} ${random}contract_wgmma=any" \
            $(files f32_products) ;;
        paths) flavour $f "$overlap --target=$src/tests/free.dev" \
            $(files paths straight) ;;
        apart) flavour apart "$apart" $(files wgmma skinny reduce) ;;
        overflow) flavour overflow "$apart" \
            $(files index index_widths values) ;;
        asan) flavour asan "$apart" $(files index norm window)
            flavour asan "$apart --target=$src/tests/few.dev \
--variant=contract_wgmma_turned=bn=72,parts=3" $(files turned_parts) ;;
        esac
    done
} >"$work/jobs"
# each program has one thread, which nproc would take for one processor
cpus=$(env -u OMP_NUM_THREADS nproc 2>/dev/null || echo 2)
for each in $(seq "$cpus"); do
    worker &
done
wait
n=0
while read -r job; do
    n=$((n + 1))
    cat "$work/job.$n/tap"
done <"$work/jobs" >"$work/tap"
cat "$work/tap"
cat "$work"/job.*/time | sort -rn | sed 's/^/# /; 10q'
echo "1..$(grep -c '^\(not \)\{0,1\}ok' "$work/tap")"
! grep -q '^not ok' "$work/tap"
