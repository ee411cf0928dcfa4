#!/bin/sh
# Gradients against directional derivatives of the forward pass, in double
# (dcc verify --gradients): of programs of tests/numeric, and of examples at
# small sizes.
#
#   tests/gradients.sh [FILE.dcl...]     a test point for each
#   tests/gradients.sh --examples        every example: three minutes
#
# DCC_BIN  the compiler; DCC_SRC the source tree
src=${DCC_SRC:-$(cd "$(dirname "$0")/.." && pwd)}
dcc=${DCC_BIN:-$src/build/dcc}
export DCC_RUNTIME_DIR="$src/runtime"
log=$(mktemp) || exit 1
trap 'rm -f "$log"' EXIT
trap 'exit 130' INT TERM
n=0

# check NAME OPTION...
check()
{
    n=$((n + 1))
    name=$1
    shift
    if "$dcc" verify --gradients "$@" >"$log" 2>&1; then
        echo "ok - $name"
    else
        echo "not ok - $name"
        sed -n '1,15s/^/# /p' "$log"
    fi
}

# examples: each as small as it can be
examples()
{
    while read -r name sizes; do
        # shellcheck disable=SC2086
        check "$name" "$src/examples/$name.dcl" $sizes </dev/null
    done <<END
bert_base -D D=128 -D L=2 -D S=16 -D V=100
chargpt_train -D B=2 -D S=16
convnext_tiny -D S=32 -D D=8
densenet121 -D S=32 -D K=4
digits -D B=4
digits_train -D B=4
dlrm -D B=4 -D V=50
efficientnet_b0 -D S=32
gpt2 -D S=16 -D D=128 -D L=2 -D V=100
gpt2_decode -D S=16 -D D=128 -D L=2 -D V=100
mlp -D B=2
mlp_dlrm -D B=4
mobilenetv2 -D S=32
pix2pix -D W=4
resnet18 -D S=32 -D W=8
resnet50 -D S=32 -D W=8
smollm2 -D S=8 -D L=2 -D V=50 -D F=64
smollm2_decode -D S=16 -D L=2 -D V=50 -D F=64
vgg16 -D S=32 -D W=8 -D H=64
vit_b16 -D S=32 -D D=128 -D L=2
whisper_base -D T=32 -D D=128 -D L=2
END
}

if [ "$1" = --examples ]; then
    examples
elif [ $# -gt 0 ]; then
    for f; do
        check "${f##*/}" "$f"
    done
else
    for f in gather index map math optimizer params parts phase random ranges scatter \
        tables training; do
        check "$f" "$src/tests/numeric/$f.dcl"
    done
    check mlp "$src/examples/mlp.dcl" -D B=2
    check "gradients of 0" "$src/tests/gradients/cancel.dcl"
fi

# What is wrong by a millionth is wrong where the gradient is 0, too: the C
# compiler is given an oracle whose gradients of weights are off by that.
if [ $# -eq 0 ]; then
    n=$((n + 1))
    tmp=$(mktemp -d) || exit 1
    cat >"$tmp/cc" <<'END'
#!/bin/sh
for f; do
    case $f in
    */oracle.c)
        awk '/^static dcc_pair point_g/ { off = 1 }
             off && /^    return / {
                 sub(/return /, "return dcc_p_add(dcc_exact(v[0] == 1 ? 1e-6 : 0), ")
                 open = 1
             }
             open && /;$/ { sub(/;$/, ");"); open = off = 0 }
             { print }' "$f" >"$f.off" && mv "$f.off" "$f" ;;
    esac
done
exec cc "$@"
END
    chmod +x "$tmp/cc"
    CC=$tmp/cc "$dcc" verify --gradients "$src/tests/gradients/cancel.dcl" \
        >"$log" 2>&1
    if grep -q "gradients of 4 of 4 models WRONG" "$log"; then
        echo "ok - wrong gradients of 0"
    else
        echo "not ok - wrong gradients of 0"
        sed -n '1,15s/^/# /p' "$log"
    fi
    rm -rf "$tmp"
fi

# What numbers with bounds have, those with derivatives have, too.
if [ $# -eq 0 ]; then
    n=$((n + 1))
    grep -o "dcc_p_[a-z0-9]*(" "$src/runtime/dcc_ref.h" | sort -u |
        while read -r name; do
            grep -qF " $name" "$src/runtime/dcc_ref_dual.h" || echo "no $name"
        done >"$log"
    if [ ! -s "$log" ]; then
        echo "ok - the functions of dual numbers"
    else
        echo "not ok - the functions of dual numbers"
        sed 's/^/# /' "$log"
    fi
fi

# Random statements; the whole is tests/random_gradients.py --count 10000.
if [ $# -eq 0 ]; then
    n=$((n + 1))
    if DCC_BIN=$dcc python3 "$src/tests/random_gradients.py" --count 40 \
        --batch 20 --jobs 2 >"$log" 2>&1; then
        echo "ok - random statements"
    else
        echo "not ok - random statements"
        sed -n '1,40s/^/# /p' "$log"
    fi
fi

# Known values at corners and far out.
if [ $# -eq 0 ]; then
    n=$((n + 1))
    out=$(mktemp) || exit 1
    if "$dcc" run "$src/tests/gradients/corners.dcl" --cpu --random \
        --out "$out" >"$log" 2>&1 &&
        tail -c 8 "$out" | od -An -tf4 | tee -a "$log" |
        grep -q '^ *0  *0$'; then
        echo "ok - corners"
    else
        echo "not ok - corners"
        sed -n '1,15s/^/# /p' "$log"
    fi
    rm -f "$out"
fi

if [ $# -eq 0 ]; then
    n=$((n + 1))
    if DCC_BIN=$dcc python3 "$src/tests/gradients/far.py" >"$log" 2>&1; then
        echo "ok - slopes far out"
    else
        echo "not ok - slopes far out"
        sed -n '1,40s/^/# /p' "$log"
    fi
fi

# What initialisers draw is the same in the emitted program and the oracle.
if [ $# -eq 0 ]; then
    n=$((n + 1))
    tmp=$(mktemp -d) || exit 1
    if "$dcc" run "$src/tests/numeric/start.dcl" --cpu --random --seed 5 \
        --out "$tmp/o" >"$log" 2>&1 &&
        "$dcc" "$src/tests/numeric/start.dcl" --emit=ref -o "$tmp/r.c" \
            >>"$log" 2>&1 &&
        cc -O1 -I "$src/runtime" "$tmp/r.c" "$src"/runtime/ref*.c \
            "$src"/runtime/base.c "$src"/runtime/safetensors*.c -lm \
            -o "$tmp/r" >>"$log" 2>&1 &&
        "$tmp/r" --seed 5 --against "$tmp/o" --tolerance 0 >>"$log" 2>&1 &&
        ! "$tmp/r" --seed 6 --against "$tmp/o" --tolerance 0 >/dev/null 2>&1
    then
        echo "ok - initialisers"
    else
        echo "not ok - initialisers"
        sed -n '1,15s/^/# /p' "$log"
    fi
    rm -rf "$tmp"
fi

# A loss of 2e-9 out of rows of 40: 0 is what rounding may leave, 1e-5 is not.
if [ $# -eq 0 ]; then
    n=$((n + 1))
    tmp=$(mktemp -d) || exit 1
    grep -A3 "ca_matched" "$src/tests/numeric/cancel.dcl" >"$tmp/m.dcl"
    for loss in 0 1e-5; do
        python3 -c '
import struct, sys
head = b"{\"loss\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[0,4]}}  "
sys.stdout.buffer.write(struct.pack("<Q", len(head)) + head +
                        struct.pack("<f", float(sys.argv[1])))' \
            $loss >"$tmp/$loss"
    done
    if "$dcc" "$tmp/m.dcl" --emit=ref -o "$tmp/r.c" >"$log" 2>&1 &&
        cc -O1 -I "$src/runtime" "$tmp/r.c" "$src"/runtime/ref*.c \
            "$src"/runtime/base.c "$src"/runtime/safetensors*.c -lm \
            -o "$tmp/r" >>"$log" 2>&1 &&
        "$tmp/r" --random 1 --against "$tmp/0" >>"$log" 2>&1 &&
        ! "$tmp/r" --random 1 --against "$tmp/1e-5" >>"$log" 2>&1
    then
        echo "ok - a loss that cancels"
    else
        echo "not ok - a loss that cancels"
        sed -n '1,15s/^/# /p' "$log"
    fi
    rm -rf "$tmp"
fi
echo "1..$n"
