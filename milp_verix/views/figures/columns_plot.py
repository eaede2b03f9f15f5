"""The figure of a table: a row for each column, how often decisions need it, by class."""

from pathlib import Path
from textwrap import wrap

from milp_verix.base.number_text import counted
from milp_verix.views.figures.parts.described_rows import key_above, right_of, short_names
from milp_verix.views.figures.parts.sheet import HEADER, MARGIN, Drawing, Sheet
from milp_verix.views.figures.parts.style import INK, LABEL, MUTED, bar_rows, typeset
from milp_verix.views.figures.parts.writing import drawn
from milp_verix.views.words.columns import (
    TableUse,
    columns_headline,
    columns_sentence,
    share_text,
)
from milp_verix.views.words.wording import shortened

_MOST, _ROW, _CAPTION, _BELOW = 30, 0.34, 0.7, 0.6
_BARS, _GAP, _SHARE, _TYPICAL = 3.9, 0.25, 1.05, 2.7
_LONGEST_TEXT = 42
_CHARACTER, _LINE = 0.078, 0.18
_SHARES = "#c9ced4"
CLASS_COLOURS = ("#31688e", "#e08214", "#5aae61", "#9b4dca", "#b2182b", "#6d6d6d")
"""The colours of classes, which differ in lightness too; a seventh class begins anew."""


def plot_columns(use: TableUse, path: str | Path | None = None) -> Drawing:
    """Draw ``use``; write it to ``path`` if given, in the format of its suffix."""
    return drawn(lambda: _figure(use), path)


def class_colour(place: int) -> str:
    """Return the colour of a class by its place."""
    return CLASS_COLOURS[place % len(CLASS_COLOURS)]


def _figure(use: TableUse) -> Drawing:
    shown = use.columns[:_MOST]
    names = short_names([column.name for column in shown])
    left = right_of(names)
    top, height = HEADER + _CAPTION, _ROW * len(shown)
    no_part = left + _BARS + _GAP
    still = any(column.still for column in shown)
    typical = no_part + (1 + still) * (_SHARE + _GAP)
    width = typical + _TYPICAL + MARGIN
    said = wrap(typeset(columns_sentence(use)), int((width - 2 * MARGIN) / _CHARACTER))
    top += _LINE * (len(said) - 1)
    sheet = Sheet(width, top + height + _BELOW)
    sheet.headed(columns_headline(use), [typeset(use.asked), _decided(use)])
    sheet.text(MARGIN, HEADER - 0.12, "\n".join(said), fontsize=10)
    bars = sheet.axes(left, top, _BARS, height)
    count = len(use.classes)
    thick = 0.76 / count
    for number in range(count):
        shift = (number - (count - 1) / 2) * thick
        bars.barh(
            [place + shift for place in range(len(shown))],
            [100 * column.needed[number] for column in shown],
            height=thick * 0.92,
            color=class_colour(number),
            zorder=2,
        )
    bar_rows(bars, names, pad=4)
    bars.set_xlim(0, 100)
    bars.set_xlabel("% of decisions whose explanation has the column", **LABEL)
    keys = {
        f"{shortened(name, 24)} ({counted(n, 'decision')})": class_colour(place)
        for place, (name, n) in enumerate(use.classes)
    }
    key_above(bars, height, keys, 2)
    box = no_part, top, _SHARE, height
    _shares(sheet, box, "plays no part", [column.no_part for column in shown])
    if still:
        box = no_part + _SHARE + _GAP, top, _SHARE, height
        _shares(sheet, box, "stays as it is", [column.still for column in shown])
    sheet.text(typical, top - 0.24, "typical values in explanations", fontsize=8.5)
    for place, column in enumerate(shown):
        told = typeset(shortened(column.typical, _LONGEST_TEXT)) or "–"
        middle = top + (place + 0.5) * _ROW
        sheet.text(typical, middle, told, fontsize=8.5, va="center", color=INK)
    if left_out := len(use.columns) - len(shown):
        more = f"and {counted(left_out, 'other column')}, in explanations less often"
        sheet.text(MARGIN, top + height + 0.35, more, color=MUTED)
    return sheet.figure


def _decided(use: TableUse) -> str:
    open_ = sum(column.open > 0 for column in use.columns)
    return f"{counted(open_, 'column')} undecided somewhere" if open_ else "all columns decided"


def _shares(
    sheet: Sheet, box: tuple[float, float, float, float], title: str, shares: list[float]
) -> None:
    axes = sheet.axes(*box)
    percent = [100 * share for share in shares]
    axes.barh(range(len(shares)), percent, height=0.5, color=_SHARES, zorder=2)
    bar_rows(axes, ["" for _ in shares], pad=0)
    axes.set_xlim(0, 100)
    axes.set_xticks([0, 100])
    axes.set_xlabel("%, proven", **LABEL)
    sheet.text(box[0], box[1] - 0.24, title, fontsize=8.5)
    for place, share in enumerate(shares):
        if share:
            axes.text(4, place, share_text(share), va="center", fontsize=8, color=INK)
