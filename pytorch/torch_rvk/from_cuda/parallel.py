"""nn.DataParallel on one device."""

import functools
import sys

import torch

from .classes import named_like
from .report import say


def _moved(value, device):
    """Moves tensors inside lists, tuples and dictionaries, like DataParallel's scatter."""
    if isinstance(value, torch.Tensor):
        return value.to(device)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(_moved(item, device) for item in value))
    if isinstance(value, (list, tuple)):
        return type(value)(_moved(item, device) for item in value)
    if isinstance(value, dict):
        return type(value)((key, _moved(item, device)) for key, item in value.items())
    return value


@named_like(torch.nn.DataParallel)
class DataParallel(torch.nn.Module):
    # Has the wrapper's interface and parameter names (module.…); all rows go to the first device.

    @functools.wraps(torch.nn.DataParallel.__init__)
    def __init__(self, module, device_ids=None, output_device=None, dim=0):
        super().__init__()
        say("nn.DataParallel", "one device: all rows of a batch go to rvk:0")
        self.module = module
        self.dim = dim
        self.device_ids = [0]
        self.output_device = 0
        self.src_device_obj = torch.device("rvk", 0)
        self.module.to(self.src_device_obj)

    def forward(self, *inputs, **kwargs):
        return self.module(*_moved(inputs, self.src_device_obj), **_moved(kwargs, self.src_device_obj))


@functools.wraps(torch.nn.parallel.data_parallel)
def data_parallel(module, inputs, device_ids=None, output_device=None, dim=0, module_kwargs=None):
    inputs = inputs if isinstance(inputs, tuple) else (inputs,)
    return DataParallel(module)(*inputs, **(module_kwargs or {}))


def install():
    original = torch.nn.DataParallel
    for module in torch.nn, torch.nn.parallel, sys.modules[original.__module__]:
        module.DataParallel = DataParallel
    for module in torch.nn.parallel, sys.modules[original.__module__]:
        module.data_parallel = data_parallel
