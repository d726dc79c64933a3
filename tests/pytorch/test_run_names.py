"""torch_rvk.run replaces names of torch.cuda: each stays a function, class or value, with the same parameters, and each call
ends in a defined way."""

import json
import subprocess
import sys
import unittest

from run_support import SECONDS, check_each_is_done, run

MODULES = (
    "torch.cuda",
    "torch.cuda.amp",
    "torch.cuda.amp.autocast_mode",
    "torch.cuda.amp.common",
    "torch.cuda.amp.grad_scaler",
    "torch.cuda.comm",
    "torch.cuda.gds",
    "torch.cuda.graphs",
    "torch.cuda.green_contexts",
    "torch.cuda.jiterator",
    "torch.cuda.memory",
    "torch.cuda.nccl",
    "torch.cuda.nvtx",
    "torch.cuda.profiler",
    "torch.cuda.random",
    "torch.cuda.sparse",
    "torch.cuda.streams",
    "torch.cuda.tunable",
    "torch.backends.cuda",
    "torch.backends.cudnn",
)

# Prints {module: {name: [kind, signature]}} of every public name.
DESCRIBE = f"""
import importlib, inspect, json, types, torch

def kind(value):
    if isinstance(value, types.ModuleType): return "module"
    if isinstance(value, type): return "class"
    return "function" if callable(value) else "value"

def signature(value):
    try: return str(inspect.signature(value)) if kind(value) == "function" else ""
    except (TypeError, ValueError): return ""

names = {{}}
for module_name in {MODULES!r}:
    module = importlib.import_module(module_name)
    public = [name for name in dir(module) if not name.startswith("_")]
    names[module_name] = {{name: [kind(getattr(module, name)), signature(getattr(module, name))] for name in public}}
print(json.dumps(names))
"""

# Tries every class where Python and other libraries use a class, and prints what failed.
USE_CLASSES = f"""
import importlib, json, pickle, typing, torch

def uses(cls):
    yield "isinstance", lambda: isinstance(1, cls)
    yield "issubclass", lambda: issubclass(int, cls)
    yield "|", lambda: cls | None
    yield "Optional", lambda: typing.Optional[cls]
    yield "annotation", lambda: typing.get_type_hints(annotated(cls))
    yield "pickle", lambda: pickle.loads(pickle.dumps(cls)) is cls or 1 / 0
    yield "match", lambda: matches(cls)
    if cls.__module__ in ("torch.cuda.graphs", "torch.cuda.streams", "torch.cuda.memory", "torch.cuda", "torch.cuda.gds"):
        yield "subclass", lambda: type("Sub", (cls,), {{}})

def annotated(cls):
    def function(x: cls | None = None) -> typing.Optional[cls]: pass
    return function

def matches(cls):
    try:
        raise ValueError
    except ValueError as error:
        return isinstance(error, (cls, int))

failed, tried = [], 0
for module_name in {MODULES!r}:
    for name, value in vars(importlib.import_module(module_name)).items():
        if not isinstance(value, type) or name.startswith("_") or not value.__module__.startswith("torch."):
            continue
        for use, attempt in uses(value):
            tried += 1
            try: attempt()
            except BaseException as error: failed.append(f"{{module_name}}.{{name}}, {{use}}: {{error!r}}")
print(json.dumps([tried, failed]))
"""

# Arguments of functions and classes that cannot be called without any. Keys are names, or full names where two modules
# use the same name differently. x is a tensor.
ARGUMENTS = {
    "CUDAPluggableAllocator": "'allocator.so', 'allocate', 'free'",
    "CudaError": "0",
    "DeferredCudaCallError": "'text'",
    "ExternalStream": "1234",
    "GdsFile": "'file', 0",
    "SDPAParams": "x, x, x, None, 0.0, False, False",
    "SDPBackend": "0",
    "SMPartition": "None, 0",
    "StreamContext": "torch.cuda.Stream()",
    "all_gather": "[x], [x]",
    "all_reduce": "[x]",
    "allow_fp16_bf16_reduction_math_sdp": "False",
    "broadcast": "x, [0, 0]",
    "broadcast_coalesced": "[x, x], [0, 0]",
    "caching_allocator_alloc": "1024",
    "caching_allocator_delete": "1234",
    "can_device_access_peer": "0, 0",
    "can_use_cudnn_attention": "None",
    "can_use_efficient_attention": "None",
    "can_use_flash_attention": "None",
    "change_current_allocator": "None",
    "check_error": "0",
    "cuFFTPlanCache": "0",
    "cuFFTPlanCacheAttrContextProp": "None, None",
    "custom_bwd": "lambda context, gradient: gradient",
    "device": "0",
    "device_of": "x",
    "enable_cudnn_sdp": "True",
    "enable_flash_sdp": "True",
    "enable_math_sdp": "True",
    "enable_mem_efficient_sdp": "True",
    "export_dot": "'graph.dot'",
    "export_graph_data": "'graph.pickle'",
    "gather": "[x, x]",
    "gds_deregister_buffer": "x.untyped_storage()",
    "gds_register_buffer": "x.untyped_storage()",
    "get_stream_from_external": "1234",
    "graph": "None",
    "init_rank": "1, b'', 0",
    "make_graphed_callables": "torch.nn.Linear(1, 1).cuda(), (x,)",
    "manual_seed": "3",
    "manual_seed_all": "3",
    "mark": "'text'",
    "mgpu_tune_gemm_in_file": "'file', 1",
    "range": "'text'",
    "range_end": "0",
    "range_push": "'text'",
    "range_start": "'text'",
    "register_graph_capture_end_hook": "print",
    "register_graph_capture_start_hook": "print",
    "register_graph_destroy_hook": "print",
    "register_graph_instantiate_hook": "print",
    "register_graph_replay_end_hook": "print",
    "register_graph_replay_start_hook": "print",
    "reduce": "[x]",
    "reduce_add": "[x, x]",
    "reduce_add_coalesced": "[[x], [x]]",
    "reduce_scatter": "[x], [x]",
    "scatter": "x.expand(2, 2), [0, 0]",
    "set_cublaslt_requested_algo_count": "1",
    "set_device": "0",
    "set_filename": "'file'",
    "set_max_tuning_duration": "1",
    "set_max_tuning_iterations": "1",
    "set_numerical_check_tolerances": "False",
    "set_per_process_memory_fraction": "0.5",
    "set_rng_state": "torch.cuda.get_rng_state()",
    "set_rng_state_all": "torch.cuda.get_rng_state_all()",
    "set_rotating_buffer_size": "1",
    "set_stream": "torch.cuda.current_stream()",
    "set_sync_debug_mode": "0",
    "stream": "torch.cuda.Stream()",
    "torch.cuda.nccl.broadcast": "[x]",
    "torch.cuda.nccl.is_available": "[x]",
    "tune_gemm_in_file": "'file'",
    "use_mem_pool": "None",
}
# A decorator that torch.cuda imports from another part of PyTorch.
NOT_CALLED = {"classproperty"}

# Calls every function and constructor, and enters context managers. Prints how each call ended, and which calls need
# arguments that ARGUMENTS lacks.
CALL_ALL = f"""
import enum, importlib, inspect, json, torch
x = torch.ones(2, 1, device="cuda")
known, outcomes, without_arguments = {ARGUMENTS!r}, {{}}, []

def call(value, arguments):
    result = eval(f"value({{arguments}})", {{"torch": torch, "value": value, "x": x}})
    if hasattr(result, "__enter__"):
        with result: pass

for module_name in {MODULES!r}:
    for name, value in list(vars(importlib.import_module(module_name)).items()):
        if not callable(value) or name.startswith("_") or not getattr(value, "__module__", "").startswith("torch."):
            continue
        if isinstance(value, enum.EnumMeta):  # calling it looks for a member
            continue
        if name in {NOT_CALLED!r}: continue
        arguments = known.get(f"{{module_name}}.{{name}}", known.get(name, ""))
        try: inspect.signature(value).bind()
        except TypeError:
            if not arguments: without_arguments.append(f"{{module_name}}.{{name}}")
        except ValueError: pass  # a C++ class
        try: call(value, arguments); outcome = "done"
        except BaseException as error: outcome = f"{{type(error).__name__}}: {{error}}"
        outcomes[f"{{module_name}}.{{name}}"] = outcome
print(json.dumps([outcomes, without_arguments]))
"""


def plain_python(program):
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=SECONDS, check=False)


def last_line(result):
    if result.returncode != 0:
        raise AssertionError(result.stderr)
    return json.loads(result.stdout.splitlines()[-1])


class Names(unittest.TestCase):
    def test_each_is_of_the_same_kind_with_the_same_parameters(self):
        expected, names = last_line(plain_python(DESCRIBE)), last_line(run("-c", DESCRIBE))
        self.assertGreater(sum(len(each) for each in expected.values()), 300)
        for module in MODULES:
            with self.subTest(module):
                different = {name: (names[module].get(name), value) for name, value in expected[module].items()
                             if names[module].get(name) != value}
                self.assertEqual(different, {})

    def test_classes_are_usable_as_classes(self):
        _, fails_in_pytorch = last_line(plain_python(USE_CLASSES))
        tried, failed = last_line(run("-c", USE_CLASSES))
        self.assertGreater(tried, 300)
        self.assertEqual(set(failed) - set(fails_in_pytorch), set())

    def test_each_call_returns_or_says_why_not(self):
        result = run("-c", CALL_ALL)
        outcomes, without_arguments = last_line(result)
        self.assertEqual(without_arguments, [])
        self.assertGreater(len(outcomes), 250)
        for name, outcome in outcomes.items():
            with self.subTest(name):
                if outcome == "SystemExit: 3":
                    what = name.rpartition(".")[2]
                    self.assertRegex(result.stderr, rf"torch\.[\w.]*{what}\b.* cannot be mapped to rvk")
                elif outcome != "done":
                    self.assertRegex(outcome, "^NotReported: .* runs on the CPU, which reports no readings")


class Values(unittest.TestCase):
    """Names with a value or without effect."""

    STATEMENTS = {
        "capability": "assert torch.cuda.get_device_capability(0) == (8, 0)\n"
        "p = torch.cuda.get_device_properties(0)\nassert (p.major, p.minor) == (8, 0)",
        "properties": "p = torch.cuda.get_device_properties('cuda')\n"
        "assert p.gcnArchName == p.name and p.shared_memory_per_multiprocessor >= p.shared_memory_per_block > 0\n"
        "assert p.max_threads_per_multi_processor > 0 and p.is_integrated in (0, 1) and p.is_multi_gpu_board == 0\n"
        "assert isinstance(p, torch.cuda._CudaDeviceProperties)",
        "properties that Vulkan does not report": "p = torch.cuda.get_device_properties()\n"
        "for name in ('L2_cache_size', 'regs_per_multiprocessor', 'pci_bus_id', 'clock_rate', 'memory_bus_width'):\n"
        "    assert getattr(p, name, None) is None\n"
        "    try: getattr(p, name)\n"
        "    except AttributeError as e: assert str(e).startswith(f'Vulkan does not report {name}'), e",
        "copies of properties": "import copy, pickle\np = torch.cuda.get_device_properties()\n"
        "assert copy.deepcopy(p) == p == pickle.loads(pickle.dumps(p))",
        "streams": "s = torch.cuda.Stream()\nassert isinstance(s, torch.cuda.Stream) and isinstance(s.cuda_stream, int)\n"
        "with torch.cuda.stream(s):\n"
        "    assert torch.cuda.current_stream() == s and torch.cuda.current_stream().cuda_stream == s.cuda_stream\n"
        "assert torch.cuda.current_stream() == torch.cuda.default_stream() != s\n"
        "s.wait_stream(torch.cuda.current_stream())\n"
        "assert isinstance(torch.Stream('cuda'), torch.cuda.Stream) and s.priority_range() == (0, 0)\n"
        "assert isinstance(s.record_event(), torch.cuda.Event)",
        "streams of subclasses": "class Mine(torch.cuda.Stream):\n    pass\n"
        "assert type(Mine()) is Mine and isinstance(Mine(), torch.cuda.Stream)\n"
        "assert not isinstance(torch.cuda.Stream(), Mine)",
        "events": "a, b = (torch.cuda.Event(enable_timing=True) for _ in range(2))\na.record()\n"
        "torch.ones(8, device='cuda').sum()\nb.record()\nb.synchronize()\nassert a.elapsed_time(b) >= 0 and a.query()\n"
        "assert isinstance(torch.Event('cuda'), torch.Event) and not isinstance(1, torch.cuda.Event)\n"
        "assert isinstance(a, torch.cuda.Event)\nclass Mine(torch.cuda.Event):\n    pass\nassert type(Mine()) is Mine",
        "devices": "x = torch.ones(1, device='cuda')\n"
        "with torch.cuda.device(torch.device('cuda:0')), torch.cuda.device_of(x), torch.cuda.device(x.device):\n"
        "    assert torch.cuda.current_device() == 0\n"
        "torch.cuda.synchronize(x.device)\ntorch.cuda.set_device('cuda:0')",
        "memory history": "torch.cuda.memory._record_memory_history(max_entries=10)\n"
        "torch.cuda.memory._dump_snapshot('x.pickle')\nassert torch.cuda.memory._snapshot()['segments'] == []",
        "memory": "x = torch.ones(1000, device='cuda')\n"
        "assert torch.cuda.memory_stats_as_nested_dict()['allocated_bytes']['all']['current'] >= 4000\n"
        "assert torch.cuda.device_memory_used() > 0 and torch.cuda.memory.memory_allocated() >= 4000",
        "profiler": "with torch.cuda.profiler.profile():\n    pass\ntorch.cuda.cudart().cudaProfilerStart()",
        "nvtx": "with torch.cuda.nvtx.range('x'):\n    torch.cuda.nvtx.mark('y')",
        "comm": "import torch.cuda.comm\na, b = torch.cuda.comm.scatter(torch.ones(4), [0, 0])\n"
        "assert a.device.type == 'rvk' and torch.cuda.comm.gather([a, b], destination=0).sum() == 4\n"
        "assert torch.cuda.comm.broadcast(a, [0, 0])[1].device.type == 'rvk'\n"
        "assert torch.cuda.comm.reduce_add([a, b], 0).tolist() == [2, 2]",
        "tensor types": "x = torch.cuda.FloatTensor([1, 2])\nassert isinstance(x, torch.cuda.FloatTensor)\n"
        "assert not isinstance(x, torch.cuda.HalfTensor) and not isinstance(x.cpu(), torch.cuda.FloatTensor)\n"
        "assert x.cpu().type(torch.cuda.HalfTensor).type() == 'torch.cuda.HalfTensor'\n"
        "assert torch.cuda.FloatTensor(2, 3).shape == (2, 3)",
        "sparse tensor types": "x = torch.cuda.sparse.FloatTensor(torch.tensor([[1]]), torch.ones(1), (3,))\n"
        "assert x.device.type == 'rvk' and isinstance(x, torch.cuda.sparse.FloatTensor)",
        "storages": "s = torch.cuda.FloatStorage(4)\nassert s.device.type == 'rvk' and isinstance(s, torch.cuda.FloatStorage)\n"
        "assert s.is_cuda and torch.ones(2).untyped_storage().cuda(0).device.type == 'rvk'\n"
        "assert torch.ones(2, device='cuda').untyped_storage().is_cuda",
        "default generators": "torch.cuda.manual_seed(3)\nassert torch.cuda.default_generators[0].initial_seed() == 3",
        "plan cache": "c = torch.backends.cuda.cufft_plan_cache\nassert c.size == 0 and c[0].max_size == 0\n"
        "c.max_size = 4\nc.clear()",
        "backends": "assert torch.backends.cuda.is_built() and torch.backends.cudnn.enabled\n"
        "torch.backends.cuda.matmul.allow_tf32 = True\ntorch.backends.cudnn.benchmark = True\n"
        "with torch.backends.cuda.sdp_kernel(enable_flash=False):\n    pass",
    }

    def test_each(self):
        check_each_is_done(self, self.STATEMENTS)


if __name__ == "__main__":
    unittest.main()
