#!/usr/bin/env python3
"""Runs jobs that really fail on an NVIDIA GPU under `rekindle doctor --run` and compares the causes that it names.

    check.py PROGRAM [--python PYTHON] [--wheel FILE] [--keep FOLDER] [NAME…]

PROGRAM is the program rekindle. PYTHON (this one by default) has PyTorch with CUDA and sees a GPU that nothing else uses.
--wheel is a torchvision built for another version of PyTorch than PYTHON's (pip download torchvision==…); without it
that job is skipped. --keep writes each report to FOLDER. NAME runs some of the jobs only.

The jobs: more memory than the GPU has; memory that another process holds; a package built for another PyTorch; a worker
of a DataLoader killed with SIGKILL; a rank killed under torchrun; a process group that waits for an absent rank; a hang
that the doctor reports and leaves alone; a mistake of the program's own; a job that succeeds; and a training step on
whose GPU `--watch` reads load, memory, power and clocks.
The last line is "N passed, N failed, N skipped". Exit status 0: nothing failed; 1: something did; 2: wrong usage.
"""
import argparse
import csv
import dataclasses
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
import zipfile

GIB = 1 << 30


@dataclasses.dataclass
class Job:
    name: str
    program: str  # the text of job.py
    causes: tuple  # causes that may come first; empty: the doctor must not name one
    launcher: tuple = ()  # words between PYTHON and job.py
    options: tuple = ()  # of the doctor
    primary: bool = True  # whether the first cause must be marked as the primary one
    silence: bool = False  # the doctor must report that nothing was printed
    status: int | None = None  # expected exit status; None: any but 0


OUT_OF_MEMORY = """
    import torch
    kept = [torch.empty(1 << 30, dtype=torch.uint8, device="cuda") for _ in range(1000)]
"""
HELD = """
    import torch
    free, _ = torch.cuda.mem_get_info()
    torch.empty(free + (2 << 30), dtype=torch.uint8, device="cuda")
"""
WRONG_WHEEL = """
    import torch, torchvision
    from torchvision.ops import nms
    boxes = torch.rand(8, 4, device="cuda")
    print(nms(boxes, boxes[:, 0], 0.5))
"""
KILLED_WORKER = """
    import os, signal, torch
    class Rows(torch.utils.data.Dataset):
        def __len__(self): return 64
        def __getitem__(self, i):
            if i == 40: os.kill(os.getpid(), signal.SIGKILL)
            return torch.zeros(4)
    for rows in torch.utils.data.DataLoader(Rows(), batch_size=4, num_workers=2):
        rows.cuda()
"""
KILLED_RANK = """
    import os, signal, torch, torch.distributed as dist
    dist.init_process_group("gloo")
    x = torch.ones(1 << 20)
    for step in range(50):
        if step == 20 and dist.get_rank() == 1: os.kill(os.getpid(), signal.SIGKILL)
        dist.all_reduce(x)
"""
ABSENT_RANK = """
    import datetime, os, time, torch, torch.distributed as dist
    torch.cuda.set_device(0)
    dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=8))
    x = torch.ones(4, device="cuda")
    if dist.get_rank() == 0:
        dist.all_reduce(x)
    else:
        time.sleep(20)
"""
HANG = """
    import threading, torch
    x = torch.ones(4, device="cuda")
    print("step 1", float(x.sum()), flush=True)
    lock = threading.Lock()
    lock.acquire()
    lock.acquire(timeout=9)
    print("step 2", flush=True)
"""
OWN_MISTAKE = """
    import torch
    layer = torch.nn.Linear(8, 4).cuda()
    print(layer(torch.rand(2, 9, device="cuda")))
"""
WELL = """
    import torch
    x = torch.rand(64, 64, device="cuda")
    print((x @ x).sum())
"""
BUSY = """
    import time, torch
    x = torch.rand(8192, 8192, device="cuda")
    end = time.monotonic() + 6
    while time.monotonic() < end:
        y = x @ x
        torch.cuda.synchronize()
"""
HOLDER = """
    import sys, time, torch
    total = torch.cuda.get_device_properties(0).total_memory
    kept = torch.empty(int(total * 0.9), dtype=torch.uint8, device="cuda")
    print("ready", flush=True)
    time.sleep(120)
"""
TORCHRUN = ("-m", "torch.distributed.run", "--local-addr", "127.0.0.1", "--nproc-per-node", "2")

# Where the kernel's log cannot be read, lack of memory is as possible as somebody else's kill.
KILLED = ("process-killed-by-other", "host-memory-exhausted")

JOBS = (
    Job("more memory than the GPU has", OUT_OF_MEMORY, ("oom-genuine",)),
    Job("memory that another process holds", HELD, ("vram-held-by-other-process",)),
    Job("a package built for another PyTorch", WRONG_WHEEL, ("extension-built-for-other-torch", "packages-incompatible")),
    Job("a killed worker of a DataLoader", KILLED_WORKER, KILLED, primary=False),
    Job("a killed rank", KILLED_RANK, KILLED, launcher=TORCHRUN, primary=False),
    Job("a rank that does not come", ABSENT_RANK, ("fsdp-waits-for-absent-rank",), launcher=TORCHRUN, primary=False),
    Job("a hang", HANG, (), options=("--silence", "3"), silence=True, status=0),
    Job("a mistake of the program's own", OWN_MISTAKE, ("user-program-shape-mismatch",), primary=False),
    Job("a job that succeeds", WELL, (), status=0),
)


class Mistake(Exception):
    pass


def expect(holds, text):
    if not holds:
        raise Mistake(text)


class Check:
    def __init__(self, options):
        self.options = options
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="real-runs-"))
        self.counts = {"passed": 0, "failed": 0, "skipped": 0}

    def report(self, result, name, detail=""):
        self.counts[result] += 1
        print(f"{result}: {name}{': ' + detail if detail else ''}", flush=True)

    def write(self, name, text):
        path = self.folder / name
        path.write_text(textwrap.dedent(text).lstrip(), encoding="utf-8")
        return str(path)

    def doctor(self, job, environment):
        report = self.folder / "report.json"
        report.unlink(missing_ok=True)
        command = [self.options.program, "doctor", "--report", str(report), "--probe", "none", *job.options, "--run", "--",
                   self.options.python, *job.launcher, self.write("job.py", job.program)]
        result = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False, env=environment)
        if self.options.keep:
            self.options.keep.mkdir(parents=True, exist_ok=True)
            name = job.name.replace(" ", "-").replace("'", "")
            (self.options.keep / f"{name}.txt").write_text(f"{result.stdout}\n--- standard error ---\n{result.stderr}")
        return result, json.loads(report.read_text(encoding="utf-8"))

    def environment_of(self, job):
        environment = dict(os.environ)
        if job.program is WRONG_WHEEL:
            with zipfile.ZipFile(self.options.wheel) as wheel:
                wheel.extractall(self.folder / "wheel")
            environment["PYTHONPATH"] = str(self.folder / "wheel")
        return environment

    def run(self, job):
        if job.program is WRONG_WHEEL and not self.options.wheel:
            self.report("skipped", job.name, "no --wheel")
            return
        holder = None
        try:
            if job.program is HELD:
                holder = subprocess.Popen([self.options.python, self.write("holder.py", HOLDER)], stdout=subprocess.PIPE)
                holder.stdout.readline()
            started = time.monotonic()
            result, report = self.doctor(job, self.environment_of(job))
            causes = self.judge(job, result, report)
            self.report("passed", job.name, f"{', '.join(causes) or 'no cause'}; {time.monotonic() - started:.1f} s")
        except (Mistake, OSError, ValueError, subprocess.TimeoutExpired) as error:
            self.report("failed", job.name, str(error))
        finally:
            if holder is not None:
                holder.send_signal(signal.SIGKILL)
                holder.wait()

    @staticmethod
    def judge(job, result, report):
        findings = [one for one in report["findings"] if one["severity"] != "note"]
        causes = [one["cause"] for one in findings]
        primary = [one["cause"] for one in findings if one["primary"]]
        well = result.returncode == job.status if job.status is not None else result.returncode != 0
        expect(well, f"exit status {result.returncode}; {result.stderr[-300:]}")
        if job.causes:
            expect(causes and causes[0] in job.causes, f"named {causes}, expected one of {job.causes}")
            expect(not job.primary or primary == causes[:1], f"{causes[0]} is not the primary cause")
        else:
            expect(not causes, f"named {causes}")
        expect(not job.silence or "no output for" in result.stderr, "said nothing about the silence")
        return causes

    def watch(self):
        """`--watch` beside a busy job: its CSV must show the load that nvidia-smi shows."""
        path = self.folder / "readings.csv"
        command = [self.options.program, "doctor", "--watch", "--interval", "1", "--csv", str(path), "--",
                   self.options.python, self.write("job.py", BUSY)]
        try:
            job = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            rows = []
            while job.poll() is None:
                rows += self.nvidia_smi()
                time.sleep(1)
            expect(job.returncode == 0, f"exit status {job.returncode}; {job.stderr.read()[-300:]}")
            with path.open(encoding="utf-8") as file:
                ours = list(csv.DictReader(file))
            self.report("passed", "--watch", self.compare(ours, rows))
        except (Mistake, OSError, ValueError, KeyError) as error:
            self.report("failed", "--watch", f"{type(error).__name__} {error}")
        if self.options.keep and path.exists():
            (self.options.keep / "readings.csv").write_text(path.read_text(encoding="utf-8"))

    @staticmethod
    def nvidia_smi():
        fields = "utilization.gpu,memory.used,temperature.gpu,power.draw,clocks.sm"
        output = subprocess.run(["nvidia-smi", f"--query-gpu={fields}", "--format=csv,noheader,nounits"], check=True,
                                capture_output=True, text=True).stdout
        return [[float(word) for word in line.split(",")] for line in output.splitlines()[:1]]

    @staticmethod
    def compare(ours, theirs):
        """The largest value of each reading, which both have while the GPU is busy."""
        expect(ours and theirs, "no readings")
        columns = {"load_percent": 0, "memory_used_bytes": 1, "temperature_celsius": 2, "power_watts": 3, "core_clock_mhz": 4}
        texts = []
        for name, index in columns.items():
            mine = max(float(row[name]) for row in ours if row[name])
            mine = mine / (1 << 20) if name.endswith("bytes") else mine
            other = max(row[index] for row in theirs)
            texts.append(f"{name} {mine:.0f} (nvidia-smi {other:.0f})")
            expect(abs(mine - other) <= 0.2 * max(mine, other), f"{name}: {mine} against {other} of nvidia-smi")
        return ", ".join(texts)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--wheel", type=pathlib.Path)
    parser.add_argument("--keep", type=pathlib.Path)
    parser.add_argument("names", nargs="*", metavar="NAME")
    options = parser.parse_args()
    unknown = set(options.names) - {job.name for job in JOBS} - {"--watch"}
    if unknown:
        parser.error(f"no job is named {', '.join(sorted(unknown))}; the jobs are {', '.join(job.name for job in JOBS)}")
    check = Check(options)
    for job in JOBS:
        if not options.names or job.name in options.names:
            check.run(job)
    if not options.names:
        check.watch()
    print(", ".join(f"{count} {result}" for result, count in check.counts.items()))
    return 1 if check.counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
