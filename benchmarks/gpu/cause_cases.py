"""The rows of pytorch_device.py --causes: the slowest products and convolutions with one size varied, beside kernels that only read or
only write the same bytes. Where the time hardly changes with a size, the loop over that size is not what takes long.
"""

import itertools

import torch
from device_cases import NAMES, Case, convolution, elementwise, product

TERMS = (16, 32, 64, 128, 256, 512)
BATCHES = (12, 24, 48, 96, 192, 384)
ROWS = (1, 2, 4, 8, 16, 32, 64, 128)
CHANNELS = (128, 192, 256, 288, 320, 352, 384, 448, 512)
SIDE = 8192


def batch_cases() -> list[Case]:
    half = torch.float16
    sizes = [(96, k) for k in TERMS] + [(batch, 64) for batch in BATCHES]
    return [Case(f"bmm {batch} of 512x{k} by {k}x512 float16", product(512, 512, k, half, batch=batch), 2 * batch * k * 512 ** 2)
            for batch, k in dict.fromkeys(sizes)] + [
        Case("bmm: fill its result, 96x512x512 float16", elementwise(lambda x: x.fill_(1), 96, 512, 512, dtype=half))]


def row_cases() -> list[Case]:
    dtypes = (torch.float16, torch.float32)
    return [Case(f"rows: {rows} by {SIDE}x{SIDE} {layout} {NAMES[dtype]}", product(rows, SIDE, SIDE, dtype, layout), 2 * rows * SIDE ** 2)
            for dtype, layout in itertools.product(dtypes, ("NN", "NT")) for rows in ROWS] + [
        Case(f"rows: amax of {SIDE}x{SIDE} {NAMES[dtype]}", elementwise(torch.amax, SIDE, SIDE, dtype=dtype)) for dtype in dtypes]


def channel_cases() -> list[Case]:
    return [Case(f"channels: conv 4x{channels}x64² 3x3 {part} float16 channels_last",
                 convolution((4, channels, channels, 64, 3), part, torch.float16, channels_last=True), 2 * 9 * 4 * 64 ** 2 * channels ** 2)
            for part in ("forward", "input", "weight") for channels in CHANNELS]


CASES = tuple(batch_cases() + row_cases() + channel_cases())
