#!/usr/bin/env python3
"""Makes docs/operators.md: operator × dtype × native, fallback or missing; or checks that the committed page is whole.

    python tests/pytorch/operators_page.py --measure [--jobs N]    runs every operator in every dtype, writes the page
    python tests/pytorch/operators_page.py --sweep FILE            writes the page with float32 alone, from sweep.py --out FILE
    python tests/pytorch/operators_page.py --check                 needs no device; status 1 and what is wrong

native: ran under REKINDLE_STRICT=1 and agreed with the CPU. fallback: agreed with the CPU's help. missing: neither.
The check: every operator that the sweep compares has one row, every row the columns of this file, and the column
float32 says what operators.json says.
"""

import argparse
import os
import pathlib
import re
import sys

import torch
from torch.testing._internal.common_methods_invocations import op_db

import expectations
import sweep
from comparison import DTYPES, Part, reason_to_skip
from support import DEVICE
from worker_pool import Plan, ask_all

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "operators.md"
COLUMNS = [str(dtype).removeprefix("torch.") for dtype in DTYPES]
MARKS = {"native": "N", "fallback": "F", "missing": "–", "unsupported": "", "not measured": "?"}

HEADER = """# Operators of the device rvk

Made by `tests/pytorch/operators_page.py --measure` from PyTorch {torch_version}'s own list of operators and samples;
not edited by hand. **N**: native, ran under `REKINDLE_STRICT=1`, where nothing may bounce through the CPU, and agreed with the
CPU. **F**: agrees with the CPU's help, which `torch.rvk.fallback_stats()` counts. **–**: neither: another order of
equal values (topk, kthvalue), or a difference above the dtype's tolerance in one of its samples. Empty: the CPU does not
have it either. **?**: not measured. `tests/pytorch/operators.json` gives the reason of each operator that is not native in float32.

Of {operators} operators, native in float32 {forward} forward and {gradient} of {differentiable} gradients (contiguous and not);
correct with the CPU's help {correct_forward} and {correct_gradient}.
{kernels}
"""


def compared_operators() -> dict[int, str]:
    """Position in op_db and name of each operator that the sweep compares, by name."""
    chosen = {position: op.full_name for position, op in enumerate(op_db) if not reason_to_skip(op)}
    return dict(sorted(chosen.items(), key=lambda item: item[1]))


def own_kernels() -> int:
    """Operators of aten that have a kernel of this device, not a redirection to the CPU."""
    library_fallback = re.compile(r"^PrivateUse1: registered at [^ ]*dispatch/fallback\.cpp", re.MULTILINE)
    registered = 0
    for name in torch._C._dispatch_get_all_op_names():
        if name.startswith("aten::") and torch._C._dispatch_has_kernel_for_dispatch_key(name, "PrivateUse1"):
            registered += not library_fallback.search(torch._C._dispatch_dump(name))
    return registered


def state(native: str | None, fallback: str | None) -> str:
    if native is None or native == "no samples":
        return "unsupported"
    if native == "ok":
        return "native"
    return "fallback" if fallback == "ok" else "missing"


def measure(jobs: int, limit: float) -> dict[str, dict[str, str]]:
    """The state of each operator in each column."""
    positions = list(compared_operators())
    strict = ask_all(positions, Plan("dtypes", True, 2, jobs, limit))
    again = [position for position in positions
             if isinstance(strict[position], str) or set(strict[position]["dtypes"].values()) - {"ok", "no samples"}]
    helped = ask_all(again, Plan("dtypes", False, 2, jobs, limit))
    states = {}
    for position in positions:
        columns = []
        for answer in (strict[position], helped.get(position, {"dtypes": {}})):
            columns.append({column: answer for column in COLUMNS} if isinstance(answer, str) else answer["dtypes"])
        states[op_db[position].full_name] = {column: state(columns[0].get(column), columns[1].get(column)) for column in COLUMNS}
    return states


def from_sweep(path: pathlib.Path) -> dict[str, dict[str, str]]:
    """The column float32 of the results of a sweep with both passes; the others are not measured."""
    answers: dict[str, dict[str, str]] = {"native": {}, "fallback": {}}
    for mode, results in sweep.read_lines(path).items():
        for result in results:
            agrees = Part.FORWARD.value not in sweep.failed_parts(result)
            answers[mode][result.operator] = "ok" if agrees else "differs"
    states = {}
    for position, name in compared_operators().items():
        others = {column: "not measured" if dtype in op_db[position].supported_dtypes("cpu") else "unsupported"
                  for column, dtype in zip(COLUMNS, DTYPES)}
        measured = state(answers["native"][name], answers["fallback"].get(name)) if name in answers["native"] else "not measured"
        states[name] = others | {"float32": measured}
    return states


def render(states: dict[str, dict[str, str]]) -> str:
    gaps = expectations.read()
    names = list(compared_operators().values())
    no_gradient = {op.full_name for op in op_db if not op.supports_autograd}

    def count(attribute: str, *parts: Part) -> int:
        return sum(not ({part.value for part in parts} & getattr(gaps.get(name), attribute, frozenset())) for name in names
                   if parts[0] != Part.GRADIENT or name not in no_gradient)
    forward, gradient = (Part.FORWARD, Part.FORWARD_NONCONTIGUOUS), (Part.GRADIENT, Part.GRADIENT_NONCONTIGUOUS)
    text = HEADER.format(
        torch_version=torch.__version__.split("+")[0], operators=len(names), forward=count("not_native", *forward),
        gradient=count("not_native", *gradient), differentiable=len([name for name in names if name not in no_gradient]),
        correct_forward=count("not_correct", *forward), correct_gradient=count("not_correct", *gradient),
        kernels=f"{own_kernels()} operators of aten have a kernel of the device's own.")
    rows = [f"| operator | {' | '.join(COLUMNS)} |", f"|---|{'---|' * len(COLUMNS)}"]
    rows += [f"| {name} | {' | '.join(MARKS[states[name][column]] for column in COLUMNS)} |" for name in names]
    return text + "\n" + "\n".join(rows) + "\n"


def check() -> list[str]:
    """What is wrong with the committed page."""
    if not PAGE.exists():
        return [f"{PAGE.name} is not there: operators_page.py --measure makes it"]
    table = [[cell.strip() for cell in line.strip("|").split("|")]
             for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
    header, rows = table[0], {row[0]: row[1:] for row in table[1:]}
    faults = [] if header == ["operator", *COLUMNS] else [f"its columns are {header}"]
    names, gaps = set(compared_operators().values()), expectations.read()
    if f"PyTorch {torch.__version__.split('+')[0]}'s own list" in PAGE.read_text(encoding="utf-8"):
        faults += [f"{name} has no row" for name in sorted(names - set(rows))]
        faults += [f"{name} is not compared" for name in sorted(set(rows) - names)]
    else:
        print(f"{PAGE.name} was made with another PyTorch than {torch.__version__}: only the operators of both are checked")
    for name in sorted(names & set(rows)):
        if len(rows[name]) != len(COLUMNS) or set(rows[name]) - set(MARKS.values()):
            faults.append(f"the row of {name} is not understood")
        elif rows[name][0] in (MARKS["unsupported"], MARKS["not measured"]):
            continue
        elif (rows[name][0] == MARKS["native"]) != (Part.FORWARD.value not in getattr(gaps.get(name), "not_native", ())):
            faults.append(f"{name} in float32 is '{rows[name][0]}', operators.json says otherwise")
    return faults


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    task = parser.add_mutually_exclusive_group(required=True)
    task.add_argument("--measure", action="store_true")
    task.add_argument("--sweep", type=pathlib.Path, metavar="FILE")
    task.add_argument("--check", action="store_true")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 2)
    parser.add_argument("--limit", type=float, default=300, help="seconds for one operator")
    arguments = parser.parse_args()
    if arguments.measure:
        PAGE.write_text(render(measure(arguments.jobs, arguments.limit)), encoding="utf-8")
        print(f"{PAGE} from {DEVICE}")
    elif arguments.sweep:
        PAGE.write_text(render(from_sweep(arguments.sweep)), encoding="utf-8")
    faults = check()
    for fault in faults:
        print(f"{PAGE.name}: {fault}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
