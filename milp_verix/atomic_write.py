"""Files that are written whole or not at all."""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from milp_verix.errors import InputError


def write_atomically(path: Path, content: str | bytes, what: str = "") -> None:
    """Write ``content`` to ``path``; a reader sees the old file or the new one, nothing between.

    Text is written as UTF-8. Raises ``InputError`` as :func:`replacing` does.
    """
    data = content.encode("utf-8") if isinstance(content, str) else content
    with replacing(path, what) as target:
        target.write_bytes(data)


@contextmanager
def replacing(path: Path, what: str = "") -> Iterator[Path]:
    """Give a temporary path to write to; in the end that file replaces ``path``.

    The suffix is the same. A link stays one: its target is replaced. A pipe or a device, such as
    /dev/stdout, is given itself and never replaced. On any error the earlier file stays and no part
    of a new one is left. Raises ``InputError`` where the path cannot be written; the message names
    it as ``what`` with the path behind.
    """
    temporary: Path | None = None
    try:
        if not replaceable(path):
            yield path
            return
        there = path.resolve()
        temporary = there.with_name(
            f".{there.stem}.{os.getpid()}.{threading.get_ident()}{there.suffix}"
        )
        yield temporary
        temporary.replace(there)
    except OSError as error:
        raise InputError(f"cannot write {what}{path}: {error.strerror or error}") from error
    finally:
        if temporary is not None:
            with suppress(OSError):  # mostly it is not there: it was renamed, or never was
                temporary.unlink()


def replaceable(path: Path) -> bool:
    """Return whether ``path`` is a regular file or does not exist; false for a pipe or a folder."""
    return path.is_file() or not path.exists()
