#!/usr/bin/env python3
"""Tests of report.py with a program that answers what a log asks for. Usage: python3 report_test.py"""

import pathlib
import subprocess
import sys
import tempfile
import unittest

REPORT = pathlib.Path(__file__).resolve().with_name("report.py")

# The SHA-256 of these threads decides so.
OPEN, LOCKED = ["a/b#3", "a/b#5", "a/b#6", "a/b#8"], ["a/b#1", "a/b#2"]

PROGRAM = r'''#!/usr/bin/env python3
import json, pathlib, sys, time
arguments = sys.argv[1:]
words = pathlib.Path(arguments[arguments.index("--log") + 1]).read_text().split()
if "hang" in words:
    time.sleep(60)
if "crash" in words:
    sys.exit(70)
if "needs-facts" in words:
    facts = pathlib.Path(arguments[arguments.index("--facts") + 1]).read_text() if "--facts" in arguments else ""
    words = ["wheel-lacks-sm"] if facts == 'gpu: "RTX 5090"\n' else ["oom-genuine"]
print(json.dumps({"findings": [{"cause": word, "severity": "problem", "primary": place == 0}
                               for place, word in enumerate(words) if word != "none"]}))
'''


def case_text(name: str, thread: str, slug: str, log: str, extra: str = "") -> str:
    return (f'id: "{name}"\nthread: "{thread}"\ndate: "2025-01-01"\ncategory: "memory"\n{extra}log: |2\n  {log}\n'
            f'cause:\n  slug: "{slug}"\n  sentence: "s"\nfix_confirmed: "f"\nconfidence: "reporter-confirmed"\n')


class ReportTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "cases").mkdir()
        self.program = self.folder / "program"
        self.program.write_text(PROGRAM)
        self.program.chmod(0o755)

    def add(self, name, thread, slug, log, extra=""):
        (self.folder / "cases" / f"{name}.yaml").write_text(case_text(name, thread, slug, log, extra))

    def run_report(self, *arguments):
        command = [sys.executable, str(REPORT), "--program", str(self.program), "--cases", str(self.folder / "cases")]
        return subprocess.run(command + list(arguments), capture_output=True, text=True, check=False)

    def total(self, output, part):
        return next(line for line in output.split(f"## {part} part")[1].splitlines() if "**all**" in line)

    def test_counts_each_part_apart(self):
        self.add("right", OPEN[0], "oom-genuine", "oom-genuine")
        self.add("second", OPEN[1], "oom-genuine", "cpu-wheel oom-genuine")
        self.add("unlisted-and-silent", OPEN[2], "no-such-cause", "none")
        self.add("harmless-loud", OPEN[3], "none", "cpu-wheel")
        self.add("wrong-and-locked", LOCKED[0], "cpu-wheel", "oom-genuine")
        result = self.run_report()
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(self.total(result.stdout, "Open"),
                         "| **all** | 3 | 2 of 3 (67 %) | 1 of 2 (50 %) | 2 of 2 (100 %) | 1 of 3 (33 %) | "
                         "1 of 3 (33 %) | 1 of 3 (33 %) | 1 of 1 (100 %) |")
        self.assertEqual(self.total(result.stdout, "Locked"),
                         "| **all** | 1 | 1 of 1 (100 %) | 0 of 1 (0 %) | 0 of 1 (0 %) | 1 of 1 (100 %) | "
                         "1 of 1 (100 %) | 0 of 1 (0 %) | 0 of 0 |")

    def test_names_open_runs_only(self):
        self.add("open-run", OPEN[0], "oom-genuine", "cpu-wheel")
        self.add("locked-run", LOCKED[0], "oom-genuine", "cpu-wheel")
        result = self.run_report()
        self.assertIn("| open-run | oom-genuine | cpu-wheel |", result.stdout)
        self.assertNotIn("locked-run", result.stdout + result.stderr)

    def test_passes_the_environment_as_facts(self):
        self.add("card", OPEN[0], "wheel-lacks-sm", "needs-facts", 'environment:\n  gpu: "RTX 5090"\n')
        self.assertIn("| 1 of 1 (100 %) | 1 of 1 (100 %) | 1 of 1 (100 %) |", self.run_report().stdout)
        self.assertIn("| 1 of 1 (100 %) | 0 of 1 (0 %) | 0 of 1 (0 %) |", self.run_report("--without-facts").stdout)

    def test_a_hang_and_a_crash_are_failures(self):
        self.add("hangs", OPEN[0], "oom-genuine", "hang")
        self.add("crashes", LOCKED[0], "oom-genuine", "crash")
        result = self.run_report("--seconds", "1")
        self.assertEqual(result.returncode, 1)
        self.assertIn("hangs: no answer in 1 s", result.stderr)
        self.assertIn("a locked run: status 70", result.stderr)

    def test_rejects_malformed_files(self):
        self.add("one", OPEN[0], "oom-genuine", "x")
        self.add("two", OPEN[0], "oom-genuine", "x")
        self.add("three", "no thread", "oom-genuine", "x")
        self.add("harmless-four", OPEN[1], "oom-genuine", "x")
        result = self.run_report()
        self.assertEqual(result.returncode, 1)
        for message in ("two.yaml: has the thread of one", "three.yaml: thread no thread is not owner/repo#N",
                        "harmless-four.yaml: harmless-*.yaml must have the cause none"):
            self.assertIn(message, result.stderr)

    def test_lists_threads_with_their_part(self):
        self.add("one", OPEN[0], "oom-genuine", "x")
        self.add("two", LOCKED[0], "oom-genuine", "x")
        output = self.run_report("--threads").stdout
        self.assertIn(f"| one | [{OPEN[0]}](https://github.com/a/b/issues/3) | open |", output)
        self.assertIn(f"| two | [{LOCKED[0]}](https://github.com/a/b/issues/1) | locked |", output)


if __name__ == "__main__":
    unittest.main()
