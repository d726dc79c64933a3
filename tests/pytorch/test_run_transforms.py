"""torch_rvk.run leaves PyTorch's functions as they are: TorchScript, torch.func, torch.compile, torch.export and torch.fx
work with scripts that create tensors on CUDA."""

import json
import subprocess
import sys
import unittest

from run_support import SECONDS, check_each_is_done, run, run_text

# A file, because torch.jit.script reads the source of what it compiles.
PROGRAM = """
import copy, inspect, io, json, pickle
import torch
from torch import Tensor

x = torch.arange(4.0, device="cuda")
on_cpu = x.cpu()

def close(ours, theirs):
    torch.testing.assert_close(ours.cpu(), theirs.cpu())

def is_rvk(*tensors):
    for tensor in tensors:
        assert tensor.device.type == "rvk", tensor.device

# TorchScript

class Positions(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 4)
        self.register_buffer("table", torch.ones(4))

    def forward(self, x: Tensor) -> Tensor:
        steps = torch.arange(4, device="cuda", dtype=torch.float32)
        noise = torch.zeros(4, device=torch.device("cuda")) + torch.zeros_like(x, device="cuda:0")
        full = x.new_full((4,), 2.0, device=torch.device("cuda:0"))
        mask = torch.tensor([True, False, True, True], device="cuda")
        return torch.where(mask, self.layer(x.cuda()) + steps + noise + full.to("cuda"), self.table.to(torch.device("cuda:0")))

@torch.jit.script
def factories(n: int):
    return [torch.empty(n, device="cuda").zero_(), torch.ones(n, device="cuda:0"), torch.rand(n, device=torch.device("cuda")),
            torch.randn([n], device="cuda"), torch.full([n], 2.0, device="cuda"), torch.eye(n, device="cuda"),
            torch.linspace(0.0, 1.0, n, device="cuda"), torch.randint(0, 4, [n], device="cuda"),
            torch.randperm(n, device="cuda"), torch.scalar_tensor(1.0, device="cuda"), torch.tensor(3.0, device="cuda"),
            torch.hann_window(n, device="cuda"), torch.tril_indices(n, n, device="cuda"), torch.zeros(n).cuda(),
            torch.zeros(n).to("cuda", torch.float64), torch.empty_strided([n], [1], device="cuda").fill_(1.0)]

@torch.jit.script
def moved_in_place(x: Tensor) -> Tensor:
    y = x.to("cuda:0")
    y.add_(1.0)
    return x

@torch.jit.script
def annotated(x: Tensor, generator: torch.Generator | None = None) -> Tensor:
    return torch.nn.init.normal_(x, 0.0, 1.0, generator)

@torch.jit.script
def generated(x: Tensor) -> Tensor:
    return torch.rand([4], generator=torch.Generator(device="cpu")).cuda()

@torch.jit.script
def with_state(x: Tensor) -> bool:
    return torch.is_autocast_enabled()

def is_cuda():
    branch = torch.compile(lambda x: x + 1 if x.is_cuda else x - 1, backend="eager", fullgraph=True)
    close(branch(x), x + 1)
    close(branch(on_cpu), x - 1)

def scripted_module():
    torch.manual_seed(0)
    module = Positions().cuda()
    expected = module(x)
    is_rvk(expected)
    scripted = torch.jit.script(module)
    for _ in range(3):
        close(scripted(x), expected)
    close(torch.jit.freeze(scripted.eval())(x), expected)
    close(torch.jit.optimize_for_inference(torch.jit.script(module.eval()))(x), expected)
    file = io.BytesIO()
    torch.jit.save(scripted, file)
    for place in (None, "cuda", torch.device("cuda")):
        file.seek(0)
        close(torch.jit.load(file, map_location=place)(x), expected)
    scripted(x).sum().backward()
    assert module.layer.weight.grad is not None

def scripted_functions():
    is_rvk(*factories(5))
    for _ in range(3):
        y = x.clone()
        assert moved_in_place(y) is y or torch.equal(moved_in_place(y), y)
    y = x.clone()
    moved_in_place(y)
    close(y, x + 1)
    is_rvk(annotated(x.clone()), annotated(x.clone(), torch.Generator("cuda")))
    is_rvk(generated(x))
    assert not with_state(x)

def traced():
    module = Positions().cuda()
    close(torch.jit.trace(module, (x,))(x + 1), module(x + 1))
    function = torch.jit.trace(lambda x: torch.ones_like(x, device="cuda") + torch.zeros(4, device="cuda") + x.to("cuda"), (x,))
    close(function(x), x + 1)
    assert "cuda" in str(function.graph) or "rvk" in str(function.graph)

def scripted_names():
    for f in (torch.zeros, torch.rand, torch.arange, torch.tensor, torch.autocast):
        assert torch.jit._builtins._find_builtin(f) or f is torch.autocast
    close(torch.jit.script(torch.nn.Sequential(torch.nn.Linear(4, 4, bias=False), torch.nn.Dropout(0.0)).cuda())(x * 0).sum(), x.sum() * 0)
    torch.jit.script(torch.nn.LSTM(4, 4).cuda())
    torch.jit.script(torch.nn.MultiheadAttention(4, 2).cuda())
    torch.jit.script(torch.nn.functional.dropout)

# torch.func

def f(x):
    return (x * torch.ones(4, device="cuda") + torch.arange(4.0, device="cuda").to(x.dtype)).sin() * torch.full_like(x, 2.0, device="cuda")

def g(x):
    return (x * torch.ones(4) + torch.arange(4.0)).sin() * torch.full_like(x, 2.0)

def transforms():
    func = torch.func
    close(func.grad(lambda x: f(x).sum())(x), func.grad(lambda x: g(x).sum())(on_cpu))
    for ours, theirs in zip(func.jvp(f, (x,), (torch.ones_like(x),)), func.jvp(g, (on_cpu,), (torch.ones(4),))):
        close(ours, theirs)
    ours, pull = func.vjp(f, x)
    theirs, pull_on_cpu = func.vjp(g, on_cpu)
    close(ours, theirs)
    close(pull(torch.ones(4, device="cuda"))[0], pull_on_cpu(torch.ones(4))[0])
    for jacobian in (func.jacrev, func.jacfwd, func.hessian):
        close(jacobian(f)(x), jacobian(g)(on_cpu))
    close(torch.vmap(f)(x.expand(3, 4)), torch.vmap(g)(on_cpu.expand(3, 4)))
    close(torch.vmap(lambda y: f(y) + torch.rand(4, device="cuda") * 0, randomness="different")(x.expand(3, 4)), g(on_cpu).expand(3, 4))
    close(torch.vmap(lambda y: y.to("cuda:0") + y.new_ones(4, device="cuda"))(x.expand(3, 4)), x.expand(3, 4) + 1)
    close(func.vmap(func.grad(lambda x: f(x).sum()))(x.expand(3, 4)), func.vmap(func.grad(lambda x: g(x).sum()))(on_cpu.expand(3, 4)))
    module = Positions().cuda()
    close(func.functional_call(module, dict(module.named_parameters()), (x,)), module(x))
    close(func.linearize(f, x)[1](torch.ones(4, device="cuda")), func.linearize(g, on_cpu)[1](torch.ones(4)))
    close(func.functionalize(f)(x), g(on_cpu))
    tangent = func.jvp(g, (on_cpu,), (torch.ones(4),))[1]
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(x, torch.ones(4, device="cuda"))
        close(torch.autograd.forward_ad.unpack_dual(f(dual)).tangent, tangent)
    close(torch.autograd.functional.jacobian(f, x), torch.autograd.functional.jacobian(g, on_cpu))

# Graphs

def compiled():
    for backend in ("eager", "aot_eager"):
        torch._dynamo.reset()
        close(torch.compile(f, backend=backend, fullgraph=True)(x), g(on_cpu))
        y = x.clone().requires_grad_()
        torch.compile(lambda x: f(x).sum() + torch.zeros((), device=torch.device("cuda")), backend=backend)(y).backward()
        close(y.grad, torch.func.grad(lambda x: g(x).sum())(on_cpu))
        close(torch.compile(lambda x: x.to("cuda:0") + torch.zeros(4).cuda(), backend=backend)(x), on_cpu)

def compiled_autocast():
    def product(y):
        with torch.autocast("cuda", dtype=torch.bfloat16):
            return y @ y
    y = x.reshape(2, 2)
    for backend in ("eager", "aot_eager"):
        torch._dynamo.reset()
        assert torch.compile(product, backend=backend)(y).dtype == torch.bfloat16
    with torch.autocast("cuda"):
        assert torch.compile(lambda y: y @ y, backend="eager")(y).dtype == torch.float16

class Plain(torch.nn.Module):
    def forward(self, x):
        return f(x)

def exported():
    program = torch.export.export(Plain(), (x,))
    close(program.module()(x), g(on_cpu))
    close(torch.fx.symbolic_trace(Plain())(x), g(on_cpu))
    from torch.fx.experimental.proxy_tensor import make_fx
    for mode in ("real", "fake", "symbolic"):
        close(make_fx(f, tracing_mode=mode)(x)(x), g(on_cpu))

def fake():
    from torch._subclasses import FakeTensorMode
    with FakeTensorMode() as mode:
        y = torch.ones(4, device="cuda") + mode.from_tensor(x) + torch.rand(4).cuda()
        is_rvk(y, torch.empty(2, device="cuda:0"), y.to("cuda"), torch.zeros_like(y, device="cuda"))

# Objects

def copies():
    for function in (torch.zeros, torch.rand, torch.compile, torch.load, torch.cuda.synchronize, torch.cuda.memory_allocated,
                     torch.set_autocast_enabled, torch.Generator, torch.Event, torch.cuda.Stream, torch.cuda.FloatTensor):
        assert pickle.loads(pickle.dumps(function)) is function and copy.deepcopy(function) is function, function
    module = copy.deepcopy(Positions().cuda())
    close(pickle.loads(pickle.dumps(module.table)), module.table)
    generator = torch.Generator("cuda").manual_seed(3)
    assert generator.clone_state().initial_seed() == 3

def untouched():
    assert type(torch.zeros).__name__ == "builtin_function_or_method" and not hasattr(torch.Tensor.to, "__wrapped__")

outcomes = {}
for name, function in list(globals().items()):
    if callable(function) and getattr(function, "__module__", "") == "__main__" and name in NAMES:
        try: function(); outcomes[name] = "done"
        except BaseException as error:
            import traceback
            traceback.print_exc()
            outcomes[name] = f"{type(error).__name__}: {str(error)[:400]}"
print(json.dumps(outcomes))
"""
NAMES = (
    "scripted_module",
    "scripted_functions",
    "scripted_names",
    "is_cuda",
    "traced",
    "transforms",
    "compiled",
    "compiled_autocast",
    "exported",
    "fake",
    "copies",
    "untouched",
)


# Prints the parameters of functions that run replaces, and of related ones that it does not replace.
SIGNATURES = """
import inspect, json, torch, torch.utils.cpp_extension
functions = [torch.compile, torch.set_default_tensor_type, torch.autocast, torch.amp.autocast, torch.amp.custom_fwd,
             torch.amp.custom_bwd, torch.amp.GradScaler, torch.nn.Module.to, torch.nn.Module.cuda, torch.load, torch.jit.load,
             torch.profiler.profile, torch.autograd.profiler.profile, torch.nn.DataParallel, torch.library.Library.impl,
             torch.nn.utils.rnn.PackedSequence.to, torch.utils.cpp_extension.load, torch.distributed.init_process_group,
             torch.nn.parallel.data_parallel]
print(json.dumps({function.__module__ + "." + function.__qualname__: str(inspect.signature(function)) for function in functions}))
"""


class Transforms(unittest.TestCase):
    def test_signatures(self):
        command = [sys.executable, "-c", SIGNATURES]
        plain = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=True)
        self.assertEqual(json.loads(run("-c", SIGNATURES).stdout), json.loads(plain.stdout))

    def test_each(self):
        result, _ = run_text(f"NAMES = {NAMES!r}\n{PROGRAM}")
        self.assertEqual(result.returncode, 0, result.stderr)
        outcomes = json.loads(result.stdout.splitlines()[-1])
        for name in NAMES:
            with self.subTest(name):
                self.assertEqual(outcomes.get(name), "done", result.stderr)


class Compile(unittest.TestCase):
    """The default backend of torch.compile generates code for other devices; models run eagerly."""

    BEFORE = """
import io, torch
x = torch.arange(4.0, device="cuda")
"""
    STATEMENTS = {
        "a module": "m = torch.nn.Linear(4, 4).cuda()\nc = torch.compile(m)\nassert torch.equal(c(x), m(x)) and c._orig_mod is m\n"
        "assert list(c.state_dict()) == ['_orig_mod.weight', '_orig_mod.bias']\n"
        "c.load_state_dict(c.state_dict())\nc(x).sum().backward()\nassert m.weight.grad is not None\nassert c.eval() is c and not m.training",
        "a module's method": "m = torch.nn.Linear(4, 4).cuda()\nm.compile()\nassert m(x).shape == (4,)",
        "a function": "f = torch.compile(lambda x: x + 1, mode='max-autotune', fullgraph=True, dynamic=True)\nassert f(x).tolist() == [1, 2, 3, 4]",
        "a decorator": "@torch.compile(backend='inductor', options={'shape_padding': True})\ndef f(x):\n    return x + 1\nassert f(x).tolist() == [1, 2, 3, 4]",
        "a decorator without arguments": "@torch.compile\ndef f(x):\n    return x + 1\nassert f(x).tolist() == [1, 2, 3, 4]",
        "TorchDynamo": "m = torch.nn.Linear(4, 4).cuda()\n"
        "for way in (torch._dynamo.optimize('inductor'), torch._dynamo.optimize(), torch._dynamo.optimize('inductor', nopython=True), "
        "torch._dynamo.optimize_assert('inductor'), torch._dynamo.optimize('cudagraphs')):\n"
        "    torch._dynamo.reset()\n    y = way(m)(x)\n    assert torch.equal(y, m(x))\n    y.sum().backward()",
        "TorchInductor": "from torch._inductor.compile_fx import compile_fx\nm = torch.nn.Linear(4, 4).cuda()\n"
        "assert torch.equal(torch.compile(m, backend=compile_fx)(x), m(x))\n"
        "assert torch.equal(torch._inductor.compile(torch.fx.symbolic_trace(m), [x])(x), m(x))",
        "another backend": "graphs = []\ndef own(graph, inputs):\n    graphs.append(graph)\n    return graph\n"
        "torch.compile(lambda x: x + 1, backend=own)(x)\nassert len(graphs) == 1",
        "switched off": "m = torch.nn.Linear(4, 4).cuda()\nassert torch.compile(m, disable=True)(x).shape == (4,)",
        "convolution in channels_last": "m = torch.nn.Conv2d(3, 4, 3).cuda().to(memory_format=torch.channels_last)\n"
        "y = torch.compile(m)(torch.ones(2, 3, 5, 5, device='cuda').to(memory_format=torch.channels_last))\ny.flatten(1).sum().backward()",
        "attention": "q = torch.ones(2, 3, 5, 4, device='cuda', requires_grad=True)\n"
        "torch.compile(torch.nn.functional.scaled_dot_product_attention)(q, q, q).sum().backward()",
    }

    def test_each(self):
        check_each_is_done(self, self.STATEMENTS, self.BEFORE)

    def test_ahead_of_time_ends_with_a_sentence(self):
        result = run("-c", f"{self.BEFORE}\nprogram = torch.export.export(torch.nn.Linear(4, 4).cuda(), (x,))\n"
                     "torch._inductor.aoti_compile_and_package(program)")
        self.assertEqual(result.returncode, 3, result.stderr)
        self.assertIn("AOTInductor cannot be mapped to rvk: there is no code generator", result.stderr)

    def test_said_once(self):
        result = run("-c", "import torch\nfor _ in range(2): torch.compile(torch.nn.Linear(2, 2))")
        self.assertEqual(result.stderr.count("torch.compile → runs eagerly"), 1, result.stderr)


if __name__ == "__main__":
    unittest.main()
