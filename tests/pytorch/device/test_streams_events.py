"""Streams and events with CUDA's meaning."""

import math
import threading
import time
import unittest

import torch

from support import DEVICE, device_module


class Streams(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.module = device_module()

    def test_default_stream_is_the_current_one(self):
        self.assertEqual(self.module.current_stream(), self.module.default_stream())

    def test_a_stream_is_current_in_its_context_only(self):
        stream = torch.Stream(device=DEVICE)
        with self.module.stream(stream):
            self.assertEqual(self.module.current_stream(), stream)
            values = torch.ones(100, device=DEVICE) * 3
        self.assertEqual(self.module.current_stream(), self.module.default_stream())
        stream.synchronize()
        self.assertTrue(stream.query())
        self.assertEqual(values.cpu().sum().item(), 300)

    def test_streams_wait_for_each_other(self):
        producer, consumer = torch.Stream(device=DEVICE), torch.Stream(device=DEVICE)
        for round_number in range(10):
            with self.module.stream(producer):
                values = torch.full((1 << 16,), float(round_number), device=DEVICE)
                for _ in range(10):
                    values = values + 1
            consumer.wait_stream(producer)
            with self.module.stream(consumer):
                doubled = values * 2
            values.record_stream(consumer)
            consumer.synchronize()
            host = doubled.cpu()
            self.assertEqual(host.min().item(), 2 * (round_number + 10))
            self.assertEqual(host.max().item(), 2 * (round_number + 10))

    def test_recorded_memory_is_not_reused_too_early(self):
        other = torch.Stream(device=DEVICE)
        results = []
        for round_number in range(20):
            values = torch.full((1 << 14,), float(round_number), device=DEVICE)
            other.wait_stream(self.module.current_stream())
            with self.module.stream(other):
                total = values.clone()
                for _ in range(8):
                    total = total + values
            values.record_stream(other)
            del values
            torch.full((1 << 14,), -1.0, device=DEVICE)
            results.append((round_number, total))
        self.module.synchronize()
        for round_number, total in results:
            self.assertEqual(total.cpu().unique().tolist(), [9 * round_number])

    def test_each_thread_has_its_own_current_stream(self):
        stream = torch.Stream(device=DEVICE)
        seen = []
        with self.module.stream(stream):
            thread = threading.Thread(target=lambda: seen.append(self.module.current_stream()))
            thread.start()
            thread.join()
        self.assertEqual(seen, [self.module.default_stream()])

    def test_own_streams_are_not_shared(self):
        device = torch.device(DEVICE, 0)
        from_pool = {torch.Stream(device=device).stream_id for _ in range(40)}
        for copies, limit in (False, 256), (True, 512):
            owners = [torch.classes.rvk.OwnStream(device, copies) for _ in range(limit)]
            own = {owner.stream().stream_id for owner in owners}
            self.assertEqual(len(own), limit)
            self.assertFalse(own & from_pool)
            with self.assertRaisesRegex(RuntimeError, f"no stream left for another process group: all {limit} are in use"):
                torch.classes.rvk.OwnStream(device, copies)
            freed = owners.pop(3).stream().stream_id
            self.assertEqual(torch.classes.rvk.OwnStream(device, copies).stream().stream_id, freed)

    def test_backward_runs_on_the_stream_of_forward(self):
        stream = torch.Stream(device=DEVICE)
        values = torch.arange(8, dtype=torch.float32).to(DEVICE).requires_grad_()
        stream.wait_stream(self.module.current_stream())
        with self.module.stream(stream):
            loss = (values * values).sum()
        loss.backward()
        self.module.synchronize()
        self.assertEqual(values.grad.cpu().tolist(), [2.0 * i for i in range(8)])


class Events(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.module = device_module()

    def test_times_keep_the_order_of_the_events(self):
        events = [torch.Event(device=DEVICE, enable_timing=True) for _ in range(6)]
        values = torch.ones(1 << 18, device=DEVICE)
        for event in events:
            event.record()
            values = values + 1
        self.module.synchronize()
        for outer in range(len(events)):
            for inner in range(outer, len(events)):
                self.assertGreaterEqual(events[outer].elapsed_time(events[inner]), 0)
        # An interval is as long as its parts together, however long they took.
        parts = [begin.elapsed_time(end) for begin, end in zip(events, events[1:])]
        whole = events[0].elapsed_time(events[-1])
        self.assertTrue(math.isclose(sum(parts), whole, rel_tol=1e-3, abs_tol=1e-3), (parts, whole))

    def test_query_and_synchronize(self):
        event = torch.Event(device=DEVICE)
        values = torch.ones(1 << 16, device=DEVICE) + 1
        event.record()
        event.synchronize()
        self.assertTrue(event.query())
        self.assertEqual(values[0].item(), 2)

    def test_asking_until_the_work_is_done(self):
        for recorded in (lambda: torch.accelerator.current_stream().record_event(), torch.accelerator.current_stream):
            values = torch.ones(1 << 10, device=DEVICE) + 1
            asked = recorded()
            self.assertTrue(any(asked.query() or time.sleep(0.001) for _ in range(60_000)))
            self.assertEqual(values[0].item(), 2)

    def test_a_stream_waits_for_an_event(self):
        stream = torch.Stream(device=DEVICE)
        values = torch.zeros(1 << 16, device=DEVICE)
        for _ in range(20):
            values = values + 1
        event = torch.Event(device=DEVICE)
        event.record()
        event.wait(stream)
        with self.module.stream(stream):
            copy = values.clone()
        stream.synchronize()
        self.assertEqual(copy.cpu().unique().tolist(), [20])

    def test_time_needs_timing(self):
        begin, end = torch.Event(device=DEVICE), torch.Event(device=DEVICE)
        begin.record()
        end.record()
        self.module.synchronize()
        with self.assertRaises((RuntimeError, ValueError)):
            begin.elapsed_time(end)


if __name__ == "__main__":
    unittest.main(verbosity=2)
