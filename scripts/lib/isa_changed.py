#!/usr/bin/env python3
"""Prints the pipelines that the audit has to compile: a heading, then a kernel and a case in each line.

usage: isa_changed.py KERNELS ROWS FAMILY=MESA_VERSION...

KERNELS is the output of `rekindle_kernel_tool list`, and ROWS the audit's table (docs/reference/isa.tsv). A pipeline has to be
compiled if it is new or its code has changed since ROWS was written; all have to be if a version of Mesa has changed.
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
