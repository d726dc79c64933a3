"""Streams and events. The classes are PyTorch's own; without a device argument they use the current device."""

import torch

from .devices import device, index_of

Stream = torch.Stream
Event = torch.Event

_DEVICE_TYPE = 20  # c10::DeviceType::PrivateUse1


def current_stream(device=None):
    return torch.accelerator.current_stream(index_of(device))


def default_stream(device=None):
    return torch.Stream(stream_id=0, device_index=index_of(device), device_type=_DEVICE_TYPE)


def set_stream(stream):
    if stream is not None:
        torch.accelerator.set_stream(stream)


class StreamContext:
    """A context manager that makes a stream and its device current; None changes nothing."""

    def __init__(self, stream):
        self.stream = stream
        self._device = device(stream.device_index if stream is not None else None)
        self._former = None

    def __enter__(self):
        if self.stream is not None:
            self._device.__enter__()
            self._former = current_stream()
            set_stream(self.stream)

    def __exit__(self, *_):
        if self.stream is not None:
            set_stream(self._former)
            self._device.__exit__()
        return False


def stream(stream):
    return StreamContext(stream)
