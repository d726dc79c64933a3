"""Whole networks on the device compared with the CPU: one step, 20 steps in float32, 12 or 20 under autocast.

Also features that use networks: the network of `rekindle train`, networks from the package transformers, checkpointing,
torch.func and torch.compile. The sizes are small, but on a CPU driver everything takes minutes.
"""

import dataclasses
import os
import pathlib
import subprocess
import tempfile
import unittest

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

import training
from model_cases import CASES, images, rows, seeded_network
from models import futures
from support import DEVICE

FOLDER = pathlib.Path(__file__).resolve().parent.parent


class Models(unittest.TestCase):
    """test_NAME_step, test_NAME_training and test_NAME_autocast for every case."""


training.add_tests(Models, DEVICE, steps=CASES, trainings=CASES,
                   autocasts={name: case for name, case in CASES.items() if case.autocast})


class FuturesFiles(unittest.TestCase):
    """The .pt file from a run folder of `rekindle train` loads on the device, predicts and continues training."""

    def check(self, path: pathlib.Path) -> None:
        network, file = futures.load(path, DEVICE)
        self.assertEqual(torch.device(DEVICE).type, next(network.parameters()).device.type)
        reference, reference_file = futures.load(path, "cpu")
        features, targets = rows(32, file["architecture"]["input_dim"])
        expected = reference(features)
        torch.testing.assert_close(network(features.to(DEVICE)).cpu(), expected, rtol=1e-5, atol=1e-6)

        for model, data, device in ((network, file, DEVICE), (reference, reference_file, "cpu")):
            optimizer = torch.optim.AdamW(model.parameters())
            optimizer.load_state_dict(data["optimizer_state_dict"])
            nn.functional.mse_loss(model(features.to(device)), targets.to(device)).backward()
            optimizer.step()
        for (name, mine), theirs in zip(network.named_parameters(), reference.parameters(), strict=True):
            torch.testing.assert_close(mine.detach().cpu(), theirs.detach(), rtol=1e-5, atol=1e-6, msg=lambda m: f"{name}: {m}")

    def test_committed_file(self):
        self.check(FOLDER / "data" / "futures.pt")

    @unittest.skipUnless(os.environ.get("REKINDLE_PROGRAM"), "REKINDLE_PROGRAM does not name the rekindle program")
    def test_file_written_now(self):
        program = os.environ["REKINDLE_PROGRAM"]
        with tempfile.TemporaryDirectory() as folder:
            bars, output = os.path.join(folder, "bars.csv"), os.path.join(folder, "runs")
            subprocess.run([program, "simulate", "--bars", "150000", "--output", bars, "-q"], check=True)
            subprocess.run([program, "train", "--data", bars, "--output", output, "--epochs", "2", "-q"], check=True)
            self.check(next(pathlib.Path(output).glob("*/best_model.pt")))


class Transformers(unittest.TestCase):
    """Networks of the PyPI package transformers with random weights."""

    @classmethod
    def setUpClass(cls):
        try:
            import transformers
        except ImportError as error:
            raise unittest.SkipTest(f"the package transformers is not installed ({error}): pip install transformers")
        cls.package = transformers

    def compare(self, make_network, make_batch, rate: float) -> None:
        case = training.TrainingCase(make_network, make_batch, lambda outputs, targets: nn.functional.cross_entropy(
            outputs.flatten(0, -2), targets.flatten()), lambda parameters: torch.optim.AdamW(parameters, rate))
        training.compare_step(case, DEVICE)
        training.compare_training(case, DEVICE)
        training.compare_training(case, DEVICE, torch.bfloat16)

    def test_vit(self):
        configuration = self.package.ViTConfig(
            hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64, image_size=32, patch_size=8,
            num_labels=5, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)

        class Logits(nn.Module):
            def __init__(self, network):
                super().__init__()
                self.network = network

            def forward(self, pictures):
                return self.network(pictures).logits

        self.compare(lambda: Logits(self.package.ViTForImageClassification(configuration)), lambda: images(8, 32, 5), 3e-3)

    def test_gpt2(self):
        configuration = self.package.GPT2Config(
            vocab_size=40, n_positions=16, n_embd=32, n_layer=2, n_head=4, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0)

        class Logits(nn.Module):
            def __init__(self, network):
                super().__init__()
                self.network = network

            def forward(self, tokens):
                return self.network(tokens, use_cache=False).logits

        def batch():
            tokens = torch.randint(40, (4, 16), generator=torch.Generator().manual_seed(9))
            return tokens, tokens.roll(-1, 1)

        self.compare(lambda: Logits(self.package.GPT2LMHeadModel(configuration)), batch, 1e-2)


class Checkpointing(unittest.TestCase):
    def gradients(self, device: str, use_checkpoint: bool, reentrant: bool) -> list[torch.Tensor]:
        network = seeded_network("mlp").to(device)
        inputs = rows(16, 32)[0].to(device).requires_grad_()
        outputs = checkpoint(network, inputs, use_reentrant=reentrant) if use_checkpoint else network(inputs)
        outputs.square().sum().backward()
        return [inputs.grad.cpu(), *(parameter.grad.cpu() for parameter in network.parameters())]

    def test_gradients_match_those_without_checkpointing(self):
        expected = self.gradients("cpu", False, False)
        for reentrant in (False, True):
            with self.subTest(reentrant=reentrant):
                for mine, reference in zip(self.gradients(DEVICE, True, reentrant), expected, strict=True):
                    torch.testing.assert_close(mine, reference, rtol=1e-4, atol=1e-5)

    def test_20_steps(self):
        class Checkpointed(nn.Sequential):
            def forward(self, inputs):
                return checkpoint(super().forward, inputs, use_reentrant=False)
        case = CASES["mlp"]
        training.compare_training(dataclasses.replace(case, make_network=lambda: Checkpointed(*case.make_network())), DEVICE)

    def test_dropout_repeats_in_recomputation(self):
        layer = nn.Dropout(0.5)
        inputs = torch.ones(1000, device=DEVICE, requires_grad=True)
        outputs = checkpoint(layer, inputs, use_reentrant=False)
        outputs.sum().backward()
        self.assertTrue(torch.equal(outputs.detach().cpu(), inputs.grad.cpu()))
        kept = (outputs.detach().cpu() != 0).float().mean().item()
        self.assertTrue(0.4 < kept < 0.6, kept)


class Functional(unittest.TestCase):
    """torch.func on the device compared with the CPU."""

    def both(self, function) -> None:
        torch.testing.assert_close(function(DEVICE).detach().cpu(), function("cpu").detach(), rtol=1e-4, atol=1e-5)

    def network(self, device: str):
        network = seeded_network("mlp").to(device)
        return network, {name: parameter.detach() for name, parameter in network.named_parameters()}

    def test_functional_call_and_grad(self):
        def run(device):
            network, parameters = self.network(device)
            inputs, targets = (tensor.to(device) for tensor in rows(8, 32))
            loss = lambda values: nn.functional.mse_loss(torch.func.functional_call(network, values, inputs), targets)
            return torch.cat([gradient.flatten() for gradient in torch.func.grad(loss)(parameters).values()])
        self.both(run)

    def test_20_steps(self):
        def losses(device):
            network, parameters = self.network(device)
            inputs, targets = (tensor.to(device) for tensor in rows(64, 32))
            step = torch.func.grad_and_value(
                lambda values: nn.functional.mse_loss(torch.func.functional_call(network, values, inputs), targets))
            found = []
            for _ in range(training.STEPS + 1):
                gradients, loss = step(parameters)
                parameters = {name: value - 0.2 * gradients[name] for name, value in parameters.items()}
                found.append(loss.item())
            return found
        mine = losses(DEVICE)
        self.assertLessEqual(max(training.relative_errors(mine, losses("cpu"))), training.LOSS_TOLERANCE)
        self.assertLessEqual(mine[-1], mine[0] / 2)

    def test_gradients_of_each_row(self):
        def run(device):
            network, parameters = self.network(device)
            inputs, targets = (tensor.to(device) for tensor in rows(8, 32))

            def loss(values, row, target):
                return (torch.func.functional_call(network, values, row.unsqueeze(0))[0] - target).square()
            found = torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0, 0))(parameters, inputs, targets)
            return torch.cat([gradient.flatten(1) for gradient in found.values()], 1)
        self.both(run)

    def test_jvp(self):
        def run(device):
            network, _ = self.network(device)
            inputs = rows(8, 32)[0].to(device)
            return torch.func.jvp(network, (inputs,), (torch.ones_like(inputs),))[1]
        self.both(run)

    def test_jacobian_and_hessian(self):
        def run(device):
            values = torch.linspace(-1, 1, 6).to(device)
            return torch.cat((torch.func.jacrev(torch.tanh)(values), torch.func.jacfwd(torch.sin)(values),
                              torch.func.hessian(lambda x: (x ** 3).sum())(values)))
        self.both(run)


class Compile(unittest.TestCase):
    def test_aot_eager_trains_like_eager(self):
        case = CASES["mlp"]
        network = training.seeded(case.make_network)
        expected = training.train(case, network, "cpu", None, training.STEPS).losses
        module = torch.compile(training.copied(network, DEVICE), backend="aot_eager")
        compiled = training.train_with(case, module, DEVICE, None, training.STEPS).losses
        self.assertLessEqual(max(training.relative_errors(compiled, expected)), training.LOSS_TOLERANCE)
        self.assertLessEqual(compiled[-1], compiled[0] / 2)

    def test_dynamic_shapes(self):
        compiled = torch.compile(lambda values: torch.softmax(values * 2, -1).sum(0), backend="aot_eager", dynamic=True)
        for count in (3, 5, 8):
            values = torch.linspace(-1, 1, count * 4).reshape(count, 4)
            torch.testing.assert_close(compiled(values.to(DEVICE)).cpu(), torch.softmax(values * 2, -1).sum(0))


if __name__ == "__main__":
    unittest.main(verbosity=2)
