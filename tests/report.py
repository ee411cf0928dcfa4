#!/usr/bin/env python3
"""tests/report.py DCC SOURCE: points of TAP; in an empty folder."""

import json
import os
import re
import subprocess
import sys

try:
    import jsonschema
except ImportError:
    jsonschema = None

dcc, source = sys.argv[1:3]
example = os.path.join(source, "examples", "%s.dcl")
points, bad = 0, 0


def point(ok, name, log=""):
    global points, bad
    points += 1
    bad |= not ok
    print("ok" if ok else "not ok", points, "-", name)
    if not ok:
        for line in str(log).splitlines()[:12]:
            print("#", line)


def run(*words):
    done = subprocess.run([dcc, *words], capture_output=True, timeout=120)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def explained(*words):
    status, out, err = run(*words, "--explain=json")
    return json.loads(out) if not status else err


def page_data(name):
    with open(name, encoding="utf-8") as f:
        text = f.read()
    found = re.findall(r'<script type="application/json" id="data">(.*?)'
                       r'</script>', text, re.S)
    return json.loads(found[0]), text


# ---- the JSON

with open(os.path.join(source, "compiler/search/explain.schema.json")) as f:
    schema = json.load(f)
for name in ("mlp", "digits", "bert_base", "gpt2_decode"):
    data = explained(example % name)
    try:
        if jsonschema:
            jsonschema.validate(data, schema)
        fault = "" if isinstance(data, dict) else data
    except jsonschema.ValidationError as e:
        fault = e
    point(not fault, f"{name} keeps the schema" if jsonschema else
          f"{name} is JSON # SKIP the schema: no python3-jsonschema", fault)
    plain = run(example % name, "--explain")[1]
    total = float(re.search(r"predicted ([\d.]+) us a run", plain)[1])
    model = data["models"][0]
    steps = re.findall(r"^  +\d+ (\S+)$", plain, re.M)
    point(abs(model["predicted_us"] - total) < 0.06 and steps ==
          [model["kernels"][l["kernel"]]["name"] for l in model["run"]],
          f"{name}: what --explain says", (model["predicted_us"], total))
    made = {t["id"]: t for t in model["tensors"]}
    seen = {t["id"] for t in model["tensors"]
            if t["place"] in ("params", "input", "state", "consts")}
    for launch in model["load"] + model["run"]:
        lost = [made[i]["name"] for i in launch["reads"] if i not in seen]
        if lost:
            break
        seen.update(launch["writes"])
    point(not lost, f"{name}: launches read what is there", lost)

data = explained(os.path.join(source, "tests/sets/rows.dcl"))
point(not jsonschema or not list(
    jsonschema.Draft7Validator(schema).iter_errors(data)) and
    [m.get("size") for m in data["models"]] == ["R3", "R16", "R70"],
    "each size of a set says which it is")

status, out, err = run(example % "mlp", "--explain=xml")
point(status == 2 and "--explain=json" in err, "another form is an error", err)
status, out, err = run(example % "mlp", "--explain=json", "--dump=graph")
point(status == 2 and not out, "with a dump on standard output, too", err)

# ---- names that would end a string, a script, a comment

HOSTILE = '''// </script><script>alert(1)</script> \u2028 " \\
model hostile {
  input x : f32[8, 4];
  param w : f32[4, 4] = "</script>\\<!--\u00e9";
  output y[i, j] = sum(k) x[i, k] * w[j, k];
}
'''
with open("</script>.dcl".replace("/", "\u2215"), "w", encoding="utf-8") as f:
    f.write(HOSTILE)
status, out, err = run("report", f.name, "-o", "hostile.html")
data, text = page_data("hostile.html") if not status else ({}, "")
point(not status and data["models"][0]["sources"][0]["text"] == HOSTILE and
      text.count("</script>") == 2 and text.count("<script") == 2,
      "hostile text is data", err or text.count("<script"))
with open("bytes.dcl", "wb") as f:
    f.write(b"// \xff\xfe\n" + HOSTILE.replace("hostile", "bytes").encode())
status, out, err = run("report", "bytes.dcl", "-o", "bytes.html")
point(not status and "\ufffd\ufffd" in
      page_data("bytes.html")[0]["models"][0]["sources"][0]["text"],
      "what is no UTF-8", err)

# ---- the page

status, out, err = run("report", example % "resnet50", "-o", "resnet50.html")
data, text = page_data("resnet50.html")
point(not status and len(text) < 2e6 and "@DATA@" not in text and
      "//cdn" not in text and not re.search(r'(src|href)=', text),
      "resnet50 within 2 MB, and nothing from elsewhere", len(text))
point(all("__global__" in k["cuda"] for k in data["models"][0]["kernels"]),
      "each kernel with its text")
n = len(data["models"][0]["run"])
with open("steps.txt", "w") as f:
    for i in range(n):
        f.write(f"step {i:4} {i + 0.25:9.2f} us  kernel\n")
    f.write("resnet50: 1.00 us in all\n")
status, out, err = run("report", example % "resnet50", "--profile=steps.txt",
                       "-o", "timed.html")
point(not status and [l["measured_us"] for l in
                      page_data("timed.html")[0]["models"][0]["run"]] ==
      [i + 0.25 for i in range(n)], "times of a profile", err)
for name, words, want, pattern in (
        ("steps of another model",
         (example % "mlp", "--profile=steps.txt", "-o", "x.html"), 1,
         "a run of this model has"),
        ("no profile", (example % "mlp", f"--profile={example % 'mlp'}", "-o",
                        "x.html"), 1, "no step times"),
        ("no such file", (example % "mlp", "--profile=none", "-o", "x.html"), 1,
         "none"),
        ("no place", (example % "mlp",), 2, "-o REPORT.html"),
        ("a page over a profile", (example % "resnet50", "--profile=steps.txt",
                                   "-o", "steps.txt"), 2, "steps.txt"),
        ("a program with an error", ("bad.dcl", "-o", "x.html"), 1,
         "bad.dcl:1")):
    with open("bad.dcl", "w") as f:
        f.write("model bad { output y = z; }\n")
    status, out, err = run("report", *words)
    point(status == want and pattern in err and not os.path.exists("x.html"),
          name, (status, err))
point(page_data("timed.html")[0] and open("steps.txt").read(4) == "step",
      "nothing was lost")
print(f"1..{points}")
sys.exit(bad)
