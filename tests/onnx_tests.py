#!/usr/bin/env python3
"""ONNX's backend tests through `dcc import` and the oracle.

    tests/onnx_tests.py [--all] [--pypi | FOLDER...]

A folder holds tests, each a folder with model.onnx and test_data_set_0 (or
1, ..); Debian's libonnx-testdata has them in /usr/share/libonnx-testdata/data.
With --pypi they are those of the installed PyPI package: the operators' tests
that it makes, pytorch-converted, pytorch-operator, simple, and its light
networks, whose weights are one number each. Each model is imported, many of them
are one program, which the oracle runs and compares with the outputs that are
given: a relative error of 1e-3 of the largest value, as ONNX's own runner
allows. Each folder is counted by itself, too.

Without --all a sample that takes seconds, each a test point (TAP); with it a
line for each test that does not pass and a summary: of all, and of those that
dcc means to have, float32 tests (integers and bool beside it) of the operators
of NAMED. --named runs these alone, and fails where one fails without a reason
that WHY has. --list FILE writes the tests that did not
pass, with the reason. Needs nothing but Python and a C compiler; --pypi that package.
DCC_BIN, DCC_SRC as in the other tests.
"""
import argparse
import glob
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile

SRC = os.environ.get("DCC_SRC") or os.path.dirname(
    os.path.dirname(os.path.abspath(__file__)))
DCC = os.environ.get("DCC_BIN") or os.path.join(SRC, "build/dcc")
CC = os.environ.get("CC") or "cc"
DEBIAN = "/usr/share/libonnx-testdata/data"
SAMPLE = ("add_bcast relu basic_conv_with_padding gemm_all_attributes "
          "softmax_axis_0 layer_normalization_4d_axis1 slice gather_0 "
          "reduce_mean_keepdims_example where_example maxpool_2d_ceil "
          "resize_upsample_scales_linear averagepool_2d_same_upper "
          "batchnorm_epsilon lstm_with_initial_bias gru_batchwise "
          "einsum_batch_diagonal matmul_4d quantizelinear_axis qlinearconv "
          "top_k scatternd_add convtranspose_pads gridsample edge_pad "
          "depthtospace_crd_mode_example onehot_with_axis if loop11").split()
NAMED = """
Conv ConvTranspose Gemm MatMul BatchNormalization InstanceNormalization
LayerNormalization GroupNormalization RMSNormalization LpNormalization LRN
MaxPool AveragePool GlobalAveragePool GlobalMaxPool Add Sub Mul Div Pow Sqrt
Reciprocal Neg Mod Relu LeakyRelu PRelu Elu Selu Celu Sigmoid HardSigmoid
HardSwish Mish Swish Tanh Clip Erf Gelu Exp Log Abs Ceil Floor Round Sign
Softplus Softsign ThresholdedRelu Sin Cos Tan Asin Acos Atan Sinh Cosh Asinh
Acosh Atanh And Or Xor Not Equal Greater GreaterOrEqual Less LessOrEqual Where
Cast CastLike Identity Dropout IsNaN IsInf ReduceMean ReduceSum ReduceMax
ReduceMin ReduceProd ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp
ReduceSumSquare ArgMax ArgMin Softmax LogSoftmax Hardmax CumSum TopK Reshape
Transpose Concat Split Slice Gather GatherElements GatherND Expand Squeeze
Unsqueeze Flatten Pad Resize Upsample GridSample Shape Size Constant
ConstantOfShape Range Tile Trilu EyeLike DepthToSpace SpaceToDepth Sum Max Min
Mean OneHot Scatter ScatterND ScatterElements Einsum Attention RotaryEmbedding
FusedMatMul FastGelu QuickGelu BiasGelu SkipLayerNormalization
MultiHeadAttention QuantizeLinear DequantizeLinear DynamicQuantizeLinear
QLinearConv QLinearMatMul ConvInteger MatMulInteger If Loop LSTM GRU RNN
""".split()
# tests of those operators that fail, by name or by what is said of them, and why
WHY = (
    (r": all of its outputs are empty|all of its outputs are empty",
     "no output has an element: there is nothing to compute"),
    (r"is no tensor", "a sequence of tensors"),
    (r"^test_training_dropout.*by chance", "it draws at random"),
    (r"^test_dynamicquantizelinear(_expanded)?:.*0.00392 of 255",
     "a tie in exact numbers, -2.5 / (5 / 255), that the oracle has in double "
     "and f32 has not"),
    (r"^test_resize_downsample_scales_(linear|cubic)_align_corners:",
     "its corners are those of a size that is no whole number; onnxruntime and "
     "PyTorch take the result's"),
    (r"^test_cast(like)?_(BFLOAT16_to_FLOAT|FLOAT_to_BFLOAT16)",
     "bfloat16, in Debian's tests as numbers of 16 bits"),
)
RESERVED = ("op block model dim type input output param state for in if else "
            "scan as or require inf true false f32 f16 bf16 i8 u8 i32 bool "
            "f8e4m3").split()
CHUNK = 40
FLOATS = {1: "F32", 10: "F16", 11: "F64", 16: "BF16"}
TYPES = {2: "U8", 3: "I8", 4: "U16", 5: "I16", 6: "I32", 7: "I64", 9: "BOOL",
         12: "U32", 13: "U64", **FLOATS}
PACK = {1: "f", 2: "B", 3: "b", 4: "H", 5: "h", 6: "i", 7: "q", 9: "B",
        10: "H", 11: "d", 12: "I", 13: "Q", 16: "H"}


def varint(b, i):
    v = s = 0
    while True:
        c = b[i]
        i += 1
        v |= (c & 127) << s
        s += 7
        if c < 128:
            return v, i


def fields(b):
    """(number, value) of a message: ints, or bytes."""
    i = 0
    while i < len(b):
        tag, i = varint(b, i)
        kind = tag & 7
        if kind == 0:
            v, i = varint(b, i)
        else:
            n = {1: 8, 5: 4}.get(kind)
            if n is None:
                n, i = varint(b, i)
            v = b[i:i + n]
            i += n
        yield tag >> 3, v


def signed(v):
    return v - (1 << 64) if v >= 1 << 63 else v


def varints(v):
    if isinstance(v, int):
        return [signed(v)]
    out, i = [], 0
    while i < len(v):
        x, i = varint(v, i)
        out.append(signed(x))
    return out


def tensor(b):
    """(name, type, dims, bytes) of a TensorProto."""
    name, kind, dims, raw, listed = "", 0, [], None, b""
    for n, v in fields(b):
        if n == 1:
            dims += varints(v)
        elif n == 2:
            kind = v
        elif n == 8:
            name = v.decode()
        elif n == 9:
            raw = v
        elif n in (4, 10):
            listed += v
        elif n in (5, 7, 11):
            listed += b"".join(struct.pack("<" + PACK[kind], x % (1 << 64)
                               if n == 11 else x) for x in varints(v))
    return name, kind, dims, listed if raw is None else raw


def graph_ops(graph):
    """The operators of a GraphProto and of those within its nodes."""
    for n, node in fields(graph):
        if n != 1:
            continue
        for m, v in fields(node):
            if m == 4:
                yield v.decode()
            elif m == 5:
                for k, g in fields(v):
                    if k == 6:
                        yield from graph_ops(g)


def graph_names(model):
    """Names of the inputs that no initializer gives, of the outputs, and the
    operators."""
    graph = next(v for n, v in fields(model) if n == 7)
    first = lambda v: next((x.decode() for n, x in fields(v) if n == 1), "")
    given = {tensor(v)[0] for n, v in fields(graph) if n == 5}
    ins = [first(v) for n, v in fields(graph) if n == 11]
    outs = [first(v) for n, v in fields(graph) if n == 12]
    return [i for i in ins if i not in given], outs, set(graph_ops(graph))


def legal(name):
    out = re.sub(r"[^A-Za-z0-9_]+", "_", name.lstrip(
        "".join(c for c in name if not (c.isalnum() or c == "_")) or " "))
    out = out.rstrip("_") or "t"
    if out in RESERVED:
        out += "_"
    return "t_" + out if out[0].isdigit() else out


def comparable(t):
    """The types that the oracle does not compare, as I32."""
    name, kind, dims, raw = t
    if kind not in (4, 5, 12, 13):
        return t
    v = struct.unpack("<%d%s" % (len(raw) // struct.calcsize(PACK[kind]),
                                 PACK[kind]), raw)
    return name, 7, dims, struct.pack("<%dq" % len(v), *v)


def write_st(path, tensors):
    header, data = {}, b""
    order = sorted(tensors, key=lambda t: -struct.calcsize(PACK[t[1]]))
    for name, kind, dims, raw in order:
        header[name] = {"dtype": TYPES[kind], "shape": dims,
                        "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + data)


def pypi(work):
    """The folders of the installed package's tests."""
    import onnx
    import onnx.backend.test.case.model as models
    import onnx.backend.test.case.node as nodes
    from onnx.backend.test import cmd_tools
    data = os.path.join(os.path.dirname(onnx.__file__), "backend/test/data")
    made = os.path.join(work, "pypi")
    for collect in (models.collect_testcases,
                    lambda: nodes.collect_testcases(None)):
        cases = [c for c in collect() if c.kind != "real"]
        models.collect_testcases = lambda: cases
        cmd_tools.generate_data(argparse.Namespace(output=made))
    for light in glob.glob(os.path.join(data, "light", "*.onnx")):
        light_network(light, os.path.join(made, "light", "test_" +
                                          os.path.basename(light)[:-5]))
    return [os.path.join(made, "node"), os.path.join(made, "simple"),
            os.path.join(data, "pytorch-converted"),
            os.path.join(data, "pytorch-operator"),
            os.path.join(made, "light")]


def light_network(path, folder):
    """As the package's runner has it: the input counts from 0 up to 1."""
    import numpy
    import onnx
    at = os.path.join(folder, "test_data_set_0")
    os.makedirs(at)
    shutil.copy(path, os.path.join(folder, "model.onnx"))
    shutil.copy(path[:-5] + "_output_0.pb", os.path.join(at, "output_0.pb"))
    graph = onnx.load(path).graph
    given = {t.name for t in graph.initializer}
    x = next(v for v in graph.input if v.name not in given)
    shape = [d.dim_value for d in x.type.tensor_type.shape.dim]
    n = numpy.prod(shape)
    value = (numpy.arange(n).reshape(shape) / n).astype(numpy.float32)
    with open(os.path.join(at, "input_0.pb"), "wb") as f:
        f.write(onnx.numpy_helper.from_array(value,
                                             x.name).SerializeToString())


class Case:
    def __init__(self, folder, work, number):
        self.folder = folder
        self.name = os.path.basename(folder.rstrip("/"))
        self.set = os.path.basename(os.path.dirname(folder.rstrip("/")))
        self.id = "m%d_%s" % (number, legal(self.name))
        self.base = os.path.join(work, self.id)
        self.reason = None
        self.ops, self.plain = set(), False

    def read(self):
        with open(os.path.join(self.folder, "model.onnx"), "rb") as f:
            ins, outs, self.ops = graph_names(f.read())
        sets = sorted(glob.glob(os.path.join(self.folder, "test_data_set_*")))
        load = lambda kind, i: tensor(open(os.path.join(
            sets[0], "%s_%d.pb" % (kind, i)), "rb").read())
        self.ins = [(n,) + load("input", i)[1:] for i, n in enumerate(ins)
                    if os.path.exists("%s/input_%d.pb" % (sets[0], i))]
        self.outs = [(n,) + load("output", i)[1:] for i, n in enumerate(outs)
                     if n and os.path.exists("%s/output_%d.pb" % (sets[0], i))]
        for t in self.ins + self.outs:
            if t[1] not in TYPES:
                raise ValueError("an element type that is not supported")
        self.plain = all(t[1] not in (10, 11, 16)
                         for t in self.ins + self.outs)

    def named(self):
        """A float32 test of operators that dcc means to have."""
        return bool(self.ops) and self.ops <= set(NAMED) and self.plain

    def dcc_import(self, dims, bind):
        args = [DCC, "import", os.path.join(self.folder, "model.onnx"), "-o",
                self.base + ".dcl", "--name", self.id] + dims
        if bind:
            write_st(self.base + ".bind", bind)
            args += ["--bind", self.base + ".bind"]
        p = subprocess.run(args, capture_output=True, text=True)
        return p.returncode, p.stderr

    def load(self):
        try:
            self.read()
        except Exception as e:  # a file of another kind: sequences, optionals
            self.reason = "test data: %s" % (str(e) or type(e).__name__)

    def make(self):
        dims = ["--dim=%s.%d=%d" % (t[0], i, d) for t in self.ins
                for i, d in enumerate(t[2])]
        status, text = self.dcc_import(dims, [])
        if status == 1 and ("onstant" in text or "batch" in text):
            small = [t for t in self.ins if t[1] not in FLOATS or
                     len(t[2]) < 2]
            status, text = self.dcc_import(dims, small)
        if status:
            lines = [l for l in text.splitlines() if "error" in l] or [text]
            self.reason = "import: " + lines[0].split("error: ")[-1][:200]
            if status not in (1,):
                self.reason = "import, status %d: %s" % (status, text[:200])
            return
        p = subprocess.run([DCC, "--emit=ref", self.base + ".dcl", "-o",
                            self.base + ".c"], capture_output=True, text=True)
        if p.returncode:
            self.reason = "dcc: " + " | ".join(
                p.stderr.splitlines()[:3])[:300]
        # names as the text has them; what has no elements is not there
        with open(self.base + ".dcl") as f:
            names = re.findall(r"^  input (\w+)", f.read(), re.M)
        full = lambda tensors: [t for t in tensors if 0 not in t[2]]
        name = lambda t: next((x for x in (legal(t[0]), legal(t[0]) + "_value")
                               if x in names), legal(t[0]))
        write_st(self.base + ".in", [(name(t),) + t[1:]
                                     for t in full(self.ins)])
        write_st(self.base + ".want", [
            comparable((legal(t[0]),) + t[1:]) for t in full(self.outs)])

    def run(self, program):
        p = subprocess.run(
            [program, "--model", self.id, "--weights",
             self.base + ".safetensors", "--in", self.base + ".in",
             "--against", self.base + ".want", "--tolerance", "1e-3"],
            capture_output=True, text=True)
        if p.returncode or "WRONG" in p.stdout:
            bad = [l for l in p.stdout.splitlines() if "WRONG" in l]
            self.reason = "result: " + (bad[0].strip() if bad else
                                        p.stderr.strip())[:200]


def items(text):
    """The file's ops, by name, and the rest."""
    ops, rest = {}, []
    for part in re.split(r"\n\n", text.split("\n", 1)[1]):
        m = re.search(r"^op (\w+)\(", part, re.M)
        if m and not re.search(r"^model ", part, re.M):
            ops[m.group(1)] = part
        else:
            rest.append(part)
    return ops, "\n\n".join(rest)


def build(cases, work, objects):
    """Many models as one program."""
    ops, models = {}, []
    for c in cases:
        with open(c.base + ".dcl") as f:
            o, rest = items(f.read())
        ops.update(o)
        models.append(rest)
    name = os.path.join(work, "chunk")
    with open(name + ".dcl", "w") as f:
        f.write("\n\n".join(list(ops.values()) + models) + "\n")
    p = subprocess.run([DCC, "--emit=ref", name + ".dcl", "-o", name + ".c"],
                       capture_output=True, text=True)
    if not p.returncode:
        p = subprocess.run([CC, "-std=gnu11", "-w", "-O0", "-I",
                            SRC + "/runtime", "-o", name, name + ".c"] +
                           objects + ["-lm"], capture_output=True, text=True)
    if p.returncode:
        for c in cases:
            c.reason = "build: " + p.stderr[:200]
        return None
    return name


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--all", action="store_true")
    p.add_argument("--named", action="store_true")
    p.add_argument("--match", default="")
    p.add_argument("--list")
    p.add_argument("--keep")
    p.add_argument("--pypi", action="store_true")
    p.add_argument("folders", nargs="*")
    o = p.parse_args()
    work = o.keep or tempfile.mkdtemp()
    os.makedirs(work, exist_ok=True)
    try:
        return select(o, work)
    finally:
        if not o.keep:
            shutil.rmtree(work)


def select(o, work):
    folders = pypi(work) if o.pypi else o.folders or [os.path.join(DEBIAN, d) for d in
                            ("node", "simple", "pytorch-converted",
                             "pytorch-operator")]
    tests = sorted(os.path.dirname(m) for d in folders
                   for m in glob.glob(os.path.join(d, "*", "model.onnx")))
    o.all = o.all or o.named
    if not o.all and not o.match:
        tests = [t for t in tests if re.match("test_(%s)$" % "|".join(
            SAMPLE), os.path.basename(t))]
    if o.match:
        tests = [t for t in tests if re.search(o.match, t)]
    if not tests:
        print("1..1\nok - ONNX's tests # SKIP Debian's libonnx-testdata is not "
              "installed")
        return 0
    return run(o, tests, work)


def run(o, tests, work):
    runtime = os.path.join(SRC, "runtime")
    sources = [f for g in ("ref*.c", "base.c", "safetensors*.c")
               for f in sorted(glob.glob(os.path.join(runtime, g)))]
    subprocess.run([CC, "-std=gnu11", "-O1", "-fopenmp", "-I", runtime, "-c"] +
                   sources, cwd=work, check=True)
    objects = sorted(glob.glob(work + "/*.o")) + ["-fopenmp"]
    cases = [Case(t, work, i) for i, t in enumerate(tests)]
    os.environ["OMP_NUM_THREADS"] = "1"
    for c in cases:
        c.load()
    if o.named:
        cases = [c for c in cases if c.named()]
    for c in cases:
        if not c.reason:
            c.make()
    ready = [c for c in cases if not c.reason]
    for i in range(0, len(ready), CHUNK):
        program = build(ready[i:i + CHUNK], work, objects)
        for c in ready[i:i + CHUNK]:
            if program:
                c.run(program)
    bad = [c for c in cases if c.reason]
    if o.all or o.match:
        for c in bad:
            line = "%s: %s" % (c.name, c.reason)
            c.why = next((w for p, w in WHY if re.search(p, line)), None)
            print(line + (" (%s)" % c.why if c.why else ""))
        for s in sorted({c.set for c in cases}):
            of = [c for c in cases if c.set == s]
            plain = [c for c in of if c.named()]
            print("%s: %d of %d pass, %d of %d float32 tests of those "
                  "operators" % (s, sum(not c.reason for c in of), len(of),
                                 sum(not c.reason for c in plain),
                                 len(plain)))
        named = [c for c in cases if c.named()]
        good = sum(not c.reason for c in named)
        print("%d of %d tests pass; of float32 tests of operators that are "
              "meant to be there %d of %d, %.1f%%" % (
                  len(cases) - len(bad), len(cases), good, len(named),
                  100 * good / max(len(named), 1)))
        for c in bad:
            if o.named and not c.why:
                print("%s fails and WHY has no reason" % c.name)
    else:
        print("1..%d" % len(cases))
        for c in cases:
            print("%s - %s" % ("not ok" if c.reason else "ok", c.name))
            if c.reason:
                print("# " + c.reason)
    if o.list:
        with open(o.list, "w") as f:
            for c in bad:
                f.write("%s: %s\n" % (c.name, c.reason))
    if o.named:
        return 1 if any(not c.why for c in bad) else 0
    return 1 if bad and not o.all else 0


if __name__ == "__main__":
    sys.exit(main())
