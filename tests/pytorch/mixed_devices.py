"""Operators with one tensor left on the CPU, as in a program that forgot a `.to(device)`: refused or accepted?

CUDA is the reference. mixed_devices.json stores which operands it accepts from the CPU, recorded on a GPU for each operator
with the samples of PyTorch's own list (`python mixed_devices.py --record`, REKINDLE_TEST_DEVICE=cuda). The device must
refuse what CUDA refuses, and accept what CUDA accepts, with the CPU's values.

    python mixed_devices.py [--only NAME…] [--record]
"""

import argparse
import json
import pathlib
import sys
from typing import Any

import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.opinfo.core import OpInfo, SampleInput
from torch.utils._pytree import tree_flatten, tree_unflatten

import comparison
from support import DEVICE

RECORD = pathlib.Path(__file__).resolve().with_name("mixed_devices.json")

REFUSED, TAKEN, WRONG = "refused", "taken", "wrong"
#: An unclear error: the message names neither a device nor the CPU.
UNCLEAR = "unclear"
#: The call fails with all tensors on the device, although it works on the CPU.
BROKEN = "broken"


def samples_of(op: OpInfo, max_samples: int) -> list[SampleInput]:
    dtype = torch.float32 if torch.float32 in op.supported_dtypes("cpu") else sorted(op.supported_dtypes("cpu"), key=str)[0]
    torch.manual_seed(0)
    drawn = []
    for sample in op.sample_inputs("cpu", dtype):
        drawn.append(sample)
        if len(drawn) == max_samples:
            break
    return drawn


def is_mixable(leaf: Any) -> bool:
    return isinstance(leaf, torch.Tensor) and leaf.layout == torch.strided and leaf.numel() > 0


def outcome_of(call, expected) -> tuple[str, str]:
    """The outcome of a call: REFUSED, TAKEN, WRONG or UNCLEAR, and why."""
    try:
        outputs = [leaf.cpu() if isinstance(leaf, torch.Tensor) else leaf for leaf in tree_flatten(call())[0]]
        if DEVICE != "cpu":
            torch.get_device_module(DEVICE).synchronize()
    except Exception as error:
        text = comparison.one_line(error)
        clear = any(word in text.lower() for word in ("device", "cpu", "backend", "cuda", "input type (torch."))
        return (REFUSED if clear else UNCLEAR), text
    if expected is None:
        return TAKEN, ""
    try:
        comparison.assert_same_outputs(outputs, expected)
    except Exception as error:
        return WRONG, comparison.one_line(error)
    return TAKEN, ""


def probe(op: OpInfo, device: str, max_samples: int) -> dict[str, dict[str, str]]:
    """{operand: {outcome: an example}}. An operand is its number among the tensors, "0", with "n" appended if it has no
    dimensions; "out" is an output on the CPU, BROKEN if one on the device fails."""
    found: dict[str, dict[str, str]] = {}

    def note(operand: str, outcome: tuple[str, str]) -> None:
        found.setdefault(operand, {}).setdefault(*outcome)

    compared = comparison.reason_to_skip(op) is None
    try:
        samples = samples_of(op, max_samples)
    except Exception:
        return found
    for sample in samples:
        leaves, form = tree_flatten((sample.input, sample.args, sample.kwargs))
        places = [i for i, leaf in enumerate(leaves) if is_mixable(leaf)]

        def call(on_cpu: int | None, where: str, **more: Any):
            moved = [leaf.detach().clone() if i == on_cpu and isinstance(leaf, torch.Tensor)
                     else comparison.move_value(leaf, where) for i, leaf in enumerate(leaves)]
            first, arguments, keywords = tree_unflatten(moved, form)
            return op(first, *arguments, **keywords, **more)

        try:
            expected = tree_flatten(call(None, "cpu"))[0]
            on_device = call(None, device)  # the device cannot do it at all, so nothing follows
        except Exception:
            continue
        if len(places) > 1:
            for number, place in enumerate(places):
                operand = f"{number}{'n' if leaves[place].dim() == 0 else ''}"
                note(operand, outcome_of(lambda: call(place, device), expected if compared else None))
        results = tree_flatten(on_device)[0]
        if op.supports_out and places and all(isinstance(r, torch.Tensor) for r in results):
            def call_with_outputs(inputs: str, where: str):
                outputs = [torch.empty_like(r, device=where) for r in results]
                return call(None, inputs, out=outputs[0] if isinstance(on_device, torch.Tensor) else tuple(outputs))

            try:
                call_with_outputs(device, device)
            except Exception as error:
                try:
                    call_with_outputs("cpu", "cpu")
                    note("out", (BROKEN, comparison.one_line(error)))
                except Exception:
                    pass  # the CPU cannot do it either
                continue
            note("out", outcome_of(lambda: call_with_outputs(device, "cpu"), None))
    return found


def verdicts(probed: dict[str, dict[str, str]]) -> dict[str, list[str]]:
    return {operand: sorted(REFUSED if outcome == UNCLEAR else outcome for outcome in outcomes)
            for operand, outcomes in probed.items()}


def differences(op: OpInfo, mine: dict[str, dict[str, str]], oracle: dict[str, list[str]] | None) -> list[str]:
    """Sentences about what differs from CUDA's rules; an operand that was not recorded on CUDA must not give wrong
    values."""
    said = []
    for operand, outcomes in mine.items():
        where = f"{op.full_name}, operand {operand}"
        if WRONG in outcomes:
            said.append(f"{where}: taken, with wrong values: {outcomes[WRONG]}")
        if UNCLEAR in outcomes:
            said.append(f"{where}: refused without naming a device: {outcomes[UNCLEAR]}")
        if BROKEN in outcomes:
            said.append(f"{where}: fails on the device, where it works on the CPU: {outcomes[BROKEN]}")
            continue
        allowed = (oracle or {}).get(operand)
        if allowed is None:
            continue
        if TAKEN in outcomes and TAKEN not in allowed:
            said.append(f"{where}: taken, where CUDA refuses it")
        if TAKEN not in outcomes and REFUSED not in allowed:
            said.append(f"{where}: refused, where CUDA takes it: {next(iter(outcomes.values()))}")
    return said


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", metavar="NAME", help="operators by name")
    parser.add_argument("--record", action="store_true", help=f"write what this device does to {RECORD.name}")
    parser.add_argument("--samples", type=int, default=12, help="of each operator")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    options = parser.parse_args()
    from worker_pool import Plan, ask_all

    chosen = [i for i, op in enumerate(op_db) if not options.only or op.name in options.only or op.full_name in options.only]
    answers = ask_all(chosen, Plan("mixed", False, options.samples, options.jobs, 120))
    if options.record:
        table = {op_db[i].full_name: verdicts(answer["operands"]) for i, answer in sorted(answers.items())
                 if isinstance(answer, dict) and answer["operands"]}
        RECORD.write_text(json.dumps({"torch": torch.__version__, "device": torch.get_device_module(DEVICE).get_device_name(),
                                      "operators": table}, indent=None, separators=(",", ":")).replace('},"', '},\n"') + "\n")
    oracle = json.loads(RECORD.read_text())["operators"] if RECORD.exists() else {}
    failures, operands = [], 0
    for i, answer in sorted(answers.items()):
        if isinstance(answer, str):
            failures.append(f"{op_db[i].full_name}: {answer}")
            continue
        operands += len(answer["operands"])
        failures += differences(op_db[i], answer["operands"], oracle.get(op_db[i].full_name))
    print(*failures, sep="\n")
    print(f"{len(answers)} operators, {operands} operands left on the CPU, {len(failures)} violate CUDA's rules")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
