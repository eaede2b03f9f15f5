"""Draw a study of solvers: performance profiles, cactus plot, and the best two side by side."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from milp_verix.base.errors import InputError
from milp_verix.base.number_text import counted, exact
from milp_verix.results.comparison import Pair
from milp_verix.results.solver_study import SolverTimes
from milp_verix.views.figures.gap_plot import COLOURS
from milp_verix.views.figures.parts.sheet import MARGIN, Drawing, Sheet
from milp_verix.views.figures.parts.style import FRAME, GRID, INK, LABEL, MUTED
from milp_verix.views.figures.parts.writing import drawn

_SIDE, _GAP, _TOP, _BELOW = 3.6, 0.75, 1.15, 0.6
_LEFT, _KEY = 0.95, 2.6
_DASHES: tuple[Any, ...] = ("-", "--", ":", "-.", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 3)))
_LEAST = 1e-3  # seconds; shorter times are drawn there


def plot_solver_study(times: SolverTimes, path: str | Path | None = None) -> Drawing:
    """Draw ``times``, and write the picture to ``path`` if given.

    A colour stands for a solver, a dash for a formulation. Raises ``InputError`` where no check was
    solved, and for a path that is no picture's or cannot be written.
    """
    if not np.isfinite(times.seconds).any():
        raise InputError("there is nothing to draw: no check has an answer")
    return drawn(lambda: _figure(times), path)


def _figure(times: SolverTimes) -> Drawing:
    width = _LEFT + 3 * _SIDE + 2 * _GAP + 0.2 + _KEY + MARGIN
    sheet = Sheet(width, _TOP + _SIDE + _BELOW)
    summary = times.summary()
    headline = f"{counted(len(times.pairs), 'pair')} of solver and formulation"
    headline += f" on {counted(len(times.instances), 'check')}"
    best = summary[0]
    facts = [
        f"limit {exact(times.limit)} s for each check",
        f"most answered: {best.pair}, {best.solved}",
    ]
    sheet.headed(headline, facts)
    places = [_LEFT + number * (_SIDE + _GAP) for number in range(3)]
    left, middle, right = (sheet.axes(place, _TOP, _SIDE, _SIDE) for place in places)
    styles = dict(_styles(times.pairs))
    rows = {pair: row for row, pair in enumerate(times.pairs)}
    order = [one.pair for one in summary]
    for pair in order:
        _profile(left, times.ratios()[rows[pair]], styles[pair])
        _cactus(middle, times.seconds[rows[pair]], styles[pair])
    ratios = times.ratios()
    _finish_profile(left, float(np.max(ratios[np.isfinite(ratios)], initial=1.0)))
    _finish_cactus(middle, times)
    _scatter(right, times, [rows[pair] for pair in order[:2]])
    lines = [left.plot([], [], **styles[pair])[0] for pair in order]
    left.figure.legend(
        lines,
        [str(pair) for pair in order],
        loc="upper left",
        bbox_to_anchor=((places[2] + _SIDE + 0.15) / width, 1 - _TOP / sheet.height),
        frameon=False,
        fontsize=8,
        handlelength=2.6,
    )
    return sheet.figure


def _styles(pairs: tuple[Pair, ...]) -> Iterator[tuple[Pair, dict[str, Any]]]:
    """Yield a colour for each solver and a dash for each formulation."""
    solvers = list(dict.fromkeys(pair.solver for pair in pairs))
    formulations = list(dict.fromkeys(pair.formulation for pair in pairs))
    for pair in pairs:
        colour = COLOURS[solvers.index(pair.solver) % len(COLOURS)]
        dash = _DASHES[formulations.index(pair.formulation) % len(_DASHES)]
        yield pair, {"color": colour, "linestyle": dash, "linewidth": 1.5}


def _profile(axes: Axes, ratios: NDArray[np.float64], style: dict[str, Any]) -> None:
    solved = np.sort(ratios[np.isfinite(ratios)])
    shares = np.arange(1, solved.size + 1) / ratios.size
    x, y = np.concatenate([[1.0], solved]), np.concatenate([[0.0], shares])
    axes.step(x, y, where="post", **style)
    if solved.size:
        # what is not answered never is: the line goes on to the edge
        axes.plot([solved[-1], 1e9], [shares[-1]] * 2, **style)


def _finish_profile(axes: Axes, largest: float) -> None:
    axes.set_xscale("log", base=2)
    axes.set_xlim(1, min(max(2.0, 1.1 * largest), 2**14))
    axes.set_ylim(0, 1.01)
    _labelled(axes, "Performance profiles", "time divided by the best time", "share of checks")


def _cactus(axes: Axes, seconds: NDArray[np.float64], style: dict[str, Any]) -> None:
    solved = np.maximum(np.sort(seconds[np.isfinite(seconds)]), _LEAST)
    axes.plot(np.arange(1, solved.size + 1), solved, **style)


def _finish_cactus(axes: Axes, times: SolverTimes) -> None:
    axes.set_yscale("log")
    axes.set_xlim(0, len(times.instances) + 1)
    axes.axhline(times.limit, color=FRAME, linewidth=1)
    axes.text(0.5, times.limit, " limit", color=MUTED, fontsize=8, va="bottom")
    _labelled(axes, "Cactus plot", "checks answered", "seconds for the slowest of these")


def _scatter(axes: Axes, times: SolverTimes, rows: list[int]) -> None:
    """Draw each check at its seconds by the best two pairs; censored ones at the limit."""
    first, second = rows[0], rows[-1]
    x, y = (
        np.maximum(np.minimum(times.seconds[row], times.limit), _LEAST) for row in (first, second)
    )
    censored = ~np.isfinite(times.seconds[[first, second]]).all(axis=0)
    axes.plot(x[~censored], y[~censored], "o", color=INK, markersize=3, alpha=0.6)
    axes.plot(x[censored], y[censored], "x", color="#b3261e", markersize=5, clip_on=False)
    low, high = _LEAST, 1.5 * times.limit
    axes.plot([low, high], [low, high], color=FRAME, linewidth=1, zorder=0)
    for line in (axes.axhline, axes.axvline):
        line(times.limit, color=FRAME, linewidth=1, linestyle="--", zorder=0)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(low, high)
    axes.set_ylim(low, high)
    names = [str(times.pairs[row]) for row in (first, second)]
    _labelled(axes, "The best two; crosses: not answered", f"{names[0]}, s", f"{names[1]}, s")


def _labelled(axes: Axes, title: str, x: str, y: str) -> None:
    axes.set_title(title, fontsize=10, loc="left", color=INK, parse_math=False)
    axes.set_xlabel(x, **LABEL)
    axes.set_ylabel(y, **LABEL)
    axes.tick_params(labelsize=8, colors=MUTED)
    axes.grid(color=GRID, linewidth=0.6)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
