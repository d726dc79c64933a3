"""How a device writes and reads the memory that the ranks of a host share (links.py), in several ways.

A driver that imports the memory lets the device work on it directly. Others copy through pinned buffers, and the CPU copies
between those and the shared memory. Which way is fastest depends on the device and the driver, so each rank measures.
"""

import os
import statistics
import sys
import time

import torch

from .host_threads import copy
from .staging import PIECE


class _Imported:
    """The device reads and writes the shared memory itself, from its kernels."""

    name = "kernels that access it"

    def __init__(self, views, staging):
        self._views = views
        self._reading = staging.stream
        self._writing = torch.Stream(staging.device)

    def _view(self, rank, begin, like):
        return self._views[rank][begin : begin + like.nbytes].view(like.dtype)

    def wait_for_results(self):
        """Later writes start after the work that is on the current stream now."""
        self._writing.wait_stream(self._reading)

    def write(self, rank, begin, tensors):
        """Starts to copy flat tensors to consecutive addresses, `begin` bytes from the start of the rank's memory. Returns a
        function that waits until they are there."""
        with torch.rvk.stream(self._writing):
            for tensor in tensors:
                self._view(rank, begin, tensor).copy_(tensor)
                begin += tensor.nbytes
            return self._writing.record_event().synchronize

    def read(self, rank, begin, like):
        """Returns what is there as a tensor of the device with the size and dtype of `like`. It may be a view, so queue the
        work that reads it on the current stream, and call wait_for_reads() afterwards."""
        return self._view(rank, begin, like)

    def copy_to(self, target, rank, begin):
        target.copy_(self._view(rank, begin, target))

    def reads(self):
        """Returns a function that waits until the memory that was read so far can be overwritten."""
        return self._reading.record_event().synchronize


class _Copied(_Imported):
    """The device copies the shared memory to its own before kernels read it."""

    name = "copies"

    def read(self, rank, begin, like):
        own = torch.empty_like(like)
        self.copy_to(own, rank, begin)
        return own


class _Staged:
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

    def read(self, rank, begin, like):
        own = torch.empty_like(like)
        self.copy_to(own, rank, begin)
        return own

    def copy_to(self, target, rank, begin):
        shared = self._memories[rank][begin : begin + target.nbytes].view(target.dtype)
        self._staging.upload(target, lambda host: copy(host, shared))

    def reads(self):
        return lambda: None


def _ways(memories, staging):
    """Returns what this device can use, by the name that the environment variable has for it."""
    ways = {"staged": _Staged(memories, staging)}
    try:
        views = [torch.ops.rvk.import_host_memory(memory, staging.device) for memory in memories]
    except NotImplementedError as problem:
        _log(str(problem).splitlines()[0])
    else:
        ways |= {"imported": _Imported(views, staging), "copied": _Copied(views, staging)}
    return ways


def _seconds(way, rank, begin):
    """Returns the time to write a piece to this rank's own memory and to reduce what was written."""
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
    rates = ", ".join(f"{name} {PIECE / seconds[name] / 1e9:.2f} GB/s" for name in sorted(seconds))
    _log(f"{staging.device} uses shared memory through {ways[best].name} ({rates})")
    return ways[best]


def _log(text):
    if os.environ.get("REKINDLE_LOG") is not None:
        print(f"rvk: {text}", file=sys.stderr, flush=True)
