"""ResNet-18 (He et al. 2015, "Deep Residual Learning for Image Recognition", table 1)."""

import torch
from torch import nn


class BasicBlock(nn.Module):
    """Two 3×3 convolutions with batch norm, and a shortcut that is projected where the shape changes."""

    def __init__(self, inputs: int, outputs: int, stride: int):
        super().__init__()
        self.first = nn.Sequential(nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU())
        self.second = nn.Sequential(nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False), nn.BatchNorm2d(outputs))
        self.shortcut = nn.Identity()
        if stride != 1 or inputs != outputs:
            self.shortcut = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.second(self.first(images)) + self.shortcut(images))


class ResNet18(nn.Module):
    """(N, 3, H, W) to (N, classes); H and W at least 32."""

    def __init__(self, classes: int):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1))
        widths = (64, 64, 128, 256, 512)
        self.stages = nn.Sequential(*(
            nn.Sequential(BasicBlock(inputs, outputs, 1 if inputs == outputs else 2), BasicBlock(outputs, outputs, 1))
            for inputs, outputs in zip(widths, widths[1:])))
        self.head = nn.Linear(512, classes)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        features = self.stages(self.stem(images))
        return self.head(nn.functional.adaptive_avg_pool2d(features, 1).flatten(1))
