"""The data sets of the evaluation: images to train on, and images to explain."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.paper.architectures import Shape

DIGITS = Path(__file__).parent / "networks" / "digits.npz"
_KEPT = 1000


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
        test = Part(_scaled(stored["images"][:, None], 16), stored["labels"].astype(np.int64))
    return DataSet("digits", None, test, tuple("0123456789"))


def mnist(path: Path | None) -> DataSet:
    """Return MNIST. From a test set alone, the first 1000 images are for tests."""
    with np.load(_given(path, "mnist")) as stored:
        images, labels = _scaled(stored["images"][:, None], 255), stored["labels"].astype(np.int64)
    train, test = Part(images[_KEPT:], labels[_KEPT:]), Part(images[:_KEPT], labels[:_KEPT])
    note = "trained on MNIST test images 1000 to 9999, explained and tested on 0 to 999"
    return DataSet("mnist", train, test, tuple("0123456789"), note)


def gtsrb(path: Path | None) -> DataSet:
    """Return the ten most frequent traffic signs, 32×32 pixels."""
    with np.load(_given(path, "gtsrb")) as stored:
        train, test = (
            Part(
                _scaled(stored[f"{part}_images"].transpose(0, 3, 1, 2), 255),
                stored[f"{part}_labels"].astype(np.int64),
            )
            for part in ("train", "test")
        )
        classes = tuple(map(str, stored["class_names"]))
    return DataSet("gtsrb", train, test, classes, "9000 signs for training, 2000 for tests")


def taxinet(path: Path | None) -> DataSet:
    """Return runways with the distance to the centre line in metres; every fourth is for tests."""
    with np.load(_given(path, "taxinet")) as stored:
        images = _scaled(stored["images"][:, None], 255)
        metres = stored["distance_to_centerline_m"].astype(np.float32)
    tested = np.arange(len(images)) % 4 == 0
    train, test = Part(images[~tested], metres[~tested]), Part(images[tested], metres[tested])
    note = f"{len(train.images)} views for training, {len(test.images)} for tests"
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


def _scaled(values: NDArray[Any], most: int) -> NDArray[np.float32]:
    """Return integers from 0 to ``most`` between 0 and 1."""
    scaled: NDArray[np.float32] = np.ascontiguousarray(values).astype(np.float32) / np.float32(most)
    return scaled
