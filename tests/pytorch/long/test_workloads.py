"""The operations of workload_cases.py on the device against the CPU: forward and backward, and 20 steps of training.

Among them the convolution whose kernel spans all electrodes, which crashed, and 3x3 convolutions of 44 pixels and more, which
hung.
"""

import unittest

import torch

import training
from support import DEVICE, device_module
from workload_cases import OPERATIONS, TRAINED_OPERATIONS


class Workloads(unittest.TestCase):
    """test_NAME_step of every operation, test_NAME_training of those that train."""


def add_tests() -> None:
    def add(name: str, body) -> None:
        body.__name__ = name
        setattr(Workloads, name, body)

    for name, case in OPERATIONS.items():
        add(f"test_{name}_step", lambda self, case=case: training.compare_step(case, DEVICE))
    for name, case in TRAINED_OPERATIONS.items():
        add(f"test_{name}_training", lambda self, case=case: training.compare_training(case, DEVICE))
    for dtype in (torch.bfloat16, torch.float16):
        label = str(dtype).removeprefix("torch.")
        add(f"test_mixed_precision_autocast_{label}", lambda self, dtype=dtype: training.compare_training(
            TRAINED_OPERATIONS["mixed_precision"], DEVICE, dtype))


add_tests()


class MemoryStress(unittest.TestCase):
    def test_blocks_of_many_sizes_come_and_go(self):
        module = device_module()
        module.synchronize()
        before = module.memory_allocated()
        kept = {}
        for step in range(200):
            size = 1 + (step * 7919) % (1 << 20)
            kept[step % 8] = torch.full((size,), float(step), device=DEVICE)
            if step % 10 == 0:
                held, value = kept[step % 8], float(step)
                self.assertEqual((held.min().item(), held.max().item()), (value, value))
        for slot, tensor in kept.items():
            self.assertEqual(tensor[-1].item(), 192.0 + slot)
        del kept, held, tensor
        module.synchronize()
        self.assertEqual(module.memory_allocated(), before)


if __name__ == "__main__":
    unittest.main(verbosity=2)
