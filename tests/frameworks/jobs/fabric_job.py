"""Lightning's Fabric."""

import job
import lightning
import torch
from lightning.fabric.strategies import SingleDeviceStrategy

PRECISION = {"float32": "32-true", "bfloat16": "bf16-mixed", "float16": "16-mixed"}

device, precision = job.arguments()
job.seed()
strategy = SingleDeviceStrategy(device="rvk") if device == "rvk" else "auto"
fabric = lightning.Fabric(accelerator=device, devices=1, precision=PRECISION[precision], strategy=strategy)
fabric.launch()
net = job.perceptron()
net, optimizer = fabric.setup(net, torch.optim.AdamW(net.parameters(), lr=1e-2))
losses = []
for x, y in fabric.setup_dataloaders(torch.utils.data.DataLoader(job.classification(), 16)):
    optimizer.zero_grad()
    loss = torch.nn.functional.cross_entropy(net(x), y)
    fabric.backward(loss)
    fabric.clip_gradients(net, optimizer, max_norm=1.0)
    optimizer.step()
    losses.append(loss.item())
job.finish(losses, fabric.device)
