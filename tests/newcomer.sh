#!/bin/sh
# The README as a newcomer reads it: every block of commands, in order and as
# it is written, in a clone (or a copy, where there is no git) up to
# `autoreconf --install`, and from there on in the tree of `make dist`, which
# has all that the clone has, with no autotools, flex or bison. What needs a
# GPU, nvcc or torch is skipped with a word where there is none, and so is
# `make check`, which this is a part of. At its end it says what took longest.
src=${DCC_SRC:-$(cd "$(dirname "$0")/.." && pwd)}
dcc=${DCC_BIN:-$src/build/dcc}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 130' HUP INT PIPE TERM
n=0 bad=0
mkdir "$work/bin" "$work/home"
ln -s "$dcc" "$work/bin/dcc"
if [ -e "$src/.git" ] && command -v git >/dev/null; then
    git clone -q "$src" "$work/tree" 2>"$work/log" &&
        git -C "$src" ls-files | grep -v '^\.git' >"$work/tracked" &&
        git -C "$src" diff HEAD >"$work/patch" &&
        { [ ! -s "$work/patch" ] ||
            git -C "$work/tree" apply "$work/patch"; } || exit 1
else
    cp -R "$src" "$work/tree"
    rm -rf "$work/tree/build"
    : >"$work/tracked"
fi
# a tarball needs none of these
mkdir "$work/none"
for tool in aclocal autoconf autoheader automake autoreconf bison flex; do
    printf '#!/bin/sh\necho "%s is not here" >&2\nexit 1\n' $tool \
        >"$work/none/$tool"
    chmod +x "$work/none/$tool"
done
# all is built twice, to be tried: what is shipped, the other tests run
echo 'CFLAGS=${CFLAGS--O0}' >"$work/site"
cd "$work/tree" || exit 1

have_gpu()
{
    command -v nvidia-smi >/dev/null && nvidia-smi -L >/dev/null 2>&1
}

# a word if a command cannot be run here
skip()
{
    case $1 in
    *'make check'*) echo "is what this is part of" ;;
    *gpu/run.py* | *bench.py* | *bench-gpu*)
        have_gpu && python3 -c 'import torch' 2>/dev/null ||
            echo "needs a GPU and torch" ;;
    *.onnx*)
        ! "$dcc" import /dev/null 2>&1 | grep -q "without protobuf-c" ||
            echo "needs a dcc built with protobuf-c" ;;
    *'dcc tune'*) have_gpu || echo "needs a GPU" ;;
    *--plan=r.plan*) have_gpu || echo "needs what dcc tune wrote" ;;
    *cmake*)
        command -v cmake >/dev/null && command -v nvcc >/dev/null ||
            echo "needs cmake and nvcc" ;;
    'make deb'*) command -v dpkg-deb >/dev/null || echo "needs dpkg-deb" ;;
    *nvcc* | 'dcc build'*)
        command -v nvcc >/dev/null || echo "needs nvcc" ;;
    esac
}

# The commands of README.md, one a line, with `block` between the blocks:
# lines that are indented by four and no code of a fence.
awk '/^```/ { fence = !fence; next }
     fence { next }
     /^    / {
         if (!open)
             print "block"
         open = 1
         sub(/^    /, "")
         if (sub(/\\$/, "")) {
             printf "%s", $0
             next
         }
         print
         next
     }
     { open = 0 }' README.md >"$work/commands"
[ "$(grep -c '^block' "$work/commands")" -ge 8 ] || {
    echo "Bail out! README.md has lost its commands"
    exit 1
}

# one shell for all, so that what is exported stays; HOME is empty
cat >"$work/run" <<'END'
step()
{
    begun=$(date +%s)
    eval "$1" && status=0 || status=$?
    echo "$(($(date +%s) - begun)) $1" >>"$WORK/times"
    return $status
}
dist()
{
    make -s -C build distdir && cd build/dcc-[0-9]* || return 1
    lost=$(while read -r file; do
        [ -e "$file" ] || echo "$file"
    done <"$WORK/tracked")
    export PATH="$WORK/none:$PATH"
    [ -z "$lost" ] || {
        echo "make dist has lost:" $lost
        return 1
    }
}
END
put() # COMMAND
{
    n=$((n + 1))
    quoted=$(printf '%s' "$1" | sed "s/'/'\\\\''/g")
    cat >>"$work/run" <<END
if step '$quoted' >"\$WORK/log.$n" 2>&1 </dev/null; then
    echo '$quoted # ok' >"\$WORK/result.$n"
else
    echo '$quoted # failed' >"\$WORK/result.$n"
fi
END
}
# What follows the first block with an installed dcc waits for nothing in that:
# the two go side by side.
installed=no
while IFS= read -r line; do
    if [ "$line" = block ]; then
        case $installed in
        export)
            echo "{" >>"$work/run"
            installed=side ;;
        side)
            echo "} &" >>"$work/run"
            installed=yes ;;
        esac
        continue
    fi
    why=$(skip "$line")
    if [ -n "$why" ]; then
        n=$((n + 1))
        echo "skip $line # $why" >"$work/result.$n"
    else
        put "$line"
    fi
    case $line in
    autoreconf*) put "dist # the rest in the tree of make dist" ;;
    'export PKG_CONFIG_PATH'*) installed=export ;;
    esac
done <"$work/commands"
echo wait >>"$work/run"
[ $installed = yes ] || {
    echo "Bail out! README.md has lost its blocks behind the installation"
    exit 1
}
WORK=$work HOME=$work/home PATH=$work/bin:$PATH CONFIG_SITE=$work/site \
    CCACHE_DIR=${CCACHE_DIR:-${HOME:-/tmp}/.ccache} \
    MAKEFLAGS="-j$(nproc 2>/dev/null || echo 2)" \
    DCC_EMU_CACHE=${DCC_EMU_CACHE:-$work/cache} \
    env -u DCC_RUNTIME_DIR -u MAKELEVEL -u DCC_BIN -u DCC_SRC \
    -u DCC_EMU_FLAGS -u DCC_REF_FLAGS \
    sh "$work/run"
for i in $(seq $n); do
    line=$(cat "$work/result.$i" 2>/dev/null) ||
        line="command $i # failed"
    command=${line% #*} verdict=${line##*# }
    case $verdict in
    ok) echo "ok $i - $(echo "$command" | tr '#' ' ')" ;;
    failed)
        bad=1
        echo "not ok $i - $(echo "$command" | tr '#' ' ')"
        sed -n '1,20s/^/# /p' "$work/log.$i" ;;
    *) echo "ok $i - $(echo "${command#skip }" | tr '#' ' ') # SKIP $verdict" ;;
    esac
done

# the manual's models are programs
awk -v to="$work/manual" '/^```/ {
         if (fence)
             close(file)
         fence = !fence
         if (fence)
             file = to "." ++k ".dcl"
         next
     }
     fence { print >file }' dsl/LANGUAGE.md
# and so is each of its lines, with what it reads declared: how the line
# begins, and the declarations; one with none belongs to the next
cat >"$work/declared" <<'END'
h[i, j] =|input x : f32[B, D]; input g : f32[D];
y[n, i in|input x : f32[B, N];
s[] =|input x : f32[B, D];
y = relu|input h : f32[B]; input x : f32[B];
y = x * 2|input x : f32[B]; input z : f32[B];
t[b in|
t[b, s in|input cls : f32[D]; input x : f32[B, N, D];
z[b, i * 4|input x : f32[B, N, D];
for l in|input h : f32[B];
h : i32|
h[x[i]]|input x : i32[B] in 0..10;
t : f32|
t[ids[i]|input ids : i32[B]; input g : f32[B, D];
y[i] = sum|input a : f32[B, K]; input b : f32[K]; input c : f32[B];
z[i] = (sum|input x : f32[B, K];
m[i] =|input x : f32[B, K];
c[b, d in|input x : f32[B, D];
m[b, d] =|input x : f32[B, S, D]; input n : i32[B];
y[p in|input x : f32[N]; input w : f32[3];
m[p in|input x : f32[N];
z[i] = x[i] -|input x : f32[N];
END
awk -v to="$work/manual.line" -F'|' '
NR == FNR { begins[++n] = $1; reads[n] = $2; next }
/^[a-z]+ *(:|=|\[)|^for l/ && /;/ {
    for (k = 1; k <= n && index($0, begins[k]) != 1; k++)
        ;
    line = $0
    sub(/ *\/\/.*/, "", line)
    before = before " " line
    if (k <= n && reads[k] == "")
        next
    name = k > n ? "none" : line ~ /^for/ ? "y" : substr($0, 1, 1)
    m++
    file = to m ".dcl"
    print "model line_" m " { dim B = 3; dim D = 4; dim K = 8; dim N = 6;" \
        " dim S = 5; dim V = 9; " reads[k] before " output " name "; }" >file
    close(file)
    before = ""
}' "$work/declared" $(grep -L '^model \|^op \|^block \|^dcc \|^file ' \
    "$work"/manual.*.dcl)
[ "$(ls "$work" | grep -c '^manual.line')" -ge 18 ] || {
    echo "Bail out! dsl/LANGUAGE.md has lost its lines"
    exit 1
}
for file in "$work"/manual.*.dcl; do
    grep -q '^model ' "$file" || continue
    n=$((n + 1))
    if "$dcc" "$file" -o "$work/manual.cu" >"$work/log" 2>&1; then
        echo "ok $n - the manual's $(sed -n 's/^\(model [a-z_0-9]*\).*/\1/p' \
            "$file" | head -n 1)"
    else
        bad=1
        echo "not ok $n - the manual's $(basename "$file")"
        sed -n '1,10s/^/# /p' "$work/log"
    fi
done
sort -rn "$work/times" | sed -n '1,6s/^/# seconds: /p'
echo "1..$n"
exit $bad
