"""The devices: how many there are, which one is current, and their names and properties."""

import dataclasses
import threading

import torch

#: Set once set_device() has been called.
_CHOSEN = threading.Event()


@dataclasses.dataclass(frozen=True)
class DeviceProperties:
    """Properties of a device. Names that torch.cuda also has mean the same here."""

    name: str
    total_memory: int  # bytes of device-local memory
    vendor_id: int  # PCI: 0x1002 AMD, 0x10de NVIDIA, 0x8086 Intel
    device_id: int
    driver: str  # as the driver describes itself: "radv Mesa 25.0.7"
    api_version: str  # Vulkan version, "1.3.289"
    major: int  # of api_version
    minor: int
    multi_processor_count: int  # 0 if the driver does not report it
    warp_size: int  # subgroup size
    max_threads_per_block: int  # invocations per workgroup
    shared_memory_per_block: int  # bytes
    has_float64: bool
    has_float16_arithmetic: bool  # float16 tensors work without it
    matrix_units: tuple  # dtypes whose products and convolutions use matrix units: ("float16", "bfloat16")
    matrix_attention: tuple  # dtypes whose attention uses them, for heads of at most 64 columns
    is_integrated: bool  # shares the CPU's memory
    is_cpu: bool  # a CPU driver such as lavapipe
    uuid: str
    pci_address: str  # "0000:03:00.0"; empty if the driver does not report it (VK_EXT_pci_bus_info)


def index_of(device=None):
    """The index of a device argument: an int, a string or a torch.device; None is the current device."""
    if device is None:
        return current_device()
    if isinstance(device, int) and not isinstance(device, bool):
        return device
    device = torch.device(device)
    if device.type != "rvk":
        raise ValueError(f"Expected a device of type rvk, but got {device}.")
    return current_device() if device.index is None else device.index


_get_device_index = index_of  # torch's own code looks for this name


def is_available():
    """Whether there is a device. Does not open any, so that a later fork() is safe."""
    return device_count() > 0


def is_initialized():
    """Whether a device is open in this process, or set_device() has chosen one. If not, a DeviceMesh chooses one itself."""
    return _CHOSEN.is_set() or torch.ops.rvk.is_initialized()


def init():
    """Opens the current device, which otherwise happens when the first tensor is created."""
    _lazy_init()
    reason = torch.ops.rvk.why_no_device()
    if reason:
        raise RuntimeError(f"There is no device of type rvk: {reason}.")
    torch.empty(1, device="rvk")


def _lazy_init():
    """PyTorch calls this before it creates a tensor. Raises an error in a forked child of a process that has used the
    device."""
    if _is_in_bad_fork():
        raise RuntimeError(
            "The device rvk cannot be used in a forked child of a process that has used it: start processes with "
            "multiprocessing's method 'spawn', or create the first rvk tensor after the fork."
        )


def _is_in_bad_fork():
    return torch.ops.rvk.is_forked()


def device_count():
    return torch.ops.rvk.device_count()


def current_device():
    return torch.accelerator.current_device_index()


def set_device(device):
    index = index_of(device)
    if index >= 0:
        torch.accelerator.set_device_index(index)
        _CHOSEN.set()


def exchange_device(device):
    """Makes a device the current one and returns the previous one."""
    return torch._C._accelerator_exchangeDevice(index_of(device))


class device:
    """A context manager that changes the current device; None and negative indices change nothing."""

    def __init__(self, device):
        self.idx = -1 if device is None else index_of(device)
        self.prev_idx = -1

    def __enter__(self):
        if self.idx >= 0:
            self.prev_idx = torch._C._accelerator_exchangeDevice(self.idx)

    def __exit__(self, *_):
        if self.idx >= 0:
            torch._C._accelerator_exchangeDevice(self.prev_idx)
        return False


class device_of(device):
    """A context manager that makes a tensor's device current; changes nothing for tensors on other kinds of devices."""

    def __init__(self, tensor):
        super().__init__(tensor.device.index if tensor.device.type == "rvk" else None)


def synchronize(device=None):
    """Waits for all work on a device."""
    _lazy_init()
    torch.accelerator.synchronize(index_of(device))


def get_device_name(device=None):
    return get_device_properties(device).name


def get_device_properties(device=None):
    texts = torch.ops.rvk.device_properties(index_of(device))
    read = {str: str, int: int, bool: lambda text: text == "1", tuple: lambda text: tuple(text.split())}
    return DeviceProperties(**{field.name: read[field.type](texts[field.name]) for field in dataclasses.fields(DeviceProperties)})


def get_device_capability(device=None):
    """The Vulkan version, (1, 3). Scripts that require a CUDA capability such as (8, 0) take their portable path."""
    properties = get_device_properties(device)
    return properties.major, properties.minor


def is_bf16_supported(including_emulation=True):
    """Every device stores bfloat16 in 16 bits and computes it in float32, which counts as emulation."""
    return including_emulation


def can_device_access_peer(device, peer_device):
    """Never: copies between two devices go through the host."""
    return False
