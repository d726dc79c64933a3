"""Devices, tensors and copies: what torch.cuda promises, on rvk."""

import copy
import subprocess
import sys
import threading
import unittest

import torch

from support import DEVICE, child_environment, device_module


class Devices(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.module = device_module()

    def test_counting_opens_no_device(self):
        program = ("import support, torch; module = support.device_module(); assert module.device_count() >= 1; "
                   "assert module.is_available(); assert not module.is_initialized(); torch.ones(1, device=support.DEVICE); "
                   "assert module.is_initialized()")
        subprocess.run([sys.executable, "-c", program], check=True, env=child_environment())

    def test_a_chosen_device_counts_as_initialized(self):
        program = ("import support; module = support.device_module(); module.set_device(0); assert module.is_initialized()")
        subprocess.run([sys.executable, "-c", program], check=True, env=child_environment())

    def test_out_of_range_index_is_refused(self):
        with self.assertRaises((RuntimeError, IndexError)):
            torch.ones(1, device=f"{DEVICE}:{self.module.device_count()}")
        with self.assertRaises((RuntimeError, IndexError)):
            self.module.set_device(self.module.device_count())

    def test_current_device(self):
        index = self.module.current_device()
        self.assertEqual(torch.ones(1, device=DEVICE).device, torch.device(DEVICE, index))
        with self.module.device(index):
            self.assertEqual(self.module.current_device(), index)
        for device in range(self.module.device_count()):
            with self.module.device(device):
                self.assertEqual(torch.ones(1, device=DEVICE).device.index, device)
        self.assertEqual(self.module.current_device(), index)

    def test_properties(self):
        properties = self.module.get_device_properties(0)
        self.assertEqual(properties.name, self.module.get_device_name(0))
        self.assertGreater(properties.total_memory, 0)
        self.assertGreaterEqual(properties.warp_size, 1)

    def test_another_thread_has_the_default_device(self):
        found = []
        thread = threading.Thread(target=lambda: found.append((torch.arange(5, device=DEVICE) * 2).tolist()))
        thread.start()
        thread.join()
        self.assertEqual(found, [[0, 2, 4, 6, 8]])

    def test_many_threads(self):
        failures = []

        def work(seed: int) -> None:
            try:
                values = torch.full((257,), float(seed))
                moved = values.to(DEVICE)
                for _ in range(50):
                    moved = (moved + 1.0).clone()
                self.assertTrue(torch.equal(moved.cpu(), values + 50))
            except BaseException as error:
                failures.append(error)
        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failures, [])


class Tensors(unittest.TestCase):
    def test_empty_and_scalar(self):
        for shape in ((), (0,), (0, 3), (3, 0, 2)):
            with self.subTest(shape=shape):
                values = torch.zeros(shape, device=DEVICE)
                self.assertEqual(tuple((values + 1).cpu().shape), shape)
                self.assertTrue(torch.equal((values + 1).cpu(), torch.ones(shape)))
        self.assertEqual(torch.zeros(0, device=DEVICE).data_ptr(), 0)
        self.assertEqual(torch.tensor(2.5, device=DEVICE).item(), 2.5)

    def test_copies_of_every_dtype_and_back(self):
        for dtype in (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float16, torch.bfloat16,
                      torch.float32, torch.float64, torch.bool, torch.complex64, torch.complex128):
            with self.subTest(dtype=dtype):
                values = torch.arange(-6, 7).to(dtype)
                self.assertTrue(torch.equal(values.to(DEVICE).cpu(), values))
                self.assertTrue(torch.equal(values.to(DEVICE).clone().cpu(), values))

    def test_copies_of_every_stride(self):
        base = torch.arange(4 * 5 * 6, dtype=torch.float32).reshape(4, 5, 6)
        views = {"transposed": lambda t: t.transpose(0, 2), "stepped": lambda t: t[::2, :, 1::3],
                 "offset": lambda t: t[1:, 2:], "expanded": lambda t: t[:, :1].expand(4, 7, 6),
                 "permuted": lambda t: t.permute(2, 0, 1), "narrow": lambda t: t.narrow(1, 1, 2)}
        for name, view in views.items():
            with self.subTest(view=name):
                expected = view(base)
                there = view(base.to(DEVICE))
                self.assertEqual(there.stride(), expected.stride())
                self.assertTrue(torch.equal(there.cpu(), expected))
                self.assertTrue(torch.equal(there.contiguous().cpu(), expected))
                self.assertTrue(torch.equal(expected.to(DEVICE).cpu(), expected))
                target = torch.zeros(expected.shape).transpose(0, -1).contiguous().transpose(0, -1).to(DEVICE)
                target.copy_(there)
                self.assertTrue(torch.equal(target.cpu(), expected))

    def test_casts(self):
        values = torch.tensor([-2.75, -1.0, -0.0, 0.5, 1.0, 3.5, 100.25])
        for source in (torch.float32, torch.float16, torch.bfloat16, torch.int32, torch.int64, torch.float64):
            for target in (torch.float32, torch.float16, torch.bfloat16, torch.int8, torch.int32, torch.int64, torch.bool,
                           torch.float64):
                with self.subTest(source=source, target=target):
                    there = values.to(source).to(DEVICE)
                    self.assertTrue(torch.equal(there.to(target).cpu(), values.to(source).to(target)))

    def test_copy_is_in_order_with_what_uses_it(self):
        values = torch.zeros(1 << 16, device=DEVICE)
        for step in range(20):
            values.add_(1)
            host = values.cpu()
            self.assertEqual((host.min().item(), host.max().item()), (step + 1, step + 1))

    def test_non_blocking_copies(self):
        source = torch.arange(1 << 14, dtype=torch.float32)
        pinned = source.pin_memory()
        self.assertTrue(pinned.is_pinned())
        there = pinned.to(DEVICE, non_blocking=True)
        back = torch.empty_like(source).pin_memory()
        back.copy_(there, non_blocking=True)
        device_module().synchronize()
        self.assertTrue(torch.equal(back, source))

    def test_resize(self):
        values = torch.arange(4, dtype=torch.float32).to(DEVICE)
        values.resize_(8)
        self.assertEqual(values.cpu()[:4].tolist(), [0, 1, 2, 3])
        values.untyped_storage().resize_(4 * 1024)
        self.assertEqual(values.untyped_storage().nbytes(), 4 * 1024)
        self.assertEqual(values.cpu()[:4].tolist(), [0, 1, 2, 3])

    def test_deepcopy_print_and_host_access(self):
        values = torch.arange(6, dtype=torch.float32).reshape(2, 3).to(DEVICE)
        self.assertTrue(torch.equal(copy.deepcopy(values).cpu(), values.cpu()))
        self.assertIn(DEVICE.split(":")[0], repr(values))
        self.assertEqual(values.tolist(), [[0, 1, 2], [3, 4, 5]])
        self.assertTrue(values.is_rvk if DEVICE.startswith("rvk") else True)
        with self.assertRaises(TypeError):
            values.numpy()

    def test_more_elements_than_one_row_of_workgroups(self):
        count = (1 << 24) + 3
        values = torch.ones(count, device=DEVICE)
        values.add_(1)
        self.assertEqual(values[-3:].cpu().tolist(), [2, 2, 2])
        self.assertTrue(bool((values.cpu() == 2).all()))


class Modules(unittest.TestCase):
    """Module.to() moves the parameters themselves, as between PyTorch's own devices."""

    def test_tied_parameters_stay_tied(self):
        first, second = torch.nn.Linear(3, 3, bias=False), torch.nn.Linear(3, 3, bias=False)
        second.weight = first.weight
        network = torch.nn.Sequential(first, second).to(DEVICE)
        self.assertIs(network[0].weight, network[1].weight)
        self.assertEqual(len(list(network.parameters())), 1)
        network(torch.ones(1, 3, device=DEVICE)).sum().backward()
        values = network[0].weight.detach().cpu().requires_grad_()
        (torch.ones(1, 3) @ values.T @ values.T).sum().backward()
        torch.testing.assert_close(network[1].weight.grad.cpu(), values.grad)

    def test_an_optimizer_made_before_keeps_its_parameters(self):
        for source, target in (("cpu", DEVICE), (DEVICE, "cpu")):
            with self.subTest(source=source):
                network = torch.nn.Linear(2, 1, bias=False).to(source)
                weight = network.weight
                optimizer = torch.optim.SGD(network.parameters(), 0.5)
                network(torch.ones(1, 2, device=source)).sum().backward()
                before = weight.detach().cpu()
                network.to(target)
                self.assertIs(network.weight, weight)
                self.assertEqual(weight.grad.device, weight.device)
                network(torch.ones(1, 2, device=target)).sum().backward()
                optimizer.step()
                torch.testing.assert_close(weight.detach().cpu(), before - 1)  # two gradients of 1, learning rate 0.5

    def test_data_may_change_its_device(self):
        values = torch.arange(3.0)
        values.data = torch.arange(4.0, device=DEVICE)
        self.assertEqual(values.device.type, torch.device(DEVICE).type)
        self.assertEqual((values * 2).tolist(), [0, 2, 4, 6])


if __name__ == "__main__":
    unittest.main(verbosity=2)
