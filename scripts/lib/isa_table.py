#!/usr/bin/env python3
"""Checks the results of the ISA audit and writes its table.

usage: isa_table.py FOLDER PAGE ROWS FAMILY=MESA_VERSION...

FOLDER holds kernels.tsv (`rekindle_kernel_tool list`), changed.tsv (isa_changed.py), and for each family FAMILY.tsv
(`rekindle_kernel_tool audit` of the pipelines in changed.tsv) and FAMILY.shares.tsv (isa_model.py). Writes the summary PAGE
(Markdown), which begins with what is wrong, and ROWS (tab-separated, a row for each kernel and case), and prints what is
wrong. Keeps the rows of ROWS for pipelines that are not in changed.tsv. If something is wrong, or FOLDER has a file
FAMILY.failed, the new rows get no digest, so that the next audit compiles these pipelines again.
Status 1 when a pipeline spills (but see SCALARS_IN_LANES), uses scratch or more shared memory than allowed, a list is empty or
a count differs from the list's.
"""
import pathlib
import sys

from isa_pipelines import MODEL_FAMILIES, PIPELINES
from isa_rows import SHARE_COLUMNS, kept_rows, read_kernels, read_lines, write_rows

GPU_NAMES = {
    "polaris10": "RX 480, 580",
    "vega10": "Vega 56, 64",
    "navi10": "RX 5700",
    "navi14": "RX 5500",
    "navi21": "RX 6800, 6900",
    "navi31": "RX 7900",
    "navi31-newest": "RX 7900",
    "gfx1150": "Strix Point",
    "gfx1201": "RX 9070",
}
# Features that no AMD GPU has: other shapes of matrix units than 16x16x16, and the layout matrix_quads of their fragments.
NOT_ON_AMD = {"matrix_8x16x16", "matrix_8x8x16", "matrix_8x8x8", "matrix_quads"}
MUST_BE_ZERO = ("spilled_vgprs", "spilled_sgprs", "scratch_bytes")
# Mesa 26 hoists invariants out of loops, so it needs more scalar registers. If there are too few, it keeps scalars in the lanes of a
# vector register, which takes one instruction to store and one to load, and no memory. A register with 32 lanes holds this many.
SCALARS_IN_LANES = 32
FIRST_WITH_LANES = 26


def read_table(file):
    return {(row["kernel"], row["case"]): {k: v for k, v in row.items() if k not in ("kernel", "case")} for row in read_lines(file)}


def read_compiled(folder, family):
    """Returns what the driver reports, as numbers."""
    return {key: {k: int(v) for k, v in row.items()} for key, row in read_table(folder / f"{family}.tsv").items()}


def add_shares(rows, folder, family):
    """Adds the model's columns as text. They are None for pipelines that the page does not show."""
    modeled = folder / f"{family}.shares.tsv"
    shares = read_table(modeled) if modeled.exists() else {}
    for key, row in rows.items():
        row.update({column: shares.get(key, {}).get(column) for column in SHARE_COLUMNS})
    return rows


def spills_of(row, version):
    """Returns what the pipeline spills, such as ["spilled_vgprs 3"]. Scalars that this version of Mesa keeps in lanes do not count."""
    allowed = SCALARS_IN_LANES if int(version.split(".")[0]) >= FIRST_WITH_LANES else 0
    return [f"{column} {row[column]}" for column in MUST_BE_ZERO if row[column] > (allowed if column == "spilled_sgprs" else 0)]


def problems_of(family, version, rows, registered):
    if not rows:
        yield f"{family}: no pipeline was audited"
    for key in rows.keys() - registered.keys():
        yield f"{family}: {key} is not in the list of kernels"
    for (kernel, case), row in rows.items():
        for spill in spills_of(row, version):
            yield f"{family}: {kernel} ({case}): {spill}"
        if not row["share"] and family in MODEL_FAMILIES and (kernel, case) in PIPELINES:
            yield f"{family}: {kernel} ({case}): the model has no row for it"
        registration = registered.get((kernel, case))
        if registration and row["lds_bytes"] > registration.shared_bytes:
            yield (
                f"{family}: {kernel} ({case}): {row['lds_bytes']} bytes of shared memory; "
                f"{registration.shared_bytes} are allowed"
            )


def summary(families, audited, total):
    yield "| family | GPUs | Mesa | pipelines | lack a feature | spilled VGPRs | spilled SGPRs | scratch | most VGPRs | most LDS |"
    yield "|---|---|---|---|---|---|---|---|---|---|"
    for family, version in families.items():
        rows = audited[family].values()
        sums = [sum(row[column] for row in rows) for column in MUST_BE_ZERO]
        yield (
            f"| {family} | {GPU_NAMES.get(family, '')} | {version} | {len(rows)} | {total - len(rows)} | {sums[0]} | {sums[1]} | {sums[2]} B "
            f"| {max((row['vgprs'] for row in rows), default=0)} | {max((row['lds_bytes'] for row in rows), default=0):,} B |"
        )


def verdict(problems):
    if not problems:
        return [
            "",
            "The audit fails if a vector register is spilled or scratch memory is used. It allows Mesa 26 to keep up to "
            f"{SCALARS_IN_LANES} scalars\nof a pipeline in the lanes of a vector register (spilled SGPRs below).",
        ]
    return ["", "The audit fails:", ""] + [f"* {problem}" for problem in problems]


def model_cell(row):
    if not row:
        return "-"
    if row["limit"] == "-":
        return f"no loop of products; {row['lanes']} × {row['subgroups_per_simd']}"
    return f"**{row['share']}** {row['around']} {row['limit']}, {row['lanes']} × {row['subgroups_per_simd']}"


def model_table(audited):
    families = [family for family in MODEL_FAMILIES if family in audited]
    yield "| pipeline | " + " | ".join(families) + " |"
    yield "|---|" + "---|" * len(families)
    for kernel, case in PIPELINES:
        cells = [model_cell(audited[family].get((kernel, case))) for family in families]
        yield f"| {kernel} ({case}) | " + " | ".join(cells) + " |"


def page(registered, families, audited, problems, rows_file):
    yield "# Machine code of the kernels"
    yield ""
    yield (
        "Made by `./scripts/isa-audit`. Mesa's RADV compiles every kernel, with every set of specialization constants that the host can\n"
        "select, for each family of AMD GPUs, none of which is present: Mesa 25 with `RADV_FORCE_FAMILY`, Mesa 26 with a library of its own\n"
        "that replaces the kernel driver. Mesa 26 is used for gfx1201, because older versions do not support that family's matrix units, and\n"
        "for navi31 once more (navi31-newest), because distributions ship it by now."
    )
    yield from verdict(problems)
    yield ""
    yield from summary(families, audited, len(registered))
    yield ""
    yield (
        f"[{rows_file}]({rows_file}) has a row for each kernel and case. The digest identifies the SPIR-V that drivers receive. The\n"
        "columns after the most bytes of shared memory (LDS) and code on any family are, for each family, VGPRs, SGPRs (with + those in\n"
        "lanes), subgroups that fit on a SIMD at the same time, the compiler's estimate of the latency of one pass in cycles, and for the\n"
        "pipelines in the table below also the lanes of a subgroup and the model's share, share with what surrounds the loop, and\n"
        "limit. -: the family lacks a feature that the kernel needs\n"
        "([reference/kernels.md](reference/kernels.md)), its subgroups have 64 lanes and the case is divided (products of populations\n"
        "whose tiles several threads share, which the host chooses for subgroups of 32), or, in the last three, no loop multiplies."
    )
    yield ""
    yield "## How fast they can be at most"
    yield ""
    yield (
        "scripts/lib/isa_model.py computes from the machine code, for the innermost loop with the most multiplications, the **share**\n"
        "of the card's rate that it can reach at most: the cycles that its multiplications need (only those of the matrix units, if the\n"
        "loop uses them), divided by the cycles that all its instructions need on the busiest unit. The second number is the share of\n"
        "the outermost loop around it. Inner loops count as often as they run where their bounds are constants, otherwise once. Then\n"
        "follow the busiest unit (alu: vector instructions; lds: shared memory; transcendental) and the lanes of a subgroup × the\n"
        "subgroups that fit on a SIMD (occupancy). The rates and their sources are in scripts/lib/isa_rates.py. Packed products\n"
        "(float16 sums) are compared with their own rate, twice float32's. Latency, caches, global memory, bank conflicts and clocks\n"
        "are not part of the model: it is an upper bound that finds what cannot be fast, and no measurement. `./scripts/isa-audit\n"
        "--only PATTERN --family navi31` prints the shares of some pipelines, with the operations of their loops."
    )
    yield ""
    yield from model_table(audited)


def audited_rows(folder, family, version, rows_file, registered):
    """Returns the new rows of the changed pipelines, and the previous table's rows of the others."""
    changed = set(read_table(folder / "changed.tsv"))
    kept = kept_rows(rows_file, family, version, registered)
    rows = {key: row for key, row in kept.items() if key not in changed} | read_compiled(folder, family)
    return add_shares(rows, folder, family)


def main(folder, page_file, rows_file, *families):
    folder, page_file, rows_file = map(pathlib.Path, (folder, page_file, rows_file))
    families = dict(family.split("=") for family in families)
    registered = read_kernels(folder / "kernels.tsv")
    audited = {family: audited_rows(folder, family, version, rows_file, registered) for family, version in families.items()}
    problems = [p for family, version in families.items() for p in problems_of(family, version, audited[family], registered)]
    if not registered:
        problems.append("the list of kernels is empty")
    everywhere = set().union(*(rows.keys() for rows in audited.values()))
    for (kernel, case), registration in registered.items():
        if (kernel, case) not in everywhere and not registration.needs & NOT_ON_AMD:
            problems.append(f"{kernel} ({case}): not audited for any family")
    relative = rows_file.relative_to(page_file.parent)
    page_file.write_text("\n".join(page(registered, families, audited, problems, relative)) + "\n")
    failed = problems or any(folder.glob("*.failed"))
    write_rows(rows_file, registered, families, audited, set(read_table(folder / "changed.tsv")) if failed else set())
    for problem in problems:
        print(f"FAILED: {problem}")
    rows = sum(map(len, audited.values()))
    print(f"Audited {rows} pipelines of {len(registered)} kernels and cases for {len(families)} families; problems: {len(problems)}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
