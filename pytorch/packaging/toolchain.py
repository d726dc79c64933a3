"""The tools that the build needs besides PyTorch, and the command that installs each missing one."""

import os
import re
import shutil
import subprocess
import sys

CMAKE = (3, 22)
GXX = 12


class ToolMissing(Exception):
    """One sentence for each missing item."""


def _output(*command):
    try:
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout
    except OSError:
        return ""


def _cmake_problem():
    version = re.search(r"version (\d+)\.(\d+)", _output("cmake", "--version"))
    if version is None:
        return "CMake is missing: apt install cmake"
    if tuple(map(int, version.groups())) < CMAKE:
        return f"CMake {version[1]}.{version[2]} is older than 3.22: pip install cmake, in the build environment"
    return None


def compiler():
    """A C++ compiler that is new enough and the matching C compiler; None if there is none."""
    if os.environ.get("CXX"):
        return os.environ["CXX"], os.environ.get("CC", "cc")
    for suffix in ("", "-14", "-13", "-12"):
        major = re.match(r"\d+", _output(f"g++{suffix}", "-dumpversion"))
        if major and int(major[0]) >= GXX:
            return f"g++{suffix}", f"gcc{suffix}"
    return None


def generator():
    """CMake's arguments for Ninja, otherwise for make; None if there is neither."""
    if shutil.which("ninja"):
        return ["-G", "Ninja"]
    if shutil.which("make"):
        return ["-G", "Unix Makefiles"]
    return None


def _header_problem(compiler_name, header, package, what):
    """The problem, if the compiler does not find the header."""
    probe = subprocess.run(
        [compiler_name, "-E", "-x", "c++", "-"],
        input=f"#if !__has_include(<{header}>)\n#error missing\n#endif\n",
        capture_output=True,
        text=True,
        check=False,
    )
    return None if probe.returncode == 0 else f"{what.format(header)} missing: apt install {package}"


HEADERS = (
    ("vulkan/vulkan_core.h", "libvulkan-dev", "The Vulkan headers ({}) are"),
    ("volk.c", "libvulkan-volk-dev", "volk's source ({}) is"),
    ("nlohmann/json.hpp", "nlohmann-json3-dev", "The nlohmann-json header ({}) is"),
)


def check():
    """Raises ToolMissing, which names everything that is missing."""
    problems = [_cmake_problem()]
    if generator() is None:
        problems.append("Neither Ninja nor make was found: apt install ninja-build")
    found = compiler()
    if found is None:
        problems.append("No g++ 12 or newer was found: apt install g++-12")
    else:
        problems += [_header_problem(found[0], *header) for header in HEADERS]
    problems = [problem for problem in problems if problem]
    if problems:
        raise ToolMissing("\n".join(problems))


def _pinned_slang(repository):
    """The version, the wheel and its hash, which scripts/lib/slang.sh pins for all builds."""
    with open(os.path.join(repository, "scripts", "lib", "slang.sh"), encoding="utf-8") as file:
        text = file.read()

    def value(name):
        return re.search(rf"^readonly {name}='?([^'\n]+)'?$", text, re.MULTILINE)[1]

    return value("SLANG_VERSION"), value("SLANG_WHEEL"), value("SLANG_WHEEL_SHA256")


def _is_version(slangc, version):
    result = subprocess.run([slangc, "-v"], capture_output=True, text=True, check=False)
    return version == (result.stdout + result.stderr).strip()


def _fetch_slang(repository, folder):
    version, wheel, digest = _pinned_slang(repository)
    part = folder + ".part"
    shutil.rmtree(part, ignore_errors=True)
    os.makedirs(part)
    requirements = os.path.join(part, "requirements.txt")
    with open(requirements, "w", encoding="utf-8") as file:
        file.write(f"{wheel} --hash=sha256:{digest}\n")
    print(f"torch-rvk: fetching the Slang compiler {version} ({wheel}, 15 MB) into build/tools/slang", flush=True)
    # -E: pip's build isolation sets PYTHONPATH, under which pip itself would not be found.
    download = [sys.executable, "-E", "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:"]
    result = subprocess.run([*download, "--require-hashes", "-r", requirements, "-d", part], check=False)
    wheels = [name for name in os.listdir(part) if name.endswith(".whl")]
    if result.returncode != 0 or not wheels:
        raise ToolMissing(
            f"The Slang compiler is missing and pip could not fetch {wheel}: run ./scripts/set-up once, or set "
            f"REKINDLE_SLANGC to a slangc {version}"
        )
    shutil.unpack_archive(os.path.join(part, wheels[0]), part, "zip")
    os.chmod(os.path.join(part, "slangtorch", "bin", "slangc"), 0o755)
    os.remove(os.path.join(part, wheels[0]))
    shutil.rmtree(folder, ignore_errors=True)
    os.rename(part, folder)


def slang_arguments(repository):
    """CMake's arguments for the kernels: compiled SPIR-V, the named compiler, or the pinned one, fetched if needed."""
    if os.environ.get("REKINDLE_SPIRV_DIR"):
        return [f"-DREKINDLE_SPIRV_DIR={os.environ['REKINDLE_SPIRV_DIR']}"]
    named = os.environ.get("REKINDLE_SLANGC")
    if named:
        if not os.access(named, os.X_OK):
            raise ToolMissing(f"REKINDLE_SLANGC={named} is not a program: unset it to fetch the right one")
        return [f"-DREKINDLE_SLANGC={named}"]
    folder = os.path.join(repository, "build", "tools", "slang")
    slangc = os.path.join(folder, "slangtorch", "bin", "slangc")
    if not os.access(slangc, os.X_OK) or not _is_version(slangc, _pinned_slang(repository)[0]):
        _fetch_slang(repository, folder)
    return [f"-DREKINDLE_SLANGC={slangc}"]
