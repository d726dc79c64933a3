"""Operators that keep the memory order of dimensions on the CPU keep it here too: channels_last, forward and backward,
and any order of a tensor with gaps."""

import itertools
import unittest

import torch
import torch.nn.functional as F
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.opinfo.core import BinaryUfuncInfo, UnaryUfuncInfo
from torch.utils._pytree import tree_leaves

from both_devices import tensors_of
from support import DEVICE, require_device

FORMATS = {4: torch.channels_last, 5: torch.channels_last_3d}
# PyTorch's gradient formula makes the input contiguous on every device except the CPU.
FORWARD_ALONE = ("group_norm",)
IMAGE, VOLUME = (2, 8, 4, 4), (2, 4, 4, 4, 4)


def zeros(x, *sizes):
    return torch.zeros(sizes, dtype=torch.int64, device=x.device)


def of_image():
    yield "dropout", lambda x: F.dropout(x, .5)
    yield "dropout2d", lambda x: F.dropout2d(x, .5)
    yield "group_norm", lambda x: F.group_norm(x, 2)
    yield "batch_norm", lambda x: F.batch_norm(x, None, None, training=True)
    yield "instance_norm", lambda x: F.instance_norm(x)
    for mode in ("constant", "reflect", "replicate", "circular"):
        yield f"pad {mode}", lambda x, mode=mode: F.pad(x, (1, 1, 1, 1), mode)
    for mode in ("nearest", "nearest-exact", "bilinear", "bicubic", "area"):
        yield f"interpolate {mode}", lambda x, mode=mode: F.interpolate(x, scale_factor=2, mode=mode)
    yield "max_pool2d", lambda x: F.max_pool2d(x, 2, return_indices=True)
    yield "avg_pool2d", lambda x: F.avg_pool2d(x, 2)
    yield "adaptive_avg_pool2d", lambda x: F.adaptive_avg_pool2d(x, 2)
    yield "adaptive_max_pool2d", lambda x: F.adaptive_max_pool2d(x, 2)
    yield "max_unpool2d", lambda x: F.max_unpool2d(*F.max_pool2d(x, 2, return_indices=True), 2)
    yield "pixel_shuffle", lambda x: F.pixel_shuffle(x, 2)
    yield "pixel_unshuffle", lambda x: F.pixel_unshuffle(x, 2)
    yield "channel_shuffle", lambda x: F.channel_shuffle(x, 2)
    yield "softmax", lambda x: x.softmax(1)
    yield "prelu", lambda x: F.prelu(x, torch.ones(8, device=x.device))
    yield "cat", lambda x: torch.cat([x, x], 1)
    yield "flip", lambda x: x.flip(1)
    yield "where", lambda x: torch.where(x > 0, x, -x)
    yield "masked_fill", lambda x: x.masked_fill(x > 0, 1.)
    yield "index_select", lambda x: x.index_select(1, zeros(x, 1))
    yield "gather", lambda x: x.gather(1, zeros(x, *IMAGE))
    yield "sum", lambda x: x.sum(1, keepdim=True)
    yield "gelu", F.gelu
    yield "clone", lambda x: x.clone()
    yield "grid_sample", lambda x: F.grid_sample(x, torch.zeros(2, 3, 3, 2, device=x.device), align_corners=False)


def of_volume():
    yield "dropout", lambda x: F.dropout(x, .5)
    yield "group_norm", lambda x: F.group_norm(x, 2)
    yield "batch_norm", lambda x: F.batch_norm(x, None, None, training=True)
    for mode in ("constant", "reflect", "replicate", "circular"):
        yield f"pad {mode}", lambda x, mode=mode: F.pad(x, (1,) * 6, mode)
    for mode in ("nearest", "nearest-exact", "trilinear"):
        yield f"interpolate {mode}", lambda x, mode=mode: F.interpolate(x, scale_factor=2, mode=mode)
    yield "max_pool3d", lambda x: F.max_pool3d(x, 2)
    yield "avg_pool3d", lambda x: F.avg_pool3d(x, 2)
    yield "adaptive_avg_pool3d", lambda x: F.adaptive_avg_pool3d(x, 2)
    yield "adaptive_max_pool3d", lambda x: F.adaptive_max_pool3d(x, 2)


# Sizes of the image and of the weight.
CONVOLUTIONS = {
    "pointwise": (F.conv2d, (2, 3, 4, 4), (5, 3, 1, 1), {}),
    "conv2d": (F.conv2d, (2, 3, 4, 4), (5, 3, 3, 3), {"padding": 1}),
    "groups": (F.conv2d, (2, 4, 4, 4), (6, 2, 3, 3), {"groups": 2}),
    "depthwise": (F.conv2d, (2, 4, 4, 4), (4, 1, 3, 3), {"groups": 4}),
    "transposed": (F.conv_transpose2d, (2, 3, 4, 4), (3, 5, 3, 3), {}),
    "conv3d": (F.conv3d, (2, 3, 4, 4, 4), (5, 3, 2, 2, 2), {}),
    "transposed 3d": (F.conv_transpose3d, (2, 3, 4, 4, 4), (3, 5, 2, 2, 2), {}),
}


def with_gaps(device):
    """Every order of four dimensions, dense and as a slice."""
    for order in itertools.permutations(range(4)):
        back = [order.index(d) for d in range(4)]
        x = torch.rand(2, 3, 4, 5).permute(order).contiguous().to(device).permute(back)
        yield order, "dense", x
        yield order, "slice", x[1:, 1:]
        yield order, "every second", x[..., ::2]


def strides(tensor):
    """The strides that determine where the elements are."""
    return [stride for size, stride in zip(tensor.size(), tensor.stride()) if size > 1]


def formats_of(tensors):
    return [tuple(t.is_contiguous(memory_format=f) for f in (torch.contiguous_format, FORMATS[t.dim()]))
            for t in tensors if t is not None and t.dim() in FORMATS]


class MemoryFormats(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        require_device()

    def formats(self, function, tensors, device):
        inputs = [t.to(device).requires_grad_() for t in tensors]
        outputs = tensors_of(function(*inputs))
        first = outputs[0]
        gradients = torch.autograd.grad(first, inputs, torch.ones_like(first), allow_unused=True)
        return formats_of(outputs) + formats_of(gradients)

    def compare(self, function, *tensors, results=None):
        """results: the number of outputs and gradients to compare; None: all."""
        found, expected = (self.formats(function, tensors, device)[:results] for device in (DEVICE, "cpu"))
        self.assertEqual(found, expected)

    def test_images_and_volumes(self):
        for sizes, cases in ((IMAGE, of_image()), (VOLUME, of_volume())):
            image = torch.randn(sizes).contiguous(memory_format=FORMATS[len(sizes)])
            for name, function in cases:
                with self.subTest(operator=name, dimensions=len(sizes)):
                    self.compare(function, image, results=1 if name in FORWARD_ALONE else None)

    def test_dropout_keeps_every_order(self):
        # Calls the operator itself, because F.dropout runs it on devices but not on the CPU.
        for (order, what, x), (_, _, on_cpu) in zip(with_gaps(DEVICE), with_gaps("cpu")):
            for name, found, expected in zip(("output", "mask"), torch.native_dropout(x, .5, True),
                                             torch.native_dropout(on_cpu, .5, True)):
                with self.subTest(order=order, what=what, result=name):
                    self.assertEqual(strides(found), strides(expected))
                    self.assertEqual(strides(found), strides(torch.empty_like(on_cpu)))

    def test_operators_of_elements_keep_every_order(self):
        """All operators of PyTorch's list that take one tensor, or two with the same order."""
        compared = 0
        for op in op_db:
            if not isinstance(op, (UnaryUfuncInfo, BinaryUfuncInfo)) or torch.float32 not in op.dtypes or "jiterator" in op.name:
                continue
            operands = 1 if isinstance(op, UnaryUfuncInfo) else 2
            sample = next(iter(op.sample_inputs("cpu", torch.float32)))
            options = sample.args[operands - 1:] if operands == 2 else sample.args
            if any(isinstance(option, torch.Tensor) for option in (*options, *sample.kwargs.values())):
                continue
            for (order, what, x), (_, _, on_cpu) in zip(with_gaps(DEVICE), with_gaps("cpu")):
                if order not in ((0, 1, 2, 3), (0, 2, 3, 1), (3, 1, 0, 2)):
                    continue
                found, expected = (op(*[tensor] * operands, *options, **sample.kwargs) for tensor in (x, on_cpu))
                kept = strides(torch.empty_like(on_cpu))  # if the CPU's kernel makes its input contiguous
                with self.subTest(op.formatted_name, order=order, what=what):
                    for result, of_cpu in zip(tree_leaves(found), tree_leaves(expected)):
                        self.assertIn(strides(result), (strides(of_cpu), kept))
                compared += 1
        self.assertGreater(compared, 1000)

    def test_convolutions(self):
        for name, (function, image_sizes, weight_sizes, options) in CONVOLUTIONS.items():
            image, weight = torch.randn(image_sizes), torch.randn(weight_sizes)
            last = FORMATS[image.dim()]
            pairs = {"contiguous": (image, weight), "image": (image.contiguous(memory_format=last), weight),
                     "both": (image.contiguous(memory_format=last), weight.contiguous(memory_format=last))}
            for what, (x, w) in pairs.items():
                with self.subTest(convolution=name, channels_last=what):
                    self.compare(lambda x, w: function(x, w, **options), x, w)


if __name__ == "__main__":
    unittest.main()
