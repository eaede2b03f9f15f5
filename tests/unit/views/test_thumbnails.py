import io
from base64 import b64decode

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from milp_verix.views.image_view import overlay
from milp_verix.views.pictures import difference, overlaid, picture


def seen(address: str) -> NDArray[np.float64]:
    """Return the colours of a picture, shape (height, width, 3), between 0 and 1."""
    kind, data = address.split(",")
    assert kind == "data:image/png;base64"
    return np.asarray(Image.open(io.BytesIO(b64decode(data))).convert("RGB")) / 255


def test_a_grey_image_is_what_it_was_up_to_64_greys() -> None:
    grey = np.repeat(np.linspace(0, 1, 90).reshape(9, 10, 1), 3, axis=2)
    assert np.abs(seen(picture(grey)) - grey).max() < 0.5 / 63 + 1 / 255


def test_a_colour_image_of_few_colours_is_what_it_was() -> None:
    colours = np.random.default_rng(0).integers(0, 256, (8, 8, 3)) / 255
    assert np.abs(seen(picture(colours)) - colours).max() < 0.02


def test_an_overlay_has_the_colours_of_the_figures() -> None:
    colours = np.repeat(np.linspace(0, 1, 16).reshape(4, 4, 1), 3, axis=2)
    explained, undecided = np.eye(4, dtype=bool), np.eye(4, dtype=bool)[::-1]
    expected = overlay(colours, explained & ~undecided, undecided)
    assert (
        np.abs(seen(overlaid(colours, explained & ~undecided, undecided)) - expected).max() < 0.01
    )


def test_differences_are_red_above_zero_and_blue_below() -> None:
    change = np.array([[0.0, 1.0, -1.0], [0.5, -0.5, 1e-9]])
    colours = seen(difference(change))
    red, blue = colours[..., 0], colours[..., 2]
    assert np.ptp(colours[0, 0]) < 0.01  # no change has no colour
    assert all((red - blue)[place] > 0.02 for place in ((0, 1), (1, 0), (1, 2)))
    assert all((blue - red)[place] > 0.02 for place in ((0, 2), (1, 1)))
    bright = colours.sum(axis=2)
    assert bright[0, 1] < bright[1, 0] < bright[1, 2] < bright[0, 0]
    assert bright[0, 2] < bright[1, 1] < bright[0, 0]
    assert np.ptp(seen(difference(np.zeros((2, 2))))) < 0.01


def test_a_picture_of_28_pixels_takes_a_kilobyte() -> None:
    noise = np.random.default_rng(0).normal(size=(28, 28))
    assert len(difference(noise)) < 1000
