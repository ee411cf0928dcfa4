#!/usr/bin/env python3
"""The example networks as torchvision and transformers export them, imported,
beside those that are written by hand:

    tests/onnx_exports.py [--keep FOLDER] [--no-run] [NAME...]

Needs torch, torchvision, transformers and onnxscript. Each network gets random
weights, is exported by torch.onnx.export (torch.export) with a batch that is a
symbol and imported; both .dcl are compiled at batches of 1 and 8, in f32 and
f16, and their kernels counted; before that stand how long importing took and
its memory. Unless --no-run, the oracle runs the imported one in f32 on the
input that torch ran. --keep leaves NAME.imported.dcl and NAME.hand.dcl, which
tests/gpu/imported.py --pairs times. Exit status 1 if a network has more kernels imported than by
hand or another result.
"""
import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile

import numpy as np
import torch

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from onnx_heldout import seeded
from onnx_networks import (DCC, SRC, command, measured, read_st,
                           write_st)

# ours, where it comes from, our sizes beside the batch
NETWORKS = {
    "resnet18": ("resnet18", "torchvision", []),
    "resnet50": ("resnet50", "torchvision", []),
    "mobilenet_v2": ("mobilenetv2", "torchvision", []),
    "vgg16": ("vgg16", "torchvision", []),
    "vit_b_16": ("vit_b16", "torchvision", []),
    "convnext_tiny": ("convnext_tiny", "torchvision", []),
    "densenet121": ("densenet121", "torchvision", []),
    "efficientnet_b0": ("efficientnet_b0", "torchvision", []),
    "bert": ("bert_base", "transformers", []),
    "gpt2": ("gpt2", "transformers", ["S=128"]),
    "smollm2": ("smollm2", "transformers", ["S=128"]),
    "whisper": ("whisper_base", "transformers", ["T=400"]),
}
BATCH = 8


def build(name):
    if NETWORKS[name][1] == "torchvision":
        import torchvision
        return (getattr(torchvision.models, name)(weights=None),
                torch.randn(BATCH, 3, 224, 224))
    import transformers as t
    if name == "bert":
        return (t.BertModel(t.BertConfig(), add_pooling_layer=False),
                torch.randint(0, 30000, (BATCH, 128)))
    if name == "smollm2":
        return (t.LlamaForCausalLM(t.LlamaConfig(
            vocab_size=49152, hidden_size=576, intermediate_size=1536,
            num_hidden_layers=30, num_attention_heads=9,
            num_key_value_heads=3, rms_norm_eps=1e-5, use_cache=False,
            rope_parameters={"rope_type": "default", "rope_theta": 100000.0},
            tie_word_embeddings=True)),
                torch.randint(0, 49000, (BATCH, 128)))
    if name == "whisper":
        return (t.models.whisper.modeling_whisper.WhisperEncoder(
            t.WhisperConfig(max_source_positions=200, encoder_layers=6,
                            encoder_attention_heads=8, encoder_ffn_dim=2048,
                            d_model=512)), torch.randn(BATCH, 80, 400))
    return (t.GPT2LMHeadModel(t.GPT2Config(use_cache=False)),
            torch.randint(0, 50000, (BATCH, 128)))


def export(name, path):
    torch.manual_seed(1)
    model, x = build(name)
    seeded(model)
    with torch.no_grad():
        y = model(x)
    y = y if isinstance(y, torch.Tensor) else list(y.values())[0]
    torch.onnx.export(model, (x,), path, dynamo=True, external_data=False,
                      input_names=["x"], verbose=False,
                      dynamic_shapes=({0: "batch"},))
    return x.numpy(), y.numpy()


def kernels(dcl, defines):
    args = [DCC, dcl, "--explain", "-o", dcl + ".cu"]
    for d in defines:
        args += ["-D", d]
    p = subprocess.run(args, capture_output=True, text=True)
    if p.returncode:
        raise RuntimeError(p.stderr[-500:])
    return int(re.search(r"launch graph: (\d+) nodes",
                         p.stdout + p.stderr).group(1))


def oracle(base, x):
    write_st(base + ".in", {"x": x})
    command([DCC, "--emit=ref", "-D", "B=%d" % BATCH, base + ".imported.dcl",
             "-o", base + ".c"])
    r = SRC + "/runtime"
    command(["sh", "-c", "cc -std=gnu11 -w -O2 -fopenmp -I %s -o %s.ref %s.c "
             "%s/ref*.c %s/base.c %s/safetensors*.c -lm" %
             (r, base, base, r, r, r)])
    command([base + ".ref", "--weights", base + ".imported.safetensors",
             "--in", base + ".in", "--out", base + ".out"])
    return list(read_st(base + ".out").values())


def one(name, work, run):
    base = os.path.join(work, name)
    x, y = export(name, base + ".onnx")
    took = measured([DCC, "import", base + ".onnx", "-o",
                     base + ".imported.dcl"])
    hand = os.path.join(SRC, "examples", NETWORKS[name][0] + ".dcl")
    shutil.copy(hand, base + ".hand.dcl")
    line, good = "%-15s import %.2f s, %.0f MB;" % ((name,) + took), True
    for t in ("f32", "f16"):
        for batch in (1, BATCH):
            both = ["E=" + t, "B=%d" % batch]
            ours = kernels(base + ".imported.dcl", both)
            theirs = kernels(base + ".hand.dcl", both + NETWORKS[name][2])
            good = good and ours <= theirs
            line += " %s b%d: %d kernels imported, %d by hand;" % (
                t, batch, ours, theirs)
    if run:
        same = [g for g in oracle(base, x) if g.size == y.size]
        e = min(np.linalg.norm(g.reshape(y.shape).astype(np.float64) - y) /
                np.linalg.norm(y.astype(np.float64)) for g in same)
        good = good and e <= 1e-4
        line += " error %.2g" % e
    print(line + ("" if good else " WRONG"), flush=True)
    os.unlink(base + ".onnx")
    return good


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--keep")
    p.add_argument("--no-run", action="store_true")
    p.add_argument("names", nargs="*")
    o = p.parse_args()
    work = o.keep or tempfile.mkdtemp()
    os.makedirs(work, exist_ok=True)
    good = True
    for name in o.names or NETWORKS:
        good = one(name, work, not o.no_run) and good
    if not o.keep:
        shutil.rmtree(work)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
