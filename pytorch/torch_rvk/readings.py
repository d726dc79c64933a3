"""Reads a device's load, temperature, power and clock, with the names and units of torch.cuda. AMD's and Intel's values come
from the kernel's files, NVIDIA's from its management library (NVML).
"""

import ctypes
import functools
import pathlib
import time

from .devices import get_device_properties, index_of

_PCI_DEVICES = pathlib.Path("/sys/bus/pci/devices")
_NVIDIA = 0x10DE


class NotReported(RuntimeError, ModuleNotFoundError):
    """The device does not report the value. If torch.cuda has no source of readings, it raises a ModuleNotFoundError, which
    scripts catch; this class derives from it so that they catch this one too."""


def utilization(device=None):
    """The percentage of the driver's last sample period in which the device was busy."""
    return _source(device).utilization()


def memory_usage(device=None):
    """The percentage of the driver's last sample period in which device memory was read or written. For the amount of memory in
    use, call mem_get_info()."""
    return _source(device).memory_usage()


def temperature(device=None):
    """The temperature of the chip, in degrees Celsius."""
    return _source(device).temperature()


def power_draw(device=None):
    """The power that the device draws, in milliwatts."""
    return _source(device).power_draw()


def clock_rate(device=None):
    """The clock of the compute units, in MHz."""
    return _source(device).clock_rate()


class KernelFiles:
    """Reads the files of a device that amdgpu, i915 or xe provides. Source: Linux,
    Documentation/gpu/amdgpu/thermal.rst and Documentation/ABI/testing/sysfs-driver-intel-xe-hwmon."""

    def __init__(self, folder):
        self._folder = pathlib.Path(folder)

    def utilization(self):
        return self._number("the load", "gpu_busy_percent")

    def memory_usage(self):
        return self._number("the use of the memory's bandwidth", "mem_busy_percent")

    def temperature(self):
        return round(self._number("the temperature", "hwmon/hwmon*/temp1_input", "hwmon/hwmon*/temp2_input") / 1000)

    def power_draw(self):
        try:
            return round(self._number("the power", "hwmon/hwmon*/power1_average", "hwmon/hwmon*/power1_input") / 1000)
        except NotReported:
            return self._power_from_energy(0.05)

    def clock_rate(self):
        try:
            return round(self._number("the clock", "hwmon/hwmon*/freq1_input") / 1_000_000)
        except NotReported:
            return self._number("the clock", "tile0/gt0/freq0/act_freq", "drm/card*/gt/gt0/rps_act_freq_mhz", "drm/card*/gt_act_freq_mhz")

    def _power_from_energy(self, seconds):
        """Averages the power over this time: Intel's drivers only count the energy used, in microjoules."""
        begin, before = time.monotonic(), self._number("the power", "hwmon/hwmon*/energy1_input")
        time.sleep(seconds)
        after = self._number("the power", "hwmon/hwmon*/energy1_input")
        return round((after - before) / (time.monotonic() - begin) / 1000)

    def _number(self, value, *patterns):
        """The number in the first file that can be read. Raises NotReported, with the last problem, if there is none."""
        problem = "there is none of the files " + ", ".join(patterns)
        for pattern in patterns:
            for file in sorted(self._folder.glob(pattern)):
                try:
                    return int(file.read_text())
                except (OSError, ValueError) as error:
                    problem = f"{file.name}: {error}"
        raise NotReported(f"The driver does not report {value} of {self._folder.name}: {problem}.")


class Nvml:
    """Reads the device with this PCI address through NVIDIA's management library."""

    def __init__(self, library, address):
        self._library = library
        self._device = ctypes.c_void_p()
        self._call("nvmlInit_v2")
        self._call("nvmlDeviceGetHandleByPciBusId_v2", address.encode(), ctypes.byref(self._device))

    def utilization(self):
        return self._rates()[0]

    def memory_usage(self):
        return self._rates()[1]

    def temperature(self):
        return self._number("nvmlDeviceGetTemperature", 0)  # NVML_TEMPERATURE_GPU

    def power_draw(self):
        return self._number("nvmlDeviceGetPowerUsage")

    def clock_rate(self):
        return self._number("nvmlDeviceGetClockInfo", 1)  # NVML_CLOCK_SM

    def _rates(self):
        rates = (ctypes.c_uint * 2)()
        self._call("nvmlDeviceGetUtilizationRates", self._device, rates)
        return list(rates)

    def _number(self, function, *arguments):
        number = ctypes.c_uint()
        self._call(function, self._device, *arguments, ctypes.byref(number))
        return number.value

    def _call(self, function, *arguments):
        status = getattr(self._library, function)(*arguments)
        if status != 0:
            describe = self._library.nvmlErrorString
            describe.restype = ctypes.c_char_p
            raise NotReported(f"NVIDIA's management library does not report it: {function}: {describe(status).decode()} ({status}).")


def _source(device):
    index = index_of(device)
    properties = get_device_properties(index)
    if properties.is_cpu:
        raise NotReported(f"rvk:{index} ({properties.name}) is a driver that runs on the CPU, which reports no readings.")
    if not properties.pci_address:
        raise NotReported(f"The driver of rvk:{index} ({properties.name}) does not report its PCI address (VK_EXT_pci_bus_info).")
    return _source_at(index, properties.name, properties.vendor_id, properties.pci_address)


@functools.cache
def _source_at(index, name, vendor, address):
    if vendor == _NVIDIA:
        return Nvml(_management_library(), address)
    folder = _PCI_DEVICES / address
    if not folder.is_dir():
        raise NotReported(f"The readings of rvk:{index} ({name}) are not visible: {folder} is missing.")
    return KernelFiles(folder)


def _management_library():
    for name in ("libnvidia-ml.so.1", "/usr/lib/wsl/lib/libnvidia-ml.so.1"):
        try:
            return ctypes.CDLL(name)
        except OSError as error:
            problem = error
    raise NotReported(f"NVIDIA's management library cannot be opened: {problem}.")
