"""How well conditioned the cases of model_cases.py and workload_cases.py are, using only the CPU.

usage: conditioning.py [NAME…]

For each case, it prints the largest relative difference of a loss within the 20 steps if the weights change by a relative 5e-7
(the worst of six draws), if the run is in float64, and if it is under bfloat16 autocast; then the fraction of the loss that
remains.
"""

import copy
import dataclasses
import sys

import torch
from torch import nn
from torch.utils._pytree import tree_map

from model_cases import CASES
from workload_cases import TRAINED_OPERATIONS
from training import STEPS, TrainingCase, relative_errors, seeded, train

CHANGE = 5e-7
DRAWS = 6


def changed(network: nn.Module, seed: int) -> nn.Module:
    generator = torch.Generator().manual_seed(seed)
    other = copy.deepcopy(network)
    with torch.no_grad():
        for parameter in other.parameters():
            parameter.mul_(1 + CHANGE * torch.randn(parameter.shape, generator=generator))
    return other


def in_float64(case: TrainingCase) -> TrainingCase:
    def batch():
        return tree_map(lambda tensor: tensor.double() if tensor.is_floating_point() else tensor, case.make_batch())
    return dataclasses.replace(case, make_batch=batch)


def report(name: str, case: TrainingCase) -> None:
    network = seeded(case.make_network)
    case.prepare_training(network)
    losses = train(case, network, "cpu", None, STEPS).losses

    def worst(other: list[float]) -> float:
        return max(relative_errors(other, losses))
    changes = max(worst(train(case, changed(network, seed), "cpu", None, STEPS).losses) for seed in range(DRAWS))
    double = worst(train(in_float64(case), copy.deepcopy(network).double(), "cpu", None, STEPS).losses)
    half = worst(train(case, network, "cpu", torch.bfloat16, STEPS).losses)
    print(f"{name}: changed weights {changes:.1e}, float64 {double:.1e}, bfloat16 {half:.1e}, "
          f"loss left {losses[-1] / losses[0]:.2f}", flush=True)


if __name__ == "__main__":
    cases = CASES | TRAINED_OPERATIONS
    unknown = [name for name in sys.argv[1:] if name not in cases]
    if unknown:
        sys.exit(f"There is no case {', '.join(unknown)}; the cases are: {', '.join(cases)}.")
    for case_name in sys.argv[1:] or cases:
        report(case_name, cases[case_name])
