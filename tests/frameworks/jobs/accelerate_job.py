"""Accelerate. The device comes from ACCELERATE_TORCH_DEVICE, or is the one that Accelerate chooses."""

import job
import torch
from accelerate import Accelerator

PRECISION = {"float32": "no", "bfloat16": "bf16", "float16": "fp16"}

device, precision = job.arguments()
job.seed()
accelerator = Accelerator(mixed_precision=PRECISION[precision], gradient_accumulation_steps=2)
net = job.perceptron()
optimizer = torch.optim.AdamW(net.parameters(), lr=1e-2)
net, optimizer, loader = accelerator.prepare(net, optimizer, torch.utils.data.DataLoader(job.classification(), 16))
losses = []
for x, y in loader:
    with accelerator.accumulate(net):
        loss = torch.nn.functional.cross_entropy(net(x), y)
        accelerator.backward(loss)
        if accelerator.sync_gradients:
            accelerator.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
    losses.append(accelerator.gather(loss).item())
folder = job.scratch_folder()
accelerator.save_state(folder)
accelerator.load_state(folder)
job.finish(losses, accelerator.device)
