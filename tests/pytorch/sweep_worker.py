"""A child process of worker_pool.py: compares operators of op_db on a device, one after the other.

    sweep_worker.py compare|dtypes|mixed DEVICE SAMPLES

compare: float32, contiguous and not, forward and gradients. dtypes: forward in every dtype. mixed: with one
tensor left on the CPU (mixed_devices.py). Reads positions in op_db from standard input, one per line, and writes one
JSON line for each to the descriptor that was its standard output. Everything else that is printed goes to standard
error.
"""

import dataclasses
import json
import os
import sys
import time
import warnings


def compare(op, device: str, samples: int) -> dict:
    import comparison
    from support import fallback_counts

    began, before = time.monotonic(), fallback_counts(device)
    result = comparison.compare_operator(op, device, samples)
    result.fallbacks = sorted(name for name, count in fallback_counts(device).items() if count > before.get(name, 0))
    result.seconds = round(time.monotonic() - began, 3)
    return dataclasses.asdict(result)


def main() -> None:
    task, device, samples = sys.argv[1], sys.argv[2], int(sys.argv[3])
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    warnings.filterwarnings("ignore")

    import torch
    torch.set_num_threads(1)
    from torch.testing._internal.common_methods_invocations import op_db
    import comparison

    print("ready", file=answers, flush=True)
    for line in sys.stdin:
        op = op_db[int(line)]
        if task == "mixed":
            import mixed_devices
            answer = {"operator": op.full_name, "operands": mixed_devices.probe(op, device, samples)}
        elif task == "dtypes":
            answer = {"operator": op.full_name, "dtypes": comparison.compare_dtypes(op, device, samples)}
        else:
            answer = compare(op, device, samples)
        print(json.dumps(answer), file=answers, flush=True)
    answers.close()
    if torch.device(device).type == "rvk":
        torch.ops.rvk.finish()  # saves the compiled pipelines
    os._exit(0)  # other tests cover the interpreter's exit


if __name__ == "__main__":
    main()
