"""The records of a study by settings: tables, distributions, the command that makes it again."""

import hashlib
import json
import math
import shlex
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from milp_verix.base.errors import refusing
from milp_verix.base.files import is_file
from milp_verix.base.number_text import counted, exact, nearest
from milp_verix.base.stored_kinds import Prediction
from milp_verix.results.base import Result
from milp_verix.results.contrast import ContrastiveExplanation
from milp_verix.results.explanation import Explanation
from milp_verix.results.json_format import load
from milp_verix.study.journal import DONE, FAILED, STATUSES, Record, best_records, file_of, place
from milp_verix.study.tasks import FUNCTIONS, LIMITS, settings_of
from milp_verix.views.rendering import Histogram, PageTable, histogram
from milp_verix.views.wording import seconds_text


@dataclass(frozen=True, slots=True)
class TaskRow:
    """One task of a study: its record without lists of features.

    ``epsilon`` is a number, or a text such as ``"inf"`` or ``"10%"`` of a described input.
    ``setting`` are the arguments of its function; equal ones are one object. ``unknown`` counts
    the features left undecided. ``result`` is where its whole result is said to be, or None.
    """

    key: str
    index: int
    name: str | None
    network: str
    version: str
    task: str
    epsilon: float | str
    setting: Mapping[str, Any]
    status: str
    reason: str | None
    prediction: Prediction | None
    size: int | None
    unknown: int
    lower_bound: float | None
    robust: bool
    seconds: float
    result: str | None
    notes: tuple[str, ...]


def read_rows(path: Path, warn: Callable[[str], None]) -> list[TaskRow]:
    """Return the best record of each task, sorted by input."""
    known: dict[str, Mapping[str, Any]] = {}
    rows = [_row(record, known) for record in best_records(path, warn)]
    return sorted(rows, key=lambda row: (row.index, *order_of(row)))


def order_of(row: TaskRow) -> tuple[str, int, str, float, str]:
    """Return the place of the group of ``row`` among the others."""
    kinds = tuple(FUNCTIONS)
    place = kinds.index(row.task) if row.task in kinds else len(kinds)
    return row.network, place, row.task, *_size_of(row.epsilon)


def _row(record: Record, known: dict[str, Mapping[str, Any]]) -> TaskRow:
    """Return a record, whose fields the journal has checked, without its lists of features."""
    settings, prediction, epsilon = (record[name] for name in ("settings", "prediction", "epsilon"))
    least = record.get("lower_bound")
    found: dict[str, Any] = record | {
        # radii of features are told in words
        "epsilon": value_text(epsilon) if isinstance(epsilon, list | dict) else epsilon,
        "setting": known.setdefault(json.dumps(settings, sort_keys=True), settings),
        "prediction": tuple(prediction) if isinstance(prediction, list) else prediction,
        "unknown": len(record["unknown"] or ()),
        "lower_bound": None if least is None else float(least),
        "robust": record.get("robust") is True,
        "seconds": float(record["seconds"]),
        "notes": tuple(map(sys.intern, record["notes"])),
    }
    own: dict[str, Any] = {one.name: found.get(one.name) for one in fields(TaskRow)}
    return TaskRow(**own)


def _size_of(epsilon: float | str) -> tuple[float, str]:
    """Return what radii are sorted by: numbers first, then texts."""
    return (math.inf, epsilon) if isinstance(epsilon, str) else (epsilon, "")


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of a study: what is ``shared``, and the names of what ``varies``."""

    shared: Mapping[str, Any]
    varies: tuple[str, ...]
    networks: tuple[str, ...]
    tasks: tuple[str, ...]
    radii: tuple[float | str, ...]

    def label(self, row: TaskRow) -> tuple[str, ...]:
        """Return what sets the group of ``row`` apart: network, task, radius, settings."""
        network = (row.network[:12],) if len(self.networks) > 1 else ()
        return (
            *network,
            row.task,
            f"ε\u00a0=\u00a0{radius_text(row.epsilon)}",
            *(
                value_text(row.setting[name]) if name in row.setting else "–"
                for name in self.varies
            ),
        )

    @property
    def headings(self) -> tuple[str, ...]:
        """The names of the entries of a label."""
        network = ("network",) if len(self.networks) > 1 else ()
        return (*network, "task", "radius", *(name.replace("_", " ") for name in self.varies))

    def short(self, row: TaskRow) -> str:
        """Return a label without the entries that all rows share, or an empty text."""
        entries = dict(zip(self.headings, self.label(row), strict=True))
        if len(self.tasks) == 1:
            del entries["task"]
        if len(self.radii) == 1:
            del entries["radius"]
        return " · ".join(
            text if name in ("network", "task", "radius") else f"{name} {text}"
            for name, text in entries.items()
            if text != "–"
        )


def settings_of_rows(rows: Sequence[TaskRow]) -> Settings:
    """Return what the settings of ``rows`` share and what varies; limits of time never do."""
    every = {id(row.setting): row.setting for row in rows}.values()
    names = list(dict.fromkeys(name for setting in every for name in setting))
    values = {
        name: {json.dumps(setting[name], sort_keys=True) for setting in every if name in setting}
        for name in names
    }
    varies = tuple(name for name in names if len(values[name]) > 1 and name not in LIMITS)
    shared = {
        name: json.loads(next(iter(values[name]))) for name in names if len(values[name]) == 1
    }
    return Settings(
        shared,
        varies,
        tuple(dict.fromkeys(row.network for row in rows)),
        tuple(dict.fromkeys(row.task for row in rows)),
        tuple(sorted({row.epsilon for row in rows}, key=_size_of)),
    )


def radius_text(epsilon: float | str) -> str:
    """Return a radius in words: ``"0.05"``, ``"∞"``, ``"10%"``."""
    if isinstance(epsilon, str):
        return "∞" if epsilon == "inf" else epsilon
    return exact(epsilon)


def value_text(value: Any) -> str:
    """Return the value of a setting in words; a long one is its hash."""
    if value is None or isinstance(value, bool):
        return {None: "default", True: "yes", False: "no"}[value]
    if isinstance(value, float):
        return exact(value)
    if isinstance(value, list):
        return ", ".join(map(value_text, value))
    if isinstance(value, dict):
        hashed = value.get("sha256")
        entries = ", ".join(f"{name} {value_text(entry)}" for name, entry in value.items())
        return f"SHA-256 {str(hashed)[:12]}…" if hashed else entries
    return str(value)


@dataclass(frozen=True, slots=True)
class StoredTask:
    """A task and the file of its whole result."""

    row: TaskRow
    path: Path

    def read(self) -> Result:
        """Return the whole result; ``InputError`` for a bad file."""
        contrast = self.row.task == "contrastive"
        kind: type[Result] = ContrastiveExplanation if contrast else Explanation
        return load(self.path, kind)


def stored_results(rows: Sequence[TaskRow], journal: Path, folder: Path | None) -> list[StoredTask]:
    """Return the tasks whose whole result is there: as the ``journal`` says, or in ``folder``.

    A path that leads out of the journal's folder, or out of ``folder``, is not followed.
    """
    found, beside = [], journal.resolve().parent
    for row in rows:
        places = [] if row.result is None else [place(beside, row.result)]
        if folder is not None:
            places.insert(0, place(folder, file_of(row.key)))
        path = next((one for one in places if one is not None and is_file(one)), None)
        if path is not None:
            found.append(StoredTask(row, path))
    return found


def command(
    rows: Sequence[TaskRow], settings: Settings, journal: str, models: Sequence[str]
) -> str:
    """Return the command line of a study, with the arguments that differ from the defaults.

    ``models`` are the names of the networks' files, as far as they are known. Arrays and lists
    that a record holds as a hash, and the inputs, are names in capitals.
    """
    parts = [
        ["milp-verix", "batch"],
        [_file(models[0], "MODEL") if len(models) == 1 else "MODEL"],
        ["INPUTS"],
        ["--epsilon", ",".join(str(radius) for radius in settings.radii)],
        ["--indices", ranges(sorted({row.index for row in rows}))],
        ["--journal", _file(journal, "JOURNAL")],
    ]
    if settings.tasks != ("explain",):
        parts.append(["--task", ",".join(settings.tasks)])
    defaults = _defaults(settings.tasks)
    fields: dict[str, list[Any]] = {}
    for setting in {id(row.setting): row.setting for row in rows}.values():
        for name, value in setting.items():
            # other names are no arguments of these tasks, and might be options that write files
            if name in defaults and (value != defaults[name] or name in settings.varies):
                fields.setdefault(name, []).append(value)
    for name, values in fields.items():
        parts += _option(name, values)
    return " \\\n  ".join(shlex.join(_printable(part)) for part in parts)


def _file(name: str, spoken: str) -> str:
    """Return the name of a file as an argument that is no option."""
    if not name.isprintable():
        return spoken
    return f"./{name}" if name.startswith("-") else name


def _printable(part: Sequence[str]) -> list[str]:
    """Return an option and its values; capitals for a value that a terminal might obey."""
    capitals = part[0].lstrip("-").replace("-", "_").upper()
    return [text if text.isprintable() else capitals for text in part]


def _option(name: str, values: Sequence[Any]) -> list[list[str]]:
    option, kinds = f"--{name.replace('_', '-')}", list(dict.fromkeys(map(str, values)))
    value = values[0]
    if name == "domain" and isinstance(value, list):
        return [[option, *map(str, value)]]
    if name == "image_shape" and isinstance(value, list):
        return [[option, ",".join(map(str, value))]]
    if isinstance(value, list | Mapping) or value is None:
        return [] if value is None else [[option, name.upper()]]
    return [[option, ",".join(kinds)]]


def _defaults(tasks: Iterable[str]) -> dict[str, Any]:
    """Return the defaults of the arguments that these kinds of tasks have."""
    found: dict[str, Any] = {}
    for task in tasks:
        if task in FUNCTIONS:
            found |= settings_of([task], {"epsilon": [0.0]}, {})[0].options
    return found


def ranges(indices: Sequence[int]) -> str:
    """Return ascending indices as ``--indices`` has them: ``0:3,7,9:12``."""
    runs: list[list[int]] = []
    for index in indices:
        if runs and runs[-1][-1] + 1 == index:
            runs[-1][1:] = [index]
        else:
            runs.append([index])
    return ",".join(str(r[0]) if len(r) == 1 else f"{r[0]}:{r[-1] + 1}" for r in runs)


def hashes(journal: Path) -> list[tuple[str, str]]:
    """Return the name and the SHA-256 of each file of the journal."""
    files = sorted(journal.glob("*.jsonl")) if journal.is_dir() else [journal]
    with refusing(f"cannot read {journal}"):
        return [(file.name, _hash(file)) for file in files]


def _hash(file: Path) -> str:
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


MOST_GROUPS = 24


def summary(rows: Sequence[TaskRow], settings: Settings) -> PageTable:
    """Return a table with a line for each group of tasks."""
    robust = any(map(_robust, rows))  # a column for studies that need it
    heads = (
        *settings.headings,
        *("tasks", *STATUSES, *(("robust",) if robust else ())),
        *("size, 25 %", "median", "75 %"),
        *("seconds, median", "longest", "sum"),
    )
    lines = [(*label, *_cells(group, robust=robust)) for label, group in groups(rows, settings)]
    return PageTable("Tasks by setting", heads, lines, texts=len(settings.headings))


def _cells(group: Sequence[TaskRow], *, robust: bool) -> tuple[str, ...]:
    counts = Counter(row.status for row in group)
    sizes = [row.size for row in group if row.size is not None]
    seconds = [row.seconds for row in group if row.status != FAILED]
    quartiles = [nearest(q) for q in np.percentile(sizes, [25, 50, 75])] if sizes else ["–"] * 3
    spent = (
        [nearest(float(np.median(seconds)), 3), nearest(max(seconds), 3)] if seconds else ["–"] * 2
    )
    return (
        str(len(group)),
        *(str(counts[status]) for status in STATUSES),
        *((str(sum(map(_robust, group))),) if robust else ()),
        *quartiles,
        *spent,
        nearest(math.fsum(row.seconds for row in group), 4),
    )


def _robust(row: TaskRow) -> bool:
    """Return whether no change in the ball changes the prediction: nothing has to be kept."""
    return row.robust or (row.task != "contrastive" and row.size == 0)


def distributions(
    rows: Sequence[TaskRow], settings: Settings
) -> list[tuple[str, list[tuple[str, Histogram]]]]:
    """Return the name of each group, and its sizes and seconds on the axes of all groups.

    None of a study without an explanation; at most 24 groups.
    """
    sizes = [row.size for row in rows if row.size is not None]
    seconds = [max(row.seconds, 1e-4) for row in rows if row.status != FAILED]
    if not sizes:
        return []
    spans = (min(sizes), max(sizes)), (min(seconds), max(min(seconds) * 1.01, *seconds))
    parts = []
    for label, group in groups(rows, settings)[:MOST_GROUPS]:
        found = [row for row in group if row.status != FAILED]
        sized = [row for row in found if row.size is not None]
        drawn = [
            (what, histogram(*_parts(some, times=times), what, span, logarithmic=times))
            for what, some, span, times in (
                ("size, in features", sized, spans[0], False),
                ("seconds, logarithmic", found, spans[1], True),
            )
            if some
        ]
        if drawn:
            parts.append((" · ".join(label), drawn))
    return parts


def _parts(rows: Sequence[TaskRow], *, times: bool) -> tuple[list[float], list[float]]:
    """Return the values of done tasks, and those of undecided ones."""

    def value(row: TaskRow) -> float:
        return max(row.seconds, 1e-4) if times else float(row.size or 0)

    done = [value(row) for row in rows if row.status == DONE]
    return done, [value(row) for row in rows if row.status != DONE]


def groups(
    rows: Sequence[TaskRow], settings: Settings
) -> list[tuple[tuple[str, ...], list[TaskRow]]]:
    """Return the tasks of each setting behind its label."""
    found: dict[tuple[object, ...], list[TaskRow]] = {}
    for row in sorted(rows, key=order_of):
        # two radii may have one text
        apart = (row.network, row.epsilon, *settings.label(row))
        found.setdefault(apart, []).append(row)
    return [(settings.label(group[0]), group) for group in found.values()]


def totals(rows: Sequence[TaskRow]) -> str:
    """Return a sentence with the number of tasks, how they ended, and the seconds in all."""
    counts = Counter(row.status for row in rows)
    ended = ", ".join(f"{counts[status]} {status}" for status in STATUSES)
    inputs = len({row.index for row in rows})
    spent = seconds_text(math.fsum(row.seconds for row in rows))
    text = f"{counted(len(rows), 'task')} about {counted(inputs, 'input')}: {ended}"
    return f"{text}; {spent} in all tasks together."
