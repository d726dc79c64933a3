#!/usr/bin/env python3
"""Runs unittest modules, each in its own process, and counts the results.

usage: run_unittests.py FOLDER…

The modules are FOLDER/test_*.py, run from the current folder. Prints a line for each module, the failures, the reason of
each skipped test, and finally "PASSED FAILED SKIPPED". A process that died counts as one failure.
"""

import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest

# A module that takes longer hangs. The limit is high because the CPU emulates the GPU and the machine may be busy.
SECONDS = 3600

PARALLEL_MODULES = 4  # a module takes up to 1.5 GB of memory


def modules_of(folders):
    for folder in folders:
        for path in sorted(pathlib.Path(folder).glob("test_*.py")):
            yield ".".join(path.with_suffix("").parts)


def child(module, result_file):
    """Runs one module in this process and writes its counts."""
    sys.path.insert(0, os.getcwd())
    suite = unittest.defaultTestLoader.loadTestsFromName(module)
    result = unittest.TextTestRunner(buffer=True).run(suite)
    failed = result.failures + result.errors
    # Several subtests may fail in one test; a class may fail or be skipped before its first test.
    not_passed = {getattr(test, "test_case", test).id() for test, _ in failed + result.skipped}
    not_passed |= {test.id() for test in result.unexpectedSuccesses}
    counts = {
        "passed": max(0, result.testsRun - sum(not name.startswith("setUpClass") for name in not_passed)),
        "failed": len(failed) + len(result.unexpectedSuccesses),
        "skipped": [f"{test.id()}: {reason}" for test, reason in result.skipped],
    }
    pathlib.Path(result_file).write_text(json.dumps(counts), encoding="utf-8")


def run(module):
    """(module, counts, seconds, output)"""
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        result_file = os.path.join(folder, "result.json")
        command = [sys.executable, os.path.abspath(__file__), "--child", module, result_file]
        try:
            done = subprocess.run(
                command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=SECONDS, check=False,
                # Modules run in parallel: OpenMP threads that spin while they wait would take the CPUs from each other.
                env={"OMP_NUM_THREADS": "1", **os.environ},
            )
            output, status = done.stdout, f"ended with status {done.returncode}"
        except subprocess.TimeoutExpired as expired:
            output, status = str(expired.stdout or ""), f"took longer than {SECONDS} s"
        counts = {"passed": 0, "failed": 1, "skipped": []}
        if os.path.exists(result_file):
            counts = json.loads(pathlib.Path(result_file).read_text(encoding="utf-8"))
            if status != "ended with status 0":
                counts["failed"] += 1  # it died after its last test
                output += f"\n{module} {status}\n"
        else:
            output += f"\n{module} {status}\n"
    return module, counts, time.monotonic() - begin, output


def main(folders):
    total = [0, 0, 0]
    with concurrent.futures.ThreadPoolExecutor(min(PARALLEL_MODULES, os.cpu_count() or 1)) as pool:
        for module, counts, seconds, output in pool.map(run, modules_of(folders)):
            numbers = (counts["passed"], counts["failed"], len(counts["skipped"]))
            total = [a + b for a, b in zip(total, numbers)]
            if counts["failed"]:
                print(output)
            for reason in counts["skipped"]:
                print(f"skipped: {reason}")
            print(f"{module}: {numbers[0]} passed, {numbers[1]} failed, {numbers[2]} skipped in {seconds:.0f} s", flush=True)
    print(*total)


if __name__ == "__main__":
    if sys.argv[1] == "--child":
        child(*sys.argv[2:])
    else:
        main(sys.argv[1:])
