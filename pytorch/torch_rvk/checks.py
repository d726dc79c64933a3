"""Checks that a device computes what the CPU does: known answers, and a short training run."""

import dataclasses

import torch

STEPS = 10
_TOLERANCE = 1e-4  # of losses and weights, relative to the larger of 1 and the value


class Failed(Exception):
    """One sentence: what is wrong."""


@dataclasses.dataclass(frozen=True)
class Training:
    losses: list  # of each step, on the device
    difference: float  # the largest one from the CPU, of a loss or a weight, relative like _TOLERANCE


def known_answers(device):
    """How many rows of the runtime's self-test passed, and how many are for features that this device lacks."""
    return judged(torch.ops.rvk.self_test(torch.device(device).index or 0))


def judged(rows):
    """Counts the same in rows, a dict from name to outcome; raises Failed if one has failed."""
    wrong = [f"{name}: {outcome.partition(': ')[2]}" for name, outcome in rows.items() if outcome.startswith("failed")]
    if wrong:
        raise Failed("the self-test found wrong answers: " + "; ".join(wrong))
    passed = sum(outcome == "passed" for outcome in rows.values())
    return passed, len(rows) - passed


def _train(network, features, classes):
    """Trains the network. Returns the loss of each step and the final weights, on the CPU."""
    optimizer = torch.optim.AdamW(network.parameters(), lr=0.05)
    losses = []
    for _ in range(STEPS):
        loss = torch.nn.functional.cross_entropy(network(features), classes)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, [parameter.detach().cpu() for parameter in network.parameters()]


def _network(generator):
    """A small classifier whose initial weights come from the generator."""
    network = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.LayerNorm(32), torch.nn.GELU(), torch.nn.Linear(32, 4))
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator) * 0.3)
    return network


def training(device):
    """Trains a small network on the device and on the CPU; raises Failed if losses or weights differ."""
    results = []
    for place in ("cpu", device):
        generator = torch.Generator("cpu").manual_seed(1)
        features = torch.randn(64, 16, generator=generator)
        classes = features[:, :4].argmax(1)
        results.append(_train(_network(generator).to(place), features.to(place), classes.to(place)))
    (expected, weights), (found, own_weights) = results
    pairs = [(torch.tensor(expected), torch.tensor(found)), *zip(weights, own_weights)]
    difference = max(((a - b).abs() / a.abs().clamp(min=1)).max().item() for a, b in pairs)
    if not difference <= _TOLERANCE:  # also if it is not a number
        raise Failed(f"after {STEPS} training steps, {device} differs from the CPU by {difference:.1e}")
    if not found[-1] < found[0]:
        raise Failed(f"{STEPS} training steps changed the loss from {found[0]:.3f} to {found[-1]:.3f}")
    return Training(found, difference)


def check_all():
    """All checks on every device; raises Failed."""
    reason = torch.ops.rvk.why_no_device()
    if reason:
        raise Failed(reason)
    for index in range(torch.rvk.device_count()):
        try:
            known_answers(f"rvk:{index}")
            training(f"rvk:{index}")
        except RuntimeError as problem:
            raise Failed(f"rvk:{index}: {str(problem).splitlines()[0]}") from problem
