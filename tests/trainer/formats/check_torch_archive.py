#!/usr/bin/env python3
"""Loads the archives that the test ModelFile.WritesFilesForPyTorch wrote: check_torch_archive.py FOLDER

Exit status 1, with the assertion that failed, when PyTorch does not find in them what was written.
"""
import json
import pathlib
import struct
import sys
import zipfile

import torch


def network():
    hidden = torch.nn.Sequential(torch.nn.Linear(32, 16), torch.nn.LayerNorm(16), torch.nn.SiLU(),
                                 torch.nn.Dropout(0.25))
    return torch.nn.ModuleDict({
        "input_layer": torch.nn.Linear(6, 32), "hidden_layers": torch.nn.ModuleList([hidden]),
        "final_norm": torch.nn.LayerNorm(16), "output_layer": torch.nn.Linear(16, 1)})


def expected(k, shape):
    count = int(torch.tensor(shape).prod())
    return (((7 * torch.arange(count) + 13 * k) % 255 - 127) / 128).reshape(shape)


def check_state(state):
    model = network()
    assert list(state) == list(model.state_dict()), list(state)
    model.load_state_dict(state, strict=True)
    for k, (name, tensor) in enumerate(state.items()):
        assert torch.equal(tensor, expected(k, tensor.shape)), name
    return model


def check_model_file(path, optimizer_class):
    for mmap in (False, True):
        file = torch.load(path, weights_only=True, mmap=mmap)
        model = check_state(file["model_state_dict"])
        optimizer = optimizer_class(model)
        optimizer.load_state_dict(file["optimizer_state_dict"])
        assert optimizer.param_groups[0]["lr"] == 2.5e-4
        buffers = next(iter(optimizer.state.values()))
        for name in ("exp_avg", "exp_avg_sq", "momentum_buffer"):
            if name in buffers:
                assert torch.equal(buffers[name], expected(0, (32, 6))), name
        if "step" in buffers:
            assert buffers["step"] == 17
        rows = model["input_layer"](torch.ones(2, 6))
        model["output_layer"](model["final_norm"](model["hidden_layers"][0](rows))).sum().backward()
        optimizer.step()
    metadata = json.loads(path.with_name(path.stem + "_metadata.json").read_text())
    without_tensors = {key: value for key, value in file.items()
                       if key not in ("model_state_dict", "optimizer_state_dict")}
    # NaN is null in JSON and None in the archive.
    assert without_tensors == metadata, "the archive and its metadata differ"
    assert file["rekindle"]["seed"] == 2**64 - 1


def check_safetensors(path):
    data = path.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + length])
    assert header.pop("__metadata__") == {"format": "pt"}
    state = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        raw = bytearray(data[8 + length + begin:8 + length + end])
        state[name] = torch.frombuffer(raw, dtype=torch.float32).reshape(entry["shape"])
    check_state(state)
    assert (8 + length) % 64 == 0
    try:
        import safetensors.torch
    except ImportError:
        print("the safetensors package is not installed: its reader was not tested")
    else:
        check_state(safetensors.torch.load_file(path))


def main(folder):
    check_model_file(folder / "adamw.pt", lambda model: torch.optim.AdamW(model.parameters()))
    check_model_file(folder / "sgd.pt", lambda model: torch.optim.SGD(model.parameters(), lr=1, momentum=0.9))
    for mmap in (False, True):
        check_state(torch.load(folder / "model.pt", weights_only=True, mmap=mmap))
    check_safetensors(folder / "model.safetensors")
    for path in folder.glob("*.pt"):
        assert zipfile.ZipFile(path).testzip() is None, path
    print(f"PyTorch {torch.__version__} loads adamw.pt, sgd.pt and model.pt (weights_only, with and without mmap) "
          "and finds what was written")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
