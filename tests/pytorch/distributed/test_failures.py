"""If a rank dies or hangs, all others fail within the timeout, with one sentence that names it."""

import os
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, __file__.rpartition("/")[0])
sys.path.insert(0, __file__.rpartition("/distributed")[0])
import processes  # noqa: E402
from support import require_device  # noqa: E402

setUpModule = require_device

TIMEOUT = 30  # seconds; on a busy machine, ranks can be many seconds apart


RESTARTED = """
import os, signal, torch, torch.distributed as dist
torch.rvk.set_device(int(os.environ["LOCAL_RANK"]) % torch.rvk.device_count())
dist.init_process_group()
tensor = torch.ones(1000, device=torch.device("rvk", torch.rvk.current_device()))
dist.all_reduce(tensor)
if os.environ["TORCHELASTIC_RESTART_COUNT"] == "0" and dist.get_rank() == 1:
    os.kill(os.getpid(), signal.SIGKILL)
dist.all_reduce(tensor)
os.write(1, b"%g\\n" % tensor[0].item())  # in one call, so that the lines of two processes cannot mix
dist.destroy_process_group()
"""


class Restart(unittest.TestCase):
    def test_torchrun_restarts_all_after_kill(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "script.py")
            with open(path, "w", encoding="utf-8") as file:
                file.write(RESTARTED)
            options = "--standalone --local-addr 127.0.0.1 --nproc-per-node 2 --max-restarts 1"
            launcher = ["-m", "torch.distributed.run", *options.split(), path]
            result = subprocess.run(
                [sys.executable, *launcher], capture_output=True, text=True, timeout=processes.SECONDS, check=False
            )
        self.assertEqual((result.returncode, result.stdout), (0, "4\n4\n"), result.stderr)


class Failures(unittest.TestCase):
    def errors(self, name, *arguments, size=3, timeout=TIMEOUT):
        """Returns the errors of the surviving ranks."""
        environment = {"TEST_TIMEOUT": str(timeout)}
        results = processes.run("failure_cases", name, size, *arguments, environment=environment, check=False)
        return [result for rank, result in enumerate(results) if rank != 1 and result is not None]

    def check_names_rank_1(self, errors, within, text):
        self.assertTrue(errors)
        for kind, message, seconds in errors:
            self.assertEqual(kind, "DistBackendError")
            self.assertIn("ank 1 " + text, message)
            self.assertEqual(len(message.strip().splitlines()), 1, message)
            self.assertLess(seconds, within)

    def test_killed(self):
        errors = self.errors("killed", False, timeout=200)
        self.check_names_rank_1(errors, 60, "ended or closed its connection")

    def test_killed_between_hosts(self):
        errors = self.errors("killed", True, timeout=200)
        self.check_names_rank_1(errors, 60, "ended or closed its connection")

    def test_hung(self):
        text = f"did not join all_reduce of 1000 float32 elements (sum) within {TIMEOUT} s"
        self.check_names_rank_1(self.errors("hung", False), 2 * TIMEOUT, text)

    def test_hung_between_hosts(self):
        self.check_names_rank_1(self.errors("hung", True), 2 * TIMEOUT, "did not join")

    def test_absent(self):
        self.check_names_rank_1(self.errors("absent"), 2 * TIMEOUT, "did not join the group's first operation")

    def test_killed_in_backward(self):
        errors = self.errors("killed_in_backward", timeout=200)
        self.check_names_rank_1(errors, 60, "ended or closed its connection")

    def test_killed_sender(self):
        errors = self.errors("killed_sender", timeout=200)
        self.check_names_rank_1(errors, 60, "ended or closed its connection")

    def test_different_operations(self):
        for _, message, _ in self.errors("different_operations", timeout=200):
            self.assertIn("The ranks call different operations: rank", message)
            self.assertIn("all_reduce of 1000 float32 elements (sum)", message)
            self.assertIn("broadcast of 1000 float32 elements from rank 0", message)

    def test_a_group_with_another_backend_says_which_it_needs(self):
        for kind, message, _ in self.errors("wrong_backend", timeout=200):
            self.assertEqual(kind, "RuntimeError")
            self.assertIn("create it with the backend", message)


if __name__ == "__main__":
    unittest.main()
