"""nn.DataParallel on the rvk devices; device numbers that do not exist are dropped."""

import functools
import sys

import torch

from .. import data_parallel
from .report import say


def _over_rvk(function):
    """Wraps DataParallel.__init__(self, module, device_ids, output_device, …) or
    data_parallel(module, inputs, device_ids, output_device, …)."""

    @functools.wraps(function)
    def call(first, second, device_ids=None, output_device=None, *arguments, **keywords):
        count = torch.rvk.device_count()
        asked = range(count) if device_ids is None else [torch._utils._get_device_index(each, True) for each in device_ids]
        used = [number for number in asked if number < count] or [0]
        names = ", ".join(f"rvk:{number}" for number in used)
        say("nn.DataParallel", names if len(used) == len(asked) else f"{names}, of {len(asked)} asked for")
        if output_device is not None and torch._utils._get_device_index(output_device, True) >= count:
            output_device = used[0]
        return function(first, second, used, output_device, *arguments, **keywords)

    return call


def install():
    data_parallel.install(lambda tensors: True)
    torch.nn.DataParallel.__init__ = _over_rvk(torch.nn.DataParallel.__init__)
    parallel = _over_rvk(torch.nn.parallel.data_parallel)
    torch.nn.parallel.data_parallel = sys.modules[torch.nn.DataParallel.__module__].data_parallel = parallel
