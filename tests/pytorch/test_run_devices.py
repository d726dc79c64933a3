"""torch_rvk.run: wherever PyTorch takes a device, a CUDA device means rvk."""

import json
import unittest

from run_support import check_each_is_done, run

BEFORE = """
import io, torch
from torch.utils.data import DataLoader

x = torch.arange(4.0)
on_rvk = x.to("rvk")

def is_rvk(value):
    assert value.device.type == "rvk", value.device

def fails(call, error):
    try: call()
    except error: return
    raise AssertionError("no error")
"""

# An expression for each operator with a device argument; "cuda" appears in it as a string, and the test also tries it as a
# torch.device, with a number, and as the default device.
CREATED = {
    "_efficientzerotensor": "torch._efficientzerotensor((2,), device='cuda')",
    "_to_copy": "torch.ops.aten._to_copy(x, device='cuda')",
    "arange": "torch.arange(1, 4, device='cuda')",
    "as_tensor": "torch.as_tensor([1, 2], device='cuda')",
    "asarray": "torch.asarray([1, 2], device='cuda')",
    "bartlett_window": "torch.bartlett_window(4, device='cuda')",
    "blackman_window": "torch.blackman_window(4, device='cuda')",
    "empty": "torch.empty(2, 3, device='cuda')",
    "empty_like": "torch.empty_like(x, device='cuda')",
    "empty_permuted": "torch.empty_permuted((2, 3), (1, 0), device='cuda')",
    "empty_strided": "torch.empty_strided((2, 3), (1, 2), device='cuda')",
    "eye": "torch.eye(3, device='cuda')",
    "fft_fftfreq": "torch.fft.fftfreq(4, device='cuda')",
    "fft_rfftfreq": "torch.fft.rfftfreq(4, device='cuda')",
    "full": "torch.full((2,), 3.0, device='cuda')",
    "full_like": "torch.full_like(x, 3, device='cuda')",
    "hamming_window": "torch.hamming_window(4, device='cuda')",
    "hann_window": "torch.hann_window(4, device='cuda')",
    "linspace": "torch.linspace(0, 1, 4, device='cuda')",
    "logspace": "torch.logspace(0, 1, 4, device='cuda')",
    "nested_tensor": "torch.nested.nested_tensor([torch.ones(2), torch.ones(3)], device='cuda')",
    "new_empty": "x.new_empty((2,), device='cuda')",
    "new_empty_strided": "x.new_empty_strided((2,), (1,), device='cuda')",
    "new_full": "x.new_full((2,), 3, device='cuda')",
    "new_ones": "x.new_ones((2,), device='cuda')",
    "new_tensor": "x.new_tensor([1.0], device='cuda')",
    "new_zeros": "x.new_zeros((2,), device='cuda')",
    "normal": "torch.normal(0.0, 1.0, (2,), device='cuda')",
    "ones": "torch.ones(2, device='cuda')",
    "ones_like": "torch.ones_like(x, device='cuda')",
    "rand": "torch.rand(2, device='cuda')",
    "rand_like": "torch.rand_like(x, device='cuda')",
    "randint": "torch.randint(0, 4, (2,), device='cuda')",
    "randint_like": "torch.randint_like(x, 0, 4, device='cuda')",
    "randn": "torch.randn(2, device='cuda')",
    "randn_like": "torch.randn_like(x, device='cuda')",
    "randperm": "torch.randperm(4, device='cuda')",
    "range": "torch.range(1, 3, device='cuda')",
    "scalar_tensor": "torch.scalar_tensor(2.0, device='cuda')",
    "signal.windows": "torch.signal.windows.cosine(4, device='cuda')",
    "sparse_bsc_tensor": "torch.sparse_bsc_tensor([0, 1], [0], [[[1.0]]], (1, 1), device='cuda')",
    "sparse_bsr_tensor": "torch.sparse_bsr_tensor([0, 1], [0], [[[1.0]]], (1, 1), device='cuda')",
    "sparse_compressed_tensor": "torch.sparse_compressed_tensor([0, 1], [0], [1.0], (1, 1), layout=torch.sparse_csr, "
    "device='cuda')",
    "sparse_coo_tensor": "torch.sparse_coo_tensor([[1]], [1.0], (3,), device='cuda')",
    "sparse_coo_tensor of a size": "torch.sparse_coo_tensor((3,), device='cuda')",
    "sparse_csc_tensor": "torch.sparse_csc_tensor([0, 1], [0], [1.0], (1, 1), device='cuda')",
    "sparse_csr_tensor": "torch.sparse_csr_tensor([0, 1], [0], [1.0], (1, 1), device='cuda')",
    "tensor": "torch.tensor([1, 2], device='cuda')",
    "to": "x.to('cuda')",
    "to with a dtype": "x.to('cuda', torch.float16, non_blocking=True)",
    "to of rvk": "on_rvk.to(device='cuda', dtype=torch.float64)",
    "tril_indices": "torch.tril_indices(3, 3, device='cuda')",
    "triu_indices": "torch.triu_indices(3, 3, device='cuda')",
    "zeros": "torch.zeros(2, device='cuda')",
    "zeros_like": "torch.zeros_like(x, device='cuda')",
}
# Operators with a device argument that are not factories for users, or do not exist for CUDA either.
NOT_CREATED = {
    "_assert_tensor_metadata",
    "_cudnn_init_dropout_state",
    "_empty_affine_quantized",
    "_empty_per_channel_affine_quantized",
    "_make_dep_token",
    "_nested_tensor_from_tensor_list",
    "_pin_memory",
    "_resize_output",
    "_resize_output_",
    "_sparse_bsc_tensor_unsafe",
    "_sparse_bsr_tensor_unsafe",
    "_sparse_compressed_tensor_unsafe",
    "_sparse_compressed_tensor_with_dims",
    "_sparse_coo_tensor_with_dims",
    "_sparse_coo_tensor_with_dims_and_tensors",
    "_sparse_csc_tensor_unsafe",
    "_sparse_coo_tensor_unsafe",
    "_sparse_csr_tensor_unsafe",
    "Generator",
    "empty_quantized",
    "eq",
    "from_file",
    "is_pinned",
    "kaiser_window",  # rvk has no kernel for it either
    "ne",
    "pin_memory",
}
WITH_DEVICE = """
import json, torch
schemas = [s for s in torch._C._jit_get_all_schemas() if s.name.startswith("aten::")]
kinds = ("Device", "Optional[Device]")
print(json.dumps(sorted({s.name[6:] for s in schemas if any(str(a.type) in kinds for a in s.arguments)})))
"""


class Created(unittest.TestCase):
    def test_every_operator_with_a_device_is_tried(self):
        operators = set(json.loads(run("-c", WITH_DEVICE).stdout))
        self.assertGreater(len(operators), 60)
        self.assertEqual(operators - set(CREATED) - NOT_CREATED, set())

    def test_each_form_of_a_device(self):
        forms = ("'cuda'", "'cuda:0'", "torch.device('cuda')", "torch.device('cuda', 0)")
        statements = {f"{name}, {form}": f"is_rvk({call.replace(chr(39) + 'cuda' + chr(39), form)})"
                      for name, call in CREATED.items() for form in forms}
        check_each_is_done(self, statements, BEFORE)

    def test_inference_mode(self):
        statements = {name: f"with torch.inference_mode():\n    is_rvk({call})" for name, call in CREATED.items()}
        check_each_is_done(self, statements, BEFORE)


class Moved(unittest.TestCase):
    """Tensors, modules and storages, checkpoints, and objects that belong to a device."""

    STATEMENTS = {
        "to aliases": "assert on_rvk.to('cuda') is on_rvk and on_rvk.to(torch.device('cuda', 0)) is on_rvk\n"
        "assert on_rvk.to('cuda', torch.float32).data_ptr() == on_rvk.data_ptr()\n"
        "assert on_rvk.cuda() is on_rvk and on_rvk.to('cuda', copy=True) is not on_rvk",
        "to aliases without gradients": "with torch.inference_mode():\n"
        "    y = torch.ones(2, device='cuda')\n    assert y.to('cuda:0').data_ptr() == y.data_ptr()",
        "to has a gradient": "y = x.clone().requires_grad_()\n(y.to('cuda:0') * 2).sum().backward()\n"
        "assert y.grad.tolist() == [2] * 4",
        "cuda": "for y in x.cuda(), x.cuda(0), x.cuda('cuda:0'), x.cuda(torch.device('cuda')), x.cuda(non_blocking=True): is_rvk(y)",
        "module": "for move in (('to', 'cuda'), ('to', torch.device('cuda', 0)), ('cuda',), ('cuda', 0), ('to_empty',)):\n"
        "    n = torch.nn.Linear(2, 2)\n"
        "    getattr(n, move[0])(*move[1:2]) if move[0] != 'to_empty' else n.to_empty(device='cuda')\n"
        "    is_rvk(n.weight)",
        "module of a device": "is_rvk(torch.nn.Linear(2, 2, device='cuda').weight)",
        "packed sequence": "p = torch.nn.utils.rnn.pack_sequence([x])\nfor q in p.cuda(), p.to('cuda:0'), p.cuda(0): is_rvk(q.data)",
        "default device": "torch.set_default_device('cuda')\ntry:\n    is_rvk(torch.ones(2))\n    is_rvk(torch.tensor(3))\n"
        "finally: torch.set_default_device(None)",
        "device context": "with torch.device('cuda'):\n    is_rvk(torch.ones(2))\n    is_rvk(torch.nn.Linear(2, 2).weight)",
        "default tensor type": "torch.set_default_tensor_type(torch.cuda.DoubleTensor)\n"
        "try:\n    is_rvk(torch.ones(2))\n    assert torch.ones(2).dtype == torch.float64\n"
        "finally:\n    torch.set_default_tensor_type(torch.FloatTensor)\n    torch.set_default_device(None)",
        "device objects": "d = torch.device('cuda')\nassert d.type == 'cuda' and d == torch.device('cuda') and str(d) == 'cuda'",
        "type": "is_rvk(x.type('torch.cuda.FloatTensor'))\nis_rvk(x.type(torch.cuda.HalfTensor))",
        "is_cuda": "assert on_rvk.is_cuda and not x.is_cuda",
        "generator": "g = torch.Generator(device='cuda')\nis_rvk(g)\nis_rvk(torch.Generator('cuda:0'))\n"
        "assert isinstance(g, torch.Generator) and isinstance(torch.default_generator, torch.Generator)\n"
        "assert issubclass(type(torch.default_generator), torch.Generator)\n"
        "is_rvk(torch.rand(2, device='cuda', generator=g.manual_seed(3)))\nassert torch.Generator | None",
        "generator of a subclass": "class Mine(torch.Generator):\n    pass\n"
        "assert type(Mine('cuda')) is Mine and not isinstance(torch.Generator(), Mine)",
        "stream, event": "is_rvk(torch.Stream('cuda'))\nis_rvk(torch.Stream(device=torch.device('cuda', 0)))\n"
        "e = torch.Event('cuda')\ne.record(torch.cuda.current_stream())\ne.synchronize()",
        "accelerator": "torch.accelerator.synchronize('cuda')\ntorch.accelerator.set_device_index(torch.device('cuda:0'))\n"
        "torch.accelerator.memory_allocated('cuda')\nis_rvk(torch.accelerator.current_stream('cuda'))",
        "device module": "assert torch.get_device_module('cuda') is torch.cuda",
        "fork_rng": "with torch.random.fork_rng(devices=[0]): a = torch.rand(3, device='cuda')\n"
        "assert torch.equal(a, torch.rand(3, device='cuda'))",
        "pin_memory": "assert x.pin_memory('cuda').is_pinned('cuda')",
        "DataLoader": "for batch in DataLoader(x, 2, pin_memory=True, pin_memory_device='cuda'): is_rvk(batch.cuda(non_blocking=True))",
        "storages": "for s in torch.UntypedStorage(4, device='cuda'), torch.TypedStorage(4, dtype=torch.float32, device='cuda'):\n"
        "    is_rvk(s)\n"
        "is_rvk(x.untyped_storage().cuda())\nis_rvk(x.untyped_storage().to(device='cuda'))\nis_rvk(x.storage().cuda(0))",
        "load": "f = io.BytesIO()\ntorch.save(x, f)\n"
        "for place in 'cuda', 'cuda:0', torch.device('cuda'), torch.device('cuda', 0), {'cpu': 'cuda:0'}, (lambda s, l: s.cuda(0)), "
        "(lambda s, l: s.cuda()):\n"
        "    f.seek(0)\n    y = torch.load(f, map_location=place)\n    is_rvk(y)\n    assert y.tolist() == x.tolist()",
        "load what was saved on cuda": "from torch import serialization as s\nf = io.BytesIO()\n"
        "tag = s.location_tag\ns.location_tag = lambda storage: 'cuda:0'\n"
        "try: torch.save(x, f)\nfinally: s.location_tag = tag\n"
        "for place in None, 'cuda', {'cuda:0': 'cuda:0'}:\n    f.seek(0)\n    is_rvk(torch.load(f, map_location=place))\n"
        "f.seek(0)\nassert torch.load(f, map_location='cpu').device.type == 'cpu'",
        "jit.load": "f = io.BytesIO()\ntorch.jit.save(torch.jit.script(torch.nn.Linear(2, 2)), f)\n"
        "for place in 'cuda', torch.device('cuda:0'):\n    f.seek(0)\n    is_rvk(torch.jit.load(f, map_location=place).weight)",
        "operators of the script": "from torch.library import custom_op\n"
        "@custom_op('own::double', mutates_args=(), device_types='cuda')\ndef double(x: torch.Tensor) -> torch.Tensor:\n    return x * 2\n"
        "assert double(on_rvk).tolist() == [0, 2, 4, 6]\n"
        "fragment = torch.library.Library('own', 'FRAGMENT')\nfragment.define('three(Tensor x) -> Tensor')\n"
        "torch.library.impl(fragment, 'three', 'CUDA')(lambda x: x * 3)\nfragment.define('four(Tensor x) -> Tensor')\n"
        "fragment.impl('four', lambda x: x * 4, 'CUDA')\n"
        "assert torch.ops.own.three(on_rvk)[1] == 3 and torch.ops.own.four(on_rvk)[1] == 4",
        "operators that need CUDA": "fails(lambda: torch.ops.aten._cudnn_init_dropout_state(0.5, True, 3, device='cuda'), Exception)",
        "threads": "import threading\nfound = []\n"
        "t = threading.Thread(target=lambda: found.append(torch.zeros(2, device='cuda')))\nt.start()\nt.join()\nis_rvk(found[0])",
    }

    def test_each(self):
        check_each_is_done(self, self.STATEMENTS, BEFORE)


if __name__ == "__main__":
    unittest.main()
