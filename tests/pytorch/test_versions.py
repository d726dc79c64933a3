"""Which of the package's libraries is loaded for a version of PyTorch, tested with fake folders and version numbers."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import textwrap
import unittest

import torch

from support import DEVICE, require_device

require_device(cpu=False)

from torch_rvk import library, trial  # noqa: E402
from torch_rvk.versions import NEWEST, OLDEST, in_words, minor_version  # noqa: E402

PACKAGING = pathlib.Path(__file__).resolve().parents[2] / "pytorch" / "packaging"
NEWER = (NEWEST[0], NEWEST[1] + 1)
SECONDS = 600


def never(candidates):
    raise AssertionError(f"{candidates} were tried without need")


class Choice(unittest.TestCase):
    def test_versions_are_read_from_the_folders(self):
        with tempfile.TemporaryDirectory() as package:
            for folder in ("torch2.11", "torch2.9", "torch2.13", "torch2.14", "torch2", "torchX.Y", "from_cuda"):
                os.mkdir(os.path.join(package, folder))
                if folder != "torch2.14":  # a folder without its library
                    pathlib.Path(package, folder, "libtorch_rvk.so").touch()
            self.assertEqual(library.built_for(package), [(2, 9), (2, 11), (2, 13)])
            self.assertTrue(library.path_of(package, (2, 13)).endswith("/torch2.13/libtorch_rvk.so"))

    def test_the_exact_minor_version_is_chosen_silently(self):
        for version in ("2.12.0", "2.12.1+cu130", "2.12.0a0+git1234"):
            self.assertEqual(library.choose([(2, 11), (2, 12), (2, 13)], version, never), ((2, 12), None))

    def test_otherwise_the_newest_that_works_with_a_warning(self):
        tried = []

        def try_newest(candidates):
            tried.extend(candidates)
            return trial.Result((2, 12))

        version, warning = library.choose([(2, 11), (2, 12), (2, 13)], f"{in_words(NEWER)}.0", try_newest)
        self.assertEqual((version, tried), ((2, 12), [(2, 13), (2, 12), (2, 11)]))
        self.assertIn("has libraries for PyTorch 2.11, 2.12 and 2.13", warning)
        self.assertIn(f"this is {in_words(NEWER)}.0: the library for 2.12 passed a short check with it", warning)
        self.assertIn("look for a newer release of torch-rvk", warning)

    def test_a_missing_older_version_says_how_to_build_it(self):
        _, warning = library.choose([(2, 13)], "2.12.1", lambda candidates: trial.Result(candidates[0]))
        self.assertIn("has libraries for PyTorch 2.13, but this is 2.12.1", warning)
        self.assertIn("pip install --force-reinstall --no-deps /path/to/rekindle", warning)

    def test_a_library_for_an_untested_version_is_tried_alone(self):
        tried = []

        def try_newest(candidates):
            tried.extend(candidates)
            return trial.Result(candidates[0])

        version, warning = library.choose([NEWEST, NEWER], f"{in_words(NEWER)}.1", try_newest)
        self.assertEqual((version, tried), (NEWER, [NEWER]))
        self.assertIn("passed only its own short check", warning)

    def test_one_sentence_if_none_works(self):
        with self.assertRaises(library.LibraryNotUsable) as caught:
            library.choose([(2, 13)], f"{in_words(NEWER)}.0", lambda candidates: trial.Result(reason="none of them loads into it"))
        self.assertIn(f"but this is {in_words(NEWER)}.0, and none of them loads into it; look for a newer release", str(caught.exception))

    def test_too_old(self):
        with self.assertRaisesRegex(library.LibraryNotUsable, r"needs PyTorch 2\.11 or newer, but this is 2\.9\.1"):
            library.choose([(2, 11)], "2.9.1", never)

    def test_the_tested_versions_are_in_order(self):
        self.assertLess(OLDEST, NEWEST)
        self.assertEqual(minor_version("2.13.0+cpu"), (2, 13))


class Building(unittest.TestCase):
    """The build's messages about an installed PyTorch (pytorch/packaging/torch_location.py)."""

    def check(self, version):
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "version.py").write_text(f"__version__ = '{version}'\n", encoding="utf-8")
            return subprocess.run(
                [sys.executable, PACKAGING / "torch_location.py"], env=dict(os.environ, REKINDLE_TORCH=folder),
                capture_output=True, text=True, timeout=SECONDS, check=False,
            )  # fmt: skip

    def test_every_tested_version_is_accepted(self):
        for minor in range(OLDEST[1], NEWEST[1] + 1):
            result = self.check(f"{OLDEST[0]}.{minor}.0+cpu")
            self.assertEqual((result.returncode, result.stderr), (0, ""))

    def test_a_newer_version_is_accepted_with_a_warning(self):
        result = self.check(f"{in_words(NEWER)}.0")
        self.assertEqual(result.returncode, 0)
        self.assertRegex(result.stderr, rf"^warning: torch-rvk is tested with PyTorch 2\.11 to .*, not with {in_words(NEWER)}\.0\n$")

    def test_an_older_version_is_refused(self):
        result = self.check("2.10.0")
        self.assertEqual(result.returncode, 1)
        self.assertIn("needs PyTorch 2.11 or newer", result.stderr)


class Trial(unittest.TestCase):
    """Imports the package into this PyTorch, which claims to be another version; the child process is real."""

    def setUp(self):
        if DEVICE != "rvk":
            self.skipTest("tests the package torch_rvk, not another device")
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.cache = folder.name

    def run_with(self, version, before="", after="", **environment):
        lines = f"""
            import sys, torch
            torch.__version__ = "{version}"
            {before}
            import torch_rvk
            {after}
            """
        return subprocess.run(
            [sys.executable, "-c", textwrap.dedent(lines)], capture_output=True, text=True, timeout=SECONDS, check=False,
            env={**os.environ, "TORCH_DEVICE_BACKEND_AUTOLOAD": "0", "REKINDLE_CACHE_DIR": self.cache, **environment},
        )  # fmt: skip

    def kept(self):
        return [json.loads(file.read_text()) for file in pathlib.Path(self.cache, "torch-trials").glob("*")]

    def test_a_library_that_works_is_used_and_remembered(self):
        works = "assert torch.ones(2, device='rvk').sum().item() == 2"
        result = self.run_with(f"{in_words(NEWER)}.0", after=works)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn(f"this is {in_words(NEWER)}.0: the library for", result.stderr)
        self.assertEqual([entry["reason"] for entry in self.kept()], [""])
        # Uses the stored result: there is no interpreter for a child process.
        result = self.run_with(f"{in_words(NEWER)}.0", before="sys.executable = '/nowhere'", after=works)
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_nothing_is_registered_if_the_check_fails_and_it_is_tried_again(self):
        result = self.run_with(
            f"{in_words(NEWER)}.0", after="assert not hasattr(torch, 'rvk')", VK_DRIVER_FILES="/none", VK_ICD_FILENAMES="/none"
        )
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("failed its check with it (", result.stderr)
        self.assertEqual(self.kept(), [])

    def test_a_crash_of_the_child_is_a_warning(self):
        program = pathlib.Path(self.cache, "python")
        program.write_text("#!/bin/sh\nkill -SEGV $$\n", encoding="utf-8")
        program.chmod(0o755)
        result = self.run_with(
            f"{in_words(NEWER)}.0", before=f"sys.executable = '{program}'", after="assert not hasattr(torch, 'rvk')"
        )
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("crashed when it was tried (SIGSEGV)", result.stderr)

    def test_no_interpreter_for_the_child(self):
        result = self.run_with(
            f"{in_words(NEWER)}.0", before="sys.executable = '/nowhere'", after="assert not hasattr(torch, 'rvk')"
        )
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("could not be tried", result.stderr)

    def test_too_old(self):
        result = self.run_with("2.3.1", after="assert not hasattr(torch, 'rvk')")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("needs PyTorch 2.11 or newer, but this is 2.3.1", result.stderr)


if __name__ == "__main__":
    unittest.main()
