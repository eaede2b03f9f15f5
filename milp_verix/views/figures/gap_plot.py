"""Draw how the best cost and the lower bound of several searches for a minimum close in."""

from matplotlib.axes import Axes

from milp_verix.base.number_text import counted, exact
from milp_verix.results.comparison import Comparison, Run
from milp_verix.views.figures.parts.sheet import MARGIN, Drawing, Sheet
from milp_verix.views.figures.parts.style import FRAME, GRID, INK, LABEL, MUTED
from milp_verix.views.words.wording import norm_text, shortened

_WIDTH, _HEIGHT, _TOP, _LEFT, _KEY = 5.6, 3.4, 1.0, 0.8, 2.9
COLOURS = (
    *("#0b6e8f", "#c2571a", "#12a05c", "#7b3fa0", "#b3261e"),
    *("#8a7100", "#4a4a4a", "#d05a9a", "#3f6fd0", "#00897b"),
)


def gap_figure(comparison: Comparison) -> Drawing:
    """Draw the traces of ``comparison``: best costs as lines, lower bounds as dashed lines."""
    height = max(_HEIGHT, 0.3 * len(comparison.runs))
    sheet = Sheet(_LEFT + _WIDTH + _KEY + MARGIN, _TOP + height + 0.6)
    ball = f"ε = {exact(comparison.epsilon)} ({norm_text(comparison.norm)})"
    agreed = "no disagreement" if comparison.agree else "they disagree"
    headline = f"A minimum by {counted(len(comparison.runs), 'pair')}, {agreed}"
    sheet.headed(headline, [shortened(comparison.model, 36), ball, "line: best, dashes: bound"])
    axes = sheet.axes(_LEFT, _TOP, _WIDTH, height)
    for place, run in enumerate(comparison.runs):
        _draw(axes, run, COLOURS[place % len(COLOURS)])
    axes.set_xlabel("seconds", **LABEL)
    axes.set_ylabel("cost", **LABEL)
    axes.set_ylim(bottom=0)
    axes.grid(color=GRID, linewidth=0.6)
    axes.tick_params(labelsize=8, colors=MUTED)
    for side, spine in axes.spines.items():
        spine.set_visible(side in ("left", "bottom"))
        spine.set_color(FRAME)
    axes.legend(
        loc="upper left",
        bbox_to_anchor=(1.02, 1.0),
        frameon=False,
        fontsize=8,
        labelcolor=INK,
        borderaxespad=0,
    )
    return sheet.figure


def _draw(axes: Axes, run: Run, colour: str) -> None:
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
