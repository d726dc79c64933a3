"""Compares operators and training steps on rvk with PyTorch's CUDA on the same GPU; float32 is without TF32.

    python benchmarks/gpu/pytorch_device.py [--models | --edges | --causes] [--only WORD…] [--rounds N] [--processes N]
        [--device rvk] [--against cuda] [--seconds S]

Each row: milliseconds on both; "speed": CUDA's time divided by ours (1 = equal); TFLOP/s where a row counts operations.
The rows are those of device_cases.py; with --models those of model_rows.py (training steps of whole models), with --edges those
of edge_cases.py (sizes just below and above those at which the kernel changes), with --causes those of cause_cases.py (the
slowest products and convolutions with one size varied). The two devices alternate, each in its own process.
Before a figure counts, a device has multiplied matrices for 60 ms: an idle GPU runs at a fraction of its clock, and work that
the host limits does not raise it. Figures are medians over the rounds, each of as many runs as fill --seconds.
For work that the host limits, use --processes: the host's speed differs between processes on the same machine.
The results of both are compared in the same run; a row whose values differ says so, and the exit status is 1.
With --against '' nothing is compared, for machines without CUDA.
"""

import argparse
import gc
import os
import statistics
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Sequence

import torch
import device_cases
from device_cases import Case
from one_device import at_least_one, environment_for

WARM_UP = 0.06  # seconds
TOLERANCES = {torch.float32: 2e-3, torch.float16: 2e-2, torch.bfloat16: 6e-2}  # of the largest value; fast sums differ


def cases_of(table: str) -> Sequence[Case]:
    if table == "operators":
        return device_cases.CASES
    if table == "edges":
        from edge_cases import CASES
        return CASES
    if table == "causes":
        from cause_cases import CASES
        return CASES
    from model_rows import model_rows
    return model_rows()


def module_of(device: str):
    return getattr(torch, torch.device(device).type)


def seconds(function, device: str, runs: int) -> float:
    module_of(device).synchronize()
    begin = time.perf_counter()
    for _ in range(runs):
        function()
    module_of(device).synchronize()
    return (time.perf_counter() - begin) / runs


def warm_up(device: str) -> None:
    matrix = torch.ones(2048, 2048, device=device)
    end = time.perf_counter() + WARM_UP
    while time.perf_counter() < end:
        seconds(lambda: matrix @ matrix, device, 1)


def prepare(case: Case, device: str, results: str) -> tuple[object, int]:
    """The timed function and the peak of device memory of one call; its first result goes to the file `results`."""
    torch.manual_seed(zlib.crc32(case.name.encode()))
    function = case.make(device)
    result = function()
    if result is not None:
        flat = result.detach().flatten()
        torch.save(flat[:: max(1, flat.numel() // 65536)].float().cpu(), results)
        torch.save(result.dtype, results + ".dtype")
    del result
    module_of(device).synchronize()
    module_of(device).reset_peak_memory_stats()
    function()
    module_of(device).synchronize()
    return function, module_of(device).max_memory_allocated()


def serve(device: str, cases: Sequence[Case], results: str, fill: float) -> None:
    """Child process for one device: reads "prepare NUMBER" and "time" from its input, answers with numbers."""
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    function, runs = None, 1
    for line in sys.stdin:
        word, *rest = line.split()
        try:
            if word == "prepare":
                function = None
                gc.collect()
                module_of(device).empty_cache()
                function, peak = prepare(cases[int(rest[0])], device, results)
                runs = max(1, min(1000, int(fill / max(1e-7, seconds(function, device, 3)))))
                print(peak, flush=True)
            else:
                warm_up(device)
                seconds(function, device, max(1, min(3, runs)))
                print(seconds(function, device, runs), flush=True)
        except Exception as problem:  # noqa: BLE001 (a row that fails is reported; the others run)
            print(f"{type(problem).__name__}: {problem}".replace("\n", " ")[:200], flush=True)


class Child:
    """One device in its own process: PyTorch's autograd follows the streams of only one accelerator per process."""

    def __init__(self, device: str, folder: str, fill: float, table: str):
        self.results = os.path.join(folder, device.replace(":", "_"))
        self.process = subprocess.Popen(
            [sys.executable, __file__, "--child", device, "--results", self.results, "--seconds", str(fill),
             *(["--" + table] if table != "operators" else [])], text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            env=environment_for(device))

    def ask(self, text: str) -> float:
        self.process.stdin.write(text + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise SystemExit(f"the child process ended with status {self.process.wait()}; its message is above")
        try:
            return float(answer)
        except ValueError:
            raise RuntimeError(answer.strip()) from None

    def end(self) -> None:
        self.process.stdin.close()
        self.process.wait()


def difference(case: Case, children: list[Child]) -> str:
    """Empty if both devices computed the same or results are random, otherwise by how much they differ."""
    if case.random or len(children) < 2 or not all(os.path.exists(child.results) for child in children):
        return ""
    a, b = (torch.load(child.results) for child in children)
    dtype = case.computes_in or torch.load(children[0].results + ".dtype", weights_only=False)
    tolerance = TOLERANCES.get(dtype, 0)
    scale = b.abs().max().item() or 1.0
    error = (a - b).abs().max().item() / scale
    return "" if error <= tolerance else f"values differ by {error:.1e} of the largest"


def measure(number: int, case: Case, children: list[Child], rounds: int) -> tuple[list[list[float]], list[float], str]:
    """The seconds of each round and the peak memory of each child's device, and how their values differ; the devices take
    turns."""
    for child in children:
        if os.path.exists(child.results):
            os.remove(child.results)
    peaks = [child.ask(f"prepare {number}") for child in children]
    problem = difference(case, children)
    times = [[] for _ in children]
    for _ in range(rounds):
        for child, list_of_times in zip(children, times):
            list_of_times.append(child.ask("time"))
    return times, peaks, problem


def row(case: Case, times: list[float], peaks: list[float], problem: str) -> str:
    cells = [case.name, *(f"{1e3 * one:.3f}" for one in times)]
    cells.append(f"{times[1] / times[0]:.2f}" if len(times) > 1 else "–")
    cells.append(" / ".join(f"{case.work / one / 1e12:.0f}" for one in times) if case.work else "")
    memory = f"memory {peaks[0] / peaks[1]:.2f} × CUDA's" if case.memory and len(peaks) > 1 else ""
    cells.append("; ".join(filter(None, (memory, problem))))
    return "| " + " | ".join(cells) + " |"


def run_process(chosen: Sequence[tuple[int, Case]], devices: list[str], options: argparse.Namespace,
                all_times: dict[int, list[list[float]]], last: bool) -> bool:
    """Measures all cases with a new process for each device and adds the times to all_times. After the last one, it prints the
    medians. Returns whether a case failed or its values differ."""
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        children = [Child(device, folder, options.seconds, options.table) for device in devices]
        for number, case in chosen:
            try:
                times, peaks, problem = measure(number, case, children, options.rounds)
            except RuntimeError as error:
                print(f"| {case.name} | {error} |", flush=True)
                failed = True
                continue
            for known, added in zip(all_times[number], times):
                known += added
            failed |= bool(problem)
            if last or problem:
                print(row(case, [statistics.median(one) for one in all_times[number]], peaks, problem), flush=True)
        for child in children:
            child.end()
    return failed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    tables = parser.add_mutually_exclusive_group()
    tables.add_argument("--models", dest="table", action="store_const", const="models", default="operators",
                        help="training steps of whole models instead of operators")
    tables.add_argument("--edges", dest="table", action="store_const", const="edges",
                        help="sizes just below and above those at which the kernel changes")
    tables.add_argument("--causes", dest="table", action="store_const", const="causes",
                        help="the slowest products and convolutions with one size varied")
    parser.add_argument("--only", nargs="*", default=[""], help="run only cases whose name contains one of these texts")
    parser.add_argument("--rounds", type=at_least_one, default=5, help="in each process")
    parser.add_argument("--processes", type=at_least_one, default=1,
                        help="for each device; each measures all cases, and the last prints the medians")
    parser.add_argument("--seconds", type=float, default=0.1, help="that the runs of one round fill")
    parser.add_argument("--device", default="rvk")
    parser.add_argument("--against", default="cuda")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--results", help=argparse.SUPPRESS)
    options = parser.parse_args()
    cases = cases_of(options.table)
    if options.child:
        serve(options.child, cases, options.results, options.seconds)
        return 0
    chosen = [(number, case) for number, case in enumerate(cases) if any(word in case.name for word in options.only)]
    if not chosen:
        parser.error(f"no case's name contains {' or '.join(repr(word) for word in options.only)}")
    devices = [options.device] + ([options.against] if options.against else [])
    print(f"| case | {' | '.join(f'{one}, ms' for one in devices)} | speed | TFLOP/s | |\n|---|{'---|' * (len(devices) + 3)}")
    all_times = {number: [[] for _ in devices] for number, _ in chosen}
    failed = False
    for process in range(1, options.processes + 1):
        failed |= run_process(chosen, devices, options, all_times, process == options.processes)
        if options.processes > 1:
            print(f"process {process} of {options.processes} for each device has ended", file=sys.stderr, flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
