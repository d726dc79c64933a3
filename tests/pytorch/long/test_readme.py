"""The lines of the README train ResNet-18."""

import contextlib
import importlib.util
import io
import pathlib
import re
import unittest

README = pathlib.Path(__file__).resolve().parents[3] / "README.md"


class Readme(unittest.TestCase):
    @unittest.skipUnless(importlib.util.find_spec("transformers"), "needs the package transformers: pip install transformers")
    def test_lines_train(self):
        lines = re.search(r"## Train with PyTorch.*?```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)[1]
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            exec(compile("import torch\ntorch.manual_seed(1)\n" + lines, "README.md", "exec"), {})
        losses = [float(line.split()[1]) for line in said.getvalue().splitlines()]
        self.assertEqual(len(losses), 10)
        self.assertLess(losses[-1], losses[0] / 2)


if __name__ == "__main__":
    unittest.main()
