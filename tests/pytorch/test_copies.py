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

    def test_rows_that_stay_together(self):
        """The rows of heads, of which a thread copies up to 16 bytes at once; row lengths, gaps and first elements that prevent
        that."""
        for dtype, row, first in itertools.product(DTYPES, (1, 2, 3, 4, 6, 8, 12, 16, 20, 64), (0, 1, 2, 4, 8)):
            message = f"{dtype}, rows of {row}, from element {first}"
            x = numbers(3 * 5 * 4 * row + first, dtype=dtype)
            self.same(lambda x: x[first:].view(3, 5, 4, row).transpose(1, 2).contiguous(), x, message=message)
            self.same(lambda x: x[first:].view(3, 5, 4, row).permute(2, 1, 0, 3).contiguous(), x, message=message)
            self.same(lambda x: x[first:].view(3, 20, row)[:, 2:18:3].contiguous(), x, message=message + ", some rows")
            self.same(lambda x: x[first:].view(60, row)[::2, :row - row // 4].contiguous(), x, message=message + ", parts of rows")
            self.same(lambda x: x[first:first + row].expand(3, 4, row).contiguous(), x, message=message + ", repeated")
            self.same(lambda x, y: y[first:].view(5, 3, 4, row).transpose(0, 1).copy_(x[first:].view(3, 5, 4, row)), x,
                      numbers(60 * row + first, dtype=dtype), message=message + ", into a view")


if __name__ == "__main__":
    unittest.main()
