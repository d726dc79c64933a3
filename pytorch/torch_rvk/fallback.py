"""Which operators ran on the CPU because the device has no kernel for them."""

import torch


def fallback_stats():
    """How often each such operator was called since the last reset: {"aten::linalg_svd": 3}, most frequent first."""
    stats = torch.ops.rvk.fallback_stats()
    return dict(sorted(stats.items(), key=lambda item: (-item[1], item[0])))


def reset_fallback_stats():
    torch.ops.rvk.reset_fallback_stats()
