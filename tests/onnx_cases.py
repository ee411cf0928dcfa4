#!/usr/bin/env python3
"""Cases of what ONNX's own tests leave out: first versions of operators, values
of attributes (tests/onnx_checklist.py says which those are):

    tests/onnx_cases.py FOLDER && tests/onnx_tests.py --all FOLDER

Writes each as a folder with model.onnx and test_data_set_0. What comes out is
said in numpy, else what onnxruntime makes of the model. Needs onnx, numpy and
onnxruntime.
"""
import os
import sys

import numpy as np
import onnx
from onnx import TensorProto as T
from onnx import helper, numpy_helper

RNG = np.random.default_rng(7)
CASES = []


def f(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def pos(*shape):
    return (RNG.random(shape) + 0.5).astype(np.float32)


def i64(*v):
    return np.array(v, np.int64)


def case(name, opset, op, ins, /, want=None, n_out=1, const=(), domain="",
         **attrs):
    """A node of `ins` (arrays, None: left out); those at `const` are
    initializers. want: arrays that come out, or None."""
    CASES.append((name, opset, op, ins, want, n_out, set(const), domain,
                  attrs))


def dtype(a):
    return helper.np_dtype_to_tensor_dtype(a.dtype)


def write(folder, name, opset, op, ins, want, n_out, const, domain, attrs):
    names = ["" if a is None else "x%d" % i for i, a in enumerate(ins)]
    outs = ["y%d" % i for i in range(n_out)]
    node = helper.make_node(op, names, outs, name="the_node", domain=domain,
                            **attrs)
    given = {names[i]: a for i, a in enumerate(ins)
             if a is not None and i not in const}
    infos = [helper.make_tensor_value_info(k, dtype(a), a.shape)
             for k, a in given.items()]
    init = [numpy_helper.from_array(ins[i], names[i]) for i in const]
    opsets = [helper.make_opsetid("", opset)]
    if domain:
        opsets.append(helper.make_opsetid(domain, 1))

    def model(types):
        graph = helper.make_graph([node], name, infos, [
            helper.make_tensor_value_info(o, t, None) if t else
            onnx.ValueInfoProto(name=o) for o, t in zip(outs, types)], init)
        return helper.make_model(graph, opset_imports=opsets,
                                 ir_version=3 if opset < 9 else 8)
    if want is None:
        want = by_onnxruntime(model, given, outs)
    want = [np.asarray(w) for w in want]
    at = os.path.join(folder, "test_" + name)
    data = os.path.join(at, "test_data_set_0")
    os.makedirs(data, exist_ok=True)
    onnx.save(model([dtype(w) for w in want]), os.path.join(at, "model.onnx"))
    for kind, values in (("input", list(given.items())),
                         ("output", list(zip(outs, want)))):
        for i, (k, v) in enumerate(values):
            with open("%s/%s_%d.pb" % (data, kind, i), "wb") as out:
                out.write(numpy_helper.from_array(
                    np.asarray(v), k).SerializeToString())


def by_onnxruntime(model, given, outs):
    import onnxruntime
    onnxruntime.set_default_logger_severity(4)
    inferred = onnx.shape_inference.infer_shapes(model([0] * len(outs)))
    for guess in (T.FLOAT, T.UINT8, T.INT8):  # where ONNX does not say
        types = [v.type.tensor_type.elem_type or guess
                 for v in inferred.graph.output]
        try:
            session = onnxruntime.InferenceSession(
                model(types).SerializeToString(),
                providers=["CPUExecutionProvider"])
            break
        except Exception as e:
            if "does not match expected type" not in str(e):
                raise
    return session.run(None, given)


# ---- what numpy says

def erf(x):
    import math
    return np.vectorize(math.erf)(x).astype(np.float32)


SELU = 1.6732631921768188, 1.0507010221481323
UNARY = {
    "Sqrt": np.sqrt, "Reciprocal": lambda x: 1 / x, "Neg": np.negative,
    "Relu": lambda x: np.maximum(x, 0), "Sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "Tanh": np.tanh, "Exp": np.exp, "Log": np.log, "Abs": np.abs,
    "Ceil": np.ceil, "Floor": np.floor,
    "LeakyRelu": lambda x: np.where(x < 0, np.float32(0.01) * x, x),
    "Elu": lambda x: np.where(x < 0, np.exp(x) - 1, x),
    "HardSigmoid": lambda x: np.clip(np.float32(0.2) * x + np.float32(0.5), 0,
                                     1),
}
BINARY = {"Add": np.add, "Sub": np.subtract, "Mul": np.multiply,
          "Div": np.divide, "Pow": np.power}
LOGIC = {"And": np.logical_and, "Or": np.logical_or, "Xor": np.logical_xor}
COMPARE = {"Greater": np.greater, "Less": np.less}
REDUCE = {
    "ReduceMean": np.mean, "ReduceSum": np.sum, "ReduceMax": np.max,
    "ReduceMin": np.min, "ReduceProd": np.prod,
    "ReduceL1": lambda x, **k: np.sum(np.abs(x), **k),
    "ReduceL2": lambda x, **k: np.sqrt(np.sum(x * x, **k)),
    "ReduceLogSum": lambda x, **k: np.log(np.sum(x, **k)),
    "ReduceLogSumExp": lambda x, **k: np.log(np.sum(np.exp(x), **k)),
    "ReduceSumSquare": lambda x, **k: np.sum(x * x, **k),
}


def elementwise():
    for op, fn in UNARY.items():
        x = pos(2, 3, 4) if op in ("Sqrt", "Log", "Reciprocal") else f(2, 3, 4)
        case("%s_1" % op, 1, op, [x], [fn(x)], consumed_inputs=[0])
        case("%s_6" % op, 6, op, [x], [fn(x)])
        case("%s_13" % op, 13, op, [x], [fn(x)])
    x = f(2, 3)
    case("Selu_1", 1, "Selu", [x], [np.where(
        x <= 0, np.float32(1.6732) * np.exp(x) - np.float32(1.6732), x) *
        np.float32(1.0507)], consumed_inputs=[0])
    case("Clip_1", 1, "Clip", [x], [np.clip(x, -0.5, 0.25)], min=-0.5,
         max=0.25, consumed_inputs=[0])
    case("Clip_6_high", 6, "Clip", [x], [np.minimum(x, 0.25)], max=0.25)
    lo = np.array(-0.5, np.float32)
    case("Clip_12", 12, "Clip", [x, lo], [np.maximum(x, lo)], const=[1])
    case("Erf_9", 9, "Erf", [x], [erf(x)])
    case("Gelu_none", 20, "Gelu", [x], [0.5 * x * (1 + erf(x / np.sqrt(
        np.float32(2))))], approximate="none")
    case("Mish_18", 18, "Mish", [x], [x * np.tanh(np.log1p(np.exp(x)))])
    case("IsNaN_9", 9, "IsNaN", [np.where(x > 0, np.nan, x)],
         [x > 0])
    x, s = f(2, 3, 4), f(3)
    slope = np.where(x < 0, x * s[:, None], x)
    case("PRelu_1", 1, "PRelu", [x, s], [slope], const=[1],
         consumed_inputs=[0, 0])
    case("PRelu_6", 6, "PRelu", [x, s], [slope], const=[1])
    one = f(1)
    case("PRelu_1_shared", 1, "PRelu", [x, one], [np.where(x < 0, x * one, x)],
         const=[1])
    for v in (7, 9, 16):
        case("PRelu_%d" % v, v, "PRelu", [x, s[:, None]], [slope], const=[1])
    a, b = pos(2, 3, 4, 5), pos(3, 4)
    for op, fn in BINARY.items():
        case("%s_1" % op, 1, op, [a, a[::-1].copy()],
             [fn(a, a[::-1])], **({} if op == "Pow" else
                                  {"consumed_inputs": [0, 0]}))
        case("%s_1_axis" % op, 1, op, [a, b], [fn(a, b[:, :, None])], axis=1,
             broadcast=1)
        last = pos(5)
        case("%s_1_last" % op, 1, op, [a, last], [fn(a, last)], broadcast=1)
        case("%s_7" % op, 7, op, [a, b[:, :, None]], [fn(a, b[:, :, None])])
    one = np.array(2, np.float32)
    case("Pow_1_scalar", 1, "Pow", [a, one], [a ** 2], broadcast=1, const=[1])
    p, q = f(2, 3, 4) > 0, f(3) > 0
    for op, fn in LOGIC.items():
        case("%s_1" % op, 1, op, [p, q], [fn(p, q[:, None])], axis=1,
             broadcast=1)
    m, n = RNG.integers(0, 3, (2, 3, 4)).astype(np.int32), \
        RNG.integers(0, 3, (3,)).astype(np.int32)
    case("Equal_1", 1, "Equal", [m, n], [m == n[:, None]], axis=1,
         broadcast=1)
    for v in (7, 11, 19):
        case("Equal_%d" % v, v, "Equal", [m, n[:, None]], [m == n[:, None]])
    c, d = f(2, 3, 4), f(3)
    for op, fn in COMPARE.items():
        case("%s_1" % op, 1, op, [c, d], [fn(c, d[:, None])], axis=1,
             broadcast=1)
        for v in (7, 9, 13):
            case("%s_%d" % (op, v), v, op, [c, d[:, None]],
                 [fn(c, d[:, None])])
    case("GreaterOrEqual_12", 12, "GreaterOrEqual", [c, d[:, None]],
         [c >= d[:, None]])
    case("LessOrEqual_12", 12, "LessOrEqual", [c, d[:, None]],
         [c <= d[:, None]])
    case("Mod_10", 10, "Mod", [m, n[:, None] + np.int32(1)],
         [m % (n[:, None] + 1)])
    case("Mod_10_fmod", 10, "Mod", [c, d[:, None]],
         [np.fmod(c, d[:, None])], fmod=1)
    three = [f(2, 3), f(2, 3), f(2, 3)]
    for op, fn in (("Sum", lambda v: v[0] + v[1] + v[2]),
                   ("Mean", lambda v: (v[0] + v[1] + v[2]) / 3),
                   ("Max", lambda v: np.maximum(np.maximum(v[0], v[1]), v[2])),
                   ("Min", lambda v: np.minimum(np.minimum(v[0], v[1]),
                                                v[2]))):
        case("%s_1" % op, 1, op, three, [fn(three)],
             consumed_inputs=[0, 0, 0])
        case("%s_6" % op, 6, op, three, [fn(three)])
        spread = [f(2, 3, 4), f(3, 1), f(4)]
        for v in (8, 12, 13):
            case("%s_%d" % (op, v), v, op, spread, [fn(spread)])


def types():
    x = f(2, 3) * 3
    case("Cast_1", 1, "Cast", [x], [x.astype(np.int32)], to="INT32")
    case("Cast_1_bool", 1, "Cast", [x.round()], [x.round() != 0], to="BOOL")
    case("Cast_6", 6, "Cast", [x], [x.astype(np.int32)], to=T.INT32)
    case("Cast_19", 19, "Cast", [x], [x.astype(np.int32)], to=T.INT32,
         saturate=0)
    case("Cast_24", 24, "Cast", [x], [x.astype(np.int32)], to=T.INT32,
         round_mode="up")
    k = np.array([1], np.int32)
    case("CastLike_21", 21, "CastLike", [x, k], [x.astype(np.int32)],
         saturate=0)
    case("CastLike_24", 24, "CastLike", [x, k], [x.astype(np.int32)],
         round_mode="down")
    for v in (1, 14, 21):
        case("Identity_%d" % v, v, "Identity", [x], [x])
    case("Dropout_1", 1, "Dropout", [x], [x], is_test=1, ratio=0.5,
         consumed_inputs=[0])
    case("Dropout_6", 6, "Dropout", [x], [x], is_test=1)
    case("Dropout_7", 7, "Dropout", [x], [x], ratio=0.5)
    case("Dropout_12", 12, "Dropout", [x, np.array(0.3, np.float32),
                                       np.array(False)], [x], const=[1, 2],
         seed=3)
    case("Constant_floats", 13, "Constant", [], [np.array(
        [1, 2.5], np.float32)], value_floats=[1.0, 2.5])
    case("Shape_1", 1, "Shape", [x], [i64(2, 3)])
    case("Shape_13", 13, "Shape", [x], [i64(2, 3)])
    case("Size_1", 1, "Size", [x], [np.array(6)])
    case("Size_21", 21, "Size", [x], [np.array(6)])
    case("Size_24", 24, "Size", [x], [np.array(6)])
    case("ConstantOfShape_21", 21, "ConstantOfShape", [i64(2, 3)],
         [np.full((2, 3), 3, np.int32)], const=[0],
         value=helper.make_tensor("v", T.INT32, [1], [3]))
    case("Range_stash", 11, "Range", [np.array(0, np.float32), np.array(
        3, np.float32), np.array(0.5, np.float32)],
        [np.arange(0, 3, 0.5, dtype=np.float32)], const=[0, 1, 2])


def reductions():
    x = pos(2, 3, 4)
    for op, fn in REDUCE.items():
        for v in (1, 11, 12, 13):
            if op == "ReduceSum" and v == 13:
                continue
            case("%s_%d" % (op, v), v, op, [x],
                 [fn(x, axis=(1,), keepdims=True)], axes=[1])
            case("%s_%d_drop" % (op, v), v, op, [x], [fn(x, axis=(0, 2))],
                 axes=[0, 2], keepdims=0)
        case("%s_18" % op, 18, op, [x, i64(-1)],
             [fn(x, axis=(2,), keepdims=True)], const=[1])
        empty = np.zeros(0, np.int64)
        case("%s_18_all" % op, 18, op, [x, empty],
             [fn(x, axis=(0, 1, 2), keepdims=True)], const=[1],
             noop_with_empty_axes=0)
        if op in ("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin",
                  "ReduceProd"):
            case("%s_18_none" % op, 18, op, [x, empty], [x], const=[1],
                 noop_with_empty_axes=1)
        else:
            each = {"ReduceL1": np.abs(x), "ReduceL2": np.abs(x),
                    "ReduceLogSum": np.log(x), "ReduceLogSumExp": x,
                    "ReduceSumSquare": x * x}[op]
            case("%s_18_none" % op, 18, op, [x, empty], [each], const=[1],
                 noop_with_empty_axes=1)
    for op, fn in (("ArgMax", np.argmax), ("ArgMin", np.argmin)):
        for v in (1, 11, 12):
            case("%s_%d" % (op, v), v, op, [x], [fn(x, axis=1)[:, None]],
                 axis=1)
        case("%s_12_last" % op, 12, op, [np.round(x)], [
            2 - fn(np.round(x)[:, ::-1], axis=1)], axis=1, keepdims=0,
            select_last_index=1)
    case("CumSum_11", 11, "CumSum", [x, np.array(1, np.int32)],
         [np.cumsum(x, 1)], const=[1])
    far = np.array([[1, np.inf, 2, 3]], np.float32)
    case("CumSum_inf", 14, "CumSum", [far, np.array(1)], [np.array(
        [[0, 1, np.inf, np.inf]], np.float32)], const=[1], exclusive=1)
    case("CumSum_inf_back", 14, "CumSum", [far, np.array(1)], [np.array(
        [[np.inf, np.inf, 5, 3]], np.float32)], const=[1], reverse=1)
    flat = x.reshape(2, 12)
    soft = np.exp(flat) / np.exp(flat).sum(1, keepdims=True)
    hard = (flat == flat.max(1, keepdims=True)).astype(np.float32)
    for v in (1, 11):
        case("Softmax_%d" % v, v, "Softmax", [x], [soft.reshape(2, 3, 4)])
        case("LogSoftmax_%d" % v, v, "LogSoftmax", [x],
             [np.log(soft).reshape(2, 3, 4)])
        case("Hardmax_%d" % v, v, "Hardmax", [x], [hard.reshape(2, 3, 4)])
    top = np.sort(x, -1)[..., ::-1][..., :2], \
        np.argsort(-x, -1, kind="stable")[..., :2]
    case("TopK_1", 1, "TopK", [x], list(top), 2, k=2)
    case("TopK_10", 10, "TopK", [x, i64(2)], list(top), 2, const=[1])
    # of so many each part has its own first; halves of them are equal
    for n, least in ((4096, 0), (3000, 1), (2 ** 14, 0)):
        long = np.round(f(2, n, 3) * n / 4).astype(np.float32)
        order = np.argsort(long if least else -long, 1, kind="stable")[:, :7]
        case("TopK_of_%d" % n, 11, "TopK", [long, i64(7)],
             [np.take_along_axis(long, order, 1), order], 2, const=[1], axis=1,
             largest=1 - least)


def views():
    x = f(2, 3, 4)
    case("Reshape_1", 1, "Reshape", [x], [x.reshape(6, 4)], shape=[-1, 4],
         consumed_inputs=[0])
    case("Reshape_13", 13, "Reshape", [x, i64(0, -1)], [x.reshape(2, 12)],
         const=[1])
    case("Transpose_21", 21, "Transpose", [x], [x.transpose(2, 0, 1)],
         perm=[2, 0, 1])
    case("Concat_1", 1, "Concat", [x, x], [np.concatenate([x, x], 1)])
    case("Concat_11", 11, "Concat", [x, x], [np.concatenate([x, x], -1)],
         axis=-1)
    case("Split_1", 1, "Split", [x], [x[:, :1], x[:, 1:]], 2, split=[1, 2],
         axis=1)
    case("Split_1_input", 1, "Split", [x, np.array([1, 2], np.float32)],
         [x[:, :1], x[:, 1:]], 2, const=[1], axis=1)
    case("Split_11", 11, "Split", [x], [x[..., :1], x[..., 1:]], 2,
         split=[1, 3], axis=-1)
    case("Slice_10", 10, "Slice", [x, i64(1, 3), i64(3, 0), i64(1, 2),
                                   i64(1, -2)], [x[:, 1:3, 3:0:-2]],
         const=[1, 2, 3, 4])
    ids = i64(1, 0)
    case("Gather_11", 11, "Gather", [x, ids - 3], [x[:, ids]], axis=1)
    at = RNG.integers(-3, 3, (2, 2, 4))
    case("GatherElements_11", 11, "GatherElements", [x, at],
         [np.take_along_axis(x, at % 3, 1)], axis=1)
    nd = np.array([[0, 1], [1, 2]], np.int64)
    case("GatherND_11", 11, "GatherND", [x, nd], [x[nd[:, 0], nd[:, 1]]])
    case("GatherND_12", 12, "GatherND", [x, nd[:, 1:]],
         [np.stack([x[0, 1], x[1, 2]])], batch_dims=1)
    y = f(2, 1, 3, 1)
    case("Squeeze_11", 11, "Squeeze", [y], [y.reshape(2, 3)], axes=[1, -1])
    for v in (9, 11, 21, 23, 24):
        case("Flatten_%d" % v, v, "Flatten", [x],
             [x.reshape(6, 4)], axis=2)
    pads = [0, 1, 0, 1, 0, 2]
    wide = [(0, 1), (1, 0), (0, 2)]
    const = np.pad(x, wide, constant_values=0.5)
    half = np.array(0.5, np.float32)
    case("Pad_1", 1, "Pad", [x], [const], paddings=pads, value=0.5)
    case("Pad_1_edge", 1, "Pad", [x], [np.pad(x, wide, "edge")],
         paddings=pads, mode="edge")
    for v in (11, 19, 21, 23):
        case("Pad_%d" % v, v, "Pad", [x, i64(*pads), half], [const],
             const=[1, 2], mode="constant")
        case("Pad_%d_reflect" % v, v, "Pad", [x, i64(*pads)],
             [np.pad(x, wide, "reflect")], const=[1], mode="reflect")
    case("Pad_cut", 13, "Pad", [x, i64(0, -1, 0, 0, 0, -2)], [x[:, 1:, :2]],
         const=[1])
    case("Tile_1", 1, "Tile", [x, np.array([2], np.float32),
                               np.array([1], np.float32)],
         [np.tile(x, (1, 2, 1))], const=[1, 2])
    z = f(1, 8, 2, 3)
    d2s = z.reshape(1, 2, 2, 2, 2, 3).transpose(0, 3, 4, 1, 5, 2).reshape(
        1, 2, 4, 6)
    case("DepthToSpace_1", 1, "DepthToSpace", [z], [d2s], blocksize=2)
    case("SpaceToDepth_1", 1, "SpaceToDepth", [d2s], [z], blocksize=2)
    onehot = np.eye(4, dtype=np.float32)[[1, 3, 0]] * 4 + 1
    case("OneHot_9", 9, "OneHot", [i64(1, 3, 0), np.array(4), np.array(
        [1, 5], np.float32)], [onehot], const=[1, 2])
    data, upd = f(4, 3), f(2, 3)
    out = data.copy()
    out[[1, 3]] = upd
    idx = np.array([[1], [3]], np.int64)
    for v in (11, 13, 16):
        case("ScatterND_%d" % v, v, "ScatterND", [data, idx, upd], [out],
             **({"reduction": "none"} if v == 16 else {}))
    out = data.copy()
    np.put_along_axis(out, np.array([[1, 2, 0], [3, 0, 1]]), upd, 0)
    for v in (11, 13, 16):
        case("ScatterElements_%d" % v, v, "ScatterElements",
             [data, np.array([[1, 2, 0], [3, 0, 1]]), upd], [out], axis=0,
             **({"reduction": "none"} if v == 16 else {}))
    # ids and updates that are less than what they go into, and what is read
    less, some = f(2, 2), np.array([[2, 0], [3, 1]])
    for how in ("none", "add"):
        out = data.copy()
        out[some, [[0, 1], [0, 1]]] = less + (
            data[some, [[0, 1], [0, 1]]] if how == "add" else 0)
        case("ScatterElements_less_%s" % how, 18, "ScatterElements",
             [data, some, less], [out], axis=0, reduction=how)
    case("GatherElements_less", 13, "GatherElements", [data, some],
         [data[some, [[0, 1], [0, 1]]]], axis=0)
    case("Slice_two_axes", 13, "Slice",
         [data, i64(0, 0), i64(2, 2), i64(0, 1)], [data[:2, :2]],
         const=[1, 2, 3])
    # constants whose elements are alike, as a[1, :2] = 7 is exported
    sevens, row = np.full((1, 2), 7, np.float32), np.full((1, 2), 1)
    for how, made in (("none", 7), ("add", data[1, :2] + 7),
                      ("max", np.maximum(data[1, :2], 7))):
        out = data.copy()
        out[1, :2] = made
        case("ScatterElements_alike_%s" % how, 18, "ScatterElements",
             [data, row, sevens], [out], const=[1, 2], axis=0, reduction=how)
    out = data.copy()
    out[1] = 7
    case("ScatterND_alike", 18, "ScatterND", [data, idx[:1], np.full(
        (1, 3), 7, np.float32)], [out], const=[1, 2])


def products():
    a, b, c = f(3, 4), f(4, 5), f(5)
    y = 0.5 * (a @ b) + 2 * c
    case("Gemm_1", 1, "Gemm", [a, b, c], [y], alpha=0.5, beta=2.0,
         broadcast=1)
    for v in (7, 9, 11):
        case("Gemm_%d" % v, v, "Gemm", [a, b, c], [y], alpha=0.5, beta=2.0)
    case("Gemm_11_turned", 11, "Gemm", [a.T.copy(), b.T.copy()], [a @ b],
         transA=1, transB=1)
    case("MatMul_9", 9, "MatMul", [f(2, 3, 4), b], None)
    x, w, bias = f(1, 4, 7, 9), f(6, 2, 3, 3), f(6)
    for pad in ("NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"):
        case("Conv_%s" % pad, 11, "Conv", [x, w, bias], None, auto_pad=pad,
             group=2, strides=[2, 1])
        case("ConvTranspose_%s" % pad, 11, "ConvTranspose",
             [x, f(4, 3, 3, 3)], None, auto_pad=pad, group=1, strides=[2, 3])
        case("MaxPool_%s" % pad, 11, "MaxPool", [x], None, auto_pad=pad,
             kernel_shape=[3, 2], strides=[2, 2])
        case("AveragePool_%s" % pad, 11, "AveragePool", [x], None,
             auto_pad=pad, kernel_shape=[3, 2], strides=[2, 2])
    for v in (8, 10, 11):
        case("MaxPool_%d" % v, v, "MaxPool", [x], None, kernel_shape=[3, 3],
             pads=[1, 0, 1, 1], strides=[2, 1],
             **({"ceil_mode": 1, "dilations": [1, 2]} if v > 8 else {}))
        case("MaxPool_%d_where" % v, v, "MaxPool", [x], None, 2,
             kernel_shape=[2, 2], strides=[2, 2],
             **({"storage_order": 1} if v > 8 else {}))
    for v in (7, 10, 11, 19):
        case("AveragePool_%d" % v, v, "AveragePool", [x], None,
             kernel_shape=[3, 3], pads=[1, 0, 1, 1], strides=[2, 1],
             count_include_pad=1,
             **({"ceil_mode": 1} if v > 7 else {}),
             **({"dilations": [2, 1]} if v > 11 else {}))


def norms():
    x, g, b = f(2, 3, 4, 5), pos(3), f(3)
    m, v = f(3), pos(3)
    s = lambda t: t[:, None, None]
    y = (x - s(m)) / np.sqrt(s(v) + np.float32(1e-5)) * s(g) + s(b)
    case("BatchNormalization_1", 1, "BatchNormalization", [x, g, b, m, v],
         [y], const=[1, 2, 3, 4], is_test=1, spatial=1,
         consumed_inputs=[0, 0, 0, 1, 1])
    case("BatchNormalization_6", 6, "BatchNormalization", [x, g, b, m, v],
         [y], const=[1, 2, 3, 4], is_test=1)
    for k in (7, 9, 14, 15):
        case("BatchNormalization_%d" % k, k, "BatchNormalization",
             [x, g, b, m, v], [y], const=[1, 2, 3, 4], momentum=0.8)
    mean, var = x.mean((2, 3), keepdims=True), x.var((2, 3), keepdims=True)
    y = (x - mean) / np.sqrt(var + np.float32(1e-5)) * s(g) + s(b)
    case("InstanceNormalization_1", 1, "InstanceNormalization", [x, g, b],
         [y], const=[1, 2], consumed_inputs=[0, 0, 0])
    row, gain = f(2, 3, 6), pos(6)
    case("LayerNormalization_stash", 17, "LayerNormalization", [row, gain],
         None, const=[1], stash_type=1)
    ms = np.sqrt((row * row).mean(-1, keepdims=True) + np.float32(1e-5))
    case("RMSNormalization_stash", 23, "RMSNormalization", [row, gain],
         [row / ms * gain], const=[1], stash_type=1)
    gr = f(2, 4, 3)
    h = gr.reshape(2, 2, 6)
    h = ((h - h.mean(-1, keepdims=True)) / np.sqrt(
        h.var(-1, keepdims=True) + np.float32(1e-5))).reshape(2, 4, 3)
    g4, b4 = pos(4), f(4)
    case("GroupNormalization_stash", 21, "GroupNormalization", [gr, g4, b4],
         [h * g4[:, None] + b4[:, None]], const=[1, 2], num_groups=2,
         stash_type=1)
    for k, p in ((1, 2), (1, 1), (22, 2)):
        n = np.abs(row).sum(1, keepdims=True) if p == 1 else np.sqrt(
            (row * row).sum(1, keepdims=True))
        case("LpNormalization_%d_%d" % (k, p), k, "LpNormalization", [row],
             [row / n], axis=1, p=p)
    case("LRN_1", 1, "LRN", [x], [x / (
        1 + np.float32(1e-4) / 3 * np.stack([
            (x[:, max(0, i - 1):i + 2] ** 2).sum(1) for i in range(3)],
            1)) ** np.float32(0.75)], size=3)


def sampling():
    x = f(1, 2, 3, 4)
    sc = np.array([1, 1, 2, 3], np.float32)
    near = x.repeat(2, 2).repeat(3, 3)
    case("Upsample_1", 1, "Upsample", [x], [near], height_scale=2.0,
         width_scale=3.0, mode="nearest")
    case("Upsample_7", 7, "Upsample", [x], [near], scales=[1., 1., 2., 3.])
    case("Upsample_7_linear", 7, "Upsample", [x], None,
         scales=[1., 1., 2., 3.], mode="linear")
    case("Upsample_9_linear", 9, "Upsample", [x, sc], None, const=[1],
         mode="linear")
    case("Resize_10", 10, "Resize", [x, sc], None, const=[1])
    case("Resize_10_linear", 10, "Resize", [x, sc], None, const=[1],
         mode="linear")
    none = np.zeros(0, np.float32)
    to = i64(1, 2, 5, 7)
    for mode in ("nearest", "linear", "cubic"):
        for how in ("half_pixel", "pytorch_half_pixel", "align_corners",
                    "asymmetric", "half_pixel_symmetric"):
            v = 19 if how == "half_pixel_symmetric" else 18
            case("Resize_%s_%s" % (mode, how), v, "Resize",
                 [x, None, None, to], None, const=[3], mode=mode,
                 coordinate_transformation_mode=how)
    for how in ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil"):
        case("Resize_nearest_%s" % how, 18, "Resize", [x, None, None, to],
             None, const=[3], mode="nearest", nearest_mode=how)
    case("Resize_nearest_scales", 13, "Resize", [
        f(1, 1, 5, 7), none, np.array([1, 1, 0.7, 0.6], np.float32)], None,
        const=[1, 2], mode="nearest", nearest_mode="floor")
    case("Resize_cropped", 18, "Resize", [
        f(1, 1, 2, 6), np.array([0, 0, .1, .2, 1, 1, .8, 1.1], np.float32),
        np.array([1, 1, 1.5, 2], np.float32)], None, const=[1, 2],
        mode="nearest", nearest_mode="ceil", extrapolation_value=0.5,
        coordinate_transformation_mode="tf_crop_and_resize")
    case("Resize_to_one", 13, "Resize", [x, none, None, i64(1, 2, 1, 7)], None,
         const=[1, 3], mode="cubic", exclude_outside=1,
         coordinate_transformation_mode="pytorch_half_pixel")
    case("Resize_stretch", 18, "Resize", [x, None, None, i64(5, 7)], None,
         const=[3], mode="linear", axes=[2, 3],
         keep_aspect_ratio_policy="stretch")
    g = (RNG.random((1, 3, 5, 2)) * 2.4 - 1.2).astype(np.float32)
    for mode in ("linear", "nearest", "cubic"):
        for pad in ("zeros", "border", "reflection"):
            for corners in (0, 1):
                case("GridSample_20_%s_%s_%d" % (mode, pad, corners), 20,
                     "GridSample", [x, g], None, mode=mode, padding_mode=pad,
                     align_corners=corners)


def transforms():
    def complexes(*shape):
        return f(*shape) + 1j * f(*shape)

    def pairs(z):
        return np.stack([z.real, z.imag], -1).astype(np.float32)
    z, x = complexes(2, 10, 3), f(2, 10, 3)
    for v, axis in ((17, {"axis": 1}), (19, {"axis": 1}), (20, {})):
        at = [] if v < 20 else [None, i64(1)]
        k = dict(const=[] if v < 20 else [2], **axis)
        case("DFT_%d" % v, v, "DFT", [x[..., None]] + at,
             [pairs(np.fft.fft(x, axis=1))], **k)
        case("DFT_%d_complex" % v, v, "DFT", [pairs(z)] + at,
             [pairs(np.fft.fft(z, axis=1))], **k)
        case("DFT_%d_inverse" % v, v, "DFT", [pairs(z)] + at,
             [pairs(np.fft.ifft(z, axis=1))], inverse=1, **k)
        case("DFT_%d_onesided" % v, v, "DFT", [x[..., None]] + at,
             [pairs(np.fft.rfft(x, axis=1))], onesided=1, **k)
    case("DFT_20_last", 20, "DFT", [x[..., None]], [pairs(np.fft.fft(x))])
    for size in (8, 12):
        case("DFT_17_of_%d" % size, 17, "DFT", [x[..., None],
             np.array(size, np.int64)], [pairs(np.fft.fft(x, size, 1))],
             const=[1], axis=1)
    s, w = f(2, 40), pos(8)
    frames = np.stack([s[:, i:i + 8] for i in range(0, 33, 4)], 1)
    step, size = np.array(4, np.int64), np.array(8, np.int64)
    case("STFT_window", 17, "STFT", [s[..., None], step, w],
         [pairs(np.fft.rfft(frames * w))], const=[1, 2])
    case("STFT_length", 17, "STFT", [s[..., None], step, None, size],
         [pairs(np.fft.fft(frames))], const=[1, 3], onesided=0)


def quantised():
    x = f(2, 4, 5)
    s, z = np.array(0.05, np.float32), np.array(7, np.uint8)
    s4 = np.array([0.05, 0.02, 0.1, 0.03], np.float32)
    z4 = np.array([0, -3, 5, 1], np.int8)
    for v in (10, 13, 19, 21, 23):
        case("QuantizeLinear_%d" % v, v, "QuantizeLinear", [x, s, z], None,
             const=[1, 2], **({"saturate": 1} if v >= 19 else {}))
        q = RNG.integers(0, 255, (2, 4, 5)).astype(np.uint8)
        case("DequantizeLinear_%d" % v, v, "DequantizeLinear", [q, s, z],
             [(q.astype(np.float32) - 7) * s], const=[1, 2],
             **({"output_dtype": T.FLOAT} if v >= 23 else {}))
    for v in (13, 21):
        case("QuantizeLinear_%d_axis" % v, v, "QuantizeLinear", [x, s4, z4],
             None, const=[1, 2], axis=1)
    for v in (24, 25):
        q = np.clip(np.rint(x / s) + 7, 0, 255).astype(np.uint8)
        case("QuantizeLinear_%d" % v, v, "QuantizeLinear", [x, s, z], [q],
             const=[1, 2])
        case("DequantizeLinear_%d" % v, v, "DequantizeLinear", [q, s, z],
             [(q.astype(np.float32) - 7) * s], const=[1, 2],
             output_dtype=T.FLOAT)
    q = np.clip(np.rint(x / s) + 7, 0, 255).astype(np.uint8)
    case("QuantizeLinear_precision", 23, "QuantizeLinear", [x, s, z], [q],
         const=[1, 2], precision=T.FLOAT, output_dtype=T.UINT8)
    a = RNG.integers(0, 255, (1, 4, 7, 8)).astype(np.uint8)
    w = RNG.integers(-60, 60, (6, 2, 3, 3)).astype(np.int8)
    ws = np.array([.0113, .0217, .0151, .0309, .0107, .0211], np.float32)
    one = np.array(0.0973, np.float32)  # no sum is half way between two
    z8 = np.array(128, np.uint8)
    bias = RNG.integers(-99, 99, 6).astype(np.int32)
    qargs = [a, one, z8, w, ws, np.zeros(6, np.int8), np.array(
        0.5, np.float32), np.array(100, np.uint8), bias]
    known = [1, 2, 3, 4, 5, 6, 7, 8]
    case("QLinearConv_all", 10, "QLinearConv", qargs, None, const=known,
         group=2, pads=[1, 0, 2, 1], strides=[2, 1], dilations=[1, 2],
         kernel_shape=[3, 3])
    wi = RNG.integers(0, 60, (6, 2, 3, 3)).astype(np.uint8)
    cargs = [a, wi, z8, np.array(3, np.uint8)]
    case("ConvInteger_all", 10, "ConvInteger", cargs, None, const=[1, 2, 3],
         group=2, pads=[1, 0, 2, 1], strides=[2, 1], dilations=[1, 2],
         kernel_shape=[3, 3])
    for pad in ("NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"):
        case("QLinearConv_%s" % pad, 10, "QLinearConv", qargs, None,
             const=known, group=2, auto_pad=pad, strides=[2, 2])
        case("ConvInteger_%s" % pad, 10, "ConvInteger", cargs, None,
             const=[1, 2, 3], group=2, auto_pad=pad, strides=[2, 2])


def quantised_microsoft():
    """What onnxruntime's quantizer writes where ONNX has no operator."""
    def ms(name, op, ins, want=None, const=(), **attrs):
        case("ms_" + name, 17, op, ins, want, 1, const, "com.microsoft",
             **attrs)

    def some(t, *shape):
        return RNG.integers(*((0, 255) if t == np.uint8 else (-128, 127)),
                            shape).astype(t)

    def scale(v):
        return np.array(v, np.float32)
    for t in (np.uint8, np.int8):
        tail = "_u8" if t == np.uint8 else "_i8"
        sa, za = scale(0.0373), np.array(11, t)
        sb, zb = scale(0.0219), np.array(3, t)
        sy, zy = scale(0.0517), np.array(40, t)
        a, b = some(t, 2, 4, 5, 6), some(t, 4, 1, 6)
        ab = [a, sa, za, b, sb, zb, sy, zy]
        ms("QLinearAdd" + tail, "QLinearAdd", ab, const=[1, 2, 4, 5, 6, 7])
        ms("QLinearMul" + tail, "QLinearMul", ab[:6] + [scale(0.0713), zy],
           const=[1, 2, 4, 5, 6, 7])
        ms("QLinearAdd_weight" + tail, "QLinearAdd", ab,
           const=[1, 2, 3, 4, 5, 6, 7])
        one = [a, sa, za, sy, zy]
        ms("QLinearSigmoid" + tail, "QLinearSigmoid",
           one[:3] + [scale(1 / 256), np.array(0 if t == np.uint8 else -128,
                                               t)], const=[1, 2, 3, 4])
        ms("QLinearLeakyRelu" + tail, "QLinearLeakyRelu", one,
           const=[1, 2, 3, 4], alpha=0.13)
        ms("QLinearSoftmax" + tail, "QLinearSoftmax", one[:3] + [
            scale(1 / 256), np.array(0 if t == np.uint8 else -128, t)],
           const=[1, 2, 3, 4], axis=-1, opset=13)
        ms("QLinearGlobalAveragePool" + tail, "QLinearGlobalAveragePool", one,
           const=[1, 2, 3, 4], channels_last=0)
        ms("QLinearAveragePool" + tail, "QLinearAveragePool", one,
           const=[1, 2, 3, 4], kernel_shape=[3, 2], pads=[1, 0, 1, 1],
           strides=[2, 1])
        ms("QLinearAveragePool_pads" + tail, "QLinearAveragePool", one,
           const=[1, 2, 3, 4], kernel_shape=[3, 3], strides=[2, 2],
           pads=[1, 1, 1, 1], count_include_pad=1)
        ms("QLinearConcat" + tail, "QLinearConcat", [
            sy, zy, a, sa, za, some(t, 2, 3, 5, 6), sb, zb, some(t, 2, 1, 5, 6),
            sy, zy], const=[0, 1, 3, 4, 6, 7, 9, 10], axis=1)
        ms("QLinearWhere" + tail, "QLinearWhere", [
            f(2, 4, 5, 6) > 0, a, sa, za, b, sb, zb, sy, zy],
           const=[2, 3, 5, 6, 7, 8])
        x, w = some(t, 3, 7), some(np.int8 if t == np.int8 else t, 7, 5)
        bias = RNG.integers(-999, 999, 5).astype(np.int32)
        ms("QGemm" + tail, "QGemm", [x, sa, za, w, sb, zb, bias,
                                     scale(0.131), zy],
           const=[1, 2, 3, 4, 5, 6, 7, 8])
        ms("QGemm_turned" + tail, "QGemm", [
            x.T.copy(), sa, za, w.T.copy(), sb, zb, bias, scale(0.131), zy],
           const=[1, 2, 3, 4, 5, 6, 7, 8], transA=1, transB=1, alpha=0.7)
        ms("QGemm_float" + tail, "QGemm", [x, sa, za, w, sb, zb, bias],
           const=[1, 2, 3, 4, 5, 6])
    x, w = some(np.uint8, 3, 7), some(np.int8, 5, 7)
    ms("QGemm_columns", "QGemm", [
        x, scale(0.0373), np.array(11, np.uint8), w, pos(5) / 50,
        np.zeros(5, np.int8), None, scale(0.131), np.array(90, np.uint8)],
       const=[1, 2, 3, 4, 5, 7, 8], transB=1)
    ms("MatMulIntegerToFloat", "MatMulIntegerToFloat", [
        x, some(np.int8, 7, 5), scale(0.0373), pos(5) / 50,
        np.array(11, np.uint8), np.zeros(5, np.int8), f(5)],
       const=[1, 2, 3, 4, 5, 6])
    ms("MatMulIntegerToFloat_plain", "MatMulIntegerToFloat", [
        x, some(np.uint8, 7, 5), scale(0.0373), scale(0.0219)],
       const=[1, 2, 3])
    ms("DynamicQuantizeMatMul", "DynamicQuantizeMatMul", [
        f(2, 3, 7), some(np.int8, 7, 5), scale(0.0219),
        np.array(0, np.int8), f(5)], const=[1, 2, 3, 4])
    ms("DynamicQuantizeMatMul_plain", "DynamicQuantizeMatMul", [
        f(3, 7), some(np.uint8, 7, 5), scale(0.0219)], const=[1, 2])


def recurrent():
    steps, batch, n, h = 4, 2, 3, 5
    x = f(steps, batch, n)
    for op, gates, acts in (("LSTM", 4, ["Sigmoid", "Tanh", "Tanh"]),
                            ("GRU", 3, ["Sigmoid", "Tanh"]),
                            ("RNN", 1, ["Tanh"])):
        w, r, b = [np.float32(0.3) * v for v in (
            f(1, gates * h, n), f(1, gates * h, h), f(1, 2 * gates * h))]
        h0, c0 = f(1, batch, h), f(1, batch, h)
        ins = [x, w, r, b, None, h0] + ([c0] if op == "LSTM" else [])
        known = [1, 2, 3]
        outs = 3 if op == "LSTM" else 2
        for v in (7, 14, 22):
            case("%s_%d" % (op, v), v, op, ins, None, outs, const=known,
                 hidden_size=h, direction="forward")
        case("%s_reverse" % op, 14, op, ins, None, outs, const=known,
             hidden_size=h, direction="reverse")
        case("%s_clip" % op, 14, op, ins, None, outs, const=known,
             hidden_size=h, clip=0.3)
        many = {"HardSigmoid": (0.3, 0.4), "LeakyRelu": (0.1, 0),
                "ScaledTanh": (1.2, 0.7), "Affine": (0.9, 0.1),
                "Elu": (0.8, 0), "ThresholdedRelu": (0.2, 0),
                "Softsign": (0, 0), "Softplus": (0, 0), "Relu": (0, 0)}
        for name, (alpha, beta) in many.items():
            extra = {}
            needs = {"HardSigmoid": 2, "LeakyRelu": 1, "ScaledTanh": 2,
                     "Affine": 2, "Elu": 1, "ThresholdedRelu": 1}.get(name, 0)
            if needs:
                extra["activation_alpha"] = [alpha]
            if needs == 2:
                extra["activation_beta"] = [beta]
            case("%s_%s" % (op, name), 14, op, ins, None, outs, const=known,
                 hidden_size=h, activations=[name] + acts[1:], **extra)
        two = [x, np.concatenate([w, -w]), np.concatenate([r, -r]),
               np.concatenate([b, b]), np.array([4, 3], np.int32),
               np.concatenate([h0, h0])] + (
                   [np.concatenate([c0, c0])] if op == "LSTM" else [])
        case("%s_both" % op, 14, op, two, None, outs, const=[1, 2, 3, 4],
             hidden_size=h, direction="bidirectional", activations=acts * 2)
    case("LSTM_forget", 14, "LSTM", [x, f(1, 4 * h, n), f(1, 4 * h, h)],
         None, 3, const=[1, 2], hidden_size=h, input_forget=1)
    case("LSTM_peepholes", 14, "LSTM", [x, f(1, 4 * h, n), f(1, 4 * h, h),
                                        f(1, 8 * h), None, None, None,
                                        f(1, 3 * h)], None, 3,
         const=[1, 2, 3, 7], hidden_size=h)
    gru = [x, f(1, 3 * h, n), f(1, 3 * h, h), f(1, 6 * h)]
    for k in (0, 1):
        case("GRU_linear_%d" % k, 14, "GRU", gru, None, 2, const=[1, 2, 3],
             hidden_size=h, linear_before_reset=k)
        case("GRU_3_%d" % k, 3, "GRU", gru, gru_of(gru, h, k), 2,
             const=[1, 2, 3], hidden_size=h, linear_before_reset=k,
             output_sequence=1)
    case("GRU_1", 1, "GRU", gru, gru_of(gru, h, 0), 2, const=[1, 2, 3],
         hidden_size=h, output_sequence=1)
    rnn = [x, f(1, h, n), f(1, h, h), f(1, 2 * h)]
    case("RNN_1", 1, "RNN", rnn, rnn_of(rnn, h), 2, const=[1, 2, 3],
         hidden_size=h, output_sequence=1)
    lstm = [x, f(1, 4 * h, n), f(1, 4 * h, h), f(1, 8 * h)]
    case("LSTM_1", 1, "LSTM", lstm, lstm_of(lstm, h), 3, const=[1, 2, 3],
         hidden_size=h, output_sequence=1)


def sigmoid(v):
    return 1 / (1 + np.exp(-v))


def rnn_of(ins, n):
    x, w, r, b = ins
    h, ys = np.zeros((x.shape[1], n), np.float32), []
    for xt in x:
        h = np.tanh(xt @ w[0].T + h @ r[0].T + b[0, :n] + b[0, n:])
        ys.append(h)
    return [np.stack(ys)[:, None], h[None]]


def gru_of(ins, n, linear):
    x, w, r, b = ins
    wz, wr, wh = np.split(w[0], 3)
    rz, rr, rh = np.split(r[0], 3)
    bz, br, bh, cz, cr, ch = np.split(b[0], 6)
    h, ys = np.zeros((x.shape[1], n), np.float32), []
    for xt in x:
        z = sigmoid(xt @ wz.T + h @ rz.T + bz + cz)
        q = sigmoid(xt @ wr.T + h @ rr.T + br + cr)
        inner = q * (h @ rh.T + ch) if linear else (q * h) @ rh.T + ch
        h = (1 - z) * np.tanh(xt @ wh.T + inner + bh) + z * h
        ys.append(h)
    return [np.stack(ys)[:, None], h[None]]


def lstm_of(ins, n):
    x, w, r, b = ins
    h = np.zeros((x.shape[1], n), np.float32)
    c, ys = h, []
    for xt in x:
        g = xt @ w[0].T + h @ r[0].T + b[0, :4 * n] + b[0, 4 * n:]
        i, o, q, k = np.split(g, 4, 1)
        c = sigmoid(q) * c + sigmoid(i) * np.tanh(k)
        h = sigmoid(o) * np.tanh(c)
        ys.append(h)
    return [np.stack(ys)[:, None], h[None], c[None]]


def microsoft():
    def ms(name, op, ins, n_out=1, want=None, const=(), **attrs):
        case("ms_" + name, 17, op, ins, want, n_out, const, "com.microsoft",
             **attrs)
    a, b = f(2, 3, 4), f(2, 4, 5)
    ms("FusedMatMul", "FusedMatMul", [a, b], alpha=0.5)
    ms("FusedMatMul_a", "FusedMatMul", [a.transpose(0, 2, 1).copy(), b],
       transA=1)
    ms("FusedMatMul_b", "FusedMatMul", [a, b.transpose(0, 2, 1).copy()],
       transB=1, alpha=2.0)
    ms("FusedMatMul_weight", "FusedMatMul", [a, f(5, 4)], transB=1, const=[1])
    ms("FusedMatMul_batch_a", "FusedMatMul", [a.transpose(1, 0, 2).copy(), b],
       transBatchA=1)
    ms("FusedMatMul_batch_b", "FusedMatMul", [a, b.transpose(1, 0, 2).copy()],
       transBatchB=1)
    x, c = f(2, 3, 8), f(8)
    ms("Gelu", "Gelu", [x])
    ms("FastGelu", "FastGelu", [x])
    ms("FastGelu_bias", "FastGelu", [x, c], const=[1])
    ms("BiasGelu", "BiasGelu", [x, c], const=[1])
    ms("QuickGelu", "QuickGelu", [x])
    ms("QuickGelu_alpha", "QuickGelu", [x], alpha=0.7)
    g, beta, bias = pos(8), f(8), f(8)
    y = f(2, 3, 8)
    ms("SkipLayerNormalization", "SkipLayerNormalization", [x, y, g, beta],
       const=[2, 3], epsilon=1e-3)
    ms("SkipLayerNormalization_bias", "SkipLayerNormalization",
       [x, y, g, beta, bias], const=[2, 3, 4])
    ms("SkipLayerNormalization_plain", "SkipLayerNormalization", [x, y, g],
       const=[2])
    ms("SkipLayerNormalization_row", "SkipLayerNormalization",
       [x, f(1, 3, 8), g, beta], const=[2, 3])
    q, k, v = f(2, 5, 8), f(2, 7, 8), f(2, 7, 8)
    mha = "MultiHeadAttention"
    ms("MHA", mha, [q, k, v], num_heads=2)
    ms("MHA_scale", mha, [q, k, v], num_heads=2, scale=0.3)
    ms("MHA_wide_values", mha, [q, k, f(2, 7, 12)], num_heads=4)
    ms("MHA_bias", mha, [q, k, v, f(24)], const=[3], num_heads=2)
    ms("MHA_added", mha, [q, k, v, None, None, f(1, 2, 5, 7)], num_heads=2)
    ms("MHA_added_each", mha, [q, k, v, f(24), None, f(2, 2, 5, 7)],
       num_heads=2, const=[3])
    seen = np.ones((2, 7), np.int32)
    seen[1, 4:] = 0
    ms("MHA_padding", mha, [q, k, v, None, seen], num_heads=2)
    ms("MHA_padding_filter", mha, [q, k, v, None, seen], num_heads=2,
       mask_filter_value=-3000.0)
    ms("MHA_padding_known", mha, [q, k, v, None, seen], num_heads=2,
       const=[4])
    ms("MHA_lengths", mha, [q, k, v, None, np.array([7, 4], np.int32)],
       num_heads=2)
    ms("MHA_causal", mha, [q, f(2, 5, 8), f(2, 5, 8)], num_heads=2,
       unidirectional=1)
    ms("MHA_past", mha, [q, f(2, 5, 8), f(2, 5, 8), None, None, None,
                         f(2, 2, 3, 4), f(2, 2, 3, 4)], 3, num_heads=2)
    ms("MHA_past_causal", mha, [q, f(2, 5, 8), f(2, 5, 8), None, None, None,
                                f(2, 2, 3, 4), f(2, 2, 3, 4)], 3, num_heads=2,
       unidirectional=1)
    ms("MHA_heads_first", mha, [q, f(2, 2, 7, 4), f(2, 2, 7, 4)], num_heads=2)


def graphs():
    """If and Loop of each version, their conditions constant."""
    x = f(2, 3)
    info = helper.make_tensor_value_info
    then = helper.make_graph([helper.make_node("Relu", ["x0"], ["t"])], "then",
                             [], [info("t", T.FLOAT, [2, 3])])
    other = helper.make_graph([helper.make_node("Neg", ["x0"], ["e"])],
                              "other", [], [info("e", T.FLOAT, [2, 3])])
    body = helper.make_graph(
        [helper.make_node("Identity", ["c"], ["d"]),
         helper.make_node("Mul", ["h", "h"], ["g"]),
         helper.make_node("Identity", ["g"], ["s"])], "body",
        [info("i", T.INT64, []), info("c", T.BOOL, []),
         info("h", T.FLOAT, [2, 3])],
        [info("d", T.BOOL, []), info("g", T.FLOAT, [2, 3]),
         info("s", T.FLOAT, [2, 3])])
    yes, three = np.array([True]), np.array(3)
    for v in (1, 11, 13, 16, 19, 21, 23, 24, 25):
        for truth in (True, False):
            GRAPHS.append((
                "If_%d_%d" % (v, truth), v,
                [helper.make_node("If", ["c"], ["y0"], then_branch=then,
                                  else_branch=other)],
                {"x0": x}, {"c": np.array([truth])},
                [np.maximum(x, 0) if truth else -x]))
        if v != 25:
            GRAPHS.append((
                "Loop_%d" % v, v,
                [helper.make_node("Loop", ["n", "c", "x0"], ["y0", "y1"],
                                  body=body)],
                {"x0": x}, {"n": three, "c": yes[0]},
                [x ** 8, np.stack([x ** 2, x ** 4, x ** 8])]))


GRAPHS = []


def write_graph(folder, name, opset, nodes, given, known, want):
    want = [w.astype(np.float32) for w in want]
    graph = helper.make_graph(
        nodes, name,
        [helper.make_tensor_value_info(k, dtype(a), a.shape)
         for k, a in given.items()],
        [helper.make_tensor_value_info("y%d" % i, T.FLOAT, w.shape)
         for i, w in enumerate(want)],
        [numpy_helper.from_array(a, k) for k, a in known.items()])
    at = os.path.join(folder, "test_" + name)
    os.makedirs(at + "/test_data_set_0", exist_ok=True)
    onnx.save(helper.make_model(graph, opset_imports=[
        helper.make_opsetid("", opset)], ir_version=8), at + "/model.onnx")
    for kind, values in (("input", list(given.items())),
                         ("output", [("y%d" % i, w)
                                     for i, w in enumerate(want)])):
        for i, (k, v) in enumerate(values):
            with open("%s/test_data_set_0/%s_%d.pb" % (at, kind, i),
                      "wb") as out:
                out.write(numpy_helper.from_array(v, k).SerializeToString())


def main():
    for group in (elementwise, types, reductions, views, products, norms,
                  sampling, transforms, quantised,
                  quantised_microsoft, recurrent, microsoft, graphs):
        group()
    bad = 0
    for c in CASES:
        try:
            write(sys.argv[1], *c)
        except Exception as e:
            bad += 1
            print("%s: not made: %s" % (c[0], str(e).splitlines()[0][:160]),
                  file=sys.stderr)
    for c in GRAPHS:
        write_graph(sys.argv[1], *c)
    print("%d cases" % (len(CASES) + len(GRAPHS) - bad))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
