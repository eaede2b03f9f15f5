"""Inputs as images: pure arithmetic, no drawing.

Outline the feature that a counterfactual freed.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from numpy.typing import ArrayLike, NDArray

from milp_verix.base.errors import InputError
from milp_verix.base.image_shape import image_layout
from milp_verix.results.base import Result
from milp_verix.results.explanation import Explanation
from milp_verix.views.figures.parts.style import Status, statuses
from verix_encodings.arrays import BoolArray, FloatArray

MARK = "#e0218a"
"""Far from the colours of statuses, and rare in images."""
_RIM = "white"


def mark(axes: Axes, mask: BoolArray) -> None:
    """Outline the cells in ``mask`` of the picture in ``axes``, with a rim that sets it off."""
    sides = outline(mask)
    for colour, width in ((_RIM, 2.8), (MARK, 1.4)):
        axes.add_collection(
            LineCollection(sides, colors=colour, linewidths=width, capstyle="round", zorder=4)
        )


def outline(mask: BoolArray) -> list[tuple[tuple[float, float], tuple[float, float]]]:
    """Return the sides of the pixels in ``mask`` that face pixels outside it, as (x, y) pairs.

    Pixel (row, column) is the unit square around (x, y) = (column, row).
    """
    padded = np.pad(mask, 1)
    rows, columns = np.nonzero(padded[1:, 1:-1] != padded[:-1, 1:-1])
    sides = [
        ((column - 0.5, row - 0.5), (column + 0.5, row - 0.5))
        for row, column in zip(rows.tolist(), columns.tolist(), strict=True)
    ]
    rows, columns = np.nonzero(padded[1:-1, 1:] != padded[1:-1, :-1])
    sides += [
        ((column - 0.5, row - 0.5), (column - 0.5, row + 0.5))
        for row, column in zip(rows.tolist(), columns.tolist(), strict=True)
    ]
    return sides


EXPLANATION_RGB = (0.0, 0.80, 0.36)
UNDECIDED_RGB = (1.0, 0.60, 0.0)
_STILL_RGB = (0.78, 0.72, 0.60)
_TINT = 0.6
_LUMA = (0.299, 0.587, 0.114)
_RGBA = 4


@dataclass(frozen=True, slots=True, eq=False)
class ImageView:
    """The image that a flat input of ``height · width · channels`` values is.

    ``low`` and ``high``, shape (channels,), are the values drawn darkest and lightest.
    """

    height: int
    width: int
    channels: int
    channels_first: bool
    low: FloatArray
    high: FloatArray

    def arranged(self, values: ArrayLike) -> NDArray[Any]:
        """Return one value per coordinate as an array of shape (height, width, channels)."""
        flat = np.asarray(values).reshape(-1)
        if self.channels_first:
            return flat.reshape(self.channels, self.height, self.width).transpose(1, 2, 0)
        return flat.reshape(self.height, self.width, self.channels)

    def rgb(self, values: ArrayLike) -> FloatArray:
        """Return the colours of an input, shape (height, width, 3), between 0 and 1.

        A fourth channel is taken for opacity, over white.
        """
        span = self.high - self.low
        scaled = (self.arranged(values) - self.low) / np.where(span > 0, span, 1.0)
        colours: FloatArray = np.clip(scaled, 0.0, 1.0).astype(np.float64)
        if self.channels == 1:
            return np.repeat(colours, 3, axis=2)
        if self.channels == _RGBA:
            opacity = colours[:, :, 3:]
            return colours[:, :, :3] * opacity + (1.0 - opacity)
        return colours

    def strongest(self, values: ArrayLike) -> FloatArray:
        """Return for each pixel the value of largest magnitude, with its sign, (height, width)."""
        arranged = self.arranged(values)
        channel = np.abs(arranged).argmax(axis=2)[:, :, None]
        result: FloatArray = np.take_along_axis(arranged, channel, axis=2)[:, :, 0]
        return result

    def change(self, before: NDArray[Any], after: NDArray[Any]) -> FloatArray:
        """Return by how much each pixel changes, shape (height, width): the strongest channel."""
        return self.strongest(after.astype(np.float64) - before.astype(np.float64))

    def covered(self, coordinates: list[int]) -> BoolArray:
        """Return the pixels, shape (height, width), that some of ``coordinates`` belong to."""
        mask = np.zeros(self.height * self.width * self.channels, dtype=bool)
        mask[coordinates] = True
        pixels: BoolArray = np.any(self.arranged(mask), axis=2)
        return pixels


def image_view(result: Result, image_shape: tuple[int, ...] | None = None) -> ImageView | None:
    """Return how to see the input of ``result`` as an image, or None if it is not one.

    ``image_shape`` overrides that of the result, and this the input's own. Values are drawn on
    the scale of the domain, each channel on its own, or of the input itself where the domain is not
    finite. Raises ``InputError`` for an ``image_shape`` that is not an image's or does not hold the
    input.
    """
    known = result.image_shape or result.model.input_shape
    shape = tuple(known if image_shape is None else image_shape)
    size = result.input.size
    if image_shape is not None and int(np.prod(shape)) != size:
        raise InputError(
            f"image_shape={shape} has {int(np.prod(shape))} values, and the input has {size} "
            f"(shape {result.model.input_shape})"
        )
    layout = image_layout(shape)
    if layout is None:
        if image_shape is None:
            return None
        raise InputError(
            f"image_shape={shape} is not an image: expected (height, width), with 1, 3 or 4 "
            "channels first or last if it has any, and at least 4 pixels high and wide"
        )
    height, width, axis = layout
    channels = size // (height * width)
    unscaled = ImageView(height, width, channels, axis == 0, np.zeros(channels), np.ones(channels))
    low, high = (
        np.broadcast_to(np.asarray(end, dtype=np.float64), (size,)) for end in result.domain
    )
    if not (np.isfinite(low).all() and np.isfinite(high).all()):
        values = result.input.astype(np.float64)
        low, high = np.full(size, values.min()), np.full(size, values.max())
    return ImageView(
        height,
        width,
        channels,
        axis == 0,
        unscaled.arranged(low).min(axis=(0, 1)),
        unscaled.arranged(high).max(axis=(0, 1)),
    )


def status_masks(view: ImageView, explanation: Explanation) -> dict[Status, BoolArray]:
    """Return for each status the pixels that have it, shape (height, width).

    A pixel with several features is in the explanation if any of them is, else undecided if any
    of them is.
    """
    masks: dict[Status, BoolArray] = {}
    taken = np.zeros((view.height, view.width), dtype=bool)
    known = statuses(explanation)
    for status in Status:
        coordinates = [
            coordinate
            for group, own in zip(explanation.groups, known, strict=True)
            if own is status
            for coordinate in group
        ]
        masks[status] = view.covered(coordinates) & ~taken
        taken |= masks[status]
    return masks


def overlay(
    colours: FloatArray,
    explained: BoolArray,
    undecided: BoolArray,
    still: BoolArray | None = None,
) -> FloatArray:
    """Return an image in greys with the ``explained`` pixels tinted green, ``undecided`` orange.

    Pixels that stay as they are get the colour of their status if ``still`` marks them.

    Greys, so that no colour of the image itself passes for a status. ``colours`` and the result
    have shape (height, width, 3), the masks (height, width).
    """
    tinted = greys(colours)
    tints = [(explained, EXPLANATION_RGB), (undecided, UNDECIDED_RGB)]
    tints += [] if still is None else [(still, _STILL_RGB)]
    for mask, colour in tints:
        tinted[mask] = (1.0 - _TINT) * tinted[mask] + _TINT * np.array(colour)
    return tinted


def greys(colours: FloatArray) -> FloatArray:
    """Return an image of shape (height, width, 3) without its colours."""
    grey: FloatArray = np.repeat((colours @ np.array(_LUMA))[:, :, None], 3, axis=2)
    return grey


def sensitivity_map(view: ImageView, explanation: Explanation) -> FloatArray | None:
    """Return the sensitivity of each pixel, shape (height, width), or None where there is none.

    A pixel with several features shows the one with the largest magnitude.
    """
    if explanation.sensitivity is None:
        return None
    scores = np.zeros(explanation.input.size)
    for group, score in zip(explanation.groups, explanation.sensitivity, strict=True):
        scores[list(group)] = score
    return view.strongest(scores)
