"""The network that `rekindle train` trains, as PyTorch modules with the names of its state dicts (docs/formats/torch-archive.md)."""

import pathlib

import torch
from torch import nn


class FuturesNetwork(nn.Module):
    """(N, inputs) features of a session to (N,) values: Linear and SiLU, then Linear, LayerNorm, SiLU, dropout for each
    further width, a LayerNorm and one output."""

    def __init__(self, inputs: int = 54, hidden: tuple[int, ...] = (128, 64), dropout: float = 0.0):
        super().__init__()
        self.input_layer = nn.Linear(inputs, hidden[0])
        self.hidden_layers = nn.ModuleList(
            nn.Sequential(nn.Linear(before, after), nn.LayerNorm(after), nn.SiLU(), nn.Dropout(dropout))
            for before, after in zip(hidden, hidden[1:]))
        self.final_norm = nn.LayerNorm(hidden[-1])
        self.output_layer = nn.Linear(hidden[-1], 1)

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        values = nn.functional.silu(self.input_layer(features))
        for layer in self.hidden_layers:
            values = layer(values)
        return self.output_layer(self.final_norm(values)).squeeze(-1)


def load(path: pathlib.Path, device: str) -> tuple[FuturesNetwork, dict]:
    """The network of a run folder's best_model.pt on `device`, and the file's dictionary."""
    file = torch.load(path, weights_only=True, map_location=device)
    architecture = file["architecture"]
    network = FuturesNetwork(architecture["input_dim"], tuple(architecture["hidden_layers"])).to(device)
    network.load_state_dict(file["model_state_dict"])
    return network, file
