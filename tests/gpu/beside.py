"""Builds beside.cpp: models in one program, to be timed in turns."""
import json
import os
import re
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
RUNTIME = os.environ.get("DCC_RUNTIME_DIR",
                         os.path.join(HERE, "..", "..", "runtime"))


def emit(dcc, work, text, name, defines):
    """The text's model, called `name`: its .cu, and what --explain says."""
    path = os.path.join(work, name + ".dcl")
    with open(path, "w") as f:
        f.write(re.sub(r"^model \w+", "model " + name, text, flags=re.M))
    args = [dcc, path, "-o", path[:-3] + "cu", "--explain"]
    for d in defines:
        args += ["-D", d]
    p = subprocess.run(args, capture_output=True, text=True)
    if p.returncode:
        raise RuntimeError(p.stderr[-400:])
    return path[:-3] + "cu", p.stdout + p.stderr


def build(work, files, pairs, program, cpu=False):
    """`pairs`: (own, other, size, bar, same) as beside.cpp has them."""
    names = sorted({n for p in pairs for n in p[:2]})
    with open(os.path.join(work, "models.h"), "w") as f:
        for n in names:
            f.write('extern "C" const dcc_model_desc %s_desc;\n' % n)
        f.write("static const Pair pairs[] = {\n")
        for own, other, size, bar, same in pairs:
            f.write("    {&%s_desc, &%s_desc, %d, %g, %s},\n" %
                    (own, other, size, bar, "true" if same else "false"))
        f.write("};\n")
    flags = ["-O2", "-I", work, "-I", RUNTIME,
             os.path.join(HERE, "beside.cpp"), "-o", program]
    if cpu:
        args = ["sh", os.path.join(RUNTIME, "emu", "dcc-emu-cc")]
    else:
        args = ["nvcc", "-std=c++17", "-gencode",
                "arch=compute_90a,code=sm_90a", "-t", "4"] + [
            os.path.join(RUNTIME, f) for f in sorted(os.listdir(RUNTIME))
            if re.match(r"(rt|base|safetensors)\w*\.c$", f)]
    p = subprocess.run(args + files + flags, capture_output=True, text=True)
    if p.returncode:
        raise RuntimeError(p.stderr[-400:])


def rows(program, rounds):
    """What it says, as a list of dicts; whether all was good."""
    p = subprocess.run([program, str(rounds)], capture_output=True, text=True)
    said = [json.loads(s) for s in p.stdout.splitlines() if s[:1] == "{"]
    if p.returncode > 1 or not any("ratio" in r for r in said) or p.stderr:
        raise RuntimeError(p.stderr[-400:] or "status %d" % p.returncode)
    return said, p.returncode == 0
