"""Runs programs under python -m torch_rvk.run."""

import json
import os
import subprocess
import sys
import tempfile

SECONDS = 900  # a hang fails the test; the machine may be busy


def environment_for_run():
    """The environment without the device lists of CUDA and ROCm. On a machine with CUDA, the tests run with an empty list, so
    that PyTorch does not use CUDA; torch_rvk.run would take the same list and hide every rvk device."""
    return {name: value for name, value in os.environ.items()
            if not name.endswith("_VISIBLE_DEVICES") or name == "REKINDLE_VISIBLE_DEVICES"}


def run(*arguments, env=None, **options):
    command = [sys.executable, "-m", "torch_rvk.run", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False,
                          env=env or environment_for_run(), **options)


def run_text(text):
    """Runs a script with this text."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "script.py")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return run(path), path


def run_statements(statements, before=""):
    """Runs each statement in one mapped process, after the code `before`; returns how each ended ("done",
    "SystemExit 3") and the lines of standard error."""
    text = f"import json, torch\n{before}\noutcomes = {{}}\n"
    for number, (name, statement) in enumerate(statements.items()):
        body = "".join(f"    {line}\n" for line in statement.splitlines())
        text += f"def f{number}():\n{body}"
        text += f"try:\n    f{number}()\n    outcomes[{name!r}] = 'done'\n"
        text += f"except BaseException as e:\n    outcomes[{name!r}] = f'{{type(e).__name__}} {{e}}'\n"
    result, _ = run_text(text + "print(json.dumps(outcomes))\n")
    if result.returncode != 0:
        raise AssertionError(result.stderr)
    return json.loads(result.stdout.splitlines()[-1]), result.stderr.splitlines()


def check_each_is_done(test, statements, before=""):
    """Fails the test, with a subtest for each, if a statement raises an error in a mapped process."""
    outcomes, _ = run_statements(statements, before)
    for name in statements:
        with test.subTest(name):
            test.assertEqual(outcomes[name], "done")
