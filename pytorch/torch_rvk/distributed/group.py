"""Runs a process group's operations on rvk tensors: one thread for collectives, in order, and one for send and receive.

A call queues the operation and returns at once. The operation starts after the work that was on the caller's stream at
that time. wait() makes the caller's stream wait for the operation and returns at once, too: work that is queued behind it
is held back until the thread has queued the last upload. So the host runs ahead of the collectives, by at most a few dozen.
"""

import collections
import concurrent.futures
import contextlib
import queue
import threading
import weakref

import torch
import torch.distributed as dist

from . import failures, links
from .between_hosts import BetweenHosts
from .failures import PeerFailed
from .host_threads import compute_alone
from .one_host import OneHost, Operation
from .staging import Staging

_MOST_WAITING = 256  # sends and receives in flight at the same time
_AHEAD = 64  # collectives that may be queued before the first of them is done


@contextlib.contextmanager
def _profiled(name, tensors):
    """Records the block in PyTorch's profiler, as rvk:all_reduce for example."""
    if not torch.autograd._profiler_enabled():
        yield
        return
    handle = torch.autograd._record_function_with_args_enter(f"rvk:{name}", *tensors)
    try:
        yield
    finally:
        torch.autograd._record_function_with_args_exit(handle)


class _Job:
    """An operation for a thread of the group, and the Work that it ends. Errors of a send or receive say what it was and who
    the peer is."""

    def __init__(self, function, tensors, device, memory=None, what="", peer=None):
        self.function = function
        self.what, self.peer = what, peer
        self.memory = tensors if memory is None else memory
        self.device = device
        self.work = torch.ops.rvk.promised_work(tensors, device, -1)
        self.ready = torch.accelerator.current_stream(device).record_event()

    def finish(self):
        """The operation is queued. The current stream must be the one with the last copies."""
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
        compute_alone()
        torch.ops.rvk.keep_promises()
        with torch.no_grad():
            while (job := self._jobs.get()) is not None:
                self._run(job)


class Group:
    def __init__(self, options, store):
        self.rank, self.size = options.group_rank, options.group_size
        self.timeout = options.timeout.total_seconds()
        self._store = store
        self._ranks = list(options.global_ranks_in_group) or list(range(self.size))
        self._gloo = dist.ProcessGroupGloo(self._store, self.rank, self.size, timeout=options.timeout)
        self._directory = links.Directory(self._store, self.rank, self.size)
        self._transport = None
        self._staging = {}
        self._copies = {}  # the stream of sends and receives, by device
        self._failure = None
        self._threads = {}
        self._waiting = None
        self._to_itself = collections.defaultdict(queue.SimpleQueue)  # by tag
        self._lock = threading.Lock()
        self._room = threading.BoundedSemaphore(_AHEAD)

    def name_of(self, rank):
        """Returns the global rank of a rank of this group, for messages."""
        return self._ranks[rank]

    def seconds(self, milliseconds):
        return milliseconds / 1000 if milliseconds > 0 else self.timeout

    # collectives

    def start(self, what, milliseconds, tensors, run, device=None, memory=None):
        """Queues run(transport, operation, staging), which reads and writes the tensors, or `memory`, their aliases. Returns
        c10d's Work as a script object."""
        if self._failure:
            raise dist.DistBackendError(self._failure)
        device = device or tensors[0].device
        timeout = self.seconds(milliseconds)

        def function(job):
            self._prepare(timeout)
            run(self._transport, Operation(what, timeout), self._staging_of(device))

        self._room.acquire()
        with _profiled(what.split()[0], tensors):
            job = _Job(function, tensors, device, memory)
            return self._put("collectives", self._run_collective, job)

    def _put(self, name, run, job):
        with self._lock:
            if name not in self._threads:
                self._threads[name] = _Thread(f"rvk {name}", run)
        self._threads[name].put(job)
        return job.work

    def _prepare(self, timeout):
        """Connects the ranks, before the first operation."""
        if self._transport is not None:
            return
        entries = self._directory.read(timeout, self.name_of)
        if links.are_on_one_host(entries):
            self._transport = OneHost(links.Links(self._directory, entries, timeout, self.name_of))
        else:
            self._transport = BetweenHosts(self._gloo, self._store, self.rank, self.size)

    def _staging_of(self, device):
        if device not in self._staging:
            self._staging[device] = Staging(device)
        return self._staging[device]

    def _run_collective(self, job):
        try:
            self._run_or_fail(job)
        finally:
            self._room.release()

    def _run_or_fail(self, job):
        if self._failure:
            job.fail(self._failure)
            return
        try:
            with self._staging_of(job.device) as staging:
                staging.stream.wait_event(job.ready)
                for tensor in job.memory:
                    tensor.record_stream(staging.stream)
                job.function(job)
                job.finish()
        except BaseException as problem:  # raised in the thread that waits for the work
            self._failure = str(problem) if isinstance(problem, PeerFailed) else f"{type(problem).__name__}: {problem}"
            if self._transport is not None:
                self._transport.fail(self._failure)
            job.fail(self._failure)

    # send and receive

    def send(self, tensor, to, tag):
        tensor = torch.ops.rvk.alias_memory(tensor)

        def function(job):
            with self._copying(job):
                host = tensor.cpu()
            if to == self.rank:
                self._to_itself[tag].put(host)
                return lambda: None, lambda: None
            return self._gloo.send([host], to, tag).wait, lambda: None

        return self._exchange(function, tensor, f"send to rank {self.name_of(to)}", to)

    def receive(self, tensor, source, tag):
        tensor = torch.ops.rvk.alias_memory(tensor)

        def function(job):
            host = torch.empty(tensor.shape, dtype=tensor.dtype)
            if source == self.rank:
                return lambda: host.copy_(self._take(tag)), lambda: tensor.copy_(host)
            return self._gloo.recv([host], source, tag).wait, lambda: tensor.copy_(host)

        return self._exchange(function, tensor, f"receive from rank {self.name_of(source)}", source)

    def _take(self, tag):
        """Waits for the next tensor that this rank sends to itself."""
        try:
            return self._to_itself[tag].get(timeout=self.timeout)
        except queue.Empty:
            raise RuntimeError("timed out") from None

    def receive_from_any(self, tensor, tag):
        """Blocks until the tensor has arrived, because a Work must know the sender when it is created."""
        host = torch.empty(tensor.shape, dtype=tensor.dtype)
        work = self._gloo.recv_anysource([host], tag)
        work.wait()
        tensor.copy_(host)
        received = torch.ops.rvk.promised_work([tensor], tensor.device, work._source_rank())
        torch.ops.rvk.keep_work(received)
        return received

    def _exchange(self, function, tensor, what, peer):
        """Sends and receives start in order on one thread, and each is waited for on a thread of a pool."""
        return self._put("send and receive", self._run_exchange, _Job(function, [tensor], tensor.device, what=what, peer=peer))

    @contextlib.contextmanager
    def _copying(self, job):
        """Copies on a separate stream: work on the caller's streams may be held back until this job is done. All jobs share
        the stream, so it must not wait for what may depend on another one."""
        job.ready.synchronize()
        with self._lock:
            if job.device not in self._copies:
                self._copies[job.device] = torch.Stream(job.device)
        with torch.rvk.stream(self._copies[job.device]):
            job.memory[0].record_stream(self._copies[job.device])
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

    def _finish_exchange(self, job, wait, finish):
        try:
            torch.ops.rvk.keep_promises()
            wait()
            with torch.no_grad(), self._copying(job):
                finish()
                job.finish()
        except Exception as problem:
            job.fail(self._sentence_of(problem, job))

    def _sentence_of(self, problem, job):
        text = str(problem).strip().split("\n")[0]
        if "timed out" in text.lower():
            return failures.is_late([self.name_of(job.peer)], job.what, self.timeout)
        if "closed" in text.lower() or "reset" in text.lower():
            return failures.is_gone(self.name_of(job.peer), job.what)
        return f"{job.what} failed: {text}"

    def close(self):
        """Ends the threads, after the collectives that are queued. Sends and receives that are not complete fail."""
        for name, thread in self._threads.items():
            thread.end(self.timeout if name == "collectives" else 1)
        if self._waiting is not None:
            self._waiting.shutdown(wait=False, cancel_futures=True)
        if self._transport is not None:
            self._transport.close()


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
        """Returns the Group that belongs to a torch.distributed.ProcessGroup. It is closed when that is destroyed."""
        group = self._by_name.get(process_group.group_name)
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
