"""The gradients of PyTorch's own list of modules (module_db) in float16 and bfloat16, compared with float64 on the CPU
(sixteen_bits.py). The samples are PyTorch's own."""

import itertools
import unittest
import warnings

import torch
from torch import nn
from torch.testing._internal.common_modules import module_db

import sixteen_bits
from support import DEVICE, device_is_there, device_module

SEEDS = 3
SAMPLES = 6
#: Where the CPU has no kernel of this dtype: the allowed distance from float64, in units in the last place.
WITHOUT_A_CPU_KERNEL = 8
REFUSED = {"nn.CTCLoss": "PyTorch has ctc_loss in float32 and float64 only, on the CPU and with CUDA"}


def without_dropout(network):
    """Turns dropout off: its mask is random, and each device has its own generator."""
    for part in network.modules():
        if isinstance(part, nn.modules.dropout._DropoutNd):
            part.p = 0.0
        if isinstance(getattr(part, "dropout", None), float):
            part.dropout = 0.0
    return network


def samples_of(info, dtype, training):
    """Yields a network and the arguments and keywords of a call, in float64 with numbers that the dtype can represent."""
    made = info.module_inputs_func(info, device="cpu", dtype=torch.float64, requires_grad=True, training=training)
    for sample in itertools.islice(made, SAMPLES):
        if sample.forward_input is None:
            continue
        network = info.module_cls(*sample.constructor_input.args, **sample.constructor_input.kwargs).double()
        given = sample.forward_input.args, sample.forward_input.kwargs
        if info.is_lazy:
            network(*given[0], **given[1])  # creates its parameters
        yield without_dropout(network.to(dtype).double().train(training)), sixteen_bits.rounded(given, dtype)


def works(network, given, dtype, device="cpu"):
    try:
        sixteen_bits.gradients(network, given, dtype, device)
    except (RuntimeError, NotImplementedError):
        return False
    return True


@unittest.skipUnless(device_is_there() and DEVICE != "cpu", f"there is no device {DEVICE}")
class Modules(unittest.TestCase):
    def setUp(self):
        device_module()
        warnings.simplefilter("ignore")

    def check(self, info, dtype):
        compared, alone = sixteen_bits.Distances(dtype), sixteen_bits.Distances(dtype)
        for seed, training in itertools.product(range(SEEDS), (True, False) if info.train_and_eval_differ else (True,)):
            torch.manual_seed(seed)
            for network, given in samples_of(info, dtype, training):
                if sixteen_bits.gradients(network, given, torch.float64, "cpu").numel() == 0:
                    continue  # nothing requires a gradient
                if info.name in REFUSED:
                    self.assertFalse(works(network, given, dtype, DEVICE), "it is not refused anymore")
                    alone.calls += 1
                elif works(network, given, dtype):
                    compared.add(network, given)
                else:
                    alone.add(network, given, (DEVICE,))
        self.assertGreater(compared.calls + alone.calls, 0, "no samples")
        self.assertLessEqual(*compared.device_and_bound())
        self.assertLessEqual(alone.device_and_bound()[0], WITHOUT_A_CPU_KERNEL * torch.finfo(dtype).eps)


def test_of(info, dtype):
    return lambda self: self.check(info, dtype)


for info, dtype in itertools.product(module_db, sixteen_bits.DTYPES):
    setattr(Modules, f"test_{info.formatted_name}_{str(dtype).removeprefix('torch.')}", test_of(info, dtype))


if __name__ == "__main__":
    unittest.main(verbosity=2)
