"""The rows of pytorch_device.py --edges: sizes just below and above those at which the kernel changes. The time should grow with the
work there, and not jump.
"""

import itertools

import torch
from device_cases import NAMES, Case, attention, backward_of, elementwise, layer_norm, product, softmax

ELEMENTS = 64 << 20
COLUMNS = (1024, 2048, 4096, 4097, 6144, 8192, 16384, 65536)  # rows of up to 4,096 columns stay in registers
ROWS = (1, 4, 8, 15, 16, 17, 32, 33, 64, 65, 96, 128, 129)  # a vector; then tiles of 64 and 128 rows
WIDTHS = (64, 72, 96, 128, 136, 192, 256, 264)  # tiles are 64, 128 or 256 wide; wider heads store their scores
LENGTH = 1024


def row_cases() -> list[Case]:
    """Softmax and layer norm of 64 M elements."""
    kinds = {"softmax": elementwise, "layer norm": elementwise, "softmax backward": backward_of, "layer norm backward": backward_of}
    functions = {"softmax": softmax, "layer norm": layer_norm}
    return [Case(f"{columns} columns, {name}", make(functions[name.removesuffix(" backward")], ELEMENTS // columns, columns))
            for name, make in kinds.items() for columns in COLUMNS]


def product_cases() -> list[Case]:
    return [Case(f"{rows} x 4096 by 4096 x 4096 {layout} {NAMES[dtype]}",
                 product(rows, 4096, 4096, dtype, layout), 2 * rows * 4096 ** 2)
            for dtype, layout in itertools.product((torch.float16, torch.float32), ("NN", "NT")) for rows in ROWS]


def attention_cases() -> list[Case]:
    return [Case(f"attention, heads of {width} columns, {'backward' if backward else 'forward'} {NAMES[dtype]}",
                 attention((4, 8, LENGTH, width), False, backward, dtype),
                 4 * 32 * LENGTH ** 2 * width * (2.5 if backward else 1))
            for dtype, backward in itertools.product((torch.float16, torch.float32), (False, True)) for width in WIDTHS]


CASES = tuple(row_cases() + product_cases() + attention_cases())
