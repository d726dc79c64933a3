#!/usr/bin/env python3
"""Prints the pipelines that the audit has to compile, as a table of kernels and cases.

usage: isa_changed.py KERNELS ROWS FAMILY=MESA_VERSION...

KERNELS is the output of `rekindle_kernel_tool list`, ROWS the audit's table (docs/reference/isa.tsv). Prints the pipelines
whose code differs from that of their row, and all if ROWS does not exist or is from other versions of Mesa.
"""
import pathlib
import sys

from isa_rows import changed, read_kernels


def main(kernels, rows, *families):
    registered = read_kernels(pathlib.Path(kernels))
    print("kernel\tcase")
    for key in changed(pathlib.Path(rows), dict(family.split("=") for family in families), registered):
        print("\t".join(key))


if __name__ == "__main__":
    main(*sys.argv[1:])
