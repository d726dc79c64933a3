"""Random numbers: every device has one default generator (Philox 4x32-10)."""

from collections.abc import Sequence

import torch

from .devices import current_device, device_count, index_of


class _DefaultGenerators(Sequence):
    """The default generators of all devices, each created at first use."""

    def __len__(self):
        return device_count()

    def __getitem__(self, index):
        if not -len(self) <= index < len(self):
            raise IndexError(f"There is no device rvk:{index}; the number of devices is {len(self)}.")
        return torch.ops.rvk.default_generator(index % len(self))


default_generators = _DefaultGenerators()


def get_rng_state(device="rvk"):
    return default_generators[index_of(device)].get_state()


def get_rng_state_all():
    return [generator.get_state() for generator in default_generators]


def set_rng_state(new_state, device="rvk"):
    default_generators[index_of(device)].set_state(new_state)


def set_rng_state_all(new_states):
    for generator, state in zip(default_generators, new_states):
        generator.set_state(state)


def _signed(seed):
    """Returns the 64 bits of a seed as a signed number, which operators take."""
    seed = torch.Generator().manual_seed(int(seed)).initial_seed()  # PyTorch's rules for negative and too large seeds
    return seed - 2**64 if seed >= 2**63 else seed


def manual_seed(seed):
    """Seeds the current device. Like manual_seed_all(), it does not enumerate the devices, so a process may seed and
    then fork."""
    torch.ops.rvk.manual_seed(_signed(seed))


def manual_seed_all(seed):
    torch.ops.rvk.manual_seed_all(_signed(seed))


def seed():
    """Seeds the current device with a random seed."""
    return default_generators[current_device()].seed()


def seed_all():
    """Seeds all devices with one random seed."""
    generators = list(default_generators)
    if generators:
        manual_seed_all(generators[0].seed())


def initial_seed():
    return default_generators[current_device()].initial_seed()
