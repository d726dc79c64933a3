"""Runs a test function in several processes that form a process group."""

import datetime
import json
import os
import subprocess
import sys
import tempfile
import time
import traceback

SECONDS = 900  # after which a hang fails the test; long, because the machine may be busy
_AFTER_A_FAILURE = 60  # seconds until the other ranks are killed
_HERE = os.path.dirname(os.path.abspath(__file__))


class Failed(AssertionError):
    pass


def _command(module, function, rank, size, folder, arguments):
    call = f"import processes; processes.child({module!r}, {function!r}, {rank}, {size}, {folder!r}, {arguments!r})"
    return [sys.executable, "-c", call]


def run(module, function, size, *arguments, environment=None, check=True):
    """Calls module.function(*arguments) in `size` processes. Returns the result of each rank, which must be representable in
    JSON. With check=False, the result of a rank that failed is (exit status, standard error)."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.pathsep.join(filter(None, [_HERE, os.environ.get("PYTHONPATH")]))
        variables = {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1", **(environment or {})}
        started = [_start(module, function, rank, size, folder, arguments, variables) for rank in range(size)]
        _wait(started)
        errors = [_read(folder, rank) for rank in range(size)]
        return [_result(folder, rank, process, errors, check) for rank, process in enumerate(started)]


def _start(module, function, rank, size, folder, arguments, variables):
    command = _command(module, function, rank, size, folder, arguments)
    with open(os.path.join(folder, f"errors{rank}"), "w", encoding="utf-8") as errors:
        return subprocess.Popen(command, env=variables, stderr=errors)


def _read(folder, rank):
    with open(os.path.join(folder, f"errors{rank}"), encoding="utf-8") as file:
        return file.read()


def _wait(started):
    """Waits for all processes. If one fails, kills the others after a while."""
    end = time.monotonic() + SECONDS
    while any(process.poll() is None for process in started) and time.monotonic() < end:
        if any(process.poll() for process in started):
            end = min(end, time.monotonic() + _AFTER_A_FAILURE)
        time.sleep(0.05)
    for process in started:
        process.kill()
        process.wait()


def _result(folder, rank, process, errors, check):
    try:
        with open(os.path.join(folder, f"result{rank}"), encoding="utf-8") as file:
            return json.load(file)
    except FileNotFoundError:
        if not check:
            return process.returncode, errors[rank]
    texts = "\n".join(f"rank {each}: {error[-3000:]}" for each, error in enumerate(errors))
    raise Failed(f"rank {rank} ended with {process.returncode}\n{texts}")


def child(module, function, rank, size, folder, arguments):
    import torch
    import torch.distributed as dist
    import torch_rvk  # noqa: F401  PyTorch may have been told not to load it by itself

    device = rank % torch.rvk.device_count()  # ranks may share one
    os.environ.update(RANK=str(rank), WORLD_SIZE=str(size), LOCAL_RANK=str(device))
    store = dist.FileStore(os.path.join(folder, "store"), size)
    backend = os.environ.get("TEST_BACKEND") or None
    timeout = datetime.timedelta(seconds=float(os.environ.get("TEST_TIMEOUT", 300)))
    torch.rvk.set_device(device)
    try:
        dist.init_process_group(backend, store=store, rank=rank, world_size=size, timeout=timeout)
        result = getattr(__import__(module), function)(*arguments)
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
        os._exit(1)
    with open(os.path.join(folder, f"partial{rank}"), "w", encoding="utf-8") as file:
        json.dump(result, file)
    os.rename(os.path.join(folder, f"partial{rank}"), os.path.join(folder, f"result{rank}"))
    dist.destroy_process_group()
