#!/usr/bin/env python3
"""Rows of bytes of a text, for dcc train: a tensor `text`, u8[rows, length + 1].

    tools/text_rows.py TEXT --rows FILE.safetensors [--held-out FILE.safetensors]
        [--length 64] [--stride 16]

With --held-out the last tenth of the text goes there, in rows that do not overlap.
"""
import argparse
import json


def write(path, text, length, stride):
    """A row begins every `stride` bytes; each has one byte more than `length`."""
    rows = [text[i:i + length + 1] for i in range(0, len(text) - length, stride)]
    data = b"".join(rows)
    header = json.dumps({"text": {"dtype": "U8", "shape": [len(rows), length + 1],
                                  "data_offsets": [0, len(data)]}},
                        separators=(",", ":")).encode()
    header += b" " * (-len(header) % 8)
    with open(path, "wb") as f:
        f.write(len(header).to_bytes(8, "little") + header + data)
    print(f"{path}: {len(rows)} rows of {length + 1} bytes")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("text")
    parser.add_argument("--rows", required=True)
    parser.add_argument("--held-out")
    parser.add_argument("--length", type=int, default=64)
    parser.add_argument("--stride", type=int, default=16)
    o = parser.parse_args()
    with open(o.text, "rb") as f:
        text = f.read()
    cut = len(text) * 9 // 10 if o.held_out else len(text)
    if cut <= o.length or (o.held_out and len(text) - cut <= o.length):
        parser.error(f"{o.text}: {len(text)} bytes are too few for rows of {o.length}")
    write(o.rows, text[:cut], o.length, o.stride)
    if o.held_out:
        write(o.held_out, text[cut:], o.length, o.length)


if __name__ == "__main__":
    main()
