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
    """A process of upstream_server.py. It ends when this object is closed."""

    def __init__(self, options, file):
        paths = [str(options.source)] * bool(options.source) + [os.environ.get("PYTHONPATH", "")]
        variables = {
            **os.environ, "BACKEND": "nccl", "WORLD_SIZE": str(options.processes), "OMP_NUM_THREADS": "1",
            "PYTHONPATH": os.pathsep.join(path for path in paths if path),
        }  # fmt: skip
        self.file = file
        self._limit = options.limit
        self._process = subprocess.Popen(
            [sys.executable, "-m", "torch_rvk.run", str(_SERVER), str(file)],
            env=variables, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
        self.imported = self._answer()

    def run(self, test):
        """Returns what the test printed. It ends with LATE if the time limit was exceeded."""
        print(self._limit, test, file=self._process.stdin, flush=True)
        return self._answer()

    def has_ended(self):
        return self._process.poll() is not None

    def close(self):
        self._process.stdin.close()
        self._process.wait()

    def _answer(self):
        lines = []
        for line in self._process.stdout:
            if line == "END\n":
                return "".join(lines)
            if line == "LATE\n":
                return "".join(lines) + "\nLATE"
            lines.append(line)
        return "".join(lines)  # the process has ended


class Runner:
    def __init__(self, options):
        self._options = options
        self._of_thread = threading.local()

    def _server(self, file):
        """This thread's process for the tests of the file."""
        server = getattr(self._of_thread, "server", None)
        if server is None or server.file != file or server.has_ended():
            if server is not None:
                server.close()
            server = self._of_thread.server = _Server(self._options, file)
        return server

    def names(self, file):
        """Returns the names of the tests of a file, or the reason why it has none."""
        imported = self._server(file).imported
        return re.findall(r"^TEST (\S+)$", imported, re.MULTILINE) or _outcome(imported)

    def outcome(self, file, test):
        return _outcome(self._server(file).run(test))


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
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        runner = Runner(options)
        files = dict(_files(options))
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
