"""transformers: TrainingArguments(bf16=True) where ACCELERATE_TORCH_DEVICE=rvk chooses the device."""

import functools
import os

from ..imports import when_imported
from ..library import NAME


def _allow_bfloat16(import_utils):
    """TrainingArguments calls this function, which knows only some device types."""
    original = import_utils.is_torch_bf16_gpu_available

    @functools.wraps(original)
    def is_torch_bf16_gpu_available():
        return original() or os.environ.get("ACCELERATE_TORCH_DEVICE", "").partition(":")[0] == NAME

    import_utils.is_torch_bf16_gpu_available = is_torch_bf16_gpu_available


def install():
    when_imported("transformers.utils.import_utils", _allow_bfloat16)
