"""Operators that work in blocks, at all sizes around their limits up to 2^25."""

import unittest

import block_cases
from block_comparison import BlockComparison


class Lines(BlockComparison):
    pass


class RowsAndColumns(BlockComparison):
    pass


class LongLoops(BlockComparison):
    def test_long_loops(self):
        self.compare_all("loops", block_cases.slow_long_loops())


class RandomNumbers(BlockComparison):
    def test_sizes(self):
        for size in block_cases.ALL:
            self.check_random_numbers(size)


def test_of_lines(name, family):
    def test(self):
        for size in block_cases.ALL:
            if size <= family.max_elements:
                self.compare_all(f"{name} of {size}", family.make(size))
    return test


def test_of_matrices(name, family):
    def test(self):
        for rows, columns in block_cases.ALL_SHAPES:
            if rows * columns <= family.max_elements:
                self.compare_all(f"{name} of {rows} x {columns}", family.make(rows, columns))
    return test


for name, family in block_cases.OF_LINES.items():
    setattr(Lines, "test_" + name.replace(" ", "_"), test_of_lines(name, family))
for name, family in block_cases.OF_MATRICES.items():
    setattr(RowsAndColumns, "test_" + name.replace(" ", "_"), test_of_matrices(name, family))


if __name__ == "__main__":
    unittest.main(verbosity=2)
