"""Indexing compared with the CPU: reading, writing and accumulating with index tensors and masks."""

import unittest

import torch
import torch.nn.functional as F

from both_devices import NativeOnBoth, moved
from support import DEVICE, fallback_counts, pytorch_before

DTYPES = (torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.int16, torch.int8,
          torch.uint8, torch.bool)
NUMBERS = tuple(dtype for dtype in DTYPES if dtype != torch.bool)


def numbers(*shape, dtype=torch.float32):
    """Integers, so that sums are exact in every dtype and order."""
    return torch.randint(0, 5, shape).to(dtype)


def index(limit, *shape):
    return torch.randint(-limit, limit, shape)


class Reading(NativeOnBoth):
    def test_advanced_indexing_of_every_dtype(self):
        for dtype in DTYPES + (torch.complex64, torch.complex128):
            with self.subTest(dtype=dtype):
                self.same(lambda x, i, j: (x[i], x[:, j], x[i, j], x[..., i[0]]), numbers(6, 8, 6, dtype=dtype),
                          index(6, 3, 5), index(6, 3, 5))

    def test_shapes_of_advanced_indexing(self):
        x = torch.randn(4, 5, 6, 7)
        i, j, k = index(4, 3, 1), index(5, 2), index(6, 3, 2)
        self.same(lambda x, i, j, k: (x[i, j], x[i, :, k], x[:, j, :, j], x[i, j, k], x[i, j, k, 3], x[None, i]), x, i, j, k)
        self.same(lambda x, i: x[i], x.transpose(0, 3), index(7, 9))
        self.same(lambda x, i: x[i], x.to(memory_format=torch.channels_last), index(4, 9))
        self.same(lambda x, i: x[i], x[:, ::2], index(4, 9).expand(2, 9))
        self.same(lambda x, i: x[i.int()], x, index(4, 9))

    def test_empty_and_zero_dimensions(self):
        none = torch.empty(0, dtype=torch.int64)
        self.same(lambda x, i: (x[i], x[:, i], x.index_select(1, i), x.gather(0, i.view(0, 1)), x.take(i)),
                  torch.randn(3, 4), none)
        self.same(lambda x, i: (x.index_select(0, i), x.gather(0, i), x.take(i)), torch.tensor(3.5), torch.tensor([0]))
        self.same(lambda x, i: x[i], torch.randn(0, 4), none)
        self.same(lambda x, i: (x.index_select(0, i), x[i]), torch.randn(3, 4), torch.tensor(2))

    def test_gather_and_index_select(self):
        for dtype in DTYPES:
            x = numbers(5, 6, 7, dtype=dtype)
            with self.subTest(dtype=dtype):
                self.same(lambda x, i: x.gather(1, i), x, torch.randint(0, 6, (4, 9, 3)))
                self.same(lambda x, i: x.gather(-1, i), x.transpose(0, 1), torch.randint(0, 7, (6, 5, 2)))
                self.same(lambda x, i: (x.index_select(0, i), x.index_select(2, i)), x, torch.tensor([4, 0, 4, 2]))
                self.same(lambda x, i: x.index_select(1, i), x.permute(2, 0, 1), torch.tensor([4, 0], dtype=torch.int32))
                self.same(lambda x, i: x.take(i), x.transpose(0, 2), index(210, 3, 4))

    def test_out_and_identity(self):
        x, i = torch.randn(5, 6).to(DEVICE), torch.tensor([1, 3]).to(DEVICE)
        out = torch.empty(6, 2, device=DEVICE).t()
        self.assertIs(torch.index_select(x, 0, i, out=out), out)
        torch.testing.assert_close(out.cpu(), x.cpu()[[1, 3]])
        whole = torch.arange(5).to(DEVICE)
        for result in (x[whole], x.index_select(0, whole), x.masked_fill(x > 100, 1), x.index_fill(0, whole[:0], 1)):
            self.assertNotEqual(result.data_ptr(), x.data_ptr())
        with self.assertRaises(RuntimeError):
            torch.gather(x, 0, whole.view(5, 1), out=torch.empty(5, 1, dtype=torch.int64, device=DEVICE))

    def test_large(self):
        self.same(lambda x, i: (x[i], x.gather(0, i.view(-1, 1).expand(-1, 3))), torch.randn(70000, 3),
                  torch.randint(0, 70000, (100000,)))

    def test_index_out_of_range_is_reported(self):
        x = torch.randn(5, 3).to(DEVICE)
        for wrong in (torch.tensor([1, 5]), torch.tensor([-6])):
            with self.assertRaisesRegex(IndexError, "out of bounds for dimension with size 5"):
                x.index_select(0, wrong.to(DEVICE)).cpu()
            with self.assertRaisesRegex(IndexError, "out of bounds"):
                x.index_add_(0, wrong.to(DEVICE), torch.ones(len(wrong), 3, device=DEVICE))
                torch.accelerator.synchronize()
        self.assertEqual(x[torch.tensor([4]).to(DEVICE)].cpu().shape, (1, 3))  # and the device keeps working


class Writing(NativeOnBoth):
    def test_the_last_of_several_values_wins(self):
        i = torch.tensor([2, 0, 2, -3, 2])
        for dtype in DTYPES:
            with self.subTest(dtype=dtype):
                x, y = numbers(5, 40, dtype=dtype), torch.arange(200).reshape(5, 40).to(dtype)
                self.same(lambda x, i, y: x.index_copy_(0, i % 5, y), x, i, y)
                self.same(lambda x, i, y: x.scatter_(0, i.remainder(5).view(5, 1).expand(5, 40), y), x, i, y)
                self.same(lambda x, i, y: x.put_(i, y[:, 0].contiguous()), x, i, y)
                self.same(lambda x, i, y: x.index_put_((i,), y), x, i, y)

    def test_index_put(self):
        x = torch.randn(4, 5, 6)
        put = torch.ops.aten.index_put_
        self.same(lambda x, i, v: put(x, [i, None, i], v), x, torch.tensor([3, 1]), torch.randn(2, 5))
        self.same(lambda x, i: x.index_put_((i,), torch.tensor(2.0)), x, torch.tensor([3, 1]))
        self.same(lambda x, m, v: x.index_put_((m,), v), x, torch.rand(4, 5) > 0.5, torch.randn(6))

        def assigned(x, i, m):
            x[i] = 1
            x[:, i] = x[:, i + 1]
            x[m] = 7
            x[..., 0] = 3
            return x
        self.same(assigned, x, torch.tensor([2, 0]), x > 1)

    def test_accumulating_index_put(self):
        for dtype in NUMBERS:
            with self.subTest(dtype=dtype):
                self.same(lambda x, i, v: x.index_put_((i,), v, accumulate=True), numbers(7, 4, dtype=dtype), index(7, 30),
                          numbers(30, 4, dtype=dtype))
        put = torch.ops.aten.index_put_
        self.same(lambda x, i, j, v: put(x, [i, None, j], v, True), numbers(3, 4, 5), index(3, 20), index(5, 20),
                  numbers(20, 4))
        self.same(lambda x, i, j, v: put(x, [None, i, j], v, True), numbers(3, 4, 5), index(4, 20), index(5, 20),
                  numbers(20))

    @unittest.skipIf(pytorch_before(2, 13), "before PyTorch 2.13, complex numbers are accumulated on the CPU, counted")
    def test_accumulating_index_put_of_complex_numbers(self):
        self.same(lambda x, i, v: x.index_put_((i,), v, accumulate=True), numbers(7, 4).to(torch.complex64), index(7, 30),
                  numbers(30, 4).to(torch.complex64))

    def test_accumulation_along_a_dimension(self):
        for dtype in NUMBERS:
            with self.subTest(dtype=dtype):
                self.same(lambda x, i, v: x.index_add_(1, i, v), numbers(3, 7, 4, dtype=dtype), torch.randint(0, 7, (30,)),
                          numbers(3, 30, 4, dtype=dtype))
        self.same(lambda x, i, v: x.index_add(0, i, v, alpha=2.5), torch.randn(7), torch.tensor([1, 1, 6]), torch.randn(3))
        self.same(lambda x, i, v: x.index_add_(0, i, v), numbers(9, 6).t(), torch.tensor([1, 1, 5]), numbers(9, 3).t())
        for reduce in ("prod", "mean", "amax", "amin"):
            for include_self in (True, False):
                for dtype in (torch.float32, torch.int32):
                    with self.subTest(reduce=reduce, include_self=include_self, dtype=dtype):
                        self.same(lambda x, i, v: x.index_reduce_(0, i, v, reduce, include_self=include_self),
                                  numbers(5, 6, dtype=dtype), torch.tensor([1, 1, 3, 3, 3]), numbers(5, 6, dtype=dtype))

    def test_what_no_device_reduces_or_searches(self):
        flags = torch.tensor([True, False, True])
        operators = {name: lambda x, name=name: x.index_reduce(0, torch.tensor([0, 1, 2], device=x.device), x, name)
                     for name in ("prod", "mean", "amax", "amin")}
        operators |= {"scatter_reduce": lambda x: x.scatter_reduce(0, torch.tensor([0, 1, 2], device=x.device), x, "mean")}
        operators |= {"searchsorted": lambda x: torch.searchsorted(x, x), "bucketize": lambda x: torch.bucketize(x, x)}
        for name, operator in operators.items():
            for device in ("cpu", DEVICE):
                with self.subTest(name, device=device):
                    self.assertRaisesRegex(RuntimeError, "not implemented for 'Bool'", operator, flags.to(device))

    def test_scatter_of_every_reduction(self):
        for dtype in NUMBERS:
            i = torch.randint(0, 6, (5, 9))
            with self.subTest(dtype=dtype):
                self.same(lambda x, i, v: x.scatter_add_(1, i, v), numbers(5, 6, dtype=dtype), i, numbers(6, 9, dtype=dtype))
                self.same(lambda x, i: x.scatter_(1, i, 3), numbers(5, 6, dtype=dtype), i)
        for reduce in ("sum", "prod", "mean", "amax", "amin"):
            for include_self in (True, False):
                with self.subTest(reduce=reduce, include_self=include_self):
                    self.same(lambda x, i, v: x.scatter_reduce_(0, i, v, reduce, include_self=include_self), torch.randn(6, 5),
                              torch.randint(0, 6, (4, 5)), torch.randn(4, 5))
        self.same(lambda x, i, v: (x.scatter(0, i, v, reduce="add"), x.scatter(0, i, v, reduce="multiply"),
                                   x.scatter(0, i, 2.0, reduce="multiply")), torch.randn(6, 5), torch.randint(0, 6, (4, 5)),
                  torch.randn(4, 5))

    def test_maxima_with_nan(self):
        x = torch.tensor([1.0, float("nan"), -float("inf")])
        self.same(lambda x, i, v: x.scatter_reduce_(0, i, v, "amax"), x, torch.tensor([0, 1, 2, 2]),
                  torch.tensor([float("nan"), 1.0, -1.0, -2.0]))

    def test_many_values_of_few_places(self):
        # More values than one piece of accumulate.slang and one block of grouping.slang; all for one place, and spread
        # out.
        for places in (1, 3, 5000):
            with self.subTest(places=places):
                i = torch.randint(0, places, (30000,))
                self.same(lambda x, i, v: x.index_add_(0, i, v), torch.zeros(places, 2), i, numbers(30000, 2))
                self.same(lambda x, i, v: x.scatter_add_(0, i, v), torch.zeros(places), i, numbers(30000))
                self.same(lambda x, i, v: x.scatter_(0, i, v), torch.zeros(places), i, torch.randn(30000))

    def test_accumulation_has_the_same_bits_every_time(self):
        i, v = torch.randint(0, 50, (20000,)).to(DEVICE), torch.randn(20000).to(DEVICE)
        first = torch.zeros(50, device=DEVICE).index_add_(0, i, v).cpu()
        for _ in range(3):
            self.assertTrue(torch.equal(torch.zeros(50, device=DEVICE).index_add_(0, i, v).cpu(), first))

    def test_index_fill_and_put(self):
        for dtype in DTYPES:
            with self.subTest(dtype=dtype):
                self.same(lambda x, i: (x.index_fill(0, i, 1), x.index_fill(1, i, 0)), numbers(5, 6, dtype=dtype),
                          torch.tensor([3, -2, 3]))
        self.same(lambda x, i, v: x.index_fill_(1, i, v), torch.randn(5, 6), torch.tensor([3]), torch.tensor(2.5))
        self.same(lambda x, i, v: x.put_(i, v, accumulate=True), numbers(5, 6).t(), index(30, 70), numbers(70))


class Masks(NativeOnBoth):
    def test_masked_fill(self):
        for dtype in DTYPES + (torch.complex64, torch.complex128):
            with self.subTest(dtype=dtype):
                x = numbers(5, 6, dtype=dtype)
                self.same(lambda x, m: (x.masked_fill(m, 1), x.masked_fill(m, torch.tensor(1))), x, torch.rand(5, 6) > 0.5)
                self.same(lambda x, m, v: x.masked_fill(m, v), x, torch.rand(6) > 0.5, torch.tensor(1))
        self.same(lambda x, m: x.masked_fill_(m, -float("inf")), torch.randn(6, 5).t(), torch.rand(5, 1) > 0.5)
        self.same(lambda x, m: x.masked_fill(m, 1.5), torch.tensor(2.0), torch.tensor(True))
        self.same(lambda x, m: x.masked_fill(m, 1.5), torch.randn(4, 0), torch.rand(4, 1) > 0.5)

    def test_masked_select_and_scatter(self):
        for dtype in DTYPES:
            x, m = numbers(7, 9, dtype=dtype), torch.rand(7, 9) > 0.5
            with self.subTest(dtype=dtype):
                self.same(lambda x, m: (x.masked_select(m), x[m], x[m[:, 0]]), x, m)
                self.same(lambda x, m, v: x.masked_scatter_(m, v), x, m, numbers(63, dtype=dtype))
        self.same(lambda x, m: x.masked_select(m), torch.randn(9, 1, 4).transpose(0, 2), torch.rand(5, 9) > 0.5)
        self.same(lambda x, m: x.masked_select(m), torch.randn(3000, 3), torch.rand(3000, 3) > 0.9)
        self.same(lambda x, m: (x.masked_select(m), x[~m]), torch.randn(4), torch.zeros(4, dtype=torch.bool))

    def test_nonzero(self):
        for dtype in DTYPES + (torch.complex64,):
            with self.subTest(dtype=dtype):
                self.same(lambda x: (x.nonzero(), x.t().nonzero(), x[::2].nonzero()), numbers(6, 7, dtype=dtype) % 2
                          if dtype not in (torch.bool, torch.complex64) else numbers(6, 7, dtype=dtype))
        self.same(lambda x: x.nonzero(as_tuple=True), torch.rand(3, 4, 5, 6).round())
        self.same(lambda x: x.nonzero(), torch.rand(3, 4, 5) + 1, strides=True)
        self.same(lambda x: x.nonzero(), torch.tensor([0.0, -0.0, float("nan"), 1e-40]))
        self.same(lambda x: x.nonzero(), torch.tensor(3.0))
        self.same(lambda x: x.nonzero(), torch.empty(0, 4))
        self.same(lambda x: x.nonzero(), (torch.rand(100000) > 0.3).int())
        self.same(lambda x: x.nonzero_static(size=9, fill_value=-1), torch.tensor([0, 1, 0, 1]))
        self.same(lambda c, a, b: torch.where(c, a, b), torch.rand(4, 5) > 0.5, torch.randn(4, 5), torch.randn(5))


class Gradients(NativeOnBoth):
    def test_of_reading(self):
        x = torch.randn(5, 6, requires_grad=True)
        self.same(lambda x, i: (x[i], x[:, i % 5]), x, torch.tensor([3, 3, 0, -1]))
        self.same(lambda x, i: x.gather(1, i), x, torch.randint(0, 6, (5, 9)))
        self.same(lambda x, i: x.index_select(0, i), x, torch.tensor([1, 1, 4]))
        self.same(lambda x, m: (x[m], x.masked_fill(m, 2)), x, torch.rand(5, 6) > 0.5)
        self.same(lambda x, i: x.take(i), x, index(30, 50))

    def test_of_writing(self):
        x, v = torch.randn(5, 6, requires_grad=True), torch.randn(3, 6, requires_grad=True)
        i = torch.tensor([1, 4, 1])
        self.same(lambda x, i, v: x.index_add(0, i, v), x, i, v)
        self.same(lambda x, i, v: x.index_copy(0, i, v), x, torch.tensor([1, 4, 0]), v)
        self.same(lambda x, i, v: x.scatter_add(0, i.view(3, 1).expand(3, 6), v), x, i, v)
        self.same(lambda x, i, v: x.index_put((i,), v, accumulate=True), x, i, v)
        self.same(lambda x, m, v: x.masked_scatter(m, v), x, torch.rand(5, 6) > 0.6, torch.randn(30, requires_grad=True))

    def test_of_one_number(self):
        """Scalar tensors work in every operation that takes a tensor with a single element."""
        def real(y):
            return torch.view_as_real(y) if y.is_complex() else y

        i = torch.tensor([0])
        for dtype in (torch.float32, torch.complex64, torch.complex128):
            x, v = torch.randn((), dtype=dtype, requires_grad=True), torch.randn(1, dtype=dtype, requires_grad=True)
            for place in (i, i[0]):
                one = v.detach()[0].requires_grad_()
                source = v if place.dim() else one
                with self.subTest(dtype=dtype, index=place.dim()):
                    self.same(lambda x, i: real(x.gather(0, i)), x, place)
                    self.same(lambda x, i: real(x.index_select(0, i)), x, place)
                    self.same(lambda x, i: real(x.take(i)), x, place)
                    self.same(lambda x, i, v: real(x.scatter(0, i, v)), x, place, source)
                    self.same(lambda x, i, v: real(x.scatter_add(0, i, v)), x, place, source)
                    self.same(lambda x, i, v: real(x.index_add(0, i, v)), x, place, one)
                    self.same(lambda x, i, v: real(x.index_copy(0, i, v)), x, place, one)
                    self.same(lambda x, i: real(x.index_fill(0, i, 2)), x, place)
            if not (dtype.is_complex and pytorch_before(2, 13)):  # as test_accumulating_index_put_of_complex_numbers
                self.same(lambda x, m: real(x[m]), x, torch.tensor(True))
            self.same(lambda x, m: real(x.masked_fill(m, 2)), x, torch.tensor(True))

    def test_embedding(self):
        for dtype in (torch.float32, torch.float16, torch.bfloat16, torch.float64):
            weight = torch.randn(11, 8, dtype=dtype, requires_grad=True)
            with self.subTest(dtype=dtype):
                self.same(lambda w, i: F.embedding(i, w), weight, torch.randint(0, 11, (3, 4)))
        weight = torch.randn(11, 5, requires_grad=True)
        self.same(lambda w, i: F.embedding(i, w, padding_idx=3), weight, torch.tensor([[3, 1, 3], [0, 1, 10]]))
        self.same(lambda w, i: F.embedding(i, w, scale_grad_by_freq=True), weight, torch.tensor([3, 1, 3, 0, 3]))
        self.same(lambda w, i: F.embedding(i.int(), w), weight, torch.randint(0, 11, (3000,)), tolerance=1e-4)
        self.same(lambda w, i: F.embedding(i, w, max_norm=1.0), weight.detach(), torch.tensor([3, 1, 3, 0]))

    def test_embedding_bag(self):
        weight, i = torch.randn(11, 5, requires_grad=True), torch.randint(0, 11, (9,))
        offsets = torch.tensor([0, 3, 3, 7])
        for mode in ("sum", "mean", "max"):
            with self.subTest(mode=mode):
                self.same(lambda w, i, o: F.embedding_bag(i, w, o, mode=mode), weight, i, offsets)
                self.same(lambda w, i, o: F.embedding_bag(i, w, o, mode=mode, padding_idx=2), weight, i, offsets)
                self.same(lambda w, i: F.embedding_bag(i.view(3, 3), w, mode=mode), weight, i)
        self.same(lambda w, i, o: F.embedding_bag(i, w, o, mode="sum", include_last_offset=True), weight, i,
                  torch.tensor([0, 3, 3, 9]))
        self.same(lambda w, i, o, s: F.embedding_bag(i, w, o, mode="sum", per_sample_weights=s), weight, i, offsets,
                  torch.randn(9, requires_grad=True))

    def test_the_largest_rows_of_bags(self):
        for dtype in (torch.float32, torch.float64, torch.float16, torch.bfloat16):
            weight = torch.randint(-3, 3, (50, 6)).to(dtype).requires_grad_()  # many equal elements
            i = torch.randint(0, 50, (4000,))
            offsets = torch.cat([torch.zeros(1, dtype=torch.int64), torch.randint(0, 4000, (299,)).sort().values])
            for padding in (None, 7):
                self.same(lambda w, i, o: F.embedding_bag(i, w, o, mode="max", padding_idx=padding), weight, i, offsets,
                          gradients=dtype in (torch.float32, torch.float64))
        weight = torch.randn(5, 3, requires_grad=True)
        self.same(lambda w, i: F.embedding_bag(i, w, mode="max", padding_idx=1), weight, torch.tensor([[1, 1], [1, 2]]))
        self.same(lambda w, i, o: F.embedding_bag(i, w, o, mode="max"), weight, torch.zeros(0, dtype=torch.int64),
                  torch.zeros(2, dtype=torch.int64))

    def test_sparse_gradients_of_bags(self):
        def gradient(w, i, o, mode):
            F.embedding_bag(i, w, o, mode=mode, sparse=True).sum().backward()
            return w.grad.coalesce().values(), w.grad.coalesce().indices()
        weight, i, offsets = torch.randn(11, 5), torch.randint(0, 11, (9,)), torch.tensor([0, 3, 3, 7])
        for mode in ("sum", "mean"):
            before = fallback_counts()
            F.embedding_bag(moved(i), moved(weight).requires_grad_(), moved(offsets), mode=mode, sparse=True).sum().backward()
            self.assert_native(before)
            there = gradient(moved(weight).requires_grad_(), moved(i), moved(offsets), mode)
            for found, expected in zip(there, gradient(weight.clone().requires_grad_(), i, offsets, mode)):
                torch.testing.assert_close(found.cpu(), expected)

    def test_numerical(self):
        x = torch.randn(3, 4, dtype=torch.float64).to(DEVICE).requires_grad_()
        i = torch.tensor([2, 0, 2]).to(DEVICE)
        self.assertTrue(torch.autograd.gradcheck(lambda x: x[i], (x,)))
        self.assertTrue(torch.autograd.gradcheck(lambda x: torch.zeros(4, 4, dtype=x.dtype, device=x.device).index_add(
            0, i, x), (x,)))


if __name__ == "__main__":
    unittest.main()
