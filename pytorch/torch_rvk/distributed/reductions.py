"""Reductions: sum, average, premultiplied sum, product, minimum, maximum, and the bitwise ones."""

import functools
import operator

import torch

from .host_threads import in_parts

_SUM, _AVG, _PRODUCT, _MIN, _MAX, _BAND, _BOR, _BXOR, _PREMUL_SUM = range(9)  # as in c10d::ReduceOp::RedOpType
_NAMES = ("sum", "avg", "product", "min", "max", "band", "bor", "bxor", "premul_sum")
_BITS = {_BAND: operator.and_, _BOR: operator.or_, _BXOR: operator.xor}
_16_BIT = (torch.float16, torch.bfloat16)


class Reduction:
    """A reduction operation. It is deterministic: ranks that combine the same parts in the same order get identical results."""

    def __init__(self, kind=_SUM, factor=None):
        self.kind = kind
        self.factor = factor  # a float, for premultiplied sums

    @staticmethod
    def of(script_object):
        """Reads the ReduceOp that c10d passes to its operators."""
        kind, factor = torch.ops.rvk.reduce_op(script_object)
        return Reduction(kind, None if factor is None else factor.item())

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
        if not out.is_cpu:
            self._combine(parts, out)
            return
        in_parts(lambda target, *each: self._combine(each, target), out, *parts)

    def _combine(self, parts, out):
        if self.kind == _SUM and len(parts) == 2 and out.dtype is not torch.bool:
            torch.add(*parts, out=out)  # rounds once, also in 16 bits
            return
        out.copy_(self._combined(parts))

    def _combined(self, parts):
        if parts[0].dtype is torch.bool:
            return functools.reduce(self._of_bools(), parts)
        if parts[0].dtype in _16_BIT:
            parts = [part.float() for part in parts]
        if self.kind in _BITS:
            return functools.reduce(_BITS[self.kind], parts)
        if self.kind in (_MIN, _MAX):
            return functools.reduce(torch.minimum if self.kind == _MIN else torch.maximum, parts)
        if self.kind == _PRODUCT:
            return functools.reduce(torch.mul, parts)
        return self._sum(parts)

    def _sum(self, parts):
        if self.kind == _PREMUL_SUM:
            parts = [part * self.factor for part in parts]
        total = functools.reduce(torch.add, parts)
        if self.kind != _AVG:
            return total
        whole = not (total.dtype.is_floating_point or total.dtype.is_complex)
        return torch.div(total, len(parts), rounding_mode="trunc" if whole else None)

    def _of_bools(self):
        """For bool, sum, average and maximum mean "or"; product and minimum mean "and"."""
        if self.kind == _BXOR:
            return torch.logical_xor
        return torch.logical_and if self.kind in (_PRODUCT, _MIN, _BAND) else torch.logical_or


SUM = Reduction()
