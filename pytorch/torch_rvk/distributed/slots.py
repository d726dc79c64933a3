"""The ways in which a device writes and reads the memory that the ranks of a host share (links.py).

Some drivers can import the memory, so that the device accesses it directly. With the others, the device copies from and to
pinned buffers, and the CPU copies between those and the shared memory. Each rank measures which way is fastest.
"""

import os
import statistics
import sys
import time

import torch

from ..streams import copy_stream
from .host_threads import copy
from .staging import PIECE


#: Kernels that wait for the host's memory take compute units from the training beside them, which the measurement on an idle
#: device does not show; so copies are preferred unless they take this many times longer.
_KERNELS_MUST_GAIN = 1.3


class _Way:
    """A way to use the shared memory from one device. `begin` is an offset in a rank's memory, in bytes. Reads go to the
    current stream, which is the staging's."""

    def read(self, rank, begin, like):
        """Returns a tensor of the device with the size and dtype of `like` and the values in the memory. It may be the memory
        itself, so it is valid until reads() has been waited for."""
        own = torch.empty_like(like)
        self.copy_to(own, rank, begin)
        return own


class _Staged(_Way):
    """The device copies from and to pinned buffers, and the CPU between those and the shared memory."""

    name = "pinned buffers"

    def __init__(self, memories, staging):
        self._memories = memories
        self._staging = staging

    def wait_for_results(self):
        pass  # there is only one stream

    def write(self, rank, begin, tensors):
        download = self._staging.download(tensors)

        def wait():
            filled = download.wait()
            copy(self._memories[rank][begin : begin + filled.nbytes], filled)

        return wait

    def copy_to(self, target, rank, begin):
        shared = self._memories[rank][begin : begin + target.nbytes].view(target.dtype)
        self._staging.upload(target, lambda host: copy(host, shared))

    def reads(self):
        return lambda: None


class _Imported(_Way):
    """The driver has imported the memory, and kernels read it where it is."""

    name = "kernels that access it"

    def __init__(self, views, staging, writing):
        self._views = views
        self._reading = staging.stream
        self._writing = writing

    def _view(self, rank, begin, like):
        return self._views[rank][begin : begin + like.nbytes].view(like.dtype)

    def wait_for_results(self):
        """Makes later writes and copies wait for the work that is on the current stream now."""
        self._writing.wait_stream(self._reading)

    def write(self, rank, begin, tensors):
        """Starts to copy flat tensors to consecutive addresses. Returns a function that waits until they are there."""
        with torch.rvk.stream(self._writing):
            for tensor in tensors:
                torch.ops.rvk.copy_bytes(self._view(rank, begin, tensor), tensor)
                begin += tensor.nbytes
            return self._writing.record_event().synchronize

    def read(self, rank, begin, like):
        return self._view(rank, begin, like)

    def copy_to(self, target, rank, begin):
        target.copy_(self._view(rank, begin, target))

    def reads(self):
        """Returns a function that waits for the reads so far; then the memory can be overwritten."""
        return self._reading.record_event().synchronize


class _Copied(_Imported):
    """The driver has imported the memory; the device copies from it before kernels read. Copies in both directions use
    streams that only copy, so they overlap with each other and with kernels."""

    name = "copies"

    def __init__(self, views, staging, writing, fetching):
        super().__init__(views, staging, writing)
        self._fetching = fetching

    def wait_for_results(self):
        super().wait_for_results()
        self._fetching.wait_stream(self._reading)

    def _fetch(self, target, rank, begin):
        torch.ops.rvk.copy_bytes(target, self._view(rank, begin, target))
        self._reading.wait_event(self._fetching.record_event())

    def read(self, rank, begin, like):
        with torch.rvk.stream(self._fetching):
            own = torch.empty_like(like)
            self._fetch(own, rank, begin)
        own.record_stream(self._reading)
        return own

    def copy_to(self, target, rank, begin):
        with torch.rvk.stream(self._fetching):
            self._fetch(target, rank, begin)

    def reads(self):
        return self._fetching.record_event().synchronize


def _ways(memories, staging):
    """Returns the ways that work on this device, by the names that REKINDLE_SHARED_MEMORY uses."""
    ways = {"staged": _Staged(memories, staging)}
    try:
        views = [torch.ops.rvk.import_host_memory(memory, staging.device) for memory in memories]
    except NotImplementedError as problem:
        _log(str(problem).splitlines()[0])
    else:
        writing, fetching = copy_stream(staging.device), copy_stream(staging.device)
        ways |= {
            "imported": _Imported(views, staging, writing),
            "copied": _Copied(views, staging, writing, fetching),
        }
    return ways


def _seconds(way, rank, begin):
    """Returns how long it takes to write a piece to this rank's own memory and to add what was written to a tensor."""
    tensor = torch.zeros(PIECE // 4, dtype=torch.float32, device=torch.rvk.current_device())

    def run():
        started = time.perf_counter()
        way.wait_for_results()
        way.write(rank, begin, [tensor])()
        torch.add(tensor, way.read(rank, begin, tensor), out=tensor)
        way.reads()()
        torch.rvk.current_stream().synchronize()
        return time.perf_counter() - started

    run()
    return statistics.median(run() for _ in range(3))


def fastest(memories, rank, begin, staging):
    """Returns the way that is fastest here, or the one that REKINDLE_SHARED_MEMORY names. `memories` are the shared memories
    of all ranks; in this rank's, a piece at `begin` can be overwritten. The stream of `staging` must be current."""
    ways = _ways(memories, staging)
    wish = os.environ.get("REKINDLE_SHARED_MEMORY")
    if wish:
        if wish not in ways:
            raise ValueError(f"REKINDLE_SHARED_MEMORY is {wish!r}; on {staging.device} it can be {', '.join(sorted(ways))}.")
        return ways[wish]
    seconds = {name: _seconds(way, rank, begin) for name, way in ways.items()}
    best = min(seconds, key=seconds.get)
    if best == "imported" and seconds["copied"] < _KERNELS_MUST_GAIN * seconds["imported"]:
        best = "copied"
    rates = ", ".join(f"{name} {PIECE / seconds[name] / 1e9:.2f} GB/s" for name in sorted(seconds))
    _log(f"{staging.device} uses shared memory through {ways[best].name} ({rates})")
    if best != "staged":
        staging.release_buffers()
    return ways[best]


def _log(text):
    if os.environ.get("REKINDLE_LOG") is not None:
        print(f"rvk: {text}", file=sys.stderr, flush=True)
