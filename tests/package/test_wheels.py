"""The wheels that pytorch/packaging writes, with small files in place of the libraries: python test_wheels.py"""

import ast
import email
import os
import pathlib
import sys
import tempfile
import unittest
import zipfile

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path[:0] = [str(REPOSITORY / "pytorch" / "packaging"), os.path.dirname(os.path.abspath(__file__))]

import check_wheels  # noqa: E402
import release_wheels  # noqa: E402
import wheel_contents  # noqa: E402

VERSION = wheel_contents.read("VERSION").strip()
TAG = "py3-none-manylinux_2_35_x86_64"


class Wheels(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def staging(self, minor):
        """What an installation of the device for this version of PyTorch has."""
        package = self.folder / minor / "torch_rvk"
        (package / f"torch{minor}").mkdir(parents=True)
        (package / f"torch{minor}" / "libtorch_rvk.so").write_bytes(f"library {minor}".encode())
        return str(self.folder / minor)

    def write(self, stagings, folder="dist"):
        out = self.folder / folder
        out.mkdir()
        return [out / name for name in release_wheels.write_torch_wheels(str(out), stagings)]

    def metadata(self, path):
        with zipfile.ZipFile(path) as wheel:
            name = next(name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
            return email.message_from_bytes(wheel.read(name))

    def test_one_wheel_for_each_version_and_one_for_all(self):
        paths = self.write({"2.11": self.staging("2.11"), "2.15": self.staging("2.15")})
        names = [f"torch_rvk-{VERSION}{local}-{TAG}.whl" for local in ("+torch2.11", "+torch2.15", "")]
        self.assertEqual([path.name for path in paths], names)
        self.assertEqual([self.metadata(path)["Requires-Dist"] for path in paths], ["torch==2.11.*", "torch==2.15.*", "torch>=2.11"])
        with zipfile.ZipFile(paths[-1]) as wheel:
            libraries = {name: wheel.read(name) for name in wheel.namelist() if name.endswith(".so")}
            modules = [name for name in wheel.namelist() if name.endswith("torch_rvk/from_cuda/__init__.py")]
        self.assertEqual(libraries, {
            "torch_rvk/torch2.11/libtorch_rvk.so": b"library 2.11",
            "torch_rvk/torch2.15/libtorch_rvk.so": b"library 2.15",
        })  # fmt: skip
        self.assertEqual(len(modules), 1)
        for path in paths:
            problems = check_wheels.problems(str(path))
            # auditwheel rejects these files, which are not libraries, and may not be installed here.
            self.assertEqual([check for check, problem in problems.items() if problem and not check.startswith("the tag")], [])

    def test_the_modules_need_no_newer_python_than_the_metadata_says(self):
        oldest = wheel_contents.for_all_versions().metadata()["METADATA"].split("Requires-Python: >=3.")[1].split("\n")[0]
        modules = sorted((REPOSITORY / "pytorch" / "torch_rvk").rglob("*.py"))
        self.assertGreater(len(modules), 20)
        for module in modules:
            ast.parse(module.read_text(encoding="utf-8"), str(module), feature_version=(3, int(oldest)))

    def test_the_same_files_make_the_same_bytes(self):
        stagings = {"2.13": self.staging("2.13")}
        first, second = self.write(stagings, "first"), self.write(stagings, "second")
        self.assertEqual([path.read_bytes() for path in first], [path.read_bytes() for path in second])

    def test_the_program_is_a_script_beside_the_module(self):
        stage = self.folder / "stage"
        (stage / "third-party-licenses").mkdir(parents=True)
        (stage / "rekindle").write_bytes(b"program")
        (stage / "third-party-licenses" / "zlib1g-dev.txt").write_text("license of zlib", encoding="utf-8")
        for module, python in (("cpython-311-x86_64-linux-gnu", "cp311-cp311"), ("abi3", "cp312-abi3")):
            (self.folder / f"_core.{module}.so").write_bytes(b"module")
            path = self.folder / release_wheels.write_program_wheel(str(self.folder), str(stage), str(self.folder / f"_core.{module}.so"))
            self.assertEqual(path.name, f"rekindle_train-{VERSION}-{TAG}.whl".replace("py3-none", python))
            self.assertIsNone(check_wheels.problems(str(path))["nothing depends on another version of Python"])
        self.assertEqual(self.metadata(path)["Name"], "rekindle-train")
        with zipfile.ZipFile(path) as wheel:
            script = wheel.getinfo(f"rekindle_train-{VERSION}.data/scripts/rekindle")
            self.assertIn("rekindle_train/__init__.py", wheel.namelist())
            self.assertIn("rekindle_train/py.typed", wheel.namelist())
            self.assertEqual((wheel.read(script), script.external_attr >> 16 & 0o777), (b"program", 0o755))
            self.assertIn(f"rekindle_train-{VERSION}.dist-info/licenses/third-party/zlib1g-dev.txt", wheel.namelist())

    def test_the_checks_find_what_is_wrong(self):
        path = self.folder / f"torch_rvk-1-{TAG}.whl"
        with zipfile.ZipFile(path, "w") as wheel:
            wheel.writestr("torch_rvk/libtorch_cpu.so", "torch")
            wheel.writestr("torch_rvk/module.cpython-311-x86_64-linux-gnu.so", f"{REPOSITORY}/pytorch/src")
            wheel.writestr("torch_rvk-1.dist-info/RECORD", "torch_rvk/libtorch_cpu.so,,\n")
        problems = check_wheels.problems(str(path))
        self.assertIn("libtorch_cpu.so", problems["nothing of PyTorch, Python or a driver is in it"])
        self.assertIn("cpython-311", problems["nothing depends on another version of Python"])
        self.assertIn("module.cpython", problems["no path of the build machine"])
        self.assertIn("the names differ", problems["the list of contents"])
        self.assertEqual(check_wheels.glibc_of("manylinux_2_36_x86_64"), (2, 36))
        self.assertIsNone(check_wheels.glibc_of("linux_x86_64"))


if __name__ == "__main__":
    unittest.main()
