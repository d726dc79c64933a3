#!/usr/bin/env python3
"""Counts the test cases of one ctest run.

usage: count_tests.py JUNIT_FILE GTEST_JSON_FOLDER

Each case of a GoogleTest program counts as one test; any other ctest entry, and a program that died before it wrote its
results, counts as one. Prints the name of each failed case and the reason of each skipped one, then
"PASSED FAILED SKIPPED".
"""
import json
import pathlib
import re
import sys
import xml.etree.ElementTree as ElementTree


def cases_of(results):
    for suite in results["testsuites"]:
        yield from suite["testsuite"]


def printed_reasons(entry):
    """The reasons of skipped cases in the order of the output: GoogleTest 1.12 omits them from its JSON."""
    output = "".join(text.text or "" for text in entry.iter("system-out"))
    return iter(re.findall(r": Skipped\n(.+)", output))


def main(junit_file, json_folder):
    passed = failed = skipped = 0
    for entry in ElementTree.parse(junit_file).getroot().iter("testcase"):
        entry_passed = entry.get("status") == "run"
        results_file = pathlib.Path(json_folder) / f"rekindle_{entry.get('name')}_tests.json"
        if not results_file.exists():
            passed += entry_passed
            failed += not entry_passed
            if not entry_passed:
                print(f"failed: {entry.get('name')}")
            continue
        failures = []
        printed = printed_reasons(entry)
        for case in cases_of(json.loads(results_file.read_text())):
            if case["result"] == "SKIPPED":
                skipped += 1
                reasons = [note.get("message", "").strip() for note in case.get("skipped", [])]
                reason = " ".join(reasons) or next(printed, "no reason given")
                print(f"skipped: {case['classname']}.{case['name']}: {reason}")
            elif case["result"] == "COMPLETED" and not case.get("failures"):
                passed += 1
            else:
                failures.append(f"{case['classname']}.{case['name']}")
        if not failures and not entry_passed:
            failures.append("while it exited, after its last case")
        for failure in failures:
            print(f"failed: {entry.get('name')}: {failure}")
        failed += len(failures)
    print(passed, failed, skipped)


if __name__ == "__main__":
    main(*sys.argv[1:])
