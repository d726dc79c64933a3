"""Collectives between processes on one host, through shared memory (links.py).

All tensors are flat. A rank downloads the next pieces while it waits for the others, reduces its share on the CPU, and
uploads results during the next round. With two ranks, both reduce everything, which saves exchanging the results. With more,
each rank reduces a part, and a second round exchanges the parts.
"""

import time

import torch

from .failures import counted
from .host_threads import copy
from .staging import count, length_of, piece

_AHEAD = 2  # downloads in flight, including the current round's
_SMALL = 64 << 10  # bytes; smaller tensors are reduced completely by every rank


class Operation:
    """A collective operation: its description for error messages, and its deadline."""

    def __init__(self, what, timeout):
        self.what = what
        self.timeout = timeout
        self.end = time.monotonic() + timeout


class OneHost:
    def __init__(self, links):
        self._links = links
        self.rank, self.size = links.rank, links.size

    def fail(self, sentence):
        self._links.fail(sentence)

    def close(self):
        self._links.close()

    def _rounds(self, operation, staging, posts, consume):
        """Runs a round for each post, which is what this rank puts into its slot: a list of tensors on the device, a
        function that returns a host tensor, or None. Calls consume(number) when all ranks have filled their slots."""
        downloads = {}
        started = 0
        for number, post in enumerate(posts):
            while started < min(number + _AHEAD, len(posts)):
                if isinstance(posts[started], list):
                    downloads[started] = staging.download(posts[started])
                started += 1
            if number in downloads:
                post = downloads.pop(number).wait
            if post is not None:
                filled = post()
                copy(self._links.slot()[: filled.nbytes].view(filled.dtype), filled)
            self._links.meet("" if number else operation.what, operation.end, operation.timeout)
            consume(number)
            self._links.advance()

    def _read(self, rank, like, offset=0):
        """Returns a view of a rank's slot, `offset` bytes from its start, with the size and dtype of `like`."""
        return self._links.slot(rank)[offset : offset + like.nbytes].view(like.dtype)

    def barrier(self, operation, staging):
        self._rounds(operation, staging, [None], lambda number: None)

    def all_reduce(self, operation, staging, tensor, reduction):
        if self.size > 2 and tensor.nbytes > _SMALL:
            self._all_reduce_in_parts(operation, staging, tensor, reduction)
        else:
            self._reduce(operation, staging, tensor, reduction, range(self.size))

    def reduce(self, operation, staging, tensor, reduction, root):
        self._reduce(operation, staging, tensor, reduction, (root,))

    def _reduce(self, operation, staging, tensor, reduction, receivers):
        def consume(number):
            if self.rank in receivers:
                target = piece(tensor, number)
                parts = [self._read(rank, target) for rank in range(self.size)]
                staging.upload(target, lambda host: reduction.combine(parts, host))

        posts = [[piece(tensor, number)] for number in range(count(tensor))]
        self._rounds(operation, staging, posts or [None], consume if posts else lambda number: None)

    def _all_reduce_in_parts(self, operation, staging, tensor, reduction):
        scratch = torch.empty(0, dtype=tensor.dtype)

        def bounds(rank, length):
            return length * rank // self.size, length * (rank + 1) // self.size

        def consume(number):
            nonlocal scratch
            target = piece(tensor, number // 2)
            if number % 2 == 0:
                begin, end = bounds(self.rank, target.numel())
                scratch = torch.empty(end - begin, dtype=tensor.dtype)
                reduction.combine([self._read(rank, target)[begin:end] for rank in range(self.size)], scratch)
                return
            staging.upload(target, lambda host: gather(host, target.numel()))

        def gather(host, length):
            for rank in range(self.size):
                begin, end = bounds(rank, length)
                copy(host[begin:end], self._read(rank, host[begin:end]))

        posts = []
        for number in range(count(tensor)):
            posts += [[piece(tensor, number)], lambda: scratch]
        self._rounds(operation, staging, posts, consume)

    def broadcast(self, operation, staging, tensor, root):
        def consume(number):
            if self.rank != root and tensor.numel():
                target = piece(tensor, number)
                staging.upload(target, lambda host: copy(host, self._read(root, target)))

        numbers = range(max(count(tensor), 1))
        posts = [[piece(tensor, number)] if self.rank == root else None for number in numbers]
        self._rounds(operation, staging, posts, consume)

    def all_gather(self, operation, staging, outputs, tensor):
        """The sizes of the ranks' tensors may differ; outputs[r] has the size of rank r's."""
        self._gather(operation, staging, outputs, tensor, max(count(output) for output in outputs))

    def gather(self, operation, staging, outputs, tensor, root):
        self._gather(operation, staging, outputs if self.rank == root else None, tensor, count(tensor))

    def _gather(self, operation, staging, outputs, tensor, rounds):
        def consume(number):
            for rank, output in enumerate(outputs or ()):
                target = piece(output, number)
                if rank != self.rank and target.numel():
                    staging.upload(target, lambda host, rank=rank: copy(host, self._read(rank, host)))

        posts = [[piece(tensor, number)] for number in range(max(rounds, 1))]
        self._rounds(operation, staging, posts, consume)
        if outputs:
            outputs[self.rank].copy_(tensor)

    def scatter(self, operation, staging, output, inputs, root):
        """The root posts the tensors of all ranks, one after the other."""
        rounds = max(count(output), 1)
        posts = [None] * (rounds * self.size)
        if self.rank == root:
            posts = [[piece(each, number)] for each in inputs for number in range(rounds)]

        def consume(number):
            receiver, number = divmod(number, rounds)
            target = piece(output, number)
            if receiver == self.rank != root and target.numel():
                staging.upload(target, lambda host: copy(host, self._read(root, host)))

        self._rounds(operation, staging, posts, consume)
        if self.rank == root:
            output.copy_(inputs[root])

    def reduce_scatter(self, operation, staging, output, inputs, reduction):
        """Rank r gets the reduction of all inputs[r]. The sizes may depend on r, but not on the rank that calls."""

        def consume(number):
            target = piece(output, number, self.size)
            if target.numel():
                before = sum(piece(each, number, self.size).nbytes for each in inputs[: self.rank])
                parts = [self._read(rank, target, before) for rank in range(self.size)]
                staging.upload(target, lambda host: reduction.combine(parts, host))

        rounds = max(1, *(count(each, self.size) for each in inputs))
        posts = [[piece(each, number, self.size) for each in inputs] for number in range(rounds)]
        self._rounds(operation, staging, posts, consume)

    def all_to_all(self, operation, staging, outputs, inputs):
        """Sends inputs[r] to rank r. Only the sender and the receiver know its size, so a first round exchanges all sizes."""
        sizes = torch.tensor([each.numel() for each in inputs])
        table = []

        def consume_sizes(number):
            table.extend(self._read(rank, sizes).tolist() for rank in range(self.size))

        def consume(number):
            for rank, output in enumerate(outputs):
                target = piece(output, number, self.size)
                if rank != self.rank and target.numel():
                    before = sum(min(max(total - number * length, 0), length) for total in table[rank][: self.rank])
                    staging.upload(
                        target,
                        lambda host, rank=rank, before=before: host.copy_(self._read(rank, host, before * host.element_size())),
                    )

        self._rounds(operation, staging, [lambda: sizes], consume_sizes)
        length = length_of(inputs[0], self.size)
        for rank, output in enumerate(outputs):
            sent = table[rank][self.rank]
            if sent != output.numel():
                has = counted(sent, "element")
                raise ValueError(f"all_to_all: rank {rank} sends {has}, but the output for it has {output.numel()}.")
        rounds = -(-max(max(row) for row in table) // length)
        posts = [[piece(each, number, self.size) for each in inputs] for number in range(rounds)]
        self._rounds(operation, staging, posts, consume)
        outputs[self.rank].copy_(inputs[self.rank])
