#!/usr/bin/env python3
"""Prints what the audit knows of one family's pipelines.

usage: isa_shares.py FOLDER FAMILY MESA_VERSION

FOLDER holds FAMILY.tsv (`rekindle_kernel_tool audit`) and FAMILY.shares.tsv (isa_model.py). Status 1 when a pipeline spills
or uses scratch memory.
"""
import pathlib
import sys

from isa_table import add_shares, read_compiled, read_table, spills_of


def main(folder, family, version):
    folder = pathlib.Path(folder)
    operations = read_table(folder / f"{family}.shares.tsv")
    failed = False
    print(f"{'share':>5} {'around':>6} {'limit':14} {'lanes':>5} {'subgroups':>9} {'VGPRs':>5}  {family}")
    for key, row in add_shares(read_compiled(folder, family), folder, family).items():
        spills = spills_of(row, version)
        failed = failed or bool(spills)
        print(
            f"{row['share']:>5} {row['around']:>6} {row['limit']:14} {row['lanes']:>5} {row['subgroups_per_simd']:>9} "
            f"{row['vgprs']:>5}  {key[0]} ({key[1]}): {operations[key]['operations']}{' FAILED: ' if spills else ''}{', '.join(spills)}"
        )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
