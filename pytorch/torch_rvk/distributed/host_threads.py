"""Copies and reduces host memory on several threads, because one thread is slower than the link to a GPU.

PyTorch's own thread pool cannot be used. Under torchrun it has one thread (OMP_NUM_THREADS=1). Otherwise the pools of all
processes together have more threads than there are CPUs, and all_reduce took seven times as long.
"""

import concurrent.futures
import functools
import os
import threading

import torch

_SMALLEST = 512 << 10  # bytes; smaller parts are not worth a thread
_MOST = 4


@functools.cache
def _threads():
    """The number of threads to use: this process's share of the CPUs, at most four."""
    processes = int(os.environ.get("LOCAL_WORLD_SIZE") or os.environ.get("WORLD_SIZE") or 1)
    return max(1, min(_MOST, len(os.sched_getaffinity(0)) // max(processes, 1)))


_lock = threading.Lock()


def compute_alone():
    """Makes PyTorch's operators single-threaded when the current thread calls them."""
    with _lock:
        count = torch.get_num_threads()
        torch.set_num_threads(1)  # of this thread, and the default of new threads, so restore that
        restore = threading.Thread(target=torch.set_num_threads, args=(count,))
        restore.start()
        restore.join()


@functools.cache
def _pool():
    return concurrent.futures.ThreadPoolExecutor(_threads() - 1, "rvk host memory", compute_alone)


def _without_gradients(function, parts):
    with torch.no_grad():
        function(*parts)


def in_parts(function, *tensors):
    """Splits flat tensors of equal length into parts and calls function(*parts) for each, on several threads if the tensors
    are large."""
    count = min(_threads(), tensors[0].nbytes // _SMALLEST)
    if count < 2:
        function(*tensors)
        return
    first, *others = zip(*(tensor.tensor_split(count) for tensor in tensors))
    started = [_pool().submit(_without_gradients, function, parts) for parts in others]
    function(*first)
    for each in started:
        each.result()


def copy(target, source):
    """Copies a flat host tensor."""
    in_parts(torch.Tensor.copy_, target, source)
