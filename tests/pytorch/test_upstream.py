"""Tests upstream.py itself: the order of the tests, the results on disk, the table, and a run over tests in this
file."""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import textwrap
import time
import types
import unittest
import unittest.mock

import upstream
from support import DEVICE, child_environment
from upstream_results import (Expectation, Outcome, Reason, Result, Row, Store, choose, failing_groups, failing_list, make_row,
                              read_expectations, table)

FOLDER = pathlib.Path(__file__).resolve().parent
TESTS = [f"TestX.test_{number}_rvk" for number in range(1000)]


class ChoiceTest(unittest.TestCase):
    def test_a_larger_sample_begins_with_the_smaller_one(self):
        small, large = choose("test_x", TESTS, 0.02), choose("test_x", TESTS, 0.05)
        self.assertEqual((len(small), len(large)), (20, 50))
        self.assertEqual(large[:20], small)

    def test_the_order_depends_only_on_the_names(self):
        self.assertEqual(choose("test_x", TESTS[::-1], 0.1), choose("test_x", TESTS, 0.1))
        self.assertNotEqual(choose("test_y", TESTS, 0.1), choose("test_x", TESTS, 0.1))

    def test_shards_are_a_partition_of_the_sample(self):
        shards = [choose("test_x", TESTS, 0.5, shard, 3) for shard in (1, 2, 3)]
        self.assertEqual(sorted(sum(shards, [])), sorted(choose("test_x", TESTS, 0.5)))
        self.assertTrue(all(shards))


class StoreTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def test_a_truncated_line_is_skipped_and_the_last_result_counts(self):
        store = Store(self.folder, "nn/test_x", "rvk", "1of2")
        store.add(Result("a", Outcome.FAILED, 1.0, "why"))
        store.add(Result("a", Outcome.PASSED, 2.0, ""))
        [path] = self.folder.iterdir()
        with path.open("a", encoding="utf-8") as file:
            file.write('{"test": "b", "outc')
        self.assertEqual(store.read(), {"a": Result("a", Outcome.PASSED, 2.0, "")})

    def test_results_after_a_truncated_line_are_kept(self):
        store = Store(self.folder, "test_x", "rvk", "1of1")
        next_store = Store(self.folder, "test_x", "rvk", "1of1")
        store.add(Result("a", Outcome.PASSED, 1.0, ""))
        [path] = self.folder.iterdir()
        path.write_text(path.read_text(encoding="utf-8") + '{"test": "b"', encoding="utf-8")
        next_store.add(Result("c", Outcome.PASSED, 1.0, ""))
        self.assertEqual(set(next_store.read()), {"a", "c"})

    def test_shards_are_combined_and_devices_kept_separate(self):
        Store(self.folder, "test_x", "rvk", "1of2").add(Result("a", Outcome.PASSED, 1.0, ""))
        Store(self.folder, "test_x", "cpu", "1of2").add(Result("b", Outcome.PASSED, 1.0, ""))
        Store(self.folder, "test_x_more", "rvk", "1of2").add(Result("c", Outcome.PASSED, 1.0, ""))
        self.assertEqual(set(Store(self.folder, "test_x", "rvk", "2of2").read()), {"a"})

    def test_forgotten_results_are_removed(self):
        store = Store(self.folder, "test_x", "rvk", "1of1")
        for name in "abc":
            store.add(Result(name, Outcome.FAILED, 1.0, "why"))
        store.forget({"a", "c"})
        self.assertEqual(set(store.read()), {"b"})


class TableTest(unittest.TestCase):
    def test_every_result_is_in_one_column(self):
        device = {result.test: result for result in (
            Result("T.passes", Outcome.PASSED, 1.0, ""), Result("T.skips", Outcome.SKIPPED, 1.0, "why"),
            Result("T.cpu_too", Outcome.FAILED, 1.0, "x"), Result("T.sparse_a", Outcome.FAILED, 1.0, "a SparseRVK tensor"),
            Result("T.sparse_b", Outcome.FAILED, 1.0, "another message"), Result("T.crashes", Outcome.CRASHED, 1.0, "SIGSEGV"))}
        cpu = {"T.cpu_too": Result("T.cpu_too", Outcome.FAILED, 1.0, "x"), "T.crashes": Result("T.crashes", Outcome.PASSED, 1.0, "")}
        row = make_row("test_x", 10, device, cpu, [Expectation("test_x", "T.sparse*", "Sparse", Reason.SPARSE, "")])
        self.assertEqual(row.cells(), ["test_x", "10", "6", "60.0 %", "1", "1", "1", "1", "2"])
        self.assertEqual([result.test for result in row.failing], ["T.sparse_b", "T.crashes"])
        text = table([row, row])
        self.assertEqual(text.splitlines()[4].split(), "| all | 20 | 12 | 60.0 % | 2 | 2 | 2 | 2 | 4 |".split())
        self.assertEqual(failing_list([row]), "test_x T.sparse_b: failed: another message\ntest_x T.crashes: crashed: SIGSEGV\n")

    def test_failures_that_differ_in_numbers_are_one_group(self):
        row = Row("test_x", 3, failing=[Result(f"T.test_{number}", Outcome.FAILED, 1.0, f"off by {number}.5e-03") for number in range(3)]
                  + [Result("T.other", Outcome.LATE, 1.0, "timeout")])
        self.assertEqual(failing_groups([row]).splitlines(), [
            "FAILING: 3 tests: failed: off by #: test_x T.test_0, test_x T.test_1, test_x T.test_2",
            "FAILING: 1 test: late: timeout: test_x T.other"])
        self.assertEqual(failing_groups([row], max_groups=1).splitlines()[1], "FAILING: 1 test in 1 more group")

    def test_the_committed_file_of_expectations_is_valid(self):
        self.assertIsInstance(read_expectations(), list)

    def test_an_expectation_names_what_the_failure_says(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "expected.json"
            path.write_text(json.dumps([{"file": "a", "tests": "*", "says": "", "reason": "SPARSE", "note": ""}]), encoding="utf-8")
            self.assertRaisesRegex(ValueError, "would explain every failure", read_expectations, path)


class TurnTest(unittest.TestCase):
    """A worker leaves its file when another has not been started yet, so that a short run reaches all files."""

    def setUp(self):
        self.now = time.monotonic()
        self.enterContext(unittest.mock.patch.object(upstream.time, "monotonic", lambda: self.now))

    def queue(self, *listed: bool) -> upstream.Queue:
        suites = [types.SimpleNamespace(file=f"test_{number}", is_listed=known, missing=lambda device: ["a", "b", "c"])
                  for number, known in enumerate(listed)]
        tests = upstream.Round(DEVICE, lambda suite: suite.missing(DEVICE), 1, self.now + 100, lists_tests=True)
        return upstream.Queue(tests, suites, argparse.Namespace(verbose=False, jobs=1))

    def test_a_worker_leaves_when_another_file_waits(self):
        queue, began = self.queue(True, False), self.now
        queue._busy["test_0"] = 1
        self.assertEqual(queue._next_test("test_0", began), "a")
        self.now += 26  # of 100 seconds for two files
        self.assertIsNone(queue._next_test("test_0", began))
        queue._busy["test_1"] = 1  # another worker started it
        self.assertEqual(queue._next_test("test_0", began), "b")

    def test_a_worker_stays_if_every_file_has_started(self):
        queue, began = self.queue(True, True), self.now
        self.now += 99
        self.assertEqual(queue._next_test("test_0", began), "a")
        self.now += 2
        self.assertIsNone(queue._next_test("test_0", began))


HEAD = """
    import os, time, unittest, torch
    from torch.testing._internal.common_device_type import instantiate_device_type_tests, onlyCUDA
    from torch.testing._internal.common_utils import TestCase
"""
SOURCE = HEAD + """
    class TestX(TestCase):
        def test_passes(self, device):
            self.assertEqual(torch.ones(2, device=device).device.type, self.device_type)
        def test_fails_on_the_device(self, device):
            self.assertEqual(torch.device(device).type, "cpu")
        def test_fails_on_both(self, device):
            self.fail("always")
        @onlyCUDA
        def test_skips(self, device):
            self.fail("this is not CUDA")
        def test_crashes(self, device):
            if self.device_type != "cpu":
                os.abort()
        @unittest.expectedFailure
        def test_is_marked(self, device):
            self.fail("as upstream says")
    class TestCpuAndCuda(TestCase):
        def test_runs(self, device):
            pass
    class TestOnlyCuda(TestCase):
        def test_does_not_run(self, device):
            pass
    class TestWithoutDevice(TestCase):
        def test_does_not_run(self):
            pass
    instantiate_device_type_tests(TestX, globals())
    instantiate_device_type_tests(TestCpuAndCuda, globals(), only_for=("cpu", "cuda"))
    instantiate_device_type_tests(TestOnlyCuda, globals(), only_for="cuda")
"""
# Hangs on its first run.
SLOW_ONCE = HEAD + """
    import pathlib
    class TestX(TestCase):
        def test_hangs_once(self, device):
            seen = pathlib.Path("{folder}/seen")
            if not seen.exists():
                seen.touch()
                time.sleep(1e6)
    instantiate_device_type_tests(TestX, globals())
"""
# Written for PyTorch 2.6, where a device's class was not a subclass of the general one.
SUPER = HEAD + """
    class TestX(TestCase):
        def setUp(self):
            super(self.__class__, self).setUp()
        def test_passes(self, device):
            pass
    instantiate_device_type_tests(TestX, globals())
"""
# Upstream marks the CPU's failure as expected: the device's failure is the same, or a different one.
MARKED = HEAD + """
    class TestX(TestCase):
        def test_is_the_same(self, device):
            self.fail("wrong everywhere")
        def test_is_another(self, device):
            self.fail(f"wrong on {self.device_type}")
    instantiate_device_type_tests(TestX, globals())
    if "TestXCPU" in globals():
        TestXCPU.__unittest_expecting_failure__ = True
"""
HANGS = HEAD + """
    class TestX(TestCase):
        def test_hangs(self, device):
            time.sleep(1e6)
    instantiate_device_type_tests(TestX, globals())
"""


@unittest.skipIf(DEVICE == "cpu", "upstream.py compares a device with the CPU")
class RunTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def run_upstream(self, file: str, source: str, *options: str) -> subprocess.CompletedProcess:
        (self.folder / f"{file}.py").write_text(textwrap.dedent(source), encoding="utf-8")
        command = [sys.executable, str(FOLDER / "upstream.py"), "--source", str(self.folder), "--results",
                   str(self.folder / "results"), "--files", file, "--jobs", "1", *options]
        return subprocess.run(command, env=child_environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              check=False)

    def test_a_crash_does_not_end_the_run_and_a_second_run_keeps_the_results(self):
        first = self.run_upstream("test_indexing", SOURCE)
        row = next((line for line in first.stdout.splitlines() if line.startswith("| test_indexing")), first.stdout)
        self.assertEqual(row.split(), "| test_indexing | 7 | 7 | 100.0 % | 3 | 1 | 1 | 0 | 2 |".split())
        self.assertIn("TestX.test_crashes_rvk", first.stdout)
        failing = (self.folder / "results" / "failing.txt").read_text(encoding="utf-8")
        self.assertIn("TestX.test_crashes_rvk: crashed: crash: SIGABRT", failing)
        self.assertIn("TestX.test_fails_on_the_device_rvk: failed: AssertionError", failing)
        self.assertEqual(first.returncode, 1)
        results = {path: path.read_bytes() for path in (self.folder / "results").iterdir()}
        again = self.run_upstream("test_indexing", SOURCE)
        self.assertEqual({path: path.read_bytes() for path in (self.folder / "results").iterdir()}, results)
        self.assertIn(row, again.stdout)

    def test_a_test_that_hangs_is_late(self):
        done = self.run_upstream("test_shape_ops", HANGS, "--limit", "1", "--late-limit", "2")
        store = Store(self.folder / "results", "test_shape_ops", "rvk", "1of1")
        self.assertEqual([result.outcome for result in store.read().values()], [Outcome.LATE], done.stdout)

    def test_a_late_test_is_retried_with_a_longer_limit(self):
        done = self.run_upstream("test_shape_ops", SLOW_ONCE.format(folder=self.folder), "--limit", "5", "--late-limit", "600")
        row = next((line for line in done.stdout.splitlines() if line.startswith("| test_shape_ops")), done.stdout)
        self.assertEqual(row.split(), "| test_shape_ops | 1 | 1 | 100.0 % | 1 | 0 | 0 | 0 | 0 |".split())
        self.assertEqual(done.returncode, 0, done.stdout)

    def test_setup_of_2_6_does_not_recurse(self):
        done = self.run_upstream("test_linalg", SUPER)
        row = next((line for line in done.stdout.splitlines() if line.startswith("| test_linalg")), done.stdout)
        self.assertEqual(row.split(), "| test_linalg | 1 | 1 | 100.0 % | 1 | 0 | 0 | 0 | 0 |".split())

    def test_a_marked_cpu_failure_explains_only_the_same_failure(self):
        done = self.run_upstream("test_sort_and_select", MARKED)
        row = next((line for line in done.stdout.splitlines() if line.startswith("| test_sort_and_select")), done.stdout)
        self.assertEqual(row.split(), "| test_sort_and_select | 2 | 2 | 100.0 % | 0 | 0 | 1 | 0 | 1 |".split())
        self.assertIn("TestX.test_is_another_rvk", done.stdout)

    def test_a_file_that_cannot_be_imported_is_reported(self):
        done = self.run_upstream("test_view_ops", "import there_is_no_such_module")
        self.assertIn("test_view_ops could not be loaded: ModuleNotFoundError", done.stdout)
        self.assertEqual(done.returncode, 1)


if __name__ == "__main__":
    unittest.main()
