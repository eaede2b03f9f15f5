"""An input in a file: an array, or a picture that Pillow reads."""

import re
import warnings
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from milp_verix.base.errors import InputError, refusing
from milp_verix.base.image_shape import Shape, image_layout, is_flat, likely_image, said
from milp_verix.base.stored_numbers import NUMBERS, TEXTS, array_in, json_in

PICTURES = ("png", "jpg", "jpeg", "bmp", "gif", "webp", "tif", "tiff")
_LOSSY = ("jpg", "jpeg", "webp")
_WITH_FRAMES = ("gif", "webp", "tif", "tiff")
_FORMS = (
    "give a .npy file, a .npz file with KEY[INDEX] after a colon, or a picture: "
    f"{', '.join('.' + suffix for suffix in PICTURES)}"
)
_SPECIFICATION = re.compile(
    rf"(?P<path>.+?\.(?:npy|npz|{'|'.join(PICTURES)}))"
    r"(?::(?P<key>[^\[\]]*)(?:\[(?P<index>-?\d{1,18}(?:,-?\d{1,18})*)\])?)?",
    re.IGNORECASE | re.DOTALL,
)
_ROW = re.compile(r"(?P<path>.+\.(?:csv|parquet)):\d+", re.IGNORECASE | re.DOTALL)
_LONGEST_NUMBER = 1000
_LONGEST_TEXT = 2**20
"""Bytes in a JSON file for each number, and besides: far more than any needs."""
_MODES = {1: "L", 3: "RGB", 4: "RGBA"}
_BYTE = 255


def read_input(
    specification: str, input_shape: Shape, image_shape: Shape | None = None
) -> NDArray[Any]:
    """Return the array that ``specification`` names, as it is in the file.

    ``PATH.npy``, ``PATH.npz:KEY`` (the key may be left out of an archive with one array), or a
    picture with a suffix of ``PICTURES``, turned into the channels and the axes of ``image_shape``
    or ``input_shape``; for a flat input of as many values, its grey levels in its own shape.
    ``[INDEX]`` behind a key, or behind a colon for ``.npy``, takes one entry along the first axis,
    or along several: ``data.npz:images[3]``. Raises ``InputError`` for a part that does not exist.
    """
    path, key, entry = _parts(specification)
    if path.suffix.lower()[1:] in PICTURES:
        if key or entry:
            raise InputError(f"{path} is a picture and takes nothing after a colon, got {key!r}")
        return _picture(path, input_shape, image_shape)
    return array_in(path, key, entry, most=prod(input_shape))


def read_texts(specification: str, most: int) -> NDArray[Any]:
    """Return the array of at most ``most`` texts or numbers; raises as :func:`read_input` does."""
    path, key, entry = _parts(specification)
    return array_in(path, key, entry, most=most, kinds=NUMBERS + TEXTS)


def read_numbers(path: Path, most: int) -> Any:
    """Return what a .npy or .json file of so many numbers holds; ``InputError`` for others."""
    with refusing(f"cannot read {path}", OSError, ValueError):
        if path.suffix == ".npy":
            return array_in(path, most=most)
        if path.suffix == ".json":
            return json_in(path, _LONGEST_TEXT + most * _LONGEST_NUMBER)
    raise InputError(f"expected a .npy or .json file, got {path}")


def file_of(specification: str) -> Path:
    """Return the file of an input, which may be of another kind than arrays and pictures."""
    matched = _SPECIFICATION.fullmatch(specification) or _ROW.fullmatch(specification)
    return Path(specification if matched is None else matched["path"])


def _parts(specification: str) -> tuple[Path, str, tuple[int, ...]]:
    """Return the path, the key and the index of a specification."""
    matched = _SPECIFICATION.fullmatch(specification)
    if matched is None:
        named = re.search(r"\.(json|csv|parquet)", specification, re.IGNORECASE)
        by_name = f"; values by name, {named[0]}, need --inputs" if named else ""
        raise InputError(f"cannot tell what the input {specification!r} is: {_FORMS}{by_name}")
    index = matched["index"]
    entry = tuple(int(part) for part in index.split(",")) if index else ()
    return Path(matched["path"]), matched["key"] or "", entry


def scale_bytes(
    array: NDArray[Any], domain: tuple[float, float], dtype: np.dtype[np.floating]
) -> NDArray[Any]:
    """Map bytes 0..255 to the domain, ``lower + (upper − lower)·b/255``, in ``dtype``.

    Anything but an array of uint8 is returned unchanged, and so is everything where the domain
    is not finite.
    """
    low, high = (dtype.type(end) for end in domain)
    if array.dtype != np.uint8 or not (np.isfinite(low) and np.isfinite(high)):
        return array
    scaled = low + (high - low) * (array.astype(dtype) / dtype.type(_BYTE))
    # an end such as 2.8215 may be rounded out of the domain
    least = low if float(low) >= domain[0] else np.nextafter(low, high)
    most = high if float(high) <= domain[1] else np.nextafter(high, low)
    return np.asarray(np.clip(scaled, least, most))


def scaled_note(domain: tuple[float, float]) -> str:
    """Return a note that bytes were scaled to the domain."""
    low, high = domain
    return f"the input's bytes were scaled from 0..255 to [{low:g}, {high:g}]"


def decoded_note(specification: str) -> str | None:
    """Return a note that a picture was decoded; None for an array."""
    matched = _SPECIFICATION.fullmatch(specification)
    path = Path(matched["path"] if matched else "")
    suffix = path.suffix.lower()[1:]
    if suffix not in PICTURES:
        return None
    frame = ", its first frame" if suffix in _WITH_FRAMES else ""
    lossy = "; such a file may be lossy: the claim is about the decoded values"
    return f"the input was decoded from {path.name}{frame}{lossy if suffix in _LOSSY else ''}"


def _picture(path: Path, input_shape: Shape, image_shape: Shape | None) -> NDArray[Any]:
    from PIL import Image, UnidentifiedImageError

    try:
        # Pillow warns of what is damaged, and of many pixels: here the size is looked at first
        with warnings.catch_warnings(action="ignore"), Image.open(path) as image:
            if image.mode not in ("1", "L", "LA", "P", "PA", "RGB", "RGBA"):
                raise InputError(
                    f"{path} has mode {image.mode}; convert it to grey or RGB with 8 bits a channel"
                )
            shape, layout = _shape_of_picture(path, image.size, input_shape, image_shape)
            height, width, axis = layout
            channels = prod(shape) // (height * width)
            if image.size != (width, height):
                raise InputError(
                    f"{path} is {image.width} × {image.height} pixels, the network takes "
                    f"{width} × {height}: resize it first"
                )
            image.load()
            alpha = np.asarray(image.convert("RGBA"))[..., 3]
            if channels < 4 and alpha.min() < _BYTE:
                raise InputError(f"{path} is transparent in places; flatten it first")
            pixels = np.asarray(image.convert(_MODES[channels]))
    except InputError:
        raise
    except Image.DecompressionBombError as error:
        raise InputError(
            f"cannot read {path}: it claims far more pixels than a network takes ({error})"
        ) from error
    except (UnidentifiedImageError, SyntaxError, ValueError, EOFError) as error:
        raise InputError(f"cannot read {path}: it is damaged or not a picture") from error
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from error
    if channels > 1 and axis == 0:
        pixels = np.moveaxis(pixels, -1, 0)
    return pixels.reshape(shape)


def _shape_of_picture(
    path: Path, size: tuple[int, int], input_shape: Shape, image_shape: Shape | None
) -> tuple[Shape, tuple[int, int, int]]:
    """Return the shape that a picture of ``size`` (width, height) gets, with its layout."""
    shape = image_shape or input_shape
    layout = image_layout(shape)
    if layout is not None:
        return shape, layout
    width, height = size
    values, pixels = prod(input_shape), width * height
    if not is_flat(input_shape):
        raise InputError(
            f"the network takes inputs of shape {input_shape}, which are no pictures: give the "
            f"input of {path} as a .npy file instead"
        )
    layout = image_layout((height, width))
    if pixels == values and layout is not None:
        return (height, width), layout
    if values in (3 * pixels, 4 * pixels):
        channels = values // pixels
        raise InputError(
            f"the network takes {values} values in a row, of shape {input_shape}, whose order "
            f"{path} does not tell: say {said((height, width, channels))} if the channels of a "
            f"pixel stand together, {said((channels, height, width))} if each channel does"
        )
    raise InputError(
        f"{path} is {width} × {height} pixels, the network takes {values} values, of shape "
        f"{input_shape}: resize it first, and say {likely_image(values)} if it is an image"
    )
