"""A child process of sweep.py: operators of op_db, one after the other, compared on a device.

Reads positions in op_db from standard input, one a line, and writes one JSON line for each to the descriptor that was
its standard output. Whatever else is printed goes to standard error.
"""

import dataclasses
import json
import os
import sys
import time
import warnings


def main() -> None:
    device, samples = sys.argv[1], int(sys.argv[2])
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    warnings.filterwarnings("ignore")

    import torch
    torch.set_num_threads(1)
    from torch.testing._internal.common_methods_invocations import op_db
    import comparison
    from support import fallback_counts

    print("ready", file=answers, flush=True)
    for line in sys.stdin:
        began = time.monotonic()
        before = fallback_counts(device)
        result = comparison.compare_operator(op_db[int(line)], device, samples)
        after = fallback_counts(device)
        result.fallbacks = sorted(name for name, count in after.items() if count > before.get(name, 0))
        result.seconds = round(time.monotonic() - began, 3)
        print(json.dumps(dataclasses.asdict(result)), file=answers, flush=True)
    answers.close()
    os._exit(0)  # the interpreter's end has tests of its own


if __name__ == "__main__":
    main()
