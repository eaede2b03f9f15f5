"""The command line's INPUT: an array in a file, or a picture."""

import re
import zlib
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.lib.npyio import NpzFile
from numpy.typing import NDArray
from PIL import Image, UnidentifiedImageError

from milp_verix.errors import InputError
from milp_verix.features import image_layout

_FORMS = "give a .npy file, a .npz file with KEY[INDEX] after a colon, or a .png"
_SPECIFICATION = re.compile(
    r"(?P<path>.+?\.(?:npy|npz|png))(?::(?P<key>[^\[\]]*)(?:\[(?P<index>-?\d+(?:,-?\d+)*)\])?)?",
    re.IGNORECASE | re.DOTALL,
)
_MODES = {1: "L", 3: "RGB", 4: "RGBA"}
_BYTE = 255


def read_input(specification: str, input_shape: tuple[int, ...]) -> NDArray[Any]:
    """Return the array that ``specification`` names, as it is in the file.

    ``PATH.npy``, ``PATH.npz:KEY`` (the key may be left out of an archive with one array), or a
    picture ``PATH.png``, turned into the channels and the axes of ``input_shape``. ``[INDEX]``
    behind a key, or behind a colon for ``.npy``, takes one entry along the first axis, or along
    several: ``data.npz:images[3]``. Raises ``InputError`` for whatever is not there.
    """
    matched = _SPECIFICATION.fullmatch(specification)
    if matched is None:
        raise InputError(f"cannot tell what the input {specification!r} is: {_FORMS}")
    path, key, index = Path(matched["path"]), matched["key"] or "", matched["index"]
    kind = path.suffix.lower()
    if kind == ".png":
        if key or index:
            raise InputError(f"{path} is a picture and takes nothing after a colon, got {key!r}")
        return _picture(path, input_shape)
    array = _stored(path, key)
    return array if index is None else _entry(array, index, specification)


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
    return np.asarray(np.clip(scaled, low, high))


def _stored(path: Path, key: str) -> NDArray[Any]:
    try:
        loaded: NDArray[Any] | NpzFile = np.load(path, allow_pickle=False)
        if isinstance(loaded, np.ndarray):
            if key:
                raise InputError(f"{path} holds one array without a name, there is no {key!r}")
            return np.asarray(loaded)
        with loaded:
            names = list(loaded.files)
            if not key and len(names) == 1:
                key = names[0]
            if key not in names:
                listed = ", ".join(names) or "nothing"
                asked = f"has no array {key!r}; it " if key else "needs the name of an array; it "
                raise InputError(f"{path} {asked}holds {listed}: {path}:KEY or {path}:KEY[INDEX]")
            return np.asarray(loaded[key])
    except InputError:
        raise
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from error
    except (ValueError, EOFError, BadZipFile, zlib.error) as error:
        raise InputError(f"cannot read {path}: it holds no array of numbers ({error})") from error


def _entry(array: NDArray[Any], index: str, specification: str) -> NDArray[Any]:
    try:
        return np.asarray(array[tuple(int(part) for part in index.split(","))])
    except IndexError as error:
        raise InputError(
            f"{specification} asks for entry {index} of an array of shape {array.shape}"
        ) from error


def _picture(path: Path, input_shape: tuple[int, ...]) -> NDArray[Any]:
    layout = image_layout(input_shape)
    if layout is None:
        raise InputError(
            f"the network takes inputs of shape {input_shape}, which are no pictures: give the "
            f"input of {path} as a .npy file instead"
        )
    height, width, axis = layout
    channels = int(np.prod(input_shape)) // (height * width)
    try:
        with Image.open(path) as image:
            image.load()
            if image.mode not in ("1", "L", "LA", "P", "PA", "RGB", "RGBA"):
                raise InputError(f"{path} has mode {image.mode}; convert it to 8 bits a channel")
            if image.size != (width, height):
                raise InputError(
                    f"{path} is {image.width} × {image.height} pixels, the network takes "
                    f"{width} × {height}: resize it first"
                )
            alpha = np.asarray(image.convert("RGBA"))[..., 3]
            if channels < 4 and alpha.min() < _BYTE:
                raise InputError(f"{path} is transparent in places; flatten it first")
            pixels = np.asarray(image.convert(_MODES[channels]))
    except (UnidentifiedImageError, SyntaxError) as error:
        raise InputError(f"cannot read {path}: it is damaged or not a picture") from error
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from error
    if channels > 1 and axis == 0:
        pixels = np.moveaxis(pixels, -1, 0)
    return pixels.reshape(input_shape)
