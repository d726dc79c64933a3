"""New tensors: filled if deterministic algorithms are requested; is_set_to and lazy copies."""

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


class IsSetTo(unittest.TestCase):
    def setUp(self):
        device_module()

    def test_is_set_to(self):
        for device in ("cpu", DEVICE):
            tensor = torch.zeros(4, device=device)
            others = (tensor, tensor.detach(), tensor[:], tensor[1:], tensor.view(2, 2), tensor.clone())
            self.assertEqual([tensor.is_set_to(other) for other in others], [True, True, True, False, False, False])


if __name__ == "__main__":
    unittest.main(verbosity=2)
