"""The collectives between processes of several hosts: pieces are staged in pinned memory and Gloo moves them.

Gloo lacks some reductions and dtypes; those are gathered and reduced here. 16-bit numbers travel as float32, so that they
are accumulated in float32.
"""

import datetime

import torch
import torch.distributed as dist
from torch._C import _distributed_c10d as c10d

from .failures import Roll, described
from .reductions import Reduction
from .staging import count, piece

_GLOO = {"sum": dist.ReduceOp.SUM, "product": dist.ReduceOp.PRODUCT, "min": dist.ReduceOp.MIN, "max": dist.ReduceOp.MAX}
_DTYPES = (torch.float32, torch.float64, torch.int8, torch.uint8, torch.int32, torch.int64)


def _options(kind, timeout, **fields):
    options = kind()
    options.timeout = datetime.timedelta(seconds=timeout)
    for name, value in fields.items():
        setattr(options, name, value)
    return options


class BetweenHosts:
    """Has the methods of one_host.OneHost."""

    def __init__(self, gloo, store, rank, size):
        self._gloo = gloo
        self._roll = Roll(store, rank, size)
        self._number = 0
        self.rank, self.size = rank, size

    def fail(self, sentence):
        pass  # the others find the same failure

    def close(self):
        pass

    def _wait(self, operation, start):
        """Starts a collective of Gloo and waits for it."""
        self._number += 1
        with described(self._roll, operation.what, self._number, operation.timeout):
            start().wait()

    def barrier(self, operation, staging):
        self._wait(operation, lambda: self._gloo.barrier(_options(c10d.BarrierOptions, operation.timeout)))

    def _pieces(self, staging, tensor):
        """Each piece of a flat tensor and its elements on the host; the next one is downloaded meanwhile."""
        total = count(tensor)
        following = staging.download([piece(tensor, 0)]) if total else None
        for number in range(total):
            current = following
            if number + 1 < total:
                following = staging.download([piece(tensor, number + 1)])
            yield piece(tensor, number), current.wait().view(tensor.dtype)

    def all_reduce(self, operation, staging, tensor, reduction):
        for target, host in self._pieces(staging, tensor):
            staging.upload(target, lambda out, host=host: out.copy_(self._reduced(operation, host, reduction)))

    def reduce(self, operation, staging, tensor, reduction, root):
        for target, host in self._pieces(staging, tensor):
            result = self._reduced(operation, host, reduction)
            if self.rank == root:
                staging.upload(target, lambda out, result=result: out.copy_(result))

    def _reduced(self, operation, host, reduction):
        """The reduction of a host tensor over all ranks."""
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
        for number in range(count(tensor)):
            staging.upload(piece(tensor, number), lambda host: self._broadcast(operation, host, root))

    def all_gather(self, operation, staging, outputs, tensor):
        """The outputs may have different sizes: each rank broadcasts its own."""
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
        """Every rank receives the parts that it reduces."""
        received = [torch.empty_like(output) for _ in range(self.size)]
        self._exchange(operation, staging, received, inputs)
        parts = [[host for _, host in self._copies(staging, each)] for each in received]
        for number in range(count(output)):
            staging.upload(
                piece(output, number), lambda host, n=number: reduction.combine([part[n] for part in parts], host)
            )

    def _copies(self, staging, tensor):
        for target, host in self._pieces(staging, tensor):
            yield target, host.clone()

    def all_to_all(self, operation, staging, outputs, inputs):
        self._exchange(operation, staging, outputs, inputs)

    def _exchange(self, operation, staging, outputs, inputs):
        """inputs[r] goes to rank r, through host tensors of the whole size."""
        hosts = [host for each in inputs for _, host in self._copies(staging, each)]
        sent = torch.cat(hosts) if hosts else torch.empty(0, dtype=inputs[0].dtype)
        received = torch.empty(sum(each.numel() for each in outputs), dtype=sent.dtype)
        sizes = [[each.nbytes for each in group] for group in (outputs, inputs)]
        options = _options(c10d.AllToAllOptions, operation.timeout)
        self._wait(
            operation,
            lambda: self._gloo.alltoall_base(received.view(torch.uint8), sent.view(torch.uint8), *sizes, options),
        )
        for output, host in zip(outputs, received.split([each.numel() for each in outputs])):
            for number in range(count(output)):
                staging.upload(piece(output, number), lambda out, n=number, host=host: out.copy_(piece(host, n)))
