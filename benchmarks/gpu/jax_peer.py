"""Training steps of one or many networks in JAX: jit + lax.scan, vmap over networks. Run by peers.py."""
import concurrent.futures
import json
import os
import statistics
import sys
import time

import jax
import jax.numpy as jnp
import numpy

from networks import NETWORKS, initial_parameters, mean_squared_error, order, samples


class Variant:
    """One way to write the same step; the fastest variant is the peer."""

    def __init__(self, products="dot", parameters="tree", unroll=1, random="threefry2x32",
                 precision="highest"):
        self.products = products      # dot: dot_general; sum: broadcast, multiply, reduce; mixed: sum for one output
        self.parameters = parameters  # tree: AdamW per tensor; flat: for one vector of all parameters
        self.unroll = unroll          # steps in the body of the loop
        self.random = random          # generator for the dropout masks
        self.precision = precision    # highest: float32; default: TF32 if the device has it, only for comparison

    def __str__(self):
        return f"products {self.products}, parameters {self.parameters}, unroll {self.unroll}, {self.random}, " \
            f"precision {self.precision}"


def product(x, w, variant):
    if variant.products == "dot" or (variant.products == "mixed" and w.shape[1] > 1):
        return jnp.matmul(x, w, precision=variant.precision)
    return (x[:, :, None] * w[None]).sum(1)


def forward(network, variant, parameters, x, key):
    for layer, p in zip(network["model"]["layers"], parameters):
        kind = layer["kind"]
        if kind == "linear":
            x = product(x, p[0], variant) + p[1]
        elif kind == "layer_norm":
            mean = x.mean(1, keepdims=True)
            variance = ((x - mean) ** 2).mean(1, keepdims=True)
            x = (x - mean) * jax.lax.rsqrt(variance + layer["epsilon"]) * p[0] + p[1]
        elif kind == "activation":
            x = jax.nn.relu(x) if layer["activation"] == "relu" else jax.nn.silu(x)
        else:
            key, mine = jax.random.split(key)
            keep = 1 - layer["dropout_rate"]
            x = jnp.where(jax.random.bernoulli(mine, keep, x.shape), x / keep, 0)
    return x[:, 0]


def make_step(network, variant, x, y, unflatten):
    spec = network["training"]
    optimizer = spec["optimizer"]
    rate, decay, epsilon = optimizer["learning_rate"], optimizer["weight_decay"], optimizer["epsilon"]
    beta1, beta2 = optimizer["beta1"], optimizer["beta2"]
    drops = any(layer["kind"] == "dropout" for layer in network["model"]["layers"])
    batch = network["batch_size"]

    def one(parameters, m, v, base_key, position, t):
        if network["shuffled"]:
            bx, by = x[position], y[position]
        else:  # consecutive rows: one slice
            bx = jax.lax.dynamic_slice_in_dim(x, position[0], batch)
            by = jax.lax.dynamic_slice_in_dim(y, position[0], batch)
        key = jax.random.fold_in(base_key, t.astype(jnp.int32)) if drops else base_key

        def loss(p):
            tree = unflatten(p) if unflatten else p
            return ((forward(network, variant, tree, bx, key) - by) ** 2).mean()

        gradients = jax.grad(loss)(parameters)
        if spec["clip_norm"]:
            norm = jnp.sqrt(sum((g ** 2).sum() for g in jax.tree.leaves(gradients)))
            scale = jnp.minimum(1.0, spec["clip_norm"] / (norm + 1e-6))
            gradients = jax.tree.map(lambda g: g * scale, gradients)
        m = jax.tree.map(lambda a, g: beta1 * a + (1 - beta1) * g, m, gradients)
        v = jax.tree.map(lambda a, g: beta2 * a + (1 - beta2) * g * g, v, gradients)
        c1, c2 = 1 - beta1 ** t, 1 - beta2 ** t
        parameters = jax.tree.map(
            lambda p, a, b: p * (1 - rate * decay) - rate / c1 * a / (jnp.sqrt(b) / jnp.sqrt(c2) + epsilon),
            parameters, m, v)
        return parameters, m, v

    return one


class Peer:
    def __init__(self, name, members, steps, variant):
        self.network, self.members, self.steps, self.variant = NETWORKS[name], members, steps, variant
        initial = initial_parameters(self.network, members)
        if members == 1:
            initial = jax.tree.map(lambda a: a[0], initial)
        unflatten = None
        parameters = jax.tree.map(jnp.asarray, initial)
        if variant.parameters == "flat":
            leaves, structure = jax.tree.flatten(initial)
            shapes = [leaf.shape if members == 1 else leaf.shape[1:] for leaf in leaves]
            ends = numpy.cumsum([int(numpy.prod(shape)) for shape in shapes])

            def unflatten(vector):
                parts = [vector[end - int(numpy.prod(shape)):end].reshape(shape) for shape, end in zip(shapes, ends)]
                return jax.tree.unflatten(structure, parts)

            parameters = jnp.concatenate([jnp.asarray(leaf).reshape((members, -1) if members > 1 else -1)
                                          for leaf in leaves], -1)
        self.unflatten = unflatten
        self.x, self.y = map(jnp.asarray, samples(self.network))
        rows = order(self.network, members, steps)
        if not self.network["shuffled"]:
            rows = rows[:, :, :1]
        together = members == 1 or self.network["rows_of"] == "all"
        self.rows = jnp.asarray(rows[:, 0] if together else rows)
        key = jax.random.key(0, impl=variant.random)
        keys = key if members == 1 else jax.random.split(key, members)
        zeros = lambda: jax.tree.map(jnp.zeros_like, parameters)  # noqa: E731: each donated buffer is its own
        self.state = (parameters, zeros(), zeros(), jnp.float32(0))
        one = make_step(self.network, variant, self.x, self.y, unflatten)
        if members > 1:
            one = jax.vmap(one, in_axes=(0, 0, 0, 0, None if together else 0, None))

        def scan(state, rows):
            def step(carry, position):
                t = carry[3] + 1
                return (*one(*carry[:3], keys, position, t), t), None
            return jax.lax.scan(step, state, rows, unroll=variant.unroll)[0]

        start = time.perf_counter()
        self.run_all = jax.jit(scan, donate_argnums=0).lower(self.state, self.rows).compile()
        self.compile_seconds = time.perf_counter() - start

    def seconds(self):
        start = time.perf_counter()
        self.state = jax.block_until_ready(self.run_all(self.state, self.rows))
        return time.perf_counter() - start

    def loss(self):
        """Current loss of the first network over all rows."""
        parameters = self.state[0] if self.members == 1 else jax.tree.map(lambda a: a[0], self.state[0])
        if self.unflatten:
            parameters = self.unflatten(parameters)
        return mean_squared_error(self.network, jax.tree.map(numpy.asarray, parameters), numpy.asarray(self.x),
                                  numpy.asarray(self.y))


def variants(name, members, thorough):
    """The plain variant and the fastest one for this size on an H200; thorough: all variants."""
    random = "unsafe_rbg" if name == "default" else "threefry2x32"
    if thorough:
        chosen = [Variant(), Variant(random=random), Variant(parameters="flat", random=random),
                  Variant(products="sum", random=random), Variant(products="sum", parameters="flat", random=random),
                  Variant(products="mixed", random=random), Variant(random=random, precision="default")]
        if members == 1:
            chosen.append(Variant(unroll=8, random=random))
        return list({str(variant): variant for variant in chosen}.values())
    if name == "default":
        if members > 32:
            return [Variant(), Variant(random=random), Variant(products="mixed", random=random)]
        best = Variant(products="sum", parameters="flat", random=random)
    else:
        best = Variant(products="sum", parameters="flat" if members <= 132 else "tree")
    return [Variant(), best]


def compiled(name, members, steps, variant, options):
    """A peer, or None if the time is up."""
    return Peer(name, members, steps, variant) if time.perf_counter() < options["until"] else None


def measured(peer, repeats):
    before = peer.loss()
    peer.seconds()
    times = [peer.seconds() for _ in range(repeats)]
    after = peer.loss()
    if not after < before:
        raise SystemExit(f"{peer.network['title']} x {peer.members} ({peer.variant}): the loss went from {before} to {after}")
    scale = 1e6 / peer.steps / peer.members
    return {"steps": peer.steps, "microseconds_per_network_step": statistics.median(times) * scale,
            "spread": [min(times) * scale, max(times) * scale], "compile_seconds": round(peer.compile_seconds, 2),
            "loss": [before, after]}


def main():
    options = json.loads(sys.argv[1])
    options["until"] = time.perf_counter() + options["seconds"]
    device = jax.devices()[0]
    print(json.dumps({"jax": jax.__version__, "device": f"{device.platform}: {device.device_kind}"}), flush=True)
    work = [(name, members, steps, variant) for name, members, steps in options["sizes"]
            for variant in variants(name, members, options["thorough"])]
    work.sort(key=lambda item: str(item[3]) != str(Variant()))  # the plain variant first
    # Compiling is separate from measuring: first compile several in parallel, then measure one after the other.
    with concurrent.futures.ThreadPoolExecutor(max(1, (os.cpu_count() or 1) // 2)) as pool:
        peers = list(pool.map(lambda item: compiled(*item, options), work))
    for i, (name, members, _, variant) in enumerate(work):
        row = {"network": name, "networks": members, "peer": "JAX", "variant": str(variant)}
        done = measured(peers[i], options["repeats"]) if peers[i] else {"skipped": "no time left"}
        peers[i] = None
        print(json.dumps(row | done), flush=True)


if __name__ == "__main__":
    main()
