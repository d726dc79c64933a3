"""Ultralytics: device="rvk" for training, validation, prediction and export."""

import functools

import torch

from ..devices import get_device_name, index_of
from ..imports import when_imported
from ..library import NAME


def _choose_devices(torch_utils):
    """Ultralytics resolves device=… with select_device(), which knows only some device types."""
    original = torch_utils.select_device

    @functools.wraps(original)
    def select_device(device="", newline=False, verbose=True):
        if str(device).partition(":")[0] != NAME:
            return original(device, newline, verbose)
        chosen = torch.device(NAME, index_of(device))
        name = get_device_name(chosen)  # raises if the device does not exist
        torch.accelerator.set_device_index(chosen)
        if verbose:
            torch_utils.LOGGER.info(f"Ultralytics {torch_utils.__version__} torch-{torch.__version__} {chosen} ({name})")
        return chosen

    torch_utils.select_device = select_device


def _scale_gradients(trainer):
    """The trainer creates a gradient scaler for CUDA, which has no effect on rvk."""
    if trainer.device.type == NAME and trainer.amp:
        trainer.scaler = torch.amp.GradScaler(NAME, enabled=trainer.args.amp != "bf16")


def _add_callbacks(base):
    base.default_callbacks["on_pretrain_routine_end"].append(_scale_gradients)


def install():
    when_imported("ultralytics.utils.torch_utils", _choose_devices)
    when_imported("ultralytics.utils.callbacks.base", _add_callbacks)
