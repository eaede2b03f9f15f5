"""The data sets of the paper's evaluation, read from the files that they are published in."""

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from benchmarks.paper.data import column_of_mass, load


def write_idx(path: Path, values: NDArray[np.uint8]) -> None:
    lengths = b"".join(length.to_bytes(4, "big") for length in values.shape)
    path.write_bytes(bytes((0, 0, 8, values.ndim)) + lengths + values.tobytes())


def test_mnist_from_idx_files(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    written = {}
    for part, count in (("train", 5), ("t10k", 3)):
        images = rng.integers(0, 256, (count, 28, 28), dtype=np.uint8)
        labels = rng.integers(0, 10, count, dtype=np.uint8)
        write_idx(tmp_path / f"{part}-images-idx3-ubyte", images)
        write_idx(tmp_path / f"{part}-labels-idx1-ubyte", labels)
        written[part] = images, labels
    data = load("mnist", tmp_path)
    assert data.train is not None
    for part, (images, labels) in ((data.train, written["train"]), (data.test, written["t10k"])):
        np.testing.assert_array_equal(part.images, images[:, None] / np.float32(255))
        np.testing.assert_array_equal(part.targets, labels)


def test_mnist_from_a_test_set_alone(tmp_path: Path) -> None:
    images = np.zeros((1003, 4, 4), dtype=np.uint8)
    np.savez(tmp_path / "some.npz", images=images, labels=np.arange(1003) % 10)
    data = load("mnist", tmp_path / "some.npz")
    assert data.train is not None
    assert (len(data.train.images), len(data.test.images)) == (3, 1000)
    assert data.train.targets.tolist() == [0, 1, 2]


@pytest.mark.parametrize("official", [True, False])
def test_signs_from_the_folder_tree(tmp_path: Path, official: bool) -> None:
    names = ("Final_Training/Images", "Final_Test/Images") if official else ("Train", "Test")
    numbers = (2, 3, 38)  # 50 mph, 60 mph, keep right
    for name in names:
        for number in numbers:
            folder = tmp_path / name / f"{number:05}"
            folder.mkdir(parents=True)
            Image.new("RGB", (32, 32), (number, 0, 255)).save(folder / "00000.ppm")
    data = load("gtsrb", tmp_path)
    assert [data.classes[label] for label in data.test.targets] == ["50 mph", "keep right"]
    colours = np.float32([[2, 0, 255], [38, 0, 255]]) / np.float32(255)
    np.testing.assert_array_equal(data.test.images[:, :, 7, 9], colours)


def test_a_file_must_be_named() -> None:
    with pytest.raises(ValueError, match="--taxinet"):
        load("taxinet", None)


def test_the_column_of_mass_is_between_columns() -> None:
    data = load("digits", None)
    image = data.test.images[0, 0]
    pairs = [(x, image[y, x]) for y in range(8) for x in range(8)]
    expected = sum(x * value for x, value in pairs) / sum(value for _, value in pairs)
    assert column_of_mass(data.test).targets[0] == pytest.approx(expected, rel=1e-5)
