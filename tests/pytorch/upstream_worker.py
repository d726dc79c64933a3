"""A child process of upstream.py: the tests of one file of PyTorch's own, on one device.

    upstream_worker.py FILE.py rvk|cpu      in the folder of the tests

Reads lines from standard input and answers each with a line of JSON on the descriptor that was its standard output:
"list" with the names of the tests, a name with its outcome. Everything else that is printed goes to standard error.
"""

import faulthandler
import functools
import importlib
import importlib.util
import json
import os
import pathlib
import re
import sys
import time
import traceback
import unittest
import warnings

from upstream_results import EXPECTED_FAILURE

MOST_DETAIL = 1500  # characters of an exception's message
# Up to PyTorch 2.6, a device's classes are siblings of the general ones; in later versions they are subclasses, and
# this call recurses without end.
SUPER_OF_2_6 = "super(self.__class__, self)"


def accept_devices_like_cuda(device_types) -> None:
    """Runs classes for "cpu" and "cuda" on every device: upstream names only these two if no other was tried."""
    original = device_types.instantiate_device_type_tests

    @functools.wraps(original)
    def instantiate(test_class, scope, except_for=None, only_for=None, **options):
        if isinstance(only_for, (tuple, list)) and {"cpu", "cuda"} <= set(only_for):
            only_for = [*only_for, "privateuse1"]
        return original(test_class, scope, except_for, only_for, **options)

    device_types.instantiate_device_type_tests = instantiate


def add_names_of_2_6(device_types) -> None:
    """Supplies names that the tests of PyTorch 2.6 import and that later versions have moved or removed."""
    internal = "torch.testing._internal."
    methods, cuda, nn, mkldnn = (importlib.import_module(internal + name) for name in (
        "common_methods_invocations", "common_cuda", "common_nn", "common_mkldnn"))

    def supply(module, name, make):
        if not hasattr(module, name):
            setattr(module, name, make())

    supply(methods, "skip", lambda: device_types.skip)
    supply(methods, "xfail", lambda: device_types.xfail)
    supply(methods, "skipOps", lambda: lambda test_class, test, to_skip: device_types.skipOps(to_skip))
    supply(methods, "unary_ufuncs_and_refs", lambda: methods.unary_ufuncs)
    supply(methods, "binary_ufuncs_and_refs", lambda: methods.binary_ufuncs)
    supply(cuda, "tf32_is_not_fp32", lambda: lambda: False)  # asks whether CUDA rounds to TF32
    supply(nn, "new_module_tests", lambda: nn.get_new_module_tests())
    supply(mkldnn, "bf32_on_and_off", lambda: lambda precision=None: lambda test: test)  # repeats a test on the CPU


def load(path: pathlib.Path):
    """The module of the file, under the name that it has when run alone (tests pickle their classes)."""
    specification = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(specification)
    sys.modules[path.stem] = module
    source = path.read_text(encoding="utf-8").replace(SUPER_OF_2_6, "super()")
    exec(compile(source, str(path), "exec"), vars(module))
    return module


def tests_of(module, device_types, device: str) -> dict[str, unittest.TestCase]:
    """The tests of the classes created for the device, by the name that they have on rvk."""
    # PyTorch names the first class of a process with the general name, and the others with the device's own.
    suffix = "CPU" if device == "cpu" else f"PRIVATEUSE1|{device.upper()}"
    tests = {}
    for name, test_class in vars(module).items():
        match = re.fullmatch(f"(.+?)({suffix})", name)
        if not (match and isinstance(test_class, type) and issubclass(test_class, device_types.DeviceTypeTestBase)):
            continue
        for test in unittest.defaultTestLoader.loadTestsFromTestCase(test_class):
            method = test._testMethodName
            if device == "cpu":
                method = "_rvk".join(method.rsplit("_cpu", 1))
            tests[f"{match[1]}.{method}"] = test
    return tests


class Watcher(unittest.TestResult):
    """The outcome of one test, including its subtests."""

    def __init__(self):
        super().__init__()
        self.exceptions = []
        self.marked = []  # those that upstream marks as expected failures

    @staticmethod
    def _description(error) -> str:
        _, value, trace = error
        frames = [frame for frame in traceback.extract_tb(trace) if "/unittest/" not in frame.filename]
        where = next((f"{pathlib.Path(frame.filename).name}:{frame.lineno}" for frame in reversed(frames)
                      if pathlib.Path(frame.filename).parent in (pathlib.Path.cwd(), pathlib.Path.cwd() / "nn")), "")
        # Upstream's own decorators add the current sample; the cause is what matters.
        while value.__cause__ is not None:
            value = value.__cause__
        return f"{type(value).__name__}: {str(value)[:MOST_DETAIL]} ({where})"

    def addError(self, test, err):
        super().addError(test, err)
        self.exceptions.append(self._description(err))

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self.exceptions.append(self._description(err))

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err is not None:
            self.exceptions.append(self._description(err))

    def addExpectedFailure(self, test, err):
        super().addExpectedFailure(test, err)
        self.marked.append(self._description(err))

    def addUnexpectedSuccess(self, test):
        super().addUnexpectedSuccess(test)
        self.exceptions.append("unexpected success")

    def outcome(self) -> tuple[str, str]:
        if self.exceptions:
            more = f" and {len(self.exceptions) - 1} more subtests" if len(self.exceptions) > 1 else ""
            return "failed", self.exceptions[0] + more
        if self.skipped:
            return "skipped", self.skipped[0][1][:MOST_DETAIL]
        return "passed", f"{EXPECTED_FAILURE}: {self.marked[0]}" if self.marked else ""


def run(test: unittest.TestCase) -> dict:
    watcher = Watcher()
    began = time.monotonic()
    unittest.TestSuite([test]).run(watcher)
    outcome, detail = watcher.outcome()
    return {"outcome": outcome, "detail": detail, "seconds": round(time.monotonic() - began, 3)}


def device_works(torch, device: str) -> bool:
    """Whether the device still computes after a failure; a lost one fails every test that follows."""
    for _ in range(2):
        try:
            return (torch.ones(3, device=device) + 1).sum().item() == 6
        except IndexError:  # the failed test's index out of range, which is reported once
            continue
        except RuntimeError:
            return False
    return False


def main() -> None:
    path, device = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2]
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    questions = os.fdopen(os.dup(0), encoding="utf-8")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)  # processes started by tests must not read the questions
    faulthandler.enable()
    del sys.argv[1:]  # upstream's modules parse the arguments
    sys.path.insert(0, os.getcwd())

    import torch
    if device != "cpu":
        from support import load_device
        load_device(device)
    from torch.testing._internal import common_device_type as device_types
    accept_devices_like_cuda(device_types)
    add_names_of_2_6(device_types)
    problem, tests = "", {}
    try:
        with warnings.catch_warnings():  # only here, because some tests expect warnings
            warnings.simplefilter("ignore")
            tests = tests_of(load(path), device_types, device)
    except Exception as error:  # the file does not work with this PyTorch, which is an answer too
        problem = f"{type(error).__name__}: {error}"

    print("ready", file=answers, flush=True)
    for line in questions:
        name = line.strip()
        if name == "list":
            answer = {"tests": sorted(tests), "problem": problem}
        elif name in tests:
            answer = run(tests[name])
        else:
            answer = {"outcome": "skipped", "detail": f"{device} has no such test {problem}", "seconds": 0.0}
        broken = answer.get("outcome") == "failed" and not device_works(torch, device)
        print(json.dumps(answer | {"device_lost": broken}), file=answers, flush=True)
        if broken:
            break
    answers.close()
    if device != "cpu":
        torch.ops.rvk.finish()  # saves the compiled pipelines
    os._exit(0)  # tests leave threads and hooks behind


if __name__ == "__main__":
    main()
