"""torch.profiler: the device's own events with names, times and memory."""

import json
import os
import tempfile
import unittest

import torch
from torch.profiler import ProfilerActivity, profile, schedule

from support import DEVICE, device_module, pytorch_before


class Profiler(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        device_module()

    def work(self):
        values = torch.ones(1 << 14, device=DEVICE)
        return (values * 2 + 1).sum().item()

    @unittest.skipIf(pytorch_before(2, 13), "PyTorch before 2.13 cannot register a device's profiler")
    def test_device_events(self):
        self.work()
        with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.PrivateUse1]) as recorded:
            self.work()
            device_module().synchronize()
        names = {event.key for event in recorded.key_averages()}
        self.assertTrue({"aten::mul", "aten::add", "aten::sum"} <= names, names)
        there = [event for event in recorded.events() if event.device_type == torch.autograd.DeviceType.PrivateUse1
                 or event.device_time_total > 0]
        self.assertTrue(there, "no event carries time of the device")
        self.assertGreater(sum(event.device_time_total for event in recorded.key_averages()), 0)

    def test_the_trace_is_json(self):
        with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.PrivateUse1]) as recorded:
            self.work()
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "trace.json")
            recorded.export_chrome_trace(path)
            with open(path, encoding="utf-8") as file:
                events = json.load(file)["traceEvents"]
        self.assertTrue(any("aten::mul" == event.get("name") for event in events))

    def test_schedule_and_memory(self):
        with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.PrivateUse1], profile_memory=True,
                     schedule=schedule(wait=1, warmup=1, active=1)) as recorded:
            for _ in range(3):
                self.work()
                recorded.step()

    def test_no_events_when_off(self):
        with profile(activities=[ProfilerActivity.CPU]) as recorded:
            pass
        self.work()
        self.assertNotIn("aten::mul", {event.key for event in recorded.key_averages()})


if __name__ == "__main__":
    unittest.main(verbosity=2)
