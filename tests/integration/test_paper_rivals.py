"""LIME and Anchors give masks of superpixels, and the same ones for the same seed."""

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from benchmarks.paper.rivals import DEFAULT, FINE, Mask, anchors_mask, lime_mask

MISSING = "a package of the extra rivals is not installed"


def bright_left(images: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return probabilities of two classes: the left half is brighter than the right, or not."""
    middle = images.shape[2] // 2
    means = images.mean(axis=(1, 3))
    gap = 20 * (means[:, :middle].mean(axis=1) - means[:, middle:].mean(axis=1))
    left = 1 / (1 + np.exp(-gap))
    return np.stack([left, 1 - left], axis=1)


def image(channels: int) -> NDArray[np.float32]:
    """Return a dark image with a bright square on its left."""
    made = np.random.default_rng(0).uniform(0, 0.1, (20, 20, channels)).astype(np.float32)
    made[6:14, 2:9] += np.float32(0.8)
    return made


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("kernel", [DEFAULT, FINE])
@pytest.mark.parametrize(("package", "explain"), [("lime", lime_mask), ("anchor", anchors_mask)])
def test_masks_are_superpixels(
    package: str, explain: Callable[..., Mask], kernel: float, channels: int
) -> None:
    pytest.importorskip(package, reason=MISSING)
    quickshift = pytest.importorskip("skimage.segmentation", reason=MISSING).quickshift
    before = repr(np.random.get_state())  # noqa: NPY002
    mask = explain(bright_left, image(channels), kernel=kernel, seed=1)
    assert repr(np.random.get_state()) == before  # noqa: NPY002
    assert (mask.dtype, mask.shape) == (np.dtype(bool), (20, 20))
    np.testing.assert_array_equal(
        mask, explain(bright_left, image(channels), kernel=kernel, seed=1)
    )
    coloured = np.repeat(image(channels), 3 // channels, axis=2).astype(np.float64)
    segments = quickshift(coloured, kernel_size=kernel, max_dist=200, ratio=0.2, rng=0)
    whole = [mask[segments == number] for number in np.unique(segments)]
    assert all(part.all() or not part.any() for part in whole)


def test_the_anchor_of_a_bright_square_is_the_square() -> None:
    pytest.importorskip("anchor", reason=MISSING)
    dark = np.zeros((10, 20, 20, 1), np.float32)
    found = anchors_mask(bright_left, image(1), kernel=FINE, others=dark)
    square = np.zeros((20, 20), bool)
    square[6:14, 2:9] = True
    np.testing.assert_array_equal(found, square)


def test_lime_sees_nothing_in_a_superpixel_of_one_colour() -> None:
    """It is hidden by its mean colour, which is its own: the reason for other images."""
    pytest.importorskip("lime", reason=MISSING)
    flat = np.zeros((20, 20, 1), np.float32)
    flat[6:14, 2:9] = 0.8
    assert not lime_mask(bright_left, flat, kernel=FINE)[6:14, 2:9].any()
