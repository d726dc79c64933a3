"""Shared by the device tests: which device is tested, and how to read its counters."""

import functools
import os
import pathlib
import unittest
import zlib

import torch

DEVICE = os.environ.get("REKINDLE_TEST_DEVICE", "rvk")


def load_device(device: str = DEVICE) -> None:
    """Registers the device if it is not loaded with torch itself (not installed, but on PYTHONPATH)."""
    try:
        torch.device(device)
    except RuntimeError:
        import torch_rvk  # noqa: F401 (registers the device)


load_device()


def device_is_there(device: str = DEVICE) -> bool:
    if device == "cpu":
        return True
    module = getattr(torch, torch.device(device).type, None)
    return module is not None and module.is_available()


def require_device(cpu: bool = True) -> None:
    """Skips the test if there is no device; without `cpu`, also if the tested device is the CPU itself."""
    if not device_is_there() or (DEVICE == "cpu" and not cpu):
        raise unittest.SkipTest(f"there is no device {DEVICE}")


def device_module():
    """Returns torch.rvk, or skips the test and says why."""
    if DEVICE == "cpu":
        raise unittest.SkipTest("torch.cpu has no device memory, streams or generators")
    return getattr(torch, torch.device(DEVICE).type)


def in_sample(name: str, share: int) -> bool:
    """Whether a hash of the name selects this case for the sample that runs at every change: one of `share` cases."""
    return zlib.crc32(name.encode()) % share == 0


def is_cpu_driver() -> bool:
    """Whether the tested device is a Vulkan driver that runs on the CPU, such as lavapipe."""
    return getattr(device_module().get_device_properties(0), "is_cpu", False)


def kernels_of(run) -> set[str]:
    """The names of the kernels that run() launches. Needs PyTorch 2.13, whose profiler knows the device."""
    device_module().synchronize()
    activities = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.PrivateUse1]
    with torch.profiler.profile(activities=activities) as recorded:
        run()
        device_module().synchronize()
    return {event.name for event in recorded.events() if event.device_type == torch.autograd.DeviceType.PrivateUse1}


def require_matrix_units(dtype: torch.dtype, use: str = "matrix_units") -> None:
    """Skips the test if the device does not use matrix units for the dtype, or if PyTorch cannot say which kernels ran. `use`
    is a field of the device's properties. With REKINDLE_NEED_MATRIX_UNITS=1, a device that has none at all is a failure."""
    if DEVICE == "cpu":
        raise unittest.SkipTest("the CPU has no matrix units")
    properties = device_module().get_device_properties(0)
    if os.environ.get("REKINDLE_NEED_MATRIX_UNITS") == "1" and not properties.matrix_units:
        raise AssertionError(f"{properties.name} has no matrix units")
    if str(dtype).removeprefix("torch.") not in getattr(properties, use):
        raise unittest.SkipTest(f"{properties.name}: {use} does not have {dtype}")
    if pytorch_before(2, 13):
        raise unittest.SkipTest("PyTorch before 2.13 cannot register a device's profiler, which says which kernels ran")


def pytorch_before(major: int, minor: int) -> bool:
    return tuple(map(int, torch.__version__.split(".")[:2])) < (major, minor)


@functools.cache
def flushes_subnormals() -> bool:
    """Whether the device treats float32's subnormal numbers as zero, as Vulkan allows; bfloat16 has the same ones."""
    flushes = device_is_there() and (torch.tensor([1e-40], device=DEVICE) * 1).item() == 0
    if flushes:
        print(f"{DEVICE} treats subnormal numbers of float32 and bfloat16 as zero: they are skipped")
    return flushes


def are_flushed(numbers: torch.Tensor) -> torch.Tensor:
    """A mask of the nonzero numbers that the device treats as zero."""
    if numbers.dtype not in (torch.float32, torch.bfloat16) or not flushes_subnormals():
        return torch.zeros_like(numbers, dtype=torch.bool)
    return (numbers != 0) & (numbers.abs() < torch.finfo(numbers.dtype).tiny)


def without_flushed(numbers: torch.Tensor) -> torch.Tensor:
    """The numbers without those that the device treats as zero."""
    return numbers[~are_flushed(numbers)]


#: A PyTorch with CUDA asks only CUDA for pinned memory, whatever the accelerator is.
PINS_FOR_THE_DEVICE = torch.version.cuda is None
WHY_NOT_PINNED = "a PyTorch with CUDA pins new tensors with pin_memory=True only for CUDA"


def fallback_counts(device: str = DEVICE) -> dict[str, int]:
    """How often each operator has fallen back to the CPU so far; empty for the CPU itself."""
    if torch.device(device).type == "cpu":
        return {}
    return dict(getattr(torch, torch.device(device).type).fallback_stats())


def is_strict() -> bool:
    if torch.device(DEVICE).type == "cpu":
        return False
    from torch_rvk.switches import switched_on  # the package is not needed to run the tests on the CPU

    return switched_on("REKINDLE_STRICT")


def child_environment(**variables: str) -> dict[str, str]:
    """The environment of a Python process that imports this module."""
    folder = str(pathlib.Path(__file__).resolve().parent)
    path = os.pathsep.join(filter(None, (folder, os.environ.get("PYTHONPATH"))))
    return dict(os.environ, PYTHONPATH=path, **variables)
