#!/usr/bin/env python3
"""A set of sizes (`dim B in {1, 8, 32}`) beside each size's own file.

    tests/gpu/sizes.py --dcc build/dcc [--sizes 1,8,32] [--between 5]
                       [-D E=f16] [--json FILE] examples/bert_base.dcl

The model is compiled with the set and for each size alone, all in one program:
what the set computes is what the size's own file does, its memory has one copy
of weights where `--explain` says so, and each size takes at most 1% more than
its own file, timed in turns. A line of JSON for each. Exit status 1 if one is
not so. --program FILE builds it there and runs nothing; --cpu tries it in the
emulator.
"""
import argparse
import json
import os
import re
import sys
import tempfile

import beside


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("model")
    p.add_argument("--dcc", default="dcc")
    p.add_argument("--sizes", default="1,8,32")
    p.add_argument("--between", type=int, default=5)
    p.add_argument("--rounds", type=int, default=31)
    p.add_argument("-D", action="append", default=["E=f16"])
    p.add_argument("--program")
    p.add_argument("--json")
    p.add_argument("--cpu", action="store_true")
    o = p.parse_args()
    text = open(o.model).read()
    name = re.search(r"^model (\w+)", text, re.M).group(1)
    dim = re.search(r"\bdim B = \d+;", text)
    if not dim:
        sys.exit("%s has no `dim B = ..;`" % o.model)
    work = tempfile.mkdtemp()
    sizes = [int(s) for s in o.sizes.split(",")]
    between = [o.between] if o.between else []
    files, pairs = [], []
    for size in [None] + sizes + between:
        of = "dim B = %d;" % size if size else "dim B in {%s};" % o.sizes
        mine = "%s_%s" % (name, size or "set")
        file, said = beside.emit(o.dcc, work, text.replace(dim.group(0), of),
                                 mine, o.D)
        files.append(file)
        if not size:
            print("\n".join(re.findall(r"^(?:sizes: |.* packing).*", said,
                                       re.M)), flush=True)
            continue
        pairs.append((mine, name + "_set", size,
                      1.01 if size in sizes else 0, True))
    program = os.path.abspath(o.program or os.path.join(work, "beside"))
    beside.build(work, files, pairs, program, o.cpu)
    if o.program:
        return 0
    rows, good = beside.rows(program, o.rounds)
    for row in rows:
        print(json.dumps(row))
    if o.json:
        with open(o.json, "w") as f:
            json.dump(rows, f, indent=1)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
