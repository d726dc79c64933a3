"""Predicts the outputs of operators where PyTorch's own predictions do not hold for rvk.

torch.compile and torch.export plan with fake tensors, which have sizes and strides but no data. If an operator returns
other strides, or no tensor where one was planned, the compiled program fails or reads elements in the wrong order. Each
function here describes one function of pytorch/src/operators/; tests/pytorch/fake_tensors.py compares them.
"""

import functools

import torch

from .imports import when_imported
from .library import NAME


def _arguments(func, args, kwargs):
    """The arguments by name; those left out have their defaults."""
    schema = func._schema.arguments
    values = {argument.name: argument.default_value for argument in schema if argument.has_default_value()}
    return values | dict(zip((argument.name for argument in schema), args)) | kwargs


def _with_format(tensor, memory_format):
    return torch.empty(tensor.shape, dtype=tensor.dtype, device=tensor.device, memory_format=memory_format)


def _format_of(*tensors):
    """channels_last if any of the tensors has that format."""
    suggested = {torch._prims_common.suggest_memory_format(tensor) for tensor in tensors}
    for memory_format in (torch.channels_last, torch.channels_last_3d):
        if memory_format in suggested:
            return memory_format
    return torch.contiguous_format


def _convolution(original, mode, func, *args, **kwargs):
    predicted = original(mode, func, *args, **kwargs)
    given = _arguments(func, args, kwargs)
    input, weight = given["input"], given["weight"]
    if input.fake_device.type != NAME or predicted is NotImplemented:
        return predicted
    with mode:
        in_one_dimension = weight.dim() == 3  # PyTorch computes these as images of one row
        if in_one_dimension:
            input, weight = input.contiguous().unsqueeze(2), weight.unsqueeze(2)
        memory_format = _format_of(input, weight)

        def formatted(tensor):
            if tensor is None:
                return None
            if in_one_dimension:
                return _with_format(tensor.unsqueeze(2), memory_format).squeeze(2)
            return _with_format(tensor, memory_format)

        if isinstance(predicted, tuple):
            of_input, of_weight, of_bias = predicted
            return formatted(of_input), formatted(of_weight), of_bias
        return formatted(predicted)


def _attention(mode, func, *args, **kwargs):
    """Returns None for outputs that only other devices return."""
    given = _arguments(func, args, kwargs)
    query, key, value = given["query"], given["key"], given["value"]
    if query.fake_device.type != NAME:
        return NotImplemented
    with mode:
        output = query.new_empty((*query.shape[:3], value.shape[3]))
        log_sums = query.new_empty(query.shape[:3], dtype=torch.float32)
    return output, log_sums, None, None, query.shape[2], key.shape[2], None, None, None


def _attention_backward(mode, func, *args, **kwargs):
    given = _arguments(func, args, kwargs)
    query, bias = given["query"], given["attn_bias"]
    if query.fake_device.type != NAME:
        return NotImplemented
    with mode:
        gradients = [tensor.new_empty(tensor.shape) for tensor in (query, given["key"], given["value"])]
        of_bias = bias.new_empty(bias.shape) if bias is not None and given["grad_input_mask"][3] else None
    return *gradients, of_bias


def _pixel_shuffle(mode, func, *args, **kwargs):
    """Images keep their memory format, as on the CPU."""
    given = _arguments(func, args, kwargs)
    self, factor = given["self"], given["upscale_factor"]
    if self.fake_device.type != NAME:
        return NotImplemented
    *batches, channels, rows, columns = self.shape
    with mode:
        memory_format = _format_of(self) if self.dim() == 4 else torch.contiguous_format
        shape = (*batches, channels // factor**2, rows * factor, columns * factor)
        return torch.empty(shape, dtype=self.dtype, device=self.device, memory_format=memory_format)


def _pad(mode, func, *args, **kwargs):
    """Images and volumes keep their memory format, as on the CPU."""
    given = _arguments(func, args, kwargs)
    self, padding = given["self"], given["padding"]
    if self.fake_device.type != NAME:
        return NotImplemented
    shape = list(self.shape)
    for number in range(len(padding) // 2):
        shape[-1 - number] += padding[2 * number] + padding[2 * number + 1]
    with mode:
        memory_format = _format_of(self) if self.dim() >= 4 else torch.contiguous_format
        return torch.empty(shape, dtype=self.dtype, device=self.device, memory_format=memory_format)


def _pad_backward(mode, func, *args, **kwargs):
    """Gradients of images and volumes keep the input's memory format, as on the CPU."""
    self = _arguments(func, args, kwargs)["self"]
    if self.fake_device.type != NAME:
        return NotImplemented
    with mode:
        return _with_format(self, _format_of(self) if self.dim() >= 4 else torch.contiguous_format)


def _register(fake_impls):
    aten, implementations = torch.ops.aten, fake_impls.op_implementations_dict
    convolutions = (aten.convolution, aten._convolution, aten.convolution_backward)
    for operator in (getattr(each, name) for each in convolutions for name in each.overloads()):
        if operator in implementations:  # before 2.13, PyTorch decomposes _convolution
            implementations[operator] = functools.partial(_convolution, implementations[operator])
    implementations[aten._scaled_dot_product_fused_attention_overrideable.default] = _attention
    implementations[aten._scaled_dot_product_fused_attention_overrideable_backward.default] = _attention_backward
    implementations[aten.pixel_shuffle.default] = _pixel_shuffle
    for pad in ("reflection_pad2d", "reflection_pad3d", "replication_pad2d", "replication_pad3d"):
        implementations[getattr(aten, pad).default] = _pad
        implementations[getattr(aten, f"{pad}_backward").default] = _pad_backward


def install():
    when_imported("torch._subclasses.fake_impls", _register)
