"""All cases of the tests that otherwise run only a sample (support.in_sample)."""

import unittest

import test_beyond_the_cpu
import test_convolution_units
import test_fake_tensors
import test_sorting_long
from long import test_outputs


class BeyondTheCPU(test_beyond_the_cpu.BeyondTheCPU):
    share = 1


class Outputs(test_outputs.Outputs):
    share = 1


class ConvolutionsOfFloat16(test_convolution_units.Float16):
    share = 1


class ConvolutionsOfBFloat16(test_convolution_units.BFloat16):
    share = 1


class FakeTensors(test_fake_tensors.FakeTensors):
    share = 1
    samples = 2


class Sorting(test_sorting_long.Sorting):
    share = 1


class Selection(test_sorting_long.Selection):
    share = 1


if __name__ == "__main__":
    unittest.main()
