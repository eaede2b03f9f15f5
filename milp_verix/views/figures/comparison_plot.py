"""Draw a comparison: a bar for each run, its time in parts, its counts beside it."""

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes

from milp_verix.base.errors import InputError
from milp_verix.base.number_text import counted, exact
from milp_verix.oracle.verdict import Answer
from milp_verix.results.comparison import Comparison, Run
from milp_verix.views.figures.gap_plot import gap_figure
from milp_verix.views.figures.parts.described_rows import key_above
from milp_verix.views.figures.parts.sheet import MARGIN, Drawing, Sheet
from milp_verix.views.figures.parts.style import LABEL, MUTED, bar_rows
from milp_verix.views.figures.parts.writing import drawn
from milp_verix.views.words.wording import norm_text, seconds_text, shortened

_ROW = 0.3
_TOP = 1.05
_BELOW = 0.65
_BARS = 4.6
_INCHES_PER_CHARACTER = 0.082  # the widest of the pairs' names, in 8.5 points
_CUT = "#b3261e"

_PARTS = {
    "loading": "#0b6e8f",
    "first solves of a program": "#12a05c",
    "re-solves": "#8fd1a8",
    "all else": "#c9c9c9",
}


def plot_comparison(comparison: Comparison, path: str | Path | None = None) -> Drawing:
    """Draw how long each run took, and on what; of minima, how best cost and bound close in.

    The picture is written to ``path`` if given.

    Raises ``InputError`` where there are no runs, and for a path that is no picture's or cannot be
    written.
    """
    if not comparison.runs:
        raise InputError("there is nothing to draw: no pair has a result")
    if any(run.trace for run in comparison.runs):
        return drawn(lambda: gap_figure(comparison), path)
    return drawn(lambda: _figure(comparison), path)


def _figure(comparison: Comparison) -> Drawing:
    runs = comparison.runs
    labels = [str(run.pair) for run in runs]
    beside = [_beside(run) for run in runs]
    left = MARGIN + max(map(len, labels)) * _INCHES_PER_CHARACTER + 0.15
    right = max(map(len, beside)) * _INCHES_PER_CHARACTER + 0.3
    height = _ROW * len(runs)
    sheet = Sheet(left + _BARS + right + MARGIN, _TOP + height + _BELOW)
    sheet.text(MARGIN, MARGIN - 0.05, _headline(comparison), fontsize=13, fontweight="bold")
    sheet.text(MARGIN, MARGIN + 0.23, _facts(comparison), color=MUTED)
    axes = sheet.axes(left, _TOP, _BARS, height)
    _bars(axes, runs)
    bar_rows(axes, labels, pad=6)
    key_above(axes, height, _PARTS, len(_PARTS))
    for place, text in enumerate(beside):
        middle = _TOP + _ROW * (place + 0.5)
        sheet.text(left + _BARS + 0.2, middle, text, va="center", fontsize=8.5)
    return sheet.figure


def _headline(comparison: Comparison) -> str:
    if comparison.disagreements:
        return f"{counted(len(comparison.disagreements), 'disagreement')} between solvers"
    return f"{counted(len(comparison.runs), 'run')}, no disagreement"


def _facts(comparison: Comparison) -> str:
    question = "one explanation"
    if comparison.checks is not None:
        question = counted(len(comparison.checks), "check")
    ball = f"ε = {exact(comparison.epsilon)} ({norm_text(comparison.norm)})"
    rounds = [] if comparison.rounds == 1 else [f"median of {comparison.rounds} rounds"]
    return "   ·   ".join([shortened(comparison.model, 36), question, ball, *rounds])


def _beside(run: Run) -> str:
    stopped = "" if run.stopped is None else f"   ·   stopped: {run.stopped}"
    return f"{seconds_text(run.seconds)}{stopped}   ·   {_counts(run)}"


def _counts(run: Run) -> str:
    if run.size is None:
        answers = [f"{run.count(Answer.HOLDS)} hold", f"{run.count(Answer.VIOLATED)} violated"]
    else:
        answers = [counted(run.size, "feature")]
    unknown = [f"{run.unknown} unknown"] if run.unknown else []
    return ", ".join([*answers, *unknown, counted(run.solves, "solve")])


def _bars(axes: Axes, runs: tuple[Run, ...]) -> None:
    start = np.zeros(len(runs))
    for part, colour in enumerate(_PARTS.values()):
        length = np.array([_seconds(run)[part] for run in runs])
        axes.barh(range(len(runs)), length, 0.7, start, color=colour, zorder=2)
        start += length
    # a bar that was cut short goes on
    cut = [(run.seconds, row) for row, run in enumerate(runs) if run.stopped is not None]
    if cut:
        axes.plot(*zip(*cut, strict=True), ">", color=_CUT, clip_on=False, zorder=4)
    axes.set_xlabel("seconds", **LABEL)


def _seconds(run: Run) -> tuple[float, ...]:
    """Return the seconds of each part in ``_PARTS``."""
    inside = run.inside
    first = inside.solve_seconds - inside.resolve_seconds
    rest = run.seconds - inside.build_seconds - inside.solve_seconds
    return inside.build_seconds, first, inside.resolve_seconds, max(rest, 0.0)
