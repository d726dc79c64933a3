#!/usr/bin/env python3
"""Judges what the ISA audit found and writes its table.

usage: isa_table.py FOLDER MESA_VERSION TABLE FAMILY...

FOLDER holds kernels.tsv (every family, kernel and case of the registry and the shared memory that it may use),
registry.txt (the kernels' names as registry.def has them) and for each family FAMILY.tsv, the rows of
`rekindle_kernel_tool audit`. Writes TABLE (Markdown) and prints what is wrong, which the table then begins with.
Status 1 when a pipeline spills, uses scratch or more shared memory than it may, a list is empty or a count differs from
the registry's.
"""
import csv
import pathlib
import sys

CARDS = {
    "polaris10": "RX 480, 580",
    "vega10": "Vega 56, 64",
    "navi10": "RX 5700",
    "navi14": "RX 5500",
    "navi21": "RX 6800, 6900",
    "navi31": "RX 7900",
    "gfx1150": "Strix Point",
    "gfx1201": "RX 9070",
}
MUST_BE_ZERO = ("spilled_vgprs", "spilled_sgprs", "scratch_bytes")


def read_rows(file):
    with open(file, newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE))
    return {
        (row["kernel"], row["case"]): {k: int(v) for k, v in row.items() if k not in ("kernel", "case")}
        for row in rows
    }


def problems_of(family, rows, registered):
    if not rows:
        yield f"{family}: not one pipeline was audited"
    for key in rows.keys() - registered.keys():
        yield f"{family}: {key} is not in the registry"
    for (kernel, case), row in rows.items():
        for column in MUST_BE_ZERO:
            if row[column]:
                yield f"{family}: {kernel} ({case}): {column} {row[column]}"
        _, allowed = registered.get((kernel, case), ("", 0))
        if row["lds_bytes"] > allowed:
            yield f"{family}: {kernel} ({case}): {row['lds_bytes']} bytes of shared memory; its needs allow {allowed}"


def summary(families, audited, total):
    yield "| family | cards | pipelines | lack a feature | spilled VGPRs | spilled SGPRs | scratch | most VGPRs | most LDS |"
    yield "|---|---|---|---|---|---|---|---|---|"
    for family in families:
        rows = audited[family].values()
        sums = [sum(row[column] for row in rows) for column in MUST_BE_ZERO]
        yield (
            f"| {family} | {CARDS.get(family, '')} | {len(rows)} | {total - len(rows)} | {sums[0]} | {sums[1]} | {sums[2]} B "
            f"| {max((row['vgprs'] for row in rows), default=0)} | {max((row['lds_bytes'] for row in rows), default=0):,} B |"
        )


def family_table(name, keys, families, audited):
    """The kernels of one Slang file."""
    yield f"\n## kernels/{name}.slang\n"
    yield "| kernel | case | LDS | code | " + " | ".join(families) + " |"
    yield "|---|---|---|---|" + "---|" * len(families)
    for kernel, case in keys:
        found = [audited[family].get((kernel, case)) for family in families]
        lds = max((row["lds_bytes"] for row in found if row), default=0)
        code = max((row["code_bytes"] for row in found if row), default=0)
        cells = [
            f"{row['vgprs']} · {row['sgprs']} · {row['subgroups_per_simd']} · {row['latency_cycles']}" if row else "–"
            for row in found
        ]
        yield f"| {kernel} | {case} | {lds} | {code} | " + " | ".join(cells) + " |"


def verdict(problems):
    if not problems:
        return ["No register is spilled and no scratch memory is used; the audit fails otherwise."]
    return ["", "The audit fails:", ""] + [f"* {problem}" for problem in problems]


def table(registered, families, audited, version, problems):
    yield "# Machine code of the kernels"
    yield ""
    yield (
        f"Made by `./scripts/isa-audit` with RADV of Mesa {version} for cards that are not there (`RADV_FORCE_FAMILY`):\n"
        "every kernel with every set of specialization constants that selection can pick, compiled for each family of AMD\n"
        "cards."
    )
    yield from verdict(problems)
    yield ""
    yield from summary(families, audited, len(registered))
    yield ""
    yield (
        "Below, for each family: VGPRs · SGPRs · subgroups that fit on a SIMD at once · latency of one pass in cycles, as\n"
        "the compiler estimates it. LDS and code are the most bytes on any family. –: the family lacks a feature that the\n"
        "kernel needs ([kernels.md](kernels.md))."
    )
    names = dict.fromkeys(name for name, _ in registered.values())
    for name in names:
        yield from family_table(name, [key for key in registered if registered[key][0] == name], families, audited)


def main(folder, version, output, *families):
    folder = pathlib.Path(folder)
    lines = [line.split("\t") for line in (folder / "kernels.tsv").read_text().splitlines()]
    registered = {(kernel, case): (name, int(shared)) for name, kernel, case, shared in lines}
    audited = {family: read_rows(folder / f"{family}.tsv") for family in families}
    problems = [p for family in families for p in problems_of(family, audited[family], registered)]
    if not registered:
        problems.append("the registry is empty")
    everywhere = set().union(*(rows.keys() for rows in audited.values()))
    for kernel, case in registered:
        if (kernel, case) not in everywhere:
            problems.append(f"{kernel} ({case}): audited for no family")
    named = (folder / "registry.txt").read_text().split()
    if sorted(named) != sorted({kernel for kernel, _ in registered}):
        problems.append(f"registry.def names {len(named)} kernels, the program has others")
    pathlib.Path(output).write_text("\n".join(table(registered, families, audited, version, problems)) + "\n")
    for problem in problems:
        print(f"FAILED: {problem}")
    rows = sum(map(len, audited.values()))
    print(f"{rows} pipelines of {len(registered)} kernels and cases audited for {len(families)} families, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
