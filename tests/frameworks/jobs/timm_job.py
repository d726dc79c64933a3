"""timm: a small ViT and timm's own optimizer, schedule, loss and augmentation."""

import job
import timm
import timm.data
import timm.loss
import timm.optim
import timm.scheduler
import torch

device, precision = job.arguments()
job.seed()
model = timm.create_model(
    "vit_tiny_patch16_224", img_size=32, patch_size=8, embed_dim=48, depth=2, num_heads=3, num_classes=4, drop_path_rate=0.0
).to(device)
average = timm.utils.ModelEmaV3(model)
optimizer = timm.optim.create_optimizer_v2(model, opt="lamb", lr=1e-2)
schedule = timm.scheduler.CosineLRScheduler(optimizer, t_initial=job.STEPS)
loss_of = timm.loss.SoftTargetCrossEntropy()
mix = timm.data.Mixup(mixup_alpha=0.2, num_classes=4)
kind = torch.device(device).type
dtype = None if precision == "float32" else getattr(torch, precision)
scaler = timm.utils.NativeScaler(device=kind) if precision == "float16" else None
generator = torch.Generator().manual_seed(2)
losses = []
for step in range(job.STEPS):
    x, y = mix(torch.rand(8, 3, 32, 32, generator=generator), torch.randint(0, 4, (8,), generator=generator))
    x, y = x.to(device), y.to(device)
    with torch.autocast(kind, dtype=dtype, enabled=dtype is not None):
        loss = loss_of(model(x), y)
    optimizer.zero_grad()
    if scaler:
        scaler(loss, optimizer, clip_grad=1.0, parameters=model.parameters())
    else:
        loss.backward()
        optimizer.step()
    schedule.step(step)
    average.update(model)
    losses.append(loss.item())
job.finish(losses, next(model.parameters()).device)
