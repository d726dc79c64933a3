"""Random numbers whose parameters are tensors, and the assertions about these: nothing is copied to the host."""

import unittest

import torch

from both_devices import NativeTestCase
from support import DEVICE, device_module


class DrawnTestCase(NativeTestCase):
    def setUp(self):
        super().setUp()
        torch.manual_seed(11)


class Assertions(DrawnTestCase):
    def test_messages_arrive_at_the_next_synchronization(self):
        for value in (torch.tensor(0), torch.tensor(False), torch.tensor(-0.0), torch.tensor([0.], dtype=torch.float16)):
            torch._assert_async(value.to(DEVICE), "the first message")
            torch._assert_async(value.to(DEVICE), "the second message")
            with self.assertRaisesRegex(RuntimeError, "the first message.*reported by an operator queued earlier"):
                device_module().synchronize()
            device_module().synchronize()
        torch._assert_async(torch.zeros((), device=DEVICE))
        with self.assertRaisesRegex(RuntimeError, "Expected Tensor with single nonzero value, but got zero"):
            device_module().synchronize()

    def test_what_holds_is_not_reported(self):
        for value in (1, -1, 2**40, 0.5, float("nan"), float("-inf"), True):
            torch._assert_async(torch.tensor(value).to(DEVICE), "not this")
        torch._assert_async(torch.full((), 128, dtype=torch.uint8, device=DEVICE), "not this")
        device_module().synchronize()

    def test_refused_at_once(self):
        for count, text in ((0, "no values"), (2, "more than one value")):
            with self.assertRaisesRegex(RuntimeError, f"Boolean value of Tensor with {text} is ambiguous"):
                torch._assert_async(torch.ones(count, device=DEVICE))

    def test_many_messages(self):
        for number in range(3000):
            torch._assert_async(torch.ones((), device=DEVICE), f"message {number}")
        torch._assert_async(torch.zeros((), device=DEVICE), "message 2")
        with self.assertRaisesRegex(RuntimeError, "message 2 "):
            device_module().synchronize()

    def test_functional(self):
        token = torch.ops.aten._functional_assert_async.msg(torch.zeros((), device=DEVICE), "functional",
                                                            torch.ones(2, device=DEVICE))
        self.assertEqual(token.shape, (2,))
        with self.assertRaisesRegex(RuntimeError, "functional"):
            device_module().synchronize()


if __name__ == "__main__":
    unittest.main()
