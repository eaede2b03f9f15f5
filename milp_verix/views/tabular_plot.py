"""The figures of tables: an explained row with a column per witness; columns over many rows."""

from textwrap import wrap
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes

from milp_verix.base.number_text import counted, exact, nearest
from milp_verix.results.explanation import Explanation
from milp_verix.views import feature_status, style
from milp_verix.views.image_view import mark
from milp_verix.views.labels import labels_of
from milp_verix.views.text_tables import TableUse, columns_headline, columns_sentence, share_text
from milp_verix.views.wording import changed_text, shortened
from verix_encodings.arrays import FloatArray

_MOST, _COLUMNS, _LONGEST_CAPTION = 40, 8, 14
_ROW, _BARS, _GAP, _LINE, _HEADING = 0.22, 3.7, 0.35, 0.16, 0.32
_CAPTION_INCHES_PER_CHARACTER = 0.06


class Row(NamedTuple):
    """A feature as a row: its number, label, status, and the length of its bar."""

    feature: int
    label: str
    status: feature_status.Status
    length: float


def rows(explanation: Explanation, most: int = _MOST) -> tuple[Row, ...]:
    """Return the features to show, from the top: all, or the ``most`` important ones.

    Where there is a sensitivity its magnitude is the length of the bar and decides the sequence;
    otherwise the length is the feature's value and the sequence that of the traversal. If not all
    can be shown those in the explanation come first.
    """
    known, labels = feature_status.statuses(explanation), labels_of(explanation)
    scores = explanation.sensitivity
    ranked = list(explanation.permutation)
    if scores is not None:
        ranked = sorted(range(len(scores)), key=lambda feature: -abs(scores[feature]))
    shown = set(sorted(ranked, key=lambda feature: not known[feature].kept)[:most])
    values, result = explanation.input.reshape(-1), []
    for feature in (one for one in ranked if one in shown):
        group = list(explanation.groups[feature])
        value, label = np.mean(values[group]), shortened(labels[feature], style.LONGEST_NAME)
        text = f"{label} = {exact(value)}"
        if len(group) > 1:
            text = f"{label}: {len(group)} inputs, mean {nearest(float(value), 3)}"
        length = float(value) if scores is None else abs(scores[feature])
        result.append(Row(feature, text, known[feature], length))
    return tuple(result)


def changes(explanation: Explanation, feature: int, shown: tuple[Row, ...]) -> FloatArray:
    """Return by how much the counterfactual of ``feature`` changes each row's feature.

    Of a feature with several coordinates, the change of largest magnitude.
    """
    before = explanation.input.reshape(-1).astype(np.float64)
    after = explanation.counterfactuals[feature].input.reshape(-1).astype(np.float64)
    difference = after - before
    groups = [difference[list(explanation.groups[row.feature])] for row in shown]
    return np.array([group[np.abs(group).argmax()] for group in groups])


def explanation_bars(explanation: Explanation) -> style.Drawing:
    """Draw a bar per feature and, beside it, the changes of a few counterfactuals."""
    shown, count = rows(explanation), len(explanation.groups)
    columns = _columns(explanation, shown)
    captions = [caption.split("\n") for caption in columns.values()]
    left, height = style.right_of([row.label for row in shown], 0.25), _ROW * len(shown)
    heading = f"{len(shown)} of {count} features: explaining ones first" * (len(shown) < count)
    top = style.HEADER + max(map(len, captions), default=1) * _LINE
    top += _HEADING if columns or heading else 0.0
    longest = max((len(line) for lines in captions for line in lines), default=0)
    cells_left = left + _BARS + _GAP
    cells_width = len(columns) * (longest * _CAPTION_INCHES_PER_CHARACTER + 0.09)
    right = cells_left + max(5.0, cells_width) if columns else left + _BARS
    sheet = style.Sheet(max(7.5, right + style.MARGIN), top + height + 0.65)
    sheet.titled(explanation)
    bars = sheet.axes(left, top, _BARS if columns else sheet.width - style.MARGIN - left, height)
    labels, lengths = [style.typeset(row.label) for row in shown], [row.length for row in shown]
    style.status_bars(bars, labels, lengths, [row.status.colour for row in shown])
    scored = explanation.sensitivity is not None
    label = f"sensitivity: {feature_status.sensitivity_label(explanation)}" if scored else "value"
    bars.set_xlabel(label, **style.LABEL)
    if not any(lengths):
        bars.set_xlim(0.0, 1.0)
    style.key_above(bars, height, feature_status.status_keys([row.status for row in shown]))
    sheet.text(style.MARGIN, style.HEADER, heading)
    if columns:
        sheet.text(
            cells_left, style.HEADER, feature_status.gallery_heading(len(columns), explanation)
        )
        cells = sheet.axes(cells_left, top, cells_width, height)
        bar = sheet.axes(cells_left, top + height + 0.09, max(cells_width, 2.4), 0.1)
        _cells(cells, bar, explanation, columns, shown)
    return sheet.figure


def _columns(explanation: Explanation, shown: tuple[Row, ...]) -> dict[int, str]:
    # features with a counterfactual to show, and what is written over it; by class, from the top
    places = {row.feature: place for place, row in enumerate(shown)}
    labels, found = labels_of(explanation), explanation.counterfactuals

    def key(feature: int) -> tuple[int, int]:
        prediction = found[feature].prediction
        return prediction if isinstance(prediction, int) else 0, places[feature]

    return {
        feature: shortened(labels[feature], _LONGEST_CAPTION)
        + "\n"
        + style.typeset(changed_text(explanation, found[feature], "\n"))
        for feature in sorted(feature_status.chosen(explanation, _COLUMNS, places), key=key)
    }


def _cells(
    axes: Axes, bar: Axes, explanation: Explanation, columns: dict[int, str], shown: tuple[Row, ...]
) -> None:
    table = np.stack([changes(explanation, feature, shown) for feature in columns], axis=1)
    colours, norm = style.colour_scale(table)
    image = axes.imshow(table, cmap=colours, norm=norm, aspect="auto", interpolation="nearest")
    style.frame(axes)
    row_of = {row.feature: place for place, row in enumerate(shown)}
    for column, (feature, caption) in enumerate(columns.items()):
        cell = np.zeros(table.shape, dtype=bool)
        cell[row_of[feature], column] = True
        mark(axes, cell)
        axes.annotate(
            caption,
            (column, -0.5),
            xytext=(0, 4),
            textcoords="offset points",
            ha="center",
            va="bottom",
            fontsize=7.5,
            color=style.INK,
            annotation_clip=False,
        )
    style.divided(axes, len(columns), len(shown))
    style.colour_bar(image, bar, "change of the feature")


CLASS_COLOURS = ("#31688e", "#e08214", "#5aae61", "#9b4dca", "#b2182b", "#6d6d6d")
"""The colours of classes, which differ in lightness too; a seventh class begins anew."""
_SHARES = "#c9ced4"
_MOST_USED, _USED_ROW = 30, 0.34
_USED_BARS, _USED_GAP, _SHARE, _TYPICAL = 3.9, 0.25, 1.05, 2.7
_LONGEST_TEXT, _LETTER, _SENTENCE_LINE = 42, 0.078, 0.18


def class_colour(place: int) -> str:
    """Return the colour of a class by its place."""
    return CLASS_COLOURS[place % len(CLASS_COLOURS)]


def columns_figure(use: TableUse) -> style.Drawing:
    """Draw a row for each column: how often decisions need it, by class."""
    shown = use.columns[:_MOST_USED]
    names = style.short_names([column.name for column in shown])
    left, height = style.right_of(names), _USED_ROW * len(shown)
    no_part = left + _USED_BARS + _USED_GAP
    still = any(column.still for column in shown)
    typical = no_part + (1 + still) * (_SHARE + _USED_GAP)
    width = typical + _TYPICAL + style.MARGIN
    said = wrap(style.typeset(columns_sentence(use)), int((width - 2 * style.MARGIN) / _LETTER))
    top = style.HEADER + 0.7 + _SENTENCE_LINE * (len(said) - 1)
    sheet = style.Sheet(width, top + height + 0.6)
    open_ = sum(column.open > 0 for column in use.columns)
    decided = f"{counted(open_, 'column')} undecided somewhere" if open_ else "all columns decided"
    sheet.headed(columns_headline(use), [style.typeset(use.question), decided])
    sheet.text(style.MARGIN, style.HEADER - 0.12, "\n".join(said), fontsize=10)
    bars = sheet.axes(left, top, _USED_BARS, height)
    count = len(use.classes)
    thick = 0.76 / count
    for number in range(count):
        shift = (number - (count - 1) / 2) * thick
        places = [place + shift for place in range(len(shown))]
        lengths = [100 * column.needed[number] for column in shown]
        bars.barh(places, lengths, height=thick * 0.92, color=class_colour(number), zorder=2)
    style.bar_rows(bars, names)
    bars.set_xlim(0, 100)
    bars.set_xlabel("% of decisions whose explanation has the column", **style.LABEL)
    keys = {
        f"{shortened(name, 24)} ({counted(n, 'decision')})": class_colour(place)
        for place, (name, n) in enumerate(use.classes)
    }
    style.key_above(bars, height, keys, 2)
    parts = [("plays no part", [column.no_part for column in shown])]
    parts += [("stays as it is", [column.still for column in shown])] if still else []
    for place, (title, shares) in enumerate(parts):
        start = no_part + place * (_SHARE + _USED_GAP)
        _shares(sheet.axes(start, top, _SHARE, height), shares)
        sheet.text(start, top - 0.24, title, fontsize=8.5)
    sheet.text(typical, top - 0.24, "typical values in explanations", fontsize=8.5)
    for place, column in enumerate(shown):
        text = style.typeset(shortened(column.typical, _LONGEST_TEXT)) or "–"
        middle = top + (place + 0.5) * _USED_ROW
        sheet.text(typical, middle, text, fontsize=8.5, va="center", color=style.INK)
    if left_out := len(use.columns) - len(shown):
        more = f"and {counted(left_out, 'other column')}, in explanations less often"
        sheet.text(style.MARGIN, top + height + 0.35, more, color=style.MUTED)
    return sheet.figure


def _shares(axes: Axes, shares: list[float]) -> None:
    percent = [100 * share for share in shares]
    axes.barh(range(len(shares)), percent, height=0.5, color=_SHARES, zorder=2)
    style.bar_rows(axes, ["" for _ in shares], pad=0)
    axes.set_xlim(0, 100)
    axes.set_xticks([0, 100])
    axes.set_xlabel("%, proven", **style.LABEL)
    for place, share in enumerate(shares):
        if share:
            axes.text(4, place, share_text(share), va="center", fontsize=8, color=style.INK)
