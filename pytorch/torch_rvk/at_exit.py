"""Functions that run when the process ends."""

import atexit
import multiprocessing.util


def at_exit(function):
    """Calls the function when this process ends. Children that multiprocessing forks call it, too: they do not run the functions
    that are registered with atexit."""
    atexit.register(function)
    multiprocessing.util.register_after_fork(
        function, lambda function: multiprocessing.util.Finalize(None, function, exitpriority=0)
    )
