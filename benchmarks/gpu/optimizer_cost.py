"""Measures where the time of a fused optimizer's step goes, on rvk and on CUDA: 25 M parameters in 160 tensors.

    python benchmarks/gpu/optimizer_cost.py [--devices rvk,cuda] [--optimizers AdamW SGD] [--rounds N] [--processes N]

Each device has a process of its own, and the two take turns, --processes times. Figures are medians over all rounds, in
milliseconds:
  step        a step, until the GPU has finished, in a burst of 20
  host        a step, until the call returns, in a burst of 4, after which the GPU may still be working
  operator    host time of the fused operator
  counting    host time of adding 1 to the step numbers (AdamW)
  Python      the rest of "host": torch.optim's own code
  GPU         the fused operator, until the GPU has finished, in a burst of 20
  cold GPU    the same before the process has multiplied matrices for 60 ms, which raises the GPU's clock
  cold MHz    the clock that nvidia-smi reports while the operator runs, if it is installed
"""

import argparse
import json
import shutil
import statistics
import subprocess
import threading
import time
from collections.abc import Callable

from one_device import at_least_one, take_turns

OPTIMIZERS = ("AdamW", "SGD")
LONG, SHORT = 20, 4  # calls in a burst
COLUMNS = ("step", "host", "operator", "counting", "Python", "GPU", "cold GPU")


def parts_of(kind: str, device: str) -> dict[str, Callable[[], object]]:
    """Functions that run a whole step, only its fused operator, and only the addition to AdamW's step numbers."""
    import torch
    from device_cases import many_parameters

    parameters = many_parameters(device)
    one = getattr(torch.optim, kind)(parameters, lr=1e-3, fused=True, **({"momentum": 0.9} if kind == "SGD" else {}))
    one.step()
    values, gradients = [p.detach() for p in parameters], [p.grad for p in parameters]
    states = [one.state[p] for p in parameters]
    if kind == "SGD":
        velocities = [state["momentum_buffer"] for state in states]
        return {"step": one.step, "operator": lambda: torch._fused_sgd_(
            values, gradients, velocities, weight_decay=0.0, momentum=0.9, lr=1e-3, dampening=0.0, nesterov=False, maximize=False,
            is_first_step=False)}
    means, squares, steps = ([state[name] for state in states] for name in ("exp_avg", "exp_avg_sq", "step"))
    return {"step": one.step, "counting": lambda: torch._foreach_add_(steps, 1), "operator": lambda: torch._fused_adamw_(
        values, gradients, means, squares, [], steps, lr=1e-3, beta1=0.9, beta2=0.999, weight_decay=0.01, eps=1e-8, amsgrad=False,
        maximize=False)}


def burst(call: Callable[[], object], synchronize: Callable[[], None], calls: int) -> tuple[float, float]:
    """Milliseconds per call, until the last one has returned, and until the device has finished."""
    synchronize()
    begin = time.perf_counter()
    for _ in range(calls):
        call()
    returned = time.perf_counter()
    synchronize()
    return (returned - begin) * 1e3 / calls, (time.perf_counter() - begin) * 1e3 / calls


def clock_during(call: Callable[[], object], synchronize: Callable[[], None]) -> str:
    """The clock in MHz that nvidia-smi reports while `call` runs again and again; empty without nvidia-smi."""
    if shutil.which("nvidia-smi") is None:
        return ""
    answer = []
    command = ["nvidia-smi", "--query-gpu=clocks.sm", "--format=csv,noheader,nounits"]
    query = threading.Thread(target=lambda: answer.append(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False).stdout))
    query.start()
    while query.is_alive():
        burst(call, synchronize, SHORT)
    return answer[0].split("\n")[0] if answer else ""


def measure(kind: str, device: str, rounds: int) -> dict:
    import torch
    from pytorch_device import warm_up

    synchronize = getattr(torch, device).synchronize
    parts = parts_of(kind, device)
    for call in parts.values():
        burst(call, synchronize, SHORT)
    result: dict[str, list] = {name: [] for name in COLUMNS}
    for _ in range(rounds):
        result["cold GPU"].append(burst(parts["operator"], synchronize, LONG)[1])
    result["cold MHz"] = [clock_during(parts["operator"], synchronize)]
    for _ in range(rounds):
        warm_up(device)
        result["step"].append(burst(parts["step"], synchronize, LONG)[1])
        result["GPU"].append(burst(parts["operator"], synchronize, LONG)[1])
        hosts = {name: statistics.median(burst(call, synchronize, SHORT)[0] for _ in range(9)) for name, call in parts.items()}
        result["host"].append(hosts["step"])
        result["operator"].append(hosts["operator"])
        result["counting"].append(hosts.get("counting", 0.0))
        result["Python"].append(hosts["step"] - hosts["operator"] - hosts.get("counting", 0.0))
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--devices", default="rvk,cuda")
    parser.add_argument("--optimizers", nargs="+", choices=OPTIMIZERS, default=OPTIMIZERS)
    parser.add_argument("--rounds", type=at_least_one, default=5, help="in each process")
    parser.add_argument("--processes", type=at_least_one, default=3, help="for each device and optimizer")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        print(json.dumps(measure(options.optimizers[0], options.child, options.rounds)))
        return
    print(f"| optimizer | device | {' | '.join(COLUMNS)} | cold MHz |\n|{'---|' * (len(COLUMNS) + 3)}")
    for kind in options.optimizers:
        runs = take_turns(__file__, options.devices.split(","), options.processes, kind, "--optimizers", kind, "--rounds", options.rounds)
        for device, results in runs.items():
            cells = [f"{statistics.median(sum((one[name] for one in results), [])):.3f}" for name in COLUMNS]
            clocks = ", ".join(filter(None, (one["cold MHz"][0] for one in results)))
            print(f"| {kind} | {device} | {' | '.join(cells)} | {clocks} |", flush=True)


if __name__ == "__main__":
    main()
