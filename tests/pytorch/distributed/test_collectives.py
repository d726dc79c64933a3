"""Every collective in every dtype, between processes that share a device, as on one host and as on several."""

import os
import socket
import sys
import unittest

sys.path.insert(0, __file__.rpartition("/")[0])
sys.path.insert(0, __file__.rpartition("/distributed")[0])
import collective_cases  # noqa: E402
import processes  # noqa: E402
from support import require_device  # noqa: E402

setUpModule = require_device
SECONDS_OF_A_HANG = 3600


class Collectives(unittest.TestCase):
    def check(self, size, as_between_hosts, case=None, environment=None):
        results = processes.run("collective_cases", "run", size, case, as_between_hosts, environment=environment)
        for total, wrong in results:
            self.assertGreater(total, 0)
            self.assertEqual(wrong, [])

    def test_two_processes(self):
        self.check(2, False)

    def test_one_process(self):
        for case in "all_reduce", "broadcast_together", "all_to_all":
            self.check(1, False, case)

    def test_three_processes(self):
        self.check(3, False)

    def test_every_way_to_use_shared_memory(self):
        for way in "imported", "copied", "staged":
            with self.subTest(way=way):
                self.check_way(way)

    def check_way(self, way):
        try:
            self.check(3, False, "in_pieces", {"REKINDLE_SHARED_MEMORY": way})
            self.check(2, False, "dependent", {"REKINDLE_SHARED_MEMORY": way})
        except processes.Failed as problem:
            if "it can be staged." not in str(problem):
                raise
            self.assertNotEqual(way, "staged")
            self.skipTest("the driver does not import the memory of the processes")

    def test_sender_may_end_first(self):
        self.assertEqual(processes.run("collective_cases", "sender_ends_first", 2), [True, True])

    def test_sender_does_not_wait_for_receivers_that_have_ended(self):
        from torch_rvk.distributed.segments import Outbox

        listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        listener.bind(f"\0rvk test {os.getpid()}")
        listener.listen(1)
        outbox = Outbox(listener)
        segment = outbox.take()
        outbox.close(SECONDS_OF_A_HANG, [f"rvk test {os.getpid()}, of another process"])
        self.assertTrue(segment.in_use)

    def test_unknown_way(self):
        results = processes.run("collective_cases", "sum_of_one", 2, environment={"REKINDLE_SHARED_MEMORY": "quick"})
        for message in results:
            self.assertRegex(message, "REKINDLE_SHARED_MEMORY is 'quick'; on rvk:\\d it can be (copied, imported, )?staged")

    def test_two_processes_as_on_two_hosts(self):
        self.check(2, True)

    def test_three_processes_as_on_three_hosts(self):
        self.check(3, True)


if __name__ == "__main__":
    unittest.main()
