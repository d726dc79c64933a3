"""Lightning's Trainer."""

import job
import lightning
import torch

PRECISION = {"float32": "32-true", "bfloat16": "bf16-mixed", "float16": "16-mixed"}


class Module(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = job.perceptron()
        self.losses = []

    def training_step(self, batch, _):
        x, y = batch
        loss = torch.nn.functional.cross_entropy(self.net(x), y)
        self.losses.append(loss.item())
        self.log("loss", loss)
        return loss

    def validation_step(self, batch, _):
        self.log("validation", torch.nn.functional.cross_entropy(self.net(batch[0]), batch[1]))

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=1e-2)


device, precision = job.arguments()
job.seed()
module = Module()
loader = torch.utils.data.DataLoader(job.classification(), 16)
trainer = lightning.Trainer(accelerator=device, devices=1, precision=PRECISION[precision], max_epochs=1, logger=False,
                            default_root_dir=job.scratch_folder(), enable_progress_bar=False, gradient_clip_val=1.0)
trainer.fit(module, loader, loader)
trained_on = trainer.strategy.root_device
again = Module.load_from_checkpoint(trainer.checkpoint_callback.best_model_path)
assert torch.equal(again.net[0].weight.cpu(), module.net[0].weight.cpu())
job.finish(module.losses, trained_on)
