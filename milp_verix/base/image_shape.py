"""Shapes in which an input is an image: its own, the user's, or that of the array given."""

import operator
from collections.abc import Sequence
from math import isqrt, prod

from milp_verix.base.errors import InputError, shown

Shape = tuple[int, ...]

_CHANNEL_COUNTS = (1, 3, 4)
_IMAGE_RANK = 3
_LEAST_SIDE = 4


def image_layout(shape: Shape) -> tuple[int, int, int] | None:
    """Return (height, width, channel axis) of an input shape with its batch, or None.

    The channel axis counts in the shape without its leading ones and is -1 for a grey image given
    as (height, width). An image is at least 4 pixels high and wide.
    """
    inner = shape
    while len(inner) > _IMAGE_RANK and inner[0] == 1:
        inner = inner[1:]
    readings = []
    if len(inner) == _IMAGE_RANK and inner[-1] in _CHANNEL_COUNTS:
        readings.append((inner[0], inner[1], 2))
    if len(inner) == _IMAGE_RANK and inner[0] in _CHANNEL_COUNTS:
        readings.append((inner[1], inner[2], 0))
    if len(inner) == 2:
        readings.append((inner[0], inner[1], -1))
    return next((image for image in readings if min(image[:2]) >= _LEAST_SIDE), None)


def image_shape_of(given: Sequence[int] | None, input_shape: Shape) -> Shape | None:
    """Return the argument ``image_shape`` for a network with inputs of ``input_shape``.

    Raises ``InputError`` unless it is the shape of an image with as many values, and the only one
    where ``input_shape`` is an image's itself.
    """
    if given is None:
        return None
    try:
        shape = tuple(operator.index(length) for length in given)
    except TypeError as error:
        raise InputError(
            f"image_shape is (height, width) or (height, width, channels), got {shown(given)}"
        ) from error
    if prod(shape) != prod(input_shape):
        raise InputError(
            f"image_shape={shown(shape)} has {prod(shape)} values, the network's input has "
            f"{prod(input_shape)} (shape {input_shape})"
        )
    if image_layout(shape) is None:
        raise InputError(
            f"image_shape={shown(shape)} is no image: expected height and width of at least 4 "
            "pixels, and 1, 3 or 4 channels behind or before them if it has any"
        )
    if image_layout(input_shape) is not None and _pixels(shape) != _pixels(input_shape):
        raise InputError(
            f"image_shape={shape} contradicts the network, whose input of shape {input_shape} is "
            "an image already: leave image_shape out"
        )
    return shape


def shape_seen(shape: Shape, input_shape: Shape, image_shape: Shape | None = None) -> Shape | None:
    """Return the shape in which an input is an image, given as an array of ``shape``, or None.

    An array fits if it has one axis, the input's shape, or ``image_shape``, dimensions of 1 aside.
    If the input is flat and no ``image_shape`` is given, an image of one channel fits as well:
    its shape is returned. Raises ``InputError`` for an array that does not fit.
    """
    inner = without_ones(shape)
    if shape == (prod(input_shape),) or inner == without_ones(input_shape):
        return image_shape
    if image_shape is not None and inner == without_ones(image_shape):
        return image_shape
    grey = len(inner) == 2 and image_layout(inner) is not None
    if image_shape is None and grey and is_flat(input_shape) and prod(inner) == prod(input_shape):
        return inner
    raise InputError(_misfit(shape, input_shape, image_shape))


def is_flat(input_shape: Shape) -> bool:
    """Return whether the values of an input stand in one row."""
    return len(without_ones(input_shape)) <= 1


def said(shape: Shape) -> str:
    """Return the words for an image shape in Python and on the command line."""
    return f"image_shape={shape} (--image-shape {','.join(map(str, shape))})"


def likely_image(size: int) -> str:
    """Return the words that make ``size`` values an image, by the example of a square."""
    for channels in _CHANNEL_COUNTS:
        side = isqrt(size // channels)
        if side >= _LEAST_SIDE and side * side * channels == size:
            shape = (side, side) if channels == 1 else (side, side, channels)
            first = f", or {(channels, side, side)} with channels first" if channels > 1 else ""
            return f"{said(shape)}{first}"
    return "image_shape=(height, width, channels)"


def without_ones(shape: Shape) -> Shape:
    """Return a shape without its dimensions of 1."""
    return tuple(length for length in shape if length != 1)


def _pixels(shape: Shape) -> tuple[int, int, int, bool] | None:
    """Return height, width, channels and whether these come first."""
    layout = image_layout(shape)
    if layout is None:
        return None
    height, width, axis = layout
    channels = prod(shape) // (height * width)
    return height, width, channels, channels > 1 and axis == 0


def _misfit(shape: Shape, input_shape: Shape, image_shape: Shape | None) -> str:
    either = "" if image_shape is None else f" or {image_shape}"
    text = f"the input has shape {shape}, expected {input_shape}{either}"
    size = prod(input_shape)
    if prod(shape) != size:
        side = isqrt(size)
        square = is_flat(input_shape) and side >= _LEAST_SIDE and side * side == size
        image = f", or as an image such as {(side, side)}" if square else ""
        several = f". If it holds {shape[0]} inputs, give one" if prod(shape[1:]) == size else ""
        return f"{text}: {size} values, in such a shape or in a row{image}{several}"
    if image_shape is None and is_flat(input_shape) and image_layout(shape) is not None:
        return (
            f"{text}: as many values, but the order of their axes in a row is not certain; say "
            f"{said(shape)} if the network takes them as they stand, or give them in a row"
        )
    return f"{text}: as many values, with other axes. Give them in the network's order, or in a row"
