"""Ways to train with several processes. Each function returns the losses on one device and those with the processes."""

import copy

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import CPUOffloadPolicy, MixedPrecisionPolicy, fully_shard
from torch.nn.parallel import DistributedDataParallel

STEPS = 20
BATCH = 12
WIDTH = 48


def device():
    return torch.device("rvk", torch.rvk.current_device())


class Block(nn.Module):
    def __init__(self, inside, outside):
        super().__init__()
        self.first = nn.Linear(inside, 4 * WIDTH)
        self.second = nn.Linear(4 * WIDTH, outside)

    def forward(self, x):
        return self.second(torch.tanh(self.first(x)))


def network():
    torch.manual_seed(0)
    return nn.Sequential(Block(16, WIDTH), Block(WIDTH, WIDTH), Block(WIDTH, 8)).to(device())


def batches():
    generator = torch.Generator().manual_seed(1)
    return [
        (torch.randn(BATCH, 16, generator=generator).to(device()), torch.randn(BATCH, 8, generator=generator).to(device()))
        for _ in range(STEPS)
    ]


def own(tensor):
    return tensor.chunk(dist.get_world_size())[dist.get_rank()]


def everything(tensor):
    return tensor


def train(model, share=everything, optimizer=None):
    """The losses; averaged over the processes if they share the batch."""
    optimizer = optimizer or torch.optim.AdamW(model.parameters(), lr=1e-3)
    losses = []
    for x, y in batches():
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(share(x)), share(y))
        loss.backward()
        optimizer.step()
        loss = loss.detach().clone()
        if share is own:
            dist.all_reduce(loss, dist.ReduceOp.AVG)
        losses.append(loss.item())
    return losses


def ddp():
    return train(network()), train(DistributedDataParallel(network(), device_ids=[device()]), own)


def ddp_small_buckets():
    model = DistributedDataParallel(network(), bucket_cap_mb=0.01, gradient_as_bucket_view=True, static_graph=True)
    return train(network()), train(model, own)


def ddp_with_a_hook():
    from torch.distributed.algorithms.ddp_comm_hooks import default_hooks

    model = DistributedDataParallel(network())
    model.register_comm_hook(dist.group.WORLD, default_hooks.allreduce_hook)
    return train(network()), train(model, own)


def ddp_with_unused_parameters():
    class Partly(nn.Module):
        def __init__(self):
            super().__init__()
            self.used, self.unused = network(), nn.Linear(3, 3).to(device())

        def forward(self, x):
            return self.used(x)

    return train(Partly()), train(DistributedDataParallel(Partly(), find_unused_parameters=True), own)


def ddp_with_sync_batch_norm():
    """Batch norm with the statistics of the whole batch, as on one device."""

    def make():
        torch.manual_seed(0)
        layers = nn.Conv1d(1, 6, 3), nn.BatchNorm1d(6), nn.ReLU(), nn.Flatten(), nn.Linear(84, 8)
        return nn.Sequential(nn.Unflatten(1, (1, 16)), *layers).to(device())

    model = DistributedDataParallel(nn.SyncBatchNorm.convert_sync_batchnorm(make()))
    return train(make()), train(model, own)


def sharded(**options):
    model = network()
    for block in model:
        fully_shard(block, **options)
    return fully_shard(model, **options)


def fsdp2():
    return train(network()), train(sharded(), own)


def fsdp2_mixed_precision():
    """Parameters in bfloat16, gradients reduced in float32. The reference is the same policy with one process."""
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32, output_dtype=torch.float32)
    alone = None
    for rank in range(dist.get_world_size()):
        mesh = dist.DeviceMesh("rvk", [rank])
        alone = mesh if rank == dist.get_rank() else alone
    return train(sharded(mp_policy=policy, mesh=alone)), train(sharded(mp_policy=policy), own)


def fsdp2_cpu_offload():
    return train(network()), train(sharded(offload_policy=CPUOffloadPolicy()), own)


def fsdp1():
    from torch.distributed.fsdp import FullyShardedDataParallel

    model = FullyShardedDataParallel(network(), device_id=device(), use_orig_params=True)
    return train(network()), train(model, own)


def zero_redundancy_optimizer():
    from torch.distributed.optim import ZeroRedundancyOptimizer

    model = DistributedDataParallel(network())
    optimizer = ZeroRedundancyOptimizer(model.parameters(), torch.optim.AdamW, lr=1e-3)
    return train(network()), train(model, own, optimizer)


def tensor_parallel():
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

    mesh = dist.init_device_mesh("rvk", (dist.get_world_size(),))
    model = network()
    for block in model:
        parallelize_module(block, mesh, {"first": ColwiseParallel(), "second": RowwiseParallel()})
    return train(network()), train(model)


def attention_of_dtensors():
    """Computes attention with tensors that are divided between the processes. Returns, for each case, by how much the result and
    the gradients differ at most from those that one process computes."""
    from torch.distributed.tensor import Replicate, Shard, distribute_tensor

    mesh = dist.device_mesh.init_device_mesh("rvk", (dist.get_world_size(),))
    torch.manual_seed(3)
    query, key, value, gradient = (torch.randn(4, heads, 40, 16, device=device()) for heads in (6, 6, 6, 6))
    few_keys, few_values = (torch.randn(4, 2, 40, 16, device=device()) for _ in range(2))
    own_bias = torch.randn(4, 6, 40, 40, device=device())
    results = {}
    for name, (keys, values, bias, options) in {
        "plain": (key, value, None, {}),
        "causal": (key, value, None, {"is_causal": True}),
        "grouped": (few_keys, few_values, None, {"enable_gqa": True}),
        "bias": (key, value, own_bias, {}),
        "bias of batches": (key, value, own_bias[:, :1], {}),
        "bias of positions": (key, value, own_bias[0, 0], {}),
    }.items():
        for placement in (Replicate(), Shard(0), Shard(1)):
            inputs = [tensor.detach().clone() for tensor in (query, keys, values, bias) if tensor is not None]
            divided = [
                distribute_tensor(tensor, mesh, [_placement_of(placement, tensor)]).requires_grad_() for tensor in inputs
            ]
            for tensor in inputs:
                tensor.requires_grad_()
            expected = nn.functional.scaled_dot_product_attention(*inputs, **options)
            expected.backward(gradient)
            result = nn.functional.scaled_dot_product_attention(*divided, **options)
            result.backward(distribute_tensor(gradient, mesh, [placement]))
            pairs = [(result, expected), *((mine.grad, its.grad) for mine, its in zip(divided, inputs))]
            results[f"{name}, {placement}"] = max((mine.full_tensor() - its).abs().max().item() for mine, its in pairs)
    expected = nn.functional.scaled_dot_product_attention(query, key, value).transpose(1, 2).flatten(2)
    for placement in (Replicate(), Shard(0), Shard(2)):
        # Models make heads by viewing and transposing rows, and turn them back the same way. contiguous() copies only if DTensor
        # knows the strides of the result.
        divided = [distribute_tensor(each.transpose(1, 2).contiguous(), mesh, [placement]) for each in (query, key, value)]
        result = nn.functional.scaled_dot_product_attention(*(each.transpose(1, 2) for each in divided))
        result = result.transpose(1, 2).contiguous().view(expected.shape)
        results[f"views, {placement}"] = (result.full_tensor() - expected).abs().max().item()
    divides_heads = torch.__version__ >= (2, 13)  # before, DTensor refuses to divide heads with dropout
    for placement in (Replicate(), Shard(0), Shard(1))[: 3 if divides_heads else 2]:
        divided = [distribute_tensor(tensor, mesh, [placement]).requires_grad_() for tensor in (query, key, torch.ones_like(value))]
        result = nn.functional.scaled_dot_product_attention(*divided, dropout_p=0.5)
        result.sum().backward()
        # All values are 1, so the results of a head add up to the weights that dropout kept, and so do the gradients of its values.
        kept, gradient_of_values = (each.full_tensor()[..., 0].sum(-1) for each in (result, divided[2].grad))
        results[f"dropout, {placement}"] = ((kept - gradient_of_values) / kept).abs().max().item()
    return results


def _placement_of(placement, tensor):
    """Returns the placement of an input, which attention may broadcast to four dimensions, for a placement of the result."""
    from torch.distributed.tensor import Replicate, Shard

    own = getattr(placement, "dim", 4) - (4 - tensor.dim())
    return Shard(own) if 0 <= own < tensor.dim() and not placement.is_replicate() and tensor.shape[own] > 1 else Replicate()


def pipeline(schedule="Schedule1F1B"):
    from torch.distributed import pipelining

    size, rank = dist.get_world_size(), dist.get_rank()
    whole = network()
    per_stage = -(-len(whole) // size)
    stage_module = copy.deepcopy(whole[rank * per_stage : (rank + 1) * per_stage])
    stage = pipelining.PipelineStage(stage_module, rank, size, device())
    runner = getattr(pipelining, schedule)(stage, n_microbatches=4, loss_fn=nn.functional.mse_loss)
    optimizer = torch.optim.AdamW(stage_module.parameters(), lr=1e-3)
    losses = []
    for x, y in batches():
        optimizer.zero_grad()
        parts = []
        if rank == 0:
            runner.step(x, **({"target": y, "losses": parts} if rank == size - 1 else {}))
        else:
            runner.step(target=y, losses=parts)
        optimizer.step()
        loss = torch.stack(parts).mean().detach() if parts else torch.zeros((), device=device())
        dist.broadcast(loss, size - 1)
        losses.append(loss.item())
    return train(whole), losses


def pipeline_gpipe():
    return pipeline("ScheduleGPipe")


CASES = (
    ddp, ddp_small_buckets, ddp_with_a_hook, ddp_with_unused_parameters, ddp_with_sync_batch_norm, fsdp2,
    fsdp2_mixed_precision, fsdp2_cpu_offload, fsdp1, zero_redundancy_optimizer, tensor_parallel, pipeline, pipeline_gpipe,
)  # fmt: skip


def run(name):
    return {case.__name__: case for case in CASES}[name]()


def save_checkpoint(folder):
    """Trains a sharded model, saves it, and returns the losses of further steps."""
    import torch.distributed.checkpoint as checkpoint

    model = sharded()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    train(model, own, optimizer)
    checkpoint.save(_state(model, optimizer), checkpoint_id=folder)
    return train(model, own, optimizer)


def load_checkpoint(folder):
    """Loads that model with any number of processes, and returns the losses of the same further steps."""
    import torch.distributed.checkpoint as checkpoint
    from torch.distributed.checkpoint.state_dict import set_state_dict

    model = sharded()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    state = _state(model, optimizer)
    checkpoint.load(state, checkpoint_id=folder)
    set_state_dict(model, optimizer, model_state_dict=state["model"], optim_state_dict=state["optimizer"])
    return train(model, own, optimizer)


def _state(model, optimizer):
    from torch.distributed.checkpoint.state_dict import get_state_dict

    weights, moments = get_state_dict(model, optimizer)
    return {"model": weights, "optimizer": moments}
