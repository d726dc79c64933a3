"""Runs the doctor's PyTorch probes with the given program and checks them against what this Python's PyTorch can do."""

import json
import subprocess
import sys

import torch

PROBES = [
    "python-import", "python-count", "python-allocate", "python-fill", "python-add", "python-matmul-fp32",
    "python-matmul-fp16", "python-matmul-bf16", "python-addmm", "python-conv2d-32", "python-conv2d-64",
    "python-batch-norm", "python-attention", "python-train-step", "python-two-gpu-copy", "python-all-reduce",
    "python-compile",
]
OF_TWO_GPUS = ["python-two-gpu-copy", "python-all-reduce"]


def main(tool):
    command = [tool, "run", "safe", sys.executable]
    output = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    results = [json.loads(line) for line in output.splitlines()]
    results = [result for result in results if result["id"].startswith("python-")]
    gpus = torch.cuda.device_count()
    mistakes = []

    def expect(holds, what):
        if not holds:
            mistakes.append(what)

    first = [result["id"] for result in results[: len(PROBES)]]
    expect(first == PROBES, f"the probes are {first}")
    expect(len(results) == len(PROBES) + max(gpus - 1, 0) * (len(PROBES) - 2), f"{len(results)} results")
    for result in results:
        skipped = result["id"] in OF_TWO_GPUS if gpus else result["id"] == "python-two-gpu-copy"
        expected = "skipped" if skipped else "passed"
        print(f'{result["id"]:24} {result.get("device", ""):13} {result["status"]:8} {result["seconds"]:7.2f} s'
              f'  {result.get("reason", "")}')
        expect(result["status"] == expected, f'{result["id"]} on {result.get("device")} is {result["status"]}: '
                                             f'{result.get("reason")} {result.get("errors", "")}')
        if not gpus and result["id"] != "python-import":
            expect(result.get("device") == "cpu", f'{result["id"]} ran on {result.get("device")}')
    imported = results[0]["values"]
    expect(imported["version"] == torch.__version__, f"the version is {imported['version']}")
    expect(imported["ran_on"] == "cpu: this PyTorch is built without GPU support" or torch.version.cuda
           or torch.version.hip, f"it ran on {imported['ran_on']}")
    for mistake in mistakes:
        print("wrong:", mistake)
    return 1 if mistakes else 0


sys.exit(main(sys.argv[1]))
