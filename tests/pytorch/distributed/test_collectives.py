"""Every collective in every dtype, between processes that share a device, as on one host and as on several."""

import os
import socket
import sys
import unittest

import torch
import torch.distributed as dist

sys.path.insert(0, __file__.rpartition("/")[0])
sys.path.insert(0, __file__.rpartition("/distributed")[0])
import collective_cases  # noqa: E402
import processes  # noqa: E402
from support import DEVICE, require_device  # noqa: E402

setUpModule = require_device
SECONDS_OF_A_HANG = 3600


class WithoutCommunication(unittest.TestCase):
    """PyTorch's process group fake, which lets one process try a program for four."""

    def setUp(self):
        from torch.testing._internal.distributed.fake_pg import FakeStore

        dist.init_process_group("fake", store=FakeStore(), rank=1, world_size=4)
        self.addCleanup(dist.destroy_process_group)

    def test_each_rank_gets_what_it_gives(self):
        """As with CPU tensors in PyTorch 2.13; earlier versions leave some outputs as they are."""
        eight = torch.arange(8.0, device=DEVICE)
        pairs = list(eight.chunk(4))

        def into(count, size, collective, *arguments, **keywords):
            outputs = [torch.full((size,), -1.0, device=DEVICE) for _ in range(count)]
            collective(outputs if count > 1 else outputs[0], *arguments, **keywords)
            return [output.tolist() for output in outputs]

        all_eight, own = eight.tolist(), [2.0, 3.0]
        for collective in dist.all_reduce, lambda tensor: dist.broadcast(tensor, 0), lambda tensor: dist.reduce(tensor, 0):
            tensor = eight.clone()
            collective(tensor)
            self.assertEqual(tensor.tolist(), all_eight)
        self.assertEqual(into(1, 32, dist.all_gather_into_tensor, eight), [all_eight * 4])
        self.assertEqual(into(4, 8, dist.all_gather, eight), [all_eight] * 4)
        self.assertEqual(into(1, 2, dist.reduce_scatter_tensor, eight), [own])
        self.assertEqual(into(1, 2, dist.reduce_scatter, pairs), [own])
        self.assertEqual(into(1, 8, dist.all_to_all_single, eight), [all_eight])
        self.assertEqual(into(4, 2, dist.all_to_all, pairs), [pair.tolist() for pair in pairs])
        self.assertEqual(into(1, 2, dist.scatter, pairs, src=1), [own])
        self.assertEqual(into(4, 8, lambda outputs: dist.gather(eight, outputs, dst=1)), [all_eight] * 4)
        self.assertEqual(into(1, 2, dist.recv, 2), [[-1.0, -1.0]])
        dist.send(eight, 0)
        dist.barrier()

    def test_wrong_sizes(self):
        tensor = torch.ones(8, device=DEVICE)
        with self.assertRaisesRegex(ValueError, "the whole tensor has 8 elements instead of 4 × 8"):
            dist.all_gather_into_tensor(tensor, tensor)

    def test_dtensors(self):
        from torch.distributed.tensor import Replicate, Shard, distribute_tensor

        mesh = dist.device_mesh.init_device_mesh("rvk", (4,))
        divided = distribute_tensor(torch.ones(8, 6, device=DEVICE), mesh, [Shard(0)])
        self.assertEqual(divided.to_local().shape, (2, 6))
        self.assertEqual((divided @ divided.T.redistribute(placements=[Replicate()])).to_local().shape, (2, 8))


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
