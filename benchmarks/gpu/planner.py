"""Compares the plans that the cost model chooses (products/) with the fastest ones: tiles and splits of k.

    python benchmarks/gpu/planner.py measure FILE [--minutes M] [--rounds N] [--only KIND…] [--seed N]
    python benchmarks/gpu/planner.py report FILE
    python benchmarks/gpu/planner.py evaluate FILE [--rates TEXT] [--tool PATH]
    python benchmarks/gpu/planner.py fit FILE [--tool PATH]

measure: on the device rvk, times every plan of 184 products (those of pytorch_device.py and a grid of sizes), of 100 random
ones, and of the convolutions and attention of pytorch_device.py, and appends all times to FILE, one JSON line for each shape and
round. It uses REKINDLE_AUTOTUNE, whose results it does not keep: before each shape the device works for 60 ms, and the time
of a plan is the least of three measurements that alternate with those of the other plans. Rounds are separate processes.
Stops after M minutes, and says how much is missing. --seed: another number draws other random products.
report: how much longer the chosen plans took than the fastest ones; a plan's time is the shortest of its rounds.
evaluate: the same for the plans that the present cost model chooses, with the rates in FILE or those given; needs no GPU.
fit: finds the rates with which the cost model's times are closest to the measured ones; needs no GPU.
The last two run rekindle_products_tool (ninja -C build/release rekindle_products_tool).
"""

import argparse
import collections
import json
import os
import pathlib
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
DEVICE = "rvk"
WARM_UP = 0.06  # seconds
PRODUCTS, RANDOM_PRODUCTS = 184, 100
KINDS = ("product", "random", "convolution", "attention")
PARAMETER = re.compile(r"(\w+)=([-+.\w]+)")


# The shapes: (kind, name, function that makes the timed function). Only the child process imports torch.

def product_case(kind: str, dtype_name: str, m: int, n: int, k: int, batch: int, layout: str):
    import torch
    dtype = getattr(torch, dtype_name)

    def make():
        def factor(rows: int, columns: int, letter: str):
            shape = (rows, columns) if letter == "N" else (columns, rows)
            one = torch.rand(*((batch,) if batch > 1 else ()), *shape, device=DEVICE).sub_(0.5).to(dtype)
            return one if letter == "N" else one.transpose(-1, -2)
        a, b = factor(m, k, layout[0]), factor(k, n, layout[1])
        return lambda: a @ b
    return kind, f"{dtype_name} {batch} x {m}x{n}x{k} {layout}", make


def benchmark_cases() -> list:
    """The products, convolutions and attention of pytorch_device.py."""
    from device_cases import CASES
    kinds = {"mm": "product", "bmm": "product", "conv": "convolution", "attention": "attention"}
    return [(kinds[word], case.name, lambda case=case: case.make(DEVICE))
            for case in CASES if (word := case.name.split()[0]) in kinds]


def grid_of_products(count: int) -> list:
    """Squares, panels with a long and with a short k, batches, and sizes that no tile divides."""
    shapes = [(s, s, s, 1, layout) for s in (128, 256, 384, 768, 1536, 3072, 6144) for layout in ("NN", "NT", "TN")]
    shapes += [(m, n, k, 1, layout) for layout in ("NN", "NT") for m, n, k in (
        (32, 1024, 1024), (128, 768, 3072), (4096, 768, 768), (4096, 3072, 768), (4096, 768, 3072), (16384, 384, 1536),
        (64, 64, 65536), (576, 64, 100352), (512, 4608, 12544), (2048, 50257, 768), (197, 768, 768), (1000, 2048, 64))]
    shapes += [(m, n, k, batch, "NN") for m, n, k, batch in (
        (128, 128, 64, 64), (256, 64, 256, 48), (1024, 1024, 64, 12), (64, 64, 64, 512), (36, 256, 196, 36),
        (100, 100, 100, 100), (512, 512, 512, 8), (196, 196, 32, 192))]
    types = ("float16", "bfloat16", "float32")
    cases = [product_case("product", types[i % 3] if layout == "NT" else dtype, m, n, k, batch, layout)
             for i, (m, n, k, batch, layout) in enumerate(shapes) for dtype in (("float16",) if layout == "NT" else types)]
    if len(cases) < count:
        generator = random.Random(184)
        cases += [random_product(generator, "product") for _ in range(count - len(cases))]
    return cases[:count]


def random_product(generator: random.Random, kind: str):
    """Sizes uniform on a logarithmic scale; a third are multiples of 64. At most 2e12 multiplications."""
    while True:
        sizes = [round(2 ** generator.uniform(4.1, top)) for top in (13, 13, 15)]
        if generator.random() < 0.33:
            sizes = [max(64, size // 64 * 64) for size in sizes]
        batch = generator.choice((1, 1, 1, 1, 4, 24))
        m, n, k = sizes
        if batch * m * n * k <= 1e12 and batch * max(m * n, m * k, n * k) <= 2 ** 28:
            break
    dtype, layout = generator.choice(("float16", "bfloat16", "float32")), generator.choice(("NN", "NT", "TN"))
    return product_case(kind, dtype, m, n, k, batch, layout)


def all_cases(seed: int) -> list:
    """All shapes, the kinds mixed, so that a run that is cut short has some of each."""
    of_benchmark = benchmark_cases()
    products = [case for case in of_benchmark if case[0] == "product"]
    products += grid_of_products(PRODUCTS - len(products))
    generator = random.Random(seed)
    groups = [products, [random_product(generator, "random") for _ in range(RANDOM_PRODUCTS)],
              *([case for case in of_benchmark if case[0] == kind] for kind in KINDS[2:])]
    order = sorted((i / len(group), number, i) for number, group in enumerate(groups) for i in range(len(group)))
    return [groups[number][i] for _, number, i in order]


# Measuring

def child(kinds: list[str], seed: int, deadline: float) -> None:
    """Runs each shape once, which tunes it; the parent reads the times from the log."""
    import torch
    import device_cases  # noqa: F401 (loads the device where `import torch` alone does not)
    torch.manual_seed(1)
    a = torch.rand(2048, 2048, device=DEVICE).half()

    def warm_up() -> None:
        end = time.perf_counter() + WARM_UP
        while time.perf_counter() < end:
            for _ in range(20):
                a @ a
            torch.rvk.synchronize()
    a @ a
    cases = [case for case in all_cases(seed) if case[0] in kinds]
    for number, (kind, name, make) in enumerate(cases):
        if time.time() > deadline:
            print(f"{len(cases) - number} of {len(cases)} shapes missing: the time is up", flush=True)
            return
        print(f"shape {kind} {name}", file=sys.stderr, flush=True)
        try:
            function = make()
            warm_up()
            function()
            torch.rvk.synchronize()
        except Exception as problem:  # noqa: BLE001 (a shape that fails is reported; the others run)
            print(f"{kind} {name}: {type(problem).__name__}: {problem}"[:300], flush=True)
        del function
        torch.rvk.empty_cache()


def parsed_key(key: str) -> dict:
    """The fields of a shape, from the key of its tuning result."""
    if found := re.fullmatch(r"(\w+) product (\d+) x (\d+)x(\d+)x(\d+) (\S+)", key):
        type_, batch, m, n, k = found[1], *map(int, found.groups()[1:5])
        return {"kind": "product", "type": type_, "batch": batch, "m": m, "n": n, "k": k,
                "a_aligned": found[6][0].isupper(), "b_aligned": found[6][1].isupper()}
    if found := re.fullmatch(r"(\w+) convolution, ([\w ]+), (\d+) x (\d+)x(\d+)x(\d+), (\d+) channels, (\d+) taps( by .*)?", key):
        groups, m, n, k, channels, taps = map(int, found.groups()[2:8])
        return {"kind": "convolution", "type": found[1], "m": m, "n": n, "k": k, "groups": groups, "channels": channels,
                "taps": taps, "pass": ("forward", "input gradient", "weight gradient").index(found[2])}
    return {"kind": "attention"}


def json_line(line: str, group: str | None, number: int) -> dict | None:
    """A line of the log as a line of the file; None if it is about something else."""
    if found := re.match(r"rvk: parameters of (.*?): (.*)", line):
        values = dict(PARAMETER.findall(found[2]))
        rates = {name: values.pop(name) for name in list(values) if not values[name].isdigit() or name.endswith("rate")}
        return {"kind": "device", "name": found[1], "rates": " ".join(f"{name}={rate}" for name, rate in rates.items()),
                **{name: int(value) for name, value in values.items()}}
    if found := re.match(r"rvk: tuned (.*?): [^;]*; (.*)", line):
        times = [re.fullmatch(r"(.*) ([\d.]+|inf) us", part) for part in found[2].split(", ")]
        seconds = {one[1]: float(one[2]) * 1e-6 for one in times if one[2] != "inf"}
        fields = parsed_key(found[1])
        fields["on_units"] = any(name.startswith("units") for name in seconds)
        return {**fields, "group": group, "round": number, "key": found[1], "chosen": times[0][1], "seconds": seconds}
    return None


def measure_round(options: argparse.Namespace, deadline: float, number: int, folder: str) -> int:
    """Runs one child process; returns its exit status. folder: for compiled pipelines; nothing else is kept there."""
    shutil.rmtree(os.path.join(folder, "tuning"), ignore_errors=True)
    environment = os.environ | {"REKINDLE_AUTOTUNE": "1", "REKINDLE_LOG": "1", "REKINDLE_CACHE_DIR": folder}
    command = [sys.executable, __file__, "child", "--only", *options.only, "--seed", str(options.seed), "--deadline", str(deadline)]
    with open(options.file, "a", encoding="utf-8") as file:
        process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment)
        group = None  # the warm-up comes first, and is not a shape
        for line in process.stderr:
            if line.startswith("shape "):
                group = line.split()[1]
            elif (fields := json_line(line.rstrip(), group, number)) is not None:
                if group is None and fields["kind"] != "device":
                    continue
                file.write(json.dumps(fields) + "\n")
                file.flush()
            elif not line.startswith("rvk: "):
                sys.stderr.write(line)
        return process.wait()


def measure(options: argparse.Namespace) -> int:
    deadline = time.time() + 60 * options.minutes
    with tempfile.TemporaryDirectory() as folder:
        for number in range(options.rounds):
            if time.time() > deadline:
                print(f"round {number + 1} of {options.rounds} missing: the time is up")
                break
            if status := measure_round(options, deadline, number, folder):
                print(f"the child process of round {number + 1} ended with status {status}")
                return 1
    return report(options)


# Evaluating

def merged(path: str) -> list[dict]:
    """The device, then every shape once, with each plan's shortest time of all rounds: a GPU can lower its clocks for seconds."""
    device, shapes = {}, {}
    times = collections.defaultdict(lambda: collections.defaultdict(list))
    with open(path, encoding="utf-8") as file:
        for line in map(json.loads, file):
            if line["kind"] == "device":
                device = line
                continue
            shapes.setdefault(line["key"], line)
            for name, seconds in line["seconds"].items():
                times[line["key"]][name].append(seconds)
    for key, shape in shapes.items():
        shape["seconds"] = {name: min(some) for name, some in times[key].items()}
    return ([device] if device else []) + list(shapes.values())


def report(options: argparse.Namespace) -> int:
    """Prints the losses of the plans that were chosen when the file was written."""
    losses = collections.defaultdict(list)
    for shape in merged(options.file):
        if shape["kind"] == "device" or shape["chosen"] not in shape["seconds"]:
            continue
        best = min(shape["seconds"], key=shape["seconds"].get)
        loss = shape["seconds"][shape["chosen"]] / shape["seconds"][best] - 1
        losses[shape["group"]].append((loss, f"{shape['key']}: {shape['chosen']} instead of {best}"))
    for group in [kind for kind in KINDS if kind in losses]:
        some = sorted(losses[group], reverse=True)
        print(f"{group}: {len(some)} shapes, loss {100 * statistics.mean(loss for loss, _ in some):.1f} % on average, "
              f"{100 * some[0][0]:.1f} % at worst")
        for loss, text in some[:5]:
            print(f"  {100 * loss:5.1f} %  {text}")
    return 0


def run_tool(options: argparse.Namespace) -> int:
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as file:
        file.writelines(json.dumps(line) + "\n" for line in merged(options.file))
        file.flush()
        return subprocess.run([options.tool, options.command, file.name, *([options.rates] if options.rates else [])],
                              check=False).returncode


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=("measure", "report", "evaluate", "fit", "child"))
    parser.add_argument("file", nargs="?", default="planner.jsonl")
    parser.add_argument("--minutes", type=float, default=8)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", nargs="*", default=list(KINDS), choices=KINDS)
    parser.add_argument("--seed", type=int, default=31, help="of the random products")
    parser.add_argument("--rates", default="", help='"float32_rate=… …", or "default"')
    parser.add_argument("--tool", default=str(ROOT / "build" / "release" / "tests" / "rekindle_products_tool"))
    parser.add_argument("--deadline", type=float, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.command == "child":
        child(options.only, options.seed, options.deadline)
        return 0
    if options.command == "measure":
        return measure(options)
    if not pathlib.Path(options.file).is_file():
        parser.error(f"{options.file} does not exist; measure writes it, on a GPU")
    if options.command == "report":
        return report(options)
    if not pathlib.Path(options.tool).is_file():
        parser.error(f"{options.tool} does not exist; ninja -C build/release rekindle_products_tool builds it")
    return run_tool(options)


if __name__ == "__main__":
    sys.exit(main())
