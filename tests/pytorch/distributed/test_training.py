"""Training with several processes gives the same losses as on one device. Checkpoints can be loaded with another number of
processes."""

import sys
import tempfile
import unittest

sys.path.insert(0, __file__.rpartition("/")[0])
sys.path.insert(0, __file__.rpartition("/distributed")[0])
import processes  # noqa: E402
from support import require_device  # noqa: E402

setUpModule = require_device


class Training(unittest.TestCase):
    def check(self, name, size=2, tolerance=1e-5):
        for expected, losses in processes.run("training_cases", "run", size, name):
            self.assertEqual(len(losses), 20)
            for step, (one, several) in enumerate(zip(expected, losses)):
                self.assertAlmostEqual(one, several, delta=tolerance, msg=f"step {step}")

    def test_ddp(self):
        self.check("ddp")

    def test_ddp_three_processes(self):
        self.check("ddp", 3)

    def test_ddp_small_buckets(self):
        self.check("ddp_small_buckets")

    def test_ddp_with_a_hook(self):
        self.check("ddp_with_a_hook")

    def test_ddp_with_unused_parameters(self):
        self.check("ddp_with_unused_parameters")

    def test_ddp_with_sync_batch_norm(self):
        self.check("ddp_with_sync_batch_norm")

    def test_fsdp2(self):
        self.check("fsdp2")

    def test_fsdp2_mixed_precision(self):
        self.check("fsdp2_mixed_precision", tolerance=2e-3)  # bfloat16 has 8 bits

    def test_fsdp2_cpu_offload(self):
        self.check("fsdp2_cpu_offload")

    def test_fsdp1(self):
        self.check("fsdp1")

    def test_zero_redundancy_optimizer(self):
        self.check("zero_redundancy_optimizer")

    def test_tensor_parallel(self):
        self.check("tensor_parallel")

    def test_attention_of_dtensors(self):
        for differences in processes.run("training_cases", "attention_of_dtensors", 2):
            self.assertGreaterEqual(len(differences), 23)
            for name, difference in differences.items():
                with self.subTest(name):
                    self.assertLess(difference, 1e-5)

    def test_pipeline(self):
        self.check("pipeline", 3)

    def test_pipeline_gpipe(self):
        self.check("pipeline_gpipe", 3)


class Checkpoints(unittest.TestCase):
    def test_saved_on_four_processes_loads_on_two_and_one(self):
        with tempfile.TemporaryDirectory() as folder:
            expected = processes.run("training_cases", "save_checkpoint", 4, folder)[0]
            for size in (2, 1):
                losses = processes.run("training_cases", "load_checkpoint", size, folder)[0]
                for step, (one, several) in enumerate(zip(expected, losses)):
                    self.assertAlmostEqual(one, several, delta=1e-5, msg=f"step {step}, {size} processes")


if __name__ == "__main__":
    unittest.main()
