#!/usr/bin/env python3
"""Computes the share of a GPU's rate that each pipeline can reach at most, from the machine code that RADV compiles.

usage: isa_model.py FAMILY SHARES

Reads what `rekindle_kernel_tool audit` writes to standard error with RADV_DEBUG=asm: the disassembly of each pipeline,
followed by its line "compiled<TAB>kernel<TAB>case<TAB>lanes". Writes the other lines to standard output, and to SHARES a row
for each pipeline: kernel, case, lanes of a subgroup, share, around, the limiting unit, the most frequent operations.

share: of the innermost loop with the most multiplications, the cycles that the multiplications need at least, divided by
those that all instructions of the busiest unit need. around: the same for the outermost loop that contains it. Inner loops
count as often as they run where both their bounds are constants in the machine code, otherwise once; so "around" is too low
where a loop of the second kind runs often. Both are bounds: latency, caches, global memory, bank conflicts, clocks, and the
issue of scalar instructions are not part of the model. It compares two versions of a kernel; it does not predict times.
"""
import collections
import pathlib
import re
import sys

from isa_rates import FAMILIES, Cost, cost_of, is_matrix_product, is_packed_product, operation_of

COLUMNS = ("kernel", "case", "lanes", "share", "around", "limit", "operations")
NO_LOOP = "-"
INVALID = "v_invalid"  # a word that the disassembler does not know; counts as a vector instruction


def blocks_of(disassembly):
    """(name, instructions) of each basic block, in their order in memory."""
    blocks = []
    for line in disassembly:
        if head := re.match(r"(BB\d+):", line):
            blocks.append((head.group(1), []))
        elif line.startswith("\t") and blocks:
            blocks[-1][1].append(line.split(";")[0].strip())
    return blocks


class Loop:
    """The blocks from `first` to `last`, which ends with a jump to `first`, and the loops that they contain."""

    def __init__(self, first, last):
        self.first, self.last = first, last
        self.inner = []

    def contains(self, other):
        return self is not other and self.first <= other.first and other.last <= self.last


def loops_of(blocks):
    """The outermost loops, with what they contain."""
    index = {name: i for i, (name, _) in enumerate(blocks)}
    ends = {}
    for i, (_, instructions) in enumerate(blocks):
        for instruction in instructions:
            target = re.match(r"s_c?branch\w*\s+(BB\d+)", instruction)
            if target and index.get(target.group(1), i + 1) <= i:
                ends[index[target.group(1)]] = i
    # A compiler may place the block that repeats a loop in the middle of the loop's body, where an inner loop starts. The ranges of
    # the two then overlap. A loop that starts in another one is nested in it, so the outer range is extended to the inner one's end.
    for first in sorted(ends, reverse=True):
        for start in sorted(ends):
            if first < start <= ends[first]:
                ends[first] = max(ends[first], ends[start])
    outermost, open_loops = [], []
    for first, last in sorted(ends.items(), key=lambda span: (span[0], -span[1])):
        loop = Loop(first, last)
        while open_loops and not open_loops[-1].contains(loop):
            open_loops.pop()
        (open_loops[-1].inner if open_loops else outermost).append(loop)
        open_loops.append(loop)
    return outermost


def _number(text):
    try:
        return int(text, 0)
    except ValueError:
        return None


def _first_value(blocks, loop, register):
    """The constant that the last block before the loop moves to a register, or None."""
    if loop.first == 0:
        return None
    for instruction in reversed(blocks[loop.first - 1][1]):
        operation, _, operands = instruction.partition(" ")
        parts = [part.strip() for part in operands.split(",")]
        if parts[0] == register:
            return _number(parts[1]) if operation in ("s_mov_b32", "s_movk_i32") else None
    return None


def runs_of(blocks, loop):
    """How often a loop runs if a scalar counts from one constant to another by a third; otherwise 1."""
    body = [instruction for _, instructions in blocks[loop.first : loop.last + 1] for instruction in instructions]
    for instruction in body:
        compared = re.match(r"s_cmp(?:k)?_(?:ge|lt)_[ui]32\s+(s\d+), (\w+)$", instruction)
        limit = _number(compared.group(2)) if compared else None
        if limit is None:
            continue
        register = compared.group(1)
        steps = [re.match(rf"s_(?:add_u32|add_i32|add_co_u32|add_co_i32)\s+{register}, {register}, (\w+)$", x) for x in body]
        steps += [re.match(rf"s_add(?:k_i32|k_co_i32)\s+{register}, (\w+)$", x) for x in body]
        constants = [_number(step.group(1)) for step in steps if step]
        first = _first_value(blocks, loop, register)
        if len(constants) == 1 and constants[0] and first is not None and constants[0] > 0 and limit > first:
            return -(-(limit - first) // constants[0])
    return 1


def cost_of_loop(blocks, loop, lanes, rates):
    """Of one iteration, with the inner loops as often as they run."""
    total = Cost()
    inside = set()
    for inner in loop.inner:
        inside.update(range(inner.first, inner.last + 1))
        total.add(cost_of_loop(blocks, inner, lanes, rates), runs_of(blocks, inner))
    own = [x for i in range(loop.first, loop.last + 1) if i not in inside for x in blocks[i][1]]
    on_units = any(is_matrix_product(operation_of(x)) for x in own)
    packed = not on_units and any(operation_of(x) == "v_pk_fma_f16" for x in own)
    for instruction in own:
        operation = operation_of(instruction)
        cost = cost_of(instruction, lanes, rates)
        # In a loop with matrix products, other multiplications scale or convert numbers; in one with packed products, they add
        # float16 sums to float32. Neither counts.
        if packed:
            cost.ideal = cost.alu if is_packed_product(operation) else 0.0
        elif on_units and not is_matrix_product(operation):
            cost.ideal = 0.0
        total.add(cost)
    return total


def innermost(loops):
    """(loop, the outermost loop that contains it) of the loops without inner loops."""
    for outer in loops:
        stack = [outer]
        while stack:
            loop = stack.pop()
            if not loop.inner:
                yield loop, outer
            stack += loop.inner


def shares_of(disassembly, lanes, rates):
    """(share, around, limit, operations) as text; "-" where no loop multiplies."""
    blocks = blocks_of(disassembly)
    candidates = [(cost_of_loop(blocks, loop, lanes, rates), loop, outer) for loop, outer in innermost(loops_of(blocks))]
    cost, loop, outer = max(candidates, key=lambda one: one[0].ideal, default=(Cost(), None, None))
    if not cost.ideal:
        return (NO_LOOP,) * 4
    around = cost_of_loop(blocks, outer, lanes, rates)
    counts = collections.Counter(operation_of(x) for _, instructions in blocks[loop.first : loop.last + 1] for x in instructions)
    busiest = ", ".join(f"{count} {name}" for name, count in counts.most_common(8) if name[:2] in ("v_", "ds"))
    return f"{cost.share():.2f}", f"{around.share():.2f}", cost.limit()[1], busiest


def rows_of(stream, family, other):
    """Rows of COLUMNS, one for each pipeline. other: receives the lines that are not disassembly."""
    disassembly, inside = [], False
    for line in stream:
        line = line.rstrip("\n")
        if line.startswith("compiled\t"):
            _, kernel, case, lanes = line.split("\t")
            if not blocks_of(disassembly):
                raise SystemExit(f"{family}: {kernel} ({case}): the driver printed no machine code that it can disassemble")
            yield kernel, case, lanes, *shares_of(disassembly, int(lanes), FAMILIES[family])
            disassembly, inside = [], False
        elif line == "disasm:":
            disassembly, inside = [], True
        elif inside and (line.startswith(("\t", "BB"))):
            disassembly.append(line)
        elif inside and line.startswith("(invalid instruction)"):  # newer than the disassembler
            disassembly.append("\t" + INVALID)
        elif line and line != "Compute Shader":
            inside = False
            other.write(line + "\n")


def main(family, shares):
    with pathlib.Path(shares).open("w", encoding="utf-8") as out:
        out.write("\t".join(COLUMNS) + "\n")
        for row in rows_of(sys.stdin, family, sys.stdout):
            out.write("\t".join(row) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
