"""PyTorch's own tests of torch.distributed, from its wheel, on rvk devices under NCCL's name:

    python upstream_spawn.py [PATTERN…]      # each in two processes, on two devices; prints a table
    python upstream_spawn.py --processes 4 [PATTERN…]

The tests are written for CUDA, so they run through torch_rvk.run. PyTorch needs the package expecttest for them. On one
machine with one CPU driver, a second copy of the driver makes a second device (README.md).
"""

import argparse
import collections
import fnmatch
import json
import os
import re
import subprocess
import sys
import tempfile

_RUNNER = """
import os, sys, tempfile, unittest
os.environ.setdefault("TEMP_DIR", tempfile.mkdtemp())
from torch.testing._internal.distributed.distributed_test import DistributedTest, TestDistBackend
import torch.testing._internal.distributed.distributed_test as tests
tests.PROFILING_SUPPORTED_BACKENDS = []  # this backend's ranges in the profiler have other names
class TestDistBackendWithSpawn(TestDistBackend, DistributedTest._DistTestBase):
    def setUp(self):
        super().setUp()
        self._spawn_processes()
if __name__ == "__main__":
    if sys.argv[1:] == ["--list"]:
        print("\\n".join(unittest.defaultTestLoader.getTestCaseNames(TestDistBackendWithSpawn)))
    else:
        from torch.testing._internal.distributed.distributed_test import initialize_temp_directories
        initialize_temp_directories(os.environ.get("INIT_METHOD"))
        unittest.main(verbosity=2)
"""


def _run(script, arguments, limit, processes=2):
    variables = {**os.environ, "BACKEND": "nccl", "WORLD_SIZE": str(processes), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "torch_rvk.run", script, *arguments]
    try:
        result = subprocess.run(
            command, env=variables, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=limit, check=False
        )
        return result.stdout
    except subprocess.TimeoutExpired as late:
        return (late.stdout or b"").decode(errors="replace") + "\nLATE"


def _outcome(output):
    """ "passed", "skipped: REASON" or "failed: LAST LINE OF THE ERROR"."""
    if "\nLATE" in output:
        return "failed: late"
    skipped = re.search(r"skipped ['\"](.*)['\"]", output)
    if skipped:
        return f"skipped: {skipped[1]}"
    if re.search(r"^OK", output, re.MULTILINE):
        return "passed"
    errors = re.findall(r"^\w*(?:Error|Exception|Exit)\b.*$", output, re.MULTILINE)
    return f"failed: {errors[-1][:200] if errors else output[-200:]}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("patterns", nargs="*", default=["*"])
    parser.add_argument("--processes", type=int, default=2, help="each needs a device of its own")
    parser.add_argument("--limit", type=float, default=180, help="seconds for a test")
    parser.add_argument("--results", help="a file with a line of JSON for each test; those in it are not run again")
    arguments = parser.parse_args()
    known = {}
    if arguments.results and os.path.exists(arguments.results):
        with open(arguments.results, encoding="utf-8") as file:
            known = dict(json.loads(line) for line in file)
    with tempfile.TemporaryDirectory() as folder:
        script = os.path.join(folder, "spawn_tests.py")
        with open(script, "w", encoding="utf-8") as file:
            file.write(_RUNNER)
        names = [line for line in _run(script, ["--list"], 300).splitlines() if line.startswith("test_")]
        names = [name for name in names if any(fnmatch.fnmatch(name, pattern) for pattern in arguments.patterns)]
        for name in names:
            if name not in known:
                known[name] = _outcome(_run(script, [f"TestDistBackendWithSpawn.{name}"], arguments.limit, arguments.processes))
                print(f"{name}: {known[name]}", flush=True)
                if arguments.results:
                    with open(arguments.results, "a", encoding="utf-8") as file:
                        print(json.dumps([name, known[name]]), file=file)
    kinds = collections.Counter(known[name].partition(":")[0] for name in names)
    print("\n| tests | passed | skipped | failed |\n|---|---|---|---|")
    print(f"| {len(names)} | {kinds['passed']} | {kinds['skipped']} | {kinds['failed']} |")
    sys.exit(kinds["failed"] > 0)


if __name__ == "__main__":
    main()
