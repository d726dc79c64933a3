"""Memory: statistics, peaks, the cache, pinned memory, out of memory."""

import gc
import subprocess
import sys
import unittest

import torch

from support import DEVICE, PINS_FOR_THE_DEVICE, WHY_NOT_PINNED, child_environment, device_module, is_cpu_driver

MEBIBYTE = 1 << 20


class Statistics(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.module = device_module()
        torch.ones(1, device=DEVICE)

    def setUp(self):
        gc.collect()
        self.module.synchronize()
        self.module.empty_cache()

    def test_allocated_follows_tensors(self):
        before = self.module.memory_allocated()
        values = torch.empty(8 * MEBIBYTE, dtype=torch.uint8, device=DEVICE)
        self.assertGreaterEqual(self.module.memory_allocated() - before, 8 * MEBIBYTE)
        self.assertGreaterEqual(self.module.memory_reserved(), self.module.memory_allocated())
        del values
        self.assertEqual(self.module.memory_allocated(), before)

    def test_peak(self):
        self.module.reset_peak_memory_stats()
        before = self.module.memory_allocated()
        values = torch.empty(16 * MEBIBYTE, dtype=torch.uint8, device=DEVICE)
        del values
        self.assertGreaterEqual(self.module.max_memory_allocated(), before + 16 * MEBIBYTE)
        self.module.reset_peak_memory_stats()
        self.assertLess(self.module.max_memory_allocated(), before + 16 * MEBIBYTE)

    def test_cache_is_reused_and_released(self):
        values = torch.empty(32 * MEBIBYTE, dtype=torch.uint8, device=DEVICE)
        reserved = self.module.memory_reserved()
        del values
        self.module.synchronize()  # poison mode checks released memory once the work before it has finished
        self.assertEqual(self.module.memory_reserved(), reserved)
        again = torch.empty(32 * MEBIBYTE, dtype=torch.uint8, device=DEVICE)
        self.assertEqual(self.module.memory_reserved(), reserved)
        del again
        self.module.empty_cache()
        self.assertLess(self.module.memory_reserved(), reserved)

    def test_stats_have_cudas_names(self):
        stats = self.module.memory_stats()
        for name in ("allocation", "segment", "active", "allocated_bytes", "reserved_bytes", "active_bytes", "requested_bytes"):
            for column in ("current", "peak", "allocated", "freed"):
                self.assertIn(f"{name}.all.{column}", stats)
        for name in ("num_alloc_retries", "num_ooms"):
            self.assertIn(name, stats)

    def test_memory_info(self):
        free, total = self.module.mem_get_info()
        self.assertGreater(total, 0)
        self.assertTrue(0 <= free <= total, (free, total))

    def test_summary_is_a_table(self):
        self.assertIn("Allocated memory", self.module.memory_summary())

    def test_many_small_tensors_share_segments(self):
        before = self.module.memory_stats()["segment.all.current"]
        values = [torch.ones(10, device=DEVICE) for _ in range(2000)]
        grown = self.module.memory_stats()["segment.all.current"] - before
        self.assertLess(grown, 50)
        self.assertEqual(sum(value.cpu().sum().item() for value in values[::200]), 100)

    def test_no_growth_over_many_rounds(self):
        def round_trip():
            values = [torch.ones(size, device=DEVICE) for size in (10, 1000, 100_000)]
            return sum(value.sum().item() for value in values)
        round_trip()
        reserved = self.module.memory_reserved()
        for _ in range(50):
            round_trip()
        self.assertEqual(self.module.memory_reserved(), reserved)


class Pinned(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        device_module()

    def test_pin_memory(self):
        values = torch.arange(1000).pin_memory()
        self.assertTrue(values.is_pinned())
        self.assertFalse(torch.arange(3).is_pinned())
        self.assertTrue(torch.equal(values.to(DEVICE, non_blocking=True).cpu(), torch.arange(1000)))

    @unittest.skipUnless(PINS_FOR_THE_DEVICE, WHY_NOT_PINNED)
    def test_new_pinned_tensor(self):
        self.assertTrue(torch.empty(10, pin_memory=True).is_pinned())

    def test_data_loader_pins(self):
        data = torch.utils.data.TensorDataset(torch.arange(12, dtype=torch.float32))
        loader = torch.utils.data.DataLoader(data, batch_size=4, pin_memory=True)
        seen = []
        for (batch,) in loader:
            self.assertTrue(batch.is_pinned())
            seen += batch.to(DEVICE, non_blocking=True).tolist()
        self.assertEqual(seen, list(range(12)))


class OutOfMemory(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.module = device_module()

    def test_more_than_the_device_has(self):
        total = self.module.mem_get_info()[1]
        with self.assertRaises(torch.OutOfMemoryError) as caught:
            torch.empty(total * 4, dtype=torch.uint8, device=DEVICE)
        self.assertIn("out of memory", str(caught.exception).lower())
        self.assertEqual(torch.ones(3, device=DEVICE).sum().item(), 3)

    def run_with_fault(self, fault: str, program: str) -> str:
        done = subprocess.run([sys.executable, "-c", program], env=child_environment(REKINDLE_FAULT=fault),
                              capture_output=True, text=True, timeout=600)
        self.assertEqual(done.returncode, 0, f"{fault}: {done.stderr[-2000:]}")
        return done.stdout

    def test_an_allocation_that_the_driver_refused_is_retried(self):
        if not is_cpu_driver():
            self.skipTest("a GPU has several memory types: what one refuses comes from the next, and nothing is retried")
        # The allocator decides which driver allocation serves tensors; it is among these 32.
        retries = (int(self.run_with_fault(f"out-of-memory:{number}", """
import support, torch
tensors = [torch.ones(8 << 20, device=support.DEVICE) for _ in range(6)]
assert all(tensor[-1].item() == 1 for tensor in tensors)
print(support.device_module().memory_stats()["num_alloc_retries"])
""")) for number in range(1, 33))
        self.assertTrue(any(count >= 1 for count in retries), "no refused allocation was retried")

    @unittest.skipUnless(PINS_FOR_THE_DEVICE, WHY_NOT_PINNED)
    def test_program_continues_when_the_driver_is_out_of_memory(self):
        # Copies to the host use memory that was allocated at the beginning.
        self.run_with_fault("out-of-memory:9+", """
import support, torch
host = torch.zeros(1, pin_memory=True)
values = torch.ones(8 << 20, device=support.DEVICE)
assert (values + 1)[-1].item() == 2
tensors, failed = [], 0
for _ in range(40):
    try:
        tensors.append(torch.ones(8 << 20, device=support.DEVICE))
    except torch.OutOfMemoryError as error:
        failed += 1
assert failed >= 1, (failed, len(tensors))
for _ in range(30):
    values.add_(1)
host.copy_(values[-1:])
assert host.item() == 31, host.item()
assert support.device_module().memory_stats()["num_ooms"] >= failed
""")


if __name__ == "__main__":
    unittest.main(verbosity=2)
