"""Reductions: sum, average, premultiplied sum, product, minimum, maximum, and the bitwise ones."""

import torch

_SUM, _AVG, _PRODUCT, _MIN, _MAX, _BAND, _BOR, _BXOR, _PREMUL_SUM = range(9)  # as in c10d::ReduceOp::RedOpType
_NAMES = ("sum", "avg", "product", "min", "max", "band", "bor", "bxor", "premul_sum")
_BITS = (_BAND, _BOR, _BXOR)


class Reduction:
    """A reduction operation. It is deterministic: ranks that combine the same parts in the same order get identical results."""

    def __init__(self, kind=_SUM, factor=1.0):
        self.kind = kind
        self.factor = factor  # of a premultiplied sum

    @staticmethod
    def of(script_object):
        """Reads the ReduceOp that c10d passes to its operators."""
        kind, factor = torch.ops.rvk.reduce_op(script_object)
        return Reduction(kind, 1.0 if factor is None else float(factor))

    @property
    def name(self):
        return _NAMES[self.kind]

    def check(self, dtype):
        """Raises a ValueError if elements of this dtype cannot be reduced in this way."""
        if self.kind in _BITS and (dtype.is_floating_point or dtype.is_complex):
            raise ValueError(f"Cannot use ReduceOp.{self.name.upper()} with {dtype}; it is for integers and bool.")
        if dtype.is_complex and self.kind in (_MIN, _MAX):
            raise ValueError(f"Cannot use ReduceOp.{self.name.upper()} with {dtype}: complex numbers have no order.")

    def combine(self, parts, out):
        """Reduces `parts`, one flat tensor for each rank, into `out`. All have the same device, size and dtype. Accumulates
        16-bit dtypes in float32."""
        torch.ops.rvk.combine(parts, out, self.kind, self.factor)
