"""Makes the device rvk known to training frameworks that choose their device by name.

Each module registers the device where its framework has a place for that, after the script has imported the framework;
none of them imports one itself. docs/frameworks.md has a recipe for each framework.
"""

from . import lightning, transformers, ultralytics


def install():
    for part in (lightning, transformers, ultralytics):
        part.install()
