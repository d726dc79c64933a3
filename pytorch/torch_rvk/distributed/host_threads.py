"""Copies and reductions of host memory on several threads: one alone does not keep up with the link to a GPU.

PyTorch's own threads are no help here: launchers such as torchrun set OMP_NUM_THREADS=1, and without that, those of
several processes wait for each other's CPUs, which takes seven times as long.
"""

import concurrent.futures
import functools
import os
import threading

import torch

_SMALLEST = 512 << 10  # bytes that are worth a thread
_MOST = 4


@functools.cache
def _threads():
    """This process's share of the CPUs, at most four threads. torchrun says how many processes the host has."""
    processes = int(os.environ.get("LOCAL_WORLD_SIZE") or os.environ.get("WORLD_SIZE") or 1)
    return max(1, min(_MOST, len(os.sched_getaffinity(0)) // max(processes, 1)))


_lock = threading.Lock()


def compute_alone():
    """From now on, PyTorch's operators use no other threads in this thread."""
    with _lock:
        count = torch.get_num_threads()
        torch.set_num_threads(1)  # for this thread, and for every thread that starts to compute later
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
    """Calls function(*parts) for parts of flat tensors of one length, on several threads if they are large."""
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
