#!/usr/bin/env python3
"""Damaged and hostile ONNX files: an error that names what is wrong, exit
status 1, never a crash. Files are made here, byte by byte; a test point each
for those with a text of their own, one for all the damaged ones.
"""
import os
import random
import resource
import struct
import subprocess
import sys
import tempfile

SRC = os.environ.get("DCC_SRC") or os.path.dirname(
    os.path.dirname(os.path.abspath(__file__)))
DCC = os.environ.get("DCC_BIN") or os.path.join(SRC, "build/dcc")


def varint(v):
    out = b""
    v &= (1 << 64) - 1
    while v > 127:
        out += bytes([v & 127 | 128])
        v >>= 7
    return out + bytes([v])


def num(field, v):
    return varint(field << 3) + varint(v)


def part(field, data):
    data = data.encode() if isinstance(data, str) else data
    return varint(field << 3 | 2) + varint(len(data)) + data


def node(op, ins, outs, *attrs):
    return part(1, b"".join([part(1, i) for i in ins] +
                            [part(2, o) for o in outs] + [part(4, op)] +
                            [part(5, a) for a in attrs]))


def ints(name, values):
    return part(1, name) + b"".join(num(8, v) for v in values) + num(20, 7)


def info(field, name, dims, kind=1):
    shape = b"".join(part(1, num(1, d) if isinstance(d, int) else part(2, d))
                     for d in dims)
    return part(field, part(1, name) + part(2, part(1, num(1, kind) +
                                                    part(2, shape))))


def weight(name, dims, raw=None, kind=1, external=None):
    t = b"".join(num(1, d) for d in dims) + num(2, kind) + part(8, name)
    if raw is not None:
        t += part(9, raw)
    for k, v in (external or {}).items():
        t += part(13, part(1, k) + part(2, v))
    return part(5, t + (num(14, 1) if external else b""))


def model(*parts, opset=17):
    return num(1, 8) + part(7, b"".join(parts)) + part(8, num(2, opset))


X, Y = info(11, "x", [2, 3]), info(12, "y", [2, 3])
RELU = node("Relu", ["x"], ["y"])
GOOD = model(node("Conv", ["c", "w"], ["d"], ints("pads", [1, 1, 1, 1])),
             node("Relu", ["d"], ["y"]), info(11, "c", ["N", 2, 4, 4]),
             info(12, "y", []), weight("w", [3, 2, 3, 3], b"\0" * 216))


def add(**external):
    return model(node("Add", ["x", "w"], ["y"]), X, Y,
                 weight("w", [2, 3], external=external))


NESTED = b""
for _ in range(100):
    NESTED = part(1, part(5, part(6, NESTED)))


def ms(op, ins, outs, **whole):
    return part(1, b"".join([part(1, i) for i in ins] +
                            [part(2, o) for o in outs] + [part(4, op)] +
                            [part(5, part(1, k) + num(3, v) + num(20, 2))
                             for k, v in whole.items()] +
                            [part(7, "com.microsoft")]))


CASES = {
    "empty": (b"", "the model has no graph"),
    "cut": (GOOD[:40], "are announced"),
    "varint": (b"\x08" + b"\xff" * 20, "more than 64 bits"),
    "text": (b"model m { }", "this is no ONNX model"),
    "nested": (part(7, NESTED), "nested more than 64 deep"),
    "twice": (part(7, b"") * 2, "'graph' is there twice"),
    "zero_byte": (model(X, Y, node("Re\0lu", ["x"], ["y"])), "zero byte"),
    "two_types": (model(node("MatMul", ["x", "w"], ["y"]),
                        info(11, "x", [2, 2]), info(11, "w", [2, 2], 10), Y),
                  "its operands are float32 and float16"),
    "no_output": (model(X, RELU), "the graph has no output"),
    "cycle": (model(node("Add", ["x", "b"], ["a"]),
                    node("Add", ["a", "x"], ["b"]),
                    node("Relu", ["b"], ["y"]), X, Y),
              "operand 'b' is not defined by what stands before"),
    "missing": (model(node("Relu", ["q"], ["y"]), X, Y), "operand 'q'"),
    "doubled": (model(RELU, RELU, X, Y), "'y' is defined a second time"),
    "no_i32": (model(node("Add", ["x", "w"], ["y"]), info(11, "x", [1], 7), Y,
                     weight("w", [1], struct.pack("<q", -1 << 63), 7)),
               "-9223372036854775808, which is no i32"),
    "least": (model(node("Div", ["w", "m"], ["d"]),
                    node("Add", ["x", "d"], ["y"]), info(11, "x", [1], 7), Y,
                    weight("w", [1], struct.pack("<q", -1 << 63), 7),
                    weight("m", [1], struct.pack("<q", -1), 7)),
              "-9223372036854775808, which is no i32"),
    "undefined": (model(node("Relu", ["x"], ["z"]), X, Y),
                  "output 'y' is not defined"),
    "type": (model(RELU, info(11, "x", [2], 8), Y), "its type is string"),
    "huge": (model(RELU, info(11, "x", [1 << 40, 1 << 40]), Y),
             "too many elements"),
    "negative": (model(RELU, info(11, "x", [-5]), Y), "size -5"),
    "symbolic": (model(RELU, info(11, "x", ["N", "S"]), Y), "--dim S=N"),
    "no_operand": (model(node("MatMul", ["x"], ["y"]), X, Y),
                   "operand 1 is missing"),
    "operator": (model(node("Frob", ["x"], ["y"]), X, Y),
                 "node 'y' (Frob, opset 17): the operator is not supported"),
    "attribute": (model(node("Relu", ["x"], ["y"], ints("frob", [1])), X, Y),
                  "(Relu, opset 17): attribute 'frob' is not supported"),
    "no_name": (model(node("Relu", ["x"], ["y"], ints("", [1])), X, Y),
                "attribute '' is not supported"),
    "no_operator": (model(part(1, b"") * 1000, X, Y),
                    "a node names no operator"),
    "suppression": (model(node("NonMaxSuppression", ["x", "x"], ["y"]), X, Y),
                    "(NonMaxSuppression, opset 17): the operator is not "
                    "supported"),
    "narrow": (model(node("Gather", ["x", "i"], ["z"]),
                     node("Add", ["j", "i"], ["y"]), X, Y,
                     info(11, "j", [1], 7),
                     weight("i", [1], b"\0" * 4 + b"\1" * 4, kind=7)),
               "which is no i32"),
    "quantized": (model(ms("QLinearAdd", ["x", "", "x", "x", "x", "x", "x"],
                           ["y"]), X, Y),
                  "(com.microsoft.QLinearAdd, opset 1): operand 1 is missing"),
    "quantized_none": (model(ms("QLinearConcat", ["x", "x"], ["y"]), X, Y),
                       "it has no operand"),
    "quantized_more": (model(ms("QGemm", ["x"] * 6, ["y", "z"]), X, Y),
                       "2 results"),
    "quantized_rank": (model(ms("QGemm", ["q", "s", "q", "q", "s", "q"],
                                ["y"]), info(11, "q", [2, 3], 2),
                             info(11, "s", []), Y),
                       "do not go together"),
    "transform": (model(node("DFT", ["x", "n"], ["y"]), Y,
                        info(11, "x", [1, 8, 1]),
                        weight("n", [], b"\xff" * 7 + b"\x7f", kind=7)),
                  "must be constants that fit"),
    "frames": (model(node("STFT", ["x", "n"], ["y"]), Y,
                     info(11, "x", [1, 8, 1]),
                     weight("n", [], b"\0" * 8, kind=7)),
               "its step, window and length must be constants"),
    "data": (model(node("NonZero", ["x"], ["y"]), X, Y),
             "depends on its operand's contents"),
    "weight_size": (model(RELU, X, Y, weight("w", [2, 3], b"1234")),
                    "4 bytes of data, its shape takes 24"),
    "weight_huge": (model(RELU, X, Y, weight("w", [1 << 30] * 2, b"")),
                    "too many elements"),
    "weight_negative": (model(RELU, X, Y, weight("w", [-1], b"")),
                        "a negative size"),
    "control": (model(node("GridSample", ["x", "x"], ["y"],
                           part(1, "padding_mode") + part(4, b"\1\1ero") +
                           num(20, 3)), X, Y), "has a byte that is no text"),
    "scatter": (model(node("ScatterND", ["x", "i", "x"], ["y"]), X, Y,
                      weight("i", [2, 9], b"\0" * 144, kind=7)),
                "its operands do not go together"),
    "heads": (model(node("Attention", ["q", "k", "k"], ["y"]),
                    info(11, "q", [1, 3, 4, 8]), info(11, "k", [1, 2, 4, 8]),
                    Y, opset=23), "its operands do not go together"),
    "heads_bias": (model(ms("MultiHeadAttention", ["q", "q", "q", "b"], ["y"],
                            num_heads=2),
                         info(11, "q", [2, 5, 8]), info(11, "b", [24, 7]), Y),
                   "its operands do not go together"),
    "heads_value": (model(ms("MultiHeadAttention", ["q", "q", "v"], ["y"],
                             num_heads=2),
                          info(11, "q", [2, 5, 8]), info(11, "v", [2, 6, 8]),
                          Y), "its operands do not go together"),
    "resize": (model(node("Resize", ["x", "", "", "to"], ["y"]),
                     info(11, "x", [1, 1, 2, 3]), Y,
                     weight("to", [4], struct.pack("<4q", 1, 1, 1999999999,
                                                   3), kind=7)),
               "a size of 1999999999"),
    "resize_far": (model(node("Resize", ["x", "", "by"], ["y"]),
                         info(11, "x", [1, 1, 2, 3]), Y,
                         weight("by", [4], struct.pack("<4f", 1, 1, 1e33, 1))),
                   "a scale of 1e+33"),
    "empty_output": (model(node("Relu", ["w"], ["y"]), X, Y,
                           weight("w", [0], b"")),
                     "all of its outputs are empty"),
    "climbs": (add(location="../secret"), "must lie in the model's folder"),
    "absolute": (add(location="/etc/passwd"), "must lie in the model's"),
    "link": (add(location="link"), "it is a link"),
    "link_folder": (add(location="up/secret"), "it is a link"),
    "outside": (add(location="data", offset="100"), "are wanted, it has 24"),
    "below_zero": (add(location="data", offset="-4"), "is not said properly"),
    "nowhere": (add(location="nothing"), "No such file"),
}


def dcc(path, out):
    p = subprocess.run([DCC, "import", path, "-o", out], timeout=60,
                       capture_output=True, text=True, errors="replace")
    return p.returncode, p.stderr


def two_at_once(work):
    """All that is not supported is said in one run."""
    path = os.path.join(work, "two.onnx")
    with open(path, "wb") as f:
        f.write(model(node("Frob", ["x"], ["a"]), node("Grob", ["x"], ["b"]),
                      node("Add", ["a", "b"], ["y"]), X, Y))
    status, text = dcc(path, work + "/o.dcl")
    return status == 1 and "(Frob," in text and "(Grob," in text


def damaged(work):
    """Cut anywhere, and with any bytes changed: 0 or 1."""
    rng = random.Random(1)
    path = os.path.join(work, "damaged.onnx")
    for i in range(0, 400):
        data = bytearray(GOOD[:rng.randrange(len(GOOD))] if i % 2 else GOOD)
        for _ in range(rng.randint(0, 5) if data else 0):
            data[rng.randrange(len(data))] = rng.choice([0, 1, 127, 128, 255])
        with open(path, "wb") as f:
            f.write(data)
        status, text = dcc(path, work + "/o.dcl")
        if status not in (0, 1):
            return "# damaged %d: exit status %d\n# %s" % (i, status, text)
    return ""


def recurring(work):
    """Statements that recur in every way and are no layers: seconds of CPU."""
    path = os.path.join(work, "recurring.onnx")
    n = 12000
    at = ["x"] + ["t%d" % i for i in range(1, n)] + ["y"]
    with open(path, "wb") as f:
        f.write(model(*[node("Tanh" if i % 2 else "Abs", [at[i]], [at[i + 1]])
                        for i in range(n)], X, Y))
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    status, _ = dcc(path, work + "/o.dcl")
    took = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
    return "" if status == 0 and took < 4 else "# status %d, %.1f s" % (
        status, took)


def made(work, parts, want, seconds=2):
    """It is imported, in seconds of CPU, and the text has what is wanted."""
    path, out = os.path.join(work, "made.onnx"), os.path.join(work, "made.dcl")
    with open(path, "wb") as f:
        f.write(model(*parts, info(12, "y", [])))
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    status, text = dcc(path, out)
    took = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
    with open(out) as f:
        text += f.read()
    return "" if status == 0 and took < seconds and want in text else \
        "# status %d, %.1f s: %s" % (status, took, text[:300])


def aliases(n):
    return [node("Identity", ["x%s" % (i or "")], ["x%d" % (i + 1)])
            for i in range(n)] + [node("Relu", ["x%d" % n], ["y"]), X]


# A sum over a constant of which the file has one number.
SUM_OF_ONE = [node("ConstantOfShape", ["s"], ["c"]),
              node("ReduceSum", ["c"], ["d"]), node("Add", ["x", "d"], ["y"]),
              X, weight("s", [2], struct.pack("<qq", 30000, 30000), 7)]


def main():
    with tempfile.TemporaryDirectory() as top:
        work = os.path.join(top, "model")
        os.mkdir(work)
        for name in ("secret", "model/data"):
            with open(os.path.join(top, name), "wb") as f:
                f.write(b"\0" * 24)
        os.symlink("../secret", work + "/link")
        os.symlink("..", work + "/up")
        print("1..%d" % (len(CASES) + 6))
        for name, (data, want) in CASES.items():
            path = os.path.join(work, name + ".onnx")
            with open(path, "wb") as f:
                f.write(data)
            status, text = dcc(path, work + "/o.dcl")
            good = status == 1 and want in text and name + ".onnx" in text
            print("%s - %s" % ("ok" if good else "not ok", name))
            if not good:
                print("# exit status %d: %s" % (status, text[:300]))
        with open(work + "/good.onnx", "wb") as f:
            f.write(GOOD)
        good = dcc(work + "/good.onnx", work + "/o.dcl")[0] == 0
        print("%s - what is not damaged" % ("ok" if good else "not ok"))
        print("%s - all of them in one run" %
              ("ok" if two_at_once(work) else "not ok"))
        for wrong, what in ((damaged(work), "400 damaged files"),
                            (recurring(work), "12000 nodes that recur"),
                            (made(work, aliases(30000), "y = relu(x)"),
                             "30000 names of one tensor"),
                            (made(work, SUM_OF_ONE, "sum("),
                             "a sum of 900000000 times one number")):
            print("%s - %s" % ("not ok" if wrong else "ok", what))
            if wrong:
                print(wrong)
    return 0


if __name__ == "__main__":
    sys.exit(main())
