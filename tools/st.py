"""Reads and writes .safetensors files with numpy alone."""
import json

import numpy as np

TYPES = {"F64": np.float64, "F32": np.float32, "F16": np.float16,
         "I64": np.int64, "I32": np.int32, "I8": np.int8, "U8": np.uint8,
         "BOOL": np.bool_}
NAMES = {np.dtype(v): k for k, v in TYPES.items()}
BF16 = np.dtype([("bf16", np.uint16)])   # numpy has none: its bits
NAMES[BF16], TYPES["BF16"] = "BF16", BF16


def write(path, tensors):
    """Writes a dict of name -> numpy array, in the order of the dict."""
    header, at = {}, 0
    for name, t in tensors.items():
        header[name] = {"dtype": NAMES[t.dtype], "shape": list(t.shape),
                        "data_offsets": [at, at + t.nbytes]}
        at += t.nbytes
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as f:
        f.write(len(text).to_bytes(8, "little") + text)
        for t in tensors.values():
            f.write(np.asarray(t, order="C").data)


def read(path):
    """A dict of name -> numpy array; the arrays map the file."""
    data = np.memmap(path, np.uint8, "r")
    size = int.from_bytes(bytes(data[:8]), "little")
    header = json.loads(bytes(data[8:8 + size]))
    out = {}
    for name, t in header.items():
        if name == "__metadata__":
            continue
        a, b = (8 + size + o for o in t["data_offsets"])
        out[name] = data[a:b].view(TYPES[t["dtype"]]).reshape(t["shape"])
    return out
