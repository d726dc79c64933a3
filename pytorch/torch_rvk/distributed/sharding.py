"""Tells DTensor along which dimensions it can divide attention. PyTorch itself tells it only for CUDA's attention operators."""

import torch

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


def _register(_module):
    from torch.distributed.tensor import Partial, Replicate, Shard
    from torch.distributed.tensor.experimental import register_sharding

    @register_sharding(_FORWARD)
    def _forward(query, key, value, bias=None, dropout=0.0, causal=False, debug=False, *, scale=None):
        shardings = []
        for each, bias_each in [(Replicate(), Replicate())] + [
            (Shard(d), None if bias is None else _along(d, bias, Replicate(), Shard)) for d in _dimensions(query, key)
        ]:
            outputs = [each, each, *[None] * 7]
            shardings.append((outputs, [each, each, each] + ([] if bias is None else [bias_each])))
        return shardings

    @register_sharding(_BACKWARD)
    def _backward(gradient, query, key, value, bias, mask, out, logsumexp, cum_q, cum_k, max_q, max_k, dropout, causal, seed,
                  offset, *, scale=None):  # fmt: skip
        of_seed = [] if seed is None else [Replicate()]
        shardings = []
        for d in [None, *_dimensions(query, key)]:
            each = Replicate() if d is None else Shard(d)
            of_bias, of_gradient = [], None
            if bias is not None:
                of_bias = [Replicate() if d is None else _along(d, bias, Replicate(), Shard)]
                of_gradient = Partial() if d is not None and of_bias == [Replicate()] else of_bias[0]
            outputs = [each, each, each, of_gradient if mask[3] else None]
            shardings.append((outputs, [each] * 4 + of_bias + [each] * 2 + of_seed))
        return shardings


def install():
    from ..imports import when_imported

    when_imported("torch.distributed.tensor", _register)
