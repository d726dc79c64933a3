"""Lets programs that were written for CUDA run on rvk: install() replaces what they call, in this process.

A torch.device("cuda") stays what it is, so that comparisons with its type hold; it becomes rvk where something is made on
it or moved to it (devices.py). The module torch.cuda answers for rvk (cuda_module.py), nn.DataParallel uses one device
(parallel.py), and what has no counterpart ends the program with the line that asked for it (limits.py).
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
