#!/bin/sh
# The house's rules that a grep can check: who includes whom, how long a
# function and a file may be, no unfinished marks.  See CONTRIBUTING.md.
cd "${DCC_SRC:-$(dirname "$0")/..}" || exit 1
report=$(mktemp) || exit 1
trap 'rm -f "$report"' EXIT

# fail RULE: the lines on stdin break it
fail()
{
    lines=$(cat)
    [ -z "$lines" ] && return
    printf '%s:\n%s\n\n' "$1" "$lines" >>"$report"
}

# includes of own headers, as file:line:header
includes()
{
    grep -n '^ *# *include *"' /dev/null "$@" 2>/dev/null |
        sed 's/ *# *include *"\([^"]*\)".*/\1/'
}

sources=$(find compiler dsl runtime tests examples -name '*.[chly]' \
    -o -name '*.cuh' -o -name '*.cpp' | grep -v -e '/dcl\.tab\.' \
    -e '/dcl\.yy\.' -e '_dcl\.c$' -e '/devices_dev\.c' \
    -e '/templates_cu\.c' -e '/runtime_files\.c' -e '\.pb-c\.')

own_dir()
{
    awk -F: -v dirs="$1" '{
        n = split(dirs, d, " ")
        for (i = 1; i <= n; i++)
            if ((getline line < (d[i] "/" $3)) >= 0) {
                close(d[i] "/" $3)
                next
            }
        print
    }'
}

# What each file sees, and through whom: file:who > who:seen, paths from here
reaches()
{
    # shellcheck disable=SC2046
    includes $(find compiler dsl -name '*.[chly]') | awk -F: '
        function exists(path,    line, there) {
            there = (getline line < path) >= 0
            close(path)
            return there
        }
        {
            to = "compiler/" $3
            if (!exists(to)) to = "dsl/" $3
            if (!exists(to)) {
                to = $1
                sub(/[^\/]*$/, "", to)
                to = to $3
            }
            sees[$1] = sees[$1] " " to
        }
        function walk(file, at, via,    i, n, next_at) {
            n = split(sees[at], next_at, " ")
            for (i = 1; i <= n; i++)
                if (!((file, next_at[i]) in known)) {
                    known[file, next_at[i]] = 1
                    print file ":" via ":" next_at[i]
                    walk(file, next_at[i], via " > " next_at[i])
                }
        }
        END { for (file in sees) walk(file, file, "") }'
}

seen=$(mktemp) || exit 1
trap 'rm -f "$report" "$seen"' EXIT
reaches >"$seen"
grep '^compiler/support/' "$seen" | grep -v ':compiler/support/[^:]*$' |
    fail "compiler/support includes libc only"
grep '^dsl/' "$seen" | grep -v -e ':dsl/[^:]*$' -e ':compiler/support/[^:]*$' |
    fail "dsl adds support only"
grep ':dsl/ast\.h$' "$seen" |
    grep -v -e '^dsl/' -e '^compiler/lower/' -e '^compiler/compile\.c:' |
    fail "only lower and compile.c see the AST"
grep -e '^compiler/emit/' -e '^compiler/oracle/' "$seen" |
    grep -e ':compiler/model/[^:]*$' -e ':compiler/search/[^:]*$' \
        -e ':compiler/family/[^:]*$' |
    fail "emitters get finished kernels: no model, no search, no family"
grep -e '^compiler/model/' -e '^compiler/group/' -e '^compiler/graph/' \
    -e '^compiler/index/' -e '^compiler/rewrite/' "$seen" |
    grep -e ':compiler/search/[^:]*$' -e ':compiler/family/[^:]*$' |
    fail "what select chooses from knows nothing of select"
# one way through the stages' folders; what is directly in compiler/ drives them
# shellcheck disable=SC2046
includes $(find compiler -mindepth 2 -name '*.[chly]') | awk -F: '
    {
        from = $1; to = $3
        sub(/^compiler\//, "", from)
        if (!sub(/\/[^\/]*$/, "", from) || !sub(/\/[^\/]*$/, "", to) ||
            from == to || (from, to) in edge)
            next
        edge[from, to] = 1
        next_of[from] = next_of[from] " " to
        room[from] = room[to] = 1
    }
    function walk(start, at,    i, n, list) {
        n = split(next_of[at], list, " ")
        for (i = 1; i <= n; i++) {
            if (list[i] == start)
                print "compiler/" start " > .. > compiler/" at \
                      " > compiler/" start
            if (!((start, list[i]) in known)) {
                known[start, list[i]] = 1
                walk(start, list[i])
            }
        }
    }
    END { for (r in room) walk(r, r) }' | sort -u |
    fail "no circle of folders"
# what a folder shows to others is one header; its other headers are its own.
# compile.c and main.c, which drive the stages, see the passes that they call.
shown=$(mktemp) || exit 1
trap 'rm -f "$report" "$seen" "$shown"' EXIT
cat >"$shown" <<'END'
adjoint/adjoint.h
command/output.h
emit/emit.h
family/common/body.h
family/contract/contract_shared.h
family/contract/skinny/contract_skinny.h
family/family.h
family/map/map.h
graph/graph.h
group/groups.h
index/idx.h
model/model.h
rewrite/rewrite.h
search/search.h
support/support.h
END
sed 's,/[^/]*$,,' "$shown" | uniq -d |
    fail "a folder shows one header"
# shellcheck disable=SC2046
sed -n 's/^#ifndef \(DCC_[A-Z0-9_]*_H\)$/\1/p' \
    $(find compiler dsl runtime -name '*.h') | sort | uniq -d |
    fail "two headers with one guard: one of them says nothing"
# shellcheck disable=SC2046
includes $(find compiler dsl -mindepth 1 -name '*.[chly]') | awk -F: '
    FILENAME != "-" {
        shown[$0] = 1
        next
    }
    {
        from = $1; to = $3
        sub(/^compiler\//, "", from)
        if (!sub(/\/[^\/]*$/, "", from) ||
            !sub(/\/[^\/]*$/, "", to) || to == from || ($3 in shown))
            next
        there = (getline line < ("compiler/" $3)) >= 0
        close("compiler/" $3)
        if (there)
            print $1 ":" $2 ": " $3
    }' "$shown" - |
    fail "a folder's own header; what it shows is the one in tests/house.sh"
includes runtime/*.c runtime/*.h runtime/*.cuh |
    own_dir "runtime runtime/emu" | fail "the runtime stands alone"

sed -nE '/^(static|typedef)/d; /;$/d; s/^[a-z].*\<((rt|dcc)_[a-z0-9_]+)\(.*/\1/p' \
    runtime/rt*.c runtime/base.c runtime/safetensors*.c | sort -u |
    while read -r name; do
        grep -q "^DCC_ONCE($name);" runtime/dcc_standalone.h || echo "$name"
    done |
    fail "two --standalone files in one program would both define"
grep -nE 'cuda(Memcpy|Memset)\(' runtime/*.c |
    fail "cudaMemcpy and cudaMemset are not ordered against a program's stream"

# what families do is code in trees (emit/tree_quote.h): no file of theirs
# prints any
quoted=$(find compiler/family -name '*.[ch]')
# shellcheck disable=SC2086
grep -nE '\bBuf\b|buf_[a-z]+\(|printf\([^"]*"[^"]*[;{][^"]*"' $quoted |
    grep -vE '"(\{%s, DCC_NO_INDEX\}|%s = \{\})"' |
    fail "families quote their code: QUOTE, not printf"

# what the model knows of a GPU is in devices/*.dev, with its source: no number
# but 0, 1 and 2 in what counts and what it costs
figures="compiler/model/model.c compiler/model/model.h compiler/model/cost.h
    $(find compiler/family -name '*_cost.c')"
for f in $figures; do
    sed -e 's,/\*.*\*/,,' -e 's,/\*.*,,' -e 's,^ *\*.*,,' -e 's,^ \*.*,,' \
        -e 's,"[^"]*",,g' -e 's/\b[012]\.0\b//g' "$f" |
        grep -nE '(^|[^A-Za-z0-9_.])([3-9]|[0-9]{2,}|[0-9]+\.[0-9]+|\.[0-9]|[0-9]+e[0-9])' |
        sed "s,^,$f:,"
done | fail "no figure of a GPU is in the model's code: devices/*.dev"

# nor a number that has a name: what is the same on all GPUs is in device.h, and
# what a kernel has is what its text is made with, too
# shellcheck disable=SC2086
grep -hoE '\b[A-Z][A-Z0-9_]+\b' $figures | sort -u | while read -r name; do
    number="([3-9]|[0-9]{2,}|[0-9]*\.[0-9])"
    at=$(grep -rnE --include='*.[ch]' --exclude=device.h \
        "\b$name = $number|# *define +$name +\(?$number" compiler dsl) || continue
    # shellcheck disable=SC2046
    grep -qw "$name" $(find compiler -name '*.c' ! -name '*_cost.c' \
        ! -path '*/model/*') || echo "$at"
done | fail "no figure of a GPU has a name in a header: devices/*.dev"

for f in compiler/model/devices/*.dev; do
    awk -v f="$f" '/# fitted/ { ++n } END { if (n > 40) print f ": " n }' "$f"
done | fail "at most 40 figures of a GPU are fitted"

# and nothing else of a family says what a variant costs
find compiler/family -name '*.c' ! -name '*_cost.c' -exec \
    grep -nE '\b(Cost \*|Work )[a-z]+|\bmodel_cost\(' /dev/null {} + |
    fail "what a variant costs is in a file *_cost.c"

# a file that is not named there is missing from the dist tarball
find compiler dsl runtime templates examples -name '*.[chly]' \
    -o -name '*.cuh' -o -name '*.cpp' -o -name '*.dev' -o -name '*.cu.in' \
    -o -name '*.dcl' | grep -v -e '/\.deps/' -e '_cu\.c$' |
    while read -r f; do
        grep -qF "$f" Makefile.am || echo "$f"
    done | fail "every source is in a list of Makefile.am"

for f in $sources; do
    awk -v f="$f" 'END { if (NR > 800) print f ": " NR " lines" }' "$f"
done | fail "a file has 800 lines at most"
# comments say why; a day's figures are in tests/bench/results
# shellcheck disable=SC2086
awk 'FNR == 1 { on = 0 }
     /\/\*/ { on = 1 }
     (on || /\/\//) && !/["#]/ && /[0-9] (us|ns)([^A-Za-z_]|$)/ {
         print FILENAME ":" FNR ": " $0 }
     /\*\// { on = 0 }' $(printf '%s\n' $sources | grep -v '^tests/') |
    fail "what was measured is in tests/bench/results/notes.md, not in comments"
# shellcheck disable=SC2086
awk 'FNR == 1 { start = 0 }
     /^\{/ { start = FNR }
     /^\}/ { if (start && FNR - start > 100)
                 print FILENAME ":" start ": " FNR - start " lines"
             start = 0 }' $sources | fail "a function has 100 lines at most"
# shellcheck disable=SC2086
awk 'length > 80 && !/"/ {
         print FILENAME ":" FNR ": " length " columns" }' $sources |
    fail "a line has 80 columns at most, unless it is a message"
marks='TO''DO|FIX''ME|XX''X'
# shellcheck disable=SC2086
grep -nE "(^|[^A-Za-z])($marks)([^A-Za-z]|$)" $sources |
    fail "no marks of the unfinished"
awk -f tools/wgmma.awk </dev/null 2>&1 |
    cmp - runtime/dcc_wgmma_shapes.cuh 2>&1 |
    fail "dcc_wgmma_shapes.cuh is what tools/wgmma.awk writes"
cat "$report"
[ ! -s "$report" ]
