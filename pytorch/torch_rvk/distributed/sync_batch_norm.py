"""The operators of nn.SyncBatchNorm, which PyTorch implements only for CUDA, composed of other operators. Statistics are in
float32, or in float64 for float64 inputs."""

import torch

_LIBRARY = torch.library.Library("aten", "IMPL")


def _wide(tensor):
    return tensor if tensor.dtype is torch.float64 else tensor.float()


def _along_channels(vector, like):
    return vector.view(1, -1, *[1] * (like.dim() - 2))


def _others(tensor):
    """The dimensions that are not channels."""
    return [dim for dim in range(tensor.dim()) if dim != 1]


def batch_norm_stats(input, eps):
    variance, mean = torch.var_mean(_wide(input), _others(input), correction=0)
    return mean, torch.rsqrt(variance + eps)


def batch_norm_gather_stats_with_counts(input, mean, invstd, running_mean, running_var, momentum, eps, counts):
    """Merges the statistics of all processes: mean and invstd have a row for each. Updates the running statistics."""
    weights = counts.to(mean.dtype).view(-1, 1)
    total = weights.sum()
    of_all = (weights * mean).sum(0) / total
    squares = (weights * (invstd.pow(-2) - eps + (mean - of_all).square())).sum(0)
    if running_mean is not None:
        running_mean.lerp_(of_all.to(running_mean.dtype), momentum)
    if running_var is not None:
        running_var.lerp_((squares / (total - 1)).to(running_var.dtype), momentum)
    return of_all, torch.rsqrt(squares / total + eps)


def batch_norm_elemt(input, weight, bias, mean, invstd, eps):
    scale = invstd if weight is None else invstd * weight
    shift = -mean * scale if bias is None else bias - mean * scale
    return (_wide(input) * _along_channels(scale, input) + _along_channels(shift, input)).to(input.dtype)


def batch_norm_backward_reduce(grad_out, input, mean, invstd, weight, input_g, weight_g, bias_g):
    dims, gradient = _others(input), _wide(grad_out)
    sum_dy = gradient.sum(dims)
    sum_dy_xmu = (gradient * (_wide(input) - _along_channels(mean, input))).sum(dims)
    dtype = sum_dy.dtype if weight is None else weight.dtype
    grad_weight = (sum_dy_xmu * invstd).to(dtype) if weight_g else sum_dy.new_empty(0)
    return sum_dy, sum_dy_xmu, grad_weight, sum_dy.to(dtype) if bias_g else sum_dy.new_empty(0)


def batch_norm_backward_elemt(grad_out, input, mean, invstd, weight, sum_dy, sum_dy_xmu, count):
    total = count.sum().to(sum_dy.dtype)
    scale = invstd if weight is None else invstd * weight
    slope = invstd.square() * (sum_dy_xmu / total)
    centered = _wide(input) - _along_channels(mean, input)
    gradient = _wide(grad_out) - _along_channels(sum_dy / total, input) - centered * _along_channels(slope, input)
    return (gradient * _along_channels(scale, input)).to(input.dtype)


def install():
    for function in (
        batch_norm_stats,
        batch_norm_gather_stats_with_counts,
        batch_norm_elemt,
        batch_norm_backward_reduce,
        batch_norm_backward_elemt,
    ):
        _LIBRARY.impl(function.__name__, function, "PrivateUse1")
