"""Which of PyTorch's own tests run, their results, and the table.

A test has one name in every run: "TestIndexing.test_index_rvk", the class without the suffix of its device. Its place in
the order, and its shard, come from a hash of file and name, so that they are the same on every machine.
"""

import collections
import dataclasses
import enum
import fnmatch
import hashlib
import json
import math
import pathlib
import re

EXPECTED_FAILURE = "upstream expects a failure"  # begins the detail of such a test
EXPECTED = pathlib.Path(__file__).with_name("upstream_expected.json")


class Outcome(enum.Enum):
    PASSED = "passed"  # or it failed and upstream marks it as an expected failure
    SKIPPED = "skipped"
    FAILED = "failed"  # or it passed although upstream expects a failure
    CRASHED = "crashed"  # the process ended
    LATE = "late"  # it took longer than the limit

    @property
    def is_failure(self) -> bool:
        return self not in (Outcome.PASSED, Outcome.SKIPPED)


class Reason(enum.Enum):
    """Why an upstream test is expected to fail on the device."""
    CUDA_OR_CPU_ONLY = "the test is written for the CPU and CUDA: it names them, or expects their messages or memory"
    SPARSE = "sparse tensors are not supported"
    QUANTIZED = "quantized tensors are not supported"
    COMPILER = "torch.compile has no code generator for the device"
    ROUNDING = "float arithmetic rounds differently, within the limits that docs/reference/operators.md states"
    NO_KERNEL = "the operator has no kernel for the device, and no CPU kernel supports these dtypes"
    OTHER_VERSION = "the test of PyTorch 2.6 contradicts the PyTorch that is installed"
    LIMIT = "a documented limit of the device"


@dataclasses.dataclass(frozen=True)
class Result:
    test: str
    outcome: Outcome
    seconds: float
    detail: str  # the reason for a skip, or the exception and where it was raised

    def explains(self, device: "Result") -> bool:
        """For a result on the CPU: whether it explains the device's failure. It does if the test also failed on the CPU; if
        upstream marks that failure as expected, the device's must have the same message."""
        return self.outcome.is_failure or self.detail == f"{EXPECTED_FAILURE}: {device.detail}"


@dataclasses.dataclass(frozen=True)
class Expectation:
    """Tests that are expected to fail, and how."""
    file: str  # such as "test_linalg"
    tests: str  # a pattern of fnmatch over the names
    says: str  # a regular expression that the failure's detail must contain
    reason: Reason
    note: str  # a short description of the difference

    def explains(self, file: str, result: Result) -> bool:
        return (file == self.file and fnmatch.fnmatchcase(result.test, self.tests)
                and re.search(self.says, result.detail) is not None)


def read_expectations(path: pathlib.Path = EXPECTED) -> list[Expectation]:
    """Raises ValueError or KeyError if the file is not as described."""
    entries = []
    for entry in json.loads(path.read_text(encoding="utf-8")):
        if not entry["says"]:
            raise ValueError(f"{path}: {entry['file']} {entry['tests']}: \"says\" is empty and would explain every failure")
        re.compile(entry["says"])
        entries.append(Expectation(entry["file"], entry["tests"], entry["says"], Reason[entry["reason"]], entry["note"]))
    return entries


def place(file: str, test: str) -> int:
    """The test's position in the order, from 0 to 2^64 - 1."""
    return int.from_bytes(hashlib.sha256(f"{file} {test}".encode()).digest()[:8], "big")


def choose(file: str, tests: list[str], share: float, shard: int = 1, shards: int = 1) -> list[str]:
    """The first share (0 to 1) of the tests in the order of their hashes, and of these the given shard (1 to
    shards)."""
    ordered = sorted(set(tests), key=lambda test: place(file, test))
    sample = ordered[:math.ceil(len(ordered) * share)]
    return [test for test in sample if place(file, test) % shards == shard - 1]


class Store:
    """Results of one file of tests on one device: one line of JSON for each, written immediately. Each shard has its
    own file."""

    def __init__(self, folder: pathlib.Path, file: str, device: str, shard: str):
        self._pattern = f"{file.replace('/', '.')}.{device}.*.jsonl"
        self._folder = folder
        self._path = folder / self._pattern.replace("*", shard)

    def read(self) -> dict[str, Result]:
        """The last result of each test; skips a line that was cut off when the process ended."""
        results = {}
        for path in sorted(self._folder.glob(self._pattern)):
            for line in path.read_text(encoding="utf-8").splitlines():
                try:
                    entry = json.loads(line)
                except json.JSONDecodeError:
                    continue
                results[entry["test"]] = Result(**(entry | {"outcome": Outcome(entry["outcome"])}))
        return results

    def add(self, result: Result) -> None:
        entry = dataclasses.asdict(result) | {"outcome": result.outcome.value}
        with self._path.open("ab+") as file:
            file.seek(max(0, file.seek(0, 2) - 1))
            cut_off = file.read(1) not in (b"", b"\n")
            file.write(("\n" * cut_off + json.dumps(entry) + "\n").encode())

    def forget(self, tests: set[str]) -> None:
        """Removes the results of these tests, so that they run again."""
        for path in self._folder.glob(self._pattern):
            lines = [line for line in path.read_text(encoding="utf-8").splitlines()
                     if line.endswith("}") and json.loads(line)["test"] not in tests]
            path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")


@dataclasses.dataclass
class Row:
    """One file of tests in the table."""
    file: str
    tests: int  # in the file, for the device
    ran: int = 0
    passed: int = 0
    skipped: int = 0
    on_cpu_too: int = 0
    reasons: collections.Counter = dataclasses.field(default_factory=collections.Counter)  # of expected failures
    failing: list[Result] = dataclasses.field(default_factory=list)

    @property
    def expected(self) -> int:
        return sum(self.reasons.values())

    def cells(self) -> list[str]:
        share = f"{100 * self.ran / self.tests:.1f} %" if self.tests else "-"
        numbers = (self.tests, self.ran, share, self.passed, self.skipped, self.on_cpu_too, self.expected, len(self.failing))
        return [self.file, *map(str, numbers)]


def make_row(file: str, tests: int, device: dict[str, Result], cpu: dict[str, Result], expected: list[Expectation]) -> Row:
    """Counts the results of one file. A failure that also happens on the CPU does not count against the device."""
    row = Row(file, tests, ran=len(device))
    for result in device.values():
        if result.outcome is Outcome.PASSED:
            row.passed += 1
        elif result.outcome is Outcome.SKIPPED:
            row.skipped += 1
        elif result.test in cpu and cpu[result.test].explains(result):
            row.on_cpu_too += 1
        else:
            entry = next((entry for entry in expected if entry.explains(file, result)), None)
            if entry is None:
                row.failing.append(result)
            else:
                row.reasons[entry.reason] += 1
    return row


TITLES = ("file", "tests", "ran", "share", "passed", "skipped", "CPU fails too", "expected", "failing")


def table(rows: list[Row]) -> str:
    """The rows and their sum as a Markdown table, then the expected failures by reason."""
    total = Row("all", sum(row.tests for row in rows))
    for row in rows:
        for field in ("ran", "passed", "skipped", "on_cpu_too"):
            setattr(total, field, getattr(total, field) + getattr(row, field))
        total.reasons += row.reasons
        total.failing += row.failing
    cells = [list(TITLES), *(row.cells() for row in rows), total.cells()]
    widths = [max(len(line[column]) for line in cells) for column in range(len(TITLES))]
    aligned = [[text.ljust(width) if column == 0 else text.rjust(width)
                for column, (text, width) in enumerate(zip(line, widths))] for line in cells]
    aligned.insert(1, ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])])
    lines = [f"| {' | '.join(line)} |" for line in aligned]
    lines += [f"expected: {count}: {reason.value}" for reason, count in total.reasons.most_common()]
    return "\n".join(lines)


def one_line(result: Result, max_length: int) -> str:
    return f"{result.outcome.value}: {' '.join(result.detail.split())}"[:max_length]


def failing_list(rows: list[Row]) -> str:
    """One line for each unexplained failure."""
    return "".join(f"{row.file} {result.test}: {one_line(result, 600)}\n" for row in rows for result in row.failing)


def counted(number: int, noun: str) -> str:
    """ "1 test", "2 tests"."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def failing_groups(rows: list[Row], max_groups: int = 40) -> str:
    """Failures grouped by their message without numbers, the most frequent first."""
    groups = collections.defaultdict(list)
    for row in rows:
        for result in row.failing:
            groups[re.sub(r"[\d.]+(e[-+]\d+)?", "#", one_line(result, 160))].append(f"{row.file} {result.test}")
    ordered = sorted(groups.items(), key=lambda item: -len(item[1]))
    lines = [f"FAILING: {counted(len(tests), 'test')}: {said}: {', '.join(tests[:3])}" for said, tests in ordered[:max_groups]]
    if len(ordered) > max_groups:
        left = sum(len(tests) for _, tests in ordered[max_groups:])
        lines.append(f"FAILING: {counted(left, 'test')} in {counted(len(ordered) - max_groups, 'more group')}")
    return "\n".join(lines)
