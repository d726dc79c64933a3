#!/usr/bin/env python3
"""How long the first training step takes: with empty caches, in a second process, and the steps after it.

    PYTHONPATH=build/pytorch/python python3 benchmarks/gpu/first_step.py [--device rvk] [--device cuda] [--threads 0]

Each figure is the time of one step, host time included, in a process of its own: `cold` with an empty REKINDLE_CACHE_DIR
(and an empty cache folder of the driver), `warm` with what the cold process left there. For rvk, the number of pipelines
that the cold step compiled and the sum of their compile times follow, and, with --kernels, the slowest of them.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time

MODELS = ("resnet18", "gpt2")
PRECISIONS = ("float32", "autocast")
STEPS = 6
# Drivers keep their own caches, which would turn the next cold run into a warm one.
DRIVER_CACHES = ("__GL_SHADER_DISK_CACHE_PATH", "MESA_SHADER_CACHE_DIR", "CUDA_CACHE_PATH", "XDG_CACHE_HOME")


def make_step(model_name, device, precision):
    """Returns a function that trains one step and returns the loss."""
    import torch
    import transformers

    torch.manual_seed(0)
    if model_name == "resnet18":
        config = transformers.ResNetConfig(
            depths=[2, 2, 2, 2], hidden_sizes=[64, 128, 256, 512], layer_type="basic", num_labels=10
        )
        model = transformers.ResNetForImageClassification(config)
        inputs = {"pixel_values": torch.randn(16, 3, 64, 64), "labels": torch.randint(10, (16,))}
    else:
        config = transformers.GPT2Config(n_layer=4, n_embd=256, n_head=4, vocab_size=1000, n_positions=128)
        model = transformers.GPT2LMHeadModel(config)
        tokens = torch.randint(1000, (4, 128))
        inputs = {"input_ids": tokens, "labels": tokens}
    model = model.to(device).train()
    inputs = {name: value.to(device) for name, value in inputs.items()}
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)

    def step():
        optimizer.zero_grad()
        with torch.autocast(device, dtype=torch.float16, enabled=precision == "autocast"):
            loss = model(**inputs).loss
        loss.backward()
        optimizer.step()
        return loss.item()

    return step


def measure(model_name, device, precision):
    import torch

    if device == "rvk":
        import torch_rvk  # noqa: F401: also where PyTorch can use CUDA

    torch.ones(1, device=device).item()  # opening the device, and its self-test, are not part of the step
    opened = time.perf_counter()
    step = make_step(model_name, device, precision)
    built = time.perf_counter()
    times, losses = [], []
    for _ in range(STEPS):
        begin = time.perf_counter()
        losses.append(step())
        times.append(time.perf_counter() - begin)
    return {"build": built - opened, "first": times[0], "next": sorted(times[2:])[(STEPS - 2) // 2], "loss": losses}


def run_apart(arguments, folder, threads):
    environment = dict(os.environ, REKINDLE_CACHE_DIR=os.path.join(folder, "rekindle"), REKINDLE_LOG="1")
    environment.update({name: os.path.join(folder, name) for name in DRIVER_CACHES})
    if "rvk" in arguments:
        environment["CUDA_VISIBLE_DEVICES"] = ""  # otherwise transformers initializes CUDA in the first step, which takes 0.18 s
    if threads is not None:
        environment["REKINDLE_COMPILE_THREADS"] = str(threads)
    done = subprocess.run(
        [sys.executable, __file__, "--measure", *arguments], env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        sys.exit(f"{' '.join(arguments)} failed:\n{done.stderr[-3000:]}")
    kernels = [(int(ms), text) for text, ms in re.findall(r"compiled (.*) in (\d+) ms", done.stderr)]
    return json.loads(done.stdout.splitlines()[-1]), sorted(kernels, reverse=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", action="append", help="rvk (the default), cuda or cpu; may be repeated")
    parser.add_argument("--model", action="append", choices=MODELS)
    parser.add_argument("--precision", action="append", choices=PRECISIONS)
    parser.add_argument("--threads", type=int, help="REKINDLE_COMPILE_THREADS; by default one for each CPU")
    parser.add_argument("--kernels", type=int, default=0, metavar="N", help="also print the N slowest compilations")
    parser.add_argument("--measure", nargs=3, metavar=("MODEL", "DEVICE", "PRECISION"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(measure(*options.measure)))
        return
    print("| model | precision | device | cold, s | warm, s | later steps, ms | pipelines | compile time, s |")
    print("|---|---|---|---|---|---|---|---|")
    for device in options.device or ["rvk"]:
        for model_name in options.model or MODELS:
            for precision in options.precision or PRECISIONS:
                with tempfile.TemporaryDirectory() as folder:
                    arguments = [model_name, device, precision]
                    cold, kernels = run_apart(arguments, folder, options.threads)
                    warm, _ = run_apart(arguments, folder, options.threads)
                compiled = f"{len(kernels)} | {sum(ms for ms, _ in kernels) / 1e3:.2f}" if device == "rvk" else "– | –"
                print(
                    f"| {model_name} | {precision} | {device} | {cold['first']:.2f} | {warm['first']:.2f} "
                    f"| {warm['next'] * 1e3:.1f} | {compiled} |",
                    flush=True,
                )
                for ms, text in kernels[: options.kernels]:
                    print(f"    {ms:6} ms  {text}")


if __name__ == "__main__":
    main()
