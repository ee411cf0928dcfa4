#!/usr/bin/env python3
"""Registers of products that are under way, in what ptxas made of a kernel.

    tests/sass.py kernel.cubin...       # needs cuobjdump

wgmma reads factors from registers, and adds to registers, until a wait says
that it is done; PTX leaves it to ptxas to keep them. nvcc 13 does, but not
around a loop: where the wait comes in the next turn, it takes the registers of
factors for free, and what was put there is multiplied, now and then. So every
way through the machine code from each HGMMA to its wait is followed, and an
instruction that writes to its registers is a fault. Exit status 1 if there is
one, 3 without cuobjdump.
"""
import re
import shutil
import subprocess
import sys

# what writes no register, or others than its first operand's
WRITES_NONE = ("ST", "RED", "BRA", "BAR", "EXIT", "SYNCS", "UTMA", "BSSY",
               "BSYNC", "CCTL", "MEMBAR", "WARP", "DEPBAR", "NOP", "UBLK",
               "RET", "CALL", "R2UR", "R2P", "YIELD", "NANOSLEEP", "PREEXIT",
               "ACQBULK", "FENCE", "ERRBAR", "UCGABAR", "ENDCOLLECTIVE")


def functions(text):
    """(name, [(address, instruction)]) of each"""
    for part in re.split(r"^\s*Function : ", text, flags=re.M)[1:]:
        name, _, rest = part.partition("\n")
        yield name.strip(), [
            (int(at, 16), code.strip()) for at, code in
            re.findall(r"^\s+/\*([0-9a-f]{4,})\*/\s+(.*?);", rest, re.M)]


def read(code):
    """(predicate, operation, operands)"""
    m = re.match(r"(@!?U?P\w+\s+)?(\S+)\s*(.*)", code)
    operands = re.split(r",\s*(?![^\[]*\])", m.group(3)) if m.group(3) else []
    return (m.group(1) or "").strip(), m.group(2), operands


def registers(operand, n):
    m = re.match(r"R(\d+)", operand)
    return set(range(int(m.group(1)), int(m.group(1)) + n)) if m else set()


def written(op, operands):
    """The registers that it writes to."""
    base = op.split(".")[0]
    if base.startswith(WRITES_NONE):
        return set()
    n = 1
    if base in ("LDG", "LDS", "LDL", "LD", "ATOM", "ATOMG", "ATOMS", "LDC"):
        n = 4 if ".128" in op else 2 if ".64" in op else 1
    elif base == "LDSM":
        n = int(op[-1]) if op[-1].isdigit() else 1
    elif base == "HMMA":
        n = 4 if ".F32" in op else 2
    elif (base == "CS2R" and ".32" not in op) or ".WIDE" in op or \
            base.startswith("D"):
        n = 2
    for operand in operands[:2]:        # SHFL P0, R3, ...; IADD3 P1, R4, ...
        if operand.startswith("R"):
            return registers(operand, n)
        if not re.match(r"U?PT?\d*$", operand):
            break
    return set()


def of_product(op, operands):
    """The registers that one reads a from, if it does, and those it adds to."""
    columns = int(re.search(r"64x(\d+)x", op).group(1))
    return frozenset(registers(operands[1], 4) |
                     registers(operands[0], columns // 2))


def after(state, op, operands):
    """The registers of products under way: of groups, oldest first, the last
    one open or not (gsb0 shuts it)."""
    if "GMMA" in op:
        shut = any("gsb0" in o for o in operands)
        groups, is_open = state
        regs = of_product(op, operands)
        if is_open:
            groups = groups[:-1] + (groups[-1] | regs,)
        else:
            groups = groups + (regs,)
        return groups[-4:], not shut
    if op.startswith("WARPGROUP.DEPBAR"):
        keep = int(operands[-1], 16)
        return (state[0][-keep:] if keep else ()), False
    return state


def faults(body):
    """(address, instruction, registers) of each write to what is being read."""
    at = {address: i for i, (address, _) in enumerate(body)}
    code = [read(c) for _, c in body]
    meet = {}                           # where a BSYNC goes on
    for _, op, operands in code:
        if op.startswith("BSSY"):
            meet.setdefault(operands[0], set()).add(int(operands[1], 16))
    found, seen, todo = {}, set(), [(0, ((), False))]
    while todo:
        i, state = todo.pop()
        while i < len(body) and (i, state) not in seen:
            seen.add((i, state))
            predicate, op, operands = code[i]
            changed = written(op, operands) if "GMMA" not in op else set()
            for group in state[0]:
                if changed & group:
                    found[body[i][0]] = (body[i][1], changed & group)
            state = after(state, op, operands)
            if op.startswith("EXIT") and not predicate:
                break
            if op.startswith("BSYNC") and operands[0] in meet:
                todo += [(at[to], state) for to in meet[operands[0]]]
                if not predicate:
                    break
            if op.startswith("BRA"):
                to = at.get(int(operands[-1].strip("`()"), 16))
                if predicate or len(operands) > 1:
                    todo.append((to, state))
                elif to == i:
                    break
                else:
                    i = to
                    continue
            i += 1
    return [(a, c, sorted(r)) for a, (c, r) in sorted(found.items())]


def dump(path):
    """The machine code of a cubin, or None without cuobjdump."""
    tool = shutil.which("cuobjdump")
    if not tool:
        return None
    return subprocess.run([tool, "-sass", path], capture_output=True,
                          text=True, check=True).stdout


def kernels(path):
    """{kernel: what is wrong, a line} of those with products; None: no tool"""
    text = dump(path)
    if text is None:
        return None
    result = {}
    for name, body in functions(text):
        if any("GMMA" in c for _, c in body):
            bad = faults(body)
            result[name] = bad and (
                f"{len(bad)} writes to registers that products read, the first "
                f"at {bad[0][0]:#x}: {bad[0][1]}")
    return result


def main():
    status = 0
    for path in sys.argv[1:]:
        found = kernels(path)
        if found is None:
            print("no cuobjdump: skipped")
            return 3
        for name, fault in found.items():
            print(f"{name}: {fault or 'right'}")
            status |= bool(fault)
    return status


if __name__ == "__main__":
    sys.exit(main())
