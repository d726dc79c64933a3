"""PyTorch's own tests of torch.distributed on rvk devices, under NCCL's name:

    python upstream_distributed.py [PATTERN…]                  # those in PyTorch's wheel; prints a table
    python upstream_distributed.py --source TEST [PATTERN…]    # those in the folder distributed of PyTorch's folder test/

The tests are written for CUDA, so they run through torch_rvk.run, each in processes of its own. A pattern matches names such as
_composable/fsdp/test_fully_shard_comm.py::TestFullyShardCommunication.test_manual_reshard_after_forward; without a folder, it
matches names of the wheel's tests, such as test_all_reduce*. PyTorch needs the package expecttest for them. On one machine with
one CPU driver, copies of the driver make more devices (README.md).
"""

import argparse
import collections
import concurrent.futures
import fnmatch
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

#: Derives a test class from the wheel's base class, as upstream's test_distributed_spawn.py does.
_WHEEL = """
import os, sys, tempfile, unittest
os.environ.setdefault("TEMP_DIR", tempfile.mkdtemp())
from torch.testing._internal.distributed.distributed_test import DistributedTest, TestDistBackend
import torch.testing._internal.distributed.distributed_test as tests
tests.PROFILING_SUPPORTED_BACKENDS = []  # this backend's ranges in the profiler have other names
class Spawn(TestDistBackend, DistributedTest._DistTestBase):
    def setUp(self):
        super().setUp()
        self._spawn_processes()
if __name__ == "__main__":
    from torch.testing._internal.distributed.distributed_test import initialize_temp_directories
    initialize_temp_directories(os.environ.get("INIT_METHOD"))
    unittest.main(verbosity=2)
"""
_LISTER = """
import importlib.util, os, pathlib, sys, unittest
path = pathlib.Path(sys.argv[1])
sys.path.insert(0, str(path.parent))
spec = importlib.util.spec_from_file_location(path.stem, path)
module = sys.modules[path.stem] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
def names(suite):
    for each in suite:
        yield from names(each) if isinstance(each, unittest.TestSuite) else [each.id()]
for name in names(unittest.defaultTestLoader.loadTestsFromModule(module)):
    print("TEST", name.partition(".")[2], flush=True)
os._exit(0)
"""


class Runner:
    def __init__(self, options, folder):
        self._options = options
        self.wheel = folder / "wheel_tests.py"
        self.wheel.write_text(_WHEEL)
        self._lister = folder / "lister.py"
        self._lister.write_text(_LISTER)

    def _run(self, script, *arguments):
        """Returns the output. It ends with LATE if the time limit was exceeded."""
        options = self._options
        paths = [str(options.source)] * bool(options.source) + [os.environ.get("PYTHONPATH", "")]
        variables = {
            **os.environ, "BACKEND": "nccl", "WORLD_SIZE": str(options.processes), "OMP_NUM_THREADS": "1",
            "PYTHONPATH": os.pathsep.join(path for path in paths if path),
        }  # fmt: skip
        process = subprocess.Popen(
            [sys.executable, "-m", "torch_rvk.run", str(script), *arguments],
            env=variables, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True,
        )  # fmt: skip
        try:
            return process.communicate(timeout=options.limit)[0]
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)
            return process.communicate()[0] + "\nLATE"

    def names(self, file):
        """Returns the names of the tests of a file, or the reason why it has none."""
        output = self._run(self._lister, str(file))
        names = re.findall(r"^TEST (\S+)$", output, re.MULTILINE)
        return names or _outcome(output)

    def outcome(self, file, test):
        return _outcome(self._run(file, "-v", test))


def _outcome(output):
    """ "passed", "skipped: REASON" or "failed: LAST LINE OF THE ERROR"."""
    if output.endswith("\nLATE"):
        return "failed: late"
    skipped = re.search(r"\.\.\. skipped ['\"](.*)['\"]", output)
    if skipped:
        return f"skipped: {skipped[1]}"
    if re.search(r"^OK", output, re.MULTILINE):
        return "passed"
    errors = re.findall(r"^(?:\w+\.)*\w*(?:Error|Exception|Exit)\b.*$", output, re.MULTILINE)
    return f"failed: {errors[-1][:300] if errors else output[-300:]}"


def _files(options, runner):
    """Yields each file with its name in the results."""
    if options.source is None:
        yield "wheel", runner.wheel
        return
    folder = options.source / "distributed"
    for file in sorted(folder.rglob("test_*.py")):
        name = str(file.relative_to(folder))
        if any(fnmatch.fnmatch(name, pattern.partition("::")[0]) for pattern in options.patterns):
            yield name, file


def _chosen(options, name, test):
    patterns = options.patterns if options.source else [f"wheel::*.{pattern}" for pattern in options.patterns]
    return any(fnmatch.fnmatch(f"{name}::{test}", pattern if "::" in pattern else f"{pattern}::*") for pattern in patterns)


def _print_table(outcomes):
    """outcomes: by (file, test)."""
    print("\n| file | tests | passed | skipped | failed |\n|---|---|---|---|---|")
    kinds = collections.defaultdict(collections.Counter)
    for (name, _), outcome in outcomes.items():
        kinds[name][outcome.partition(":")[0]] += 1
    kinds["all"] = sum(kinds.values(), collections.Counter())
    for name, count in kinds.items():
        print(f"| {name} | {count.total()} | {count['passed']} | {count['skipped']} | {count['failed']} |")
    reasons = collections.Counter(outcome for outcome in outcomes.values() if outcome.startswith("skipped"))
    for reason, count in reasons.most_common():
        print(f"{count} {reason}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("patterns", nargs="*", default=["*"])
    parser.add_argument("--source", type=pathlib.Path, help="PyTorch's folder test/")
    parser.add_argument("--processes", type=int, default=2, help="each needs a device of its own")
    parser.add_argument("--jobs", type=int, default=1, help="tests that run at the same time")
    parser.add_argument("--limit", type=float, default=180, help="seconds for a test")
    parser.add_argument("--results", help="a file with a line of JSON for each test; those in it are not run again")
    options = parser.parse_args()
    if options.source and not (options.source / "distributed").is_dir():
        parser.error(f"{options.source} has no folder distributed; ./fetch_upstream.sh FOLDER fetches PyTorch's tests")
    known = {}
    if options.results and os.path.exists(options.results):
        with open(options.results, encoding="utf-8") as file:
            known = {(name, test): outcome for name, test, outcome in map(json.loads, file)}
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        runner = Runner(options, pathlib.Path(folder))
        files = dict(_files(options, runner))
        outcomes, running = {}, {}
        for name, tests in zip(files, pool.map(runner.names, files.values())):
            for test in [tests] if isinstance(tests, str) else tests:
                if isinstance(tests, str):
                    outcomes[name, "(the file)"] = tests
                elif (name, test) in known:
                    outcomes[name, test] = known[name, test]
                elif _chosen(options, name, test):
                    running[pool.submit(runner.outcome, files[name], test)] = name, test
        for finished in concurrent.futures.as_completed(running):
            name, test = running[finished]
            outcomes[name, test] = finished.result()
            print(f"{name}::{test}: {outcomes[name, test]}", flush=True)
            if options.results:
                with open(options.results, "a", encoding="utf-8") as file:
                    print(json.dumps([name, test, outcomes[name, test]]), file=file)
    if not outcomes:
        parser.error(f"no test matches {' '.join(options.patterns)}")
    _print_table(dict(sorted(outcomes.items())))
    sys.exit(any(outcome.startswith("failed") for outcome in outcomes.values()))


if __name__ == "__main__":
    main()
