"""Runs a script that was written for CUDA on the device rvk, unchanged.

    python -m torch_rvk.run train.py --epochs 3
    python -m torch_rvk.run -m package.train --epochs 3

What CUDA would do is mapped to rvk (from_cuda/); each mapping is said once on standard error. What cannot be mapped ends
the program with exit status 3 and the line of the script that asked for it. Processes that the script starts map alike.
"""

import os
import runpy
import sys

USAGE = "usage: python -m torch_rvk.run (SCRIPT.py | -m MODULE) [ARGUMENT …]"


def main():
    arguments = sys.argv[1:]
    as_module = arguments[:1] == ["-m"]
    if as_module:
        del arguments[0]
    if not arguments or arguments[0].startswith("-"):
        sys.exit(f"{USAGE}\n\n{__doc__}" if arguments in (["-h"], ["--help"]) else USAGE)

    if not as_module and not os.path.exists(arguments[0]):
        sys.exit(f"torch_rvk.run: there is no file {arguments[0]}\n{USAGE}")

    os.environ["TORCH_RVK_FROM_CUDA"] = "1"  # children by 'spawn' import torch and then map, too (registration.py)
    import torch

    from . import from_cuda, registration

    if not registration.is_registered():
        sys.exit("torch_rvk.run: the device rvk could not be registered; the warning above says why.")
    from_cuda.install()
    reason = torch.ops.rvk.why_no_device()
    if reason:
        sys.exit(f"torch_rvk.run: there is no device to run on: {reason}.")

    sys.argv = arguments
    if as_module:
        sys.path[0] = os.getcwd()
        runpy.run_module(arguments[0], run_name="__main__", alter_sys=True)
    else:
        sys.path[0] = os.path.dirname(os.path.abspath(arguments[0]))
        runpy.run_path(arguments[0], run_name="__main__")


if __name__ == "__main__":
    main()
