"""Trains one small job in each framework on the CPU, on rvk, and through torch_rvk.run; prints the table of docs/frameworks.md.

    python compare.py [--only NAME…]

The exit status is 1 if a job fails or its losses differ from the CPU's by more than the tolerance of its precision.
"""

import argparse
import dataclasses
import importlib.metadata
import json
import pathlib
import sys
import tempfile

import results
from results import Failure, Outcome

JOBS = pathlib.Path(__file__).resolve().parent / "jobs"
# Relative tolerance of a loss. The CPU computes in float32; 16-bit products on the device round.
TOLERANCES = {"float32": 1e-4, "bfloat16": 3e-2, "float16": 1e-2}
HEADER = ("framework", "version", "precision", "losses", "on its own", "through run")


@dataclasses.dataclass(frozen=True)
class Job:
    name: str
    package: str
    file: str
    precisions: tuple = ("float32", "bfloat16", "float16")
    options: tuple = ()
    cpu: str = "cpu"
    plain: str = "rvk"  # the framework's name for the device
    through_run: str = "cuda"
    run_only: tuple = ()  # precisions that the framework refuses on unknown devices

    def arguments(self, device, precision):
        return [str(JOBS / self.file), device, precision, *self.options]


ALL = (
    Job("Lightning, Trainer", "lightning", "lightning_job.py", through_run="gpu"),
    Job("Lightning, Fabric", "lightning", "fabric_job.py", through_run="gpu"),
    Job("Accelerate", "accelerate", "accelerate_job.py", run_only=("float16",)),
    Job("transformers, Trainer", "transformers", "trainer_job.py", run_only=("float16",)),
    Job("PEFT, LoRA", "peft", "trainer_job.py", options=("--lora",), run_only=("float16",)),
    Job("diffusers", "diffusers", "diffusers_job.py", run_only=("float16",)),
    Job("timm", "timm", "timm_job.py"),
    Job("Ultralytics, YOLOv8n", "ultralytics", "ultralytics_job.py", ("float32",), through_run="0"),
)


def outcome(arguments, environment):
    with tempfile.TemporaryDirectory() as folder:
        output, _ = results.run(arguments, folder, environment)
    return Outcome(**json.loads(output.splitlines()[-1]))


def compared(job, precision, expected, prefix, device, environment):
    """Returns the difference of the losses, or what went wrong."""
    try:
        found = outcome([*prefix, *job.arguments(device, precision)], environment)
        if found.device not in ("rvk", "cuda"):
            raise Failure(f"trained on {found.device}")
        return results.difference(found.losses, expected)
    except Failure as failure:
        print(f"{job.name}, {precision}: {failure}", file=sys.stderr)
        return "failed"


def rows(job):
    """Yields the cells of each row, and how many of its comparisons failed."""
    expected = outcome(job.arguments(job.cpu, "float32"), results.ON_CPU).losses
    version = importlib.metadata.version(job.package)
    for precision in job.precisions:
        on_rvk = {"ACCELERATE_TORCH_DEVICE": "rvk"}
        plain = "refused by the framework"
        if precision not in job.run_only:
            plain = compared(job, precision, expected, (), job.plain, on_rvk)
        mapped = compared(job, precision, expected, results.THROUGH_RUN, job.through_run, {})
        limit = TOLERANCES[precision]
        failed = sum(value == "failed" or (isinstance(value, float) and not value <= limit) for value in (plain, mapped))
        cells = (job.name, version, precision, f"{len(expected)}", results.cell(plain, limit), results.cell(mapped, limit))
        yield cells, failed


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", nargs="+", default=[], help="only the jobs whose names contain one of these")
    chosen = parser.parse_args().only
    jobs = [job for job in ALL if not chosen or any(part.lower() in job.name.lower() for part in chosen)]
    results.print_table(HEADER, (row for job in jobs for row in rows(job)))


if __name__ == "__main__":
    main()
