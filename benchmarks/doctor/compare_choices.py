#!/usr/bin/env python3
"""Compares what `rekindle doctor` and other programs decide about GPUs that this host does not have.

    python3 -m venv build/peers && build/peers/bin/pip install env-doctor uv
    benchmarks/doctor/compare_choices.py --program build/release/bin/rekindle --peers build/peers

Two tables. The first: from which index torch would be installed for a GPU, by `uv pip install --torch-backend=auto`
(told the GPU or driver by UV_AMD_GPU_ARCHITECTURE or UV_CUDA_DRIVER_VERSION; nothing is installed, and no connection is
needed) and by the first step of the doctor's plan for a log of such a host. The second: what `env-doctor dockerfile`,
`env-doctor docker-compose` and `rekindle doctor --review` say about the container files of tests/doctor/data."""

import argparse
import json
import os
import pathlib
import re
import subprocess
import tempfile

LOG = "AssertionError: Torch not compiled with CUDA enabled\n"
# What is shown; how uv is told; how the doctor is told.
HOSTS = [
    ("RX 5700 XT (gfx1010)", {"UV_AMD_GPU_ARCHITECTURE": "gfx1010"}, "GPU: AMD Radeon RX 5700 XT"),
    ("RX 6700 XT (gfx1031)", {"UV_AMD_GPU_ARCHITECTURE": "gfx1031"}, "GPU: AMD Radeon RX 6700 XT"),
    ("RX 6900 XT (gfx1030)", {"UV_AMD_GPU_ARCHITECTURE": "gfx1030"}, "GPU: AMD Radeon RX 6900 XT"),
    ("Radeon VII (gfx906)", {"UV_AMD_GPU_ARCHITECTURE": "gfx906"}, "GPU: AMD Radeon VII"),
    ("RX 7900 XTX (gfx1100)", {"UV_AMD_GPU_ARCHITECTURE": "gfx1100"}, "GPU: AMD Radeon RX 7900 XTX"),
    ("RX 9070 XT (gfx1201)", {"UV_AMD_GPU_ARCHITECTURE": "gfx1201"}, "GPU: AMD Radeon RX 9070 XT"),
    ("GTX 1060, driver 550.54.14", {"UV_CUDA_DRIVER_VERSION": "550.54.14"},
     "GPU: NVIDIA GeForce GTX 1060\ndriver: 550.54.14"),
    ("RTX 3060, driver 470.82.01", {"UV_CUDA_DRIVER_VERSION": "470.82.01"},
     "GPU: NVIDIA GeForce RTX 3060\ndriver: 470.82.01"),
    ("RTX 5090, driver 580.65.06", {"UV_CUDA_DRIVER_VERSION": "580.65.06"},
     "GPU: NVIDIA GeForce RTX 5090\ndriver: 580.65.06"),
]


def index_in(text):
    """The last part of an index's address, or nothing."""
    found = re.search(r"https://(?:download\.pytorch\.org/whl/(\w[\w.]*)|(repo\.amd\.com/rocm/whl-multi-arch))", text)
    return (found.group(1) or found.group(2)) if found else None


def choice_of_uv(uv, environment, folder):
    python = os.path.join(folder, "venv")
    if not os.path.exists(python):
        subprocess.run([uv, "venv", "--quiet", "--no-project", python], check=True)
    # A closed port in place of a proxy: uv names the page that it would read, and ends at once.
    settings = dict(os.environ, UV_HTTP_RETRIES="0", UV_NO_CACHE="1", HTTPS_PROXY="http://127.0.0.1:9", **environment)
    done = subprocess.run([uv, "pip", "install", "--dry-run", "--python", os.path.join(python, "bin", "python"),
                           "--torch-backend=auto", "torch"], capture_output=True, text=True, timeout=120, env=settings)
    text = done.stdout + done.stderr
    return index_in(text) or "none: " + text.strip().splitlines()[0].split(": ")[-2:][0][:60]


def choice_of_doctor(program, facts, folder):
    log, posted = os.path.join(folder, "log"), os.path.join(folder, "facts")
    pathlib.Path(log).write_text(LOG, encoding="utf-8")
    pathlib.Path(posted).write_text(f"OS: Ubuntu 24.04\nPython: 3.12\ntorch: 2.6.0+cpu\n{facts}\n", encoding="utf-8")
    done = subprocess.run([program, "doctor", "--log", log, "--facts", posted, "--json"], capture_output=True, text=True,
                          timeout=60)
    steps = json.loads(done.stdout)["plan"]["steps"]
    for step in steps:
        index = index_in("\n".join(step["commands"]))
        if index:
            packages = re.findall(r'"(torch[^"]*)"', "\n".join(step["commands"]))
            override = [line.removeprefix("export ") for line in step["commands"] if "OVERRIDE" in line]
            return ", ".join([index] + packages + override)
    return steps[0]["id"] if steps else "none"


def counts_of_env_doctor(tool, kind, file):
    done = subprocess.run([tool, kind, file], capture_output=True, text=True, timeout=60)
    found = {word: re.search(rf"{word}:\s+(\d+)", done.stdout) for word in ("Errors", "Warnings")}
    if not all(found.values()):
        return "no answer"
    return ", ".join(f"{match.group(1)} {word.lower()}" for word, match in found.items())


def counts_of_doctor(program, file):
    done = subprocess.run([program, "doctor", "--review", file], capture_output=True, text=True, timeout=60)
    return done.stdout.splitlines()[0].split(": ", 1)[-1].rstrip(".") if done.stdout else "no answer"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/release/bin/rekindle")
    parser.add_argument("--peers", default="build/peers", help="virtual environment with env-doctor and uv")
    arguments = parser.parse_args()
    bin_folder = os.path.join(arguments.peers, "bin")
    with tempfile.TemporaryDirectory() as folder:
        print("| GPU | uv --torch-backend=auto | rekindle doctor |\n|---|---|---|")
        for name, environment, facts in HOSTS:
            print(f"| {name} | {choice_of_uv(os.path.join(bin_folder, 'uv'), environment, folder)} | "
                  f"{choice_of_doctor(arguments.program, facts, folder)} |")
    print("\n| document | env-doctor | rekindle doctor --review |\n|---|---|---|")
    data = pathlib.Path(__file__).resolve().parents[2] / "tests" / "doctor" / "data"
    for file in sorted(data.glob("*/*.Dockerfile")) + sorted(data.glob("*/*.yml")):
        kind = "docker-compose" if file.suffix == ".yml" else "dockerfile"
        print(f"| {file.parent.name}/{file.name} | {counts_of_env_doctor(os.path.join(bin_folder, 'env-doctor'), kind, file)} | "
              f"{counts_of_doctor(arguments.program, file)} |")


if __name__ == "__main__":
    main()
