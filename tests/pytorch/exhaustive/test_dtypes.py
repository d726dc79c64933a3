"""Every operator that is native according to operators.json, in every dtype that the CPU supports. Takes half an hour
on a CPU driver.

The operators and samples are PyTorch's own (op_db), instantiate_device_type_tests creates the classes.
"""

import unittest

import torch
from torch.testing._internal.common_device_type import OpDTypes, instantiate_device_type_tests, ops
from torch.testing._internal.common_utils import TestCase

import comparison
from support import DEVICE, device_is_there


@unittest.skipUnless(device_is_there(), f"there is no device {DEVICE}")
class TestDtypes(TestCase):
    @ops(comparison.native_operators(), dtypes=OpDTypes.supported, allowed_dtypes=comparison.DTYPES[:-1])
    def test_dtypes(self, device, dtype, op):
        self.assertIn(comparison.compare_dtype(op, dtype, device, 2), ("ok", "no samples"))


instantiate_device_type_tests(TestDtypes, globals(), only_for=(torch.device(DEVICE).type,))


if __name__ == "__main__":
    unittest.main(verbosity=2)
