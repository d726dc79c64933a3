"""A typical training script for CUDA: 54 features, AMP, DataParallel, checkpoints.

It knows nothing about rvk; test_run.py starts it with `python -m torch_rvk.run`.
"""

import argparse
import json
import os

import torch
import torch.nn as nn
from torch.cuda.amp import GradScaler
from torch.utils.data import DataLoader, TensorDataset


class FuturesModel(nn.Module):
    def __init__(self, hidden_layers, dropout_rate):
        super().__init__()
        self.input_layer = nn.Linear(54, hidden_layers[0])
        self.activation = nn.SiLU()
        self.hidden_layers = nn.ModuleList()
        for i, (width, following) in enumerate(zip(hidden_layers, hidden_layers[1:])):
            self.hidden_layers.append(
                nn.Sequential(
                    nn.Linear(width, following),
                    nn.LayerNorm(following),
                    nn.SiLU(),
                    nn.Dropout(dropout_rate * (1 + 0.2 * i)),
                )
            )
        self.final_norm = nn.LayerNorm(hidden_layers[-1])
        self.output_layer = nn.Linear(hidden_layers[-1], 1)

    def forward(self, x):
        with torch.autocast(device_type="cuda", dtype=torch.bfloat16):
            x = self.activation(self.input_layer(x))
            for layer in self.hidden_layers:
                x = layer(x)
            return self.output_layer(self.final_norm(x)).squeeze(-1)


def prime(device_ids):
    for index in device_ids:
        with torch.cuda.device(index):
            block = torch.zeros(1 << 20, dtype=torch.float32, device=f"cuda:{index}")
            del block
            torch.cuda.synchronize(index)
            torch.cuda.empty_cache()


def train(arguments):
    assert torch.cuda.is_available(), "no GPU"
    torch.manual_seed(arguments.seed)
    torch.cuda.manual_seed_all(arguments.seed)
    torch.backends.cudnn.benchmark = True
    torch.backends.cudnn.deterministic = False
    torch.backends.cuda.matmul.allow_tf32 = True
    device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
    prime([0])
    properties = torch.cuda.get_device_properties(0)
    print(f"{torch.cuda.device_count()} GPUs, {torch.cuda.get_device_name(0)}, {properties.total_memory} bytes")

    generator = torch.Generator().manual_seed(1)
    features = torch.randn(96, 54, generator=generator)
    targets = (features[:, 0] > 0).float()
    loader = DataLoader(
        TensorDataset(features, targets), batch_size=arguments.batch_size, shuffle=True, pin_memory=True, num_workers=0
    )
    model = FuturesModel([int(width) for width in arguments.hidden_layers.split(",")], arguments.dropout_rate).to(device)
    model = nn.DataParallel(model, device_ids=[int(index) for index in arguments.device_ids.split(",")])
    criterion = nn.BCEWithLogitsLoss()
    optimizer = torch.optim.AdamW(model.parameters(), lr=arguments.learning_rate, weight_decay=0.01)
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.5, patience=10)
    scaler = GradScaler(enabled=arguments.use_mixed_precision)
    history = []
    for epoch in range(arguments.epochs):
        total = 0.0
        for step, (x, y) in enumerate(loader):
            x, y = x.cuda(non_blocking=True), y.to(device, non_blocking=True)
            assert x.is_cuda and device.type == "cuda"
            with torch.cuda.amp.autocast(enabled=arguments.use_mixed_precision):
                loss = criterion(model(x).float(), y) / arguments.gradient_accumulation_steps
            scaler.scale(loss).backward()
            if (step + 1) % arguments.gradient_accumulation_steps == 0:
                scaler.unscale_(optimizer)
                torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                scaler.step(optimizer)
                scaler.update()
                optimizer.zero_grad(set_to_none=True)
            total += loss.item() * arguments.gradient_accumulation_steps
            torch.cuda.synchronize()
            torch.cuda.empty_cache()
        scheduler.step(total / len(loader))
        history.append(total / len(loader))
        print(f"epoch {epoch}: loss {history[-1]:.4f}, {torch.cuda.memory_allocated() / 2**20:.1f} MiB allocated")

    os.makedirs(arguments.output, exist_ok=True)
    path = os.path.join(arguments.output, "model_final.pt")
    torch.save({"model_state_dict": model.state_dict(), "scaler_state_dict": scaler.state_dict()}, path)
    checkpoint = torch.load(path, map_location="cuda:0")
    model.load_state_dict(checkpoint["model_state_dict"])
    with open(os.path.join(arguments.output, "history.json"), "w", encoding="utf-8") as file:
        json.dump(history, file)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--output", "-o", required=True)
    parser.add_argument("--epochs", "-e", type=int, default=10)
    parser.add_argument("--batch_size", "-b", type=int, default=32)
    parser.add_argument("--learning_rate", "-lr", type=float, default=0.01)
    parser.add_argument("--hidden_layers", "-hl", default="32,16")
    parser.add_argument("--dropout_rate", "-dr", type=float, default=0.0)
    parser.add_argument("--seed", "-s", type=int, default=42)
    parser.add_argument("--use_mixed_precision", "-mp", action="store_true")
    parser.add_argument("--device_ids", default="0,1")
    parser.add_argument("--gradient_accumulation_steps", type=int, default=1)
    train(parser.parse_args())
