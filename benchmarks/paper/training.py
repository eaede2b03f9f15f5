"""Train one network of the evaluation with PyTorch: ``pip install '.[train]'``.

    python -m benchmarks.paper.training digits-dense --out benchmarks/paper/networks

Seeds are fixed. Adversarial training follows Madry et al. (ICLR 2018): each step is taken on images
that projected gradient ascent has moved inside the ball.
"""

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray

from benchmarks.paper.architectures import ARCHITECTURES, Architecture, Conv, Pool, shapes
from benchmarks.paper.data import DataSet, Part, column_of_mass, load
from benchmarks.paper.onnx_export import Weights, to_onnx

_BATCH, _RATE, _DECAY = 64, 2e-3, 1e-4
_ASCENTS = 5


def train(architecture: Architecture, data: DataSet, path: Path) -> None:
    """Train the network on ``data`` and write it to ``path``, at once and whole."""
    part = data.train
    if part is None:
        raise ValueError(f"the data set {data.name} has no images to train on")
    part = column_of_mass(part) if data.classes and architecture.outputs == 1 else part
    model = to_onnx(architecture, data.shape, _fitted(architecture, data, part))
    unfinished = path.with_suffix(".part")
    onnx.save(model, unfinished)
    unfinished.replace(path)


def _fitted(architecture: Architecture, data: DataSet, part: Part) -> Weights:
    import torch
    from torch import nn

    torch.manual_seed(0)
    torch.set_num_threads(1)
    network = _network(architecture, data)
    regression = architecture.outputs == 1
    loss: Any = nn.MSELoss() if regression else nn.CrossEntropyLoss()
    targets = part.targets[:, None] if regression else part.targets
    scale = float(np.std(targets)) if regression else 1.0  # the estimate has a unit
    centre = float(np.mean(targets)) if regression else 0.0
    wanted = torch.from_numpy((targets - centre) / scale if regression else targets)
    images = torch.from_numpy(part.images)
    optimiser = torch.optim.Adam(network.parameters(), _RATE, weight_decay=_DECAY)
    steps = architecture.epochs * -(-len(images) // _BATCH)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, _RATE * 2, total_steps=steps)
    for batch in _batches(len(images), architecture.epochs):
        x, y = images[batch], wanted[batch]
        if architecture.radius:
            x = _attacked(network, loss, x, y, architecture.radius)
        optimiser.zero_grad()
        loss(network(x), y).backward()
        optimiser.step()
        schedule.step()
    weights = [
        (layer.weight.detach().numpy().copy(), layer.bias.detach().numpy().copy())
        for layer in network
        if hasattr(layer, "weight")
    ]
    kernel, bias = weights[-1]
    scaled, shifted = np.float32(scale), np.float32(centre)
    return [*weights[:-1], (kernel * scaled, bias * scaled + shifted)]


def _network(architecture: Architecture, data: DataSet) -> Any:
    from torch import nn

    made: list[Any] = []
    before, flat = data.shape, False
    layers = architecture.layers
    for k, (layer, after) in enumerate(zip(layers, shapes(layers, data.shape), strict=True)):
        if isinstance(layer, Conv):
            made.append(nn.Conv2d(before[0], layer.kernels, layer.side))
            made += [nn.ReLU()] * layer.active
        elif isinstance(layer, Pool):
            made.append(nn.MaxPool2d(2))
        else:
            made += [] if flat else [nn.Flatten()]
            flat = True
            made.append(nn.Linear(int(np.prod(before)), layer.width))
            made += [nn.ReLU()] * (k < len(layers) - 1)
        before = after
    return nn.Sequential(*made)


def _batches(count: int, epochs: int) -> Iterator[NDArray[np.int64]]:
    generator = np.random.default_rng(0)
    for _ in range(epochs):
        shuffled = generator.permutation(count)
        yield from (shuffled[k : k + _BATCH] for k in range(0, count, _BATCH))


def _attacked(network: Any, loss: Any, x: Any, y: Any, radius: float) -> Any:
    import torch

    moved = (x + radius * (2 * torch.rand_like(x) - 1)).clamp(0, 1)
    for _ in range(_ASCENTS):
        moved.requires_grad_()
        (slope,) = torch.autograd.grad(loss(network(moved), y), moved)
        moved = moved.detach() + radius / 2 * slope.sign()
        moved = torch.minimum(torch.maximum(moved, x - radius), x + radius).clamp(0, 1)
    return moved


def digits_to_train() -> DataSet:
    """Return scikit-learn's digits, split as those of ``examples/``; writes the test digits."""
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    images, labels = load_digits(return_X_y=True)
    split = {"test_size": 0.25, "random_state": 0, "stratify": labels}
    train, test, train_labels, test_labels = train_test_split(images, labels, **split)
    from benchmarks.paper.data import DIGITS

    stored = {"images": test.reshape(-1, 8, 8).astype(np.uint8), "labels": test_labels}
    np.savez_compressed(DIGITS, **stored)
    scaled = (train.reshape(-1, 1, 8, 8) / 16).astype(np.float32)
    digits = load("digits", None)
    return DataSet("digits", Part(scaled, train_labels), digits.test, digits.classes)


def main() -> None:
    """Train the networks that the arguments name."""
    made = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    made.add_argument("names", nargs="+", choices=ARCHITECTURES)
    made.add_argument("--data", type=Path, help="a file of the data set, none for digits")
    made.add_argument("--out", type=Path, required=True)
    arguments = made.parse_args()
    for name in arguments.names:
        architecture = ARCHITECTURES[name]
        digits = architecture.data == "digits"
        data = digits_to_train() if digits else load(architecture.data, arguments.data)
        path = arguments.out / f"{name}.onnx"
        train(architecture, data, path)
        print(f"{path}: {path.stat().st_size} bytes", file=sys.stderr)


if __name__ == "__main__":
    main()
