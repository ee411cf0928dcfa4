#!/usr/bin/env python3
"""Writes the node tests of the installed PyPI package `onnx`, in the form
that tests/onnx_tests.py reads:

    tests/onnx_cases.py FOLDER && tests/onnx_tests.py --all FOLDER
"""
import os
import sys

import onnx
from onnx import numpy_helper
from onnx.backend.test.case.node import collect_testcases


def proto(value, name):
    if isinstance(value, onnx.TensorProto):
        return value
    if isinstance(value, (list, dict)) or value is None:
        return None
    return numpy_helper.from_array(value, name)


def write(folder, case):
    folder = os.path.join(folder, case.name)
    data = os.path.join(folder, "test_data_set_0")
    os.makedirs(data, exist_ok=True)
    onnx.save(case.model, os.path.join(folder, "model.onnx"))
    inputs, outputs = case.data_sets[0]
    for kind, values, infos in (("input", inputs, case.model.graph.input),
                                ("output", outputs, case.model.graph.output)):
        for i, v in enumerate(values):
            t = proto(v, infos[i].name if i < len(infos) else "")
            if t is not None:
                with open("%s/%s_%d.pb" % (data, kind, i), "wb") as f:
                    f.write(t.SerializeToString())


def main():
    for case in collect_testcases(None):
        if case.model is None or not case.data_sets:
            continue
        try:
            write(sys.argv[1], case)
        except Exception as e:  # sequences and strings
            print("%s: %s" % (case.name, e), file=sys.stderr)


if __name__ == "__main__":
    main()
