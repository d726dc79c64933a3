#!/usr/bin/env python3
"""Compares every operator of PyTorch's own list on the device with the CPU: how many agree, and how many are native.

    python tests/pytorch/sweep.py [--native | --fallback] [--only NAME…] [--jobs N] [--out FILE] [--update]

There are two passes. Native: REKINDLE_STRICT=1, so that an operator without a kernel is an error. Fallback: repeats the operators
that did not agree in the first pass, with CPU fallback allowed (an operator that agreed in strict mode cannot need it). Operators
run in child processes; one that ends its process, or takes longer than --limit seconds, is recorded and the others
continue. The result is compared with operators.json: a regression or an unexpected success ends with status 1.

Environment: REKINDLE_TEST_DEVICE (default rvk); REKINDLE_POISON is 1 unless set; REKINDLE_CACHE_DIR is used unchanged.
"""

import argparse
import collections
import json
import os
import pathlib
import sys
import time

import expectations
from comparison import OperatorResult, Part, Tally, reason_to_skip
from support import DEVICE
from worker_pool import Plan, ask_all

def result_of(answer: dict | str, name: str) -> OperatorResult:
    """A child's answer as a result; for a child that ended, each part counts as one failed sample."""
    if isinstance(answer, str):
        return OperatorResult(name, errors=[f"forward: {answer}"], parts={part.value: Tally(0, 1) for part in Part})
    parts = {part: Tally(**tally) for part, tally in answer["parts"].items()}
    return OperatorResult(**(answer | {"parts": parts}))


def compare_all(positions: list[int], names: list[str], strict: bool, arguments: argparse.Namespace) -> list[OperatorResult]:
    """Compares the operators at these positions of op_db with arguments.jobs child processes."""
    mode = "native" if strict else "fallback"
    results: dict[str, OperatorResult] = {}
    if arguments.resume:
        results = {result.operator: result for result in read_lines(arguments.out)[mode]}

    def said(position: int, answer: dict | str) -> None:
        result = results[names[position]] = result_of(answer, names[position])
        if arguments.verbose:
            print(describe(result), flush=True)
        if arguments.out:
            write_line(arguments.out, mode, result)

    plan = Plan("compare", strict, arguments.samples, arguments.jobs, arguments.limit)
    ask_all([position for position in positions if names[position] not in results], plan, said)
    return [results[names[position]] for position in positions]


def failed_parts(result: OperatorResult) -> frozenset[str]:
    return frozenset(name for name, tally in result.parts.items() if tally.passed < tally.total)


def describe(result: OperatorResult) -> str:
    if result.skipped:
        return f"{result.operator}: skipped: {result.skipped}"
    tallies = " ".join(f"{name} {tally.passed}/{tally.total}" for name, tally in result.parts.items())
    text = f"{result.operator}: {tallies} ({result.seconds} s)"
    return "\n    ".join([text, *result.errors])


def count(results: list[OperatorResult], part: str) -> tuple[int, int]:
    """How many operators agree in all of their samples, and how many have samples."""
    tallies = [result.parts[part] for result in results if result.parts[part].total]
    return sum(tally.passed == tally.total for tally in tallies), len(tallies)


def missing_operator(result: OperatorResult) -> str:
    """The aten operator that the errors of a strict run name, or an empty string."""
    for error in result.errors:
        for word in error.replace("'", " ").replace(",", " ").split():
            if word.startswith("aten::"):
                return word.rstrip(".:;)")
    return ""


def compare_with_file(native: list[OperatorResult] | None, correct: list[OperatorResult] | None) -> list[str]:
    """A sentence for each difference from operators.json."""
    expected = expectations.read()
    differences = []
    for results, attribute, what in ((native, "not_native", "native"), (correct, "not_correct", "correct")):
        for result in results or ():
            failed = failed_parts(result)
            entry = expected.get(result.operator)
            allowed = getattr(entry, attribute) if entry else frozenset()
            for part in sorted(failed - allowed):
                error = next((error for error in result.errors if error.startswith(part + ":")), "; ".join(result.errors[:1]))
                differences.append(f"{result.operator} is no longer {what}: {part}: {error}")
            differences.extend(f"{result.operator} is {what} now ({part}), but operators.json says that it is not"
                               for part in sorted(allowed - failed))
    return differences


def update_file(native: list[OperatorResult], correct: list[OperatorResult] | None, whole: bool) -> None:
    """Writes operators.json from the results; keeps existing reasons and entries that were not measured."""
    old = expectations.read() if expectations.PATH.exists() else {}
    new = {} if whole else dict(old)
    wrong = {name: entry.not_correct for name, entry in old.items()}
    wrong |= {result.operator: failed_parts(result) for result in correct or ()}
    for result in native:
        new.pop(result.operator, None)
        failed = failed_parts(result)
        if not failed:
            continue
        missing = missing_operator(result)
        before = old.get(result.operator)
        reason = before.reason if before else expectations.guess_reason(result.operator, missing, " ".join(result.errors))
        new[result.operator] = expectations.Expectation(result.operator, reason, failed,
                                                        wrong.get(result.operator, frozenset()) & failed, missing)
    expectations.write(new)


def print_summary(title: str, results: list[OperatorResult]) -> None:
    print(title)
    for part in Part:
        passed, total = count(results, part.value)
        print(f"  {part.value.replace('_', ' '):26} {passed} of {total} operators")
    crashed = [result.operator for result in results if any("crash: " in error for error in result.errors)]
    late = [result.operator for result in results if any("timeout: " in error for error in result.errors)]
    print(f"  crashes: {len(crashed)} {' '.join(crashed)}\n  over the time limit: {len(late)} {' '.join(late)}")
    reasons = collections.defaultdict(list)
    for result in results:
        if failed_parts(result):
            reasons[missing_operator(result) or "other"].append(result.operator)
    for missing, operators in sorted(reasons.items(), key=lambda item: -len(item[1])):
        print(f"  {missing}: {len(operators)}: {' '.join(operators)}")


def write_line(path: pathlib.Path, mode: str, result: OperatorResult) -> None:
    entry = {"mode": mode, "operator": result.operator, "skipped": result.skipped, "errors": result.errors,
             "fallbacks": result.fallbacks, "seconds": result.seconds,
             "parts": {name: [tally.passed, tally.total] for name, tally in result.parts.items()}}
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(entry) + "\n")


def read_lines(path: pathlib.Path) -> dict[str, list[OperatorResult]]:
    """Reads what write_line wrote, for the modes "native" and "fallback"."""
    results: dict[str, list[OperatorResult]] = {"native": [], "fallback": []}
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        entry = json.loads(line)
        entry["parts"] = {name: Tally(*tally) for name, tally in entry["parts"].items()}
        results[entry.pop("mode")].append(OperatorResult(**entry))
    return results


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    passes = parser.add_mutually_exclusive_group()
    passes.add_argument("--native", action="store_true", help="only the pass under REKINDLE_STRICT=1")
    passes.add_argument("--fallback", action="store_true", help="only the pass with fallback allowed, of all operators")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="OpInfo names; a trailing * matches any ending")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 2, help="child processes (default: one per core)")
    parser.add_argument("--limit", type=float, default=120, help="seconds for one operator (default 120)")
    parser.add_argument("--samples", type=int, default=3, help="samples of each operator (default 3)")
    parser.add_argument("--out", type=pathlib.Path, help="write a JSON line for each operator and pass as it finishes")
    parser.add_argument("--resume", action="store_true", help="keep what --out contains and run the rest")
    parser.add_argument("--from", dest="source", type=pathlib.Path, metavar="FILE", help="run nothing; read the results of --out")
    parser.add_argument("--update", action="store_true", help="rewrite operators.json with the results")
    parser.add_argument("--verbose", "-v", action="store_true", help="print every operator as it finishes")
    arguments = parser.parse_args()
    if arguments.update and arguments.fallback:
        parser.error("--update needs the native pass")
    if arguments.resume and not arguments.out:
        parser.error("--resume needs --out")
    if arguments.out and not arguments.resume:
        arguments.out.unlink(missing_ok=True)
    return arguments


def selected(names: list[str], only: list[str] | None) -> list[int]:
    def matches(name: str) -> bool:
        return any(name == one or name.split(".")[-1] == one or (one.endswith("*") and name.startswith(one[:-1])) for one in only)
    return [position for position, name in enumerate(names) if only is None or matches(name)]


def measure(names: list[str], positions: list[int],
            arguments: argparse.Namespace) -> tuple[list[OperatorResult] | None, list[OperatorResult] | None]:
    """Runs the passes: results under REKINDLE_STRICT=1, and with fallback allowed."""
    native = correct = None
    if not arguments.fallback:
        native = compare_all(positions, names, True, arguments)
    if not arguments.native:
        again = positions if native is None else [
            position for position, result in zip(positions, native) if failed_parts(result)]
        repeated = compare_all(again, names, False, arguments)
        correct = merged(native or [], repeated)
    return native, correct


def merged(native: list[OperatorResult], repeated: list[OperatorResult]) -> list[OperatorResult] | None:
    """Results with fallback allowed: those of the pass itself, otherwise those in strict mode. None if that pass was
    not run."""
    if not repeated and any(failed_parts(result) for result in native):
        return None
    by_name = {result.operator: result for result in native} | {result.operator: result for result in repeated}
    return list(by_name.values()) or None


def main() -> int:
    arguments = parse_arguments()
    began = time.monotonic()
    from torch.testing._internal.common_methods_invocations import op_db
    names = [op.full_name for op in op_db]
    left_out = collections.Counter(filter(None, (reason_to_skip(op) for op in op_db)))
    chosen = selected(names, arguments.only)
    if not chosen:
        print(f"no operator has the name {' '.join(arguments.only)}", file=sys.stderr)
        return 2
    positions = [position for position in chosen if not reason_to_skip(op_db[position])]

    if arguments.source:
        lines = read_lines(arguments.source)
        native, correct = lines["native"] or None, merged(lines["native"], lines["fallback"])
    else:
        native, correct = measure(names, positions, arguments)
    if native is not None:
        print_summary("native (REKINDLE_STRICT=1):", native)
    if correct is not None:
        print_summary("correct, fallback to the CPU allowed:", correct)
    for reason, number in sorted(left_out.items()):
        print(f"skipped: {number} operators: {reason}")
    print(f"{len(positions)} operators, {time.monotonic() - began:.0f} s, {arguments.jobs} processes, device {DEVICE}")

    if arguments.update:
        update_file(native, correct, whole=arguments.only is None)
    differences = compare_with_file(native, correct)
    for difference in differences:
        print(f"DIFFERENT: {difference}")
    print(f"differences from {expectations.PATH.name}: {len(differences)}")
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
