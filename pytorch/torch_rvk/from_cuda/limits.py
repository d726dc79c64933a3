"""torch.compile, and libraries without a counterpart on rvk: using one ends the program and names the line that did."""

import functools
import sys

import torch

from .. import compiler
from ..imports import when_imported
from .cuda_module import stopper
from .report import say, stop

_EXTENSION = "CUDA source runs only on NVIDIA GPUs; use the extension's PyTorch implementation"
_EAGERLY = "runs eagerly: there is no code generator for rvk"
_TRITON = "Triton generates kernels only for CUDA and ROCm; use the operation's PyTorch implementation"


class _TritonFinder:
    """Ends the program if the script itself imports Triton; PyTorch and other packages may."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name.partition(".")[0] == "triton" and not _import_comes_from_a_package():
            stop("import triton", _TRITON)
        return None


def _import_comes_from_a_package():
    frame = sys._getframe(2)
    while frame is not None and "importlib" in frame.f_code.co_filename:
        frame = frame.f_back
    return frame is not None and "site-packages" in frame.f_code.co_filename


def _without_triton(module):
    """Answers that Triton cannot be used. Otherwise PyTorch asks for the device's properties, which say that it can. That also counts
    the devices, after which forked children cannot use them."""
    for name in dir(module):
        if name.startswith("has_triton") and name != "has_triton_package":
            setattr(module, name, functools.cache(lambda: False))


def _stop_extensions(extension):
    what = "torch.utils.cpp_extension.CUDAExtension"
    extension.CUDAExtension = stopper(what, _EXTENSION, extension.CUDAExtension)
    for name in ("load", "load_inline"):
        setattr(extension, name, _without_cuda(name, getattr(extension, name)))


def _without_cuda(name, original):
    @functools.wraps(original)
    def call(*args, **kwargs):
        sources = [str(s) for value in (*args, *kwargs.values()) if isinstance(value, (list, tuple)) for s in value]
        if kwargs.get("cuda_sources") or kwargs.get("with_cuda") or any(s.endswith((".cu", ".cuh")) for s in sources):
            stop(f"torch.utils.cpp_extension.{name} with CUDA sources", _EXTENSION)
        return original(*args, **kwargs)

    return call


def _map_compile():
    """The default backend, TorchInductor, generates Triton code. Models for it run eagerly instead, in the wrapper that
    torch.compile uses, so that the names in checkpoints (_orig_mod.…) stay the same. Other backends run PyTorch's operators and
    stay as they are."""
    original = torch.compile

    @functools.wraps(original)
    def compile(model=None, **kwargs):
        if kwargs.get("backend", "inductor") not in ("inductor", "cudagraphs") or kwargs.get("disable"):
            return original(model, **kwargs)
        say("torch.compile", _EAGERLY)
        return torch.compiler.disable if model is None else torch.compiler.disable(model)

    torch.compile = compile


def _run_graphs_eagerly(compile_fx):
    """Handles calls that reach TorchInductor without torch.compile, such as torch._dynamo.optimize("inductor")."""
    original = compile_fx.compile_fx

    @functools.wraps(original)
    def call(model, inputs, *args, **kwargs):
        if not compiler.reaches_device(model, inputs):
            return original(model, inputs, *args, **kwargs)
        say("TorchInductor", _EAGERLY)
        return model

    compile_fx.compile_fx = call


def _stop_ahead_of_time(compile_fx):
    original = compile_fx.compile_fx_aot

    @functools.wraps(original)
    def call(model, inputs, *args, **kwargs):
        if compiler.reaches_device(model, inputs):
            stop("AOTInductor", "there is no code generator for rvk; save the program with torch.export.save")
        return original(model, inputs, *args, **kwargs)

    compile_fx.compile_fx_aot = call


def install():
    _map_compile()
    sys.meta_path.insert(0, _TritonFinder)
    when_imported("torch.utils._triton", _without_triton)
    when_imported("torch.utils.cpp_extension", _stop_extensions)
    when_imported("torch._inductor.compile_fx", _run_graphs_eagerly)
    when_imported("torch._inductor.compile_fx", _stop_ahead_of_time)
