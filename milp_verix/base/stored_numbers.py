"""Numbers in files, with limits on their size.

A header may claim 10¹² numbers, and an archive of a few kilobytes unpack to 40 GB. So the shape is
read first, and of an archive only the entry asked for is kept in memory.
"""

import errno
import gzip
import json
import math
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from tokenize import TokenError
from typing import IO, Any, Literal, TypeAlias
from zipfile import BadZipFile, ZipFile

import numpy as np
from numpy.typing import NDArray

from milp_verix.base.errors import LONG_NUMBER, InputError, listed, meant, said

_READERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}
NUMBERS = "biuf"
TEXTS = "US"
_LARGEST_ITEM = 2**14
_LONGEST_HEADER = 20_000
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_PARSED = 32
"""Bytes in memory for a byte of JSON, at the most: ``[[],[],…]`` is lists of lists."""


class UnreadableError(ValueError):
    """JSON that readers understand in different ways."""


_Header: TypeAlias = tuple[tuple[int, ...], bool, np.dtype[Any], int]
"""The shape, whether it is column by column, the dtype, and the length of a header in bytes."""


def array_in(
    path: Path, key: str = "", index: tuple[int, ...] = (), *, most: int, kinds: str = NUMBERS
) -> NDArray[Any]:
    """Return the array in a .npy file, or one of a .npz archive, or an entry of it.

    ``key`` may be left out where the archive holds one array. ``index`` is a place along the first
    axes. ``kinds`` are those of dtypes: ``NUMBERS``, ``TEXTS``, or both. Raises ``InputError``
    where there is no such array, and where it or its entry holds more than ``most`` of them.
    """
    try:
        with _stream(path, key) as stream:
            header = _header(stream)
            dtype = header[2]
            if dtype.kind not in kinds or dtype.itemsize > _LARGEST_ITEM:
                raise ValueError(f"its entries are {dtype}")
            return _entry(stream, header, index, most, f"{path}:{key}" if key else str(path))
    except InputError:
        raise
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from error
    # RuntimeError: an archive with a password, or packed by a method that Python does not know
    except (ValueError, EOFError, BadZipFile, zlib.error, RuntimeError) as error:
        what = "numbers" if kinds == NUMBERS else "texts or numbers"
        raise InputError(f"cannot read {path}: it holds no array of {what} ({error})") from error


def parsed(text: str) -> Any:
    """Return the content of JSON text.

    Raises ``ValueError`` for other text and for lists too deep, ``UnreadableError`` where readers
    differ: for NaN, for numbers beyond float64, for an object with the same name twice, for half a
    surrogate pair.
    """
    try:
        found = json.loads(
            text, parse_constant=_no_number, parse_float=_finite, object_pairs_hook=_named_once
        )
        if not text.isascii():
            text.encode()
        if _SURROGATE.search(text):
            json.dumps(found, ensure_ascii=False).encode()
    except RecursionError as error:
        raise ValueError("its lists are nested too deep") from error
    except UnicodeEncodeError as error:
        raise UnreadableError("a text in it has half of a surrogate pair") from error
    except ValueError as error:
        if said(error) == LONG_NUMBER:
            raise UnreadableError(LONG_NUMBER) from error
        raise
    return found


def _no_number(text: str) -> Any:
    raise UnreadableError(f"{text} is no number in JSON")


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise UnreadableError(f"the number {text[:40]} is too large")
    return number


def _named_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise UnreadableError(f"an object in it has {twice!r} twice")
    return found


def json_in(path: Path, most: int | None = None) -> Any:
    """Return the content of a JSON file of at most ``most`` bytes, by default of free memory.

    A file whose name ends in ``.gz`` is unpacked; ``most`` counts the bytes unpacked.
    Raises ``OSError`` where it is larger or cannot be read, ``ValueError`` where it is not JSON.
    """
    most = free_memory() // _PARSED if most is None else most
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            data = file.read(most + 1)
    except (EOFError, zlib.error) as error:
        raise OSError(errno.EIO, f"it is damaged ({error})") from error
    if len(data) > most:
        raise OSError(errno.EFBIG, f"it is larger than {most:,} bytes, the most that is of use")
    return parsed(data.decode("utf-8"))


@contextmanager
def _stream(path: Path, key: str) -> Iterator[IO[bytes]]:
    """Open the file of the array ``key``, inside an archive or not."""
    with path.open("rb") as file:
        magic = file.read(len(np.lib.format.MAGIC_PREFIX))
        file.seek(0)
        if not magic.startswith(b"PK"):
            if key and magic == np.lib.format.MAGIC_PREFIX:
                raise InputError(f"{path} holds one array without a name, there is no {key!r}")
            yield file
            return
        with ZipFile(file) as archive:
            members = {name.removesuffix(".npy"): name for name in archive.namelist()}
            if not key and len(members) == 1:
                key = next(iter(members))
            if key not in members:
                wish = f"has no array {key!r}; it " if key else "needs the name of an array; it "
                held = f"{listed(members) or 'nothing'}: {path}:KEY or {path}:KEY[INDEX]"
                raise InputError(f"{path} {wish}holds {held}{meant(key, members) if key else ''}")
            with archive.open(members[key]) as member:
                yield member


def _header(stream: IO[bytes]) -> _Header:
    head = BytesIO(stream.read(_LONGEST_HEADER))
    version = np.lib.format.read_magic(head)
    if version not in _READERS:
        raise ValueError(f"version {version} of the format is none of numbers")
    try:
        shape, fortran, dtype = _READERS[version](head)
    except (SyntaxError, TokenError) as error:
        raise ValueError(f"its header is damaged: {error}") from error
    if any(type(dim) is not int or dim < 0 for dim in shape):
        raise ValueError(f"its shape is {shape}")
    return shape, fortran, dtype, head.tell()


def _entry(
    stream: IO[bytes], header: _Header, index: tuple[int, ...], most: int, what: str
) -> NDArray[Any]:
    whole, fortran, dtype, start = header
    axes, shape = whole[: len(index)], whole[len(index) :]
    if len(index) > len(axes) or any(not -n <= i < n for i, n in zip(index, axes, strict=True)):
        index_text = ",".join(map(str, index))
        raise InputError(f"{what} asks for entry {index_text} of an array of shape {whole}")
    count, size = math.prod(shape), dtype.itemsize
    if count > most:
        raise InputError(
            f"{what} holds an array of shape {shape}, more than the {most} that fit; "
            "name an entry of it, or give another file"
        )
    order: Literal["C", "F"] = "F" if fortran else "C"
    place = int(np.ravel_multi_index(index, axes, mode="wrap", order=order)) if index else 0
    data = bytearray()
    # column by column, the numbers of an entry are apart; row by row they are one piece
    step, pieces = (math.prod(axes), count) if fortran and index else (0, 1)
    length = count // pieces if pieces else 0
    for piece in range(pieces):
        first = place + piece * step if step else place * count
        stream.seek(start + first * size)
        data += stream.read(length * size)
    if len(data) < count * size:
        raise ValueError("it is cut off")
    return np.frombuffer(data, dtype).reshape(shape, order=order)


def free_memory() -> int:
    """Return the bytes of memory that are free, or a cautious guess."""
    try:
        said = re.search(r"MemAvailable:\s*(\d+) kB", Path("/proc/meminfo").read_text())
    except OSError:
        said = None
    return 2**32 if said is None else int(said[1]) * 1024


def beyond_memory(what: str, needed: int, entries: str, free: int, fits: str) -> str:
    """Return the refusal of ``what`` needs more bytes than are ``free``, and what would fit."""
    return (
        f"{what} needs about {needed / 1e9:.3g} GB for {entries}, and {free / 1e9:.3g} GB are "
        f"free: {fits} would fit"
    )
