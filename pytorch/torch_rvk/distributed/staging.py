"""Copies between the device and the host in pieces: two rings of pinned buffers and a stream of their own, so that copies
in both directions run while the caller computes and while the host reduces."""

import torch

#: Bytes of a piece: large enough for the full rate of a link, small enough that the first piece comes soon.
PIECE = 4 << 20
_DEPTH = 3


class _Buffer:
    """Pinned memory that is free again when the copy from or to it has finished."""

    def __init__(self):
        self.bytes = torch.empty(PIECE, dtype=torch.uint8).pin_memory()
        self.copied = torch.Event()
        self.in_use = False

    def record(self, stream):
        self.copied.record(stream)
        self.in_use = True

    def wait(self):
        if self.in_use:
            self.copied.synchronize()
            self.in_use = False


class Download:
    """Tensors of the device on their way to consecutive places in pinned memory."""

    def __init__(self, buffer, stream, tensors):
        self._buffer = buffer
        self.bytes = 0
        for tensor in tensors:
            end = self.bytes + tensor.nbytes
            buffer.bytes[self.bytes : end].view(tensor.dtype).copy_(tensor, non_blocking=True)
            self.bytes = end
        buffer.record(stream)

    def wait(self):
        """The bytes on the host, which stay until the third download from now."""
        self._buffer.wait()
        return self._buffer.bytes[: self.bytes]


class Staging:
    """Belongs to one thread and one device. `with staging:` makes its device and stream current."""

    def __init__(self, device):
        self.device = device
        self.stream = torch.Stream(device)
        self._context = None
        with self:
            self._down = [_Buffer() for _ in range(_DEPTH)]
            self._up = [_Buffer() for _ in range(_DEPTH)]
        self._downloads = self._uploads = 0

    def __enter__(self):
        self._context = torch.rvk.stream(self.stream)
        self._context.__enter__()
        return self

    def __exit__(self, *exception):
        return self._context.__exit__(*exception)

    def download(self, tensors):
        """Starts to copy flat tensors of at most PIECE bytes together; at most two further downloads may start before
        this one is used."""
        buffer = self._down[self._downloads % _DEPTH]
        self._downloads += 1
        return Download(buffer, self.stream, tensors)

    def upload(self, target, fill):
        """Calls fill(host) with a host tensor like the flat tensor `target`, and starts to copy it there."""
        buffer = self._up[self._uploads % _DEPTH]
        self._uploads += 1
        buffer.wait()
        host = buffer.bytes[: target.nbytes].view(target.dtype)
        fill(host)
        target.copy_(host, non_blocking=True)
        buffer.record(self.stream)


def length_of(tensor, parts=1):
    """The elements of a piece that fills the `parts`-th part of a buffer."""
    return PIECE // parts // tensor.element_size()


def piece(tensor, number, parts=1):
    """The piece of a flat tensor with this number, which is empty behind the end."""
    length = length_of(tensor, parts)
    return tensor[number * length : (number + 1) * length]


def count(tensor, parts=1):
    """How many pieces a flat tensor has."""
    return -(-tensor.numel() // length_of(tensor, parts))
