"""The configurations that are compared with PyTorch."""


def linear(name, inputs, outputs):
    return {"kind": "linear", "name": name, "inputs": inputs, "outputs": outputs}


def norm(name, width):
    return {"kind": "layer_norm", "name": name, "inputs": width, "epsilon": 1e-5}


def activation(kind, width):
    return {"kind": "activation", "inputs": width, "activation": kind}


def dropout(width, rate):
    return {"kind": "dropout", "inputs": width, "dropout_rate": rate}


def begin(width):
    return {"kind": "residual_begin", "inputs": width}


def end(width):
    return {"kind": "residual_end", "inputs": width}


def network(inputs, layers):
    return {"version": 1, "inputs": inputs, "initialization": "pytorch_default", "layers": layers}


def plain(inputs, hidden, kind="relu", outputs=1):
    layers, width = [], inputs
    for i, h in enumerate(hidden):
        layers += [linear(f"layers.{i}", width, h), activation(kind, h)]
        width = h
    return network(inputs, layers + [linear(f"layers.{len(hidden)}", width, outputs)])


def default(inputs, hidden, rate=0.4, kind="silu", outputs=1):
    layers = [linear("input_layer", inputs, hidden[0]), activation(kind, hidden[0])]
    for i, (a, b) in enumerate(zip(hidden, hidden[1:])):
        layers += [linear(f"hidden_layers.{i}.0", a, b), norm(f"hidden_layers.{i}.1", b), activation(kind, b)]
        if rate:
            layers.append(dropout(b, rate * (1 + 0.2 * i)))
    return network(inputs, layers + [norm("final_norm", hidden[-1]), linear("output_layer", hidden[-1], outputs)])


def residual(inputs, width, kind="gelu"):
    return network(inputs, [
        norm("norm", inputs), linear("in", inputs, width),
        begin(width), norm("a.norm", width), linear("a.up", width, width + 3), activation(kind, width + 3),
        dropout(width + 3, 0.25), linear("a.down", width + 3, width), begin(width), activation("tanh", width),
        end(width), end(width), activation("relu", width), dropout(width, 0.1), activation(kind, width),
        linear("out", width, 1)])


def bare_end(inputs, width):
    """Does not end with a Linear; begins with a residual around an activation."""
    return network(inputs, [
        begin(inputs), activation("tanh", inputs), dropout(inputs, 0.2), end(inputs), linear("in", inputs, width),
        dropout(width, 0.3), activation("relu", width), linear("out", width, 1), activation("tanh", 1)])


def training(loss="mse", **other):
    spec = {
        "loss": {"kind": loss, "huber_delta": other.pop("huber_delta", 0.3)},
        "optimizer": {"kind": "adamw", "learning_rate": 1e-3, "weight_decay": 0.01, "beta1": 0.9, "beta2": 0.999,
                      "epsilon": 1e-8, "momentum": 0.0} | other.pop("optimizer", {}),
        "schedule": {"kind": "constant", "plateau_factor": 0.5, "plateau_patience": 10, "warmup_steps": 0,
                     "total_steps": 0} | other.pop("schedule", {}),
        "clip_norm": 0.0, "accumulation_steps": 1, "ema_decay": 0.0, "bf16_storage": False, "seed": 42, "threads": 1}
    return spec | other


def case(name, model, spec, batch_size):
    # Small batches have enough rows that 100 steps cannot memorize them. As the loss approaches zero, so does its
    # gradient, and any float32 implementation loses its digits to cancellation.
    rows = (120 if batch_size <= 70 else 3) * batch_size + 1
    return {"name": name, "model": model, "training": spec, "batch_size": batch_size, "rows": rows}


sgd = {"kind": "sgd", "learning_rate": 0.05, "momentum": 0.9, "weight_decay": 1e-3}

#: Small enough for committed golden files.
SMALL = [
    case("plain relu", plain(7, [20]), training(), 8),
    case("plain silu, huber", plain(5, [7, 9], "silu"), training("huber"), 20),
    case("plain gelu, bce", plain(5, [7, 9], "gelu"), training("bce_with_logits"), 16),
    case("plain tanh, nll", plain(7, [7, 5], "tanh", 2), training("gaussian_nll"), 33),
    case("single linear", plain(20, []), training(), 1),
    case("default, dropout, clipping", default(7, [20, 7]), training(clip_norm=0.5), 32),
    case("residual", residual(6, 7), training(clip_norm=1.0, ema_decay=0.9), 70),
    case("bare end", bare_end(7, 17), training(optimizer=sgd), 9),
    case("accumulation", default(5, [9, 7, 5]), training(accumulation_steps=3, clip_norm=0.2), 7),
    case("cosine with warm-up", plain(5, [9], "silu"),
         training(schedule={"kind": "cosine", "warmup_steps": 5, "total_steps": 80}), 8),
    case("odd widths", default(7, [33, 20], 0.3), training("huber", clip_norm=1.0), 65),
    case("odd widths, nll", default(20, [7, 33], 0.2, "gelu", 2), training("gaussian_nll"), 7),
    case("sgd without momentum", plain(5, [9], "gelu"),
         training(optimizer={"kind": "sgd", "learning_rate": 0.1, "momentum": 0.0, "weight_decay": 0.0},
                  schedule={"kind": "constant", "warmup_steps": 10}), 8),
]

#: Recomputed live: every activation and loss, odd widths, batches from 1 to 4096.
LARGE = (
    [case(f"{kind} 33-20 batch {b}", plain(7, [33, 20], kind), training(), b)
     for kind in ("relu", "silu", "gelu", "tanh", "identity") for b in (1, 33)]
    + [case(f"default {loss} batch {b}", default(20, [33, 20, 33], 0.2, outputs=2 if loss == "gaussian_nll" else 1),
            training(loss, clip_norm=1.0), b)
       for loss in ("mse", "huber", "bce_with_logits", "gaussian_nll") for b in (1, 7, 64, 65, 512, 4096)]
    + [case("default 54-128-64 batch 32", default(54, [128, 64]), training(clip_norm=1.0), 32),
       case("plain 64-256-128 batch 256", plain(64, [256, 128]), training(), 256),
       case("plain 64-256-128 batch 4096", plain(64, [256, 128]), training(), 4096),
       case("residual 33 batch 1000", residual(20, 33), training("huber", optimizer=sgd), 1000),
       case("bare end batch 130", bare_end(33, 20), training("bce_with_logits"), 130)])

#: For the distance to float64 after 100 steps, over 16 initializations.
SEEDED = [case("default 20-33-20 batch 33", default(20, [33, 20], 0.3), training(clip_norm=1.0), 33),
          case("plain 16-32-16 batch 8", plain(16, [32, 16]), training(), 8),
          case("gelu 7-33-20 batch 100", plain(7, [33, 20], "gelu"), training("huber"), 100)]
