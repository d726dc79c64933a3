"""Operators that work in blocks: a quick test of some sizes around every limit. exhaustive/test_blocks.py tests all
sizes."""

import inspect
import json
import pathlib
import re
import unittest

import block_cases
from block_comparison import BlockComparison

KERNELS = pathlib.Path(__file__).resolve().parents[2] / "kernels/kernels.json"

#: Families whose threads run a few hundred iterations at most, whatever the sizes: dimensions, elements of a group, digits,
#: steps of a binary search.
CONSTANT_LOOPS = {"fill", "indexing", "grouping", "counting", "shape", "recurrent", "norm_channels", "sorting", "radix", "elementwise",
                  "copy", "sequence", "elementwise_list", "optimizer", "winograd",
                  "variates"}
#: Family → its cases above the limit, in long_loops() or slow_long_loops().
LONG_LOOPS = {
    "reduction": ["sum of bytes"],
    "cumulative": ["cumsum", "cumprod", "cummax", "cummin", "logcumsumexp", "cummax with indices"],
    "softmax": ["softmax of columns", "log_softmax of columns, gradient", "softmax of a row"],
    "norm_rows": ["layer_norm", "layer_norm, gradient", "group_norm"],
    "product": ["product of float64", "batch of long products"],
    "convolution": ["conv2d, a large kernel", "conv2d, groups, a large kernel", "conv1d, gradient of the weight"],
    "attention": ["attention", "attention, gradients, many keys", "attention, gradients, many queries"],
    "recurrent_layer": ["lstm, many steps", "lstm, many steps, gradient"],
    "pooling": ["max_pool2d", "adaptive_max_pool2d", "adaptive_max_pool2d, gradient"],
    "resample": ["adaptive_avg_pool2d", "avg_pool2d", "bilinear, gradient", "fold"],
    "accumulate": ["embedding, one row", "index_add of int64, one place"],
    "distance": ["cdist, many columns", "cdist, many rows, gradient"],
    "alignment": ["ctc_loss, many time steps", "ctc_loss, many time steps, gradient"],
    "sampler": ["grid_sample, many channels", "grid_sample, many channels, gradients"],
}
#: Family → why it has no case there.
ELSEWHERE = {
    "norm_sums": "its loop and its parts are those of `reduction` (reduction/schedule.slang, schedule_reduction)",
    "norm_list": "a share has a fixed number of elements, and a thread adds every 256th share: a loop above the limit would need "
                 "10^11 elements",
    "likelihood": "its loop and its parts are those of `reduction` (reduction/schedule.slang, schedule_reduction)",
    "random": "it needs more than 2^30 elements that are not contiguous, several gigabytes",
    "convolution_units": "its loop has a step for each 64 of k, its parts are limited by most_iterations; needs matrix units",
    "attention_wide": "it is compiled from the source of `attention`; test_product_tuning.py runs it with many keys",
    "attention_units": "a step for at least 16 rows; above 960,000 of them `attention` does the work; needs matrix units",
    "product_units": "its loop has a step for each 32 of k, its parts are those of `product`; needs matrix units",
    "population": "not used by this device; tests/mlp_gpu/population_gpu_length_test.cpp",
    "population_deep": "not used by this device; tests/mlp_gpu/population_gpu_length_test.cpp",
    "population_evaluate": "not used by this device; tests/mlp_gpu/population_gpu_length_test.cpp",
    "population_evaluate_deep": "not used by this device; tests/mlp_gpu/population_gpu_length_test.cpp",
    "select": "a workgroup reads at most 3,750 times 1024 elements of a line, up to 11 times; then workgroups share lines, in "
              "so many parts that a loop above the limit would need 10^11 elements",
    "testing": "only the tests of runtime/ launch it",
}


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


@unittest.skipUnless(KERNELS.exists(), "the sources of the kernels are not beside these tests")
class Families(unittest.TestCase):
    """Every family of kernels has a case with a size above the limit of loops, or a reason why it needs none."""

    def test_every_family(self):
        families = [family["family"] for family in json.loads(KERNELS.read_text(encoding="utf-8"))]
        self.assertGreater(len(families), 30)
        tables = (CONSTANT_LOOPS, LONG_LOOPS, ELSEWHERE)
        for family in families:
            if family.startswith("selftest"):
                continue  # they check a driver with fixed sizes
            with self.subTest(family):
                self.assertEqual(sum(family in table for table in tables), 1, "in which table does this family belong?")
        for table in tables:
            self.assertLessEqual(set(table), set(families), "no such family")

    def test_every_case(self):
        names = {name for cases in (block_cases.long_loops, block_cases.slow_long_loops)
                 for name in re.findall(r'Comparison\("([^"]+)"', inspect.getsource(cases))}
        for family, cases in LONG_LOOPS.items():
            with self.subTest(family):
                self.assertLessEqual(set(cases), names, "no such case")


if __name__ == "__main__":
    unittest.main()
