"""Operations from programs in which PyTorch crashed or hung on RDNA1 GPUs, as networks that can be trained.

A layer learns to reproduce another layer of its kind from that layer's outputs for random inputs. The loss is quadratic, so it
falls at a known rate. Layers with too many operations for 20 steps on a CPU driver (`TRAINED_OPERATIONS`) run one step.
"""

import torch
from torch import nn

from model_cases import adamw, cross_entropy, images, mean_squared, sgd
from models.convolutional import YoloBackbone
from training import TrainingCase


class Product(nn.Module):
    """(N, inputs) times a matrix (inputs, outputs), without a bias."""

    def __init__(self, inputs: int, outputs: int):
        super().__init__()
        self.matrix = nn.Parameter(torch.randn(inputs, outputs) / inputs**0.5)

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        return torch.matmul(rows, self.matrix)


class SpatialFilter(nn.Module):
    """Electrodes (N, 1, 64, T) to filters (N, 32, T): the smallest network that crashed."""

    def __init__(self):
        super().__init__()
        self.filter = nn.Conv2d(1, 32, (64, 1))

    def forward(self, signals: torch.Tensor) -> torch.Tensor:
        return self.filter(signals).squeeze(2)


class AttentionLayers(nn.Module):
    """A Transformer layer, then attention alone, to 16 values of each token."""

    def __init__(self, width: int):
        super().__init__()
        self.layer = nn.TransformerEncoderLayer(width, 4, 2 * width, dropout=0.0, activation="gelu", batch_first=True)
        self.attention = nn.MultiheadAttention(width, 4, batch_first=True)
        self.head = nn.Linear(width, 16)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        encoded = self.layer(tokens)
        return self.head(encoded + self.attention(encoded, encoded, encoded, need_weights=False)[0])


def random(*shape: int, seed: int = 11) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def learned(make_layer, shape: tuple[int, ...], rate: float) -> TrainingCase:
    """A layer that learns another one of its kind from inputs of this shape. The loss is also a mean over the channels, so at a
    learning rate of 1/40 of their number, the error of a weight falls by 1/20 per step."""
    def batch():
        with torch.random.fork_rng(devices=()), torch.no_grad():
            torch.manual_seed(12)
            teacher = make_layer()
            inputs = random(*shape)
            return inputs, teacher(inputs)
    return TrainingCase(make_layer, batch, mean_squared, lambda parameters: torch.optim.SGD(parameters, rate))


def separable() -> nn.Module:
    return nn.Sequential(nn.Conv2d(32, 32, 3, padding=1, groups=32), nn.Conv2d(32, 64, 1))


def handwriting() -> nn.Module:
    return nn.Sequential(nn.Flatten(), nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 10))


def wide() -> nn.Module:
    return nn.Sequential(nn.Linear(1024, 1024), nn.GELU(), nn.Linear(1024, 1024))


def convolution_of(size: int, batch: int) -> TrainingCase:
    return learned(lambda: nn.Conv2d(3, 64, 3, padding=1), (batch, 3, size, size), 64 / 40)


TRAINED_OPERATIONS: dict[str, TrainingCase] = {
    "spatial_filter": learned(SpatialFilter, (16, 1, 64, 256), 32 / 40),
    "product_1000": learned(lambda: Product(1000, 1000), (1000, 1000), 1000 / 40),
    "convolution_16_32": learned(lambda: nn.Conv2d(16, 32, 3, padding=1), (4, 16, 64, 64), 32 / 40),
    "depthwise_pointwise": learned(separable, (4, 32, 32, 32), 64 / 12),
    "transposed": learned(lambda: nn.ConvTranspose2d(64, 32, 4, 2, 1), (4, 64, 16, 16), 32 / 10),
    "handwriting": TrainingCase(handwriting, lambda: images(64, 28, 10, 1), cross_entropy, adamw(1e-3)),
    "attention": TrainingCase(lambda: AttentionLayers(64), lambda: (random(4, 32, 64), 1 + random(4, 32, 16, seed=13) / 2),
                              mean_squared, sgd(2e-2)),
    "mixed_precision": TrainingCase(wide, lambda: (random(32, 1024), 1 + random(32, 1024, seed=13) / 2), mean_squared, adamw(1e-4)),
    "convolution_32": convolution_of(32, 2),
    "convolution_44": convolution_of(44, 2),
}

OPERATIONS: dict[str, TrainingCase] = {
    **TRAINED_OPERATIONS,
    "convolution_64": convolution_of(64, 2),
    "convolution_128": convolution_of(128, 1),
    "convolution_224": convolution_of(224, 8),
    "yolo_backbone": TrainingCase(YoloBackbone, lambda: (random(1, 3, 416, 416), random(1, 255, 13, 13, seed=13)), mean_squared, sgd(1e-3)),
}
