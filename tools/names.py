#!/usr/bin/env python3
"""Writes compiler/emit/words.txt: names that emitted text must not give to a
user's tensors, indices and models, from the compilers' own headers.

    tools/names.py              writes the list
    tools/names.py --compare    exits 1 and prints what the headers here have
                                and the list has not; 77 where the headers are
                                of other versions than the list's

Three sections: keywords of C and C++; macros, which no identifier in a text
that includes the headers can be called; globals, which only what is itself
global (a model) must avoid: functions, types, enumerators of the headers,
and what libc and libm export.  Names that begin like the toolkit's or the
runtime's (names.c has the beginnings) are left out.
Needs gcc, g++, nm and the CUDA toolkit's headers (CUDA_HOME)."""

import os
import re
import subprocess
import sys

top = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
runtime = os.path.join(top, "runtime")
target = os.path.join(top, "compiler/emit/words.txt")
cuda = os.path.join(os.environ.get("CUDA_HOME", "/usr/local/cuda"), "include")

C_HEADERS = """assert ctype errno fcntl fenv float inttypes iso646 limits
locale math pthread setjmp signal stdalign stdarg stdatomic stdbool stddef
stdint stdio stdlib stdnoreturn string strings sys/mman sys/stat sys/time
sys/types threads time uchar ucontext unistd wchar wctype""".split()

KEYWORDS = """
alignas alignof and and_eq asm atomic_cancel atomic_commit atomic_noexcept auto
bitand bitor bool break case catch char char8_t char16_t char32_t class co_await
co_return co_yield compl concept const const_cast consteval constexpr constinit
continue decltype default delete do double dynamic_cast else enum explicit
export extern false final float for friend goto if import inline int long
module mutable namespace new noexcept not not_eq nullptr operator or or_eq
override private protected public reflexpr register reinterpret_cast requires
restrict return short signed sizeof static static_assert static_cast struct
switch synchronized template this thread_local throw transaction_safe
transaction_safe_dynamic true try typedef typeid typename typeof typeof_unqual
union unsigned using virtual void volatile wchar_t while xor xor_eq
fortran half main near far interface
threadIdx blockIdx blockDim gridDim warpSize
""".split()

# as is_theirs() of names.c
THEIRS = re.compile(r"_|dcc_|DCC_|cuda|CUDA|cu[A-Z]|CU|Rt[A-Z]|rt_|nv_|"
                    r"NV_|omp_|emu_|Emu|pthread_|PTHREAD_|atomic_|ATOMIC_")
IDENT = re.compile(r"[A-Za-z_]\w*")


def sources():
    """(language, flags, text) of each translation unit to look at."""
    c = "".join("#include <%s.h>\n" % h for h in C_HEADERS)
    own = "".join('#include "%s"\n' % f for f in sorted(os.listdir(runtime))
                  if f.endswith(".h")
                  and not f.startswith(("ref", "dcc_ref")))
    cu = own + '#include "dcc_device.cuh"\n#include "dcc_wgmma.cuh"\n'
    gpu = ["-std=gnu++17", "-I" + cuda, "-I" + runtime, "-include",
           "cuda_runtime.h", "-D__CUDACC__", "-D__CUDA_ARCH__=900",
           "-D__CUDACC_VER_MAJOR__=12", "-D__CUDACC_VER_MINOR__=4"]
    emu = ["-std=gnu++17", "-I" + os.path.join(runtime, "emu"), "-I" + runtime]
    return [("c", ["-std=gnu11", "-D_GNU_SOURCE"], c),
            ("c", ["-std=gnu11", "-I" + runtime],
             '#include "dcc_ref.h"\n#include "ref_main.h"\n'),
            ("c++", emu, cu), ("c++", gpu, "#include <cuda.h>\n" + cu)]


def preprocess(language, flags, text, *more):
    return subprocess.run(
        ["gcc", "-E", "-P", "-x", language, *flags, *more, "-"], input=text,
        capture_output=True, text=True, check=True).stdout


def macros(text):
    return {line.split()[1].split("(")[0] for line in text.splitlines()
            if line.startswith("#define ")}


def globals_of(text):
    """Identifiers at file scope, and enumerators; C++ namespaces are not."""
    text = re.sub(r'"(\\.|[^"\\])*"|\'(\\.|[^\'\\])*\'', '""', text)
    text = re.sub(r"\btemplate\s*<[^{;]*?>\s*(?=[A-Za-z_])", "", text)
    text = re.sub(r"\b(dcc_\w+)\s*<[^;{}()]*?>", r"\1", text)
    found, depth, parens, open_enum, head = set(), 0, 0, False, []
    for token in re.findall(r'[A-Za-z_]\w*|""|[^\s\w]', text):
        if token == "{":
            if depth == 0 and head[-2:] == ["extern", '""']:
                head = []
                continue
            if depth == 0:
                open_enum = "enum" in head
            depth += 1
        elif token == "}":
            depth = max(depth - 1, 0)
            open_enum = open_enum and depth > 0
            head = [] if depth == 0 and "typedef" not in head else head
        elif token == "(":
            parens += 1
        elif token == ")":
            parens = max(parens - 1, 0)
        elif depth == 0 and parens == 0:
            head = [] if token == ";" else head + [token]
            if IDENT.match(token):
                found.add(token)
        elif open_enum and IDENT.match(token):
            found.add(token)
    return found


def exported():
    out = set()
    for name in ("libc.so.6", "libm.so.6"):
        path = subprocess.run(["gcc", "-print-file-name=" + name],
                              capture_output=True, text=True,
                              check=True).stdout.strip()
        listed = subprocess.run(["nm", "-D", "--defined-only", path],
                                capture_output=True, text=True, check=True)
        out |= {line.split()[-1].split("@")[0]
                for line in listed.stdout.splitlines()}
    return {w for w in out if IDENT.fullmatch(w)}


def versions():
    gcc = subprocess.run(["gcc", "-dumpfullversion"], capture_output=True,
                         text=True, check=True).stdout.strip()
    libc = os.confstr("CS_GNU_LIBC_VERSION")
    with open(os.path.join(cuda, "cuda_runtime_api.h")) as f:
        toolkit = re.search(r"CUDART_VERSION +(\d+)", f.read()).group(1)
    return "# gcc %s, %s, CUDA %s" % (gcc, libc, toolkit)


def collect():
    keywords, words, names = set(KEYWORDS), set(), exported()
    for language, flags, text in sources():
        words |= macros(preprocess(language, flags, text, "-dM"))
        names |= globals_of(preprocess(language, flags, text))

    def ours(s):
        return {w for w in s if not THEIRS.match(w)}
    words = ours(words) - keywords
    return [("keywords", keywords), ("macros", words),
            ("globals", ours(names) - keywords - words)]


def section_text(name, words):
    lines, line = ["# " + name], ""
    for w in sorted(words):
        if len(line) + len(w) + 1 > 78:
            lines.append(line)
            line = ""
        line += (" " if line else "") + w
    return lines + [line]


def main():
    lines = ["# Made by tools/names.py from the headers of", versions()]
    sections = collect()
    if sys.argv[1:] == ["--compare"]:
        with open(target) as f:
            kept = f.read()
        if versions() not in kept.splitlines():
            print("the headers here are not those of the list")
            return 77
        have = set(kept.split())
        missing = [w for _, s in sections for w in sorted(s) if w not in have]
        print("\n".join(missing) or "the list has every name")
        return 1 if missing else 0
    for name, words in sections:
        lines += section_text(name, words)
    with open(target, "w") as f:
        f.write("\n".join(lines) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
