"""torch.compile with backend="aot_eager": the compiled program returns the same outputs and gradients as eager mode, for
several sizes."""

import unittest

import torch
import torch.nn.functional as F
from torch import nn, randn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils._pytree import tree_map

from both_devices import NativeTestCase, tensors_of
from models.residual import BasicBlock
from models.sequence import EncoderClassifier
from support import DEVICE

attend = F.scaled_dot_product_attention


class CausalBlock(nn.Module):
    """A block of a GPT as in nanoGPT: heads are views of one product, attention's result is viewed as rows again."""

    def __init__(self, width: int, heads: int):
        super().__init__()
        self.heads = heads
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.of_heads, self.of_rows = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.perceptron = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.size()
        q, k, v = (part.view(batch, length, self.heads, width // self.heads).transpose(1, 2)
                   for part in self.of_heads(self.first(x)).split(width, dim=2))
        attended = attend(q, k, v, is_causal=True).transpose(1, 2).contiguous().view(batch, length, width)
        x = x + self.of_rows(attended)
        return x + self.perceptron(self.second(x))


class SelfAttention(nn.Module):
    """nn.MultiheadAttention of a sequence with itself."""

    def __init__(self, width: int, heads: int, **options):
        super().__init__()
        self.layer, self.options = nn.MultiheadAttention(width, heads, batch_first=True), options

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor | None]:
        return self.layer(x, x, x, **self.options)


class Function(nn.Module):
    """A function of the inputs and these parameters, as a module."""

    def __init__(self, function, *parameters):
        super().__init__()
        self.function = function
        self.values = nn.ParameterList(parameters)

    def forward(self, *inputs):
        return self.function(*inputs, *[self.values[i] for i in range(len(self.values))])


class HiddenStates(nn.Module):
    """The last hidden states of a network of the package transformers."""

    def __init__(self, network: nn.Module):
        super().__init__()
        self.network = network

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.network(tokens, use_cache=False).last_hidden_state


def of_transformers(kind: str, **options) -> nn.Module:
    """A small network of the package transformers."""
    import transformers
    configuration = getattr(transformers, f"{kind}Config")(vocab_size=31, attn_implementation="sdpa", **options)
    network = getattr(transformers, f"{kind}Model")(configuration)
    return HiddenStates(network)


def images(count: int, channels: int = 3, size: int = 8) -> torch.Tensor:
    return randn(count, channels, size, size).contiguous(memory_format=torch.channels_last)


def tokens(length: int) -> torch.Tensor:
    return torch.randint(0, 31, (2, length))


class CompiledLikeEager(NativeTestCase):
    def setUp(self):
        super().setUp()
        torch.manual_seed(0)
        torch._dynamo.reset()

    def run_once(self, function, module, inputs):
        """The outputs, and the gradients of the inputs and parameters."""
        inputs = [value.detach().clone().requires_grad_(value.is_floating_point()) for value in inputs]
        outputs = [output for output in tensors_of(function(*inputs)) if output.is_floating_point()]
        sources = [value for value in (*inputs, *module.parameters()) if value.requires_grad]
        weights = [torch.linspace(0.5, 1.5, output.numel(), device=DEVICE).reshape(output.shape) for output in outputs]
        return outputs, torch.autograd.grad(outputs, sources, weights, allow_unused=True)

    def check(self, module: nn.Module, *batches: tuple, tolerance: float = 1e-4, **options) -> None:
        """Compares the compiled module with the module itself for each of these inputs in turn; those after the first have
        other sizes, so they need symbolic sizes or another compilation."""
        module = module.to(DEVICE)
        compiled = torch.compile(module, backend="aot_eager", **options)
        for batch in batches:
            inputs = tree_map(lambda value: value.to(DEVICE), batch)
            expected, expected_gradients = self.run_once(module, module, inputs)
            found, gradients = self.run_once(compiled, module, inputs)
            for mine, reference in zip(found, expected, strict=True):
                torch.testing.assert_close(mine, reference, rtol=tolerance, atol=tolerance, check_stride=True)
            for mine, reference in zip(gradients, expected_gradients, strict=True):
                self.assertEqual(mine is None, reference is None)
                if mine is not None:
                    torch.testing.assert_close(mine, reference, rtol=tolerance, atol=tolerance * 10)


class Attention(CompiledLikeEager):
    def test_one_tensor_for_all(self):
        self.check(Function(lambda q: attend(q, q, q)), (randn(2, 3, 8, 4),), (randn(2, 3, 9, 4),))

    def test_symbolic_sizes(self):
        self.check(Function(attend), *((randn(2, 3, n, 8), randn(2, 3, n + 1, 8), randn(2, 3, n + 1, 8)) for n in (5, 9, 17)),
                   dynamic=True, fullgraph=True)

    def test_views_of_rows(self):
        def function(x):
            heads = x.transpose(1, 2)
            return attend(heads, heads, heads).transpose(1, 2).flatten(2), attend(heads, heads, heads).view(2, -1)

        self.check(Function(function), (randn(2, 16, 8, 4),), (randn(2, 7, 8, 4),))

    def test_masks(self):
        for mask in (randn(1, 1, 6, 6), randn(2, 3, 6, 6), randn(6, 6)):
            self.check(Function(lambda q, mask: attend(q, q, q, attn_mask=mask), nn.Parameter(mask)), (randn(2, 3, 6, 4),))
            torch._dynamo.reset()
        visible = torch.ones(6, 6).tril().bool().to(DEVICE)
        self.check(Function(lambda q: attend(q, q, q, attn_mask=visible)), (randn(2, 3, 6, 4),))

    def test_without_a_kernel(self):
        with sdpa_kernel(SDPBackend.MATH):
            self.check(Function(lambda q: attend(q, q, q)), (randn(2, 3, 6, 4),), (randn(2, 3, 7, 4),))
        self.check(Function(lambda q: attend(q, q, q)), (randn(2, 3, 6, 160),), (randn(2, 3, 7, 160),))

    def test_sixteen_bits(self):
        self.check(Function(lambda q: attend(q.half(), q.half(), q.half()).float()), (randn(2, 3, 8, 16),), (randn(2, 3, 9, 16),),
                   tolerance=1e-2)

    def test_block_of_a_gpt(self):
        self.check(CausalBlock(16, 4), (randn(2, 8, 16),), (randn(2, 12, 16),), (randn(3, 7, 16),))

    def test_multi_head_attention(self):
        for options in ({}, {"need_weights": False}):
            self.check(SelfAttention(16, 4, **options), (randn(2, 8, 16),), (randn(2, 11, 16),))
            torch._dynamo.reset()

    def test_encoder_layers(self):
        for norm_first in (False, True):
            layer = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True, norm_first=norm_first)
            self.check(layer, (randn(2, 8, 16),), (randn(2, 11, 16),))
            torch._dynamo.reset()
        self.check(EncoderClassifier(31, 16, 5, 8), (tokens(8),))

    def test_bert(self):
        self.check(of_transformers("Bert", hidden_size=16, intermediate_size=32, num_attention_heads=2,
                                   num_hidden_layers=2, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0), (tokens(8),), (tokens(11),))

    def test_gpt_2(self):
        self.check(of_transformers("GPT2", n_embd=16, n_layer=2, n_head=2, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0,
                                   bos_token_id=None, eos_token_id=None),
                   (tokens(8),), (tokens(11),))


class Convolutions(CompiledLikeEager):
    def test_view_of_channels_last(self):
        """The strides decide between a view and a copy."""
        for function in (lambda y: y.flatten(1), lambda y: y.permute(0, 2, 3, 1).flatten(1), lambda y: y.reshape(-1)):
            convolution = nn.Conv2d(3, 5, 3)
            self.check(nn.Sequential(convolution, Function(function)), (images(2),), (images(3),), (images(2, size=10),))
            torch._dynamo.reset()

    def test_kinds(self):
        channels_last = torch.channels_last
        for module, batch in ((nn.Conv2d(3, 5, 3).to(memory_format=channels_last), randn(2, 3, 8, 8)),
                              (nn.Conv2d(3, 5, 1, bias=False), images(2)),
                              (nn.Conv2d(4, 4, 3, groups=4, padding=1), images(2, 4)),
                              (nn.ConvTranspose2d(4, 6, 3, stride=2, output_padding=1), images(2, 4)),
                              (nn.Conv1d(3, 5, 3), randn(2, 8, 3).transpose(1, 2)),
                              (nn.ConvTranspose1d(3, 5, 3), randn(2, 8, 3).transpose(1, 2)),
                              (nn.Conv3d(3, 5, 2), randn(2, 3, 4, 4, 4).contiguous(memory_format=torch.channels_last_3d)),
                              (nn.Conv2d(3, 5, 3), randn(3, 8, 8))):
            with self.subTest(module=module):
                self.check(nn.Sequential(module, nn.ReLU(), Function(lambda y: y.reshape(-1))), (batch,))
                torch._dynamo.reset()

    def test_residual_network(self):
        def network():
            return nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), BasicBlock(8, 8, 1), BasicBlock(8, 12, 2),
                                 nn.AdaptiveAvgPool2d(1), nn.Flatten(1), nn.Linear(12, 5)).eval()

        self.check(network(), (images(4),), (images(3),))
        torch._dynamo.reset()
        self.check(network().to(memory_format=torch.channels_last), (images(4),), (images(3),))

    def test_shuffles(self):
        for function in (lambda x: F.pixel_shuffle(x, 2), lambda x: F.channel_shuffle(x, 2)):
            self.check(Function(lambda x, function=function: function(x).permute(0, 2, 3, 1).flatten(1)),
                       (images(2, 4),), (images(3, 4),))
            torch._dynamo.reset()

    def test_squeeze_and_upsample(self):
        """A tensor of one pixel can have the strides of either memory format, and upsampling depends on which."""
        pool = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.AdaptiveAvgPool2d(1), nn.Conv2d(8, 8, 1), nn.ReLU(), nn.Upsample(scale_factor=4),
                             Function(lambda y: y.reshape(-1)))
        self.check(pool, (images(4),), (images(3),))


class Recurrent(CompiledLikeEager):
    def test_two_lengths(self):
        for kind in (nn.LSTM, nn.GRU, nn.RNN):
            self.check(kind(3, 4, batch_first=True), (randn(2, 5, 3),), (randn(2, 6, 3),))
            torch._dynamo.reset()


if __name__ == "__main__":
    unittest.main()
