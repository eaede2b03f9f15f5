"""Files of models of trees: what they begin with, and what they hold."""

import hashlib
from os import PathLike
from pathlib import Path
from typing import Any

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


def content_of(source: Any) -> tuple[bytes | None, str | None]:
    """Return the bytes of a file, and their SHA-256; None for a model in memory."""
    path = path_of(source)
    content = source if isinstance(source, bytes) else None if path is None else path.read_bytes()
    return content, None if content is None else hashlib.sha256(content).hexdigest()
