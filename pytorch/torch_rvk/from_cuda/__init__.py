"""Lets programs written for CUDA run on rvk: install() replaces the functions that they call, in this process.

A torch.device("cuda") stays a CUDA device object, so that comparisons with its type hold; it becomes rvk when something
is created on it or moved to it (devices.py). The module torch.cuda uses rvk (cuda_module.py), nn.DataParallel uses one
device (parallel.py), and calls without a counterpart end the program and name the line that made them (limits.py).
"""

_installed = False


def install():
    global _installed
    if _installed:
        return
    _installed = True
    from . import cuda_module, devices, limits, parallel

    devices.install()
    cuda_module.install()
    parallel.install()
    limits.install()
