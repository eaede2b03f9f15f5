"""Curves of true against false alarms: sizes of explanations, and baselines without any."""

from benchmarks.paper.auroc import auroc, roc
from benchmarks.paper.signal import SCORES, kinds_of
from benchmarks.paper.workplace import Workplace
from milp_verix.views.style import FRAME, INK, LABEL, MARGIN, MUTED, TICKS, Drawing, Sheet

_SIDE, _GAP = 1.7, 0.35
_COLOURS = ("#12a05c", "#1f6fb4", "#f59b00")


def signal(place: Workplace) -> Drawing:
    """Draw a row for each network, a panel for each kind of input, a curve for each score."""
    rows = [(question, kinds_of(place, question)) for question in place.scale.signals]
    columns = max(len(kinds) for _, kinds in rows) - 1
    top, step = MARGIN + 1.05, _SIDE + 0.75
    width = 2 * MARGIN + 0.4 + columns * (_SIDE + _GAP) - _GAP
    sheet = Sheet(width, top + step * len(rows) + 0.05)
    title = "Wrong predictions and strange inputs by the size of explanations"
    sheet.text(MARGIN, MARGIN - 0.05, title, fontsize=12, fontweight="bold")
    for k, (question, (usual, *others)) in enumerate(rows):
        upper = top + k * step
        fact = f"{question.network}, ε = {100 * question.epsilon:g} %"
        sheet.text(MARGIN + 0.4, upper - 0.4, fact, fontsize=8.5, color=MUTED)
        for column, kind in enumerate(others):
            axes = sheet.axes(MARGIN + 0.4 + column * (_SIDE + _GAP), upper, _SIDE, _SIDE)
            axes.plot([0, 1], [0, 1], color=FRAME, linewidth=0.8)
            for score, colour in zip(SCORES, _COLOURS, strict=True):
                false, true = roc(kind.scores[score], usual.scores[score])
                area = auroc(kind.scores[score], usual.scores[score])
                axes.plot(false, true, color=colour, linewidth=1.3, label=f"{area:.2f}")
            axes.set_title(kind.name, fontsize=8.5, color=INK, pad=4)
            axes.set(xlim=(0, 1.01), ylim=(0, 1.02), xticks=(0, 0.5, 1), yticks=(0, 0.5, 1))
            axes.tick_params(**TICKS)
            axes.legend(loc="best", frameon=False, fontsize=7.5, handlelength=1.2)
            for side in ("top", "right"):
                axes.spines[side].set_visible(False)
            if k == len(rows) - 1:
                axes.set_xlabel("false alarms", **LABEL)
            if not column:
                axes.set_ylabel("true alarms", **LABEL)
    left = MARGIN
    for score, colour in zip(SCORES, _COLOURS, strict=True):
        sheet.text(left, MARGIN + 0.25, f"— {score}", fontsize=8.5, color=colour)
        left += 0.4 + 0.075 * len(score)
    return sheet.figure
