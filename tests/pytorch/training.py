"""Trains one network on the CPU and on the device from the same weights with the same batches, and compares."""

import copy
import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.utils._pytree import tree_map

STEPS = 20
LOSS_TOLERANCE = 1e-4  # relative, float32
AUTOCAST_LOSS_TOLERANCE = 2e-2  # relative
FORWARD_TOLERANCE = 1e-4  # of the largest output
GRADIENT_TOLERANCE = 1e-3  # of the largest gradient of the network
SCALE = 2.0**10  # of the loss in float16; with the usual 2**16 the first step overflows and is skipped


@dataclasses.dataclass(frozen=True)
class TrainingCase:
    """A network, a fixed batch that it memorizes, and how it is trained."""
    make_network: Callable[[], nn.Module]
    make_batch: Callable[[], tuple[Any, torch.Tensor]]  # (inputs, targets)
    loss: Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
    make_optimizer: Callable[[list[nn.Parameter]], torch.optim.Optimizer]
    autocast: bool = True
    autocast_steps: int = STEPS  # fewer where a step takes seconds on a CPU driver
    prepare_training: Callable[[nn.Module], object] = lambda network: None  # changes a new network before its 20 steps


@dataclasses.dataclass
class Run:
    outputs: torch.Tensor  # of the first step
    gradients: dict[str, torch.Tensor | None]  # of the first step
    losses: list[float]  # before each step, and after the last


def to_device(value: Any, device: str) -> Any:
    return tree_map(lambda leaf: leaf.to(device) if isinstance(leaf, torch.Tensor) else leaf, value)


def copied(network: nn.Module, device: str) -> nn.Module:
    return copy.deepcopy(network).to(device).train()


def train(case: TrainingCase, network: nn.Module, device: str, autocast: torch.dtype | None, steps: int) -> Run:
    """Trains a copy of `network` on `device` for `steps` steps."""
    return train_with(case, copied(network, device), device, autocast, steps)


def train_with(case: TrainingCase, network: nn.Module, device: str, autocast: torch.dtype | None, steps: int) -> Run:
    """Trains `network`, which is on `device`, for `steps` steps."""
    inputs, targets = to_device(case.make_batch(), device)
    optimizer = case.make_optimizer(list(network.parameters()))
    scaler = torch.amp.GradScaler(torch.device(device).type, SCALE, enabled=autocast == torch.float16)
    run = Run(torch.empty(0), {}, [])
    for step in range(steps + 1):
        with torch.autocast(torch.device(device).type, autocast, enabled=autocast is not None):
            outputs = network(inputs)
            loss = case.loss(outputs, targets)
        run.losses.append(loss.item())
        if step == steps:
            break
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        if step == 0:
            scaler.unscale_(optimizer)
            run.outputs = outputs.detach().float().cpu()
            run.gradients = {name: None if parameter.grad is None else parameter.grad.cpu()
                             for name, parameter in network.named_parameters()}
        scaler.step(optimizer)
        scaler.update()
    return run


def seeded(make: Callable[[], Any]) -> Any:
    torch.manual_seed(1)
    return make()


def relative_errors(actual: list[float], expected: list[float]) -> list[float]:
    return [abs(mine - reference) / abs(reference) for mine, reference in zip(actual, expected, strict=True)]


def compare_step(case: TrainingCase, device: str) -> None:
    """Outputs, loss and every gradient of one step in float32. Raises AssertionError."""
    network = seeded(case.make_network)
    expected = train(case, network, "cpu", None, 1)
    actual = train(case, network, device, None, 1)
    error = (actual.outputs - expected.outputs).abs().max().item()
    scale = expected.outputs.abs().max().item()
    assert error <= FORWARD_TOLERANCE * scale, f"outputs differ by {error} of {scale}"
    worst = max(relative_errors(actual.losses, expected.losses))
    assert worst <= LOSS_TOLERANCE, f"losses {actual.losses}, the CPU's {expected.losses}"
    scale = max(gradient.abs().max().item() for gradient in expected.gradients.values() if gradient is not None)
    for name, reference in expected.gradients.items():
        mine = actual.gradients[name]
        assert (mine is None) == (reference is None), f"{name} has a gradient on one device only"
        if reference is not None:
            error = (mine - reference).abs().max().item()
            assert error <= GRADIENT_TOLERANCE * scale, f"gradient of {name} differs by {error} of {scale}"


def prepared_network(case: TrainingCase) -> nn.Module:
    network = seeded(case.make_network)
    case.prepare_training(network)
    return network


@functools.cache
def losses_on_the_cpu(case: TrainingCase) -> list[float]:
    """The losses of 20 steps in float32; the tests of a case share them."""
    return train(case, prepared_network(case), "cpu", None, STEPS).losses


def compare_training(case: TrainingCase, device: str, autocast: torch.dtype | None = None) -> None:
    """Compares the losses of 20 steps, or of the case's number of steps under autocast; the CPU trains in float32. Raises
    AssertionError."""
    network = prepared_network(case)
    steps = STEPS if autocast is None else case.autocast_steps
    expected = losses_on_the_cpu(case)[:steps + 1]
    actual = train(case, network, device, autocast, steps).losses
    tolerance = LOSS_TOLERANCE if autocast is None else AUTOCAST_LOSS_TOLERANCE
    worst = max(relative_errors(actual, expected))
    assert worst <= tolerance, f"relative error of the loss {worst}: {actual}, the CPU's {expected}"
    assert actual[-1] <= actual[0] / 2, f"the loss falls from {actual[0]} to {actual[-1]} only"


def add_tests(test_case: type, device: str, steps: dict[str, TrainingCase], trainings: dict[str, TrainingCase],
              autocasts: dict[str, TrainingCase]) -> None:
    """Gives the class test_NAME_step, test_NAME_training, and test_NAME_autocast_DTYPE of these cases."""
    def add(name: str, compare: Callable, *arguments) -> None:
        def body(self):
            compare(*arguments)
        body.__name__ = name
        setattr(test_case, name, body)

    for name, case in steps.items():
        add(f"test_{name}_step", compare_step, case, device)
    for name, case in trainings.items():
        add(f"test_{name}_training", compare_training, case, device)
    for name, case in autocasts.items():
        for dtype in (torch.bfloat16, torch.float16):
            add(f"test_{name}_autocast_{str(dtype).removeprefix('torch.')}", compare_training, case, device, dtype)
