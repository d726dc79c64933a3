"""Runs a function in several processes that form a process group."""

import datetime
import json
import os
import subprocess
import sys
import tempfile
import traceback

SECONDS = 900  # a hang fails the test; the machine may be busy
_HERE = os.path.dirname(os.path.abspath(__file__))


class Failed(AssertionError):
    pass


def _command(module, function, rank, size, folder, arguments):
    call = f"import processes; processes.child({module!r}, {function!r}, {rank}, {size}, {folder!r}, {arguments!r})"
    return [sys.executable, "-c", call]


def run(module, function, size, *arguments, environment=None, check=True):
    """Calls module.function(*arguments) on `size` ranks; returns the results, which must fit into JSON, one for each rank.
    With check=False, a rank that failed has (exit status, standard error) instead."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.pathsep.join(filter(None, [_HERE, os.environ.get("PYTHONPATH")]))
        variables = {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1", **(environment or {})}
        started = [
            subprocess.Popen(
                _command(module, function, rank, size, folder, arguments), env=variables, stderr=subprocess.PIPE, text=True
            )
            for rank in range(size)
        ]
        try:
            errors = [process.communicate(timeout=SECONDS)[1] for process in started]
        finally:
            for process in started:
                process.kill()
        return [_result(folder, rank, process, errors, check) for rank, process in enumerate(started)]


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

    os.environ.update(RANK=str(rank), WORLD_SIZE=str(size), LOCAL_RANK=str(rank))
    store = dist.FileStore(os.path.join(folder, "store"), size)
    backend = os.environ.get("TEST_BACKEND") or None
    timeout = datetime.timedelta(seconds=float(os.environ.get("TEST_TIMEOUT", 300)))
    torch.rvk.set_device(rank % torch.rvk.device_count())
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
