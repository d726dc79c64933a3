"""The operations of workload_cases.py on the device compared with the CPU: forward and backward, and 20 training steps.

They include the convolution whose kernel spans all electrodes, which crashed under ROCm, and 3x3 convolutions of 44
pixels and more, which hung there.
"""

import unittest

import torch

import training
from support import DEVICE, device_module
from workload_cases import OPERATIONS, TRAINED_OPERATIONS


class Workloads(unittest.TestCase):
    """test_NAME_step for every operation, test_NAME_training for those that train."""


training.add_tests(Workloads, DEVICE, steps=OPERATIONS, trainings=TRAINED_OPERATIONS,
                   autocasts={"mixed_precision": TRAINED_OPERATIONS["mixed_precision"]})


class MemoryStress(unittest.TestCase):
    def test_blocks_of_many_sizes_are_allocated_and_freed(self):
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
