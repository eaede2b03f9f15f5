"""Small pictures as data: PNG files with a palette, in an address that needs no network."""

from functools import cache
from io import BytesIO

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from milp_verix.views.figures.parts.image_view import greys, overlay
from milp_verix.views.figures.parts.style import colour_scale
from milp_verix.views.pages.parts import png
from verix_encodings.arrays import BoolArray, FloatArray

_GREYS = 64
_OVERLAY_GREYS = 16
_COLOURS = 64
_STEPS = 7
"""Shades of red, and of blue: with white these are 15 colours, four bits a pixel."""


def picture(colours: FloatArray) -> str:
    """Return an image of shape (height, width, 3), between 0 and 1, as the address of a PNG."""
    if np.array_equal(colours[..., 0], colours[..., 1]) and np.array_equal(
        colours[..., 0], colours[..., 2]
    ):
        return _address(_levels(colours[..., 0], _GREYS), _greys(_GREYS))
    whole = Image.fromarray(np.rint(colours * 255).astype(np.uint8))
    return _saved(whole.quantize(_COLOURS))


def overlaid(colours: FloatArray, explained: BoolArray, undecided: BoolArray) -> str:
    """Return :func:`.image_view.overlay` as the address of a PNG."""
    status = explained + 2 * undecided.astype(np.uint8)
    levels = _levels(greys(colours)[..., 0], _OVERLAY_GREYS)
    return _address(levels + _OVERLAY_GREYS * status, _overlay_palette())


def difference(change: FloatArray) -> str:
    """Return signed changes, shape (height, width), as the address of a PNG.

    Zero is white, a rise red and a fall blue, the strongest change of the image the darkest; the
    least change has a colour.
    """
    limit = float(np.abs(change).max(initial=0.0)) or 1.0
    steps = np.sign(change) * np.ceil(np.abs(change) / limit * _STEPS)
    return _address((steps + _STEPS).astype(np.uint8), _signed_palette())


def _levels(values: FloatArray, count: int) -> NDArray[np.uint8]:
    return np.rint(values * (count - 1)).clip(0, count - 1).astype(np.uint8)


@cache
def _greys(count: int) -> bytes:
    return _bytes(np.repeat(np.linspace(0, 1, count)[:, None], 3, axis=1))


@cache
def _overlay_palette() -> bytes:
    """Return the greys, then the tints of explained pixels, then those of undecided ones."""
    greys = np.repeat(np.linspace(0, 1, _OVERLAY_GREYS)[None, :, None], 3, axis=2)
    masks = np.repeat(np.eye(3, dtype=bool)[:, :, None], _OVERLAY_GREYS, axis=2)
    return _bytes(overlay(np.repeat(greys, 3, axis=0), masks[1], masks[2]).reshape(-1, 3))


@cache
def _signed_palette() -> bytes:
    shades = np.linspace(-1, 1, 2 * _STEPS + 1)
    colours, scale = colour_scale(shades)
    return _bytes(colours(scale(shades))[:, :3])


def _bytes(colours: NDArray[np.float64]) -> bytes:
    return np.rint(colours * 255).astype(np.uint8).tobytes()


def _address(indices: NDArray[np.uint8], palette: bytes) -> str:
    image = Image.fromarray(np.ascontiguousarray(indices))
    image.putpalette(palette)
    return _saved(image)


def _saved(image: Image.Image) -> str:
    out = BytesIO()
    image.save(out, "PNG")
    return png(out.getvalue())
