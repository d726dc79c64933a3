"""Lets PyTorch's process group `fake` take rvk tensors. It moves no data, so one process can try a program for many."""

import torch

from ..imports import when_imported
from ..library import NAME


class FakeGroup:
    """Has the methods of a Group that operators.py calls. Their work is complete at once. This rank gets what it gives the others, as
    CPU tensors do in PyTorch 2.13."""

    def __init__(self, process_group):
        self.rank = process_group.rank()
        self.size = process_group.size()

    def name_of(self, rank):
        return str(rank)

    def concurrent(self):
        return self

    def start(self, collective, _what, _milliseconds, outputs, inputs=(), *_arguments, **_keywords):
        for output, source in zip(outputs, self._sources(collective, list(inputs))):
            if output.numel() == source.numel():
                output.copy_(source.reshape(output.shape))
        return _completed()

    def _sources(self, collective, inputs):
        """The tensors to copy to the outputs; in-place collectives have none."""
        match collective:
            case "all_gather":
                return [each for each in inputs for _ in range(self.size)]
            case "gather":
                return inputs * self.size
            case "reduce_scatter":
                return inputs[self.rank :: self.size]
            case "scatter":
                return inputs[self.rank :][:1]
            case "all_to_all":
                return inputs
        return []

    def send(self, _tensor, _to, _tag):
        return _completed()

    def receive(self, _tensor, _from, _tag):
        return _completed()

    def receive_from_any(self, _tensor, _tag):
        return _completed()


def _completed():
    return torch._C._distributed_c10d.FakeWork().boxed()


def is_fake(process_group):
    try:
        backend = process_group._get_backend(torch.device(NAME))
    except RuntimeError:  # none for this device
        return False
    return isinstance(backend, torch._C._distributed_c10d.FakeProcessGroup)


def _add_device(_module):
    devices = torch.distributed.Backend.backend_capability["fake"]
    if NAME not in devices:
        devices.append(NAME)


def install():
    when_imported("torch.testing._internal.distributed.fake_pg", _add_device)
