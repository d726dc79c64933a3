"""Tensors of two devices of this kind are never mixed, and nn.DataParallel uses both. If there is only one device, Mesa's
CPU driver is loaded twice."""

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
MIXED = """
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
# A module on the CPU is the reference. Batch norm is left out: each device normalizes its own rows, as on CUDA.
PARALLEL = """
import copy, torch
from torch import nn
from support import DEVICE
torch.manual_seed(0)
alone = nn.Sequential(nn.Conv2d(3, 4, 3), nn.Tanh(), nn.Flatten(), nn.Linear(64, 2))
parallel = nn.DataParallel(copy.deepcopy(alone).to(DEVICE), device_ids=[0, 1])
devices = set()
parallel.module[1].register_forward_hook(lambda module, given, result: devices.add(str(result.device)))
for network, place in (alone, "cpu"), (parallel, DEVICE):
    torch.manual_seed(1)
    optimizer = torch.optim.SGD(network.parameters(), 0.1)
    losses = []
    for step in range(4):
        x, y = torch.randn(7, 3, 6, 6).to(place), torch.randn(7, 2).to(place)
        optimizer.zero_grad()
        loss = (network(x) - y).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    print(place, losses)
    alone.losses = losses if network is alone else alone.losses
torch.testing.assert_close(losses, alone.losses, rtol=1e-4, atol=1e-5)
assert devices == {DEVICE + ":0", DEVICE + ":1"}, devices
"""
# Copies go through host memory in pieces of 4 MiB, four of which are in use at a time.
COPIES = """
import threading, torch
from support import DEVICE
here, there = DEVICE + ":0", DEVICE + ":1"
def check(expected, source, target):
    target.copy_(source)
    torch.testing.assert_close(target.cpu(), expected.to(target.dtype).expand(target.shape), rtol=0, atol=0)
piece = 4 << 20
for size in (1, 3, piece - 1, piece, piece + 1, 4 * piece, 5 * piece + 7):
    values = torch.randint(-100, 100, (size,), dtype=torch.int8)
    check(values, values.to(here), torch.empty(size, dtype=torch.int8, device=there))
values = torch.randn(33, 17, 9)
for dtype in torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.bool, torch.complex64:
    check(values, values.to(here), torch.empty(33, 17, 9, dtype=dtype, device=there))
check(values.mT, values.to(here).mT, torch.empty(33, 9, 17, device=there))
check(values, values.to(here), torch.empty(9, 17, 33, device=there).permute(2, 1, 0))
check(values[:, ::2], values.to(here)[:, ::2], torch.empty(33, 9, 18, device=there)[:, :, ::2])
check(values[:1], values.to(here)[:1], torch.empty(33, 17, 9, device=there))
check(values[0, 0], values.to(here)[0, 0], torch.empty(5, 9, device=there))
assert torch.empty(0, device=here).to(there).numel() == 0
conjugate = torch.randn(50, dtype=torch.complex64)
check(conjugate.conj(), conjugate.to(here).conj(), torch.empty(50, dtype=torch.complex64, device=there))
# What is queued before a copy comes before it, and what is queued after it comes after it, on both devices.
a = torch.zeros(3 * piece // 4, device=here)
for step in range(20):
    a += 1
    b = a.to(there)
    a += 1
    assert (b * 2).cpu().eq(4 * step + 2).all(), step
def send(source, device, results):
    for _ in range(10):
        source = source.to(device) + 1
        source = source.to(here if device == there else there)
    results.append(source)
results = []
threads = [threading.Thread(target=send, args=(torch.full((2 * piece,), float(i), device=d), other, results))
           for i, (d, other) in enumerate([(here, there), (there, here), (here, there)])]
[t.start() for t in threads], [t.join() for t in threads]
assert sorted(r.cpu().unique().tolist() for r in results) == [[10.0], [11.0], [12.0]], results
x = torch.ones(1000, device=here, requires_grad=True)
(x.to(there) * 3).sum().backward()
assert x.grad.device.index == 0 and x.grad.eq(3).all()
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
        self.check(MIXED)

    def test_copies_between_devices_are_exact_and_in_order(self):
        self.check(COPIES)

    def test_data_parallel_trains_on_both(self):
        self.check(PARALLEL)

    def check(self, program):
        if device_module().device_count() > 1:
            self.run_with(program, {})
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
            self.run_with(program, {"VK_DRIVER_FILES": both, "VK_ICD_FILENAMES": both})

    def run_with(self, program, variables):
        done = subprocess.run([sys.executable, "-c", program], env=child_environment(**variables), capture_output=True,
                              text=True, timeout=600)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
