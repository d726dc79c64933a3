"""Runs a process group's operations on rvk tensors: one thread for collectives, in order, and one for send and receive.

A call queues the operation and returns at once. The operation starts after the work that was on the caller's stream at
that time. Its future is completed when the last upload has been queued: wait() blocks the host until then, and makes the
caller's stream wait for the upload itself.
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


def _devices(tensors):
    return sorted({tensor.device for tensor in tensors}, key=str)


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
    """An operation for a thread of the group, and the future that it completes. Errors of a send or receive say what it
    was and who the peer is."""

    def __init__(self, function, tensors, device, what="", peer=None):
        self.function = function
        self.what, self.peer = what, peer
        self.tensors = tensors
        self.device = device
        self.future = torch.futures.Future(devices=_devices(tensors) or [device])
        self.ready = torch.accelerator.current_stream(device).record_event()

    def work(self):
        return torch.ops.rvk.work(self.future, self.tensors, -1)

    def finish(self):
        """Completes the future. The current stream must be the one with the last copies."""
        self.future.set_result(list(self.tensors))

    def fail(self, sentence):
        torch.ops.rvk.fail_future(self.future, sentence)


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
        self._failure = None
        self._threads = {}
        self._waiting = None
        self._to_itself = collections.defaultdict(queue.SimpleQueue)  # by tag
        self._lock = threading.Lock()

    def name_of(self, rank):
        """Returns the global rank of a rank of this group, for messages."""
        return self._ranks[rank]

    def seconds(self, milliseconds):
        return milliseconds / 1000 if milliseconds > 0 else self.timeout

    # collectives

    def start(self, what, milliseconds, tensors, run, device=None):
        """Queues run(transport, operation, staging), which reads and writes the tensors. Returns c10d's Work as a script
        object."""
        device = device or tensors[0].device
        timeout = self.seconds(milliseconds)

        def function(job):
            self._prepare(timeout)
            run(self._transport, Operation(what, timeout), self._staging_of(device))

        with _profiled(what.split()[0], tensors):
            return self._put("collectives", self._run_collective, _Job(function, tensors, device))

    def _put(self, name, run, job):
        with self._lock:
            if name not in self._threads:
                self._threads[name] = _Thread(f"rvk {name}", run)
        self._threads[name].put(job)
        return job.work()

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
        if self._failure:
            job.fail(self._failure)
            return
        try:
            with self._staging_of(job.device) as staging:
                staging.stream.wait_event(job.ready)
                for tensor in job.tensors:
                    tensor.record_stream(staging.stream)
                job.function(job)
                job.finish()
        except BaseException as problem:  # raised in the thread that waits for the future
            self._failure = str(problem) if isinstance(problem, PeerFailed) else f"{type(problem).__name__}: {problem}"
            if self._transport is not None:
                self._transport.fail(self._failure)
            job.fail(self._failure)

    # send and receive

    def send(self, tensor, to, tag):
        def function(job):
            job.ready.synchronize()
            host = tensor.cpu()
            if to == self.rank:
                self._to_itself[tag].put(host)
                return lambda: None, lambda: None
            return self._gloo.send([host], to, tag).wait, lambda: None

        return self._exchange(function, tensor, f"send to rank {self.name_of(to)}", to)

    def receive(self, tensor, source, tag):
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
        job = _Job(None, [tensor], tensor.device)
        job.finish()
        return torch.ops.rvk.work(job.future, job.tensors, work._source_rank())

    def _exchange(self, function, tensor, what, peer):
        """Sends and receives start in order on one thread, and each is waited for on a thread of a pool."""
        tensor.record_stream(torch.accelerator.current_stream(tensor.device))
        return self._put("send and receive", self._run_exchange, _Job(function, [tensor], tensor.device, what, peer))

    def _run_exchange(self, job):
        try:
            with torch.rvk.device(job.device):
                wait, finish = job.function(job)
        except RuntimeError as problem:
            job.fail(self._sentence_of(problem, job))
            return
        if self._waiting is None:
            self._waiting = concurrent.futures.ThreadPoolExecutor(_MOST_WAITING, "rvk send and receive")
        self._waiting.submit(self._finish_exchange, job, wait, finish)

    def _finish_exchange(self, job, wait, finish):
        try:
            wait()
            with torch.no_grad(), torch.rvk.device(job.device):
                torch.accelerator.current_stream(job.device).wait_event(job.ready)
                finish()
                job.finish()
        except RuntimeError as problem:
            job.fail(self._sentence_of(problem, job))

    def _sentence_of(self, problem, job):
        text = str(problem).strip().split("\n")[0]
        if "timed out" in text.lower():
            return failures.is_late([self.name_of(job.peer)], job.what, self.timeout)
        if "closed" in text.lower() or "reset" in text.lower():
            return failures.is_gone(self.name_of(job.peer), job.what)
        return f"{job.what} failed: {text}"

    def close(self):
        """Ends the threads. Operations that are not complete fail."""
        for thread in self._threads.values():
            thread.end(1)
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
