"""Tensor exchange: DLPack, safetensors, other processes; and nn.DataParallel, which moves tensors between devices."""

import os
import pickle
import tempfile
import types
import unittest
import unittest.mock
from multiprocessing.reduction import ForkingPickler

import torch
import torch.multiprocessing  # noqa: F401 (registers how tensors are pickled)
from torch import nn
from torch.nn.parallel import comm

from support import DEVICE, device_module


class SentTensors(unittest.TestCase):
    """Tensors sent through a queue, a pipe and process arguments; long/test_process.py starts real processes."""

    def setUp(self):
        device_module()

    @staticmethod
    def sent(value):
        return pickle.loads(bytes(ForkingPickler.dumps(value)))

    def test_values_types_and_places(self):
        for dtype in (torch.float32, torch.bfloat16, torch.complex64, torch.bool, torch.int64, torch.uint16):
            tensor = torch.arange(6, device=DEVICE).to(dtype)[1:].view(5, 1)
            arrived = self.sent(tensor)
            self.assertEqual((arrived.device, arrived.dtype, arrived.stride()), (tensor.device, dtype, tensor.stride()))
            self.assertTrue(torch.equal(arrived.cpu(), tensor.cpu()))
        self.assertEqual(self.sent(torch.empty(0, 3, device=DEVICE)).shape, (0, 3))

    def test_views_of_one_message_share_their_storage(self):
        base = torch.arange(6.0, device=DEVICE)
        first, second = self.sent((base, base[2:]))
        first[3] = 9
        self.assertEqual(second.tolist(), [2, 9, 4, 5])

    def test_modules_and_parameters(self):
        layer = nn.Linear(3, 2).to(DEVICE)
        arrived = self.sent(layer)
        self.assertTrue(arrived.weight.requires_grad and isinstance(arrived.weight, nn.Parameter))
        self.assertTrue(torch.equal(arrived.weight.cpu(), layer.weight.cpu()))

    def test_sharing_memory_is_refused_in_one_sentence(self):
        for share in (torch.ones(2, device=DEVICE).share_memory_, nn.Linear(2, 2).to(DEVICE).share_memory):
            with self.assertRaisesRegex(RuntimeError, "cpu\\(\\).share_memory_\\(\\)") as caught:
                share()
            self.assertEqual(len(str(caught.exception).splitlines()), 1)
        self.assertFalse(torch.ones(2, device=DEVICE).is_shared())
        self.assertTrue(torch.ones(2).share_memory_().is_shared())


class DLPack(unittest.TestCase):
    def setUp(self):
        device_module()

    def test_both_tensors_are_one(self):
        tensor = torch.arange(6.0, device=DEVICE).view(2, 3).t()
        again = torch.from_dlpack(tensor)
        self.assertEqual((again.device, again.stride()), (tensor.device, tensor.stride()))
        again.mul_(2)
        self.assertEqual(tensor.sum().item(), 30)
        self.assertEqual(torch.utils.dlpack.from_dlpack(torch.utils.dlpack.to_dlpack(tensor)).data_ptr(), tensor.data_ptr())
        del tensor
        self.assertEqual(again.sum().item(), 30)

    def test_to_and_from_the_cpu(self):
        self.assertEqual(torch.from_dlpack(torch.ones(3, device=DEVICE), device="cpu").device.type, "cpu")
        self.assertEqual(torch.from_dlpack(torch.ones(3), device=DEVICE).device.type, torch.device(DEVICE).type)


class Safetensors(unittest.TestCase):
    def setUp(self):
        device_module()
        try:
            import safetensors.torch
        except ImportError:
            self.skipTest("safetensors is not installed")
        self.module = safetensors
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "values.safetensors")
        self.values = torch.arange(6.0)
        self.module.torch.save_file({"values": self.values}, self.path)

    def test_loads_on_the_device(self):
        for device in (DEVICE, f"{DEVICE}:0", torch.device(DEVICE), torch.device(DEVICE, 0)):
            loaded = self.module.torch.load_file(self.path, device=device)["values"]
            self.assertEqual(loaded.device, torch.device(DEVICE, 0))
            self.assertTrue(torch.equal(loaded.cpu(), self.values))
        self.assertEqual(self.module.torch.load_file(self.path)["values"].device.type, "cpu")

    def test_slices_models_and_saving(self):
        with self.module.safe_open(self.path, "pt", device=DEVICE) as file:
            self.assertIsInstance(file, self.module.safe_open)
            self.assertEqual(file.get_slice("values")[4:].tolist(), [4, 5])
        layer = nn.Linear(3, 2).to(DEVICE)
        self.module.torch.save_model(layer, self.path)
        other = nn.Linear(3, 2).to(DEVICE)
        self.module.torch.load_model(other, self.path, device=DEVICE)
        self.assertTrue(torch.equal(layer.weight, other.weight))


class DataParallel(unittest.TestCase):
    """Two replicas on one device exercise the same code as several devices."""

    def setUp(self):
        device_module()

    def test_results_and_gradients_match_the_module(self):
        torch.manual_seed(0)
        x = torch.randn(6, 3)
        alone = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
        expected = alone(x)
        expected.square().sum().backward()
        gradients = [parameter.grad.clone() for parameter in alone.parameters()]
        for ids in (None, [0], [0, 0]):
            for place in ("cpu", DEVICE):
                with self.subTest(f"{ids}, rows on {place}"):
                    network = nn.DataParallel(alone.to(DEVICE), device_ids=ids)
                    network.zero_grad()
                    result = network(x.to(place))
                    self.assertEqual(result.device.type, torch.device(DEVICE).type)
                    result.square().sum().backward()
                    torch.testing.assert_close(result.cpu(), expected, rtol=1e-4, atol=1e-5)
                    for parameter, gradient in zip(alone.parameters(), gradients):
                        torch.testing.assert_close(parameter.grad.cpu(), gradient, rtol=1e-4, atol=1e-5)

    def test_the_tensors_decide_which_functions_are_called(self):
        """In a CUDA build, PyTorch's functions handle CUDA tensors, and CPU tensors too if there is a CUDA device."""
        from torch_rvk import data_parallel

        called = data_parallel._in_front_of(lambda *arguments: "theirs", lambda *arguments: "ours", 0)
        on = {kind: types.SimpleNamespace(device=torch.device(kind)) for kind in ("cpu", "cuda", "rvk")}
        for has_cuda, by_cpu in ((False, "ours"), (True, "theirs")):
            with unittest.mock.patch("torch.cuda.is_available", lambda has_cuda=has_cuda: has_cuda):
                self.assertEqual(called([on["rvk"], on["cpu"]]), "ours")
                self.assertEqual(called([on["cuda"]]), "theirs")
                self.assertEqual(called([on["cpu"]]), by_cpu)

    def test_moving_functions(self):
        x = torch.arange(6.0, device=DEVICE)
        self.assertEqual([part.tolist() for part in comm.scatter(x, [0, 0], [4, 2])], [[0, 1, 2, 3], [4, 5]])
        self.assertEqual(comm.gather([x[:2], x[4:]], 0, 0).tolist(), [0, 1, 4, 5])
        self.assertEqual(comm.gather([x[:2]], 0, torch.device("cpu")).device.type, "cpu")
        out = [torch.empty(3, device=DEVICE), torch.empty(3, device=DEVICE)]
        comm.scatter(x, out=out)
        self.assertEqual(out[1].tolist(), [3, 4, 5])
        comm.broadcast(x[:3], out=out)
        self.assertEqual(out[0].tolist(), [0, 1, 2])
        self.assertEqual(comm.gather(out, 0, out=torch.empty(6, device=DEVICE)).tolist(), [0, 1, 2, 0, 1, 2])
        self.assertEqual([part.tolist() for part in comm.broadcast(x[:2], [0, 0])], [[0, 1], [0, 1]])


if __name__ == "__main__":
    unittest.main(verbosity=2)
