"""The backend `rvk` of torch.distributed: collectives for tensors of this device, between processes of one or more hosts.

    torch.distributed.init_process_group()          # or "rvk", or "cpu:gloo,rvk:rvk"

operators.py receives the calls and group.py queues them. C++ runs the collectives (pytorch/src/distributed); between hosts, it
calls between_hosts.py. CPU tensors go to Gloo. docs/distributed.md describes the rest.
"""

import functools
import os
import sys

import torch

from ..at_exit import at_exit
from ..library import NAME


def _create(options, _backend_options):
    """PyTorch calls this for every new group. Returns Gloo's backend, which handles CPU tensors and every call that is not
    an operator. Operators on rvk tensors go through operators.py instead."""
    from . import operators
    from .group import Group

    store = _of_this_start(options.store)
    operators.GROUPS.add(options.group_id, Group(options, torch.distributed.PrefixStore(NAME, store)))
    return torch.distributed.ProcessGroupGloo(store, options.group_rank, options.group_size, timeout=options.timeout)


def _of_this_start(store):
    """Gives each start of the processes its own keys, because torchrun can keep its store when it restarts them."""
    return torch.distributed.PrefixStore(f"start{os.environ.get('TORCHELASTIC_RESTART_COUNT', 0)}", store)


def replace(name, wrap):
    """Replaces a function of torch.distributed, also in the modules of PyTorch that imported it by name."""
    original = getattr(torch.distributed, name)
    wrapped = functools.wraps(original)(wrap(original))
    for module in [module for key, module in sys.modules.items() if key.startswith("torch.distributed")]:
        if vars(module).get(name) is original:
            setattr(module, name, wrapped)


def _with_default(init_process_group):
    """Chooses rvk if the caller names no backend. PyTorch itself would choose rvk only for rvk tensors, and no backend for CPU
    tensors."""

    def call(backend=None, *arguments, **keywords):
        if backend is None and torch._C._get_accelerator().type == NAME:
            backend = NAME
        return init_process_group(backend, *arguments, **keywords)

    return call


def install():
    distributed = torch.distributed
    if not distributed.is_available() or not distributed.is_gloo_available():
        return
    from . import fake, group, operators, sharding, sync_batch_norm

    group.register()
    distributed.Backend.register_backend(NAME, _create, extended_api=True, devices=["cpu", NAME])
    operators.install()
    sharding.install()
    fake.install()
    sync_batch_norm.install()
    replace("init_process_group", _with_default)
    replace("_broadcast_coalesced", operators.broadcasting_at_once)
    at_exit(operators.GROUPS.close)
