"""diffusers: a small UNet learns to remove noise, with Accelerate, as in diffusers' training examples."""

import job
import torch
from accelerate import Accelerator
from diffusers import DDPMScheduler, UNet2DModel
from diffusers.optimization import get_cosine_schedule_with_warmup
from diffusers.training_utils import EMAModel

PRECISION = {"float32": "no", "bfloat16": "bf16", "float16": "fp16"}

device, precision = job.arguments()
job.seed()
accelerator = Accelerator(mixed_precision=PRECISION[precision])
model = UNet2DModel(
    sample_size=16, in_channels=3, out_channels=3, layers_per_block=1, block_out_channels=(32, 64), norm_num_groups=8,
    down_block_types=("DownBlock2D", "AttnDownBlock2D"), up_block_types=("AttnUpBlock2D", "UpBlock2D"),
)
scheduler = DDPMScheduler(num_train_timesteps=100)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
rate = get_cosine_schedule_with_warmup(optimizer, 2, job.STEPS)
generator = torch.Generator().manual_seed(2)
pictures = torch.rand(4 * job.STEPS, 3, 16, 16, generator=generator)
loader = torch.utils.data.DataLoader(pictures, 4)
model, optimizer, loader, rate = accelerator.prepare(model, optimizer, loader, rate)
average = EMAModel(model.parameters())
losses = []
for clean in loader:
    noise = torch.randn(clean.shape, generator=generator).to(clean.device)
    steps = torch.randint(0, 100, (len(clean),), generator=generator).to(clean.device)
    guess = model(scheduler.add_noise(clean, noise, steps), steps, return_dict=False)[0]
    loss = torch.nn.functional.mse_loss(guess.float(), noise)
    accelerator.backward(loss)
    accelerator.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    rate.step()
    optimizer.zero_grad()
    average.step(model.parameters())
    losses.append(loss.item())
job.finish(losses, accelerator.device)
