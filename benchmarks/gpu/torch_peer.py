"""Training steps of one network in PyTorch: eager, fused AdamW, the whole step as one CUDA graph. Run by peers.py."""
import json
import statistics
import sys
import time

import torch
from torch import nn

from networks import NETWORKS, order, samples

torch.backends.cuda.matmul.allow_tf32 = False
torch.backends.cudnn.allow_tf32 = False


def make_model(network):
    modules = []
    for layer in network["model"]["layers"]:
        kind = layer["kind"]
        if kind == "linear":
            modules.append(nn.Linear(layer["inputs"], layer["outputs"]))
        elif kind == "layer_norm":
            modules.append(nn.LayerNorm(layer["inputs"], eps=layer["epsilon"]))
        elif kind == "activation":
            modules.append({"relu": nn.ReLU, "silu": nn.SiLU}[layer["activation"]]())
        else:
            modules.append(nn.Dropout(layer["dropout_rate"]))
    return nn.Sequential(*modules)


class Peer:
    """kind: eager | fused AdamW | CUDA graph | compiled, CUDA graph."""

    def __init__(self, name, kind, device, steps):
        torch.manual_seed(0)
        self.network, self.device, self.steps = NETWORKS[name], device, steps
        self.clip = self.network["training"]["clip_norm"]
        self.graph = "CUDA graph" in kind
        self.model = make_model(self.network).to(device)
        spec = self.network["training"]["optimizer"]
        self.optimizer = torch.optim.AdamW(
            self.model.parameters(), lr=spec["learning_rate"], betas=(spec["beta1"], spec["beta2"]), eps=spec["epsilon"],
            weight_decay=spec["weight_decay"], fused=None if kind == "eager" else True,
            capturable=self.graph)
        x, y = samples(self.network)
        self.x, self.y = torch.from_numpy(x).to(device), torch.from_numpy(y).to(device)
        self.order = torch.from_numpy(order(self.network, 1, steps)[:, 0]).long().to(device)
        self.loss_of = nn.MSELoss()
        self.forward = self.loss
        if "compiled" in kind:
            self.forward = torch.compile(self.loss)
        if self.graph:
            self.capture()

    def loss(self, bx, by):
        return self.loss_of(self.model(bx).squeeze(1), by)

    def step(self, rows):
        self.optimizer.zero_grad()
        self.forward(self.x[rows], self.y[rows]).backward()
        if self.clip:
            nn.utils.clip_grad_norm_(self.model.parameters(), self.clip)
        self.optimizer.step()

    def capture(self):
        """Counts the batch number on the device, so that a step is a single launch."""
        self.number = torch.zeros(1, dtype=torch.long, device=self.device)

        def captured():
            self.step(self.order.index_select(0, self.number % self.steps)[0])
            self.number += 1

        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                captured()
        torch.cuda.current_stream().wait_stream(side)
        self.captured = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.captured):
            captured()

    def run(self):
        if self.graph:
            for _ in range(self.steps):
                self.captured.replay()
        else:
            for i in range(self.steps):
                self.step(self.order[i])

    def synchronize(self):
        if self.device != "cpu":
            torch.cuda.synchronize()

    def seconds(self):
        self.synchronize()
        start = time.perf_counter()
        self.run()
        self.synchronize()
        return time.perf_counter() - start

    def evaluate(self):
        self.model.eval()
        with torch.no_grad():
            loss = float(self.loss(self.x, self.y))
        self.model.train()
        return loss


def main():
    options = json.loads(sys.argv[1])
    until = time.perf_counter() + options["seconds"]
    device = options["device"]
    described = "cpu" if device == "cpu" else torch.cuda.get_device_name(0)
    print(json.dumps({"torch": torch.__version__, "device": described}), flush=True)
    kinds = ["eager", "fused AdamW"]
    if device != "cpu":
        kinds += ["CUDA graph"] + (["compiled, CUDA graph"] if options["compile"] else [])
    names = dict.fromkeys(name for name, members, _ in options["sizes"] if members == 1)
    for kind in kinds:  # the slowest to prepare comes last
        for name in names:
            row = {"network": name, "networks": 1, "peer": f"PyTorch {kind}"}
            if time.perf_counter() > until:
                print(json.dumps(row | {"skipped": "no time left"}), flush=True)
                continue
            steps = options["graph_steps"] if "CUDA graph" in kind else options["eager_steps"]
            peer = Peer(name, kind, device, steps)
            before = peer.evaluate()
            peer.seconds()
            times = [peer.seconds() / steps * 1e6 for _ in range(options["repeats"])]
            after = peer.evaluate()
            if not after < before:
                raise SystemExit(f"{name} ({kind}): the loss went from {before} to {after}")
            print(json.dumps(row | {"steps": steps, "microseconds_per_network_step": statistics.median(times),
                                    "spread": [min(times), max(times)], "loss": [before, after]}), flush=True)


if __name__ == "__main__":
    main()
