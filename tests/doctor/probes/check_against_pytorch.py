"""Runs the doctor's PyTorch probes with the given program and checks them against what this Python's PyTorch can do."""

import json
import os
import pathlib
import subprocess
import sys
import sysconfig
import tempfile

import torch

PROBES = [
    "python-import", "python-count", "python-allocate", "python-fill", "python-add", "python-matmul-fp32",
    "python-matmul-fp16", "python-matmul-bf16", "python-addmm", "python-conv2d-32", "python-conv2d-64",
    "python-batch-norm", "python-attention", "python-train-step", "python-two-gpu-copy", "python-all-reduce",
    "python-compile",
]
OF_TWO_GPUS = ["python-two-gpu-copy", "python-all-reduce"]
PROBES_SCRIPT = pathlib.Path(__file__).resolve().parents[3] / "doctor" / "data" / "torch_probes.py"
HAS_PYTHON_HEADERS = pathlib.Path(sysconfig.get_paths()["include"], "Python.h").exists()
NO_HEADERS = "torch.compile needs Python.h, which is missing: install python3-dev or python3-devel"
NO_COMPILER = "torch.compile needs a C++ compiler, and none was found: install g++"


def reason_of_compile(compiler, folder):
    """Why the probe of torch.compile is skipped with this C++ compiler. `folder`: for what Inductor compiles."""
    output = subprocess.run([sys.executable, "-", "cpu", "apart", "python-compile"], input=PROBES_SCRIPT.read_text(encoding="utf-8"),
                            stdout=subprocess.PIPE, text=True, check=True,
                            env=os.environ | {"CXX": str(compiler), "TORCHINDUCTOR_CACHE_DIR": str(folder)}).stdout
    result = json.loads(output.splitlines()[-1])["result"]
    return result["reason"] if result["status"] == "skipped" else str(result)


def compiler_without_headers(folder):
    compiler = pathlib.Path(folder, "g++")
    compiler.write_text('#!/bin/sh\ncase "$*" in *--version*) exec g++ --version ;; esac\n'
                        'echo "x.cpp:37:10: fatal error: Python.h: No such file or directory" >&2\nexit 1\n')
    compiler.chmod(0o755)
    return compiler


def main(tool):
    output = subprocess.run([tool, "run", "safe", sys.executable], stdout=subprocess.PIPE, text=True, check=True).stdout
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
        if result["id"] == "python-compile" and not HAS_PYTHON_HEADERS:
            skipped = result.get("reason") == NO_HEADERS
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
    if not gpus:  # with a GPU, Triton chooses the compiler
        with tempfile.TemporaryDirectory() as folder:
            reason = reason_of_compile("/no/such/compiler", folder)
            expect(reason == NO_COMPILER, f"without a compiler: {reason}")
            reason = reason_of_compile(compiler_without_headers(folder), folder)
            expect(reason == NO_HEADERS, f"without Python.h: {reason}")
    for mistake in mistakes:
        print("wrong:", mistake)
    return 1 if mistakes else 0


sys.exit(main(sys.argv[1]))
