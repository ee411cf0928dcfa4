#!/bin/sh
# Every model of examples/, made small, at f16 and mostly f32: what is emitted runs on
# the CPU and agrees with the oracle, tensor by tensor.
#
#   tests/examples.sh [NAME...]     a test point for each model and type
src=${DCC_SRC:-$(cd "$(dirname "$0")/.." && pwd)}
dcc=${DCC_BIN:-$src/build/dcc}
DCC_RUNTIME_DIR=${DCC_RUNTIME_DIR:-$src/runtime} OMP_NUM_THREADS=1
export DCC_RUNTIME_DIR OMP_NUM_THREADS
log=$(mktemp) || exit 1
trap 'rm -f "$log"' EXIT

# sizes NAME: small, and awkward where the model allows it
sizes()
{
    case $1 in
    mlp) echo B=3 ;;
    digits) echo B=2 ;;
    mlp_dlrm) echo B=3 D=72 H=96 ;;
    resnet*) echo S=32 W=8 ;;
    vgg16) echo S=32 W=8 H=48 ;;
    mobilenetv2) echo S=32 ;;
    bert_base | gpt2) echo B=2 S=9 L=1 D=128 V=101 ;;
    gpt2_decode) echo B=2 S=9 L=2 D=128 V=101 ;;
    vit_b16) echo S=32 L=1 D=128 ;;
    densenet121) echo B=2 S=32 K=4 ;;
    efficientnet_b0) echo S=32 ;;
    convnext_tiny) echo S=32 D=8 ;;
    pix2pix) echo W=2 ;;
    whisper_base) echo T=50 D=128 L=2 ;;
    smollm2) echo B=2 S=9 D=192 L=1 F=96 V=101 ;;
    smollm2_decode) echo B=2 S=9 D=384 L=2 F=96 V=101 ;;
    dlrm) echo B=3 V=100 ;;
    digits_train) echo B=3 ;;
    chargpt_train) echo B=2 S=9 ;;
    *) echo unknown ;;
    esac
}

points=0
verify()
{
    defines="-D E=$2"
    for d in $(sizes "$1"); do
        defines="$defines -D $d"
    done
    points=$((points + 1))
    # shellcheck disable=SC2086
    if "$dcc" verify "$src/examples/$1.dcl" $defines --cpu >"$log" 2>&1; then
        echo "ok - $1 $2"
    else
        sed 's/^/# /' "$log" | head -20
        echo "not ok - $1 $2"
    fi
}

if [ $# = 0 ]; then
    for file in "$src"/examples/*.dcl; do
        set -- "$@" "$(basename "$file" .dcl)"
    done
fi
for name in "$@"; do
    verify "$name" f16
    case $name in # of many kernels: one type is enough
    densenet121 | efficientnet_b0 | convnext_tiny | pix2pix) ;;
    *) verify "$name" f32 ;;
    esac
done
echo "1..$points"
