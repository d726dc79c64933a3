"""Runs a process group's operations on rvk tensors. C++ runs the collectives on a thread of the group
(pytorch/src/distributed/group.h); here one thread starts sends and receives.

A call queues the operation and returns at once. The operation starts after the work that was on the caller's stream at
that time. wait() makes the caller's stream wait for the operation and returns at once, too: work that is queued behind it
is held back until the thread has queued the last copy.
"""

import collections
import concurrent.futures
import contextlib
import itertools
import queue
import threading
import weakref

import torch
import torch.distributed as dist

from . import failures, links
from .between_hosts import BetweenHosts, Operation
from .failures import PeerFailed
from .fake import FakeGroup, is_fake
from .reductions import Reduction
from .segments import PIECE, Inbox, Outbox, bytes_of, count_of

_MOST_WAITING = 256  # sends and receives in flight at the same time
_MOST_SECONDS_AT_END = 60  # how long a sender that ends waits for its receivers
_SMALL = 256 << 10  # bytes; smaller tensors are sent through Gloo, which takes no longer


class _Job:
    """A send or receive for the group's thread, and its Work. Errors name the operation and the peer."""

    def __init__(self, operation, function, tensor, what, peer):
        self.function = function
        self.what, self.peer = what, peer
        self.tensor, self.device = tensor, tensor.device
        self.work = torch.ops.rvk.promised_work(operation, [tensor], self.device, -1)
        self.ready = torch.accelerator.current_stream(self.device).record_event()

    def finish(self):
        """Keeps the promise: the operation is queued. The current stream must be the one with its last copies."""
        torch.ops.rvk.keep_work(self.work)

    def fail(self, sentence):
        torch.ops.rvk.fail_work(self.work, sentence)


class _Thread:
    """Runs jobs in order."""

    def __init__(self, name, run):
        self._jobs = queue.SimpleQueue()
        self._run = run
        self._thread = threading.Thread(target=self._loop, name=name, daemon=True)
        self._thread.start()

    def put(self, job):
        self._jobs.put(job)

    def end(self, timeout):
        self._jobs.put(None)
        self._thread.join(timeout)

    def _loop(self):
        torch.ops.rvk.compute_alone()
        torch.ops.rvk.keep_promises()
        with torch.inference_mode():  # only this mode may overwrite inference tensors
            while (job := self._jobs.get()) is not None:
                self._run(job)


_NUMBERS = itertools.count()
_BY_NUMBER = weakref.WeakValueDictionary()  # the groups, for calls from C++


class Group:
    def __init__(self, options, store, only_collectives=False):
        self.rank, self.size = options.group_rank, options.group_size
        self.timeout = options.timeout.total_seconds()
        self._options, self._store = options, store
        self._ranks = list(options.global_ranks_in_group) or list(range(self.size))
        self._gloo = None if only_collectives else self._new_gloo()
        self._directory = links.Directory(self._store, self.rank, self.size)
        number = next(_NUMBERS)
        _BY_NUMBER[number] = self
        self._collectives = torch.classes.rvk.Group(number, self.rank, self._ranks)
        self._between_hosts = None
        self._streams = {}  # those of sends and receives, by purpose and device
        self._thread = None
        self._waiting = None
        self._to_itself = collections.defaultdict(queue.SimpleQueue)  # by tag
        self._outbox, self._inbox = Outbox(self._directory.segments_listener), Inbox()
        self._senders = None  # the addresses of the ranks' segments; empty if they are on several hosts
        self._lock = threading.Lock()
        self._concurrent = None

    def _new_gloo(self):
        """Blocks until all ranks have called this."""
        return dist.ProcessGroupGloo(self._store, self.rank, self.size, timeout=self._options.timeout)

    def concurrent(self):
        """Returns a second group of the same ranks, whose collectives run at the same time as this group's: it has its own
        thread, sockets and shared memory. All ranks must start the same collectives on it, in the same order."""
        if self.size == 1:
            return self
        with self._lock:
            if self._concurrent is None:
                self._concurrent = Group(self._options, dist.PrefixStore("concurrent", self._store), only_collectives=True)
            return self._concurrent

    def name_of(self, rank):
        """Returns the global rank of a rank of this group, for messages."""
        return self._ranks[rank]

    # collectives

    def start(
        self, collective, what, milliseconds, outputs, inputs=(), root=-1, reduction=Reduction(), device=None, passed=None
    ):
        """Queues a collective; Call in pytorch/src/distributed/transport.h describes the arguments. Returns c10d's Work as a
        script object."""
        passed = inputs or outputs if passed is None else passed
        timeout = milliseconds / 1000 if milliseconds > 0 else self.timeout
        device = device or (outputs or inputs)[0].device
        return self._collectives.start(
            collective, what, timeout, device, list(outputs), list(inputs), list(passed), root, reduction.kind, reduction.factor
        )

    def connect(self, timeout):
        """Connects the ranks, before the first collective."""
        entries = self._directory.read(timeout, self.name_of)
        if links.are_on_one_host(entries):
            connected = links.Links(self._directory, entries, timeout, self.name_of)
            self._collectives.use_one_host(connected.take_sockets(), connected.memories)
        else:
            self._between_hosts = BetweenHosts(self._gloo or self._new_gloo(), self._store, self.rank, self.size, self.name_of)
            self._collectives.use_several_hosts()

    def run_between_hosts(self, collective, *arguments):
        self._between_hosts.run(collective, *arguments)

    # send and receive

    def send(self, tensor, to, tag):
        tensor = torch.ops.rvk.alias_memory(tensor)

        def function(job):
            if to != self.rank and self._uses_segments(tensor):
                return self._send_pieces(job, to, tag), lambda: None
            with self._copying(job):
                host = tensor.cpu().contiguous()  # Gloo takes no other tensors
            if to == self.rank:
                self._to_itself[tag].put(host)
                return lambda: None, lambda: None
            return self._gloo.send([host], to, tag).wait, lambda: None

        return self._exchange("send", function, tensor, f"send to rank {self.name_of(to)}", to)

    def receive(self, tensor, source, tag):
        tensor = torch.ops.rvk.alias_memory(tensor)

        def function(job):
            if source != self.rank and self._uses_segments(tensor):
                numbers = [torch.empty(1, dtype=torch.int64) for _ in range(count_of(tensor))]
                works = [self._gloo.recv([number], source, tag) for number in numbers]
                return works[0].wait, lambda: self._receive_pieces(tensor, source, numbers, works[1:])
            host = torch.empty(tensor.shape, dtype=tensor.dtype)
            if source == self.rank:
                return lambda: host.copy_(self._take(tag)), lambda: tensor.copy_(host)
            return self._gloo.recv([host], source, tag).wait, lambda: tensor.copy_(host)

        return self._exchange("recv", function, tensor, f"receive from rank {self.name_of(source)}", source)

    def _uses_segments(self, tensor):
        """Whether the tensor is sent through shared memory. The answer is the same on all ranks."""
        if tensor.nbytes < _SMALL:
            return False
        with self._lock:
            if self._senders is None:
                entries = self._directory.read(self.timeout, self.name_of)
                self._senders = [entry["segments"] for entry in entries] if links.are_on_one_host(entries) else []
        return bool(self._senders)

    def _send_pieces(self, job, to, tag):
        """Returns a function that waits until the receiver knows of all pieces."""
        sent, copied = [], collections.deque()

        def announce():
            segment, event = copied.popleft()
            event.synchronize()
            sent.append(self._gloo.send([torch.tensor([segment.number])], to, tag))

        with self._copying(job):
            flat = bytes_of(job.tensor.contiguous())
            copy = self._copier("send", job.device)
            for piece in flat.split(PIECE):
                segment = self._outbox.take()
                copied.append((segment, copy(segment.data(job.device, piece.numel()), piece)))
                if len(copied) > 1:
                    announce()
            while copied:
                announce()
        return lambda: [work.wait() for work in sent]

    def _stream(self, purpose, device, copies):
        """Returns a stream that only this group uses. PyTorch may run callbacks that wait for a job on the streams of the pool."""
        with self._lock:
            if (purpose, device) not in self._streams:
                self._streams[purpose, device] = torch.classes.rvk.OwnStream(device, copies)
            return self._streams[purpose, device].stream()

    def _copier(self, direction, device):
        """Returns a function that copies bytes and returns the event of the copy. Where the driver can import segments, it uses
        a stream that only copies: such streams reach the link's rate."""
        current = torch.accelerator.current_stream(device)
        stream = self._stream(direction, device, copies=True)
        stream.wait_event(current.record_event())  # the memory may still be in use there

        def copy(to, source):
            if to.device != source.device:
                to.copy_(source)
                return current.record_event()
            torch.ops.rvk.copy_bytes(to, source, stream)
            return stream.record_event()

        return copy

    def _receive_pieces(self, tensor, source, numbers, works):
        """Fills the tensor from the segments whose numbers arrive. The first has arrived; `works` are the others."""
        flat = tensor if tensor.is_contiguous() else torch.empty_like(tensor, memory_format=torch.contiguous_format)
        copy = self._copier("receive", tensor.device)
        read = collections.deque()

        def release():
            segment, event = read.popleft()
            event.synchronize()
            segment.in_use = False

        for piece, number, work in zip(bytes_of(flat).split(PIECE), numbers, [None, *works], strict=True):
            if work is not None:  # waiting twice for one message of Gloo's would never end
                work.wait()
            segment = self._inbox.segment(self._senders[source], int(number))
            read.append((segment, copy(piece, segment.data(tensor.device, piece.numel()))))
            if len(read) > 1:
                release()
        while read:
            release()
        if flat is not tensor:
            tensor.copy_(flat)

    def _take(self, tag):
        """Waits for the next tensor that this rank sends to itself."""
        try:
            return self._to_itself[tag].get(timeout=self.timeout)
        except queue.Empty:
            raise RuntimeError("timed out") from None

    def receive_from_any(self, tensor, tag):
        """Blocks until the tensor has arrived, because a Work must know the sender when it is created."""
        in_segments = self._uses_segments(tensor)
        host = torch.empty(1, dtype=torch.int64) if in_segments else torch.empty(tensor.shape, dtype=tensor.dtype)
        work = self._gloo.recv_anysource([host], tag)
        work.wait()
        source = work._source_rank()
        if in_segments:
            others = [torch.empty_like(host) for _ in range(count_of(tensor) - 1)]
            works = [self._gloo.recv([number], source, tag) for number in others]
            self._receive_pieces(tensor, source, [host, *others], works)
        else:
            tensor.copy_(host)
        received = torch.ops.rvk.promised_work("recv", [tensor], tensor.device, source)
        torch.ops.rvk.keep_work(received)
        return received

    def _exchange(self, operation, function, tensor, what, peer):
        """Starts sends and receives in order on one thread; threads of a pool wait for their ends."""
        job = _Job(operation, function, tensor, what, peer)
        with self._lock:
            if self._thread is None:
                self._thread = _Thread("rvk send and receive", self._run_exchange)
        self._thread.put(job)
        return job.work

    @contextlib.contextmanager
    def _copying(self, job):
        """Copies in this context run on a separate stream, because work on the caller's streams may be held back until this job
        is done. All jobs share that stream, so it must not wait for work that may depend on another job."""
        job.ready.synchronize()
        stream = self._stream("both", job.device, copies=False)
        with torch.rvk.stream(stream):
            job.tensor.record_stream(stream)
            yield

    def _run_exchange(self, job):
        try:
            wait, finish = job.function(job)
        except Exception as problem:
            job.fail(self._sentence_of(problem, job))
            return
        if self._waiting is None:
            self._waiting = concurrent.futures.ThreadPoolExecutor(_MOST_WAITING, "rvk send and receive")
        self._waiting.submit(self._finish_exchange, job, wait, finish)

    @torch.inference_mode()
    def _finish_exchange(self, job, wait, finish):
        try:
            torch.ops.rvk.keep_promises()
            wait()
            with self._copying(job):
                finish()
                job.finish()
        except Exception as problem:
            job.fail(self._sentence_of(problem, job))

    def _sentence_of(self, problem, job):
        text = str(problem).strip().split("\n")[0]
        if "timed out" in text.lower():
            return failures.is_late([self.name_of(job.peer)], job.what, self.timeout)
        if "closed" in text.lower() or "reset" in text.lower():
            return failures.is_gone([self.name_of(job.peer)], job.what)
        return f"{job.what} failed: {text}"

    def close(self):
        """Ends the threads after the queued collectives and sends have run. Receives that are not complete fail."""
        if self._concurrent is not None:
            self._concurrent.close()
        self._collectives.close(self.timeout)
        seconds = min(self.timeout, _MOST_SECONDS_AT_END)
        if self._thread is not None:
            self._thread.end(seconds)
        if self._waiting is not None:
            self._waiting.shutdown(wait=False, cancel_futures=True)
        self._outbox.close(seconds, [address for rank, address in enumerate(self._senders or ()) if rank != self.rank])


class Groups:
    """All groups of this process, by name. Names are unique among live groups."""

    def __init__(self):
        self._by_name = {}
        self._seen = weakref.WeakSet()

    def add(self, name, group):
        earlier = self._by_name.pop(name, None)
        if earlier is not None:
            earlier.close()
        self._by_name[name] = group

    def of(self, process_group):
        """Returns the Group that belongs to a torch.distributed.ProcessGroup. The Group is closed when the ProcessGroup is
        destroyed."""
        group = self._by_name.get(process_group.group_name)
        if group is None and is_fake(process_group):
            return FakeGroup(process_group)
        if group is None:
            raise RuntimeError(
                f"The process group {process_group.group_name} cannot move tensors of rvk: create it with the backend "
                '"rvk", or with "cpu:gloo,rvk:rvk".'
            )
        if process_group not in self._seen:
            self._seen.add(process_group)
            weakref.finalize(process_group, group.close)
        return group

    def close(self):
        for group in self._by_name.values():
            group.close()
        self._by_name.clear()


def _sentence_of_failure(function, *arguments):
    """Calls the function. Returns the sentence of its exception, or an empty string."""
    try:
        function(*arguments)
    except PeerFailed as problem:
        return str(problem)
    except BaseException as problem:
        return f"{type(problem).__name__}: {problem}"
    return ""


def _connect_group(number, timeout):
    return _sentence_of_failure(_BY_NUMBER[number].connect, timeout)


def _collective_between_hosts(number, collective, what, timeout, staging, outputs, inputs, root, reduction, factor):
    arguments = Operation(what, timeout), staging, outputs, inputs, root, Reduction(reduction, factor)
    return _sentence_of_failure(_BY_NUMBER[number].run_between_hosts, collective, *arguments)


_LIBRARY = torch.library.Library("rvk", "FRAGMENT")
_FOR_CPP = {  # pytorch/src/distributed/python_calls.h
    "connect_group(int group, float timeout) -> str": _connect_group,
    "collective_between_hosts(int group, str collective, str what, float timeout, __torch__.torch.classes.rvk.Staging staging, "
    "Tensor[] outputs, Tensor[] inputs, int root, int reduction, float factor) -> str": _collective_between_hosts,
}


def register():
    """Registers the operators that C++ calls."""
    for schema, function in _FOR_CPP.items():
        _LIBRARY.impl(_LIBRARY.define(schema), function, "CompositeImplicitAutograd")
