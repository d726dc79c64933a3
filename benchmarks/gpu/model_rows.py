"""Training steps of whole models for pytorch_device.py --models: float32 and autocast in float16 and bfloat16.

The models are those of tests/pytorch, with their own batch and with one 32 times as large, and models of torchvision,
timm and transformers (what is not installed is left out, with a line that says so). They show whether
autocast is slower than float32 on the same device.
"""

import functools
import importlib
import importlib.util
import sys
from collections.abc import Callable

import torch
from device_cases import NAMES, SIXTEEN_BITS, Case, Timed, draw, training_step
from torch import nn
from torch.nn import functional

import model_cases  # noqa: E402 (of tests/pytorch, whose folder device_cases adds to the path)
from training import seeded, to_device

LARGE = 32  # times the batch of the tests
DTYPES = (None, *SIXTEEN_BITS)


def repeated(value: object, times: int) -> object:
    if isinstance(value, torch.Tensor):
        return value.repeat(times, *(1 for _ in value.shape[1:]))
    return type(value)(repeated(one, times) for one in value)


def tested_model(name: str, times: int, device: str, autocast: torch.dtype | None) -> Timed:
    case = model_cases.CASES[name]
    network = seeded(case.make_network).to(device).train()
    inputs, targets = (to_device(repeated(one, times), device) for one in case.make_batch())
    one = case.make_optimizer(list(network.parameters()))

    def step() -> torch.Tensor:
        one.zero_grad(set_to_none=True)
        with torch.autocast(torch.device(device).type, dtype=autocast or torch.float16, enabled=autocast is not None):
            loss = case.loss(network(inputs), targets)
        loss.backward()
        one.step()
        return loss.detach()
    return step


def vision_network(package: str, name: str) -> nn.Module:
    """A model of torchvision or timm with 100 classes. Dropout is off, because each device draws its own masks."""
    if package == "timm":
        network = importlib.import_module("timm").create_model(name, num_classes=100)
    else:
        network = getattr(importlib.import_module("torchvision.models"), name)(num_classes=100)
    for module in network.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.0
        if hasattr(module, "drop_prob"):
            module.drop_prob = 0.0
    return network


def vision_step(network: nn.Module, batch: int, device: str, autocast: torch.dtype | None, side: int = 224,
                dtype: torch.dtype = torch.float32) -> Timed:
    """A training step on `batch` random images of dtype `dtype`."""
    x, y = draw(device, batch, 3, side, side, dtype=dtype), torch.randint(0, 100, (batch,)).to(device)
    return training_step(network.to(device).train(), x, y, torch.optim.SGD, autocast, lr=1e-4, momentum=0.9)


def vision_model(package: str, name: str, batch: int, device: str, autocast: torch.dtype | None) -> Timed:
    return vision_step(vision_network(package, name), batch, device, autocast)


class Logits(nn.Module):
    def __init__(self, network: nn.Module):
        super().__init__()
        self.network = network

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.network(tokens).logits.flatten(0, -2)


def text_model(kind: str, batch: int, length: int, device: str, autocast: torch.dtype | None) -> Timed:
    package = importlib.import_module("transformers")
    sizes = dict(hidden_size=512, num_hidden_layers=6, num_attention_heads=8, vocab_size=4096)
    if kind == "llama":  # two query heads share a key head
        network = package.LlamaForCausalLM(package.LlamaConfig(**sizes, num_key_value_heads=4, intermediate_size=1376, use_cache=False))
    elif kind == "qwen3":
        network = package.Qwen3ForCausalLM(package.Qwen3Config(
            **sizes, num_key_value_heads=4, head_dim=64, intermediate_size=1376, use_cache=False))
    elif kind == "bert":
        network = package.BertForMaskedLM(package.BertConfig(
            **sizes, intermediate_size=2048, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0))
    else:
        network = package.GPT2LMHeadModel(package.GPT2Config(
            vocab_size=4096, n_positions=length, n_embd=512, n_layer=6, n_head=8, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0,
            use_cache=False))
    tokens = torch.randint(0, 4096, (batch, length)).to(device)
    return training_step(Logits(network).to(device).train(), tokens, tokens.flatten(), torch.optim.AdamW, autocast,
                         functional.cross_entropy, lr=1e-5)


def in_every_dtype(name: str, make: Callable[..., Timed]) -> list[Case]:
    return [Case(f"{name} {'float32' if dtype is None else 'autocast ' + NAMES[dtype]}", functools.partial(make, autocast=dtype),
                 memory=True, computes_in=dtype) for dtype in DTYPES]


def model_rows() -> list[Case]:
    rows = []
    for name, case in model_cases.CASES.items():
        count = len(case.make_batch()[1])
        for times in (1, LARGE):
            rows += in_every_dtype(f"{name} b{count * times}", functools.partial(tested_model, name, times))
    outside = [("torchvision", "resnet50", 32), ("torchvision", "mobilenet_v2", 32), ("torchvision", "densenet121", 16),
               ("torchvision", "vgg16", 16), ("timm", "convnext_tiny", 16), ("timm", "vit_small_patch16_224", 32),
               ("timm", "swin_tiny_patch4_window7_224", 16), ("timm", "efficientnet_b0", 32), ("timm", "mixer_s32_224", 32),
               # With two images, the host limits both devices, so what autocast adds to a step is host time.
               ("timm", "mobilenetv4_conv_medium", 2), ("timm", "maxvit_tiny_tf_224", 2)]
    missing = set()
    for package, name, batch in outside:
        if importlib.util.find_spec(package) is None:
            missing.add(package)
            continue
        rows += in_every_dtype(f"{package} {name} b{batch}", functools.partial(vision_model, package, name, batch))
    if importlib.util.find_spec("transformers") is None:
        missing.add("transformers")
    else:
        for kind in ("gpt2", "bert", "llama", "qwen3"):
            rows += in_every_dtype(f"transformers {kind} 6x512 b8x512", functools.partial(text_model, kind, 8, 512))
    if missing:
        print(f"not installed, left out: {', '.join(sorted(missing))}", file=sys.stderr)
    return rows
