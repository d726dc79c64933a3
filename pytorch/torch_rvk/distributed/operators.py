"""Implements c10d's operators for rvk tensors. torch.distributed, DistributedDataParallel, FSDP and DTensor call them through
PyTorch's dispatcher, from Python and from C++."""

import functools
import warnings

import torch
import torch.distributed as dist

from ..library import NAME
from .failures import counted
from .group import Groups
from .reductions import Reduction

GROUPS = Groups()
_LIBRARY = torch.library.Library("c10d", "IMPL")


def _group(script_object):
    return GROUPS.of(dist.ProcessGroup.unbox(script_object))


def _dense(tensor):
    return tensor.is_contiguous()


def _describe(name, tensor, more=""):
    noun = f"{str(tensor.dtype).removeprefix('torch.')} element"
    return f"{name} of {counted(tensor.numel(), noun)}{more}"


def _check_one(name, tensors):
    if len(tensors) != 1:
        raise ValueError(f"{name} of the backend rvk takes one tensor per process, but got {len(tensors)}.")
    return tensors[0]


def _in_place(name, tensors, group, timeout, more="", **arguments):
    """Queues an operation that overwrites its tensors, one after the other."""
    what = _describe(name, tensors[0], more) if len(tensors) == 1 else f"{name} of {counted(len(tensors), 'tensor')}{more}"
    return group.start(name, what, timeout, tensors, **arguments)


def _reduction(script_object, tensors):
    reduction = Reduction.of(script_object)
    for tensor in tensors:
        reduction.check(tensor.dtype)
    return reduction


def allreduce_(tensors, process_group, reduce_op, sparse_indices, async_op=True, timeout=-1):
    reduction = _reduction(reduce_op, tensors)
    more = f" ({reduction.name})"
    return tensors, _in_place("all_reduce", tensors, _group(process_group), timeout, more, reduction=reduction)


def allreduce_coalesced_(tensors, process_group, reduce_op, async_op=True, timeout=-1):
    return allreduce_(tensors, process_group, reduce_op, None, async_op, timeout)[1]


def _broadcast(tensors, group, root, timeout=-1):
    more = f" from rank {group.name_of(root)}"
    return _in_place("broadcast", tensors, group, timeout, more, root=root)


def broadcast_(tensors, process_group, root_rank, root_tensor, async_op=True, timeout=-1):
    return tensors, _broadcast(tensors, _group(process_group), root_rank, timeout)


def broadcasting_at_once(original):
    """Wraps torch.distributed._broadcast_coalesced, with which DistributedDataParallel broadcasts parameters and buffers. The
    original copies them to and from flat tensors on the current stream, which delays the training. Here, another thread packs
    them on a stream of its own. It does so in the concurrent group, because at the start of a forward pass, the process group
    may still be reducing the gradients of the step before."""

    def call(process_group, tensors, buffer_size, src=0):
        if not all(tensor.device.type == NAME for tensor in tensors):
            return original(process_group, tensors, buffer_size, src)
        group = GROUPS.of(process_group).concurrent()
        with torch.no_grad():
            for same in _by_device(tensors):
                dist.Work.unbox(_broadcast(same, group, src)).wait()

    return call


def _by_device(tensors):
    lists = {}
    for tensor in tensors:
        lists.setdefault(tensor.device, []).append(tensor.detach())
    return lists.values()


def reduce_(tensors, process_group, reduce_op, root_rank, root_tensor, async_op=True, timeout=-1):
    reduction = _reduction(reduce_op, tensors)
    group = _group(process_group)
    more = f" ({reduction.name}) to rank {group.name_of(root_rank)}"
    return _in_place("reduce", tensors, group, timeout, more, root=root_rank, reduction=reduction)


def _all_gather(group, outputs, tensor, timeout, name="all_gather"):
    _check_dtypes(name, outputs, tensor)
    return group.start("all_gather", name, timeout, outputs, [tensor])


def _check_dtypes(name, outputs, tensor):
    for output in outputs:
        if output.dtype is not tensor.dtype:
            raise ValueError(f"{name}: the output is {output.dtype}, but the input is {tensor.dtype}.")


def allgather_(output_tensors, input_tensors, process_group, async_op=True, timeout=-1):
    tensor = _check_one("all_gather", input_tensors)
    work = _all_gather(_group(process_group), output_tensors[0], tensor, timeout)
    return output_tensors, work


def _parts(group, tensor, name):
    """Splits a tensor into equal views, one for each rank."""
    if tensor.numel() % group.size:
        raise ValueError(f"{name}: {counted(tensor.numel(), 'element')} cannot be divided evenly among {group.size} ranks.")
    if not _dense(tensor):
        raise ValueError(f"{name} needs contiguous tensors.")
    return list(tensor.detach().view(-1).chunk(group.size)) if tensor.numel() else [tensor.detach().view(-1)] * group.size


def _check_size(name, whole, part, group):
    if whole.numel() != part.numel() * group.size:
        has = counted(whole.numel(), "element")
        raise ValueError(f"{name}: the whole tensor has {has} instead of {group.size} × {part.numel()}.")


def _allgather_base_(output_tensor, input_tensor, process_group, async_op=True, timeout=-1):
    group = _group(process_group)
    _check_size("all_gather_into_tensor", output_tensor, input_tensor, group)
    outputs = _parts(group, output_tensor, "all_gather_into_tensor")
    return output_tensor, _all_gather(group, outputs, input_tensor, timeout, "all_gather_into_tensor")


def allgather_into_tensor_coalesced_(outputs, inputs, process_group, async_op=True, timeout=-1):
    group = _group(process_group)
    for whole, part in zip(outputs, inputs):
        _check_size("all_gather_into_tensor", whole, part, group)
    lists = [_parts(group, output, "all_gather_into_tensor") for output in outputs]
    return _several_gathers(group, lists, inputs, timeout)


def allgather_coalesced_(output_lists, input_list, process_group, async_op=True, timeout=-1):
    group = _group(process_group)
    lists = [[each[number] for each in output_lists] for number in range(len(input_list))]
    return _several_gathers(group, lists, input_list, timeout)


def _several_gathers(group, lists, inputs, timeout):
    outputs = [output for each in lists for output in each]
    return group.start("all_gather", f"all_gather of {counted(len(inputs), 'tensor')}", timeout, outputs, inputs)


def _reduce_scatter(group, outputs, lists, reduction, timeout, passed=None):
    inputs = [each for parts in lists for each in parts]
    what = f"reduce_scatter ({reduction.name}) of {counted(len(outputs), 'tensor')}"
    return group.start("reduce_scatter", what, timeout, outputs, inputs, reduction=reduction, passed=passed)


def reduce_scatter_(output_tensors, input_tensors, process_group, reduce_op, async_op=True, timeout=-1):
    _check_one("reduce_scatter", output_tensors)
    reduction = _reduction(reduce_op, output_tensors)
    return output_tensors, _reduce_scatter(_group(process_group), output_tensors, input_tensors, reduction, timeout)


def _reduce_scatter_base_(output_tensor, input_tensor, process_group, reduce_op, async_op=True, timeout=-1):
    work = reduce_scatter_tensor_coalesced_([output_tensor], [input_tensor], process_group, reduce_op, async_op, timeout)
    return output_tensor, work


def reduce_scatter_tensor_coalesced_(outputs, inputs, process_group, reduce_op, async_op=True, timeout=-1):
    group = _group(process_group)
    for part, whole in zip(outputs, inputs):
        _check_size("reduce_scatter_tensor", whole, part, group)
        _check_dtypes("reduce_scatter_tensor", [part], whole)
    lists = [_parts(group, each, "reduce_scatter_tensor") for each in inputs]
    return _reduce_scatter(group, outputs, lists, _reduction(reduce_op, outputs), timeout, inputs)


def gather_(output_tensors, input_tensors, process_group, root_rank, async_op=True, timeout=-1):
    tensor = _check_one("gather", input_tensors)
    group = _group(process_group)
    outputs = output_tensors[0] if group.rank == root_rank else []
    return _gather(group, outputs, tensor, root_rank, timeout)


def _gather(group, outputs, tensor, root, timeout):
    what = _describe("gather", tensor, f" to rank {group.name_of(root)}")
    return group.start("gather", what, timeout, outputs, [tensor], root, device=tensor.device)


def gather_into_tensor_(output_tensor, input_tensor, process_group, root_rank, async_op=True, timeout=-1):
    group = _group(process_group)
    outputs = _parts(group, output_tensor, "gather_into_tensor") if group.rank == root_rank else []
    return output_tensor, _gather(group, outputs, input_tensor, root_rank, timeout)


def scatter_(output_tensors, input_tensors, process_group, root_rank, async_op=True, timeout=-1):
    output = _check_one("scatter", output_tensors)
    group = _group(process_group)
    inputs = input_tensors[0] if group.rank == root_rank else []
    what = _describe("scatter", output, f" from rank {group.name_of(root_rank)} to each rank")
    return output_tensors, group.start("scatter", what, timeout, output_tensors, inputs, root_rank)


def _all_to_all(group, outputs, inputs, timeout, passed=None):
    return group.start("all_to_all", "all_to_all", timeout, outputs, inputs, passed=passed)


def alltoall_(output_tensors, input_tensors, process_group, async_op=True, timeout=-1):
    return output_tensors, _all_to_all(_group(process_group), output_tensors, input_tensors, timeout)


def alltoall_base_(output, input, process_group, output_split_sizes, input_split_sizes, async_op=True, timeout=-1):
    group = _group(process_group)
    outputs = _split(group, output, output_split_sizes)
    return _all_to_all(group, outputs, _split(group, input, input_split_sizes), timeout, [input])


def _split(group, tensor, sizes):
    if not sizes:
        return _parts(group, tensor, "all_to_all_single")
    if sum(sizes) != tensor.size(0) or len(sizes) != group.size:
        raise ValueError(
            f"all_to_all_single needs {group.size} split sizes that add up to {tensor.size(0)}, but got {list(sizes)}."
        )
    return list(tensor.detach().split(list(sizes)))


def barrier(tensor, process_group, device_ids, async_op=True, timeout=-1):
    group = _group(process_group)
    work = group.start("barrier", "barrier", timeout, [tensor])
    if not async_op:
        torch.ops.rvk.await_work(work)
    return work


def send(tensors, process_group, dst, tag):
    return _group(process_group).send(_check_one("send", tensors).detach(), dst, tag)


def recv_(tensors, process_group, src, tag):
    return _group(process_group).receive(_check_one("recv", tensors).detach(), src, tag)


def recv_any_source_(tensors, process_group, tag):
    return _group(process_group).receive_from_any(_check_one("recv", tensors).detach(), tag)


_OPERATORS = (
    allreduce_, allreduce_coalesced_, broadcast_, reduce_, allgather_, _allgather_base_, allgather_coalesced_,
    allgather_into_tensor_coalesced_, reduce_scatter_, _reduce_scatter_base_, reduce_scatter_tensor_coalesced_, gather_,
    gather_into_tensor_, scatter_, alltoall_, alltoall_base_, barrier, send, recv_, recv_any_source_,
)  # fmt: skip


def _without_gradients(function):
    @functools.wraps(function)
    def call(*arguments, **keywords):
        with torch.no_grad():
            return function(*arguments, **keywords)

    return call


def install():
    """Registers the operators in place of PyTorch's kernels for PrivateUse1, which would call a C++ backend."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "(?s).*Overriding a previously registered kernel")
        for function in _OPERATORS:
            if hasattr(torch.ops.c10d, function.__name__):  # gather_into_tensor_ is new in 2.15
                _LIBRARY.impl(function.__name__, _without_gradients(function), "PrivateUse1")
