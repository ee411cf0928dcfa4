#!/bin/sh
# find_package(dcc) and dcc_add_model of an installed dcc that was moved: what
# is written when, what its dependencies are, which code nvcc makes, and what
# is wrong with a call; the Debian package, where there is dpkg.
src=${DCC_SRC:-$(cd "$(dirname "$0")/.." && pwd)}
dcc=${DCC_BIN:-$src/build/dcc}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 130' HUP INT PIPE TERM
unset DCC_RUNTIME_DIR MAKEFLAGS MAKELEVEL MFLAGS
n=0 bad=0
. "$src/tests/point.sh"

cd "$work" || exit 1
make -s -C "$(dirname "$dcc")" install prefix="$work/first" >log 2>&1 &&
    mv first moved && [ -x moved/bin/dcc ]
point $? "make install"
if command -v dpkg-deb >/dev/null && command -v dpkg-query >/dev/null; then
    (cd "$(dirname "$dcc")" &&
        sh "$src/tools/deb.sh" make 1.2.3 "$work") >log 2>&1
    dpkg-deb -x dcc_1.2.3_*.deb deb >>log 2>&1 &&
        dpkg-deb -f dcc_1.2.3_*.deb Depends | grep -q libc6 &&
        deb/usr/bin/dcc "$src/examples/mlp.dcl" -o deb.cu >>log 2>&1 &&
        [ -z "$(find deb/usr/share/man -name '*.[1-9]')" ] &&
        deb/usr/bin/dcc --version | grep -q "runtime  *$work/deb/usr/share/dcc"
    point $? "make deb"
fi
pkg=$(PKG_CONFIG_PATH=moved/share/pkgconfig pkg-config --variable=sources dcc)
[ -n "$pkg" ] && ls $pkg >log 2>&1
point $? "pkg-config names sources that are there"

PATH=$work/moved/bin:$PATH
for tool in cmake nvcc make; do
    command -v "$tool" >/dev/null || {
        n=$((n + 1))
        echo "ok $n - find_package(dcc) # SKIP needs $tool"
        echo "1..$n"
        exit $bad
    }
done
mkdir p
cp "$src/examples/mlp.dcl" p/
cat >p/CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.18)
project(p LANGUAGES C CXX CUDA)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_C_STANDARD 90)
set(CMAKE_C_EXTENSIONS OFF)
find_package(dcc 0.1 REQUIRED)
add_subdirectory(sub)
dcc_add_model(small mlp.dcl D B=32 E=f32 PLAN small.plan)
dcc_add_model(old mlp.dcl sub/more.dcl TARGET a100 MODEL more OPTIONS --math=tf32)
dcc_add_model(both mlp.dcl PTX)
END
mkdir p/sub
echo 'find_package(dcc REQUIRED)
dcc_add_model(inner more.dcl)' >p/sub/CMakeLists.txt
echo 'model more { input x : f32[8]; output y = x * 2; }' >p/sub/more.dcl
dcc p/mlp.dcl -D B=32 -D E=f32 -o s.cu --write-plan=p/small.plan >log 2>&1 &&
    cmake -S p -B b >>log 2>&1
point $? "a project"

cmake --build b --target dcc_runtime >log 2>&1
point $? "the runtime, beside a project of strict C90"

# runs TARGETS: dcc ran for these targets, and no more
runs()
{
    sleep 1
    cmake --build b --target small_dcc old_dcc both_dcc inner_dcc >log 2>&1 &&
        [ "$(sed -n 's/.*dcc: \(.*\)\.cu$/\1/p' log | sort | tr '\n' ' ')" = \
            "$1" ]
}
runs "both inner old small "
point $? "all models are compiled"
grep -q '__global__' b/small.dcc/small.cu &&
    grep -q 'f32\[32, 512\]' b/small.dcc/small.h &&
    grep -q 'DCC_MODEL_more' b/old.dcc/old.h &&
    ! grep -q 'DCC_MODEL_mlp' b/old.dcc/old.h &&
    grep -q 'sm_80' b/old.dcc/old.cu
point $? "with D, MODEL, TARGET, PLAN and OPTIONS"
runs ""
point $? "and not again"
cp -p b/both.dcc/both.cu before
touch p/mlp.dcl
runs "both old small " && ! [ b/both.dcc/both.cu -nt before ]
point $? "a file that was touched: dcc runs, what it wrote stays as old as it is"
touch p/small.plan
runs "small "
point $? "a plan is a dependency"
sed -i 's/x \* 2/x * 3/' p/sub/more.dcl
cp -p b/sub/inner.dcc/inner.cu before
runs "inner old " && [ b/sub/inner.dcc/inner.cu -nt before ]
point $? "a change is written"

code() # TARGET: what nvcc is told to make
{
    grep -o "\"command.*$1.cu\"*" b/compile_commands.json | grep -v "^$" |
        head -n 1 >command
    grep -o 'arch=[a-z0-9_]*,code=[^" ]*' command | tr -d '[]\\' | tr '\n' ' '
}
code small >log
grep -q 'arch=compute_90a,code=sm_90a $' log
point $? "machine code alone: $(cat log)"
code both >log
grep -q 'compute_90a,sm_90a\|sm_90a,compute_90a\|code=compute_90a' log
point $? "PTX beside it: $(cat log)"
code old >log
grep -q 'arch=compute_80,code=sm_80 $' log
point $? "of another GPU: $(cat log)"

# ---- calls that are wrong
refused() # CALL TEXT
{
    mkdir -p q
    cp p/mlp.dcl q/
    printf 'cmake_minimum_required(VERSION 3.18)\n%s\n' "$1" \
        >q/CMakeLists.txt
    ! cmake -S q -B "${3:-c}" >log 2>&1 && tr -s '\n ' '  ' <log | grep -qF -- "$2"
    point $? "an error: $2"
}
head='project(q LANGUAGES C CXX CUDA)
find_package(dcc REQUIRED)
'
refused "project(q LANGUAGES C CXX)
find_package(dcc REQUIRED)" "needs project(... LANGUAGES C CXX CUDA)" d
refused "${head}dcc_add_model(m)" "dcc_add_model(m): a .dcl file is missing"
refused "${head}dcc_add_model(m nosuch.dcl)" "there is no file 'nosuch.dcl'"
refused "${head}dcc_add_model(m mlp.dcl B=32)" "there is no file 'B=32'"
refused "${head}dcc_add_model(m mlp.dcl PLAN)" "PLAN: a value must follow"
refused "${head}dcc_add_model(m mlp.dcl PLAN no.plan)" "no plan 'no.plan'"
refused "${head}dcc_add_model(m mlp.dcl TARGET h20)" "unknown GPU 'h20'"
refused "project(q LANGUAGES C CXX CUDA)
find_package(dcc 7 REQUIRED)" 'version "7"'
echo "1..$n"
exit $bad
