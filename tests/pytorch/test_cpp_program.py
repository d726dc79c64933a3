"""A C++ program with libtorch trains on rvk without Python; the file that it saves loads here."""

import os
import subprocess
import tempfile
import unittest

import torch
import torch_rvk

# Set by the build; in a build tree it is at a fixed place next to the package.
PROGRAM = os.environ.get("RVK_CPP_PROGRAM") or os.path.join(
    os.path.dirname(os.path.dirname(os.path.dirname(torch_rvk.__file__))), "pytorch", "cpp_test", "torch_rvk_cpp_test"
)
SECONDS = 600


class CppProgram(unittest.TestCase):
    def setUp(self):
        if not os.path.exists(PROGRAM):
            self.skipTest(f"{PROGRAM} is not built (cmake --build build/pytorch --target torch_rvk_cpp_test)")

    def test_trains_and_saves(self):
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "parameters.pt")
            result = subprocess.run([PROGRAM, file], capture_output=True, text=True, timeout=SECONDS, check=False)
            self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
            # PyTorch's C++ archive: a module whose parameters are the saved tensors.
            saved = torch.jit.load(file, map_location="cpu")
            shapes = [tuple(parameter.shape) for _, parameter in saved.named_parameters()]
        self.assertIn((32, 8), shapes)

    def test_needs_no_python(self):
        libraries = subprocess.run(["ldd", PROGRAM], capture_output=True, text=True, timeout=SECONDS, check=True).stdout
        self.assertIn("libtorch_rvk.so", libraries)
        self.assertNotIn("libpython", libraries)
        self.assertNotIn("libtorch_python", libraries)


if __name__ == "__main__":
    unittest.main()
