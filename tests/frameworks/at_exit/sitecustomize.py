"""Python imports this module at startup if its folder is on PYTHONPATH. At exit, it prints how much memory rvk allocated."""

import atexit
import sys


def _report():
    torch = sys.modules.get("torch")
    if hasattr(torch, "rvk") and torch.rvk.is_initialized():
        print(f"rvk: at most {torch.rvk.max_memory_allocated()} bytes in use", file=sys.stderr)


atexit.register(_report)
