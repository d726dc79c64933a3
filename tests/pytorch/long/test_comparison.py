"""The sweep detects errors: operators with deliberately wrong results, compared on the CPU. Needs no device."""

import types
import unittest

import torch
from torch.testing._internal.opinfo.core import SampleInput

import comparison
from both_devices import moved


class Probe(types.SimpleNamespace):
    def __call__(self, *args, **kwargs):
        return self.call(*args, **kwargs)


def operator(function, name: str = "probe"):
    """A minimal OpInfo: `function` gets whether this call is the reference (the first call of each pair)."""
    calls = []

    def call(*args, **kwargs):
        calls.append(1)
        return function(len(calls) % 2 == 1, *args, **kwargs)

    def samples(device, dtype, requires_grad):
        yield SampleInput(torch.arange(1.0, 7.0).reshape(2, 3).requires_grad_(requires_grad))

    return Probe(call=call, name=name, full_name=name, supports_autograd=True, is_factory_function=False,
                 sample_inputs=samples, supported_dtypes=lambda device: {torch.float32})


class Comparison(unittest.TestCase):
    def errors(self, function) -> str:
        return " ".join(comparison.compare_operator(operator(function), "cpu", 1).errors)

    def test_equal_is_equal(self):
        result = comparison.compare_operator(operator(lambda reference, x: x * 2), "cpu", 1)
        self.assertEqual(result.errors, [])
        self.assertTrue(all(tally == comparison.Tally(1, 1) for tally in result.parts.values()))

    def test_wrong_values(self):
        self.assertIn("forward: AssertionError", self.errors(lambda reference, x: x * (2 if reference else 2.01)))

    def test_wrong_dtype_and_shape(self):
        self.assertIn("dtype", self.errors(lambda reference, x: x * 2 if reference else (x * 2).double()))
        self.assertIn("shape", self.errors(lambda reference, x: x * 2 if reference else (x * 2)[:1]))

    def test_wrong_gradient_alone(self):
        class Wrong(torch.autograd.Function):
            @staticmethod
            def forward(context, x):
                return x * 2

            @staticmethod
            def backward(context, gradient):
                return gradient.mean().expand(gradient.shape) * 2

        found = self.errors(lambda reference, x: x * 2 if reference else Wrong.apply(x))
        self.assertIn("gradient: AssertionError", found)
        self.assertNotIn("forward: ", found)

    def test_returning_the_input(self):
        self.assertIn("returns its input", self.errors(lambda reference, x: x.clone() if reference else x))
        self.assertIn("copy where the CPU returns a view", self.errors(lambda reference, x: x.view(-1) if reference else x.flatten().clone()))

    def test_exceptions(self):
        def fail(reference, x):
            if not reference:
                raise RuntimeError("no kernel")
            return x * 2
        self.assertIn("no kernel", self.errors(fail))

    def test_what_the_reference_cannot_do_does_not_count(self):
        def fail(reference, x):
            raise RuntimeError("not here")
        result = comparison.compare_operator(operator(fail), "cpu", 1)
        self.assertEqual(sum(tally.total for tally in result.parts.values()), 0)

    def test_moved_tensors_keep_layout_and_hidden_storage(self):
        base = torch.arange(24.0).reshape(4, 6)
        view = base[1:, ::2].t()
        copy = moved(view, "cpu", whole_storage=True)
        self.assertEqual((copy.stride(), copy.storage_offset()), (view.stride(), view.storage_offset()))
        self.assertTrue(torch.equal(copy.as_strided((24,), (1,), 0), base.flatten()))
        self.assertNotEqual(copy.data_ptr(), view.data_ptr())

    def test_moved_tensors_keep_layout_without_hidden_storage(self):
        view = torch.arange(24.0).reshape(4, 6)[1:, ::2].t().requires_grad_()
        copy, (listed, number) = moved((view, [view[:, :0], 3]), "cpu")[0], moved([view[:, :0], 3], "cpu")
        self.assertEqual((copy.stride(), copy.storage_offset(), copy.requires_grad), (view.stride(), 0, True))
        self.assertEqual(copy.untyped_storage().nbytes(), 4 * (1 + 2 * 2 + 2 * 6))
        self.assertTrue(torch.equal(copy, view))
        self.assertEqual((listed.shape, listed.stride(), number), ((3, 0), view.stride(), 3))


if __name__ == "__main__":
    unittest.main(verbosity=2)
