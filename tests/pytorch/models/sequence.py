"""Recurrent networks and Transformers; without dropout, whose masks differ from the CPU's."""

import torch
from torch import nn


class SequenceClassifier(nn.Module):
    """The last output of a recurrent network (nn.LSTM or nn.GRU), classified: (N, T, features) to (N, classes)."""

    def __init__(self, cell: type[nn.RNNBase], features: int, hidden: int, classes: int, layers: int = 2):
        super().__init__()
        self.recurrent = cell(features, hidden, layers, batch_first=True, bidirectional=True)
        self.head = nn.Linear(2 * hidden, classes)

    def forward(self, sequences: torch.Tensor) -> torch.Tensor:
        return self.head(self.recurrent(sequences)[0][:, -1])


class EncoderClassifier(nn.Module):
    """Token numbers (N, T) to (N, classes) through nn.TransformerEncoder."""

    def __init__(self, tokens: int, width: int, classes: int, length: int):
        super().__init__()
        self.embedding = nn.Embedding(tokens, width)
        self.position = nn.Parameter(torch.randn(length, width) * 0.02)
        layer = nn.TransformerEncoderLayer(width, 4, 2 * width, dropout=0.0, batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(width, classes)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.head(self.encoder(self.embedding(tokens) + self.position).mean(1))


class Translator(nn.Module):
    """nn.Transformer with a causal mask: (source, target) token numbers, each (N, T), to (N, T, tokens)."""

    def __init__(self, tokens: int, width: int):
        super().__init__()
        self.embedding = nn.Embedding(tokens, width)
        self.transformer = nn.Transformer(width, 4, 1, 2, 2 * width, dropout=0.0, activation="gelu", batch_first=True)
        self.head = nn.Linear(width, tokens)

    def forward(self, pair: tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
        source, target = pair
        mask = nn.Transformer.generate_square_subsequent_mask(target.shape[1], device=target.device)
        return self.head(self.transformer(self.embedding(source), self.embedding(target), tgt_mask=mask, tgt_is_causal=True))
