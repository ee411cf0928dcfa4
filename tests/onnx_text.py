#!/usr/bin/env python3
"""What `dcc import` writes: layers that repeat are a block and a for, norms
and activations that were taken apart are one op, a batch is a dim, names and
weights are kept, the same file gives the same bytes.
"""
import os
import re
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from onnx_hostile import DCC, info, ints, model, node, num, part, weight

D, LAYERS = 8, 3
TRIANGLE = [-3e38 if j > i else 0 for i in range(4) for j in range(4)]


def scalar(name, v):
    return weight(name, [], struct.pack("<f", v))


def floats(name, dims):
    n = 1
    for d in dims:
        n *= d
    return weight(name, dims, b"".join(struct.pack("<f", i % 7 / 7 - 0.4)
                                       for i in range(n)))


def layer_norm(x, y, path):
    t = lambda s: "/%s/%s" % (path, s)
    last = ints("axes", [-1])
    return [node("ReduceMean", [x], [t("m")], last),
            node("Sub", [x, t("m")], [t("d")]),
            node("Pow", [t("d"), "two"], [t("q")]),
            node("ReduceMean", [t("q")], [t("v")], last),
            node("Add", [t("v"), "eps"], [t("e")]),
            node("Sqrt", [t("e")], [t("s")]),
            node("Div", [t("d"), t("s")], [t("n")]),
            node("Mul", [t("n"), path + ".weight"], [t("g")]),
            node("Add", [t("g"), path + ".bias"], [y]),
            floats(path + ".weight", [D]), floats(path + ".bias", [D])]


def gelu(x, y, path):
    t = lambda s: "/%s/%s" % (path, s)
    return [node("Div", [x, "root"], [t("a")]), node("Erf", [t("a")], [t("b")]),
            node("Add", [t("b"), "one"], [t("c")]),
            node("Mul", [x, t("c")], [t("d")]),
            node("Mul", [t("d"), "half"], [y])]


def network():
    parts = [info(11, "x", ["N", 4, D]), info(12, "y", []),
             scalar("two", 2), scalar("eps", 1e-5), scalar("one", 1),
             scalar("half", 0.5), scalar("root", 2 ** 0.5)]
    x = "x"
    for i in range(LAYERS):
        p = "encoder.layers.%d" % i
        parts += layer_norm(x, p + "n", p + ".norm")
        parts += [node("MatMul", [p + "n", p + ".fc1.weight"], [p + "h"]),
                  node("Add", [p + ".fc1.bias", p + "h"], [p + "b"]),
                  floats(p + ".fc1.weight", [D, 4 * D]),
                  floats(p + ".fc1.bias", [4 * D])]
        parts += gelu(p + "b", p + "g", p)
        parts += [node("MatMul", [p + "g", p + ".fc2.weight"], [p + "o"]),
                  floats(p + ".fc2.weight", [4 * D, D]),
                  node("Add", [p + "o", x], ["y" if i == LAYERS - 1
                                             else p + "x"])]
        x = p + "x"
    return model(*parts)


WANT = """// Imported from net.onnx.
block layers(x: E[B, 4, 8]) -> y {
  param norm_weight : E[8] = "norm.weight";
  param norm_bias : E[8] = "norm.bias";
  param fc1_weight : E[32, 8] = "fc1.weight";
  param fc1_bias : E[32] = "fc1.bias";
  param fc2_weight : E[8, 32] = "fc2.weight";
"""
CALL = 'for l in 0..3 { h = layers(h) as "encoder.layers.{l}"; }'


def int_list(name, values):
    return weight(name, [len(values)],
                  b"".join(struct.pack("<q", v) for v in values), kind=7)


def torch_attention():
    """What torch.export makes of an attention with a class token before it:
    heads by reshapes and transposes that undo one another, a softmax whose
    NaN become 0, a causal mask in numbers, an embedding at 0, 1, .., too; half
    of the scale stands below the heads' views"""
    mask = b"".join(struct.pack("<f", 0 if k <= i else -3.4e38)
                    for i in range(6) for k in range(6))
    parts = [info(11, "x", ["N", 5, D]), info(12, "y", []),
             floats("cls", [1, 1, D]), floats("table", [600, D]),
             floats("wq", [D, D]), floats("wk", [D, D]), floats("wv", [D, D]),
             scalar("root", 0.5 ** 0.5), scalar("zero", 0),
             weight("mask", [1, 1, 6, 6], mask), weight("ids", [1, 6], b"".join(struct.pack("<q", i)
                                            for i in range(6)), kind=7),
             int_list("one", [1]),
             int_list("heads", [0, 6, 2, 4]), int_list("flat", [-1, 6, 4]),
             int_list("back", [-1, 2, 4, 6]), int_list("all", [0, 6, D]),
             int_list("zero_i", [0]), int_list("rest", [1, D]),
             node("Shape", ["x"], ["s"]),
             node("Slice", ["s", "zero_i", "one"], ["n"]),
             node("Concat", ["n", "rest"], ["to"], num_attr("axis", 0)),
             node("Expand", ["cls", "to"], ["c"]),
             node("Concat", ["c", "x"], ["t"], num_attr("axis", 1)),
             node("Gather", ["table", "ids"], ["e"]),
             node("Add", ["t", "e"], ["h"])]
    for k in "qkv":
        parts += [node("MatMul", ["h", "w" + k], [k]),
                  node("Mul", [k, "root"], [k + "s"]),
                  node("Reshape", [k + "s" if k == "q" else k, "heads"],
                       [k + "1"]),
                  node("Transpose", [k + "1"], [k + "2"],
                       ints("perm", [0, 2, 1, 3]))]
    parts += [node("Reshape", ["k2", "flat"], ["k3"]),
              node("Transpose", ["k3"], ["k4"], ints("perm", [0, 2, 1])),
              node("Reshape", ["k4", "back"], ["k5"]),
              node("Mul", ["k5", "root"], ["k6"]),
              node("MatMul", ["q2", "k6"], ["a"]),
              node("Add", ["a", "mask"], ["b"]),
              node("Softmax", ["b"], ["p"], num_attr("axis", -1)),
              node("IsNaN", ["p"], ["nan"]),
              node("Where", ["nan", "zero", "p"], ["r"]),
              node("MatMul", ["r", "v2"], ["o"]),
              node("Transpose", ["o"], ["u"], ints("perm", [0, 2, 1, 3])),
              node("Reshape", ["u", "all"], ["y"])]
    return model(*parts)


def llama_attention(choice=False):
    """Two heads of queries share one of keys and values, which an exporter
    writes out; rotary positions; a causal mask of two that are bool; and a
    dense block, all of it listed each time. The mask is added, or chooses."""
    b, s, h, g, d = 2, 6, 4, 2, 4
    mask = lambda name, f: weight(name, [1, 1, s, s], bytes(
        int(f(i, k)) for i in range(s) for k in range(s)), kind=9)
    p = [info(11, "x", [b, s, h * d]), info(12, "y", []), info(12, "z", []),
         floats("cos", [1, 1, s, d]), floats("sin", [1, 1, s, d]),
         scalar("half", 0.25), scalar("low", -3.4e38), scalar("zero", 0),
         mask("seen", lambda i, k: k <= i), mask("all", lambda i, k: 1),
         int_list("first", [0]), int_list("mid", [d // 2]),
         int_list("end", [d]), int_list("last", [3]), int_list("two", [2]),
         int_list("wide", [b, g, h // g, s, d]), int_list("full", [b, h, s, d]),
         node("And", ["seen", "all"], ["m"]),
         node("Where", ["m", "zero", "low"], ["bias"])]
    for k, n in (("q", h), ("k", g), ("v", g)):
        p += [floats("w" + k, [h * d, n * d]), int_list("to" + k, [0, s, n, d]),
              node("MatMul", ["x", "w" + k], [k]),
              node("Reshape", [k, "to" + k], [k + "1"]),
              node("Transpose", [k + "1"], [k + "2"],
                   ints("perm", [0, 2, 1, 3]))]
    for k in "qk":
        p += [node("Slice", [k + "2", "mid", "end", "last"], [k + "b"]),
              node("Slice", [k + "2", "first", "mid", "last"], [k + "a"]),
              node("Neg", [k + "b"], [k + "n"]),
              node("Concat", [k + "n", k + "a"], [k + "t"],
                   num_attr("axis", 3)),
              node("Mul", [k + "t", "sin"], [k + "i"]),
              node("Mul", [k + "2", "cos"], [k + "c"]),
              node("Add", [k + "c", k + "i"], [k + "r"])]
    for k, x in (("k", "kr"), ("v", "v2")):
        p += [node("Unsqueeze", [x, "two"], [k + "u"]),
              node("Expand", [k + "u", "wide"], [k + "e"]),
              node("Reshape", [k + "e", "full"], [k + "f"])]
    p += [node("Transpose", ["kf"], ["keys"], ints("perm", [0, 1, 3, 2])),
          node("MatMul", ["qr", "keys"], ["s0"]),
          node("Mul", ["s0", "half"], ["s1"]),
          node("Where", ["m", "s1", "low"], ["s2"]) if choice else
          node("Add", ["s1", "bias"], ["s2"]),
          node("Softmax", ["s2"], ["p"], num_attr("axis", -1)),
          node("MatMul", ["p", "vf"], ["y"])]
    for i, of in enumerate((["x"], ["x", "e0"], ["x", "e0", "e1"])):
        c = of[0] if i == 0 else "c%d" % i
        p += [node("Concat", of, [c], num_attr("axis", 2))] if i else []
        p += [floats("d%d" % i, [h * d * (i + 1), h * d]),
              node("MatMul", [c, "d%d" % i], ["e%d" % i if i < 2 else "z"])]
    return model(*p)


def time_first():
    """As torch.nn.MultiheadAttention is exported: rows are turned around
    before the product and back behind the next one, which sees them all in
    one dimension; its weight has lost its name."""
    s, b = 5, 2
    ids = lambda name, v: part(5, part(8, name) + num(2, 7) + num(1, len(v)) +
                               part(9, struct.pack("<%dq" % len(v), *v)))
    return model(
        info(11, "x", [b, s, D]), info(12, "y", []),
        floats("val_3", [D, D]), floats("in_proj_bias", [D]),
        floats("out.weight", [D, D]), floats("out.bias", [D]),
        ids("rows", [s * b, D]), ids("back", [s, b, D]),
        node("Transpose", ["x"], ["t"], ints("perm", [1, 0, 2])),
        node("MatMul", ["t", "val_3"], ["m"]),
        node("Add", ["m", "in_proj_bias"], ["a"]),
        node("Transpose", ["a"], ["u"], ints("perm", [1, 0, 2])),
        node("Relu", ["u"], ["r"]),
        node("Transpose", ["r"], ["v"], ints("perm", [1, 0, 2])),
        node("Reshape", ["v", "rows"], ["f"]),
        node("Gemm", ["f", "out.weight", "out.bias"], ["g"],
             num_attr("transB", 1)),
        node("Reshape", ["g", "back"], ["o"]),
        node("Transpose", ["o"], ["w"], ints("perm", [1, 0, 2])),
        node("Add", ["w", "x"], ["y"]))


def half_folded():
    """torch's convolution of f16: weights that took a norm in are in f32."""
    return model(
        node("Conv", ["x", "w", "b"], ["c"]), node("Relu", ["c"], ["y"]),
        node("Conv", ["y", "v"], ["z"]),
        info(11, "x", [1, 4, 5, 5], 10), info(12, "z", [], 10),
        floats("w", [D, 4, 3, 3]), floats("b", [D]), floats("v", [2, D, 1, 1]))


def half_norm():
    """torch's RMSNorm of f16: gains in f32, and so is what they multiply."""
    return model(
        node("Cast", ["x"], ["w"], num_attr("to", 1)),
        node("Pow", ["w", "two"], ["q"]),
        node("ReduceMean", ["q"], ["m"], ints("axes", [-1])),
        node("Add", ["m", "eps"], ["e"]), node("Sqrt", ["e"], ["s"]),
        node("Reciprocal", ["s"], ["r"]), node("Mul", ["w", "r"], ["n"]),
        node("Mul", ["n", "g"], ["o"]),
        node("Cast", ["o"], ["y"], num_attr("to", 10)),
        info(11, "x", [2, D], 10), info(12, "y", [], 10), floats("g", [D]),
        scalar("two", 2), scalar("eps", 1e-6))


def group_norm():
    """torch's: an instance norm of [N, groups, rest], with 1 and 0."""
    one = b"".join(struct.pack("<f", 1) for _ in range(2))
    return model(
        int_list("to", [0, 2, -1]), int_list("back", [2, D, 3, 3]),
        weight("one", [2], one), weight("zero", [2], bytes(8)),
        node("Reshape", ["x", "to"], ["r"]),
        node("InstanceNormalization", ["r", "one", "zero"], ["n"]),
        node("Reshape", ["n", "back"], ["b"]),
        node("Mul", ["b", "gain"], ["g"]), node("Add", ["g", "bias"], ["y"]),
        floats("gain", [D, 1, 1]), floats("bias", [D, 1, 1]),
        info(11, "x", [2, D, 3, 3]), info(12, "y", []))


def half_attention():
    """Queries and keys of f16, values of f32."""
    return model(
        node("Transpose", ["k"], ["t"], ints("perm", [0, 1, 3, 2])),
        node("MatMul", ["q", "t"], ["s"]),
        node("Cast", ["s"], ["w"], num_attr("to", 1)),
        node("Softmax", ["w"], ["p"], num_attr("axis", -1)),
        node("MatMul", ["p", "v"], ["y"]), info(11, "q", [1, 2, 5, 4], 10),
        info(11, "k", [1, 2, 5, 4], 10), info(11, "v", [1, 2, 5, 4]),
        info(12, "y", []))


def first_rows():
    """The first rows of a table, by indices that are known."""
    return model(
        node("GatherND", ["table", "ids"], ["r"]),
        node("Add", ["x", "r"], ["y"]), floats("table", [9, D]),
        weight("ids", [1, 4, 1], b"".join(struct.pack("<q", i)
                                          for i in range(4)), kind=7),
        info(11, "x", [1, 4, D]), info(12, "y", []))


def moments(axis, over):
    """A norm as Keras writes it."""
    gain = [1, 1, D] if axis == 2 else [1, D, 1]
    size = [2, 4, D] if axis == 2 else [2, D, 4]
    return model(
        info(11, "x", size), info(12, "y", []), scalar("eps", 1e-3),
        scalar("one", 1), floats("g", gain), floats("b", gain),
        node("ReduceMean", ["x"], ["m"], ints("axes", over)),
        node("Sub", ["x", "m"], ["d"]), node("Mul", ["d", "d"], ["q"]),
        node("ReduceMean", ["q"], ["v"], ints("axes", over)),
        node("Add", ["v", "eps"], ["e"]), node("Sqrt", ["e"], ["s"]),
        node("Div", ["one", "s"], ["r"]), node("Mul", ["r", "g"], ["k"]),
        node("Mul", ["x", "k"], ["xk"]), node("Mul", ["m", "k"], ["mk"]),
        node("Sub", ["b", "mk"], ["c"]), node("Add", ["xk", "c"], ["y"]))


def dynamic_int8():
    """A product of integers whose sums f16 does not hold: a scale follows."""
    return model(
        info(11, "x", [2, D]), info(12, "y", []),
        weight("w", [D, D], bytes(i % 100 for i in range(D * D)), kind=3),
        weight("wz", [], b"\0", kind=3), scalar("ws", 0.01),
        floats("b", [D]),
        node("DynamicQuantizeLinear", ["x"], ["q", "s", "z"]),
        node("MatMulInteger", ["q", "w", "z", "wz"], ["i"]),
        node("Cast", ["i"], ["f"], num_attr("to", 1)),
        node("Mul", ["s", "ws"], ["k"]), node("Mul", ["f", "k"], ["m"]),
        node("Add", ["m", "b"], ["y"]))


def quantized():
    """com.microsoft's sum of two and its product, u8 throughout"""
    def ms(op, ins, out):
        return part(1, b"".join(part(1, i) for i in ins) + part(2, out) +
                    part(4, op) + part(7, "com.microsoft"))
    return model(
        info(11, "a", [2, D], 2), info(11, "b", [2, D], 2),
        info(12, "y", [], 2), scalar("s", 0.02),
        weight("z", [], b"\7", kind=2), weight("none", [], b"\0", kind=2),
        weight("w", [D, 3], bytes(range(D * 3)), kind=2),
        weight("c", [3], struct.pack("<3i", 1, 2, 3), kind=6),
        ms("QLinearAdd", ["a", "s", "z", "b", "s", "none", "s", "z"], "q"),
        ms("QGemm", ["q", "s", "z", "w", "s", "none", "c", "s", "z"], "y"))


def shared_layers():
    """Layers that two inputs of unlike sizes go through: of no chain alone"""
    parts = [floats("h.%d.weight" % i, [D, D]) for i in range(4)]
    for of, rows in (("a", 2), ("b", 5)):
        x = of
        parts.append(info(11, of, [rows, D]))
        for i in range(4):
            to = of + "y" if i == 3 else "%s%d" % (of, i)
            parts += [node("MatMul", [x, "h.%d.weight" % i], ["m" + to]),
                      node("Relu", ["m" + to], [to])]
            x = to
        parts.append(info(12, of + "y", []))
    return model(*parts)


def what_enters(name, out, of=None):
    """Layers that all read what the first has in place of the one before's
    result: an input, or a value of its own"""
    parts, x = [info(11, of or name, [3, D]), info(12, out, [])], name
    if of:
        parts += [node("Exp", [of], [name])]
    for i in range(3):
        p = "h.%d." % i
        to = out if i == 2 else p + "x"
        parts += [floats(p + "weight", [D, D]),
                  node("MatMul", [x, p + "weight"], [p + "m"]),
                  node("Tanh", [p + "m"], [p + "t"]),
                  node("Mul", [p + "t", name], [p + "q"]),
                  node("Add", [p + "q", x], [to])]
        x = to
    return model(*parts)


def ones_of_batch():
    """A mask of ones of the batch's size, as a column of bools that counts"""
    return model(
        info(11, "x", ["N", 5]), info(12, "y", []), int_list("column", [-1, 1]),
        scalar("no", -9),
        node("Shape", ["x"], ["s"]),
        node("ConstantOfShape", ["s"], ["z"]), node("Cos", ["z"], ["o"]),
        node("Cast", ["o"], ["b"], num_attr("to", 9)),
        node("Reshape", ["b", "column"], ["f"]),
        node("Reshape", ["x", "column"], ["v"]),
        node("Where", ["f", "v", "no"], ["y"]))


def alike_beside_bounds():
    """Constants whose elements are alike, read beyond their bounds: padded
    ones of the batch's size, and sevens that go to row 1 and three columns of
    it, where ids and updates are less than what they go into."""
    sevens = weight("sevens", [1, 3], struct.pack("<3f", 7, 7, 7))
    return model(
        info(11, "x", ["N", 5]), info(11, "z", [2, 5]), info(12, "y", []),
        info(12, "u", []), info(12, "v", []), sevens,
        weight("rows", [1, 3], struct.pack("<3q", 1, 1, 1), 7),
        weight("row", [1, 1], struct.pack("<q", 1), 7),
        weight("whole", [1, 5], struct.pack("<5f", *[7] * 5)),
        int_list("edge", [0, 1, 0, 1]), int_list("inner", [3]),
        node("Shape", ["x"], ["s"]),
        node("Gather", ["s", "first"], ["n"]), int_list("first", [0]),
        node("Concat", ["n", "inner"], ["to"], num_attr("axis", 0)),
        node("ConstantOfShape", ["to"], ["o"]),
        node("Cos", ["o"], ["ones"]),
        node("Pad", ["ones", "edge"], ["p"]), node("Add", ["x", "p"], ["y"]),
        node("ScatterElements", ["z", "rows", "sevens"], ["u"],
             num_attr("axis", 0)),
        node("ScatterND", ["z", "row", "whole"], ["v"]))


def positions_of_batch():
    """Positions that the file spreads over the batch and reads back at every
    element of the batch, as torch.export does with a causal mask."""
    def places(out, column):
        return [node("Reshape", ["all_n", "at_n"], [out + "a"]),
                node("Expand", [out + "a", "to_" + column], [out + "b"]),
                node("Expand", [column, "to_" + column], [out + "c"]),
                node("Concat", [out + "b", out + "c"], [out + "d"],
                     num_attr("axis", 3)),
                node("GatherND", ["p", out + "d"], [out])]
    count = b"".join(struct.pack("<q", i) for i in range(6))
    return model(
        info(11, "x", ["N", 6, 8]), info(12, "y", []),
        weight("row", [1, 6, 1, 1], count, 7), weight("zero", [], b"\0" * 8, 7),
        weight("column", [1, 1, 6, 1], count, 7),
        weight("ids", [1, 6], count, 7), scalar("no", -3.4e38),
        scalar("yes", 0), weight("step", [], struct.pack("<q", 1), 7),
        int_list("at_n", [-1, 1, 1, 1]), int_list("first", [0]),
        int_list("six", [6]), int_list("tail_row", [6, 1, 1]),
        int_list("tail_column", [1, 6, 1]),
        node("Shape", ["x"], ["s"]), node("Gather", ["s", "first"], ["n"]),
        node("Squeeze", ["n"], ["n0"]),
        node("Concat", ["n", "six"], ["to"], num_attr("axis", 0)),
        node("Concat", ["n", "tail_row"], ["to_row"], num_attr("axis", 0)),
        node("Concat", ["n", "tail_column"], ["to_column"],
             num_attr("axis", 0)),
        node("Range", ["zero", "n0", "step"], ["all_n"]),
        node("Expand", ["ids", "to"], ["p"]),
        *places("i", "row"), *places("j", "column"),
        node("LessOrEqual", ["j", "i"], ["seen"]),
        node("Where", ["seen", "yes", "no"], ["mask"]),
        node("Transpose", ["x"], ["t"], ints("perm", [0, 2, 1])),
        node("MatMul", ["x", "t"], ["a"]), node("Add", ["a", "mask"], ["b"]),
        node("Softmax", ["b"], ["q"], num_attr("axis", -1)),
        node("MatMul", ["q", "x"], ["y"]))


def no_hard_swish(bounded):
    """x min(x + 3, 6) / 6, bounded below by 0 or not."""
    ends = ["least", "six"] if bounded else ["", "six"]
    return model(
        info(11, "x", [2, 8]), info(12, "y", [2, 8]),
        scalar("three", 3), scalar("six", 6), scalar("least", 0),
        node("Add", ["x", "three"], ["a"]), node("Clip", ["a"] + ends, ["b"]),
        node("Mul", ["x", "b"], ["c"]), node("Div", ["c", "six"], ["y"]))


def spread_gelu():
    """A gelu whose halves are two, over which x is spread out."""
    return model(
        info(11, "x", [8]), info(12, "y", [2, 8]), scalar("one", 1),
        scalar("root", 2 ** 0.5), weight("half", [2, 1], struct.pack(
            "<2f", 0.5, 0.5)), *gelu("x", "y", "g"))


def spread_norm():
    """A norm of rows whose epsilons are two."""
    return model(
        info(11, "x", [3, D]), info(12, "y", [2, 3, D]), scalar("two", 2),
        weight("eps", [2, 1, 1], struct.pack("<2f", 1e-5, 1e-5)),
        *layer_norm("x", "y", "n"))


def attention_of(mask, dims, q=(1, 4, 4, 8)):
    return model(
        info(11, "q", q), info(11, "k", [1, 4, 4, 8]),
        info(11, "v", [1, 4, 4, 8]), info(12, "y", []),
        weight("mask", dims, struct.pack("<%df" % len(mask), *mask)),
        node("Transpose", ["k"], ["t"], ints("perm", [0, 1, 3, 2])),
        node("MatMul", ["q", "t"], ["a"]), node("Add", ["a", "mask"], ["b"]),
        node("Softmax", ["b"], ["p"], num_attr("axis", -1)),
        node("MatMul", ["p", "v"], ["y"]))


def parts_from_front():
    """What is less than what it is of, from 0 on: a slice along two axes,
    ids and updates of a scatter, rows that are gathered."""
    return model(
        info(11, "x", [4, 6, 5]), info(11, "i", [4, 2, 3], 7),
        info(11, "u", [4, 2, 3]), info(12, "y", []), info(12, "s", []),
        info(12, "a", []), info(12, "g", []), int_list("zeros", [0, 0]),
        int_list("ends", [2, 3]), int_list("axes", [1, 2]),
        node("Slice", ["x", "zeros", "ends", "axes"], ["y"]),
        node("ScatterElements", ["x", "i", "u"], ["s"], num_attr("axis", 1)),
        node("ScatterElements", ["x", "i", "u"], ["a"], num_attr("axis", 1),
             part(1, "reduction") + part(4, "add") + num(20, 3)),
        node("GatherElements", ["x", "i"], ["g"], num_attr("axis", 1)),
        opset=18)


def two_inputs(a, b):
    return model(info(11, "x", [a, 4]), info(11, "z", [b, 4]),
                 info(12, "y", []), node("Add", ["x", "z"], ["y"]))


def largest_of(n):
    """The 5 largest of n, and where they are."""
    return model(
        node("TopK", ["x", "k"], ["y", "at"]),
        weight("k", [1], struct.pack("<q", 5), kind=7),
        info(11, "x", ["N", n]), info(12, "y", []), info(12, "at", [], 7))


def num_attr(name, v):
    return part(1, name) + num(3, v) + num(20, 2)


def text_attr(name, v):
    return part(1, name) + part(4, v) + num(20, 3)


def resized(sizes, *attrs, width=7):
    """By scales of which only f32 says that the second pixel is one's edge; to
    a width of one pixel, which is then the first; of a crop that begins at one
    in f32."""
    scales = weight("scales", [4], struct.pack("<4f", 1, 1, 1, 0.6))
    return model(
        info(11, "x", [1, 1, 2, width]), info(12, "y", []), scales,
        int_list("sizes", [1, 1, 2, 1]), weight("none", [0], b""),
        weight("roi", [8], struct.pack("<8f", 0, 0, 0, 0.2, 1, 1, 1, 1)),
        node("Resize", ["x", "roi"] + ["none", "sizes"]
             if sizes else ["x", "roi", "scales"], ["y"],
             *[text_attr(k, v) for k, v in attrs]))


def padded_as_tensorflow():
    """A convolution of stride 2 whose padding is worked out in floats from
    sizes, ceil(n / 2) * 2 + 1 - n and at least 0, by ops of every sort that
    exporters write it in: Clip, Max of three, ReduceMax, ReduceMean, Sum."""
    return model(
        info(11, "x", [1, 2, 7, 8]), info(12, "y", []), floats("w", [3, 2, 3, 3]),
        scalar("two", 2), scalar("one_f", 1), scalar("zero", 0), scalar("top", 9),
        int_list("hw", [2, 3]), int_list("first", [0]), int_list("rest", [0] * 2),
        node("Shape", ["x"], ["s"]),
        node("Gather", ["s", "hw"], ["n"], num_attr("axis", 0)),
        node("Cast", ["n"], ["f"], num_attr("to", 1)),
        node("Div", ["f", "two"], ["half"]), node("Ceil", ["half"], ["up"]),
        node("Mul", ["up", "two"], ["even"]),
        node("Sum", ["even", "one_f", "zero"], ["reach"]),
        node("Sub", ["reach", "f"], ["over"]),
        node("Clip", ["over", "zero", "top"], ["some"]),
        node("Max", ["some", "zero", "one_f"], ["all"]),
        node("ReduceMax", ["all"], ["most"], ints("axes", [0])),
        node("ReduceMean", ["most"], ["mean"], ints("axes", [0])),
        node("Min", ["all", "mean"], ["after"]),
        node("Cast", ["after"], ["after_i"], num_attr("to", 7)),
        node("Concat", ["rest", "rest", "rest", "after_i"], ["pads"],
             num_attr("axis", 0)),
        node("Pad", ["x", "pads"], ["p"]),
        node("Conv", ["p", "w"], ["y"], ints("strides", [2, 2])))


def main():
    with tempfile.TemporaryDirectory() as work:
        def run(*args):
            p = subprocess.run([DCC] + list(args), cwd=work, text=True,
                               capture_output=True)
            return p.returncode, p.stdout + p.stderr
        with open(work + "/net.onnx", "wb") as f:
            f.write(network())
        status, text = run("import", "net.onnx")
        dcl = open(work + "/net.dcl").read() if not status else ""
        weights = open(work + "/net.safetensors", "rb").read() if dcl else b""
        run("import", "net.onnx", "-o", "net2.dcl", "--name", "net")
        again = open(work + "/net2.dcl").read() if dcl else "-"
        with open(work + "/torch.onnx", "wb") as f:
            f.write(torch_attention())
        status2, text2 = run("import", "torch.onnx")
        torch = open(work + "/torch.dcl").read() if not status2 else text2
        with open(work + "/relu.onnx", "wb") as f:
            f.write(model(node("Relu", ["x"], ["y"]), info(11, "x", [2]),
                          info(12, "y", [2])))
        run("import", "relu.onnx")
        with open(work + "/llama.onnx", "wb") as f:
            f.write(llama_attention())
        with open(work + "/choice.onnx", "wb") as f:
            f.write(llama_attention(True))
        run("import", "choice.onnx")
        with open(work + "/same.onnx", "wb") as f:
            f.write(padded_as_tensorflow())
        status4, text4 = run("import", "same.onnx")
        same = open(work + "/same.dcl").read() if not status4 else text4
        status3, text3 = run("import", "llama.onnx")
        llama = open(work + "/llama.dcl").read() if not status3 else text3
        dcls = {}
        for name, data in (("turned", time_first()),
                           ("keras", moments(2, [-1])),
                           ("half_norm", half_norm()),
                           ("half_folded", half_folded()),
                           ("group_norm", group_norm()),
                           ("floors", resized(
                               False, ("nearest_mode", "floor"))),
                           ("cropped", resized(
                               False, ("nearest_mode", "ceil"),
                               ("coordinate_transformation_mode",
                                "tf_crop_and_resize"), width=6)),
                           ("to_one", resized(
                               True, ("mode", "cubic"),
                               ("coordinate_transformation_mode",
                                "pytorch_half_pixel"))),
                           ("half_attention", half_attention()),
                           ("first_rows", first_rows()),
                           ("keras_columns", moments(1, [1])),
                           ("keras_both", moments(2, [1, 2])),
                           ("int8", dynamic_int8()),
                           ("quantized", quantized()),
                           ("shared", shared_layers()),
                           ("enters", what_enters("q", "z")),
                           ("enters_x", what_enters("x", "z")),
                           ("enters_y", what_enters("y", "z")),
                           ("enters_l", what_enters("l", "z")),
                           ("entered", what_enters("q", "z", "p")),
                           ("ones", ones_of_batch()),
                           ("alike", alike_beside_bounds()),
                           ("positions", positions_of_batch()),
                           ("swish", no_hard_swish(True)),
                           ("no_swish", no_hard_swish(False)),
                           ("gelus", spread_gelu()),
                           ("norms", spread_norm()),
                           ("causal", attention_of(TRIANGLE, [4, 4])),
                           ("heads", attention_of(TRIANGLE, [1, 4, 1, 4])),
                           ("one_row", attention_of(TRIANGLE, [4, 4],
                                                    (1, 4, 1, 8))),
                           ("front", parts_from_front()),
                           ("keras_inputs", two_inputs("unk__3", "unk__7")),
                           ("two_sizes", two_inputs("N", "M")),
                           ("top_of_few", largest_of(100)),
                           ("top_of_many", largest_of(8192))):
            with open(work + "/%s.onnx" % name, "wb") as f:
                f.write(data)
            code, said = run("import", name + ".onnx")
            dcls[name] = said if code else open(work + "/%s.dcl" % name).read()
        for name in ("mine.dcl", "mine.safetensors"):
            with open(work + "/" + name, "w") as f:
                f.write("mine")
        os.rename(work + "/relu.onnx", work + "/mine.onnx")
        onto = [run("import", "mine.onnx"),
                run("import", "mine.onnx", "-o", "mine.dcl"),
                run("mine.onnx", "-o", "mine.cu")]
        kept = [open(work + "/mine" + e).read() for e in
                (".dcl", ".safetensors")]
        points = [
            ("a model does not hide the op that it calls",
             "model relu_net {" in open(work + "/relu.dcl").read() and
             run("relu.dcl", "-o", "relu.cu")[0] == 0),
            ("an attention of torch.export is attention, causal",
             "attention(" in torch and "causal = true" in torch and
             "softmax" not in torch and "mask" not in torch and
             "0.7" not in torch),
            ("its views are one reshape and one transpose each",
             torch.count("reshape(") == 4 and torch.count("transpose(") == 4),
            ("a class token is a condition", "j == 0 ? cls[0, 0, k] : "
             "x[i, j - 1, k] or 0;" in torch),
            ("numbers that count are an index", "ids[i, j] : i32[1, 6] = j;" in torch),
            ("it compiles for a batch of 3",
             run("torch.dcl", "-D", "B=3", "-o", "torch.cu")[0] == 0),
            ("keys that heads share are grouped attention, causal, scaled",
             "grouped_attention(" in llama and "causal = true" in llama and
             "Expand" not in llama and "scale = 0.25" in llama),
            ("a mask that chooses is one that is added", open(
                work + "/choice.dcl").read().replace("model choice", "") ==
             llama.replace("model llama", "").replace("llama.onnx",
                                                      "choice.onnx")),
            ("what is bounded above alone is no hard swish",
             "hard_swish(" in dcls["swish"] and
             "hard_swish(" not in dcls["no_swish"]),
            ("numbers beside each other, over which an operand is spread out, "
             "are no activation's or norm's", "gelu(" not in dcls["gelus"] and
             "layer_norm(" not in dcls["norms"]),
            ("a mask of heads is not causal", "causal = true" in dcls["causal"]
             and "causal" not in dcls["heads"] and
             "mask" in dcls["heads"]),
            ("a mask's rows are no attention of one",
             "attention(" not in dcls["one_row"]),
            ("rotary positions are one op", llama.count("rotated(") == 3),
            ("it compiles, too",
             run("llama.dcl", "-o", "llama.cu")[0] == 0),
            ("a concatenation continues the one before",
             "concat(c1, linear(c1, d1), axis = 2)" in llama),
            ("padding that is worked out in floats is numbers",
             "k in 0..9, l in 0..9] : E[1, 2, 9, 9] = x[" in same and
             "ceil" not in same and "max" not in same),
            ("files that no import made stay", kept == ["mine", "mine"] and
             all(o[0] == 1 and "no import made it" in o[1] for o in onto)),
            ("those of one are written anew", run("import", "net.onnx")[0] ==
             0),
            ("rows that are turned around and back stay as they are",
             dcls["turned"].count("transpose") == 0 and
             dcls["turned"].count("reshape") == 0),
            ("integer sums and their scales are f32",
             ": E = f32(matmul(" in dcls["int8"] and
             "s_value[] : f32 =" in dcls["int8"]),
            ("a quantized sum is one of floats, in f32",
             dcls["quantized"].count("f32[2, 8] = f32(") == 2 and
             "f32(matmul(" in dcls["quantized"] and
             "- 0" not in dcls["quantized"] and
             run("quantized.dcl", "-o", "quantized.cu")[0] == 0),
            ("a mask of ones is no mask, of any batch",
             "?" not in dcls["ones"] and "!=" not in dcls["ones"] and
             run("ones.dcl", "-D", "B=3", "-o", "ones.cu")[0] == 0),
            ("constants whose elements are alike have bounds",
             "((j < 3 ? 1 : -1) == i ? r : -1)" in dcls["alike"] and
             dcls["alike"].count("? 7.0 : z[i, j]") == 2 and
             run("alike.dcl", "-D", "B=3", "-o", "alike.cu")[0] == 0),
            ("names that tf2onnx makes up are one batch, others are not",
             "input z : E[B, 4];" in dcls["keras_inputs"] and
             "--dim M=N" in dcls["two_sizes"]),
            ("the largest of many are those of parts first",
             "sum(r in 0..100)" in dcls["top_of_few"] and
             "[B, 128, 64] = sum(r in 0..64)" in dcls["top_of_many"] and
             "0..8192" not in dcls["top_of_many"] and
             run("top_of_many.dcl", "-D", "B=3", "-o", "top.cu")[0] == 0),
            ("parts from the front say how far they go",
             "y[i, j in 0..2, k in 0..3] : E[4, 2, 3] = x[i, j, k];" in
             dcls["front"] and "k in 0..5" in dcls["front"] and
             run("front.dcl", "-o", "front.cu")[0] == 0),
            ("positions spread over the batch are known",
             "causal = true" in dcls["positions"] and
             "?" not in dcls["positions"] and
             "i32" not in dcls["positions"]),
            ("layers that two inputs share compile",
             dcls["shared"].count("param h_0_weight") == 1 and
             run("shared.dcl", "-o", "shared.cu")[0] == 0),
            ("what enters the first layer, and all read, has two names",
             "(x: E[3, 8], q: E[3, 8]) -> y {" in dcls["enters"] and
             "y = tanh(linear(x, weight)) * q + x;" in dcls["enters"]),
            ("and none is another's", all(
                run(n + ".dcl", "-o", n + ".cu")[0] == 0 for n in
                ("enters", "enters_x", "enters_y", "enters_l"))),
            ("nor what the layers carry", re.search(
                r"h = (\w+);\n  for l in 0..3 { h = \w+\(h, \1\)",
                dcls["entered"]) is not None),
            ("a weight without a name has its bias's",
             "param in_proj_weight : E[8, 8];" in dcls["turned"]),
            ("a norm by moments is a norm",
             "layer_norm(x, g, b, eps = 0.001)" in dcls["keras"]),
            ("weights in f32 of an f16 network are in f16",
             "type E = f16" in dcls["half_folded"] and
             "param w : E[8, 4, 3, 3]" in dcls["half_folded"] and
             run("half_folded.dcl", "-o", "half_folded.cu")[0] == 0),
            ("a norm of f16 with gains in f32 is one in f32",
             "y = f16(rms_norm(E(x), g))" in dcls["half_norm"] and
             run("half_norm.dcl", "-o", "half_norm.cu")[0] == 0),
            ("a scale is f32's", struct.pack("<4i", 0, 2, 3, 5) in
             open(work + "/floors.safetensors", "rb").read()),
            ("a crop's first place, too",
             "y_place_3[i] : i32[3] = 1 + 2 * i;" in dcls["cropped"]),
            ("one pixel is the first", struct.pack("<4f", 0, 0, 1, 0) in
             open(work + "/to_one.safetensors", "rb").read()),
            ("a group norm is one", "y = group_norm(x, gain, bias, groups = 2)"
             in dcls["group_norm"]),
            ("attention of two types is of its result's, rows of a table know "
             "how many they are", all(run(n + ".dcl", "-o", n + ".cu")[0] == 0
                                      for n in ("half_attention",
                                                "first_rows"))),
            ("along another dimension, too", "layer_norm(transpose(x, perm = "
             "[0, 2, 1]), g, b" in dcls["keras_columns"]),
            ("over two dimensions it stays as it is",
             "layer_norm" not in dcls["keras_both"] and
             "output y" in dcls["keras_both"]),
            ("it is imported", not status),
            ("repeated layers are a block", dcl.startswith(WANT.split("  ")[0])
             and all(l in dcl for l in WANT.splitlines())),
            ("and a for", CALL in dcl),
            ("norms and gelu are one op",
             "layer_norm(x, norm_weight, norm_bias)" in dcl and
             "gelu(linear(" in dcl and "erf" not in dcl),
            ("the batch is a dim", "dim B = 1;" in dcl and
             "input x : E[B, 4, 8];" in dcl),
            ("weights keep their names",
             b'"encoder.layers.2.fc1.weight"' in weights),
            ("the same bytes again", dcl == again),
            ("it compiles", run("net.dcl", "-o", "net.cu")[0] == 0),
            ("in one step too", run("net.onnx", "-o", "one.cu")[0] == 0 and
             os.path.exists(work + "/one.safetensors")),
        ]
        print("1..%d" % len(points))
        for name, good in points:
            print("%s - %s" % ("ok" if good else "not ok", name))
        if not all(p[1] for p in points):
            print("# " + (text + dcl + torch + llama + same +
                          "".join(dcls.values())).replace("\n", "\n# "))
    return 0


if __name__ == "__main__":
    sys.exit(main())
