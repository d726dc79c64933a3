"""Operators that work in blocks: a quick test of sizes around every limit. exhaustive/test_blocks.py tests all of
them."""

import unittest

import block_cases
from block_comparison import BlockComparison


class Blocks(BlockComparison):
    def test_lines(self):
        for name, family in block_cases.OF_LINES.items():
            sizes = [n for n in block_cases.QUICK if n <= (2**16 + 1 if name in ("sorts", "accumulations") else 2**19)]
            for size in sizes:
                self.compare_all(f"{name} of {size}", family.make(size))

    def test_rows_and_columns(self):
        for name, family in block_cases.OF_MATRICES.items():
            for shape in block_cases.QUICK_SHAPES:
                self.compare_all(f"{name} of {shape}", family.make(*shape))

    def test_long_loops(self):
        self.compare_all("loops", block_cases.long_loops())

    def test_random_numbers(self):
        for size in block_cases.QUICK:
            self.check_random_numbers(size)


if __name__ == "__main__":
    unittest.main()
