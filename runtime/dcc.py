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
                ("varies", c.c_int), ("begin", c.c_int), ("spread", c.c_double)]


_INTERFACE = 3  # DCC_INTERFACE of dcc_rt.h


class _Desc(c.Structure):
    _fields_ = [("struct_size", c.c_uint32), ("version", c.c_uint32),
                ("name", c.c_char_p)] + [
        f for s in ("param", "input", "output", "state", "trace")
        for f in ((s + "s", c.POINTER(_Tensor)), ("n_" + s + "s", c.c_int))]


# ---- DLPack (github.com/dmlc/dlpack, version 0)

class _Device(c.Structure):
    _fields_ = [("type", c.c_int), ("id", c.c_int)]


class _DLTensor(c.Structure):
    _fields_ = [("data", _P), ("device", _Device), ("ndim", c.c_int),
                ("code", c.c_uint8), ("bits", c.c_uint8),
                ("lanes", c.c_uint16), ("shape", c.POINTER(_L)),
                ("strides", c.POINTER(_L)), ("byte_offset", c.c_uint64)]


class _Managed(c.Structure):
    pass


_DELETER = c.CFUNCTYPE(None, c.POINTER(_Managed))
_Managed._fields_ = [("tensor", _DLTensor), ("context", _P),
                     ("deleter", _DELETER)]
_CAPSULE = c.CFUNCTYPE(None, _P)
_api = c.pythonapi
_api.PyCapsule_GetPointer.restype = _P
_api.PyCapsule_GetPointer.argtypes = [c.py_object, c.c_char_p]
_api.PyCapsule_IsValid.argtypes = [_P, c.c_char_p]
_api.PyCapsule_New.restype = c.py_object
_api.PyCapsule_New.argtypes = [_P, c.c_char_p, _CAPSULE]
_api.PyCapsule_SetName.argtypes = [c.py_object, c.c_char_p]
_raw = c.PYFUNCTYPE(_P, _P, c.c_char_p)(("PyCapsule_GetPointer", _api))
_lent = {}  # address of what others hold: what keeps it alive


@_DELETER
def _give_back(managed):
    _lent.pop(c.addressof(managed.contents), None)


@_CAPSULE
def _drop(capsule):
    if _api.PyCapsule_IsValid(capsule, b"dltensor"):  # nobody took it
        _lent.pop(_raw(capsule, b"dltensor"), None)


def _shape(t):
    return tuple(t.dim[:t.rank])


class Tensor:
    """Memory of a model's output; speaks DLPack."""

    def __init__(self, library, info, device):
        self._library, self.shape, self.type = library, _shape(info), \
            _TYPES[info.type]
        self._code, self._device = _CODES[info.type], device
        count = 1
        for n in self.shape:
            count *= n
        self.bytes = count * _BYTES[info.type]
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
        m.deleter = _give_back
        _lent[c.addressof(m)] = (m, shape, self)
        self._library._cuda("wait", _P(0))
        return _api.PyCapsule_New(c.addressof(m), b"dltensor", _drop)

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

    def __init__(self, library, info, value, device):
        name, n = info.name.decode(), info.rank
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
        if shape != _shape(info):
            raise Error(f"{name}: the shape is {list(shape)}, "
                        f"the model's {list(_shape(info))}")
        self._check_strides(name, t, n)
        self._copy, self.data = None, (t.data or 0) + t.byte_offset
        if t.device.type == _CUDA and t.device.id != device[1]:
            raise Error(f"{name}: on GPU {t.device.id}, the model is on "
                        f"{device[1]}")
        if t.device.type != _CUDA or self.data % 16:
            self._copy = Tensor(library, info, device)
            library._cuda("copy", _P(self._copy.data), _P(self.data),
                          _Z(self._copy.bytes))
            self.data = self._copy.data

    @staticmethod
    def _check_strides(name, t, n):
        step = 1
        for d in reversed(range(n)):
            if t.strides and t.shape[d] > 1 and t.strides[d] != step:
                raise Error(f"{name}: not contiguous; .contiguous() of "
                            "torch and ascontiguousarray of numpy make it so")
            step *= t.shape[d]


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

    def __call__(self, *, stream=0, **inputs):
        """One run: a dict of outputs. With the number of a CUDA stream it is
        enqueued there, and the outputs are that stream's."""
        d = self._desc.contents
        wrong = set(inputs) ^ set(self.inputs)
        if wrong:
            raise Error(f"{self.name} takes {', '.join(self.inputs)}; "
                        f"{', '.join(sorted(wrong))} is missing or unknown")
        given = [_Input(self._library, t, inputs[t.name.decode()],
                        self._device) for t in d.inputs[:d.n_inputs]]
        made = [Tensor(self._library, t, self._device)
                for t in d.outputs[:d.n_outputs]]
        self._library._call(
            "dcc_model_run", self._handle,
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
