"""Processes and threads: autoload, fork, DataLoader workers, several threads, the end of the process."""

import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import textwrap
import unittest

SECONDS = 600  # only a hang takes this long
EXITS = 8


def python(text, *arguments, **environment):
    """Runs the lines in a fresh interpreter."""
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(text), *arguments],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
        env={**os.environ, "TORCH_DEVICE_BACKEND_AUTOLOAD": "1", **environment},  # 1: even if PyTorch has CUDA
    )


class ProcessTest(unittest.TestCase):
    def succeeds(self, text, **environment):
        result = python(text, **environment)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        return result

    def succeeds_as_file(self, text):
        """For programs with processes that are spawned, which import their parent's file."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "program.py")
            with open(path, "w", encoding="utf-8") as file:
                file.write(textwrap.dedent(text))
            result = subprocess.run([sys.executable, path], capture_output=True, text=True, timeout=SECONDS, check=False)
            self.assertEqual(result.returncode, 0, result.stderr)


class Autoload(ProcessTest):
    def test_import_torch_is_enough(self):
        self.succeeds("import torch; assert torch.ones(3, device='rvk').sum().item() == 3")

    def test_importing_opens_no_device(self):
        self.succeeds("import torch; assert not torch.rvk.is_initialized(); torch.rvk.is_available(); "
                      "torch.manual_seed(1); assert not torch.rvk.is_initialized()")

    def test_can_be_turned_off(self):
        self.succeeds(
            """
            import sys, torch
            assert not hasattr(torch, "rvk") and "torch_rvk" not in sys.modules
            import torch_rvk
            assert torch.ones(2, device="rvk").device.type == "rvk"
            """,
            TORCH_DEVICE_BACKEND_AUTOLOAD="0",
        )

    def test_package_may_be_imported_first(self):
        self.succeeds("import torch_rvk, torch; assert torch.rvk.is_available()")

    def test_does_not_register_if_pytorch_has_cuda(self):
        """Unless it is requested by name: `import torch_rvk`."""
        result = self.succeeds(
            """
            import torch
            torch.version.cuda = "13.0"
            torch.cuda.device_count = lambda: 2
            torch.__spec__._initializing = True  # as at the end of `import torch`
            torch._import_device_backends()
            torch.__spec__._initializing = False
            assert not hasattr(torch, "rvk")
            import torch_rvk
            assert torch_rvk.registration.is_registered() and torch.ones(2, device="rvk").sum().item() == 2
            """,
            TORCH_DEVICE_BACKEND_AUTOLOAD="0",
        )
        self.assertIn("can use CUDA (2 devices)", result.stderr)

    def test_does_not_register_if_the_slot_is_taken(self):
        result = self.succeeds(
            """
            import torch
            torch.utils.rename_privateuse1_backend("other")
            import torch_rvk
            assert not torch_rvk.registration.is_registered() and not hasattr(torch, "rvk")
            """,
            TORCH_DEVICE_BACKEND_AUTOLOAD="0",
        )
        self.assertIn("'other' has taken it", result.stderr)

    def test_does_not_register_without_its_library(self):
        import torch_rvk

        with tempfile.TemporaryDirectory() as folder:
            source = pathlib.Path(torch_rvk.__file__).parent
            for module in source.rglob("*.py"):
                copy = pathlib.Path(folder, "torch_rvk", module.relative_to(source))
                copy.parent.mkdir(parents=True, exist_ok=True)
                copy.symlink_to(module.resolve())
            result = self.succeeds(
                "import torch_rvk, torch; print(torch.ones(2)); assert not hasattr(torch, 'rvk')", PYTHONPATH=folder
            )
            self.assertIn("pip install .", result.stderr)


class Fork(ProcessTest):
    def test_workers_of_a_data_loader(self):
        """Forked workers make CPU tensors while the parent uses the device."""
        self.succeeds(
            """
            import torch
            from torch.utils.data import DataLoader, TensorDataset
            torch.manual_seed(1)
            weight = torch.ones(4, device="rvk")
            data = TensorDataset(torch.arange(32.0).view(8, 4))
            total = 0.0
            for (rows,) in DataLoader(data, batch_size=2, num_workers=2, multiprocessing_context="fork", pin_memory=True):
                total += (rows.to("rvk", non_blocking=True) * weight).sum().item()
            assert total == 496, total
            """
        )

    def test_child_of_a_process_that_uses_the_device_gets_an_error(self):
        self.succeeds(
            """
            import os, torch
            torch.ones(2, device="rvk").sum().item()
            child = os.fork()
            if child == 0:
                try:
                    torch.ones(2, device="rvk").sum().item()
                except RuntimeError as error:
                    os._exit(0 if "spawn" in str(error) else 3)
                os._exit(4)
            _, status = os.waitpid(child, 0)
            assert os.waitstatus_to_exitcode(status) == 0, status
            assert torch.ones(2, device="rvk").sum().item() == 2
            """
        )

    def test_child_may_be_the_first(self):
        """Nothing before the fork looked for devices."""
        self.succeeds(
            """
            import os, torch
            child = os.fork()
            if child == 0:
                os._exit(0 if torch.ones(2, device="rvk").sum().item() == 2 else 3)
            _, status = os.waitpid(child, 0)
            assert os.waitstatus_to_exitcode(status) == 0, status
            """
        )

    def test_parent_may_seed_first(self):
        """Seeding and is_initialized() do not enumerate the devices, so the child can use them, and it inherits the seed."""
        self.succeeds(
            """
            import os, torch
            torch.manual_seed(5)
            assert not torch.rvk.is_initialized()
            child = os.fork()
            if child == 0:
                numbers = torch.rand(8, device="rvk").tolist()
                torch.manual_seed(5)
                os._exit(0 if numbers == torch.rand(8, device="rvk").tolist() and torch.rvk.is_initialized() else 3)
            _, status = os.waitpid(child, 0)
            assert os.waitstatus_to_exitcode(status) == 0, status
            """
        )

    def test_child_saves_pipelines(self):
        with tempfile.TemporaryDirectory() as folder:
            self.succeeds(
                """
                import multiprocessing, torch
                def work():
                    torch.ones(2, device="rvk").sum().item()
                child = multiprocessing.get_context("fork").Process(target=work)
                child.start()
                child.join()
                assert child.exitcode == 0 and not torch.rvk.is_initialized()
                """,
                REKINDLE_CACHE_DIR=folder,
            )
            self.assertTrue(list(pathlib.Path(folder, "pipelines").glob("*.bin")))

    def test_child_of_a_process_that_uses_the_device_is_not_initialized(self):
        self.succeeds(
            """
            import os, torch
            torch.ones(2, device="rvk").sum().item()
            assert torch.rvk.is_initialized()
            child = os.fork()
            if child == 0:
                torch.manual_seed(5)
                os._exit(torch.rvk.is_initialized())
            _, status = os.waitpid(child, 0)
            assert os.waitstatus_to_exitcode(status) == 0, status
            """
        )

    def test_spawned_child_uses_the_device(self):
        self.succeeds_as_file(
            """
            import torch, torch.multiprocessing as mp
            def work(rank, result):
                result.put(torch.full((4,), rank + 1.0, device="rvk").sum().item())
            if __name__ == "__main__":
                torch.ones(1, device="rvk").item()
                result = mp.get_context("spawn").SimpleQueue()
                mp.spawn(work, (result,), nprocs=2)
                assert sorted([result.get(), result.get()]) == [4.0, 8.0]
            """
        )

    def test_tensors_are_sent_to_and_from_spawned_processes(self):
        """As an argument, through a queue in both directions, and through a pipe: nothing hangs."""
        self.succeeds_as_file(
            """
            import torch, torch.multiprocessing as mp
            def work(argument, questions, answers, pipe):
                first, layer = questions.get()
                answers.put((first * 2, argument.sum().item(), layer.weight.requires_grad))
                pipe.send(argument.detach() + 1)
            if __name__ == "__main__":
                context = mp.get_context("spawn")
                questions, answers, (here, there) = context.Queue(), context.Queue(), context.Pipe()
                argument = torch.nn.Parameter(torch.ones(3, device="rvk"))
                child = context.Process(target=work, args=(argument, questions, answers, there))
                child.start()
                there.close()  # so that recv ends if the child died
                questions.put((torch.arange(4.0, device="rvk"), torch.nn.Linear(2, 2).to("rvk")))
                doubled, total, needs = answers.get()
                assert doubled.device == torch.device("rvk:0") and doubled.tolist() == [0, 2, 4, 6], doubled
                assert (total, needs) == (3.0, True)
                assert here.recv().tolist() == [2, 2, 2]
                child.join()
                assert child.exitcode == 0
            """
        )


class Threads(ProcessTest):
    def test_each_thread_computes_its_own(self):
        self.succeeds(
            """
            import threading, torch
            wrong = []
            def work(number):
                stream = torch.rvk.Stream() if number % 2 else torch.rvk.default_stream()
                with torch.rvk.stream(stream):
                    for step in range(30):
                        x = torch.full((257,), float(number + step), device="rvk")
                        if (x * 2 + 1).sum().item() != 257 * (2 * (number + step) + 1):
                            wrong.append((number, step))
            threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
            [t.start() for t in threads]; [t.join() for t in threads]
            assert not wrong, wrong
            """
        )

    def test_backward_in_several_threads(self):
        self.succeeds(
            """
            import threading, torch
            results = {}
            def work(number):
                x = torch.ones(64, device="rvk", requires_grad=True)
                (x * number).sum().backward()
                results[number] = x.grad.sum().item()
            threads = [threading.Thread(target=work, args=(n,)) for n in range(1, 5)]
            [t.start() for t in threads]; [t.join() for t in threads]
            assert results == {n: 64.0 * n for n in range(1, 5)}, results
            """
        )


class Exit(ProcessTest):
    def test_backward_as_the_last_statement(self):
        """PyTorch's own thread must not still run when the interpreter exits."""
        for _ in range(EXITS):
            self.succeeds("import torch; (torch.ones(9, device='rvk', requires_grad=True) * 2).sum().backward()")

    def test_work_is_still_queued(self):
        for _ in range(2):
            self.succeeds("import torch; x = torch.ones(1 << 16, device='rvk')\nfor _ in range(50): x = x * 1.5")

    def test_exception_keeps_its_status(self):
        result = python("import torch; x = torch.ones(9, device='rvk'); raise SystemExit(5)")
        self.assertEqual(result.returncode, 5, result.stderr)

    def test_daemon_thread_is_running(self):
        """No hang and no crash. CPython up to 3.13 ends such a thread by unwinding its stack, to which PyTorch's frames
        respond with abort(), also for tensors on the CPU: if that happens there, it may happen here."""
        lines = """
            import sys, threading, time, torch
            def work():
                while True:
                    torch.ones(64, device=sys.argv[1]).mul(2)
            torch.ones(1, device=sys.argv[1]).item()
            threading.Thread(target=work, daemon=True).start()
            time.sleep(0.2)
            """
        on_cpu = {python(lines, "cpu").returncode for _ in range(3)}
        self.assertLessEqual(on_cpu, {0, -signal.SIGABRT})
        for _ in range(3):
            result = python(lines, "rvk")
            self.assertIn(result.returncode, on_cpu | {0}, result.stderr)
            if result.returncode:
                self.assertEqual(result.stderr.splitlines()[-1], "terminate called without an active exception")


if __name__ == "__main__":
    unittest.main()
