#!/usr/bin/env python3
"""Compares the doctor's scanner with other programs on real binaries.

    check.py SCANNER FOLDER [--jax]

SCANNER is the program rekindle_doctor_tool of a build. FOLDER keeps the downloads for the next run:
    librocrand1      8 MB, with apt-get: compares the targets of its bundle with clang-offload-bundler
    bitsandbytes     43 MB, with pip: compares compressed bundles of versions 2 and 3 with reference.py, CUDA libraries
                     with the architectures that its build names
    --jax            jax-rocm7-plugin and jax-rocm7-pjrt, hundreds of megabytes, compared with reference.py
The last line is "N passed, N failed, N skipped". Exit status 0: nothing failed; 1: something did; 2: wrong usage.
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
BITSANDBYTES = "bitsandbytes==0.50.2"
JAX = ("jax-rocm7-plugin", "jax-rocm7-pjrt")
counts = {"passed": 0, "failed": 0, "skipped": 0}


def report(result, what, reason=""):
    counts[result] += 1
    print(f"{result}: {what}{': ' + reason if reason else ''}", flush=True)


def output(*command, **options):
    return subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True, **options).stdout


def pip(*arguments):
    return output(sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", *arguments)


def scan(scanner, action, files):
    lines = output(scanner, action, *files).splitlines()
    return [json.loads(line) for line in lines]


def fetch_wheel(folder, requirement):
    """The shared libraries of a wheel, unpacked."""
    target = folder / requirement.split("=")[0]
    if not (target / "unpacked").exists():
        pip("download", "--no-deps", "--only-binary=:all:", "-d", target, requirement)
        wheel = next(target.glob("*.whl"))
        with zipfile.ZipFile(wheel) as archive:
            names = [name for name in archive.namelist() if name.endswith(".so")]
            archive.extractall(target / "part", names)
        (target / "part").rename(target / "unpacked")
    return sorted((target / "unpacked").rglob("*.so"))


def fetch_reference(folder):
    """The environment in which reference.py finds the one package that it needs."""
    packages = folder / "python"
    if not (packages / "zstandard").exists():
        pip("install", "--target", packages, "zstandard")
    return {**os.environ, "PYTHONPATH": str(packages)}


def check_librocrand(scanner, folder):
    bundler = shutil.which("clang-offload-bundler-16") or shutil.which("clang-offload-bundler")
    missing = [name for name in ("apt-get", "dpkg-deb", "objcopy") if not shutil.which(name)]
    missing += [] if bundler else ["clang-offload-bundler-16"]
    if bundler:  # it runs llvm-objcopy, which is in another package
        folders = os.pathsep.join([str(pathlib.Path(bundler).resolve().parent), os.environ["PATH"]])
        missing += [] if shutil.which("llvm-objcopy", path=folders) else ["llvm-objcopy"]
    if missing:
        return report("skipped", "librocrand1", "there is no " + ", no ".join(missing))
    target = folder / "librocrand1"
    if not (target / "unpacked").exists():
        target.mkdir(parents=True, exist_ok=True)
        try:
            output("apt-get", "download", "librocrand1", cwd=target)
        except subprocess.CalledProcessError as error:
            return report("skipped", "librocrand1", error.stderr.strip().splitlines()[-1])
        output("dpkg-deb", "-x", next(target.glob("*.deb")), target / "part")
        (target / "part").rename(target / "unpacked")
    library = next(path for path in (target / "unpacked").rglob("librocrand.so.*") if not path.is_symlink())
    section = target / "fatbin.o"
    output("objcopy", "--dump-section", f".hip_fatbin={section}", library, target / "copy.so")
    listed = output(bundler, "--list", "--type=o", f"--input={section}").split()
    expected = sorted(name.rsplit("--", 1)[1] for name in listed if not name.startswith("host"))
    found = scan(scanner, "scan", [library])[0]
    right = expected and sorted(found["targets"]) == expected and not found["unread"]
    report("passed" if right else "failed",
           f"{library.name}: {len(expected)} targets, clang-offload-bundler names the same",
           "" if right else f"{found} instead of {expected}")


def check_against_reference(scanner, environment, files):
    lines = output(sys.executable, HERE / "reference.py", *files, env=environment).splitlines()
    expected = [json.loads(line) for line in lines]
    whole, quick = scan(scanner, "scan", files), scan(scanner, "scan-quickly", files)
    for reference, slow, fast in zip(expected, whole, quick, strict=True):
        right = all(found["bytes"] == reference["bytes"] and found["targets"] == sorted(reference["bytes"]) and
                    not found["unread"] for found in (slow, fast))
        size = pathlib.Path(reference["path"]).stat().st_size / 2**20
        report("passed" if right else "failed",
               f"{pathlib.Path(reference['path']).name} ({size:.1f} MiB): "
               f"{len(reference['bytes'])} targets and their bytes, "
               f"{1000 * slow['seconds']:.1f} ms, quickly {1000 * fast['seconds']:.2f} ms",
               "" if right else f"{slow} and {fast} instead of {reference}")


# The list build_capability of bitsandbytes' .github/scripts/build-cuda.sh: machine code, and PTX for the newest.
PASCAL_TO_HOPPER, TURING_TO_BLACKWELL = "60 70 75 80 86 89 90", "75 80 86 89 90 100 120"
CUDA = {"cuda118": PASCAL_TO_HOPPER, "cuda121": PASCAL_TO_HOPPER, "cuda124": PASCAL_TO_HOPPER,
        "cuda126": PASCAL_TO_HOPPER, "cuda128": "70 " + TURING_TO_BLACKWELL, "cuda130": TURING_TO_BLACKWELL,
        "cuda132": TURING_TO_BLACKWELL}


def check_cuda(scanner, files):
    for found in scan(scanner, "scan", files):
        name = pathlib.Path(found["path"]).stem.rsplit("_", 1)[1]
        architectures = CUDA[name].split()
        expected = sorted([f"compute_{architectures[-1]}"] + [f"sm_{one}" for one in architectures])
        right = found["targets"] == expected and not found["unread"]
        report("passed" if right else "failed", f"{name}: {len(expected)} CUDA targets",
               "" if right else f"{found} instead of {expected}")


def main(arguments):
    options = [word for word in arguments if word.startswith("-")]
    places = [pathlib.Path(word).resolve() for word in arguments if not word.startswith("-")]
    if len(places) != 2 or set(options) - {"--jax"}:
        print(__doc__, file=sys.stderr)
        return 2
    scanner, folder = places
    folder.mkdir(parents=True, exist_ok=True)
    check_librocrand(scanner, folder)
    environment = fetch_reference(folder)
    libraries = fetch_wheel(folder, BITSANDBYTES)
    check_against_reference(scanner, environment, [path for path in libraries if "rocm" in path.name])
    check_cuda(scanner, [path for path in libraries if "cuda" in path.name])
    if "--jax" in options:
        check_against_reference(scanner, environment, [path for name in JAX for path in fetch_wheel(folder, name)])
    else:
        report("skipped", "jax's ROCm wheels", "large; --jax fetches them")
    print("{passed} passed, {failed} failed, {skipped} skipped".format(**counts))
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
