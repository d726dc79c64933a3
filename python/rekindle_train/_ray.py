"""Runs the trials of a search on a Ray cluster. Imported only when search() is called with ``ray``."""

from __future__ import annotations

import json
import pickle
from collections import deque
from typing import Any, Callable, Deque, Dict, List, Optional, Tuple

import ray

from . import _core
from ._bars import Bars
from ._errors import RekindleError, UsageError
from ._progress import Listener, _logger

#: The number, rung and epochs of a trial.
Trial = Tuple[int, int, int]

#: The search fails after the same trials have ended this many workers.
_MOST_DEATHS = 3
#: Longest wait for a trial in seconds. Between waits, Python handles signals.
_SIGNALS = 0.2


class Worker:
    """Runs trials in a process of the cluster. Reads the bars with the first trials, which report any error in reading."""

    def __init__(self, bars: bytes, description: str, threads: int, device: str) -> None:
        self._given = (bars, description, threads, device)
        self._worker: Optional[_core.TrialWorker] = None

    def run(self, trials: List[Trial]) -> List[Dict[str, Any]]:
        """The finished trials."""
        if self._worker is None:
            bars, description, threads, device = self._given
            self._worker = _core.trial_worker(pickle.loads(bars)._core, description, threads, device, Listener(False))
        return self._worker.run(trials, Listener(False))


class _Place:
    """Where a worker runs: the resources that it reserves, and its host if it is tied to one."""

    def __init__(self, cpus: float, gpus: float, node: Optional[str] = None) -> None:
        self.threads = max(1, int(cpus))
        self.options: Dict[str, Any] = {"num_cpus": min(cpus, self.threads), "num_gpus": int(gpus) if gpus > 1 else gpus}
        if node:
            from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

            self.options["scheduling_strategy"] = NodeAffinitySchedulingStrategy(node_id=node, soft=False)


def _places(workers: Optional[int]) -> List[_Place]:
    """One place for each host with CPUs or, if ``workers`` is given, that many places of equal size."""
    nodes = [(node["NodeID"], node["Resources"]) for node in ray.nodes() if node["Alive"] and node["Resources"].get("CPU", 0) > 0]
    if not nodes:
        raise RekindleError("the Ray cluster has no CPU to run trials on")
    if workers is None:
        return [_Place(resources["CPU"], resources.get("GPU", 0), node) for node, resources in nodes]
    cpus, gpus = (sum(resources.get(kind, 0) for _, resources in nodes) for kind in ("CPU", "GPU"))
    if workers > cpus:
        raise UsageError(f"the Ray cluster has only {cpus:g} CPUs", "ray_workers", f"at most {cpus:g}")
    return [_Place(cpus // workers, gpus / workers) for _ in range(workers)]


class Cluster:
    """The workers of one search. A context manager that ends them."""

    def __init__(self, address: str, workers: Optional[int], bars: Bars) -> None:
        self._bars = bars
        self._own = not ray.is_initialized()
        if self._own:
            try:
                ray.init(address=address, log_to_driver=False, logging_level="warning")
            except ConnectionError as error:
                raise RekindleError(
                    f"no Ray cluster was found at {address!r}", hint="ray start --head starts one; ray='local' uses this machine."
                ) from error
        self._places = _places(workers)
        self._free = deque(self._places)
        self._pickled: Any = None
        self._workers: Dict[Any, _Place] = {}

    def __enter__(self) -> "Cluster":
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self._workers:
            ray.kill(worker)
        if self._own:
            ray.shutdown()

    def _start(self, place: _Place, description: str) -> Any:
        config = json.loads(description)["config"]
        threads = config["threads"] or place.threads
        worker = ray.remote(Worker).options(**place.options).remote(self._pickled, description, threads, config["device"])
        self._workers[worker] = place
        return worker

    def run(self, description: str, trials: List[Trial], finished: Callable[[List[Dict[str, Any]]], bool]) -> None:
        """Hands the trials to the workers in groups, and calls ``finished`` with the results of each group."""
        if self._pickled is None:
            self._pickled = ray.put(pickle.dumps(self._bars))
        waiting = deque(_groups(trials, len(self._places), max(place.threads for place in self._places)))
        idle: Deque[Any] = deque(self._workers)
        running: Dict[Any, Tuple[Any, List[Trial]]] = {}
        deaths: Dict[Trial, int] = {}
        while waiting or running:
            while waiting and (idle or self._free):
                worker = idle.popleft() if idle else self._start(self._free.popleft(), description)
                group = waiting.popleft()
                running[worker.run.remote(group)] = (worker, group)
            done, _ = ray.wait(list(running), num_returns=1, timeout=_SIGNALS)
            for reference in done:
                worker, group = running.pop(reference)
                try:
                    results = ray.get(reference)
                except ray.exceptions.RayActorError as error:
                    waiting.appendleft(group)
                    self._free.append(self._workers.pop(worker))
                    _count_death(deaths, group, error)
                    continue
                except ray.exceptions.RayTaskError as error:
                    raise error.cause from None
                idle.append(worker)
                if not finished(results):
                    return


def _groups(trials: List[Trial], workers: int, threads: int) -> List[List[Trial]]:
    """Groups large enough to keep a worker's threads busy, and small enough that all workers finish at about the same time."""
    share = -(-len(trials) // workers)
    size = max(1, min(share, max(threads, share // 8)))
    return [trials[begin : begin + size] for begin in range(0, len(trials), size)]


def _count_death(deaths: Dict[Trial, int], group: List[Trial], error: Exception) -> None:
    deaths[group[0]] = deaths.get(group[0], 0) + 1
    if deaths[group[0]] == _MOST_DEATHS:
        raise RekindleError(
            f"trial {group[0][0] + 1} and those after it ended {_MOST_DEATHS} workers",
            expected="workers that survive them",
            hint=str(error).splitlines()[0],
        ) from error
    _logger.warning("A worker ended; another one runs its %d unfinished trials again.", len(group))
