"""The figures of solvers side by side: a comparison, the gaps of minima, and a study."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes

from milp_verix.base.number_text import counted, exact
from milp_verix.oracle.verdict import Answer
from milp_verix.results.comparison import Comparison, Pair, Run
from milp_verix.results.solver_times import SolverTimes
from milp_verix.views.style import (
    FRAME,
    GRID,
    INK,
    LABEL,
    MARGIN,
    MUTED,
    Drawing,
    Sheet,
    bar_rows,
    key_above,
)
from milp_verix.views.wording import norm_text, seconds_text, shortened
from verix_encodings.arrays import FloatArray

_CUT = "#b3261e"
_COLOURS = (
    *("#0b6e8f", "#c2571a", "#12a05c", "#7b3fa0", _CUT),
    *("#8a7100", "#4a4a4a", "#d05a9a", "#3f6fd0", "#00897b"),
)
_PARTS = {
    "loading": "#0b6e8f",
    "first solves of a program": "#12a05c",
    "re-solves": "#8fd1a8",
    "all else": "#c9c9c9",
}
_OF_PROGRAMS = {"building": "#0b6e8f", "solver": "#12a05c"}
_DASHES: tuple[Any, ...] = ("-", "--", ":", "-.", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 3)))
_ROW, _BARS = 0.3, 4.6
_INCHES_PER_CHARACTER = 0.082  # the widest of the pairs' names, in 8.5 points
_SIDE, _GAP = 3.6, 0.75
_LEAST = 1e-3  # seconds; shorter times are drawn there


def times_figure(comparison: Comparison) -> Drawing:
    """Draw a bar for each run, its time in parts, its counts beside it."""
    runs = comparison.runs
    labels = [str(run.pair) for run in runs]
    beside = [_beside(run, comparison.task) for run in runs]
    left = MARGIN + max(map(len, labels)) * _INCHES_PER_CHARACTER + 0.15
    right = max(map(len, beside)) * _INCHES_PER_CHARACTER + 0.3
    top, height = 1.05, _ROW * len(runs)
    sheet = Sheet(left + _BARS + right + MARGIN, top + height + 0.65)
    headline = f"{counted(len(runs), 'run')}, no disagreement"
    if every := (*comparison.disagreements, *comparison.unequal):
        headline = f"{counted(len(every), 'disagreement')} between solvers"
    question = "one explanation"
    if comparison.checks is not None:
        question = counted(comparison.programs, "program")
    rounds = [] if comparison.rounds == 1 else [f"median of {comparison.rounds} rounds"]
    facts = [shortened(comparison.model, 36), question, _ball(comparison), *rounds]
    sheet.text(MARGIN, MARGIN - 0.05, headline, fontsize=13, fontweight="bold")
    sheet.text(MARGIN, MARGIN + 0.23, "   ·   ".join(facts), color=MUTED)
    axes, start = sheet.axes(left, top, _BARS, height), np.zeros(len(runs))
    parts = _OF_PROGRAMS if comparison.task == "check" else _PARTS
    for part, colour in enumerate(parts.values()):
        length = np.array([_seconds(run, comparison.task)[part] for run in runs])
        axes.barh(range(len(runs)), length, 0.7, start, color=colour, zorder=2)
        start += length
    # a bar that was cut short goes on
    cut = [(start[row], row) for row, run in enumerate(runs) if run.stopped is not None]
    if cut:
        axes.plot(*zip(*cut, strict=True), ">", color=_CUT, clip_on=False, zorder=4)
    axes.set_xlabel("seconds", **LABEL)
    bar_rows(axes, labels, pad=6)
    key_above(axes, height, parts, len(parts))
    for place, text in enumerate(beside):
        middle = top + _ROW * (place + 0.5)
        sheet.text(left + _BARS + 0.2, middle, text, va="center", fontsize=8.5)
    return sheet.figure


def _ball(comparison: Comparison) -> str:
    return f"ε = {exact(comparison.epsilon)} ({norm_text(comparison.norm)})"


def _beside(run: Run, task: str) -> str:
    answers = [f"{run.count(Answer.HOLDS)} hold", f"{run.count(Answer.VIOLATED)} violated"]
    if run.size is not None:
        answers = [counted(run.size, "feature")]
    unknown = [f"{run.unknown} unknown"] if run.unknown else []
    seconds, solves = run.seconds, [counted(run.solves, "solve")]
    if task == "check":
        left = run.count(Answer.UNKNOWN)
        seconds, solves = run.inside.solver_seconds, []
        unknown = [f"{left} unknown"] if left else []
    counts = ", ".join([*answers, *unknown, *solves])
    stopped = [] if run.stopped is None else [f"stopped: {run.stopped}"]
    return "   ·   ".join([seconds_text(seconds), *stopped, counts])


def _seconds(run: Run, task: str) -> tuple[float, ...]:
    """Return the seconds of each part of a bar."""
    inside = run.inside
    if task == "check":
        return inside.build_seconds, inside.solver_seconds
    first = inside.solve_seconds - inside.resolve_seconds
    rest = run.seconds - inside.build_seconds - inside.solve_seconds
    return inside.build_seconds, first, inside.resolve_seconds, max(rest, 0.0)


def gaps_figure(comparison: Comparison) -> Drawing:
    """Draw the traces of searches for minima: best costs, and lower bounds as dashed lines."""
    width, left, top, height = 5.6, 0.8, 1.0, max(3.4, 0.3 * len(comparison.runs))
    sheet = Sheet(left + width + 2.9 + MARGIN, top + height + 0.6)
    agreed = "no disagreement" if comparison.agree else "they disagree"
    headline = f"A minimum by {counted(len(comparison.runs), 'pair')}, {agreed}"
    facts = [shortened(comparison.model, 36), _ball(comparison), "line: best, dashes: bound"]
    sheet.headed(headline, facts)
    axes = sheet.axes(left, top, width, height)
    for place, run in enumerate(comparison.runs):
        _gap(axes, run, _COLOURS[place % len(_COLOURS)])
    axes.set_xlabel("seconds", **LABEL)
    axes.set_ylabel("cost", **LABEL)
    axes.set_ylim(bottom=0)
    axes.grid(color=GRID, linewidth=0.6)
    axes.tick_params(labelsize=8, colors=MUTED)
    for side, spine in axes.spines.items():
        spine.set_visible(side in ("left", "bottom"))
        spine.set_color(FRAME)
    style: dict[str, Any] = {"frameon": False, "fontsize": 8, "labelcolor": INK}
    axes.legend(loc="upper left", bbox_to_anchor=(1.02, 1.0), borderaxespad=0, **style)
    return sheet.figure


def _gap(axes: Axes, run: Run, colour: str) -> None:
    points = [*run.trace]
    if points:
        # what is best at the end is so until the end
        points.append((max(run.seconds, points[-1][0]), *points[-1][1:]))
    seconds, best, bound = zip(*points, strict=True) if points else ((), (), ())
    label = str(run.pair) if run.master is None else f"{run.pair} ({run.master})"
    axes.step(seconds, best, where="post", color=colour, linewidth=1.6, label=label)
    axes.step(seconds, bound, where="post", color=colour, linewidth=1.2, linestyle="--")
    if run.stopped is not None and points:
        axes.plot(seconds[-1:], best[-1:], "x", color=colour, markersize=6)


def study_figure(times: SolverTimes) -> Drawing:
    """Draw a study: a colour stands for a solver, a dash for a formulation."""
    left, top = 0.95, 1.15
    width = left + 3 * _SIDE + 2 * _GAP + 0.2 + 2.6 + MARGIN
    sheet = Sheet(width, top + _SIDE + 0.6)
    summary = [one for one in times.summary() if one.attempted]
    headline = f"{counted(len(summary), 'pair')} of solver and formulation"
    headline += f" on {counted(len(times.instances), 'program')}"
    most = f"most answered: {summary[0].pair}, {summary[0].solved}"
    sheet.headed(headline, [f"limit {exact(times.limit)} s for each program", most])
    places = [left + number * (_SIDE + _GAP) for number in range(3)]
    profile, cactus, scatter = (sheet.axes(place, top, _SIDE, _SIDE) for place in places)
    rows, order = {p: row for row, p in enumerate(times.pairs)}, [one.pair for one in summary]
    styles = {pair: _style(pair, times.pairs) for pair in order}
    for pair in order:
        _profile(profile, times.ratios()[rows[pair]], styles[pair])
        seconds = times.seconds[rows[pair]]
        solved = np.maximum(np.sort(seconds[np.isfinite(seconds)]), _LEAST)
        cactus.plot(np.arange(1, solved.size + 1), solved, **styles[pair])
    ratios = times.ratios()
    largest = float(np.max(ratios[np.isfinite(ratios)], initial=1.0))
    profile.set_xscale("log", base=2)
    profile.set_xlim(1, min(max(2.0, 1.1 * largest), 2**14))
    profile.set_ylim(0, 1.01)
    _labelled(profile, "Performance profiles", "time divided by the best time", "share of programs")
    cactus.set_yscale("log")
    cactus.set_xlim(0, len(times.instances) + 1)
    cactus.axhline(times.limit, color=FRAME, linewidth=1)
    cactus.text(0.5, times.limit, " limit", color=MUTED, fontsize=8, va="bottom")
    _labelled(cactus, "Cactus plot", "programs answered", "seconds for the slowest of these")
    _scatter(scatter, times, [rows[pair] for pair in order[:2]])
    sheet.figure.legend(
        [profile.plot([], [], **styles[pair])[0] for pair in order],
        [str(pair) for pair in order],
        loc="upper left",
        bbox_to_anchor=((places[2] + _SIDE + 0.15) / width, 1 - top / sheet.height),
        frameon=False,
        fontsize=8,
        handlelength=2.6,
    )
    return sheet.figure


def _style(pair: Pair, pairs: tuple[Pair, ...]) -> dict[str, Any]:
    """Return the colour of the solver and the dash of the formulation."""
    solvers = list(dict.fromkeys(one.solver for one in pairs))
    formulations = list(dict.fromkeys(one.formulation for one in pairs))
    colour = _COLOURS[solvers.index(pair.solver) % len(_COLOURS)]
    dash = _DASHES[formulations.index(pair.formulation) % len(_DASHES)]
    return {"color": colour, "linestyle": dash, "linewidth": 1.5}


def _profile(axes: Axes, ratios: FloatArray, style: dict[str, Any]) -> None:
    solved = np.sort(ratios[np.isfinite(ratios)])
    shares = np.arange(1, solved.size + 1) / ratios.size
    x, y = np.concatenate([[1.0], solved]), np.concatenate([[0.0], shares])
    axes.step(x, y, where="post", **style)
    if solved.size:
        # what is not answered never is: the line goes on to the edge
        axes.plot([solved[-1], 1e9], [shares[-1]] * 2, **style)


def _scatter(axes: Axes, times: SolverTimes, rows: list[int]) -> None:
    """Draw each program at its seconds by the best two pairs; censored ones at the limit."""
    both = [rows[0], rows[-1]]
    x, y = np.maximum(np.minimum(times.seconds[both], times.limit), _LEAST)
    censored = ~np.isfinite(times.seconds[both]).all(axis=0)
    axes.plot(x[~censored], y[~censored], "o", color=INK, markersize=3, alpha=0.6)
    axes.plot(x[censored], y[censored], "x", color=_CUT, markersize=5, clip_on=False)
    low, high = _LEAST, 1.5 * times.limit
    axes.plot([low, high], [low, high], color=FRAME, linewidth=1, zorder=0)
    for line in (axes.axhline, axes.axvline):
        line(times.limit, color=FRAME, linewidth=1, linestyle="--", zorder=0)
    axes.set(xscale="log", yscale="log", xlim=(low, high), ylim=(low, high))
    first, second = (f"{times.pairs[row]}, s" for row in both)
    _labelled(axes, "The best two; crosses: not answered", first, second)


def _labelled(axes: Axes, title: str, x: str, y: str) -> None:
    axes.set_title(title, fontsize=10, loc="left", color=INK, parse_math=False)
    axes.set_xlabel(x, **LABEL)
    axes.set_ylabel(y, **LABEL)
    axes.tick_params(labelsize=8, colors=MUTED)
    axes.grid(color=GRID, linewidth=0.6)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
