"""The rows of pytorch_device.py: operators and training steps.

A factory takes the device and returns the function that is timed; its result is compared with the other device's.
Inputs are drawn on the CPU from a fixed seed, so that both devices have the same.
"""

import dataclasses
import functools
import itertools
import pathlib
import sys
from collections.abc import Callable

import torch
from torch import nn
from torch.nn import functional

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests" / "pytorch"))

from models.residual import ResNet18  # noqa: E402 (from the tests)

Timed = Callable[[], torch.Tensor | None]
NAMES = {torch.float32: "float32", torch.float16: "float16", torch.bfloat16: "bfloat16"}
SIXTEEN_BITS = (torch.float16, torch.bfloat16)


@dataclasses.dataclass(frozen=True)
class Case:
    """work: how many operations it takes; memory: whether the peak of device memory is compared, too; computes_in: the dtype
    whose rounding the results have, if it is not that of the result (autocast); random: the results depend on random numbers that
    differ between devices, so they are not compared."""
    name: str
    make: Callable[[str], Timed]
    work: float | None = None
    memory: bool = False
    computes_in: torch.dtype | None = None
    random: bool = False


def draw(device: str, *shape: int, dtype: torch.dtype = torch.float32, scale: float = 1.0) -> torch.Tensor:
    """Normally distributed; a long vector repeats 1 M values, which draws faster."""
    count = functools.reduce(lambda a, b: a * b, shape, 1)
    values = torch.randn(min(count, 1 << 20)) * scale
    if count > values.numel():
        values = values.repeat(-(-count // values.numel()))[:count]
    return values.reshape(shape).to(dtype).to(device)


def product(m: int, n: int, k: int, dtype: torch.dtype, layout: str = "NN", batch: int = 0) -> Callable[[str], Timed]:
    """layout: N or T for each factor; T is stored with its dimensions exchanged."""
    def make(device: str) -> Timed:
        def factor(rows: int, columns: int, letter: str) -> torch.Tensor:
            shape = (rows, columns) if letter == "N" else (columns, rows)
            one = draw(device, *((batch,) if batch else ()), *shape, dtype=dtype, scale=0.1)
            return one if letter == "N" else one.transpose(-1, -2)
        a, b = factor(m, k, layout[0]), factor(k, n, layout[1])
        return lambda: a @ b
    return make


def vector_product(rows: int, columns: int, dtype: torch.dtype) -> Callable[[str], Timed]:
    def make(device: str) -> Timed:
        a, x = draw(device, rows, columns, dtype=dtype, scale=0.1), draw(device, columns, dtype=dtype)
        return lambda: torch.mv(a, x)
    return make


def convolution(shape: tuple[int, int, int, int, int], part: str, dtype: torch.dtype, channels_last: bool = False,
                stride: int = 1, depthwise: bool = False) -> Callable[[str], Timed]:
    """shape: images, channels, outputs, side, taps along a side. part: forward, input, or weight (a gradient)."""
    images, channels, outputs, side, taps = shape
    def make(device: str) -> Timed:
        order = torch.channels_last if channels_last else torch.contiguous_format
        groups = channels if depthwise else 1
        x = draw(device, images, channels, side, side, dtype=dtype).to(memory_format=order)
        w = draw(device, outputs, channels // groups, taps, taps, dtype=dtype, scale=0.05).to(memory_format=order)
        padding = taps // 2
        if part == "forward":
            return lambda: functional.conv2d(x, w, stride=stride, padding=padding, groups=groups)
        out = (side + 2 * padding - taps) // stride + 1
        gradient = draw(device, images, outputs, out, out, dtype=dtype, scale=0.1).to(memory_format=order)
        mask = [part == "input", part == "weight", False]
        return lambda: torch.ops.aten.convolution_backward(
            gradient, x, w, None, [stride] * 2, [padding] * 2, [1, 1], False, [0, 0], groups, mask)[0 if part == "input" else 1]
    return make


def attention(shape: tuple[int, int, int, int], causal: bool, backward: bool, dtype: torch.dtype, dropout: float = 0.0,
              key_heads: int | None = None) -> Callable[[str], Timed]:
    """key_heads: heads of keys and values, each of which several heads of queries share; by default, each has its own."""
    n, heads, length, width = shape

    def make(device: str) -> Timed:
        q, k, v = (draw(device, n, count, length, width, dtype=dtype).requires_grad_(backward)
                   for count in (heads, key_heads or heads, key_heads or heads))
        call = functools.partial(functional.scaled_dot_product_attention, q, k, v, is_causal=causal, dropout_p=dropout,
                                 enable_gqa=key_heads is not None)
        if not backward:
            return call
        out = call()
        gradient = draw(device, *shape, dtype=dtype)
        return lambda: torch.autograd.grad(out, (q, k, v), gradient, retain_graph=True)[0]
    return make


def elementwise(function: Callable[[torch.Tensor], torch.Tensor], *shape: int,
                dtype: torch.dtype = torch.float32) -> Callable[[str], Timed]:
    def make(device: str) -> Timed:
        x = draw(device, *shape, dtype=dtype)
        return lambda: function(x)
    return make


def backward_of(function: Callable[..., torch.Tensor], *shape: int) -> Callable[[str], Timed]:
    """The backward pass of a function of one tensor and, where it takes them, a weight and a bias of the last dimension."""
    def make(device: str) -> Timed:
        inputs = [draw(device, *shape).requires_grad_()]
        if function is layer_norm:
            inputs += [draw(device, shape[-1]).requires_grad_(), draw(device, shape[-1]).requires_grad_()]
        out, gradient = function(*inputs), draw(device, *shape)
        return lambda: torch.autograd.grad(out, inputs, gradient, retain_graph=True)[0]
    return make


def layer_norm(x: torch.Tensor, weight: torch.Tensor | None = None, bias: torch.Tensor | None = None) -> torch.Tensor:
    return functional.layer_norm(x, x.shape[-1:], weight, bias)


def softmax(x: torch.Tensor) -> torch.Tensor:
    return functional.softmax(x, -1)


def addition(device: str) -> Timed:
    a, b = draw(device, 64 << 20), draw(device, 64 << 20)
    return lambda: a + b


def many_parameters(device: str) -> list[nn.Parameter]:
    """25 M parameters in 160 tensors, with gradients."""
    parameters = [nn.Parameter(draw(device, 400, 390)) for _ in range(160)]
    for parameter in parameters:
        parameter.grad = draw(device, 400, 390)
    return parameters


def optimizer(kind: type[torch.optim.Optimizer], **options: object) -> Callable[[str], Timed]:
    return lambda device: kind(many_parameters(device), lr=1e-3, **options).step


def clipping(device: str) -> Timed:
    """The limit is so large that gradients are multiplied by 1 and stay the same in every call."""
    parameters = many_parameters(device)
    return lambda: torch.nn.utils.clip_grad_norm_(parameters, 1e6)


def training_step(network: nn.Module, x: torch.Tensor, y: torch.Tensor, kind: type[torch.optim.Optimizer], autocast: torch.dtype | None,
                  loss_of: Callable = functional.cross_entropy, **options: object) -> Timed:
    one = kind(network.parameters(), **options)

    def step() -> torch.Tensor:
        one.zero_grad(set_to_none=True)
        with torch.autocast(x.device.type, dtype=autocast or torch.float16, enabled=autocast is not None):
            loss = loss_of(network(x), y)
        loss.backward()
        one.step()
        return loss.detach()
    return step


def residual_network(device: str, autocast: torch.dtype | None = None) -> Timed:
    network = ResNet18(1000).to(device)
    x, y = draw(device, 64, 3, 224, 224), torch.randint(0, 1000, (64,)).to(device)
    return training_step(network, x, y, torch.optim.SGD, autocast, lr=1e-4, momentum=0.9)


def encoder(device: str, autocast: torch.dtype | None = None) -> Timed:
    layer = nn.TransformerEncoderLayer(768, 12, 3072, dropout=0.0, activation="gelu", batch_first=True)
    network = nn.TransformerEncoder(layer, 6, enable_nested_tensor=False).to(device)
    x, y = draw(device, 8, 512, 768), draw(device, 8, 512, 768)
    return training_step(network, x, y, torch.optim.AdamW, autocast, functional.mse_loss, lr=1e-5)


class CausalBlock(nn.Module):
    """A block of GPT-2 (Radford et al. 2019) with attention through scaled_dot_product_attention."""

    def __init__(self, width: int, heads: int, dropout: float):
        super().__init__()
        self.heads, self.dropout = heads, dropout
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.project, self.join = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.wide, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.drop = nn.Dropout(dropout) if dropout else nn.Identity()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        n, t, width = x.shape
        q, k, v = (one.view(n, t, self.heads, -1).transpose(1, 2) for one in self.project(self.first(x)).chunk(3, -1))
        mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=True, dropout_p=self.dropout)
        x = x + self.drop(self.join(mixed.transpose(1, 2).reshape(n, t, width)))
        return x + self.drop(self.narrow(functional.gelu(self.wide(self.second(x)))))


def language_model(device: str, autocast: torch.dtype | None = None, dropout: float = 0.0) -> Timed:
    """dropout: the rate for embeddings, attention weights and the outputs of both halves of a block, as in nanoGPT."""
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.tokens, self.positions = nn.Embedding(65, 384), nn.Parameter(torch.randn(256, 384) * 0.02)
            self.blocks = nn.Sequential(*(CausalBlock(384, 6, dropout) for _ in range(6)))
            self.norm, self.head = nn.LayerNorm(384), nn.Linear(384, 65, bias=False)
            self.drop = nn.Dropout(dropout) if dropout else nn.Identity()

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.head(self.norm(self.blocks(self.drop(self.tokens(x) + self.positions)))).flatten(0, 1)
    x = torch.randint(0, 65, (64, 256)).to(device)
    return training_step(Model().to(device), x, x.flatten(), torch.optim.AdamW, autocast, lr=1e-5)


class DiffusionBlock(nn.Module):
    """A residual block with group norm, and attention over the pixels, as in the U-Nets of diffusion models."""

    def __init__(self, channels: int):
        super().__init__()
        self.norms = nn.ModuleList(nn.GroupNorm(32, channels) for _ in range(3))
        self.convolutions = nn.ModuleList(nn.Conv2d(channels, channels, 3, padding=1) for _ in range(2))
        self.project, self.join = nn.Linear(channels, 3 * channels), nn.Linear(channels, channels)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        hidden = x
        for norm, convolution_ in zip(self.norms, self.convolutions):
            hidden = convolution_(functional.silu(norm(hidden)))
        x = x + hidden
        n, c, h, w = x.shape
        pixels = self.norms[2](x).flatten(2).transpose(1, 2)
        q, k, v = (one.view(n, h * w, 8, -1).transpose(1, 2) for one in self.project(pixels).chunk(3, -1))
        mixed = functional.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(n, h * w, c)
        return x + self.join(mixed).transpose(1, 2).reshape(n, c, h, w)


def diffusion_block(device: str, autocast: torch.dtype | None = None) -> Timed:
    network = nn.Sequential(DiffusionBlock(320), DiffusionBlock(320)).to(device)
    x, y = draw(device, 4, 320, 64, 64), draw(device, 4, 320, 64, 64)
    return training_step(network, x, y, torch.optim.AdamW, autocast, functional.mse_loss, lr=1e-5)


def recurrent_network(device: str) -> Timed:
    network = nn.LSTM(256, 256, 2, batch_first=True).to(device)
    x, y = draw(device, 64, 128, 256), draw(device, 64, 128, 256)
    return training_step(network, x, y, torch.optim.AdamW, None, lambda out, target: functional.mse_loss(out[0], target), lr=1e-4)


def small_network(device: str, *widths: int, batch: int) -> Timed:
    layers = [layer for one in itertools.pairwise(widths) for layer in (nn.Linear(*one), nn.ReLU())]
    network = nn.Sequential(*layers[:-1]).to(device)
    x, y = draw(device, batch, widths[0]), draw(device, batch, widths[-1])
    return training_step(network, x, y, torch.optim.AdamW, None, functional.mse_loss, lr=1e-4)


def eight_linears(device: str) -> Timed:
    network = nn.Sequential(*(nn.Linear(64, 64) for _ in range(8))).to(device)
    x = draw(device, 32, 64)

    def step() -> torch.Tensor:
        network.zero_grad(set_to_none=True)
        out = network(x)
        out.sum().backward()
        return out.detach()
    return step


def host_sum(device: str) -> Timed:
    x = draw(device, 1024)

    def step() -> None:
        x.sum().item()
    return step


def product_cases() -> list[Case]:
    cases = []
    for dtype in SIXTEEN_BITS:
        for size, layout in itertools.product((2048, 4096, 8192), ("NN", "NT", "TN")):
            cases.append(Case(f"mm {size} {layout} {NAMES[dtype]}", product(size, size, size, dtype, layout),
                              work=2 * size ** 3))
        name = NAMES[dtype]
        cases += [Case(f"mm {size} {name}", product(size, size, size, dtype), 2 * size ** 3) for size in (512, 1024)]
        cases += [
            Case(f"bmm 96 of 512x64 by 64x512 {name}", product(512, 512, 64, dtype, "NT", 96), 2 * 96 * 512 * 512 * 64),
            Case(f"mm 64x4096x4096 {name}", product(64, 4096, 4096, dtype, "NT"), 2 * 64 * 4096 ** 2),
            Case(f"mm 1000x777x333 {name}", product(1000, 777, 333, dtype), 2 * 1000 * 777 * 333),
            Case(f"matrix 4096x4096 by vector {name}", vector_product(4096, 4096, dtype)),
        ]
    cases += [Case(f"mm {size} float32", product(size, size, size, torch.float32), 2 * size ** 3) for size in (1024, 2048, 4096)]
    cases.append(Case("matrix 8192x8192 by vector float32", vector_product(8192, 8192, torch.float32)))
    cases += [Case(f"mm {rows}x8192x8192 {layout} {NAMES[dtype]}", product(rows, 8192, 8192, dtype, layout), 2 * rows * 8192 ** 2)
              for rows in (1, 16) for dtype in (torch.float16, torch.float32) for layout in ("NN", "NT")]
    return cases


def convolution_cases() -> list[Case]:
    cases = []
    shapes = {"32x64x56² 3x3": (32, 64, 64, 56, 3), "32x128x28² 3x3": (32, 128, 128, 28, 3), "64x256x14² 3x3": (64, 256, 256, 14, 3),
              "4x320x64² 3x3": (4, 320, 320, 64, 3), "32x256x28² 1x1": (32, 256, 256, 28, 1)}
    for (name, shape), last, part in itertools.product(shapes.items(), (False, True), ("forward", "input", "weight")):
        work = 2 * shape[0] * shape[1] * shape[2] * shape[3] ** 2 * shape[4] ** 2
        order = "channels_last" if last else "NCHW"
        cases.append(Case(f"conv {name} {part} float16 {order}", convolution(shape, part, torch.float16, last), work))
    cases += [Case(f"conv {name} {part} bfloat16 NCHW", convolution(shapes[name], part, torch.bfloat16))
              for name in ("64x256x14² 3x3",) for part in ("forward", "input", "weight")]
    parts = {"32x64x56² 3x3": ("forward", "input", "weight"), "64x256x14² 3x3": ("forward", "weight"),
             "4x320x64² 3x3": ("forward", "weight"), "32x256x28² 1x1": ("forward",)}
    for name, part in ((name, part) for name in parts for part in parts[name]):
        shape = shapes[name]
        cases.append(Case(f"conv {name} {part} float32", convolution(shape, part, torch.float32),
                          2 * shape[0] * shape[1] * shape[2] * shape[3] ** 2 * shape[4] ** 2))
    for part in ("forward", "weight"):
        cases.append(Case(f"conv 64x256x28² 3x3 {part} float32", convolution((64, 256, 256, 28, 3), part, torch.float32),
                          2 * 64 * 256 ** 2 * 28 ** 2 * 9))
    cases.append(Case("conv 64x3x224² 7x7 stride 2 input float32", convolution((64, 3, 64, 224, 7), "input", torch.float32, stride=2)))
    for last, part in itertools.product((False, True), ("forward", "weight")):
        order = "channels_last" if last else "NCHW"
        cases.append(Case(f"conv 64x3x224² 7x7 stride 2 {part} float16 {order}",
                          convolution((64, 3, 64, 224, 7), part, torch.float16, last, stride=2)))
        if part == "weight":
            cases.append(Case(f"conv 32x256x56² 1x1 to 64 channels weight float16 {order}",
                              convolution((32, 256, 64, 56, 1), part, torch.float16, last)))
    cases += [Case(f"depthwise 32x256x28² 7x7 {part} float16", convolution((32, 256, 256, 28, 7), part, torch.float16, depthwise=True))
              for part in ("forward", "input", "weight")]
    return cases


def attention_cases() -> list[Case]:
    cases = []
    long, short = (2, 16, 4096, 128), (8, 12, 512, 64)
    for shape, dtype, causal, backward in itertools.product((long, short), (torch.float16, torch.bfloat16), (False, True), (False, True)):
        n, heads, length, width = shape
        work = 4 * n * heads * length ** 2 * width * (2.5 if backward else 1) * (0.5 if causal else 1)
        name = f"attention {'x'.join(map(str, shape))}{' causal' if causal else ''} {'backward' if backward else 'forward'} {NAMES[dtype]}"
        cases.append(Case(name, attention(shape, causal, backward, dtype), work))
    cases += [Case(f"attention 8x12x512x64 {'backward' if backward else 'forward'} float32",
                   attention(short, False, backward, torch.float32), 4 * 96 * 512 ** 2 * 64 * (2.5 if backward else 1))
              for backward in (False, True)]
    for backward in (False, True):
        part = "backward" if backward else "forward"
        times = 2.5 if backward else 1
        cases.append(Case(f"attention 2x16x4096x128 {part} float32", attention(long, False, backward, torch.float32),
                          4 * 32 * 4096 ** 2 * 128 * times))
        for dtype in (*SIXTEEN_BITS, torch.float32):
            cases += [
                Case(f"attention 8x12x512x64 dropout {part} {NAMES[dtype]}",
                     attention(short, False, backward, dtype, dropout=0.1), 4 * 96 * 512 ** 2 * 64 * times, memory=True, random=True),
                Case(f"attention 2x32x1024x128 with 8 heads of keys causal {part} {NAMES[dtype]}",
                     attention((2, 32, 1024, 128), True, backward, dtype, key_heads=8), 2 * 64 * 1024 ** 2 * 128 * times, memory=True),
                Case(f"attention 2x8x2048x256 {part} {NAMES[dtype]}",
                     attention((2, 8, 2048, 256), False, backward, dtype), 4 * 16 * 2048 ** 2 * 256 * times, memory=True)]
    return cases


def memory_cases() -> list[Case]:
    large = 64 << 20
    names = {"gelu": functional.gelu, "tanh": torch.tanh, "exp": torch.exp, "erf": torch.erf}
    return [Case("64 M elements, add", addition), Case("64 M elements, sum", elementwise(torch.sum, large)),
            *(Case(f"64 M elements, {name}", elementwise(function, large)) for name, function in names.items()),
            Case("softmax 16384x1024", elementwise(softmax, 16384, 1024)),
            Case("softmax backward 16384x1024", backward_of(softmax, 16384, 1024)),
            Case("layer norm 16384x1024", elementwise(layer_norm, 16384, 1024)),
            Case("layer norm backward 16384x1024", backward_of(layer_norm, 16384, 1024)),
            Case("softmax backward 8192x8192", backward_of(softmax, 8192, 8192)),
            Case("layer norm 8192x8192", elementwise(layer_norm, 8192, 8192)),
            Case("transpose 8192x8192", elementwise(lambda x: x.t().contiguous(), 8192, 8192)),
            Case("cumsum 64 M", elementwise(lambda x: torch.cumsum(x, 0), large)),
            Case("sort 16 M", elementwise(lambda x: torch.sort(x)[0], 16 << 20)),
            Case("topk 50 of 1024x65536", elementwise(lambda x: torch.topk(x, 50)[0], 1024, 65536), memory=True)]


def step_cases() -> list[Case]:
    cases = []
    models = {"ResNet-18 b64": residual_network, "encoder 6x768 b8x512": encoder, "nanoGPT 6x384 b64x256": language_model,
              "diffusion blocks 320 b4x64²": diffusion_block}
    for name, make in models.items():
        cases.append(Case(f"{name} float32", make, memory=True))
        cases += [Case(f"{name} autocast {NAMES[dtype]}", functools.partial(make, autocast=dtype), memory=True)
                  for dtype in SIXTEEN_BITS]
    cases += [Case(f"nanoGPT dropout 0.1 {'float32' if dtype is None else f'autocast {NAMES[dtype]}'}",
                   functools.partial(language_model, autocast=dtype, dropout=0.1), memory=True, random=True)
              for dtype in (None, *SIXTEEN_BITS)]
    fused = {"foreach": True}, {"fused": True}
    cases += [Case(f"AdamW, 25 M in 160 tensors, {next(iter(how))}", optimizer(torch.optim.AdamW, **how)) for how in fused]
    cases += [Case(f"SGD momentum, 25 M in 160 tensors, {next(iter(how))}", optimizer(torch.optim.SGD, momentum=0.9, **how))
              for how in fused]
    cases += [Case("gradient clipping, 25 M in 160 tensors", clipping)]
    cases += [Case("LSTM 2x256 b64x128 step", recurrent_network),
              Case("MLP 16-32-16-1 step, AdamW", lambda device: small_network(device, 16, 32, 16, 1, batch=32)),
              Case("8 linears forward and backward", eight_linears),
              Case("sum().item()", host_sum)]
    return cases


CASES = tuple(product_cases() + convolution_cases() + attention_cases() + memory_cases() + step_cases())
