"""scripts/lib/count_pytest.py counts every test once, prints reasons, and counts a process that died as a failure."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

PROGRAM = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "lib" / "count_pytest.py"


def counted(**modules):
    """The lines printed for modules given as (status, test cases of the report or None)."""
    with tempfile.TemporaryDirectory() as folder:
        for name, (status, cases) in modules.items():
            path = pathlib.Path(folder, name)
            path.with_suffix(".status").write_text(f"{status}\n", encoding="utf-8")
            path.with_suffix(".log").write_text(f"output of {name}\n", encoding="utf-8")
            if cases is not None:
                report = f"<testsuites><testsuite>{cases}</testsuite></testsuites>"
                path.with_suffix(".xml").write_text(report, encoding="utf-8")
        result = subprocess.run([sys.executable, PROGRAM, folder], capture_output=True, text=True, check=True)
        return result.stdout.splitlines()


def case(parts=""):
    return f'<testcase classname="m.Class" name="test_x">{parts}</testcase>'


FAILED = '<failure message="wrong"/>'
SKIPPED = '<skipped type="pytest.skip" message="no device"/>'


class Counts(unittest.TestCase):
    def test_passed(self):
        self.assertEqual(counted(m=(0, case() + case('<skipped type="pytest.xfail" message=""/>'))), ["2 0 0"])

    def test_skipped_with_reason(self):
        self.assertEqual(counted(m=(0, case() + case(SKIPPED + SKIPPED))),
                         ["skipped: m.Class.test_x: no device; no device", "1 0 1"])

    def test_failed_subtests_of_one_test(self):
        lines = counted(m=(1, case() + case(FAILED + FAILED + SKIPPED) + case("<error/>")))
        self.assertEqual((lines[:2], lines[-1]), (["m, which ended with status 1:", "output of m"], "1 2 0"))

    def test_process_that_died(self):
        self.assertEqual(counted(a=(139, None), b=(0, case()))[-1], "1 1 0")

    def test_process_that_died_after_its_last_test(self):
        self.assertEqual(counted(a=(9, case()))[-1], "1 1 0")

    def test_nothing_ran(self):
        self.assertEqual(counted(), ["0 0 0"])


if __name__ == "__main__":
    unittest.main()
