#!/usr/bin/env python3
"""Measures the CPU time of `rekindle doctor --log` for long logs, random text and a small file.

    benchmarks/doctor/log_speed.py --program build/release/bin/rekindle [--peer OTHER_REKINDLE] [--keep FOLDER]

Figures are medians of --repeats whole runs, in seconds of user and system time. With --peer, another build of Rekindle
reads the same logs, alternating, and must print the same JSON."""

import argparse
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile

MEBIBYTE = 1 << 20


def repeated(line_of, size):
    """Lines until their sizes add up to `size` bytes."""
    lines, written, number = [], 0, 0
    while written < size:
        lines.append(line_of(number))
        written += len(lines[-1].encode()) + 1
        number += 1
    return "\n".join(lines) + "\n"


def training_line(i):
    return (f"2026-11-21 13:25:{i % 60:02} [INFO] Epoch {i // 1000} step {i}: loss 0.{i * 7919 % 10000} | lr 1e-3 | "
            "GPU memory 19.4 GiB of 20.0 GiB")


def bar_line(i):
    return f"{i % 101:3}%|{'█' * (i % 101 // 10):10}| {i}/1000000 [00:{i % 60:02}<00:21, 12.3it/s, loss={i * 7919 % 1000 / 1000}]"


def service_line(i):
    return (f"Nov 21 13:{i // 60 % 60:02}:{i % 60:02} host loader[{i % 7}]: read shard {i} of the training set in "
            f"{i * 31 % 97} ms and put it into the queue")


def random_text(width):
    text = "".join(random.Random(7).choices([chr(c) for c in range(32, 127)], k=9_000_000))
    return "\n".join(text[i:i + width] for i in range(0, len(text), width)) + "\n"


def logs():
    error = "RuntimeError: HIP error: invalid device function\n"
    yield "one line", error
    yield "training, 8 MiB", repeated(training_line, 8 * MEBIBYTE) + error
    yield "progress bars, 8 MiB", repeated(bar_line, 8 * MEBIBYTE) + error
    yield "a service, 8 MiB", repeated(service_line, 8 * MEBIBYTE) + error
    for width, name in ((9_000_000, "one line"), (80, "80 columns"), (4000, "4,000 columns"), (100_000, "100,000 columns")):
        yield f"random text, 9 MB, {name}", random_text(width)


def run(program, log):
    before = os.times()
    done = subprocess.run([program, "doctor", "--json", "--log", log], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    after = os.times()
    if done.returncode not in (0, 1):
        sys.exit(f"{program}: exit status {done.returncode}: {done.stderr.decode()}")
    seconds = after.children_user + after.children_system - before.children_user - before.children_system
    return seconds, done.stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True)
    parser.add_argument("--peer", help="another build, which must print the same")
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--keep", help="a folder for the logs; without it they are deleted")
    arguments = parser.parse_args()
    for program in filter(None, [arguments.program, arguments.peer]):
        if not pathlib.Path(program).is_file():
            parser.error(f"there is no program {program}")
    programs = [arguments.program] + ([arguments.peer] if arguments.peer else [])
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.keep or temporary
        os.makedirs(folder, exist_ok=True)
        print("| log | CPU seconds |" + (" peer | peer ÷ program |" if arguments.peer else ""))
        print("|---|---|" + ("---|---|" if arguments.peer else ""))
        for name, text in logs():
            path = os.path.join(folder, name.replace(" ", "-").replace(",", "") + ".log")
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            seconds = {program: [] for program in programs}
            printed = set()
            for _ in range(arguments.repeats):
                for program in programs:
                    taken, output = run(program, path)
                    seconds[program].append(taken)
                    printed.add(output)
            if len(printed) != 1:
                sys.exit(f"{name}: the programs print different results")
            medians = [statistics.median(seconds[program]) for program in programs]
            ratio = f" {medians[1]:.3f} | {medians[1] / medians[0]:.1f} |" if arguments.peer else ""
            print(f"| {name} | {medians[0]:.3f} |{ratio}", flush=True)


if __name__ == "__main__":
    main()
