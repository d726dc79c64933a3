"""New tensors, which deterministic algorithms fill; tensors that are identical or share memory."""

import copy
import unittest

import torch

from support import DEVICE, device_module

MAKERS = {
    "empty": lambda dtype, device: torch.empty(5, dtype=dtype, device=device),
    "empty of no dimension": lambda dtype, device: torch.empty((), dtype=dtype, device=device),
    "empty, channels last": lambda dtype, device: torch.empty(1, 2, 3, 3, dtype=dtype, device=device, memory_format=torch.channels_last),
    "empty_strided": lambda dtype, device: torch.empty_strided((2, 3), (3, 1), dtype=dtype, device=device),
    "empty_permuted": lambda dtype, device: torch.empty_permuted((2, 3), (1, 0), dtype=dtype, device=device),
    "empty_like": lambda dtype, device: torch.empty_like(torch.zeros(5, dtype=dtype, device=device)),
    "new_empty": lambda dtype, device: torch.zeros(2, device=device).new_empty(5, dtype=dtype),
    "new_empty_strided": lambda dtype, device: torch.zeros(2, device=device).new_empty_strided((2, 3), (1, 2), dtype=dtype),
    "resize_": lambda dtype, device: torch.zeros(2, dtype=dtype, device=device).resize_(7),
    "resize_as_": lambda dtype, device: torch.zeros(2, dtype=dtype, device=device).resize_as_(torch.zeros(3, 3, device=device)),
    "Tensor.new": lambda dtype, device: torch.zeros(2, device=device).new(4).to(dtype),
}
DTYPES = [torch.float32, torch.float16, torch.bfloat16, torch.float64, torch.complex64, torch.complex128, torch.bool, torch.uint8,
          torch.int8, torch.int16, torch.int32, torch.int64, torch.uint16, torch.uint32, torch.uint64, torch.float8_e4m3fn]


class Deterministic(unittest.TestCase):
    def setUp(self):
        device_module()
        self.addCleanup(torch.use_deterministic_algorithms, False)
        torch.use_deterministic_algorithms(True)

    @staticmethod
    def bits(tensor):
        return tensor.cpu().reshape(-1).clone(memory_format=torch.contiguous_format).view(torch.uint8).tolist()

    def test_new_memory_is_filled_as_on_the_cpu(self):
        for name, make in MAKERS.items():
            for dtype in DTYPES:
                if name == "Tensor.new" and dtype != torch.float32:
                    continue
                with self.subTest(f"{name}, {dtype}"):
                    expected, made = make(dtype, "cpu"), make(dtype, DEVICE)
                    self.assertEqual(made.stride(), expected.stride())
                    if dtype.is_floating_point or dtype.is_complex:
                        new = slice(2, None) if name.startswith("resize") else slice(None)
                        values = made.cpu().float() if dtype == torch.float8_e4m3fn else made.cpu()
                        self.assertTrue(values.reshape(-1)[new].isnan().all())
                    else:
                        self.assertEqual(self.bits(made), self.bits(expected))

    def test_filling_can_be_turned_off(self):
        self.addCleanup(setattr, torch.utils.deterministic, "fill_uninitialized_memory", True)
        torch.utils.deterministic.fill_uninitialized_memory = False
        with torch.profiler.profile() as profile:
            torch.empty(4, device=DEVICE)
        self.assertNotIn("aten::fill_", {event.key for event in profile.key_averages()})

    def test_results_are_unchanged(self):
        x = torch.arange(6.0, device=DEVICE).view(2, 3)
        self.assertEqual((x @ x.t() + 1).sum().item(), 5 + 14 + 14 + 50 + 4)
        out = torch.empty(0, device=DEVICE)
        torch.add(x, 1, out=out)
        self.assertEqual(out.cpu().tolist(), [[1, 2, 3], [4, 5, 6]])


def shares(one, other):
    """Whether two tensors are identical, have the same address or storage, and the distance of their addresses."""
    same_storage = one.untyped_storage()._cdata == other.untyped_storage()._cdata
    return one.is_set_to(other), one.data_ptr() == other.data_ptr(), same_storage, \
        one.data_ptr() - other.data_ptr() if same_storage and one.numel() else None, one._is_view(), one is other


def state(tensor):
    return tuple(tensor.shape), tensor.stride(), tensor.storage_offset(), tensor.untyped_storage().nbytes(), \
        tensor.data_ptr() == 0, tensor._version


def swapped(t, other):
    """The tensors after swap_tensors, and whether each now has the other's memory."""
    mine = t.clone()
    pointers = mine.data_ptr(), other.data_ptr()
    torch.utils.swap_tensors(mine, other)
    return state(mine), state(other), (other.data_ptr(), mine.data_ptr()) == pointers


def resized(t, *sizes, **keywords):
    """The state of a clone after resize_, and whether it still uses the same memory."""
    mine = t.clone()
    before = mine.data_ptr(), mine.untyped_storage()._cdata
    result = mine.resize_(*sizes, **keywords)
    kept = mine.untyped_storage().nbytes() <= 48
    return result is mine, kept and mine.data_ptr() == before[0], mine.untyped_storage()._cdata == before[1], state(mine), \
        mine.flatten()[:min(12, mine.numel())].tolist()


def with_data(t, other):
    mine = t.clone()
    mine.data = other
    return *shares(mine, other), state(mine)


def in_place(t, change):
    mine = t.clone()
    result = change(mine)
    return *shares(result, mine), state(mine)


#: Questions about one tensor, arange(12.) in three rows, which the device must answer like the CPU.
QUESTIONS = {
    "itself": lambda t: shares(t, t),
    "detach": lambda t: (*shares(t.detach(), t), state(t.detach())),
    "detach_": lambda t: in_place(t, torch.Tensor.detach_),
    "alias": lambda t: (*shares(torch.ops.aten.alias(t), t), torch.ops.aten.alias(t)._base is t),
    "alias_copy": lambda t: shares(torch.ops.aten.alias_copy(t), t),
    "detach_copy": lambda t: shares(torch.ops.aten.detach_copy(t), t),
    "view": lambda t: (*shares(t.view(2, 6), t), t.view(2, 6)._base is t),
    "view of another dtype": lambda t: shares(t.view(torch.int32), t),
    "view_as": lambda t: (*shares(t.view_as(t[0].new_empty(4, 3)), t), state(t.view_as(t[0].new_empty(4, 3)))),
    "view_copy": lambda t: shares(torch.ops.aten.view_copy(t, (12,)), t),
    "whole slice": lambda t: shares(t[:], t),
    "rows": lambda t: [shares(row, t) for row in t],
    "columns": lambda t: [shares(column, t) for column in t.unbind(1)],
    "an empty slice": lambda t: (*shares(t[2:2], t), state(t[2:2])),
    "transposed": lambda t: shares(t.t(), t),
    "real and imaginary parts": lambda t: [shares(part, t) for z in (torch.view_as_complex(t.view(3, 2, 2)),)
                                           for part in (z.real, z.imag, z.conj())],
    "diagonal, unfold": lambda t: (shares(t.diagonal(1), t), shares(t.unfold(1, 2, 1), t)),
    "no change": lambda t: [shares(f(t), t) for f in (
        torch.Tensor.contiguous, torch.Tensor.float, torch.conj, torch.real, torch.Tensor.positive, torch.as_tensor,
        torch.asarray, torch.Tensor.resolve_conj, torch.Tensor.resolve_neg, torch.squeeze, lambda x: x.to(x.device),
        lambda x: x.reshape(x.shape), lambda x: x.expand(-1, -1), lambda x: torch.dropout(x, 0.5, False))],
    "a change": lambda t: [shares(f(t), t) for f in (
        torch.clone, torch.Tensor.double, torch.neg, lambda x: x.to(x.device, copy=True), lambda x: x.t().contiguous())],
    "_lazy_clone": lambda t: (lambda copy: (copy.is_set_to(t), copy._is_view(), torch._C._is_cow_tensor(copy)))(t._lazy_clone()),
    "deepcopy of a base and its view": lambda t: shares(*copy.deepcopy((t, t[1:]))),
    "a parameter": lambda t: (shares(torch.nn.Parameter(t), t), shares(torch.nn.Parameter(t).data, t)),
    "set_(tensor)": lambda t: (lambda made: (*shares(made, t), state(made)))(t.new_empty(0).set_(t)),
    "set_(a view)": lambda t: (lambda made: (*shares(made, t[1:]), state(made)))(t.new_empty(0).set_(t[1:])),
    "set_(storage)": lambda t: (lambda made: (*shares(made, t), state(made)))(t.new_empty(0).set_(t.untyped_storage())),
    "set_(storage, sizes)": lambda t: (lambda made: (*shares(made, t), state(made), made.tolist()))(
        t.new_empty(0).set_(t.untyped_storage(), 2, (2, 2), (3, 1))),
    "set_ beyond the storage's end": lambda t: (lambda made: (*shares(made, t), state(made), made.flatten()[:12].tolist()))(
        t.new_empty(0).set_(t.untyped_storage(), 0, (5, 5), (5, 1))),
    "set_ beyond the storage's end, from an offset": lambda t: (lambda made: (state(made), state(t), made[:2].tolist()))(
        t.new_empty(0).set_(t.untyped_storage(), 10, (30,))),
    "set_()": lambda t: (lambda made: (*shares(made.set_(), made), state(made), made.device == t.device))(t.clone()),
    "set_() of a view": lambda t: (lambda made: (made.is_set_to(t), state(made), state(t)))(t[1:].detach().set_()),
    "set_ with a negative offset": lambda t: t.new_empty(0).set_(t.untyped_storage(), -1, (2, 2), (2, 1)),
    "set_ with a negative size": lambda t: t.new_empty(0).set_(t.untyped_storage(), 0, (-1, 2), (2, 1)),
    "set_ with a negative stride": lambda t: t.new_empty(0).set_(t.untyped_storage(), 0, (3, 3), (-1, 1)),
    "set_ of another dtype": lambda t: t.new_empty(0).set_(t.int()),
    "is_set_to a clone, a part": lambda t: (t.is_set_to(t.clone()), t.is_set_to(t[1:]), t[1:].is_set_to(t[1:])),
    "is_same_size": lambda t: [t.is_same_size(other) for other in (t, t.clone(), t.int(), t.view(2, 6), t.t(), t[0])],
    "is_alias_of, overlaps": lambda t: (torch._C._is_alias_of(t[1:], t), torch._C._is_alias_of(t.clone(), t),
                                        torch._C._overlaps(t[:2], t[1:]), torch._C._overlaps(t[:1], t[1:])),
    "internal overlap": lambda t: [torch._debug_has_internal_overlap(x) for x in (t, t[:1].expand(3, 4), t[:, ::2])],
    "resize_ to fewer": lambda t: resized(t, 2, 2),
    "resize_ to as many": lambda t: resized(t, 4, 3),
    "resize_ to the same": lambda t: resized(t, 3, 4),
    "resize_ to more": lambda t: resized(t, 5, 5),
    "resize_ to none": lambda t: resized(t, 0),
    "resize_ with a format": lambda t: resized(t, 1, 2, 2, 3, memory_format=torch.channels_last),
    "resize_ of a view": lambda t: (lambda made: (state(made[1:].resize_(4, 4)), state(made), made.tolist()))(t.clone()),
    "resize_ with a negative size": lambda t: t.clone().resize_(-1, 2),
    "resize_ of what requires a gradient": lambda t: t.clone().requires_grad_().resize_(2, 2),
    "resize_ of memory from DLPack": lambda t: torch.from_dlpack(t.clone()).resize_(2, 2).tolist(),
    "resize_ of memory from DLPack, to more": lambda t: torch.from_dlpack(t.clone()).resize_(5, 5),
    "resize_as_": lambda t: in_place(t, lambda x: x.resize_as_(t[:2, :2])),
    "storage.resize_": lambda t: in_place(t, lambda x: (x.untyped_storage().resize_(0), x)[1]),
    "swap_tensors": lambda t: swapped(t, t.new_ones(2)),
    "swap_tensors with another dtype": lambda t: swapped(t, t.int()),
    "data =": lambda t: with_data(t, t.new_ones(2, 2)),
    "in place": lambda t: [in_place(t, change) for change in (
        torch.Tensor.t_, torch.Tensor.squeeze_, torch.Tensor.zero_, lambda x: x.unsqueeze_(0), lambda x: x.add_(1),
        lambda x: x.copy_(x), lambda x: x.as_strided_((2, 2), (1, 2)), lambda x: x.transpose_(0, 1))],
    "out=": lambda t: in_place(t, lambda x: torch.add(t, 1, out=x)),
    "out= resized": lambda t: in_place(t[0], lambda x: torch.add(t, 1, out=x.resize_(0))),
    "addresses of nothing": lambda t: (state(t.new_empty(0)), state(t.new_empty(0, 3))),
    "equal": lambda t: (torch.equal(t, t), torch.equal(t, t.clone()), torch.equal(t / 0, t / 0)),
}


class Identity(unittest.TestCase):
    def setUp(self):
        device_module()

    @staticmethod
    def answer(question, device):
        try:
            result = question(torch.arange(12.0, device=device).view(3, 4))
        except RuntimeError as error:
            return str(error).splitlines()[0].replace(device, "device")
        return None if isinstance(result, torch.Tensor) else result

    def test_questions(self):
        for name, question in QUESTIONS.items():
            with self.subTest(name):
                expected = self.answer(question, "cpu")
                self.assertIsNotNone(expected, "the CPU was expected to refuse this")
                self.assertEqual(self.answer(question, DEVICE), expected)

    def test_other_devices(self):
        here, there = torch.ones(3), torch.ones(3, device=DEVICE)
        for one, other in ((here, there), (there, here)):
            self.assertFalse(one.is_set_to(other))
            self.assertTrue(one.is_same_size(other))
            for source in (other, other.untyped_storage()):
                with self.assertRaisesRegex(RuntimeError, "different device"):
                    one.new_empty(0).set_(source)
        torch.utils.swap_tensors(here, there)
        self.assertEqual((here.device.type, there.device.type), (torch.device(DEVICE).type, "cpu"))

    def test_memory_of_set_to_nothing_is_freed(self):
        module = device_module()
        module.synchronize()
        large = torch.empty(1 << 20, device=DEVICE)
        before = module.memory_allocated()
        large.set_()
        self.assertGreaterEqual(before - module.memory_allocated(), 1 << 22)


if __name__ == "__main__":
    unittest.main(verbosity=2)
