#!/usr/bin/env python3
"""Runs PyTorch's own tests on the device and prints a table: for each file what passed, what also fails on the CPU, and
what is expected to fail.

    python tests/pytorch/upstream.py [--sample 5%] [--shard K/N] [--minutes M] [--files NAME…] [--tests PATTERN…] [--source FOLDER]

The tests come from Debian's source package of PyTorch (fetch_upstream.sh, run if build/upstream/test does not exist),
or from the folder test/ of a checkout of PyTorch (--source). They run in child processes; a test that ends its process
or takes longer than --limit seconds has failed, and the others continue. Failed tests run again on the CPU alone. A
late test is tried again with --late-limit before it counts as failing. Every result is written to --results
immediately, and a run continues where the last one ended. upstream_expected.json names the expected failures and their
reasons. The exit status is 1 if something else failed.

Packages: numpy, expecttest, hypothesis; with pytest, psutil and scipy fewer tests are skipped.
Environment: REKINDLE_POISON is 1 unless set. CUDA is hidden from the tests, so that the device is PyTorch's only one.
"""

import argparse
import concurrent.futures
import dataclasses
import fnmatch
import importlib.metadata
import json
import os
import pathlib
import subprocess
import sys
import threading
import time
from collections.abc import Callable

import upstream_results
from upstream_results import Outcome, Result, Store
from worker_pool import Worker

FOLDER = pathlib.Path(__file__).resolve().parent
BUILD = FOLDER.parent.parent / "build" / "upstream"
DEVICE = "rvk"
FILES = ("test_indexing", "test_view_ops", "test_ops", "test_ops_gradients", "test_ops_fwd_gradients", "test_modules",
         "test_optim", "test_foreach", "test_reductions", "test_sort_and_select", "test_shape_ops", "test_scatter_gather_ops",
         "test_type_promotion", "nn/test_pooling", "nn/test_embedding", "nn/test_dropout", "test_tensor_creation_ops",
         "nn/test_convolution", "test_autograd", "test_nn", "test_torch", "test_unary_ufuncs", "test_binary_ufuncs",
         "test_linalg", "test_transformers")
TESTS_PER_PROCESS = 400  # then a fresh process, so that memory held by one test does not affect all others
LOADING_LIMIT = 3600  # seconds for a process to import a file and create its tests, on a busy machine
SHARES = (0.7, 0.85, 1)  # of --minutes, when these end: the device's tests, the second try of late tests, the CPU's tests


class Suite:
    """One file of upstream's tests: its tests for the device, those chosen, and the results so far."""

    def __init__(self, file: str, arguments: argparse.Namespace):
        self.file = file
        self._path = arguments.source / f"{file}.py"
        self._threads = max(1, (os.cpu_count() or 1) // arguments.jobs)
        self._patterns = arguments.tests
        self._sample = arguments.sample
        self._shard = tuple(map(int, arguments.shard.split("/")))
        shard = arguments.shard.replace("/", "of")
        self.stores = {device: Store(arguments.results, file, device, shard) for device in (DEVICE, "cpu")}
        self.tests, self.problem, self.chosen = [], "", []
        self._list = arguments.results / f"{file.replace('/', '.')}.list.json"
        self.is_listed = self._list.exists()
        if self.is_listed:
            self._choose(json.loads(self._list.read_text(encoding="utf-8")))

    def start(self, device: str) -> Worker:
        only, path = "cpu" if device == "cpu" else "privateuse1", os.environ.get("PYTHONPATH", "")
        environment = dict(
            os.environ, PYTORCH_TESTING_DEVICE_ONLY_FOR=only, CUDA_VISIBLE_DEVICES="", OMP_NUM_THREADS=str(self._threads),
            PYTORCH_PRINT_REPRO_ON_FAILURE="0",
            PYTHONPATH=os.pathsep.join([str(FOLDER), *map(os.path.abspath, filter(None, path.split(os.pathsep)))]))
        environment.setdefault("REKINDLE_POISON", "1")
        if device == "cpu":
            environment["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"
        return Worker([sys.executable, str(FOLDER / "upstream_worker.py"), str(self._path), device], environment,
                      self._path.parent.parent if "/" in self.file else self._path.parent, LOADING_LIMIT)

    def list_tests(self, worker: Worker) -> None:
        """Asks the worker, which has the device, for the names. They are stored: importing a file takes up to a
        minute."""
        answer = worker.ask("list", LOADING_LIMIT) or {"tests": [], "problem": "the process ended while it imported the file"}
        if not answer["problem"]:
            self._list.write_text(json.dumps(answer), encoding="utf-8")
        self._choose(answer)
        self.is_listed = True

    def _choose(self, listing: dict) -> None:
        self.tests, self.problem = listing["tests"], listing["problem"]
        chosen = upstream_results.choose(self.file, self.tests, self._sample, *self._shard)
        self.chosen = [test for test in chosen if any(fnmatch.fnmatchcase(test, pattern) for pattern in self._patterns)]

    def results(self, device: str) -> dict[str, Result]:
        chosen = set(self.chosen)
        return {test: result for test, result in self.stores[device].read().items() if test in chosen}

    def late(self, limit: float) -> list[str]:
        """The tests that took too long on the device and have not been tried with this limit yet."""
        return [test for test, result in self.results(DEVICE).items()
                if result.outcome is Outcome.LATE and result.seconds < limit]

    def missing(self, device: str) -> list[str]:
        """The tests without a result; on the CPU, only those that failed on the device."""
        done = self.results(device)
        requested = self.chosen if device == DEVICE else [
            test for test, result in self.results(DEVICE).items() if result.outcome.is_failure]
        return [test for test in requested if test not in done]


@dataclasses.dataclass(frozen=True)
class Round:
    """One pass over the files."""
    device: str
    tests: Callable[[Suite], list[str]]  # the tests to run
    limit: float  # seconds for one test
    end: float  # of time.monotonic()
    lists_tests: bool = False  # lists the tests of files that have not been listed yet
    cuts: bool = False  # a test still running at the end of the round is late

    def limit_now(self) -> float:
        return min(self.limit, max(1.0, self.end - time.monotonic())) if self.cuts else self.limit


class Queue:
    """The tests of a round; tests of one file are handed out together, and a worker keeps its file."""

    def __init__(self, tests: Round, suites: list[Suite], arguments: argparse.Namespace):
        self._round = tests
        self._suites = {suite.file: suite for suite in suites if suite.is_listed or tests.lists_tests}
        self._waiting = {suite.file: tests.tests(suite)[::-1] for suite in suites if suite.is_listed}
        self._busy = dict.fromkeys(self._suites, 0)
        self._verbose = arguments.verbose
        # Half of the available time per file, so that in a short run every file gets a turn.
        self._turn = (tests.end - time.monotonic()) * arguments.jobs / (2 * max(1, len(self._suites)))
        self._lock = threading.Condition()

    def _next_file(self) -> str | None:
        """The file with the most remaining tests per worker on it; a file whose tests are not known yet comes first."""
        with self._lock:
            while time.monotonic() < self._round.end:
                unknown = [file for file in self._suites if file not in self._waiting]
                free = [file for file in unknown if not self._busy[file]]
                known = [file for file, tests in self._waiting.items() if tests]
                if free or known:
                    file = free[0] if free else max(known, key=lambda name: len(self._waiting[name]) / (1 + self._busy[name]))
                    self._busy[file] += 1
                    return file
                if not unknown:
                    return None
                self._lock.wait(1)  # others are listing the tests of the files
            return None

    def _next_test(self, file: str, began: float) -> str | None:
        """The next test. None if the file is done, the time is up, or its turn is over and another file has not been
        started."""
        with self._lock:
            tests, now = self._waiting[file], time.monotonic()
            not_begun = any(name not in self._waiting and not busy for name, busy in self._busy.items())
            over = now >= self._round.end or (now - began > self._turn and not_begun)
            return tests.pop() if tests and not over else None

    def _start(self, suite: Suite) -> Worker | None:
        """Starts a worker. None if the file's tests cannot run; the table then says why."""
        try:
            worker = suite.start(self._round.device)
            if not suite.is_listed:
                suite.list_tests(worker)
                with self._lock:
                    self._waiting[suite.file] = self._round.tests(suite)[::-1]
                    self._lock.notify_all()
            return worker
        except RuntimeError as error:
            with self._lock:
                suite.problem = str(error)
                self._waiting[suite.file] = []
            return None

    def _serve_file(self, suite: Suite) -> None:
        worker, start = self._start(suite), time.monotonic()
        try:
            while worker and worker.asked < TESTS_PER_PROCESS and (test := self._next_test(suite.file, start)) is not None:
                began = time.monotonic()
                answer = worker.ask(test, self._round.limit_now())
                self._keep(suite, result_of(test, answer, worker, time.monotonic() - began))
                if answer is None or answer["device_lost"]:
                    worker.close()
                    worker = self._start(suite)
        finally:
            if worker:
                worker.close()

    def _keep(self, suite: Suite, result: Result) -> None:
        with self._lock:
            suite.stores[self._round.device].add(result)
            if self._verbose:
                print(f"{suite.file} {result.test} {self._round.device}: {result.outcome.value} {result.seconds} s {result.detail}",
                      flush=True)

    def serve(self) -> None:
        while (file := self._next_file()) is not None:
            try:
                self._serve_file(self._suites[file])
            finally:
                with self._lock:
                    self._busy[file] -= 1


def result_of(test: str, answer: dict | None, worker: Worker, seconds: float) -> Result:
    """Closes a worker that did not answer; its last output becomes the detail."""
    if answer is not None:
        lost = " and the device was lost" if answer["device_lost"] else ""
        return Result(test, Outcome(answer["outcome"]), answer["seconds"], answer["detail"] + lost)
    said = worker.close()
    return Result(test, Outcome.LATE if said.startswith("timeout") else Outcome.CRASHED, round(seconds, 3), said)


def run_all(tests: Round, suites: list[Suite], arguments: argparse.Namespace) -> None:
    queue = Queue(tests, suites, arguments)
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        for future in [pool.submit(queue.serve) for _ in range(arguments.jobs)]:
            future.result()


def torch_version() -> str:
    return importlib.metadata.version("torch")


def check_folder(arguments: argparse.Namespace) -> None:
    """Refuses to mix these results with those of another PyTorch or of other tests."""
    what = {"torch": torch_version(), "source": str(arguments.source)}
    arguments.results.mkdir(parents=True, exist_ok=True)
    path = arguments.results / "run.json"
    if not path.exists():
        path.write_text(json.dumps(what) + "\n", encoding="utf-8")
    elif (there := json.loads(path.read_text(encoding="utf-8"))) != what:
        sys.exit(f"{arguments.results} has results of PyTorch {there['torch']} and the tests in {there['source']}, but this is "
                 f"PyTorch {what['torch']} and {what['source']}: name another folder with --results, or delete that one.")


def forget_failures(suites: list[Suite], expected: list[upstream_results.Expectation]) -> None:
    for suite in suites:
        device, cpu = suite.results(DEVICE), suite.results("cpu")
        row = upstream_results.make_row(suite.file, 0, device, cpu, expected)
        suite.stores[DEVICE].forget({result.test for result in row.failing})


def report(suites: list[Suite], arguments: argparse.Namespace, seconds: float) -> int:
    """Prints the failures, then the table; returns the number of unexplained failures."""
    expected = upstream_results.read_expectations()
    rows = [upstream_results.make_row(suite.file, len(suite.tests), suite.results(DEVICE), suite.results("cpu"), expected)
            for suite in suites]
    path = arguments.results / "failing.txt"
    path.write_text(upstream_results.failing_list(rows), encoding="utf-8")
    if any(row.failing for row in rows):
        print(upstream_results.failing_groups(rows), f"(each of them: {path})", sep="\n")
    problems = [suite for suite in suites if suite.problem]
    for suite in problems:
        print(f"FAILING: {suite.file} could not be loaded: {suite.problem}")
    print(upstream_results.table(rows))
    ran, chosen, tests = sum(row.ran for row in rows), sum(len(suite.chosen) for suite in suites), sum(row.tests for row in rows)
    print(f"{ran} of {chosen} chosen tests ran, of {tests} in all (sample {100 * arguments.sample:g} %, shard {arguments.shard}); "
          f"{seconds:.0f} s, {arguments.jobs} processes, PyTorch {torch_version()}")
    not_compared = sum(len(suite.missing("cpu")) for suite in suites)
    if not_compared:
        print(f"{not_compared} failures have not run on the CPU yet and count as the device's: run again without --only-report.")
    return sum(len(row.failing) for row in rows) + len(problems)


def share(text: str) -> float:
    value = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    if not 0 < value <= 1:
        raise argparse.ArgumentTypeError(f"{text} is not a share: 5% or 0.05, more than 0 and at most 100%")
    return value


def shard(text: str) -> str:
    number, _, shards = text.partition("/")
    if not (number.isdigit() and shards.isdigit() and 1 <= int(number) <= int(shards)):
        raise argparse.ArgumentTypeError(f"{text} is not a shard: K/N, with K from 1 to N")
    return text


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", type=pathlib.Path, default=BUILD / "test", metavar="FOLDER", help="PyTorch's folder test/")
    parser.add_argument("--results", type=pathlib.Path, default=BUILD / "results", metavar="FOLDER")
    parser.add_argument("--files", nargs="+", metavar="NAME", help="only these files, such as test_indexing nn/test_pooling")
    parser.add_argument("--tests", nargs="+", default=["*"], metavar="PATTERN",
                        help="of these files, only the tests that match, such as 'TestTorchDeviceType.test_masked_fill_*'")
    parser.add_argument("--sample", type=share, default=1.0, help="the share of each file's tests, in hash order")
    parser.add_argument("--shard", type=shard, default="1/1", metavar="K/N", help="the K-th of N parts of the sample")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 2, help="child processes (default: one per core)")
    parser.add_argument("--limit", type=float, default=180, help="seconds for one test (default 180)")
    parser.add_argument("--late-limit", type=float, metavar="SECONDS",
                        help="for the second try of a test that took longer than --limit (default: five times as long)")
    parser.add_argument("--minutes", type=float, default=1e6, help="stop after this time and print the results so far")
    parser.add_argument("--again", action="store_true", help="repeat the tests with unexplained failures")
    parser.add_argument("--only-report", action="store_true", help="run nothing; print the table of the existing results")
    parser.add_argument("--verbose", "-v", action="store_true", help="print every test as it finishes")
    arguments = parser.parse_args()
    for file in arguments.files or ():
        if file not in FILES:
            parser.error(f"unknown file {file}; the files are: {' '.join(FILES)}")
    return arguments


def main() -> int:
    arguments = parse_arguments()
    began = time.monotonic()
    if not arguments.source.exists() and arguments.source == BUILD / "test":
        subprocess.run([str(FOLDER / "fetch_upstream.sh"), str(arguments.source)], check=True)
    arguments.source = arguments.source.resolve()
    files = arguments.files or FILES
    missing = [file for file in files if not (arguments.source / f"{file}.py").exists()]
    if missing:
        sys.exit(f"{arguments.source} has no {missing[0]}.py: name PyTorch's folder test/ with --source.")
    if not arguments.only_report:
        check_folder(arguments)
    suites = [Suite(file, arguments) for file in files]
    if arguments.again:
        forget_failures(suites, upstream_results.read_expectations())
    if not arguments.only_report:
        patience = max(arguments.limit, arguments.late_limit or 5 * arguments.limit)
        ends = [began + share * 60 * arguments.minutes for share in SHARES]
        for tests in (Round(DEVICE, lambda suite: suite.missing(DEVICE), arguments.limit, ends[0], lists_tests=True),
                      Round(DEVICE, lambda suite: suite.late(patience), patience, ends[1], cuts=True),
                      Round("cpu", lambda suite: suite.missing("cpu"), patience, ends[2])):
            run_all(tests, suites, arguments)
    failed = report(suites, arguments, time.monotonic() - began)
    if arguments.tests != ["*"] and not any(suite.chosen for suite in suites):
        sys.exit(f"No test of these files and this sample matches {' or '.join(arguments.tests)}.")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
