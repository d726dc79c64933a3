"""Error messages of a group: one sentence each, which names the rank that failed if it can be determined."""

import contextlib
import time

import torch

_GRACE = 5.0  # seconds that the other ranks have to sign in; on a busy host, two were too few


class PeerFailed(Exception):
    """A peer died, hung, or called another operation. The message is one sentence."""


def counted(count, noun):
    """The number and the noun that agrees with it: "1 element", "2 elements"."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def is_gone(ranks, what):
    return torch.ops.rvk.ranks_are_gone(ranks, what)


def is_late(ranks, what, timeout):
    return torch.ops.rvk.ranks_are_late(ranks, what, timeout)


class Roll:
    """Determines, through the group's store, which ranks are still alive after an operation has failed."""

    def __init__(self, store, rank, size, name_of):
        self._store, self._rank, self._size, self._name_of = store, rank, size, name_of

    def absent(self, number):
        """Signs in under the number of the failed operation. Returns the names of the ranks that do not sign in within the
        grace period, or None if the store is gone."""
        try:
            self._store.set(f"waits/{number}/{self._rank}", "1")
            end = time.monotonic() + _GRACE
            missing = set(range(self._size)) - {self._rank}
            while missing and time.monotonic() < end:
                missing -= {rank for rank in missing if self._store.check([f"waits/{number}/{rank}"])}
                time.sleep(0.05)
            return [self._name_of(rank) for rank in sorted(missing)]
        except Exception:  # the process that served the store has ended
            return None


def sentence(problem, roll, what, number, timeout):
    """Returns the sentence for an exception of Gloo, whose own message names no rank."""
    text = str(problem).strip().split("\n")[0]
    absent = roll.absent(number)
    if absent is None:
        return f"The process with the group's store, usually rank 0 or the launcher, ended during {what} ({text})."
    if absent and "timed out" in text.lower():
        return is_late(absent, what, timeout)
    if absent:
        return is_gone(absent, what)
    return f"{what} failed on every rank: {text}"


@contextlib.contextmanager
def described(roll, what, number, timeout):
    """Turns exceptions of Gloo into PeerFailed."""
    try:
        yield
    except PeerFailed:
        raise
    except RuntimeError as problem:
        raise PeerFailed(sentence(problem, roll, what, number, timeout)) from problem
