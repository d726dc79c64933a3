"""torch_rvk.run: mixed precision written for CUDA uses the same dtypes as on CUDA."""

import unittest

from run_support import check_each_is_done

BEFORE = """
import torch
from torch.utils.checkpoint import checkpoint

half, brain, single = torch.float16, torch.bfloat16, torch.float32
a = torch.ones(2, 2, device="cuda")

def state():
    return torch.is_autocast_enabled(), torch.get_autocast_gpu_dtype()

def product():
    return (a @ a).dtype

def raises(call):
    try: call()
    except Exception: return True

def function(**options):
    class Product(torch.autograd.Function):
        @staticmethod
        @forward_decorator(**options)
        def forward(ctx, x):
            inside.append((x.dtype, (x @ x).dtype, torch.is_autocast_enabled("cuda"), torch.is_autocast_enabled("rvk")))
            return x.sum()
        @staticmethod
        @backward_decorator
        def backward(ctx, gradient):
            inside.append(((a @ a).dtype, torch.is_autocast_enabled()))
            return gradient.expand(2, 2)
    return Product

def check_function(expected_forward, expected_backward, **options):
    inside.clear()
    x = a.half().requires_grad_()
    with torch.autocast("cuda", dtype=half):
        loss = function(**options).apply(x)
    loss.backward()
    assert inside == [expected_forward, expected_backward], inside

def scripted(body):
    # torch.jit.script needs a source file.
    import importlib.util, tempfile, textwrap
    with tempfile.NamedTemporaryFile("w", suffix=".py") as file:
        file.write("import torch\\n@torch.jit.script\\ndef f(x):\\n" + textwrap.indent(body, "    ") + "\\n")
        file.flush()
        spec = importlib.util.spec_from_file_location("scripted", file.name)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return module.f

inside = []
forward_decorator = backward_decorator = None
"""

_DECORATORS = {
    "torch.amp": ("functools.partial(torch.amp.custom_fwd, device_type='cuda')", "torch.amp.custom_bwd(device_type='cuda')"),
    "torch.cuda.amp": ("torch.cuda.amp.custom_fwd", "torch.cuda.amp.custom_bwd"),
    "torch.rvk.amp": ("torch.rvk.amp.custom_fwd", "torch.rvk.amp.custom_bwd"),
}
_USE = "global forward_decorator, backward_decorator\nimport functools\nforward_decorator, backward_decorator = {}, {}\n"


def custom_functions():
    """custom_fwd and custom_bwd, with and without cast_inputs."""
    statements = {}
    for name, decorators in _DECORATORS.items():
        use = _USE.format(*decorators)
        statements[f"{name}.custom_fwd"] = f"{use}check_function((half, half, True, True), (half, True))"
        statements[f"{name}.custom_fwd, cast_inputs"] = (
            f"{use}check_function((single, single, False, False), (single, False), cast_inputs=single)"
        )
    return statements


class State(unittest.TestCase):
    """Everything that reads or sets autocast's state, inside and outside every way to enter autocast."""

    WAYS = {
        "torch.autocast('cuda')": "half",
        "torch.autocast('cuda', dtype=torch.bfloat16)": "brain",
        "torch.autocast(device_type='cuda', dtype=torch.float16)": "half",
        "torch.amp.autocast('cuda', brain)": "brain",
        "torch.cuda.amp.autocast()": "half",
        "torch.cuda.amp.autocast(dtype=torch.bfloat16)": "brain",
        "torch.autocast('rvk', dtype=torch.bfloat16)": "brain",
        "torch.rvk.amp.autocast()": "half",
    }
    QUESTIONS = {
        "is_autocast_enabled()": "torch.is_autocast_enabled() is True",
        "is_autocast_enabled('cuda')": "torch.is_autocast_enabled('cuda') is True",
        "is_autocast_enabled('rvk')": "torch.is_autocast_enabled('rvk') is True",
        "get_autocast_gpu_dtype()": "torch.get_autocast_gpu_dtype() == DTYPE",
        "get_autocast_dtype('cuda')": "torch.get_autocast_dtype('cuda') == DTYPE",
        "get_autocast_dtype('rvk')": "torch.get_autocast_dtype('rvk') == DTYPE",
        "a product": "product() == DTYPE",
        "a loss": "torch.nn.functional.mse_loss(a.half(), a.half()).dtype == single",
        "is_autocast_available": "torch.amp.is_autocast_available('cuda') and torch.amp.autocast_mode.is_autocast_available('cuda')",
        "the CPU": "not torch.is_autocast_enabled('cpu') and (a.cpu() @ a.cpu()).dtype == single",
        "disabled inside": "inner(False) == (False, single)",
        "another dtype inside": "inner(True) == (True, half)",
        "checkpoint": "checkpoint(lambda x: x @ a, a.clone().requires_grad_(), use_reentrant=False).dtype == DTYPE",
        "a thread has its own state": "in_thread() == [False]",
    }
    HELPERS = BEFORE + """
def inner(enabled):
    with torch.autocast("cuda", dtype=half, enabled=enabled):
        return torch.is_autocast_enabled(), product()

def in_thread():
    import threading
    found = []
    thread = threading.Thread(target=lambda: found.append(torch.is_autocast_enabled()))
    thread.start()
    thread.join()
    return found
"""

    def test_each_question_in_each_way(self):
        statements = {
            f"{question}, {way}": f"before = state()\nwith {way}:\n    assert {check.replace('DTYPE', dtype)}\n"
            "assert state() == before and product() == single and not torch.is_autocast_enabled('rvk')"
            for way, dtype in self.WAYS.items()
            for question, check in self.QUESTIONS.items()
        }
        check_each_is_done(self, statements, self.HELPERS)

    SETTERS = {
        "set_autocast_enabled(True)": "torch.set_autocast_enabled(True)",
        "set_autocast_enabled('cuda', True)": "torch.set_autocast_enabled('cuda', True)",
        "set_autocast_enabled(device_type=, enabled=)": "torch.set_autocast_enabled(device_type='cuda', enabled=True)",
        "set_autocast_enabled('rvk', True)": "torch.set_autocast_enabled('rvk', True)",
    }
    DTYPE_SETTERS = {
        "set_autocast_gpu_dtype": "torch.set_autocast_gpu_dtype(brain)",
        "set_autocast_dtype('cuda')": "torch.set_autocast_dtype('cuda', brain)",
        "set_autocast_dtype('rvk')": "torch.set_autocast_dtype('rvk', brain)",
    }

    def test_setters(self):
        statements = {}
        for name, setter in self.SETTERS.items():
            for dtype_name, dtype_setter in self.DTYPE_SETTERS.items():
                statements[f"{name}, {dtype_name}"] = (
                    f"torch.autocast_increment_nesting()\ntry:\n    {setter}\n    {dtype_setter}\n"
                    "    assert state() == (True, brain) and torch.is_autocast_enabled('rvk') and product() == brain\n"
                    "    torch.set_autocast_dtype('cuda', half)\n    assert product() == half\n"
                    "finally:\n    torch.set_autocast_enabled(False)\n    torch.autocast_decrement_nesting()\n"
                    "    torch.clear_autocast_cache()\nassert state() == (False, half) and product() == single"
                )
        statements["of the CPU"] = (
            "torch.set_autocast_enabled('cpu', True)\ntry:\n    assert state()[0] is False\n"
            "    torch.set_autocast_dtype('cpu', half)\n    assert torch.get_autocast_dtype('cpu') == half\n"
            "finally:\n    torch.set_autocast_enabled('cpu', False)\n    torch.set_autocast_dtype('cpu', brain)"
        )
        statements["wrong arguments"] = (
            "assert raises(lambda: torch.set_autocast_enabled()) and raises(lambda: torch.set_autocast_dtype('cuda'))\n"
            "assert raises(lambda: torch.set_autocast_enabled('no such device', True))"
        )
        check_each_is_done(self, statements, self.HELPERS)


class Uses(unittest.TestCase):
    """Code that asks for autocast's state, or that names a device type."""

    STATEMENTS = {
        "the cache of weights": "w = a.clone().requires_grad_()\nwith torch.autocast('cuda'):\n"
        "    assert torch.is_autocast_cache_enabled()\n    w @ w\n"
        "with torch.autocast('cuda', cache_enabled=False):\n    assert not torch.is_autocast_cache_enabled()",
        "a decorated function": "@torch.autocast('cuda', dtype=brain)\ndef f():\n    return product()\nassert f() == brain",
        "register_autocast": "from torch.library import custom_op, register_autocast\n"
        "@custom_op('own::kind', mutates_args=())\ndef kind(x: torch.Tensor) -> torch.Tensor:\n    return x + x\n"
        "register_autocast('own::kind', 'cuda', half)\nkind.register_autocast('cuda', brain)\n"
        "with torch.autocast('cuda'): assert kind(a).dtype in (half, brain)\nassert kind(a).dtype == single",
        "a kernel for AutocastCUDA": "mine = torch.library.Library('mine', 'DEF')\nmine.define('kind(Tensor x) -> Tensor')\n"
        "def kernel(x):\n"
        "    with torch._C._ExcludeDispatchKeyGuard(torch._C.DispatchKeySet(torch._C.DispatchKey.AutocastCUDA)):\n"
        "        return torch.ops.mine.kind(x.to(brain))\n"
        "mine.impl('kind', kernel, 'AutocastCUDA')\nmine.impl('kind', lambda x: x + x, 'CUDA')\n"
        "with torch.autocast('cuda'): assert torch.ops.mine.kind(a).dtype == brain\nassert torch.ops.mine.kind(a).dtype == single",
        "GradScaler": "w = a.clone().requires_grad_()\noptimizer = torch.optim.SGD([w], 0.1)\n"
        "for scaler in torch.amp.GradScaler('cuda', 64.0), torch.amp.GradScaler(init_scale=64.0), torch.cuda.amp.GradScaler(init_scale=8.0):\n"
        "    assert scaler.is_enabled()\n    optimizer.zero_grad()\n    with torch.autocast('cuda'): loss = (w @ w).sum()\n"
        "    scaler.scale(loss).backward()\n    assert w.grad.abs().max() > 8\n    scaler.unscale_(optimizer)\n"
        "    assert w.grad.abs().max() < 16\n"
        "    scaler.step(optimizer)\n    scaler.update()\n    scaler.load_state_dict(scaler.state_dict())\n"
        "    w.grad[0, 0] = torch.inf\n    before, scale = w.tolist(), scaler.get_scale()\n    scaler.step(optimizer)\n"
        "    scaler.update()\n    assert w.tolist() == before and scaler.get_scale() == scale / 2",
        "checkpoint, reentrant": "with torch.autocast('cuda', dtype=brain):\n"
        "    seen = []\n    def f(x):\n        seen.append((x @ a).dtype)\n        return x * 2\n"
        "    y = checkpoint(f, a.clone().requires_grad_(), use_reentrant=True)\ny.sum().backward()\n"
        "assert seen == [brain, brain], seen",
        "checkpoint, not reentrant": "with torch.autocast('cuda', dtype=brain):\n"
        "    seen = []\n    def f(x):\n        seen.append((x @ a).dtype)\n        return (x * x).sin()\n"
        "    y = checkpoint(f, a.clone().requires_grad_(), use_reentrant=False)\ny.sum().backward()\n"
        "assert seen == [brain, brain], seen",
        "an eager function called by a scripted one": "@torch.jit.script\ndef f(x):\n    return x @ x\n"
        "with torch.autocast('cuda', dtype=brain): assert f(a).dtype == brain, f(a).dtype",
        "autocast in a scripted function": "f = scripted('with torch.autocast(\"cuda\"):\\n    y = x @ x\\n'\n"
        "    '    with torch.autocast(\"cuda\", enabled=False):\\n        z = y.float() @ y.float()\\nreturn y, z')\n"
        "y, z = f(a)\nassert (y.dtype, z.dtype) == (half, single), (y.dtype, z.dtype)",
        "vmap": "with torch.autocast('cuda', dtype=brain): assert torch.vmap(lambda x: x @ x)(a.expand(3, 2, 2)).dtype == brain",
        "a layer": "with torch.autocast('cuda', dtype=brain): assert torch.nn.Linear(2, 2).cuda()(a).dtype == brain",
        "attention": "q = torch.ones(1, 1, 2, 4, device='cuda')\nwith torch.autocast('cuda', dtype=half):\n"
        "    assert torch.nn.functional.scaled_dot_product_attention(q, q, q).dtype == half",
        "layers that add up": "with torch.autocast('cuda'): assert torch.nn.LayerNorm(2).cuda()(a.half()).dtype == single",
        "state_dict of the mode": "c = torch.autocast('cuda', dtype=brain)\nassert c.device == 'cuda' and c.fast_dtype == brain",
    }

    def test_custom_functions(self):
        check_each_is_done(self, custom_functions(), BEFORE)

    def test_each(self):
        check_each_is_done(self, self.STATEMENTS, BEFORE)


if __name__ == "__main__":
    unittest.main()
