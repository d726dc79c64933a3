"""Ranks that die, hang or call another operation. Each function returns the error of the rank that calls it: its type, its
text, and after how many seconds it came."""

import os
import signal
import time

import torch
import torch.distributed as dist

VICTIM = 1
OUTLIVES = 2 * float(os.environ["TEST_TIMEOUT"])  # seconds; longer than the other ranks wait


def _tensor():
    return torch.ones(1000, device=torch.device("rvk", torch.rvk.current_device()))


def _read(tensor):
    """Waits for the tensor: a collective only queues its work, so its error comes with the next wait."""
    return tensor.cpu()


def _all_reduce():
    tensor = _tensor()
    dist.all_reduce(tensor)
    _read(tensor)


def _error(function):
    start = time.monotonic()
    try:
        function()
    except RuntimeError as error:
        return type(error).__name__, str(error), time.monotonic() - start
    return None


def _as_between_hosts(asked):
    if asked:
        from torch_rvk.distributed import links

        links.are_on_one_host = lambda entries: False


def killed(between_hosts):
    _as_between_hosts(between_hosts)
    _all_reduce()
    if dist.get_rank() == VICTIM:
        os.kill(os.getpid(), signal.SIGKILL)
    return _leave(_error(_all_reduce))


def hung(between_hosts):
    _as_between_hosts(between_hosts)
    _all_reduce()
    if dist.get_rank() == VICTIM:
        time.sleep(OUTLIVES)
        return _leave(None)
    return _leave(_error(_all_reduce))


def absent():
    """One rank never calls an operation."""
    if dist.get_rank() == VICTIM:
        time.sleep(OUTLIVES)
        return _leave(None)
    return _leave(_error(_all_reduce))


def killed_in_backward():
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(50, 50).to(_tensor().device))
    model(_tensor()[:50]).sum().backward()
    loss = model(_tensor()[:50]).sum()
    if dist.get_rank() == VICTIM:
        os.kill(os.getpid(), signal.SIGKILL)

    def backward():
        loss.backward()
        _read(next(model.parameters()).grad)

    return _leave(_error(backward))


def _receive():
    tensor = _tensor()
    dist.recv(tensor, VICTIM)
    _read(tensor)


def killed_sender():
    _all_reduce()
    if dist.get_rank() == VICTIM:
        os.kill(os.getpid(), signal.SIGKILL)
    if dist.get_rank() == 0:
        return _leave(_error(_receive))
    return _leave(None)


def different_operations():
    def broadcast():
        tensor = _tensor()
        dist.broadcast(tensor, 0)
        _read(tensor)

    return _leave(_error(_all_reduce if dist.get_rank() == 0 else broadcast))


def wrong_backend():
    group = dist.new_group(backend="gloo")
    return _error(lambda: dist.all_reduce(_tensor(), group=group))


def _leave(result):
    """Ends the process without destroying the group, which would wait for the others."""
    dist.destroy_process_group = lambda: os._exit(0)
    return result
