"""weights.py - what tests/server.sh loads: two sets of weights of net.dcl, w1 and
w2, each as one file and as two with an index. In this folder."""
import json
import struct

D, ROWS = 64, 16


def half(n, seed):
    """As server.cpp's half_values."""
    out = b""
    for _ in range(n):
        seed = (seed * 1664525 + 1013904223) & 0xffffffff
        out += struct.pack("<e", (seed >> 24) / 1024 - 0.125)
    return out


def write(path, tensors):
    header, data = {}, b""
    for name, (kind, shape, bits) in tensors.items():
        header[name] = {"dtype": kind, "shape": shape,
                        "data_offsets": [len(data), len(data) + len(bits)]}
        data += bits
    text = json.dumps(header).encode()
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + data)


for s in (1, 2):
    all_ = {n: ("F16", [D, D], half(D * D, s + i))
            for i, n in enumerate("qkvu")}
    all_["e"] = ("F16", [ROWS, D], half(ROWS * D, s + 4))
    all_["unread"] = ("F32", [3], struct.pack("<3f", 1, 2, 3))
    write(f"w{s}.safetensors", all_)
    where = {n: f"part{s}-{1 if n in 'qe' else 2}.safetensors" for n in all_}
    for part in set(where.values()):
        write(part, {n: t for n, t in all_.items() if where[n] == part})
    with open(f"w{s}.safetensors.index.json", "w") as f:
        json.dump({"metadata": {"total_size": 1, "x": [1, {"y": None}]},
                   "weight_map": where}, f)
