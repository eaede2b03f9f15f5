"""Tables and distributions of a study: counts, sizes and seconds of each group of tasks."""

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np

from milp_verix.reporting.pages.histogram import histogram
from milp_verix.reporting.pages.markup import Html, element, joined
from milp_verix.reporting.pages.tables import table
from milp_verix.reporting.words.wording import number, seconds_text
from milp_verix.study.journal import DONE, FAILED, STATUSES
from milp_verix.study.page.study_rows import Row, Settings, order_of

_MOST_GROUPS = 24


def summary(rows: Sequence[Row], settings: Settings) -> Html:
    """Return a table with a line for each group of tasks."""
    heads = (
        *settings.headings,
        *("tasks", *STATUSES, "robust"),
        *("size, 25 %", "median", "75 %"),
        *("seconds, median", "longest", "sum"),
    )
    lines = [(*label, *_cells(group)) for label, group in _groups(rows, settings)]
    robust = heads.index("robust")
    if not any(map(_robust, rows)):  # a column for studies that need it
        heads, lines = _without(heads, robust), [_without(line, robust) for line in lines]
    note = (
        "Sizes count the features of each explanation found, of undecided tasks as well: these are "
        "sound and may be larger than needed. Of contrastive explanations they count the features "
        "that change. Robust: proven that no change in the ball changes the prediction."
    )
    texts = len(settings.headings)
    return joined((table("Tasks by setting", heads, lines, texts=texts), element("p", note)))


def _without(cells: tuple[str, ...], place: int) -> tuple[str, ...]:
    return cells[:place] + cells[place + 1 :]


def _cells(group: Sequence[Row]) -> tuple[str, ...]:
    counts = Counter(row.status for row in group)
    sizes = [row.size for row in group if row.size is not None]
    seconds = [row.seconds for row in group if row.status != FAILED]
    quartiles = [number(q) for q in np.percentile(sizes, [25, 50, 75])] if sizes else ["–"] * 3
    spent = (
        [number(float(np.median(seconds)), 3), number(max(seconds), 3)] if seconds else ["–"] * 2
    )
    return (
        str(len(group)),
        *(str(counts[status]) for status in STATUSES),
        str(sum(map(_robust, group))),
        *quartiles,
        *spent,
        number(math.fsum(row.seconds for row in group), 4),
    )


def _robust(row: Row) -> bool:
    """Return whether no change in the ball changes the prediction: nothing has to be kept."""
    return row.robust or (row.task != "contrastive" and row.size == 0)


def distributions(rows: Sequence[Row], settings: Settings) -> Html:
    """Return the distributions of sizes and seconds, on the same axes for all groups."""
    groups = _groups(rows, settings)
    shown = groups[:_MOST_GROUPS]
    sizes = [row.size for row in rows if row.size is not None]
    seconds = [max(row.seconds, 1e-4) for row in rows if row.status != FAILED]
    if not sizes:
        return element("p", "No task found an explanation, so there is nothing to show here.")
    spans = (min(sizes), max(sizes)), (min(seconds), max(min(seconds) * 1.01, *seconds))
    key = element(
        "ul",
        element("li", "bars: number of tasks"),
        element("li", element("span", "undecided tasks", class_="status undecided")),
        element("li", "dashed line: median"),
        class_="key",
    )
    parts = []
    for label, group in shown:
        found = [row for row in group if row.status != FAILED]
        if not found:
            continue
        sized = [row for row in found if row.size is not None]
        drawn = [
            ("size, in features", sized, spans[0], False),
            ("seconds, logarithmic", found, spans[1], True),
        ]
        pictures = [
            element(
                "figure",
                element("figcaption", what),
                histogram(
                    *_parts(some, times=times), what, span, logarithmic=times, whole=not times
                ),
            )
            for what, some, span, times in drawn
            if some
        ]
        shown_pair = element("div", *pictures, class_="distributions")
        parts.append(element("div", element("h3", " · ".join(label)), shown_pair))
    left = len(groups) - len(shown)
    more = [element("p", f"{left} more groups are in the table above.")] if left else []
    return joined((key, element("div", *parts, class_="groups"), *more))


def _parts(rows: Sequence[Row], *, times: bool) -> tuple[list[float], list[float]]:
    """Return the values of done tasks, and those of undecided ones."""

    def value(row: Row) -> float:
        return max(row.seconds, 1e-4) if times else float(row.size or 0)

    done = [value(row) for row in rows if row.status == DONE]
    return done, [value(row) for row in rows if row.status != DONE]


def _groups(rows: Sequence[Row], settings: Settings) -> list[tuple[tuple[str, ...], list[Row]]]:
    found: dict[tuple[object, ...], list[Row]] = {}
    for row in sorted(rows, key=order_of):
        # two radii may have one text
        apart = (row.network, row.epsilon, *settings.label(row))
        found.setdefault(apart, []).append(row)
    return [(settings.label(group[0]), group) for group in found.values()]


def totals(rows: Sequence[Row]) -> str:
    """Return a sentence with the number of tasks, how they ended, and the seconds in all."""
    counts = Counter(row.status for row in rows)
    ended = ", ".join(f"{counts[status]} {status}" for status in STATUSES)
    inputs = len({row.index for row in rows})
    spent = seconds_text(math.fsum(row.seconds for row in rows))
    return f"{len(rows)} tasks about {inputs} inputs: {ended}; {spent} in all tasks together."
