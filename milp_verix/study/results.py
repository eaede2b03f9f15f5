"""Whole results beside the journal of a study: one compressed JSON file for each task.

The file of a task is ``ab/abcd….json.gz`` in the folder of results, by its key, so that no folder
holds all of them. A record names it relative to the folder that the journal is in.
"""

import gzip
import os
from pathlib import Path
from typing import TYPE_CHECKING

from milp_verix.atomic_write import write_atomically
from milp_verix.errors import InputError

if TYPE_CHECKING:
    from milp_verix.results.public import ContrastiveExplanation, Explanation
    from milp_verix.study.journal import Record


class ResultsFolder:
    """The folder ``path`` of the whole results of the study in ``journal``; made if need be.

    Raises ``InputError`` where it cannot be made.
    """

    def __init__(self, path: Path, journal: Path) -> None:
        self._path = path
        try:
            path.mkdir(exist_ok=True)
        except OSError as error:
            raise InputError(f"cannot make the folder {path}: {error.strerror}") from error
        self._told = Path(_relative(path.resolve(), journal.resolve().parent))

    def write(self, key: str, content: bytes) -> str:
        """Write the result of a task; return its path as the record tells it.

        Raises ``InputError`` where it cannot be written.
        """
        name = Path(key[:2], f"{key}.json.gz")
        try:
            (self._path / name).parent.mkdir(exist_ok=True)
        except OSError as error:
            raise InputError(f"cannot write to {self._path}: {error.strerror}") from error
        write_atomically(self._path / name, content)
        return (self._told / name).as_posix()


def default_folder(journal: Path) -> Path:
    """Return the folder of results of a journal: ``STUDY.results`` beside ``STUDY.jsonl``."""
    return journal.resolve().with_suffix(".results")


def packed(result: "Explanation | ContrastiveExplanation") -> bytes:
    """Return a result as its file holds it. Equal results are equal bytes: no time is in them."""
    return gzip.compress(result.to_json().encode(), mtime=0)


def read_result(
    journal: str | Path, record: "Record"
) -> "Explanation | ContrastiveExplanation | None":
    """Return the whole result that a record of ``journal`` names; None where it names none.

    A row of :func:`milp_verix.read_study` will do as the record. Raises ``InputError`` for a file
    that cannot be read.
    """
    from milp_verix.results.public import ContrastiveExplanation, Explanation

    told = record.get("result")
    if not isinstance(told, str):  # None, or a table's empty cell
        return None
    kind = ContrastiveExplanation if record["task"] == "contrastive" else Explanation
    return kind.from_json(Path(journal).resolve().parent / told)


def _relative(path: Path, start: Path) -> str:
    try:
        return os.path.relpath(path, start)
    except ValueError:  # another drive of Windows
        return str(path)
