"""Runs PyTorch's tests of torch.distributed for upstream_distributed.py, through torch_rvk.run:

    upstream_server.py wheel | FILE         # the tests in PyTorch's wheel, or those of a file

Importing the tests takes longer than running most of them, so this process imports them once and prints their names, each as
TEST NAME, and then END. For each line "SECONDS NAME" from standard input, it forks a child, which runs the test, and prints what
the test printed and then END or, after that many seconds, LATE. Tests that spawn processes fork them. Forked processes can use a
device because this one has used none.
"""

import importlib.util
import multiprocessing
import os
import pathlib
import signal
import sys
import tempfile
import unittest
import unittest.mock

import torch


class Pretended:
    """Has the attributes of an operator, but when called returns what `answer` returns."""

    def __init__(self, original, answer):
        self._original = original
        self._answer = answer

    def __call__(self):
        return self._answer()

    def __getattr__(self, name):
        return getattr(self._original, name)


# Only the processes that run a test may count the devices, because counting uses them.
PRETENSE = unittest.mock.patch.multiple(
    torch.ops.rvk,
    device_count=Pretended(torch.ops.rvk.device_count, lambda: int(os.environ["WORLD_SIZE"])),
    why_no_device=Pretended(torch.ops.rvk.why_no_device, lambda: ""),
)
PRETENSE.start()

from torch.testing._internal import common_distributed  # noqa: E402 (it counts the devices)

FORK = multiprocessing.get_context("fork")


def in_rank(target, arguments, keywords):
    PRETENSE.stop()
    target(*arguments, **keywords)


def fork_rank(target, args=(), kwargs=None, **options):
    return FORK.Process(target=in_rank, args=(target, args, kwargs or {}), **options)


def wheel_tests():
    """Derives a test class from the wheel's base class, as upstream's test_distributed_spawn.py does."""
    import torch.testing._internal.distributed.distributed_test as tests

    class Wheel(tests.TestDistBackend, tests.DistributedTest._DistTestBase):
        def setUp(self):
            super().setUp()
            self._spawn_processes()

    return unittest.defaultTestLoader.loadTestsFromTestCase(Wheel)


def tests_of_file(file):
    path = pathlib.Path(file)
    sys.path.insert(0, str(path.parent))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = sys.modules[path.stem] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return unittest.defaultTestLoader.loadTestsFromModule(module)


def single_tests(suite):
    for each in suite:
        yield from single_tests(each) if isinstance(each, unittest.TestSuite) else [each]


def run(test):
    os.setpgid(0, 0)
    os.dup2(1, 2)
    if not isinstance(test, (common_distributed.MultiProcessTestCase, common_distributed.MultiProcContinuousTest)):
        PRETENSE.stop()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TEMP_DIR"] = folder
        common_distributed.initialize_temp_directories()
        unittest.TextTestRunner(verbosity=2).run(unittest.TestSuite([test]))


def run_within(seconds, test):
    """Returns whether the test ended in time."""
    child = FORK.Process(target=run, args=(test,))
    child.start()
    child.join(seconds)
    if child.is_alive():
        os.killpg(child.pid, signal.SIGKILL)
        child.join()
        return False
    return True


def main():
    torch.multiprocessing.set_start_method("fork")
    torch.multiprocessing.Process = fork_rank
    common_distributed.MultiProcessTestCase._spawn_processes = lambda test: test._start_processes(fork_rank)
    name = sys.argv[1]
    suite = wheel_tests() if name == "wheel" else tests_of_file(name)
    tests = {".".join(test.id().split(".")[-2:]): test for test in single_tests(suite)}
    for test in tests:
        print("TEST", test)
    print("END", flush=True)
    for line in sys.stdin:
        seconds, name = line.split()
        print("\nEND" if run_within(float(seconds), tests[name]) else "\nLATE", flush=True)


if __name__ == "__main__":
    main()
