"""Device memory: PyTorch's own statistics for our caching allocator."""

import torch

from .devices import get_device_properties, index_of


def empty_cache():
    """Returns cached memory that no tensor uses to the driver."""
    torch.accelerator.empty_cache()


def memory_stats(device=None):
    return torch.accelerator.memory_stats(index_of(device))


def memory_allocated(device=None):
    return torch.accelerator.memory_allocated(index_of(device))


def max_memory_allocated(device=None):
    return torch.accelerator.max_memory_allocated(index_of(device))


def memory_reserved(device=None):
    return torch.accelerator.memory_reserved(index_of(device))


def max_memory_reserved(device=None):
    return torch.accelerator.max_memory_reserved(index_of(device))


def reset_peak_memory_stats(device=None):
    torch.accelerator.reset_peak_memory_stats(index_of(device))


def reset_accumulated_memory_stats(device=None):
    torch.accelerator.reset_accumulated_memory_stats(index_of(device))


def mem_get_info(device=None):
    """(free, total) in bytes."""
    return torch.accelerator.get_memory_info(index_of(device))


# torch.cuda still has these old names.
reset_max_memory_allocated = reset_peak_memory_stats
reset_max_memory_cached = reset_peak_memory_stats
memory_cached = memory_reserved
max_memory_cached = max_memory_reserved


def _in_words(bytes_or_count, is_bytes):
    if not is_bytes:
        return f"{bytes_or_count:,}"
    value = float(bytes_or_count)
    for unit in ("B", "KiB", "MiB"):
        if abs(value) < 1024:
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1024
    return f"{value:.2f} GiB"


_ROWS = (
    ("Allocated memory", "allocated_bytes.all", True),
    ("Active memory", "active_bytes.all", True),
    ("Requested memory", "requested_bytes.all", True),
    ("Reserved memory", "reserved_bytes.all", True),
    ("Allocations", "allocation.all", False),
    ("Active allocations", "active.all", False),
    ("Driver allocations", "segment.all", False),
)
_COLUMNS = ("current", "peak", "allocated", "freed")


def memory_summary(device=None, abbreviated=False):
    """A readable table of memory_stats(); `abbreviated` keeps only the rows in bytes."""
    index = index_of(device)
    stats = memory_stats(index)
    lines = [
        f"rvk:{index} {get_device_properties(index).name}",
        f"retries after a failed allocation: {stats.get('num_alloc_retries', 0)}, "
        f"out of memory: {stats.get('num_ooms', 0)}",
        "".join([f"{'':22}"] + [f"{column:>14}" for column in _COLUMNS]),
    ]
    for title, key, is_bytes in _ROWS:
        if is_bytes or not abbreviated:
            cells = [_in_words(stats.get(f"{key}.{column}", 0), is_bytes) for column in _COLUMNS]
            lines.append(f"{title:22}" + "".join(f"{cell:>14}" for cell in cells))
    return "\n".join(lines) + "\n"
