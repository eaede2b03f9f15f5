"""The data sets of the evaluation: images to train on, and images to explain."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.paper.architectures import Shape
from milp_verix import datasets

DIGITS = Path(__file__).parent / "networks" / "digits.npz"
_KEPT = 1000
_GTSRB_PARTS = {True: ("Training", "Test"), False: ("Train", "Test")}
_SIGNS = {
    2: "50 mph",
    1: "30 mph",
    13: "yield",
    12: "priority road",
    38: "keep right",
    10: "no passing for large vehicles",
    4: "70 mph",
    5: "80 mph",
    25: "road work",
    9: "no passing",
}
"""Names of the ten most frequent signs by their numbers, in the order of VeriX's classes."""


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """``images`` (N, channels, height, width) in [0, 1] as float32, and their ``targets`` (N,).

    Targets are classes, or what a regression estimates.
    """

    images: NDArray[np.float32]
    targets: NDArray[Any]


@dataclass(frozen=True, slots=True, eq=False)
class DataSet:
    """A data set, with names of its classes, none for a regression, and a note on the split."""

    name: str
    train: Part | None
    test: Part
    classes: tuple[str, ...] = ()
    note: str = ""

    @property
    def shape(self) -> Shape:
        """Channels, height, width of an image."""
        channels, height, width = self.test.images.shape[1:]
        return channels, height, width


def load(name: str, path: Path | None) -> DataSet:
    """Return the data set called ``name``; ``path`` is where the user keeps it."""
    return _LOADERS[name](path)


def digits(_: Path | None = None) -> DataSet:
    """Return the 450 test digits, 8×8 pixels, that the small networks were not trained on."""
    with np.load(DIGITS) as stored:
        images = stored["images"][:, None].astype(np.float32) / np.float32(16)
        test = Part(images, stored["labels"].astype(np.int64))
    return DataSet("digits", None, test, tuple("0123456789"))


def mnist(path: Path | None) -> DataSet:
    """Return MNIST from its IDX files, or from an archive with its test set alone.

    Of the latter the first 1000 images are for tests.
    """
    path = _given(path, "mnist")
    if path.suffix == ".npz":
        whole = _part(datasets.npz(path))
        train = Part(whole.images[_KEPT:], whole.targets[_KEPT:])
        test = Part(whole.images[:_KEPT], whole.targets[:_KEPT])
        note = "MNIST: test images 1000 to 9999 for training, 0 to 999 for tests"
    else:
        train, test = (_part(datasets.mnist(path, train=part)) for part in (True, False))
        note = f"MNIST: {len(train.images)} images for training, {len(test.images)} for tests"
    return DataSet("mnist", train, test, tuple("0123456789"), note)


def gtsrb(path: Path | None) -> DataSet:
    """Return the ten most frequent traffic signs, 32×32 pixels, from an archive or the tree.

    The tree has ``Final_Training/Images`` and ``Final_Test/Images``, or ``Train`` and ``Test``.
    """
    path = _given(path, "gtsrb")
    if path.suffix == ".npz":
        found = [
            datasets.npz(path, images=f"{part}_images", labels=f"{part}_labels")
            for part in ("train", "test")
        ]
    else:
        official = (path / "Final_Training").is_dir()
        names = [f"Final_{part}/Images" if official else part for part in _GTSRB_PARTS[official]]
        found = [datasets.gtsrb(path / name, classes=list(_SIGNS)) for name in names]
    train, test = map(_part, found)
    note = f"GTSRB: {len(train.images)} signs for training, {len(test.images)} for tests"
    return DataSet("gtsrb", train, test, tuple(_SIGNS.values()), note)


def taxinet(path: Path | None) -> DataSet:
    """Return runways with the distance to the centre line in metres; every fourth is for tests."""
    whole = _part(datasets.taxinet(_given(path, "taxinet")))
    tested = np.arange(len(whole.images)) % 4 == 0
    train, test = (Part(whole.images[kept], whole.targets[kept]) for kept in (~tested, tested))
    note = f"TaxiNet: {len(train.images)} views for training, {len(test.images)} for tests"
    return DataSet("taxinet", train, test, note=note)


_LOADERS: dict[str, Callable[[Path | None], DataSet]] = {
    "digits": digits,
    "mnist": mnist,
    "gtsrb": gtsrb,
    "taxinet": taxinet,
}


def column_of_mass(part: Part) -> Part:
    """Return images with the column of their centre of mass, in pixels, instead of their class."""
    columns = np.arange(part.images.shape[3], dtype=np.float32)
    brightness = part.images.sum(axis=(1, 2))
    centres = (brightness * columns).sum(axis=1) / brightness.sum(axis=1)
    return Part(part.images, centres.astype(np.float32))


def _given(path: Path | None, name: str) -> Path:
    if path is None:
        raise ValueError(f"the full scale needs --{name} PATH")
    return path


def _part(found: datasets.Dataset) -> Part:
    """Return a data set with channels first."""
    images = found.images[..., None] if found.images.ndim == 3 else found.images
    return Part(np.ascontiguousarray(images.transpose(0, 3, 1, 2)), found.labels)
