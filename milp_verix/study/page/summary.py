"""Tables and distributions of a study: counts, sizes and seconds of each group of tasks."""

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np

from milp_verix.base.number_text import counted, nearest
from milp_verix.study.journal import DONE, FAILED, STATUSES
from milp_verix.study.page.rows import Settings, TaskRow, order_of
from milp_verix.views.pages.rendering import Histogram, PageTable, histogram
from milp_verix.views.words.wording import seconds_text

MOST_GROUPS = 24


def summary(rows: Sequence[TaskRow], settings: Settings) -> PageTable:
    """Return a table with a line for each group of tasks."""
    heads = (
        *settings.headings,
        *("tasks", *STATUSES, "robust"),
        *("size, 25 %", "median", "75 %"),
        *("seconds, median", "longest", "sum"),
    )
    lines = [(*label, *_cells(group)) for label, group in groups(rows, settings)]
    robust = heads.index("robust")
    if not any(map(_robust, rows)):  # a column for studies that need it
        heads, lines = _without(heads, robust), [_without(line, robust) for line in lines]
    return PageTable("Tasks by setting", heads, lines, texts=len(settings.headings))


def _without(cells: tuple[str, ...], place: int) -> tuple[str, ...]:
    return cells[:place] + cells[place + 1 :]


def _cells(group: Sequence[TaskRow]) -> tuple[str, ...]:
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
        str(sum(map(_robust, group))),
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
    told = f"{counted(len(rows), 'task')} about {counted(inputs, 'input')}: {ended}"
    return f"{told}; {spent} in all tasks together."
