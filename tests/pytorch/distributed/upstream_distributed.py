"""PyTorch's own tests of torch.distributed on rvk devices, under NCCL's name:

    python upstream_distributed.py [PATTERN…]                  # those in PyTorch's wheel; prints a table
    python upstream_distributed.py --source TEST [PATTERN…]    # those in the folder distributed of PyTorch's folder test/

The tests are written for CUDA, so they run through torch_rvk.run. upstream_server.py imports them once and forks the processes of
each. A pattern matches names such as
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
import threading

_SERVER = pathlib.Path(__file__).resolve().with_name("upstream_server.py")


class _Server:
    """A process of upstream_server.py. It ends at the end of a with statement."""

    def __init__(self, options, file):
        paths = [str(options.source)] * bool(options.source) + [os.environ.get("PYTHONPATH", "")]
        self._variables = {
            **os.environ, "BACKEND": "nccl", "WORLD_SIZE": str(options.processes), "OMP_NUM_THREADS": "1",
            "PYTHONPATH": os.pathsep.join(path for path in paths if path),
        }  # fmt: skip
        self._file = str(file)
        self._limit = options.limit
        imported = self._start()
        self.names = re.findall(r"^TEST (\S+)$", imported, re.MULTILINE)
        self.why_none = "" if self.names else _outcome(imported)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.stdin.close()
        self._process.wait()

    def outcome(self, test):
        if self._process.poll() is not None:
            self._start()
        print(self._limit, test, file=self._process.stdin, flush=True)
        return _outcome(self._answer())

    def _start(self):
        """Returns what the process prints until it is ready."""
        self._process = subprocess.Popen(
            [sys.executable, "-m", "torch_rvk.run", str(_SERVER), self._file],
            env=self._variables, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
        return self._answer()

    def _answer(self):
        lines = []
        for line in self._process.stdout:
            if line == "END\n":
                return "".join(lines)
            if line == "LATE\n":
                return "".join(lines) + "\nLATE"
            lines.append(line)
        return "".join(lines)  # the process has ended


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


def _files(options):
    """Yields each file with its name in the results."""
    if options.source is None:
        yield "wheel", "wheel"
        return
    folder = options.source / "distributed"
    for file in sorted(folder.rglob("test_*.py")):
        name = str(file.relative_to(folder))
        if any(fnmatch.fnmatch(name, pattern.partition("::")[0]) for pattern in options.patterns):
            yield name, file


def _chosen(options, name, test):
    patterns = options.patterns if options.source else [f"wheel::*.{pattern}" for pattern in options.patterns]
    return any(fnmatch.fnmatch(f"{name}::{test}", pattern if "::" in pattern else f"{pattern}::*") for pattern in patterns)


class _Results:
    """The outcomes by (file, test), which are printed and stored as they come in."""

    def __init__(self, path):
        self.outcomes = {}
        self.known = {}
        self._path = path
        self._lock = threading.Lock()
        if path and os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                self.known = {(name, test): outcome for name, test, outcome in map(json.loads, file)}

    def add(self, name, test, outcome):
        with self._lock:
            self.outcomes[name, test] = outcome
            if (name, test) in self.known:
                return
            print(f"{name}::{test}: {outcome}", flush=True)
            if self._path:
                with open(self._path, "a", encoding="utf-8") as file:
                    print(json.dumps([name, test, outcome]), file=file)


def _run_share(options, name, file, share, shares, results):
    """Runs every `shares`-th of the chosen tests of a file, from number `share` on, in one server."""
    with _Server(options, file) as server:
        if not server.names and share == 0:
            results.add(name, "(the file)", server.why_none)
        for test in [test for test in server.names if _chosen(options, name, test)][share::shares]:
            known = results.known.get((name, test))
            results.add(name, test, known or server.outcome(test))


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
    results = _Results(options.results)
    files = dict(_files(options))
    # Importing a file takes seconds, so at most two jobs share a file, unless there are more jobs than files. With one job for each
    # file, the file with the longest tests would keep the others waiting.
    shares = min(options.jobs, max(2, options.jobs // max(1, len(files))))
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        running = [
            pool.submit(_run_share, options, name, file, share, shares, results)
            for share in range(shares) for name, file in files.items()
        ]  # fmt: skip
        for finished in concurrent.futures.as_completed(running):
            finished.result()
    outcomes = results.outcomes
    if not outcomes:
        parser.error(f"no test matches {' '.join(options.patterns)}")
    _print_table(dict(sorted(outcomes.items())))
    sys.exit(any(outcome.startswith("failed") for outcome in outcomes.values()))


if __name__ == "__main__":
    main()
