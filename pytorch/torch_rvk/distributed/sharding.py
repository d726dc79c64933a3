"""Tells DTensor along which dimensions it can divide attention, which PyTorch itself does only for CUDA's operators, and makes it
predict results on the device."""

import torch

from ..versions import minor_version

_aten = torch.ops.aten
_FORWARD = _aten._scaled_dot_product_fused_attention_overrideable.default
_BACKWARD = _aten._scaled_dot_product_fused_attention_overrideable_backward.default


def _along(dimension, tensor, replicated, shard):
    """Returns the placement of a bias, which attention broadcasts to four dimensions, if the result is divided along one of them."""
    own = dimension - (4 - tensor.ndim)
    return shard(own) if own >= 0 and tensor.shape[own] > 1 else replicated


def _dimensions(query, key):
    """The dimensions along which DTensor may divide the tensors: batch and heads. With grouped queries, heads only if every
    process gets as many keys as the others, so that the queries of a key stay together."""
    grouped = query.shape[1] != key.shape[1]
    return [0] if grouped and any(key.shape[1] % size for size in query.mesh.shape) else [0, 1]


def _choices(query, key, bias):
    """Yields, for each way to divide attention, the placement of the tensors with heads, and a list with the bias's placement, which
    is empty if there is no bias."""
    from torch.distributed.tensor import Replicate, Shard

    for dimension in [None, *_dimensions(query, key)]:
        each = Replicate() if dimension is None else Shard(dimension)
        if bias is None or dimension is None:
            yield each, [] if bias is None else [each]
        else:
            yield each, [_along(dimension, bias, Replicate(), Shard)]


def _register(_module):
    from torch.distributed.tensor import Partial, Replicate
    from torch.distributed.tensor.experimental import register_sharding

    @register_sharding(_FORWARD)
    def _forward(query, key, value, bias=None, dropout=0.0, causal=False, debug=False, *, scale=None):
        return [([each, each, *[None] * 7], [each] * 3 + of_bias) for each, of_bias in _choices(query, key, bias)]

    @register_sharding(_BACKWARD)
    def _backward(gradient, query, key, value, bias, mask, out, logsumexp, cum_q, cum_k, max_q, max_k, dropout, causal, seed,
                  offset, *, scale=None):  # fmt: skip
        of_seed = [] if seed is None else [Replicate()]
        shardings = []
        for each, of_bias in _choices(query, key, bias):
            of_gradient = None
            if of_bias and mask[3]:
                summed = each != Replicate() and of_bias == [Replicate()]
                of_gradient = Partial() if summed else of_bias[0]
            shardings.append(([each, each, each, of_gradient], [each] * 4 + of_bias + [each] * 2 + of_seed))
        return shardings


def _predict_on_device(module):
    """Makes PyTorch predict the strides of a DTensor's results on the mesh's device, as it does from version 2.13 on. On the CPU, they
    can differ from rvk's (fake_tensors.py)."""
    original = module._rebuild_tensor_from_dtensor_meta

    def rebuild(spec):
        with torch.device(spec.mesh.device_type):
            return original(spec)

    module._rebuild_tensor_from_dtensor_meta = rebuild


def install():
    from ..imports import when_imported

    when_imported("torch.distributed.tensor", _register)
    if minor_version(torch.__version__) < (2, 13):
        when_imported("torch.distributed.tensor._op_schema", _predict_on_device)
