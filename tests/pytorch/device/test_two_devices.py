"""Tensors of two devices of this kind are never mixed. If there is only one device, Mesa's CPU driver is loaded
twice."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

from support import DEVICE, child_environment, device_is_there, device_module

MANIFESTS = ("/usr/share/vulkan/icd.d", "/etc/vulkan/icd.d")
PROGRAM = """
import torch
import test_mixed_devices as cases
from support import DEVICE
accepted = []
for name, call in cases.CALLS.items():
    try:
        call(DEVICE + ":1")
        torch.get_device_module(DEVICE).synchronize()
        accepted.append(name)
    except RuntimeError as error:
        if "same device" not in str(error) and "to have device" not in str(error):
            accepted.append(f"{name}: {error}")
print(len(cases.CALLS), "calls; not refused as they should be:", accepted)
moved = cases.matrix(DEVICE + ":1").to(DEVICE + ":0") + 1
assert moved.tolist() == (cases.matrix("cpu") + 1).tolist()
raise SystemExit(1 if accepted else 0)
"""


def cpu_driver() -> pathlib.Path | None:
    for folder in map(pathlib.Path, MANIFESTS):
        for manifest in sorted(folder.glob("lvp_icd*.json")):
            library = json.loads(manifest.read_text())["ICD"]["library_path"]
            for candidate in (pathlib.Path(library), pathlib.Path("/usr/lib/x86_64-linux-gnu", library)):
                if candidate.is_file():
                    return candidate
    return None


@unittest.skipUnless(device_is_there() and DEVICE != "cpu", "there is no device")
class TwoDevicesTest(unittest.TestCase):
    def test_no_operator_takes_a_tensor_of_the_other_device(self):
        if device_module().device_count() > 1:
            self.check({})
            return
        driver = cpu_driver()
        if driver is None:
            self.skipTest("there is one device, and no CPU driver of Mesa that could be loaded twice")
        with tempfile.TemporaryDirectory() as folder:
            manifests = []
            for number in (1, 2):
                library = pathlib.Path(folder, f"libvulkan_lvp_{number}.so")
                shutil.copyfile(driver, library)
                manifest = pathlib.Path(folder, f"lvp_{number}.json")
                manifest.write_text(json.dumps({"file_format_version": "1.0.0", "ICD": {
                    "api_version": "1.3.0", "library_path": str(library)}}))
                manifests.append(str(manifest))
            both = os.pathsep.join(manifests)
            self.check({"VK_DRIVER_FILES": both, "VK_ICD_FILENAMES": both})

    def check(self, variables):
        done = subprocess.run([sys.executable, "-c", PROGRAM], env=child_environment(**variables), capture_output=True,
                              text=True, timeout=600)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
