#!/usr/bin/env python3
"""train_torch.py - a small training script, as most are written: loader, model, steps, checkpoint.

    train_torch.py [EPOCHS]
"""

import io
import sys

try:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, Dataset
except ImportError as error:
    print("skipped:", error, file=sys.stderr)
    sys.exit(77)


class Pictures(Dataset):
    """Made-up pictures of two classes: bright at the top, or at the bottom."""

    def __len__(self):
        return 512

    def __getitem__(self, i):
        label = i % 2
        generator = torch.Generator().manual_seed(i)
        picture = torch.rand(3, 64, 64, generator=generator)
        half = slice(0, 32) if label else slice(32, 64)
        picture[:, half] += 0.5
        return picture, label


class Trainer:
    def __init__(self):
        self.model = nn.Sequential(
            nn.Conv2d(3, 16, 3, stride=2), nn.ReLU(), nn.Conv2d(16, 32, 3, stride=2), nn.ReLU(),
            nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(512, 2)).cuda()
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1, momentum=0.9)
        self.loss = nn.CrossEntropyLoss()

    def step(self, pictures, labels):
        pictures, labels = pictures.cuda(), labels.cuda()
        self.optimizer.zero_grad()
        loss = self.loss(self.model(pictures), labels)
        loss.backward()
        self.optimizer.step()
        return loss.item()

    def evaluate(self, loader):
        right = 0
        self.model.eval()
        with torch.no_grad():
            for pictures, labels in loader:
                answers = self.model(pictures.to("cuda")).argmax(1).cpu()
                right += int((answers == labels).sum())
        self.model.train()
        return right / len(loader.dataset)

    def save(self):
        file = io.BytesIO()
        torch.save(self.model.state_dict(), file)
        return file.tell()


def main():
    epochs = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    if not torch.cuda.is_available():
        print("skipped: no device that torch can use", file=sys.stderr)
        return 77
    torch.manual_seed(1)
    trainer = Trainer()
    loader = DataLoader(Pictures(), batch_size=32, num_workers=2, shuffle=True)
    pinned = DataLoader(Pictures(), batch_size=32, pin_memory=True)
    for epoch in range(epochs):
        losses = [trainer.step(pictures, labels) for pictures, labels in loader]
        print("epoch %d: loss %.3f, right %.3f, %d bytes saved"
              % (epoch, sum(losses) / len(losses), trainer.evaluate(pinned), trainer.save()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
