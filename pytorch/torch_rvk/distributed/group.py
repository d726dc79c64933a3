"""A process group's part for rvk tensors: a thread that runs its collectives in order, and one for send and receive.

An operation starts when the work that its caller's stream had at the call is done, and the caller goes on at once. Its
future is completed when the last upload has been queued, so wait() blocks the host until then, and makes the caller's
stream wait for the upload.
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

_MOST_WAITING = 256  # sends and receives that wait at the same time


def _devices(tensors):
    return sorted({tensor.device for tensor in tensors}, key=str)


@contextlib.contextmanager
def _profiled(name, tensors):
    """A range in PyTorch's profiler, such as rvk:all_reduce."""
    if not torch.autograd._profiler_enabled():
        yield
        return
    handle = torch.autograd._record_function_with_args_enter(f"rvk:{name}", *tensors)
    try:
        yield
    finally:
        torch.autograd._record_function_with_args_exit(handle)


class _Job:
    """A function that a thread of the group runs, and the future that tells its end."""

    def __init__(self, function, tensors, device):
        self.function = function
        self.tensors = tensors
        self.device = device
        self.future = torch.futures.Future(devices=_devices(tensors) or [device])
        self.ready = torch.accelerator.current_stream(device).record_event()

    def work(self):
        return torch.ops.rvk.work(self.future, self.tensors, -1)

    def finish(self):
        """Called with the stream current that has the last copies."""
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
        """The global number of a rank of this group, for messages."""
        return self._ranks[rank]

    def seconds(self, milliseconds):
        return milliseconds / 1000 if milliseconds > 0 else self.timeout

    # collectives

    def start(self, what, milliseconds, tensors, run, device=None):
        """Queues run(transport, operation, staging), which writes or reads the tensors; returns c10d's work as a
        script object."""
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
        """Connects the ranks when the first operation runs."""
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
        except BaseException as problem:  # whoever waits for the future gets it
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
        """The next tensor that this rank sends to itself."""
        try:
            return self._to_itself[tag].get(timeout=self.timeout)
        except queue.Empty:
            raise RuntimeError("timed out") from None

    def receive_from_any(self, tensor, tag):
        """Waits, because c10d's work has to know the sender when it is created."""
        host = torch.empty(tensor.shape, dtype=tensor.dtype)
        work = self._gloo.recv_anysource([host], tag)
        work.wait()
        tensor.copy_(host)
        job = _Job(None, [tensor], tensor.device)
        job.finish()
        return torch.ops.rvk.work(job.future, job.tensors, work._source_rank())

    def _exchange(self, function, tensor, what, peer):
        """Starts in order on the group's thread for this, and waits on a thread of a pool."""
        job = _Job(function, [tensor], tensor.device)
        tensor.record_stream(torch.accelerator.current_stream(tensor.device))
        return self._put("send and receive", lambda each: self._run_exchange(each), _Described(job, what, peer))

    def _run_exchange(self, described):
        job = described.job
        try:
            with torch.rvk.device(job.device):
                wait, finish = job.function(job)
        except RuntimeError as problem:
            job.fail(self._sentence_of(problem, described))
            return
        if self._waiting is None:
            self._waiting = concurrent.futures.ThreadPoolExecutor(_MOST_WAITING, "rvk send and receive")
        self._waiting.submit(self._finish_exchange, described, wait, finish)

    def _finish_exchange(self, described, wait, finish):
        job = described.job
        try:
            wait()
            with torch.no_grad(), torch.rvk.device(job.device):
                torch.accelerator.current_stream(job.device).wait_event(job.ready)
                finish()
                job.finish()
        except RuntimeError as problem:
            job.fail(self._sentence_of(problem, described))

    def _sentence_of(self, problem, described):
        text = str(problem).strip().split("\n")[0]
        if "timed out" in text.lower():
            return failures.is_late([self.name_of(described.peer)], described.what, self.timeout)
        if "closed" in text.lower() or "reset" in text.lower():
            return failures.is_gone(self.name_of(described.peer), described.what)
        return f"{described.what} failed: {text}"

    def close(self):
        """Ends the threads; work that is not complete fails."""
        for thread in self._threads.values():
            thread.end(1)
        if self._waiting is not None:
            self._waiting.shutdown(wait=False, cancel_futures=True)
        if self._transport is not None:
            self._transport.close()


class _Described:
    """A job of send or receive, with what an error says about it."""

    def __init__(self, job, what, peer):
        self.job, self.what, self.peer = job, what, peer

    def work(self):
        return self.job.work()


class Groups:
    """The groups of this process by their names, which are unique among live groups."""

    def __init__(self):
        self._by_name = {}
        self._seen = weakref.WeakSet()

    def add(self, name, group):
        earlier = self._by_name.pop(name, None)
        if earlier is not None:
            earlier.close()
        self._by_name[name] = group

    def of(self, process_group):
        """The part for rvk of a torch.distributed.ProcessGroup; ends when that is destroyed."""
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
