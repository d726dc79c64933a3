"""Lightning: Trainer(accelerator="rvk") and Fabric(accelerator="rvk"), through Lightning's registry of accelerators.

Lightning picks a CPU strategy for an accelerator that it does not know. The Trainer hands its strategy to the accelerator
before moving the model, so RvkAccelerator corrects the device there. Fabric does not, so on one device it needs
strategy=SingleDeviceStrategy(device="rvk"), and an error says so. Several devices are used with strategy="ddp", through
the backend rvk of torch.distributed.
"""

import functools

import torch

from ..devices import device_count, is_available, set_device
from ..imports import when_imported
from ..library import NAME

# The same code is published twice: as `lightning`, and as `pytorch_lightning` with `lightning_fabric`.
_TRAINERS = ("lightning.pytorch", "pytorch_lightning")
_FABRICS = ("lightning.fabric", "lightning_fabric")


def _numbers(devices):
    """Converts every form of Trainer(devices=…) to device numbers: a count, -1, a list, or any of these as a string."""
    if isinstance(devices, str):
        parts = devices.split(",")
        devices = int(devices) if len(parts) == 1 else [int(part) for part in parts if part.strip()]
    if isinstance(devices, int):
        devices = range(device_count() if devices == -1 else devices)
    numbers = list(devices)
    for number in numbers:
        if not 0 <= number < device_count():
            raise ValueError(f"There is no device rvk:{number}; torch.rvk.device_count() is {device_count()}.")
    return numbers


def _accelerator(base, setup_device, setup):
    """Returns the accelerator class for one of Lightning's packages, whose Accelerator is `base`."""

    class RvkAccelerator(base):
        def setup_device(self, device):
            setup_device(device)

        def setup(self, trainer):
            setup(trainer)

        def get_device_stats(self, device):
            return torch.rvk.memory_stats(device)

        def teardown(self):
            torch.rvk.empty_cache()

        @staticmethod
        def parse_devices(devices):
            return _numbers(devices)

        @staticmethod
        def get_parallel_devices(devices):
            return [torch.device(NAME, number) for number in devices]

        @staticmethod
        def auto_device_count():
            return 1  # all devices would include integrated GPUs; devices=2 asks for several

        @staticmethod
        def is_available():
            return is_available()

        @staticmethod
        def name():
            return NAME

    return RvkAccelerator


def _move_trainer(trainer):
    strategy = trainer.strategy
    if strategy.root_device.type != NAME:  # strategies for one device stay on the CPU
        strategy._root_device = torch.device(NAME, trainer.device_ids[0])
    set_device(strategy.root_device)


def _set_device_of_trainer(device):
    """Lightning calls this before the processes of a strategy for several devices connect."""
    if device.type == NAME:
        set_device(device)


def _set_device_of_fabric(device):
    if device.type != NAME:
        raise ValueError(
            f'Fabric(accelerator="rvk") would run on {device}: pass strategy=SingleDeviceStrategy(device="rvk") too.'
        )
    set_device(device)


def _register_for_trainer(accelerators):
    cls = _accelerator(accelerators.Accelerator, setup_device=_set_device_of_trainer, setup=_move_trainer)
    accelerators.AcceleratorRegistry.register(NAME, cls, description="Rekindle on Vulkan")


def _register_for_fabric(accelerators):
    cls = _accelerator(accelerators.Accelerator, _set_device_of_fabric, setup=lambda trainer: None)
    accelerators.ACCELERATOR_REGISTRY.register(NAME, cls, description="Rekindle on Vulkan")


def _replace_cuda(amp):
    """Lightning sets up mixed precision for CUDA on every accelerator except the CPU's and Apple's."""
    original = amp.MixedPrecision.__init__

    @functools.wraps(original)
    def __init__(self, precision, device, scaler=None):
        original(self, precision, NAME if device == "cuda" and not torch.cuda.is_available() else device, scaler)

    amp.MixedPrecision.__init__ = __init__


def _without_cuda_streams(ddp):
    """Makes DDPStrategy pass no device ids; with them, Lightning constructs DistributedDataParallel on a CUDA stream."""
    for name in ("determine_ddp_device_ids", "_determine_ddp_device_ids"):  # the Trainer's name, and Fabric's
        original = getattr(ddp.DDPStrategy, name, None)
        if original is not None:
            setattr(ddp.DDPStrategy, name, _no_ids_for_rvk(original))


def _no_ids_for_rvk(original):
    @functools.wraps(original)
    def device_ids(self):
        return None if self.root_device.type == NAME else original(self)

    return device_ids


def install():
    for package in _TRAINERS:
        when_imported(f"{package}.accelerators", _register_for_trainer)
    for package in _FABRICS:
        when_imported(f"{package}.accelerators", _register_for_fabric)
    for package in _TRAINERS + _FABRICS:
        when_imported(f"{package}.plugins.precision.amp", _replace_cuda)
        when_imported(f"{package}.strategies.ddp", _without_cuda_streams)
