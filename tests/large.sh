#!/bin/sh
# Models beyond 2^31 rows, terms or elements, which no test can run: all are
# compiled by dcc, what it writes compiles with no constant that overflows, and
# whatever counts to more than an int holds is a long long.
#
# DCC_BIN  the compiler; DCC_SRC the source tree
src=${DCC_SRC:-$(cd "$(dirname "$0")/.." && pwd)}
dcc=${DCC_BIN:-$src/build/dcc}
file=$src/tests/large/large.dcl
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
DCC_EMU_CACHE=${DCC_EMU_CACHE:-$work}
export DCC_EMU_CACHE
n=0 bad=0
. "$src/tests/point.sh"

"$dcc" "$file" -o "$work/large.cu" >"$work/log" 2>&1
point $? "every large model is compiled"
sh "$src/runtime/emu/dcc-emu-cc" -O0 -Werror=overflow -c -o "$work/large.o" \
    "$work/large.cu" >"$work/log" 2>&1
point $? "no constant overflows"

# has MODEL TEXT: the text stands in the model's kernels
has()
{
    "$dcc" --model="$1" "$file" -o "$work/one.cu" >"$work/log" 2>&1 &&
        grep -qF "$2" "$work/one.cu"
    point $? "$1 has $2"
}
has big_dot "for (long long col = first + "
has big_edge "const long long last = min(first + PART, (long long)I)"
has big_map "/ ((long long)J * I"
has big_turn "&x[((long long)i * J"
has big_norm "= (long long)blockIdx.x"
echo "1..$n"
exit $bad
