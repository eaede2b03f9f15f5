"""Inputs as images, their pixels by status, and a row of pictures on a sheet."""

import operator
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias, TypeVar

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import Colormap, Normalize
from numpy.typing import ArrayLike, NDArray

from milp_verix.base.errors import InputError, refusing
from milp_verix.base.image_shape import image_layout
from milp_verix.results.base import Result
from milp_verix.results.explanation import Explanation
from milp_verix.views import style
from milp_verix.views.feature_status import Coloured, Status, statuses
from verix_encodings.arrays import BoolArray, FloatArray

Scale: TypeAlias = tuple[Colormap, Normalize]
Own = TypeVar("Own", bound=Coloured)

MARK = "#e0218a"
"""Far from the colours of statuses, and rare in images."""
PANEL, GAP = 2.9, 0.25
_RIM, _CAPTION = "white", 0.25
_FLATTEST, _TALLEST = 0.1, 1.3
"""Height of a box in terms of its width; an image beyond that is drawn narrower."""
_EXPLANATION_RGB, _UNDECIDED_RGB, _STILL_RGB = (
    (0.0, 0.80, 0.36),
    (1.0, 0.60, 0.0),
    (0.78, 0.72, 0.60),
)
_TINT = 0.6
_LUMA = (0.299, 0.587, 0.114)
_RGBA = 4


@dataclass(frozen=True, slots=True, eq=False)
class ImageView:
    """The image that a flat input of ``height · width · channels`` values is.

    ``low`` and ``high``, shape (channels,), are the values drawn darkest and lightest; ``shape`` is
    the one that was asked for, if any.
    """

    height: int
    width: int
    channels: int
    channels_first: bool
    low: FloatArray
    high: FloatArray
    shape: tuple[int, ...] | None = None

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

    def pixels(self, result: Result, features: Iterable[int]) -> BoolArray:
        """Return the pixels, shape (height, width), of some ``features``."""
        return self.covered([one for feature in features for one in result.groups[feature]])

    def filled(self, value: float) -> FloatArray:
        """Return an array of shape (height, width)."""
        return np.full((self.height, self.width), value)


def image_view(result: Result, image_shape: tuple[int, ...] | None = None) -> ImageView | None:
    """Return how to see the input of ``result`` as an image, or None if it is not one.

    ``image_shape`` overrides that of the result, and this the input's own. Values are drawn on
    the scale of the domain, each channel on its own, or of the input itself where the domain is not
    finite. Raises ``InputError`` for an ``image_shape`` that is not an image's or does not hold the
    input.
    """
    known = result.image_shape or result.model.input_shape
    with refusing("image_shape is (height, width) or (height, width, channels)", TypeError):
        shape = tuple(map(operator.index, known if image_shape is None else image_shape))
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
    view = ImageView(height, width, channels, axis == 0, np.zeros(channels), np.ones(channels))
    low, high = (
        np.broadcast_to(np.asarray(end, dtype=np.float64), (size,)) for end in result.domain
    )
    if not (np.isfinite(low).all() and np.isfinite(high).all()):
        values = result.input.astype(np.float64)
        low, high = np.full(size, values.min()), np.full(size, values.max())
    darkest, lightest = view.arranged(low).min(axis=(0, 1)), view.arranged(high).max(axis=(0, 1))
    return replace(view, low=darkest, high=lightest, shape=image_shape)


def status_masks(view: ImageView, explanation: Explanation) -> dict[Status, BoolArray]:
    """Return for each status the pixels that have it, shape (height, width).

    A pixel with several features is in the explanation if any of them is, else undecided if any
    of them is.
    """
    return masks_of(view, explanation, statuses(explanation), list(Status))


def masks_of(
    view: ImageView, result: Result, known: Sequence[Own], every: Sequence[Own]
) -> dict[Own, BoolArray]:
    """Return the pixels of each status in ``every``: the first that a feature of a pixel has."""
    masks: dict[Own, BoolArray] = {}
    taken = np.zeros((view.height, view.width), dtype=bool)
    for status in every:
        own = [feature for feature, found in enumerate(known) if found is status]
        masks[status] = view.pixels(result, own) & ~taken
        taken |= masks[status]
    return masks


def overlay(
    colours: FloatArray, explained: BoolArray, undecided: BoolArray, still: BoolArray | None = None
) -> FloatArray:
    """Return an image in greys with the ``explained`` pixels tinted green, ``undecided`` orange.

    Pixels that stay as they are get the colour of their status if ``still`` marks them. ``colours``
    and the result have shape (height, width, 3), the masks (height, width).
    """
    tints = [(explained, _EXPLANATION_RGB), (undecided, _UNDECIDED_RGB)]
    return tinted(colours, tints if still is None else [*tints, (still, _STILL_RGB)])


def tinted(colours: FloatArray, tints: Iterable[tuple[BoolArray, tuple[float, ...]]]) -> FloatArray:
    """Return an image in greys with tints: no colour of the image itself passes for a status."""
    found = greys(colours)
    for mask, colour in tints:
        found[mask] = (1.0 - _TINT) * found[mask] + _TINT * np.array(colour)
    return found


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


def outline(mask: BoolArray) -> list[tuple[tuple[float, float], tuple[float, float]]]:
    """Return the sides of the pixels in ``mask`` that face pixels outside it, as (x, y) pairs.

    Pixel (row, column) is the unit square around (x, y) = (column, row).
    """
    padded = np.pad(mask, 1)
    above = np.argwhere(padded[1:, 1:-1] != padded[:-1, 1:-1]).tolist()
    before = np.argwhere(padded[1:-1, 1:] != padded[1:-1, :-1]).tolist()
    return [
        *(((x - 0.5, y - 0.5), (x + 0.5, y - 0.5)) for y, x in above),
        *(((x - 0.5, y - 0.5), (x - 0.5, y + 0.5)) for y, x in before),
    ]


def mark(axes: Axes, mask: BoolArray) -> None:
    """Outline the cells in ``mask`` of the picture in ``axes``, with a rim that sets it off."""
    sides = outline(mask)
    for colour, width in ((_RIM, 2.8), (MARK, 1.4)):
        axes.add_collection(
            LineCollection(sides, colors=colour, linewidths=width, capstyle="round", zorder=4)
        )


class PictureRow:
    """A sheet with space for ``count`` pictures side by side, and ``below`` inches below them.

    ``beside`` inches to their right are free, ``height`` is that of a picture, ``top`` and
    ``bottom`` are its ends.
    """

    def __init__(self, view: ImageView, count: int, below: float, beside: float = 0.0) -> None:
        self.ratio = min(_TALLEST, max(_FLATTEST, view.height / view.width))
        self.height, self.top = PANEL * self.ratio, style.HEADER + _CAPTION
        self.bottom = self.top + self.height
        self.content = count * PANEL + (count - 1) * GAP
        self.sheet = style.Sheet(self.content + beside + 2 * style.MARGIN, self.bottom + below)

    def left(self, place: int) -> float:
        """Return the left edge of a picture."""
        return style.MARGIN + place * (PANEL + GAP)

    def picture(self, place: int, colours: FloatArray, title: str) -> Axes:
        """Show ``colours``, shape (height, width, 3), under a ``title``."""
        axes = self._box(place, title)
        axes.imshow(colours, interpolation="nearest")
        return axes

    def mapped(
        self, place: int, values: FloatArray, title: str, label: str, scale: Scale | None = None
    ) -> Axes:
        """Show ``values``, shape (height, width), over a colour bar if there is a ``label``.

        The ``scale`` is that of :func:`.colour_scale` for the values, if none is given.
        """
        colours, norm = scale or style.colour_scale(values)
        axes = self._box(place, title)
        image = axes.imshow(values, cmap=colours, norm=norm, interpolation="nearest")
        if label:
            bar = self.sheet.axes(self.left(place), self.bottom + 0.09, PANEL, 0.1)
            style.colour_bar(image, bar, label)
        return axes

    def _box(self, place: int, title: str) -> Axes:
        axes = self.sheet.axes(self.left(place), self.top, PANEL, self.height)
        titled(axes, title)
        return axes


def titled(axes: Axes, title: str, size: float = 10.0) -> None:
    """Give a picture a title and a thin frame."""
    axes.set_title(title, fontsize=size, pad=4, color=style.INK, parse_math=False)
    style.frame(axes)
