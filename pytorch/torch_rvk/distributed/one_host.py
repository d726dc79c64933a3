"""Collectives between processes on one host, through shared memory (links.py), which the devices read and write (slots.py).

All tensors are flat, and travel in pieces. While a piece is being reduced, the next ones are on their way. With two ranks,
both reduce everything, which saves exchanging the results. With more, each rank reduces a part of each piece, and a second
round exchanges the parts.
"""

import collections
import dataclasses
import time
from collections.abc import Callable

import torch

from . import slots
from .failures import counted
from .links import AHEAD
from .staging import count, length_of, piece

_SMALL = 64 << 10  # bytes; smaller tensors are reduced completely by every rank


class Operation:
    """A collective operation: its description for error messages, and its deadline."""

    def __init__(self, what, timeout):
        self.what = what
        self.timeout = timeout
        self.end = time.monotonic() + timeout


@dataclasses.dataclass
class _Post:
    """What this rank puts into its slot in a round."""

    tensors: Callable[[], list]
    after: int = -1  # the round whose consume() computes the tensors; -1: they exist already


def _post(*tensors):
    return _Post(lambda: tensors)


class OneHost:
    def __init__(self, links):
        self._links = links
        self.rank, self.size = links.rank, links.size
        self._ways = {}  # by device
        self._reads = collections.deque()  # functions that wait for the reads of the latest rounds

    def fail(self, sentence):
        self._links.fail(sentence)

    def close(self):
        self._links.close()

    def _way(self, staging):
        if staging.device not in self._ways:
            self._ways[staging.device] = slots.fastest(self._links.memories, self.rank, self._links.slot(), staging)
        return self._ways[staging.device]

    def _rounds(self, operation, staging, posts, consume):
        """Runs a round for each post; None fills no slot. Calls consume(number) when all ranks have filled their slots; it
        queues work that reads them."""
        way = self._way(staging)
        way.wait_for_results()
        writes = collections.deque()
        for number in range(len(posts)):
            for following in range(number + len(writes), min(number + AHEAD, len(posts))):
                if posts[following] and posts[following].after >= number:
                    break
                writes.append(self._write(way, posts[following], following - number))
            writes.popleft()()
            while len(self._reads) >= AHEAD:
                self._reads.popleft()()
            self._links.meet("" if number else operation.what, operation.end, operation.timeout)
            consume(number)
            self._reads.append(way.reads())
            self._links.advance()

    def _write(self, way, post, ahead):
        """Starts to fill this rank's slot of a round. Returns a function that waits until it is filled."""
        if post is None:
            return lambda: None
        if post.after >= 0:
            way.wait_for_results()
        return way.write(self.rank, self._links.slot(ahead), post.tensors())

    def _read(self, staging, rank, like, offset=0):
        """Returns a tensor of the device with what is in a rank's slot, `offset` bytes from its start."""
        return self._way(staging).read(rank, self._links.slot() + offset, like)

    def _copy(self, staging, target, rank, offset=0):
        """Copies to `target` what is in a rank's slot, `offset` bytes from its start."""
        self._way(staging).copy_to(target, rank, self._links.slot() + offset)

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
                self._combine(staging, target, target, lambda rank: 0, reduction, target)

        posts = [_post(piece(tensor, number)) for number in range(count(tensor))]
        self._rounds(operation, staging, posts or [None], consume if posts else lambda number: None)

    def _combine(self, staging, like, own, offset_of, reduction, out):
        """Reduces what all ranks have in their slots, offset_of(rank) bytes from the start. `own` is this rank's."""
        parts = [own if rank == self.rank else self._read(staging, rank, like, offset_of(rank)) for rank in range(self.size)]
        reduction.combine(parts, out)

    def _all_reduce_in_parts(self, operation, staging, tensor, reduction):
        def bounds(rank, target):
            length = target.numel()
            return length * rank // self.size, length * (rank + 1) // self.size

        def own_part(target):
            begin, end = bounds(self.rank, target)
            return target[begin:end]

        def reduce(target):
            offset = bounds(self.rank, target)[0] * target.element_size()
            part = own_part(target)
            self._combine(staging, part, part, lambda rank: offset, reduction, part)

        def gather(target):
            for rank in range(self.size):
                begin, end = bounds(rank, target)
                if rank != self.rank and begin != end:
                    self._copy(staging, target[begin:end], rank)

        # A piece is gathered one round later than it could be, so that its reduction is hidden by the next piece's.
        posts, work = [], []
        total = count(tensor)
        for number in range(total + 1):
            if number < total:
                target = piece(tensor, number)
                posts.append(_post(target))
                work.append((reduce, target))
            if number > 0:
                target = piece(tensor, number - 1)
                reduced = len(posts) - 2 if number == total else len(posts) - 3
                posts.append(_Post(lambda target=target: [own_part(target)], max(reduced, 0)))
                work.append((gather, target))
        self._rounds(operation, staging, posts, lambda number: work[number][0](work[number][1]))

    def broadcast(self, operation, staging, tensor, root):
        def consume(number):
            if self.rank != root and tensor.numel():
                self._copy(staging, piece(tensor, number), root)

        numbers = range(max(count(tensor), 1))
        posts = [_post(piece(tensor, number)) if self.rank == root else None for number in numbers]
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
                    self._copy(staging, target, rank)

        posts = [_post(piece(tensor, number)) for number in range(max(rounds, 1))]
        self._rounds(operation, staging, posts, consume)
        if outputs:
            outputs[self.rank].copy_(tensor)

    def scatter(self, operation, staging, output, inputs, root):
        """The root posts the tensors of all ranks, one after the other."""
        rounds = max(count(output), 1)
        posts = [None] * (rounds * self.size)
        if self.rank == root:
            posts = [_post(piece(each, number)) for each in inputs for number in range(rounds)]

        def consume(number):
            receiver, number = divmod(number, rounds)
            target = piece(output, number)
            if receiver == self.rank != root and target.numel():
                self._copy(staging, target, root)

        self._rounds(operation, staging, posts, consume)
        if self.rank == root:
            output.copy_(inputs[root])

    def reduce_scatter(self, operation, staging, output, inputs, reduction):
        """Rank r gets the reduction of all inputs[r]. The sizes may depend on r, but not on the rank that calls. Each rank
        posts what the others need, in their order."""
        others = max(self.size - 1, 1)

        def posted(number, by):
            return [piece(each, number, others) for rank, each in enumerate(inputs) if rank != by]

        def offset_of(number, by):
            return sum(each.nbytes for each in posted(number, by)[: self.rank - (by < self.rank)])

        def consume(number):
            target = piece(output, number, others)
            if target.numel():
                own = piece(inputs[self.rank], number, others)
                self._combine(staging, target, own, lambda rank: offset_of(number, rank), reduction, target)

        rounds = max(1, *(count(each, others) for each in inputs))
        posts = [_post(*posted(number, self.rank)) for number in range(rounds)]
        self._rounds(operation, staging, posts, consume)

    def all_to_all(self, operation, staging, outputs, inputs):
        """Sends inputs[r] to rank r. Only the sender and the receiver know its size, so a first round exchanges all sizes."""
        sizes = torch.tensor([each.numel() for each in inputs], device=staging.device)
        table = []

        def consume_sizes(number):
            table.extend(
                (sizes if rank == self.rank else self._read(staging, rank, sizes)).tolist() for rank in range(self.size)
            )

        def consume(number):
            for rank, output in enumerate(outputs):
                target = piece(output, number, self.size)
                if rank != self.rank and target.numel():
                    before = sum(min(max(total - number * length, 0), length) for total in table[rank][: self.rank])
                    self._copy(staging, target, rank, before * target.element_size())

        self._rounds(operation, staging, [_post(sizes)], consume_sizes)
        length = length_of(inputs[0], self.size)
        for rank, output in enumerate(outputs):
            sent = table[rank][self.rank]
            if sent != output.numel():
                has = counted(sent, "element")
                raise ValueError(f"all_to_all: rank {rank} sends {has}, but the output for it has {output.numel()}.")
        rounds = -(-max(max(row) for row in table) // length)
        posts = [_post(*(piece(each, number, self.size) for each in inputs)) for number in range(rounds)]
        self._rounds(operation, staging, posts, consume)
        outputs[self.rank].copy_(inputs[self.rank])
