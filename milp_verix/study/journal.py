"""The journal of a study, one JSON object a line for each task, and the whole results beside it.

A line is written under a lock by one call, at the end of the file, so several processes may write
to one file. A process that dies may leave the last line torn: readers drop it, and the next writer
cuts it off. A write that fails, on a full disk, leaves the file as it was before.

A folder takes the place of the file where a lock is not to be trusted, on a network's disks: each
process writes to a file of its own in it.

The whole result of a task is ``ab/abcd….json.gz`` in the folder of results, by its key, so that no
folder holds all of them. A record names it relative to the folder that the journal is in.

A task that runs for some seconds saves its answer to ``STUDY.partial/KEY.json.gz`` now and then.
The file is there until a record says that the task is done. So a task that was killed, or that a
limit ended, goes on from it.
"""

import gzip
import json
import os
import socket
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Annotated, Any, Literal, NotRequired, TypeAlias, TypedDict

from milp_verix.base.arguments import PATH, Kind, checked
from milp_verix.base.errors import InputError, refusing
from milp_verix.base.files import Autosave, write_atomically
from milp_verix.base.number_text import counted
from milp_verix.base.stored_kinds import Amount, Cost, Count, Indices, Prediction, Sha256
from milp_verix.base.stored_numbers import UnreadableError, parsed
from milp_verix.results.comparison_files import ComparedChecks
from milp_verix.results.contrast import ContrastiveExplanation
from milp_verix.results.conversion import converted, shown
from milp_verix.results.explanation import Explanation


class TaskSettings(TypedDict, total=False):
    """The arguments of a task's function, by name."""

    tolerances: Annotated[
        dict[str, Amount | Literal["inf"]] | None, "Tolerances by name; None is the defaults."
    ]


class JournalLine(TypedDict):
    """Written by ``batch``, ``explain_many`` and ``run_study``, a line for each task.

    It is read by ``batch``, ``report`` and ``read_study``. The best record of a task counts: done
    before undecided before failed, then the last.
    """

    key: Annotated[Sha256, "Hash of all that the answer depends on."]
    index: Annotated[Count, "Place of the input in the study."]
    name: NotRequired[Annotated[str, "File of the input, if it has one."]]
    task: Annotated[Literal["explain", "minimum", "contrastive", "compare"], "Kind of the task."]
    epsilon: Annotated[
        Cost | str | list[Any] | dict[str, Any],
        "Radius, as it was given: a number, a text such as inf, a list, radii by feature, or the "
        "hash of these.",
    ]
    settings: Annotated[
        TaskSettings, "All other arguments with their defaults; a long one is its hash."
    ]
    network: Annotated[Sha256, "Hash of the network."]
    version: Annotated[str, "Version of milp-verix."]
    status: Annotated[Literal["done", "undecided", "failed"], "How the task ended."]
    explanation: Annotated[
        Indices | None, "Features of the explanation or contrast; None if there is none."
    ]
    unknown: Annotated[Indices | None, "Features that were not decided; None for a failed task."]
    size: NotRequired[Annotated[Count | None, "Number of features of the explanation."]]
    lower_bound: NotRequired[Annotated[Cost | None, "Proven least cost, or None."]]
    robust: NotRequired[
        Annotated[
            bool | None, "Of a contrast: whether nothing changes the prediction; None if not known."
        ]
    ]
    prediction: Annotated[Prediction | None, "The prediction explained; None for a failed task."]
    seconds: Annotated[Amount, "Wall-clock time of the task."]
    reason: NotRequired[Annotated[str | None, "Why it is undecided or failed, or None."]]
    notes: Annotated[tuple[str, ...], "Reservations, and how the result came about."]
    result: NotRequired[
        Annotated[str | None, "Path of the whole result from the journal's folder, or None."]
    ]
    comparison: NotRequired[Annotated[ComparedChecks, "Of a comparison of solvers: its checks."]]


Record: TypeAlias = dict[str, Any]
"""One finished task, as JSON has it."""

DONE, UNDECIDED, FAILED = STATUSES = ("done", "undecided", "failed")
"""Endings of a task, the best first."""

_TAIL = 2**16
_START = b'{"key": "'


class Journal:
    """The journal at ``path``, opened to append records; ``statuses`` are those found in it.

    ``path`` is a file, which is made if it is not there; or a folder, if there is one, or if the
    name has no suffix. With ``fsync`` a record is on the disk when :meth:`append` returns: it then
    survives a failure of the machine, too. Raises ``InputError`` for a path that cannot be used.
    """

    def __init__(
        self, path: Path, *, fsync: bool = False, warn: Callable[[str], None] = warnings.warn
    ) -> None:
        self._fsync = fsync
        with refusing(f"cannot write the journal {path}"):
            if path.is_dir() or not path.suffix:
                path.mkdir(exist_ok=True)
            elif path.exists() and not path.is_file():
                raise InputError(f"the journal {path} is neither a file nor a folder")
            # no other process takes this name, on no machine
            own = f"{socket.gethostname()}-{os.getpid()}-{time.time_ns():x}.jsonl"
            self.path = path / own if path.is_dir() else path
            self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
        try:
            with _locked(self._file):  # nobody is in the middle of a line
                best = _best(path, warn)
                self.statuses = {name: STATUSES[rank] for name, (rank, _) in best.items()}
                if not self.statuses and not _started(self._file):
                    raise InputError(
                        f"{path} is no journal: no line of it is a record; name another file"
                    )
        except BaseException:
            os.close(self._file)
            raise

    def __enter__(self) -> "Journal":
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._file)

    def append(self, record: Record) -> None:
        """Write ``record`` behind the others, whole or not at all; ``InputError`` if it fails."""
        text = json.dumps(record, allow_nan=False, ensure_ascii=False) + "\n"
        line = text.encode("utf-8", "backslashreplace")  # as JSON writes half of a pair
        try:
            with _locked(self._file):
                end = _without_torn_line(self._file)
                try:
                    _write(self._file, line)
                    if self._fsync:
                        os.fsync(self._file)
                except BaseException:
                    with suppress(OSError):
                        os.ftruncate(self._file, end)
                    raise
        except OSError as error:
            raise InputError(
                f"cannot write to {self.path}: {error.strerror}; the records before are safe, and "
                "the same command goes on behind them"
            ) from error
        self.statuses[identity(record["key"], record["index"])] = record["status"]


def best_records(path: Path, warn: Callable[[str], None] = warnings.warn) -> Iterator[Record]:
    """Yield the best record of each task: done before undecided before failed, then the last.

    ``path`` is a file or a folder of ``.jsonl`` files. A line that is no record is dropped, and
    reported to ``warn``; so are records that others take the place of, and those of other versions.
    The places of the best records are found first, so one record at a time is in memory. Raises
    ``InputError`` for a journal that cannot be read, and for a record with a wrong field.
    """
    places = {place for _, place in _best(path, warn).values()}
    for place, record in _records(path, None):
        if place in places:
            yield record


def _best(path: Path, warn: Callable[[str], None]) -> dict[str, tuple[int, tuple[str, int]]]:
    """Return the best status of each task, as its place in ``STATUSES``, and its record's place."""
    chosen: dict[str, tuple[int, tuple[str, int]]] = {}
    versions: dict[str, set[str]] = {}
    doubles = 0
    for place, record in _records(path, warn):
        name, rank = identity(record["key"], record["index"]), STATUSES.index(record["status"])
        versions.setdefault(record["version"], set()).add(name)
        doubles += name in chosen and rank == chosen[name][0] == STATUSES.index(DONE)
        if name not in chosen or rank <= chosen[name][0]:
            chosen[name] = rank, place
    if doubles:
        warn(
            f"{path}: {counted(doubles, 'record')} with the key, the input and the status of an "
            "earlier one: the last counts; a task is written twice where two runs shared the "
            "journal"
        )
    if len(versions) > 1:
        counts = ", ".join(f"{len(names)} of {version}" for version, names in versions.items())
        warn(
            f"{path}: its tasks are by several versions of milp-verix, and not to be compared: "
            f"{counts}"
        )
    return chosen


def _records(
    path: Path, warn: Callable[[str], None] | None
) -> Iterator[tuple[tuple[str, int], Record]]:
    """Yield places, a file and a line, and records; without ``warn`` they were checked before."""
    files = sorted(path.glob("*.jsonl")) if path.is_dir() else [path]
    try:
        for file in files:
            with file.open("rb") as lines:
                for number, line in enumerate(lines, start=1):
                    record = _record_in(line)
                    if record is not None:
                        if warn is not None:
                            _refuse_faults(record, f"{file}: line {number}")
                        yield (file.name, number), record
                        continue
                    if warn is None:
                        continue
                    torn = "is torn" if not line.endswith(b"\n") else "is no record"
                    warn(f"{file}: line {number} {torn}; it is left out, and its task is open")
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error
    except UnreadableError as error:
        raise InputError(f"{file}: line {number}: {error}") from error


def _refuse_faults(record: Record, where: str) -> None:
    with refusing(where, ValueError):
        converted(record, JournalLine)
        for name in ("explanation", "unknown"):
            if len({*(record[name] or ())}) < len(record[name] or ()):
                raise ValueError(f"{name} is {shown(record[name])}, expected each entry once")


def identity(key: str, index: int) -> str:
    """Return what a record is known by: equal inputs at two places are two tasks."""
    return f"{key[:32]}:{index}"


def _record_in(line: bytes) -> Record | None:
    """Return the object with a key that a line holds whole; None for any other line.

    Raises ``UnreadableError`` for one that readers of JSON read in different ways.
    """
    if not line.endswith(b"\n"):
        return None
    try:
        data = parsed(line.decode())
    except UnreadableError:
        raise
    except ValueError:
        return None
    return data if isinstance(data, dict) and "key" in data else None


def _write(file: int, line: bytes) -> None:
    written = os.write(file, line)
    while written < len(line):  # a full disk says so at the next call
        written += os.write(file, line[written:])


def _without_torn_line(file: int) -> int:
    """Cut off what follows the last end of a line; return the length of the file."""
    end = os.fstat(file).st_size
    if not end or _piece(file, end - 1, end) == b"\n":
        return end
    while end:
        first = max(0, end - _TAIL)
        end = first + _piece(file, first, end).rfind(b"\n") + 1
        if end > first:
            break
    os.ftruncate(file, end)
    return end


def _started(file: int) -> bool:
    """Tell whether a file without records is empty, or the start of its first one."""
    first = _piece(file, 0, _TAIL)
    return b"\n" not in first and first.startswith(_START[: len(first)])


def _piece(file: int, first: int, end: int) -> bytes:
    os.lseek(file, first, os.SEEK_SET)
    return os.read(file, end - first)


@contextmanager
def _locked(file: int) -> Iterator[None]:
    """Hold the lock of an open file; systems without such locks get a folder of journals."""
    try:
        import fcntl
    except ImportError:
        yield
        return
    fcntl.flock(file, fcntl.LOCK_EX)
    try:
        yield
    finally:
        fcntl.flock(file, fcntl.LOCK_UN)


class ResultsFolder:
    """The folder ``path`` of the whole results of the study in ``journal``; made if need be."""

    def __init__(self, path: Path, journal: Path) -> None:
        self._path = path
        with refusing(f"cannot make the folder {path}"):
            path.mkdir(exist_ok=True)
        self._relative_folder = Path(_relative(path.resolve(), journal.resolve().parent))

    def write(self, key: str, content: bytes) -> str:
        """Write the result of a task; return its path as the record tells it."""
        name = file_of(key)
        with refusing(f"cannot write to {self._path}"):
            (self._path / name).parent.mkdir(exist_ok=True)
        write_atomically(self._path / name, content)
        return (self._relative_folder / name).as_posix()


def default_folder(journal: Path) -> Path:
    """Return the folder of results of a journal: ``STUDY.results`` beside ``STUDY.jsonl``."""
    return journal.resolve().with_suffix(".results")


def packed(result: Explanation | ContrastiveExplanation) -> bytes:
    """Return a result as its file holds it. Equal results are equal bytes: no time is in them."""
    return gzip.compress(result.to_json().encode(), mtime=0)


@checked(journal=PATH, record=Kind("a record of a journal", lambda value: hasattr(value, "get")))
def read_result(
    journal: str | Path, record: Record, *, results: str | Path | None = None
) -> Explanation | ContrastiveExplanation | None:
    """Return the whole result that a record of ``journal`` names; None where it names none.

    A row of :func:`milp_verix.read_study` will do as the record. ``results`` is the folder of
    results, if it is not inside the journal's folder. Raises ``InputError`` for a file that cannot
    be read, and for a path that leads out of the folder.
    """
    stored = record.get("result")
    if not isinstance(stored, str):  # None, or a table's empty cell
        return None
    if results is None:
        path = place(Path(journal).resolve().parent, stored)
    else:
        path = place(Path(results), file_of(record["key"]))
    if path is None:
        raise InputError(
            f"the journal {journal} names the result {stored!r}, which is outside its folder; if "
            "you trust it, give the folder of results as results=FOLDER"
        )
    kind = ContrastiveExplanation if record.get("task") == "contrastive" else Explanation
    return kind.from_json(path)


def file_of(key: str) -> str:
    """Return the name of the file of a task in a folder of results."""
    return f"{key[:2]}/{key}.json.gz"


def place(folder: Path, name: str) -> Path | None:
    """Return the path ``name`` in ``folder``; None if an absolute path, ``..`` or a link leads out.

    The journal that tells it may be a stranger's.
    """
    try:
        path = (folder / name).resolve()
        return path if path.is_relative_to(folder.resolve()) else None
    except (OSError, RuntimeError, ValueError):  # links in a circle, a zero in a name
        return None


def _relative(path: Path, start: Path) -> str:
    try:
        return os.path.relpath(path, start)
    except ValueError:  # another drive of Windows
        return str(path)


FIRST_SECONDS = 5.0
"""Shorter tasks leave no file."""

_GROWTH = 0.1


class Partial:
    """The answer so far of one task, in a file; ``snapshots`` takes functions that return it."""

    def __init__(self, path: Path | None, warn: Callable[[str], None]) -> None:
        self._path, self._warn = path, warn
        self._started = time.monotonic()
        self.snapshots: Callable[[Callable[[], Any]], None] | None = None

    @property
    def earlier(self) -> Path | None:
        """The file, if there is one."""
        return self._path if self._path is not None and self._path.exists() else None

    @contextmanager
    def saving(self) -> Iterator[None]:
        """Save snapshots, the first after some seconds, then less often; nothing without a path."""
        if self._path is None:
            yield
            return
        with Autosave(self._write, self._warn, FIRST_SECONDS, _GROWTH) as self.snapshots:
            yield

    def keep(self, result: Any) -> None:
        """Leave ``result``, which is not the last word, unless the task took a short time."""
        took = time.monotonic() - self._started
        if self._path is not None and (took >= FIRST_SECONDS or self.earlier):
            try:
                self._write(result)
            except InputError as error:
                self._warn(str(error))

    def _write(self, result: Any) -> None:
        assert self._path is not None
        folder = self._path.parent
        with refusing(f"cannot make the folder {folder}"):
            folder.mkdir(exist_ok=True)
        write_atomically(self._path, packed(result))


def forget(path: Path) -> None:
    """Remove the answer so far of a task that is done, and the folder if it was the last one."""
    if path.exists():
        for file in (path, *path.parent.glob(f".{path.stem}.*")):  # a killed save leaves its own
            with suppress(OSError):
                file.unlink()
        with suppress(OSError):
            path.parent.rmdir()
