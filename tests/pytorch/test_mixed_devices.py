"""A tensor that was left on the CPU, or is on a second device, is rejected by name; numbers and indices are
accepted."""

import copy
import unittest

import torch
import torch.nn.functional as F

import mixed_devices
from support import DEVICE, device_is_there

MESSAGE = "(?i)same device|same device type|placed on the same|to have device"


def matrix(device=DEVICE, *shape):
    return torch.arange(1.0, 17.0).reshape(shape or (4, 4)).to(device)


def vector(device=DEVICE):
    return torch.tensor([0.5, 1.0, 2.0, 3.0]).to(device)


def long(device, *values):
    return torch.tensor(values or (0, 1, 2, 3)).to(device)


#: Each takes the device of the forgotten operand. With DEVICE itself all of them work.
CALLS = {
    "mm, right": lambda d: matrix() @ matrix(d),
    "mm, left": lambda d: matrix(d) @ matrix(),
    "mv": lambda d: matrix() @ vector(d),
    "mv, left": lambda d: matrix(d) @ vector(),
    "linear, weight": lambda d: F.linear(matrix(), matrix(d)),
    "linear, bias": lambda d: F.linear(matrix(), matrix(), vector(d)),
    "addmm": lambda d: torch.addmm(vector(d), matrix(), matrix()),
    "addmv": lambda d: torch.addmv(vector(d), matrix(), vector()),
    "baddbmm": lambda d: torch.baddbmm(matrix()[None], matrix()[None], matrix(d)[None]),
    "bmm": lambda d: torch.bmm(matrix()[None], matrix(d)[None]),
    "einsum": lambda d: torch.einsum("ij,jk", matrix(), matrix(d)),
    "bilinear": lambda d: F.bilinear(matrix(), matrix(), matrix(d, 1, 4, 4)),
    "dot": lambda d: torch.dot(vector(), vector(d)),
    "outer": lambda d: torch.outer(vector(), vector(d)),
    "cdist": lambda d: torch.cdist(matrix(), matrix(d)),
    "add": lambda d: matrix() + matrix(d),
    "where": lambda d: torch.where(matrix() > 0, matrix(), matrix(d)),
    "lerp": lambda d: matrix().lerp(matrix(d), 0.5),
    "masked_fill": lambda d: matrix().masked_fill(matrix(d) > 2, 0),
    "masked_select": lambda d: matrix().masked_select(matrix(d) > 2),
    "cat": lambda d: torch.cat([matrix(), matrix(d)]),
    "cat, first": lambda d: torch.cat([matrix(d), matrix()]),
    "stack": lambda d: torch.stack([matrix(), matrix(d)]),
    "conv2d, weight": lambda d: F.conv2d(matrix(DEVICE, 1, 1, 4, 4), matrix(d, 1, 1, 4, 4)),
    "conv2d, bias": lambda d: F.conv2d(matrix(DEVICE, 1, 1, 4, 4), matrix(DEVICE, 1, 1, 4, 4), vector(d)[:1]),
    "conv_transpose2d": lambda d: F.conv_transpose2d(matrix(DEVICE, 1, 1, 4, 4), matrix(d, 1, 1, 4, 4)),
    "batch_norm, statistics": lambda d: F.batch_norm(matrix(), vector(d), vector(d)),
    "batch_norm, weight": lambda d: F.batch_norm(matrix(), vector(), vector(), vector(d), vector(), training=True),
    "instance_norm": lambda d: F.instance_norm(matrix(DEVICE, 1, 4, 4), vector(d), vector(d)),
    "layer_norm": lambda d: F.layer_norm(matrix(), (4,), vector(d), vector(d)),
    "group_norm": lambda d: F.group_norm(matrix(DEVICE, 1, 4, 4), 2, vector(d), vector(d)),
    "rms_norm": lambda d: F.rms_norm(matrix(), (4,), vector(d)),
    "embedding, indices": lambda d: F.embedding(long(d), matrix()),
    "embedding, weight": lambda d: F.embedding(long(DEVICE), matrix(d)),
    "embedding_bag": lambda d: F.embedding_bag(long(d)[None], matrix()),
    "gather": lambda d: matrix().gather(0, long(d)[None]),
    "gather, self": lambda d: matrix(d).gather(0, long(DEVICE)[None]),
    "scatter, source": lambda d: matrix().scatter(0, long(DEVICE)[None], matrix(d)),
    "scatter_add": lambda d: matrix().scatter_add(0, long(d)[None], matrix()),
    "index_add": lambda d: matrix().index_add(0, long(d), matrix()),
    "index_copy": lambda d: matrix().index_copy(0, long(DEVICE), matrix(d)),
    "index_select": lambda d: matrix().index_select(0, long(d)),
    "index_put, values": lambda d: matrix().index_put_((long(DEVICE),), matrix(d)),
    "take": lambda d: matrix().take(long(d)),
    "cross_entropy, targets": lambda d: F.cross_entropy(matrix(), long(d)),
    "cross_entropy, weights": lambda d: F.cross_entropy(matrix(), long(DEVICE), vector(d)),
    "mse_loss": lambda d: F.mse_loss(matrix(), matrix(d)),
    "binary_cross_entropy": lambda d: F.binary_cross_entropy(matrix() / 20, matrix(d) / 20),
    "prelu": lambda d: F.prelu(matrix(), vector(d)[:1]),
    "searchsorted": lambda d: torch.searchsorted(matrix(), matrix(d)),
    "grid_sample": lambda d: F.grid_sample(matrix(DEVICE, 1, 1, 4, 4), matrix(d, 1, 2, 4, 2), align_corners=False),
    "attention, key": lambda d: F.scaled_dot_product_attention(matrix()[None, None], matrix(d)[None, None], matrix()[None, None]),
    "attention, mask": lambda d: F.scaled_dot_product_attention(*[matrix()[None, None]] * 3, attn_mask=matrix(d)),
    "lstm": lambda d: torch.nn.LSTM(4, 4, device=d)(matrix()[None]),
    "foreach": lambda d: torch._foreach_add([matrix()], [matrix(d)]),
    "foreach in place": lambda d: torch._foreach_mul_([matrix(d)], [matrix()]),
    "addcmul": lambda d: torch.addcmul(matrix(), matrix(d), matrix()),
    "copy_": lambda d: torch.add(matrix(), matrix(), out=matrix(d)),
    "mm, out": lambda d: torch.mm(matrix(), matrix(), out=matrix(d)),
    "sum, out": lambda d: torch.sum(matrix(), 1, out=vector(d)),
    "cat, out": lambda d: torch.cat([matrix(), matrix()], out=torch.empty(8, 4, device=d)),
    "index_select, out": lambda d: torch.index_select(matrix(), 0, long(DEVICE), out=matrix(d)),
    "topk, out": lambda d: torch.topk(matrix(), 2, out=(torch.empty(4, 2, device=d), torch.empty(4, 2, dtype=torch.long, device=d))),
    "svd (runs on the CPU)": lambda d: torch.linalg.solve(matrix() + 20 * torch.eye(4, device=DEVICE), matrix(d)),
    "triangular_solve (runs on the CPU)": lambda d: torch.linalg.solve_triangular(matrix(d), matrix(), upper=True),
    "fused AdamW": lambda d: torch._fused_adamw_(
        [matrix()], [matrix(d)], [matrix()], [matrix()], [], [torch.ones((), device=DEVICE)], lr=1e-3, beta1=0.9, beta2=0.99,
        weight_decay=0.0, eps=1e-8, amsgrad=False, maximize=False),
}

#: CPU tensors that CUDA accepts: numbers without dimensions, and indices of advanced indexing.
TAKEN = {
    "add a number": lambda d: matrix(d) + torch.tensor(2.0),
    "number first": lambda d: torch.tensor(2.0) * matrix(d),
    "where with a number": lambda d: torch.where(matrix(d) > 2, matrix(d), torch.tensor(0.0)),
    "masked_fill with a number": lambda d: matrix(d).masked_fill(matrix(d) > 2, torch.tensor(-1.0)),
    "lerp weight": lambda d: matrix(d).lerp(2 * matrix(d), torch.tensor(0.5)),
    "fill_": lambda d: matrix(d).fill_(torch.tensor(3.0)),
    "index by a CPU tensor": lambda d: matrix(d)[torch.tensor([0, 2])],
    "index by two": lambda d: matrix(d)[torch.tensor([0, 2]), torch.tensor([1, 1])],
    "index by a CPU mask": lambda d: matrix(d)[torch.tensor([True, False, True, False])],
    "assign by a CPU index": lambda d: matrix(d).index_put_((torch.tensor([1]),), vector(d)),
    "assign a CPU number": lambda d: matrix(d).index_put_((torch.tensor([1]),), torch.tensor(7.0)),
    "copy": lambda d: matrix(d).copy_(matrix("cpu") + 1),
}


@unittest.skipUnless(device_is_there(), "there is no device")
class ForgottenOnTheCpuTest(unittest.TestCase):
    pass


@unittest.skipUnless(device_is_there(), "there is no device")
class TakenFromTheCpuTest(unittest.TestCase):
    pass


def refuses(name):
    def test(self):
        call = CALLS[name]
        call(DEVICE)  # the call itself is correct
        with self.assertRaisesRegex(RuntimeError, MESSAGE):
            call("cpu")
            if DEVICE != "cpu":
                torch.get_device_module(DEVICE).synchronize()
    return test


def takes(name):
    def test(self):
        torch.testing.assert_close(TAKEN[name](DEVICE).cpu(), TAKEN[name]("cpu"))
    return test


def identifier(name):
    return "test_" + "".join(c if c.isalnum() else "_" for c in name)


for name in CALLS:
    setattr(ForgottenOnTheCpuTest, identifier(name), refuses(name))
for name in TAKEN:
    setattr(TakenFromTheCpuTest, identifier(name), takes(name))


@unittest.skipUnless(device_is_there() and DEVICE != "cpu", "there is no device")
class MessageTest(unittest.TestCase):
    def test_names_both_devices_the_argument_and_the_operator(self):
        with self.assertRaisesRegex(RuntimeError, r"Expected all tensors to be on the same device, but found at least two "
                                    rf"devices, {DEVICE}:0 and cpu! \(argument 'mat2' of aten::mm\)"):
            torch.mm(matrix(), matrix("cpu"))

    def test_a_module_whose_buffer_stays_behind(self):
        class Groups(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.groups = torch.eye(4)  # not a buffer, so .to() does not move it

            def forward(self, x):
                return torch.matmul(x, self.groups)

        with self.assertRaisesRegex(RuntimeError, "same device"):
            Groups().to(DEVICE)(matrix())

    def test_an_output_that_only_the_device_refuses_is_reported(self):
        op = copy.copy(next(op for op in mixed_devices.op_db if op.name == "neg"))
        neg = op.op

        def without_outputs_on_the_device(x, out=None):
            if out is not None and out.device.type != "cpu":
                raise RuntimeError("no kernel")
            return neg(x, out=out)
        op.op = without_outputs_on_the_device
        found = mixed_devices.differences(op, mixed_devices.probe(op, DEVICE, 1), None)
        self.assertEqual(found, ["neg, operand out: fails on the device, where it works on the CPU: RuntimeError: no kernel"])


if __name__ == "__main__":
    unittest.main()
