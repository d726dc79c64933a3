#!/usr/bin/env python3
"""Makes the golden files of the archive tests with PyTorch: python3 tests/trainer/formats/make_golden.py

Element i of the k-th tensor of a model is ((7 i + 13 k) mod 255 - 127) / 128, which every float dtype holds exactly,
so the tests know all values without a second file.
"""
import collections
import pathlib
import pickle
import sys
import types
import zipfile

import numpy
import torch

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "data" / "archive"
FEATURES = [f"feature_{i}" for i in range(6)]


def define_original_module():
    """A class under the module path and name that the original system's pickles refer to."""
    for name in ("src", "src.ml", "src.ml.model"):
        sys.modules[name] = types.ModuleType(name)

    class AMDOptimizedFuturesModel(torch.nn.Module):
        def __init__(self, input_dim, hidden, dropout):
            super().__init__()
            self.input_layer = torch.nn.Linear(input_dim, hidden[0])
            self.hidden_layers = torch.nn.ModuleList(
                torch.nn.Sequential(torch.nn.Linear(a, b), torch.nn.LayerNorm(b), torch.nn.SiLU(),
                                    torch.nn.Dropout(dropout * (1 + 0.2 * i)))
                for i, (a, b) in enumerate(zip(hidden, hidden[1:])))
            self.final_norm = torch.nn.LayerNorm(hidden[-1])
            self.output_layer = torch.nn.Linear(hidden[-1], 1)
            self.feature_columns = []

        def forward(self, rows):
            rows = torch.nn.functional.silu(self.input_layer(rows))
            for layer in self.hidden_layers:
                rows = layer(rows)
            return self.output_layer(self.final_norm(rows)).squeeze(-1)

    AMDOptimizedFuturesModel.__module__ = "src.ml.model"
    AMDOptimizedFuturesModel.__qualname__ = "AMDOptimizedFuturesModel"
    sys.modules["src.ml.model"].AMDOptimizedFuturesModel = AMDOptimizedFuturesModel
    return AMDOptimizedFuturesModel


def fill(model):
    with torch.no_grad():
        for k, tensor in enumerate(model.state_dict().values()):
            values = (7 * torch.arange(tensor.numel()) + 13 * k) % 255 - 127
            tensor.copy_((values / 128).reshape(tensor.shape))
    return model


def optimizer_after_one_step(model):
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-4, weight_decay=0.01)
    rows = torch.ones(4, 6)
    model.eval()(rows).sum().backward()
    optimizer.step()
    fill(model)
    return optimizer


def original_checkpoint(model, optimizer, hidden):
    return {
        "model_state_dict": model.state_dict(),
        "version": "v20251031_120000",
        "timestamp": "v20251031_120512",
        "architecture": {"input_dim": 6, "hidden_layers": hidden, "dropout_rate": 0.4},
        "feature_columns": FEATURES,
        "optimizer_state_dict": optimizer.state_dict(),
        "epoch": 7,
        "loss": numpy.float64(0.6931),
        "metadata": {"accuracy": 0.0, "train_loss": 0.6932, "val_loss": numpy.float32(0.5),
                     "feature_columns": FEATURES},
    }


def repack_deflated(source, target):
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as new:
        for entry in old.infolist():
            new.writestr(zipfile.ZipInfo(entry.filename), old.read(entry), zipfile.ZIP_DEFLATED)


def views():
    base = torch.arange(24, dtype=torch.float32).reshape(4, 6)
    small = torch.tensor([-2, 0, 1, 3])
    return collections.OrderedDict(
        base=base,
        transposed=base.t(),
        column=base[:, 2],
        block=base[1:3, 4:],
        reversed_steps=base[::2, ::3],
        expanded=torch.tensor([1.5, -2.5]).reshape(2, 1).expand(2, 3),
        scalar=torch.tensor(3.25),
        empty=torch.empty(0, 5),
        parameter=torch.nn.Parameter(torch.tensor([0.25, 0.5])),
        float64=torch.tensor([0.1, -1e300], dtype=torch.float64),
        float16=torch.tensor([0.5, -65504.0, 6e-8, float("inf")], dtype=torch.float16),
        bfloat16=torch.tensor([0.5, -3.0, 1e38], dtype=torch.bfloat16),
        int64=torch.tensor([-(2**40), 5]),
        int32=small.to(torch.int32), int16=small.to(torch.int16), int8=small.to(torch.int8),
        uint8=torch.tensor([0, 1, 255], dtype=torch.uint8),
        boolean=torch.tensor([True, False]),
    )


def plain_values():
    shared = [1, 2]
    return {
        "none": None, "true": True, "false": False, "small": 7, "negative": -5, "large": 2**40, "huge": -(10**30),
        "real": 0.1, "text": "Kurs \u20ac \U0001f4c8", "bytes": b"\x00\xff", "list": shared, "same": shared,
        "tuple": (1, (2, 3), (4, 5, 6, 7)), "set": {9}, "dict": collections.OrderedDict(a=1), "complex": 1 + 2j,
        "numpy": numpy.float64(2.5), "range": range(3),
    }


class Plain(torch.nn.Module):
    """The original's network in a form that torch.jit.script and torch.export take."""

    def __init__(self, inputs, hidden):
        super().__init__()
        self.input_layer = torch.nn.Linear(inputs, hidden[0])
        self.hidden_layers = torch.nn.ModuleList(
            torch.nn.Sequential(torch.nn.Linear(a, b), torch.nn.LayerNorm(b)) for a, b in zip(hidden, hidden[1:]))
        self.final_norm = torch.nn.LayerNorm(hidden[-1])
        self.output_layer = torch.nn.Linear(hidden[-1], 1)

    def forward(self, rows):
        rows = torch.nn.functional.silu(self.input_layer(rows))
        for layer in self.hidden_layers:
            rows = torch.nn.functional.silu(layer(rows))
        return self.output_layer(self.final_norm(rows))


def shapes_of_files():
    """Other things that people save besides state dicts."""
    model = fill(Plain(6, [8, 8]))
    states = model.state_dict()
    torch.save({"state_dict": {f"model.{k}": v for k, v in states.items()} | {"loss.weight": torch.ones(2)},
                "pytorch-lightning_version": "2.4.0", "epoch": 3, "hyper_parameters": {"hidden": [8, 8]},
                "optimizer_states": [{"state": {}, "param_groups": []}]}, FOLDER / "lightning.pt")
    torch.save({"net": states, "epoch": 3}, FOLDER / "under_another_key.pt")
    torch.save({"generator": states, "discriminator": states}, FOLDER / "two_dicts.pt")
    torch.save({f"_fsdp_wrapped_module._orig_mod.{k}": v for k, v in states.items()}, FOLDER / "fsdp.pt")
    torch.save(model, FOLDER / "whole_module.pt")
    torch.save(torch.ones(3), FOLDER / "one_tensor.pt")
    torch.save(torch.optim.AdamW(model.parameters()).state_dict(), FOLDER / "optimizer.pt")
    torch.save(torch.nn.Linear(6, 1).state_dict(), FOLDER / "other_network.pt")
    diverged = {k: torch.full_like(v, float("nan")) for k, v in states.items()}
    torch.save(diverged, FOLDER / "diverged.pt")
    torch.jit.save(torch.jit.script(model), FOLDER / "torchscript.pt")
    torch.export.save(torch.export.export(model, (torch.ones(2, 6),)), FOLDER / "exported.pt2")


def main():
    FOLDER.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(1)
    model_class = define_original_module()

    model = fill(model_class(6, [32, 32], 0.4))
    optimizer = optimizer_after_one_step(model)
    torch.save(model.state_dict(), FOLDER / "state_dict.pt")
    torch.save(original_checkpoint(model, optimizer, [32, 32]), FOLDER / "checkpoint.pt")
    # The original put the live ModuleList where the sizes belong.
    torch.save(original_checkpoint(model, optimizer, model.hidden_layers), FOLDER / "original_best_model.pt")
    wrapped = torch.nn.DataParallel(torch.nn.DataParallel(fill(model_class(6, [32, 32, 32], 0.4))))
    torch.save({"model_state_dict": wrapped.state_dict(), "model": wrapped}, FOLDER / "data_parallel.pt")
    half = fill(model_class(6, [32], 0.0)).to(torch.bfloat16)
    torch.save(half.state_dict(), FOLDER / "bfloat16.pt", pickle_protocol=4)
    torch.save(views(), FOLDER / "views.pt")
    repack_deflated(FOLDER / "views.pt", FOLDER / "views_deflated.pt")
    torch.save(half.state_dict(), FOLDER / "legacy.pt", _use_new_zipfile_serialization=False)
    shapes_of_files()
    for protocol in range(6):
        values = plain_values()
        (FOLDER / f"protocol{protocol}.pkl").write_bytes(pickle.dumps(values, protocol))


if __name__ == "__main__":
    main()
