"""Collectives between processes on several hosts. Tensors are copied to pinned memory in pieces, and Gloo transfers them.

For reductions and dtypes that Gloo lacks, every rank gathers all tensors and reduces them itself. Gloo reduces 16-bit numbers
as float32, so that it accumulates in float32.
"""

import dataclasses
import datetime

import torch
import torch.distributed as dist
from torch._C import _distributed_c10d as c10d

from .failures import Roll, described

#: Bytes of a piece; as in pytorch/src/distributed/staging.h.
_PIECE = 16 << 20
_GLOO = {"sum": dist.ReduceOp.SUM, "product": dist.ReduceOp.PRODUCT, "min": dist.ReduceOp.MIN, "max": dist.ReduceOp.MAX}
_DTYPES = (torch.float32, torch.float64, torch.int8, torch.uint8, torch.int32, torch.int64)


def _options(kind, timeout, **fields):
    options = kind()
    options.timeout = datetime.timedelta(seconds=timeout)
    for name, value in fields.items():
        setattr(options, name, value)
    return options


@dataclasses.dataclass
class Operation:
    """A collective operation: its description for error messages, and its timeout in seconds."""

    what: str
    timeout: float


def _length(tensor):
    return _PIECE // tensor.element_size()


def _piece(tensor, number):
    """Returns piece `number` of a flat tensor. Empty if the tensor has fewer pieces."""
    return tensor[number * _length(tensor) : (number + 1) * _length(tensor)]


def _count(tensor):
    """Returns the number of pieces of a flat tensor."""
    return -(-tensor.numel() // _length(tensor))


def _upload(staging, target, fill):
    """Calls fill(host), where `host` has the size and dtype of the flat tensor `target`, and starts to copy it there."""
    host = staging.host_for(target)
    fill(host)
    staging.upload(target, host)


class BetweenHosts:
    """The collectives of one rank. Tensors are flat; staging.h and transport.h in pytorch/src/distributed describe the
    arguments."""

    def __init__(self, gloo, store, rank, size, name_of):
        self._gloo = gloo
        self._roll = Roll(store, rank, size, name_of)
        self._number = 0
        self.rank, self.size = rank, size

    def run(self, collective, operation, staging, outputs, inputs, root, reduction):
        """Runs the collective with that name. Call in pytorch/src/distributed/transport.h describes the tensors."""
        arguments = {
            "barrier": (),
            "all_reduce": (*outputs, reduction),
            "reduce": (*outputs, reduction, root),
            "broadcast": (*outputs, root),
            "all_gather": (outputs, *inputs),
            "gather": (outputs, *inputs, root),
            "scatter": (*outputs, inputs, root),
            "reduce_scatter": (*outputs, inputs, reduction),
            "all_to_all": (outputs, inputs),
        }
        getattr(self, collective)(operation, staging, *arguments[collective])

    def _wait(self, operation, start):
        """Starts a collective of Gloo and waits for it."""
        self._number += 1
        with described(self._roll, operation.what, self._number, operation.timeout):
            start().wait()

    def barrier(self, operation, staging):
        self._wait(operation, lambda: self._gloo.barrier(_options(c10d.BarrierOptions, operation.timeout)))

    def _pieces(self, staging, tensor):
        """Yields each piece of a flat tensor with its host copy, while the next piece is being downloaded."""
        total = _count(tensor)
        following = staging.download([_piece(tensor, 0)]) if total else None
        for number in range(total):
            current = following
            if number + 1 < total:
                following = staging.download([_piece(tensor, number + 1)])
            yield _piece(tensor, number), staging.wait_for(current).view(tensor.dtype)

    def all_reduce(self, operation, staging, tensor, reduction):
        for target, host in self._pieces(staging, tensor):
            _upload(staging, target, lambda out, host=host: out.copy_(self._reduced(operation, host, reduction)))

    def reduce(self, operation, staging, tensor, reduction, root):
        for target, host in self._pieces(staging, tensor):
            result = self._reduced(operation, host, reduction)
            if self.rank == root:
                _upload(staging, target, lambda out, result=result: out.copy_(result))

    def _reduced(self, operation, host, reduction):
        """Returns the reduction of a host tensor over all ranks."""
        name = {"avg": "sum", "premul_sum": "sum"}.get(reduction.name, reduction.name)
        wide = host.float() if host.dtype in (torch.float16, torch.bfloat16) else host.clone()
        if name not in _GLOO or wide.dtype not in _DTYPES:
            return self._gathered_and_reduced(operation, host, reduction)
        if reduction.name == "premul_sum":
            wide = wide * reduction.factor
        options = _options(c10d.AllreduceOptions, operation.timeout, reduceOp=_GLOO[name])
        self._wait(operation, lambda: self._gloo.allreduce([wide], options))
        if reduction.name == "avg":
            wide = torch.div(wide, self.size, rounding_mode=None if wide.dtype.is_floating_point else "trunc")
        return wide

    def _gathered_and_reduced(self, operation, host, reduction):
        parts = [torch.empty_like(host) for _ in range(self.size)]
        self._gathered(operation, parts, host)
        out = torch.empty_like(host)
        reduction.combine(parts, out)
        return out

    def _gathered(self, operation, parts, host):
        options = _options(c10d.AllgatherOptions, operation.timeout)
        bytes_of_parts = [part.view(torch.uint8) for part in parts]
        self._wait(operation, lambda: self._gloo.allgather([bytes_of_parts], [host.view(torch.uint8)], options))

    def _broadcast(self, operation, host, root):
        options = _options(c10d.BroadcastOptions, operation.timeout, rootRank=root, rootTensor=0)
        self._wait(operation, lambda: self._gloo.broadcast([host.view(torch.uint8)], options))

    def broadcast(self, operation, staging, tensor, root):
        if self.rank == root:
            for _, host in self._pieces(staging, tensor):
                self._broadcast(operation, host, root)
            return
        for number in range(_count(tensor)):
            _upload(staging, _piece(tensor, number), lambda host: self._broadcast(operation, host, root))

    def all_gather(self, operation, staging, outputs, tensor):
        """Each rank broadcasts its tensor, so the sizes may differ."""
        for rank, output in enumerate(outputs):
            self.broadcast(operation, staging, tensor if rank == self.rank else output, rank)
        outputs[self.rank].copy_(tensor)

    def gather(self, operation, staging, outputs, tensor, root):
        inputs = [tensor if rank == root else tensor[:0] for rank in range(self.size)]
        self._exchange(operation, staging, outputs if self.rank == root else [tensor[:0]] * self.size, inputs)

    def scatter(self, operation, staging, output, inputs, root):
        outputs = [output if rank == root else output[:0] for rank in range(self.size)]
        self._exchange(operation, staging, outputs, inputs if self.rank == root else [output[:0]] * self.size)

    def reduce_scatter(self, operation, staging, output, inputs, reduction):
        """Every rank receives its part from all others, and reduces it."""
        parts = self._received(operation, staging, [output.numel()] * self.size, inputs)
        for number in range(_count(output)):
            _upload(
                staging,
                _piece(output, number),
                lambda host, n=number: reduction.combine([_piece(part, n) for part in parts], host),
            )

    def all_to_all(self, operation, staging, outputs, inputs):
        self._exchange(operation, staging, outputs, inputs)

    def _exchange(self, operation, staging, outputs, inputs):
        """Sends inputs[r] to rank r."""
        received = self._received(operation, staging, [each.numel() for each in outputs], inputs)
        for output, host in zip(outputs, received):
            for number in range(_count(output)):
                _upload(staging, _piece(output, number), lambda out, n=number, host=host: out.copy_(_piece(host, n)))

    def _received(self, operation, staging, numels, inputs):
        """Sends inputs[r] to rank r. Returns what each rank sends here, on the host; numels[r] is the number of elements.
        Needs host memory for everything that is sent and received."""
        sent = torch.empty(sum(each.numel() for each in inputs), dtype=inputs[0].dtype)
        for host, each in zip(sent.split([each.numel() for each in inputs]), inputs):
            for number, (_, part) in enumerate(self._pieces(staging, each)):
                _piece(host, number).copy_(part)
        received = torch.empty(sum(numels), dtype=sent.dtype)
        sizes = [numel * sent.element_size() for numel in numels], [each.nbytes for each in inputs]
        options = _options(c10d.AllToAllOptions, operation.timeout)
        self._wait(
            operation,
            lambda: self._gloo.alltoall_base(received.view(torch.uint8), sent.view(torch.uint8), *sizes, options),
        )
        return received.split(numels)
