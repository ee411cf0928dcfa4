"""dcc.py - runs models that `dcc build` made into a shared library.

    dcc build mlp.dcl -o mlp.so

    import dcc
    m = dcc.load("mlp.so").model("w.safetensors")
    y = m(x=x)["y"]

Inputs are whatever speaks DLPack, on the GPU (torch, cupy, jax) or in host
memory (numpy, torch), contiguous and of the model's types and shapes.
Outputs come as `dcc.Tensor`s, on the GPU, that speak it too:
torch.from_dlpack(y), or y.numpy() for a copy. A model is one thread's at a
time. A library of `dcc build --cpu` has host memory for a GPU's.

Python's standard library only.
"""
import ctypes as c
import math
import sys

_TYPES = ["f32", "f16", "bf16", "i8", "i32", "bool", "u8"]
_BYTES = [4, 2, 2, 1, 4, 1, 1]
_FLOAT, _INT, _UINT, _BFLOAT, _BOOL = 2, 0, 1, 4, 6
_CODES = [(_FLOAT, 32), (_FLOAT, 16), (_BFLOAT, 16), (_INT, 8), (_INT, 32),
          (_BOOL, 8), (_UINT, 8)]
_CPU, _CUDA, _PINNED = 1, 2, 3
_RANK = 8
_P, _Z, _L = c.c_void_p, c.c_size_t, c.c_int64


class Error(RuntimeError):
    """What the library or a caller did wrong, in words."""


# ---- the library's tables: dcc_tensor and dcc_model_desc of dcc_rt.h

class _Tensor(c.Structure):
    _fields_ = [("name", c.c_char_p), ("type", c.c_int), ("rank", c.c_int),
                ("dim", _L * _RANK), ("stride", _L * _RANK),
                ("place", c.c_int), ("offset", _Z), ("step", c.c_int),
                ("lo", _L), ("hi", _L), ("init", c.c_double),
                ("varies", c.c_int), ("copied", c.c_int), ("begin", c.c_int),
                ("spread", c.c_double)]


_INTERFACE = 5  # DCC_INTERFACE of dcc_rt.h


class _Desc(c.Structure):
    _fields_ = [("struct_size", c.c_uint32), ("version", c.c_uint32),
                ("name", c.c_char_p)] + [
        f for s in ("param", "input", "output", "state", "trace")
        for f in ((s + "s", c.POINTER(_Tensor)), ("n_" + s + "s", c.c_int))
    ] + [("bytes", _Z * 4), ("steps", c.c_int * 2), ("tables", _P * 7),
         ("trains", c.c_int), ("size_name", c.c_char_p),
         ("sizes", c.POINTER(_L)), ("of_sizes", _P), ("n_sizes", c.c_int),
         ("step_ways", _P)]


# ---- DLPack (github.com/dmlc/dlpack, version 0)

class _Device(c.Structure):
    _fields_ = [("type", c.c_int), ("id", c.c_int)]


class _DLTensor(c.Structure):
    _fields_ = [("data", _P), ("device", _Device), ("ndim", c.c_int),
                ("code", c.c_uint8), ("bits", c.c_uint8),
                ("lanes", c.c_uint16), ("shape", c.POINTER(_L)),
                ("strides", c.POINTER(_L)), ("byte_offset", c.c_uint64)]


class _Managed(c.Structure):
    _fields_ = [("tensor", _DLTensor), ("context", _P), ("deleter", _P)]


_api = c.pythonapi
_api.PyCapsule_GetPointer.restype = _P
_api.PyCapsule_GetPointer.argtypes = [c.py_object, c.c_char_p]
_api.PyCapsule_IsValid.argtypes = [c.py_object, c.c_char_p]
_api.PyCapsule_New.restype = c.py_object
_api.PyCapsule_New.argtypes = [_P, c.c_char_p, _P]
_lent = {}  # what others hold: its struct, shape, tensor and capsule


def _take_back():
    """Forgets what others gave back, or never took. They may do so while an
    exception is on its way, or in any thread: no Python code runs then, the
    library only notes it in the struct."""
    for at, t in list(_lent.items()):
        if not t[0].context or (_api.PyCapsule_IsValid(t[3], b"dltensor")
                                and sys.getrefcount(t[3]) <= 2):
            _lent.pop(at, None)


def _shape(t, size=1, of=1):
    """A tensor's shape; of a set of sizes, that of `size`."""
    dim = list(t.dim[:t.rank])
    if t.varies:
        dim[t.varies - 1] = dim[t.varies - 1] // of * size
    return tuple(dim)


class Tensor:
    """Memory of a model's output; speaks DLPack."""

    def __init__(self, library, info, shape, device):
        self._library, self.shape, self._device = library, shape, device
        self.type, self._code = _TYPES[info.type], _CODES[info.type]
        self.bytes = math.prod(shape) * _BYTES[info.type]
        _take_back()
        self.data = library._alloc(self.bytes)

    def __del__(self):
        if getattr(self, "data", None):
            self._library._cuda("free", _P(self.data))

    def __dlpack_device__(self):
        return self._device

    def __dlpack__(self, *, stream=None, **_):
        m, n = _Managed(), len(self.shape)
        shape = (_L * max(n, 1))(*self.shape)
        m.tensor = _DLTensor(self.data, _Device(*self._device), n,
                             *self._code, 1, shape, None, 0)
        m.context = 1  # the library's, until it is given back
        m.deleter = c.cast(self._library._lib.dcc_library_give_back, _P)
        self._library._cuda("wait", _P(0))
        capsule = _api.PyCapsule_New(c.addressof(m), b"dltensor", None)
        _lent[c.addressof(m)] = m, shape, self, capsule
        return capsule

    def tobytes(self):
        """A copy in host memory, row-major."""
        text = c.create_string_buffer(self.bytes)
        self._library._cuda("copy", text, _P(self.data), _Z(self.bytes))
        return text.raw

    def numpy(self):
        """The same as a numpy array; bf16 as its bits."""
        import numpy as np
        kind = {"f32": "f4", "f16": "f2", "bf16": "u2", "i8": "i1",
                "i32": "i4", "bool": "?", "u8": "u1"}[self.type]
        return np.frombuffer(self.tobytes(), kind).reshape(self.shape)


class _Input:
    """An argument: its address on the device, and what keeps it there."""

    def __init__(self, library, info, value, wanted, device):
        name = info.name.decode()
        if not hasattr(value, "__dlpack__"):
            raise Error(f"{name}: {type(value).__name__} has no __dlpack__")
        if value.__dlpack_device__()[0] == _CUDA:
            capsule = value.__dlpack__(stream=1)  # ordered by stream 0
        else:
            capsule = value.__dlpack__()
        m = _Managed.from_address(
            _api.PyCapsule_GetPointer(capsule, b"dltensor"))
        self._keep, t = capsule, m.tensor
        shape = tuple(t.shape[:t.ndim])
        if (t.code, t.bits) != _CODES[info.type] or t.lanes != 1:
            raise Error(f"{name}: elements are wanted as "
                        f"{_TYPES[info.type]}, not of DLPack's type "
                        f"{t.code} with {t.bits} bits")
        if shape != wanted:
            raise Error(f"{name}: the shape is {list(shape)}, "
                        f"the model's {list(wanted)}")
        step = 1
        for d in reversed(range(info.rank)):
            if t.strides and t.shape[d] > 1 and t.strides[d] != step:
                raise Error(f"{name}: not contiguous; .contiguous() of "
                            "torch and ascontiguousarray of numpy make it so")
            step *= t.shape[d]
        self._copy, self.data = None, (t.data or 0) + t.byte_offset
        if t.device.type == _CUDA and t.device.id != device[1]:
            raise Error(f"{name}: on GPU {t.device.id}, the model is on "
                        f"{device[1]}")
        if t.device.type != _CUDA or self.data % 16:
            self._copy = Tensor(library, info, wanted, device)
            library._cuda("copy", _P(self._copy.data), _P(self.data),
                          _Z(self._copy.bytes))
            self.data = self._copy.data


class Model:
    """A model with its weights; call it with its inputs by name."""

    def __init__(self, library, desc, weights):
        self._library, self._desc, self._handle = library, desc, _P()
        d = desc.contents
        self.name = d.name.decode()
        self.inputs = {t.name.decode(): (_TYPES[t.type], _shape(t))
                       for t in d.inputs[:d.n_inputs]}
        self.outputs = {t.name.decode(): (_TYPES[t.type], _shape(t))
                        for t in d.outputs[:d.n_outputs]}
        if weights is None and any(not t.begin for t in d.params[:d.n_params]):
            raise Error(f"{self.name} has parameters: name a weights file")
        path = None if weights is None else str(weights).encode()
        library._call("dcc_model_create", c.byref(self._handle), desc,
                      c.c_char_p(path))
        number = c.c_int()
        library._cuda("device", c.byref(number))
        self._device = (_CPU, 0) if library.on_cpu else (_CUDA, number.value)

    def _size(self, d, inputs):
        """Of a set of sizes, which one: as named, or as an input's shape."""
        name, largest = d.size_name.decode(), d.sizes[d.n_sizes - 1]
        size = inputs.pop(name, None)
        for t in d.inputs[:d.n_inputs]:
            shape, at = inputs.get(t.name.decode()), t.varies - 1
            shape = getattr(shape, "shape", ())
            if size is None and at >= 0 and len(shape) == t.rank:
                size = shape[at] // (t.dim[at] // largest)
        size = largest if size is None else size
        if not 1 <= size <= largest:
            raise Error(f"{self.name}: {name} is {size}, not 1 to {largest}")
        return size, largest

    def __call__(self, *, stream=0, **inputs):
        """One run: a dict of outputs. With the number of a CUDA stream it is
        enqueued there, and the outputs are that stream's. Of a model for
        `dim B in {1, 8}`, B is as the inputs' shapes, or given as B=5."""
        d = self._desc.contents
        size = self._size(d, inputs) if d.n_sizes else (0, 1)
        wrong = set(inputs) ^ set(self.inputs)
        if wrong:
            raise Error(f"{self.name} takes {', '.join(self.inputs)}; "
                        f"{', '.join(sorted(wrong))} is missing or unknown")
        given = [_Input(self._library, t, inputs[t.name.decode()],
                        _shape(t, *size), self._device)
                 for t in d.inputs[:d.n_inputs]]
        made = [Tensor(self._library, t, _shape(t, *size), self._device)
                for t in d.outputs[:d.n_outputs]]
        self._library._call(
            "dcc_model_run_size", self._handle, _L(size[0]),
            (_P * (len(given) + 1))(*[g.data for g in given]),
            (_P * (len(made) + 1))(*[t.data for t in made]), _P(stream))
        if not stream or any(g._copy for g in given):
            self._library._cuda("wait", _P(stream))
        return dict(zip(self.outputs, made))

    def reset(self):
        """The model's state as it begins."""
        self._library._call("dcc_model_reset", self._handle, _P(0))

    def __del__(self):
        if getattr(self, "_handle", None):
            self._library._lib.dcc_model_destroy(self._handle)


class Library:
    """What `dcc build` made."""

    def __init__(self, path):
        self._lib = c.CDLL(str(path) if "/" in str(path) else f"./{path}")
        self._lib.dcc_error.restype = c.c_char_p
        self._lib.dcc_model_destroy.argtypes = [_P]
        self._lib.dcc_model_destroy.restype = None
        self.on_cpu = bool(
            c.c_int.in_dll(self._lib, "dcc_library_on_cpu").value)
        table = (c.POINTER(_Desc) * 1000).in_dll(self._lib, "dcc_library")
        self._models = {}
        for desc in table:
            if not desc:
                break
            if desc.contents.version != _INTERFACE:
                raise Error(f"{path} is of interface {desc.contents.version}"
                            f", this dcc.py of {_INTERFACE}: build it anew")
            self._models[desc.contents.name.decode()] = desc
        self.models = list(self._models)

    def model(self, weights=None, name=None):
        """The model of that name (the only one's may be left out)."""
        if name is None and len(self.models) == 1:
            name = self.models[0]
        if name not in self._models:
            raise Error(f"no model {name!r}: there is "
                        + ", ".join(self.models))
        return Model(self, self._models[name], weights)

    def _call(self, function, *args):
        if getattr(self._lib, function)(*args):
            raise Error(self._lib.dcc_error().decode())

    def _cuda(self, function, *args):
        error = getattr(self._lib, "dcc_library_" + function)(*args)
        if error:
            raise Error(f"{function}: CUDA error {error}")

    def _alloc(self, n):
        at = _P()
        self._cuda("alloc", c.byref(at), _Z(max(n, 1)))
        return at.value


def load(path):
    return Library(path)
