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
. "$src/tests/point.sh"

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
cat >turned.dcl <<'END'
model turned {
  input x : f32[16, 2];
  output y[] = sum(i, k in 0..2) abs(x[i, (k + 1) % 2] - 0.5);
}
END
check "an oracle that gcc optimises" 0 "the model is correct" \
    env DCC_REF_FLAGS="-O3 -fopenmp" "$dcc" verify --cpu turned.dcl
echo 'model tiny { input x : f16[4]; output y : f16 = x * 2e-8; }' >tiny.dcl
check "verify, of what f16 has no more digits for" 0 "the model is correct" \
    "$dcc" verify --cpu tiny.dcl
check "verify, another seed" 0 "good, seed 77, on the CPU" \
    "$dcc" verify --cpu --seed=77 good.dcl
check "run with random data" 0 "1 run on CPU" \
    "$dcc" run --cpu --random good.dcl
check "run writes its outputs" 0 "3 runs on CPU" \
    "$dcc" run --cpu --random --runs=3 --out=y.safetensors good.dcl
check "the outputs are there" 0 '"y"' cat y.safetensors
check "run without its inputs" 2 "^dcc run: error: .*--weights FILE" "$dcc" run --cpu good.dcl
check "run keeps what it drew" 0 "1 run on CPU" \
    "$dcc" run --cpu --random --save=all.st --out=y1.st good.dcl
check "and takes it again" 0 "1 run on CPU" \
    "$dcc" run --cpu --weights=all.st --in=all.st --out=y2.st good.dcl
cmp y1.st y2.st
point $? "with the same outputs"
check "what is drawn may go to standard output" 0 '"x".*"w"\|"w".*"x"' \
    "$dcc" run --cpu --random --save=- good.dcl
check "it is no file that is read" 2 "would overwrite 'all.st'" \
    "$dcc" run --cpu --random --weights all.st --save=all.st good.dcl
check "run with a missing file" 1 "^dcc: error: cannot read 'none.safetensors'" \
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
check "no runtime" 3 "no runtime in /nowhere; DCC_RUNTIME_DIR says" \
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

# interrupt PID: dcc, once it has a folder to work in; its exit status
interrupt()
{
    tries=0
    until [ -n "$(ls "$TMPDIR")" ] || [ $tries -ge 100 ]; do
        sleep 0.1
        tries=$((tries + 1))
    done
    sleep 0.2
    kill -TERM "$1"
    status=0
    wait "$1" || status=$?
}

# a folder that is removed also when the run is interrupted
printf '#!/bin/sh\nsleep 20\n' >slow
chmod +x slow
CXX="$work/slow" setsid "$dcc" run --cpu --random good.dcl >log 2>&1 &
interrupt $!
sleep 0.2
n=$((n + 1))
if [ $status = 143 ] && ! ls "$TMPDIR" | grep -q '^dcc\.'; then
    echo "ok $n - an interrupted run leaves nothing"
else
    bad=1
    echo "not ok $n - an interrupted run leaves nothing"
    echo "# exit status $status; left: $(ls "$TMPDIR")"
fi

# nor does one that is still importing: it stands before a pipe that is full
mkfifo pipe
echo x >bad.onnx
sleep 20 <pipe &
reader=$!
exec 9>pipe
dd if=/dev/zero of=pipe bs=4096 count=64 oflag=nonblock 2>log
"$dcc" run --cpu --random bad.onnx 2>pipe &
interrupt $!
kill $reader
exec 9>&-
echo "exit status $status" >log
[ $status = 143 ] && [ $tries -lt 100 ] && [ -z "$(ls "$TMPDIR")" ]
point $? "an interrupted import leaves nothing"

# nobody waits for the caller's own children
if command -v python3 >/dev/null; then
    check "a caller that ignores SIGCHLD" 0 "1 run on CPU" python3 -c \
        'import os, signal, sys
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
os.execv(sys.argv[1], sys.argv[1:])' "$dcc" run --cpu --random good.dcl
fi
for command in run bench verify; do
    options=
    [ $command != run ] || options=--random
    # shellcheck disable=SC2086
    check "$command to a full disk" 3 "cannot write to standard output" \
        sh -c '"$@" >/dev/full' sh "$dcc" $command --cpu $options good.dcl
done
cat >two.dcl <<'END'
model one { input x : f32[5]; output y = exp(x); }
model two { input x : f32[3, 7]; output y = softmax(x); }
END
check "an oracle whose library has something to say" 0 \
    "all models are correct" env OMP_NUM_THREADS=x "$dcc" verify --cpu two.dcl
check "any seed of 64 bits" 0 "1 run on CPU" \
    "$dcc" run --cpu --random --seed 18446744073709551615 good.dcl

# nobody reads what it says: it ends by SIGPIPE, as others do
(
    got=0
    "$dcc" verify --cpu good.dcl 2>log || got=$?
    echo $got >status
) | true
[ "$(cat status)" = 141 ] && [ -z "$(ls "$TMPDIR")" ]
point $? "a run that nobody listens to leaves nothing"

# a text that only dcc can have written wrong: exit status 70, and it is kept
cat >picky <<'END'
#!/bin/sh
for arg; do
    case $arg in
    */1.cc) ! grep -q good_create "$arg" || {
        echo "1.cc:7: error: no such thing"
        exit 1
    } ;;
    esac
done
exec g++ "$@"
END
chmod +x picky
got=0
CXX=$PWD/picky "$dcc" run --cpu --random good.dcl >log 2>&1 || got=$?
kept=$(sed -n 's/^dcc: note: kept for a report: //p' log)
[ $got = 70 ] && grep -q 'a bug in dcc' log && grep -q 'no such thing' log &&
    grep -q good_create "$kept"
point $? "a text that does not compile is a bug of dcc, and kept"
rm -rf "$TMPDIR"/*
sed 's/good_create/zzz/; s/g++ "/cc "/; s/1.cc/oracle.c/; s/zzz/dcc_ref_model/' \
    picky >picky-cc
chmod +x picky-cc
got=0
CC=$PWD/picky-cc "$dcc" verify --cpu good.dcl >log 2>&1 || got=$?
kept=$(sed -n 's/^dcc: note: kept for a report: //p' log)
[ $got = 70 ] && grep -q 'a bug in dcc' log && [ -s "$kept" ]
point $? "and so is an oracle"
rm -rf "$TMPDIR"/*

# words that hold blanks and more
mkdir "t'm p" "b in"
ln -s "$src/runtime" 'r t[1]$#'
printf '#!/bin/sh\nexec g++ "$@"\n' >"b in/c++"
chmod +x "b in/c++"
check "blanks in every path" 0 "the model is correct" \
    env TMPDIR="$PWD/t'm p" DCC_RUNTIME_DIR="$PWD/r t[1]\$#" \
    CXX="$PWD/b in/c++" CC="env X=1 gcc" "$dcc" verify --cpu good.dcl
check "blanks in every path, to tune" 0 "variants measured" \
    env TMPDIR="$PWD/t'm p" DCC_RUNTIME_DIR="$PWD/r t[1]\$#" \
    CXX="$PWD/b in/c++" CC="env X=1 gcc" "$dcc" tune --cpu good.dcl \
    -o t.plan --variants=1
check "a compiler of several words" 0 "1 run on CPU" \
    env TMPDIR=tmp CXX="env X=1 g++" "$dcc" run --cpu --random good.dcl
[ -z "$(ls "t'm p")" ]
point $? "and nothing is left there"

# many runs: the first two steps' tokens are given, then what came out goes in;
# a library of the same, called from Python
cat >many.dcl <<'END'
model many {
  input token : i32[2];
  input pos : i32;
  param w : f32[3];
  state n : f32[2];
  n = n + 1;
  k[i] : i32 = token[i] + pos;
  output next : i32[2] = k;
  output y[i] = n[i] * w[0] + token[i];
}
END
if command -v python3 >/dev/null; then
    cat >files.py <<'END'
import json, struct, sys


def write(path, **tensors):
    head, data = {}, b""
    for name, (kind, shape, values) in tensors.items():
        more = struct.pack("<%d%s" % (len(values), kind), *values)
        head[name] = {"dtype": {"i": "I32", "f": "F32"}[kind], "shape": shape,
                      "data_offsets": [len(data), len(data) + len(more)]}
        data += more
    text = json.dumps(head).encode()
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + data)


def show(path):
    data = open(path, "rb").read()
    n = struct.unpack("<Q", data[:8])[0]
    for name, t in json.loads(data[8:8 + n]).items():
        a, b = t["data_offsets"]
        kind = {"I32": "i", "F32": "f"}[t["dtype"]]
        print(name, t["shape"], *struct.unpack(
            "<%d%s" % ((b - a) // 4, kind), data[8 + n + a:8 + n + b]))


if sys.argv[1:]:
    show(sys.argv[1])
else:
    write("w.st", w=("f", [3], [1, 2, 3]))
    write("steps.st", token=("i", [2, 2], [10, 20, 100, 200]),
          pos=("i", [4], [0, 1, 2, 3]))
END
    python3 files.py
    check "a sequence of inputs, fed with what came out" 0 "4 runs on CPU" \
        "$dcc" run --cpu many.dcl --weights w.st --in steps.st --sequence \
        --feed token=next --out y.st
    check "is a sequence of outputs" 0 \
        "next .4, 2. 10 20 101 201 103 203 106 206" python3 files.py y.st
    check "a library" 0 "many.so" \
        sh -c '"$1" build --cpu many.dcl -o many.so && ls' sh "$dcc"
    cat >use.py <<'END'
import gc, struct, sys
sys.path.insert(0, sys.argv[1])
import dcc

library = dcc.load("many.so")
m = library.model("w.st")
print(library.models, library.on_cpu, m.inputs["token"], m.outputs["y"])
first = m._desc.contents.inputs
token, pos = (dcc.Tensor(library, t, dcc._shape(t), (1, 0))
              for t in first[:2])
library._cuda("copy", dcc._P(token.data), struct.pack("<2i", 5, 7), dcc._Z(8))
library._cuda("copy", dcc._P(pos.data), struct.pack("<i", 1), dcc._Z(4))
for i in range(3):
    out = m(token=token, pos=pos)
    token = out["next"]
    print(*struct.unpack("<2i", token.tobytes()))
m.reset()
print(*struct.unpack("<2f", m(token=token, pos=pos)["y"].tobytes()))
for wrong in {"token": pos, "pos": pos}, {"token": 3, "pos": pos}, {}:
    try:
        m(**wrong)
    except dcc.Error as error:
        print(error)
del token, out
gc.collect()
dcc._take_back()
print(len(dcc._lent), "lent")
END
    cat >set.dcl <<'END'
model set {
  dim B in {2, 8};
  input x : f32[B, 3];
  input c : f32[2 * B];
  output y = x * 2;
  output z = c + 1;
}
END
    cat >sizes.py <<'END'
import struct, sys
sys.path.insert(0, sys.argv[1])
import dcc

m = dcc.load("set.so").model()
d = m._desc.contents


def floats(t, b):
    shape = dcc._shape(t, b, 8)
    x = dcc.Tensor(m._library, t, shape, (1, 0))
    n = x.bytes // 4
    m._library._cuda("copy", dcc._P(x.data), struct.pack("<%df" % n, *range(n)),
                     dcc._Z(x.bytes))
    return x


for b in 1, 2, 5, 8:
    out = m(x=floats(d.inputs[0], b), c=floats(d.inputs[1], b))
    for t, f in (out["y"], lambda i: 2.0 * i), (out["z"], lambda i: i + 1.0):
        n = t.bytes // 4
        assert struct.unpack("<%df" % n, t.tobytes()) == tuple(
            map(f, range(n))), (b, t.shape)
    print(b, out["y"].shape, out["z"].shape)
for wrong in (5, 6), (9, 9), (0, 0):
    try:
        m(x=floats(d.inputs[0], wrong[0]), c=floats(d.inputs[1], wrong[1]))
    except dcc.Error as error:
        print(error)
try:
    m(x=floats(d.inputs[0], 3), c=floats(d.inputs[1], 3), B=2)
except dcc.Error as error:
    print(error)
END
    "$dcc" build --cpu set.dcl -o set.so >log 2>&1
    check "a set of sizes from Python" 0 "^5 (5, 3) (10,)$" \
        python3 sizes.py "$src/runtime"
    grep -q "^c: the shape is \[12\], the model's \[10\]$" log &&
        grep -q "^set: B is 9, not 1 to 8$" log &&
        grep -q "^set: B is 0, not 1 to 8$" log &&
        grep -q "^x: the shape is \[3, 3\], the model's \[2, 3\]$" log
    point $? "whose sizes agree"
    check "from Python" 0 "^0 lent$" python3 use.py "$src/runtime"
    grep -q "^8 10$" log && grep -q "^9.0 11.0$" log &&
        grep -q "shape is \[\], the model's \[2\]" log &&
        grep -q "has no __dlpack__" log && grep -q "is missing" log
    point $? "it computes, and says what is wrong"
fi
check "timings on the CPU are few" 0 "over 10 runs on CPU" \
    "$dcc" bench --cpu good.dcl
check "timings" 0 "p90 .*, p95 .*, p99 .*, max" \
    "$dcc" bench --cpu good.dcl --runs=20 --streams=2 --profile --json=-
grep -q '"p99_us":' log && grep -q "2 streams: .* runs a second" log &&
    grep -q "^step    0 " log
point $? "with streams, steps and JSON"

if command -v script >/dev/null; then
    printf '#!/bin/sh\nsleep 2\nexec g++ "$@"\n' >slow-g++
    chmod +x slow-g++
    check "a terminal sees that it builds" 0 "dcc: building.*, [0-9]* s" \
        script -qec "CXX='$PWD/slow-g++' '$dcc' run --cpu --random good.dcl" \
        /dev/null
fi

# where it finds its runtime
unset DCC_RUNTIME_DIR
# ---- a kernel that leaves a counter is wrong, though this run's results are not

echo 'model distant { input x : f32[2, 100000]; output y[i] = argmax(j) x[i, j]; }' \
    >long.dcl
"$dcc" long.dcl --main --trace -o long.cu &&
    sed -i 's/counters\[.*\] = 0;/;/' long.cu &&
    sh "$src/runtime/emu/dcc-emu-cc" -O1 -o long long.cu
check "a counter that is left" 70 "distant_y_argmax leaves counter 0 at [1-9]" \
    ./long --random 1 --trace trace

src=$(cd "$src" && pwd -P)
mkdir -p "un packed/bin" "un packed/share/dcc" elsewhere
cp "$dcc" "un packed/bin/dcc"
cp "$dcc" elsewhere
ln -s "$src/runtime" "un packed/share/dcc/runtime"
ln -s "$PWD/un packed/bin/dcc" linked
check "the runtime of a build folder" 0 "runtime  *$src/runtime" \
    "$dcc" --version
check "of a tree that was unpacked" 0 "runtime  *$src/runtime" \
    "un packed/bin/dcc" --version
check "through a link" 0 "runtime  *$src/runtime" ./linked --version
check "along PATH" 0 "runtime  *$src/runtime" \
    env PATH="$PWD/un packed/bin:$PATH" dcc --version
check "nowhere" 3 "elsewhere/../share/dcc/runtime, " \
    elsewhere/dcc run --cpu --random good.dcl
check "with it, a model runs" 0 "1 run on CPU" ./linked run --cpu --random \
    good.dcl

echo "1..$n"
exit $bad
