#!/usr/bin/env python3
"""Measures `rekindle doctor --log` on confirmed runs and prints Markdown.

Each YAML file beside this script describes one public run whose cause was confirmed; harmless-*.yaml are logs of runs
that had no problem. What the machines printed is in the threads and is not copied here: save it as NAME.log, and facts
that were posted beside it as NAME.facts, in the folder of --logs. The SHA-256 of the thread's text ("owner/repository#1")
splits the runs: a run is locked if the first byte is at least 154 (about 40 %), otherwise open. Rules are written from
open runs only, so the report names open runs and only counts locked ones. `seen:` in a file is the day on which somebody
who writes rules saw the thread; the row "not seen" counts the locked runs without it.

  listed        the run's cause has an entry in the knowledge folder
  right first   of the listed: the doctor's first cause is the run's cause
  in three      of the listed: it is among the first three
  wrong first   of all runs: the doctor's first cause is another one
  wrong primary of all runs: the doctor also marks this other cause as the primary one
  silent        of all runs: the doctor names no cause
  problems      harmless logs on which the doctor raises a problem

--mask shows how the doctor handles messages that it does not know: it diagnoses each open run again without the
signatures that led to the right first cause. It should then be silent or list candidates, never mark a wrong cause as
the primary one.

Exit status: 0 measured, 1 a file is malformed or the program failed on a log, 2 wrong usage.
"""

import argparse
import collections
import dataclasses
import hashlib
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

FOLDER = pathlib.Path(__file__).resolve().parent
REPOSITORY = FOLDER.parents[2]
LOCKED_FROM = 154
REQUIRED = ("id", "thread", "date", "category", "cause", "fix_confirmed", "confidence")
PARTS = ("open", "locked")


class MalformedCase(Exception):
    pass


@dataclasses.dataclass
class Case:
    name: str
    thread: str
    category: str
    slug: str
    log: str
    facts: str  # the lines of `environment:` (and `facts_posted:`), as --facts reads them
    seen: bool = False  # somebody who writes rules has seen the thread

    @property
    def part(self) -> str:
        first = hashlib.sha256(self.thread.encode()).digest()[0]
        return "locked" if first >= LOCKED_FROM else "open"

    @property
    def harmless(self) -> bool:
        return self.slug == "none"


@dataclasses.dataclass
class Answer:
    causes: list  # in the doctor's order
    primary: str
    problem: bool
    failure: str = ""
    signatures: list = dataclasses.field(default_factory=list)  # of the first cause, strongest first


@dataclasses.dataclass
class Tally:
    runs: int = 0
    listed: int = 0
    first: int = 0
    three: int = 0
    wrong_first: int = 0
    wrong_primary: int = 0
    silent: int = 0
    harmless: int = 0
    problems: int = 0

    def add(self, case: Case, answer: Answer, listed: bool) -> None:
        if case.harmless:
            self.harmless += 1
            self.problems += answer.problem
            return
        self.runs += 1
        self.wrong_first += answer.causes[:1] not in ([], [case.slug])
        self.wrong_primary += answer.primary not in ("", case.slug)
        self.silent += not answer.causes
        if listed:
            self.listed += 1
            self.first += answer.causes[:1] == [case.slug]
            self.three += case.slug in answer.causes[:3]


def top_level(text: str) -> dict:
    """The top-level keys of a case file and the lines of their values; nothing else of YAML is needed."""
    blocks = {}
    for line in text.splitlines():
        start = re.match(r"([a-z_]+):(.*)$", line)
        if start:
            lines = blocks.setdefault(start.group(1), [start.group(2).strip()])
        elif blocks and (line.startswith(" ") or not line.strip()):
            lines.append(line)
        elif line.strip() and not line.startswith("#"):
            raise MalformedCase(f"unexpected line: {line}")
    return blocks


def scalar(text: str) -> str:
    if len(text) >= 2 and text[0] == text[-1] == '"':
        return re.sub(r"\\(.)", r"\1", text[1:-1])
    if len(text) >= 2 and text[0] == text[-1] == "'":
        return text[1:-1].replace("''", "'")
    return text


def block(lines: list) -> str:
    if not re.fullmatch(r"\|\d?[+-]?", lines[0]):
        raise MalformedCase("the log must be a block: log: |2")
    return "\n".join(line[2:] for line in lines[1:]).rstrip("\n") + "\n"


def facts_of(blocks: dict) -> str:
    lines = [line[2:] for line in blocks.get("environment", [])[1:] if line.strip()]
    if "facts_posted" in blocks:
        lines += ["posted: |2"] + blocks["facts_posted"][1:]
    return "".join(line + "\n" for line in lines)


def saved(name: str, logs) -> tuple:
    """The log of a run and the facts posted beside it; empty texts without a folder of logs."""
    if logs is None:
        return "", ""
    log, posted = logs / f"{name}.log", logs / f"{name}.facts"
    if not log.is_file():
        raise MalformedCase(f"{log} is missing; its thread has it")
    lines = posted.read_text(encoding="utf-8").splitlines() if posted.is_file() else []
    return log.read_text(encoding="utf-8"), "".join(f"{line}\n" for line in ["posted: |2", *(f"  {x}" for x in lines)] if lines)


def read_case(path: pathlib.Path, logs) -> Case:
    blocks = top_level(path.read_text(encoding="utf-8"))
    missing = [key for key in REQUIRED if key not in blocks]
    if missing:
        raise MalformedCase("lacks " + ", ".join(missing))
    slug = next((line.split(":", 1)[1].strip() for line in blocks["cause"] if line.startswith("  slug:")), "")
    log, posted = saved(path.stem, logs) if "log" not in blocks else (block(blocks["log"]), "")
    case = Case(path.stem, scalar(blocks["thread"][0]), scalar(blocks["category"][0]), scalar(slug), log,
                facts_of(blocks) + posted, "seen" in blocks)
    if scalar(blocks["id"][0]) != case.name:
        raise MalformedCase("its id is not its file's name")
    if not re.fullmatch(r"[\w.-]+/[\w.-]+#\d+", case.thread):
        raise MalformedCase(f"thread {case.thread} is not owner/repo#N")
    if case.harmless != case.name.startswith("harmless-"):
        raise MalformedCase("harmless-*.yaml must have the cause none, and only they")
    if not case.slug:
        raise MalformedCase("has no cause")
    return case


def read_cases(folder: pathlib.Path, logs=None) -> list:
    cases, threads, errors = [], {}, []
    for path in sorted(folder.glob("*.yaml")):
        try:
            case = read_case(path, logs)
            if case.thread in threads:
                raise MalformedCase(f"has the thread of {threads[case.thread]}")
            threads[case.thread] = case.name
            cases.append(case)
        except MalformedCase as error:
            errors.append(f"{path.name}: {error}")
    if errors:
        sys.exit("\n".join(errors))
    if not cases:
        sys.exit(f"{folder}: no case files")
    return cases


def known_causes(knowledge: pathlib.Path) -> set:
    slugs = set()
    for path in (knowledge / "causes").glob("*.yaml"):
        if not path.name.startswith("_"):
            slugs.update(re.findall(r"^- slug: *(\S+)", path.read_text(encoding="utf-8"), re.MULTILINE))
    if not slugs:
        sys.exit(f"{knowledge}: no causes")
    return slugs


def answer_of(output: str) -> Answer:
    findings = json.loads(output)["findings"]
    causes = [finding["cause"] for finding in findings]
    primary = next((finding["cause"] for finding in findings if finding["primary"]), "")
    signatures = findings[0].get("signatures", []) if findings else []
    return Answer(causes, primary, any(finding["severity"] == "problem" for finding in findings), "", signatures)


def ask(case: Case, options: argparse.Namespace, folder: pathlib.Path, knowledge=None) -> Answer:
    log, facts = folder / "log.txt", folder / "facts.yaml"
    log.write_text(case.log, encoding="utf-8")
    command = [options.program, "doctor", "--json", "--log", str(log)]
    if knowledge or options.knowledge:
        command += ["--knowledge", str(knowledge or options.knowledge)]
    if case.facts and not options.without_facts:
        facts.write_text(case.facts, encoding="utf-8")
        command += ["--facts", str(facts)]
    try:
        result = subprocess.run(command, capture_output=True, text=True, timeout=options.seconds, check=False)
    except subprocess.TimeoutExpired:
        return Answer([], "", False, f"no answer in {options.seconds:g} s")
    if result.returncode not in (0, 1):
        return Answer([], "", False, f"status {result.returncode}: {result.stderr.strip()[:200]}")
    return answer_of(result.stdout)


def share(count: int, total: int) -> str:
    return f"{count} of {total} ({100 * count / total:.0f} %)" if total else "0 of 0"


def row(name: str, tally: Tally) -> str:
    return (f"| {name} | {tally.runs} | {share(tally.listed, tally.runs)} | {share(tally.first, tally.listed)} | "
            f"{share(tally.three, tally.listed)} | {share(tally.wrong_first, tally.runs)} | "
            f"{share(tally.wrong_primary, tally.runs)} | {share(tally.silent, tally.runs)} | "
            f"{share(tally.problems, tally.harmless)} |")


def print_part(part: str, results: list, listed: set) -> None:
    total, unseen, categories = Tally(), Tally(), collections.defaultdict(Tally)
    for case, answer in results:
        for tally in (total, categories[case.category]) + (() if case.seen else (unseen,)):
            tally.add(case, answer, case.slug in listed)
    print(f"## {part.capitalize()} part\n")
    print("| category | runs | listed | right first | in three | wrong first | wrong primary | silent | "
          "problems on harmless logs |")
    print("|---" * 9 + "|")
    for category in sorted(categories):
        print(row(category, categories[category]))
    print(row("**all**", total))
    if part == "locked" and unseen.runs < total.runs:
        print(row("**not seen**", unseen))
    print()


def print_confusions(results: list) -> None:
    print("### Confusions of the open part\n\n| run | its cause | the doctor's causes |\n|---|---|---|")
    for case, answer in results:
        mistaken = answer.problem if case.harmless else answer.causes[:1] != [case.slug]
        if mistaken:
            print(f"| {case.name} | {case.slug} | {', '.join(answer.causes[:3]) or 'none'} |")
    print()


def without_signatures(knowledge: pathlib.Path, signatures: tuple, folder: pathlib.Path) -> pathlib.Path:
    """Copies the knowledge folder without these signatures. An entry starts with "- id:" and ends before the next."""
    masked = folder / "+".join(signatures)[:200]
    shutil.copytree(knowledge, masked)
    entry = re.compile(rf"^- id: *(?:{'|'.join(map(re.escape, signatures))})$.*?(?=^- id:|\Z)", re.MULTILINE | re.DOTALL)
    for path in (masked / "signatures").glob("*.yaml"):
        text = entry.sub("", path.read_text(encoding="utf-8"))
        path.write_text(text if "- id:" in text else "[]\n", encoding="utf-8")
    return masked


def print_masked(results: list, options: argparse.Namespace, folder: pathlib.Path) -> None:
    knowledge = options.knowledge or REPOSITORY / "knowledge"
    tally, wrong, folders = Tally(), [], {}
    for case, answer in results:
        if case.harmless or answer.causes[:1] != [case.slug] or not answer.signatures:
            continue
        signatures = tuple(answer.signatures)
        if signatures not in folders:
            folders[signatures] = without_signatures(knowledge, signatures, folder)
        masked = ask(case, options, folder, folders[signatures])
        tally.add(case, masked, True)
        if masked.primary not in ("", case.slug):
            wrong.append((case, signatures, masked))
    print("## Open part, each run without the signatures that led to its cause\n")
    print("| runs | right first | in three | wrong first | wrong primary | silent |\n|---|---|---|---|---|---|")
    print(f"| {tally.runs} | {share(tally.first, tally.runs)} | {share(tally.three, tally.runs)} | "
          f"{share(tally.wrong_first, tally.runs)} | {share(tally.wrong_primary, tally.runs)} | "
          f"{share(tally.silent, tally.runs)} |\n")
    print("| wrong primary | without | its cause | the doctor's causes |\n|---|---|---|---|")
    for case, signatures, masked in wrong:
        print(f"| {case.name} | {', '.join(signatures)} | {case.slug} | {', '.join(masked.causes[:3])} |")
    print()


def print_threads(cases: list) -> None:
    print("| file | thread | part |\n|---|---|---|")
    for case in cases:
        repository, number = case.thread.split("#")
        print(f"| {case.name} | [{case.thread}](https://github.com/{repository}/issues/{number}) | {case.part} |")


def measure(cases: list, options: argparse.Namespace) -> int:
    cases = [case for case in cases if options.part in (None, case.part)]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        results = [(case, ask(case, options, folder)) for case in cases]
        listed = known_causes(options.knowledge or REPOSITORY / "knowledge")
        of_part = {part: [(case, answer) for case, answer in results if case.part == part] for part in PARTS}
        for part in PARTS:
            if of_part[part]:
                print_part(part, of_part[part], listed)
        print_confusions(of_part["open"])
        if options.mask:
            print_masked(of_part["open"], options, folder)
    failures = [(case, answer.failure) for case, answer in results if answer.failure]
    for case, failure in failures:
        print(f"{case.name if case.part == 'open' else 'a locked run'}: {failure}", file=sys.stderr)
    return 1 if failures else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=str(REPOSITORY / "build/release/bin/rekindle"))
    parser.add_argument("--cases", type=pathlib.Path, default=FOLDER, help="folder of the case files")
    parser.add_argument("--logs", type=pathlib.Path, help="folder of NAME.log and NAME.facts; needed except with --threads")
    parser.add_argument("--knowledge", type=pathlib.Path, help="folder to use instead of the program's own knowledge")
    parser.add_argument("--seconds", type=float, default=10, help="time limit for each log [10]")
    parser.add_argument("--without-facts", action="store_true", help="pass the logs alone")
    parser.add_argument("--part", choices=PARTS, help="only this part; use open while rules are written")
    parser.add_argument("--mask", action="store_true", help="also diagnose open runs without the signatures of their cause")
    parser.add_argument("--threads", action="store_true", help="only list the threads; runs nothing")
    options = parser.parse_args()
    cases = read_cases(options.cases, options.logs)
    if options.threads:
        print_threads(cases)
        return 0
    if not pathlib.Path(options.program).is_file():
        parser.error(f"{options.program}: no such program; see --program")
    without = [case for case in cases if not case.log.strip()]
    if without:
        parser.error(f"{len(without)} of {len(cases)} runs have no log; --logs names the folder that has them")
    return measure(cases, options)


if __name__ == "__main__":
    sys.exit(main())
