"""Writes the release's wheels from the files that scripts/build-wheels built.

    python3 release_wheels.py torch FOLDER 2.11=STAGING 2.12=STAGING …
    python3 release_wheels.py program FOLDER STAGE MODULE…

`torch` writes torch_rvk for each version of PyTorch and one for all of them; a STAGING is what
`cmake --install --component pytorch --prefix STAGING` installed. `program` writes rekindle_train once for each MODULE, an
extension module named like _core.cpython-311-x86_64-linux-gnu.so or _core.abi3.so, with the program and the licenses in STAGE,
the folder that scripts/package packed. Prints each wheel's path.
"""

import os
import re
import sys

import wheel_contents
import wheel_file


def write_torch_wheels(folder, stagings):
    """stagings: minor version of PyTorch to folder. The wheel for all versions comes last."""
    for minor, staging in stagings.items():
        yield wheel_contents.for_one_version(minor).write_wheel(folder, [staging], wheel_file.RELEASE)
    yield wheel_contents.for_all_versions().write_wheel(folder, list(stagings.values()), wheel_file.RELEASE)


MODULE_PACKAGE = os.path.join("python", "rekindle_train")
OLDEST_STABLE = "cp312"  # the first Python whose stable interface the module can use


def tag_of_module(module):
    """cp311-cp311-manylinux_2_35_x86_64; cp312-abi3-… for the module that works from Python 3.12 on."""
    version = re.match(r"_core\.cpython-(\d+)-", os.path.basename(module))
    python = f"cp{version[1]}-cp{version[1]}" if version else f"{OLDEST_STABLE}-abi3"
    return wheel_file.RELEASE.replace("py3-none", python)


def write_program_wheel(folder, stage, module):
    """The Python package, and the program as a script, which pip puts into the environment's bin folder."""
    version = wheel_contents.read("VERSION").strip()
    name = "rekindle_train"
    package = os.path.join(wheel_contents.REPOSITORY, MODULE_PACKAGE)
    with wheel_file.WheelFile(folder, name, version, tag_of_module(module)) as wheel:
        for file in sorted(os.listdir(package)):
            if file.endswith((".py", ".pyi", ".typed")):
                wheel.add_file(f"{name}/{file}", os.path.join(package, file))
        wheel.add_file(f"{name}/{os.path.basename(module)}", module, 0o755)
        wheel.add_file(f"{name}-{version}.data/scripts/rekindle", os.path.join(stage, "rekindle"), 0o755)
        licenses = os.path.join(stage, "third-party-licenses")
        wheel.add_metadata(
            {
                "METADATA": f"Metadata-Version: 2.1\nName: rekindle-train\nVersion: {version}\n"
                "Summary: Trains neural networks on market bars on any GPU with a Vulkan driver; a doctor for GPU training\n"
                "License: MIT\nRequires-Python: >=3.10\nProvides-Extra: numpy\nRequires-Dist: numpy; extra == \"numpy\"\n"
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
    elif kind == "program" and len(rest) > 1:
        names = [write_program_wheel(folder, rest[0], module) for module in rest[1:]]
    else:
        sys.exit(__doc__)
    for name in names:
        print(os.path.join(folder, name))


if __name__ == "__main__":
    main(sys.argv[1:])
