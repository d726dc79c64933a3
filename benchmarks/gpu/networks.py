"""The networks of the GPU benchmarks, and how many of each are trained together. Used by all programs in this folder."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tests", "mlp"))
import cases  # noqa: E402

#: rows_of: "each" network reads its own rows, or "all" read the same ones. shuffled: rows come from permutations;
#: otherwise batches are consecutive rows, and if each network reads its own, network m begins 7919 · m batches later.
#: steps: per timed call, for each number of networks.
NETWORKS = {
    "small": {
        "title": "16-32-16-1, ReLU, MSE, AdamW, batch 8, consecutive rows",
        "model": cases.plain(16, [32, 16]), "training": cases.training(),
        "batch_size": 8, "rows": 8192, "shuffled": False, "rows_of": "each",
        "steps": {1: 20000, 132: 4000, 1056: 2000, 8448: 1000}},
    "small, same rows": {
        "title": "the same, with every network on the same rows",
        "model": cases.plain(16, [32, 16]), "training": cases.training(),
        "batch_size": 8, "rows": 8192, "shuffled": False, "rows_of": "all",
        "steps": {132: 4000, 1056: 2000, 8448: 1000}},
    "default": {
        "title": "default 54-128-64-1 (LayerNorm, SiLU, dropout), clipping, AdamW, batch 32, shuffled rows",
        "model": cases.default(54, [128, 64]), "training": cases.training(clip_norm=1.0),
        "batch_size": 32, "rows": 8192, "shuffled": True, "rows_of": "each",
        "steps": {1: 2000, 32: 1000, 256: 400, 1024: 200}},
}


def order(network, members, steps):
    """Row numbers, (steps, members, batch_size) as int32; one member if all read the same rows."""
    import numpy
    if network["rows_of"] == "all":
        members = 1
    batch, rows = network["batch_size"], network["rows"]
    if network["shuffled"]:
        random = numpy.random.default_rng(0)
        epochs = -(-steps * batch // rows)
        # Enough different permutations that no two neighbors read the same rows; more would only cost startup time.
        different = [numpy.concatenate([random.permutation(rows) for _ in range(epochs)])[:steps * batch]
                     for _ in range(min(members, 64))]
        chosen = numpy.stack([different[m % len(different)] for m in range(members)])
        return numpy.ascontiguousarray(chosen.reshape(members, steps, batch).swapaxes(0, 1).astype(numpy.int32))
    first = (numpy.arange(steps)[:, None] + 7919 * numpy.arange(members)[None, :]) % (rows // batch) * batch
    return (first[:, :, None] + numpy.arange(batch)[None, None, :]).astype(numpy.int32)


def samples(network):
    """Standard normal inputs and a target that can be learned from them, float32."""
    import numpy
    random = numpy.random.default_rng(1)
    x = random.standard_normal((network["rows"], network["model"]["inputs"])).astype(numpy.float32)
    y = (numpy.sin(x[:, 0]) + 0.5 * x[:, 1] * x[:, 2]).astype(numpy.float32)
    return x, y


def initial_parameters(network, members):
    """A list of (weight [members][in][out], bias) or (scale, shift) or () per layer, float32."""
    import numpy
    random = numpy.random.default_rng(2)
    parameters = []
    for layer in network["model"]["layers"]:
        if layer["kind"] == "linear":
            bound = layer["inputs"] ** -0.5
            parameters.append(tuple(
                random.uniform(-bound, bound, (members, *shape)).astype(numpy.float32)
                for shape in ((layer["inputs"], layer["outputs"]), (layer["outputs"],))))
        elif layer["kind"] == "layer_norm":
            parameters.append((numpy.ones((members, layer["inputs"]), numpy.float32),
                               numpy.zeros((members, layer["inputs"]), numpy.float32)))
        else:
            parameters.append(())
    return parameters


def mean_squared_error(network, parameters, x, y):
    """In float64, evaluation mode; parameters of one network as initial_parameters returns them, without members."""
    import numpy
    h = x.astype(numpy.float64)
    for layer, p in zip(network["model"]["layers"], parameters):
        if layer["kind"] == "linear":
            h = h @ p[0].astype(numpy.float64) + p[1]
        elif layer["kind"] == "layer_norm":
            h = (h - h.mean(1, keepdims=True)) / numpy.sqrt(h.var(1, keepdims=True) + layer["epsilon"]) * p[0] + p[1]
        elif layer["kind"] == "activation":
            h = numpy.maximum(h, 0) if layer["activation"] == "relu" else h / (1 + numpy.exp(-h))
    return float(((h[:, 0] - y) ** 2).mean())
