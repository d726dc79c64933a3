"""torch.rvk.utilization(), temperature() and the like: from the kernel's files and NVIDIA's management library."""

import ctypes
import inspect
import pathlib
import tempfile
import unittest

import torch

from support import device_module, is_cpu_driver

NAMES = ("clock_rate", "memory_usage", "power_draw", "temperature", "utilization")


class OnThisDevice(unittest.TestCase):
    def setUp(self):
        self.module = device_module()

    def test_signatures_are_those_of_cuda(self):
        for name in NAMES:
            own, cuda = getattr(self.module, name), getattr(torch.cuda, name)
            self.assertEqual(list(inspect.signature(own).parameters), list(inspect.signature(cuda).parameters), name)

    def test_a_cpu_driver_says_why(self):
        if not is_cpu_driver():
            self.skipTest("the device is not a CPU driver")
        for name in NAMES:
            with self.assertRaisesRegex(RuntimeError, "is a driver that runs on the CPU, which reports no readings"):
                getattr(self.module, name)()

    def test_values_of_a_gpu(self):
        if is_cpu_driver():
            self.skipTest("a CPU driver reports no readings")
        self.assertIn(self.module.utilization(), range(101))
        self.assertIn(self.module.temperature(), range(1, 130))
        self.assertGreater(self.module.power_draw(), 1000)
        self.assertGreater(self.module.clock_rate(), 10)

    def test_pci_address(self):
        address = self.module.get_device_properties().pci_address
        self.assertRegex(address, "^$" if is_cpu_driver() else r"^[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]$")


class Files(unittest.TestCase):
    def setUp(self):
        from torch_rvk import readings

        device_module()
        self.readings = readings
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.source = readings.KernelFiles(self.folder)

    def write(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def test_amdgpu(self):
        self.write("gpu_busy_percent", "97\n")
        self.write("mem_busy_percent", "41\n")
        self.write("hwmon/hwmon4/temp1_input", "71000\n")
        self.write("hwmon/hwmon4/power1_average", "148250000\n")
        self.write("hwmon/hwmon4/freq1_input", "1620000000\n")
        values = [getattr(self.source, name)() for name in NAMES]
        self.assertEqual(values, [1620, 41, 148250, 71, 97])

    def test_xe(self):
        self.write("hwmon/hwmon2/temp2_input", "55000\n")
        self.write("hwmon/hwmon2/energy1_input", "1000000\n")
        self.write("tile0/gt0/freq0/act_freq", "2400\n")
        self.assertEqual((self.source.temperature(), self.source.clock_rate(), self.source.power_draw()), (55, 2400, 0))
        with self.assertRaisesRegex(RuntimeError, "does not report the load of .*: there is none of the files gpu_busy_percent"):
            self.source.utilization()

    def test_a_broken_file_is_named(self):
        self.write("gpu_busy_percent", "\n")
        for kind in (RuntimeError, ModuleNotFoundError):
            with self.assertRaisesRegex(kind, "gpu_busy_percent: invalid literal"):
                self.source.utilization()


class ManagementLibrary:
    """Answers as NVML does; `refused` functions return "Not Supported"."""

    def __init__(self, refused=()):
        self.refused = refused
        self.nvmlErrorString = lambda status: b"Not Supported"

    def __getattr__(self, name):
        return lambda *arguments: 3 if name in self.refused else self.answer(name, arguments)

    def answer(self, name, arguments):
        if name == "nvmlDeviceGetUtilizationRates":
            arguments[1][0], arguments[1][1] = 97, 41
        elif name == "nvmlDeviceGetHandleByPciBusId_v2":
            assert arguments[0] == b"0000:1b:00.0"
        elif name != "nvmlInit_v2":
            values = {"nvmlDeviceGetTemperature": 71, "nvmlDeviceGetPowerUsage": 148250, "nvmlDeviceGetClockInfo": 1620}
            ctypes.cast(arguments[-1], ctypes.POINTER(ctypes.c_uint))[0] = values[name]
        return 0


class Nvidia(unittest.TestCase):
    def test_values(self):
        device_module()
        from torch_rvk.readings import Nvml

        source = Nvml(ManagementLibrary(), "0000:1b:00.0")
        self.assertEqual([getattr(source, name)() for name in NAMES], [1620, 41, 148250, 71, 97])

    def test_what_is_not_supported(self):
        device_module()
        from torch_rvk.readings import Nvml

        source = Nvml(ManagementLibrary({"nvmlDeviceGetPowerUsage"}), "0000:1b:00.0")
        self.assertEqual(source.temperature(), 71)
        with self.assertRaisesRegex(RuntimeError, r"nvmlDeviceGetPowerUsage: Not Supported \(3\)"):
            source.power_draw()


if __name__ == "__main__":
    unittest.main()
