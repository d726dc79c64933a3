"""Operators on lists (foreach, fused optimizers) with one tensor of a list left on the CPU.

If a list has tensors on several devices, CUDA computes one tensor after the other; its fused optimizers refuse such a list.
Here each call must either be refused with a message about devices or give the CPU's values.
"""

import itertools
import unittest

import torch
from torch.testing._internal import common_methods_invocations as operators
from torch.utils._pytree import tree_flatten, tree_unflatten

from both_devices import tensors_of
from mixed_devices import REFUSED, TAKEN, outcome_of
from support import DEVICE, fallback_counts, require_device

LISTS = (*operators.foreach_unary_op_db, *operators.foreach_binary_op_db, *operators.foreach_pointwise_op_db,
         *operators.foreach_reduce_op_db, *operators.foreach_other_op_db)
DTYPES = (torch.float32, torch.int64)  # computed in one launch; with one operator for each tensor
LENGTH = 3


def on(value, device, left=None):
    """Copies of the tensors on the device, except for number `left`, which is on the CPU."""
    leaves, form = tree_flatten(value)
    return tree_unflatten([leaf.detach().to("cpu" if i == left else device, copy=True)
                           if isinstance(leaf, torch.Tensor) else leaf for i, leaf in enumerate(leaves)], form)


def places_in(value):
    return [i for i, leaf in enumerate(tree_flatten(value)[0]) if isinstance(leaf, torch.Tensor) and leaf.numel()]


class MixedTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        require_device(cpu=False)

    def setUp(self):
        self.outcomes = {TAKEN: 0, REFUSED: 0}

    def tearDown(self):
        print(f"{self._testMethodName}: {self.outcomes[TAKEN]} mixtures taken, {self.outcomes[REFUSED]} refused")

    def check(self, call, given):
        """Calls with each tensor left on the CPU; `call` returns all tensors that matter, also the modified ones."""
        expected = [tensor.detach().cpu() for tensor in tensors_of(call(on(given, "cpu")))]
        verdicts = {}
        for place in places_in(given):
            outcome, why = outcome_of(lambda: tensors_of(call(on(given, DEVICE, place))), expected)
            self.assertIn(outcome, (TAKEN, REFUSED), f"tensor {place}: {why}")
            self.outcomes[outcome] += 1
            verdicts[place] = outcome
        return verdicts


class Foreach(MixedTest):
    def samples(self, op, dtype):
        if dtype not in op.dtypes:
            return []
        torch.manual_seed(0)
        return list(op.sample_inputs("cpu", dtype, num_input_tensors=[LENGTH]))

    def test_lists(self):
        for op, dtype in itertools.product(LISTS, DTYPES):
            for sample in self.samples(op, dtype):
                given = (sample.input, sample.args, sample.kwargs)
                for name in ("method_variant", "inplace_variant"):
                    function = getattr(op, name)

                    def call(moved, function=function, in_place=name == "inplace_variant"):
                        first, arguments, keywords = moved
                        result = function(first, *arguments, **keywords)
                        return first if in_place else result

                    if function is None or not self.works_on_cpu(call, given):
                        continue
                    kinds = [type(argument).__name__ for argument in sample.args]
                    with self.subTest(operator=op.name, variant=name, dtype=dtype, arguments=kinds):
                        call(on(given, DEVICE))  # the call itself is correct
                        self.check(call, given)
        self.assertGreater(sum(self.outcomes.values()), 1000)

    @staticmethod
    def works_on_cpu(call, given):
        """Whether the CPU supports the call; for example, it refuses in-place quotients of integers."""
        try:
            call(on(given, "cpu"))
        except (RuntimeError, TypeError):
            return False
        return True

    def test_a_refused_list_is_not_changed(self):
        """add_ pairs the tensors of both lists. Pairs before the forgotten tensor may be changed, later ones may not."""
        for left in range(LENGTH):
            lists = [torch.full((4,), float(i)) for i in range(LENGTH)], [torch.ones(4) for _ in range(LENGTH)]
            mine, other = on(lists, DEVICE, LENGTH + left)
            with self.assertRaisesRegex(RuntimeError, "same device"):
                torch._foreach_add_(mine, other)
            self.assertEqual([t.cpu().tolist() for t in mine[left:]], [t.tolist() for t in lists[0][left:]])


def numbers(positive=False):
    return [(torch.rand if positive else torch.randn)(5) + 0.25 for _ in range(2)]


def counts():
    return [torch.tensor(3.0) for _ in range(2)]


COMMON = {"weight_decay": 0.1, "maximize": False}
#: Operator → (lists of tensors that it changes or reads, keywords).
FUSED = {
    "_fused_sgd_": (lambda: {"self": numbers(), "grads": numbers(), "momentum_buffer_list": numbers()},
                    {**COMMON, "momentum": 0.9, "dampening": 0.1, "nesterov": False, "is_first_step": False}),
    "_fused_adam_": (lambda: {"self": numbers(), "grads": numbers(), "exp_avgs": numbers(),
                              "exp_avg_sqs": numbers(True), "max_exp_avg_sqs": numbers(True), "state_steps": counts()},
                     {**COMMON, "beta1": 0.9, "beta2": 0.99, "eps": 1e-8, "amsgrad": True}),
    "_fused_adagrad_": (lambda: {"self": numbers(), "grads": numbers(), "state_sums": numbers(True),
                                 "state_steps": counts()}, {**COMMON, "lr_decay": 0.1, "eps": 1e-8}),
}
FUSED["_fused_adamw_"] = FUSED["_fused_adam_"]
#: A learning rate in a tensor may be on the CPU, and then PyTorch does not compare the devices of the other numbers.
MAY_BE_TAKEN = ("lr", "state_steps", "grad_scale", "found_inf")


class FusedOptimizers(MixedTest):
    def test_each_argument(self):
        for (name, (make, fixed)), rate_is_tensor, scaled in itertools.product(FUSED.items(), (False, True), (False, True)):
            torch.manual_seed(0)
            lists = make()
            keywords = {"lr": torch.tensor(0.1) if rate_is_tensor else 0.1}
            if scaled:
                keywords |= {"grad_scale": torch.tensor(2.0), "found_inf": torch.tensor(0.0)}
            given = lists, keywords

            def call(moved, name=name, fixed=fixed):
                arguments, keywords = moved
                getattr(torch, name)(**arguments, **fixed, **keywords)
                return arguments

            # The names of the arguments that the tensors belong to, in the order of places_in.
            owners = [key for key, value in (*lists.items(), *keywords.items()) for _ in tensors_of(value)]
            with self.subTest(operator=name, rate_is_tensor=rate_is_tensor, scaled=scaled):
                torch.testing.assert_close(on(call(on(given, DEVICE)), "cpu"), call(on(given, "cpu")))
                places = [i for i, leaf in enumerate(tree_flatten(given)[0]) if isinstance(leaf, torch.Tensor)]
                self.assertEqual(len(places), len(owners))
                verdicts = self.check(call, given)
                for place, owner in zip(places, owners):
                    if not rate_is_tensor or owner not in MAY_BE_TAKEN:
                        self.assertEqual(verdicts[place], REFUSED, owner)
                    if owner == "lr":
                        self.assertEqual(verdicts[place], TAKEN, "CUDA takes a learning rate from the CPU")

    def test_nothing_is_changed_by_a_refused_step(self):
        for name, (make, fixed) in FUSED.items():
            for left, owner in enumerate(make()):
                with self.subTest(operator=name, left=owner):
                    torch.manual_seed(0)
                    given = make()
                    moved = on(given, DEVICE, 2 * left + 1)
                    before = fallback_counts()
                    with self.assertRaisesRegex(RuntimeError, "same device"):
                        getattr(torch, name)(**moved, **fixed, lr=0.1)
                    torch.testing.assert_close(on(moved, "cpu"), given, rtol=0, atol=0)
                    self.assertEqual(fallback_counts(), before)


if __name__ == "__main__":
    unittest.main()
