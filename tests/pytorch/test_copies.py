"""Copies that change the order of dimensions, compared with the CPU: sizes of elements, edges of squares, batches, views."""

import itertools
import unittest

import torch

from both_devices import moved
from support import require_device

# 1, 2, 4, 8 and 16 bytes.
DTYPES = (torch.uint8, torch.bfloat16, torch.int32, torch.float32, torch.int64, torch.complex128)
SIDES = (15, 16, 17, 63, 64, 65, 130)


def numbers(*sizes, dtype):
    return torch.randint(0, 200, sizes).to(dtype)


class Order(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        require_device()

    def same(self, function, *tensors, message=""):
        expected = function(*tensors)
        found = function(*(moved(x, whole_storage=True) for x in tensors))
        self.assertEqual(found.stride(), expected.stride(), message)
        self.assertTrue(torch.equal(found.cpu(), expected), message)

    def test_matrices(self):
        for dtype, rows, columns in itertools.product(DTYPES, SIDES, SIDES):
            self.same(lambda x: x.t().contiguous(), numbers(rows, columns, dtype=dtype), message=f"{dtype}, {rows} x {columns}")

    def test_batches(self):
        for dtype in DTYPES:
            for order in itertools.permutations(range(3)):
                self.same(lambda x: x.permute(order).contiguous(), numbers(20, 70, 33, dtype=dtype), message=f"{dtype}, {order}")
            self.same(lambda x: x.contiguous(memory_format=torch.channels_last), numbers(3, 24, 5, 13, dtype=dtype))
            self.same(lambda x: x.contiguous(), numbers(3, 24, 5, 13, dtype=dtype).to(memory_format=torch.channels_last))

    def test_views(self):
        for dtype in DTYPES:
            x = numbers(90, 100, dtype=dtype)
            self.same(lambda x: x[1:80, 3:70].t().contiguous(), x, message="an offset and gaps")
            self.same(lambda x: x[:, ::2].t().contiguous(), x, message="every other")
            self.same(lambda x: x.t().flip(0).contiguous(), x, message="backward")
            self.same(lambda x: x[0].expand(40, 100).t().contiguous(), x, message="expanded")
            self.same(lambda x, y: y.copy_(x.t()), x, numbers(100, 120, dtype=dtype)[:, 5:95], message="into a view")
            self.same(lambda x, y: y.t().copy_(x).t(), x, numbers(100, 90, dtype=dtype), message="into a transposed tensor")

    def test_four_dimensions(self):
        for order in itertools.permutations(range(4)):
            self.same(lambda x: x.permute(order).contiguous(), numbers(18, 3, 20, 17, dtype=torch.float32), message=str(order))


if __name__ == "__main__":
    unittest.main()
