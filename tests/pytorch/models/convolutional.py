"""A U-Net and the blocks of a YOLO detector."""

import torch
from torch import nn


def convolution_block(inputs: int, outputs: int) -> nn.Sequential:
    return nn.Sequential(nn.Conv2d(inputs, outputs, 3, padding=1), nn.GroupNorm(4, outputs), nn.ReLU())


class UNet(nn.Module):
    """Ronneberger et al. 2015 with two levels: (N, inputs, H, W) to (N, classes, H, W); H and W multiples of 4."""

    def __init__(self, inputs: int, classes: int, width: int = 8):
        super().__init__()
        self.down_1 = convolution_block(inputs, width)
        self.down_2 = convolution_block(width, 2 * width)
        self.bottom = convolution_block(2 * width, 4 * width)
        self.raise_2 = nn.ConvTranspose2d(4 * width, 2 * width, 2, 2)
        self.up_2 = convolution_block(4 * width, 2 * width)
        self.raise_1 = nn.Upsample(scale_factor=2, mode="bilinear", align_corners=False)
        self.up_1 = convolution_block(3 * width, width)
        self.head = nn.Conv2d(width, classes, 1)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        one = self.down_1(images)
        two = self.down_2(nn.functional.max_pool2d(one, 2))
        low = self.bottom(nn.functional.avg_pool2d(two, 2))
        two = self.up_2(torch.cat((two, self.raise_2(low)), 1))
        return self.head(self.up_1(torch.cat((one, self.raise_1(two)), 1)))


def convolution_silu(inputs: int, outputs: int, kernel: int, stride: int = 1) -> nn.Sequential:
    return nn.Sequential(nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, bias=False), nn.BatchNorm2d(outputs), nn.SiLU())


class CrossStagePartial(nn.Module):
    """YOLOv5's C3: half of the channels go through bottlenecks, the other half bypass them."""

    def __init__(self, channels: int):
        super().__init__()
        half = channels // 2
        self.through, self.past = convolution_silu(channels, half, 1), convolution_silu(channels, half, 1)
        self.bottleneck = nn.Sequential(convolution_silu(half, half, 1), convolution_silu(half, half, 3))
        self.join = convolution_silu(channels, channels, 1)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        through = self.through(images)
        return self.join(torch.cat((through + self.bottleneck(through), self.past(images)), 1))


class PyramidPooling(nn.Module):
    """YOLOv5's SPPF: one max pooling applied three times, with all stages concatenated."""

    def __init__(self, channels: int):
        super().__init__()
        self.reduce, self.join = convolution_silu(channels, channels // 2, 1), convolution_silu(2 * channels, channels, 1)
        self.pool = nn.MaxPool2d(5, 1, 2)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        stages = [self.reduce(images)]
        for _ in range(3):
            stages.append(self.pool(stages[-1]))
        return self.join(torch.cat(stages, 1))


class YoloBlocks(nn.Module):
    """A small detector: (N, 3, S, S) to (N, 3·(5 + classes), S/8, S/8), with one step of a feature pyramid."""

    def __init__(self, classes: int, width: int):
        super().__init__()
        self.stem = convolution_silu(3, width, 3, 2)
        self.middle = nn.Sequential(convolution_silu(width, 2 * width, 3, 2), CrossStagePartial(2 * width))
        self.deep = nn.Sequential(convolution_silu(2 * width, 4 * width, 3, 2), CrossStagePartial(4 * width),
                                  PyramidPooling(4 * width))
        self.lateral = convolution_silu(4 * width, 2 * width, 1)
        self.down = convolution_silu(4 * width, 4 * width, 3, 2)
        self.head = nn.Conv2d(4 * width, 3 * (5 + classes), 1)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        middle = self.middle(self.stem(images))
        raised = nn.functional.interpolate(self.lateral(self.deep(middle)), scale_factor=2, mode="nearest")
        return self.head(self.down(torch.cat((middle, raised), 1)))


class YoloBackbone(nn.Module):
    """Plain blocks with stride 2 from 32 to 512 channels and the head of 255 channels of 80 classes."""

    def __init__(self):
        super().__init__()
        widths = (3, 32, 64, 128, 256, 512)
        self.blocks = nn.Sequential(*(
            nn.Sequential(nn.Conv2d(inputs, outputs, 3, 2, 1, bias=False), nn.BatchNorm2d(outputs), nn.LeakyReLU(0.1))
            for inputs, outputs in zip(widths, widths[1:])))
        self.head = nn.Conv2d(512, 255, 1)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return self.head(self.blocks(images))
