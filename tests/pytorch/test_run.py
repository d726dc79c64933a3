"""python -m torch_rvk.run: scripts for CUDA run unchanged, mappings are reported once, the rest ends with a line
number."""

import json
import os
import subprocess
import sys
import tempfile
import unittest
import zipfile
import zlib

from run_support import SECONDS, check_each_is_done, environment_for_run, run, run_statements, run_text

SCRIPTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "scripts")


class WrongUse(unittest.TestCase):
    def test_each_is_named(self):
        for arguments, words in (((), "nothing to run"), (("-c",), "-c needs"), (("-m",), "-m needs"), (("-x", "a.py"), "unknown option -x")):
            result = run(*arguments)
            self.assertEqual(result.returncode, 2, arguments)
            self.assertIn(words, result.stderr)
            self.assertIn("usage:", result.stderr)

    def test_help(self):
        result = run("--help")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertIn("usage:", result.stdout)

    def test_missing_script_is_named(self):
        result = run("no_such_script.py")
        self.assertEqual(result.returncode, 2)
        self.assertIn("no_such_script.py does not exist", result.stderr)
        self.assertIn("usage:", result.stderr)


class Scripts(unittest.TestCase):
    def check_ran(self, result):
        self.assertEqual(result.returncode, 0, f"{result.stdout}\n{result.stderr}")
        said = [line for line in result.stderr.splitlines() if line.startswith("torch_rvk.run: ")]
        self.assertEqual(len(said), len(set(said)), "a mapping was reported twice")
        return "\n".join(said)

    def test_market_script_trains_and_saves(self):
        with tempfile.TemporaryDirectory() as folder:
            result = run(os.path.join(SCRIPTS, "market_train.py"), "-o", folder, "-e", "8")
            said = self.check_ran(result)
            with open(os.path.join(folder, "history.json"), encoding="utf-8") as file:
                history = json.load(file)
            self.assertTrue(os.path.exists(os.path.join(folder, "model_final.pt")))
        self.assertLess(history[-1], history[0] / 2)
        for mapped in ("torch.cuda.is_available", "nn.DataParallel", "Tensor.cuda()", "torch.cuda.empty_cache"):
            self.assertIn(mapped, said)

    def test_market_script_trains_under_amp(self):
        with tempfile.TemporaryDirectory() as folder:
            arguments = ("-o", folder, "-e", "8", "-mp", "--gradient_accumulation_steps", "2", "-b", "16")
            self.check_ran(run(os.path.join(SCRIPTS, "market_train.py"), *arguments))
            with open(os.path.join(folder, "history.json"), encoding="utf-8") as file:
                history = json.load(file)
        self.assertLess(history[-1], history[0] / 2)

    def test_digits_script_trains(self):
        result = run(os.path.join(SCRIPTS, "digits_train.py"))
        self.check_ran(result)
        self.assertIn("accuracy", result.stdout)

    def test_arguments_and_exit_status_are_the_scripts_own(self):
        result, path = run_text("import sys\nprint(sys.argv, __name__)\nsys.exit(7)\n")
        self.assertEqual(result.returncode, 7)
        self.assertEqual(result.stdout.strip(), f"['{path}'] __main__")

    def test_script_for_cuda_is_not_mapped_without_run(self):
        text = "import torch\nassert torch.device('cuda').type == 'cuda'\nassert not hasattr(torch.cuda, '_rvk')\n"
        text += "assert torch.nn.DataParallel.__module__ == 'torch.nn.parallel.data_parallel'\n"
        result = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=SECONDS, check=False)
        self.assertEqual(result.returncode, 0, result.stderr)


class LikePython(unittest.TestCase):
    """Python itself is the reference: the same program, with and without torch_rvk.run."""

    PROGRAM = """import sys
import __main__
shown = {name: value for name, value in globals().items() if name not in ("sys", "__builtins__", "__loader__", "__spec__", "shown")}
print(sys.argv, sys.path[0], sorted(shown), shown.get("__file__"), __name__, __package__ or "")
print(type(__loader__).__name__, __spec__ and __spec__.name, vars(__main__) is globals(), "runpy" in repr(__builtins__))
def fail():
    raise ValueError("as expected")
if "fail" in sys.argv: fail()
if "leave" in sys.argv: sys.exit("a reason")
if "seven" in sys.argv: sys.exit(7)
"""

    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = os.path.realpath(holder.name)
        os.makedirs(os.path.join(self.folder, "package"))
        os.makedirs(os.path.join(self.folder, "elsewhere"))
        for name in ("script.py", "package/__init__.py", "package/__main__.py", "package/part.py", "__main__.py"):
            with open(os.path.join(self.folder, name), "w", encoding="utf-8") as file:
                file.write("" if name.endswith("__init__.py") else self.PROGRAM)
        with zipfile.ZipFile(os.path.join(self.folder, "archive.pyz"), "w") as archive:
            archive.write(os.path.join(self.folder, "script.py"), "__main__.py")
        os.symlink(os.path.join(self.folder, "script.py"), os.path.join(self.folder, "elsewhere", "link.py"))

    def both(self, *arguments, **options):
        plain = subprocess.run(
            [sys.executable, *arguments], capture_output=True, text=True, timeout=SECONDS, check=False, cwd=self.folder, **options
        )
        return plain, run(*arguments, cwd=self.folder, **options)

    def test_every_way_to_name_a_program(self):
        ways = {
            "script": (["script.py", "a", "-m"], {}),
            "script by a link": (["elsewhere/link.py"], {}),
            "code": (["-c", self.PROGRAM, "a", "-c"], {}),
            "code in one argument": (["-c" + self.PROGRAM], {}),
            "module": (["-m", "package.part", "a"], {}),
            "module in one argument": (["-mpackage.part"], {}),
            "package": (["-m", "package", "--help"], {}),
            "standard input": (["-", "a"], {"input": self.PROGRAM}),
            "folder": (["package", "a"], {}),
            "this folder": (["."], {}),
            "archive": (["archive.pyz", "a"], {}),
        }
        for name, (arguments, options) in ways.items():
            with self.subTest(name):
                plain, mapped = self.both(*arguments, **options)
                self.assertEqual(plain.returncode, 0, plain.stderr)
                self.assertEqual((mapped.returncode, mapped.stdout), (0, plain.stdout), mapped.stderr)

    def test_how_programs_end(self):
        for word in ("fail", "leave", "seven"):
            for arguments in (["script.py", word], ["-c", self.PROGRAM, word], ["-m", "package.part", word]):
                with self.subTest(f"{word}, {arguments[0]}"):
                    plain, mapped = self.both(*arguments)
                    self.assertEqual((mapped.returncode, mapped.stdout), (plain.returncode, plain.stdout))
                    self.assertEqual(mapped.stderr.splitlines()[-1:], plain.stderr.splitlines()[-1:])
                    self.assertNotIn("torch_rvk", mapped.stderr)

    def test_missing_modules(self):
        for arguments in (["-m", "no_such_module"], ["elsewhere"], ["-c", "this text is not Python"]):
            plain, mapped = self.both(*arguments)
            self.assertEqual((mapped.returncode, mapped.stderr), (plain.returncode, plain.stderr))

    def test_what_runs_after_the_program(self):
        program = "import atexit, __main__\nvalue = 5\natexit.register(lambda: print(__main__.value, __import__('__main__').value))\n"
        for arguments in (["-c", program],):
            plain, mapped = self.both(*arguments)
            self.assertEqual(mapped.stdout, plain.stdout)


class VisibleDevices(unittest.TestCase):
    """CUDA's and ROCm's device lists, in the environment or set by the program before it uses a device."""

    PROGRAM = "import os{setting}\nimport torch\nprint(torch.cuda.is_available(), torch.cuda.device_count())\n"
    NONE, ONE = "False 0", "True 1"
    LISTS = {
        "CUDA_VISIBLE_DEVICES": {"": NONE, "-1": NONE, "0": ONE, "0,77": ONE, "77,0": NONE, "0,0": NONE, " 0 ": ONE, "none": NONE},
        "HIP_VISIBLE_DEVICES": {"": NONE, "-1": NONE, "0": ONE},
        "ROCR_VISIBLE_DEVICES": {"": NONE, "0": ONE},
    }

    def answer(self, setting="", **variables):
        environment = {name: value for name, value in os.environ.items() if not name.endswith("_VISIBLE_DEVICES")}
        environment["REKINDLE_VISIBLE_DEVICES"] = "0"
        result = run("-c", self.PROGRAM.format(setting=setting), env=environment | variables)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout.strip()

    def test_in_the_environment(self):
        for name, answers in self.LISTS.items():
            for value, expected in answers.items():
                with self.subTest(f'{name}="{value}"'):
                    self.assertEqual(self.answer(**{name: value}), expected)

    def test_set_by_the_program(self):
        for name in self.LISTS:
            with self.subTest(name):
                before = f"\nos.environ['{name}'] = ''"
                self.assertEqual(self.answer(before), self.NONE)
                self.assertEqual(self.answer(f"\nimport torch{before}"), self.NONE)

    def test_several(self):
        self.assertEqual(self.answer(HIP_VISIBLE_DEVICES="0", CUDA_VISIBLE_DEVICES=""), self.ONE)
        self.assertEqual(self.answer(HIP_VISIBLE_DEVICES="0", ROCR_VISIBLE_DEVICES=""), self.NONE)
        self.assertEqual(self.answer(REKINDLE_VISIBLE_DEVICES=""), self.NONE)

    def test_by_uuid(self):
        uuid = subprocess.run(
            [sys.executable, "-c", "import torch_rvk, torch; print(torch.rvk.get_device_properties(0).uuid)"],
            capture_output=True, text=True, timeout=SECONDS, check=True, env=os.environ | {"REKINDLE_VISIBLE_DEVICES": "0"},
        ).stdout.strip()
        self.assertEqual(self.answer(CUDA_VISIBLE_DEVICES=uuid), self.ONE)
        self.assertEqual(self.answer(CUDA_VISIBLE_DEVICES=uuid[:12]), self.ONE)
        self.assertEqual(self.answer(CUDA_VISIBLE_DEVICES="GPU-ffffffff"), self.NONE)

    def test_a_hidden_device_is_named_where_it_is_used(self):
        program = "import torch\ntry:\n    torch.ones(1, device='cuda')\nexcept Exception as e:\n    print(e)\n"
        result = run("-c", program, env=os.environ | {"CUDA_VISIBLE_DEVICES": "-1"})
        self.assertIn('CUDA_VISIBLE_DEVICES="-1" hides every device', result.stdout)

    def test_without_any_device_the_program_ends(self):
        result = run("-c", "import torch\ntorch.cuda.is_available()\nprint('reached')", env=os.environ | {"VK_DRIVER_FILES": "/none"})
        self.assertEqual((result.returncode, result.stdout), (1, ""))
        self.assertIn("there is no device to run on", result.stderr)

    def test_variables_have_no_effect_without_run(self):
        text = "import torch_rvk, torch; print(torch.rvk.is_available())"
        result = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=SECONDS, check=True,
                                env=os.environ | {"CUDA_VISIBLE_DEVICES": ""})
        self.assertEqual(result.stdout.strip(), "True")


class Mappings(unittest.TestCase):
    """One statement for each mapping that the scripts do not use."""

    STATEMENTS = {
        "default device": "torch.set_default_device('cuda'); assert torch.ones(2).device.type == 'rvk'",
        "device context": "with torch.device('cuda'): assert torch.ones(2).device.type == 'rvk'",
        "legacy type": "assert torch.cuda.FloatTensor([1., 2.]).device.type == 'rvk'",
        "generator": "g = torch.Generator(device='cuda').manual_seed(3); assert g.device.type == 'rvk'; "
        "assert isinstance(g, torch.Generator)",
        "new_zeros": "assert torch.ones(2).new_zeros(3, device='cuda:0').device.type == 'rvk'",
        "autocast": "with torch.autocast('cuda'): assert torch.is_autocast_enabled('rvk')",
        "stream type": "s = torch.cuda.Stream(); assert isinstance(s, torch.cuda.Stream)",
        "memory": "torch.cuda.reset_peak_memory_stats(); torch.cuda.max_memory_allocated(); torch.cuda.memory_summary(); "
        "free, total = torch.cuda.mem_get_info(); assert 0 < total",
        "rng": "s = torch.cuda.get_rng_state(); torch.cuda.set_rng_state(s); torch.cuda.manual_seed(1)",
        "checkpoint": "import io; b = io.BytesIO(); torch.save(torch.ones(2, device='cuda'), b); b.seek(0); "
        "assert torch.load(b).device.type == 'rvk'",
        "map_location": "import io; b = io.BytesIO(); torch.save(torch.ones(2), b); b.seek(0); "
        "assert torch.load(b, map_location=torch.device('cuda')).device.type == 'rvk'",
        "DataParallel": "import pickle, torch.nn.parallel as p; assert torch.nn.DataParallel is p.DataParallel; "
        "m = torch.nn.DataParallel(torch.nn.Linear(2, 2)); assert isinstance(m, p.DataParallel) and m(torch.ones(3, 2)).is_cuda; "
        "assert type(pickle.loads(pickle.dumps(m))) is p.DataParallel; "
        "assert p.data_parallel(m.module, torch.ones(3, 2)).shape == (3, 2)",
        "nvtx": "torch.cuda.nvtx.range_push('x'); torch.cuda.nvtx.range_pop()",
        "cudnn": "torch.backends.cudnn.deterministic = True; torch.backends.cudnn.enabled = True; "
        "torch.backends.cudnn.allow_tf32 = True; torch.set_float32_matmul_precision('high')",
    }

    def test_each(self):
        check_each_is_done(self, self.STATEMENTS)


class Profiler(unittest.TestCase):
    """Profilers that are asked for CUDA have columns of the device."""

    BEFORE = """
import torch
from torch.profiler import ProfilerActivity, profile

x = torch.ones(64, 64, device="cuda")

def measured(profiler, sort_by):
    table = profiler.key_averages().table(sort_by=sort_by)
    assert "Self RVK" in table and len(table.splitlines()) < 40, table
    assert any(event.device_time_total > 0 for event in profiler.key_averages()), table
"""
    STATEMENTS = {
        "activities": "with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as p: (x @ x).sum().item()\n"
        "measured(p, 'cuda_time_total')",
        "dictionaries": "with profile(activities=[ProfilerActivity.CPU, {ProfilerActivity.CUDA: ['KERNEL']}]) as p: (x @ x).sum().item()\n"
        "measured(p, 'cuda_time_total')",
        "use_cuda": "with torch.autograd.profiler.profile(use_cuda=True) as p: (x @ x).sum().item()\n"
        "measured(p, 'self_cuda_time_total')",
        "use_device": "with torch.autograd.profiler.profile(use_device='cuda') as p: (x @ x).sum().item()\n"
        "measured(p, 'cuda_time')",
        "steps": "with profile(activities=[ProfilerActivity.CUDA], schedule=torch.profiler.schedule(wait=0, warmup=1, active=1)) as p:\n"
        "    for _ in range(2):\n        (x @ x).sum().item()\n        p.step()\n"
        "assert p.profiler.use_device == 'rvk'",
    }

    def test_each(self):
        check_each_is_done(self, self.STATEMENTS, self.BEFORE)


class Packages(unittest.TestCase):
    def test_transformers_trainer_is_imported(self):
        result = run("-c", "from transformers import Trainer, TrainingArguments\nprint(Trainer.__name__)")
        self.assertEqual((result.returncode, result.stdout), (0, "Trainer\n"), result.stderr)


class Distributed(unittest.TestCase):
    SCRIPT = """
import os, torch, torch.distributed as dist
assert dist.is_nccl_available() and torch.cuda.nccl.version() >= (2, 10)
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
dist.init_process_group("nccl", device_id=torch.device("cuda", 0))
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(3, 1).cuda(), device_ids=[0])
model(torch.ones(2, 3, device="cuda")).sum().backward()
assert dist.get_default_backend_for_device("cuda") == "nccl"
print(dist.get_backend(), model.module.weight.grad.device)
dist.destroy_process_group()
"""

    def test_nccl_becomes_rvk(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "script.py")
            with open(path, "w", encoding="utf-8") as file:
                file.write(self.SCRIPT)
            launcher = ["-m", "torch.distributed.run", "--standalone", "--local-addr", "127.0.0.1", "--nproc-per-node", "1"]
            command = [sys.executable, *launcher, "-m", "torch_rvk.run", path]
            launched = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False,
                                      env=environment_for_run())
            for result in launched, run(*launcher, path):
                self.assertEqual((result.returncode, result.stdout), (0, "nccl rvk:0\n"), result.stderr)
                self.assertIn("torch.distributed's backend nccl → the backend rvk", result.stderr)

    def test_hash_of_pickled_objects(self):
        """Every process computes the same one, and PyTorch can resize the tensor afterwards."""
        result, _ = run_text(
            "import torch\n"
            "from torch_rvk.from_cuda.distributed import _hash\n"
            "tensor = torch.arange(5, dtype=torch.uint8)\n"
            "print(_hash([tensor]))\n"
            "tensor.resize_(9)\n"
        )
        self.assertEqual((result.returncode, result.stdout), (0, f"{zlib.crc32(bytes(range(5)))}\n"), result.stderr)


class Limits(unittest.TestCase):
    """A call that cannot be mapped ends with status 3 and FILE:LINE on standard error."""

    STATEMENTS = {
        "torch.cuda.CUDAGraph": "g = torch.cuda.CUDAGraph()",
        "torch.cuda.make_graphed_callables": "torch.cuda.make_graphed_callables(lambda x: x, (torch.ones(1),))",
        "import triton": "import triton",
        "CUDAExtension": "from torch.utils.cpp_extension import CUDAExtension; CUDAExtension('x', ['x.cu'])",
        "torch.utils.cpp_extension.load with CUDA sources": "from torch.utils import cpp_extension; "
        "cpp_extension.load('x', ['x.cu'])",
        "torch.cuda.nccl.all_reduce": "torch.cuda.nccl.all_reduce([])",
    }

    def test_each_stops(self):
        outcomes, lines = run_statements(self.STATEMENTS)
        for what in self.STATEMENTS:
            with self.subTest(what):
                self.assertEqual(outcomes[what], "SystemExit 3")
                self.assertTrue(any(what in line and "cannot be mapped" in line for line in lines), lines)

    def test_line_and_status(self):
        result, path = run_text("import torch\n\ntorch.cuda.CUDAGraph()\nprint('reached')\n")
        self.assertEqual(result.returncode, 3, result.stderr)
        self.assertNotIn("reached", result.stdout)
        self.assertIn(f"{path}:3: torch.cuda.CUDAGraph", result.stderr)

    def test_pytorch_does_not_use_triton(self):
        """Even if its package is installed. PyTorch does not count the devices to decide that, so a forked child can use one."""
        result, _ = run_text(
            "import os, sys, types\n"
            "sys.modules['triton'] = types.ModuleType('triton')\n"
            "import torch\n"
            "from torch.utils._triton import has_triton, has_triton_package\n"
            "print(has_triton_package(), has_triton(), flush=True)\n"
            "child = os.fork()\n"
            "if child == 0:\n"
            "    os._exit(int(torch.ones(2, device='cuda').sum().item() != 2))\n"
            "print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n"
        )
        self.assertEqual((result.returncode, result.stdout), (0, "True False\n0\n"), result.stderr)


if __name__ == "__main__":
    unittest.main()
