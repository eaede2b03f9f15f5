"""The records of a study without their feature lists, and what sets their settings apart."""

import json
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from milp_verix.base.files import is_file
from milp_verix.base.number_text import exact
from milp_verix.base.stored_kinds import Prediction
from milp_verix.results.base import Result
from milp_verix.results.contrast import ContrastiveExplanation
from milp_verix.results.explanation import Explanation
from milp_verix.results.json_format import load
from milp_verix.study.journal import Record, best_records
from milp_verix.study.results import file_of, place
from milp_verix.study.tasks import FUNCTIONS, LIMITS


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


def read_result(stored: StoredTask) -> Result:
    """Return the whole result of a task; ``InputError`` for a bad file."""
    contrast = stored.row.task == "contrastive"
    kind: type[Result] = ContrastiveExplanation if contrast else Explanation
    return load(stored.path, kind)
