#!/bin/sh
# dcc train: a run that is killed at random moments and goes on leaves the
# bytes of one that was left alone; what it refuses; what a full disk leaves.
#
#   tests/train.sh [KILLS]      default 4
#
# DCC_BIN  the compiler; DCC_SRC the source tree; TRAIN_SEED of the moments
src=${DCC_SRC:-$(cd "$(dirname "$0")/.." && pwd)}
dcc=${DCC_BIN:-$src/build/dcc}
export DCC_RUNTIME_DIR="$src/runtime" OMP_NUM_THREADS=1
kills=${1:-4}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
export DCC_EMU_CACHE="${DCC_EMU_CACHE:-$work}"
cd "$work" || exit 1
n=0 log=log
. "$src/tests/point.sh"

# program NAME FILE OPTION...: builds it of tests/FILE
program()
{
    name=$1 file=$2
    shift 2
    "$dcc" "$src/tests/$file" -o "$name.cu" --main "$@" >log 2>&1 &&
        sh "$src/runtime/emu/dcc-emu-cc" -Og -o "$name" "$name.cu" >>log 2>&1
}

# train SAVE OPTION...
train()
{
    save=$1
    shift
    ./p --train --data rows --save "$save" --set lr=0.01 --steps 900 \
        --every 25 --weights w --validate rows --validate-with look "$@" \
        >"$save.log" 2>&1
    status=$?
    cat "$save.log" >log
    return $status
}

# same A B: all that two runs have left
same()
{
    for end in safetensors jsonl svg; do
        cmp "$1.$end" "$2.$end" >>log 2>&1 || return 1
    done
}

# fails STATUS TEXT OPTION...: with that exit status and those words, of `of`
of=p
fails()
{
    wanted=$1 text=$2
    shift 2
    ./$of --train "$@" >log 2>&1
    got=$?
    echo "exit status $got, wanted $wanted and: $text" >>log
    [ $got = "$wanted" ] && grep -q -- "$text" log
    point $? "$text"
}

program p train.dcl
point $? "a program that trains is built"
./p --model rows --random 3 --save rows >log 2>&1 &&
    ./p --model step --random 5 --save w >log 2>&1
point $? "its data"

train a.safetensors
point $? "trains"
train b.safetensors && same a b
point $? "the same bytes twice"
train c.safetensors --seed 2 && ! cmp -s a.safetensors c.safetensors
point $? "others with another seed"

./p --model look --weights a.safetensors --random 1 --out look >log 2>&1
point $? "the saved file is one of weights"

# ---- moments
seconds()
{
    awk -v s="${TRAIN_SEED:-1}$1" 'BEGIN { srand(s); printf "%.3f", rand() / 3 }'
}
# A run that came to its end is looked at, and begins anew.
i=0 hit=0 wrong=0
while [ $hit -lt "$kills" ] && [ $i -lt $((4 * kills)) ]; do
    train k.safetensors --resume &
    child=$!
    sleep "$(seconds $i)"
    # the program, which is the shell's child
    kill -9 $(ps -o pid= --ppid $child) 2>/dev/null
    wait $child 2>/dev/null
    case $? in
        137) hit=$((hit + 1)) ;;
        *) same a k || wrong=$((wrong + 1)); rm -f k.* ;;
    esac
    i=$((i + 1))
done
train k.safetensors --resume && same a k && ! ls k.*.tmp >>log 2>&1 &&
    [ "$hit" = "$kills" ] && [ $wrong = 0 ]
point $? "killed $hit times and resumed: the same bytes"

./p --train --data rows --save s.safetensors --set lr=0.01 --steps 100000 \
    --weights w >log 2>&1 &
child=$!
sleep 0.5
kill -TERM $child
wait $child
[ $? = 143 ] && grep -q 'resume goes on' log && [ -s s.safetensors ]
point $? "a signal ends it with the state saved"

# ---- a program whose products want the parameters otherwise
# near A B: files of f32 that differ by rounding
near()
{
    for f in "$1" "$2"; do
        od -An -v -w4 -tf4 "$f" >"$f.f"
    done
    paste "$1.f" "$2.f" | awk '$1 != $2 { n++; d = $1 - $2 }
        $1 != $2 && !(d * d < 1e-10) { bad = 1 } END { exit bad || !NR }'
}
program t train.dcl --random-plan=4 &&
    grep -q '"fc1.weight", DCC_F32, 2, {16, 13}, {1, 16}' t.cu &&
    cp a.safetensors a2.safetensors && cp a.safetensors t2.safetensors &&
    ./p --train --data rows --save a2.safetensors --set lr=0.01 --steps 940 \
        --resume >log 2>&1 &&
    ./t --train --data rows --save t2.safetensors --set lr=0.01 --steps 940 \
        --resume --validate rows --validate-with look >>log 2>&1 &&
    ! cmp -s a.safetensors t2.safetensors && near a2.safetensors t2.safetensors
point $? "goes on where parameters lie in another order"

# ---- less memory: the same numbers
# number FILE: its last
number()
{
    od -An -tf4 -j $(($(wc -c <"$1") - 4)) "$1" | tr -d ' '
}
# less FILE MODEL SHARE: fits into that share of the intermediates' memory
less()
{
    "$dcc" "$src/tests/$1" --model "$2" -o d.cu --memory="$3%" --explain \
        2>>log | tee -a log | awk -v share="$3" '
            /^memory/ { sub(/.*arena /, ""); m = $1 }
            /^with all kept/ {
                sub(/.*arena /, "")
                ok = m <= $1 * share / 100 + 0.1
            }
            END { exit !ok }'
}
: >log
less train_more.dcl deep 75 && less train_tall.dcl tall 50 &&
    less train_tall.dcl classes 70
point $? "less memory is enough"
"$dcc" "$src/tests/train_tall.dcl" --model recurrent --memory=200K -o d.cu \
    >log 2>&1
point $? "a loop's weights have no gradient for each step in memory"
# masters whose f16 values are made again for the gradients, too
"$dcc" "$src/examples/chargpt_train.dcl" --model chargpt_train -D E=f16 \
    --memory=60% -o d.cu >log 2>&1
point $? "less memory in f16"
program q train_more.dcl &&
    program d train_more.dcl --model deep --memory=75% &&
    ./d --random 3 --runs 5 --out half >>log 2>&1 &&
    ./q --model deep --random 3 --runs 5 --out whole >>log 2>&1 &&
    # every sum is exact there: other kernels add up in another order
    [ "$(number whole)" != 0 ] && cmp half whole >>log 2>&1
point $? "and the same bytes come out"
"$dcc" verify --cpu "$src/tests/train_again.dcl" --memory=70% >log 2>&1 &&
    "$dcc" verify --cpu "$src/tests/train_twice.dcl" --random-plan=2 >log 2>&1
point $? "what is computed again may be rounded otherwise"
"$dcc" "$src/tests/train_more.dcl" --model deep -o d.cu --memory=90K >log 2>&1
[ $? = 1 ] && grep -q "'deep' needs [1-9].* KB, which is more than 90.0 KB" log
point $? "too little is an error"

# ---- running statistics, and steps that are skipped
train_norm()
{
    ./q --train --model fit --data "$1" --save "$2" --steps 40 --every 20 \
        --validate rows --validate-with fitted >log 2>&1
}
train_norm rows norm.safetensors && ./q --model fitted --weights \
    norm.safetensors --in rows --out fitted >>log 2>&1
n1=$(sed -n 's/.*"validation":{"loss":\([0-9.]*\).*/\1/p' norm.jsonl | tail -1)
n2=$(number fitted)
echo "validation $n1, the saved file's $n2" >>log
awk -v a="$n1" -v b="$n2" 'BEGIN { d = a - b; exit !(a > 0 && d * d < 1e-10) }'
point $? "validation reads the running statistics, which are saved"
./q --model spoil --random 3 --out spoilt >log 2>&1 &&
    train_norm spoilt skip.safetensors &&
    grep -q '"skipped":1' skip.jsonl && grep -q '"skipped":0' skip.jsonl &&
    tail -1 skip.jsonl | grep -q '"validation":{"loss":[0-9]'
point $? "a step with NaN is reported and skipped"

# ---- what it refuses
may="--data rows --steps 2000 --set lr=0.01 --weights w"
cp a.safetensors old.safetensors
fails 1 'is there already: --resume' $may --save old.safetensors
head -c 600 a.safetensors >cut.safetensors
fails 1 'cut.safetensors: ' $may --save cut.safetensors --resume
cp w foreign.safetensors
fails 1 'no state of dcc train' $may --save foreign.safetensors --resume
./p --model step --random 9 --save other >/dev/null 2>&1
fails 1 'was begun with' --data other --steps 2000 --set lr=0.01 \
    --save old.safetensors --resume
fails 1 'was begun with --seed 1' $may --seed 7 --save old.safetensors --resume
fails 1 'no tensor "lr".*--set lr=VALUE' --data rows --steps 9 --weights w \
    --save x.safetensors
fails 1 'no tensor "x"' --data a.safetensors --steps 9 --set lr=1 --weights w \
    --save x.safetensors
fails 1 'model look does not train' $may --model look --save x.safetensors
fails 1 'the loss is .* from step' --data rows --steps 40 --set lr=1e30 \
    --weights w --save nan.safetensors
[ ! -e nan.safetensors ]
point $? "nothing is saved then"
LC_ALL=C sed 's/"dcc.model":"step"/"dcc.model":"stop"/' a.safetensors \
    >model.safetensors
fails 1 'of the model stop, not of step' $may --save model.safetensors --resume
LC_ALL=C sed 's/"dcc.step":"900"/"dcc.step":"9999999999999999999"/
    s/"dcc.data":"[0-9a-f]*"/"dcc.data":""/' a.safetensors >far.safetensors
fails 1 'its metadata has no dcc.step' $may --save far.safetensors --resume
LC_ALL=C sed 's/\[16,13\]/[13,16]/g' a.safetensors >shape.safetensors
fails 1 'has shape .13, 16. in the file, the model needs .16, 13.' $may \
    --save shape.safetensors --resume
LC_ALL=C sed 's/state:adamw.fc1.bias.m/state:adamw.fc1.bias.q/' a.safetensors \
    >name.safetensors
fails 1 'no tensor "state:adamw.fc1.bias.m"' $may --save name.safetensors \
    --resume

fails 1 'no input of that name' --data rows --steps 9 --set lr=1 --set lrr=2 \
    --weights w --save x.safetensors
fails 2 'wants --validate' --data rows --steps 9 --set lr=1 --weights w \
    --save x.safetensors --validate-with look
fails 2 'wants a file' --data rows --steps 9 --set lr=1 --weights w --save -
fails 1 'wants another ending' --data rows --steps 9 --set lr=1 --weights w \
    --save x.jsonl
fails 1 'wants another ending' --data rows --steps 9 --set lr=1 --weights w \
    --save x.svg
# what is another's stays
echo '{"text": "of somebody"}' >x.jsonl && cp x.jsonl other.jsonl
fails 1 'x.jsonl is there already' --data rows --steps 9 --set lr=1 \
    --weights w --save x.safetensors
cmp x.jsonl other.jsonl >>log 2>&1 && rm x.jsonl && echo '<svg/>' >x.svg
fails 1 'x.svg is there already' --data rows --steps 9 --set lr=1 \
    --weights w --save x.safetensors
[ "$(cat x.svg)" = '<svg/>' ] && [ ! -e x.jsonl ] && rm x.svg
point $? "they are as they were"
of=q
./q --model numbered --random 3 --out numbered >log 2>&1 &&
    ./q --model few --random 3 --out few >>log 2>&1
more="--model promised --data numbered --save x.safetensors"
fails 1 '"step" is 10, promised is 0..10' $more --steps 11
fails 1 'is i8, which has no 1.5' $more --steps 10 --set k=1.5
fails 1 'is i8, which has no 3e+09\|is i8, which has no 3000000000' $more \
    --steps 10 --set k=3e9
fails 1 '"k" is 5, promised is -3..5' $more --steps 10 --set k=5
of=p
./q --train $more --steps 10 >log 2>&1 && grep -q '"m19":.*"loss":' x.jsonl
point $? "a number among the data; all numbers are in the lines"
./p --train --data rows --validate few --validate-with look --steps 2 \
    --set lr=0.01 --weights w --save few.safetensors >log 2>&1 &&
    grep -q 'note: few has 5 rows, which fill no batch of 24' log &&
    grep -q 'validation: right' log
point $? "fewer rows to validate than a batch"
./p --train --data rows --steps 100000 --every 10 --set lr=0.01 --weights w \
    --save pipe.safetensors 2>log | head -2 >/dev/null
grep -q 'resume goes on' log && [ -s pipe.safetensors ]
point $? "whoever reads what it says goes: the state is saved"

# ---- a disk that is full
cp a.safetensors full.safetensors && cp a.jsonl full.jsonl
(
    ulimit -f 8
    ./p --train --data rows --steps 1000 --set lr=0.01 --save full.safetensors \
        --resume >log 2>&1
)
[ $? = 3 ] && grep -q 'cannot write' log && cmp full.safetensors a.safetensors \
    >>log && ! ls full.*.tmp >>log 2>&1
point $? "a full disk leaves the last state"
echo "1..$n"
