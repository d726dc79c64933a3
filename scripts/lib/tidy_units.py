"""Prints what clang-tidy has to read so that it sees the given sources: a batch of a unity build, or the source itself
where no batch contains it, each once.

Usage: tidy_units.py COMPILE_COMMANDS SOURCE… (paths relative to the working folder)
"""

import json
import pathlib
import re
import sys


def sources_of(unit: pathlib.Path) -> list[pathlib.Path]:
    """The sources that a batch includes, or the unit itself."""
    if unit.parent.name != "Unity":
        return [unit]
    return [pathlib.Path(name).resolve() for name in re.findall(r'^#include "(.+)"$', unit.read_text(), re.MULTILINE)]


def main() -> None:
    commands, *names = sys.argv[1:]
    requested = {pathlib.Path(name).resolve() for name in names}
    units = {}
    for command in json.loads(pathlib.Path(commands).read_text()):
        unit = (pathlib.Path(command["directory"]) / command["file"]).resolve()
        read = requested.intersection(sources_of(unit))
        if read and unit not in units:
            units[unit] = read
    for source in sorted(requested.difference(*units.values())):
        print(f"{source} is in no build, so clang-tidy cannot read it", file=sys.stderr)
    print("\n".join(map(str, units)))
    sys.exit(bool(requested.difference(*units.values())))


if __name__ == "__main__":
    main()
