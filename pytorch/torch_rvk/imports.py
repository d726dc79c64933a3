"""Changes modules right after they are imported, for packages that are slow to import or may not be installed."""

import sys


class _Finder:
    """Comes first on sys.meta_path, but lets the other finders find the module."""

    def __init__(self):
        self.changes = {}

    def find_spec(self, name, path=None, target=None):
        change = self.changes.pop(name, None)
        if change is None:
            return None
        spec = None
        for finder in sys.meta_path:
            if finder is not self and hasattr(finder, "find_spec"):
                spec = finder.find_spec(name, path, target)
                if spec is not None:
                    break
        if spec is None or spec.loader is None:
            self.changes[name] = change  # not installed, or not yet
            return None
        execute = spec.loader.exec_module

        def execute_and_change(module):
            execute(module)
            change(module)

        spec.loader.exec_module = execute_and_change
        return spec


_finder = _Finder()


def when_imported(name, change):
    """Calls change(module) once, after the module's own code has run; immediately if it has already been imported."""
    if name in sys.modules:
        change(sys.modules[name])
        return
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)
    earlier = _finder.changes.get(name)

    def both(module):
        earlier(module)
        change(module)

    _finder.changes[name] = both if earlier else change
