"""The networks of test_models.py with batches and optimizers.

20 steps amplify rounding errors if batch norm has few values, or if an input of ReLU is near zero or two inputs of a
maximum nearly tie. The cases are well conditioned: on the CPU, a relative change of the weights by 5e-7 changes no loss
by more than 4e-5, and the loss falls by half or more. (ResNet-18 with PyTorch's initial weights and SGD: up to 3e-2,
whatever the rate.) conditioning.py measures this.
"""

import torch
from torch import nn

from models.convolutional import UNet, YoloBlocks
from models.futures import FuturesNetwork
from models.residual import ResNet18
from models.sequence import EncoderClassifier, SequenceClassifier, Translator
from training import TrainingCase, seeded


def adamw(rate: float):
    return lambda parameters: torch.optim.AdamW(parameters, rate)


def adam(rate: float):
    return lambda parameters: torch.optim.Adam(parameters, rate)


def sgd(rate: float):
    return lambda parameters: torch.optim.SGD(parameters, rate, momentum=0.9)


def images(count: int, size: int, classes: int, channels: int = 3):
    generator = torch.Generator().manual_seed(2)
    return (torch.randn(count, channels, size, size, generator=generator),
            torch.randint(classes, (count,), generator=generator))


def segmentation(count: int, size: int, classes: int):
    generator = torch.Generator().manual_seed(3)
    picture = torch.randn(count, 1, size, size, generator=generator)
    return picture, (picture[:, 0] > 0).long() + (classes - 2) * (picture[:, 0] > 1).long()


def detection(count: int, size: int):
    generator = torch.Generator().manual_seed(4)
    return (torch.randn(count, 3, size, size, generator=generator),
            1 + 0.5 * torch.randn(count, 21, size // 8, size // 8, generator=generator))


def rows(count: int, features: int):
    generator = torch.Generator().manual_seed(5)
    inputs = torch.randn(count, features, generator=generator)
    return inputs, torch.tanh(inputs[:, :4].sum(1))


def sequences(count: int, length: int, features: int, classes: int):
    generator = torch.Generator().manual_seed(6)
    return (torch.randn(count, length, features, generator=generator),
            torch.randint(classes, (count,), generator=generator))


def sentences(count: int, length: int, tokens: int, classes: int):
    generator = torch.Generator().manual_seed(7)
    return (torch.randint(tokens, (count, length), generator=generator),
            torch.randint(classes, (count,), generator=generator))


def translations(count: int, length: int, tokens: int):
    generator = torch.Generator().manual_seed(8)
    source = torch.randint(tokens, (count, length), generator=generator)
    target = torch.randint(tokens, (count, length), generator=generator)
    return (source, target), target.roll(-1, 1)


def token_loss(outputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    return nn.functional.cross_entropy(outputs.flatten(0, 1), targets.flatten())


def mlp() -> nn.Module:
    return nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 64), nn.GELU(), nn.Linear(64, 1), nn.Flatten(0))


def blocks_as_identity(network: ResNet18) -> None:
    """The last batch norm of each block starts with weight 0 (Goyal et al. 2017, "Accurate, large minibatch SGD", 5.1)."""
    for stage in network.stages:
        for block in stage:
            nn.init.zeros_(block.second[1].weight)


cross_entropy, mean_squared = nn.functional.cross_entropy, nn.functional.mse_loss

CASES: dict[str, TrainingCase] = {
    "mlp": TrainingCase(mlp, lambda: rows(64, 32), mean_squared, adamw(3e-3)),
    "futures_network": TrainingCase(FuturesNetwork, lambda: rows(64, 54), nn.functional.smooth_l1_loss, adamw(2e-3)),
    "resnet18": TrainingCase(lambda: ResNet18(10), lambda: images(8, 32, 2), cross_entropy, sgd(5e-4),
                             autocast_steps=12, prepare_training=blocks_as_identity),
    "yolo_blocks": TrainingCase(lambda: YoloBlocks(2, 8), lambda: detection(4, 64), mean_squared, sgd(2e-2)),
    "unet": TrainingCase(lambda: UNet(1, 3), lambda: segmentation(2, 32, 3), cross_entropy, adam(6e-3)),
    "lstm": TrainingCase(lambda: SequenceClassifier(nn.LSTM, 8, 16, 4), lambda: sequences(8, 12, 8, 4), cross_entropy, adam(1e-2)),
    "gru": TrainingCase(lambda: SequenceClassifier(nn.GRU, 8, 16, 4), lambda: sequences(8, 12, 8, 4), cross_entropy, adam(1e-2)),
    "transformer_encoder": TrainingCase(lambda: EncoderClassifier(50, 32, 4, 16), lambda: sentences(8, 16, 50, 4), cross_entropy, adam(1e-3)),
    "transformer_decoder": TrainingCase(lambda: Translator(20, 32), lambda: translations(4, 12, 20), token_loss, adam(3e-3)),
}


def seeded_network(name: str) -> nn.Module:
    """The network of a case on the CPU, with the same weights at every call."""
    return seeded(CASES[name].make_network)
