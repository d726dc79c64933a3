"""What the jobs share. A job is `python JOB.py DEVICE PRECISION`: it trains a small network through the public interface of
one framework and prints its losses, one for each step, as the last line of standard output.

DEVICE is a device in the framework's own words; PRECISION is float32, bfloat16 or float16 (mixed precision). Weights and
data are drawn on the CPU from a fixed seed, and nothing is drawn on the device, so losses agree up to rounding on every
device.
"""

import json
import os
import random
import sys
import tempfile

import numpy
import torch

STEPS = 8


def arguments():
    device, precision = sys.argv[1:]
    return device, precision


def seed():
    random.seed(1)
    numpy.random.seed(1)
    torch.manual_seed(1)


def classification(rows=16 * STEPS):
    """Rows of 16 numbers, and the number of the largest of the first 4."""
    generator = torch.Generator().manual_seed(2)
    x = torch.randn(rows, 16, generator=generator)
    return torch.utils.data.TensorDataset(x, x[:, :4].argmax(1))


def perceptron():
    return torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.ReLU(), torch.nn.Linear(32, 4))


def sentences(rows=8 * STEPS, length=16, words=64):
    """Sequences in which each word follows from the previous one."""
    generator = torch.Generator().manual_seed(2)
    starts = torch.randint(0, words, (rows, 1), generator=generator)
    return (starts * torch.tensor([pow(5, i, words) for i in range(length)])) % words


def scratch_folder():
    return tempfile.mkdtemp(dir=os.environ.get("JOB_FOLDER"))


def finish(losses, device):
    """Prints the result; `device` is the device of a trained tensor."""
    print(json.dumps({"losses": [float(loss) for loss in losses], "device": torch.device(device).type}))
