"""Calls every collective in several processes, and reports the cases with wrong results."""

import functools
import operator
import time

import torch
import torch.distributed as dist

FLOATS = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
INTEGERS = (torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64)
DTYPES = (*FLOATS, *INTEGERS, torch.bool, torch.complex64)
#: One element, an odd number of them, and more than fit in one piece (2 MiB) for dtypes of at least 16 bits.
SIZES = (1, 1021, 1_400_003)
#: A dtype with elements of 2, 4 and 8 bytes each. With 1-byte elements, the largest tensor fits in one piece.
DTYPES_IN_PIECES = (torch.bfloat16, torch.float32, torch.int64)
_TOLERANCES = {torch.float32: 1e-6, torch.float64: 1e-14, torch.float16: 1e-3, torch.bfloat16: 8e-3, torch.complex64: 1e-6}


def _device():
    return torch.device("rvk", torch.rvk.current_device())


def _sizes(dtype):
    """The sizes to test. On CPU drivers, which would need minutes, only DTYPES_IN_PIECES have tensors of several pieces."""
    few = torch.rvk.get_device_properties(_device()).is_cpu and dtype not in DTYPES_IN_PIECES
    return SIZES[:2] if few else SIZES


def values(dtype, count, rank, small=False):
    """The CPU tensor of a rank. Every rank can compute it, so every rank knows the expected result."""
    generator = torch.Generator().manual_seed(1000 * rank + count % 997)
    if dtype is torch.bool:
        return torch.randint(0, 2, (count,), generator=generator).bool()
    if dtype.is_floating_point or dtype.is_complex:
        return torch.randn(count, generator=generator, dtype=dtype)
    return torch.randint(0 if dtype is torch.uint8 else -3, 4 if small else 20, (count,), generator=generator).to(dtype)


def _all(dtype, count):
    return [values(dtype, count, rank) for rank in range(dist.get_world_size())]


def _wide(parts):
    dtype = parts[0].dtype
    return [part.double() if dtype.is_floating_point else part for part in parts]


def _reduced(parts, name):
    dtype = parts[0].dtype
    parts = _wide(parts)
    if dtype is torch.bool:
        both = {"product": torch.logical_and, "min": torch.logical_and, "band": torch.logical_and, "bxor": torch.logical_xor}
        return functools.reduce(both.get(name, torch.logical_or), parts)
    if name == "avg":
        total = functools.reduce(torch.add, parts)
        return total / len(parts) if not _is_whole(dtype) else torch.div(total, len(parts), rounding_mode="trunc")
    if name == "premul_sum":
        return functools.reduce(torch.add, [part * 0.5 for part in parts])
    functions = {
        "sum": torch.add, "product": torch.mul, "min": torch.minimum, "max": torch.maximum,
        "band": operator.and_, "bor": operator.or_, "bxor": operator.xor,
    }  # fmt: skip
    return functools.reduce(functions[name], parts)


def _is_whole(dtype):
    return not (dtype.is_floating_point or dtype.is_complex)


def _close(result, expected):
    result = result.cpu()
    if _is_whole(result.dtype):
        return torch.equal(result, expected.to(result.dtype))
    tolerance = _TOLERANCES[result.dtype]
    return torch.allclose(result, expected.to(result.dtype), rtol=tolerance, atol=tolerance)


def _operations(dtype):
    names = ["sum", "avg", "product"]
    if not dtype.is_complex:
        names += ["min", "max"]
    if _is_whole(dtype):
        names += ["band", "bor", "bxor"]
    elif not dtype.is_complex:
        names += ["premul_sum"]
    return names


def _operation(name):
    if name == "premul_sum":
        return torch._C._distributed_c10d._make_nccl_premul_sum(0.5)
    return getattr(dist.ReduceOp, name.upper())


def all_reduce(report):
    for dtype in DTYPES:
        for name in _operations(dtype):
            if dtype.is_complex and name != "sum":  # torch.distributed passes complex numbers as pairs, for sums only
                continue
            for count in _sizes(dtype) if name in ("sum", "avg") else SIZES[:2]:
                parts = _all(dtype, count)
                tensor = parts[dist.get_rank()].to(_device())
                dist.all_reduce(tensor, _operation(name))
                report(f"all_reduce {name} {dtype} {count}", _close(tensor, _reduced(parts, name)))


def reduce(report):
    last = dist.get_world_size() - 1
    for dtype in DTYPES:
        for count in _sizes(dtype):
            parts = _all(dtype, count)
            tensor = parts[dist.get_rank()].to(_device())
            dist.reduce(tensor, last, dist.ReduceOp.SUM)
            if dist.get_rank() == last:
                report(f"reduce {dtype} {count}", _close(tensor, _reduced(parts, "sum")))
            else:
                report(f"reduce keeps other ranks' tensors {dtype} {count}", _close(tensor, parts[dist.get_rank()]))


def broadcast(report):
    for dtype in DTYPES:
        for count in _sizes(dtype):
            for root in range(dist.get_world_size()):
                tensor = values(dtype, count, dist.get_rank()).to(_device())
                dist.broadcast(tensor, root)
                report(f"broadcast {dtype} {count}", _close(tensor, values(dtype, count, root)))


def broadcast_together(report):
    """Broadcasts small and large tensors of all dtypes in one call, as DistributedDataParallel does with parameters and buffers."""
    size, rank = dist.get_world_size(), dist.get_rank()
    sent = [[values(dtype, count, of) for dtype in DTYPES for count in (1, 7, 300_001)] for of in range(size)]
    for root in range(size):
        tensors = [each.to(_device()) for each in sent[rank]]
        columns = torch.full((3, 5), float(rank), device=_device()).t()
        dist._broadcast_coalesced(dist.group.WORLD, [columns, *tensors, columns[0]], 250 << 20, root)
        for tensor, expected in zip(tensors, sent[root]):
            report(f"broadcast together {tensor.dtype} {tensor.numel()}", _close(tensor, expected))
        report("broadcast together, not contiguous", columns.unique().tolist() == [root])
    dist._broadcast_coalesced(dist.group.WORLD, [], 250 << 20, 0)


def overtaking(report):
    """Collectives may run before unrelated work that was queued earlier, but must wait for the work that computes their
    tensors, even if it is on another stream."""
    rank, size = dist.get_rank(), dist.get_world_size()
    current, side = torch.accelerator.current_stream(), torch.Stream(_device())
    for number in range(6):
        mine = torch.full((100_000,), float(rank + number), device=_device())
        side.wait_stream(current)
        with torch.rvk.stream(side):
            _keep_busy()
            doubled = mine * 2
        current.wait_stream(side)
        _keep_busy()
        received = torch.empty(size * mine.numel(), device=_device())
        dist.broadcast(doubled, size - 1)
        total = mine.clone()
        work = dist.all_reduce(total, async_op=True)
        dist._broadcast_coalesced(dist.group.WORLD, [beside := mine + 1, mine[:10].clone()], 250 << 20, 0)
        work.wait()
        dist.all_gather_into_tensor(received, mine)
        report(f"overtaking, all_reduce {number}", total.unique().tolist() == [float(sum(range(size)) + size * number)])
        report(f"overtaking, broadcast beside it {number}", beside.unique().tolist() == [float(number + 1)])
        report(f"overtaking, broadcast {number}", doubled.unique().tolist() == [2 * (size - 1 + number)])
        report(f"overtaking, all_gather {number}", received.unique().tolist() == [float(r + number) for r in range(size)])


def broadcast_during_all_reduce(report):
    """The tensors that DistributedDataParallel broadcasts arrive even while an earlier all_reduce waits for the other ranks."""
    rank, size = dist.get_rank(), dist.get_world_size()
    for root in range(size):
        sent = torch.full((1000,), float(rank), device=_device())
        reduced = torch.ones(100_000, device=_device())
        if rank == 0:
            dist.all_reduce(reduced, async_op=True).wait()  # does not block the host, but all later work of this stream
        dist._broadcast_coalesced(dist.group.WORLD, [sent], 250 << 20, root)
        if rank != 0:
            report(f"broadcast from {root} before this rank's all_reduce", sent.unique().tolist() == [root])
            dist.all_reduce(reduced)
        report(f"broadcast from {root} during an all_reduce", sent.unique().tolist() == [root])
        report(f"all_reduce during a broadcast from {root}", reduced.unique().tolist() == [size])


def all_gather(report):
    for dtype in DTYPES:
        for count in _sizes(dtype):
            parts = _all(dtype, count)
            mine = parts[dist.get_rank()].to(_device())
            outputs = [torch.empty_like(mine) for _ in parts]
            dist.all_gather(outputs, mine)
            report(f"all_gather {dtype} {count}", all(map(_close, outputs, parts)))
            whole = torch.empty(count * len(parts), dtype=dtype, device=_device())
            dist.all_gather_into_tensor(whole, mine)
            report(f"all_gather_into_tensor {dtype} {count}", _close(whole, torch.cat(parts)))
    rows = torch.arange(6.0, device=_device()).view(2, 3).t()  # not contiguous
    outputs = [torch.empty(2, 3, device=_device()).t() for _ in range(dist.get_world_size())]
    dist.all_gather(outputs, rows)
    report("all_gather of transposed tensors", all(torch.equal(each.cpu(), rows.cpu()) for each in outputs))


def gather_and_scatter(report):
    size, rank = dist.get_world_size(), dist.get_rank()
    for dtype in DTYPES:
        for count in _sizes(dtype):
            parts = _all(dtype, count)
            outputs = [torch.empty(count, dtype=dtype, device=_device()) for _ in parts] if rank == 0 else None
            dist.gather(parts[rank].to(_device()), outputs, 0)
            if rank == 0:
                report(f"gather {dtype} {count}", all(map(_close, outputs, parts)))
            output = torch.empty(count, dtype=dtype, device=_device())
            dist.scatter(output, [part.to(_device()) for part in parts] if rank == size - 1 else None, size - 1)
            report(f"scatter {dtype} {count}", _close(output, parts[rank]))


def reduce_scatter(report):
    size, rank = dist.get_world_size(), dist.get_rank()
    for dtype in DTYPES:
        for name in ("sum", "avg", *(["premul_sum"] if dtype in FLOATS else [])):
            if dtype.is_complex and name != "sum":
                continue
            for count in _sizes(dtype):
                parts = _all(dtype, count * size)
                expected = _reduced(parts, name).chunk(size)[rank]
                output = torch.empty(count, dtype=dtype, device=_device())
                dist.reduce_scatter_tensor(output, parts[rank].to(_device()), _operation(name))
                report(f"reduce_scatter_tensor {name} {dtype} {count}", _close(output, expected))
                output.zero_()
                dist.reduce_scatter(output, list(parts[rank].to(_device()).chunk(size)), _operation(name))
                report(f"reduce_scatter {name} {dtype} {count}", _close(output, expected))


def all_to_all(report):
    size, rank = dist.get_world_size(), dist.get_rank()
    for dtype in DTYPES:
        for count in _sizes(dtype):
            parts = _all(dtype, count * size)
            output = torch.empty(count * size, dtype=dtype, device=_device())
            dist.all_to_all_single(output, parts[rank].to(_device()))
            expected = torch.cat([part.chunk(size)[rank] for part in parts])
            report(f"all_to_all_single {dtype} {count}", _close(output, expected))
        sizes = [[(sender + 2 * receiver) * 70_001 % 300_000 for receiver in range(size)] for sender in range(size)]
        inputs = [values(dtype, sum(row), sender).split(row) for sender, row in enumerate(sizes)]
        outputs = [torch.empty(sizes[sender][rank], dtype=dtype, device=_device()) for sender in range(size)]
        dist.all_to_all(outputs, [each.to(_device()) for each in inputs[rank]])
        report(f"all_to_all uneven {dtype}", all(_close(outputs[s], inputs[s][rank]) for s in range(size)))


def coalesced(report):
    size, rank = dist.get_world_size(), dist.get_rank()
    parts = [_all(torch.float32, count) for count in SIZES]
    tensors = [each[rank].to(_device()) for each in parts]
    dist.all_reduce_coalesced(tensors)
    report("all_reduce_coalesced", all(_close(t, _reduced(each, "sum")) for t, each in zip(tensors, parts)))
    group = dist.group.WORLD
    inputs = [each[rank].to(_device()) for each in parts]
    outputs = [torch.empty(size * each.numel(), device=_device()) for each in inputs]
    group.allgather_into_tensor_coalesced(outputs, inputs).wait()
    report("all_gather_into_tensor_coalesced", all(_close(o, torch.cat(each)) for o, each in zip(outputs, parts)))
    wholes = [_all(torch.float32, count * size) for count in SIZES]
    outputs = [torch.empty(count, device=_device()) for count in SIZES]
    group.reduce_scatter_tensor_coalesced(outputs, [each[rank].to(_device()) for each in wholes]).wait()
    report("reduce_scatter_tensor_coalesced", all(
        _close(o, _reduced(each, "sum").chunk(size)[rank]) for o, each in zip(outputs, wholes)))  # fmt: skip
    with dist._coalescing_manager(async_ops=True) as manager:
        again = [each[rank].to(_device()) for each in parts]
        for each in again:
            dist.all_reduce(each)
    manager.wait()
    report("coalescing manager", all(_close(t, _reduced(each, "sum")) for t, each in zip(again, parts)))


def send_and_receive(report):
    size, rank = dist.get_world_size(), dist.get_rank()
    following, before = (rank + 1) % size, (rank - 1) % size
    for dtype in DTYPES:
        for count in _sizes(dtype):
            received = torch.empty(count, dtype=dtype, device=_device())
            works = [
                dist.P2POp(dist.irecv, received, before),
                dist.P2POp(dist.isend, values(dtype, count, rank).to(_device()), following),
            ]
            for work in dist.batch_isend_irecv(works):
                work.wait()
            report(f"batch_isend_irecv {dtype} {count}", _close(received, values(dtype, count, before)))
    received = torch.empty(3, device=_device())
    to_itself = dist.P2POp(dist.isend, torch.full((3,), 7.0, device=_device()), rank)
    for work in dist.batch_isend_irecv([dist.P2POp(dist.irecv, received, rank), to_itself]):
        work.wait()
    report("to itself", received.tolist() == [7.0] * 3)
    tensor = torch.zeros(5, device=_device())
    if rank == 0:
        senders = [dist.recv(tensor) for _ in range(size - 1)]
        report("recv from any rank", sorted(senders) == list(range(1, size)))
    else:
        dist.send(tensor + rank, 0)


def send_and_receive_large(report):
    """Tensors of one and of several pieces, which travel through shared memory on one host."""
    size, rank = dist.get_world_size(), dist.get_rank()
    following, before = (rank + 1) % size, (rank - 1) % size
    counts = (70_000, 4 << 20, (4 << 20) + 1, 11_000_003)
    for dtype in (torch.float32, torch.bool, torch.complex64):
        sent = [values(dtype, count, rank).to(_device()) for count in counts]
        received = [torch.empty(count, dtype=dtype, device=_device()) for count in counts]
        works = [dist.isend(tensor, following, tag=tag) for tag, tensor in enumerate(sent)]
        # In the opposite order: the tags decide which tensor a receive gets.
        works += [dist.irecv(received[tag], before, tag=tag) for tag in reversed(range(len(counts)))]
        for work in works:
            work.wait()
        for count, tensor in zip(counts, received):
            report(f"send and receive {count} {dtype}", _close(tensor, values(dtype, count, before)))
    from torch_rvk.distributed import links, operators

    used = bool(operators.GROUPS.of(dist.group.WORLD)._outbox._segments)
    report("shared memory was used on one host only", used == links.are_on_one_host([{"host": 0}]))
    columns = values(torch.float32, 600_000, rank).view(600, 1000).to(_device())
    received = torch.zeros(600, 1000, device=_device()).t()
    for work in [dist.isend(columns.t(), following), dist.irecv(received, before)]:
        work.wait()
    report("tensors that are not contiguous", _close(received.t(), values(torch.float32, 600_000, before).view(600, 1000)))
    count = 5_000_000
    if rank == 0:
        tensor = torch.empty(count, device=_device())
        for number in range(size - 1):
            sender = dist.recv(tensor)
            report(f"recv from any rank, large {number}", _close(tensor, values(torch.float32, count, sender)))
    else:
        dist.send(values(torch.float32, count, rank).to(_device()), 0)


def dependent(report):
    """Queues, without waiting, operations of two groups, sends and receives, each of which needs the previous one's result."""
    size, rank = dist.get_world_size(), dist.get_rank()
    other = dist.new_group(list(range(size)))
    one, two = (torch.full((12 << 20,), float(rank), device=_device()) for _ in range(2))
    for _ in range(3):
        dist.all_reduce(one, dist.ReduceOp.MAX)
        two.add_(one)
        dist.all_reduce(two, dist.ReduceOp.MAX, group=other)
        one.add_(two)
        for work in [dist.isend(one, (rank + 1) % size), dist.irecv(two, (rank - 1) % size)]:
            work.wait()
        two.add_(1)
    expected = here = size - 1
    for _ in range(3):
        here += expected
        expected += here
        here = expected + 1
    report("operations that depend on each other", one[::1000].tolist() == [expected] * len(one[::1000]))


def objects_and_groups(report):
    size, rank = dist.get_world_size(), dist.get_rank()
    gathered = [None] * size
    dist.all_gather_object(gathered, {"rank": rank, "tensor": torch.ones(2)})
    report("all_gather_object", [each["rank"] for each in gathered] == list(range(size)))
    box = [rank, "text"]
    dist.broadcast_object_list(box, 1, device=_device())
    report("broadcast_object_list on the device", box == [1, "text"])
    for number in range(size):
        group = dist.new_group([number, (number + 1) % size])
        if group is not dist.GroupMember.NON_GROUP_MEMBER:
            tensor = torch.full((3,), float(rank), device=_device())
            dist.all_reduce(tensor, group=group)
            report("sub-group", tensor.tolist() == [float(number + (number + 1) % size)] * 3)
            dist.destroy_process_group(group)
    cpu = torch.ones(3)
    dist.all_reduce(cpu)
    report("CPU tensors", cpu.tolist() == [float(size)] * 3)
    dist.barrier()


def asynchronous(report):
    tensor = torch.full((1_000_000,), 1.0, device=_device())
    works = [dist.all_reduce(tensor, async_op=True) for _ in range(4)]
    for work in works:
        work.wait()
    report("four at once", torch.equal(tensor.cpu(), torch.full((1_000_000,), float(dist.get_world_size()) ** 4)))
    report("is_completed", all(work.is_completed() for work in works))
    future = dist.all_reduce(tensor.fill_(1), async_op=True).get_future().then(lambda f: f.value()[0] * 2)
    report("future", future.wait().cpu().unique().tolist() == [2.0 * dist.get_world_size()])
    _callbacks_on_all_streams(report)
    _host_runs_ahead(report)
    _freed_input(report)


def _callbacks_on_all_streams(report):
    """PyTorch runs the callbacks of futures on the device's 32 pool streams in turn, and each stream waits for the operation's result.
    The operation must not need that stream itself, or both wait forever."""
    rank, size = dist.get_rank(), dist.get_world_size()
    for _ in range(100):
        tensor = torch.ones(10, device=_device())
        future = dist.all_reduce(tensor, async_op=True).get_future().then(lambda f: f.value()[0] * 2)
        doubled = future.wait() + 1
    report("callbacks of all_reduce on all streams", doubled.unique().tolist() == [2.0 * size + 1])
    for _ in range(100):
        sent, received = torch.full((10,), float(rank), device=_device()), torch.empty(10, device=_device())
        works = dist.batch_isend_irecv(
            [dist.P2POp(dist.isend, sent, (rank + 1) % size), dist.P2POp(dist.irecv, received, (rank - 1) % size)]
        )
        futures = [work.get_future().then(lambda f: f.value()[0] * 2) for work in works]
        doubled = futures[-1].wait() + 1
    report("callbacks of receive on all streams", doubled.unique().tolist() == [2.0 * ((rank - 1) % size) + 1])


def _host_runs_ahead(report):
    """Rank 0 queues a collective, its wait, and work that needs its result before the other ranks take part."""
    store, rank = dist.distributed_c10d._get_default_store(), dist.get_rank()
    tensor = torch.full((1000,), float(rank + 1), device=_device())
    if rank != 0:
        store.wait(["queued"])
    dist.all_reduce(tensor)
    doubled = tensor * 2
    if rank == 0:
        store.set("queued", "")
    report("the host runs ahead", doubled.unique().tolist() == [dist.get_world_size() * (dist.get_world_size() + 1.0)])


def _freed_input(report):
    """The caller frees the memory of an input after it has queued the collective, and uses it again."""
    rank, size = dist.get_rank(), dist.get_world_size()
    tensor = torch.full((100_000,), float(rank), device=_device())
    gathered = torch.empty(size * 100_000, device=_device())
    dist.all_gather_into_tensor(gathered, tensor)
    tensor.untyped_storage().resize_(0)
    others = [torch.full((100_000,), -1.0, device=_device()) for _ in range(4)]
    expected = torch.arange(float(size)).repeat_interleave(100_000)
    report("freed input", torch.equal(gathered.cpu(), expected) and all((each == -1).all() for each in others))


def _keep_busy():
    """Gives the device work, so that the host can queue what follows before the device gets to it."""
    square = torch.randn(512, 512, device=_device())
    for _ in range(8):
        square = torch.softmax(square @ square, 1)


def _queue_one(tensors, parts, generator):
    """Starts a random collective on a random tensor, and applies it to `parts`, which has all ranks' values of each tensor.
    Returns its work."""
    size = dist.get_world_size()
    kind, chosen, root = (int(torch.randint(0, most, (1,), generator=generator)) for most in (5, 4, size))
    tensor, values_of_ranks = tensors[chosen], parts[chosen]
    if kind == 0:
        parts[chosen] = [values_of_ranks[root].clone() for _ in range(size)]
        return dist.broadcast(tensor, root, async_op=True)
    if kind == 1:
        parts[chosen] = [functools.reduce(torch.maximum, values_of_ranks)] * size
        return dist.all_reduce(tensor, dist.ReduceOp.MAX, async_op=True)
    if kind == 2:
        values_of_ranks[root] = functools.reduce(torch.minimum, values_of_ranks)
        return dist.reduce(tensor, root, dist.ReduceOp.MIN, async_op=True)
    if kind == 3:
        tensors.append(torch.empty(size * tensor.numel(), dtype=tensor.dtype, device=_device()))
        parts.append([torch.cat(values_of_ranks)] * size)
        return dist.all_gather_into_tensor(tensors[-1], tensor, async_op=True)
    return dist.barrier(async_op=True)


def queued(report):
    """Random collectives, all queued while the device is busy, some of them on the same tensors."""
    for seed in range(12):
        generator = torch.Generator().manual_seed(seed)
        counts = (3, 1021, 300_000, 2_000_003)
        parts = [_all(torch.int32, count) for count in counts]
        tensors = [each[dist.get_rank()].to(_device()) for each in parts]
        _keep_busy()
        works = [_queue_one(tensors, parts, generator) for _ in range(12)]
        for work in works:
            work.wait()
        for number, (tensor, expected) in enumerate(zip(tensors, parts)):
            report(f"queued {seed}, tensor {number}", torch.equal(tensor.cpu(), expected[dist.get_rank()]))


def functional(report):
    import torch.distributed._functional_collectives as functional

    size, rank = dist.get_world_size(), dist.get_rank()
    parts = _all(torch.float32, 1021 * size)
    mine = parts[rank].to(_device())
    group = dist.group.WORLD
    report("functional all_reduce", _close(functional.all_reduce(mine, "avg", group) + 0, _reduced(parts, "avg")))
    report("functional all_gather", _close(functional.all_gather_tensor(mine, 0, group) + 0, torch.cat(parts)))
    scattered = functional.reduce_scatter_tensor(mine, "sum", 0, group) + 0
    report("functional reduce_scatter", _close(scattered, _reduced(parts, "sum").chunk(size)[rank]))
    exchanged = functional.all_to_all_single(mine, None, None, group) + 0
    report("functional all_to_all", _close(exchanged, torch.cat([part.chunk(size)[rank] for part in parts])))
    report("functional broadcast", _close(functional.broadcast(mine, 0, group) + 0, parts[0]))


def profiled(report):
    """A profile shows each operation as asynchronous, with the shapes of its inputs."""
    rank, size = dist.get_rank(), dist.get_world_size()
    tensor, received = torch.ones(1000, device=_device()), torch.empty(20, device=_device())
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], record_shapes=True) as profile:
        dist.all_reduce(tensor)
        dist.broadcast(tensor[:10], 0)
        for work in dist.batch_isend_irecv(
            [dist.P2POp(dist.isend, tensor[:20], (rank + 1) % size), dist.P2POp(dist.irecv, received, (rank - 1) % size)]
        ):
            work.wait()
        torch.accelerator.synchronize()
    events = {event.name: event for event in profile.events()}
    for name, length in {"all_reduce": 1000, "broadcast": 10, "send": 20, "recv": 20}.items():
        event = events.get(f"rvk:{name}")
        report(f"profile of {name}", event is not None and event.is_async and event.input_shapes == [[length]])


def inference(report):
    """Collectives that overwrite inference tensors, contiguous or not, in and after torch.inference_mode()."""
    rank, size = dist.get_rank(), dist.get_world_size()

    def both(make):
        with torch.inference_mode():
            first, second = make(), make()
            yield first
        yield second

    def columns():
        return torch.full((50, 40), rank + 1.0, device=_device()).t()

    total = size * (size + 1) / 2
    for tensor in both(columns):
        dist.all_reduce(tensor)
        report("all_reduce of an inference tensor", bool((tensor == total).all()))
    for tensor in both(columns):
        dist.broadcast(tensor, 0)
        report("broadcast of an inference tensor", bool((tensor == 1).all()))
    for output in both(lambda: torch.empty(size * 7, device=_device())):
        dist.all_gather_into_tensor(output, torch.full((7,), float(rank), device=_device()))
        report("all_gather of inference tensors", torch.equal(output.cpu(), torch.arange(float(size)).repeat_interleave(7)))
    for output in both(lambda: torch.empty(7, device=_device())):
        dist.reduce_scatter_tensor(output, torch.ones(size * 7, device=_device()))
        report("reduce_scatter of inference tensors", bool((output == size).all()))
    for output in both(lambda: torch.empty(size, device=_device())):
        dist.all_to_all_single(output, torch.full((size,), float(rank), device=_device()))
        report("all_to_all of inference tensors", torch.equal(output.cpu(), torch.arange(float(size))))
    for length in (10, 400_000):
        for output in both(lambda: torch.empty(length, device=_device())):
            sent = torch.full((length,), float(rank), device=_device())
            for work in dist.batch_isend_irecv(
                [dist.P2POp(dist.isend, sent, (rank + 1) % size), dist.P2POp(dist.irecv, output, (rank - 1) % size)]
            ):
                work.wait()
            report(f"receive of {length} in inference mode", bool((output == (rank - 1) % size).all()))


def in_pieces(report):
    """Tensors of several pieces, in which each element depends on its place and its rank."""
    size, rank, length = dist.get_world_size(), dist.get_rank(), 9_000_001
    place = torch.arange(length, device=_device(), dtype=torch.int32)
    tensor = place * (rank + 1)
    dist.all_reduce(tensor)
    report("all_reduce", torch.equal(tensor, place * (size * (size + 1) // 2)))
    tensor = place + rank
    dist.broadcast(tensor, 1)
    report("broadcast", torch.equal(tensor, place + 1))
    outputs = [torch.zeros_like(place) for _ in range(size)]
    dist.all_gather(outputs, place - rank)
    report("all_gather", all(torch.equal(output, place - r) for r, output in enumerate(outputs)))
    shares = [place[: length // size] + r for r in range(size)]
    output = torch.empty_like(shares[0])
    dist.reduce_scatter(output, shares, dist.ReduceOp.MAX)
    report("reduce_scatter", torch.equal(output, shares[rank]))


def sender_ends_first():
    """Rank 0 ends right after it has sent a tensor of several pieces. Returns whether rank 1 gets it."""
    numbers = torch.arange(12_000_000, dtype=torch.int32)
    if dist.get_rank() == 0:
        dist.send(numbers.to(_device()), 1)
        return True
    time.sleep(2)
    received = torch.empty_like(numbers, device=_device())
    dist.recv(received, 0)
    return torch.equal(received.cpu(), numbers)


def sum_of_one():
    """Returns the error message of an all_reduce."""
    tensor = torch.ones(3, device=_device())
    try:
        dist.all_reduce(tensor)
        tensor.cpu()
    except dist.DistBackendError as error:
        return str(error)
    return "no error"


CASES = (
    all_reduce, reduce, broadcast, broadcast_together, overtaking, broadcast_during_all_reduce, all_gather,
    gather_and_scatter, reduce_scatter, all_to_all, coalesced, send_and_receive, send_and_receive_large,
    objects_and_groups, asynchronous, queued, functional, profiled, inference,
)  # fmt: skip


def run(case, as_between_hosts):
    """Returns the number of comparisons and the names of those that failed."""
    import warnings

    warnings.simplefilter("ignore", FutureWarning)
    if as_between_hosts:
        from torch_rvk.distributed import links

        links.are_on_one_host = lambda entries: False
    total, wrong = 0, []

    def report(name, right):
        nonlocal total
        total += 1
        if not right:
            wrong.append(name)

    for each in CASES if case is None else [globals()[case]]:
        each(report)
    return total, wrong


def different_operations():
    """Rank 0 calls a different operation than the others."""
    tensor = torch.ones(3, device=_device())
    try:
        dist.all_reduce(tensor) if dist.get_rank() == 0 else dist.broadcast(tensor, 0)
        tensor.cpu()
    except dist.DistBackendError as error:
        return str(error)
