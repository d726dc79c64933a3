"""Error messages of a group: one sentence each, which names the rank that failed if it can be determined."""

import contextlib
import time

_GRACE = 2.0  # seconds that the other ranks have to sign in


class PeerFailed(Exception):
    """A peer died, hung, or called another operation. The message is one sentence."""


def counted(count, noun):
    """The number and the noun that agrees with it: "1 element", "2 elements"."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def seconds(duration):
    return f"{duration:g} s"


def is_gone(rank, what):
    return f"Rank {rank} ended or closed its connection while the other ranks of the group were in {what}."


def is_late(ranks, what, timeout):
    who = f"Rank {ranks[0]}" if len(ranks) == 1 else f"Ranks {', '.join(map(str, ranks))}"
    return (
        f"{who} did not join {what} within {seconds(timeout)}; if the work before it takes longer, pass a longer timeout "
        "to init_process_group."
    )


class Roll:
    """Determines, through the group's store, which ranks are still alive after an operation has failed."""

    def __init__(self, store, rank, size):
        self._store, self._rank, self._size = store, rank, size

    def absent(self, number):
        """Signs in under the number of the failed operation. Returns the ranks that do not sign in within the grace period, or
        None if the store is gone."""
        try:
            self._store.set(f"waits/{number}/{self._rank}", "1")
            end = time.monotonic() + _GRACE
            missing = set(range(self._size)) - {self._rank}
            while missing and time.monotonic() < end:
                missing -= {rank for rank in missing if self._store.check([f"waits/{number}/{rank}"])}
                time.sleep(0.05)
            return sorted(missing)
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
        return is_gone(", ".join(map(str, absent)), what)
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
