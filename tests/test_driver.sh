#!/bin/sh
# dcc run and dcc verify as a user calls them: exit statuses, messages, and
# nothing left behind.
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

# check NAME STATUS PATTERN COMMAND...: exit status, and a line of the output
check()
{
    name=$1 want=$2 pattern=$3
    shift 3
    n=$((n + 1)) got=0
    "$@" >log 2>&1 || got=$?
    left=$(ls "$TMPDIR")
    if [ "$got" = "$want" ] && grep -q -e "$pattern" log && [ -z "$left" ]; then
        echo "ok $n - $name"
    else
        bad=1
        echo "not ok $n - $name"
        echo "# exit status $got, not $want; wanted: $pattern; left: $left"
        sed -n '1,15s/^/# /p' log
    fi
}

cat >good.dcl <<'END'
model good {
  input x : f32[6, 10];
  param w : f32[4, 10];
  state n : f32[6, 4];
  h = linear(x, w);
  n = n + h;
  output y = n * 2;
}
END
echo 'model bad { input x : f32[3]; output y[i] = x[i + 1]; }' >bad.dcl

check "verify, on the CPU" 0 "the model is correct" \
    "$dcc" verify --cpu good.dcl
check "verify, another seed" 0 "good, seed 77, on the CPU" \
    "$dcc" verify --cpu --seed=77 good.dcl
check "run with random data" 0 "1 run on CPU" \
    "$dcc" run --cpu --random good.dcl
check "run writes its outputs" 0 "3 runs on CPU" \
    "$dcc" run --cpu --random --runs=3 --out=y.safetensors good.dcl
check "the outputs are there" 0 '"y"' cat y.safetensors
check "run without its inputs" 2 "^dcc run: error: .*--weights FILE" "$dcc" run --cpu good.dcl
check "run with a missing file" 1 "^dcc run: error: none.safetensors" \
    "$dcc" run --cpu --weights none.safetensors --random good.dcl
check "an error of the model" 1 "bad.dcl:1:4" "$dcc" verify --cpu bad.dcl
cat >large.dcl <<'END'
model large {
  input x : f32[150000];
  @nofuse t[i, j] = x[i] * x[j];
  @nofuse u[i, j] = sin(t[i, j]);
  @nofuse v[i, j] = sin(u[i, j]);
  output y[i] = sum(j) t[i, j] * u[j, i] * v[i, j];
}
END
check "too little memory" 3 "too little GPU memory: the model needs" \
    "$dcc" run --cpu --random large.dcl
check "too little memory to verify" 3 "1 of 1 model could not be checked" \
    "$dcc" verify --cpu large.dcl
check "no runtime" 3 "no runtime in '/nowhere'" \
    env DCC_RUNTIME_DIR=/nowhere "$dcc" verify --cpu good.dcl
check "no compiler for the CPU" 3 "g++ is not found" \
    env CXX=/nowhere/g++ "$dcc" run --cpu --random good.dcl
check "a compiler that fails" 3 "failed (exit status" \
    env CXX=false "$dcc" run --cpu --random good.dcl
check "no folder for the emulator" 3 "DCC_EMU_CACHE names" \
    env -u DCC_EMU_CACHE -u XDG_CACHE_HOME HOME=/dev/null \
    "$dcc" run --cpu --random good.dcl
check "no folder to work in" 3 "No such file" \
    env TMPDIR=/nowhere/tmp "$dcc" run --cpu --random good.dcl

# a folder that is removed also when the run is interrupted
printf '#!/bin/sh\nsleep 20\n' >slow
chmod +x slow
CXX="$work/slow" setsid "$dcc" run --cpu --random good.dcl >log 2>&1 &
pid=$!
tries=0
until [ -n "$(ls "$TMPDIR")" ] || [ $tries -ge 100 ]; do
    sleep 0.1
    tries=$((tries + 1))
done
sleep 0.2
kill -TERM $pid
status=0
wait $pid || status=$?
sleep 0.2
n=$((n + 1))
if [ $status = 143 ] && ! ls "$TMPDIR" | grep -q '^dcc\.'; then
    echo "ok $n - an interrupted run leaves nothing"
else
    bad=1
    echo "not ok $n - an interrupted run leaves nothing"
    echo "# exit status $status; left: $(ls "$TMPDIR")"
fi
echo "1..$n"
exit $bad
