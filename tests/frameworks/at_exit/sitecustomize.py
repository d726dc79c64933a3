"""Python imports this at its start where the folder is on PYTHONPATH: at its end, it says how much memory rvk gave out."""

import atexit
import sys


def _report():
    torch = sys.modules.get("torch")
    if hasattr(torch, "rvk") and torch.rvk.is_initialized():
        print(f"rvk: at most {torch.rvk.max_memory_allocated()} bytes in use", file=sys.stderr)


atexit.register(_report)
