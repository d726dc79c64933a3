"""Child processes that answer questions. A child that crashes or takes too long is restarted, and the crash or delay is its
answer."""

import dataclasses
import json
import os
import pathlib
import queue
import selectors
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable

from support import DEVICE

FOLDER = pathlib.Path(__file__).resolve().parent
QUESTIONS_PER_PROCESS = 150  # then a new process, so that memory held by one operator does not affect all others
START_LIMIT = 600  # seconds until a child has loaded PyTorch and its list of operators


@dataclasses.dataclass(frozen=True)
class Plan:
    """What the children do; sweep_worker.py has the tasks."""
    task: str
    strict: bool
    samples: int  # of each operator
    jobs: int  # children at a time
    limit: float  # seconds for one operator


class Worker:
    """A child process that answers each line with a line of JSON. Not shared between threads."""

    def __init__(self, command: list[str], environment: dict[str, str], folder: pathlib.Path | None = None,
                 start_limit: float = START_LIMIT):
        self._errors = tempfile.TemporaryFile()
        self._process = subprocess.Popen(command, env=environment, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                         stderr=self._errors, bufsize=0)
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._process.stdout, selectors.EVENT_READ)
        self._buffer = b""
        self._ended = ""
        self.asked = 0
        if self._read_line(start_limit) != "ready":
            raise RuntimeError(f"the child process did not start: {self.close()}")

    def _read_line(self, limit: float) -> str | None:
        """The next line, or None when the process ended or the limit passed."""
        end = time.monotonic() + limit
        while b"\n" not in self._buffer:
            if not self._selector.select(max(0.0, end - time.monotonic())):
                return None
            piece = os.read(self._process.stdout.fileno(), 1 << 16)
            if not piece:
                return None
            self._buffer += piece
        line, self._buffer = self._buffer.split(b"\n", 1)
        return line.decode()

    def ask(self, question: str, limit: float) -> dict | None:
        """The child's answer; None: the process ended or is late, and close() says why."""
        self.asked += 1
        try:
            self._process.stdin.write(f"{question}\n".encode())
        except BrokenPipeError:
            return None
        line = self._read_line(limit)
        return None if line is None else json.loads(line)

    def close(self) -> str:
        """Ends the process; returns how it ended and the last lines of its output. A second call returns the same."""
        self._ended = self._ended or self._end()
        return self._ended

    def _end(self) -> str:
        self._process.stdin.close()
        try:
            status = self._process.wait(timeout=2 if self._process.poll() is None else 0)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
            status = None
        self._selector.close()
        self._process.stdout.close()
        self._errors.seek(0)
        said = " ".join(self._errors.read()[-2000:].decode(errors="replace").split()[-30:])
        self._errors.close()
        if status is None:
            return f"timeout: {said}"
        name = signal.Signals(-status).name if status < 0 else f"status {status}"
        return f"crash: {name}: {said}"


def start_worker(plan: Plan) -> Worker:
    """A child process (sweep_worker.py) that compares operators."""
    environment = dict(os.environ, REKINDLE_STRICT="1" if plan.strict else "0")
    environment.setdefault("REKINDLE_POISON", "1")
    return Worker([sys.executable, str(FOLDER / "sweep_worker.py"), plan.task, DEVICE, str(plan.samples)], environment)


def ask_all(positions: list[int], plan: Plan, said: Callable[[int, dict | str], None] = lambda *_: None) -> dict[int, dict | str]:
    """The answer for each position of op_db, or a string that says how the child ended. `said` is called with each
    answer immediately."""
    waiting: queue.SimpleQueue[int] = queue.SimpleQueue()
    for position in positions:
        waiting.put(position)
    answers: dict[int, dict | str] = {}
    failures: list[BaseException] = []

    def serve() -> None:
        worker = None
        try:
            while not failures:
                try:
                    position = waiting.get_nowait()
                except queue.Empty:
                    break
                if worker is not None and worker.asked == QUESTIONS_PER_PROCESS:
                    worker.close()
                    worker = None
                worker = worker or start_worker(plan)
                answer = worker.ask(str(position), plan.limit)
                if answer is None:
                    answer = worker.close()
                    worker = None
                answers[position] = answer
                said(position, answer)
        except BaseException as error:
            failures.append(error)
        finally:
            if worker is not None:
                worker.close()

    threads = [threading.Thread(target=serve) for _ in range(plan.jobs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
    return answers
