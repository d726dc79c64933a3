"""Common uses of a device: each works, or fails with one sentence. A report from PyTorch's dispatcher, a crash or a
missing attribute counts as neither."""

import io
import os
import tempfile
import unittest
import warnings

import torch
import torch.nn.functional as F
from torch import nn

from support import DEVICE, device_module

LONGEST = 320  # characters of a sentence


def ones(*sizes, **options):
    return torch.ones(*sizes, device=DEVICE, **options)


def saved(value):
    file = io.BytesIO()
    torch.save(value, file)
    file.seek(0)
    return file


def compiled(**options):
    torch._dynamo.reset()
    return torch.compile(lambda x: torch.relu(x * 2 + 1).sum(1), **options)(ones(2, 3))


def shuffled(**options):
    data = torch.utils.data
    torch.set_default_device(DEVICE)
    try:
        loader = data.DataLoader(data.TensorDataset(torch.arange(6.0)), batch_size=2, shuffle=True, **options)
        return torch.cat([rows for (rows,) in loader])
    finally:
        torch.set_default_device(None)  # after "cpu", torch.as_tensor() would move the tensors of later tests


def with_file(write, read):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "file")
        write(path)
        return read(path)


def seeded(make):
    with torch.random.fork_rng(device_type=DEVICE):
        return make()


WORKS = {
    "sparse": lambda: torch.eye(3, device=DEVICE).to_sparse() @ ones(3, 2),
    "sparse, compressed": lambda: torch.eye(3, device=DEVICE).to_sparse_csr() @ ones(3, 2),
    "sparse checkpoint": lambda: torch.load(saved(torch.eye(3).to_sparse()), map_location=DEVICE),
    "nested": lambda: torch.nested.nested_tensor([ones(2, 3), ones(4, 3)]) * 2,
    "nested with a gradient": lambda: torch.nested.nested_tensor([ones(2), ones(3)], requires_grad=True) + 1,
    "DataParallel": lambda: nn.DataParallel(nn.Linear(3, 2).to(DEVICE))(ones(4, 3)),
    "data_parallel": lambda: nn.parallel.data_parallel(nn.Linear(3, 2).to(DEVICE), ones(4, 3), [0]),
    "SyncBatchNorm without a group": lambda: nn.SyncBatchNorm(3).to(DEVICE)(ones(2, 3, 4, 4)),
    "from_dlpack": lambda: torch.from_dlpack(ones(3)),
    "shuffling with a generator": lambda: shuffled(generator=torch.Generator(device=DEVICE)),
    "torch.compile, eager": lambda: compiled(backend="eager"),
    "torch.compile, aot_eager": lambda: compiled(backend="aot_eager"),
    "torch.compile, dynamic": lambda: compiled(backend="aot_eager", dynamic=True, fullgraph=True),
    "torch.export": lambda: torch.export.export(nn.Linear(3, 2).to(DEVICE), (ones(1, 3),)).module()(ones(1, 3)),
    "jit.script": lambda: torch.jit.script(nn.Sequential(nn.Linear(3, 2), nn.ReLU()).to(DEVICE))(ones(1, 3)),
    "jit.trace": lambda: torch.jit.trace(nn.Linear(3, 2).to(DEVICE), ones(1, 3))(ones(1, 3)),
    "jit.freeze": lambda: torch.jit.freeze(torch.jit.script(nn.Linear(3, 2).to(DEVICE).eval()))(ones(1, 3)),
    "jit.save": lambda: with_file(
        torch.jit.script(nn.Linear(3, 2)).save, lambda path: torch.jit.load(path, map_location=DEVICE)(ones(1, 3))
    ),
    "func": lambda: torch.func.hessian(lambda x: (x**3).sum())(ones(3)),
    "vmap": lambda: torch.func.vmap(torch.sin)(ones(2, 3)),
    "forward gradients": lambda: torch.func.jvp(torch.sin, (ones(3),), (ones(3),)),
    "meta": lambda: nn.Linear(3, 2, device="meta").to_empty(device=DEVICE)(ones(1, 3)),
    "load to a map": lambda: torch.load(saved(torch.ones(3)), map_location={"cpu": DEVICE}),
    "numpy by force": lambda: ones(3).numpy(force=True),
    "fft": lambda: torch.fft.ifft(torch.fft.fft(ones(8))),
    "stft": lambda: torch.stft(ones(64), 16, window=torch.hann_window(16, device=DEVICE), return_complex=True),
    "eigenvalues": lambda: torch.linalg.eig(ones(3, 3)),
    "fake quantization": lambda: torch.fake_quantize_per_tensor_affine(ones(3), 0.1, 0, -128, 127),
    "int8 product": lambda: torch._int_mm(ones(32, 32, dtype=torch.int8), ones(32, 32, dtype=torch.int8)),
    "checkpoint": lambda: torch.utils.checkpoint.checkpoint(torch.sin, ones(3), use_reentrant=False),
    "pinned": lambda: torch.ones(3).pin_memory().to(DEVICE, non_blocking=True),
    "deepcopy of a generator": lambda: torch.Generator(device=DEVICE).clone_state(),
    "fork_rng": lambda: seeded(lambda: torch.rand(2, device=DEVICE)),
    "a number of a device": lambda: torch.ones(2).to(0),
    "storage": lambda: ones(3).untyped_storage().tolist(),
    "functional_call": lambda: torch.func.functional_call(nn.Linear(3, 2).to(DEVICE), {}, (ones(1, 3),)),
    "masked tensor": lambda: torch.masked.masked_tensor(ones(3), ones(3).bool()).sum(),
    "packed sequence": lambda: nn.utils.rnn.pack_sequence([ones(3), ones(2)]),
}
# Words that the sentence must contain: what to do instead, if there is an alternative.
SENTENCES = {
    "quantize": (lambda: torch.quantize_per_tensor(ones(3), 0.1, 0, torch.qint8), "quantize on the CPU"),
    "quantized, moved": (lambda: torch.quantize_per_tensor(torch.ones(3), 0.1, 0, torch.qint8).to(DEVICE), "quantize on the CPU"),
    "sparse without a kernel": (lambda: torch.eye(3, device=DEVICE).to_sparse().cumsum(0), "to_dense()"),
    "share_memory_": (lambda: ones(3).share_memory_(), "through a queue"),
    "share_memory of a module": (lambda: nn.Linear(2, 2).to(DEVICE).share_memory(), "through a queue"),
    "shuffling without a generator": (shuffled, "torch.Generator(device=\"rvk\")"),
    "a generator of the CPU": (lambda: torch.rand(2, device=DEVICE, generator=torch.Generator()), "torch.Generator(device=\"rvk\")"),
    "a generator for the CPU": (lambda: torch.rand(2, generator=torch.Generator(device=DEVICE)), "device type for generator"),
    "torch.compile": (compiled, 'backend="aot_eager"'),
    "torch.compile, max-autotune": (lambda: compiled(mode="max-autotune"), 'backend="aot_eager"'),
    "numpy": (lambda: ones(3).numpy(), "Tensor.cpu()"),
    "memory of CUDA": (lambda: ones(3).__cuda_array_interface__, "non-CUDA tensor"),
    "mkldnn": (lambda: ones(3).to_mkldnn(), "Unsupported device type"),
    "pinned on the device": (lambda: ones(3).pin_memory(), "only dense CPU tensors can be pinned"),
    "made pinned on the device": (lambda: ones(3, pin_memory=True), "CPU tensors can be pinned"),
    "out of meta": (lambda: torch.ones(3, device="meta").to(DEVICE), "Cannot copy out of meta tensor"),
    "a missing device": (lambda: torch.ones(3, device=f"{DEVICE}:99"), "There is no device rvk:99"),
    "a checkpoint of a missing device": (lambda: torch.load(saved(torch.ones(3)), map_location=f"{DEVICE}:99"), "map_location"),
    "lengths on the device": (
        lambda: nn.utils.rnn.pack_padded_sequence(ones(2, 3, 4), torch.tensor([3, 2], device=DEVICE)), "1D CPU int64"
    ),
    "apply_": (lambda: ones(3).apply_(abs), "only implemented on CPU"),
    "byteswap": (lambda: ones(3).untyped_storage().byteswap(torch.float32), "storage.cpu()"),
    "shared as a file": (lambda: ones(3).untyped_storage()._share_fd_cpu_(), "only available on CPU"),
    "flex attention": (
        lambda: torch.nn.attention.flex_attention.flex_attention(*[ones(1, 1, 16, 8)] * 3), "only supported on"
    ),
    "semi-structured sparsity": (lambda: torch.sparse.to_sparse_semi_structured(ones(32, 64).half()), "not supported"),
    "with a CPU tensor": (lambda: ones(3) + torch.ones(3), "Expected all tensors to be on the same device"),
}
# TorchDynamo appends these lines to every exception.
_OF_DYNAMO = "\n\nSet TORCHDYNAMO_VERBOSE"


class OneSentence(unittest.TestCase):
    def setUp(self):
        device_module()
        warnings.simplefilter("ignore")
        import torch.nn.attention.flex_attention  # noqa: F401

    def test_what_works(self):
        for name, statement in WORKS.items():
            with self.subTest(name):
                statement()
                device_module().synchronize()

    def test_what_does_not_work(self):
        for name, (statement, way) in SENTENCES.items():
            with self.subTest(name):
                with self.assertRaises(Exception) as caught:
                    statement()
                message = str(caught.exception).partition(_OF_DYNAMO)[0].strip()
                self.assertEqual(len(message.splitlines()), 1, message)
                self.assertLess(len(message), LONGEST)
                self.assertIn(way, message)

    def test_other_devices_still_reach_inductor(self):
        from torch_rvk import compiler

        graph = torch.fx.symbolic_trace(nn.ReLU())
        self.assertFalse(compiler.reaches_device(graph, [torch.ones(2), 3]))
        self.assertTrue(compiler.reaches_device(graph, [torch.ones(2), ones(2)]))
        self.assertTrue(compiler.reaches_device(nn.Linear(2, 2).to(DEVICE), []))


if __name__ == "__main__":
    unittest.main(verbosity=2)
