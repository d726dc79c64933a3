#!/usr/bin/env python3
"""Checks the results of the ISA audit and writes its table.

usage: isa_table.py FOLDER MESA_VERSION PAGE ROWS FAMILY...

FOLDER holds kernels.tsv (`rekindle_kernel_tool list`) and for each family FAMILY.tsv (`rekindle_kernel_tool audit`). Writes the summary PAGE (Markdown), which begins with what is wrong, and ROWS (tab-separated, a
row for each kernel and case), and prints what is wrong.
Status 1 when a pipeline spills, uses scratch or more shared memory than allowed, a list is empty or a count differs
from the list's.
"""
import csv
import pathlib
import sys

GPU_NAMES = {
    "polaris10": "RX 480, 580",
    "vega10": "Vega 56, 64",
    "navi10": "RX 5700",
    "navi14": "RX 5500",
    "navi21": "RX 6800, 6900",
    "navi31": "RX 7900",
    "gfx1150": "Strix Point",
    "gfx1201": "RX 9070",
}
# Matrix units of these shapes, and with elements in quads, exist only in other vendors' GPUs. Mesa 25.0 has none for bfloat16.
NOT_ON_AMD = {"matrix_8x16x16", "matrix_8x8x16", "matrix_8x8x8", "matrix_quads", "bfloat16_units"}
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
        yield f"{family}: no pipeline was audited"
    for key in rows.keys() - registered.keys():
        yield f"{family}: {key} is not in the list of kernels"
    for (kernel, case), row in rows.items():
        for column in MUST_BE_ZERO:
            if row[column]:
                yield f"{family}: {kernel} ({case}): {column} {row[column]}"
        _, allowed, _ = registered.get((kernel, case), ("", 0, set()))
        if row["lds_bytes"] > allowed:
            yield f"{family}: {kernel} ({case}): {row['lds_bytes']} bytes of shared memory; {allowed} are allowed"


def summary(families, audited, total):
    yield "| family | GPUs | pipelines | lack a feature | spilled VGPRs | spilled SGPRs | scratch | most VGPRs | most LDS |"
    yield "|---|---|---|---|---|---|---|---|---|"
    for family in families:
        rows = audited[family].values()
        sums = [sum(row[column] for row in rows) for column in MUST_BE_ZERO]
        yield (
            f"| {family} | {GPU_NAMES.get(family, '')} | {len(rows)} | {total - len(rows)} | {sums[0]} | {sums[1]} | {sums[2]} B "
            f"| {max((row['vgprs'] for row in rows), default=0)} | {max((row['lds_bytes'] for row in rows), default=0):,} B |"
        )


def rows_of(registered, families, audited):
    """One line for each kernel and case."""
    yield "\t".join(["file", "kernel", "case", "lds_bytes", "code_bytes", *families])
    for (kernel, case), (name, _, _) in registered.items():
        found = [audited[family].get((kernel, case)) for family in families]
        lds = max((row["lds_bytes"] for row in found if row), default=0)
        code = max((row["code_bytes"] for row in found if row), default=0)
        cells = [
            f"{row['vgprs']} {row['sgprs']} {row['subgroups_per_simd']} {row['latency_cycles']}" if row else "-"
            for row in found
        ]
        yield "\t".join([name, kernel, case, str(lds), str(code), *cells])


def verdict(problems):
    if not problems:
        return ["No register is spilled and no scratch memory is used; otherwise the audit fails."]
    return ["", "The audit fails:", ""] + [f"* {problem}" for problem in problems]


def page(registered, families, audited, version, problems, rows_file):
    yield "# Machine code of the kernels"
    yield ""
    yield (
        f"Made by `./scripts/isa-audit` with RADV of Mesa {version}, which compiles for GPUs that are not present\n"
        "(`RADV_FORCE_FAMILY`): every kernel with every set of specialization constants that the host can select, for each\n"
        "family of AMD GPUs."
    )
    yield from verdict(problems)
    yield ""
    yield from summary(families, audited, len(registered))
    yield ""
    yield (
        f"[{rows_file}]({rows_file}) has a row for each kernel and case. Its columns after the most bytes of shared memory (LDS)\n"
        "and code on any family are, for each family, VGPRs, SGPRs, subgroups that fit on a SIMD at the same time, and the\n"
        "compiler's estimate of the latency of one pass in cycles. -: the family lacks a feature that the kernel needs\n"
        "([reference/kernels.md](reference/kernels.md))."
    )


def main(folder, version, page_file, rows_file, *families):
    folder, page_file, rows_file = map(pathlib.Path, (folder, page_file, rows_file))
    lines = [line.split("\t") for line in (folder / "kernels.tsv").read_text().splitlines()]
    registered = {(kernel, case): (name, int(shared), set(needs.split(", "))) for name, kernel, case, shared, needs in lines}
    audited = {family: read_rows(folder / f"{family}.tsv") for family in families}
    problems = [p for family in families for p in problems_of(family, audited[family], registered)]
    if not registered:
        problems.append("the list of kernels is empty")
    everywhere = set().union(*(rows.keys() for rows in audited.values()))
    for (kernel, case), (_, _, needs) in registered.items():
        if (kernel, case) not in everywhere and not needs & NOT_ON_AMD:
            problems.append(f"{kernel} ({case}): not audited for any family")
    relative = rows_file.relative_to(page_file.parent)
    page_file.write_text("\n".join(page(registered, families, audited, version, problems, relative)) + "\n")
    rows_file.write_text("\n".join(rows_of(registered, families, audited)) + "\n")
    for problem in problems:
        print(f"FAILED: {problem}")
    rows = sum(map(len, audited.values()))
    print(f"Audited {rows} pipelines of {len(registered)} kernels and cases for {len(families)} families; problems: {len(problems)}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
