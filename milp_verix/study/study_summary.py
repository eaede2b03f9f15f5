"""Tables and distributions of a study by groups of tasks; the command that makes it again."""

import hashlib
import math
import shlex
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from milp_verix.base.errors import refusing
from milp_verix.base.number_text import counted, nearest
from milp_verix.study.journal import DONE, FAILED, STATUSES
from milp_verix.study.study_rows import Settings, TaskRow, order_of
from milp_verix.study.tasks import FUNCTIONS, settings_of
from milp_verix.views.rendering import Histogram, PageTable, histogram
from milp_verix.views.wording import seconds_text


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
