#!/usr/bin/env python3
"""Trains the network of examples/digits.dcl on scikit-learn's digits.

Writes to examples/digits/: weights.safetensors (f32, the names of the .dcl),
images.safetensors (`x`, the 360 images that training never saw) and
labels.safetensors (`label`).  Needs torch and scikit-learn.  Takes a minute on a CPU;
the seed is fixed, but another torch version may give other weights.
"""
import os

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits

import st


class Unit(nn.Module):
    def __init__(self, c, out):
        super().__init__()
        self.conv = nn.Conv2d(c, out, 3, padding=1, bias=False)
        self.bn = nn.BatchNorm2d(out)

    def forward(self, x):
        return F.relu(self.bn(self.conv(x)))


class Digits(nn.Module):
    def __init__(self):
        super().__init__()
        self.unit1, self.unit2, self.unit3 = Unit(1, 16), Unit(16, 32), Unit(32, 32)
        self.fc = nn.Linear(128, 10)

    def forward(self, x):
        h = F.max_pool2d(self.unit2(self.unit1(x)), 2)
        return self.fc(F.max_pool2d(self.unit3(h), 2).flatten(1))


def split(held_out=360):
    """Pixels in [0, 1] and labels, for training and held out."""
    data = load_digits()
    x = torch.tensor(data.images / 16.0, dtype=torch.float32)[:, None]
    y = torch.tensor(data.target)
    order = torch.randperm(len(x), generator=torch.Generator().manual_seed(1))
    x, y = x[order], y[order]
    return x[held_out:], y[held_out:], x[:held_out], y[:held_out]


def jitter(x):
    """Shifts each image by up to one pixel."""
    grown = F.pad(x, (1, 1, 1, 1))
    at = torch.randint(0, 3, (len(x), 2))
    return torch.stack([g[:, r:r + 8, c:c + 8] for g, (r, c) in
                        zip(grown, at.tolist())])


def main():
    torch.manual_seed(0)
    x, y, test_x, test_y = split()
    net, epochs, batch = Digits(), 40, 64
    opt = torch.optim.AdamW(net.parameters(), lr=3e-3, weight_decay=1e-2)
    steps = epochs * ((len(x) + batch - 1) // batch)
    schedule = torch.optim.lr_scheduler.OneCycleLR(opt, 1e-2, steps)
    for epoch in range(epochs):
        net.train()
        for part in torch.randperm(len(x)).split(batch):
            loss = F.cross_entropy(net(jitter(x[part])), y[part])
            opt.zero_grad()
            loss.backward()
            opt.step()
            schedule.step()
    net.eval()
    with torch.no_grad():
        right = (net(test_x).argmax(1) == test_y).sum().item()
    print(f"held out: {right} of {len(test_x)} right")

    folder = os.path.join(os.path.dirname(__file__), "../examples/digits")
    weights = {k: v.numpy() for k, v in net.state_dict().items()
               if not k.endswith("num_batches_tracked")}
    st.write(os.path.join(folder, "weights.safetensors"), weights)
    st.write(os.path.join(folder, "images.safetensors"),
             {"x": test_x.numpy()})
    st.write(os.path.join(folder, "labels.safetensors"),
             {"label": test_y.numpy().astype(np.int32)})


if __name__ == "__main__":
    main()
