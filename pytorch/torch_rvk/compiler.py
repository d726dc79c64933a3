"""torch.compile: backends that run PyTorch's operators work; inductor generates kernels and cannot do so for rvk."""

import functools

import torch

from .imports import when_imported
from .library import NAME

_REASON = (
    "torch.compile's backend \"inductor\" (the default) cannot generate kernels for rvk: "
    'pass backend="aot_eager", which traces the same graphs and runs PyTorch\'s operators.'
)


def _is_ours(value):
    if isinstance(value, str):
        return value.partition(":")[0] == NAME
    return getattr(value if isinstance(value, torch.device) else getattr(value, "device", None), "type", None) == NAME


def reaches_device(graph, inputs):
    """Whether the graph or its inputs use a tensor of rvk."""
    values = list(inputs or ())
    if isinstance(graph, torch.nn.Module):
        values += [*graph.parameters(), *graph.buffers()]
    if isinstance(graph, torch.fx.GraphModule):
        for node in graph.graph.nodes:
            values += [node.meta.get("example_value"), node.meta.get("val"), node.kwargs.get("device")]
    return any(_is_ours(leaf) for leaf in torch.utils._pytree.tree_leaves(values))


def _no_kernels():
    """An exception that TorchDynamo passes on without wrapping it in its own report."""

    class NoKernelsForDevice(torch._dynamo.exc.ShortenTraceback):
        pass

    NoKernelsForDevice.__module__ = "torch_rvk"
    return NoKernelsForDevice(_REASON, first_useful_frame=None)


def _refuse_in_inductor(compile_fx):
    original = compile_fx.compile_fx

    @functools.wraps(original)
    def call(model, inputs, *args, **kwargs):
        if reaches_device(model, inputs):
            raise _no_kernels()
        return original(model, inputs, *args, **kwargs)

    compile_fx.compile_fx = call


def install():
    when_imported("torch._inductor.compile_fx", _refuse_in_inductor)
