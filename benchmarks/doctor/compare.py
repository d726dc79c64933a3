#!/usr/bin/env python3
"""Runs `rekindle doctor` and other programs that check a host's GPU setup, and prints a table of what each reported.

    python3 -m venv build/peers && build/peers/bin/pip install rocmate rocm-vvv cuda-doctor env-doctor torch-amd-setup
    benchmarks/doctor/compare.py --program build/release/bin/rekindle --peers build/peers --torch-python python3

compare_choices.py compares what uv and env-doctor decide. A tool that is not installed is skipped with a message. Times are medians of --repeats whole runs."""

import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import time

QUESTIONS = {
    "names the GPU or says that there is none": r"no (amd |nvidia )?gpu|not? .*gpu.*(found|detected)|H[12]00|GeForce|Radeon|llvmpipe|CUDA used to build",
    "names PyTorch's build": r"2\.\d+\.\d+\+(cpu|cu\d+|rocm)|torch\s+2\.\d+|Is CUDA available",
    "ran a kernel with a known answer": r"vector-add[^\n]*passed",
    "says what to do": r"→|Plan, cheap|\$ |Install|install |training runs on the (processor|CPU)",
}


def commands(arguments):
    def peer(name):
        path = os.path.join(arguments.peers, "bin", name)
        return path if os.path.exists(path) else None

    def has_package(name):
        python = peer("python")
        return python is not None and subprocess.run([python, "-c", f"import {name}"], capture_output=True).returncode == 0

    torch = shutil.which(arguments.torch_python)
    yield "rekindle doctor", [arguments.program, "doctor"], ["--json"]
    yield "rekindle doctor -v", [arguments.program, "doctor", "-v"], ["--json"]
    yield "torch.utils.collect_env", [torch, "-m", "torch.utils.collect_env"] if torch else None, None
    yield "rocmate doctor", [peer("rocmate"), "doctor"] if peer("rocmate") else None, None
    yield "rocm-vvv", [peer("rocm-vvv")] if peer("rocm-vvv") else None, None
    yield "cuda-doctor diagnose", [peer("cuda-doctor"), "diagnose"] if peer("cuda-doctor") else None, ["--format", "json"]
    yield "env-doctor check", [peer("env-doctor"), "check"] if peer("env-doctor") else None, ["--json"]
    yield "torch-amd-setup", [peer("python"), "-m", "torch_amd_setup"] if has_package("torch_amd_setup") else None, None
    yield "vulkaninfo --summary", ["vulkaninfo", "--summary"] if shutil.which("vulkaninfo") else None, None


def run(command):
    begin = time.perf_counter()
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                          timeout=300, env=dict(os.environ, NO_COLOR="1", COLUMNS="120"))
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\r", "", done.stdout.decode("utf-8", "replace"))
    return time.perf_counter() - begin, done.returncode, text


def prints_only_json(command, flag):
    if flag is None:
        return "no"
    done = subprocess.run(command + flag, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, timeout=300)
    try:
        json.loads(done.stdout)
        return "yes"
    except ValueError:
        return "mixed with other output"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/release/bin/rekindle")
    parser.add_argument("--peers", default="build/peers", help="virtual environment with the other programs")
    parser.add_argument("--torch-python", default="python3")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--output", help="folder for the output of each tool")
    arguments = parser.parse_args()
    print("| tool | seconds | exit status | lines | JSON | " + " | ".join(QUESTIONS) + " |")
    print("|---" * (5 + len(QUESTIONS)) + "|")
    for name, command, flag in commands(arguments):
        if command is None:
            print(f"skipped: {name}: not installed", file=sys.stderr)
            continue
        runs = [run(command) for _ in range(arguments.repeats)]
        _, status, text = runs[-1]
        if arguments.output:
            os.makedirs(arguments.output, exist_ok=True)
            with open(os.path.join(arguments.output, re.sub(r"\W+", "-", name) + ".txt"), "w", encoding="utf-8") as file:
                file.write(text)
        answers = ["yes" if re.search(pattern, text, re.IGNORECASE) else "no" for pattern in QUESTIONS.values()]
        seconds = statistics.median(seconds for seconds, _, _ in runs)
        print(f"| {name} | {seconds:.2f} | {status} | {len(text.splitlines())} | {prints_only_json(command, flag)} | " + " | ".join(answers) + " |")


if __name__ == "__main__":
    main()
