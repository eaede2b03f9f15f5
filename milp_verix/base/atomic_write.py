"""Files that are written whole or not at all."""

import os
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from milp_verix.base.errors import InputError

_LONGEST_NAME, _LONGEST_SUFFIX = 255, 64
"""The most bytes in the name of a file, and in a suffix that tells what it holds."""


def write_atomically(path: Path, content: str | bytes, what: str = "") -> None:
    """Write ``content`` to ``path``; a reader sees the old file or the new one, nothing between.

    Text is written as UTF-8. Raises ``InputError`` as :func:`replacing` does.
    """
    data = content.encode("utf-8") if isinstance(content, str) else content
    with replacing(path, what) as target:
        target.write_bytes(data)


def written(text: str, path: str | Path | None, what: str = "") -> str:
    """Return ``text``, and write it to ``path`` if given, as :func:`write_atomically` does."""
    if path is not None:
        write_atomically(Path(path), text, what)
    return text


@contextmanager
def replacing(path: Path, what: str = "") -> Iterator[Path]:
    """Give a temporary path to write to; in the end that file replaces ``path``.

    The suffix is the same, and so is the mode of a file that is there. A link stays one: its target
    is replaced. A pipe or a device, such as /dev/stdout, is given itself and never replaced. On any
    error the earlier file stays and no part of a new one is left. Raises ``InputError`` where the
    path cannot be written; the message names it as ``what`` with the path behind.
    """
    temporary: Path | None = None
    try:
        if not replaceable(path):
            yield path
            return
        there = path.resolve()
        temporary = there.with_name(_temporary_name(there))
        mode = stat.S_IMODE(there.stat().st_mode) if there.exists() else None
        if mode is not None:
            temporary.touch(0o600)  # nobody else reads it before it has the mode of the old file
        yield temporary
        if mode is not None:
            temporary.chmod(mode)
        temporary.replace(there)
    except OSError as error:
        raise InputError(f"cannot write {what}{path}: {error.strerror or error}") from error
    finally:
        if temporary is not None:
            with suppress(OSError):  # mostly it is not there: it was renamed, or never was
                temporary.unlink()


def _temporary_name(path: Path) -> str:
    """Return a name for this thread alone, no longer than one may be, with the same suffix."""
    suffix = path.suffix if len(os.fsencode(path.suffix)) <= _LONGEST_SUFFIX else ""
    end = f".{os.getpid()}.{threading.get_ident()}{suffix}"
    room = _LONGEST_NAME - len(os.fsencode(end)) - 1
    return f".{os.fsencode(path.stem)[:room].decode(errors='ignore')}{end}"


def replaceable(path: Path) -> bool:
    """Return whether ``path`` is a regular file or does not exist; false for a pipe or a folder."""
    return path.is_file() or not path.exists()
