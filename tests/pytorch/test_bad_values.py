"""Operands whose values an operator does not allow: the device rejects those that the CPU rejects, at the latest when it is
synchronized, and stays usable. It accepts an index of -1 where the CPU does."""

import unittest

import torch
import torch.nn.functional as F

import value_cases
from index_cases import CASES, INT64_ON_CPU, UNCHECKED
from support import DEVICE, device_module, require_device

FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)


def outcome(function, device):
    """("value", tensor) or ("refused", text)."""
    try:
        value = function(device)
        if device != "cpu":
            device_module().synchronize()
        return "value", value.detach().cpu()
    except (RuntimeError, IndexError, ValueError) as error:
        return "refused", str(error)


class BadValues(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        require_device(cpu=False)

    def assert_usable(self):
        self.assertEqual((torch.ones(3, device=DEVICE) + 1).sum().item(), 6)

    def assert_as_on_cpu(self, function, expected=None):
        kind, expected = expected or outcome(function, "cpu")
        found_kind, found = outcome(function, DEVICE)
        self.assertEqual(found_kind, kind, f"CPU: {expected}; device: {found}")
        if kind == "value":
            torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4, equal_nan=True)
        self.assert_usable()


class Indexes(BadValues):
    def compare(self, dtype):
        limits = torch.iinfo(dtype)
        for name, (size, function) in CASES.items():
            last = 3 if size is None else size - 1
            beyond = [] if size is None else [size, 2**31 - 1, 2**40]
            for value in [0, last, -1, -last - 1, -last - 2, -2**31, -2**40, *beyond]:
                if not limits.min <= value <= limits.max:
                    continue
                with self.subTest(operator=name, index=value, dtype=dtype):
                    def call(device):
                        as_on_cpu = torch.int64 if device == "cpu" and name in INT64_ON_CPU else dtype
                        return function(device, torch.tensor([value], dtype=as_on_cpu, device=device))
                    out_of_range = not 0 <= value <= last
                    refused = ("refused", "not asked") if name in UNCHECKED and out_of_range else None
                    self.assert_as_on_cpu(call, refused)

    def test_int64(self):
        self.compare(torch.int64)

    def test_int32(self):
        self.compare(torch.int32)

    def test_message_names_the_index_and_the_size(self):
        torch.zeros(4, device=DEVICE).index_select(0, torch.tensor([-1], device=DEVICE))
        with self.assertRaisesRegex(IndexError, "index -1 is out of bounds for dimension with size 4"):
            device_module().synchronize()
        F.nll_loss(torch.zeros(2, 3, device=DEVICE), torch.tensor([0, 7], device=DEVICE))
        with self.assertRaisesRegex(IndexError, "Target 7 is out of bounds for 3 classes"):
            device_module().synchronize()

    def test_a_copy_to_the_host_reports(self):
        result = torch.zeros(4, device=DEVICE).index_select(0, torch.tensor([4], device=DEVICE))
        with self.assertRaises(IndexError):
            result.cpu()
        self.assert_usable()

    def test_nothing_is_written_for_a_negative_index(self):
        for dtype in (torch.int32, torch.int64):
            target = torch.zeros(4, device=DEVICE)
            target.scatter_(0, torch.tensor([-1, 1], dtype=torch.int64, device=DEVICE), 5.)
            target.index_add_(0, torch.tensor([-1], dtype=dtype, device=DEVICE), torch.ones(1, device=DEVICE))
            with self.assertRaises(IndexError):
                device_module().synchronize()
            self.assertEqual(target.tolist(), [0, 5, 0, 0])


class Probabilities(BadValues):
    VALUES = (0., -0., 1., .5, 2., 1.01, -1e-6, -1., float("nan"), float("inf"), float("-inf"))

    def test_bernoulli(self):
        for dtype in FLOATS:
            for value in self.VALUES:
                with self.subTest(dtype=dtype, value=value):
                    def call(device):
                        torch.bernoulli(torch.tensor([.5, value], dtype=dtype, device=device))
                        return torch.zeros(())  # the random numbers differ
                    self.assert_as_on_cpu(call)

    def test_bernoulli_in_place(self):
        for value in self.VALUES:
            with self.subTest(value=value):
                def call(device):
                    torch.empty(2, device=device).bernoulli_(torch.tensor([.5, value], device=device))
                    return torch.zeros(())
                self.assert_as_on_cpu(call)

    def test_binary_cross_entropy(self):
        for dtype in FLOATS:
            for reduction in ("none", "mean"):
                for value in self.VALUES:
                    with self.subTest(dtype=dtype, value=value, reduction=reduction):
                        def call(device):
                            loss = F.binary_cross_entropy(torch.tensor([.5, value], dtype=dtype, device=device),
                                                          torch.ones(2, dtype=dtype, device=device), reduction=reduction)
                            return loss.float().clamp(max=50)
                        self.assert_as_on_cpu(call)

    def test_multinomial(self):
        nan, infinity = float("nan"), float("inf")
        for weights in ([.5, .5], [0., 1.], [0., 0.], [-1., 2.], [nan, 1.], [infinity, 1.], [-infinity, 1.]):
            for samples, replacement in ((1, False), (1, True), (2, True)):
                with self.subTest(weights=weights, samples=samples, replacement=replacement):
                    def call(device):
                        torch.multinomial(torch.tensor(weights, device=device), samples, replacement)
                        return torch.zeros(())
                    self.assert_as_on_cpu(call)


class Values(BadValues):
    def test_the_table(self):
        refused = 0
        for name, (values, function) in value_cases.CASES.items():
            for value in values:
                with self.subTest(operator=name, value=value):
                    def call(device):
                        result = function(device, value)
                        return torch.zeros(()) if name in value_cases.DRAWN else result
                    unchecked = value in value_cases.UNCHECKED.get(name, ())
                    expected = ("refused", "not asked") if unchecked else outcome(call, "cpu")
                    refused += expected[0] == "refused"
                    taken, reason = value_cases.TAKEN.get(name, ((), ""))
                    if value in taken:
                        self.assertEqual((expected[0], outcome(call, DEVICE)[0]), ("refused", "value"), f"no longer: {reason}")
                    else:
                        self.assert_as_on_cpu(call, expected)
        print(f"the CPU refuses {refused} values of {len(value_cases.CASES)} operators")
        self.assertGreater(refused, 100)

    def test_messages_of_repeats(self):
        torch.repeat_interleave(torch.tensor([1, -1, 2], device=DEVICE), output_size=2)
        with self.assertRaisesRegex(RuntimeError, "repeats can not be negative"):
            device_module().synchronize()
        torch.repeat_interleave(torch.tensor([1, 2], device=DEVICE), output_size=2)
        with self.assertRaisesRegex(RuntimeError, "allocated size does not match required size: output_size is 2, but .* 3"):
            device_module().synchronize()
        self.assert_usable()


if __name__ == "__main__":
    unittest.main()
