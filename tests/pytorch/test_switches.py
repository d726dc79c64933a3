"""Environment variables that turn something on or off mean the same in Python and in C++ (tests/foundation/environment_test.cpp)."""

import os
import subprocess
import sys
import unittest
from unittest import mock

from torch_rvk.switches import is_on, switched_on

from support import DEVICE, child_environment

NAME = "REKINDLE_TEST_SWITCH"


class Switches(unittest.TestCase):
    def test_values(self):
        for text in ("", "0", "off", "OFF", "Off", "false", "False", "no", "NO"):
            self.assertFalse(is_on(text), text)
        for text in ("1", "on", "true", "yes", "2", "00", " 0", "none", "offf", "n", "debug"):
            self.assertTrue(is_on(text), text)

    def test_default(self):
        with mock.patch.dict(os.environ):
            os.environ.pop(NAME, None)
            self.assertFalse(switched_on(NAME))
            self.assertTrue(switched_on(NAME, unless_set=True))
            os.environ[NAME] = ""
            self.assertTrue(switched_on(NAME, unless_set=True))
            os.environ[NAME] = "off"
            self.assertFalse(switched_on(NAME, unless_set=True))


@unittest.skipUnless(DEVICE == "rvk", "the variables are those of the device rvk")
class SwitchesOfTheDevice(unittest.TestCase):
    def log_of(self, **variables: str) -> str:
        """What a fallback to the CPU prints."""
        script = "import torch, torch_rvk; torch.linalg.eig(torch.rand(3, 3).to('rvk'))"
        ran = subprocess.run([sys.executable, "-c", script], env=child_environment(**variables), capture_output=True, text=True)
        self.assertEqual(0, ran.returncode, ran.stderr[-2000:])
        return ran.stderr

    def test_the_log(self):
        for text in ("", "0", "off", "false", "no"):
            self.assertNotIn("runs on the CPU", self.log_of(REKINDLE_LOG=text, REKINDLE_STRICT=""), text)
        for text in ("1", "on", "yes"):
            self.assertIn("runs on the CPU", self.log_of(REKINDLE_LOG=text, REKINDLE_STRICT=""), text)

    def test_strict(self):
        script = "import torch, torch_rvk; torch.linalg.eig(torch.rand(3, 3).to('rvk'))"
        for text, fails in (("", False), ("off", False), ("1", True), ("yes", True)):
            ran = subprocess.run([sys.executable, "-c", script], env=child_environment(REKINDLE_STRICT=text), capture_output=True,
                                 text=True)
            self.assertEqual(fails, ran.returncode != 0, ran.stderr[-2000:])


if __name__ == "__main__":
    unittest.main()
