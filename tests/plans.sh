#!/bin/sh
# A plan changes nothing but what is written in it: each example, in both types
# and at two batches, is the same text without a plan, with one written, and by
# the one that was written; and that one writes itself again.
#
#   tests/plans.sh [NAME...]     a test point for each example
#
# DCC_BIN  the compiler; DCC_SRC the source tree
src=${DCC_SRC:-$(cd "$(dirname "$0")/.." && pwd)}
dcc=${DCC_BIN:-$src/build/dcc}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
n=0
. "$src/tests/point.sh"

# emit FILE OPTION...: the text, less the command that it tells of. How much a
# step of training computes is told but for parts of random numbers that are
# the same: as many as one search finds.
emit()
{
    to=$1
    shift
    "$dcc" "$file" "$@" -o m.cu >log 2>&1 &&
        sed -e '/^\/\/   command/,/^\/\/   target/d' \
            -e '/^\/\/ Work  .*FLOP/s/.*/WORK/' m.cu >"$to"
}

# same OPTION...
same()
{
    emit plain "$@" &&
        emit written "$@" --write-plan=m.plan &&
        emit read "$@" --plan=m.plan --write-plan=again.plan &&
        cmp plain written >log 2>&1 && cmp written read >log 2>&1 &&
        sed 's/ # .*//' m.plan >m.text && sed 's/ # .*//' again.plan >again.text &&
        cmp m.text again.text >log 2>&1
}

# drawn OPTION...: a plan of random choices, on random layouts, is read again
drawn()
{
    emit drawn --random-plan=3 "$@" --write-plan=m.plan &&
        emit read "$@" --plan=m.plan --write-plan=again.plan &&
        cmp drawn read >log 2>&1 &&
        sed 's/ # .*//' m.plan >m.text && sed 's/ # .*//' again.plan >again.text &&
        cmp m.text again.text >log 2>&1
}

# model NAME: in all types and sizes
model()
{
    name=$1
    file=$src/examples/$name.dcl
    good=0
    for batch in 1 8; do
        for type in f16 f32; do
            same -D "E=$type" -D "B=$batch" || good=1
        done
    done
    point $good "$name: a plan gives the same text"
    drawn -D E=f16
    point $? "$name: so does a random one"
}

cd "$work" || exit 1
[ $# -gt 0 ] || set -- $(cd "$src/examples" && ls ./*.dcl |
    sed 's/.*\///; s/\.dcl$//')
for name in "$@"; do
    model "$name"
done
echo "1..$n"
exit "${bad:-0}"
