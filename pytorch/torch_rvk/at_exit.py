"""Functions that run when the process ends."""

import atexit
import multiprocessing.util


def at_end(function):
    """Calls the function when this process ends, and when a child of it ends that multiprocessing has forked, which does not
    run the functions of atexit."""
    atexit.register(function)
    multiprocessing.util.register_after_fork(
        function, lambda function: multiprocessing.util.Finalize(None, function, exitpriority=0)
    )
