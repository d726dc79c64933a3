"""Writes the release's wheels from what was built before: scripts/build-wheels.

    python3 release_wheels.py torch FOLDER 2.11=STAGING 2.12=STAGING …
    python3 release_wheels.py program FOLDER STAGE

`torch` writes torch_rvk for each version of PyTorch and one for all of them; a STAGING is what
`cmake --install --component pytorch --prefix STAGING` installed. `program` writes rekindle_train with the program and the
licenses in STAGE, the folder that scripts/package packed. Prints the path of each wheel.
"""

import os
import sys

import wheel_contents
import wheel_file


def write_torch_wheels(folder, stagings):
    """stagings: minor version of PyTorch to folder. The wheel for all versions comes last."""
    for minor, staging in stagings.items():
        yield wheel_contents.for_one_version(minor).write_wheel(folder, [staging], wheel_file.RELEASE)
    yield wheel_contents.for_all_versions().write_wheel(folder, list(stagings.values()), wheel_file.RELEASE)


def write_program_wheel(folder, stage):
    """The program as a script, which pip puts into the environment's bin folder; it needs no Python."""
    version = wheel_contents.read("VERSION").strip()
    name = "rekindle_train"
    with wheel_file.WheelFile(folder, name, version, wheel_file.RELEASE) as wheel:
        wheel.add_file(f"{name}-{version}.data/scripts/rekindle", os.path.join(stage, "rekindle"), 0o755)
        licenses = os.path.join(stage, "third-party-licenses")
        wheel.add_metadata(
            {
                "METADATA": f"Metadata-Version: 2.1\nName: rekindle-train\nVersion: {version}\n"
                "Summary: Trains neural networks on market bars on any GPU with a Vulkan driver; a doctor for GPU training\n"
                "License: MIT\nRequires-Python: >=3.10\n"
                f"Description-Content-Type: text/markdown\n\n{wheel_contents.read('README.md')}",
                "licenses/LICENSE": wheel_contents.read("LICENSE"),
                **{
                    f"licenses/third-party/{file}": wheel_contents.read(os.path.join(licenses, file))
                    for file in sorted(os.listdir(licenses))
                },
            }
        )
    return wheel.file_name


def main(arguments):
    kind, folder, *rest = arguments or [None, None]
    if kind == "torch" and rest:
        names = list(write_torch_wheels(folder, dict(item.split("=", 1) for item in rest)))
    elif kind == "program" and len(rest) == 1:
        names = [write_program_wheel(folder, rest[0])]
    else:
        sys.exit(__doc__)
    for name in names:
        print(os.path.join(folder, name))


if __name__ == "__main__":
    main(sys.argv[1:])
