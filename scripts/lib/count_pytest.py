#!/usr/bin/env python3
"""Counts the tests of modules that pytest ran, each in its own process.

usage: count_pytest.py FOLDER

FOLDER has for each module NAME.status (the exit status), NAME.log (the output) and, unless the process died, NAME.xml
(pytest's JUnit report). Prints the output of each module that failed and the reason of each skipped test, then "PASSED
FAILED SKIPPED". A test with subtests counts once. A module whose process died or was ended counts as one failure, and so
does one that failed after its last test.
"""
import pathlib
import sys
import xml.etree.ElementTree as ElementTree


def skip_reasons(case):
    """Of the test and its subtests; a failure that unittest expects is not a skip."""
    return [part.get("message", "") for part in case.iter("skipped") if part.get("type") != "pytest.xfail"]


def count(report):
    """(passed, failed, skip lines) of a JUnit report."""
    passed = failed = 0
    skipped = []
    for case in ElementTree.parse(report).getroot().iter("testcase"):
        reasons = skip_reasons(case)
        if case.find("failure") is not None or case.find("error") is not None:
            failed += 1
        elif reasons:
            skipped.append(f"skipped: {case.get('classname')}.{case.get('name')}: {'; '.join(reasons)}")
        else:
            passed += 1
    return passed, failed, skipped


def main(folder):
    total = [0, 0, 0]
    for status_file in sorted(pathlib.Path(folder).glob("*.status")):
        status = status_file.read_text(encoding="utf-8").strip()
        report = status_file.with_suffix(".xml")
        passed, failed, skipped = count(report) if report.exists() else (0, 0, [])
        failed = max(failed, int(status != "0"))
        if failed:
            print(f"{status_file.stem}, which ended with status {status}:")
            print(status_file.with_suffix(".log").read_text(encoding="utf-8", errors="replace"))
        for line in skipped:
            print(line)
        total = [a + b for a, b in zip(total, (passed, failed, len(skipped)))]
    print(*total)


if __name__ == "__main__":
    main(sys.argv[1])
