"""The engine's rules in PyTorch, for make_golden.py and check_against_pytorch.py; shares no code with the C++."""
import numpy as np
import torch
from torch import nn


def hashed(count, stream):
    """Reproducible numbers in [-1, 1) that C++ generates as well (tests/mlp/hashed.h)."""
    x = (np.arange(count, dtype=np.uint64) + np.uint64(stream) * np.uint64(0x9E3779B9)) & np.uint64(0xFFFFFFFF)
    mask = np.uint64(0xFFFFFFFF)
    x ^= x >> np.uint64(16)
    x = (x * np.uint64(0x7FEB352D)) & mask
    x ^= x >> np.uint64(15)
    x = (x * np.uint64(0x846CA68B)) & mask
    x ^= x >> np.uint64(16)
    return ((x >> np.uint64(8)).astype(np.float64) * 2.0**-23 - 1.0).astype(np.float32)


def philox(counter, key):
    """Philox4x32-10 on arrays of uint32 held in uint64."""
    mask, shift = np.uint64(0xFFFFFFFF), np.uint64(32)
    c = [np.asarray(v, dtype=np.uint64) for v in counter]
    k = [np.uint64(v) for v in key]
    for _ in range(10):
        low = np.uint64(0xD2511F53) * c[0]
        high = np.uint64(0xCD9E8D57) * c[2]
        c = [(high >> shift) ^ c[1] ^ k[0], high & mask, (low >> shift) ^ c[3] ^ k[1], low & mask]
        k = [(k[0] + np.uint64(0x9E3779B9)) & mask, (k[1] + np.uint64(0xBB67AE85)) & mask]
    return c


def dropout_factors(seed, layer, batch, rows, units, rate):
    """An independent implementation of mlp/include/rekindle/mlp/dropout.h."""
    row, block = np.meshgrid(np.arange(rows), np.arange((units + 3) // 4), indexing="ij")
    key = (seed & 0xFFFFFFFF, (seed >> 32) ^ (3 << 24) ^ layer)
    words = np.stack(philox((block, row, np.full_like(row, batch >> 32), np.full_like(row, batch & 0xFFFFFFFF)), key), 2)
    kept = words.reshape(rows, -1)[:, :units] >= int(np.floor(rate * 2.0**32 + 0.5))
    return kept * np.float64(np.float32(1 / (1 - rate)))


class Network(nn.Module):
    """A model description as a module; parameters are in the engine's order."""

    FUNCTIONS = {"silu": nn.functional.silu, "relu": nn.functional.relu, "gelu": nn.functional.gelu,
                 "tanh": torch.tanh, "identity": lambda x: x}

    def __init__(self, model, seed, dtype):
        super().__init__()
        self.model, self.seed, self.dtype = model, seed, dtype
        self.weights = nn.ModuleList()
        for layer in model["layers"]:
            if layer["kind"] == "linear":
                self.weights.append(nn.Linear(layer["inputs"], layer["outputs"]))
            elif layer["kind"] == "layer_norm":
                self.weights.append(nn.LayerNorm(layer["inputs"], eps=layer.get("epsilon", 1e-5)))
        self.to(dtype)

    def forward(self, x, batch=None):
        modules, saved = iter(self.weights), []
        for position, layer in enumerate(self.model["layers"]):
            kind = layer["kind"]
            if kind in ("linear", "layer_norm"):
                x = next(modules)(x)
            elif kind == "activation":
                x = self.FUNCTIONS[layer["activation"]](x)
            elif kind == "dropout" and batch is not None:
                factors = dropout_factors(self.seed, position, batch, len(x), x.shape[1], layer["dropout_rate"])
                x = x * torch.from_numpy(factors).to(self.dtype)
            elif kind == "residual_begin":
                saved.append(x)
            elif kind == "residual_end":
                x = x + saved.pop()
        return x

    def load_flat(self, values):
        at = 0
        with torch.no_grad():
            for p in self.parameters():
                p.copy_(torch.as_tensor(np.asarray(values[at:at + p.numel()])).reshape(p.shape))
                at += p.numel()
        assert at == len(values)

    def flat(self):
        return torch.cat([p.detach().reshape(-1) for p in self.parameters()]).numpy().copy()

    def flat_gradient(self):
        return torch.cat([p.grad.reshape(-1) for p in self.parameters()]).numpy().copy()

    def sizes(self):
        """Number of parameters per layer, weight and bias together."""
        return [sum(p.numel() for p in layer.parameters()) for layer in self.weights]


def initial_weights(model, seed=0):
    """Same spread as PyTorch's; gains of norms around one, so that every gradient is exercised."""
    parts, seed = [], 1000 * seed
    for index, layer in enumerate(model["layers"]):
        if layer["kind"] == "linear":
            scale = 1 / np.sqrt(layer["inputs"])
            parts.append(hashed(layer["inputs"] * layer["outputs"], 100 + index + seed) * scale)
            parts.append(hashed(layer["outputs"], 200 + index + seed) * scale)
        elif layer["kind"] == "layer_norm":
            parts.append(1 + 0.2 * hashed(layer["inputs"], 300 + index + seed))
            parts.append(0.2 * hashed(layer["inputs"], 400 + index + seed))
    return np.concatenate(parts).astype(np.float32)


def data(model, rows, loss):
    inputs = hashed(rows * model["inputs"], 1).reshape(rows, -1) * np.float32(1.7)
    targets = hashed(rows, 2)
    if loss == "bce_with_logits":
        targets = (targets > 0).astype(np.float32)
    return inputs, targets


def loss_of(training, output, target):
    loss = training["loss"]
    kind = loss["kind"]
    if kind == "mse":
        return nn.functional.mse_loss(output[:, 0], target)
    if kind == "huber":
        return nn.functional.huber_loss(output[:, 0], target, delta=loss["huber_delta"])
    if kind == "bce_with_logits":
        return nn.functional.binary_cross_entropy_with_logits(output[:, 0], target)
    return nn.functional.gaussian_nll_loss(output[:, 0], target, torch.exp(output[:, 1]))


def make_optimizer(training, parameters):
    o = training["optimizer"]
    if o["kind"] == "adamw":
        return torch.optim.AdamW(parameters, lr=o["learning_rate"], betas=(o["beta1"], o["beta2"]), eps=o["epsilon"],
                                 weight_decay=o["weight_decay"])
    return torch.optim.SGD(parameters, lr=o["learning_rate"], momentum=o["momentum"], weight_decay=o["weight_decay"])


def make_schedule(training, optimizer):
    s = training["schedule"]
    lr = torch.optim.lr_scheduler
    warmup = s["warmup_steps"]
    after = lr.CosineAnnealingLR(optimizer, s["total_steps"] - warmup) if s["kind"] == "cosine" else \
        lr.ConstantLR(optimizer, factor=1, total_iters=0)
    if warmup == 0:
        return after
    first = lr.LinearLR(optimizer, start_factor=1 / warmup, end_factor=1, total_iters=warmup - 1)
    return lr.SequentialLR(optimizer, [first, after], milestones=[warmup])


class Run:
    """A training run in PyTorch: batches of consecutive rows, wrapping around."""

    def __init__(self, case, dtype=torch.float64, weights=None):
        self.case, self.training, self.dtype = case, case["training"], dtype
        self.network = Network(case["model"], self.training["seed"], dtype)
        self.network.load_flat(initial_weights(case["model"]) if weights is None else weights)
        self.optimizer = make_optimizer(self.training, self.network.parameters())
        self.schedule = make_schedule(self.training, self.optimizer)
        inputs, targets = data(case["model"], case["rows"], self.training["loss"]["kind"])
        self.inputs, self.targets = torch.from_numpy(inputs).to(dtype), torch.from_numpy(targets).to(dtype)
        self.batches = 0
        self.average = self.network.flat()

    def rows(self):
        size, total = self.case["batch_size"], self.case["rows"]
        first = self.batches * size
        return torch.arange(first, first + size) % total

    def gradient(self, rows=None):
        """Gradient of the mean loss of the next batch; adds to the existing gradient."""
        rows = self.rows() if rows is None else rows
        loss = loss_of(self.training, self.network(self.inputs[rows], self.batches), self.targets[rows])
        (loss / self.training["accumulation_steps"]).backward()

    def step(self):
        self.optimizer.zero_grad()
        for _ in range(self.training["accumulation_steps"]):
            self.gradient()
            self.batches += 1
        if self.training["clip_norm"] > 0:
            nn.utils.clip_grad_norm_(self.network.parameters(), self.training["clip_norm"])
        self.optimizer.step()
        self.schedule.step()
        decay = self.training["ema_decay"]
        self.average = self.average * decay + self.network.flat() * (1 - decay)

    def evaluate(self):
        """Mean loss over all rows, in evaluation mode."""
        with torch.no_grad():
            return loss_of(self.training, self.network(self.inputs, None), self.targets).item()


def weights_along_the_way(case, steps=(0, 1, 10, 100)):
    """float32 weights from those steps of a float64 run."""
    run, taken = Run(case), {}
    for step in range(max(steps) + 1):
        if step in steps:
            taken[step] = run.network.flat().astype(np.float32)
        run.step()
    return taken


def gradient_at(case, weights, dtype=torch.float64):
    """Gradient of the mean loss of the first batch."""
    run = Run(case, dtype, weights)
    run.gradient()
    return run.network.flat_gradient() * case["training"]["accumulation_steps"]


def layer_distances(got, expected, sizes):
    """Norm of the difference over the norm, per layer. Not per tensor: the gradient of a bias is one sum over the batch
    that passes through zero during training, where a relative error is meaningless."""
    edges = np.cumsum([0] + list(sizes))
    return [np.linalg.norm(got[a:b].astype(np.float64) - expected[a:b]) / max(np.linalg.norm(expected[a:b]), 1e-30)
            for a, b in zip(edges, edges[1:])]
