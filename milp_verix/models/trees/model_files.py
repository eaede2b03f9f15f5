"""Files of models of trees: what they begin with, what they hold, and what is damaged in them."""

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any

from milp_verix.base.errors import ModelError, first_line
from milp_verix.models.loaded_model import IN_MEMORY

MOST = 10**7
"""More features, classes or codes than in any table; arrays of so many entries fit in memory."""
_BEGINNING = 64


def path_of(source: Any) -> Path | None:
    """Return the path that ``source`` is, None for anything else."""
    return Path(source) if isinstance(source, str | PathLike) else None


def beginning_of(source: Any) -> bytes:
    """Return the first bytes of a file, or of bytes; none for anything else."""
    if isinstance(source, bytes):
        return source[:_BEGINNING]
    path = path_of(source)
    try:
        if path is None or not path.is_file():
            return b""
        with path.open("rb") as file:
            return file.read(_BEGINNING)
    except (OSError, ValueError):  # whoever reads it tells
        return b""


def text_of(content: bytes) -> str:
    """Return a file's text, in UTF-8, 16 or 32 and without a byte-order mark.

    Raises ``ValueError`` for bytes that are none.
    """
    return content.decode(json.detect_encoding(content)).removeprefix("\ufeff")


def content_of(source: Any) -> tuple[bytes | None, str | None]:
    """Return the bytes of a file, and their SHA-256; None for a model in memory."""
    path = path_of(source)
    content = source if isinstance(source, bytes) else None if path is None else path.read_bytes()
    return content, None if content is None else hashlib.sha256(content).hexdigest()


@contextmanager
def damage_told(library: str, path: Path | None) -> Iterator[None]:
    """Raise ``ModelError`` in place of what the reader of a damaged file meets."""
    try:
        yield
        return
    except KeyError as error:
        told = f"it has no {error.args[0]!r}"
    except RecursionError:
        told = "its brackets are nested too deep"
    except (ValueError, TypeError, IndexError, AttributeError, OverflowError) as error:
        told = first_line(error)
    told = f"it is truncated or damaged: {told}"
    raise ModelError(f"{library} cannot read {path or IN_MEMORY}: {told}")


def require(holds: bool, told: str) -> None:
    """Raise ``ValueError``, which says what is ``told``, unless something holds of a file."""
    if not holds:
        raise ValueError(told)
