"""Data sets from files made here, in every form, and the messages about damaged ones."""

import gzip
import struct
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from milp_verix import InputError, datasets

RNG = np.random.default_rng(0)
DIGITS = RNG.integers(0, 256, (5, 4, 6), dtype=np.uint8)
LABELS = np.array([3, 1, 4, 1, 5], np.uint8)
HEAD = "Filename;Width;Height;Roi.X1;Roi.Y1;Roi.X2;Roi.Y2;ClassId"


def idx(path: Path, array: NDArray[np.uint8], *, packed: bool = False) -> Path:
    """Write ``array`` as an IDX file."""
    head = struct.pack(f">BBBB{array.ndim}I", 0, 0, 8, array.ndim, *array.shape)
    data = head + array.tobytes()
    path.write_bytes(gzip.compress(data) if packed else data)
    return path


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("dot", ["-", "."])
@pytest.mark.parametrize(("part", "train"), [("t10k", False), ("train", True)])
def test_idx_files(part: str, train: bool, dot: str, packed: bool, tmp_path: Path) -> None:
    end = ".gz" if packed else ""
    images = idx(tmp_path / f"{part}-images{dot}idx3-ubyte{end}", DIGITS, packed=packed)
    idx(tmp_path / f"{part}-labels{dot}idx1-ubyte{end}", LABELS, packed=packed)
    for path in (tmp_path, images, str(images)):
        found = datasets.mnist(path, train=train)
        assert (found.images.dtype, found.labels.dtype) == (np.float32, np.int64)
        np.testing.assert_array_equal(found.images, DIGITS / np.float32(255))
        np.testing.assert_array_equal(found.labels, LABELS)
        assert repr(found) == "Dataset(mnist: 5 images of 4×6)"
        with pytest.raises(ValueError, match="read-only"):
            found.images[0] = 0


def test_idx_files_that_are_missing_or_damaged(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"expected t10k-images-idx3-ubyte or .*\.gz"):
        datasets.mnist(tmp_path)
    images = idx(tmp_path / "t10k-images-idx3-ubyte", DIGITS)
    with pytest.raises(InputError, match=r"no labels beside .*: expected t10k-labels-idx1-ubyte"):
        datasets.mnist(tmp_path)
    labels = idx(tmp_path / "t10k-labels-idx1-ubyte", LABELS[:4])
    with pytest.raises(InputError, match="5 images and 4 labels"):
        datasets.mnist(tmp_path)
    idx(labels, DIGITS)
    with pytest.raises(InputError, match="begins with 00 00 08 03, expected 00 00 08 01"):
        datasets.mnist(tmp_path)
    idx(labels, LABELS)
    whole = images.read_bytes()
    for damaged, said in (
        (whole[:-1], "has 119 values, its head says 120"),
        (whole[:9], "its head says"),
        (b"", "begins with nothing"),
        (gzip.compress(whole)[:-9], "cannot read"),
    ):
        images.write_bytes(damaged)
        with pytest.raises(InputError, match=said):
            datasets.mnist(tmp_path)


def signs(folder: Path, *, suffix: str = ".ppm", table: bool = True) -> dict[int, list[Any]]:
    """Write two classes of signs; return the pictures of each."""
    written: dict[int, list[Any]] = {}
    for number in (2, 13):
        own = folder / f"{number:05d}"
        own.mkdir()
        lines = [HEAD]
        for k in range(2):
            pixels = RNG.integers(0, 256, (40 + k, 36, 3), dtype=np.uint8)
            Image.fromarray(pixels).save(own / f"{k:05d}{suffix}")
            lines.append(f"{k:05d}.ppm;36;{40 + k};4;5;30;33;{number}")
            written.setdefault(number, []).append(pixels)
        if table:
            (own / f"GT-{number:05d}.csv").write_text("\n".join(lines) + "\n")
    return written


def resized(pixels: NDArray[np.uint8], box: tuple[int, int, int, int] | None) -> NDArray[Any]:
    picture = Image.fromarray(pixels)
    picture = picture if box is None else picture.crop(box)
    return np.asarray(picture.resize((32, 32), Image.Resampling.BILINEAR)) / np.float32(255)


@pytest.mark.parametrize("suffix", [".ppm", ".png"])
@pytest.mark.parametrize("crop", [False, True])
def test_class_folders_of_signs(crop: bool, suffix: str, tmp_path: Path) -> None:
    written = signs(tmp_path, suffix=suffix)
    found = datasets.gtsrb(tmp_path, crop=crop)
    assert found.images.shape == (4, 32, 32, 3)
    assert found.labels.tolist() == [2, 2, 13, 13]
    pixels = [one for number in (2, 13) for one in written[number]]
    box = (4, 5, 31, 34) if crop else None
    for got, one in zip(found.images, pixels, strict=True):
        np.testing.assert_array_equal(got, resized(one, box))


def test_some_classes_get_their_own_numbers(tmp_path: Path) -> None:
    signs(tmp_path, table=False)
    assert datasets.gtsrb(tmp_path).labels.tolist() == [2, 2, 13, 13]
    found = datasets.gtsrb(tmp_path, classes=(13,), side=8)
    assert found.images.shape == (2, 8, 8, 3)
    assert found.labels.tolist() == [0, 0]
    assert datasets.gtsrb(tmp_path, classes=(13, 2)).labels.tolist() == [1, 1, 0, 0]
    with pytest.raises(InputError, match="no pictures of the classes 7"):
        datasets.gtsrb(tmp_path, classes=(7,))
    with pytest.raises(InputError, match=r"has no GT-….csv, which tells regions: leave crop out"):
        datasets.gtsrb(tmp_path, crop=True)


def test_the_test_set_of_signs(tmp_path: Path) -> None:
    pixels = RNG.integers(0, 256, (32, 32, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(tmp_path / "00000.ppm")
    with pytest.raises(InputError, match="which tells classes: give the folder of class folders"):
        datasets.gtsrb(tmp_path)
    (tmp_path / "GT-final_test.csv").write_text(f"{HEAD}\n00000.ppm;32;32;5;5;27;27;16\n")
    found = datasets.gtsrb(tmp_path)
    assert found.labels.tolist() == [16]
    np.testing.assert_array_equal(found.images[0], pixels / np.float32(255))


def test_signs_that_are_missing_or_damaged(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is no folder"):
        datasets.gtsrb(tmp_path / "none")
    signs(tmp_path)
    table = tmp_path / "00002" / "GT-00002.csv"
    for text in ("Filename;ClassId\n00000.ppm;2\n", f"{HEAD}\n00000.ppm;1;1;a;1;1;1;2\n", ""):
        table.write_text(text)
        if text:
            with pytest.raises(InputError, match="is no table of GTSRB"):
                datasets.gtsrb(tmp_path)
    table.write_text(f"{HEAD}\n00009.ppm;36;40;4;5;30;33;2\n")
    with pytest.raises(InputError, match=r"cannot read .*00009"):
        datasets.gtsrb(tmp_path)
    (tmp_path / "00002" / "00009.ppm").write_bytes(b"P6\n36 40\n255\nshort")
    with pytest.raises(InputError, match=r"cannot read .*00009"):
        datasets.gtsrb(tmp_path)


def test_archives(tmp_path: Path) -> None:
    path = tmp_path / "signs.npz"
    coloured = RNG.integers(0, 256, (5, 8, 8, 3), dtype=np.uint8)
    names = np.array(["stop", "yield"])
    np.savez(path, test_images=coloured, test_labels=LABELS, class_names=names)
    found = datasets.npz(path, images="test_images", labels="test_labels")
    np.testing.assert_array_equal(found.images, coloured / np.float32(255))
    assert (found.name, found.class_names) == ("signs", ("stop", "yield"))
    assert found.labels.dtype == np.int64
    with pytest.raises(InputError, match=r"has no array 'images'; it holds test_images"):
        datasets.npz(path)


def test_runways(tmp_path: Path) -> None:
    path = tmp_path / "taxinet.npz"
    metres, degrees = RNG.normal(size=(2, 5)).astype(np.float32)
    np.savez(path, images=DIGITS, distance_to_centerline_m=metres, heading_error_deg=degrees)
    found = datasets.taxinet(path)
    assert (found.labels.dtype, found.name) == (np.float32, "taxinet")
    np.testing.assert_array_equal(found.labels, metres)
    np.testing.assert_array_equal(
        datasets.taxinet(path, target="heading_error_deg").labels, degrees
    )


@pytest.mark.parametrize(
    ("arrays", "said"),
    [
        ({"images": DIGITS.astype(float), "labels": LABELS}, "divide them by their largest value"),
        ({"images": np.full((5, 4, 4), np.nan), "labels": LABELS}, "from nan to nan"),
        ({"images": DIGITS[0], "labels": LABELS}, r"shape \(4, 6\)"),
        ({"images": DIGITS, "labels": LABELS[:, None]}, r"expected \(N, height, width\)"),
        ({"images": DIGITS, "labels": LABELS[:3]}, "5 images and 3 labels"),
        ({"images": DIGITS, "labels": np.array(["a"] * 5)}, "no array of numbers"),
    ],
)
def test_archives_of_something_else(arrays: dict[str, Any], said: str, tmp_path: Path) -> None:
    path = tmp_path / "data.npz"
    np.savez(path, **arrays)
    with pytest.raises(InputError, match=said):
        datasets.npz(path)


def test_images_between_0_and_1_stay_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "data.npz"
    images = RNG.random((5, 4, 6), dtype=np.float32)
    np.savez(path, images=images, labels=LABELS)
    np.testing.assert_array_equal(datasets.npz(path).images, images)


def test_digits_of_scikit_learn(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("sklearn", reason="an optional package")
    found = datasets.digits()
    assert (len(found), found.images.shape[1:]) == (1797, (8, 8))
    assert (found.images.min(), found.images.max()) == (0, 1)
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)
    with pytest.raises(InputError, match="pip install scikit-learn"):
        datasets.digits()
