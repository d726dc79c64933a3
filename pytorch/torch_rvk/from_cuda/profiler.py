"""torch.profiler with ProfilerActivity.CUDA or use_device="cuda" measures rvk."""

import functools

import torch
from torch.autograd import profiler as autograd_profiler
from torch.profiler import ProfilerActivity

from ..versions import minor_version
from .devices import mapped
from .report import say

# Before 2.13, Kineto accepts no kernels from other devices, so the profiler times operators with the device's events.
_KINETO_TAKES_KERNELS = minor_version(torch.__version__) >= (2, 13)


def _mapped(activity):
    if activity is not ProfilerActivity.CUDA:
        return activity
    say("ProfilerActivity.CUDA", "ProfilerActivity.PrivateUse1")
    return ProfilerActivity.PrivateUse1


def _mapped_entries(activity):
    """An entry is a group of events or {group: names of events}. The names are CUDA's, so all events of rvk are recorded
    unless the list is empty, which means none."""
    if not isinstance(activity, dict) or ProfilerActivity.CUDA not in activity:
        return [_mapped(activity)]
    others = {group: names for group, names in activity.items() if group is not ProfilerActivity.CUDA}
    return ([others] if others else []) + ([_mapped(ProfilerActivity.CUDA)] if activity[ProfilerActivity.CUDA] else [])


def _map_activities(original):
    @functools.wraps(original)
    def __init__(self, *args, activities=None, **kwargs):
        if activities is not None:
            activities = [entry for activity in activities for entry in _mapped_entries(activity)]
        original(self, *args, activities=activities, **kwargs)

    return __init__


def _map_device(original):
    @functools.wraps(original)
    def __init__(self, enabled=True, *, use_cuda=False, use_device=None, **kwargs):
        use_device = "rvk" if use_cuda else mapped(use_device)
        if use_device == "rvk":
            if _KINETO_TAKES_KERNELS:
                kwargs.setdefault("use_kineto", True)
            else:
                kwargs["use_kineto"] = not kwargs.get("use_cpu", True)
        original(self, enabled, use_device=use_device, **kwargs)

    return __init__


def install():
    for cls in torch.profiler._KinetoProfile, torch.profiler.profile:
        cls.__init__ = _map_activities(cls.__init__)
    autograd_profiler.profile.__init__ = _map_device(autograd_profiler.profile.__init__)
