"""torch.save and torch.load between the device and the CPU."""

import io
import os
import pickle
import tempfile
import unittest

import torch
from torch import nn

from support import DEVICE, device_module


class Serialization(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        device_module()
        torch.manual_seed(0)
        cls.values = torch.randn(5, 7)

    def saved(self, value, **options) -> io.BytesIO:
        file = io.BytesIO()
        torch.save(value, file, **options)
        file.seek(0)
        return file

    def test_a_tensor_comes_back_on_its_device(self):
        for weights_only in (True, False):
            loaded = torch.load(self.saved(self.values.to(DEVICE)), weights_only=weights_only)
            self.assertEqual(loaded.device.type, torch.device(DEVICE).type)
            self.assertTrue(torch.equal(loaded.cpu(), self.values))

    def test_map_location(self):
        file = self.saved(self.values.to(DEVICE))
        for location in ("cpu", torch.device("cpu"), {DEVICE: "cpu", f"{DEVICE}:0": "cpu"}, lambda storage, _: storage):
            file.seek(0)
            loaded = torch.load(file, map_location=location, weights_only=True)
            self.assertEqual(loaded.device.type, "cpu")
            self.assertTrue(torch.equal(loaded, self.values))
        for location in (DEVICE, torch.device(DEVICE)):
            loaded = torch.load(self.saved(self.values), map_location=location, weights_only=True)
            self.assertEqual(loaded.device.type, torch.device(DEVICE).type)
            self.assertTrue(torch.equal(loaded.cpu(), self.values))

    def test_views_keep_their_storage(self):
        base = self.values.to(DEVICE)
        first, second = torch.load(self.saved([base[1:], base.t()]), weights_only=True)
        self.assertEqual(first.untyped_storage().data_ptr(), second.untyped_storage().data_ptr())
        self.assertTrue(torch.equal(second.cpu(), self.values.t()))

    def test_the_old_format_and_pickle(self):
        there = self.values.to(DEVICE)
        old = torch.load(self.saved(there, _use_new_zipfile_serialization=False), weights_only=True)
        self.assertTrue(torch.equal(old.cpu(), self.values))
        self.assertTrue(torch.equal(pickle.loads(pickle.dumps(there)).cpu(), self.values))

    def test_mmap(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "values.pt")
            torch.save({"values": self.values}, path)
            loaded = torch.load(path, mmap=True, weights_only=True, map_location=DEVICE)
            self.assertTrue(torch.equal(loaded["values"].cpu(), self.values))
            torch.save({"values": self.values.to(DEVICE)}, path)
            loaded = torch.load(path, mmap=True, weights_only=True, map_location="cpu")
            self.assertTrue(torch.equal(loaded["values"], self.values))

    def test_training_resumes_after_loading(self):
        def make():
            torch.manual_seed(1)
            network = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 1)).to(DEVICE)
            return network, torch.optim.Adam(network.parameters(), 0.01)

        def step(network, optimizer):
            optimizer.zero_grad()
            loss = network(torch.ones(4, 6, device=DEVICE)).square().sum()
            loss.backward()
            optimizer.step()
            return loss.item()
        network, optimizer = make()
        for _ in range(3):
            step(network, optimizer)
        file = self.saved({"network": network.state_dict(), "optimizer": optimizer.state_dict()})
        expected = [step(network, optimizer) for _ in range(3)]
        again, optimizer_again = make()
        loaded = torch.load(file, weights_only=True)
        again.load_state_dict(loaded["network"])
        optimizer_again.load_state_dict(loaded["optimizer"])
        self.assertEqual([step(again, optimizer_again) for _ in range(3)], expected)

    def test_storages(self):
        there = self.values.to(DEVICE)
        storage = there.untyped_storage()
        self.assertEqual(storage.device.type, torch.device(DEVICE).type)
        self.assertEqual(bytes(storage.cpu()), bytes(self.values.untyped_storage()))
        self.assertEqual(bytes(storage.clone().cpu()), bytes(self.values.untyped_storage()))
        self.assertEqual(storage[0], self.values.untyped_storage()[0])


if __name__ == "__main__":
    unittest.main(verbosity=2)
