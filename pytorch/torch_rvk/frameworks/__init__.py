"""Makes the device rvk known to training frameworks that choose their device by name.

Each module registers the device with its framework after the script has imported that framework; none of them imports a
framework itself. docs/frameworks.md has a recipe for each framework.
"""

from . import lightning, transformers, ultralytics


def install():
    for part in (lightning, transformers, ultralytics):
        part.install()
