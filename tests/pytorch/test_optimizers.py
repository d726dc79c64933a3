"""Fused optimizers, operators on lists and gradient scaling compared with the CPU; random numbers by their moments."""

import itertools
import unittest

import torch
from support import DEVICE, fallback_counts, kernels_of, pytorch_before

FLOATS = (torch.float32, torch.float16, torch.bfloat16)


def trained(make, device, steps=4, scaled=False):
    """Parameters of unusual sizes, trained for some steps with gradients that depend on the step."""
    parameters = [torch.linspace(-1, 1, count).reshape(shape).to(device).requires_grad_()
                  for count, shape in ((7, (7,)), (1500, (30, 50)), (1, ()), (4099, (4099,)))]
    optimizer = make(parameters)
    for step in range(steps):
        for number, parameter in enumerate(parameters):
            parameter.grad = (parameter.detach() * (0.5 + number) + 0.1 * (step + 1)).clone()
        optimizer.step()
    return [parameter.detach().cpu() for parameter in parameters]


class Optimizers(unittest.TestCase):
    def compare(self, make):
        before = fallback_counts()
        result = trained(make, DEVICE)
        fallen = {name for name, count in fallback_counts().items() if count != before.get(name, 0)}
        self.assertEqual(fallen, set())
        for got, want in zip(result, trained(make, "cpu")):
            torch.testing.assert_close(got, want, rtol=3e-6, atol=3e-7)

    def test_adam(self):
        for kind in (torch.optim.Adam, torch.optim.AdamW):
            for options in ({}, {"weight_decay": 0.1}, {"amsgrad": True}, {"maximize": True}):
                for way in ({"fused": True}, {"foreach": True}, {}):
                    with self.subTest(kind=kind.__name__, options=options, way=way):
                        self.compare(lambda p: kind(p, lr=0.03, **options, **way))

    def test_sgd(self):
        for options in ({}, {"momentum": 0.9}, {"momentum": 0.9, "nesterov": True},
                        {"momentum": 0.5, "dampening": 0.2, "weight_decay": 0.1}):
            for way in ({"fused": True}, {"foreach": True}):
                with self.subTest(options=options, way=way):
                    self.compare(lambda p: torch.optim.SGD(p, lr=0.05, **options, **way))


class Lists(unittest.TestCase):
    """Lists of tensors in one launch: more tensors than a workgroup has threads, several shares of a tensor, addresses that
    are not aligned."""
    LISTS = {"many tensors": [1 + number % 7 for number in range(300)],
             "few elements each": [1, 1023, 1024, 1025, 3, 4097],
             "many elements": [4_200_001, 5, 300_003, 1]}

    @staticmethod
    def numbers(sizes, dtype, seed, offset):
        generator = torch.Generator().manual_seed(seed)
        whole = [torch.randn(size + offset, generator=generator).to(dtype) for size in sizes]
        return ([tensor[offset:] for tensor in whole], [tensor.to(DEVICE)[offset:] for tensor in whole])

    def check(self, function, dtype, count, tolerance):
        """function(device, lists) changes the tensors of the lists."""
        for (name, sizes), offset in itertools.product(self.LISTS.items(), (0, 1)):
            lists = [self.numbers(sizes, dtype, seed, offset) for seed in range(count)]
            function("cpu", *(here for here, _ in lists))
            function(DEVICE, *(there for _, there in lists))
            for here, there in lists:
                for expected, found in zip(here, there):
                    torch.testing.assert_close(found.cpu(), expected, rtol=tolerance, atol=tolerance,
                                               msg=lambda text: f"{name}, offset {offset}: {text}")

    def test_operators(self):
        self.check(lambda device, a, b: torch._foreach_lerp_(a, b, 0.25), torch.float32, 2, 1e-6)
        self.check(lambda device, a, b, c: torch._foreach_addcmul_(a, b, c, 0.5), torch.float32, 3, 1e-6)
        self.check(lambda device, a: torch._foreach_mul_(a, 3), torch.bfloat16, 1, 0)

    def test_a_number_on_the_device(self):
        for dtype, tolerance in ((torch.float32, 1e-6), (torch.float16, 1e-3), (torch.bfloat16, 8e-3)):
            for function in (torch._foreach_mul_, torch._foreach_div_):
                self.check(lambda device, a: function(a, torch.tensor(0.7, dtype=dtype, device=device)), dtype, 1, tolerance)
        numbers = [torch.tensor(3.0, device=DEVICE), torch.tensor(2.0, device=DEVICE)]
        torch._foreach_mul_(numbers, numbers[0])  # the first product changes the factor of the second
        self.assertEqual([number.item() for number in numbers], [9.0, 18.0])
        halves = torch._foreach_mul([torch.ones(3, device=DEVICE)], torch.tensor(0.5, dtype=torch.float64, device=DEVICE))
        self.assertTrue(torch.equal(halves[0].cpu(), torch.full((3,), 0.5)))

    def test_norms(self):
        """Norms of lists whose addresses are not aligned, and of a list with more tensors than one table holds."""
        lists = {**self.LISTS, "two tables": [2] * 3000}
        for (name, sizes), dtype, offset in itertools.product(lists.items(), FLOATS, (0, 1)):
            here, there = self.numbers(sizes, dtype, 1, offset)
            for order in (1, 2, float("inf")):
                found = torch.stack(torch._foreach_norm(there, order)).double().cpu()
                expected = torch.stack([torch.linalg.vector_norm(x.double(), order) for x in here])
                small = expected <= torch.finfo(dtype).max
                tolerance = 1e-6 if dtype is torch.float32 else torch.finfo(dtype).eps
                torch.testing.assert_close(found[small], expected[small], rtol=tolerance, atol=0,
                                           msg=lambda text: f"{name}, {dtype}, order {order}, offset {offset}: {text}")

    def test_norms_of_special_numbers(self):
        nan, inf = float("nan"), float("inf")
        lists = [[torch.tensor([1.0, nan, 3.0]), torch.tensor([2.0, -inf])], [torch.zeros(0), torch.ones(4)],
                 [torch.ones(3, dtype=torch.float64), torch.ones(2)], [torch.full((5,), -2.0), torch.zeros(2000)]]
        for tensors, order, dtype in itertools.product(lists, (0, 1, 2, 3, inf), (None, torch.float64)):
            if order == inf and tensors[0].numel() == 0:
                continue
            expected = torch._foreach_norm(tensors, order, dtype=dtype)
            found = torch._foreach_norm([tensor.to(DEVICE) for tensor in tensors], order, dtype=dtype)
            for x, y in zip(expected, found):
                torch.testing.assert_close(y.cpu(), x, equal_nan=True)

    @unittest.skipIf(pytorch_before(2, 13), "PyTorch before 2.13 cannot register a device's profiler")
    def test_clipping_uses_the_kernels_for_lists(self):
        parameters = [torch.ones(5, device=DEVICE, requires_grad=True) for _ in range(100)]
        for parameter in parameters:
            parameter.grad = torch.full_like(parameter, 2.0)
        kernels = kernels_of(lambda: torch.nn.utils.clip_grad_norm_(parameters, 1.0))
        self.assertLessEqual({"norm_list_shares", "norm_list", "elementwise_list"}, kernels)
        torch.testing.assert_close(parameters[-1].grad.cpu(), torch.full((5,), 2 / (2000 ** 0.5 + 1e-6)))

    def test_optimizer(self):
        def adamw(device, values, gradients, means, squares):
            torch._foreach_mul_(squares, squares)
            steps = [torch.tensor(3.0, device=device) for _ in values]
            torch._fused_adamw_(values, gradients, means, squares, [], steps, lr=0.01, beta1=0.9, beta2=0.999,
                                weight_decay=0.1, eps=1e-8, amsgrad=False, maximize=False)

        def sgd(device, values, gradients, velocities):
            torch._fused_sgd_(values, gradients, velocities, weight_decay=0.1, momentum=0.9, lr=0.1, dampening=0.0,
                              nesterov=True, maximize=False, is_first_step=False)

        self.check(adamw, torch.float32, 4, 1e-5)
        self.check(sgd, torch.float32, 3, 1e-6)

    def test_unscaling(self):
        for name, sizes in self.LISTS.items():
            for value, expected in ((1.0, 0.0), (float("nan"), 1.0)):
                _, gradients = self.numbers(sizes, torch.float32, 1, 1)
                gradients[-1][-1] = value
                before = [gradient.cpu() for gradient in gradients]
                found = torch.zeros(1, device=DEVICE)
                torch._amp_foreach_non_finite_check_and_unscale_(gradients, found, torch.full((1,), 0.5, device=DEVICE))
                self.assertEqual(found.item(), expected, name)
                for old, new in zip(before, gradients):
                    self.assertTrue(torch.equal(new.cpu().nan_to_num(), (old * 0.5).nan_to_num()), name)


class GradientScaling(unittest.TestCase):
    def scaled_step(self, gradient):
        parameter = torch.ones(5, device=DEVICE, requires_grad=True)
        optimizer = torch.optim.SGD([parameter], lr=0.5)
        scaler = torch.amp.GradScaler(DEVICE, init_scale=8.0, growth_interval=1)
        (parameter * torch.tensor(gradient, device=DEVICE)).sum().backward()
        parameter.grad *= scaler.scale(torch.ones((), device=DEVICE))
        scaler.step(optimizer)
        scaler.update()
        return parameter.detach().cpu(), scaler.get_scale()

    def test_finite_gradients_are_unscaled_and_the_scale_grows(self):
        parameter, scale = self.scaled_step([1.0, 2.0, 3.0, 4.0, 5.0])
        torch.testing.assert_close(parameter, 1 - 0.5 * torch.arange(1.0, 6.0))
        self.assertEqual(scale, 16.0)

    def test_infinite_gradients_skip_the_step_and_the_scale_falls(self):
        parameter, scale = self.scaled_step([1.0, float("inf"), 3.0, 4.0, 5.0])
        torch.testing.assert_close(parameter, torch.ones(5))
        self.assertEqual(scale, 4.0)


class RandomNumbers(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(5)

    def check_moments(self, values, mean, std):
        values = values.cpu().double()
        self.assertAlmostEqual(values.mean().item(), mean, delta=6 * std / len(values) ** 0.5)
        self.assertAlmostEqual(values.std().item(), std, delta=0.03 * std)

    def test_moments(self):
        count = 40000
        empty = torch.empty(count, device=DEVICE)
        self.check_moments(empty.clone().uniform_(2, 5), 3.5, 3 / 12**0.5)
        self.check_moments(empty.clone().normal_(1, 2), 1, 2)
        self.check_moments(empty.clone().exponential_(2), 0.5, 0.5)
        self.check_moments(empty.clone().bernoulli_(0.3), 0.3, 0.21**0.5)
        self.check_moments(empty.clone().geometric_(0.4), 2.5, 0.6**0.5 / 0.4)
        self.check_moments(torch.randint(-3, 7, (count,), device=DEVICE), 1.5, (99 / 12) ** 0.5)
        self.check_moments(torch.randn(count, device=DEVICE, dtype=torch.float16), 0, 1)

    def test_seeds_repeat_and_calls_differ(self):
        first, second = torch.randn(1000, device=DEVICE).cpu(), torch.randn(1000, device=DEVICE).cpu()
        torch.manual_seed(5)
        self.assertTrue(torch.equal(first, torch.randn(1000, device=DEVICE).cpu()))
        self.assertFalse(torch.equal(first, second))

    def test_dropout(self):
        x = torch.ones(20000, device=DEVICE, requires_grad=True)
        y = torch.nn.functional.dropout(x, 0.25)
        y.sum().backward()
        values = y.detach().cpu()
        self.assertTrue(torch.equal(values, x.grad.cpu()))
        self.assertTrue(torch.all((values == 0) | ((values - 4 / 3).abs() < 1e-6)))
        self.assertAlmostEqual((values == 0).float().mean().item(), 0.25, delta=0.02)


if __name__ == "__main__":
    unittest.main()
