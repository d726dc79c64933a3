"""A small residual network on generated images of digits; a typical script for CUDA."""

import sys
import time

import torch
import torch.nn as nn
import torch.nn.functional as F


class Block(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(channels)

    def forward(self, x):
        return F.relu(x + self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x))))))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(1, 8, 3, padding=1)
        self.block = Block(8)
        self.dropout = nn.Dropout(0.1)
        self.classifier = nn.Linear(8 * 7 * 7, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.stem(x)), 2)
        x = F.avg_pool2d(self.block(x), 2)
        return F.log_softmax(self.classifier(self.dropout(x.flatten(1))), dim=1)


def pictures(count):
    """One bright bar for each class, with noise."""
    labels = torch.arange(count) % 10
    x = torch.randn(count, 1, 28, 28) * 0.1
    for row, label in enumerate(labels):
        x[row, 0, 2 * int(label) + 2 : 2 * int(label) + 6] += 1
    return x, labels


def main():
    torch.manual_seed(1)
    use_cuda = torch.cuda.is_available()
    device = torch.device("cuda" if use_cuda else "cpu")
    print("device", device, torch.cuda.current_device())
    x, y = pictures(64)
    model = Net().cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    side = torch.cuda.Stream()
    begin.record()
    losses = []
    for _ in range(10):
        for at in range(0, 64, 32):
            with torch.cuda.stream(side):
                data = x[at : at + 32].to(device, non_blocking=True)
                target = y[at : at + 32].to("cuda")
            torch.cuda.current_stream().wait_stream(side)
            optimizer.zero_grad()
            loss = F.nll_loss(model(data), target)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    end.record()
    torch.cuda.synchronize()
    print(f"{begin.elapsed_time(end):.1f} ms on the device at {time.asctime()}")
    with torch.no_grad():
        model.eval()
        right = (model(x.cuda()).argmax(1) == y.cuda()).float().mean().item()
    print(f"losses {losses[0]:.3f} {losses[-1]:.3f} accuracy {right:.2f}")
    sys.exit(0 if losses[-1] < losses[0] / 2 else 1)


if __name__ == "__main__":
    main()
