"""torch.accelerator: PyTorch's device-independent interface."""

import unittest

import torch

from support import DEVICE, device_module


class Accelerator(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.module = device_module()

    def test_it_is_this_device(self):
        self.assertTrue(torch.accelerator.is_available())
        self.assertEqual(torch.accelerator.current_accelerator().type, torch.device(DEVICE).type)
        self.assertEqual(torch.accelerator.device_count(), self.module.device_count())
        self.assertEqual(torch.accelerator.current_device_index(), self.module.current_device())

    def test_devices_and_streams(self):
        with torch.accelerator.device_index(0):
            self.assertEqual(torch.accelerator.current_device_index(), 0)
        stream = torch.Stream(device=DEVICE)
        before = torch.accelerator.current_stream()
        torch.accelerator.set_stream(stream)
        try:
            self.assertEqual(torch.accelerator.current_stream(), stream)
        finally:
            torch.accelerator.set_stream(before)
        torch.accelerator.synchronize()

    def test_memory(self):
        values = torch.ones(1000, device=DEVICE)
        self.assertGreaterEqual(torch.accelerator.memory_allocated(), values.nbytes)
        self.assertGreaterEqual(torch.accelerator.memory_reserved(), torch.accelerator.memory_allocated())
        self.assertIn("allocated_bytes.all.current", torch.accelerator.memory_stats())
        torch.accelerator.empty_cache()
        torch.accelerator.reset_peak_memory_stats()
        self.assertGreaterEqual(torch.accelerator.max_memory_allocated(), values.nbytes)

    def test_capability_names_the_dtypes(self):
        capability = torch.accelerator.get_device_capability()
        self.assertLessEqual({torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.bool},
                             set(capability["supported_dtypes"]))
        has_float64 = self.module.get_device_properties(0).has_float64
        self.assertEqual(torch.float64 in capability["supported_dtypes"], has_float64)


if __name__ == "__main__":
    unittest.main(verbosity=2)
