"""The figure of a result on a described input: a row for each feature, each on its own scale.

A grey bar is the headroom that a feature has, a dot its value, and a square a value that must stay.
A line leads to a ring: a value with which the prediction is another. The sentence above claims it.
"""

from textwrap import wrap
from typing import Any, NamedTuple

from matplotlib.axes import Axes

from milp_verix.base.number_text import counted
from milp_verix.results.audit import Audit
from milp_verix.results.base import Counterfactual, Result
from milp_verix.results.contrast import ContrastiveExplanation
from milp_verix.results.explanation import Explanation
from milp_verix.views import style
from milp_verix.views.bars_plot import flip_of
from milp_verix.views.described_rows import LINE, DescribedRow, described_row, lines_of, write_lines
from milp_verix.views.feature_status import AuditStatus, Coloured, Status, audit_statuses, statuses
from milp_verix.views.image_view import MARK
from milp_verix.views.labels import change_texts, labels_of, marked_words
from milp_verix.views.result_words import words_of
from milp_verix.views.wording import named_prediction, shortened

_MOST = 24
_ROW, _LINE, _HEADING = 0.27, 0.2, 0.36
_TRACK, _GAP = 2.9, 0.16
_CHARACTER, _BOLD_CHARACTER, _SMALL_CHARACTER = 0.078, 0.088, 0.063
_SENTENCE_CHARACTER = 0.081
_NARROWEST = 8.0
_PALE, _DIM, _STOP = "#dcdcdc", "#767676", "#a8a8a8"
_LONGEST_CHANGE = 34
_STYLE: dict[str, Any] = {"va": "center", "parse_math": False}


class _Key(NamedTuple):
    """The look of a row, and an entry of the legend: a marker, its meaning, a bar behind it."""

    marker: str
    colour: str
    text: str
    bar: bool = False


class _Line(NamedTuple):
    """A row, its look, the text beside its arrow, and whether it may have a bar."""

    row: DescribedRow
    key: _Key
    beside: str
    bar: bool = True

    @property
    def strong(self) -> bool:
        return self.key.marker == "s"


_STILL = _Key("o", Status.STILL.colour, Status.STILL.value)
_MOVES = _Key("o", _DIM, "may change within the bar", bar=True)
_CHANGES, _STAYS = _Key("s", style.INK, "changes"), _Key("o", _DIM, "stays as it is")
_KEYS: dict[Coloured, _Key] = {
    Status.EXPLANATION: _Key("s", Status.EXPLANATION.colour, "must stay"),
    Status.UNDECIDED: _Key("s", Status.UNDECIDED.colour, "not decided"),
    Status.IRRELEVANT: _MOVES,
    Status.STILL: _STILL,
    **{status: _Key("s", status.colour, status.value) for status in AuditStatus},
    AuditStatus.REMOVABLE: _Key("o", AuditStatus.REMOVABLE.colour, AuditStatus.REMOVABLE.value),
    AuditStatus.OUTSIDE: _Key("o", _DIM, AuditStatus.OUTSIDE.value, bar=True),
    AuditStatus.STILL: _STILL,
}


class _Columns(NamedTuple):
    """The left ends of the columns, in inches from the left edge."""

    value: float
    low: float
    track: float
    high: float
    beside: float
    right: float


def explanation_rows(explanation: Explanation) -> style.Drawing:
    """Draw the features of an explanation first, each with a value that it rules out."""
    known, found = statuses(explanation), explanation.counterfactuals
    ranked = sorted(_ranked(explanation), key=lambda f: not known[f].kept)
    after = {named_prediction(explanation, point.prediction): point for point in found.values()}
    one = next(iter(after.values())) if len(after) == 1 else None
    lines = []
    for feature in ranked[:_MOST]:
        row = described_row(explanation, feature, found.get(feature))
        beside = "not decided" if known[feature] is Status.UNDECIDED else ""
        if feature in found:
            beside = _beside(explanation, row, found[feature], named=one is None)
        key = _KEYS[known[feature]]
        lines.append(_Line(row, key, beside, key is not _STILL))
    keys = [_KEYS[status] for status in Status if status in known]
    return _figure(explanation, lines, _heading(explanation, one) if found else "", keys)


def contrast_rows(found: ContrastiveExplanation) -> style.Drawing:
    """Draw the features of a contrast first, each with its other value."""
    contrast, point = found.contrast or (), found.counterfactual
    others = [feature for feature in range(len(found.groups)) if feature not in contrast]
    lines, held = [], {*found.must_not, *found.still}
    for feature in [*contrast, *others][:_MOST]:
        changes, free = feature in contrast, found.robust and feature not in held
        row = _one_way(found, described_row(found, feature, point if changes else None))
        key = _STILL if found.robust and not free else _STAYS
        lines.append(_Line(row, _CHANGES if changes else key, row.becomes or "", free))
    keys = [_CHANGES, _STAYS] if contrast else []
    if found.robust:
        keys = [_MOVES, _STILL] if held else [_MOVES]
    return _figure(found, lines, "" if point is None else _heading(found, point), keys)


def _one_way(found: ContrastiveExplanation, row: DescribedRow) -> DescribedRow:
    """Return a row whose headroom goes no way in which contrasts may not change the feature."""
    assert found.inputs is not None
    low, high = row.track.headroom
    only = found.inputs.features[row.feature].only
    headroom = (row.track.at if only == "up" else low, row.track.at if only == "down" else high)
    return row._replace(track=row.track._replace(headroom=headroom))


def audit_rows(audit: Audit) -> style.Drawing:
    """Draw the features of an audited set first, with an input that changes the prediction."""
    known, (freed, point) = audit_statuses(audit), flip_of(audit) or (None, None)
    ranked = sorted(range(len(audit.groups)), key=lambda f: [*AuditStatus].index(known[f]))
    lines = []
    for feature in ranked[:_MOST]:
        row, key = described_row(audit, feature, point), _KEYS[known[feature]]
        lines.append(_Line(row, key, row.becomes or "", key is not _STILL))
    keys = [_KEYS[status] for status in AuditStatus if status in known]
    heading = "" if point is None else _heading(audit, point)
    if freed is not None:
        heading = f"without {labels_of(audit)[freed]} {heading}"
    return _figure(audit, lines, heading, keys)


def _ranked(explanation: Explanation) -> list[int]:
    """Return the features: those that change the prediction with the fewest others first.

    Among these, the features that were tried last are the most important ones.
    """
    found, never = explanation.counterfactuals, len(explanation.groups)
    with_it = {feature: len(change_texts(explanation, point)) for feature, point in found.items()}
    tried_last = reversed(explanation.permutation)
    return sorted(tried_last, key=lambda feature: with_it.get(feature, never))


def _heading(result: Result, point: Counterfactual | None) -> str:
    if point is None or not isinstance(point.prediction, int):
        return "changes, for example, with"
    return f"becomes {named_prediction(result, point.prediction)} with"


def _beside(result: Result, row: DescribedRow, point: Counterfactual, *, named: bool) -> str:
    """Return the other value of a row, and how many other features change with it."""
    others = change_texts(result, point, labels_of(result)[row.feature])
    others = others[1:] if row.becomes else others
    text = row.becomes or row.value
    if len(others) == 1:
        text += f" and {shortened(style.typeset(others[0]), _LONGEST_CHANGE)}"
    elif others:
        text += f" and {counted(len(others), 'other change')}"
    if named and isinstance(point.prediction, int):
        text += f": {named_prediction(result, point.prediction)}"
    return text


def _figure(result: Result, lines: list[_Line], heading: str, keys: list[_Key]) -> style.Drawing:
    """Draw the ``lines`` below the sentence; ``heading`` is that of their other values."""
    columns, words = _columns(lines, heading), words_of(result)
    width = max(_NARROWEST, columns.right + style.MARGIN)
    letters = int((width - 2 * style.MARGIN) / _SENTENCE_CHARACTER)
    said = wrap(style.typeset(words.sentence(result)), letters, break_on_hyphens=False)
    top = style.HEADER + len(said) * _LINE + _HEADING + 0.12
    left_out = len(result.groups) - len(lines)
    read = lines_of(marked_words(result), width)
    message, top = top - _HEADING, top + (len(read) * LINE + 0.1 if read else 0.0)
    height = _ROW * len(lines)
    sheet = style.Sheet(width, top + height + 0.25 + (_LINE if left_out else 0.0))
    write_lines(sheet, message, read)
    sheet.headed(words.title(result), [words.outcome(result), *style.run_facts(result)])
    for number, text in enumerate(said):
        sheet.text(style.MARGIN, style.HEADER - 0.1 + number * _LINE, text, fontsize=10.5)
    axes = sheet.axes(0.0, top - _HEADING, width, height + _HEADING)
    axes.set_xlim(0.0, width)
    axes.set_ylim(len(lines) - 0.5, -0.5 - _HEADING / _ROW)
    axes.axis("off")
    _legend(axes, columns.beside, heading, keys)
    for place, line in enumerate(lines):
        _draw(axes, place, line, columns)
    if left_out:
        more = f"and {counted(left_out, 'other feature')}, none of them in bold"
        sheet.text(style.MARGIN, top + height + 0.08, more, color=style.MUTED)
    return sheet.figure


def _columns(lines: list[_Line], heading: str) -> _Columns:
    def widest(texts: list[str]) -> float:
        sizes = (_BOLD_CHARACTER if line.strong else _CHARACTER for line in lines)
        return max(len(text) * size for text, size in zip(texts, sizes, strict=True))

    low_end, high_end = (
        max(len(line.row.track.ends[side]) for line in lines) * _SMALL_CHARACTER for side in (0, 1)
    )
    value = style.MARGIN + widest([line.row.name for line in lines]) + _GAP
    low = value + widest([line.row.value for line in lines]) + _GAP
    track = low + low_end + _GAP
    high = track + _TRACK + _GAP
    beside = high + high_end + _GAP
    longest = max(len(text) for text in [*(line.beside for line in lines), heading])
    return _Columns(value, low, track, high, beside, beside + longest * _CHARACTER)


def _legend(axes: Axes, beside: float, heading: str, keys: list[_Key]) -> None:
    y, x = -0.5 - 0.5 * _HEADING / _ROW, style.MARGIN + 0.06
    for key in keys:
        if key.bar:
            axes.plot([x - 0.02, x + 0.3], [y, y], color=_PALE, linewidth=6, zorder=1)
        x += 0.14 * key.bar
        axes.plot(x, y, marker=key.marker, color=key.colour, markersize=6, zorder=3)
        axes.text(x + 0.13 + 0.14 * key.bar, y, key.text, color=style.INK, fontsize=8.5, **_STYLE)
        x += 0.5 + len(key.text) * 0.068
    bold = {"fontsize": 8.5, "color": MARK, "fontweight": "bold", **_STYLE}
    axes.text(beside, y, style.typeset(heading), **bold)


def _draw(axes: Axes, y: int, line: _Line, columns: _Columns) -> None:
    row, track = line.row, line.row.track
    weight, ink = ("bold", style.INK) if line.strong else ("normal", _DIM)
    own = {"fontsize": 9.5, "color": ink, "fontweight": weight, **_STYLE}
    axes.text(style.MARGIN, y, row.name, **own)
    axes.text(columns.value, y, row.value, **own)
    small = {"fontsize": 8, "color": _DIM, **_STYLE}
    axes.text(columns.track - 0.09, y, track.ends[0], ha="right", **small)
    axes.text(columns.high - 0.07, y, track.ends[1], **small)
    _draw_track(axes, y, line, columns.track)
    at, key = columns.track + _TRACK * track.at, line.key
    axes.plot(at, y, key.marker, color=key.colour, ms=7, zorder=5)
    beside = style.typeset(f"→ {line.beside}" if row.becomes else line.beside)
    colour = MARK if row.becomes else style.INK
    axes.text(columns.beside, y, beside, fontsize=9.5, color=colour, **_STYLE)


def _draw_track(axes: Axes, y: int, line: _Line, start: float) -> None:
    track = line.row.track
    if track.ordered:
        axes.plot([start, start + _TRACK], [y, y], color=_PALE, linewidth=1, zorder=1)
    if line.bar and not line.strong:
        ends = [start + _TRACK * end for end in track.headroom]
        axes.plot(ends, [y, y], color=_PALE, linewidth=6, solid_capstyle="butt", zorder=1)
    if track.stops:
        xs = [start + _TRACK * stop for stop in track.stops]
        axes.plot(xs, [y] * len(xs), "o", color=_STOP, markersize=2.5, zorder=2)
    if track.to is not None:
        here, there = start + _TRACK * track.at, start + _TRACK * track.to
        if track.ordered:
            axes.plot([here, there], [y, y], color=MARK, linewidth=1.6, zorder=4)
        axes.plot(there, y, "o", color=MARK, ms=6, mfc="white", mew=1.6, zorder=6)
