"""Lets programs written for CUDA run on rvk: install() changes this process.

The device library maps CUDA devices in the arguments of operators (torch.ops.rvk.map_cuda_devices), so PyTorch's
functions stay as they are, and TorchScript, torch.func, torch.compile and torch.export work with them. A
torch.device("cuda") stays a CUDA device object, so that comparisons with its type hold. Python maps the rest: devices that
do not reach an operator (devices.py), the state of autocast (precision.py), the module torch.cuda (cuda_module.py,
classes.py), nn.DataParallel (parallel.py), torch.distributed (distributed.py), the profiler (profiler.py). Calls without a
counterpart end the program and name the line that made them (limits.py).
"""

_installed = False


def install():
    global _installed
    if _installed:
        return
    _installed = True
    from . import classes, cuda_module, devices, distributed, limits, parallel, precision, profiler

    for part in (devices, precision, classes, cuda_module, parallel, distributed, profiler, limits):
        part.install()
