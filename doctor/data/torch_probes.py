"""Tests PyTorch step by step, for `rekindle doctor --probe … --python PYTHON`.

Read from standard input by the Python that would train. Every probe that starts and every result is one line of JSON on
descriptor 3 (1 if there is none): the process may die or hang at any of them, and is then started again with the
rest. Writes no files except those that PyTorch itself writes to the folder that TORCHINDUCTOR_CACHE_DIR names.

    python3 - DEVICE TOGETHER PROBE[,PROBE…] < torch_probes.py
        DEVICE    PyTorch's name of it: cuda:0, cpu, rvk, …; "": the first one that this PyTorch finds
        TOGETHER  "together" runs the probes of two GPUs together; anything else skips them
"""

import json
import os
import re
import sys
import time
import traceback

RESULTS = 3
try:
    os.fstat(RESULTS)
except OSError:
    RESULTS = 1
max_reason = 500  # characters
max_errors = 4096

STATUS_NAME = re.compile(
    r"\b(?:(?:HIP|CU|ROC)(?:BLAS|BLASLT|SPARSE|SOLVER|FFT|RAND)|CUDNN|rocblas|miopen|hipblas)_?[Ss][Tt][Aa][Tt][Uu][Ss]\w*"
    r"|\bmiopenStatus\w+|\b(?:hip|cuda)Error\w+|\bCUDA_ERROR_\w+|\bHSA_STATUS_\w+|\bHIPRTC_ERROR\w*|\bNCCL_\w+"
)


#: What torch.compile needs besides PyTorch, as the messages of Inductor, Triton and compilers name it.
BUILD_TOOLS = (
    (r"No working C\+\+ compiler found|InvalidCxxCompiler|Failed to find C compiler",
     "torch.compile needs a C++ compiler, and none was found: install g++"),
    (r"Python\.h: No such file", "torch.compile needs Python.h, which is missing: install python3-dev or python3-devel"),
)


def write(line):
    os.write(RESULTS, (json.dumps(line) + "\n").encode())


class Failed(Exception):
    """The probe ran and its result is wrong. `output`: what its subprocess wrote."""

    def __init__(self, reason, output=""):
        super().__init__(reason)
        self.output = output


class Skipped(Exception):
    """The probe does not apply here."""


def near(name, got, expected, tolerance):
    """Compares with the CPU's float64 result, relative to the largest element."""
    got = got.detach().cpu().double()
    expected = expected.detach().cpu().double()
    if got.shape != expected.shape:
        raise Failed(f"{name} has the shape {tuple(got.shape)}, not {tuple(expected.shape)}")
    scale = expected.abs().max().item() or 1.0
    error = (got - expected).abs().max().item() / scale
    if not error <= tolerance:  # also when it is NaN
        raise Failed(f"{name} is wrong by {error:.2g} of its largest element; the tolerance is {tolerance:.2g}")
    return error


class Probes:
    def __init__(self, device, together):
        self.device = device
        self.together = together
        self.values = {}

    # -- 1, 2: the library

    def run_import(self):
        self.values.update(version=torch.__version__, file=torch.__file__)
        for name in ("hip", "cuda"):
            self.values[name] = str(getattr(torch.version, name, None) or "")

    def run_count(self):
        kind = self.device.split(":")[0]
        if kind == "cpu":
            self.values["devices"] = "1"
            return
        module = getattr(torch, kind, None)
        if module is None or not hasattr(module, "device_count"):
            raise Skipped(f"torch.{kind} has no device_count")
        count = module.device_count()
        self.values["devices"] = str(count)
        if hasattr(module, "get_device_name") and count:
            self.values["names"] = ", ".join(module.get_device_name(i) for i in range(count))
        if kind == "cuda" and hasattr(torch.cuda, "get_arch_list"):
            self.values["targets"] = " ".join(torch.cuda.get_arch_list())
        if count == 0:
            raise Failed(f"torch.{kind} finds no device")

    # -- 3 to 5: memory and the simplest kernels

    def run_allocate(self):
        torch.empty(1 << 18, dtype=torch.float32, device=self.device)  # 1 MiB
        self.synchronize()

    def run_fill(self):
        filled = torch.full((1000,), 3.25, device=self.device).cpu()
        if not bool((filled == 3.25).all()):
            raise Failed("a tensor filled with 3.25 reads back as something else")

    def run_add(self):
        left = torch.arange(1000, dtype=torch.float32)
        near("the sum", left.to(self.device) + (2 * left + 1).to(self.device), 3 * left + 1, 0)

    # -- 6 to 8: matrices

    def matmul(self, dtype, tolerance):
        left, right = random_tensor(128, 128), random_tensor(128, 128)
        product = left.to(self.device, dtype) @ right.to(self.device, dtype)
        expected = left.to(dtype).double() @ right.to(dtype).double()
        self.values["error"] = f"{near('the product', product, expected, tolerance):.2g}"

    def run_matmul_fp32(self):
        self.matmul(torch.float32, 1e-3)

    def run_matmul_fp16(self):
        self.matmul(torch.float16, 1e-2)

    def run_matmul_bf16(self):
        self.matmul(torch.bfloat16, 5e-2)

    def run_addmm(self):
        bias, left, right = random_tensor(64), random_tensor(96, 128), random_tensor(128, 64)
        got = torch.addmm(bias.to(self.device), left.to(self.device), right.to(self.device))
        near("the product", got, torch.addmm(bias.double(), left.double(), right.double()), 1e-3)

    # -- 9: convolutions, forward and backward

    def conv2d(self, side):
        image, kernel = random_tensor(2, 16, side, side), random_tensor(16, 16, 3, 3)
        answers = []
        for device, dtype in ((self.device, torch.float32), ("cpu", torch.float64)):
            x = image.to(device, dtype, copy=True).requires_grad_()
            w = kernel.to(device, dtype, copy=True).requires_grad_()
            y = torch.nn.functional.conv2d(x, w, padding=1)
            y.square().mean().backward()
            answers.append((y, x.grad, w.grad))
        for name, got, expected in zip(("the output", "the image's gradient", "the kernel's gradient"), *answers):
            near(name, got, expected, 1e-2)

    def run_conv2d_32(self):
        self.conv2d(32)

    def run_conv2d_64(self):
        self.conv2d(64)

    def run_batch_norm(self):
        batch = random_tensor(8, 16, 9, 9)
        got = torch.nn.BatchNorm2d(16).to(self.device)(batch.to(self.device))
        near("the output", got, torch.nn.BatchNorm2d(16).double()(batch.double()), 1e-3)

    # -- 10: attention

    def run_attention(self):
        query, key, value = (random_tensor(2, 4, 64, 32) for _ in range(3))
        attention = torch.nn.functional.scaled_dot_product_attention
        got = attention(query.to(self.device), key.to(self.device), value.to(self.device))
        near("the output", got, attention(query.double(), key.double(), value.double()), 1e-2)

    # -- 11: the results of training

    def run_train_step(self):
        def trained(device, dtype):
            torch.manual_seed(3)
            model = torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.GELU(), torch.nn.Linear(64, 1))
            model = model.to(device, dtype)
            optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
            inputs, targets = random_tensor(128, 32).to(device, dtype), random_tensor(128, 1, seed=5).to(device, dtype)
            losses = []
            for _ in range(2):
                optimizer.zero_grad()
                loss = torch.nn.functional.mse_loss(model(inputs), targets)
                loss.backward()
                optimizer.step()
                losses.append(loss.detach().cpu().double())
            return torch.stack(losses), torch.cat([p.detach().cpu().double().flatten() for p in model.parameters()])

        losses, weights = trained(self.device, torch.float32)
        expected_losses, expected_weights = trained("cpu", torch.float64)
        self.values["loss"] = f"{losses[-1].item():.6g}"
        near("the loss", losses, expected_losses, 1e-3)
        near("the trained weights", weights, expected_weights, 1e-2)

    # -- 12: two devices

    def second_device(self):
        """The next device, or the first one after the last."""
        kind = self.device.split(":")[0]
        others = [device for device in devices_there() if device.startswith(kind) and device != self.device]
        if not others:
            raise Skipped(f"there is no second device besides {self.device}")
        if not self.together:
            raise Skipped("only --probe all tries two GPUs together, because it may hang")
        return others[0]

    def run_two_gpu_copy(self):
        numbers, second = random_tensor(100000), self.second_device()
        there = numbers.to(self.device).to(second)
        near("what arrived", there, numbers, 0)
        near("what came back", there.to(self.device), numbers, 0)

    def run_all_reduce(self):
        on_cpu = self.device == "cpu"
        self.all_reduce("gloo" if on_cpu else "nccl",
                        [self.device, "cpu" if on_cpu else self.second_device()])

    def all_reduce(self, backend, devices):
        import subprocess
        import tempfile

        self.values["backend"] = backend
        if not torch.distributed.is_available() or not getattr(torch.distributed, f"is_{backend}_available")():
            raise Skipped(f"this PyTorch has no {backend}")
        with tempfile.TemporaryDirectory() as folder:
            ranks = [
                subprocess.Popen(
                    [sys.executable, "-c", RANK, backend, device, str(rank), os.path.join(folder, "meet")],
                    stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
                for rank, device in enumerate(devices)
            ]
            outputs = [rank.communicate()[0] for rank in ranks]
        for rank, output in zip(ranks, outputs):
            if rank.returncode != 0:
                lines = output.strip().splitlines() or [f"a process ended with status {rank.returncode}"]
                raise Failed(lines[-1][:max_reason], output)

    # -- 13

    def run_compile(self):
        numbers = torch.arange(1000, dtype=torch.float32)
        try:
            got = torch.compile(lambda x: x * 2)(numbers.to(self.device))
        except Exception as error:
            for message, reason in BUILD_TOOLS:
                if re.search(message, f"{type(error).__name__}: {error}"):
                    raise Skipped(reason) from error
            raise
        near("the product", got, 2 * numbers, 0)

    def synchronize(self):
        module = getattr(torch, self.device.split(":")[0], None)
        if hasattr(module, "synchronize"):
            module.synchronize()


RANK = """
import os, sys
sys.path[:1] = []
import datetime, torch, torch.distributed as dist
backend, device, rank, meet = sys.argv[1:]
if device != "cpu":
    torch.cuda.set_device(device)
dist.init_process_group(backend, init_method="file://" + meet, rank=int(rank), world_size=2,
                        timeout=datetime.timedelta(seconds=60))
numbers = torch.arange(1000, dtype=torch.float32, device=device) + int(rank)
dist.all_reduce(numbers)
expected = 2 * torch.arange(1000, dtype=torch.float32) + 1
if not bool((numbers.cpu() == expected).all()):
    sys.exit("the sum over both processes is wrong")
dist.destroy_process_group()
"""


def random_tensor(*shape, seed=7):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def result_of(name, action, device, values):
    """The result of one probe, whatever it raises. Ctrl-C and exits are not caught."""
    result = {"id": name, "device": device, "status": "passed"}
    start = time.monotonic()
    try:
        action()
    except Skipped as reason:
        result.update(status="skipped", reason=str(reason))
    except Failed as reason:
        result.update(status="failed", reason=str(reason), errors=reason.output[-max_errors:])
    except Exception as error:
        text = str(error).strip()
        code = STATUS_NAME.search(text)
        first = text.splitlines()[0] if text else ""
        result.update(status="failed", reason=f"{type(error).__name__}: {first}"[:max_reason],
                      errors=traceback.format_exc()[-max_errors:])
        if code:
            result["code"] = code.group()
    result["seconds"] = time.monotonic() - start
    result["values"] = {key: str(value) for key, value in values.items() if value != ""}
    return result


def memory_of(device):
    if not device.startswith("cuda"):
        return {}
    free, total = torch.cuda.mem_get_info(torch.device(device))
    return {"memory_free": free, "memory_total": total}


def address_of(device):
    """The device's address on the PCI bus, if this PyTorch reports it."""
    if not device.startswith("cuda"):
        return {}
    properties = torch.cuda.get_device_properties(torch.device(device))
    if not hasattr(properties, "pci_bus_id"):
        return {}
    place = (properties.pci_domain_id, properties.pci_bus_id, properties.pci_device_id)
    return {"address": "{:04x}:{:02x}:{:02x}.0".format(*place)}


def import_torch():
    global torch
    import torch
    import torch.distributed


def devices_there():
    return [f"cuda:{i}" for i in range(torch.cuda.device_count())] or ["cpu"]


def surroundings(device):
    """The devices in the result of the import."""
    built_for = [name for name in ("hip", "cuda") if getattr(torch.version, name, None)]
    values = {"device_list": " ".join(devices_there()), "ran_on": device}
    if device == "cpu":
        values["ran_on"] = ("cpu: PyTorch finds no GPU" if built_for
                            else "cpu: this PyTorch is built without GPU support")
    return values


def run_probe(name, device, together):
    probes = Probes(device, together)
    write({"at": name.removeprefix("python-"), "probe": name})
    action = getattr(probes, "run_" + name.removeprefix("python-").replace("-", "_"))
    result = result_of(name, action, device, probes.values)
    try:
        more = {**memory_of(device), **address_of(device)}
        result["values"].update({key: str(value) for key, value in more.items()})
    except Exception as error:  # after a fault every call fails; the result stands
        result["values"]["memory"] = type(error).__name__
    return result


def main(device, together, names):
    sys.path[:] = [folder for folder in sys.path if folder not in ("", os.getcwd())]
    write({"at": "import torch", "probe": "python-import"})
    imported = result_of("python-import", import_torch, "", {})
    if imported["status"] != "passed":
        write({"result": imported})
        return
    device = device or devices_there()[0]
    for name in names:
        result = run_probe(name, device, together)
        if name == "python-import":
            result.update(device="", seconds=imported["seconds"])
            result["values"].update(surroundings(device))
        write({"result": result})


main(sys.argv[1], sys.argv[2] == "together", sys.argv[3].split(","))
