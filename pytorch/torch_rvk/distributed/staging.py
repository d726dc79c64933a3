"""Copies between the device and the host in pieces, through two rings of pinned buffers and on a separate stream. Copies in
both directions overlap with the caller's computation and with reductions on the CPU."""

import torch

#: Bytes of a piece: large enough for the full rate of a link, small enough that the first piece comes soon.
PIECE = 16 << 20
_DEPTH = 3


class _Buffer:
    """Pinned memory that can be reused when the last copy from or to it has finished."""

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


class _Ring:
    """Buffers that are used in turn, and made when they are first needed."""

    def __init__(self):
        self._buffers = []
        self._used = 0

    def next(self):
        if len(self._buffers) < _DEPTH:
            self._buffers.append(_Buffer())
        buffer = self._buffers[self._used % _DEPTH]
        self._used += 1
        return buffer


class Download:
    """A copy of tensors from the device to consecutive addresses in pinned memory, in progress."""

    def __init__(self, buffer, stream, tensors):
        self._buffer = buffer
        self.bytes = 0
        for tensor in tensors:
            end = self.bytes + tensor.nbytes
            buffer.bytes[self.bytes : end].view(tensor.dtype).copy_(tensor, non_blocking=True)
            self.bytes = end
        buffer.record(stream)

    def wait(self):
        """Waits for the copy. Returns the bytes, which remain valid until the third download after this one starts."""
        self._buffer.wait()
        return self._buffer.bytes[: self.bytes]


class Staging:
    """The buffers and stream of one device, for one thread. `with staging:` makes the device and the stream current."""

    def __init__(self, device):
        self.device = device
        self.stream = torch.Stream(device)
        self._context = None
        self._down, self._up = _Ring(), _Ring()

    def __enter__(self):
        self._context = torch.rvk.stream(self.stream)
        self._context.__enter__()
        return self

    def __exit__(self, *exception):
        return self._context.__exit__(*exception)

    def release_buffers(self):
        """Waits for the copies and gives up the pinned memory; later copies get new buffers."""
        self.stream.synchronize()
        self._down, self._up = _Ring(), _Ring()

    def download(self, tensors):
        """Starts to copy flat tensors, which have at most PIECE bytes in total, to the host. At most two more downloads may
        start before this one's wait()."""
        return Download(self._down.next(), self.stream, tensors)

    def upload(self, target, fill):
        """Calls fill(host), where `host` has the size and dtype of the flat tensor `target`, and starts to copy it there."""
        buffer = self._up.next()
        buffer.wait()
        host = buffer.bytes[: target.nbytes].view(target.dtype)
        fill(host)
        target.copy_(host, non_blocking=True)
        buffer.record(self.stream)


def length_of(tensor, parts=1):
    """The number of elements in a piece if a buffer holds the pieces of `parts` tensors."""
    return PIECE // parts // tensor.element_size()


def piece(tensor, number, parts=1):
    """The piece of a flat tensor with this number. Empty if the tensor has fewer pieces."""
    length = length_of(tensor, parts)
    return tensor[number * length : (number + 1) * length]


def count(tensor, parts=1):
    """The number of pieces of a flat tensor."""
    return -(-tensor.numel() // length_of(tensor, parts))
