"""Every collective in every dtype, between processes that share a device, as on one host and as on several."""

import sys
import unittest

sys.path.insert(0, __file__.rpartition("/")[0])
sys.path.insert(0, __file__.rpartition("/distributed")[0])
import collective_cases  # noqa: E402
import processes  # noqa: E402
from support import require_device  # noqa: E402

setUpModule = require_device


class Collectives(unittest.TestCase):
    def check(self, size, as_between_hosts, case=None):
        for total, wrong in processes.run("collective_cases", "run", size, case, as_between_hosts):
            self.assertGreater(total, 0)
            self.assertEqual(wrong, [])

    def test_two_processes(self):
        self.check(2, False)

    def test_three_processes(self):
        self.check(3, False)

    def test_two_processes_as_on_two_hosts(self):
        self.check(2, True)

    def test_three_processes_as_on_three_hosts(self):
        self.check(3, True)


if __name__ == "__main__":
    unittest.main()
