"""Data sets from the files that they are published in, ready for networks and for studies.

    >>> from milp_verix import datasets
    >>> digits = datasets.mnist("folder/of/idx/files")
    >>> milp_verix.explain_many("network.onnx", digits.images, epsilon=0.05, journal="study.jsonl")

Nothing is downloaded: every function takes the place where the files are.
"""

import csv
import gzip
import math
import re
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from milp_verix.base.arguments import path_of
from milp_verix.base.errors import InputError, refusing
from milp_verix.base.stored_numbers import array_in

_BYTE = 255
_MOST = 2**31
_UNSIGNED_BYTES = 8
_PICTURES = (".ppm", ".png")
_GZIP = b"\x1f\x8b"


@dataclass(frozen=True, slots=True, eq=False)
class Dataset:
    """Images with their labels.

    ``images`` are float32 between 0 and 1, shape (N, height, width), or with channels behind it.
    ``labels``, shape (N,), are int64 classes, or float32 values that a regression estimates.
    ``class_names`` names classes, if they have names. The arrays cannot be written to.
    """

    images: NDArray[np.float32]
    labels: NDArray[Any]
    name: str
    class_names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if len(self.images) != len(self.labels):
            raise InputError(
                f"{self.name} has {len(self.images)} images and {len(self.labels)} labels: one "
                "label belongs to each image"
            )
        for array in (self.images, self.labels):
            array.flags.writeable = False

    def __len__(self) -> int:
        return len(self.images)

    def __repr__(self) -> str:
        shape = "×".join(map(str, self.images.shape[1:]))
        return f"Dataset({self.name}: {len(self)} images of {shape})"


def mnist(path: str | Path, *, train: bool = False) -> Dataset:
    """Read MNIST, or any data set in its IDX format, packed by gzip or not.

    ``path`` is the folder with ``t10k-images-idx3-ubyte`` and ``t10k-labels-idx1-ubyte``
    (``train-…`` for ``train``), or one such file of images, whose labels are beside it. Images have
    shape (N, height, width). Raises ``InputError`` for a file that is missing or damaged.
    """
    given = path_of(path, "path")
    images = given if given.is_file() else _idx_file(given, "train" if train else "t10k")
    labels = images.with_name(images.name.replace("images", "labels").replace("idx3", "idx1"))
    if labels == images or not labels.is_file():
        raise InputError(
            f"there are no labels beside {images}: expected {labels.name}, with 'labels' and "
            "'idx1' for 'images' and 'idx3' in the name"
        )
    return Dataset(_scaled(_idx(images, 3)), _idx(labels, 1).astype(np.int64), "mnist")


def gtsrb(
    folder: str | Path,
    *,
    side: int = 32,
    crop: bool = False,
    classes: Sequence[int] | None = None,
) -> Dataset:
    """Read traffic signs from the folder tree of GTSRB; images have shape (N, side, side, 3).

    ``folder`` has a folder for each class, named by its number, or pictures and a ``GT-….csv`` with
    their classes, as the test set has. Pictures are PPM or PNG files, and are resized to ``side``
    (bilinear). ``crop`` cuts each to the region of interest in the ``GT-….csv`` first. ``classes``
    keeps some classes alone: class ``classes[i]`` has label ``i`` then. Raises ``InputError`` for
    a folder without pictures, and for a picture or a table that is damaged.
    """
    from PIL import Image, UnidentifiedImageError

    kept = None if classes is None else {int(number): i for i, number in enumerate(classes)}
    images, labels = [], []
    for path, number, region in _signs(path_of(folder, "folder"), crop=crop):
        if kept is not None and number not in kept:
            continue
        damage = UnidentifiedImageError, OSError, SyntaxError, ValueError
        with refusing(f"cannot read {path}", *damage), Image.open(path) as picture:
            shown = picture if region is None else picture.crop(region)
            sized = shown.convert("RGB").resize((side, side), Image.Resampling.BILINEAR)
        images.append(np.asarray(sized))
        labels.append(number if kept is None else kept[number])
    if not images:
        wanted = "" if classes is None else f" of the classes {', '.join(map(str, classes))}"
        raise InputError(
            f"{folder} holds no pictures{wanted}: expected class folders such as 00000/, or "
            "pictures beside a GT-….csv, with .ppm or .png files"
        )
    return Dataset(_scaled(np.stack(images)), np.array(labels, np.int64), "gtsrb")


def npz(
    path: str | Path, *, images: str = "images", labels: str = "labels", name: str | None = None
) -> Dataset:
    """Read a NumPy archive; ``images`` and ``labels`` are the names of arrays in it.

    Images of bytes are divided by 255, others must lie between 0 and 1. Labels that are integers
    are classes, others are values of a regression; ``class_names`` in the archive names classes.
    ``name`` is the file's by default. Raises ``InputError`` for an array that is missing, and for
    images beyond 0 and 1.
    """
    path = path_of(path, "path")
    pixels, targets = (array_in(path, key, most=_MOST) for key in (images, labels))
    if pixels.ndim not in (3, 4) or targets.ndim != 1:
        raise InputError(
            f"{path}: {images!r} has shape {pixels.shape} and {labels!r} {targets.shape}; expected "
            "(N, height, width), with channels or without, and (N,)"
        )
    kind = np.int64 if targets.dtype.kind in "iub" else np.float32
    found = _class_names(path) if kind is np.int64 else ()
    return Dataset(_scaled(pixels), targets.astype(kind), name or path.stem, found)


def taxinet(path: str | Path, *, target: str = "distance_to_centerline_m") -> Dataset:
    """Read TaxiNet's views of a runway from a NumPy archive with ``images`` and ``target``.

    Images have shape (N, 27, 54). Labels are float32: metres from the centre line or, for the
    target ``"heading_error_deg"``, degrees. Raises ``InputError`` as :func:`npz` does.
    """
    return npz(path, labels=target, name="taxinet")


def digits() -> Dataset:
    """Return the 1797 digits of scikit-learn, 8×8 pixels; ``InputError`` if it is not installed."""
    try:
        from sklearn.datasets import load_digits
    except ImportError as error:
        raise InputError("the digits come with scikit-learn: pip install scikit-learn") from error
    stored = load_digits()
    images = (stored.images / 16).astype(np.float32)
    return Dataset(images, stored.target.astype(np.int64), "digits", tuple("0123456789"))


def _scaled(values: NDArray[Any]) -> NDArray[np.float32]:
    """Return images between 0 and 1: bytes divided by 255, others as they are."""
    if values.dtype == np.uint8:
        return values.astype(np.float32) / np.float32(_BYTE)
    scaled = values.astype(np.float32)
    if not (np.all(scaled >= 0) and np.all(scaled <= 1)):
        raise InputError(
            f"images hold {values.dtype} from {values.min():g} to {values.max():g}; expected bytes "
            "(uint8), or numbers from 0 to 1: divide them by their largest value"
        )
    return scaled


def _idx_file(folder: Path, part: str) -> Path:
    names = [
        f"{part}-images{dot}idx3-ubyte{packed}" for dot in ("-", ".") for packed in ("", ".gz")
    ]
    for name in names:
        if (folder / name).is_file():
            return folder / name
    raise InputError(f"{folder} has no IDX file of images: expected {' or '.join(names)}")


def _idx(path: Path, axes: int) -> NDArray[np.uint8]:
    """Return the bytes in an IDX file: 0, 0, type, number of axes, lengths (big-endian), values."""
    with refusing(f"cannot read {path}", OSError, EOFError, zlib.error):
        data = path.read_bytes()
        data = gzip.decompress(data) if data.startswith(_GZIP) else data
    expected = bytes((0, 0, _UNSIGNED_BYTES, axes))
    if data[:4] != expected:
        raise InputError(
            f"{path} begins with {data[:4].hex(' ') or 'nothing'}, expected {expected.hex(' ')}: "
            f"an IDX file of bytes with {axes} axes"
        )
    first = 4 + 4 * axes
    shape = tuple(int.from_bytes(data[i : i + 4], "big") for i in range(4, first, 4))
    if len(data) != first + math.prod(shape):
        raise InputError(
            f"{path} has {len(data) - first} values, its head says {math.prod(shape)} (shape "
            f"{shape}): it is cut off or damaged, get it again"
        )
    return np.frombuffer(data, np.uint8, offset=first).reshape(shape)


_Region = tuple[int, int, int, int]


def _signs(folder: Path, *, crop: bool) -> Iterator[tuple[Path, int, _Region | None]]:
    """Yield the path, the class and the region of interest of each picture, sorted by name."""
    if not folder.is_dir():
        raise InputError(f"{folder} is no folder: expected the folder of GTSRB's class folders")
    numbered = sorted(p for p in folder.iterdir() if p.is_dir() and re.fullmatch(r"\d+", p.name))
    for own in numbered or [folder]:
        number = int(own.name) if numbered else None
        tables = sorted(own.glob("GT-*.csv"))
        if tables:
            yield from _listed(tables[0], number, crop=crop)
        elif crop or number is None:
            raise InputError(
                f"{own} has no GT-….csv, which tells {'regions' if crop else 'classes'}: "
                f"{'leave crop out' if numbered else 'give the folder of class folders'}"
            )
        else:
            pictures = (p for p in own.iterdir() if p.suffix.lower() in _PICTURES)
            yield from ((path, number, None) for path in sorted(pictures))


def _listed(
    table: Path, number: int | None, *, crop: bool
) -> Iterator[tuple[Path, int, _Region | None]]:
    """Yield the pictures that a ``GT-….csv`` lists; a .png takes the place of a missing .ppm."""
    text = f"{table} is no table of GTSRB, of columns Filename, Roi.X1 … and ClassId with ; between"
    with refusing(text, KeyError, TypeError, ValueError, OSError):
        with table.open(newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file, delimiter=";"))
        for row in rows:
            path = table.parent / row["Filename"]
            path = path if path.is_file() else path.with_suffix(".png")
            ends = tuple(int(row[f"Roi.{end}"]) for end in ("X1", "Y1", "X2", "Y2"))
            left, top, right, bottom = ends
            region = (left, top, right + 1, bottom + 1) if crop else None
            yield path, int(row["ClassId"]) if number is None else number, region


def _class_names(path: Path) -> tuple[str, ...]:
    try:
        return tuple(map(str, array_in(path, "class_names", most=_MOST, kinds="U")))
    except InputError:
        return ()
