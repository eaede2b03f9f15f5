"""The figure of a result on a described input: a row for each feature, each on its own scale.

A grey bar is the room that a feature has, a dot its value, and a square a value that must stay. A
line leads to a ring: a value with which the prediction is another. The sentence above is the claim.
"""

from textwrap import wrap
from typing import Any, NamedTuple

from matplotlib.axes import Axes

from milp_verix.base.number_text import counted
from milp_verix.results.audit import Audit
from milp_verix.results.base import Counterfactual, Result
from milp_verix.results.contrast import ContrastiveExplanation
from milp_verix.results.explanation import Explanation
from milp_verix.views.figures.parts.described_rows import (
    LINE,
    AuditStatus,
    DescribedRow,
    audit_statuses,
    described_row,
    lines_of,
    write_lines,
)
from milp_verix.views.figures.parts.image_view import MARK
from milp_verix.views.figures.parts.sheet import HEADER, MARGIN, Drawing, Sheet, run_facts
from milp_verix.views.figures.parts.style import INK, MUTED, Status, statuses, typeset
from milp_verix.views.words.audit import audit_headline, audit_outcome, audit_sentence
from milp_verix.views.words.contrast import contrast_sentence
from milp_verix.views.words.labels import change_texts, labels_of, marked_words
from milp_verix.views.words.sentences import explanation_sentence
from milp_verix.views.words.wording import (
    contrast_headline,
    contrast_outcome,
    headline,
    named_prediction,
    outcome_text,
    shortened,
)

_MOST = 24
_ROW, _LINE, _HEADING = 0.27, 0.2, 0.36
_TRACK, _GAP = 2.9, 0.16
_CHARACTER, _BOLD_CHARACTER, _SMALL_CHARACTER = 0.078, 0.088, 0.063
_NARROWEST = 8.0
_PALE = "#dcdcdc"
_DIM = "#767676"
_CHANGED = MARK
_SENTENCE_CHARACTER = 0.081
_LONGEST_CHANGE = 34


class _Line(NamedTuple):
    """A row with its colour, the text beside its arrow, and whether it stands out."""

    row: DescribedRow
    colour: str
    strong: bool
    beside: str
    bar: bool = True


class _Key(NamedTuple):
    """An entry of the legend: a marker, with the bar behind it or not, and its meaning."""

    marker: str
    colour: str
    text: str
    bar: bool = False


class _Panel(NamedTuple):
    """The rows, the heading of their other values, the legend, and facts for the second line."""

    lines: list[_Line]
    heading: str
    keys: list[_Key]
    facts: list[str]


class _Columns(NamedTuple):
    """The left ends of the columns, in inches from the left edge."""

    value: float
    low: float
    track: float
    high: float
    beside: float
    right: float


def described_explanation(explanation: Explanation) -> Drawing:
    """Draw the features of an explanation first, each with a value that it rules out."""
    known, found = statuses(explanation), explanation.counterfactuals
    ranked = sorted(_ranked(explanation), key=lambda f: not known[f].kept)
    after = {named_prediction(explanation, point.prediction): point for point in found.values()}
    one = next(iter(after.values())) if len(after) == 1 else None
    lines = []
    for feature in ranked[:_MOST]:
        row = described_row(explanation, feature, found.get(feature))
        status, beside = known[feature], ""
        if feature in found:
            beside = _beside(explanation, row, found[feature], named=one is None)
        elif status is Status.UNDECIDED:
            beside = "not decided"
        colour = _DIM if status is Status.IRRELEVANT else status.colour
        lines.append(_Line(row, colour, status.kept, beside, bar=status is not Status.STILL))
    every = {
        Status.EXPLANATION: _Key("s", Status.EXPLANATION.colour, "must stay"),
        Status.UNDECIDED: _Key("s", Status.UNDECIDED.colour, "not decided"),
        Status.IRRELEVANT: _Key("o", _DIM, "may change within the bar", bar=True),
        Status.STILL: _Key("o", Status.STILL.colour, Status.STILL.value),
    }
    keys = [key for status, key in every.items() if status in known]
    heading = _heading(explanation, one) if found else ""
    panel = _Panel(lines, heading, keys, [outcome_text(explanation), *run_facts(explanation)])
    return _figure(explanation, headline(explanation), explanation_sentence(explanation), panel)


def described_contrast(found: ContrastiveExplanation) -> Drawing:
    """Draw the features of a contrast first, each with its other value."""
    contrast, point = found.contrast or (), found.counterfactual
    others = [feature for feature in range(len(found.groups)) if feature not in contrast]
    lines, held = [], {*found.must_not, *found.still}
    for feature in [*contrast, *others][:_MOST]:
        strong, free = feature in contrast, found.robust and feature not in held
        row = _one_way(found, described_row(found, feature, point if strong else None))
        colour = INK if strong else _DIM if free or not found.robust else Status.STILL.colour
        lines.append(_Line(row, colour, strong, row.becomes or "", bar=free))
    keys = [_Key("s", INK, "changes"), _Key("o", _DIM, "stays as it is")] if contrast else []
    if found.robust:
        keys = [_Key("o", _DIM, "may change within the bar", bar=True)]
        keys += [_Key("o", Status.STILL.colour, Status.STILL.value)] if held else []
    heading = "" if point is None else _heading(found, point)
    panel = _Panel(lines, heading, keys, [contrast_outcome(found), *run_facts(found)])
    return _figure(found, contrast_headline(found), contrast_sentence(found), panel)


def _one_way(found: ContrastiveExplanation, row: DescribedRow) -> DescribedRow:
    """Return a row whose room goes no way in which contrasts may not change the feature."""
    assert found.inputs is not None
    low, high = row.track.room
    only = found.inputs.features[row.feature].only
    room = (row.track.at if only == "up" else low, row.track.at if only == "down" else high)
    return row._replace(track=row.track._replace(room=room))


def described_audit(audit: Audit, flip: tuple[int | None, Counterfactual] | None) -> Drawing:
    """Draw the features of an audited set first, with an input that changes the prediction.

    ``flip`` is that input, and the feature that it takes out of the set, if it is sound.
    """
    known, (freed, point) = audit_statuses(audit), flip or (None, None)
    ranked = sorted(range(len(audit.groups)), key=lambda f: [*AuditStatus].index(known[f]))
    lines = []
    for feature in ranked[:_MOST]:
        status, row = known[feature], described_row(audit, feature, point)
        strong = status in (AuditStatus.KEPT, AuditStatus.ADDED, AuditStatus.UNDECIDED)
        colour = _DIM if status is AuditStatus.OUTSIDE else status.colour
        bar = status is not AuditStatus.STILL
        lines.append(_Line(row, colour, strong, row.becomes or "", bar))
    every = {status: _Key("s", status.colour, status.value) for status in AuditStatus}
    every[AuditStatus.REMOVABLE] = _Key("o", AuditStatus.REMOVABLE.colour, "can be left out")
    every[AuditStatus.OUTSIDE] = _Key("o", _DIM, AuditStatus.OUTSIDE.value, bar=True)
    every[AuditStatus.STILL] = _Key("o", AuditStatus.STILL.colour, AuditStatus.STILL.value)
    keys = [key for status, key in every.items() if status in known]
    heading = "" if point is None else _heading(audit, point)
    if freed is not None:
        heading = f"without {labels_of(audit)[freed]} {heading}"
    panel = _Panel(lines, heading, keys, [audit_outcome(audit), *run_facts(audit)])
    return _figure(audit, audit_headline(audit), audit_sentence(audit), panel)


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
    told = row.becomes or row.value
    if len(others) == 1:
        told += f" and {shortened(typeset(others[0]), _LONGEST_CHANGE)}"
    elif others:
        told += f" and {counted(len(others), 'other change')}"
    if named and isinstance(point.prediction, int):
        told += f": {named_prediction(result, point.prediction)}"
    return told


def _figure(result: Result, title: str, sentence: str, panel: _Panel) -> Drawing:
    lines, columns = panel.lines, _columns(panel)
    width = max(_NARROWEST, columns.right + MARGIN)
    letters = int((width - 2 * MARGIN) / _SENTENCE_CHARACTER)
    said = wrap(typeset(sentence), letters, break_on_hyphens=False)
    top = HEADER + len(said) * _LINE + _HEADING + 0.12
    left_out = len(result.groups) - len(lines)
    read = lines_of(marked_words(result), width)
    message, top = top - _HEADING, top + (len(read) * LINE + 0.1 if read else 0.0)
    height = _ROW * len(lines)
    sheet = Sheet(width, top + height + 0.25 + (_LINE if left_out else 0.0))
    write_lines(sheet, message, read)
    sheet.headed(title, panel.facts)
    for number, text in enumerate(said):
        sheet.text(MARGIN, HEADER - 0.1 + number * _LINE, text, fontsize=10.5)
    axes = sheet.axes(0.0, top - _HEADING, width, height + _HEADING)
    axes.set_xlim(0.0, width)
    axes.set_ylim(len(lines) - 0.5, -0.5 - _HEADING / _ROW)
    axes.axis("off")
    _legend(axes, columns, panel)
    for place, line in enumerate(lines):
        _draw(axes, place, line, columns)
    if left_out:
        more = f"and {counted(left_out, 'other feature')}, none of them in bold"
        sheet.text(MARGIN, top + height + 0.08, more, color=MUTED)
    return sheet.figure


def _columns(panel: _Panel) -> _Columns:
    lines, rows = panel.lines, [line.row for line in panel.lines]
    value = MARGIN + max(_width(line.row.name, line.strong) for line in lines) + _GAP
    low = value + max(_width(line.row.value, line.strong) for line in lines) + _GAP
    ends = [[len(row.track.ends[side]) for row in rows] for side in (0, 1)]
    track = low + max(ends[0]) * _SMALL_CHARACTER + _GAP
    high = track + _TRACK + _GAP
    beside = high + max(ends[1]) * _SMALL_CHARACTER + _GAP
    texts = [len(line.beside) for line in lines] + [len(panel.heading)]
    return _Columns(value, low, track, high, beside, beside + max(texts) * _CHARACTER)


def _width(text: str, bold: bool) -> float:
    return len(text) * (_BOLD_CHARACTER if bold else _CHARACTER)


def _legend(axes: Axes, columns: _Columns, panel: _Panel) -> None:
    y, x = -0.5 - 0.5 * _HEADING / _ROW, MARGIN + 0.06
    style: dict[str, Any] = {"fontsize": 8.5, "va": "center", "parse_math": False}
    for key in panel.keys:
        if key.bar:
            axes.plot([x - 0.02, x + 0.3], [y, y], color=_PALE, linewidth=6, zorder=1)
        x += 0.14 * key.bar
        axes.plot(x, y, marker=key.marker, color=key.colour, markersize=6, zorder=3)
        axes.text(x + 0.13 + 0.14 * key.bar, y, key.text, color=INK, **style)
        x += 0.5 + len(key.text) * 0.068
    axes.text(columns.beside, y, typeset(panel.heading), color=_CHANGED, fontweight="bold", **style)


def _draw(axes: Axes, y: int, line: _Line, columns: _Columns) -> None:
    row, track = line.row, line.row.track
    weight, ink = ("bold", INK) if line.strong else ("normal", _DIM)
    style: dict[str, Any] = {"fontsize": 9.5, "va": "center", "parse_math": False}
    axes.text(MARGIN, y, row.name, color=ink, fontweight=weight, **style)
    axes.text(columns.value, y, row.value, color=ink, fontweight=weight, **style)
    small = {**style, "fontsize": 8, "color": _DIM}
    axes.text(columns.track - 0.09, y, track.ends[0], ha="right", **small)
    axes.text(columns.high - 0.07, y, track.ends[1], **small)
    _draw_track(axes, y, line, columns.track)
    marker = "s" if line.strong else "o"
    axes.plot(columns.track + _TRACK * track.at, y, marker, color=line.colour, ms=7, zorder=5)
    beside = typeset(f"→ {line.beside}" if row.becomes else line.beside)
    colour = _CHANGED if row.becomes else INK
    axes.text(columns.beside, y, beside, color=colour, **style)


def _draw_track(axes: Axes, y: int, line: _Line, start: float) -> None:
    track = line.row.track
    if track.ordered:
        axes.plot([start, start + _TRACK], [y, y], color=_PALE, linewidth=1, zorder=1)
    if line.bar and not line.strong:
        ends = [start + _TRACK * end for end in track.room]
        axes.plot(ends, [y, y], color=_PALE, linewidth=6, solid_capstyle="butt", zorder=1)
    if track.stops:
        xs = [start + _TRACK * stop for stop in track.stops]
        axes.plot(xs, [y] * len(xs), "o", color="#a8a8a8", markersize=2.5, zorder=2)
    if track.to is not None:
        here, there = start + _TRACK * track.at, start + _TRACK * track.to
        if track.ordered:
            axes.plot([here, there], [y, y], color=_CHANGED, linewidth=1.6, zorder=4)
        axes.plot(there, y, "o", color=_CHANGED, ms=6, mfc="white", mew=1.6, zorder=6)
